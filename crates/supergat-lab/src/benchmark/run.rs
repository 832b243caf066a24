//! Runs the missing runs of a plan: the rungs of the search, then split by split.

use crate::benchmark::BenchmarkError;
use crate::benchmark::families::{Family, Trial};
use crate::benchmark::plan::{FamilyPlan, LeftOut, Limit, Plan, SearchCut};
use crate::benchmark::splits::SplitPlan;
use crate::device::{DeviceChoice, DeviceKind, Resources};
use crate::sweep::{
    Event, Job, Key, NodeClassification, Record, ResultsFile, Status, Task, WeighedClassification, run_given_sweep,
};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use supergat_data::{Dataset, SplitChoice};

/// Share of the planned time of the final runs that the search may use in addition to its own.
const SEARCH_SLACK: f64 = 0.1;
/// Share of the time after which a split is not begun, and one after which runs are stopped.
const LAST_START: f64 = 0.97;
const END: f64 = 0.98;

/// Event of a benchmark, as reported to its observer.
#[derive(Debug)]
pub enum BenchmarkEvent<'a> {
    /// A part begins: a rung of the search, or the final runs on a split.
    Part(&'a str),
    /// A run finished an epoch.
    Epoch,
    /// A run ended: number of ended runs, and of all runs of the current part.
    Run(usize, usize),
    /// The benchmark is late; this was left out.
    Late(&'a str),
}

/// Outcome of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BenchmarkOutcome {
    /// Whether the observer stopped it. The same call resumes it.
    pub interrupted: bool,
    /// Number of runs of this call.
    pub ran: usize,
}

/// A requested run.
#[derive(Debug, Clone, Copy)]
struct Wanted<'a> {
    family: Family,
    trial: Trial,
    split: &'a SplitPlan,
    /// Place in the order of trials. Runs of one place go before those of the next, so that all families are equally far.
    place: usize,
}

/// How the runs of a part ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Complete,
    Late,
    Interrupted,
}

/// Runs what is missing of a plan. With a limit, the rest is left out for all families alike if the time is over; `save` is
/// called when the plan changes. `observe` is called from all threads and may stop the benchmark; finished runs are
/// kept, and the same call resumes it.
pub fn run(
    dataset: &Arc<Dataset>,
    plan: &mut Plan,
    results: &mut ResultsFile,
    resources: Resources,
    limit: Option<Limit>,
    save: impl FnMut(&Plan) -> Result<(), BenchmarkError>,
    observe: impl Fn(BenchmarkEvent<'_>) -> ControlFlow<()> + Sync,
) -> Result<BenchmarkOutcome, BenchmarkError> {
    plan.check(dataset)?;
    let resources = resources.resolved();
    results.select(resources.kind());
    let ran = AtomicUsize::new(0);
    let mut course = Course { dataset, results, resources, limit, save, observe, ran: &ran };
    let is_complete = course.search(plan)? && course.finals(plan)?;
    Ok(BenchmarkOutcome { interrupted: !is_complete, ran: ran.into_inner() })
}

struct Course<'a, S, F> {
    dataset: &'a Arc<Dataset>,
    results: &'a mut ResultsFile,
    resources: Resources,
    limit: Option<Limit>,
    save: S,
    observe: F,
    ran: &'a AtomicUsize,
}

