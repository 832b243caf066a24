//! Labels of nodes: one class per node, or any number of classes.

use crate::order::NodeOrder;

/// Labels of all nodes of a graph.
///
/// ```
/// use supergat_core::Labels;
/// let labels = Labels::Single { classes: 3, of: vec![2, Labels::UNKNOWN, 0] };
/// assert_eq!((labels.classes(), labels.nodes(), labels.is_multi()), (3, 3, false));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Labels {
    /// One class per node, [`Labels::UNKNOWN`] where it is unknown.
    Single {
        /// Number of classes.
        classes: usize,
        /// Class of each node.
        of: Vec<u32>,
    },
    /// Any number of classes per node.
    Multi {
        /// Number of classes.
        classes: usize,
        /// 0 or 1 for each node and class, row after row.
        of: Vec<u8>,
    },
}

impl Labels {
    /// Class of a node whose label is unknown.
    pub const UNKNOWN: u32 = u32::MAX;

    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        match self {
            Self::Single { classes, .. } | Self::Multi { classes, .. } => *classes,
        }
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        match self {
            Self::Single { of, .. } => of.len(),
            Self::Multi { classes, of } => of.len() / (*classes).max(1),
        }
    }

    /// Returns whether the label of a node is known.
    pub fn is_known(&self, node: usize) -> bool {
        match self {
            Self::Single { of, .. } => of[node] != Self::UNKNOWN,
            Self::Multi { .. } => true,
        }
    }

    /// Returns the labels in the internal order of the nodes.
    pub fn renumbered(&self, order: &NodeOrder) -> Self {
        match self {
            Self::Single { classes, of } => Self::Single { classes: *classes, of: order.rows_to_internal(of, 1) },
            Self::Multi { classes, of } => Self::Multi { classes: *classes, of: order.rows_to_internal(of, *classes) },
        }
    }

    /// Returns whether a node may have several classes.
    pub fn is_multi(&self) -> bool {
        matches!(self, Self::Multi { .. })
    }
}
