//! Statistical comparison of two sets of runs, with a conclusion in one sentence.

use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Display;
use supergat_numerics::metrics::Metric;
use supergat_numerics::statistics::{
    ALPHA, Effect, Interval, Mark, Moments, Summary, TTest, Undefined, Wilcoxon, detectable_effect,
    detectable_paired_effect, effect, mark, paired_effect, paired_t, pooled_t, welch_t, wilcoxon,
};

/// A run in a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedRun {
    /// Requested split.
    pub split: String,
    /// Hash of the split, if known.
    pub split_hash: Option<String>,
    /// The seed.
    pub seed: u64,
    /// Test metric.
    pub test: f64,
}

/// Runs of one configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Human-readable name.
    pub name: String,
    /// The dataset.
    pub dataset: String,
    /// The metric.
    pub metric: String,
    /// The runs.
    pub runs: Vec<ComparedRun>,
}

/// A statistic, or the reason why it is undefined.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer<T> {
    /// Value of the statistic.
    Value(T),
    /// The statistic is undefined.
    Undefined {
        /// Reason, as text.
        undefined: String,
    },
}

impl<T> Answer<T> {
    /// Returns the statistic, if it is defined.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Undefined { .. } => None,
        }
    }

    /// Returns the statistic as text, or the reason why it is undefined.
    pub fn text(&self, words: impl Fn(&T) -> String) -> String {
        match self {
            Self::Value(value) => words(value),
            Self::Undefined { undefined } => format!("none: {undefined}"),
        }
    }
}

impl<T> From<Result<T, Undefined>> for Answer<T> {
    fn from(result: Result<T, Undefined>) -> Self {
        match result {
            Ok(value) => Self::Value(value),
            Err(reason) => Self::Undefined { undefined: reason.to_string() },
        }
    }
}

/// Summary of one sample of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// Human-readable name.
    pub name: String,
    /// Number of runs.
    pub runs: usize,
    /// Mean test metric.
    pub mean: f64,
    /// Sample standard deviation.
    pub std: f64,
    /// 95 % interval of the mean.
    pub interval: Answer<Interval>,
}

/// Comparison of two samples. Differences are the first minus the second, in the unit of the metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The dataset.
    pub dataset: String,
    /// The metric.
    pub metric: String,
    /// The first sample.
    pub a: Side,
    /// The second sample.
    pub b: Side,
    /// Whether each run has a partner with the same split and seed in the other sample.
    pub paired: bool,
    /// Number of different splits.
    pub splits: usize,
    /// Paired t-test, if the runs are paired.
    pub paired_t: Option<Answer<TTest>>,
    /// Wilcoxon's signed-rank test, if the runs are paired.
    pub wilcoxon: Option<Answer<Wilcoxon>>,
    /// Welch's t-test.
    pub welch_t: Answer<TTest>,
    /// The paper's t-test, with pooled variance.
    pub pooled_t: Answer<TTest>,
    /// The paper's mark of the first sample against the second.
    pub mark: Answer<Mark>,
    /// Difference in standard deviations: of the differences if paired, else pooled.
    pub effect: Answer<Effect>,
    /// Smallest difference that this number of runs detects with 80 % power, given their standard deviation.
    pub detectable: Answer<f64>,
    /// Conclusion, as a sentence.
    pub conclusion: String,
}

/// Compares two samples, in pairs if every run has a partner. Fails if they have different datasets or metrics.
pub fn compare(a: &Sample, b: &Sample) -> Result<Comparison, String> {
    if a.dataset != b.dataset {
        return Err(format!(
            "{} is on {}, but {} is on {}: only runs on the same dataset can be compared",
            a.name, a.dataset, b.name, b.dataset
        ));
    }
    if a.metric != b.metric {
        return Err(format!(
            "{} is measured by {}, but {} by {}: only runs with the same metric can be compared",
            a.name, a.metric, b.name, b.metric
        ));
    }
    let pairs = pairs(a, b);
    let paired = pairs.is_some();
    let (x, y) = pairs.unwrap_or_else(|| (a.values(), b.values()));
    let mut comparison = Comparison {
        dataset: a.dataset.clone(),
        metric: a.metric.clone(),
        a: Side::of(a),
        b: Side::of(b),
        paired,
        splits: splits(a, b),
        paired_t: paired.then(|| paired_t(&x, &y).into()),
        wilcoxon: paired.then(|| wilcoxon(&x, &y).into()),
        welch_t: welch_t(&x, &y).into(),
        pooled_t: pooled_t(&x, &y).into(),
        mark: if is_lower_better(&a.metric) { mark(&negated(&x), &negated(&y)) } else { mark(&x, &y) }.into(),
        effect: if paired { paired_effect(&x, &y) } else { effect(&x, &y) }.into(),
        detectable: detectable(&x, &y, paired).into(),
        conclusion: String::new(),
    };
    comparison.conclusion = comparison.conclude(paired && x == y);
    Ok(comparison)
}

