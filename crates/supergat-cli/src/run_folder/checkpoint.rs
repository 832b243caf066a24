//! Folder of the checkpoints of a run, beside the run folder: `RUN.checkpoint`.
//!
//! It contains the configuration, `run.json` with the other options of the run, and a file per seed, which the library
//! writes. A lock prevents a second process from resuming the same training.

use super::publish::publish;
use super::summary::RunSummary;
use super::{CONFIG, SUMMARY, again, temporary};
use crate::error::{CliError, Result};
use crate::files::{self, parent, sync_folder};
use crate::output::{json, quoted};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

const ENDING: &str = ".checkpoint";
const MANIFEST: &str = "run.json";
const LOCK: &str = "lock";
/// Size of the largest file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// Options of a run besides its configuration, stored in `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the file: [`Manifest::SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// Device that trains.
    pub device: String,
    /// Whether dense products on a GPU may round their factors.
    pub tf32: bool,
    /// Number of threads, if it was given.
    pub threads: Option<u16>,
    /// Whether attention.csv was asked for.
    pub attention: bool,
    /// Whether texts in CSV files must not be formulas.
    #[serde(default)]
    pub safe_csv: bool,
    /// Interval between checkpoints.
    pub checkpoint_every: String,
    /// Folder in which the command was started; relative paths of datasets start there.
    pub started_in: PathBuf,
    /// Instruction set of the processor, which determines the last digits.
    pub instructions: String,
}

impl Manifest {
    /// Current version of the file.
    pub const SCHEMA: u32 = 1;
}

/// Contents of the folder besides the checkpoints.
#[derive(Debug)]
pub struct Plan {
    /// Text of the configuration file.
    pub config: String,
    /// Other options.
    pub manifest: Manifest,
}

/// Folder of the checkpoints of a run. It is locked against other processes, except for those that only read it.
#[derive(Debug)]
pub struct CheckpointFolder {
    run: PathBuf,
    _lock: Option<File>,
}

/// Returns the folder of the checkpoints of a run.
pub fn path_of(run: &Path) -> PathBuf {
    let mut name = run.file_name().unwrap_or_default().to_owned();
    name.push(ENDING);
    run.with_file_name(name)
}

/// Writes the files of a plan to a folder of checkpoints, if they were removed meanwhile. Errors are ignored: the
/// training itself does not need them.
pub fn restore(folder: &Path, plan: &Plan) {
    for (name, text) in [(CONFIG, plan.config.clone()), (MANIFEST, json(&plan.manifest))] {
        if !folder.join(name).exists() {
            let _ = files::write(folder, [(name, text)]);
        }
    }
}

/// Returns the command that resumes a run.
pub fn command(run: &Path) -> String {
    format!("supergat train --resume {}", quoted(&run.display().to_string()))
}

/// Returns whether there are checkpoints in a folder that no process works on.
pub fn is_abandoned(path: &Path) -> bool {
    path.join(MANIFEST).is_file() && File::open(path.join(LOCK)).is_ok_and(|file| file.try_lock().is_ok())
}

impl CheckpointFolder {
    /// Creates the folder for a run. Fails if there is one.
    pub fn create(run: &Path, plan: &Plan) -> io::Result<Self> {
        let path = path_of(run);
        if path.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let folder = temporary(parent(&path))?;
        let lock = File::create(folder.path().join(LOCK))?;
        // Some network file systems do not support locks; a single process is safe there.
        let _ = lock.try_lock();
        files::create_text(&folder.path().join(CONFIG), &plan.config)?;
        files::create_text(&folder.path().join(MANIFEST), &json(&plan.manifest))?;
        sync_folder(folder.path());
        publish(folder.path(), &path, false)?;
        let _ = folder.keep();
        sync_folder(parent(&path));
        Ok(Self { run: run.to_owned(), _lock: Some(lock) })
    }

