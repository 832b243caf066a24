//! The one table of everything that decides a run. Options, their help, the configuration file and its comments are made from it.

use crate::error::{CliError, Result};
use toml::Value;

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Words.
    Text,
    /// A whole number, not negative.
    Whole,
    /// A number.
    Number,
    /// Yes or no; the option says no.
    Switch,
    /// Yes or no; the option says yes.
    Flag,
}

/// One entry of the configuration.
#[derive(Debug)]
pub struct Key {
    /// Its name in a configuration file; as an option it has `-` for `_`.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// The group it is shown in.
    pub heading: &'static str,
    /// What it means.
    pub description: &'static str,
}

/// Whole numbers beyond this ask for more memory or time than there is; seeds may be larger.
const MOST: i64 = 100_000_000;

/// What is trained, and with which randomness.
pub const RUN: &str = "Run";
const NETWORK: &str = "Network";
const TRAINING: &str = "Training";
const SELF_SUPERVISION: &str = "Self-supervision (supergat-* only)";
const CONSTRAINTS: &str = "Constraints (cgat* only)";
const EARLY_STOPPING: &str = "Early stopping";
/// How tables are read. These keys have no value unless somebody gives one.
pub const TABLES: &str = "Tables (nodes.csv, edges.csv)";

const fn key(name: &'static str, kind: Kind, heading: &'static str, description: &'static str) -> Key {
    Key { name, kind, heading, description }
}

/// Every key, in the order in which they are shown.
pub const KEYS: [Key; 40] = [
    key(
        "dataset",
        Kind::Text,
        RUN,
        "Folder of a dataset, a known name (cora, citeseer, pubmed, ...), or a generated graph such as random-partition:homophily=0.9,degree=5",
    ),
    key(
        "model",
        Kind::Text,
        RUN,
        "Network: supergat-* (self-supervised attention), gat-* (attention from labels alone), cgat* (attention constrained by margins), a baseline without attention, or auto (what `supergat recommend` names)",
    ),
    key(
        "split",
        Kind::Text,
        RUN,
        "Which nodes are for training, validation and testing: published, random, random:SEED, full-supervised (all nodes that are not for validation or testing are for training), or the number of one of several splits",
    ),
    key("seed", Kind::Whole, RUN, "First seed: it decides initial weights, dropout and sampling"),
    key("seeds", Kind::Whole, RUN, "How many seeds to run: seed, seed + 1, ..."),
    key("layers", Kind::Whole, NETWORK, "Layers (L)"),
    key(
        "hidden",
        Kind::Whole,
        NETWORK,
        "Features per head in hidden layers (F); networks without attention have heads * hidden",
    ),
    key("heads", Kind::Whole, NETWORK, "Attention heads in hidden layers (K), joined side by side"),
    key("output_heads", Kind::Whole, NETWORK, "Attention heads in the last layer, averaged"),
    key("dropout", Kind::Number, NETWORK, "Dropout of layer inputs and of attention coefficients"),
    key("negative_slope", Kind::Number, NETWORK, "Slope of LeakyReLU for negative attention scores"),
    key("lr", Kind::Number, TRAINING, "Learning rate of Adam"),
    key("lambda_2", Kind::Number, TRAINING, "Weight decay (lambda_2), added to the gradient of every weight"),
    key("max_epochs", Kind::Whole, TRAINING, "Epochs at most"),
    key("lambda_e", Kind::Number, SELF_SUPERVISION, "Weight of the edge losses (lambda_E)"),
    key("p_e", Kind::Number, SELF_SUPERVISION, "Share of the edges that each step samples (p_e)"),
    key("p_n", Kind::Number, SELF_SUPERVISION, "Unlinked pairs drawn for each sampled edge (p_n)"),
    key(
        "top_k",
        Kind::Whole,
        CONSTRAINTS,
        "Neighbours that each node and head attends to in training, those of largest scores (k)",
    ),
    key("negatives_per_edge", Kind::Whole, CONSTRAINTS, "Nodes that each sampled edge is compared with"),
    key(
        "lambda_g",
        Kind::Number,
        CONSTRAINTS,
        "Weight of the losses that compare edges with unlinked pairs (lambda_g)",
    ),
    key(
        "margin_g",
        Kind::Number,
        CONSTRAINTS,
        "By how much the score of an edge shall be above that of an unlinked pair",
    ),
    key(
        "lambda_b",
        Kind::Number,
        CONSTRAINTS,
        "Weight of the losses that compare edges within a class with edges between classes (lambda_b); cgat-full-supervised only",
    ),
    key(
        "margin_b",
        Kind::Number,
        CONSTRAINTS,
        "By how much the score of an edge within a class shall be above that of one between classes; cgat-full-supervised only",
    ),
    key("early_stop", Kind::Switch, EARLY_STOPPING, "Whether to stop once validation has settled, before max_epochs"),
    key("early_stop_patience", Kind::Whole, EARLY_STOPPING, "No stop up to this epoch"),
    key("early_stop_window", Kind::Whole, EARLY_STOPPING, "How many validation results are averaged for comparison"),
    key(
        "early_stop_loss_change",
        Kind::Number,
        EARLY_STOPPING,
        "Stop when the validation loss differs from that average by a smaller share than this",
    ),
    key(
        "early_stop_metric_change",
        Kind::Number,
        EARLY_STOPPING,
        "Stop when the validation metric differs from that average by a smaller share than this",
    ),
    key("delimiter", Kind::Text, TABLES, "What stands between fields: one character, tab or space"),
    key("id_column", Kind::Text, TABLES, "Column with the id of a node: its name, or its number counted from 1"),
    key("label_column", Kind::Text, TABLES, "Column with the class of a node"),
    key("split_column", Kind::Text, TABLES, "Column that says train, validation or test"),
    key("source_column", Kind::Text, TABLES, "Column with the first end of a link"),
    key("target_column", Kind::Text, TABLES, "Column with the second end of a link"),
    key("ignore_columns", Kind::Text, TABLES, "Columns of the nodes that are not read, separated by commas"),
    key("directed", Kind::Flag, TABLES, "Links count from source to target only"),
    key("standardise", Kind::Flag, TABLES, "Shift and scale numeric columns to mean 0 and deviation 1"),
    key("skip_unknown", Kind::Flag, TABLES, "Leave out links to unknown nodes instead of refusing them"),
    key("keep_rare", Kind::Flag, TABLES, "Keep classes that have a single node instead of refusing them"),
    key("split_seed", Kind::Whole, TABLES, "Seed of the random split that is drawn when no column gives one"),
];