impl<S, F> Course<'_, S, F>
where
    S: FnMut(&Plan) -> Result<(), BenchmarkError>,
    F: Fn(BenchmarkEvent<'_>) -> ControlFlow<()> + Sync,
{
    /// Runs all searches, and adds trials as long as there is time; `false` if it was interrupted.
    fn search(&mut self, plan: &mut Plan) -> Result<bool, BenchmarkError> {
        loop {
            let is_complete = self.rungs(plan)?;
            let is_over = plan.search_cut.is_some() || plan.splits_kept.is_some();
            if !is_complete || is_over || !plan.extend(&self.selected_numbers(plan)) {
                return Ok(is_complete);
            }
            (self.save)(plan)?;
        }
    }

    /// Returns the numbers of the trials that the searches have selected.
    fn selected_numbers(&self, plan: &Plan) -> Vec<(Family, usize)> {
        let kind = self.resources.kind();
        let number = |of: &FamilyPlan| Some((of.family, selected_number(plan, of.family, self.results, kind)?));
        plan.families.iter().filter_map(number).collect()
    }

    /// Runs the rungs of all searches; `false` if it was interrupted.
    fn rungs(&mut self, plan: &mut Plan) -> Result<bool, BenchmarkError> {
        let share = END * (plan.search_share + SEARCH_SLACK * (1.0 - plan.search_share));
        for rung in 0..plan.rungs.len() {
            if plan.search_cut.as_ref().is_some_and(|cut| cut.rung < rung) {
                break;
            }
            let kind = self.resources.kind();
            let wanted = rung_runs(plan, rung, self.results, kind);
            let epochs = plan.rungs[rung].epochs;
            let text = format!("search, rung {} of {}: {epochs} epochs", rung + 1, plan.rungs.len());
            let ended = self.part(&text, plan, &wanted, share, rung == 0)?;
            if ended == Ended::Interrupted {
                return Ok(false);
            }
            let is_late = ended == Ended::Late
                || (rung + 1 < plan.rungs.len() && self.limit.is_some_and(|limit| limit.is_over(share)));
            if is_late && plan.search_cut.is_none() {
                self.cut_search(plan, rung)?;
                break;
            }
        }
        Ok(true)
    }

    /// Records the end of a late search in the plan.
    fn cut_search(&mut self, plan: &mut Plan, rung: usize) -> Result<(), BenchmarkError> {
        let kind = self.resources.kind();
        let finished = |plan: &Plan, family: Family| -> Vec<usize> {
            let wanted = candidates(plan, family, rung, self.results, kind);
            let is_done = |number: usize| record_of_trial(plan, family, number, rung, self.results, kind).is_some();
            (0..wanted.len()).filter(|&place| is_done(wanted[place])).collect()
        };
        if rung == 0 {
            let (kept, late): (Vec<_>, Vec<_>) =
                plan.families.iter().copied().partition(|of| !finished(plan, of.family).is_empty());
            plan.families = kept;
            let reason = "there was no time for a trial";
            plan.left_out.extend(late.into_iter().map(|of| LeftOut { family: of.family, reason: reason.into() }));
        }
        let all: Vec<Vec<usize>> = plan.families.iter().map(|of| finished(plan, of.family)).collect();
        let places: Vec<usize> =
            (0..plan.rungs[rung].trials).filter(|place| all.iter().all(|done| done.contains(place))).collect();
        let text = format!("the search ends at rung {} with {} of its trials", rung + 1, places.len());
        plan.search_cut = Some(SearchCut { rung, places });
        let _ = (self.observe)(BenchmarkEvent::Late(&text));
        (self.save)(plan)
    }

    /// Runs the selected settings split by split; `false` if it was interrupted.
    fn finals(&mut self, plan: &mut Plan) -> Result<bool, BenchmarkError> {
        let kind = self.resources.kind();
        if plan.splits_kept.is_none() {
            plan.splits_kept = Some(plan.splits_for(&self.selected_numbers(plan)));
            (self.save)(plan)?;
        }
        let begun = self.limit.map_or(0.0, |limit| limit.used());
        let mut new_splits = 0;
        let splits = plan.final_splits().to_vec();
        for (k, split) in splits.iter().enumerate() {
            let selected = plan.families.iter().filter_map(|of| {
                let trial = selected(plan, of.family, self.results, kind)?;
                Some(Wanted { family: of.family, trial, split, place: 0 })
            });
            let mut wanted: Vec<Wanted<'_>> = selected.collect();
            if k > 0 {
                // The longest run does not begin last.
                wanted.reverse();
            }
            let is_missing = |wanted: &Wanted<'_>| {
                self.results.get(&key(plan, wanted, kind)).is_none_or(|found| found.test().is_none())
            };
            if !wanted.iter().any(is_missing) {
                continue;
            }
            let each = self.limit.map_or(0.0, |limit| (limit.used() - begun) / f64::from(new_splits.max(1)));
            if k > 1 && self.limit.is_some_and(|limit| limit.is_over(LAST_START - each)) {
                self.cut_splits(plan, k)?;
                break;
            }
            let text = format!("final runs, split {} of {}", k + 1, splits.len());
            match self.part(&text, plan, &wanted, END, k == 0)? {
                Ended::Interrupted => return Ok(false),
                Ended::Complete => new_splits += 1,
                Ended::Late => {
                    if k == 0 {
                        let is_done = |family: Family| {
                            let wanted = wanted.iter().find(|wanted| wanted.family == family);
                            wanted.is_none_or(|wanted| self.results.get(&key(plan, wanted, kind)).is_some())
                        };
                        let (kept, late): (Vec<_>, Vec<_>) =
                            plan.families.iter().copied().partition(|of| is_done(of.family));
                        plan.families = kept;
                        let reason = "there was no time for its final runs";
                        plan.left_out
                            .extend(late.into_iter().map(|of| LeftOut { family: of.family, reason: reason.into() }));
                    }
                    self.cut_splits(plan, k.max(1))?;
                    break;
                }
            }
        }
        Ok(true)
    }

    /// Records in the plan that later splits are left out.
    fn cut_splits(&mut self, plan: &mut Plan, kept: usize) -> Result<(), BenchmarkError> {
        let text = format!("{kept} of {} splits are used", plan.final_splits().len());
        plan.splits_kept = Some(kept);
        let _ = (self.observe)(BenchmarkEvent::Late(&text));
        (self.save)(plan)
    }

    /// Runs the missing ones of some runs, until a share of the time is over; in the first part of a phase, at least one.
    fn part(
        &mut self,
        text: &str,
        plan: &Plan,
        wanted: &[Wanted<'_>],
        share: f64,
        is_first: bool,
    ) -> Result<Ended, BenchmarkError> {
        if (self.observe)(BenchmarkEvent::Part(text)).is_break() {
            return Ok(Ended::Interrupted);
        }
        let (stopped, late, done) = (AtomicBool::new(false), AtomicBool::new(false), AtomicUsize::new(0));
        let flow = |observed: ControlFlow<()>| {
            if observed.is_break() {
                stopped.store(true, Ordering::Relaxed);
            } else if self.limit.is_some_and(|limit| limit.is_over(share))
                && (!is_first || done.load(Ordering::Relaxed) > 0)
            {
                late.store(true, Ordering::Relaxed);
            } else {
                return ControlFlow::Continue(());
            }
            ControlFlow::Break(())
        };
        // Models that are not networks run on the CPU.
        let places = 0..=wanted.iter().map(|wanted| wanted.place).max().unwrap_or(0);
        'runs: for place in places {
            for (is_network, balanced) in [(false, false), (false, true), (true, false), (true, true)] {
                let is_here = |wanted: &&Wanted<'_>| {
                    wanted.place == place
                        && wanted.trial.settings.model.is_network() == is_network
                        && wanted.trial.balanced == balanced
                };
                let jobs: Vec<Job> = wanted.iter().filter(is_here).map(|wanted| job(plan, wanted)).collect();
                if jobs.is_empty() {
                    continue;
                }
                let device = if is_network { self.resources.device } else { DeviceChoice::Cpu };
                let resources = Resources { device, ..self.resources };
                let task = task(balanced);
                run_given_sweep(&*task, jobs, self.dataset, self.results, resources, |event, _| match event {
                    Event::Epoch(_) => flow((self.observe)(BenchmarkEvent::Epoch)),
                    Event::Found(count) => {
                        done.fetch_add(count, Ordering::Relaxed);
                        ControlFlow::Continue(())
                    }
                    Event::Done(_) => {
                        self.ran.fetch_add(1, Ordering::Relaxed);
                        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                        flow((self.observe)(BenchmarkEvent::Run(done, wanted.len())))
                    }
                    _ => ControlFlow::Continue(()),
                })?;
                self.results.select(self.resources.kind());
                if stopped.load(Ordering::Relaxed) {
                    return Ok(Ended::Interrupted);
                }
                if late.load(Ordering::Relaxed) {
                    break 'runs;
                }
            }
        }
        let kind = self.resources.kind();
        let is_missing = |wanted: &Wanted<'_>| self.results.get(&key(plan, wanted, kind)).is_none();
        Ok(if late.into_inner() && wanted.iter().any(is_missing) { Ended::Late } else { Ended::Complete })
    }
}

