//! The plan of a measurement: families, numbers of epochs and repetitions.

use crate::recommend::cost::{EPOCHS, RunCost, fits, time};
use crate::recommend::families::{DEEP, Family, LeftOut};
use crate::recommend::map::PreferredForm;
use crate::recommend::quick::candidates::Candidate;
use crate::recommend::quick::question::QuickQuestion;
use crate::recommend::quick::setup::{Setup, Workers, is_large};
use serde::Serialize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use supergat_core::ModelKind;
use supergat_core::hyperparameters::TreeSettings;
use supergat_data::Dataset;
use supergat_train::baselines::tree_width;
use supergat_train::settings::{FamilySettings, Settings};

/// Possible plans, the best first: epochs, and repetitions that there must be time for. Networks that have not converged are
/// misjudged, so repetitions are given up before epochs.
const LADDER: [[usize; 2]; 11] =
    [[200, 4], [200, 3], [150, 3], [100, 3], [100, 2], [100, 1], [60, 1], [40, 1], [25, 1], [15, 1], [5, 1]];
/// Position of the last plan of the ladder that is better than two rounds. Worse ones are for few networks.
const USEFUL: usize = 5;
/// Possible plans of two rounds for large graphs, the best first: epochs of all networks, and epochs of the best that there
/// must be time for.
const ROUNDS: [[usize; 2]; 3] = [[30, 100], [20, 60], [15, 30]];
/// A further plan of two rounds, for large graphs that there is no time for otherwise.
const SHORTEST: [usize; 2] = [10, 20];
/// Number of networks that go on to the second round.
pub(super) const KEPT: usize = 4;
/// Position of the best plan that is made from the size of a graph.
const BY_SIZE: usize = 3;
/// Families that are left out first if there is no time for all, from the one that is missed least. On large graphs, the
/// self-supervised form with fewer votes of the map is the first of the two.
const DISPENSABLE: [&str; 5] = ["sage-deep", "mlp-correct-and-smooth", "supergat-mx", "supergat-sd", "gat-go"];
/// A family whose first round takes more than this fraction of the time is left out first.
const TOO_LONG: f64 = 0.4;
/// Fraction of the time that measurements of costs may take; families that are not measured then are left out.
const TIMED: f64 = 0.3;
/// Fraction of the time that a plan may fill.
const FILLED: f64 = 0.9;
/// Trees of the two fits from which the time of all trees is estimated.
const TREES: [usize; 2] = [1, 6];
/// Seconds of a small fit of trees, per node and column.
const SECONDS_PER_CELL: f64 = 3e-6;
/// Least number of multiplications of all runs of a plan that is made from the size of a graph: about twenty seconds on one
/// core. On larger graphs, as many as a training of a usual network.
const BUDGET: f64 = 1.4e11;
/// Epochs of a training that stops early, as most do.
const TRAINING: f64 = 300.0;
/// Multiplications that take as long as the least epoch.
const LEAST: f64 = 3e5;

/// Event of a measurement, as reported to its observer.
#[derive(Debug, Clone, Copy)]
pub enum QuickEvent<'a> {
    /// The time of a family is measured.
    Timing(Family),
    /// The plan is made; its runs begin.
    Planned(&'a QuickPlan),
    /// A run finished an epoch: about how much time is left, if that is known.
    Epoch(Option<Duration>),
    /// A run ended: number of ended runs, and of all runs.
    Run(usize, usize),
}

/// The plan of a measurement. With the dataset, it determines all scores.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuickPlan {
    /// Families, the simplest first.
    pub families: Vec<Family>,
    /// Families that there is no time or memory for.
    pub left_out: Vec<LeftOut>,
    /// Epochs of every network; in two rounds, of the best networks, as many as there was time for.
    pub epochs: usize,
    /// Epochs of every network in the first of two rounds; `None` if there is one round.
    pub first_epochs: Option<usize>,
    /// Resampled of the labelled nodes; every family has a run on each.
    pub repetitions: usize,
    /// Whether the training nodes of the split are kept, and only validation nodes are resampled.
    pub keeps_training: bool,
    /// Seed of repetitions and runs.
    pub seed: u64,
    /// Seconds that the plan was made for; `None` if it was made from the size of the graph.
    pub seconds: Option<f64>,
    /// End of the time, after which no repetition begins.
    #[serde(skip)]
    pub(super) end: Option<Instant>,
    /// Costs of a run of each family. Their unit is that of the plan.
    #[serde(skip)]
    pub(super) costs: Vec<RunCost>,
}

