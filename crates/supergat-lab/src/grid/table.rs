//! Our grid beside the paper's.

use crate::grid::plan::{GAT, GCN, MX, Place, Plan, SD};
use crate::recipe::{Cell, Form, Map};
use crate::reproduce::Verdict;
use crate::statistics::{Moments, Summary};
use crate::sweep::{Index, ResultsFile};
use serde::Serialize;
use supergat_core::ModelKind;

/// Points by which two means may differ, or twice the deviation where that is more: the paper's or, where graphs are redrawn, the larger one. Only
/// then do deviations know how much graphs of one cell differ, of which the paper has one.
const TOLERANCE: f64 = 2.0;

/// A grid, made again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Study {
    /// What was asked for.
    pub plan: Plan,
    /// Every model on every graph, in the order of the plan.
    pub lines: Vec<Line>,
    /// The best form of attention on every graph.
    pub forms: Vec<Compared>,
    /// How many numbers agree, by model, and of all in the end.
    pub shares: Vec<Share>,
}

/// A model on a graph. Accuracies are in percent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// The graph.
    #[serde(flatten)]
    pub place: Place,
    /// The model.
    pub model: ModelKind,
    /// The chosen weight decay.
    pub lambda_2: Option<f64>,
    /// The chosen weight of the edge losses, where there are any.
    pub lambda_e: Option<f64>,
    /// Our test results, in the order of the seeds.
    pub ours: Option<Summary>,
    /// What the paper prints.
    pub paper: Option<Moments>,
    /// Our mean minus the paper's.
    pub difference: Option<f64>,
    /// Whether the two agree.
    pub verdict: Verdict,
}

/// The best form of attention on a graph.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Compared {
    /// The graph.
    #[serde(flatten)]
    pub place: Place,
    /// Ours; `None` while runs are missing.
    pub ours: Option<Choice>,
    /// The paper's; `None` where it has no such graph.
    pub paper: Option<Choice>,
}

/// What the recipe says of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Choice {
    /// The best form, by the paper's rule.
    pub form: Form,
    /// Points that the better SuperGAT gains over GAT.
    pub gain: f64,
    /// The largest mean of GAT, SD and MX, whatever a test says of it.
    pub largest: ModelKind,
}

impl Choice {
    fn new(form: Form, gat: f64, sd: f64, mx: f64) -> Self {
        let largest = if gat >= sd.max(mx) {
            GAT
        } else if sd >= mx {
            SD
        } else {
            MX
        };
        Self { form, gain: sd.max(mx) - gat, largest }
    }
}

/// How many numbers agree with the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// Of which model; `None`: of all.
    pub model: Option<ModelKind>,
    /// Numbers that both have.
    pub numbers: usize,
    /// Numbers that agree.
    pub within: usize,
    /// Numbers that agree where the tolerance knows the paper's deviation only.
    pub within_printed: usize,
    /// Mean of our means minus the paper's.
    pub difference: f64,
    /// Mean of their absolute values.
    pub absolute: f64,
    /// The same of the gain over GAT, which the chance of one graph hardly moves: both models saw the same one.
    pub gain_absolute: Option<f64>,
}

impl Study {
    /// From what a results file holds. The order of its lines and the times in it make no difference.
    pub fn new(plan: &Plan, results: &ResultsFile) -> Self {
        let index = Index::new(results.records());
        let paper = Map::paper();
        let cells = plan.places().into_iter().flat_map(|place| plan.models.iter().map(move |&model| (place, model)));
        let lines: Vec<Line> = cells.map(|(place, model)| line(plan, place, model, &index, &paper)).collect();
        let forms = plan.places().into_iter().map(|place| compared(plan, place, &lines, &paper)).collect();
        let models = plan.models.iter().copied().map(Some).chain([None]);
        let shares = models.filter_map(|model| share(model, &lines)).collect();
        Self { plan: plan.clone(), lines, forms, shares }
    }

    /// A model on a graph.
    pub fn line(&self, place: Place, model: ModelKind) -> Option<&Line> {
        self.lines.iter().find(|line| line.place == place && line.model == model)
    }

    /// Whether fewer settings were tried than in the paper.
    pub fn is_coarse(&self) -> bool {
        let full = Plan::full();
        self.plan.lambda_2.len() < full.lambda_2.len() || self.plan.lambda_e.len() < full.lambda_e.len()
    }

    /// Graphs on which all runs of all models are there.
    pub fn whole_cells(&self) -> usize {
        let whole =
            |place: &Place| self.lines.iter().filter(|l| l.place == *place).all(|line| line.is_whole(&self.plan));
        self.plan.places().iter().filter(|place| whole(place)).count()
    }

    /// Graphs of which both have a best form and the paper's is one of these: how many, and on how many ours is the
    /// same.
    pub fn agreement(&self, of: &[Form]) -> (usize, usize) {
        let both = self.forms.iter().filter_map(|graph| Some((graph.ours?.form, graph.paper?.form)));
        let both: Vec<_> = both.filter(|(_, paper)| of.contains(paper)).collect();
        (both.len(), both.iter().filter(|(ours, paper)| ours == paper).count())
    }

