//! Correct and Smooth: Huang et al., "Combining label propagation and simple models out-performs graph neural networks"
//! (ICLR 2021).
//!
//! Z are predicted probabilities and L the known labels. The correction propagates the errors of known nodes, the
//! smoothing propagates known labels and the corrected predictions of all other nodes:
//!
//! ```text
//! E_i = L_i - Z_i for known i, else 0;   E^ = propagation of E
//! autoscale:  values of E^ are clipped to [-1, 1] after every step;
//!             Z_i + s_i E^_i,  s_i = (mean |E_k| of known k) / |E^_i|   (1 if that is above 1000)
//! fixed scale s:  rows of known nodes are reset to E_i after every step;   Z_i + s E^_i
//!
//! G_i = L_i for known i, else the corrected prediction;   F = propagation of G, clipped to [0, 1] after every step
//! ```

use super::{Known, Propagation, Steps};

/// Largest factor of autoscale; larger ones become 1.
const MAX_SCALE: f64 = 1000.0;

/// How errors are propagated in the correction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correction {
    /// Steps of the propagation.
    pub steps: Steps,
    /// Factor of propagated errors; `None` scales each node to the mean error of known nodes (autoscale).
    pub scale: Option<f64>,
}

/// Returns corrected predictions, a row of `classes` numbers per node. They need not be probabilities.
///
/// ```
/// use supergat_core::{Direction, Graph};
/// use supergat_numerics::propagation::{Correction, Known, Propagation, Steps, correct, smooth};
/// let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], Direction::Undirected)?;
/// let propagation = Propagation::new(&graph, &[]);
/// let predictions = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5];
/// let known = Known { nodes: &[0], classes: &[1] };
/// let steps = Steps { alpha: 0.8, count: 50 };
/// let corrected = correct(&propagation, &predictions, 2, known, Correction { steps, scale: None });
/// assert!(corrected[5] > 0.9, "the error of the first node reaches the last one, at full scale");
/// let smoothed = smooth(&propagation, &corrected, 2, known, steps);
/// assert!(smoothed[5] > smoothed[4]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
///
/// # Panics
///
/// Panics if a known node or class does not exist, or if `predictions` has another length than one row per node.
pub fn correct(
    propagation: &Propagation,
    predictions: &[f64],
    classes: usize,
    known: Known<'_>,
    correction: Correction,
) -> Vec<f64> {
    let mut errors = vec![0.0; predictions.len()];
    for (node, class) in known.pairs() {
        let row = node * classes..(node + 1) * classes;
        errors[row.clone()].iter_mut().zip(&predictions[row]).for_each(|(error, z)| *error = -z);
        errors[node * classes + class] += 1.0;
    }
    let Correction { steps, scale } = correction;
    let spread = match scale {
        None => propagation.run(&errors, classes, steps, |_, row| row.iter_mut().for_each(|x| *x = x.clamp(-1.0, 1.0))),
        Some(_) => {
            let is_known = known.by_node(propagation.nodes());
            propagation.run(&errors, classes, steps, |node, row| {
                if is_known[node].is_some() {
                    row.copy_from_slice(&errors[node * classes..(node + 1) * classes]);
                }
            })
        }
    };
    let size = |row: &[f64]| row.iter().map(|x| x.abs()).sum::<f64>();
    let mean = size(&errors) / known.nodes.len().max(1) as f64;
    let scaled = spread.chunks_exact(classes).zip(predictions.chunks_exact(classes)).flat_map(|(spread, z)| {
        let factor = scale.unwrap_or_else(|| Some(mean / size(spread)).filter(|s| *s <= MAX_SCALE).unwrap_or(1.0));
        spread.iter().zip(z).map(move |(error, z)| z + factor * error)
    });
    scaled.collect()
}

