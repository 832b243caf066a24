//! The run folder: written beside its place under another name, and renamed when it is complete.

pub mod report;
pub mod saved_model;
pub mod summary;
pub mod tables;

use crate::config::Layer;
use crate::error::{CliError, Result};
use crate::output::json;
use crate::process::interrupt::Interrupt;
use saved_model::MODEL_FILE;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use summary::RunSummary;
use supergat_data::{Dataset, SplitChoice};
use supergat_lab::Runs;
use supergat_lab::report::{EpochLine, Report};

/// The configuration.
pub const CONFIG: &str = "config.toml";
/// The epochs of all seeds.
pub const METRICS: &str = "metrics.jsonl";
/// The result.
pub const SUMMARY: &str = "summary.json";
/// The report.
pub const REPORT: &str = "report.html";
/// The folder of its figures.
pub const FIGURES: &str = "figures";

/// Where default run folders are.
const RUNS: &str = "runs";

/// A place for a run folder.
#[derive(Debug)]
pub struct RunFolder {
    place: PathBuf,
}

/// What goes into a run folder.
#[derive(Debug)]
pub struct Contents<'a> {
    /// The configuration as a file.
    pub config: String,
    /// The dataset.
    pub dataset: &'a Dataset,
    /// The dataset as it was given.
    pub source: &'a str,
    /// What was said about tables.
    pub tables: &'a Layer,
    /// Which nodes were for what.
    pub split: SplitChoice,
    /// The runs and the best model.
    pub runs: &'a Runs,
    /// The logits of the best model.
    pub logits: &'a [Vec<f32>],
    /// The epochs of all seeds.
    pub lines: &'a [EpochLine],
    /// The report.
    pub report: &'a Report,
    /// Whether attention goes in.
    pub attention: bool,
}

impl RunFolder {
    /// The folder that a person named, which must not hold anything yet.
    pub fn named(out: &Path) -> Result<Self> {
        let refuse = |reason: &str| Err(CliError::usage(format!("--out {}: {reason}", out.display())));
        if out.file_name().is_none() {
            return refuse("must name a new folder");
        }
        match fs::read_dir(out).map(|mut entries| entries.next().is_none()) {
            Ok(false) => return refuse("it exists and is not empty; name another folder or remove it"),
            Err(_) if out.symlink_metadata().is_ok() => return refuse("it exists and is no folder that can be read"),
            _ => {}
        }
        Self { place: out.to_owned() }.probed()
    }

    /// The folder of a dataset and model.
    pub fn default_for(dataset: &str, model: &str) -> Result<Self> {
        Self { place: Path::new(RUNS).join(folder_name(dataset, model)) }.probed()
    }

    /// Finds out before training whether a folder can be written there, and leaves no trace of it.
    fn probed(self) -> Result<Self> {
        let existing = parent(&self.place).ancestors().find(|folder| folder.exists());
        // The last ancestor of a relative path is empty, which means the current folder.
        let existing = existing.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        temporary(existing).map_err(|error| CliError::cannot_write(&self.place, error))?;
        Ok(self)
    }

