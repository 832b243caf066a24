//! Steps of a system, and its training by them.

use super::{Options, SystemModel, TrainedSystem, saved};
use std::ops::ControlFlow;
use supergat_core::device::prelude::*;
use supergat_core::device::{Draw, Place, Readings};
use supergat_core::example::ExampleShape;
use supergat_core::layers::{Context, Parameter};
use supergat_core::memory::{Arena, Buffer};
use supergat_core::selection::Selection;
use supergat_core::{Counts, EdgeValues, Epoch, Error, Prepared, Result, Score, StepLoss};
use supergat_cpu::{Cpu, Primitives};

/// A system on one example, with the memory for its passes.
pub(super) trait Learner<T: Primitives> {
    /// Draws all weights.
    fn initialise(&mut self, seed: u64) -> Result<()>;
    /// Runs the forward pass of a training step and computes the gradients of all weights.
    fn differentiate(&mut self, clock: &Draw) -> Result<StepLoss>;
    /// Updates all weights by their gradients.
    fn update(&mut self, clock: &Draw) -> Result<()>;
    /// Runs the forward pass without random numbers.
    fn evaluate(&mut self) -> Result<()>;
    /// Returns the logits of the last pass.
    fn logits(&self) -> &Buffer<T>;
    /// Returns the weight and the score of every edge in the last pass.
    fn edges(&self) -> EdgeValues<T>;
    /// Calls `f` with every matrix of weights, until it fails.
    fn for_each_parameter(&mut self, f: &mut dyn FnMut(&mut Parameter<Cpu<T>>) -> Result<()>) -> Result<()>;
}

/// Trains a system by the steps of its learner. All memory is allocated before the first epoch; an epoch allocates
/// nothing, unless there is a scorer.
pub(super) fn train_learner(
    prepared: &Prepared<Cpu<f32>>,
    options: Options,
    seed: u64,
    observe: &mut dyn FnMut(&Epoch) -> ControlFlow<()>,
) -> Result<TrainedSystem> {
    let mut arena = Arena::allocating();
    let mut learner = options.learner(prepared, true, &mut arena)?;
    learner.initialise(seed)?;
    let mut best_weights: Vec<Buffer<f32>> = Vec::new();
    learner.for_each_parameter(&mut |parameter| {
        best_weights.push(arena.numbers(parameter.stored()));
        Ok(())
    })?;
    let (mut selection, mut clock) = (Selection::new(prepared.config()), Draw { seed, step: 0 });
    let (mut readings, mut interrupted) = (Readings::new(1), false);
    while !selection.is_finished() && !interrupted {
        let epoch = selection.epoch;
        let diverged = |loss| Err(Error::Diverged { epoch, loss, has_edge_loss: false });
        let train = learner.differentiate(&clock)?;
        if !train.total.is_finite() {
            return diverged(train.total);
        }
        learner.update(&clock)?;
        clock.step += 1;
        let [validation, test] = evaluate(prepared, &mut *learner, &mut readings)?;
        if !validation.loss.is_finite() {
            return diverged(validation.loss);
        }
        let best = selection.count(validation, test);
        if best {
            let mut copies = best_weights.iter_mut();
            learner.for_each_parameter(&mut |parameter| {
                copies.next().expect("as many as parameters").copy_from_slice(&parameter.value);
                Ok(())
            })?;
        }
        interrupted = observe(&Epoch { epoch, train, validation, test, best }).is_break();
    }
    let (mut weights, mut best_weights) = (Vec::new(), best_weights.iter());
    learner.for_each_parameter(&mut |parameter| {
        parameter.value.copy_from_slice(best_weights.next().expect("as many as parameters"));
        weights.push(saved(parameter)?);
        Ok(())
    })?;
    learner.evaluate()?;
    let logits = outer_logits(&prepared.context(0, None), &*learner);
    let model = SystemModel { architecture: *prepared.architecture(), options, weights, graphs: None };
    Ok(TrainedSystem { model, outcome: selection.outcome(interrupted), logits })
}

/// Returns the scores of the validation and the test nodes.
fn evaluate(
    prepared: &Prepared<Cpu<f32>>,
    learner: &mut dyn Learner<f32>,
    readings: &mut Readings,
) -> Result<[Score; 2]> {
    learner.evaluate()?;
    let context = prepared.context(0, None);
    let place = Place { record: readings, example: 0 };
    context.device.evaluate(context.problem, learner.logits(), place)?;
    let [_, validation, test] = context.example.split_sizes();
    let score = |((loss, counts), nodes): ((f64, Counts), usize)| Score {
        loss: loss / nodes.max(1) as f64,
        metric: counts.micro_f1(),
    };
    let [of_validation, of_test] = readings.scores[0];
    let mut scores = [(of_validation, validation), (of_test, test)].map(score);
    if let Some(scorer) = prepared.scorer() {
        let metrics = scorer.score(&[outer_logits(&context, learner)]);
        scores.iter_mut().zip(metrics).for_each(|(score, metric)| score.metric = metric);
    }
    Ok(scores)
}

/// Returns the logits of the last pass, in the given order of nodes.
pub(super) fn outer_logits(context: &Context<'_, Cpu<f32>>, learner: &dyn Learner<f32>) -> Vec<f32> {
    let logits = learner.logits().to_vec();
    let classes = logits.len() / context.example.nodes().max(1);
    context.rows_to_outer(logits, classes)
}
