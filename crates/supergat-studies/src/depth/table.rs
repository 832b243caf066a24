//! Results of the cells, and the tests between them.

use crate::depth::graphs::Depth;
use crate::depth::plan::{Cell, DepthPlan, twin};
use crate::grid::GAT;
use serde::Serialize;
use std::collections::BTreeMap;
use supergat_core::ModelKind;
use supergat_numerics::statistics::{ALPHA, Interval, Summary, holm, paired_effect, paired_t, wilcoxon};
use supergat_select::sweep::{Record, ResultsFile};
use supergat_train::settings::Settings;
use supergat_train::task::{Status, Task};

/// Results of a cell over splits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellResult {
    /// Dataset.
    pub dataset: String,
    /// Depth.
    pub depth: Depth,
    /// Model.
    pub model: ModelKind,
    /// Metric.
    pub metric: String,
    /// Selected settings.
    pub settings: Settings,
    /// Splits with a result; all values are in this order.
    pub splits: Vec<u64>,
    /// Validation metric.
    pub validation: Summary,
    /// Test metric.
    pub test: Summary,
}

impl CellResult {
    /// Returns the results of a cell in a file; `None` if there are none.
    pub(super) fn of(plan: &DepthPlan, cell: Cell<'_>, results: &ResultsFile) -> Option<Self> {
        let Cell { graph, depth, model } = cell;
        let (task, max_epochs) = (plan.task(cell), plan.base(cell).training.max_epochs);
        let is_final = |record: &&Record| {
            (record.task.as_str(), &record.dataset, record.settings.model, record.settings.training.max_epochs)
                == (task.name(), &graph.dataset, model, max_epochs)
                && record.seed < plan.splits
                && record.split == graph.split(record.seed).to_string()
        };
        // By settings: those with most runs count, then the first by name. A study has one selection per cell.
        let mut runs: BTreeMap<String, BTreeMap<u64, &Record>> = BTreeMap::new();
        for record in results.records().filter(is_final).filter(|record| record.test().is_some()) {
            let settings = serde_json::to_string(&record.settings).expect("settings are an object");
            let kept = runs.entry(settings).or_default().entry(record.seed).or_insert(record);
            if record.is_better_than(kept) {
                *kept = record;
            }
        }
        let runs = runs.into_values().rev().max_by_key(BTreeMap::len)?;
        let summary =
            |score: fn(&Record) -> Option<f64>| Summary::of(runs.values().filter_map(|record| score(record)).collect());
        Some(Self {
            dataset: graph.dataset.clone(),
            depth,
            model,
            metric: graph.metric.clone(),
            settings: runs.values().next()?.settings,
            splits: runs.keys().copied().collect(),
            validation: summary(|record| match &record.status {
                Status::Ok { validation, .. } => Some(validation.metric),
                Status::Failed { .. } => None,
            }),
            test: summary(|record| record.test().map(|test| test.metric)),
        })
    }

    /// Returns the test metric of a split, in per cent.
    fn at(&self, split: u64) -> Option<f64> {
        self.splits.iter().position(|&known| known == split).map(|k| 100.0 * self.test.values[k])
    }
}

/// A question of the study. Holm's correction is over all tests of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// A self-supervised model against the same attention without self-supervision.
    SelfSupervision,
    /// A self-supervised model against GAT (`gat-go`).
    OverGat,
    /// Deep blocks against the published depth, for the same model.
    Depth,
    /// The gain of self-supervision with deep blocks against the gain at the published depth.
    Change,
}

impl Question {
    /// All questions.
    pub const ALL: [Self; 4] = [Self::SelfSupervision, Self::OverGat, Self::Depth, Self::Change];

    /// Returns the question as text.
    pub fn text(self) -> &'static str {
        match self {
            Self::SelfSupervision => "Self-supervision against the same attention without it",
            Self::OverGat => "Self-supervised models against GAT",
            Self::Depth => "Deep blocks against the published depth",
            Self::Change => "Gain of self-supervision: deep blocks against the published depth",
        }
    }
}

/// Conclusion of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The first is significantly better.
    Better,
    /// The first is significantly worse.
    Worse,
    /// The difference is not significant.
    Open,
    /// There is no test: too few pairs, or no variance.
    Untested,
}

/// A paired comparison over splits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DepthComparison {
    /// Question.
    pub question: Question,
    /// Dataset.
    pub dataset: String,
    /// Depth of both sides; `None` if the depths are compared.
    pub depth: Option<Depth>,
    /// First side.
    pub a: String,
    /// Second side.
    pub b: String,
    /// Number of pairs.
    pub pairs: usize,
    /// Mean difference, first minus second.
    pub difference: f64,
    /// 95 % interval of the difference; `None` if there is no test.
    pub interval: Option<Interval>,
    /// Effect size of the paired differences.
    pub effect: Option<f64>,
    /// p-value of the paired t-test.
    pub p: Option<f64>,
    /// p-value after Holm's correction.
    pub holm: Option<f64>,
    /// p-value of Wilcoxon's signed-rank test, without correction.
    pub wilcoxon: Option<f64>,
    /// Conclusion at level 0.05, after Holm's correction.
    pub verdict: Verdict,
}

/// Results of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DepthStudy {
    /// The requested cells.
    pub plan: DepthPlan,
    /// Cells with results.
    pub cells: Vec<CellResult>,
    /// All comparisons of two cells with results.
    pub comparisons: Vec<DepthComparison>,
}