    /// Opens the checkpoints of a training to resume. `given` is its run folder or the folder of the checkpoints. Of
    /// several processes that resume it together, one locks the folder.
    pub fn open(given: &Path, locks: bool) -> Result<(Self, Manifest)> {
        let refuse = |reason: String| CliError::usage(format!("--resume {}: {reason}", given.display()));
        let run = run_of(given).ok_or_else(|| refuse("must name a folder".into()))?;
        let path = path_of(&run);
        let summary = summary_of(&run);
        match &summary {
            Some(summary) if !summary.interrupted => {
                return Err(refuse("this run is finished, so there is nothing to resume".into()));
            }
            Some(_) if !path.exists() => {
                return Err(refuse(format!(
                    "this run was interrupted without a checkpoint: repeat it with {}",
                    again(&run)
                )));
            }
            _ if !path.exists() => {
                return Err(refuse(format!(
                    "nothing to resume: there is no {}; the first checkpoint is written after the interval \
                     of --checkpoint-every",
                    path.display()
                )));
            }
            _ => {}
        }
        let read = |name: &str| {
            read(&path.join(name)).map_err(|reason| refuse(format!("{}: {reason}", path.join(name).display())))
        };
        let text = read(MANIFEST)?;
        let lock = locks.then(|| lock(&path)).transpose().map_err(|error| match error {
            TryLockError::WouldBlock => refuse(format!("another process is working on {}", path.display())),
            TryLockError::Error(error) => refuse(format!("{}: {error}", path.display())),
        })?;
        let unreadable = |error: serde_json::Error| refuse(format!("{}: {error}", path.join(MANIFEST).display()));
        let schema = serde_json::from_str::<Versioned>(&text).map_err(unreadable)?.schema;
        if schema != Manifest::SCHEMA {
            return Err(refuse(format!(
                "expected version {} of {MANIFEST}, found {schema}: resume with the version of supergat that wrote it",
                Manifest::SCHEMA
            )));
        }
        let manifest: Manifest = serde_json::from_str(&text).map_err(unreadable)?;
        let config = read(CONFIG)?;
        let is_empty = fs::read_dir(&run).map_or_else(|_| !run.exists(), |mut entries| entries.next().is_none());
        let is_same = summary.is_some() && self::read(&run.join(CONFIG)).is_ok_and(|other| other == config);
        if !is_empty && !is_same {
            return Err(refuse(format!("{} exists, but is not this run: rename or remove it", run.display())));
        }
        if lock.is_some() {
            remove_unfinished(&path);
        }
        Ok((Self { run, _lock: lock }, manifest))
    }

    /// Returns the run folder that these checkpoints belong to.
    pub fn run(&self) -> &Path {
        &self.run
    }

    /// Returns the path of this folder.
    pub fn path(&self) -> PathBuf {
        path_of(&self.run)
    }

    /// Returns the configuration file.
    pub fn config(&self) -> PathBuf {
        self.path().join(CONFIG)
    }

    /// Removes the folder. It first gets a temporary name, so that no part of it is taken for a checkpoint.
    pub fn remove(self) -> io::Result<()> {
        let path = self.path();
        let aside = temporary(parent(&path))?;
        publish(&path, aside.path(), false)?;
        aside.close()
    }
}

/// Field that manifests of every version have.
#[derive(Deserialize)]
struct Versioned {
    schema: u32,
}

/// Returns the run folder of an argument, which may also name the folder of its checkpoints.
pub fn run_of(given: &Path) -> Option<PathBuf> {
    let given = if given.file_name().is_some() { given.to_owned() } else { given.canonicalize().ok()? };
    let name = given.file_name()?.to_str();
    let run = name.and_then(|name| name.strip_suffix(ENDING)).filter(|run| !run.is_empty());
    Some(run.map_or_else(|| given.clone(), |run| given.with_file_name(run)))
}

fn summary_of(run: &Path) -> Option<RunSummary> {
    serde_json::from_str(&read(&run.join(SUMMARY)).ok()?).ok()
}

/// Reads a small file. Pipes and devices have no end and are refused.
fn read(path: &Path) -> io::Result<String> {
    let about = fs::metadata(path)?;
    if !about.is_file() || about.len() > MOST_BYTES {
        return Err(io::Error::other("it was not written by supergat"));
    }
    fs::read_to_string(path)
}

fn lock(path: &Path) -> std::result::Result<File, TryLockError> {
    let file = files::append_entry(&path.join(LOCK)).map_err(TryLockError::Error)?;
    match file.try_lock() {
        Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
            Err(TryLockError::Error(error))
        }
        Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
        _ => Ok(file),
    }
}

/// Removes temporary files and folders of a killed process. Only the process that has the lock may do this.
fn remove_unfinished(path: &Path) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(".supergat-") {
            let _ = fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path()));
        }
    }
}
