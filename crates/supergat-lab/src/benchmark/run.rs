//! Runs the missing runs of a plan: the rungs of the search, then split by split.

use crate::benchmark::BenchmarkError;
use crate::benchmark::families::{Family, Trial};
use crate::benchmark::plan::{FamilyPlan, LeftOut, Limit, Plan, RungPlan, SearchCut};
use crate::benchmark::size::{FEWEST, FirstRun};
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
/// Fewest runs per thread that run without a pause, so that few threads wait for the last one.
const AT_ONCE: usize = 4;

/// Event of a benchmark, as reported to its observer.
#[derive(Debug)]
pub enum BenchmarkEvent<'a> {
    /// A part begins: a rung of the search, or the final runs on a split.
    Part(&'a str),
    /// A run finished an epoch.
    Epoch,
    /// A run ended: number of ended runs, and of all runs of the current part.
    Run(usize, usize),
    /// The size of the search is settled.
    Settled(&'a Plan),
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
    /// Place in the order of trials. Runs of a few places go before those of the next, so that all families are about
    /// equally far.
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
    if limit.is_none() {
        // Times do not matter.
        plan.spent.get_or_insert(0.0);
    }
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
    /// Runs all searches, whose size is settled after the first rung; `false` if it was interrupted.
    fn search(&mut self, plan: &mut Plan) -> Result<bool, BenchmarkError> {
        let (kind, begun) = (self.resources.kind(), self.limit.map_or(0.0, |limit| limit.used()));
        let mut rung = 0;
        while rung < plan.rungs.len() && plan.search_cut.as_ref().is_none_or(|cut| cut.rung >= rung) {
            let share = plan.search_share + SEARCH_SLACK * (1.0 - plan.search_share);
            let share = END * (begun + (1.0 - begun) * share);
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
            let is_settled = rung > 0 || plan.search_cut.is_some() || plan.spent.is_some();
            if is_settled || !self.settle(plan)? {
                rung += 1;
            }
        }
        Ok(true)
    }

    /// Settles the size of the search after its first rung; returns whether it is larger.
    fn settle(&mut self, plan: &mut Plan) -> Result<bool, BenchmarkError> {
        let kind = self.resources.kind();
        let best = |of: &FamilyPlan| Some((of.family, best_of_rung(plan, of.family, 0, self.results, kind)?));
        let mut best: Vec<(Family, (usize, f64))> = plan.families.iter().filter_map(best).collect();
        best.retain(|(_, (_, score))| *score > f64::NEG_INFINITY);
        best.sort_by(|(_, (_, a)), (_, (_, b))| b.total_cmp(a));
        let best: Vec<(Family, usize)> = best.into_iter().map(|(family, (number, _))| (family, number)).collect();
        let is_larger = plan.settle(&self.first_runs(plan), &best);
        let _ = (self.observe)(BenchmarkEvent::Settled(plan));
        (self.save)(plan)?;
        Ok(is_larger)
    }

    /// Returns whether a number of runs keeps all threads of the CPU busy. Runs on a GPU, or with several threads each, take
    /// other times than those that the plan counts with.
    fn is_timed(&self, runs: usize) -> bool {
        self.resources.kind().is_cpu() && runs >= self.resources.threads
    }

    /// Returns the runs of the first rung whose times count.
    fn first_runs(&self, plan: &Plan) -> Vec<FirstRun> {
        let (kind, trials) = (self.resources.kind(), plan.rungs[0].trials);
        if !self.is_timed(trials * plan.families.len()) {
            return Vec::new();
        }
        let mut runs = Vec::new();
        for family in plan.families.iter().map(|of| of.family) {
            for number in 0..trials {
                let records = records_of_trial(plan, family, number, 0, self.results, kind).into_iter().flatten();
                let succeeded = records.filter(|record| record.test().is_some());
                runs.extend(succeeded.map(|record| FirstRun { family, number, seconds: record.seconds }));
            }
        }
        runs
    }

    /// Returns the seconds of all runs of the search, and of the final runs on a split; `None` if they are not known, or if times
    /// do not matter.
    fn known_seconds(&self, plan: &Plan) -> Option<[f64; 2]> {
        let (kind, last) = (self.resources.kind(), plan.rungs.len() - 1);
        if self.limit.is_none() || plan.search_cut.is_some() || !self.is_timed(plan.families.len()) {
            return None;
        }
        let seconds = |family, number, rung| -> Vec<f64> {
            let records = records_of_trial(plan, family, number, rung, self.results, kind);
            records.into_iter().flatten().map(|record| record.seconds).collect()
        };
        let (mut search, mut split) = (0.0, 0.0);
        for family in plan.families.iter().map(|of| of.family) {
            for rung in 0..=last {
                let known = usize::from(rung > 0 && !family.has_epochs());
                let numbers = candidates(plan, family, rung, self.results, kind);
                let runs = numbers.into_iter().flat_map(|number| seconds(family, number, rung).into_iter().skip(known));
                search += runs.sum::<f64>();
            }
            let Some(number) = selected_number(plan, family, self.results, kind) else { continue };
            let runs = seconds(family, number, last);
            split += runs.iter().sum::<f64>() / runs.len().max(1) as f64;
        }
        Some([search, split])
    }

    /// Returns the numbers of the trials that the searches have selected.
    fn selected_numbers(&self, plan: &Plan) -> Vec<(Family, usize)> {
        let kind = self.resources.kind();
        let number = |of: &FamilyPlan| Some((of.family, selected_number(plan, of.family, self.results, kind)?));
        plan.families.iter().filter_map(number).collect()
    }

    /// Records the end of a late search in the plan.
    fn cut_search(&mut self, plan: &mut Plan, rung: usize) -> Result<(), BenchmarkError> {
        let kind = self.resources.kind();
        let finished = |plan: &Plan, family: Family| -> Vec<usize> {
            let wanted = candidates(plan, family, rung, self.results, kind);
            let records = |place: usize| records_of_trial(plan, family, wanted[place], rung, self.results, kind);
            (0..wanted.len()).filter(|&place| records(place).iter().all(Option::is_some)).collect()
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
            plan.splits_kept = Some(plan.splits_for(&self.selected_numbers(plan), self.known_seconds(plan)));
            (self.save)(plan)?;
        }
        let begun = self.limit.map_or(0.0, |limit| limit.used());
        let splits = plan.final_splits().to_vec();
        let at_once = (AT_ONCE * self.resources.threads).div_ceil(plan.families.len().max(1));
        let (mut begin, mut new_splits) = (0, 0);
        while begin < splits.len() {
            let count = match (begin, &plan.search_cut) {
                (0, None) => FEWEST,
                (0, Some(_)) => 1,
                _ => at_once.clamp(1, FEWEST),
            };
            let end = splits.len().min(begin + count);
            let wanted = final_runs(plan, &splits[begin..end], begin, self.results, kind);
            let is_missing = |wanted: &Wanted<'_>| {
                self.results.get(&key(plan, wanted, kind)).is_none_or(|found| found.test().is_none())
            };
            if wanted.iter().any(is_missing) {
                let used = self.limit.map_or(0.0, |limit| limit.used());
                let expected = (used - begun) * (end - begin) as f64 / new_splits.max(1) as f64;
                if begin >= FEWEST && used + expected > LAST_START {
                    self.cut_splits(plan, begin)?;
                    break;
                }
                let text = match end - begin {
                    1 => format!("final runs, split {end} of {}", splits.len()),
                    _ => format!("final runs, splits {} to {end} of {}", begin + 1, splits.len()),
                };
                match self.part(&text, plan, &wanted, END, begin == 0)? {
                    Ended::Interrupted => return Ok(false),
                    Ended::Complete => new_splits += end - begin,
                    Ended::Late => {
                        self.cut_finals(plan, &wanted, &splits[..end], begin)?;
                        break;
                    }
                }
            }
            begin = end;
        }
        Ok(true)
    }

    /// Keeps the splits that all families have finished, at least those before `begin`. If there are none, keeps the first
    /// split and the families that have finished it.
    fn cut_finals(
        &mut self,
        plan: &mut Plan,
        wanted: &[Wanted<'_>],
        splits: &[SplitPlan],
        begin: usize,
    ) -> Result<(), BenchmarkError> {
        let kind = self.resources.kind();
        let is_done = |wanted: &&Wanted<'_>| self.results.get(&key(plan, wanted, kind)).is_some();
        let is_complete = |split: &&SplitPlan| wanted.iter().filter(|of| of.split == *split).all(|of| is_done(&of));
        let complete = begin + splits[begin..].iter().take_while(is_complete).count();
        if complete == 0 {
            let of_first = wanted.iter().filter(|of| of.split == &splits[0]);
            let late: Vec<Family> = of_first.filter(|of| !is_done(of)).map(|of| of.family).collect();
            for family in late {
                plan.leave_out(family, "there was no time for its final runs".into());
            }
        }
        self.cut_splits(plan, complete.max(1))
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
        let places = wanted.iter().map(|wanted| wanted.place + 1).max().unwrap_or(0);
        let at_once = (AT_ONCE * self.resources.threads * places / wanted.len().max(1)).max(1);
        // Models that are not networks run on the CPU.
        'runs: for first in (0..places).step_by(at_once) {
            for (is_network, balanced) in [(false, false), (false, true), (true, false), (true, true)] {
                let is_here = |wanted: &&Wanted<'_>| {
                    (first..first + at_once).contains(&wanted.place)
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
    let RungPlan { trials, epochs, splits } = plan.rungs[rung];
    let of_families: Vec<(Family, Vec<usize>)> =
        plan.families.iter().map(|of| (of.family, candidates(plan, of.family, rung, results, kind))).collect();
    let mut wanted = Vec::new();
    for place in 0..trials {
        for split in plan.splits.iter().take(splits) {
            for (family, numbers) in &of_families {
                let trial = numbers.get(place).and_then(|&number| plan.trial(*family, number, epochs));
                wanted.extend(trial.map(|trial| Wanted { family: *family, trial, split, place }));
            }
        }
    }
    wanted
}

/// Returns the final runs on some splits, split by split. `begin` is the number of the first of them.
fn final_runs<'a>(
    plan: &Plan,
    splits: &'a [SplitPlan],
    begin: usize,
    results: &ResultsFile,
    kind: DeviceKind,
) -> Vec<Wanted<'a>> {
    let of_split = |(k, split): (usize, &'a SplitPlan)| {
        let run = |of: &FamilyPlan| {
            let trial = selected(plan, of.family, results, kind)?;
            Some(Wanted { family: of.family, trial, split, place: 0 })
        };
        let mut runs: Vec<Wanted<'a>> = plan.families.iter().filter_map(run).collect();
        if k > 0 {
            // The longest run does not begin last.
            runs.reverse();
        }
        runs
    };
    (begin..).zip(splits).flat_map(of_split).collect()
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

/// Returns trials of a rung with their validation metric, the mean over its splits, the best first; failed trials are the last.
/// Ties go to the lower number.
fn scored(
    plan: &Plan,
    family: Family,
    rung: usize,
    numbers: &[usize],
    results: &ResultsFile,
    kind: DeviceKind,
) -> Vec<(usize, f64)> {
    let validation = |record: Option<&Record>| match &record?.status {
        Status::Ok { validation, .. } => Some(validation.metric).filter(|metric| metric.is_finite()),
        Status::Failed { .. } => None,
    };
    let score = |&number: &usize| {
        let records = records_of_trial(plan, family, number, rung, results, kind);
        let (splits, metrics) = (records.len(), records.into_iter().map(validation));
        let sum: Option<f64> = metrics.sum();
        (number, sum.map_or(f64::NEG_INFINITY, |sum| sum / splits as f64))
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
    let best = |rung| best_of_rung(plan, family, rung, results, kind).filter(|(_, score)| *score > f64::NEG_INFINITY);
    (0..=last).rev().find_map(best).map(|(number, _)| number)
}

/// Returns the best trial of a rung with its validation metric; `None` if the rung has no trials.
fn best_of_rung(
    plan: &Plan,
    family: Family,
    rung: usize,
    results: &ResultsFile,
    kind: DeviceKind,
) -> Option<(usize, f64)> {
    let numbers = candidates(plan, family, rung, results, kind);
    scored(plan, family, rung, &numbers, results, kind).into_iter().next()
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
        .filter_map(|number| records_of_trial(plan, family, number, 0, results, kind).into_iter().next().flatten());
    let (mut count, mut failure) = (0, None);
    for record in records {
        count += 1;
        if let Status::Failed { reason } = &record.status {
            failure.get_or_insert_with(|| reason.clone());
        }
    }
    (count, failure)
}

/// Returns the records of a trial in a rung, one for each of its splits.
fn records_of_trial<'a>(
    plan: &Plan,
    family: Family,
    number: usize,
    rung: usize,
    results: &'a ResultsFile,
    kind: DeviceKind,
) -> Vec<Option<&'a Record>> {
    let RungPlan { epochs, splits, .. } = plan.rungs[rung];
    let Some(trial) = plan.trial(family, number, epochs) else { return vec![None] };
    let of = |split| results.get(&key(plan, &Wanted { family, trial, split, place: 0 }, kind));
    plan.splits.iter().take(splits).map(of).collect()
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
