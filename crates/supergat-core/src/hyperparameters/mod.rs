//! Hyperparameters: name, type, meaning, range, defaults, models and search of each, declared once.
//!
//! `declaration.rs` is the declaration, in the words of `declare.rs`. `groups.rs` makes the table of all hyperparameters
//! and a struct per group of it. Everything else is derived from these: settings and their files, options of the command
//! line, keywords of Python, setters of the library, search spaces and checks.

mod declaration;
mod declare;
mod groups;
mod stored;

pub use groups::{
    ClassConstraintSettings, ConstraintSettings, CorrectAndSmoothSettings, EarlyStoppingSettings, EdgeLossSettings,
    GamOptions, GlcnOptions, Group, HYPERPARAMETERS, LdsOptions, NetworkSettings, NeuralSparseOptions,
    PropagationSettings, SettingsGroup, TrainingSettings, TreeSettings,
};
pub(crate) use stored::Entries;
pub use stored::StoredValue;

use crate::activation::Activation;
use crate::blocks::{Norm, Residual};
use crate::error::{Error, Result};
use crate::model_kind::{ModelKind, System};
use crate::precision::Precision;
use serde::{Serialize, Serializer};
use std::fmt;

/// Description of a hyperparameter.
///
/// ```
/// use supergat_core::hyperparameters::{Hyperparameter, Value};
/// let lr = Hyperparameter::named("lr").unwrap();
/// assert_eq!(lr.default("supergat-mx".parse().unwrap()), Value::Number(0.01));
/// assert_eq!(lr.check(Value::Number(-1.0)).unwrap_err().to_string(), "lr = -1: must be positive");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hyperparameter {
    /// Name in configuration files and in the library. Options of the command line have `-` instead of `_`.
    pub name: &'static str,
    /// Name in files of results and models: that of the version that introduced it.
    pub stored: &'static str,
    /// Group of the hyperparameter.
    pub group: Group,
    /// Meaning in one sentence, with the symbol of the paper in brackets.
    pub meaning: &'static str,
    /// Allowed values.
    pub range: Range,
    /// How searches vary it.
    pub search: Search,
    read_by: Models,
    searched_for: Models,
    defaults: Defaults,
    on_new_graphs: Option<Defaults>,
}

/// How searches vary a hyperparameter.
///
/// The first number is the place among all searched hyperparameters. It decides which random numbers a hyperparameter
/// gets, so it never changes; a new one takes the next number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Search {
    /// Not at all: it has the same value in all trials.
    Never,
    /// If values are given.
    Given,
    /// Unless values are given, among these, and only on request.
    OnRequest(u8, Searched),
    /// Unless values are given, always among these.
    Always(u8, Searched),
}

/// Usual values of a hyperparameter in a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Searched {
    /// Numbers between two ends, on a logarithmic scale.
    Between(f64, f64),
    /// Whole numbers from the first to the second, inclusive.
    Whole(u64, u64),
    /// One of these numbers.
    Numbers(&'static [f64]),
    /// One of these whole numbers.
    Wholes(&'static [u64]),
    /// Both values of a switch, or all names of a choice.
    All,
}

/// Models of a group that read a hyperparameter, or for which it is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Models {
    All,
    WithAttention,
    /// Attention that nothing constrains.
    FreeAttention,
    /// Models whose layers have the options of deep networks.
    WithBlocks,
}

impl Models {
    fn contains(self, model: ModelKind) -> bool {
        match self {
            Self::All => true,
            Self::WithAttention => model.form().is_some(),
            Self::FreeAttention => model.is_attention(),
            Self::WithBlocks => !model.system().is_some_and(System::has_own_layers),
        }
    }
}

