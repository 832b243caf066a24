//! The plan of a measurement: families, numbers of epochs and redraws.

use crate::advice::contestants::Contestant;
use crate::advice::{AdviceEvent, Field, Question};
use crate::baselines::tree_width;
use crate::benchmark::{DEEP, Family, LeftOut, fits, time};
use crate::device::Resources;
use crate::settings::Settings;
use serde::Serialize;
use std::ops::{ControlFlow, RangeInclusive};
use std::time::{Duration, Instant};
use supergat_core::ModelKind;
use supergat_data::Dataset;

/// Possible plans, the best first: epochs, and redraws that there must be time for. Networks that have not converged are
/// misjudged, so redraws are given up before epochs.
const LADDER: [[usize; 2]; 10] =
    [[200, 4], [200, 3], [150, 3], [100, 3], [100, 2], [100, 1], [60, 1], [30, 1], [15, 1], [5, 1]];
/// Position of the last plan that is better for all families than a better plan for some.
const USEFUL: usize = 5;
/// Number of families that a worse plan than [`USEFUL`] is made for.
const FEW: usize = 3;
/// Positions of the plans that are made from the size of a graph.
const BY_SIZE: RangeInclusive<usize> = 3..=7;
/// Share of the time that measurements of costs may take; families that are not measured then are left out.
const TIMED: f64 = 0.3;
/// Share of the time that the redraws of a plan may fill; the rest is for more redraws.
const FILLED: f64 = 0.8;
/// Share of the time of all threads that parallel runs use.
const PARALLEL: f64 = 0.85;
/// Trees of the two fits from which the time of all trees is estimated.
const TREES: [usize; 2] = [1, 6];
/// Seconds of a small fit of trees, per node and column.
const SECONDS_PER_CELL: f64 = 3e-6;
/// Multiplications of all runs of a plan that is made from the size of a graph: about twenty seconds on one core at most.
const BUDGET: f64 = 1.4e11;
/// Multiplications that take as long as the least epoch.
const LEAST: f64 = 3e5;

/// The plan of a measurement. With the dataset, it determines all scores.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuringPlan {
    /// Families, the simplest first.
    pub families: Vec<Family>,
    /// Families that there is no time or memory for.
    pub left_out: Vec<LeftOut>,
    /// Epochs of every network.
    pub epochs: usize,
    /// Redraws of the labelled nodes; every family has a run on each.
    pub redraws: usize,
    /// Whether the training nodes of the split are kept, and only validation nodes are redrawn.
    pub keeps_training: bool,
    /// Seed of redraws and runs.
    pub seed: u64,
    /// Seconds that the plan was made for; `None` if it was made from the size of the graph.
    pub seconds: Option<f64>,
    /// End of the time, after which no redraw begins.
    #[serde(skip)]
    pub(super) end: Option<Instant>,
}

/// A family and the cost of a run: without its epochs, and of an epoch.
struct Costed {
    family: Family,
    fixed: f64,
    epoch: f64,
}

impl Costed {
    fn of(&self, epochs: usize) -> f64 {
        self.fixed + epochs as f64 * self.epoch
    }
}

