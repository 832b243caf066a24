//! The size of a search: the trials, epochs and splits that there is time for.

use crate::benchmark::cost::relative_time;
use crate::benchmark::families::Family;
use crate::benchmark::plan::{FamilyPlan, Plan, RungPlan};
use std::collections::HashMap;

/// Possible sizes, the best first: trials per family, epochs of the last rung, splits. Epochs come before trials: networks that
/// start slowly are misjudged by short trainings, in any number.
const LADDER: [[usize; 3]; 18] = [
    [64, 800, 10],
    [32, 800, 10],
    [32, 400, 10],
    [24, 400, 10],
    [16, 400, 10],
    [8, 400, 10],
    [8, 400, 5],
    [12, 200, 10],
    [8, 200, 10],
    [8, 200, 5],
    [4, 200, 5],
    [4, 200, 3],
    [4, 100, 3],
    [2, 60, 3],
    [2, 30, 3],
    [1, 30, 3],
    [1, 10, 3],
    [1, 3, 3],
];
/// Most trials of the sizes.
pub(super) const MOST_TRIALS: usize = LADDER[0][0];
/// Position of the last size that is better for all families than a better one for some.
const USEFUL: usize = 12;
/// Sizes after [`USEFUL`] are used for at most this many families. After the first rung, at least this many of the families that
/// take much time remain.
const FEW: usize = 3;
/// Share of the time that may be filled by measured times, and by those of the first rung, which are more accurate.
const FILLED: f64 = 0.8;
const FILLED_LATER: f64 = 0.9;
/// Fewest splits of the final runs.
pub(super) const FEWEST: usize = 3;
/// Number of splits from which on the last rung uses [`LAST_SPLITS`] of them, with at most [`FINALISTS`] trials.
const SEVERAL: usize = 5;
const LAST_SPLITS: usize = 3;
const FINALISTS: usize = 3;
/// Epochs of final runs that are preferred to final runs of all families, and the fewest families then.
const ENOUGH_EPOCHS: usize = 200;
const SOME: usize = 4;
/// Share of the time below which leaving out a family does not help.
const LITTLE: f64 = 0.04;

/// A run of the first rung.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FirstRun {
    pub(super) family: Family,
    /// Number of its trial.
    pub(super) number: usize,
    pub(super) seconds: f64,
}

/// Times of an epoch of all trials relative to the usual ones, by family.
type Times = HashMap<&'static str, Vec<f64>>;

impl Plan {
    /// Chooses the best size that there is time for by measured times. If there is none, the family that takes most time is left
    /// out.
    pub(super) fn choose(&mut self) {
        let times = self.times();
        loop {
            let steps = if self.families.len() <= FEW { &LADDER[..] } else { &LADDER[..=USEFUL] };
            for (step, &[trials, epochs, splits]) in steps.iter().enumerate() {
                self.rungs = rungs(trials, epochs, splits.min(self.splits.len()));
                let needed = match step < USEFUL {
                    true => self.needed(&self.rungs, splits, &[], &times),
                    false => self.needed_by_few(splits, &times),
                };
                if needed <= FILLED * self.seconds {
                    return self.set_share(splits, &[], &times);
                }
            }
            let seconds = |of: &FamilyPlan| of.cost.fixed + 100.0 * (of.cost.epoch[0] + of.cost.epoch[1]);
            let longest = self.families.iter().max_by(|a, b| seconds(a).total_cmp(&seconds(b))).map(|of| of.family);
            match longest.filter(|_| self.families.len() > 1) {
                Some(longest) => self.leave_out(longest, "there was no time for it".into()),
                None => return self.set_share(FEWEST, &[], &times),
            }
        }
    }

    /// Settles the size after the first rung, whose best trials, one of every family, are given in the order of their
    /// validation metric. The times of its runs correct the estimates. If trials like the best ones leave time for a larger
    /// size, it is chosen. Otherwise the rungs after the first one are chosen, and families are left out if there is no time
    /// for them. Returns whether the first rung is another one now.
    pub(super) fn settle(&mut self, runs: &[FirstRun], best: &[(Family, usize)]) -> bool {
        let times = self.times();
        self.correct(runs, &times);
        let (Some(&first), Some(&last)) = (self.rungs.first(), self.rungs.last()) else { return false };
        let first_seconds = self.seconds_of_search(&self.rungs[..1], best, &times);
        let seconds = FILLED_LATER * self.seconds;
        self.spent = Some(0.0);
        for [trials, epochs, splits] in LADDER {
            let is_larger = (first.trials..=self.most_trials).contains(&trials)
                && epochs >= last.epochs
                && trials * epochs > first.trials * last.epochs;
            let larger = rungs(trials, epochs, splits.min(self.splits.len()));
            // Runs with as many epochs are found again.
            let spent = if larger[0].epochs == first.epochs { 0.0 } else { first_seconds };
            if is_larger && spent + self.needed(&larger, splits, best, &times) <= seconds {
                (self.rungs, self.spent) = (larger, Some(spent));
                self.set_share(splits, best, &times);
                return true;
            }
        }
        let (rungs, worst) = self.later_rungs(best, seconds, &times);
        self.rungs = rungs;
        for family in worst {
            let lost = self.families.iter().find(|of| of.family == family);
            let lost = lost.map_or(0.0, |of| of.search_seconds(&self.rungs[..1], best, &times));
            self.spent = self.spent.map(|spent| spent + lost);
            let reason = "there was no time for more than the first rung, in which others were better";
            self.leave_out(family, reason.into());
        }
        self.set_share(self.splits_for(best, None), best, &times);
        false
    }

