//! The size of a search: the trials, epochs and splits that there is time for.

use crate::recommend::families::Family;
use crate::recommend::thorough::forecast::{Order, Times};
use crate::recommend::thorough::plan::{FamilyPlan, LARGEST_SEARCH, RungPlan, ThoroughPlan};

/// A size: trials per family and their epochs in the first rung, trials and epochs in the last one, and splits.
type Size = [usize; 5];

/// Possible sizes, the best first. Epochs come before trials: networks that start slowly are misjudged by short trainings, in any
/// number.
const LADDER: [Size; 19] = [
    [LARGEST_SEARCH, 200, 3, 800, 10],
    [32, 200, 3, 800, 10],
    [32, 100, 3, 400, 10],
    [24, 100, 3, 400, 10],
    [16, 100, 3, 400, 10],
    [8, 100, 2, 400, 10],
    [8, 100, 2, 400, 5],
    [12, 100, 3, 200, 10],
    [8, 100, 2, 200, 10],
    [8, 100, 2, 200, 5],
    [4, 100, 2, 200, 5],
    [4, 100, 2, 200, 3],
    [4, 100, 1, 200, 3],
    [4, 100, 4, 100, 3],
    [2, 60, 2, 60, 3],
    [2, 30, 2, 30, 3],
    [1, 30, 1, 30, 3],
    [1, 10, 1, 10, 3],
    [1, 3, 1, 3, 3],
];
/// Position of the first size that is used for at most [`FEW_FAMILIES`]. If there are more, leaving out some is better.
const FIRST_SMALL: usize = 14;
const FEW_FAMILIES: usize = 3;
/// Fraction of the time that a plan may fill. The second one is for estimates by the times of the first rung, which are more accurate,
/// and for plans that can leave out families after that rung.
const FILLED: f64 = 0.8;
const FILLED_LATER: f64 = 0.9;
/// Fewest splits of the final runs. A search with so few may leave out families after the first rung.
pub(super) const FEWEST_SPLITS: usize = 3;
/// Fewest families that such a search keeps, of those that take much time, if its last rung has at least
/// [`LONG_SEARCH_EPOCHS`].
const KEPT_FAMILIES: usize = 4;
/// Fewest families that a search with shorter trainings keeps.
const KEPT_FAMILIES_IF_SHORT: usize = 2;
const LONG_SEARCH_EPOCHS: usize = 200;
/// Number of splits from which on the last rung averages over [`LAST_RUNG_SPLITS`] of them.
const AVERAGED_FROM_SPLITS: usize = 5;
const LAST_RUNG_SPLITS: usize = 3;
/// Number of trials from which on there is a rung between the first and the last one.
const THREE_RUNGS_FROM_TRIALS: usize = 8;
/// Fraction of the time below which leaving out a family does not help.
const NEGLIGIBLE_TIME: f64 = 0.04;
/// Difference of validation metrics from which on a family is far behind.
pub(super) const FAR_BEHIND: f64 = 0.2;

/// A run of the first rung.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FirstRun {
    pub(super) family: Family,
    /// Number of its trial.
    pub(super) number: usize,
    pub(super) seconds: f64,
}

/// The trials of a family in the order of the first rung.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranked {
    pub(super) family: Family,
    /// Numbers of its trials, the best first.
    pub(super) numbers: Vec<usize>,
    /// Validation metric of the best one.
    pub(super) score: f64,
}

impl ThoroughPlan {
    /// Chooses the best size that there is time for by measured times. If there is none, the family that takes most time is left
    /// out.
    pub(super) fn choose(&mut self) {
        let times = self.times();
        loop {
            let sizes = if self.families.len() <= FEW_FAMILIES { &LADDER[..] } else { &LADDER[..FIRST_SMALL] };
            for &size in sizes {
                let [.., splits] = size;
                self.rungs = rungs(size, self.splits.len());
                let needed = match self.least(size) {
                    usize::MAX => self.needed(&self.rungs, splits, &[], &times) / FILLED,
                    least => self.needed_by(least, splits, &times) / FILLED_LATER,
                };
                if needed <= self.seconds {
                    return self.set_share(splits, &[], &times);
                }
            }
            let seconds = |of: &FamilyPlan| of.cost.fixed + 100.0 * (of.cost.epoch[0] + of.cost.epoch[1]);
            let longest = self.families.iter().max_by(|a, b| seconds(a).total_cmp(&seconds(b))).map(|of| of.family);
            match longest.filter(|_| self.families.len() > 1) {
                Some(longest) => self.leave_out(longest, "there was no time for it".into()),
                None => return self.set_share(FEWEST_SPLITS, &[], &times),
            }
        }
    }

