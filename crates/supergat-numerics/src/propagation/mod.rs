//! Propagation of class scores over the links of a graph: label propagation, and Correct and Smooth.
//!
//! Both repeat the step of Zhou et al., "Learning with local and global consistency" (2004):
//!
//! ```text
//! F <- alpha S F + (1 - alpha) Y,   S = D^-1/2 A D^-1/2
//! ```
//!
//! A is the matrix of link weights, without direction and self-loops, and D the diagonal matrix of its row sums. Rows
//! of nodes without links keep `(1 - alpha) Y`.

mod correct_and_smooth;
mod label_propagation;

pub use correct_and_smooth::{Correction, correct, smooth};
pub use label_propagation::propagate_labels;

use crate::links::Links;
use rayon::prelude::*;
use std::fmt;
use supergat_core::Graph;

/// Number of columns of which rows have a multiple.
const COLUMNS: usize = 8;

/// Strength and number of the steps of a propagation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps {
    /// Share of the neighbours in a step (alpha), from 0 to 1.
    pub alpha: f64,
    /// Number of steps.
    pub count: usize,
}

/// Nodes with a known class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known<'a> {
    /// Numbers of the nodes.
    pub nodes: &'a [u32],
    /// Class of each of them.
    pub classes: &'a [u32],
}

impl Known<'_> {
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.nodes.iter().zip(self.classes).map(|(&node, &class)| (node as usize, class as usize))
    }

    /// Returns the known class of each of the nodes `0..nodes`.
    fn by_node(&self, nodes: usize) -> Vec<Option<usize>> {
        let mut of = vec![None; nodes];
        self.pairs().for_each(|(node, class)| of[node] = Some(class));
        of
    }
}

/// Links of a graph, prepared for propagations.
///
/// ```
/// use supergat_core::{Direction, Graph};
/// use supergat_numerics::propagation::{Propagation, Steps};
/// let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], Direction::Undirected)?;
/// let propagation = Propagation::new(&graph, &[]);
/// let steps = Steps { alpha: 0.5, count: 1 };
/// // The middle node has degree 2, so it receives 0.5 * 1 / sqrt 2.
/// let scores = propagation.run(&[1.0, 0.0, 0.0], 1, steps, |_, _| ());
/// assert_eq!(scores, [0.5, 0.5 / 2f64.sqrt(), 0.0]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub struct Propagation {
    links: Links,
}

impl fmt::Debug for Propagation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Propagation").field("nodes", &self.links.nodes()).finish_non_exhaustive()
    }
}

impl Propagation {
    /// Prepares a graph. `weights` has the weights of its edges in the order of the incoming lists; it is empty if all
    /// are 1. A link has the larger weight of its two directions.
    pub fn new(graph: &Graph, weights: &[f32]) -> Self {
        Self { links: Links::new(graph, weights) }
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.links.nodes()
    }

    /// Propagates the rows `start`, which have `classes` numbers for each node. `after` is called for each row after
    /// every step and may change it. The result has the same bits at any number of threads.
    ///
    /// # Panics
    ///
    /// Panics if the length of `start` is not the number of nodes times `classes`.
    pub fn run(
        &self,
        start: &[f64],
        classes: usize,
        steps: Steps,
        after: impl Fn(usize, &mut [f64]) + Sync,
    ) -> Vec<f64> {
        assert_eq!(start.len(), self.nodes() * classes, "one row per node");
        let width = classes.next_multiple_of(COLUMNS);
        let mut rows = vec![0.0; self.nodes() * width];
        for (row, start) in rows.chunks_exact_mut(width).zip(start.chunks_exact(classes)) {
            row[..classes].copy_from_slice(start);
        }
        let Steps { alpha, count } = steps;
        let mut next = vec![0.0; rows.len()];
        for _ in 0..count {
            self.links.times(&rows, width, &mut next);
            next.par_chunks_exact_mut(width).zip(start.par_chunks_exact(classes)).enumerate().for_each(
                |(node, (row, start))| {
                    let row = &mut row[..classes];
                    row.iter_mut()
                        .zip(start)
                        .for_each(|(value, start)| *value = alpha * *value + (1.0 - alpha) * start);
                    after(node, row);
                },
            );
            std::mem::swap(&mut rows, &mut next);
        }
        rows.chunks_exact(width).flat_map(|row| &row[..classes]).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Direction;

    #[test]
    fn gives_the_same_bits_at_any_number_of_threads() {
        let edges: Vec<(u32, u32)> = (0..900).map(|k| (k, (k * 37 + 11) % 900)).collect();
        let graph = Graph::from_edges(900, &edges, Direction::Undirected).unwrap();
        let start: Vec<f64> = (0..2700).map(|k| f64::from(k).sin().abs()).collect();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let steps = Steps { alpha: 0.9, count: 20 };
            pool.install(|| Propagation::new(&graph, &[]).run(&start, 3, steps, |_, _| ()))
        };
        let (one, four) = (run(1), run(4));
        assert!(one.iter().zip(&four).all(|(one, four)| one.to_bits() == four.to_bits()));
        assert_ne!(one, start);
    }

    #[test]
    fn changes_rows_after_every_step() {
        let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected).unwrap();
        let fix = |node: usize, row: &mut [f64]| {
            if node == 0 {
                row.fill(1.0);
            }
        };
        // The second node becomes 1, then stays.
        let scores = Propagation::new(&graph, &[]).run(&[1.0, 0.0], 1, Steps { alpha: 1.0, count: 5 }, fix);
        assert_eq!(scores, [1.0, 1.0]);
    }
}
