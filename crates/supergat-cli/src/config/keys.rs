//! Table of all configuration keys. Options, their help, the configuration file and its comments are generated from it.

use crate::error::{CliError, Result};
use crate::output::quoted;
use std::sync::LazyLock;
use supergat::hyperparameters::{self, HYPERPARAMETERS, Hyperparameter, Range};
use supergat::{Calibrate, ClassWeight, DEFAULT_MODEL, Duplicates, Select, ThresholdRule};
use toml::Value;

/// Type of the value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// Non-negative integer.
    Whole,
    /// Floating-point number.
    Number,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// Boolean whose option, `--no-KEY`, sets it to false.
    Switch,
    /// Boolean whose option sets it to true.
    Flag,
    /// Boolean whose option sets it to true, and another option to false.
    Toggle {
        /// Name of the option that sets it to false.
        off: &'static str,
    },
}

/// Configuration key.
#[derive(Debug)]
pub struct Key {
    /// Name in a configuration file. The option has `-` instead of `_`.
    pub name: &'static str,
    /// Type of its value.
    pub kind: Kind,
    /// Heading of its group in the help and in configuration files.
    pub heading: &'static str,
    /// Help text.
    pub description: &'static str,
}

/// Heading of the keys that name dataset, model, split and seeds.
pub const RUN: &str = "Run";
/// Heading of the options for reading tables. These keys have no value unless the user sets one.
pub const TABLES: &str = "Tables (nodes.csv, edges.csv)";
/// Key of the order of the nodes. It has no value unless the user sets one.
pub const NODE_ORDER: &str = "node_order";
/// Key of the division of features by their sum over each node.
pub const ROW_NORMALISE: &str = "row_normalise";
/// Value of the key `splits`.
const ALL: &str = "all";
/// Heading of the keys for features computed from the graph. They have no value unless the user sets one.
pub const FEATURES: &str = "Features from the graph";
/// Heading of the keys for probabilities and decisions. They have no value unless the user sets one.
pub const DECISIONS: &str = "Rare classes, probabilities and decisions";
/// Maximum number of seeds.
const MAX_SEEDS: i64 = 1_000_000;

const fn key(name: &'static str, kind: Kind, heading: &'static str, description: &'static str) -> Key {
    Key { name, kind, heading, description }
}

/// All keys, in display order: those of the run, the hyperparameters of the library, those for reading the dataset.
pub static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let hyperparameters = HYPERPARAMETERS.iter().map(|hyperparameter| {
        let kind = match hyperparameter.range {
            Range::Whole(..) => Kind::Whole,
            Range::Switch
                if hyperparameter.default(DEFAULT_MODEL) != hyperparameter.default_on_new_graphs(DEFAULT_MODEL) =>
            {
                Kind::Toggle { off: format!("no-{}", hyperparameter.name.replace('_', "-")).leak() }
            }
            Range::Switch if hyperparameter.default(DEFAULT_MODEL) == hyperparameters::Value::Switch(false) => {
                Kind::Flag
            }
            Range::Switch => Kind::Switch,
            Range::Choice(names) => Kind::Choice(names),
            _ => Kind::Number,
        };
        key(hyperparameter.name, kind, hyperparameter.group.heading(), hyperparameter.meaning)
    });
    let decisions = DECISION_KEYS.into_iter();
    RUN_KEYS.into_iter().chain(hyperparameters).chain(decisions).chain(FEATURE_KEYS).chain(TABLE_KEYS).collect()
});

const RUN_KEYS: [Key; 8] = [
    key(
        "dataset",
        Kind::Text,
        RUN,
        "Dataset: a known name (cora, ...), a folder, or a generated graph such as random-partition:homophily=0.9,degree=5",
    ),
    key("model", Kind::Text, RUN, "Model such as supergat-mx, or auto (recommended for the graph)"),
    key(
        "split",
        Kind::Text,
        RUN,
        "Train/validation/test split: published, random:SEED, random:60/20/20:SEED (per cent of the labelled nodes), full-supervised, or a split number",
    ),
    key(
        "splits",
        Kind::Text,
        RUN,
        "Train once on every split of the files, split k with seed + k; the only value is all",
    ),
    key(
        "select",
        Kind::Text,
        RUN,
        "Score that chooses the best epoch and seed: accuracy, balanced-accuracy, macro-f1, auroc, average-precision or loss",
    ),
    key("seed", Kind::Whole, RUN, "First seed, for initial weights, dropout and sampling"),
    key("seeds", Kind::Whole, RUN, "Number of seeds to run: seed, seed + 1, ..."),
    key(
        NODE_ORDER,
        Kind::Text,
        RUN,
        "Order of the nodes inside the engine: given; local, with neighbours close, which is faster on large graphs; or auto",
    ),
];

