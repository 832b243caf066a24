//! Checkpoints of the seeds of a run: what their files must agree with, and when they are written.

use super::{Checkpoints, ELAPSED, FINISHED, seconds_of};
use crate::dataset_hash::dataset_hash;
use crate::device::DeviceKind;
use crate::settings::Settings;
use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::Instant;
use supergat_core::{Device, Epoch, Error, Result, TrainState, Trainer};
use supergat_data::Dataset;

/// Further keys of the metadata of a file.
const SECONDS: &str = "seconds";
const DATASET: &str = "dataset";
const DEVICE: &str = "device";
const PROGRAM: &str = "program";
/// Only in files of trainings in which another class than the second is the positive one.
const POSITIVE_CLASS: &str = "positive";

/// Version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Dataset, kind of device and positive class of a training, which a checkpoint must agree with.
#[derive(Debug)]
pub(crate) struct Origin<'a> {
    dataset: &'a Dataset,
    device: DeviceKind,
    positive: Option<usize>,
    /// Computed when the first checkpoint is written or read.
    hash: OnceLock<String>,
}

impl<'a> Origin<'a> {
    pub(crate) fn new(dataset: &'a Dataset, device: DeviceKind, settings: &Settings) -> Self {
        Self { dataset, device, positive: settings.positive, hash: OnceLock::new() }
    }

    /// Creates an origin whose hash is known.
    pub(crate) fn with_hash(dataset: &'a Dataset, device: DeviceKind, settings: &Settings, hash: String) -> Self {
        Self { hash: hash.into(), ..Self::new(dataset, device, settings) }
    }

    pub(crate) fn hash(&self) -> &str {
        self.hash.get_or_init(|| dataset_hash(self.dataset))
    }
}

/// Checkpoints of the training with one seed.
#[derive(Debug)]
pub(crate) struct SeedCheckpoints<'a> {
    checkpoints: &'a Checkpoints<'a>,
    origin: &'a Origin<'a>,
    seed: u64,
    started: Instant,
    /// Duration of the training before it was resumed, in seconds.
    earlier: f64,
    /// Time and number of epochs of the last checkpoint, or of the beginning.
    last: (Instant, usize),
    /// Whether this process writes them.
    writes: bool,
}

impl<'a> SeedCheckpoints<'a> {
    pub(crate) fn new(checkpoints: &'a Checkpoints<'a>, origin: &'a Origin<'a>, seed: u64, writes: bool) -> Self {
        let now = Instant::now();
        Self { checkpoints, origin, seed, started: now, earlier: 0.0, last: (now, 0), writes }
    }

    /// Reads the state of the training, if there is one. Fails if it is damaged or belongs to another training.
    pub(crate) fn read(&mut self) -> Result<Option<TrainState<f32>>> {
        let Some(state) = self.checkpoints.read(self.seed)? else { return Ok(None) };
        let found = |key: &str| state.metadata.get(key).map_or("unknown", String::as_str);
        let refused = |reason: String| Err(self.at_file(&reason));
        if state.seed != self.seed {
            return refused(format!("it has seed {}", state.seed));
        }
        let program = found(PROGRAM);
        if program != VERSION {
            return refused(format!("it was written by supergat {program}, but this is {VERSION}: use that version"));
        }
        let device = found(DEVICE);
        if device != self.origin.device.to_string() {
            return refused(format!(
                "it was written on the device {device}, but this training uses {}",
                self.origin.device
            ));
        }
        if found(DATASET) != self.origin.hash() {
            return refused(
                "the dataset or the order of its nodes has changed since it was written: restore it, or start anew"
                    .into(),
            );
        }
        let positive = self.origin.positive.map(|class| class.to_string());
        if state.metadata.get(POSITIVE_CLASS) != positive.as_ref() {
            return refused("it has another positive class: name the same one, or start anew".into());
        }
        self.earlier = seconds_of(&state, SECONDS);
        self.last.1 = state.history.len();
        Ok(Some(state))
    }

    /// Checks that the checkpoint, if there is one, can be used for a training with these settings.
    pub(crate) fn check(&mut self, settings: &Settings) -> Result<()> {
        let Some(state) = self.read()? else { return Ok(()) };
        let checked = state.check(&settings.architecture(self.origin.dataset), &settings.training());
        checked.map_err(|error| self.located(error))
    }

    /// Names the file in an error about its content.
    pub(crate) fn located(&self, error: Error) -> Error {
        match error {
            Error::Resume { reason } => self.at_file(&reason),
            other => other,
        }
    }

    fn at_file(&self, reason: &str) -> Error {
        self.checkpoints.at_file(self.seed, reason)
    }

    /// Returns the duration of the training, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.earlier + self.started.elapsed().as_secs_f64()
    }

    /// Writes a checkpoint after an epoch, if the interval is over or `stopping` is set. That of a finished
    /// training is kept in memory until it is worth a file.
    pub(crate) fn after_epoch<D: Device<Number = f32>>(
        &mut self,
        trainer: &Trainer<'_, D>,
        history: &[Epoch],
        stopping: bool,
    ) -> Result<()> {
        let (last, epochs) = self.last;
        let is_finished = trainer.is_finished();
        let is_due = stopping || self.checkpoints.every().is_over(last.elapsed(), history.len() - epochs);
        if !self.writes || !self.checkpoints.are_written() || !(is_due || is_finished) {
            return Ok(());
        }
        let mut state = trainer.state(history)?;
        state.metadata = HashMap::from([
            (PROGRAM.into(), VERSION.into()),
            (DATASET.into(), self.origin.hash().into()),
            (DEVICE.into(), self.origin.device.to_string()),
            (SECONDS.into(), self.seconds().to_string()),
            (ELAPSED.into(), self.checkpoints.seconds().to_string()),
            (FINISHED.into(), is_finished.to_string()),
        ]);
        state.metadata.extend(self.origin.positive.map(|class| (POSITIVE_CLASS.into(), class.to_string())));
        let bytes = state.to_bytes();
        if is_due {
            self.checkpoints.write(self.seed, bytes);
        } else {
            self.checkpoints.keep(self.seed, bytes, last, history.len() - epochs);
        }
        self.last = (Instant::now(), history.len());
        Ok(())
    }
}

/// Checkpoints of a run, and the dataset of every seed, or one for all seeds.
#[derive(Debug)]
pub(crate) struct RunCheckpoints<'a> {
    pub(crate) checkpoints: &'a Checkpoints<'a>,
    pub(crate) origins: Vec<Origin<'a>>,
    /// Whether this process writes them.
    pub(crate) writes: bool,
}

impl RunCheckpoints<'_> {
    pub(crate) fn of_job(&self, k: usize, seed: u64) -> SeedCheckpoints<'_> {
        let origin = self.origins.get(k).unwrap_or(&self.origins[0]);
        SeedCheckpoints::new(self.checkpoints, origin, seed, self.writes)
    }

    /// Checks that all checkpoints can be used.
    pub(crate) fn check(&self, settings: &Settings, seeds: &[u64]) -> Result<()> {
        seeds.iter().enumerate().try_for_each(|(k, &seed)| self.of_job(k, seed).check(settings))
    }
}
