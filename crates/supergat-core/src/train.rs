//! Training: full-batch Adam, validation after every epoch, the model of the best validation epoch, early stopping.

use crate::architecture::ModelKind;
use crate::error::{Error, Result};
use crate::example::Example;
use crate::kernels::{Adam, Buffer, Counts, Real, evaluate};
use crate::layers::{Context, Contrast, Draw, Plan};
use crate::model::{Model, StepLoss, Workspace};
use crate::random::{Purpose, Stream};
use crate::stopwatch::timed;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Early stopping as published: from epoch `patience` on, stop when a validation loss or metric differs from the mean of the last
/// `window` ones by a smaller share than its threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EarlyStop {
    /// No stop up to this epoch.
    pub patience: usize,
    /// Length of the memory.
    pub window: usize,
    /// Threshold of the loss.
    pub loss_change: f64,
    /// Threshold of the metric.
    pub metric_change: f64,
}

/// How to train.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrainConfig {
    /// Learning rate.
    pub lr: f64,
    /// Coupled weight decay.
    pub lambda_2: f64,
    /// Weight of the edge losses; read by self-supervised models.
    pub lambda_e: f64,
    /// Share of the edges sampled each step by self-supervised models.
    pub p_e: f64,
    /// Negatives per sampled edge.
    pub p_n: f64,
    /// Constraints on attention; for CGAT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contrast: Option<Contrast>,
    /// Epochs at most.
    pub max_epochs: usize,
    /// Early stopping, if any.
    pub early_stop: Option<EarlyStop>,
}

impl TrainConfig {
    /// Refuses what cannot work.
    pub fn check(&self) -> Result<()> {
        let refuse =
            |name, value: String, reason: &str| Err(Error::Hyperparameter { name, value, reason: reason.to_owned() });
        if !(self.lr > 0.0 && self.lr.is_finite()) {
            return refuse("lr", self.lr.to_string(), "must be positive");
        }
        for (name, value) in [("lambda_2", self.lambda_2), ("lambda_e", self.lambda_e), ("p_n", self.p_n)] {
            if !(value >= 0.0 && value.is_finite()) {
                return refuse(name, value.to_string(), "must not be negative");
            }
        }
        if !(self.p_e > 0.0 && self.p_e <= 1.0) {
            return refuse("p_e", self.p_e.to_string(), "must lie in (0, 1]");
        }
        if let Some(contrast) = &self.contrast {
            contrast.check()?;
        }
        if self.max_epochs == 0 {
            return refuse("max_epochs", "0".into(), "must be at least 1");
        }
        if let Some(stop) = self.early_stop {
            if stop.window == 0 {
                return refuse("early_stop_window", "0".into(), "must be at least 1");
            }
            for (name, value) in
                [("early_stop_loss_change", stop.loss_change), ("early_stop_metric_change", stop.metric_change)]
            {
                if value.is_nan() || value < 0.0 {
                    return refuse(name, value.to_string(), "must not be negative");
                }
            }
        }
        Ok(())
    }
}

/// Mean loss and metric (accuracy, or micro-F1 with several labels per node) of a list of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Score {
    /// Mean loss.
    pub loss: f64,
    /// Accuracy or micro-F1, between 0 and 1.
    pub metric: f64,
}

/// What happened in an epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Epoch {
    /// Number, from 0.
    pub epoch: usize,
    /// Training losses, the mean over the epoch's steps.
    pub train: StepLoss,
    /// Validation nodes.
    pub validation: Score,
    /// Test nodes. For reports only: nothing is ever selected by it.
    pub test: Score,
    /// Whether this is the best validation metric so far (the later epoch wins a tie).
    pub best: bool,
}

/// Result of a training run. The model holds the parameters of the best epoch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Epochs run.
    pub epochs: usize,
    /// The epoch with the best validation metric, from 0.
    pub best_epoch: usize,
    /// Its validation score.
    pub validation: Score,
    /// Its test score.
    pub test: Score,
    /// Whether an observer stopped the run.
    pub interrupted: bool,
}

/// Plans for all examples, shared by all runs on them with the same sampling.
pub fn plans<T: Real>(examples: &[Example<T>], self_supervised: bool, config: &TrainConfig) -> Result<Vec<Plan>> {
    let sampling = self_supervised.then_some((config.p_e, config.p_n));
    let plan = |example| {
        let plan = Plan::new(example, sampling)?;
        match config.contrast {
            Some(contrast) => plan.contrasting(example, contrast),
            None => Ok(plan),
        }
    };
    examples.iter().map(plan).collect()
}

/// A training run.
#[derive(Debug)]
pub struct Trainer<'a, T> {
    model: &'a mut Model<T>,
    examples: &'a [Example<T>],
    plans: &'a [Plan],
    config: TrainConfig,
    seed: u64,
    workspace: Workspace<T>,
    order: Vec<usize>,
    step: u32,
    best: Vec<Buffer<T>>,
    stopper: Option<Stopper>,
    outcome: Option<Outcome>,
    epoch: usize,
}