impl Group {
    /// Returns the name of the switch without which the other hyperparameters of the group have no effect, and which
    /// they turn on; `None` for groups without a switch of this kind.
    ///
    /// ```
    /// use supergat_core::hyperparameters::Group;
    /// assert_eq!(Group::CorrectAndSmooth.switch(), Some("correct_and_smooth"));
    /// assert_eq!(Group::Training.switch(), None);
    /// ```
    pub fn switch(self) -> Option<&'static str> {
        match self {
            Self::CorrectAndSmooth => Some("correct_and_smooth"),
            _ => None,
        }
    }
}

/// Allowed values of a hyperparameter.
///
/// ```
/// use supergat_core::hyperparameters::Range;
/// assert_eq!(Range::Whole(1, 64).to_string(), "must be a whole number from 1 to 64");
/// assert_eq!(Range::Share.to_string(), "must lie in (0, 1]");
/// assert_eq!(Range::Choice(&["none", "batch"]).to_string(), "must be one of none, batch");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// Whole numbers from the first to the second, inclusive.
    Whole(u64, u64),
    /// Numbers above zero.
    Positive,
    /// Numbers from zero.
    NotNegative,
    /// Numbers from zero to below one.
    BelowOne,
    /// Numbers above zero, up to one.
    Share,
    /// Numbers from zero to one.
    UnitInterval,
    /// True or false.
    Switch,
    /// One of these names.
    Choice(&'static [&'static str]),
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(least, most) => write!(f, "must be a whole number from {least} to {most}"),
            Self::Positive => f.write_str("must be positive"),
            Self::NotNegative => f.write_str("must not be negative"),
            Self::BelowOne => f.write_str("must lie in [0, 1)"),
            Self::Share => f.write_str("must lie in (0, 1]"),
            Self::UnitInterval => f.write_str("must lie in [0, 1]"),
            Self::Switch => f.write_str("must be true or false"),
            Self::Choice(names) => write!(f, "must be one of {}", names.join(", ")),
        }
    }
}

/// Value of a hyperparameter.
///
/// ```
/// use supergat_core::hyperparameters::Value;
/// assert_eq!(Value::from(3), Value::Whole(3));
/// assert_eq!(Value::from(0.5), Value::Number(0.5));
/// assert_eq!(Value::from(true).to_string(), "true");
/// assert_eq!(Value::from("batch"), Value::Choice("batch"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Whole number.
    Whole(u64),
    /// Number.
    Number(f64),
    /// True or false.
    Switch(bool),
    /// Name of a choice; see [`Hyperparameter::choice`] for names that are not constant.
    Choice(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Switch(value) => value.fmt(f),
            Self::Choice(name) => f.write_str(name),
        }
    }
}

macro_rules! value_from {
    ($($type:ty => $variant:ident),*) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}
value_from!(u64 => Whole, u32 => Whole, f64 => Number, f32 => Number, bool => Switch);

impl From<&'static str> for Value {
    fn from(name: &'static str) -> Self {
        Self::Choice(name)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Whole(value as u64)
    }
}

impl From<i32> for Value {
    /// Converts negative values to [`Value::Number`], so that error messages show them.
    fn from(value: i32) -> Self {
        u64::try_from(value).map_or(Self::Number(value.into()), Self::Whole)
    }
}

/// Type of the value of a hyperparameter.
pub(crate) trait ValueType: Copy {
    /// Converts a value of the table; `None` for other types.
    fn from_value(value: Value) -> Option<Self>;
}

impl ValueType for usize {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Whole(number) = value { number.try_into().ok() } else { None }
    }
}

impl ValueType for f64 {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(number),
            Value::Whole(number) => Some(number as f64),
            _ => None,
        }
    }
}

impl ValueType for bool {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Switch(on) = value { Some(on) } else { None }
    }
}

