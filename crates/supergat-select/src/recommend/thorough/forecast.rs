//! Estimated times of the runs of a plan.

use crate::recommend::families::Family;
use crate::recommend::thorough::cost::relative_time;
use crate::recommend::thorough::plan::{FamilyPlan, LARGEST_SEARCH, RungPlan, ThoroughPlan};
use std::collections::{BTreeMap, HashMap};

/// Fewest runs per thread that run without a pause, so that few threads wait for the last one.
const AT_ONCE: usize = 4;

/// Numbers of the trials of families, the best first.
pub(super) type Order = [(Family, Vec<usize>)];

/// Times and tasks of all trials before they run, by family.
pub(super) type Times = HashMap<&'static str, Vec<TrialTime>>;

/// Time and task of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TrialTime {
    /// Time of an epoch relative to the usual one.
    relative: f64,
    /// Whether it has balanced classes.
    balanced: bool,
}

/// Estimated run of a rung.
#[derive(Debug, Clone, Copy, PartialEq)]
struct EstimatedRun {
    /// Place in the order of trials.
    place: usize,
    balanced: bool,
    seconds: f64,
}

impl ThoroughPlan {
    /// Returns the seconds that runs without a pause take, summed over the threads: those without work wait for the longest run.
    pub(super) fn together(&self, runs: impl Iterator<Item = f64>) -> f64 {
        let (sum, longest) = runs.fold((0.0, 0.0), |(sum, longest), run| (sum + run, f64::max(longest, run)));
        f64::max(sum, self.workers() * longest)
    }

    /// Returns the estimated seconds of a search and its final runs on some splits. Those of the last rung are final runs too.
    pub(super) fn needed(&self, rungs: &[RungPlan], splits: usize, order: &Order, times: &Times) -> f64 {
        let of_family = |of: &FamilyPlan| {
            let last = of.rungs(rungs).last().copied().unwrap_or(rungs[0]);
            let more = splits.min(self.splits.len()).saturating_sub(last.splits);
            let runs = of.later_runs(rungs[0].trials, 1, last.epochs, order, times);
            runs.into_iter().map(|run| run.seconds).cycle().take(more)
        };
        self.seconds_of_search(rungs, order, times) + self.together(self.families.iter().flat_map(of_family))
    }

    /// Returns the estimated seconds if only some families of mean time remain after the first rung, and their longest trials are
    /// the best.
    pub(super) fn needed_by(&self, some: usize, splits: usize, times: &Times) -> f64 {
        let longest = |of: &FamilyPlan| {
            let seconds = |&number: &usize| of.seconds(number, self.rungs[0].epochs, times);
            let number = (0..self.rungs[0].trials).max_by(|a, b| seconds(a).total_cmp(&seconds(b)));
            (of.family, vec![number.unwrap_or(0)])
        };
        let longest: Vec<(Family, Vec<usize>)> = self.families.iter().map(longest).collect();
        let first = self.seconds_of_search(&self.rungs[..1], &[], times);
        let later = self.needed(&self.rungs, splits, &longest, times) - first;
        first + later * (some as f64 / self.families.len() as f64).min(1.0)
    }

    /// Returns the estimated seconds of each final run of some families on a split.
    pub(super) fn runs_of_split(
        &self,
        order: &Order,
        is_wanted: impl Fn(&FamilyPlan) -> bool,
        times: &Times,
    ) -> Vec<f64> {
        let of = |family: Family| self.families.iter().find(|of| of.family == family && is_wanted(of));
        let seconds = |(family, numbers): &(Family, Vec<usize>)| {
            Some(of(*family)?.seconds(*numbers.first()?, self.final_epochs(*family), times))
        };
        order.iter().filter_map(seconds).collect()
    }

    /// Returns the estimated seconds of all searches.
    pub(super) fn seconds_of_search(&self, rungs: &[RungPlan], order: &Order, times: &Times) -> f64 {
        let of_rung = |rung: usize| -> f64 {
            let runs = self.families.iter().flat_map(|of| of.runs_of_rung(rung, rungs, order, times));
            let runs: Vec<EstimatedRun> = runs.collect();
            let at_once = places_at_once(self.threads, rungs[rung].trials, runs.len());
            // Each part ends before the next one begins.
            let mut parts: BTreeMap<(usize, bool), Vec<f64>> = BTreeMap::new();
            for EstimatedRun { place, balanced, seconds } in runs {
                parts.entry((place / at_once, balanced)).or_default().push(seconds);
            }
            parts.into_values().map(|runs| self.together(runs.into_iter())).sum()
        };
        (0..rungs.len()).map(of_rung).sum()
    }