    /// Writes everything; gives the summary the folder's name.
    pub fn write(&self, contents: &Contents<'_>, summary: &mut RunSummary, interrupt: &Interrupt) -> Result<()> {
        let failed = |error: io::Error| CliError::cannot_write(&self.place, error);
        fs::create_dir_all(parent(&self.place)).map_err(failed)?;
        let folder = temporary(parent(&self.place)).map_err(failed)?;
        interrupt.writing(folder.path());
        contents.write(folder.path()).map_err(failed)?;
        for number in 1.. {
            let place = self.numbered(number);
            summary.run_dir = place.display().to_string();
            let text = json(summary) + "\n";
            write_file(folder.path(), SUMMARY, |out| out.write_all(text.as_bytes())).map_err(failed)?;
            let page = contents.report.html(&again(&place), &contents.config);
            write_file(folder.path(), REPORT, |out| out.write_all(page.as_bytes())).map_err(failed)?;
            sync(folder.path());
            match interrupt.publish(|| rename(folder.path(), &place)) {
                Ok(()) => break,
                Err(error) if taken(&error) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        // It is no longer where it would be removed from.
        let _ = folder.keep();
        sync(parent(&self.place));
        Ok(())
    }

    /// `name`, `name-2`, `name-3`, ...
    fn numbered(&self, number: usize) -> PathBuf {
        let mut name = self.place.file_name().unwrap_or_default().to_owned();
        if number > 1 {
            name.push(format!("-{number}"));
        }
        self.place.with_file_name(name)
    }
}

impl Contents<'_> {
    fn write(&self, folder: &Path) -> io::Result<()> {
        write_file(folder, CONFIG, |out| out.write_all(self.config.as_bytes()))?;
        write_file(folder, METRICS, |out| self.metrics(out))?;
        let model = saved_model::to_bytes(self.dataset, self.source, self.split, self.tables, self.runs);
        write_file(folder, MODEL_FILE, |out| out.write_all(&model))?;
        write_file(folder, "predictions.csv", |out| tables::predictions(out, self.dataset, self.logits))?;
        if self.attention {
            write_file(folder, "attention.csv", |out| tables::attention(out, self.dataset, &self.runs.model))?;
        }
        let figures = folder.join(FIGURES);
        fs::create_dir(&figures)?;
        for (name, svg) in self.report.figures() {
            write_file(&figures, &format!("{name}.svg"), |out| out.write_all(svg.as_bytes()))?;
        }
        sync(&figures);
        Ok(())
    }

    fn metrics(&self, out: &mut dyn Write) -> io::Result<()> {
        for line in self.lines {
            writeln!(out, "{}", serde_json::to_string(line)?)?;
        }
        Ok(())
    }
}

/// A name made from those of a dataset and a model.
pub fn folder_name(dataset: &str, model: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    format!("{dataset}-{model}").chars().map(plain).collect()
}

/// The folder that holds a file or folder.
fn parent(place: &Path) -> &Path {
    place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary(parent: &Path) -> io::Result<tempfile::TempDir> {
    // The full error names the temporary folder, which means nothing to anybody.
    tempfile::Builder::new().prefix(".supergat-").tempdir_in(parent).map_err(|error| error.kind().into())
}

/// Renames to a place where there is nothing, or an empty folder.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::remove_dir(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::rename(from, to),
    }
}

fn taken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory
    )
}

fn write_file(folder: &Path, name: &str, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(folder.join(name))?);
    fill(&mut out)?;
    out.into_inner()?.sync_all()
}

/// Makes the names in a folder last. Not every system can, and the files themselves are safe by then.
fn sync(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// The command that repeats the run of a folder.
pub fn again(folder: &Path) -> String {
    format!("supergat train --config {}", quoted(&folder.join(CONFIG).display().to_string()))
}

/// A word as shells take it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-:=,+".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_typed() {
        assert_eq!(again(Path::new("runs/cora-mlp")), "supergat train --config runs/cora-mlp/config.toml");
        assert_eq!(quoted("my run's"), "'my run'\\''s'");
    }

    #[test]
    fn names_are_plain_and_numbered() {
        let folder = RunFolder::default_for("my graph/2", "mlp").unwrap();
        assert_eq!(folder.numbered(1), Path::new("runs/my-graph-2-mlp"));
        assert_eq!(folder.numbered(3), Path::new("runs/my-graph-2-mlp-3"));
    }

    #[test]
    fn only_new_or_empty_places_are_taken() {
        let base = tempfile::tempdir().unwrap();
        let (from, to) = (base.path().join("from"), base.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("file"), "new").unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(to.join("file"), "old").unwrap();
        assert!(taken(&rename(&from, &to).unwrap_err()));
        assert_eq!(fs::read_to_string(to.join("file")).unwrap(), "old");
        fs::remove_file(to.join("file")).unwrap();
        rename(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("file")).unwrap(), "new");
    }

    #[test]
    fn asking_for_a_place_leaves_no_trace() {
        let base = tempfile::tempdir().unwrap();
        RunFolder::named(&base.path().join("a/b/c")).unwrap();
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
        fs::write(base.path().join("a"), "").unwrap();
        assert!(RunFolder::named(&base.path().join("a")).is_err());
        assert!(RunFolder::named(base.path()).is_err());
        assert!(RunFolder::named(Path::new("..")).is_err());
        assert!(RunFolder::named(&base.path().join("a/b")).is_err(), "a file is no parent");
    }
}
