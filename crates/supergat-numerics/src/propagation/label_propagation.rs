//! Label propagation (Zhou et al. 2004): classes of nodes from the classes of known nodes and the links.
//!
//! ```text
//! Y_ic = 1 if node i is known to have class c, else 0
//! F_0 = Y,   F_t = alpha S F_(t-1) + (1 - alpha) Y
//! P_ic = F_ic / sum_k F_ik
//! ```

use super::{Known, Propagation, Steps};

/// Returns the probabilities of the classes of all nodes, a row of `classes` numbers per node. Nodes that no known node
/// reaches get the shares of the classes among the known nodes.
///
/// ```
/// use supergat_core::{Direction, Graph};
/// use supergat_numerics::propagation::{Known, Propagation, Steps, propagate_labels};
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let known = Known { nodes: &[0, 3], classes: &[0, 1] };
/// let steps = Steps { alpha: 0.9, count: 50 };
/// let probabilities = propagate_labels(&Propagation::new(&graph, &[]), known, 2, steps);
/// assert!(probabilities[2] > 0.5 && probabilities[5] > 0.5);
/// # Ok::<(), supergat_core::Error>(())
/// ```
///
/// # Panics
///
/// Panics if a known node or class does not exist.
pub fn propagate_labels(propagation: &Propagation, known: Known<'_>, classes: usize, steps: Steps) -> Vec<f64> {
    let mut labels = vec![0.0; propagation.nodes() * classes];
    let mut shares = vec![0.0; classes];
    for (node, class) in known.pairs() {
        labels[node * classes + class] = 1.0;
        shares[class] += 1.0 / known.nodes.len() as f64;
    }
    let mut scores = propagation.run(&labels, classes, steps, |_, _| ());
    for row in scores.chunks_exact_mut(classes) {
        let sum: f64 = row.iter().sum();
        match sum > 0.0 {
            true => row.iter_mut().for_each(|score| *score /= sum),
            false => row.copy_from_slice(&shares),
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::{Direction, Graph};

    /// Values computed with numpy:
    ///
    /// ```text
    /// A = np.zeros((6, 6))
    /// for i, j, w in [(0, 1, 1), (1, 2, 2), (2, 3, .5), (3, 4, 1)]: A[i, j] = A[j, i] = w
    /// d = A.sum(1); r = np.where(d > 0, 1 / np.sqrt(np.maximum(d, 1e-300)), 0); S = r[:, None] * A * r
    /// Y = np.zeros((6, 2)); Y[0, 0] = Y[4, 1] = 1; F = Y
    /// for _ in range(3): F = .8 * S @ F + .2 * Y
    /// print(F / F.sum(1, keepdims=True))
    /// ```
    #[test]
    fn equals_an_independent_computation() {
        let links = [(0, 1, 1.0f32), (1, 2, 2.0), (2, 3, 0.5), (3, 4, 1.0)];
        let pairs: Vec<(u32, u32)> = links.iter().map(|&(a, b, _)| (a, b)).collect();
        let graph = Graph::from_edges(6, &pairs, Direction::Undirected).unwrap();
        let mut weights = vec![1.0f32; graph.edges()];
        for (a, b, weight) in links {
            for (from, to) in [(a, b), (b, a)] {
                weights[graph.position(from, to).unwrap()] = weight;
            }
        }
        let known = Known { nodes: &[0, 4], classes: &[0, 1] };
        let steps = Steps { alpha: 0.8, count: 3 };
        let found = propagate_labels(&Propagation::new(&graph, &weights), known, 2, steps);
        for (found, expected) in found.iter().zip(EXPECTED) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        // The last node has no links.
        assert_eq!(found[10..], [0.5, 0.5]);
    }

    const EXPECTED: [f64; 12] = [
        1.0,
        0.0,
        0.8155619596541787,
        0.1844380403458213,
        0.6666666666666667,
        0.3333333333333333,
        0.11307420494699646,
        0.8869257950530035,
        0.0,
        1.0,
        0.5,
        0.5,
    ];
}
