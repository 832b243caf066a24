//! What a person can say about a dataset, and what a trained model says about it.

use crate::schema::Schema;
use crate::split::SplitChoice;
use serde::{Deserialize, Serialize};

/// How a dataset is to be loaded.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Which nodes are for training, validation and testing.
    pub split: SplitChoice,
    /// How tables are understood.
    pub tables: TableOptions,
}

/// How the tables of a folder are to be read. Whatever is left out is guessed from the names of the columns and from their places.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TableOptions {
    /// What stands between fields: one character, `tab` or `space`.
    pub delimiter: Option<String>,
    /// The column that names a node, by its name or its number, counted from 1.
    pub id_column: Option<String>,
    /// The column with the class of a node.
    pub label_column: Option<String>,
    /// The column that says what a node is for: train, validation or test.
    pub split_column: Option<String>,
    /// The column of a link's first end.
    pub source_column: Option<String>,
    /// The column of a link's second end.
    pub target_column: Option<String>,
    /// Columns of the nodes that are not read, separated by commas.
    pub ignore_columns: Option<String>,
    /// Whether a link counts from source to target only.
    pub directed: bool,
    /// Whether numeric columns are shifted and scaled to mean 0 and deviation 1 over the nodes of the table.
    pub standardise: bool,
    /// Whether links to unknown nodes are left out instead of refused.
    pub skip_unknown: bool,
    /// Whether classes with a single node are kept instead of refused.
    pub keep_rare: bool,
    /// What the random split is drawn with when no column gives one.
    pub split_seed: u64,
    /// Whether nodes may have no labels at all, or all the same one: where nothing is learned from them.
    #[serde(skip)]
    pub labels_optional: bool,
    /// What the table must be turned into so that a trained model can read it.
    #[serde(skip)]
    pub expected: Option<Expected>,
}

/// What a trained model takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// Features per node.
    pub features: usize,
    /// The columns they came from, where they were columns of a table.
    pub schema: Option<Schema>,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// Whether a node may have several classes.
    pub several: bool,
}

impl TableOptions {
    /// Whether a column of the nodes is not to be read.
    pub(crate) fn ignores(&self, column: &str) -> bool {
        self.ignore_columns.iter().flat_map(|all| all.split(',')).any(|name| name.trim() == column)
    }
}
