//! Standing of the trials of a family by their finished runs, and the selected trial.

use crate::recommend::families::Family;
use crate::recommend::thorough::plan::{RungPlan, ThoroughPlan};
use crate::recommend::thorough::splits::SplitPlan;
use crate::recommend::thorough::trials::Trial;
use crate::sweep::{Classification, Key, Record, ResultsFile};
use supergat_data::ClassWeight;
use supergat_train::device::DeviceKind;
use supergat_train::task::{Status, Task};

/// A plan and the results of its runs.
#[derive(Clone, Copy)]
pub(super) struct Standing<'a> {
    plan: &'a ThoroughPlan,
    results: &'a ResultsFile,
}

impl<'a> Standing<'a> {
    /// Reads the results of a plan, for the kind of device that the file shows.
    pub(super) fn new(plan: &'a ThoroughPlan, results: &'a ResultsFile) -> Self {
        Self { plan, results }
    }

    /// Returns the numbers of the trials of a family in a rung: the best ones of the rung before, in their order. If the search
    /// was cut in this rung, only those that count.
    pub(super) fn candidates(&self, family: Family, rung: usize) -> Vec<usize> {
        let all: Vec<usize> = match rung {
            0 => (0..self.plan.rungs[0].trials).collect(),
            _ if self.plan.is_stopped(family) => Vec::new(),
            _ => {
                let mut scored = self.scored(family, rung - 1);
                scored.truncate(self.plan.rungs[rung].trials);
                scored.into_iter().map(|(number, _)| number).collect()
            }
        };
        match &self.plan.search_cut {
            Some(cut) if cut.rung == rung => cut.places.iter().filter_map(|&place| all.get(place).copied()).collect(),
            _ => all,
        }
    }

    /// Returns the trials of a rung with their validation metric, the mean over its splits, the best first; failed trials are
    /// the last. Ties go to the lower number.
    pub(super) fn scored(&self, family: Family, rung: usize) -> Vec<(usize, f64)> {
        let validation = |record: Option<&Record>| match &record?.status {
            Status::Ok { validation, .. } => Some(validation.metric).filter(|metric| metric.is_finite()),
            Status::Failed { .. } => None,
        };
        let score = |number: usize| {
            let records = self.records(family, number, rung);
            let (splits, metrics) = (records.len(), records.into_iter().map(validation));
            let sum: Option<f64> = metrics.sum();
            (number, sum.map_or(f64::NEG_INFINITY, |sum| sum / splits as f64))
        };
        let mut scored: Vec<(usize, f64)> = self.candidates(family, rung).into_iter().map(score).collect();
        scored.sort_by(|(a, left), (b, right)| right.total_cmp(left).then(a.cmp(b)));
        scored
    }

    /// Returns the best trial of a rung with its validation metric; `None` if no trial succeeded.
    fn best_of_rung(&self, family: Family, rung: usize) -> Option<(usize, f64)> {
        self.scored(family, rung).into_iter().next().filter(|(_, score)| *score > f64::NEG_INFINITY)
    }

    /// Returns the number of the selected trial of a family; `None` if no trial succeeded.
    pub(super) fn selected_number(&self, family: Family) -> Option<usize> {
        let last = self.plan.search_cut.as_ref().map_or(self.plan.rungs.len() - 1, |cut| cut.rung);
        (0..=last).rev().find_map(|rung| self.best_of_rung(family, rung)).map(|(number, _)| number)
    }

    /// Returns the selected trial of a family, with the epochs of its final runs; `None` if no trial succeeded.
    pub(super) fn selected(&self, family: Family) -> Option<Trial> {
        self.plan.trial(family, self.selected_number(family)?, self.plan.final_epochs(family))
    }

    /// Returns the number of trials of a family that ran in the search, and the reason of a failure.
    pub(super) fn summary(&self, family: Family) -> (usize, Option<String>) {
        let first = |number| self.records(family, number, 0).into_iter().next().flatten();
        let (mut count, mut failure) = (0, None);
        for record in self.candidates(family, 0).into_iter().filter_map(first) {
            count += 1;
            if let Status::Failed { reason } = &record.status {
                failure.get_or_insert_with(|| reason.clone());
            }
        }
        (count, failure)
    }

    /// Returns the records of a trial in a rung, one for each of its splits.
    pub(super) fn records(&self, family: Family, number: usize, rung: usize) -> Vec<Option<&'a Record>> {
        let RungPlan { epochs, splits, .. } = self.plan.rungs[rung];
        let Some(trial) = self.plan.trial(family, number, epochs) else { return vec![None] };
        self.plan.splits.iter().take(splits).map(|split| self.record(&trial, split)).collect()
    }

    /// Returns the record of a trial on a split.
    pub(super) fn record(&self, trial: &Trial, split: &SplitPlan) -> Option<&'a Record> {
        let kind = if trial.settings.model.is_network() { self.results.selected() } else { DeviceKind::Cpu };
        let task = task(trial.balanced);
        self.results.get(&Key::new(task.name(), kind, &self.plan.dataset, &split.hash, &trial.settings, split.seed))
    }
}

/// Returns the task of trials with or without balanced classes.
pub(super) fn task(balanced: bool) -> Classification {
    Classification::new(if balanced { ClassWeight::Balanced } else { ClassWeight::None }, false)
}
