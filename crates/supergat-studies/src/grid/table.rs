//! Results of a grid beside the paper's.

use crate::grid::plan::{GAT, GCN, GridPlan, GridPoint, MX, SD};
use crate::reproduce::Verdict;
use serde::Serialize;
use supergat_core::ModelKind;
use supergat_numerics::statistics::{Moments, Summary, to_percent};
use supergat_select::recommend::map::{Cell, Map, PreferredForm};
use supergat_select::sweep::{RecordIndex, ResultsFile};
use supergat_train::task::NODE;

/// Smallest tolerance for the difference of two means. Twice the standard deviation is used if that is larger:
/// the paper's deviation or, with redrawn graphs, the larger of the two. Only redrawn graphs show how much
/// graphs of one point differ; the paper has one graph per point.
const TOLERANCE: f64 = 0.02;

/// Results of a grid, compared with the paper's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GridStudy {
    /// The requested plan.
    pub plan: GridPlan,
    /// Results of every model at every point, in the order of the plan.
    pub lines: Vec<GridRow>,
    /// Best form of attention at every point.
    pub forms: Vec<FormComparison>,
    /// Agreement with the paper by model, followed by that of all models.
    pub shares: Vec<PaperAgreement>,
}

/// Results of a model at a point of the grid. Accuracies are from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GridRow {
    /// Point of the grid.
    #[serde(flatten)]
    pub point: GridPoint,
    /// Model.
    pub model: ModelKind,
    /// Selected weight decay.
    pub lambda_2: Option<f64>,
    /// Selected weight of the edge loss, for self-supervised models.
    pub lambda_e: Option<f64>,
    /// Our test accuracies, in the order of the seeds.
    pub ours: Option<Summary>,
    /// Printed number.
    pub paper: Option<Moments>,
    /// Our mean minus the paper's.
    pub difference: Option<f64>,
    /// Agreement of the two numbers.
    pub verdict: Verdict,
}

/// Our best form of attention at a point, beside the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FormComparison {
    /// Point of the grid.
    #[serde(flatten)]
    pub point: GridPoint,
    /// Our best form; `None` while runs are missing.
    pub ours: Option<BestForm>,
    /// The paper's best form; `None` if it has no such graph.
    pub paper: Option<BestForm>,
}

/// Best form of attention on a graph.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BestForm {
    /// Best form by the paper's rule.
    pub form: PreferredForm,
    /// Gain of the better SuperGAT over GAT.
    pub gain: f64,
    /// Model with the largest mean among GAT, SD and MX, whether or not the difference is significant.
    pub largest: ModelKind,
}

impl BestForm {
    /// Builds the best form from means in per cent.
    fn new(form: PreferredForm, [gat, sd, mx]: [f64; 3]) -> Self {
        let largest = if gat >= sd.max(mx) {
            GAT
        } else if sd >= mx {
            SD
        } else {
            MX
        };
        Self { form, gain: (sd.max(mx) - gat) / 100.0, largest }
    }
}

/// Number of means that agree with the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PaperAgreement {
    /// Model; `None` for all models.
    pub model: Option<ModelKind>,
    /// Number of means that both have.
    pub numbers: usize,
    /// Number of means within the tolerance.
    pub within: usize,
    /// Number of means within the tolerance from the paper's standard deviation alone.
    pub within_printed: usize,
    /// Mean difference: our mean minus the paper's.
    pub difference: f64,
    /// Mean absolute difference.
    pub absolute: f64,
    /// Mean absolute difference of the gains over GAT. Gains vary less between graphs than accuracies, since
    /// both models train on the same graph.
    pub gain_absolute: Option<f64>,
}

impl GridStudy {
    /// Builds the study from a results file. It does not depend on the order of lines or on durations.
    pub fn new(plan: &GridPlan, results: &ResultsFile) -> Self {
        let index = RecordIndex::new(NODE, results.records());
        let paper = Map::paper();
        let cells = plan.points().into_iter().flat_map(|point| plan.models.iter().map(move |&model| (point, model)));
        let lines: Vec<GridRow> = cells.map(|(point, model)| collect(plan, point, model, &index, &paper)).collect();
        let forms = plan.points().into_iter().map(|point| compare_forms(plan, point, &lines, &paper)).collect();
        let models = plan.models.iter().copied().map(Some).chain([None]);
        let shares = models.filter_map(|model| agreement(model, &lines)).collect();
        Self { plan: plan.clone(), lines, forms, shares }
    }