/// Returns the runs of a rung, trial by trial and the simplest family first, so that all families are equally far at any time.
fn rung_runs<'a>(plan: &'a Plan, rung: usize, results: &ResultsFile, kind: DeviceKind) -> Vec<Wanted<'a>> {
    let split = &plan.splits[0];
    let epochs = plan.rungs[rung].epochs;
    let of_families: Vec<(Family, Vec<usize>)> =
        plan.families.iter().map(|of| (of.family, candidates(plan, of.family, rung, results, kind))).collect();
    let mut wanted = Vec::new();
    for place in 0..plan.rungs[rung].trials {
        for (family, numbers) in &of_families {
            let trial = numbers.get(place).and_then(|&number| plan.trial(*family, number, epochs));
            wanted.extend(trial.map(|trial| Wanted { family: *family, trial, split, place }));
        }
    }
    wanted
}

/// Returns the numbers of the trials of a family in a rung: the best ones of the rung before, in their order. If the search was
/// cut in this rung, only those that count.
fn candidates(plan: &Plan, family: Family, rung: usize, results: &ResultsFile, kind: DeviceKind) -> Vec<usize> {
    let all: Vec<usize> = match rung {
        0 => (0..plan.rungs[0].trials).collect(),
        _ => {
            let before = candidates(plan, family, rung - 1, results, kind);
            let mut scored = scored(plan, family, rung - 1, &before, results, kind);
            scored.truncate(plan.rungs[rung].trials);
            scored.into_iter().map(|(number, _)| number).collect()
        }
    };
    match &plan.search_cut {
        Some(cut) if cut.rung == rung => cut.places.iter().filter_map(|&place| all.get(place).copied()).collect(),
        _ => all,
    }
}