macro_rules! choices {
    ($($type:ty),*) => {
        $(impl ValueType for $type {
            fn from_value(value: Value) -> Option<Self> {
                if let Value::Choice(name) = value { name.parse().ok() } else { None }
            }
        }

        impl From<$type> for Value {
            fn from(choice: $type) -> Self {
                Self::Choice(choice.name())
            }
        })*
    };
}
choices!(Residual, Norm, Activation, Precision);

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match *self {
            Self::Whole(number) => serializer.serialize_u64(number),
            Self::Number(number) => serializer.serialize_f64(number),
            Self::Switch(on) => serializer.serialize_bool(on),
            Self::Choice(name) => serializer.serialize_str(name),
        }
    }
}

/// Default values, by model.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Defaults {
    Same(Value),
    /// First number for models with attention, second for others.
    ByAttention(u64, u64),
}

impl Defaults {
    fn of(self, model: ModelKind) -> Value {
        match self {
            Self::Same(value) => value,
            Self::ByAttention(with, without) => Value::Whole(if model.form().is_some() { with } else { without }),
        }
    }
}

impl Hyperparameter {
    /// Finds a hyperparameter by its name, or by its name in files.
    pub fn named(name: &str) -> Option<&'static Self> {
        HYPERPARAMETERS.iter().find(|known| known.name == name || known.stored == name)
    }

    /// Finds a hyperparameter by name, or returns an error that lists all names, the most similar first.
    pub fn find(name: &str) -> Result<&'static Self> {
        Self::named(name).ok_or_else(|| {
            let mut known: Vec<&str> = HYPERPARAMETERS.iter().map(|hyperparameter| hyperparameter.name).collect();
            known.sort_by_key(|known| strsim::osa_distance(name, known));
            Error::UnknownHyperparameter { name: name.to_owned(), known }
        })
    }

    /// Returns the default for a model in the style of the paper, on which its settings of single datasets are based.
    pub fn default(&self, model: ModelKind) -> Value {
        self.defaults.of(model)
    }

    /// Returns the default in [`Default`] of the struct of its group: that of models with attention.
    pub(crate) fn default_of_groups(&self) -> Value {
        self.default(ModelKind::Constrained { by_classes: true })
    }

    /// Returns the default for a model on a graph that the paper has no settings for. Where it differs, it was chosen by
    /// a study of many graphs (docs/studies/defaults.md).
    ///
    /// ```
    /// use supergat_core::hyperparameters::{Hyperparameter, Value};
    /// let norm = Hyperparameter::named("norm").unwrap();
    /// let of = |model: &str| norm.default_on_new_graphs(model.parse().unwrap());
    /// assert_eq!([of("gat-go"), of("cgat")], [Value::Choice("layer"), Value::Choice("none")]);
    /// ```
    pub fn default_on_new_graphs(&self, model: ModelKind) -> Value {
        let is_measured = model.is_network() && !matches!(model, ModelKind::Constrained { .. });
        self.on_new_graphs.filter(|_| is_measured).unwrap_or(self.defaults).of(model)
    }

    /// Returns whether the hyperparameter has an effect on a model.
    ///
    /// ```
    /// use supergat_core::hyperparameters::Hyperparameter;
    /// let slope = Hyperparameter::named("negative_slope").unwrap();
    /// let applies_to = |model: &str| slope.applies_to(model.parse().unwrap());
    /// assert!(applies_to("gat-go") && !applies_to("gcn"));
    /// ```
    pub fn applies_to(&self, model: ModelKind) -> bool {
        self.group.applies_to(model) && self.read_by.contains(model)
    }

    /// Returns whether searches vary the hyperparameter for a model.
    pub fn is_searched_for(&self, model: ModelKind) -> bool {
        self.applies_to(model) && self.searched_for.contains(model)
    }

    /// Returns the value as the type of this hyperparameter, or an error with the allowed range.
    ///
    /// Whole numbers are accepted where numbers are expected.
    pub fn check(&self, value: Value) -> Result<Value> {
        let within = |x: f64| match self.range {
            Range::Positive => x > 0.0 && x.is_finite(),
            Range::NotNegative => x >= 0.0 && x.is_finite(),
            Range::BelowOne => (0.0..1.0).contains(&x),
            Range::Share => x > 0.0 && x <= 1.0,
            Range::UnitInterval => (0.0..=1.0).contains(&x),
            Range::Whole(..) | Range::Switch | Range::Choice(_) => false,
        };
        match (self.range, value) {
            (Range::Whole(least, most), Value::Whole(x)) if (least..=most).contains(&x) => Ok(value),
            (Range::Switch, Value::Switch(_)) => Ok(value),
            (Range::Choice(names), Value::Choice(name)) if names.contains(&name) => Ok(value),
            (_, Value::Number(x)) if within(x) => Ok(value),
            (_, Value::Whole(x)) if within(x as f64) => Ok(Value::Number(x as f64)),
            _ => {
                let is_number = !matches!(self.range, Range::Whole(..) | Range::Switch | Range::Choice(_));
                let reason = match value {
                    Value::Number(x) if is_number && !x.is_finite() => "must be a finite number".to_owned(),
                    _ => self.range.to_string(),
                };
                Err(Error::Hyperparameter { name: self.name, value: value.to_string(), reason })
            }
        }
    }
}