    /// Returns the seconds that a plan with all families needs at least: first rungs of all, and final runs of few.
    pub(super) fn least_seconds(&self) -> f64 {
        let rungs = rungs(LADDER[FIRST_SMALL - 1], self.splits.len());
        let smallest = Self { rungs, ..self.clone() };
        smallest.needed_by(KEPT_FAMILIES_IF_SHORT, FEWEST_SPLITS, &self.times()) / FILLED_LATER
    }

    /// Settles the size after the first rung, in which the families are ranked by their validation metric. The times of its runs
    /// correct the estimates. Then the best size is chosen for which there is time with trials like the best ones. If its
    /// first rung is the present one, families may be stopped or left out for it. Returns whether the first rung is another
    /// one now.
    pub(super) fn settle(&mut self, runs: &[FirstRun], ranked: &[Ranked]) -> bool {
        let times = self.times();
        self.correct(runs, &times);
        let (Some(&first), Some(&last)) = (self.rungs.first(), self.rungs.last()) else { return false };
        let order: Vec<(Family, Vec<usize>)> = ranked.iter().map(|of| (of.family, of.numbers.clone())).collect();
        let first_seconds = self.seconds_of_search(&self.rungs[..1], &order, &times);
        let smaller = |trials, epochs, splits| [first.trials, first.epochs, trials, epochs, splits];
        let smaller = [
            smaller(last.trials, last.epochs, AVERAGED_FROM_SPLITS),
            smaller(last.trials.min(2), last.epochs, FEWEST_SPLITS),
            smaller(1, last.epochs, FEWEST_SPLITS),
            smaller(1, 2 * first.epochs, FEWEST_SPLITS),
            smaller(first.trials, first.epochs, FEWEST_SPLITS),
        ];
        let mut settled = None;
        for size in LADDER.into_iter().chain(smaller) {
            let [trials, epochs, _, last_epochs, splits] = size;
            let is_same = [trials, epochs] == [first.trials, first.epochs];
            let is_larger = (first.trials..=self.most_trials).contains(&trials)
                && epochs >= first.epochs
                && last_epochs >= last.epochs;
            if !is_same && !is_larger {
                continue;
            }
            // Runs with as many epochs are found again.
            let spent = Some(if epochs == first.epochs { 0.0 } else { first_seconds });
            let mut plan = Self { rungs: rungs(size, self.splits.len()), spent, ..self.clone() };
            let is_enough = match is_same {
                true => plan.shrink(splits, self.least(size), ranked, &order, &times),
                false => plan.is_enough(splits, &order, &times),
            };
            settled = Some(plan);
            if is_enough {
                break;
            }
        }
        *self = settled.expect("the first rung may remain");
        self.set_share(self.splits_for(&order, None), &order, &times);
        self.rungs[0] != first
    }

    /// Stops and leaves out families until there is time for the others; returns whether there is. Those with the worst validation
    /// metric that take much time are the first. They are stopped if they are far behind and have further rungs, else left
    /// out, as long as more than `least` of them remain.
    fn shrink(&mut self, splits: usize, least: usize, ranked: &[Ranked], order: &Order, times: &Times) -> bool {
        while !self.is_enough(splits, order, times) {
            let needed = self.needed(&self.rungs, splits, order, times);
            let is_long = |of: &FamilyPlan| {
                !of.is_stopped && of.search_seconds(&self.rungs, order, times) > NEGLIGIBLE_TIME * needed
            };
            let long = |found: &Ranked| self.families.iter().position(|of| of.family == found.family && is_long(of));
            let Some((position, worst)) = ranked.iter().rev().find_map(|found| Some((long(found)?, found))) else {
                return false;
            };
            if self.rungs.len() > 1 && ranked[0].score - worst.score > FAR_BEHIND {
                self.families[position].is_stopped = true;
            } else if ranked.iter().filter(|found| long(found).is_some()).count() > least {
                let lost = self.families[position].search_seconds(&self.rungs[..1], order, times);
                self.spent = self.spent.map(|spent| spent + lost);
                let reason = format!(
                    "there was no time for more than the first rung, in which {} was better: {:.1} against {:.1}",
                    ranked[0].family.name,
                    100.0 * ranked[0].score,
                    100.0 * worst.score
                );
                self.leave_out(worst.family, reason);
            } else {
                return false;
            }
        }
        true
    }

