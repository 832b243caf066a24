//! Holm's correction for multiple tests.

use super::{Undefined, check};

/// Returns p-values after Holm's correction, in the given order. Comparing them with a level keeps the
/// probability of any false positive below it.
pub fn holm(p: &[f64]) -> Result<Vec<f64>, Undefined> {
    check(p, 0)?;
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest = 0.0_f64;
    for (k, &at) in order.iter().enumerate() {
        largest = largest.max(p[at] * (p.len() - k) as f64).min(1.0);
        adjusted[at] = largest;
    }
    Ok(adjusted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.6), "holm")` of R.
    #[test]
    fn matches_r() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005, 0.6]).unwrap();
        for (ours, r) in adjusted.iter().zip([0.04, 0.09, 0.09, 0.025, 0.6]) {
            assert!((ours - r).abs() < 1e-15, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.7, 0.8]).unwrap(), [1.0, 1.0]);
    }

    #[test]
    fn handles_empty_and_invalid_lists() {
        assert_eq!(holm(&[]), Ok(vec![]));
        assert_eq!(holm(&[0.1, f64::NAN]), Err(Undefined::NotFinite));
    }
}
