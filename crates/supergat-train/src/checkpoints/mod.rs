//! Checkpoints of runs: a folder with a file per seed, from which an interrupted run is resumed.
//!
//! A file is replaced atomically, so a killed process leaves the previous one. A checkpoint that cannot be written
//! is reported, and training continues.

mod interval;
mod seed;

pub use interval::Interval;
pub(crate) use seed::{Origin, RunCheckpoints, SeedCheckpoints};

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use supergat_core::{Error, Result, TrainState};
use supergat_data::atomic;

/// Keys of the metadata of a file: whether the training is finished, and the duration of the whole run.
const FINISHED: &str = "finished";
const ELAPSED: &str = "elapsed";
/// Size of the largest file that is read.
const MOST_BYTES: u64 = 16 << 30;
/// Bytes of finished trainings that are kept in memory before they are written.
const MOST_KEPT: usize = 64 << 20;

/// Checkpoints of a run: the folder that contains them, and how often they are written.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_train::{Checkpoints, Interval, Observation, Settings, resume_seeds, run_seeds};
/// # let temporary = tempfile::tempdir().unwrap();
/// # let folder = temporary.path().join("run.checkpoint");
/// let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap();
/// let settings = Settings::general("gat-go".parse().unwrap()).with(|s| s.training.max_epochs = 9);
///
/// // The first call is interrupted, the second one resumes.
/// let train = |last: usize| {
///     let checkpoints = Checkpoints::in_folder(&folder, Interval::default());
///     resume_seeds(&dataset, &settings, &[0, 1], 2, Some(&checkpoints), |event| match event {
///         Observation::Epoch(_, epoch) if epoch.epoch == last => ControlFlow::Break(()),
///         _ => ControlFlow::Continue(()),
///     })
/// };
/// assert!(train(4)?.interrupted);
/// let resumed = train(usize::MAX)?;
/// // A process that is killed while it writes leaves a temporary file.
/// std::fs::write(folder.join(".supergat-x1y2"), "part").unwrap();
/// Checkpoints::in_folder(&folder, Interval::default()).remove().unwrap();
/// assert!(!folder.exists());
///
/// let whole = run_seeds(&dataset, &settings, &[0, 1], 2, |_| ControlFlow::Continue(()))?;
/// assert_eq!((resumed.logits, resumed.runs[1].history.len()), (whole.logits, 9));
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub struct Checkpoints<'a> {
    every: Interval,
    place: Place<'a>,
    report: Box<dyn Fn(Saving<'_>) + Send + Sync + 'a>,
    started: Instant,
    state: Mutex<State>,
}

/// Place of the checkpoints.
enum Place<'a> {
    /// A folder, and what creates it.
    Folder(Box<dyn Fn() -> io::Result<PathBuf> + Send + Sync + 'a>),
    /// The process that has the folder: the state to resume from, and what sends further ones.
    Elsewhere(Option<Vec<u8>>, Box<Sender<'a>>),
}

/// Sends a checkpoint to another process. That of a finished training has the age of its oldest epoch that is not
/// written yet, and the number of these epochs.
type Sender<'a> = dyn Fn(&[u8], Option<(Duration, usize)>) + Send + Sync + 'a;

/// Result of writing a checkpoint, passed to the function of [`Checkpoints::report_to`].
#[derive(Debug, Clone, Copy)]
pub enum Saving<'a> {
    /// A checkpoint was written to this folder.
    Saved(&'a Path),
    /// The checkpoint could not be written. The previous one is unchanged.
    Failed(&'a io::Error),
}

/// A training in the folder of checkpoints, listed by [`Checkpoints::found`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundSeed {
    /// Seed of the training.
    pub seed: u64,
    /// Number of its epochs.
    pub epochs: usize,
    /// Whether it is finished.
    pub is_finished: bool,
    /// Duration of the whole run when the file was written, in seconds.
    pub elapsed: f64,
}

#[derive(Debug, Default)]
struct State {
    /// Folder, once it exists.
    folder: Option<PathBuf>,
    /// Duration of the run before it was resumed, in seconds.
    earlier: f64,
    kept: Kept,
}

/// Files of finished trainings that are not written yet.
#[derive(Debug, Default)]
struct Kept {
    files: Vec<(u64, Vec<u8>)>,
    /// Beginning of the oldest epoch in these files that is not in a written file.
    since: Option<Instant>,
    /// Number of epochs that are not in a written file.
    epochs: usize,
}

impl fmt::Debug for Checkpoints<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Checkpoints").field("every", &self.every).field("state", &self.state).finish()
    }
}