impl QuickPlan {
    /// Returns the cost of all runs, at most: in a second round, those that cost most.
    pub(super) fn work(&self) -> f64 {
        let of = |epochs: usize| self.costs.iter().map(move |cost| cost.of(epochs));
        let first: f64 = of(self.first_epochs.unwrap_or(self.epochs)).sum();
        let mut longest: Vec<f64> = of(self.epochs).collect();
        longest.sort_by(|a, b| b.total_cmp(a));
        let kept = if self.first_epochs.is_some() { KEPT } else { 0 };
        self.repetitions as f64 * first + longest.into_iter().take(kept).sum::<f64>()
    }
}

/// A family and the cost of its runs.
#[derive(Clone, Copy)]
struct Costed {
    family: Family,
    is_network: bool,
    cost: RunCost,
}

impl Costed {
    fn new(candidate: &Candidate, cost: RunCost) -> Self {
        Self { family: candidate.family, is_network: candidate.settings.model.is_network(), cost }
    }
}

/// Measures the costs of the families and makes the plan that fills the time. Returns the reason if there is no time.
pub(super) fn timed(
    setup: &Setup<'_>,
    question: &QuickQuestion,
    seconds: f64,
    workers: Workers,
    observe: &(impl Fn(QuickEvent<'_>) -> ControlFlow<()> + Sync),
) -> Result<QuickPlan, String> {
    let started = Instant::now();
    let used = || started.elapsed().as_secs_f64() / seconds;
    let left = || Some(Duration::from_secs_f64((seconds - started.elapsed().as_secs_f64()).max(0.0)));
    let split = setup.resampled.dataset(0);
    // Trees are the last, because their fits cannot be stopped.
    let is_trees = |candidate: &&Candidate| candidate.settings.model == ModelKind::Trees;
    let (fitting, mut left_out) = fitting(setup, &split, question, workers)?;
    let (trees, others): (Vec<&Candidate>, Vec<&Candidate>) = fitting.into_iter().partition(is_trees);
    let keep_on = || used() < TIMED && observe(QuickEvent::Epoch(left())).is_continue();
    // Fixed costs of large graphs leave no time to measure every family: one is measured, and the others follow from it.
    let rate = match (is_large(setup.dataset), others.iter().find(|one| one.family.name == "gat-go")) {
        (true, Some(one)) if observe(QuickEvent::Timing(one.family)).is_continue() => {
            cost(&split, &one.settings, workers, keep_on)
                .map(|cost| cost.epoch / multiplications(&split, &one.settings))
                .ok()
        }
        _ => None,
    };
    let measure = |candidate: &Candidate| {
        let Candidate { family, settings, .. } = candidate;
        let least = match settings.model {
            ModelKind::Trees => seconds_of_trees(&split, settings) / seconds,
            _ => 0.0,
        };
        if observe(QuickEvent::Timing(*family)).is_break() || used() + least > TIMED {
            return Err(LeftOut { family: *family, reason: "there was no time to measure it".into() });
        }
        let found = match rate {
            Some(rate) if settings.model != ModelKind::Trees => Ok(estimated(&split, settings).times(rate)),
            _ => cost(&split, settings, workers, keep_on),
        };
        let found = found.map(|cost| Costed::new(candidate, cost));
        found.map_err(|reason| LeftOut { family: *family, reason })
    };
    // Several at a time, as in the runs.
    let mut found = in_parallel(&others, workers.count, measure);
    found.extend(in_parallel(&trees, workers.count, measure));
    let mut costed = Vec::new();
    for found in found {
        match found {
            Ok(found) => costed.push(found),
            Err(left) => left_out.push(left),
        }
    }
    costed.sort_by_key(|costed| costed.family.rank());
    let time = ((FILLED - used()) * seconds).max(0.0);
    let end = started + Duration::from_secs_f64(seconds);
    let plan = fill(setup, question, costed, left_out, &LADDER, Budget { cost: time, threads: workers.count })?;
    // As many repetitions as there is time for.
    let repetitions = if plan.first_epochs.is_some() { 1 } else { setup.resampled.count() };
    Ok(QuickPlan { repetitions, seconds: Some(seconds), end: Some(end), ..plan })
}

/// Returns the candidates whose runs fit into memory, and those that are left out. Returns the reason if none fits.
fn fitting<'a>(
    setup: &'a Setup<'_>,
    split: &Dataset,
    question: &QuickQuestion,
    workers: Workers,
) -> Result<(Vec<&'a Candidate>, Vec<LeftOut>), String> {
    let (mut fitting, mut left_out) = (Vec::new(), Vec::new());
    for candidate in &setup.candidates {
        match fits(split, &candidate.settings, workers.count, question.memory) {
            Ok(()) => fitting.push(candidate),
            Err(reason) => left_out.push(LeftOut { family: candidate.family, reason }),
        }
    }
    if fitting.is_empty() { Err("there is too little memory for any family".into()) } else { Ok((fitting, left_out)) }
}

/// Returns what `of` returns for all items, in their order.
fn in_parallel<I: Sync, T: Send>(items: &[&I], threads: usize, of: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else { return };
            let result = of(item);
            found.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            scope.spawn(work);
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, result)| result).collect()
}