/// Returns whether smaller values of a metric are better.
fn is_lower_better(metric: &str) -> bool {
    metric.parse().is_ok_and(|metric: Metric| !metric.is_higher_better())
}

fn negated(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| -value).collect()
}

impl Sample {
    fn values(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.test).collect()
    }
}

impl Side {
    fn of(sample: &Sample) -> Self {
        let summary = Summary::of(sample.values());
        Self {
            name: sample.name.clone(),
            runs: sample.runs.len(),
            mean: summary.mean,
            std: summary.std,
            interval: summary.interval().into(),
        }
    }
}

/// Returns both samples in the same order, if each run has exactly one partner.
fn pairs(a: &Sample, b: &Sample) -> Option<(Vec<f64>, Vec<f64>)> {
    let key = |run: &ComparedRun| (run.split.clone(), run.seed);
    let partners: HashMap<_, &ComparedRun> = b.runs.iter().map(|run| (key(run), run)).collect();
    let distinct: HashMap<_, ()> = a.runs.iter().map(|run| (key(run), ())).collect();
    if [a.runs.len(), b.runs.len(), distinct.len()].iter().any(|&count| count != partners.len()) {
        return None;
    }
    let both = a.runs.iter().map(|run| {
        let partner = partners.get(&key(run))?;
        let differ = matches!((&run.split_hash, &partner.split_hash), (Some(a), Some(b)) if a != b);
        (!differ).then_some((run.test, partner.test))
    });
    both.collect::<Option<Vec<_>>>().map(|pairs| pairs.into_iter().unzip())
}

fn splits(a: &Sample, b: &Sample) -> usize {
    let mut names: Vec<&str> = a.runs.iter().chain(&b.runs).map(|run| &*run.split).collect();
    names.sort_unstable();
    names.dedup();
    names.len()
}

/// Returns the smallest detectable difference, in the unit of the values.
fn detectable(a: &[f64], b: &[f64], paired: bool) -> Result<f64, Undefined> {
    let (effect, std) = if paired {
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        (detectable_paired_effect(a.len())?, Moments::of(&differences)?.std)
    } else {
        let (a, b) = (Moments::of(a)?, Moments::of(b)?);
        let (free_a, free_b) = ((a.n - 1) as f64, (b.n - 1) as f64);
        let pooled = (free_a * a.std * a.std + free_b * b.std * b.std) / (free_a + free_b);
        (detectable_effect(a.n, b.n)?, pooled.sqrt())
    };
    if std > 0.0 { Ok(effect * std) } else { Err(Undefined::NoVariance) }
}

impl Comparison {
    /// Returns the test behind the conclusion: the paired t-test if the runs are paired, else Welch's.
    pub fn decisive(&self) -> &Answer<TTest> {
        self.paired_t.as_ref().unwrap_or(&self.welch_t)
    }

    /// Returns whether texts show the metric in percent; losses are shown as they are.
    pub fn is_in_percent(&self) -> bool {
        self.metric.parse().map_or(true, |metric: Metric| metric.is_share())
    }

    /// Returns a value as texts show it: in percent, unless it is a loss.
    pub fn shown(&self, value: f64) -> f64 {
        if self.is_in_percent() { 100.0 * value } else { value }
    }

    /// Formats a difference with its unit, such as `0.31 points`; losses have none.
    pub fn difference(&self, value: f64) -> String {
        let value = self.shown(value);
        if self.is_in_percent() { format!("{value:.2} points") } else { format!("{value:.4}") }
    }

    fn conclude(&self, same: bool) -> String {
        let Self { dataset, a, b, .. } = self;
        if same {
            return format!("{} and {} are the same on {dataset}, run by run.", a.name, b.name);
        }
        let test = match self.decisive() {
            Answer::Value(test) => test,
            Answer::Undefined { undefined } => {
                return format!("Nothing can be concluded about {} and {}: {undefined}.", a.name, b.name);
            }
        };
        let digits = if self.is_in_percent() { 2 } else { 4 };
        let kind = if self.paired { "paired t-test" } else { "Welch's t-test" };
        let TTest { difference, interval: Interval { low, high }, p, .. } = *test;
        let (low, high) = (self.shown(low), self.shown(high));
        let scope = if self.splits == 1 { " (this split)" } else { "" };
        let seen = match self.detectable.value() {
            Some(least) => {
                format!("These runs detect differences of {} or more with 80 % power", self.difference(*least))
            }
            None => "The smallest detectable difference is unknown".to_owned(),
        };
        if p < ALPHA {
            let is_first_better = (difference > 0.0) != is_lower_better(&self.metric);
            let (better, worse) = if is_first_better { (&a.name, &b.name) } else { (&b.name, &a.name) };
            let (from, to) = if difference > 0.0 { (low, high) } else { (-high, -low) };
            let size = self.difference(difference.abs());
            return format!(
                "{better} is better than {worse} on {dataset}{scope} by {size} (95 %: {from:.digits$} to {to:.digits$}; {}, {kind}). \
                 {seen}.",
                p_value(p)
            );
        }
        format!(
            "No difference between {} and {} on {dataset}{scope} can be concluded: {} (95 %: {low:.digits$} to {high:.digits$}; \
             {}, {kind}). {seen}; a smaller one may exist.",
            a.name,
            b.name,
            self.difference(difference),
            p_value(p)
        )
    }
}