/// Measures the costs of the families and makes the plan that fills the time. Returns the reason if there is no time.
pub(super) fn timed(
    field: &Field<'_>,
    question: &Question,
    threads: usize,
    observe: &(impl Fn(AdviceEvent<'_>) -> ControlFlow<()> + Sync),
) -> Result<MeasuringPlan, String> {
    let started = Instant::now();
    let used = || started.elapsed().as_secs_f64() / question.seconds;
    let split = field.redraws.dataset(0);
    let (mut costed, mut left_out): (Vec<Costed>, Vec<LeftOut>) = (Vec::new(), Vec::new());
    // Trees are the last, because their fits cannot be stopped.
    let is_trees = |contestant: &&Contestant| contestant.settings.model == ModelKind::Trees;
    let (trees, others): (Vec<&Contestant>, Vec<&Contestant>) = field.contestants.iter().partition(is_trees);
    for contestant in others.into_iter().chain(trees) {
        let family = contestant.family;
        let least = match contestant.settings.model {
            ModelKind::Trees => seconds_of_trees(&split, &contestant.settings) / question.seconds,
            _ => 0.0,
        };
        let found = if observe(AdviceEvent::Timing(family)).is_break() || used() + least > TIMED {
            Err("there was no time to measure it".into())
        } else {
            let keep_on = || used() < TIMED && observe(AdviceEvent::Epoch).is_continue();
            fits(&split, &contestant.settings, threads, question.memory)
                .and_then(|()| cost(&split, &contestant.settings, keep_on))
        };
        match found {
            Ok((fixed, epoch)) => costed.push(Costed { family, fixed, epoch }),
            Err(reason) => left_out.push(LeftOut { family, reason }),
        }
    }
    costed.sort_by_key(|costed| costed.family.rank());
    let workers = (PARALLEL * threads as f64).max(1.0);
    let time = ((FILLED - used()) * question.seconds).max(0.0) * workers;
    let end = started + Duration::from_secs_f64(question.seconds);
    let plan = fill(field, question, costed, left_out, &LADDER, time)?;
    // As many redraws as there is time for.
    Ok(MeasuringPlan { redraws: field.redraws.count(), seconds: Some(question.seconds), end: Some(end), ..plan })
}

/// Makes a plan from the size of the dataset. Returns the reason if the graph is too large.
pub(super) fn by_size(field: &Field<'_>, question: &Question) -> Result<MeasuringPlan, String> {
    let costed = field.contestants.iter().map(|Contestant { family, settings, .. }| {
        let cost = multiplications(field.dataset, settings).max(LEAST);
        match settings.model.is_network() {
            true => Costed { family: *family, fixed: 2.0 * cost, epoch: cost },
            false => Costed { family: *family, fixed: cost, epoch: 0.0 },
        }
    });
    let too_large = || "the graph is too large to measure without a time; `supergat recommend` measures it".to_owned();
    let costed: Vec<Costed> = costed.collect();
    let plan = fill(field, question, costed, Vec::new(), &LADDER[BY_SIZE], BUDGET).map_err(|_| too_large())?;
    if plan.left_out.iter().all(|left| left.family == DEEP) { Ok(plan) } else { Err(too_large()) }
}

/// Returns the best plan whose runs cost no more than there is. If there is none, families that cost most are left out.
fn fill(
    field: &Field<'_>,
    question: &Question,
    mut costed: Vec<Costed>,
    mut left_out: Vec<LeftOut>,
    ladder: &[[usize; 2]],
    budget: f64,
) -> Result<MeasuringPlan, String> {
    let most = field.redraws.count();
    loop {
        let steps = if costed.len() > FEW { &ladder[..ladder.len().min(USEFUL + 1)] } else { ladder };
        let cost = |[epochs, redraws]: [usize; 2]| {
            redraws.min(most) as f64 * costed.iter().map(|costed| costed.of(epochs)).sum::<f64>()
        };
        let found = steps.iter().find(|step| cost(**step) <= budget);
        if let Some(&[epochs, redraws]) = found.filter(|_| !costed.is_empty()) {
            return Ok(MeasuringPlan {
                families: costed.iter().map(|costed| costed.family).collect(),
                left_out,
                epochs,
                redraws: redraws.min(most),
                keeps_training: field.redraws.keeps_training,
                seed: question.seed,
                seconds: None,
                end: None,
            });
        }
        let longest = (0..costed.len()).max_by(|&a, &b| costed[a].of(100).total_cmp(&costed[b].of(100)));
        let Some(longest) = longest else { return Err("there was no time for any family".into()) };
        let family = costed.remove(longest).family;
        left_out.push(LeftOut { family, reason: "there was no time for it".into() });
    }
}

/// Returns about how many seconds the two fits take from which the time of trees is estimated.
fn seconds_of_trees(dataset: &Dataset, settings: &Settings) -> f64 {
    2.0 * SECONDS_PER_CELL * (dataset.nodes() * tree_width(dataset.features(), settings)) as f64
}

/// Returns the seconds of a run without its epochs, and of one epoch.
fn cost(dataset: &Dataset, settings: &Settings, keep_on: impl Fn() -> bool + Sync) -> Result<(f64, f64), String> {
    let alone = Resources::from(1);
    if settings.model != ModelKind::Trees {
        return time(dataset, &Settings { max_epochs: 8, ..*settings }, alone, keep_on);
    }
    // Trees are one epoch; their time grows with their number, which is seldom more than half of the most.
    let fit = |count: usize| {
        let found = time(dataset, &Settings { tree_count: Some(count), ..*settings }, alone, &keep_on);
        found.map(|(fixed, epoch)| fixed + epoch)
    };
    let [few, more] = TREES.map(fit);
    let (few, more) = (few?, more?);
    let each = ((more - few) / (TREES[1] - TREES[0]) as f64).max(0.0);
    let count = settings.tree_count.unwrap_or(TREES[0]);
    Ok((few + each * count as f64 / 2.0, 0.0))
}

/// Returns about how many multiplications an epoch of a network has, or a fit of another model.
fn multiplications(dataset: &Dataset, settings: &Settings) -> f64 {
    let model = settings.model;
    let stored: f64 = dataset.examples.iter().map(|example| example.features.stored() as f64).sum();
    let nodes = dataset.nodes() as f64;
    let links: f64 = dataset.examples.iter().map(|example| example.graph.edges() as f64).sum();
    if !model.is_network() {
        let steps = settings.propagation_iterations.unwrap_or(1) as f64;
        return steps * links * dataset.classes() as f64;
    }
    let width = (settings.hidden * settings.heads.max(1)) as f64;
    // Scores of attention, and those of the edge loss for as many edges and non-edges.
    let of_links = match model {
        ModelKind::Mlp => 0.0,
        _ if model.is_self_supervised() => 4.0,
        _ if model.form().is_some() => 2.0,
        _ => 1.0,
    };
    let layers = settings.layers as f64;
    // A backward pass costs about twice a forward pass.
    3.0 * width * (stored + layers * of_links * links + (layers - 1.0) * nodes * width)
}