/// Makes a plan from the size of the dataset. Returns the reason if nothing can be compared.
///
/// The plan depends on the machine only if there is too little memory for some families.
pub(super) fn by_size(setup: &Setup<'_>, question: &QuickQuestion, workers: Workers) -> Result<QuickPlan, String> {
    let (fitting, left_out) = fitting(setup, setup.dataset, question, workers)?;
    let costed = fitting.into_iter().map(|one| Costed::new(one, estimated(setup.dataset, &one.settings)));
    let costed: Vec<Costed> = costed.collect();
    let usual = costed.iter().filter(|costed| costed.is_network && costed.family != DEEP);
    let mut epochs: Vec<f64> = usual.map(|costed| costed.cost.epoch).collect();
    epochs.sort_by(f64::total_cmp);
    let training = TRAINING * epochs.get(epochs.len() / 2).copied().unwrap_or(0.0);
    let budget = Budget { cost: training.max(BUDGET), threads: 1 };
    fill(setup, question, costed, left_out, &LADDER[BY_SIZE..], budget)
}

/// Estimates the cost of a run in multiplications.
fn estimated(dataset: &Dataset, settings: &Settings) -> RunCost {
    let cost = multiplications(dataset, settings).max(LEAST);
    match settings.model.is_network() {
        true => RunCost { fixed: 2.0 * cost, epoch: cost },
        false => RunCost { fixed: cost, epoch: 0.0 },
    }
}

/// Limit on the cost of the runs of a plan, if one runs on each thread at a time.
#[derive(Clone, Copy)]
struct Budget {
    cost: f64,
    threads: usize,
}

/// Returns the cost of runs until the last one ends, if each begins in its turn on the first free thread.
pub(super) fn together(costs: impl IntoIterator<Item = f64>, threads: usize) -> f64 {
    let mut ends = vec![0.0_f64; threads.max(1)];
    for cost in costs {
        ends.sort_by(f64::total_cmp);
        ends[0] += cost;
    }
    ends.into_iter().fold(0.0, f64::max)
}

/// Returns the best plan whose runs cost no more than there is. If there is none, families are left out.
fn fill(
    setup: &Setup<'_>,
    question: &QuickQuestion,
    mut costed: Vec<Costed>,
    mut left_out: Vec<LeftOut>,
    ladder: &[[usize; 2]],
    budget: Budget,
) -> Result<QuickPlan, String> {
    let most = setup.resampled.count();
    let plan = |costed: &[Costed], [epochs, repetitions]: [usize; 2], first_epochs: Option<usize>| QuickPlan {
        families: costed.iter().map(|costed| costed.family).collect(),
        left_out: Vec::new(),
        epochs,
        first_epochs,
        repetitions: repetitions.min(most),
        keeps_training: setup.resampled.keeps_training,
        seed: question.seed,
        seconds: None,
        end: None,
        costs: costed.iter().map(|costed| costed.cost).collect(),
    };
    let shortest = is_large(setup.dataset).then_some(&SHORTEST);
    while !costed.is_empty() {
        let of_all = |epochs: usize, repetitions: usize| {
            let runs = (0..repetitions.min(most)).flat_map(|_| &costed).map(|costed| costed.cost.of(epochs));
            together(runs, budget.threads)
        };
        let has_rounds = costed.iter().filter(|costed| costed.is_network).count() > KEPT;
        let worse = if has_rounds { LADDER.len() - USEFUL - 1 } else { 0 };
        let steps = &ladder[..ladder.len() - worse];
        let step = steps.iter().find(|&&[epochs, repetitions]| of_all(epochs, repetitions) <= budget.cost);
        let whole = step.map(|step| plan(&costed, *step, None));
        let of_longest = |epochs: usize| {
            let networks = costed.iter().filter(|costed| costed.is_network);
            let mut costs: Vec<f64> = networks.map(|costed| costed.cost.of(epochs)).collect();
            costs.sort_by(|a, b| b.total_cmp(a));
            together(costs.into_iter().take(KEPT), budget.threads)
        };
        let fits = |[first, epochs]: &&[usize; 2]| of_all(*first, 1) + of_longest(*epochs) <= budget.cost;
        let rounds = ROUNDS.iter().chain(shortest).filter(|_| has_rounds).find(fits);
        let rounds = rounds.map(|&[first, epochs]| plan(&costed, [epochs, 1], Some(first)));
        if let Some(found) = whole.or(rounds) {
            return Ok(QuickPlan { left_out, ..found });
        }
        let family = costed.remove(missed_least(setup, &costed, budget.cost)).family;
        left_out.push(LeftOut { family, reason: "there was no time for it".into() });
    }
    Err("there was no time for any family".into())
}

