//! Temperature scaling: probabilities from logits divided by one number T, fitted on validation nodes.
//!
//! With logits z, b = 1 / T and p = softmax(b z), the log loss of a node with class y and its derivatives are
//!
//! ```text
//! L(b)   = ln sum_c exp(b z_c) - b z_y
//! L'(b)  = sum_c p_c z_c - z_y
//! L''(b) = sum_c p_c z_c^2 - (sum_c p_c z_c)^2
//! ```
//!
//! and, for several labels per node, those of two classes with logits 0 and z for each label. L is convex in b, so its
//! smallest value is where the sum of L' over the nodes is zero. Newton's method finds it, inside an interval that is
//! known to contain it.
//!
//! Dividing all logits by one number does not change which one is largest, nor their signs: predicted classes stay
//! as they are. See Guo et al., "On calibration of modern neural networks", 2017.

use supergat_core::Labels;

/// Smallest temperature. Logits that separate all nodes have no best temperature: the log loss falls with T down to
/// 0. They get this one.
pub const COLDEST: f64 = 0.05;
/// Largest temperature. Logits that are worse than no logits at all get this one.
pub const HOTTEST: f64 = 20.0;

/// Returns the temperature between [`COLDEST`] and [`HOTTEST`] with the smallest log loss of these nodes; 1 if all
/// temperatures are equally good. `logits` contains a row of classes per node. `None` without nodes, and if a logit
/// is not finite.
///
/// ```
/// use supergat_core::Labels;
/// use supergat_numerics::metrics::temperature;
/// // Three of four nodes are right, with a probability of 0.95 each: too confident.
/// let labels = Labels::Single { classes: 2, of: vec![1, 1, 1, 0] };
/// let t = temperature(&labels, &[0.0, 3.0, 0.0, 3.0, 0.0, 3.0, 0.0, 3.0]).unwrap();
/// let probability = 1.0 / (1.0 + (-3.0 / t).exp());
/// assert!((probability - 0.75).abs() < 1e-12);
/// ```
///
/// # Panics
///
/// Panics if the number of logits is not that of nodes times classes, or if a class is unknown.
pub fn temperature(labels: &Labels, logits: &[f64]) -> Option<f64> {
    assert_eq!(labels.nodes() * labels.classes(), logits.len(), "a logit for each node and class");
    if logits.is_empty() || logits.iter().any(|z| !z.is_finite()) {
        return None;
    }
    let (mut low, mut high) = (1.0 / HOTTEST, 1.0 / COLDEST);
    if slope(labels, logits, low).0 > 0.0 {
        return Some(HOTTEST);
    }
    if slope(labels, logits, high).0 < 0.0 {
        return Some(COLDEST);
    }
    let mut b = 1.0f64;
    // Bisection alone needs 60 steps for all digits; Newton's steps need about six.
    for _ in 0..100 {
        let (first, second) = slope(labels, logits, b);
        if first == 0.0 {
            break;
        }
        if first < 0.0 {
            low = b;
        } else {
            high = b;
        }
        let newton = b - first / second;
        // Written so that NaN, from a zero second derivative, is refused as well.
        let next = if newton > low && newton < high { newton } else { (low * high).sqrt() };
        let is_close = (next - b).abs() <= 1e-14 * b;
        b = next;
        if is_close {
            break;
        }
    }
    Some(1.0 / b)
}

/// Returns the sums over all nodes of the first and the second derivative of the log loss by b.
fn slope(labels: &Labels, logits: &[f64], b: f64) -> (f64, f64) {
    let (mut first, mut second) = (0.0, 0.0);
    match labels {
        Labels::Single { classes, of } => {
            for (&class, row) in of.iter().zip(logits.chunks_exact(*classes)) {
                let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                // Relative to the largest logit, which changes neither derivative.
                let [mut sum, mut sum_z, mut sum_zz] = [0.0; 3];
                for z in row.iter().map(|z| z - largest) {
                    let weight = (b * z).exp();
                    sum += weight;
                    sum_z += weight * z;
                    sum_zz += weight * z * z;
                }
                let mean = sum_z / sum;
                first += mean - (row[class as usize] - largest);
                second += sum_zz / sum - mean * mean;
            }
        }
        Labels::Multi { of, .. } => {
            for (&y, &z) in of.iter().zip(logits) {
                let p = 1.0 / (1.0 + (-b * z).exp());
                first += (p - f64::from(y)) * z;
                second += p * (1.0 - p) * z * z;
            }
        }
    }
    (first, second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(labels: &Labels, logits: &[f64], t: f64) -> f64 {
        let Labels::Single { classes, of } = labels else { panic!() };
        let rows = of.iter().zip(logits.chunks_exact(*classes));
        rows.map(|(&y, row)| row.iter().map(|z| (z / t).exp()).sum::<f64>().ln() - row[y as usize] / t).sum()
    }

    fn sample() -> (Labels, Vec<f64>) {
        let logits = (0..60).map(|k| f64::from(k * k % 37) / 6.0 - 3.0).collect();
        (Labels::Single { classes: 3, of: (0..20).map(|k| k * k % 3).collect() }, logits)
    }

    /// Expected values: `scipy.optimize.minimize_scalar` on ln T.
    #[test]
    fn equals_scipy() {
        let (labels, logits) = sample();
        let t = temperature(&labels, &logits).unwrap();
        assert!((t / 7.818162071280881 - 1.0).abs() < 1e-6, "{t}");
        assert!([0.99, 1.01].iter().all(|f| loss(&labels, &logits, f * t) > loss(&labels, &logits, t)));
        let labels = Labels::Multi {
            classes: 3,
            of: logits.iter().map(|&z| u8::from(z + 1.7 * (5.0 * z).sin() > 0.0)).collect(),
        };
        let t = temperature(&labels, &logits).unwrap();
        assert!((t / 0.4702639652332597 - 1.0).abs() < 1e-6, "{t}");
    }

    #[test]
    fn separable_and_useless_logits_are_limited() {
        let right = Labels::Single { classes: 2, of: vec![0, 1] };
        assert_eq!(temperature(&right, &[1.0, 0.0, 0.0, 1e-3]), Some(COLDEST));
        assert_eq!(temperature(&right, &[0.0, 1.0, 1.0, 0.0]), Some(HOTTEST));
        assert_eq!(temperature(&right, &[2.0, 2.0, -1.0, -1.0]), Some(1.0), "all temperatures are equally good");
        assert_eq!(temperature(&Labels::Multi { classes: 2, of: vec![1, 0] }, &[3.0, -2.0]), Some(COLDEST));
    }

    #[test]
    fn extreme_logits_give_a_number() {
        let labels = Labels::Single { classes: 2, of: vec![0, 1, 0] };
        let t = temperature(&labels, &[1e30, -1e30, 1e-30, 0.0, -700.0, 900.0]).unwrap();
        assert!((COLDEST..=HOTTEST).contains(&t), "{t}");
        assert_eq!(temperature(&labels, &[f64::NAN; 6]), None);
        assert_eq!(temperature(&Labels::Single { classes: 2, of: vec![] }, &[]), None);
    }
}