impl Key {
    /// The key of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// Whether it is one of the settings of model and training.
    pub fn is_setting(&self) -> bool {
        self.heading != RUN && self.heading != TABLES
    }

    /// Its name as an option, without dashes in front.
    pub fn option(&self) -> String {
        let name = self.name.replace('_', "-");
        if self.kind == Kind::Switch { format!("no-{name}") } else { name }
    }

    /// Refuses a value of the wrong kind or out of range.
    pub fn check(&self, value: &Value) -> Result<()> {
        let most = match self.name {
            "seed" | "split_seed" => i64::MAX,
            "seeds" => MOST / 100,
            _ => MOST,
        };
        let least = i64::from(self.name == "seeds");
        let expected = match (self.kind, value) {
            (Kind::Text, Value::String(_))
            | (Kind::Number, Value::Float(_) | Value::Integer(_))
            | (Kind::Switch | Kind::Flag, Value::Boolean(_)) => return Ok(()),
            (Kind::Whole, Value::Integer(number)) if (least..=most).contains(number) => return Ok(()),
            (Kind::Text, _) => "must be a text in quotation marks".to_owned(),
            (Kind::Number, _) => "must be a number".to_owned(),
            (Kind::Switch | Kind::Flag, _) => "must be true or false".to_owned(),
            (Kind::Whole, _) => format!("must be a whole number from {least} to {most}"),
        };
        Err(CliError::usage(format!("{} = {}: {expected}", self.name, shown(value))))
    }
}

/// A value as a person writes it: small and large numbers with an exponent.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Float(number) if number.is_finite() => format!("{number:?}"),
        other => other.to_string(),
    }
}

/// Words ordered by likeness to the given one, the nearest first.
pub fn nearest_first(word: &str, mut words: Vec<String>) -> Vec<String> {
    words.sort_by_key(|known| strsim::osa_distance(word, known));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_lab::Settings;

    /// A hyperparameter that is added to, removed from or renamed in the settings must be so here.
    #[test]
    fn the_table_holds_every_setting_and_its_kind() {
        let of = |model: &str| toml::Table::try_from(Settings::general(model.parse().unwrap())).unwrap();
        let settings = of("cgat-full-supervised");
        assert!(of("gat-go").keys().all(|name| settings.contains_key(name)));
        let mut unknown: Vec<&str> = settings.keys().map(String::as_str).collect();
        for key in &KEYS {
            match settings.get(key.name) {
                Some(value) => key.check(value).unwrap(),
                None => assert!(!key.is_setting() && key.name != "model", "{} is no setting", key.name),
            }
            if let Some(Value::Float(_)) = settings.get(key.name) {
                assert_eq!(key.kind, Kind::Number, "{}", key.name);
            }
            unknown.retain(|name| *name != key.name);
        }
        assert!(unknown.is_empty(), "settings without a key: {unknown:?}");
    }

    #[test]
    fn values_are_checked() {
        let check = |name, value| Key::named(name).unwrap().check(&value).is_ok();
        assert!(check("lr", Value::Integer(1)) && check("lr", Value::Float(0.1)));
        assert!(!check("lr", Value::String("fast".into())));
        assert!(check("layers", Value::Integer(MOST)) && !check("layers", Value::Integer(MOST + 1)));
        assert!(!check("layers", Value::Integer(-1)) && !check("layers", Value::Float(2.0)));
        assert!(check("seed", Value::Integer(i64::MAX)) && check("seed", Value::Integer(0)));
        assert!(!check("seeds", Value::Integer(0)) && check("seeds", Value::Integer(1)));
        assert!(!check("early_stop", Value::Integer(1)) && !check("model", Value::Boolean(true)));
    }

    #[test]
    fn likeness_orders_words() {
        let words = vec!["gat-go".to_owned(), "mlp".to_owned(), "supergat-mx".to_owned()];
        assert_eq!(nearest_first("supergatmx", words.clone())[0], "supergat-mx");
        assert_eq!(nearest_first("mpl", words)[0], "mlp");
        assert_eq!(nearest_first("gnc", vec!["gcn-incoming".to_owned(), "gcn".to_owned()])[0], "gcn");
    }
}