impl Hyperparameter {
    /// Returns the choice of this name, or an error with the names of all choices.
    ///
    /// ```
    /// use supergat_core::hyperparameters::{Hyperparameter, Value};
    /// let norm = Hyperparameter::named("norm").unwrap();
    /// assert_eq!(norm.choice(&"batch".to_owned())?, Value::Choice("batch"));
    /// let error = norm.choice("group").unwrap_err();
    /// assert_eq!(error.to_string(), "norm = group: must be one of none, layer, batch");
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn choice(&self, name: &str) -> Result<Value> {
        let names = if let Range::Choice(names) = self.range { names } else { &[] };
        names.iter().find(|known| **known == name).map(|known| Value::Choice(known)).ok_or_else(|| {
            Error::Hyperparameter { name: self.name, value: name.to_owned(), reason: self.range.to_string() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_all_defaults() {
        for hyperparameter in HYPERPARAMETERS {
            for model in ModelKind::ALL {
                hyperparameter.check(hyperparameter.default(model)).unwrap();
            }
        }
    }

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<&str> = HYPERPARAMETERS.iter().map(|hyperparameter| hyperparameter.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), HYPERPARAMETERS.len());
    }

    #[test]
    fn rejects_values_out_of_range() {
        let message =
            |name: &str, value: Value| Hyperparameter::named(name).unwrap().check(value).unwrap_err().to_string();
        assert_eq!(message("heads", 65.into()), "heads = 65: must be a whole number from 1 to 64");
        assert_eq!(message("heads", 2.5.into()), "heads = 2.5: must be a whole number from 1 to 64");
        assert_eq!(message("heads", Value::from(-2)), "heads = -2: must be a whole number from 1 to 64");
        assert_eq!(message("dropout", 1.into()), "dropout = 1: must lie in [0, 1)");
        assert_eq!(message("lr", 0.into()), "lr = 0: must be positive");
        for hyperparameter in HYPERPARAMETERS {
            for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
                let expected = match hyperparameter.range {
                    range @ (Range::Whole(..) | Range::Switch | Range::Choice(_)) => range.to_string(),
                    _ => "must be a finite number".to_owned(),
                };
                let name = hyperparameter.name;
                assert_eq!(message(name, value.into()), format!("{name} = {value}: {expected}"));
            }
        }
        assert_eq!(message("early_stop", 1.into()), "early_stop = 1: must be true or false");
        assert_eq!(message("norm", "group".into()), "norm = group: must be one of none, layer, batch");
        assert_eq!(message("norm", true.into()), "norm = true: must be one of none, layer, batch");
        let whole = Hyperparameter::named("lambda_e").unwrap().check(3.into()).unwrap();
        assert_eq!(whole, Value::Number(3.0));
    }
}