/// Formats a p-value, such as `p = 0.031` or `p = 2.1e-8`.
pub fn p_value(p: f64) -> impl Display {
    if p < 0.001 { format!("p = {p:.1e}") } else { format!("p = {p:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str, values: &[f64]) -> Sample {
        let run = |(seed, test): (usize, &f64)| ComparedRun {
            split: "published".into(),
            split_hash: None,
            seed: seed as u64,
            test: *test,
        };
        let runs = values.iter().enumerate().map(run).collect();
        Sample { name: name.into(), dataset: "cora".into(), metric: "accuracy".into(), runs }
    }

    const HIGH: [f64; 6] = [0.840, 0.845, 0.839, 0.848, 0.842, 0.846];
    const LOW: [f64; 6] = [0.830, 0.836, 0.831, 0.835, 0.833, 0.834];

    #[test]
    fn pairs_runs_with_shared_seeds_in_any_order() {
        let (a, mut b) = (sample("mx", &HIGH), sample("go", &LOW));
        let straight = compare(&a, &b).unwrap();
        b.runs.reverse();
        assert_eq!(compare(&a, &b).unwrap().paired_t, straight.paired_t);
        assert!(straight.paired && straight.wilcoxon.is_some());
        assert_eq!(straight.paired_t.as_ref().unwrap().value(), paired_t(&HIGH, &LOW).ok().as_ref());
        assert!(straight.conclusion.starts_with("mx is better than go on cora (this split) by 1.02 points"));
        assert!(compare(&b, &a).unwrap().conclusion.starts_with("mx is better than go on cora (this split) by 1.02"));
    }

    #[test]
    fn does_not_pair_other_runs() {
        let (a, b) = (sample("mx", &HIGH), sample("go", &LOW));
        let mut other_split = b.clone();
        other_split.runs[2].split = "random:1".into();
        let mut other_data = (a.clone(), b.clone());
        other_data.0.runs[0].split_hash = Some("1".into());
        other_data.1.runs[0].split_hash = Some("2".into());
        let mut twice = b.clone();
        twice.runs[3].seed = 4;
        let fewer = sample("go", &LOW[..5]);
        for (a, b) in [(&a, &other_split), (&other_data.0, &other_data.1), (&a, &twice), (&twice, &a), (&a, &fewer)] {
            let comparison = compare(a, b).unwrap();
            assert!(!comparison.paired && comparison.paired_t.is_none(), "{comparison:?}");
            assert_eq!(comparison.decisive(), &comparison.welch_t);
        }
    }

    #[test]
    fn states_undefined_and_unclear_results() {
        let one = compare(&sample("mx", &HIGH[..1]), &sample("go", &LOW[..1])).unwrap();
        assert!(one.conclusion.starts_with("Nothing can be concluded about mx and go: too few values"));
        assert!(!serde_json::to_string(&one).unwrap().contains("null,"), "{one:?}");
        let same = compare(&sample("mx", &HIGH), &sample("mx", &HIGH)).unwrap();
        assert_eq!(same.conclusion, "mx and mx are the same on cora, run by run.");
        let near: Vec<f64> =
            HIGH.iter().zip([0.003, -0.004, 0.002, -0.001, 0.003, -0.002]).map(|(v, d)| v + d).collect();
        let unclear = compare(&sample("mx", &HIGH), &sample("sd", &near)).unwrap();
        assert!(unclear.conclusion.starts_with("No difference between mx and sd"), "{}", unclear.conclusion);
        assert!(unclear.conclusion.ends_with("a smaller one may exist."));
    }

    #[test]
    fn rejects_different_datasets_and_metrics() {
        let (a, b) = (sample("mx", &HIGH), sample("go", &LOW));
        let elsewhere = Sample { dataset: "ppi".into(), ..b.clone() };
        let reason = compare(&a, &elsewhere).unwrap_err();
        assert_eq!(reason, "mx is on cora, but go is on ppi: only runs on the same dataset can be compared");
        let otherwise = Sample { metric: "micro-f1".into(), ..b };
        let reason = compare(&a, &otherwise).unwrap_err();
        assert!(reason.starts_with("mx is measured by accuracy, but go by micro-f1"), "{reason}");
    }
}
