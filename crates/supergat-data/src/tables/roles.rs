//! Roles of columns.

use super::rows::sheet::Sheet;
use crate::error::Result;
use crate::words::shown;

/// Role of a column that is not a feature.
#[derive(Debug)]
pub(super) struct Role {
    /// Human-readable description of the contents.
    pub what: &'static str,
    /// Parameter that selects the column; empty if there is none.
    pub parameter: &'static str,
    /// Recognised column names, case-insensitive.
    names: &'static [&'static str],
}

pub(super) const ID: Role = Role {
    what: "the id of a node",
    parameter: "id_column",
    names: &["id", "node", "node_id", "nodeid", "node id", "key"],
};
pub(super) const LABEL: Role = Role {
    what: "the class of a node",
    parameter: "label_column",
    names: &["label", "class", "target", "y", "labels", "classes"],
};
pub(super) const SPLIT: Role =
    Role { what: "train, validation or test", parameter: "split_column", names: &["split", "set", "fold", "subset"] };
/// Boolean columns that mark the nodes of the training, validation and test set.
pub(super) const MASKS: [Role; 3] = [
    Role { what: "whether a node is for training", parameter: "", names: &["train_mask", "is_train"] },
    Role {
        what: "whether a node is for validation",
        parameter: "",
        names: &["val_mask", "valid_mask", "validation_mask", "is_val", "is_validation"],
    },
    Role { what: "whether a node is for test", parameter: "", names: &["test_mask", "is_test"] },
];
/// Columns with the number of a fold.
pub(super) const FOLD: Role = Role { what: "the number of a fold", parameter: "", names: &["fold", "folds"] };
pub(super) const SOURCE: Role = Role {
    what: "the id of a link's first end",
    parameter: "source_column",
    names: &["source", "src", "from", "u", "id1", "node1", "node_1", "source_id", "start", "citing", "head"],
};
pub(super) const TARGET: Role = Role {
    what: "the id of a link's second end",
    parameter: "target_column",
    names: &["target", "dst", "to", "v", "id2", "node2", "node_2", "target_id", "end", "cited", "tail", "destination"],
};
pub(super) const WEIGHT: Role =
    Role { what: "the weight of a link", parameter: "edge_weight", names: &["weight", "w", "weights", "value"] };
pub(super) const GRAPH: Role = Role { what: "the graph of a node", parameter: "", names: &["graph"] };
pub(super) const FEATURE: Role = Role { what: "the number or name of a feature", parameter: "", names: &["feature"] };
pub(super) const VALUE: Role = Role { what: "the value of a feature", parameter: "", names: &["value"] };

impl Role {
    /// Returns whether a column name is recognised as this role.
    pub fn is(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Finds the column with this role: the one given by `named`, else the first with a recognised name.
    pub fn find(&self, sheet: &Sheet, named: Option<&str>) -> Result<Option<usize>> {
        let Some(named) = named else {
            return Ok(sheet.header.iter().position(|name| sheet.has_header && self.is(name)));
        };
        let exact = sheet.header.iter().position(|name| sheet.has_header && name == named);
        let number = || named.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < sheet.header.len());
        exact.or_else(number).map(Some).ok_or_else(|| {
            sheet.at_header().error(
                format!("a column `{}` with {}", shown(named), self.what),
                sheet.columns_in_words(),
                format!("give parameter `{}` another name or number, or check parameter `delimiter`", self.parameter),
            )
        })
    }
}

/// Columns of a table of nodes that contain the split.
#[derive(Debug)]
pub(super) enum SplitColumns {
    /// Column with the name of the split, or the number of the fold, of each node.
    Names(usize),
    /// Boolean columns that mark the training, validation and test nodes.
    Masks([Option<usize>; 3]),
}

impl SplitColumns {
    /// Returns the positions of the columns.
    pub fn columns(&self) -> Vec<usize> {
        match self {
            Self::Names(column) => vec![*column],
            Self::Masks(masks) => masks.iter().flatten().copied().collect(),
        }
    }
}