    /// Returns the times of all trials that a search may have.
    pub(super) fn times(&self) -> Times {
        let most = self.rungs.first().map_or(0, |rung| rung.trials).max(LARGEST_SEARCH);
        let of = |FamilyPlan { family, .. }: &FamilyPlan| {
            let trial = |number| self.trial(*family, number, 1);
            let usual = [trial(0), trial(1)];
            let time = |number: usize| {
                let trial = trial(number)?;
                let relative = relative_time(&trial, usual[number % 2].as_ref()?);
                Some(TrialTime { relative, balanced: trial.balanced })
            };
            (family.name, (0..most).filter_map(time).collect())
        };
        self.families.iter().map(of).collect()
    }
}

impl FamilyPlan {
    /// Returns the estimated seconds of a run of a trial.
    pub(super) fn seconds(&self, number: usize, epochs: usize, times: &Times) -> f64 {
        let time = times.get(self.family.name).and_then(|times| times.get(number));
        self.cost.of(number, time.map_or(1.0, |time| time.relative), epochs)
    }

    /// Returns the estimated run of a trial at a place of the order.
    fn run(&self, place: usize, number: usize, epochs: usize, times: &Times) -> EstimatedRun {
        let time = times.get(self.family.name).and_then(|times| times.get(number));
        let balanced = time.is_some_and(|time| time.balanced);
        EstimatedRun { place, balanced, seconds: self.seconds(number, epochs, times) }
    }

    /// Returns the estimated seconds of a search, summed over its runs.
    pub(super) fn search_seconds(&self, rungs: &[RungPlan], order: &Order, times: &Times) -> f64 {
        let runs = (0..rungs.len()).flat_map(|rung| self.runs_of_rung(rung, rungs, order, times));
        runs.map(|run| run.seconds).sum()
    }

    /// Returns the estimated runs of a rung. Later runs of models without epochs are the same as in the first rung.
    fn runs_of_rung(&self, rung: usize, rungs: &[RungPlan], order: &Order, times: &Times) -> Vec<EstimatedRun> {
        let Some(&RungPlan { trials, epochs, splits }) = self.rungs(rungs).get(rung) else { return Vec::new() };
        let (runs, splits) = match rung {
            0 => ((0..trials).map(|number| self.run(number, number, epochs, times)).collect(), splits),
            _ => {
                let known = usize::from(!self.family.has_epochs());
                (self.later_runs(rungs[0].trials, trials, epochs, order, times), splits - known)
            }
        };
        runs.repeat(splits)
    }

    /// Returns those of some rungs that the family has.
    fn rungs<'a>(&self, rungs: &'a [RungPlan]) -> &'a [RungPlan] {
        if self.is_stopped { &rungs[..1] } else { rungs }
    }

    /// Returns estimated runs of a few trials after the first rung: of the best ones if they are known, else in the mean over all
    /// trials of the first rung.
    fn later_runs(&self, all: usize, few: usize, epochs: usize, order: &Order, times: &Times) -> Vec<EstimatedRun> {
        match order.iter().find(|(family, _)| *family == self.family) {
            Some((_, numbers)) if !numbers.is_empty() => {
                let numbers = numbers.iter().cycle().take(few).enumerate();
                numbers.map(|(place, &number)| self.run(place, number, epochs, times)).collect()
            }
            _ => {
                let seconds = (0..all).map(|number| self.seconds(number, epochs, times)).sum::<f64>() / all as f64;
                (0..few).map(|place| EstimatedRun { place, balanced: false, seconds }).collect()
            }
        }
    }
}

/// Returns the number of places in the order of trials whose runs are begun without a pause, if there are some places and runs.
pub(super) fn places_at_once(threads: usize, places: usize, runs: usize) -> usize {
    (AT_ONCE * threads * places / runs.max(1)).max(1)
}
