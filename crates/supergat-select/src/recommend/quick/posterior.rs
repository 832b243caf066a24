//! From scores and the map to probabilities; the equations are in `mod.rs`.

use crate::recommend::families::Family;
use crate::recommend::quick::candidates::Candidate;
use crate::recommend::quick::plan::QuickPlan;
use crate::recommend::quick::run::Scores;
use crate::recommend::quick::setup::Setup;
use serde::Serialize;
use statrs::distribution::{Continuous, ContinuousCDF, Normal};
use supergat_core::words::count;
use supergat_train::settings::Settings;

/// Standard deviation of the prior: families often differ by as much.
const PRIOR: f64 = 0.1;
/// Difference between a form of attention that is surely best by the map and one that surely is not: a usual gain there.
const MAP: f64 = 0.02;
/// Weight of the median variance of all families in that of each, as a number of repetitions.
const SHARED: f64 = 4.0;
/// Variance between repetitions that is assumed at least while there are fewer than [`FEW`].
const USUAL: f64 = 1e-4;
const FEW: usize = 3;
/// Reach of 95 % intervals in standard deviations.
const REACH: f64 = 1.96;
/// Number of steps of the integral over effects, and its reach in standard deviations.
const STEPS: usize = 4000;
const TAILS: f64 = 6.0;
/// Names of simple models over which gains are reported.
const SIMPLE: [&str; 2] = ["label-propagation", "mlp"];
/// Name of predicting the most frequent class.
const MAJORITY: &str = "majority";

/// Results of a measurement on validation nodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Metric of the scores.
    pub metric: String,
    /// The plan, which determines all scores.
    pub plan: QuickPlan,
    /// Numbers of training, selecting and scored nodes in a repetition.
    pub parts: [usize; 3],
    /// Number of different nodes that were scored.
    pub scored: usize,
    /// Compared families, the simplest first.
    pub families: Vec<MeasuredFamily>,
    /// Mean score of predicting the most frequent class for all nodes.
    pub majority: f64,
    /// Expected gains of the recommended family over simpler ones.
    pub gains: Vec<Gain>,
}

/// A compared family.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredFamily {
    /// Family.
    pub family: Family,
    /// Settings of its runs. Trainings of fewer than 100 epochs have a higher learning rate.
    pub settings: Settings,
    /// Score of each repetition, from 0 to 1.
    pub scores: Vec<f64>,
    /// Mean score.
    pub mean: f64,
    /// Standard error of the mean, apart from what all families have in common.
    pub error: f64,
    /// Expected score: the mean, combined with the prior.
    pub expected: f64,
    /// Standard deviation of the expected score.
    pub deviation: f64,
    /// Probability that no other compared family is better.
    pub chance: f64,
}

/// Expected gain of the recommended family over another one, with a 95 % interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gain {
    /// Name of the other family, or `majority` for the most frequent class.
    pub over: String,
    /// Expected gain.
    pub expected: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Gain {
    /// Returns the expected gain and the ends of its interval in percentage points, as texts show them.
    pub fn in_points(&self) -> [f64; 3] {
        [self.expected, self.low, self.high].map(|value| 100.0 * value)
    }
}

/// Combines scores with the map.
pub(super) fn measured(setup: &Setup<'_>, plan: QuickPlan, scores: Scores) -> Measured {
    let parts = setup.resampled.sizes();
    let scored = setup.resampled.scored(plan.repetitions);
    let overlap = parts[2] as f64 / (setup.resampled.movable as f64 - parts[2] as f64).max(1.0);
    let values: Vec<&[f64]> = scores.families.iter().map(|(_, values)| &values[..]).collect();
    let means: Vec<f64> = values.iter().map(|values| mean(values)).collect();
    let errors = errors(&values, overlap, setup.resampled.effective(plan.repetitions, setup.metric));
    let by_map: Vec<Option<f64>> = scores.families.iter().map(|(candidate, _)| candidate.by_map).collect();
    let effects = effects(&means, &errors, &by_map);
    let chances = chances(&effects);
    let family = |(k, (Candidate { family, settings, .. }, values)): (usize, (Candidate, Vec<f64>))| MeasuredFamily {
        family,
        settings,
        scores: values,
        mean: means[k],
        error: errors[k],
        expected: effects[k].0,
        deviation: effects[k].1,
        chance: chances[k],
    };
    let families = scores.families.into_iter().enumerate().map(family).collect();
    Measured {
        metric: setup.metric.name(setup.dataset),
        plan,
        parts,
        scored,
        families,
        majority: mean(&scores.majority),
        gains: Vec::new(),
    }
}

