//! Constrained graph attention (CGAT, Wang et al. 2019), a baseline of the paper: GO attention with two
//! margin losses.
//!
//! ```text
//! s_ij  = LeakyReLU(a^T [z_i ; z_j])                            the score of GO attention, for each head
//! alpha = softmax over j in top_k(i) of s_ij                    in training; over all j in evaluation
//! L_g   = mean over (i, j, k), heads of relu(s_ik + margin_g - s_ij)   k is not a neighbour of i
//! L_b   = mean over (i, j, k), heads of relu(s_ik + margin_b - s_ij)   k is a neighbour of another class
//! loss  = label loss + sum over layers of (lambda_g L_g + lambda_b L_b)
//! ```
//!
//! The paper does not specify some details. This implementation makes these choices:
//!
//! - The margin losses use scores after LeakyReLU, separately for each head.
//! - The edges `j -> i` are those of attention, including self-loops.
//! - Coefficients have no dropout, as in the published results: choosing the top k replaces it.
//! - `cgat` compares every edge and has no L_b. `cgat-full-supervised` compares the edges between two
//!   training nodes of the same class, in both losses.
//! - Every edge is compared with `negatives_per_edge` nodes k, drawn uniformly and independently. L_g draws
//!   from all nodes without an edge to i, L_b from the training nodes with an edge to i and another class
//!   than i. An edge without such a node has no term. Means are over the existing terms.
//! - Each head chooses its own top_k(i), and the self-loop is one of the candidates. Ties go to the earlier
//!   edge. The gradient treats the choice as constant.
//!
//! The softmax over the chosen edges has the usual gradient, with zero coefficients elsewhere. The gradient
//! of the margin losses is derived in `kernels/margin.rs` of `supergat-cpu`.

use crate::error::{Error, Result};
use crate::graph::{Adjacency, Neighbours};
use crate::hyperparameters::{ClassConstraintSettings, ConstraintSettings, SettingsGroup};
use crate::labels::Labels;
use serde::{Deserialize, Serialize};

/// Constraints on attention in training (CGAT).
///
/// ```
/// use supergat_core::Contrast;
/// let contrast = Contrast::default();
/// assert_eq!((contrast.constraints.top_k, contrast.boundary), (4, None));
/// contrast.check()?;
/// let mut none = contrast;
/// none.constraints.top_k = 0;
/// let error = none.check().unwrap_err();
/// assert_eq!(error.to_string(), "top_k = 0: must be a whole number from 1 to 64");
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Contrast {
    /// Constraints by edges.
    #[serde(flatten)]
    pub constraints: ConstraintSettings,
    /// Margin loss between edges within a class and edges to another class, for the fully supervised setting.
    pub boundary: Option<ClassConstraintSettings>,
}

impl Contrast {
    /// Validates every number.
    pub fn check(&self) -> Result<()> {
        self.constraints.check()?;
        self.boundary.map_or(Ok(()), |boundary| boundary.check())
    }

    /// Returns the class of each training node, and [`Labels::UNKNOWN`] for other nodes, if there is a loss between
    /// classes. Fails if nodes may have several classes.
    pub fn training_classes(&self, labels: &Labels, train: &[u32]) -> Result<Option<Vec<u32>>> {
        match (&self.boundary, labels) {
            (None, _) => Ok(None),
            (Some(_), Labels::Single { of, .. }) => {
                let mut class = vec![Labels::UNKNOWN; of.len()];
                train.iter().for_each(|&node| class[node as usize] = of[node as usize]);
                Ok(Some(class))
            }
            (Some(_), Labels::Multi { .. }) => Err(Error::Hyperparameter {
                name: "lambda_b",
                value: "given".into(),
                reason: "classes have a boundary only where every node has one class; use the model cgat".into(),
            }),
        }
    }
}

/// Edges of the training nodes, by class.
#[derive(Debug, PartialEq)]
pub struct ClassEdges {
    /// Bit per edge: whether it joins training nodes of the same class.
    pub alike: Vec<u8>,
    /// For each training node, the training nodes of other classes that have an edge to it.
    pub unlike: Adjacency,
}

impl ClassEdges {
    /// Compares the classes of nodes that have an edge; [`Labels::UNKNOWN`] is that of nodes which are not for training.
    /// The first list is that of node `first`.
    pub fn new(incoming: Neighbours<'_>, first: usize, class: &[u32]) -> Self {
        let mut alike = vec![0; incoming.nodes.len().div_ceil(8)];
        let (mut offsets, mut neighbours) = (vec![0], Vec::new());
        for (i, &own) in class[first..first + incoming.offsets.len() - 1].iter().enumerate() {
            for e in incoming.range(i) {
                let j = incoming.nodes[e];
                match class[j as usize] {
                    other if other == Labels::UNKNOWN || own == Labels::UNKNOWN => {}
                    other if other == own => alike[e / 8] |= 1 << (e % 8),
                    _ => neighbours.push(j),
                }
            }
            offsets.push(neighbours.len() as u64);
        }
        Self { alike, unlike: Adjacency { offsets, neighbours } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_only_known_classes() {
        const NONE: u32 = Labels::UNKNOWN;
        let (offsets, nodes) = ([0, 3, 4, 8, 8], [0, 1, 3, 1, 0, 1, 2, 3]);
        let expected = |alike: u8, offsets: &[u64], neighbours: &[u32]| ClassEdges {
            alike: vec![alike],
            unlike: Adjacency { offsets: offsets.into(), neighbours: neighbours.into() },
        };
        let found = ClassEdges::new(Neighbours::new(&offsets, &nodes), 0, &[5, 6, 5, NONE]);
        // Edges 0 (0 -> 0), 3 (1 -> 1), 4 (0 -> 2) and 6 (2 -> 2).
        assert_eq!(found, expected(0b0101_1001, &[0, 1, 1, 2, 2], &[1, 1]));
        // The lists of nodes 1 and 2 only.
        let found = ClassEdges::new(Neighbours::new(&[0, 1, 5], &nodes[3..]), 1, &[5, 6, 5, NONE]);
        assert_eq!(found, expected(0b1011, &[0, 0, 1], &[1]));
    }
}