const DECISION_KEYS: [Key; 5] = [
    key(
        "class_weight",
        Kind::Text,
        DECISIONS,
        "Weights of classes in training: balanced, none, or a list such as fraud=20,other=1",
    ),
    key("calibrate", Kind::Text, DECISIONS, "Calibrate probabilities on the validation nodes: temperature or none"),
    key(
        "threshold",
        Kind::Text,
        DECISIONS,
        "Lowest probability at which the positive class of two is predicted, chosen on the validation nodes: f1, precision=0.9, recall=0.8, or a probability",
    ),
    key(
        "positive",
        Kind::Text,
        DECISIONS,
        "Positive class of two, for the threshold, AUROC, average precision and precision at k",
    ),
    key(
        "ensemble",
        Kind::Flag,
        DECISIONS,
        "Predict the mean probabilities of all seeds, whose networks the model file then contains",
    ),
];

const FEATURE_KEYS: [Key; 3] = [
    key(
        "features",
        Kind::Text,
        FEATURES,
        "Replace given features by computed ones: structural, spectral:COUNT, pagerank, or several separated by commas",
    ),
    key(
        "add_features",
        Kind::Text,
        FEATURES,
        "Add such features to the given ones, also those of neighbours: means:STEPS, extremes:STEPS",
    ),
    key(
        ROW_NORMALISE,
        Kind::Flag,
        FEATURES,
        "Divide the given features of each node by their sum; published datasets then keep their words, without principal components",
    ),
];

const TABLE_KEYS: [Key; 21] = [
    key("delimiter", Kind::Text, TABLES, "Field delimiter: one character, tab or space"),
    key("id_column", Kind::Text, TABLES, "Column with node ids: its name, or its number counted from 1"),
    key("label_column", Kind::Text, TABLES, "Column with the class of each node"),
    key("split_column", Kind::Text, TABLES, "Column with the split of each node: train, validation or test"),
    key("source_column", Kind::Text, TABLES, "Column with the source node of each link"),
    key("target_column", Kind::Text, TABLES, "Column with the target node of each link"),
    key("edge_weight", Kind::Text, TABLES, "Column with the weight of each link (default: weight, if there is one)"),
    key(
        "duplicates",
        Kind::Text,
        TABLES,
        "Links that are listed several times: add their weights (sum), take the largest (max) or the first, or error",
    ),
    key("two_way", Kind::Flag, TABLES, "Give links separate features for each direction, for types such as follows"),
    key("ignore_columns", Kind::Text, TABLES, "Columns of nodes and links to ignore, separated by commas"),
    key("numeric", Kind::Text, TABLES, "Columns to read as numbers, separated by commas (default: detected)"),
    key("categorical", Kind::Text, TABLES, "Columns to read as categories, separated by commas (default: detected)"),
    key("date", Kind::Text, TABLES, "Columns to read as dates, separated by commas (default: detected)"),
    key("text", Kind::Text, TABLES, "Columns to read as free text, separated by commas (default: detected)"),
    key(
        "missing",
        Kind::Text,
        TABLES,
        "Missing values become the mean, with a feature that marks them (mean); 0 (zero); computed from neighbours (propagate); or an error",
    ),
    key(
        "missing_words",
        Kind::Text,
        TABLES,
        "Further words for missing values, such as unknown,-999 (besides empty, NA, N/A, NaN, null, None, ? and \\N)",
    ),
    key("directed", Kind::Flag, TABLES, "Treat links as directed (default: undirected)"),
    key(
        "standardise",
        Kind::Toggle { off: "no-standardise" },
        TABLES,
        "Scale all numeric columns to mean 0 and standard deviation 1 (default: those with large values)",
    ),
    key("skip_unknown", Kind::Flag, TABLES, "Skip links to unknown nodes (default: error)"),
    key("keep_rare", Kind::Flag, TABLES, "Keep classes with a single node (default: error)"),
    key("split_seed", Kind::Whole, TABLES, "Seed of the random split used when no column gives one"),
];

