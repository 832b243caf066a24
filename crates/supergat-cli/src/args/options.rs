//! Options generated from the configuration keys.

use crate::config::keys::{FEATURES, KEYS, Key, Kind, NODE_ORDER, TABLES};
use crate::config::{Values, default_value};
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches, value_parser};
use toml::Value;

/// Defines a group of options, one for each of some keys, that holds the values of those that were given.
macro_rules! options {
    ($(#[$doc:meta])* $name:ident, $keys:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(pub Values);

        impl Args for $name {
            fn augment_args(command: clap::Command) -> clap::Command {
                command.args($keys.flat_map(arguments))
            }

            fn augment_args_for_update(command: clap::Command) -> clap::Command {
                Self::augment_args(command)
            }
        }

        impl FromArgMatches for $name {
            fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
                Ok(Self(layer(matches, $keys)))
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }
    };
}

options! {
    /// Values of all configuration keys.
    Options, KEYS.iter()
}
options! {
    /// Values of the keys for reading tables.
    TableArgs, KEYS.iter().filter(|key| key.heading == TABLES)
}
options! {
    /// Values of the keys for reading a dataset: computed features, and those for tables.
    FileArgs, KEYS.iter().filter(|key| [FEATURES, TABLES].contains(&key.heading))
}

/// Collects the values of the keys that were given.
fn layer(matches: &ArgMatches, keys: impl Iterator<Item = &'static Key>) -> Values {
    let given = |key: &Key| match key.kind {
        Kind::Text | Kind::Choice(_) => matches.get_one::<String>(key.name).cloned().map(Value::String),
        Kind::Whole => matches.get_one::<i64>(key.name).copied().map(Value::Integer),
        Kind::Number => matches.get_one::<f64>(key.name).copied().map(Value::Float),
        Kind::Switch => matches.get_flag(key.name).then_some(Value::Boolean(false)),
        Kind::Flag => matches.get_flag(key.name).then_some(Value::Boolean(true)),
        Kind::Toggle { off } => {
            let (on, off) = (matches.get_flag(key.name), matches.get_flag(off));
            (on || off).then_some(Value::Boolean(on))
        }
    };
    keys.filter_map(|key| Some((key.name, given(key)?))).collect()
}

/// Builds the options of a key.
fn arguments(key: &'static Key) -> Vec<Arg> {
    let mut all = vec![argument(key)];
    if let Kind::Toggle { off } = key.kind {
        let help = format!("Do not apply --{}", key.option());
        let argument = Arg::new(off).long(off).help(help).help_heading(key.heading).conflicts_with(key.name);
        all.push(argument.action(ArgAction::SetTrue));
    }
    all
}

/// Builds the main option of a key.
fn argument(key: &Key) -> Arg {
    let default = default_value(key).map(|value| format!(" [default: {value}]")).unwrap_or_default();
    let help = match key.kind {
        Kind::Switch => format!("{} [default: true; with this option: false]", key.description),
        _ => format!("{}{default}", key.description),
    };
    let argument = Arg::new(key.name).help(help);
    if key.name == "dataset" {
        return argument.value_name("DATASET").index(1);
    }
    let argument = argument.long(key.option()).help_heading(key.heading);
    match key.kind {
        Kind::Text if key.name == "delimiter" => argument.value_name("CHARACTER").allow_hyphen_values(true),
        Kind::Text if key.name == "missing_words" => argument.value_name("WORDS").allow_hyphen_values(true),
        Kind::Text if key.name == "missing" => {
            argument.value_name("TREATMENT").value_parser(["mean", "zero", "propagate", "error"])
        }
        Kind::Text if ["numeric", "categorical", "date", "text", "ignore_columns"].contains(&key.name) => {
            argument.value_name("COLUMNS")
        }
        Kind::Text if key.name == "duplicates" => argument.value_name("RULE"),
        Kind::Text if key.name == NODE_ORDER => argument.value_name("ORDER").value_parser(["auto", "given", "local"]),
        Kind::Text if key.heading == FEATURES => argument.value_name("LIST"),
        Kind::Text if key.heading == TABLES => argument.value_name("COLUMN"),
        Kind::Text => argument.value_name(key.name.to_uppercase()),
        Kind::Choice(names) => argument.value_name(key.name.to_uppercase()).value_parser(names.to_vec()),
        Kind::Whole => argument.value_name("N").value_parser(value_parser!(i64)).allow_negative_numbers(true),
        Kind::Number => argument.value_name("X").value_parser(value_parser!(f64)).allow_negative_numbers(true),
        Kind::Switch | Kind::Flag | Kind::Toggle { .. } => argument.action(ArgAction::SetTrue),
    }
}
