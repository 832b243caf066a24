//! Executes the missing runs of a plan: the rungs of the search, then split by split.

use crate::recommend::families::{Family, LeftOut};
use crate::recommend::thorough::error::ThoroughError;
use crate::recommend::thorough::forecast::places_at_once;
use crate::recommend::thorough::plan::{FamilyPlan, RungPlan, SearchCut, ThoroughPlan};
use crate::recommend::thorough::planning::Limit;
use crate::recommend::thorough::size::{FEWEST_SPLITS, FirstRun, Ranked};
use crate::recommend::thorough::splits::SplitPlan;
use crate::recommend::thorough::standing::{Standing, task};
use crate::recommend::thorough::trials::Trial;
use crate::sweep::{Event, Job, ResultsFile, run_given_sweep};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use supergat_core::words::count;
use supergat_data::{Dataset, SplitChoice};
use supergat_train::{DeviceChoice, Resources};

/// Fraction of the planned time of the final runs that the search may use in addition to its own.
const SEARCH_SLACK: f64 = 0.1;
/// Fraction of the time that the first rung may use before the size of the search is settled by its times.
const FIRST_RUNG: f64 = 0.75;
/// Fraction of the time after which a split is not begun, and one after which runs are stopped.
const LAST_START: f64 = 0.97;
const END: f64 = 0.98;

/// Event of a comparison within minutes, as reported to its observer.
#[derive(Debug)]
pub enum ThoroughEvent<'a> {
    /// A part begins: a rung of the search, or the final runs on a split.
    Part(&'a str),
    /// A run finished an epoch.
    Epoch,
    /// A run ended: number of ended runs, and of all runs of the current part.
    Run(usize, usize),
    /// The size of the search is settled.
    Settled(&'a ThoroughPlan),
    /// The comparison is late; this was left out.
    Late(&'a str),
}

/// Outcome of the runs of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThoroughOutcome {
    /// Whether the observer stopped it. The same call resumes it.
    pub interrupted: bool,
    /// Number of runs of this call.
    pub ran: usize,
}

/// A requested run.
#[derive(Debug, Clone, Copy)]
struct RequestedRun<'a> {
    family: Family,
    trial: Trial,
    split: &'a SplitPlan,
    /// Place in the order of trials. Runs of a few places go before those of the next, so that all families are about
    /// equally far.
    place: usize,
}

/// End of the runs of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Complete,
    Late,
    Interrupted,
}