impl MeasuredFamily {
    /// Returns whether it is a network alone, which predicts nodes of other graphs too, and runs on all devices.
    pub fn is_network(&self) -> bool {
        self.settings.model.is_network() && self.settings.correct_and_smooth.is_none()
    }

    /// Returns the name of its model with what differs from the default settings, such as `sage-root, 8 layers`.
    pub fn model_in_words(&self) -> String {
        let model = self.settings.model;
        match (self.family.has_own_settings(), self.settings.correct_and_smooth) {
            (true, Some(_)) => format!("{model}, smoothed"),
            (true, _) => format!("{model}, {}", count(self.settings.network.layers, "layer")),
            (false, _) => model.to_string(),
        }
    }
}

impl Measured {
    /// Returns the results of a family.
    pub fn of(&self, family: Family) -> Option<&MeasuredFamily> {
        self.families.iter().find(|measured| measured.family == family)
    }

    /// Returns the expected gains of a family over simpler ones.
    pub(super) fn gains_of(&self, family: &MeasuredFamily) -> Vec<Gain> {
        let gain = |over: &str, expected: f64, deviation: f64| {
            let gain = family.expected - expected;
            let reach = REACH * family.deviation.hypot(deviation);
            Gain { over: over.to_owned(), expected: gain, low: gain - reach, high: gain + reach }
        };
        // The most frequent class has no training, but its share among few nodes is uncertain.
        let n = self.scored as f64;
        let p = share(self.majority, n);
        let majority = gain(MAJORITY, self.majority, (p * (1.0 - p) / n).sqrt());
        let simple = self
            .families
            .iter()
            .filter(|other| SIMPLE.contains(&other.family.name) && other.family.rank() < family.family.rank());
        let simple = simple.map(|other| gain(other.family.name, other.expected, other.deviation));
        [majority].into_iter().chain(simple).filter(|gain| gain.expected.is_finite()).collect()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns a score of n nodes with one right and one wrong node added, so that it is neither 0 nor 1.
fn share(score: f64, n: f64) -> f64 {
    (n * score + 1.0) / (n + 2.0)
}

/// Returns the standard errors of the means. `overlap` is n / (m - n), `scored` the effective number of scored nodes.
fn errors(values: &[&[f64]], overlap: f64, scored: f64) -> Vec<f64> {
    let repetitions = values.first().map_or(0, |values| values.len());
    let center = |k: usize| mean(&values.iter().map(|values| values[k] - mean(values)).collect::<Vec<_>>());
    let centers: Vec<f64> = (0..repetitions).map(center).collect();
    let freedom = repetitions.saturating_sub(1) as f64;
    // Differences from the mean of F families have (F - 1) / F of their variance.
    let families = values.len() as f64;
    let centred = if values.len() > 1 { families / (families - 1.0) } else { 1.0 };
    let variance = |values: &&[f64]| {
        let own = mean(values);
        let squares = values.iter().zip(&centers).map(|(value, center)| (value - own - center).powi(2));
        centred * squares.sum::<f64>() / freedom.max(1.0)
    };
    let variances: Vec<f64> = values.iter().map(variance).collect();
    let mut sorted = variances.clone();
    sorted.sort_by(f64::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    let median = if repetitions < FEW { median.max(USUAL) } else { median };
    let error = |(values, variance): (&&[f64], &f64)| {
        let variance = (SHARED * median + freedom * variance) / (SHARED + freedom);
        let p = share(mean(values), scored);
        let least = p * (1.0 - p) / (2.0 * scored);
        (variance * (1.0 / repetitions as f64 + overlap)).max(least).sqrt()
    };
    values.iter().zip(&variances).map(error).collect()
}

/// Returns mean and standard deviation of the posterior of every family.
fn effects(means: &[f64], errors: &[f64], by_map: &[Option<f64>]) -> Vec<(f64, f64)> {
    let middle = mean(means);
    let known: Vec<f64> = by_map.iter().flatten().copied().collect();
    let effect = |((own, error), by_map): ((&f64, &f64), &Option<f64>)| {
        let prior = middle + by_map.map_or(0.0, |chance| MAP * (chance - mean(&known)));
        let (of_scores, of_prior) = (error.powi(-2), PRIOR.powi(-2));
        let total = of_scores + of_prior;
        ((own * of_scores + prior * of_prior) / total, total.powf(-0.5))
    };
    means.iter().zip(errors).zip(by_map).map(effect).collect()
}

/// Returns the probability of every family that its effect is the largest. It is the integral over x of the density of
/// the effect at x, times the probability that all other effects are below x. The midpoint rule computes it.
pub(super) fn chances(effects: &[(f64, f64)]) -> Vec<f64> {
    let normals: Vec<Normal> =
        effects.iter().filter_map(|&(mean, deviation)| Normal::new(mean, deviation).ok()).collect();
    let low = effects.iter().map(|(mean, deviation)| mean - TAILS * deviation).fold(f64::INFINITY, f64::min);
    let high = effects.iter().map(|(mean, deviation)| mean + TAILS * deviation).fold(f64::NEG_INFINITY, f64::max);
    let step = (high - low) / STEPS as f64;
    let mut chances = vec![0.0; normals.len()];
    for place in 0..STEPS {
        let x = low + (place as f64 + 0.5) * step;
        let below: Vec<f64> = normals.iter().map(|normal| normal.cdf(x)).collect();
        for (k, chance) in chances.iter_mut().enumerate() {
            let others = below.iter().enumerate().filter(|(other, _)| *other != k).map(|(_, below)| below);
            *chance += step * normals[k].pdf(x) * others.product::<f64>();
        }
    }
    let total: f64 = chances.iter().sum();
    chances.iter().map(|chance| chance / total.max(f64::MIN_POSITIVE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_normal_effects() {
        assert_eq!(chances(&[(0.5, 0.01)]), [1.0]);
        let equal = chances(&[(0.5, 0.02), (0.5, 0.02), (0.5, 0.02), (0.0, 0.01)]);
        assert!(equal[..3].iter().all(|chance| (chance - 1.0 / 3.0).abs() < 1e-6) && equal[3] < 1e-9, "{equal:?}");
        // The difference of two is normal with variance 0.03^2 + 0.04^2: P(difference > 0) = Phi(0.05 / 0.05).
        let two = chances(&[(0.1, 0.03), (0.05, 0.04)]);
        assert!((two[0] - Normal::standard().cdf(1.0)).abs() < 1e-6, "{two:?}");
    }

    #[test]
    fn errors_grow_with_few_nodes_and_few_repetitions() {
        let (a, b) = ([0.80, 0.82, 0.81, 0.79], [0.70, 0.74, 0.69, 0.71]);
        let of = |share, scored| errors(&[&a, &b], share, scored)[0];
        assert!(of(0.1, 1e5) < of(1.0, 1e5) && of(0.1, 1e5) < of(0.1, 20.0));
        // What all families have in common does not count.
        let (c, d) = ([0.8, 0.9, 0.7], [0.6, 0.7, 0.5]);
        let common = errors(&[&c, &d], 0.5, 1e6);
        assert!(common.iter().all(|error| *error < 0.0005), "{common:?}");
        // Equal scores on four nodes are no certainty.
        assert!(errors(&[&[1.0, 1.0], &[1.0, 1.0]], 0.5, 4.0)[0] > 0.1);
        // One repetition of many nodes is no certainty either: about the usual deviation between repetitions.
        assert!(errors(&[&[0.80], &[0.79]], 0.5, 1e6)[0] > 0.01);
        // Two families whose differences vary by 0.02: each has half of the variance of the difference.
        let (e, f) = ([0.80, 0.82, 0.80, 0.82], [0.81, 0.81, 0.81, 0.81]);
        let both = errors(&[&e, &f], 0.0, 1e6);
        let (difference, expected) = (both[0].powi(2) + both[1].powi(2), 1e-4 * 4.0 / 3.0 / 4.0);
        assert!((difference - expected).abs() < 1e-13, "{difference} {expected}");
    }

    #[test]
    fn the_map_decides_among_forms_that_scores_do_not_separate() {
        let by_map = [None, Some(0.2), Some(0.9)];
        let weak = effects(&[0.6, 0.6, 0.6], &[0.08, 0.08, 0.08], &by_map);
        assert!(weak[2].0 > weak[0].0 && weak[0].0 > weak[1].0, "{weak:?}");
        let clear = effects(&[0.60, 0.66, 0.60], &[0.01, 0.01, 0.01], &by_map);
        assert!(clear[1].0 > clear[2].0 + 0.05, "{clear:?}");
    }
}