impl<'a> Checkpoints<'a> {
    /// Uses a folder, which is created with the first checkpoint. Trainings that it contains are resumed.
    pub fn in_folder(folder: &Path, every: Interval) -> Self {
        let path = folder.to_owned();
        Self::created_by(every, move || fs::create_dir_all(&path).map(|()| path.clone())).resuming(folder)
    }

    /// Resumes the trainings in a folder, if it exists.
    pub fn resuming(self, folder: &Path) -> Self {
        if folder.is_dir() {
            self.state().folder = Some(folder.to_owned());
        }
        self
    }

    /// Uses a folder that `create` creates and names before the first checkpoint is written. It is called again if
    /// it fails, and if the folder was removed meanwhile.
    pub fn created_by(every: Interval, create: impl Fn() -> io::Result<PathBuf> + Send + Sync + 'a) -> Self {
        Self::new(every, Place::Folder(Box::new(create)))
    }

    /// Sends checkpoints to the process that has the folder. The run has lasted for `elapsed`, and is resumed from
    /// `state`.
    pub(crate) fn sent(
        every: Interval,
        elapsed: Duration,
        state: Option<Vec<u8>>,
        send: impl Fn(&[u8], Option<(Duration, usize)>) + Send + Sync + 'a,
    ) -> Self {
        let checkpoints = Self::new(every, Place::Elsewhere(state, Box::new(send)));
        checkpoints.state().earlier = elapsed.as_secs_f64();
        checkpoints
    }

    fn new(every: Interval, place: Place<'a>) -> Self {
        let report = Box::new(|_: Saving<'_>| {});
        Self { every, place, report, started: Instant::now(), state: Mutex::default() }
    }

    /// Calls `report` after every attempt to write a checkpoint.
    pub fn report_to(mut self, report: impl Fn(Saving<'_>) + Send + Sync + 'a) -> Self {
        self.report = Box::new(report);
        self
    }

    /// Lists the trainings in the folder, in the order of their seeds. Fails if a file is damaged.
    pub fn found(&self) -> Result<Vec<FoundSeed>> {
        let Some(folder) = self.folder() else { return Ok(Vec::new()) };
        let entries = fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(|error| Error::Resume { reason: format!("{}: {error}", folder.display()) })?;
        let mut seeds: Vec<u64> = entries.iter().filter_map(|entry| seed_of(&entry.path())).collect();
        seeds.sort_unstable();
        let mut found = Vec::new();
        for seed in seeds {
            let Some(state) = self.read(seed)? else { continue };
            let elapsed = seconds_of(&state, ELAPSED);
            let is_finished = state.metadata.get(FINISHED).is_some_and(|text| text == "true");
            found.push(FoundSeed { seed, epochs: state.history.len(), is_finished, elapsed });
        }
        self.state().earlier = found.iter().map(|seed| seed.elapsed).fold(0.0, f64::max);
        Ok(found)
    }

    /// Returns the duration of the run in seconds, including the time before it was resumed if
    /// [`Checkpoints::found`] was called.
    pub fn seconds(&self) -> f64 {
        self.state().earlier + self.started.elapsed().as_secs_f64()
    }

    /// Returns the folder, once it exists.
    pub fn folder(&self) -> Option<PathBuf> {
        self.state().folder.clone()
    }

    /// Returns the interval.
    pub fn every(&self) -> Interval {
        self.every
    }

    /// Writes the checkpoints of all finished trainings that are not written yet.
    pub fn flush(&self) {
        if self.are_written() {
            self.write_all(&mut self.state(), None);
        }
    }

    /// Removes all checkpoints, with what a killed training has left of one, and the folder if it is empty then.
    pub fn remove(&self) -> io::Result<()> {
        let Some(folder) = self.folder() else { return Ok(()) };
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let is_left = entry.file_name().to_str().is_some_and(|name| name.starts_with(atomic::TEMPORARY));
            if is_left || seed_of(&entry.path()).is_some() {
                fs::remove_file(entry.path())?;
            }
        }
        match fs::remove_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns whether checkpoints are written at all.
    pub(crate) fn are_written(&self) -> bool {
        self.every != Interval::Never
    }

    /// Returns the file of a training, if there is one.
    pub(crate) fn bytes(&self, seed: u64) -> Result<Option<Vec<u8>>> {
        if let Place::Elsewhere(state, _) = &self.place {
            return Ok(state.clone());
        }
        let Some(folder) = self.folder() else { return Ok(None) };
        match bytes_of(&folder.join(file_name(seed))) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.at_file(seed, &error.to_string())),
        }
    }