    /// Graphs on which the paper's SD or MX is better than the rest, and on how many of them ours has the largest mean.
    pub fn leaders(&self) -> (usize, usize) {
        let both = self.forms.iter().filter_map(|graph| Some((graph.ours?, graph.paper?)));
        let both: Vec<_> = both.filter(|(_, paper)| [Form::Sd, Form::Mx].contains(&paper.form)).collect();
        (both.len(), both.iter().filter(|(ours, paper)| ours.largest == paper.largest).count())
    }

    /// Graphs by the paper's best form (rows) and ours (columns), both in the order of [`Form::ALL`].
    pub fn confusion(&self) -> [[usize; 4]; 4] {
        let count = |paper, ours| {
            let is = |graph: &&Compared| {
                graph.paper.is_some_and(|choice| choice.form == paper)
                    && graph.ours.is_some_and(|choice| choice.form == ours)
            };
            self.forms.iter().filter(is).count()
        };
        Form::ALL.map(|paper| Form::ALL.map(|ours| count(paper, ours)))
    }
}

impl Line {
    fn is_whole(&self, plan: &Plan) -> bool {
        self.count() as u64 == plan.seeds
    }

    fn is_within_printed(&self) -> bool {
        let both = self.difference.zip(self.paper);
        both.is_some_and(|(difference, paper)| difference.abs() <= TOLERANCE.max(2.0 * paper.std))
    }

    /// Runs of the chosen settings.
    pub(crate) fn count(&self) -> usize {
        self.ours.as_ref().map_or(0, |ours| ours.values.len())
    }
}

fn line(plan: &Plan, place: Place, model: ModelKind, index: &Index<'_>, paper: &Map) -> Line {
    let chosen = plan.chosen(place, model, index);
    let values = chosen.into_iter().flat_map(|settings| plan.finals(place, settings));
    let values: Vec<f64> = values.filter_map(|job| Some(100.0 * index.find(&job)?.test()?.metric)).collect();
    let ours = Some(values).filter(|values| !values.is_empty()).map(Summary::of);
    let paper = printed(place, paper).and_then(|cell| of(cell, model));
    let verdict = match (&ours, paper) {
        (Some(ours), Some(paper)) => {
            let std = if plan.redrawn { paper.std.max(ours.std) } else { paper.std };
            Verdict::judged(ours.mean, paper.mean, TOLERANCE.max(2.0 * std))
        }
        (Some(_), None) => Verdict::NotPrinted,
        (None, _) => Verdict::Missing,
    };
    Line {
        place,
        model,
        lambda_2: chosen.map(|settings| settings.lambda_2),
        lambda_e: chosen.filter(|settings| settings.model.is_self_supervised()).map(|settings| settings.lambda_e),
        difference: ours.as_ref().zip(paper).map(|(ours, paper)| ours.mean - paper.mean),
        ours,
        paper,
        verdict,
    }
}

/// The paper's graph at a place.
fn printed(place: Place, paper: &Map) -> Option<&Cell> {
    paper.cells().iter().find(|cell| cell.degree == place.degree && cell.homophily == place.homophily)
}

fn of(cell: &Cell, model: ModelKind) -> Option<Moments> {
    [(GCN, cell.gcn), (GAT, cell.gat), (SD, cell.sd), (MX, cell.mx)]
        .into_iter()
        .find_map(|(kind, moments)| (kind == model).then_some(moments))
}

fn compared(plan: &Plan, place: Place, lines: &[Line], paper: &Map) -> Compared {
    let ours = |model| {
        let line = lines.iter().find(|line| line.place == place && line.model == model)?;
        line.ours.as_ref().filter(|_| line.is_whole(plan) && plan.seeds > 1)
    };
    let ours = || {
        let [gat, sd, mx] = [ours(GAT)?, ours(SD)?, ours(MX)?];
        let moments = |of: &Summary| Moments { n: of.values.len(), mean: of.mean, std: of.std };
        let form = match plan.redrawn {
            true => Form::best_of_pairs(&gat.values, &sd.values, &mx.values),
            false => Form::best(moments(gat), moments(sd), moments(mx)),
        };
        Some(Choice::new(form, gat.mean, sd.mean, mx.mean))
    };
    Compared {
        place,
        ours: ours(),
        paper: printed(place, paper).map(|cell| Choice::new(cell.form(), cell.gat.mean, cell.sd.mean, cell.mx.mean)),
    }
}

/// `None` where there is nothing to compare.
fn share(model: Option<ModelKind>, all: &[Line]) -> Option<Share> {
    let lines: Vec<&Line> = all.iter().filter(|line| model.is_none_or(|model| line.model == model)).collect();
    let differences: Vec<f64> = lines.iter().filter_map(|line| line.difference).collect();
    let of_gat =
        |place| all.iter().find(|line| line.place == place && line.model == GAT).and_then(|line| line.difference);
    let others = lines.iter().filter(|line| line.model != GAT);
    let gains: Vec<f64> = others.filter_map(|line| Some(line.difference? - of_gat(line.place)?)).collect();
    (!differences.is_empty()).then(|| Share {
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