    /// Returns the results of a model at a point.
    pub fn line(&self, point: GridPoint, model: ModelKind) -> Option<&GridRow> {
        line(&self.lines, point, model)
    }

    /// Returns whether there are fewer candidate settings than in the paper.
    pub fn is_coarse(&self) -> bool {
        let full = GridPlan::full();
        self.plan.lambda_2.len() < full.lambda_2.len() || self.plan.lambda_e.len() < full.lambda_e.len()
    }

    /// Returns the number of points with all runs of all models.
    pub fn complete_points(&self) -> usize {
        let complete = |point: &GridPoint| {
            self.lines.iter().filter(|l| l.point == *point).all(|line| line.is_complete(&self.plan))
        };
        self.plan.points().iter().filter(|point| complete(point)).count()
    }

    /// Compares the best forms at the points where the paper's is one of `forms` and ours is known. Returns
    /// the number of these points, and on how many of them both agree.
    pub fn agreement(&self, forms: &[PreferredForm]) -> (usize, usize) {
        let both = self.forms.iter().filter_map(|graph| Some((graph.ours?.form, graph.paper?.form)));
        let both: Vec<_> = both.filter(|(_, paper)| forms.contains(paper)).collect();
        (both.len(), both.iter().filter(|(ours, paper)| ours == paper).count())
    }

    /// Compares the largest means at the points where the paper's best form is SD or MX. Returns the number
    /// of these points, and on how many of them the same model has our largest mean.
    pub fn largest_mean_agreement(&self) -> (usize, usize) {
        let both = self.forms.iter().filter_map(|graph| Some((graph.ours?, graph.paper?)));
        let both: Vec<_> =
            both.filter(|(_, paper)| [PreferredForm::Sd, PreferredForm::Mx].contains(&paper.form)).collect();
        (both.len(), both.iter().filter(|(ours, paper)| ours.largest == paper.largest).count())
    }

    /// Counts points by the paper's best form (rows) and ours (columns), both in the order of [`PreferredForm::ALL`].
    pub fn confusion(&self) -> [[usize; 4]; 4] {
        let count = |paper, ours| {
            let is = |graph: &&FormComparison| {
                graph.paper.is_some_and(|best| best.form == paper) && graph.ours.is_some_and(|best| best.form == ours)
            };
            self.forms.iter().filter(is).count()
        };
        PreferredForm::ALL.map(|paper| PreferredForm::ALL.map(|ours| count(paper, ours)))
    }
}

impl GridRow {
    fn is_complete(&self, plan: &GridPlan) -> bool {
        self.count() as u64 == plan.seeds
    }

    fn is_within_printed(&self) -> bool {
        let both = self.ours.as_ref().zip(self.paper);
        let judged =
            both.map(|(ours, paper)| Verdict::with_tolerance(ours.mean, paper.mean, TOLERANCE.max(2.0 * paper.std)));
        matches!(judged, Some(Verdict::Within(_)))
    }

    /// Returns the number of final runs.
    pub(crate) fn count(&self) -> usize {
        self.ours.as_ref().map_or(0, |ours| ours.values.len())
    }
}

/// Returns the results of a model at a point.
fn line(lines: &[GridRow], point: GridPoint, model: ModelKind) -> Option<&GridRow> {
    lines.iter().find(|line| line.point == point && line.model == model)
}