    /// Keeps the first rung and chooses the later ones. Returns all rungs, and families to leave out, so that the search and the final
    /// runs on the fewest splits take at most some seconds.
    fn later_rungs(&self, best: &[(Family, usize)], seconds: f64, times: &Times) -> (Vec<RungPlan>, Vec<Family>) {
        let [first, last] = [self.rungs[0], self.rungs[self.rungs.len() - 1]];
        let one = |epochs| vec![first, RungPlan { trials: 1, epochs, splits: 1 }];
        let mut choices = vec![(self.rungs.clone(), usize::MAX)];
        if self.rungs.len() == 1 {
            // Longer final runs of some families are better than short ones of all.
            let some = if last.epochs < ENOUGH_EPOCHS { SOME } else { usize::MAX };
            choices.insert(0, (one(2 * last.epochs), some));
        } else if last.trials > 1 {
            choices.push((one(last.epochs), usize::MAX));
        }
        if last.epochs > 2 * first.epochs {
            choices.push((one(last.epochs / 2), usize::MAX));
        }
        for (rungs, least) in &choices {
            let (worst, is_enough) = self.worst(rungs, *least, best, seconds, times);
            if is_enough {
                return (rungs.clone(), worst);
            }
        }
        let smallest = choices.pop().map_or_else(Vec::new, |(rungs, _)| rungs);
        let (worst, _) = self.worst(&smallest, FEW, best, seconds, times);
        (smallest, worst)
    }

    /// Returns the families with the worst validation metric that have to be left out, so that search and final runs on the fewest
    /// splits take at most some seconds, and whether they do then. At least `least` families that take much time remain, and all
    /// that take little.
    fn worst(
        &self,
        rungs: &[RungPlan],
        least: usize,
        best: &[(Family, usize)],
        seconds: f64,
        times: &Times,
    ) -> (Vec<Family>, bool) {
        let (mut plan, mut left_out, mut lost) = (self.clone(), Vec::new(), 0.0);
        loop {
            let needed = lost + plan.needed(rungs, FEWEST, best, times);
            let is_long = |of: &&FamilyPlan| of.search_seconds(rungs, best, times) > LITTLE * needed;
            let of = |family: Family| plan.families.iter().find(|of| of.family == family);
            let worst = best.iter().rev().find_map(|&(family, _)| of(family).filter(is_long));
            let may_leave = needed > seconds && plan.families.iter().filter(is_long).count() > least;
            let Some(worst) = worst.filter(|_| may_leave) else { return (left_out, needed <= seconds) };
            lost += worst.search_seconds(&rungs[..1], best, times);
            let worst = worst.family;
            plan.families.retain(|of| of.family != worst);
            left_out.push(worst);
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
            FamilyPlan { family: of.family, cost: of.cost.times(factor) }
        };
        self.families = self.families.iter().map(corrected).collect();
    }

    /// Returns the number of splits that there is time for, if every family runs with one of its trials: by the seconds of the
    /// search and of the final runs on a split where they are known, else by estimates.
    pub(super) fn splits_for(&self, selected: &[(Family, usize)], known: Option<[f64; 2]>) -> usize {
        let [epochs, searched] = self.rungs.last().map_or([1, 0], |rung| [rung.epochs, rung.splits]);
        let [search, split] = known.unwrap_or_else(|| {
            let times = self.times();
            [self.seconds_of_search(&self.rungs, selected, &times), self.seconds_of_split(selected, epochs, &times)]
        });
        let left = (FILLED_LATER * self.seconds - self.spent.unwrap_or(0.0) - search).max(0.0);
        let splits = self.splits.len();
        searched.saturating_add((left / split.max(1e-9)) as usize).clamp(FEWEST.min(splits), splits)
    }

    /// Records the share of the time of all runs that the search takes, if the final runs have some splits.
    fn set_share(&mut self, splits: usize, best: &[(Family, usize)], times: &Times) {
        let spent = self.spent.unwrap_or(0.0);
        let search = spent + self.seconds_of_search(&self.rungs, best, times);
        let all = spent + self.needed(&self.rungs, splits, best, times);
        self.search_share = search / all.max(1e-9);
    }

