//! Destination of a run folder, and writing it.

use super::checkpoint::{self, CheckpointFolder, Plan};
use super::publish::{is_taken, publish};
use super::report;
use super::summary::RunSummary;
use super::tables::{self, Texts};
use super::{CONFIG, FIGURES, METRICS, REPORT, SUMMARY, again, folder_name, temporary};
use crate::error::{CliError, Result};
use crate::files::{self, parent, sync_folder};
use crate::output::json;
use crate::process::interrupt::Interrupt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use supergat::{Dataset, MODEL_FILE, Training};
use supergat_studies::report::{EpochLine, Report};

/// Parent of the default run folders.
const RUNS: &str = "runs";

/// Destination of a run folder.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// The path from the root, in case that the current folder is removed meanwhile.
    absolute: Option<PathBuf>,
    /// Whether an interrupted run in this place is replaced.
    replaces: bool,
    /// Folder of the checkpoints of this run, once there are any. It reserves the name of the run folder.
    checkpoint: Mutex<Option<CheckpointFolder>>,
}

/// Contents of a run folder.
#[derive(Debug)]
pub struct Contents<'a> {
    /// Text of the configuration file.
    pub config: String,
    /// Loaded dataset.
    pub dataset: &'a Dataset,
    /// Result of every seed, and the best model.
    pub training: &'a Training,
    /// Epochs of all seeds.
    pub lines: &'a [EpochLine],
    /// Whether to write attention.csv.
    pub attention: bool,
    /// How ids and names of classes are written.
    pub texts: Texts,
}

impl RunFolder {
    /// Takes a folder named by the user, which must be new or empty.
    pub fn named(out: &Path) -> Result<Self> {
        Self::check_name(out)?;
        Self::at(out.to_owned()).probed()
    }

    /// Fails if a folder named by the user cannot become a run folder: it is not empty, or a training there is unfinished.
    pub fn check_name(out: &Path) -> Result<()> {
        let refuse = |reason: &str| Err(CliError::usage(format!("--out {}: {reason}", out.display())));
        if out.file_name().is_none() {
            return refuse("must name a new folder");
        }
        match fs::read_dir(out).map(|mut entries| entries.next().is_none()) {
            Ok(false) => return refuse("it exists and is not empty; name another folder or remove it"),
            Err(_) if out.symlink_metadata().is_ok() => return refuse("it exists and is no folder that can be read"),
            _ => {}
        }
        let checkpoint = checkpoint::path_of(out);
        if checkpoint.exists() {
            return refuse(&format!(
                "{} has an unfinished training; continue it with {}, or remove it",
                checkpoint.display(),
                checkpoint::command(out)
            ));
        }
        Ok(())
    }

    /// Takes the default folder of a dataset and model.
    pub fn default_for(dataset: &str, model: &str) -> Result<Self> {
        Self::at(Path::new(RUNS).join(folder_name(dataset, model))).probed()
    }

    /// Takes the folder of a training that is resumed. An interrupted run in this place is replaced.
    pub fn resumed(checkpoint: CheckpointFolder) -> Result<Self> {
        let folder = Self::at(checkpoint.run().to_owned());
        Self { replaces: true, checkpoint: Mutex::new(Some(checkpoint)), ..folder }.probed()
    }

    fn at(path: PathBuf) -> Self {
        let absolute = std::path::absolute(&path).ok();
        Self { path, absolute, replaces: false, checkpoint: Mutex::new(None) }
    }

    /// Returns an unfinished training that would have the same folder, unless a process is working on it.
    pub fn abandoned(&self) -> Option<PathBuf> {
        checkpoint::is_abandoned(&checkpoint::path_of(&self.path)).then(|| self.path.clone())
    }

