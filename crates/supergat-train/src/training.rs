//! One training with one seed: of a network, from its checkpoint if there is one, or of a model that is not a network.

use crate::baselines::{Baseline, check_available};
use crate::checkpoints::SeedCheckpoints;
use crate::fitted::Fitted;
use crate::results::{EpochObserver, Finished, SeedRun, Stop};
use crate::selection::{score, scorer, scores};
use crate::settings::Settings;
use std::ops::ControlFlow;
use std::time::Instant;
use supergat_core::{Device, Epoch, Error, Outcome, Prepared, Result, SingleDevice, StepLoss, Trained, Trainer};
use supergat_cpu::Cpu;
use supergat_data::Dataset;

/// Prepares a dataset for training with `settings` on the CPU; all runs with these settings share the result.
pub(crate) fn prepare(dataset: &Dataset, settings: &Settings) -> Result<Prepared<Cpu<f32>>> {
    prepare_on(&Cpu::default(), dataset, settings)
}

/// Prepares a dataset on a device. The scorer of the metric that the settings select by is added, if the engine does not
/// compute it.
pub(crate) fn prepare_on<D: SingleDevice<Number = f32>>(
    device: &D,
    dataset: &Dataset,
    settings: &Settings,
) -> Result<Prepared<D>> {
    let prepared = Prepared::on(device, &dataset.examples, settings.architecture(dataset), settings.training())?;
    Ok(match scorer(dataset, settings)? {
        Some(scorer) => prepared.scored_by(scorer),
        None => prepared,
    })
}

/// Trains a network once, from the checkpoint if there is one, and writes checkpoints. The CPU uses the threads of the
/// current thread pool.
pub(crate) fn train_network<D: Device<Number = f32>>(
    prepared: &Prepared<D>,
    seed: u64,
    mut checkpoints: Option<SeedCheckpoints<'_>>,
    observe: &mut EpochObserver<'_>,
) -> Result<Finished> {
    let started = Instant::now();
    let state = checkpoints.as_mut().map_or(Ok(None), SeedCheckpoints::read)?;
    let (trainer, mut history) = match (state, &checkpoints) {
        (Some(state), Some(checkpoints)) => {
            (Trainer::resume(prepared, &state).map_err(|error| checkpoints.located(error))?, state.history)
        }
        _ => (Trainer::new(prepared, seed)?, Vec::new()),
    };
    let Trained { model, outcome, logits } = trainer.run_observed(|trainer, epoch| {
        history.push(*epoch);
        let flow = observe(epoch);
        if let Some(checkpoints) = &mut checkpoints {
            checkpoints.after_epoch(trainer, &history, flow == ControlFlow::Break(Stop::Interrupted))?;
        }
        Ok(flow.map_break(drop))
    })?;
    let model = model.to_device(&Cpu::default())?;
    let seconds = checkpoints.map_or_else(|| started.elapsed().as_secs_f64(), |checkpoints| checkpoints.seconds());
    let run = SeedRun { seed, outcome, history, seconds, correction: None };
    Ok(Finished { run, model: Fitted::Network(model, None), logits })
}

/// Trains a system, or fits another model that is not a network, whose history is one epoch. The observer may stop the
/// run after every epoch.
pub(crate) fn train_baseline(
    dataset: &Dataset,
    settings: &Settings,
    seed: u64,
    observe: &mut EpochObserver<'_>,
) -> Result<Finished> {
    let started = Instant::now();
    check_available(settings.model)?;
    let (baseline, outcome, history, logits) = match settings.system() {
        Some(options) => {
            let prepared = prepare(dataset, settings)?;
            let mut history = Vec::new();
            let trained = supergat_systems::train(&prepared, options, seed, &mut |epoch| {
                history.push(*epoch);
                observe(epoch).map_break(drop)
            })?;
            (Baseline::System(trained.model), trained.outcome, history, vec![trained.logits])
        }
        None => {
            for (split, is_empty) in [
                ("training", dataset.examples.iter().all(|example| example.train.is_empty())),
                ("validation", dataset.examples.iter().all(|example| example.validation.is_empty())),
            ] {
                if is_empty {
                    return Err(Error::EmptySplit { split });
                }
            }
            let baseline = Baseline::fit(dataset, settings, seed)?;
            let logits = baseline.logits(dataset)?;
            let [validation, test] = scores(dataset, settings, &logits)?;
            let loss = score(dataset, &logits, |example| &example.train).loss;
            let train = StepLoss { label: loss, edge: 0.0, total: loss };
            let epoch = Epoch { epoch: 0, train, validation, test, best: true };
            let interrupted = observe(&epoch).is_break();
            let outcome = Outcome { epochs: 1, best_epoch: 0, validation, test, interrupted };
            (baseline, outcome, vec![epoch], logits)
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    let run = SeedRun { seed, outcome, history, seconds, correction: None };
    Ok(Finished { run, model: Fitted::Baseline(baseline), logits })
}