/// Returns smoothed predictions, a row of `classes` numbers from 0 to 1 per node. Rows need not have the sum 1.
///
/// See [`correct`] for an example.
///
/// # Panics
///
/// Panics if a known node or class does not exist, or if `predictions` has another length than one row per node.
pub fn smooth(
    propagation: &Propagation,
    predictions: &[f64],
    classes: usize,
    known: Known<'_>,
    steps: Steps,
) -> Vec<f64> {
    let mut start = predictions.to_vec();
    for (node, class) in known.pairs() {
        start[node * classes..(node + 1) * classes].fill(0.0);
        start[node * classes + class] = 1.0;
    }
    propagation.run(&start, classes, steps, |_, row| row.iter_mut().for_each(|x| *x = x.clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::{Direction, Graph};

    /// Values computed with numpy, in the notation of the module:
    ///
    /// ```text
    /// A = np.zeros((5, 5))
    /// for i, j in [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)]: A[i, j] = A[j, i] = 1
    /// r = 1 / np.sqrt(A.sum(1)); S = r[:, None] * A * r
    /// Z = np.array([[.6, .3, .1], [.2, .5, .3], [.1, .1, .8], [.4, .4, .2], [.3, .3, .4]])
    /// known, L = [0, 2], np.eye(3)[[1, 2]]
    /// def run(G, alpha, count, after):
    ///     F = G
    ///     for _ in range(count): F = after(alpha * S @ F + (1 - alpha) * G)
    ///     return F
    /// E = np.zeros_like(Z); E[known] = L - Z[known]
    /// def fix(F): F[known] = E[known]; return F
    /// auto = run(E, .7, 4, lambda F: F.clip(-1, 1))
    /// auto = Z + abs(E[known]).sum() / 2 / abs(auto).sum(1, keepdims=True) * auto
    /// fixed = Z + 1.5 * run(E, .7, 4, fix)
    /// def smooth(C): C = C.copy(); C[known] = L; return run(C, .6, 3, lambda F: F.clip(0, 1))
    /// print(smooth(auto)); print(smooth(fixed))
    /// ```
    #[test]
    fn equals_an_independent_computation() {
        let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)], Direction::Undirected).unwrap();
        let propagation = Propagation::new(&graph, &[]);
        let predictions = [0.6, 0.3, 0.1, 0.2, 0.5, 0.3, 0.1, 0.1, 0.8, 0.4, 0.4, 0.2, 0.3, 0.3, 0.4];
        let known = Known { nodes: &[0, 2], classes: &[1, 2] };
        for (scale, expected) in [(None, AUTOSCALE), (Some(1.5), FIXED)] {
            let correction = Correction { steps: Steps { alpha: 0.7, count: 4 }, scale };
            let corrected = correct(&propagation, &predictions, 3, known, correction);
            let found = smooth(&propagation, &corrected, 3, known, Steps { alpha: 0.6, count: 3 });
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-12, "{found} {expected}");
            }
        }
    }

    const AUTOSCALE: [f64; 15] = [
        0.0,
        0.827091039482942,
        0.20534232169218702,
        0.0,
        0.7091583928036358,
        0.4211171901967463,
        0.0,
        0.42709103948294197,
        0.605342321692187,
        0.0,
        0.7946661717505714,
        0.45629271722350395,
        0.0,
        0.5604291591612636,
        0.3190803306766915,
    ];
    const FIXED: [f64; 15] = [
        0.011880844298976399,
        0.7858776412123745,
        0.19847342198042578,
        0.0,
        0.6572145680043479,
        0.4124598860635317,
        0.011880844298976399,
        0.38587764121237444,
        0.5984734219804257,
        0.060493777444929515,
        0.6888954780583176,
        0.43866426827479504,
        0.08037163016972347,
        0.41902289256727365,
        0.29551261957769315,
    ];

    #[test]
    fn nodes_that_no_error_reaches_keep_their_predictions() {
        let graph = Graph::from_edges(4, &[(0, 1), (2, 3)], Direction::Undirected).unwrap();
        let propagation = Propagation::new(&graph, &[]);
        let predictions = [0.5, 0.5, 0.6, 0.4, 0.7, 0.3, 0.2, 0.8];
        let known = Known { nodes: &[0], classes: &[0] };
        for scale in [None, Some(1.0)] {
            let correction = Correction { steps: Steps { alpha: 0.8, count: 10 }, scale };
            let corrected = correct(&propagation, &predictions, 2, known, correction);
            assert_eq!(corrected[4..], predictions[4..]);
            assert!(corrected[2] > predictions[2]);
        }
        let nothing = Known { nodes: &[], classes: &[] };
        let correction = Correction { steps: Steps { alpha: 0.8, count: 10 }, scale: None };
        assert_eq!(correct(&propagation, &predictions, 2, nothing, correction), predictions);
    }
}