    /// Creates the folder of the checkpoints, beside the run folder, and returns its path. Called again if the folder was
    /// removed meanwhile.
    pub fn reserve(&self, plan: &Plan) -> io::Result<PathBuf> {
        fs::create_dir_all(parent(&self.path))?;
        if self.replaces {
            return Ok(self.checkpoint().insert(CheckpointFolder::create(&self.path, plan)?).path());
        }
        let mut number = 1;
        loop {
            let run = self.numbered(number);
            // A folder with files in it is another run.
            let is_free = fs::read_dir(&run).map_or_else(|_| !run.exists(), |mut entries| entries.next().is_none());
            match if is_free { CheckpointFolder::create(&run, plan) } else { Err(io::ErrorKind::AlreadyExists.into()) }
            {
                Ok(created) => return Ok(self.checkpoint().insert(created).path()),
                Err(error) if is_taken(&error) => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes the checkpoints of the finished run. Errors are ignored: what remains is of no use, but harmless.
    pub fn remove_checkpoint(&self) {
        let _ = self.checkpoint().take().map(CheckpointFolder::remove);
    }

    fn checkpoint(&self) -> MutexGuard<'_, Option<CheckpointFolder>> {
        self.checkpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks before training that the folder can be written. Leaves nothing behind.
    fn probed(self) -> Result<Self> {
        let existing = parent(&self.path).ancestors().find(|folder| folder.exists());
        // The last ancestor of a relative path is empty and means the current folder.
        let existing = existing.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        temporary(existing).map_err(|error| CliError::cannot_write(&self.path, error))?;
        Ok(self)
    }

    /// Writes the files to the folder for temporary files, if they cannot be written to their place.
    pub fn write_elsewhere(
        &self,
        contents: &Contents<'_>,
        summary: &mut RunSummary,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let name = self.path.file_name().unwrap_or_default();
        Self::at(std::env::temp_dir().join(name)).write(contents, summary, interrupt)
    }

    /// Writes all files and sets `run_dir` of the summary. Folders that were removed meanwhile are created again.
    pub fn write(&self, contents: &Contents<'_>, summary: &mut RunSummary, interrupt: &Interrupt) -> Result<()> {
        let failed = |error: io::Error| CliError::cannot_write(&self.path, error);
        // Relative paths lead nowhere if the current folder was removed.
        if let (true, Err(_), Some(path)) = (self.path.is_relative(), std::env::current_dir(), &self.absolute) {
            return Self::at(path.clone()).write(contents, summary, interrupt);
        }
        fs::create_dir_all(parent(&self.path)).map_err(failed)?;
        // What a killed process leaves in the folder of the checkpoints is removed with it.
        let place = self.checkpoint().as_ref().map(CheckpointFolder::path).filter(|place| place.is_dir());
        let folder = temporary(place.as_deref().unwrap_or(parent(&self.path))).map_err(failed)?;
        interrupt.writing(folder.path());
        // On small graphs, the report takes as long as the tables.
        let (written, report) = rayon::join(|| contents.write(folder.path()), || contents.report(summary));
        written.map_err(failed)?;
        let report = report?;
        write_figures(&folder.path().join(FIGURES), &report).map_err(failed)?;
        let reserved = self.checkpoint().as_ref().map(|checkpoint| checkpoint.run().to_owned());
        let others = (1..).map(|number| self.numbered(number)).filter(|path| !checkpoint::path_of(path).exists());
        for path in reserved.clone().into_iter().chain(others) {
            summary.run_dir = path.display().to_string();
            let text = json(summary) + "\n";
            files::create_text(&folder.path().join(SUMMARY), &text).map_err(failed)?;
            let page = report.html(&again(&path), &contents.config);
            files::create_text(&folder.path().join(REPORT), &page).map_err(failed)?;
            sync_folder(folder.path());
            let replaces = self.replaces && reserved.as_ref() == Some(&path);
            match interrupt.publish(|| publish(folder.path(), &path, replaces)) {
                Ok(()) => break,
                Err(error) if is_taken(&error) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        // What remains under the temporary name is the replaced run, or nothing.
        drop(folder);
        sync_folder(parent(&self.path));
        Ok(())
    }

    /// Returns the path with a number: `name`, `name-2`, `name-3`, ...
    fn numbered(&self, number: usize) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        if number > 1 {
            name.push(format!("-{number}"));
        }
        self.path.with_file_name(name)
    }
}

impl Contents<'_> {
    /// Writes the files that do not depend on the report.
    fn write(&self, folder: &Path) -> io::Result<()> {
        files::create_text(&folder.join(CONFIG), &self.config)?;
        files::create(&folder.join(METRICS), |out| self.metrics(out))?;
        let (classifier, predictions, texts) = (&self.training.classifier, self.training.predicted(), self.texts);
        files::create(&folder.join(MODEL_FILE), |out| out.write_all(&classifier.to_bytes()))?;
        files::create(&folder.join("predictions.csv"), |out| {
            tables::predictions(out, self.dataset, predictions, texts)
        })?;
        if self.attention {
            files::create(&folder.join("attention.csv"), |out| {
                tables::attention(out, self.dataset, classifier, texts)
            })?;
        }
        Ok(())
    }

    fn report(&self, summary: &RunSummary) -> Result<Report> {
        let Self { dataset, training, lines, .. } = *self;
        report::make(dataset, &training.classifier, training.predicted(), lines, summary)
    }

    fn metrics(&self, out: &mut dyn Write) -> io::Result<()> {
        for line in self.lines {
            writeln!(out, "{}", serde_json::to_string(line)?)?;
        }
        Ok(())
    }
}

fn write_figures(folder: &Path, report: &Report) -> io::Result<()> {
    fs::create_dir(folder)?;
    for (name, svg) in report.figures() {
        files::create_text(&folder.join(format!("{name}.svg")), svg)?;
    }
    sync_folder(folder);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_names_are_plain_and_numbered() {
        let folder = RunFolder::default_for("my graph/2", "mlp").unwrap();
        assert_eq!(folder.numbered(1), Path::new("runs/my-graph-2-mlp"));
        assert_eq!(folder.numbered(3), Path::new("runs/my-graph-2-mlp-3"));
    }

    #[test]
    fn probing_leaves_nothing_behind() {
        let base = tempfile::tempdir().unwrap();
        RunFolder::named(&base.path().join("a/b/c")).unwrap();
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
        fs::write(base.path().join("a"), "").unwrap();
        assert!(RunFolder::named(&base.path().join("a")).is_err());
        assert!(RunFolder::named(base.path()).is_err());
        assert!(RunFolder::named(Path::new("..")).is_err());
        assert!(RunFolder::named(&base.path().join("a/b")).is_err(), "a file cannot contain a folder");
    }
}