    /// Returns the estimated seconds of a search and its final runs on some splits. Those of the last rung are final runs too.
    fn needed(&self, rungs: &[RungPlan], splits: usize, best: &[(Family, usize)], times: &Times) -> f64 {
        let Some(last) = rungs.last() else { return 0.0 };
        let more = splits.min(self.splits.len()).saturating_sub(last.splits) as f64;
        let of_family = |of: &FamilyPlan| of.later_seconds(rungs[0].trials, last.epochs, best, times);
        let finals = more * self.families.iter().map(of_family).sum::<f64>();
        self.seconds_of_search(rungs, best, times) + finals
    }

    /// Returns the estimated seconds if bad families are left out after the first rung, and the longest trials are the best.
    fn needed_by_few(&self, splits: usize, times: &Times) -> f64 {
        let longest = |of: &FamilyPlan| {
            let seconds = |&number: &usize| of.seconds(number, self.rungs[0].epochs, times);
            let number = (0..self.rungs[0].trials).max_by(|a, b| seconds(a).total_cmp(&seconds(b)));
            (of.family, number.unwrap_or(0))
        };
        let longest: Vec<(Family, usize)> = self.families.iter().map(longest).collect();
        let first = self.seconds_of_search(&self.rungs[..1], &[], times);
        let later = self.needed(&self.rungs, splits, &longest, times) - first;
        first + later * (FEW as f64 / self.families.len() as f64).min(1.0)
    }

    /// Returns the estimated seconds of the final runs on a split.
    fn seconds_of_split(&self, selected: &[(Family, usize)], epochs: usize, times: &Times) -> f64 {
        let of = |family: Family| self.families.iter().find(|of| of.family == family);
        selected.iter().filter_map(|&(family, number)| Some(of(family)?.seconds(number, epochs, times))).sum()
    }

    /// Returns the estimated seconds of all searches.
    fn seconds_of_search(&self, rungs: &[RungPlan], best: &[(Family, usize)], times: &Times) -> f64 {
        self.families.iter().map(|of| of.search_seconds(rungs, best, times)).sum()
    }

    fn times(&self) -> Times {
        let most = self.rungs.first().map_or(0, |rung| rung.trials).max(MOST_TRIALS);
        let of = |FamilyPlan { family, .. }: &FamilyPlan| {
            let trial = |number| self.trial(*family, number, 1);
            let usual = [trial(0), trial(1)];
            let time = |number: usize| Some(relative_time(&trial(number)?, usual[number % 2].as_ref()?));
            (family.name, (0..most).filter_map(time).collect())
        };
        self.families.iter().map(of).collect()
    }
}

impl FamilyPlan {
    /// Returns the estimated seconds of a run of a trial.
    fn seconds(&self, number: usize, epochs: usize, times: &Times) -> f64 {
        let time = times.get(self.family.name).and_then(|times| times.get(number));
        self.cost.of(number, time.copied().unwrap_or(1.0), epochs)
    }

    /// Returns the estimated seconds of a run, in the mean over its first trials.
    fn mean_seconds(&self, trials: usize, epochs: usize, times: &Times) -> f64 {
        (0..trials).map(|number| self.seconds(number, epochs, times)).sum::<f64>() / trials as f64
    }

    /// Returns the estimated seconds of a search. A run of models without epochs is the same in all rungs.
    fn search_seconds(&self, rungs: &[RungPlan], best: &[(Family, usize)], times: &Times) -> f64 {
        let seconds = |(k, &RungPlan { trials, epochs, splits }): (usize, &RungPlan)| match k {
            0 => (trials * splits) as f64 * self.mean_seconds(trials, epochs, times),
            _ => {
                let runs = trials * (splits - usize::from(!self.family.has_epochs()));
                runs as f64 * self.later_seconds(rungs[0].trials, epochs, best, times)
            }
        };
        rungs.iter().enumerate().map(seconds).sum()
    }

    /// Returns the estimated seconds of a run after the first rung: of the best trial if it is known, else in the mean.
    fn later_seconds(&self, trials: usize, epochs: usize, best: &[(Family, usize)], times: &Times) -> f64 {
        match best.iter().find(|(family, _)| *family == self.family) {
            Some(&(_, number)) => self.seconds(number, epochs, times),
            None => self.mean_seconds(trials, epochs, times),
        }
    }
}

/// Returns the rungs of a search. With few splits, there is one. With several, it is successive halving: all trials have a
/// quarter of the epochs, the better half has half of them, and the last few have all. The last rung uses several splits, because
/// the validation nodes of one split hardly distinguish trials that are nearly equal.
fn rungs(trials: usize, epochs: usize, splits: usize) -> Vec<RungPlan> {
    let rung =
        |trials: usize, share: usize, splits: usize| RungPlan { trials, epochs: (epochs / share).max(1), splits };
    if splits >= SEVERAL && trials > 2 {
        let last = (trials / 4).clamp(2, FINALISTS);
        let better = (trials / 2 > last).then(|| rung(trials / 2, 2, 1));
        [Some(rung(trials, 4, 1)), better, Some(rung(last, 1, LAST_SPLITS))].into_iter().flatten().collect()
    } else {
        vec![rung(trials, 1, 1)]
    }
}
