//! Table of all configuration keys. Options, their help, the configuration file and its comments are generated from it.

use crate::error::{CliError, Result};
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
    /// Boolean whose option, `--no-KEY`, sets it to false.
    Switch,
    /// Boolean whose option sets it to true.
    Flag,
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

/// Maximum of integers other than seeds. Larger sizes would exceed any available memory or time.
const MAX_WHOLE: i64 = 100_000_000;

/// Heading of the keys that name dataset, model, split and seeds.
pub const RUN: &str = "Run";
const NETWORK: &str = "Network";
const TRAINING: &str = "Training";
const SELF_SUPERVISION: &str = "Self-supervision (supergat-* only)";
const CONSTRAINTS: &str = "Constraints (cgat* only)";
const EARLY_STOPPING: &str = "Early stopping";
/// Heading of the options for reading tables. These keys have no value unless the user sets one.
pub const TABLES: &str = "Tables (nodes.csv, edges.csv)";

const fn key(name: &'static str, kind: Kind, heading: &'static str, description: &'static str) -> Key {
    Key { name, kind, heading, description }
}

/// All keys, in display order.
pub const KEYS: [Key; 40] = [
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
        "Train/validation/test split: published, random, random:SEED, full-supervised, or a split number",
    ),
    key("seed", Kind::Whole, RUN, "First seed, for initial weights, dropout and sampling"),
    key("seeds", Kind::Whole, RUN, "Number of seeds to run: seed, seed + 1, ..."),
    key("layers", Kind::Whole, NETWORK, "Number of layers (L)"),
    key(
        "hidden",
        Kind::Whole,
        NETWORK,
        "Features per head in hidden layers (F); models without attention have heads * hidden",
    ),
    key("heads", Kind::Whole, NETWORK, "Attention heads in hidden layers, concatenated (K)"),
    key("output_heads", Kind::Whole, NETWORK, "Attention heads in the last layer, averaged"),
    key("dropout", Kind::Number, NETWORK, "Dropout rate of layer inputs and attention coefficients"),
    key("negative_slope", Kind::Number, NETWORK, "LeakyReLU slope for negative attention scores"),
    key("lr", Kind::Number, TRAINING, "Learning rate (Adam)"),
    key("lambda_2", Kind::Number, TRAINING, "Weight decay, added to every gradient (lambda_2)"),
    key("max_epochs", Kind::Whole, TRAINING, "Maximum number of epochs"),
    key("lambda_e", Kind::Number, SELF_SUPERVISION, "Weight of the edge loss (lambda_E)"),
    key("p_e", Kind::Number, SELF_SUPERVISION, "Fraction of the edges sampled in each step (p_e)"),
    key("p_n", Kind::Number, SELF_SUPERVISION, "Negative samples (unlinked pairs) per sampled edge (p_n)"),
    key(
        "top_k",
        Kind::Whole,
        CONSTRAINTS,
        "Number of neighbours, those with the highest scores, that each head attends to in training (k)",
    ),
    key("negatives_per_edge", Kind::Whole, CONSTRAINTS, "Number of nodes that each edge is compared with"),
    key("lambda_g", Kind::Number, CONSTRAINTS, "Weight of the loss that compares edges with non-edges (lambda_g)"),
    key("margin_g", Kind::Number, CONSTRAINTS, "Minimum margin between the scores of an edge and a non-edge"),
    key(
        "lambda_b",
        Kind::Number,
        CONSTRAINTS,
        "Weight of the loss that compares edges within and between classes (lambda_b); cgat-full-supervised only",
    ),
    key(
        "margin_b",
        Kind::Number,
        CONSTRAINTS,
        "Minimum margin between the scores of edges within and between classes; cgat-full-supervised only",
    ),
    key(
        "early_stop",
        Kind::Switch,
        EARLY_STOPPING,
        "Whether to stop before max_epochs once the validation loss or metric has settled",
    ),
    key("early_stop_patience", Kind::Whole, EARLY_STOPPING, "No early stop up to this epoch, counted from 0"),
    key("early_stop_window", Kind::Whole, EARLY_STOPPING, "Number of previous results to average"),
    key(
        "early_stop_loss_change",
        Kind::Number,
        EARLY_STOPPING,
        "Stop when the validation loss is within this fraction of its average",
    ),
    key(
        "early_stop_metric_change",
        Kind::Number,
        EARLY_STOPPING,
        "Stop when the validation metric is within this fraction of its average",
    ),
    key("delimiter", Kind::Text, TABLES, "Field delimiter: one character, tab or space"),
    key("id_column", Kind::Text, TABLES, "Column with node ids: its name, or its number counted from 1"),
    key("label_column", Kind::Text, TABLES, "Column with the class of each node"),
    key("split_column", Kind::Text, TABLES, "Column with the split of each node: train, validation or test"),
    key("source_column", Kind::Text, TABLES, "Column with the source node of each link"),
    key("target_column", Kind::Text, TABLES, "Column with the target node of each link"),
    key("ignore_columns", Kind::Text, TABLES, "Columns of the node table to ignore, separated by commas"),
    key("directed", Kind::Flag, TABLES, "Treat links as directed (default: undirected)"),
    key("standardise", Kind::Flag, TABLES, "Scale numeric columns to mean 0 and standard deviation 1 (default: off)"),
    key("skip_unknown", Kind::Flag, TABLES, "Skip links to unknown nodes (default: error)"),
    key("keep_rare", Kind::Flag, TABLES, "Keep classes with a single node (default: error)"),
    key("split_seed", Kind::Whole, TABLES, "Seed of the random split used when no column gives one"),
];

