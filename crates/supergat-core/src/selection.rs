//! Scores of epochs, choice of the best one, early stopping.

use crate::config::{Select, TrainConfig};
use crate::hyperparameters::EarlyStoppingSettings;
use crate::model::StepLoss;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Mean loss and metric of a list of nodes. The metric is accuracy, or micro-F1 with several labels per node.
///
/// See [`Trainer`](crate::Trainer) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Score {
    /// Mean loss.
    pub loss: f64,
    /// Accuracy or micro-F1, between 0 and 1.
    pub metric: f64,
}

/// Losses and scores of one epoch.
///
/// See [`Trainer`](crate::Trainer) for an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Epoch {
    /// Number of the epoch, from 0.
    pub epoch: usize,
    /// Training losses, averaged over the steps of the epoch.
    pub train: StepLoss,
    /// Score of the validation nodes.
    pub validation: Score,
    /// Score of the test nodes. It is reported only and never used for selection.
    pub test: Score,
    /// Whether this is the best validation metric so far; the later epoch wins a tie.
    pub best: bool,
}

/// Result of a training run.
///
/// See [`Trainer`](crate::Trainer) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Number of epochs run.
    pub epochs: usize,
    /// Epoch with the best validation metric, from 0.
    pub best_epoch: usize,
    /// Validation score of the best epoch.
    pub validation: Score,
    /// Test score of the best epoch.
    pub test: Score,
    /// Whether the observer stopped the run.
    pub interrupted: bool,
}

/// Number of epochs since the last better validation score.
#[derive(Debug, Default)]
struct Waiting {
    best: Option<Score>,
    epochs: usize,
}

impl Waiting {
    /// Counts an epoch. Of two equal metrics, the one with the smaller loss is better: a network that predicts one class
    /// for all nodes has a constant metric, and may still learn.
    fn see(&mut self, select: Option<Select>, score: Score) {
        let is_better = self.best.is_none_or(|best| match select {
            Some(Select::Loss) => score.loss < best.loss,
            _ => score.metric > best.metric || (score.metric == best.metric && score.loss < best.loss),
        });
        if is_better {
            *self = Self { best: Some(score), epochs: 0 };
        } else {
            self.epochs += 1;
        }
    }
}

/// Choice of the best epoch, and early stopping.
#[derive(Debug)]
pub struct Selection {
    select: Option<Select>,
    max_epochs: usize,
    stopper: Option<Stopper>,
    patience: usize,
    waiting: Waiting,
    outcome: Option<Outcome>,
    /// Number of epochs so far.
    pub epoch: usize,
}

impl Selection {
    /// Starts a selection before the first epoch.
    pub fn new(config: &TrainConfig) -> Self {
        let (rule, max_epochs) = (config.early_stopping, config.training.max_epochs);
        let stopper = rule.early_stop.then(|| Stopper::new(rule, max_epochs));
        let (select, patience) = (config.select, rule.patience);
        Self { select, max_epochs, stopper, patience, waiting: Waiting::default(), outcome: None, epoch: 0 }
    }

    /// Returns whether there are no further epochs.
    pub fn is_finished(&self) -> bool {
        let is_tired = self.patience > 0 && self.waiting.epochs >= self.patience;
        self.epoch >= self.max_epochs || is_tired || self.stopper.as_ref().is_some_and(|stopper| stopper.stopped)
    }

    /// Counts an epoch with these scores, and returns whether it is the best one so far.
    pub fn count(&mut self, validation: Score, test: Score) -> bool {
        let epoch = self.epoch;
        self.waiting.see(self.select, validation);
        let best = self.outcome.is_none_or(|o| match self.select {
            Some(Select::Loss) => validation.loss <= o.validation.loss,
            _ => validation.metric >= o.validation.metric,
        });
        if best {
            self.outcome = Some(Outcome { epochs: epoch + 1, best_epoch: epoch, validation, test, interrupted: false });
        }
        if let Some(stopper) = &mut self.stopper {
            stopper.see(epoch, validation);
        }
        self.epoch += 1;
        best
    }

    /// Returns the scores of the best epoch. Panics before the first one.
    pub fn outcome(&self, interrupted: bool) -> Outcome {
        Outcome { epochs: self.epoch, interrupted, ..self.outcome.expect("at least one epoch was run") }
    }
}

/// Early stopping as published.
///
/// After an epoch, training stops when the validation loss or metric is close to the mean of its last values: when their
/// relative difference is below its threshold. A metric that has had the same value below 1 in every epoch does not count:
/// it shows that nothing was learned yet, not that training has converged.
#[derive(Debug)]
struct Stopper {
    rule: EarlyStoppingSettings,
    recent: VecDeque<Score>,
    /// Metric of the first epoch, while that of every epoch is the same.
    constant: Option<f64>,
    stopped: bool,
}