impl<'a, T: Real> Trainer<'a, T> {
    /// Prepares a run; all memory is allocated here.
    pub fn new(
        model: &'a mut Model<T>,
        examples: &'a [Example<T>],
        plans: &'a [Plan],
        config: TrainConfig,
        seed: u64,
    ) -> Result<Self> {
        config.check()?;
        let constrained = matches!(model.architecture().model, ModelKind::Constrained { .. });
        if constrained != config.contrast.is_some() {
            return Err(Error::Hyperparameter {
                name: "contrast",
                value: if constrained { "none" } else { "given" }.into(),
                reason: "belongs to cgat models, and to no others".into(),
            });
        }
        for example in examples {
            model.architecture().accepts(example)?;
        }
        let order: Vec<usize> = (0..examples.len()).filter(|&k| !examples[k].train.is_empty()).collect();
        if order.is_empty() {
            return Err(Error::EmptySplit { split: "training" });
        }
        if examples.iter().all(|example| example.validation.is_empty()) {
            return Err(Error::EmptySplit { split: "validation" });
        }
        let workspace = model.workspace(examples, plans, true);
        let best = model.parameters().map(|p| p.value.clone()).collect();
        let stopper = config.early_stop.map(|rule| Stopper::new(rule, config.max_epochs));
        Ok(Self {
            model,
            examples,
            plans,
            config,
            seed,
            workspace,
            order,
            step: 0,
            best,
            stopper,
            outcome: None,
            epoch: 0,
        })
    }

    /// Runs to the end; `observe` sees every epoch and may stop the run. The model is left with the parameters of the best epoch.
    pub fn run(mut self, observe: impl FnMut(&Epoch) -> ControlFlow<()>) -> Result<Outcome> {
        self.run_to_end(observe)
    }

    /// The same, and then the logits of all nodes of every example with the best parameters, in memory the run has anyway.
    pub fn run_and_predict(mut self, observe: impl FnMut(&Epoch) -> ControlFlow<()>) -> Result<(Outcome, Vec<Vec<T>>)> {
        let outcome = self.run_to_end(observe)?;
        let logits = self.examples.iter().zip(self.plans).map(|(example, plan)| {
            self.model.forward(&Context { example, plan, draw: None }, &mut self.workspace).to_vec()
        });
        Ok((outcome, logits.collect()))
    }

    fn run_to_end(&mut self, mut observe: impl FnMut(&Epoch) -> ControlFlow<()>) -> Result<Outcome> {
        let mut interrupted = false;
        while let Some(epoch) = self.next_epoch()? {
            if observe(&epoch).is_break() {
                interrupted = true;
                break;
            }
        }
        let mut best = self.best.iter();
        self.model.for_each_parameter(|p| p.value.copy_from_slice(best.next().expect("as many as parameters")));
        let outcome = self.outcome.expect("at least one epoch was run");
        Ok(Outcome { epochs: self.epoch, interrupted, ..outcome })
    }

    /// One epoch: a step per training graph in shuffled order, then validation. `None` when the run has ended. Allocates nothing.
    pub fn next_epoch(&mut self) -> Result<Option<Epoch>> {
        if self.epoch >= self.config.max_epochs || self.stopper.as_ref().is_some_and(|s| s.stopped) {
            return Ok(None);
        }
        let epoch = self.epoch;
        self.order.sort_unstable();
        Stream::new(self.seed, epoch as u32, 0, Purpose::GraphOrder).shuffle(&mut self.order);
        let mut train = StepLoss::default();
        let share = 1.0 / self.order.len() as f64;
        for k in 0..self.order.len() {
            let loss = self.train_step(self.order[k]);
            if !loss.total.is_finite() {
                return Err(Error::Diverged { epoch, loss: loss.total });
            }
            train.label += loss.label * share;
            train.edge += loss.edge * share;
            train.total += loss.total * share;
        }
        let [validation, test] = self.evaluate();
        if !validation.loss.is_finite() {
            return Err(Error::Diverged { epoch, loss: validation.loss });
        }
        let best = self.outcome.is_none_or(|o| validation.metric >= o.validation.metric);
        if best {
            self.outcome = Some(Outcome { epochs: epoch + 1, best_epoch: epoch, validation, test, interrupted: false });
            self.best.iter_mut().zip(self.model.parameters()).for_each(|(best, p)| best.copy_from_slice(&p.value));
        }
        if let Some(stopper) = &mut self.stopper {
            stopper.see(epoch, validation);
        }
        self.epoch += 1;
        Ok(Some(Epoch { epoch, train, validation, test, best }))
    }