impl Key {
    /// Finds a key by name. Hyperparameters are also found by their name in files of earlier versions.
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = Hyperparameter::named(name).map_or(name, |known| known.name);
        KEYS.iter().find(|key| key.name == name)
    }

    /// Returns whether it is a hyperparameter of model or training.
    pub fn is_setting(&self) -> bool {
        Hyperparameter::named(self.name).is_some()
    }

    /// Returns whether it is an option of reading a dataset, besides the split.
    pub fn reads_dataset(&self) -> bool {
        [FEATURES, TABLES].contains(&self.heading) || self.name == NODE_ORDER
    }

    /// Returns the name of its option, without the leading dashes.
    pub fn option(&self) -> String {
        let name = self.name.replace('_', "-");
        if self.kind == Kind::Switch { format!("no-{name}") } else { name }
    }

    /// Returns the option that sets a value, such as `--lr 0.1` or `--no-early-stop`.
    pub fn as_option(&self, value: &Value) -> String {
        match (self.kind, value) {
            (Kind::Toggle { off }, Value::Boolean(false)) => format!("--{off}"),
            (Kind::Switch | Kind::Flag | Kind::Toggle { .. }, _) => format!("--{}", self.option()),
            (_, Value::String(text)) => format!("--{} {}", self.option(), quoted(text)),
            _ => format!("--{} {}", self.option(), shown(value)),
        }
    }

    /// Validates a text with few possible values.
    fn check_text(&self, text: &str) -> std::result::Result<(), String> {
        match self.name {
            "splits" if text != ALL => Err(format!("must be {ALL}")),
            "select" if !is_default_score(text) => text.parse::<Select>().map(drop),
            "calibrate" => text.parse::<Calibrate>().map(drop),
            "class_weight" => text.parse::<ClassWeight>().map(drop),
            "threshold" => text.parse::<ThresholdRule>().map(drop),
            "duplicates" => text.parse::<Duplicates>().map(drop),
            _ => Ok(()),
        }
    }

    /// Validates the type and the range of a value.
    pub fn check(&self, value: &Value) -> Result<()> {
        if let Some(hyperparameter) = Hyperparameter::named(self.name)
            && let Some(given) = hyperparameter_value(hyperparameter, value)?
        {
            return Ok(hyperparameter.check(given).map(drop)?);
        }
        let (min, max) = if self.name == "seeds" { (1, MAX_SEEDS) } else { (0, i64::MAX) };
        let expected = match (self.kind, value) {
            (Kind::Text, Value::String(text)) => match self.check_text(text) {
                Ok(()) => return Ok(()),
                Err(reason) => reason,
            },
            (Kind::Flag | Kind::Toggle { .. }, Value::Boolean(_)) => return Ok(()),
            (Kind::Whole, Value::Integer(number)) if (min..=max).contains(number) => return Ok(()),
            (Kind::Text, _) => "must be a text in quotation marks".to_owned(),
            (Kind::Choice(names), _) => format!("must be one of {}, in quotation marks", names.join(", ")),
            (Kind::Number, _) => "must be a number".to_owned(),
            (Kind::Switch | Kind::Flag | Kind::Toggle { .. }, _) => "must be true or false".to_owned(),
            (Kind::Whole, _) => format!("must be a whole number from {min} to {max}"),
        };
        Err(CliError::usage(format!("{} = {}: {expected}", self.name, shown(value))))
    }
}

/// Returns whether a score is the one that is used without a choice.
pub fn is_default_score(text: &str) -> bool {
    ["accuracy", "micro-f1"].contains(&text)
}

/// Converts a value of a file or an option to one of a hyperparameter; `None` for texts where there is no choice, and for
/// other types. Fails for an unknown choice.
pub fn hyperparameter_value(hyperparameter: &Hyperparameter, value: &Value) -> Result<Option<hyperparameters::Value>> {
    Ok(match value {
        Value::Integer(number) => Some(u64::try_from(*number).map_or((*number as f64).into(), Into::into)),
        Value::Float(number) => Some((*number).into()),
        Value::Boolean(on) => Some((*on).into()),
        Value::String(name) if matches!(hyperparameter.range, Range::Choice(_)) => Some(hyperparameter.choice(name)?),
        _ => None,
    })
}

/// Formats a value as in a configuration file; very small and large numbers have an exponent.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Float(number) if number.is_finite() => format!("{number:?}"),
        other => other.to_string(),
    }
}

/// Sorts `words` by edit distance to `word`, the nearest first.
pub fn nearest_first(word: &str, mut words: Vec<String>) -> Vec<String> {
    words.sort_by_key(|known| strsim::osa_distance(word, known));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_values_of_wrong_type_or_range() {
        let check = |name, value| Key::named(name).unwrap().check(&value).is_ok();
        assert!(check("lr", Value::Integer(1)) && check("lr", Value::Float(0.1)));
        assert!(!check("lr", Value::String("fast".into())));
        assert!(check("layers", Value::Integer(1000)) && !check("layers", Value::Integer(1001)));
        assert!(!check("layers", Value::Integer(-1)) && !check("layers", Value::Float(2.0)));
        assert!(check("seed", Value::Integer(i64::MAX)) && check("seed", Value::Integer(0)));
        assert!(!check("seeds", Value::Integer(0)) && check("seeds", Value::Integer(1)));
        assert!(check("norm", Value::String("batch".into())) && !check("norm", Value::String("group".into())));
        assert!(!check("norm", Value::Integer(1)) && check("input_layer", Value::Boolean(true)));
        assert!(!check("early_stop", Value::Integer(1)) && !check("model", Value::Boolean(true)));
    }

    /// Names of hyperparameters are distinct from those of all other keys.
    #[test]
    fn every_hyperparameter_is_a_key() {
        for hyperparameter in HYPERPARAMETERS {
            let keys = KEYS.iter().filter(|key| [hyperparameter.name, hyperparameter.stored].contains(&key.name));
            assert_eq!(keys.count(), 1, "{}", hyperparameter.name);
        }
    }

    #[test]
    fn sorts_words_by_edit_distance() {
        let words = vec!["gat-go".to_owned(), "mlp".to_owned(), "supergat-mx".to_owned()];
        assert_eq!(nearest_first("supergatmx", words.clone())[0], "supergat-mx");
        assert_eq!(nearest_first("mpl", words)[0], "mlp");
        assert_eq!(nearest_first("gnc", vec!["gcn-incoming".to_owned(), "gcn".to_owned()])[0], "gcn");
    }
}
