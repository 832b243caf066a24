//! Options of loading a dataset, and requirements of a trained model.

mod cache;
mod features;
mod node_order;
mod split;

pub use cache::{Cache, CacheChoice};
pub use features::{FeatureChoice, GivenFeatures, GraphFeatures};
pub use node_order::NodeOrderChoice;
pub use split::{Shares, SplitChoice};

use crate::schema::{LinkSchema, Missing, Schema};
use serde::{Deserialize, Serialize};
use supergat_core::Duplicates;

/// Options of loading a dataset.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Train/validation/test split.
    pub split: SplitChoice,
    /// Features to compute from the graph.
    pub features: FeatureChoice,
    /// Options of tables.
    pub tables: TableOptions,
    /// Order of the nodes inside the engine.
    pub node_order: NodeOrderChoice,
    /// Cache of prepared datasets and of orders of nodes. It does not change the dataset.
    pub cache: CacheChoice,
}

/// Options of reading the tables of a folder. Columns that are not given are recognised by name and position.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TableOptions {
    /// Field delimiter: one character, `tab` or `space`.
    pub delimiter: Option<String>,
    /// Column with the id of a node, given by its name or its number, counted from 1.
    pub id_column: Option<String>,
    /// Column with the class of a node.
    pub label_column: Option<String>,
    /// Column with the split of a node: train, validation or test.
    pub split_column: Option<String>,
    /// Column with the source of a link.
    pub source_column: Option<String>,
    /// Column with the target of a link.
    pub target_column: Option<String>,
    /// Column with the weight of a link.
    pub edge_weight: Option<String>,
    /// Treatment of links that are listed several times.
    pub duplicates: Duplicates,
    /// Whether undirected links have separate features for each direction, for columns whose meaning depends on it,
    /// such as a type `follows`.
    pub two_way: bool,
    /// Columns of nodes and links to skip, separated by commas.
    pub ignore_columns: Option<String>,
    /// Columns to read as numbers, separated by commas.
    pub numeric: Option<String>,
    /// Columns to read as categories, separated by commas.
    pub categorical: Option<String>,
    /// Columns to read as dates, separated by commas.
    pub date: Option<String>,
    /// Columns to read as free text, separated by commas.
    pub text: Option<String>,
    /// Treatment of missing values.
    pub missing: Missing,
    /// Further words for missing values, separated by commas. A number also stands for equal numbers.
    pub missing_words: Option<String>,
    /// Whether links are directed.
    pub directed: bool,
    /// Whether numeric columns are standardised to mean 0 and standard deviation 1 over the nodes of the
    /// table. By default, columns with large values are.
    pub standardise: Option<bool>,
    /// Whether links to unknown nodes are skipped instead of refused.
    pub skip_unknown: bool,
    /// Whether classes with a single node are kept instead of refused.
    pub keep_rare: bool,
    /// Seed of the random split that is drawn if the tables contain none.
    pub split_seed: u64,
    /// Whether a table without labels, or with a single class, is accepted, as prediction does.
    #[serde(skip)]
    pub labels_optional: bool,
    /// Use of the feature columns. [`crate::load_with`] sets it from [`LoadOptions::features`].
    #[serde(skip)]
    pub given_features: GivenFeatures,
    /// Requirements of the trained model that reads the table.
    #[serde(skip)]
    pub expected: Option<Expected>,
    /// Columns of the trained model that reads its training tables again; takes the place of their detection.
    #[serde(skip)]
    pub schema: Option<Schema>,
    /// Columns of the links for the same trained model.
    #[serde(skip)]
    pub link_schema: Option<LinkSchema>,
}

/// Requirements of a trained model.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// Number of given features per node.
    pub features: usize,
    /// Columns from which the features were made, for tables.
    pub schema: Option<Schema>,
    /// Columns of the links.
    pub links: LinkSchema,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Whether a node may have several classes.
    pub several: bool,
}

/// Source of a dataset and the options that it was read with.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// Folder, file, known name or specification of a generated graph, as given.
    pub source: String,
    /// Train/validation/test split.
    pub split: SplitChoice,
    /// Features computed from the graph.
    pub features: FeatureChoice,
    /// Options for tables.
    pub tables: TableOptions,
    /// Order of the nodes inside the engine.
    pub node_order: NodeOrderChoice,
}

impl TableOptions {
    /// Returns whether a column is skipped.
    pub(crate) fn ignores(&self, column: &str) -> bool {
        names(&self.ignore_columns).any(|name| name == column)
    }

    /// Returns the options that list columns, with their names.
    pub(crate) fn column_lists(&self) -> [(&'static str, &Option<String>); 5] {
        [
            ("numeric", &self.numeric),
            ("categorical", &self.categorical),
            ("date", &self.date),
            ("text", &self.text),
            ("ignore_columns", &self.ignore_columns),
        ]
    }
}

/// Returns the names of a list that is separated by commas.
pub(crate) fn names(list: &Option<String>) -> impl Iterator<Item = &str> {
    list.iter().flat_map(|all| all.split(',')).map(str::trim).filter(|name| !name.is_empty())
}