impl Key {
    /// Finds a key by name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// Returns whether it is a setting of model or training.
    pub fn is_setting(&self) -> bool {
        self.heading != RUN && self.heading != TABLES
    }

    /// Returns the name of its option, without the leading dashes.
    pub fn option(&self) -> String {
        let name = self.name.replace('_', "-");
        if self.kind == Kind::Switch { format!("no-{name}") } else { name }
    }

    /// Validates the type and the range of a value.
    pub fn check(&self, value: &Value) -> Result<()> {
        let max = match self.name {
            "seed" | "split_seed" => i64::MAX,
            "seeds" => MAX_WHOLE / 100,
            _ => MAX_WHOLE,
        };
        let min = i64::from(self.name == "seeds");
        let expected = match (self.kind, value) {
            (Kind::Text, Value::String(_))
            | (Kind::Number, Value::Float(_) | Value::Integer(_))
            | (Kind::Switch | Kind::Flag, Value::Boolean(_)) => return Ok(()),
            (Kind::Whole, Value::Integer(number)) if (min..=max).contains(number) => return Ok(()),
            (Kind::Text, _) => "must be a text in quotation marks".to_owned(),
            (Kind::Number, _) => "must be a number".to_owned(),
            (Kind::Switch | Kind::Flag, _) => "must be true or false".to_owned(),
            (Kind::Whole, _) => format!("must be a whole number from {min} to {max}"),
        };
        Err(CliError::usage(format!("{} = {}: {expected}", self.name, shown(value))))
    }
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
    use supergat_lab::Settings;

    /// Fails if a hyperparameter is added, removed or renamed in `Settings` but not in `KEYS`.
    #[test]
    fn keys_match_settings_and_their_types() {
        let general = |model: &str| toml::Table::try_from(Settings::general(model.parse().unwrap())).unwrap();
        let settings = general("cgat-full-supervised");
        assert!(general("gat-go").keys().all(|name| settings.contains_key(name)));
        let mut unknown: Vec<&str> = settings.keys().map(String::as_str).collect();
        for key in &KEYS {
            match settings.get(key.name) {
                Some(value) => key.check(value).unwrap(),
                None => assert!(!key.is_setting() && key.name != "model", "{} is not a setting", key.name),
            }
            if let Some(Value::Float(_)) = settings.get(key.name) {
                assert_eq!(key.kind, Kind::Number, "{}", key.name);
            }
            unknown.retain(|name| *name != key.name);
        }
        assert!(unknown.is_empty(), "settings without a key: {unknown:?}");
    }

    #[test]
    fn rejects_values_of_wrong_type_or_range() {
        let check = |name, value| Key::named(name).unwrap().check(&value).is_ok();
        assert!(check("lr", Value::Integer(1)) && check("lr", Value::Float(0.1)));
        assert!(!check("lr", Value::String("fast".into())));
        assert!(check("layers", Value::Integer(MAX_WHOLE)) && !check("layers", Value::Integer(MAX_WHOLE + 1)));
        assert!(!check("layers", Value::Integer(-1)) && !check("layers", Value::Float(2.0)));
        assert!(check("seed", Value::Integer(i64::MAX)) && check("seed", Value::Integer(0)));
        assert!(!check("seeds", Value::Integer(0)) && check("seeds", Value::Integer(1)));
        assert!(!check("early_stop", Value::Integer(1)) && !check("model", Value::Boolean(true)));
    }

    #[test]
    fn sorts_words_by_edit_distance() {
        let words = vec!["gat-go".to_owned(), "mlp".to_owned(), "supergat-mx".to_owned()];
        assert_eq!(nearest_first("supergatmx", words.clone())[0], "supergat-mx");
        assert_eq!(nearest_first("mpl", words)[0], "mlp");
        assert_eq!(nearest_first("gnc", vec!["gcn-incoming".to_owned(), "gcn".to_owned()])[0], "gcn");
    }
}
