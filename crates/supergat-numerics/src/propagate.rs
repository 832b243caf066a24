//! Feature propagation: fills missing feature values from the values of neighbours.
//!
//! Rossi et al., "On the unreasonable effectiveness of feature propagation in learning on graphs with missing
//! node features" (2022). Unknown values start at 0. Every step replaces all values by those of the neighbours
//! and then resets the known ones:
//!
//! ```text
//! x <- D^-1/2 A D^-1/2 x;   x[known] <- given values
//! ```
//!
//! A is the adjacency matrix without self-loops and D the diagonal matrix of its degrees. A node without
//! neighbours keeps 0.

use rayon::prelude::*;
use supergat_core::Graph;

/// Maximum number of steps. The paper uses 40.
const MAX_STEPS: usize = 40;
/// Propagation ends when no value changes by more than this share of the largest known value.
const TOLERANCE: f32 = 1e-5;

/// Fills the values that are not known; returns the number of steps.
///
/// `values` and `known` contain one row of `columns` values per node. Each row is computed by one thread in the
/// order of its neighbours, so the result has the same bits at any number of threads.
///
/// # Panics
///
/// Panics if the lengths differ from the number of nodes times `columns`.
pub fn propagate(graph: &Graph, columns: usize, values: &mut Vec<f32>, known: &[bool]) -> usize {
    assert!(values.len() == graph.nodes() * columns && known.len() == values.len(), "one row per node");
    if columns == 0 {
        return 0;
    }
    values.iter_mut().zip(known).filter(|(_, known)| !**known).for_each(|(value, _)| *value = 0.0);
    let largest = values.par_iter().map(|value| value.abs()).reduce(|| 0.0, f32::max);
    let scale: Vec<f32> = (0..graph.nodes()).map(|node| 1.0 / (graph.degree(node).max(1) as f32).sqrt()).collect();
    let incomplete: Vec<bool> = known.par_chunks(columns).map(|row| row.contains(&false)).collect();
    let mut next = values.clone();
    for step in 1..=MAX_STEPS {
        let rows = next.par_chunks_mut(columns).enumerate().filter(|(node, _)| incomplete[*node]);
        let change = rows
            .map(|(node, row)| {
                let given = node * columns..(node + 1) * columns;
                row.fill(0.0);
                for &other in graph.incoming().of(node).iter().filter(|other| **other as usize != node) {
                    let weight = scale[node] * scale[other as usize];
                    let theirs = &values[other as usize * columns..][..columns];
                    row.iter_mut().zip(theirs).for_each(|(sum, value)| *sum += weight * value);
                }
                let mut change = 0f32;
                for ((value, before), known) in row.iter_mut().zip(&values[given.clone()]).zip(&known[given]) {
                    if *known {
                        *value = *before;
                    }
                    change = change.max((*value - before).abs());
                }
                change
            })
            .reduce(|| 0.0, f32::max);
        std::mem::swap(values, &mut next);
        if change <= TOLERANCE * largest {
            return step;
        }
    }
    MAX_STEPS
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Direction;

    fn path(nodes: u32) -> Graph {
        let edges: Vec<(u32, u32)> = (1..nodes).map(|node| (node - 1, node)).collect();
        Graph::from_edges(nodes as usize, &edges, Direction::Undirected).unwrap()
    }

    /// On the path a - b - c with degrees 1, 2, 1 the value of b is (a + c) / sqrt 2.
    #[test]
    fn fills_the_middle_of_a_path() {
        let mut values = vec![1.0, 9.0, 5.0];
        let steps = propagate(&path(3), 1, &mut values, &[true, false, true]);
        assert_eq!((values[0], values[2], steps), (1.0, 5.0, 2));
        assert!((values[1] - 6.0 / 2f32.sqrt()).abs() < 1e-5, "{values:?}");
    }

    /// On a - b - c - d with b and c unknown: b = a / sqrt 2 + c / 2 and c = b / 2 + d / sqrt 2. With a = 3 and
    /// d = 0: b = 2 sqrt 2 and c = sqrt 2.
    #[test]
    fn converges_to_the_solution_on_a_longer_path() {
        let mut values = vec![3.0, 0.0, 0.0, 0.0];
        propagate(&path(4), 1, &mut values, &[true, false, false, true]);
        let expected = [3.0, 2.0 * 2f32.sqrt(), 2f32.sqrt(), 0.0];
        assert!(values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-3), "{values:?}");
    }

    #[test]
    fn keeps_known_values_and_leaves_isolated_nodes_at_zero() {
        let graph = Graph::from_edges(3, &[(0, 1)], Direction::Undirected).unwrap();
        let mut values = vec![1.0, 7.0, 2.0, 7.0, 7.0, 4.0];
        propagate(&graph, 2, &mut values, &[true, false, true, false, false, true]);
        assert_eq!(values, [1.0, 0.0, 2.0, 0.0, 0.0, 4.0]);
    }

    #[test]
    fn gives_the_same_bits_at_any_number_of_threads() {
        let edges: Vec<(u32, u32)> = (0..500).map(|k| (k, (k * 37 + 11) % 500)).collect();
        let graph = Graph::from_edges(500, &edges, Direction::Undirected).unwrap();
        let start: Vec<f32> = (0..1500).map(|k| (k as f32 * 0.7).sin()).collect();
        let known: Vec<bool> = (0..1500).map(|k| k % 3 != 1).collect();
        let run = |threads: usize| {
            let mut values = start.clone();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| propagate(&graph, 3, &mut values, &known));
            values
        };
        assert!(run(1).iter().zip(run(4)).all(|(one, four)| one.to_bits() == four.to_bits()));
    }
}