/// Executes the missing runs of a plan. With a limit, the rest is left out for all families alike if the time is over; `save` is
/// called when the plan changes. `observe` is called from all threads and may stop the runs; finished runs are
/// kept, and the same call resumes it.
pub fn run(
    dataset: &Arc<Dataset>,
    plan: &mut ThoroughPlan,
    results: &mut ResultsFile,
    resources: Resources,
    limit: Option<Limit>,
    save: impl FnMut(&ThoroughPlan) -> Result<(), ThoroughError>,
    observe: impl Fn(ThoroughEvent<'_>) -> ControlFlow<()> + Sync,
) -> Result<ThoroughOutcome, ThoroughError> {
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
    Ok(ThoroughOutcome { interrupted: !is_complete, ran: ran.into_inner() })
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
    S: FnMut(&ThoroughPlan) -> Result<(), ThoroughError>,
    F: Fn(ThoroughEvent<'_>) -> ControlFlow<()> + Sync,
{
    /// Runs all searches, whose size is settled after the first rung; `false` if it was interrupted.
    fn search(&mut self, plan: &mut ThoroughPlan) -> Result<bool, ThoroughError> {
        let begun = self.limit.map_or(0.0, |limit| limit.used());
        let mut rung = 0;
        while rung < plan.rungs.len() && plan.search_cut.as_ref().is_none_or(|cut| cut.rung >= rung) {
            let share = plan.search_share + SEARCH_SLACK * (1.0 - plan.search_share);
            let least = if rung == 0 && plan.spent.is_none() { FIRST_RUNG } else { 0.0 };
            let share = END * (begun + (1.0 - begun) * share.max(least));
            let requested = rung_runs(plan, rung, &self.standing(plan));
            let epochs = count(plan.rungs[rung].epochs, "epoch");
            let text = format!("search, rung {} of {}: {epochs}", rung + 1, plan.rungs.len());
            let ended = self.part(&text, plan, &requested, share, rung == 0)?;
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

    /// Settles the size of the search after its first rung; returns whether the first rung is another one now.
    fn settle(&mut self, plan: &mut ThoroughPlan) -> Result<bool, ThoroughError> {
        let standing = self.standing(plan);
        let ranked = |of: &FamilyPlan| {
            let scored = standing.scored(of.family, 0);
            let score = scored.first()?.1;
            let numbers = scored.into_iter().map(|(number, _)| number).collect();
            (score > f64::NEG_INFINITY).then_some(Ranked { family: of.family, numbers, score })
        };
        let mut ranked: Vec<Ranked> = plan.families.iter().filter_map(ranked).collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        let is_other = plan.settle(&self.first_runs(plan), &ranked);
        let _ = (self.observe)(ThoroughEvent::Settled(plan));
        (self.save)(plan)?;
        Ok(is_other)
    }

    /// Returns the standing of the finished runs.
    fn standing<'b>(&'b self, plan: &'b ThoroughPlan) -> Standing<'b> {
        Standing::new(plan, self.results)
    }

    /// Returns whether a number of runs keeps all threads of the CPU busy. Runs on a GPU, or with several threads each, take
    /// other times than those that the plan counts with.
    fn is_timed(&self, runs: usize) -> bool {
        self.resources.kind().is_cpu() && runs >= self.resources.threads
    }

    /// Returns the runs of the first rung whose times count.
    fn first_runs(&self, plan: &ThoroughPlan) -> Vec<FirstRun> {
        let (standing, trials) = (self.standing(plan), plan.rungs[0].trials);
        if !self.is_timed(trials * plan.families.len()) {
            return Vec::new();
        }
        let mut runs = Vec::new();
        for family in plan.families.iter().map(|of| of.family) {
            for number in 0..trials {
                let records = standing.records(family, number, 0).into_iter().flatten();
                let succeeded = records.filter(|record| record.test().is_some());
                runs.extend(succeeded.map(|record| FirstRun { family, number, seconds: record.seconds }));
            }
        }
        runs
    }

    /// Returns the seconds of the search, and of each final run on a split; `None` if they are not known, or if times do not
    /// matter.
    fn known_seconds(&self, plan: &ThoroughPlan) -> Option<(f64, Vec<f64>)> {
        if self.limit.is_none() || plan.search_cut.is_some() || !self.is_timed(plan.families.len()) {
            return None;
        }
        let standing = self.standing(plan);
        let seconds = |family, number, rung| -> Vec<f64> {
            standing.records(family, number, rung).into_iter().flatten().map(|record| record.seconds).collect()
        };
        let of_rung = |rung| {
            let of_family = |of: &FamilyPlan| -> Vec<f64> {
                let known = usize::from(rung > 0 && !of.family.has_epochs());
                let numbers = standing.candidates(of.family, rung).into_iter();
                numbers.flat_map(|number| seconds(of.family, number, rung).into_iter().skip(known)).collect()
            };
            plan.together(plan.families.iter().flat_map(of_family))
        };
        let of_split = |of: &FamilyPlan| {
            let runs = seconds(of.family, standing.selected_number(of.family)?, plan.last_rung(of.family));
            Some(runs.iter().sum::<f64>() / runs.len().max(1) as f64)
        };
        let search = (0..plan.rungs.len()).map(of_rung).sum();
        Some((search, plan.families.iter().filter_map(of_split).collect()))
    }

    /// Returns the numbers of the trials that the searches have selected.
    fn selected_numbers(&self, plan: &ThoroughPlan) -> Vec<(Family, Vec<usize>)> {
        let standing = self.standing(plan);
        let number = |of: &FamilyPlan| Some((of.family, vec![standing.selected_number(of.family)?]));
        plan.families.iter().filter_map(number).collect()
    }

    /// Records the end of a late search in the plan.
    fn cut_search(&mut self, plan: &mut ThoroughPlan, rung: usize) -> Result<(), ThoroughError> {
        let finished = |plan: &ThoroughPlan, family: Family| -> Vec<usize> {
            let standing = self.standing(plan);
            let requested = standing.candidates(family, rung);
            let records = |place: usize| standing.records(family, requested[place], rung);
            (0..requested.len()).filter(|&place| records(place).iter().all(Option::is_some)).collect()
        };
        if rung == 0 {
            // With many threads, families may have finished different trials. One that most have finished decides.
            let all: Vec<Vec<usize>> = plan.families.iter().map(|of| finished(plan, of.family)).collect();
            let families = |place: &usize| all.iter().filter(|done| done.contains(place)).count();
            let place = (0..plan.rungs[0].trials).rev().max_by_key(families).unwrap_or(0);
            let (kept, late): (Vec<_>, Vec<_>) =
                plan.families.iter().copied().partition(|of| finished(plan, of.family).contains(&place));
            plan.families = kept;
            let reason = "there was no time for a trial";
            plan.left_out.extend(late.into_iter().map(|of| LeftOut { family: of.family, reason: reason.into() }));
        }
        let searched = plan.families.iter().filter(|of| rung == 0 || !of.is_stopped);
        let all: Vec<Vec<usize>> = searched.map(|of| finished(plan, of.family)).collect();
        let places: Vec<usize> =
            (0..plan.rungs[rung].trials).filter(|place| all.iter().all(|done| done.contains(place))).collect();
        let text = format!("the search ends at rung {} with {} of its trials", rung + 1, places.len());
        plan.search_cut = Some(SearchCut { rung, places });
        let _ = (self.observe)(ThoroughEvent::Late(&text));
        (self.save)(plan)
    }

    /// Runs the selected settings split by split; `false` if it was interrupted.
    fn finals(&mut self, plan: &mut ThoroughPlan) -> Result<bool, ThoroughError> {
        if plan.splits_kept.is_none() {
            plan.splits_kept = Some(plan.splits_for(&self.selected_numbers(plan), self.known_seconds(plan)));
            (self.save)(plan)?;
        }
        let begun = self.limit.map_or(0.0, |limit| limit.used());
        let splits = plan.final_splits().to_vec();
        let at_once = places_at_once(self.resources.threads, 1, plan.families.len());
        let (mut begin, mut new_splits) = (0, 0);
        while begin < splits.len() {
            let count = match (begin, &plan.search_cut) {
                (0, None) => FEWEST_SPLITS,
                (0, Some(_)) => 1,
                _ => at_once.clamp(1, FEWEST_SPLITS),
            };
            let end = splits.len().min(begin + count);
            let standing = self.standing(plan);
            let requested = final_runs(plan, &splits[begin..end], begin, &standing);
            let is_missing = |requested: &RequestedRun<'_>| {
                standing.record(&requested.trial, requested.split).is_none_or(|found| found.test().is_none())
            };
            if requested.iter().any(is_missing) {
                let used = self.limit.map_or(0.0, |limit| limit.used());
                let expected = (used - begun) * (end - begin) as f64 / new_splits.max(1) as f64;
                if begin >= FEWEST_SPLITS && used + expected > LAST_START {
                    self.cut_splits(plan, begin)?;
                    break;
                }
                let text = match end - begin {
                    1 => format!("final runs, split {end} of {}", splits.len()),
                    _ => format!("final runs, splits {} to {end} of {}", begin + 1, splits.len()),
                };
                match self.part(&text, plan, &requested, END, begin == 0)? {
                    Ended::Interrupted => return Ok(false),
                    Ended::Complete => new_splits += end - begin,
                    Ended::Late => {
                        self.cut_finals(plan, &requested, &splits[..end], begin)?;
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
        plan: &mut ThoroughPlan,
        requested: &[RequestedRun<'_>],
        splits: &[SplitPlan],
        begin: usize,
    ) -> Result<(), ThoroughError> {
        let standing = self.standing(plan);
        let is_done = |requested: &&RequestedRun<'_>| standing.record(&requested.trial, requested.split).is_some();
        let is_complete = |split: &&SplitPlan| requested.iter().filter(|of| of.split == *split).all(|of| is_done(&of));
        let complete = begin + splits[begin..].iter().take_while(is_complete).count();
        if complete == 0 {
            let of_first = requested.iter().filter(|of| of.split == &splits[0]);
            let late: Vec<Family> = of_first.filter(|of| !is_done(of)).map(|of| of.family).collect();
            for family in late {
                plan.leave_out(family, "there was no time for its final runs".into());
            }
        }
        self.cut_splits(plan, complete.max(1))
    }

    /// Records in the plan that later splits are left out.
    fn cut_splits(&mut self, plan: &mut ThoroughPlan, kept: usize) -> Result<(), ThoroughError> {
        let text = format!("{kept} of {} used", count(plan.final_splits().len(), "split"));
        plan.splits_kept = Some(kept);
        let _ = (self.observe)(ThoroughEvent::Late(&text));
        (self.save)(plan)
    }

    /// Runs the missing ones of some runs, until a fraction of the time is over; in the first part of a phase, at least one.
    fn part(
        &mut self,
        text: &str,
        plan: &ThoroughPlan,
        requested: &[RequestedRun<'_>],
        share: f64,
        is_first: bool,
    ) -> Result<Ended, ThoroughError> {
        if (self.observe)(ThoroughEvent::Part(text)).is_break() {
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
        let places = requested.iter().map(|requested| requested.place + 1).max().unwrap_or(0);
        let at_once = places_at_once(self.resources.threads, places, requested.len());
        // Models that are not networks run on the CPU.
        'runs: for first in (0..places).step_by(at_once) {
            for (is_network, balanced) in [(false, false), (false, true), (true, false), (true, true)] {
                let is_here = |requested: &&RequestedRun<'_>| {
                    (first..first + at_once).contains(&requested.place)
                        && requested.trial.settings.model.is_network() == is_network
                        && requested.trial.balanced == balanced
                };
                let jobs: Vec<Job> = requested.iter().filter(is_here).map(|requested| job(plan, requested)).collect();
                if jobs.is_empty() {
                    continue;
                }
                let device = if is_network { self.resources.device } else { DeviceChoice::Cpu };
                let resources = Resources { device, ..self.resources };
                let task = task(balanced);
                run_given_sweep(&task, jobs, self.dataset, self.results, resources, |event, _| match event {
                    Event::Epoch => flow((self.observe)(ThoroughEvent::Epoch)),
                    Event::Found(count) => {
                        done.fetch_add(count, Ordering::Relaxed);
                        ControlFlow::Continue(())
                    }
                    Event::Done(_) => {
                        self.ran.fetch_add(1, Ordering::Relaxed);
                        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                        flow((self.observe)(ThoroughEvent::Run(done, requested.len())))
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
        let standing = self.standing(plan);
        let is_missing = |requested: &RequestedRun<'_>| standing.record(&requested.trial, requested.split).is_none();
        Ok(if late.into_inner() && requested.iter().any(is_missing) { Ended::Late } else { Ended::Complete })
    }
}

/// Returns the runs of a rung, trial by trial, so that all families are equally far at any time. The first trial of the simplest
/// family is the first. Later, those of simple families, which are short, are the last, so that no thread waits long.
fn rung_runs<'a>(plan: &'a ThoroughPlan, rung: usize, standing: &Standing<'_>) -> Vec<RequestedRun<'a>> {
    let RungPlan { trials, epochs, splits } = plan.rungs[rung];
    let of_families: Vec<(Family, Vec<usize>)> =
        plan.families.iter().map(|of| (of.family, standing.candidates(of.family, rung))).collect();
    let mut requested = Vec::new();
    for place in 0..trials {
        let mut of_place = Vec::new();
        for split in plan.splits.iter().take(splits) {
            for (family, numbers) in &of_families {
                let trial = numbers.get(place).and_then(|&number| plan.trial(*family, number, epochs));
                of_place.extend(trial.map(|trial| RequestedRun { family: *family, trial, split, place }));
            }
        }
        if (rung, place) != (0, 0) {
            of_place.reverse();
        }
        requested.extend(of_place);
    }
    requested
}

/// Returns the final runs on some splits, split by split. `begin` is the number of the first of them.
fn final_runs<'a>(
    plan: &ThoroughPlan,
    splits: &'a [SplitPlan],
    begin: usize,
    standing: &Standing<'_>,
) -> Vec<RequestedRun<'a>> {
    let of_split = |(k, split): (usize, &'a SplitPlan)| {
        let run = |of: &FamilyPlan| {
            let trial = standing.selected(of.family)?;
            Some(RequestedRun { family: of.family, trial, split, place: 0 })
        };
        let mut runs: Vec<RequestedRun<'a>> = plan.families.iter().filter_map(run).collect();
        if k > 0 {
            // The longest run does not begin last.
            runs.reverse();
        }
        runs
    };
    (begin..).zip(splits).flat_map(of_split).collect()
}

fn job(plan: &ThoroughPlan, requested: &RequestedRun<'_>) -> Job {
    let RequestedRun { trial, split, .. } = requested;
    let choice: SplitChoice = split.split.parse().unwrap_or_default();
    Job { source: plan.dataset.clone(), split: choice, settings: trial.settings, seed: split.seed }
}