    /// Returns whether there is time for the search and final runs on some splits.
    fn is_enough(&self, splits: usize, order: &Order, times: &Times) -> bool {
        self.spent.unwrap_or(0.0) + self.needed(&self.rungs, splits, order, times) <= FILLED_LATER * self.seconds
    }

    /// Returns the fewest families that take much time and remain after the first rung, if there is no time for all of them.
    fn least(&self, [.., epochs, splits]: Size) -> usize {
        match splits == FEWEST_SPLITS && self.families.len() > FEW_FAMILIES {
            true if epochs >= LONG_SEARCH_EPOCHS => KEPT_FAMILIES,
            true => KEPT_FAMILIES_IF_SHORT,
            false => usize::MAX,
        }
    }

    /// Corrects the estimated times of the families by the runs of the first rung.
    fn correct(&mut self, runs: &[FirstRun], times: &Times) {
        let epochs = self.rungs[0].epochs;
        let corrected = |of: &FamilyPlan| {
            let runs = || runs.iter().filter(|run| run.family == of.family);
            let actual: f64 = runs().map(|run| run.seconds).sum();
            let estimated: f64 = runs().map(|run| of.seconds(run.number, epochs, times)).sum();
            let factor = if actual > 0.0 && estimated > 0.0 { actual / estimated } else { 1.0 };
            FamilyPlan { cost: of.cost.times(factor), ..*of }
        };
        self.families = self.families.iter().map(corrected).collect();
    }

    /// Returns the number of splits that there is time for, if every family runs with one of its trials: by the seconds of the
    /// search and of each final run on a split where they are known, else by estimates.
    pub(super) fn splits_for(&self, order: &Order, known: Option<(f64, Vec<f64>)>) -> usize {
        let searched = self.rungs.last().map_or(0, |rung| rung.splits);
        let times = self.times();
        let (search, split) = known.unwrap_or_else(|| {
            (self.seconds_of_search(&self.rungs, order, &times), self.runs_of_split(order, |_| true, &times))
        });
        // Stopped families have run on one of the splits of the search.
        let stopped: f64 = self.runs_of_split(order, |of| of.is_stopped, &times).iter().sum();
        let more = searched.saturating_sub(1) as f64 * stopped;
        let left = (FILLED_LATER * self.seconds - self.spent.unwrap_or(0.0) - search - more).max(0.0);
        let is_enough = self.together(split.iter().copied()) <= left;
        let fitting = if is_enough { (left / split.iter().sum::<f64>().max(1e-9)) as usize } else { 0 };
        let splits = self.splits.len();
        searched.saturating_add(fitting).clamp(FEWEST_SPLITS.min(splits), splits)
    }

    /// Records the fraction of the time of all runs that the search takes, if the final runs have some splits.
    fn set_share(&mut self, splits: usize, order: &Order, times: &Times) {
        let spent = self.spent.unwrap_or(0.0);
        let search = spent + self.seconds_of_search(&self.rungs, order, times);
        let all = spent + self.needed(&self.rungs, splits, order, times);
        self.search_share = search / all.max(1e-9);
    }
}

/// Returns the rungs of a size. With several splits, the last rung uses some of them, because the validation nodes of one split
/// hardly distinguish trials that are nearly equal. With many trials, there is a rung between the first and the last one.
fn rungs([trials, first, last, epochs, splits]: Size, most_splits: usize) -> Vec<RungPlan> {
    let rung = |trials, epochs, splits| RungPlan { trials, epochs, splits };
    let last_splits = if splits.min(most_splits) >= AVERAGED_FROM_SPLITS { LAST_RUNG_SPLITS } else { 1 };
    let between = (trials >= THREE_RUNGS_FROM_TRIALS && epochs > 2 * first).then(|| rung(trials / 2, epochs / 2, 1));
    let last = (epochs > first).then(|| rung(last, epochs, last_splits));
    [Some(rung(trials, first, 1)), between, last].into_iter().flatten().collect()
}