impl DepthStudy {
    /// Collects the results of a plan in a file and compares them.
    pub fn new(plan: &DepthPlan, results: &ResultsFile) -> Self {
        let cells: Vec<CellResult> =
            plan.cells().into_iter().filter_map(|cell| CellResult::of(plan, cell, results)).collect();
        let mut study = Self { plan: plan.clone(), cells, comparisons: Vec::new() };
        for question in Question::ALL {
            let mut comparisons: Vec<DepthComparison> =
                plan.graphs.iter().flat_map(|graph| study.compare(question, &graph.dataset)).collect();
            correct(&mut comparisons);
            study.comparisons.extend(comparisons);
        }
        study
    }

    /// Returns the result of a cell.
    pub fn cell(&self, dataset: &str, depth: Depth, model: ModelKind) -> Option<&CellResult> {
        self.cells.iter().find(|cell| (cell.dataset.as_str(), cell.depth, cell.model) == (dataset, depth, model))
    }

    /// Returns the comparisons of a question.
    pub fn of(&self, question: Question) -> impl Iterator<Item = &DepthComparison> {
        self.comparisons.iter().filter(move |comparison| comparison.question == question)
    }

    /// Returns the comparisons of a question on one dataset.
    fn compare(&self, question: Question, dataset: &str) -> Vec<DepthComparison> {
        let cell = |depth, model| self.cell(dataset, depth, model);
        let supervised = self.plan.models.iter().filter_map(|&model| Some((model, twin(model)?)));
        match question {
            Question::SelfSupervision | Question::OverGat => {
                let is_twin = question == Question::SelfSupervision;
                let pairs = self.plan.depths.iter().flat_map(|&depth| {
                    supervised.clone().filter_map(move |(model, twin)| {
                        let other = if is_twin { twin } else { GAT };
                        Some((depth, cell(depth, model)?, cell(depth, other)?))
                    })
                });
                let compared = pairs.map(|(depth, a, b)| {
                    let names = [a.model.to_string(), b.model.to_string()];
                    comparison(question, dataset, Some(depth), names, &differences(a, b))
                });
                compared.collect()
            }
            Question::Depth => {
                let pairs = self.plan.models.iter().filter_map(|&model| {
                    let (deep, published) = (cell(Depth::Deep, model)?, cell(Depth::Published, model)?);
                    let names = [format!("{model}, deep"), format!("{model}, published")];
                    Some(comparison(question, dataset, None, names, &differences(deep, published)))
                });
                pairs.collect()
            }
            Question::Change => {
                let pairs = supervised.filter_map(|(model, twin)| {
                    let gains = |depth| Some(differences(cell(depth, model)?, cell(depth, twin)?));
                    let (deep, published) = (gains(Depth::Deep)?, gains(Depth::Published)?);
                    let change = deep.iter().filter_map(|(split, [a, b])| {
                        let [c, d] = published.get(split)?;
                        Some((*split, [a - b, c - d]))
                    });
                    let names = [format!("{model} - {twin}, deep"), format!("{model} - {twin}, published")];
                    Some(comparison(question, dataset, None, names, &change.collect()))
                });
                pairs.collect()
            }
        }
    }
}

/// Values of both sides by split, in per cent.
type Pairs = BTreeMap<u64, [f64; 2]>;

/// Returns the test metrics of two cells in per cent, on the splits that both have.
fn differences(a: &CellResult, b: &CellResult) -> Pairs {
    a.splits.iter().filter_map(|&split| Some((split, [a.at(split)?, b.at(split)?]))).collect()
}

/// Compares two sides; Holm's correction and the verdict follow when all tests of the question are known.
fn comparison(
    question: Question,
    dataset: &str,
    depth: Option<Depth>,
    [a, b]: [String; 2],
    pairs: &Pairs,
) -> DepthComparison {
    let [left, right] = [0, 1].map(|side| pairs.values().map(|pair| pair[side]).collect::<Vec<f64>>());
    let test = paired_t(&left, &right).ok();
    DepthComparison {
        question,
        dataset: dataset.to_owned(),
        depth,
        a,
        b,
        pairs: pairs.len(),
        difference: Summary::of(pairs.values().map(|[a, b]| a - b).collect()).mean / 100.0,
        interval: test.map(|test| test.interval.in_fractions()),
        effect: paired_effect(&left, &right).ok().map(|effect| effect.d),
        p: test.map(|test| test.p),
        holm: None,
        wilcoxon: wilcoxon(&left, &right).ok().map(|test| test.p),
        verdict: Verdict::Untested,
    }
}

/// Corrects the p-values of all tests of a question, and decides.
fn correct(comparisons: &mut [DepthComparison]) {
    let p: Vec<f64> = comparisons.iter().filter_map(|comparison| comparison.p).collect();
    let mut corrected = holm(&p).unwrap_or_default().into_iter();
    for comparison in comparisons.iter_mut().filter(|comparison| comparison.p.is_some()) {
        comparison.holm = corrected.next();
        comparison.verdict = match comparison.holm {
            Some(p) if p < ALPHA && comparison.difference > 0.0 => Verdict::Better,
            Some(p) if p < ALPHA => Verdict::Worse,
            _ => Verdict::Open,
        };
    }
}
