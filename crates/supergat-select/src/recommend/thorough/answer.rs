//! Results of a plan, and the tests between families.

use crate::recommend::families::{Family, LeftOut};
use crate::recommend::thorough::plan::ThoroughPlan;
use crate::recommend::thorough::standing::Standing;
use crate::recommend::thorough::trials::{Trial, describe};
use crate::sweep::ResultsFile;
use serde::Serialize;
use supergat_numerics::statistics::{ALPHA, Interval, Summary, holm, paired_t, wilcoxon};
use supergat_train::settings::Settings;
use supergat_train::task::Status;

/// Results of a family over splits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyResult {
    /// Family.
    pub family: Family,
    /// Selected settings in words, such as `gcn with 2 layers`.
    pub words: String,
    /// Selected settings.
    pub settings: Settings,
    /// Whether the selected settings have balanced class weights.
    pub balanced: bool,
    /// Number of trials in the first rung of its search.
    pub trials: usize,
    /// Validation metric, one value per split.
    pub validation: Summary,
    /// Test metric, one value per split.
    pub test: Summary,
}

/// Conclusion of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The family is significantly worse than the best one.
    Worse,
    /// The difference is not significant.
    Open,
    /// There is no test: too few splits, or no variance.
    Untested,
}

/// Paired comparison of the best family with another one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyComparison {
    /// Best family.
    pub best: Family,
    /// Other family.
    pub family: Family,
    /// Mean difference of test metrics: best minus other.
    pub difference: f64,
    /// 95 % interval of the difference, without correction.
    pub interval: Option<Interval>,
    /// p-value of the paired t-test.
    pub p: Option<f64>,
    /// p-value after Holm's correction over all comparisons.
    pub holm: Option<f64>,
    /// p-value of Wilcoxon's signed-rank test, without correction.
    pub wilcoxon: Option<f64>,
    /// Conclusion at level 0.05, after Holm's correction.
    pub verdict: Verdict,
}

/// Answer of a comparison within minutes: a function of its plan and its results file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThoroughAnswer {
    /// Name of the dataset.
    pub dataset: String,
    /// Metric.
    pub metric: String,
    /// The answer in one sentence.
    pub answer: String,
    /// Recommended family; `None` if nothing ran.
    pub family: Option<Family>,
    /// Family with the best mean test metric.
    pub best: Option<Family>,
    /// Limits of the answer: families that were left out, small budgets, few nodes.
    pub notes: Vec<String>,
    /// Number of splits with results of all families.
    pub splits: usize,
    /// Results, the simplest family first.
    pub families: Vec<FamilyResult>,
    /// The best family against all others.
    pub comparisons: Vec<FamilyComparison>,
    /// Families that were not compared, with the reasons.
    pub left_out: Vec<LeftOut>,
}

impl ThoroughAnswer {
    /// Collects the results of a plan in a file, for the kind of device that the file shows.
    pub fn new(plan: &ThoroughPlan, results: &ResultsFile) -> Self {
        let mut left_out = plan.left_out.clone();
        let families = collect(plan, results, &mut left_out);
        left_out.sort_by_key(|left| left.family.rank());
        let best = families.iter().rev().max_by(|a, b| a.test.mean.total_cmp(&b.test.mean)).map(|best| best.family);
        let comparisons = best.map(|best| compare(&families, best)).unwrap_or_default();
        let splits = families.first().map_or(0, |result| result.test.values.len());
        let mut answer = Self {
            dataset: plan.dataset.clone(),
            metric: plan.metric.clone(),
            answer: String::new(),
            family: None,
            best,
            notes: Vec::new(),
            splits,
            families,
            comparisons,
            left_out,
        };
        answer.explain(plan);
        answer
    }

    /// Returns the results of a family.
    pub fn of(&self, family: Family) -> Option<&FamilyResult> {
        self.families.iter().find(|result| result.family == family)
    }

    /// Returns the results of the recommended family.
    pub fn winner(&self) -> Option<&FamilyResult> {
        self.of(self.family?)
    }
}