impl Stopper {
    fn new(rule: EarlyStoppingSettings, max_epochs: usize) -> Self {
        let recent = VecDeque::with_capacity(rule.early_stop_window.min(max_epochs) + 1);
        Self { rule, recent, constant: None, stopped: false }
    }

    /// Records the validation score of an epoch and decides whether to stop.
    fn see(&mut self, epoch: usize, score: Score) {
        if epoch == 0 {
            self.constant = Some(score.metric);
        }
        self.constant = self.constant.filter(|metric| *metric == score.metric);
        // A network that predicts one class for all nodes has a constant metric, and may still learn more.
        let says_nothing = self.constant.is_some_and(|metric| metric < 1.0);
        if epoch > self.rule.early_stop_after && !self.recent.is_empty() {
            let mean = |f: fn(&Score) -> f64| self.recent.iter().map(f).sum::<f64>() / self.recent.len() as f64;
            let settled = |mean: f64, value: f64, threshold: f64| (mean - value).abs() / mean < threshold;
            self.stopped = settled(mean(|s| s.loss), score.loss, self.rule.early_stop_loss_change)
                || (!says_nothing && settled(mean(|s| s.metric), score.metric, self.rule.early_stop_metric_change));
        }
        if self.recent.len() == self.rule.early_stop_window {
            self.recent.pop_front();
        }
        self.recent.push_back(score);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_counts_epochs_without_a_better_score() {
        let waits = |select, scores: &[(f64, f64)]| {
            let mut waiting = Waiting::default();
            scores.iter().for_each(|&(loss, metric)| waiting.see(select, Score { loss, metric }));
            waiting.epochs
        };
        assert_eq!(waits(None, &[(1.0, 0.5), (0.9, 0.6), (0.8, 0.6), (0.7, 0.5)]), 1, "a smaller loss breaks ties");
        assert_eq!(waits(None, &[(1.0, 0.5), (0.9, 0.6), (0.9, 0.6), (1.0, 0.6)]), 2);
        assert_eq!(waits(Some(Select::Loss), &[(1.0, 0.5), (1.1, 0.9), (0.9, 0.1), (0.9, 1.0)]), 1);
    }

    fn rule(after: usize, loss_change: f64, metric_change: f64) -> EarlyStoppingSettings {
        EarlyStoppingSettings {
            early_stop_after: after,
            early_stop_window: 2,
            early_stop_loss_change: loss_change,
            early_stop_metric_change: metric_change,
            ..EarlyStoppingSettings::default()
        }
    }

    fn stops_at(rule: EarlyStoppingSettings, scores: &[(f64, f64)]) -> Option<usize> {
        let mut stopper = Stopper::new(rule, scores.len());
        scores.iter().enumerate().find_map(|(epoch, &(loss, metric))| {
            stopper.see(epoch, Score { loss, metric });
            stopper.stopped.then_some(epoch)
        })
    }

    #[test]
    fn stops_when_loss_or_metric_is_close_to_its_mean() {
        // Training cannot stop up to epoch 2. Epoch 3 compares the loss 1.0 with the mean 1.75 of 2.0 and
        // 1.5; epoch 4 compares 1.2 with the mean 1.25.
        let falling = [(4.0, 0.1), (2.0, 0.2), (1.5, 0.3), (1.0, 0.4), (1.2, 0.5), (1.1, 0.6)];
        assert_eq!(stops_at(rule(2, 0.1, 0.0), &falling), Some(4));
        let by_metric = rule(2, 0.0, 0.25);
        assert_eq!(stops_at(by_metric, &[(1.0, 0.5), (0.5, 0.5), (0.2, 0.5), (0.1, 0.8), (0.05, 0.7)]), Some(4));
        assert_eq!(stops_at(rule(9, 0.1, 0.0), &falling), None);
    }

    #[test]
    fn a_metric_that_never_changed_does_not_stop() {
        let with = |metrics: [f64; 5]| stops_at(rule(1, 0.0, 0.1), &metrics.map(|metric| (1.0, metric)));
        assert_eq!(with([0.8; 5]), None);
        assert_eq!(with([0.2, 0.8, 0.8, 0.8, 0.8]), Some(3));
        assert_eq!(with([1.0; 5]), Some(2), "a perfect metric cannot become better");
        let by_loss = rule(1, 0.1, 0.1);
        assert_eq!(stops_at(by_loss, &[(1.0, 0.8); 5]), Some(2));
    }
}