    /// Forward, backward and update on one example.
    pub fn train_step(&mut self, example: usize) -> StepLoss {
        let context = Context {
            example: &self.examples[example],
            plan: &self.plans[example],
            draw: Some(Draw { seed: self.seed, step: self.step }),
        };
        let lambda_e = self.model.architecture().model.is_self_supervised().then_some(self.config.lambda_e);
        self.model.forward(&context, &mut self.workspace);
        let loss = self.model.backward(&context, lambda_e, &mut self.workspace);
        self.step += 1;
        self.model.update(Adam { lr: self.config.lr, lambda_2: self.config.lambda_2, step: u64::from(self.step) });
        loss
    }

    /// Scores of the validation and the test nodes with the present parameters, without dropout.
    pub fn evaluate(&mut self) -> [Score; 2] {
        let mut sums = [(0.0, Counts::default(), 0usize); 2];
        for (example, plan) in self.examples.iter().zip(self.plans) {
            let lists = [&example.validation, &example.test];
            if lists.iter().all(|list| list.is_empty()) {
                continue;
            }
            let logits = self.model.forward(&Context { example, plan, draw: None }, &mut self.workspace);
            for (sum, list) in sums.iter_mut().zip(lists) {
                let (loss, counts) = timed("evaluate", || evaluate(&example.labels, list, logits));
                sum.0 += loss;
                sum.1 += counts;
                sum.2 += list.len();
            }
        }
        sums.map(|(loss, counts, nodes)| Score { loss: loss / nodes.max(1) as f64, metric: counts.micro_f1() })
    }
}

/// Memory of [`EarlyStop`].
#[derive(Debug)]
struct Stopper {
    rule: EarlyStop,
    recent: VecDeque<Score>,
    stopped: bool,
}

impl Stopper {
    fn new(rule: EarlyStop, max_epochs: usize) -> Self {
        Self { rule, recent: VecDeque::with_capacity(rule.window.min(max_epochs) + 1), stopped: false }
    }

    fn see(&mut self, epoch: usize, score: Score) {
        if epoch > self.rule.patience && !self.recent.is_empty() {
            let mean = |f: fn(&Score) -> f64| self.recent.iter().map(f).sum::<f64>() / self.recent.len() as f64;
            let settled = |mean: f64, value: f64, threshold: f64| (mean - value).abs() / mean < threshold;
            self.stopped = settled(mean(|s| s.loss), score.loss, self.rule.loss_change)
                || settled(mean(|s| s.metric), score.metric, self.rule.metric_change);
        }
        if self.recent.len() == self.rule.window {
            self.recent.pop_front();
        }
        self.recent.push_back(score);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops_at(rule: EarlyStop, scores: &[(f64, f64)]) -> Option<usize> {
        let mut stopper = Stopper::new(rule, scores.len());
        scores.iter().enumerate().find_map(|(epoch, &(loss, metric))| {
            stopper.see(epoch, Score { loss, metric });
            stopper.stopped.then_some(epoch)
        })
    }

    #[test]
    fn early_stopping_as_published() {
        let rule = EarlyStop { patience: 2, window: 2, loss_change: 0.1, metric_change: 0.0 };
        // Up to epoch 2 nothing stops; in epoch 3 the loss 1.0 is compared with the mean of 2.0 and 1.5, in epoch 4 with 1.25.
        let falling = [(4.0, 0.1), (2.0, 0.2), (1.5, 0.3), (1.0, 0.4), (1.2, 0.5), (1.1, 0.6)];
        assert_eq!(stops_at(rule, &falling), Some(4));
        let by_metric = EarlyStop { loss_change: 0.0, metric_change: 0.25, ..rule };
        assert_eq!(stops_at(by_metric, &[(1.0, 0.5), (0.5, 0.5), (0.2, 0.5), (0.1, 0.8), (0.05, 0.7)]), Some(4));
        assert_eq!(stops_at(EarlyStop { patience: 9, ..rule }, &falling), None);
    }

    #[test]
    fn bad_hyperparameters_are_refused() {
        let good = TrainConfig {
            lr: 0.01,
            lambda_2: 0.0,
            lambda_e: 1.0,
            p_e: 0.8,
            p_n: 0.5,
            contrast: None,
            max_epochs: 1,
            early_stop: None,
        };
        assert!(good.check().is_ok());
        for bad in [
            TrainConfig { lr: 0.0, ..good },
            TrainConfig { lr: f64::NAN, ..good },
            TrainConfig { lambda_2: -1.0, ..good },
            TrainConfig { lambda_e: f64::INFINITY, ..good },
            TrainConfig { p_e: 0.0, ..good },
            TrainConfig { p_e: 1.1, ..good },
            TrainConfig { p_n: -0.1, ..good },
            TrainConfig { max_epochs: 0, ..good },
        ] {
            assert!(matches!(bad.check(), Err(Error::Hyperparameter { .. })), "{bad:?}");
        }
    }
}