/// Collects the results of all families on the splits that all of them have. Families with
/// failures on more than half of the splits that they ran on are left out instead.
fn collect(plan: &ThoroughPlan, results: &ResultsFile, left_out: &mut Vec<LeftOut>) -> Vec<FamilyResult> {
    let (splits, standing) = (plan.final_splits(), Standing::new(plan, results));
    let mut found = Vec::new();
    for family in plan.families.iter().map(|of| of.family) {
        let (trials, failure) = standing.summary(family);
        let mut leave = |reason: String| left_out.push(LeftOut { family, reason });
        let Some(trial) = standing.selected(family) else {
            leave(
                failure.map_or_else(
                    || "its search is not complete".into(),
                    |reason| format!("no trial succeeded: {reason}"),
                ),
            );
            continue;
        };
        let records: Vec<_> = splits.iter().map(|split| standing.record(&trial, split)).collect();
        let scores: Vec<Option<[f64; 2]>> = records
            .iter()
            .map(|record| match record.map(|record| &record.status) {
                Some(Status::Ok { validation, test, .. }) => Some([validation.metric, test.metric]),
                _ => None,
            })
            .collect();
        let known = scores.iter().flatten().count();
        if known == 0 || 2 * known < records.iter().flatten().count() {
            let failure = records.iter().flatten().find_map(|record| match &record.status {
                Status::Failed { reason } => Some(format!("its final runs failed: {reason}")),
                Status::Ok { .. } => None,
            });
            leave(failure.unwrap_or_else(|| "its final runs are not complete".into()));
            continue;
        }
        found.push((family, trial, trials, scores));
    }
    let is_common = |k: &usize| found.iter().all(|(.., scores)| scores[*k].is_some());
    let common: Vec<usize> = (0..splits.len()).filter(is_common).collect();
    let result = |(family, trial, trials, scores): &(Family, _, usize, Vec<Option<[f64; 2]>>)| {
        let trial: &Trial = trial;
        let summary =
            |side: usize| Summary::of(common.iter().filter_map(|&k| scores[k].map(|pair| pair[side])).collect());
        FamilyResult {
            family: *family,
            words: describe(*family, &trial.settings, trial.balanced),
            settings: trial.settings,
            balanced: trial.balanced,
            trials: *trials,
            validation: summary(0),
            test: summary(1),
        }
    };
    if common.is_empty() { Vec::new() } else { found.iter().map(result).collect() }
}

/// Compares the best family with all others.
pub(super) fn compare(families: &[FamilyResult], best: Family) -> Vec<FamilyComparison> {
    let Some(first) = families.iter().find(|result| result.family == best) else { return Vec::new() };
    let others = families.iter().filter(|result| result.family != best);
    let mut comparisons: Vec<FamilyComparison> = others
        .map(|other| {
            let (a, b) = (&first.test.values, &other.test.values);
            let test = paired_t(a, b).ok();
            let difference = first.test.mean - other.test.mean;
            // Equal on every split: neither is better, and no test is needed.
            let is_equal = a.len() > 1 && a.iter().zip(b).all(|(a, b)| a == b);
            FamilyComparison {
                best,
                family: other.family,
                difference,
                interval: test.map(|test| test.interval),
                p: test.map(|test| test.p),
                holm: None,
                wilcoxon: wilcoxon(a, b).ok().map(|test| test.p),
                verdict: if is_equal { Verdict::Open } else { Verdict::Untested },
            }
        })
        .collect();
    let p: Vec<f64> = comparisons.iter().filter_map(|comparison| comparison.p).collect();
    let mut corrected = holm(&p).unwrap_or_default().into_iter();
    for comparison in comparisons.iter_mut().filter(|comparison| comparison.p.is_some()) {
        comparison.holm = corrected.next();
        let is_worse = comparison.holm.is_some_and(|p| p < ALPHA) && comparison.difference > 0.0;
        comparison.verdict = if is_worse { Verdict::Worse } else { Verdict::Open };
    }
    comparisons
}