/// Returns the place of the family that is left out next: the longest if it takes too much of the budget, else a dispensable
/// one if there is any, else the longest.
fn missed_least(setup: &Setup<'_>, costed: &[Costed], most: f64) -> usize {
    let mut dispensable = DISPENSABLE;
    let votes = |form| setup.map.share_of(form);
    if is_large(setup.dataset) && votes(PreferredForm::Mx) >= votes(PreferredForm::Sd) {
        dispensable.swap(2, 3);
    }
    let cost = |place: &usize| costed[*place].cost.of(ROUNDS[ROUNDS.len() - 1][0]);
    let longest = (0..costed.len()).max_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(0);
    let place_of = |name: &&str| costed.iter().position(|costed| costed.family.name == *name);
    match dispensable.iter().find_map(place_of) {
        Some(place) if cost(&longest) <= TOO_LONG * most => place,
        _ => longest,
    }
}

/// Returns about how many seconds the two fits take from which the time of trees is estimated.
fn seconds_of_trees(dataset: &Dataset, settings: &Settings) -> f64 {
    2.0 * SECONDS_PER_CELL * (dataset.nodes() * tree_width(dataset.features(), settings)) as f64
}

/// Measures the seconds of a run.
fn cost(
    dataset: &Dataset,
    settings: &Settings,
    workers: Workers,
    keep_on: impl Fn() -> bool + Sync,
) -> Result<RunCost, String> {
    let each = workers.of_run(settings.model);
    if settings.model != ModelKind::Trees {
        return time(dataset, &settings.with(|s| s.training.max_epochs = EPOCHS), each, keep_on);
    }
    // Trees are one epoch; their time grows with their number, which is seldom more than half of the most.
    let fit = |count: usize| {
        let trees = FamilySettings::Trees(TreeSettings { tree_count: count, ..settings.trees() });
        let found = time(dataset, &Settings { family: trees, ..*settings }, each, &keep_on);
        found.map(|cost| cost.of(1))
    };
    let [few, more] = TREES.map(fit);
    let (few, more) = (few?, more?);
    let each = ((more - few) / (TREES[1] - TREES[0]) as f64).max(0.0);
    let count = settings.trees().tree_count;
    Ok(RunCost { fixed: few + each * count as f64 / 2.0, epoch: 0.0 })
}

/// Returns about how many multiplications an epoch of a network has, or a fit of another model.
fn multiplications(dataset: &Dataset, settings: &Settings) -> f64 {
    let model = settings.model;
    let stored: f64 = dataset.examples.iter().map(|example| example.features.stored() as f64).sum();
    let nodes = dataset.nodes() as f64;
    let links: f64 = dataset.examples.iter().map(|example| example.graph.edges() as f64).sum();
    if !model.is_network() {
        let steps = match settings.family {
            FamilySettings::Propagation(steps) => steps.propagation_iterations as f64,
            _ => 1.0,
        };
        return steps * links * dataset.classes() as f64;
    }
    let width = (settings.network.hidden * settings.network.heads.max(1)) as f64;
    // Measured times of an edge. Self-supervised models also compute scores of as many edges and non-edges.
    let of_links = match model {
        ModelKind::Mlp => 0.0,
        _ if model.is_self_supervised() => 8.0,
        _ if model.form().is_some() => 3.5,
        _ => 1.0,
    };
    let layers = settings.network.layers as f64;
    // A backward pass costs about twice a forward pass.
    3.0 * width * (stored + layers * of_links * links + (layers - 1.0) * nodes * width)
}