/// Returns trials of a rung with their validation metric, the best first; failed trials are the last. Ties go to the lower number.
fn scored(
    plan: &Plan,
    family: Family,
    rung: usize,
    numbers: &[usize],
    results: &ResultsFile,
    kind: DeviceKind,
) -> Vec<(usize, f64)> {
    let score = |&number: &usize| {
        let record = record_of_trial(plan, family, number, rung, results, kind);
        let found = record.and_then(|record| match &record.status {
            Status::Ok { validation, .. } => Some(validation.metric),
            Status::Failed { .. } => None,
        });
        (number, found.filter(|metric| metric.is_finite()).unwrap_or(f64::NEG_INFINITY))
    };
    let mut scored: Vec<(usize, f64)> = numbers.iter().map(score).collect();
    scored.sort_by(|(a, left), (b, right)| right.total_cmp(left).then(a.cmp(b)));
    scored
}

/// Returns the trial that the search of a family has selected, with the epochs of the last rung; `None` if no trial succeeded.
pub(super) fn selected(plan: &Plan, family: Family, results: &ResultsFile, kind: DeviceKind) -> Option<Trial> {
    plan.trial(family, selected_number(plan, family, results, kind)?, plan.rungs.last()?.epochs)
}

/// Returns the number of the selected trial.
fn selected_number(plan: &Plan, family: Family, results: &ResultsFile, kind: DeviceKind) -> Option<usize> {
    let last = plan.search_cut.as_ref().map_or(plan.rungs.len() - 1, |cut| cut.rung);
    for rung in (0..=last).rev() {
        let numbers = candidates(plan, family, rung, results, kind);
        if numbers.is_empty() && rung > 0 {
            continue;
        }
        let (number, score) = scored(plan, family, rung, &numbers, results, kind).into_iter().next()?;
        return Some(number).filter(|_| score > f64::NEG_INFINITY);
    }
    None
}

/// Returns the number of trials of a family that ran in the search, and the reason of a failure.
pub(super) fn search_summary(
    plan: &Plan,
    family: Family,
    results: &ResultsFile,
    kind: DeviceKind,
) -> (usize, Option<String>) {
    let records = candidates(plan, family, 0, results, kind)
        .into_iter()
        .filter_map(|number| record_of_trial(plan, family, number, 0, results, kind));
    let (mut count, mut failure) = (0, None);
    for record in records {
        count += 1;
        if let Status::Failed { reason } = &record.status {
            failure.get_or_insert_with(|| reason.clone());
        }
    }
    (count, failure)
}

/// Returns the record of a trial in a rung.
fn record_of_trial<'a>(
    plan: &Plan,
    family: Family,
    number: usize,
    rung: usize,
    results: &'a ResultsFile,
    kind: DeviceKind,
) -> Option<&'a Record> {
    let trial = plan.trial(family, number, plan.rungs[rung].epochs)?;
    results.get(&key(plan, &Wanted { family, trial, split: &plan.splits[0], place: 0 }, kind))
}

/// Returns the record of a final run.
pub(super) fn record_of_split<'a>(
    plan: &Plan,
    family: Family,
    trial: Trial,
    split: &SplitPlan,
    results: &'a ResultsFile,
    kind: DeviceKind,
) -> Option<&'a Record> {
    results.get(&key(plan, &Wanted { family, trial, split, place: 0 }, kind))
}

fn key(plan: &Plan, wanted: &Wanted<'_>, kind: DeviceKind) -> Key {
    let Wanted { trial, split, .. } = wanted;
    let kind = if trial.settings.model.is_network() { kind } else { DeviceKind::Cpu };
    let key = Key::new(&plan.dataset, &split.hash, &trial.settings, split.seed);
    key.with_task(task(trial.balanced).name()).with_device(kind)
}

fn task(balanced: bool) -> Box<dyn Task> {
    match balanced {
        true => Box::new(WeighedClassification::new(supergat_data::ClassWeight::Balanced)),
        false => Box::new(NodeClassification),
    }
}

fn job(plan: &Plan, wanted: &Wanted<'_>) -> Job {
    let Wanted { trial, split, .. } = wanted;
    let choice: SplitChoice = split.split.parse().unwrap_or_default();
    Job { source: plan.dataset.clone(), split: choice, settings: trial.settings, seed: split.seed }
}