    /// Reads the state of a training, if there is one.
    fn read(&self, seed: u64) -> Result<Option<TrainState<f32>>> {
        let Some(bytes) = self.bytes(seed)? else { return Ok(None) };
        TrainState::from_bytes(&bytes).map(Some).map_err(|error| match error {
            Error::Resume { reason } => {
                self.at_file(seed, &format!("{reason}; without this file, seed {seed} is trained from the beginning"))
            }
            other => other,
        })
    }

    /// Returns an error about the file of a training.
    fn at_file(&self, seed: u64, reason: &str) -> Error {
        let path = self.folder().unwrap_or_default().join(file_name(seed));
        Error::Resume { reason: format!("{}: {reason}", path.display()) }
    }

    /// Writes the file of a training, and those of finished ones before it.
    pub(crate) fn write(&self, seed: u64, bytes: Vec<u8>) {
        if let Place::Elsewhere(_, send) = &self.place {
            return send(&bytes, None);
        }
        self.write_all(&mut self.state(), Some((seed, bytes)));
    }

    /// Keeps the file of a finished training until its last `epochs` epochs, since `since`, are worth a checkpoint.
    pub(crate) fn keep(&self, seed: u64, bytes: Vec<u8>, since: Instant, epochs: usize) {
        if let Place::Elsewhere(_, send) = &self.place {
            return send(&bytes, Some((since.elapsed(), epochs)));
        }
        let mut state = self.state();
        let kept = &mut state.kept;
        kept.files.push((seed, bytes));
        kept.since = Some(kept.since.map_or(since, |oldest| oldest.min(since)));
        kept.epochs += epochs;
        let time = kept.since.map(|since| since.elapsed()).unwrap_or_default();
        let is_large = kept.files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > MOST_KEPT;
        if is_large || self.every.is_over(time, kept.epochs) {
            self.write_all(&mut state, None);
            if is_large {
                // Those that could not be written would fill the memory.
                state.kept = Kept::default();
            }
        }
    }

    /// Writes all kept files and a further one. Failures are reported.
    fn write_all(&self, state: &mut State, further: Option<(u64, Vec<u8>)>) {
        if state.kept.files.is_empty() && further.is_none() {
            return;
        }
        match self.try_write_all(state, further) {
            Ok(()) => (self.report)(Saving::Saved(state.folder.as_deref().unwrap_or(Path::new("")))),
            Err(error) => (self.report)(Saving::Failed(&error)),
        }
    }

    fn try_write_all(&self, state: &mut State, further: Option<(u64, Vec<u8>)>) -> io::Result<()> {
        let folder = match (&state.folder, &self.place) {
            (Some(folder), _) if folder.is_dir() => folder.clone(),
            (_, Place::Folder(create)) => state.folder.insert(create()?).clone(),
            (_, Place::Elsewhere(..)) => unreachable!("checkpoints are sent"),
        };
        let write = |(seed, bytes): &(u64, Vec<u8>)| {
            atomic::replace_entry(&folder.join(file_name(*seed)), |out| out.write_all(bytes))
        };
        while let Some(file) = state.kept.files.last() {
            write(file)?;
            state.kept.files.pop();
        }
        state.kept = Kept::default();
        further.as_ref().map_or(Ok(()), write)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a regular file of limited size. Pipes and devices have no end and are refused.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let about = fs::metadata(path)?;
    if !about.is_file() || about.len() > MOST_BYTES {
        return Err(io::Error::other("it is no checkpoint of a training"));
    }
    fs::read(path)
}

/// Returns the name of the file of a training.
fn file_name(seed: u64) -> String {
    format!("seed-{seed}.safetensors")
}

/// Returns the seed of a file; `None` for other files.
fn seed_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let seed = name.strip_prefix("seed-")?.strip_suffix(".safetensors")?.parse().ok()?;
    (file_name(seed) == name).then_some(seed)
}

/// Returns a duration in the metadata of a file, in seconds; 0 if it is missing or unreadable.
fn seconds_of(state: &TrainState<f32>, key: &str) -> f64 {
    let seconds = state.metadata.get(key).and_then(|text| text.parse().ok());
    seconds.filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0).unwrap_or(0.0)
}