/// Collects the results of a model at a point.
fn collect(plan: &GridPlan, point: GridPoint, model: ModelKind, index: &RecordIndex<'_>, paper: &Map) -> GridRow {
    let selected = plan.selected(point, model, index);
    let values = selected.into_iter().flat_map(|settings| plan.final_runs(point, settings));
    let values: Vec<f64> = values.filter_map(|job| Some(index.find(&job)?.test()?.metric)).collect();
    let ours = Some(values).filter(|values| !values.is_empty()).map(Summary::of);
    let paper = printed(point, paper).and_then(|cell| moments(cell, model));
    let verdict = match (&ours, paper) {
        (Some(ours), Some(paper)) => {
            let std = if plan.redrawn { paper.std.max(ours.std) } else { paper.std };
            Verdict::with_tolerance(ours.mean, paper.mean, TOLERANCE.max(2.0 * std))
        }
        (Some(_), None) => Verdict::NotPrinted,
        (None, _) => Verdict::Missing,
    };
    GridRow {
        point,
        model,
        lambda_2: selected.map(|settings| settings.training.lambda_2),
        lambda_e: selected
            .filter(|settings| settings.model.is_self_supervised())
            .map(|settings| settings.edge_loss.lambda_e),
        difference: ours.as_ref().zip(paper).map(|(ours, paper)| difference(ours, paper.mean)),
        ours,
        paper,
        verdict,
    }
}

/// Returns the mean of a summary minus the paper's mean.
fn difference(ours: &Summary, paper: f64) -> f64 {
    (ours.in_percent().mean - to_percent(paper)) / 100.0
}

/// Returns the paper's results at a point.
fn printed(point: GridPoint, paper: &Map) -> Option<&Cell> {
    paper.cells().iter().find(|cell| cell.degree == point.degree && cell.homophily == point.homophily)
}

/// Returns the printed moments of a model.
fn moments(cell: &Cell, model: ModelKind) -> Option<Moments> {
    [(GCN, cell.gcn), (GAT, cell.gat), (SD, cell.sd), (MX, cell.mx)]
        .into_iter()
        .find_map(|(kind, moments)| (kind == model).then_some(moments))
}

/// Compares the best forms at a point.
fn compare_forms(plan: &GridPlan, point: GridPoint, lines: &[GridRow], paper: &Map) -> FormComparison {
    let ours = |model| {
        let line = line(lines, point, model)?;
        line.ours.as_ref().filter(|_| line.is_complete(plan) && plan.seeds > 1).map(Summary::in_percent)
    };
    let ours = || {
        let [gat, sd, mx] = [ours(GAT)?, ours(SD)?, ours(MX)?];
        let moments = |summary: &Summary| Moments { n: summary.values.len(), mean: summary.mean, std: summary.std };
        let form = match plan.redrawn {
            true => PreferredForm::best_of_pairs(&gat.values, &sd.values, &mx.values),
            false => PreferredForm::best(moments(&gat), moments(&sd), moments(&mx)),
        };
        Some(BestForm::new(form, [gat.mean, sd.mean, mx.mean]))
    };
    FormComparison {
        point,
        ours: ours(),
        paper: printed(point, paper)
            .map(|cell| BestForm::new(cell.form(), [cell.gat, cell.sd, cell.mx].map(|of| to_percent(of.mean)))),
    }
}

/// Computes the agreement with the paper; `None` if there is nothing to compare.
fn agreement(model: Option<ModelKind>, all: &[GridRow]) -> Option<PaperAgreement> {
    let lines: Vec<&GridRow> = all.iter().filter(|line| model.is_none_or(|model| line.model == model)).collect();
    let differences: Vec<f64> = lines.iter().filter_map(|line| line.difference).collect();
    let gat_difference = |point| line(all, point, GAT)?.difference;
    let others = lines.iter().filter(|line| line.model != GAT);
    let gains: Vec<f64> = others.filter_map(|line| Some(line.difference? - gat_difference(line.point)?)).collect();
    (!differences.is_empty()).then(|| PaperAgreement {
        model,
        numbers: differences.len(),
        within: lines.iter().filter(|line| matches!(line.verdict, Verdict::Within(_))).count(),
        within_printed: lines.iter().filter(|line| line.is_within_printed()).count(),
        difference: differences.iter().sum::<f64>() / differences.len() as f64,
        absolute: mean_absolute(&differences),
        gain_absolute: (!gains.is_empty()).then(|| mean_absolute(&gains)),
    })
}

fn mean_absolute(values: &[f64]) -> f64 {
    values.iter().map(|value| value.abs()).sum::<f64>() / values.len() as f64
}
