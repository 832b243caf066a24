//! The results file: a line for every run that finished or failed. It is append-only.

use crate::sweep::record::{Key, Record};
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use supergat_data::atomic::append_entry;
use supergat_train::device::DeviceKind;

/// An error that ends a sweep. A failed run does not end it; a results file that cannot be written does.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The results file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Results file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The results file cannot be written.
    #[error("cannot write {}: {source}; the lines before this one are safe", path.display())]
    Write {
        /// Results file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// Another process writes to the results file.
    #[error("{} is being written by another process: wait for it to end, or name another file", path.display())]
    Locked {
        /// Results file.
        path: PathBuf,
    },
    /// The threads could not be started.
    #[error("{0}")]
    Core(#[from] supergat_core::Error),
}

/// A results file, fully read and, unless read-only, open for appending. It shows the runs of one kind of
/// device: of the CPU, unless another one is selected.
#[derive(Debug)]
pub struct ResultsFile {
    path: PathBuf,
    /// `None` if read-only.
    file: Option<File>,
    records: HashMap<Key, Record>,
    /// Kind of device whose runs are shown.
    device: DeviceKind,
    damaged: Vec<DamagedLine>,
    /// Whether the last line has no line break, so that the next one must begin with one.
    torn: bool,
}

/// A line that cannot be parsed. It is skipped, but stays in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLine {
    /// Line number, counted from 1.
    pub line: usize,
    /// Reason it cannot be parsed.
    pub reason: String,
}

/// Field that lines of every format version have.
#[derive(Deserialize)]
struct Versioned {
    schema: u32,
}

impl ResultsFile {
    /// Opens a file for appending, creating it if it does not exist. Locks it against other processes.
    pub fn open(path: &Path) -> Result<Self, SweepError> {
        let cannot_write = |source| SweepError::Write { path: path.to_owned(), source };
        let mut file = append_entry(path).map_err(cannot_write)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SweepError::Locked { path: path.to_owned() }),
            // Some network file systems do not support locks; a single process is safe there.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(cannot_write(error)),
        }
        let mut results = Self::parse(path, &read(path, &mut file)?);
        results.file = Some(file);
        Ok(results)
    }

    /// Reads a file without writing to it.
    pub fn read(path: &Path) -> Result<Self, SweepError> {
        let mut file = File::open(path).map_err(|source| SweepError::Read { path: path.to_owned(), source })?;
        Ok(Self::parse(path, &read(path, &mut file)?))
    }

    /// Parses the lines of a read-only file.
    fn parse(path: &Path, bytes: &[u8]) -> Self {
        let torn = bytes.last().is_some_and(|&byte| byte != b'\n');
        let mut results = Self {
            path: path.to_owned(),
            file: None,
            records: HashMap::new(),
            device: DeviceKind::Cpu,
            damaged: Vec::new(),
            torn,
        };
        for (k, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match parse_line(line) {
                Ok(record) => results.insert(record),
                Err(reason) => results.damaged.push(DamagedLine { line: k + 1, reason }),
            }
        }
        results
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the lines that cannot be parsed.
    pub fn damaged(&self) -> &[DamagedLine] {
        &self.damaged
    }

    /// Returns a message for each damaged line.
    pub fn damage_notes(&self) -> Vec<String> {
        let path = self.path.display();
        let note = |damage: &DamagedLine| format!("note: {path}, line {} is skipped: {}", damage.line, damage.reason);
        self.damaged.iter().map(note).collect()
    }

    /// Selects the kind of device whose runs [`Self::records`] returns. Sweeps select their own.
    pub fn select(&mut self, device: DeviceKind) {
        self.device = device;
    }

    /// Returns the selected kind of device.
    pub(crate) fn selected(&self) -> DeviceKind {
        self.device
    }

    /// Returns the records of the selected kind of device, one for each run, in arbitrary order.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.all_records().filter(|record| record.device == self.device)
    }

    /// Returns the records of all kinds of devices, one for each run, in arbitrary order.
    pub fn all_records(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    /// Returns whether the file contains the result of a run. A failed run has no result.
    pub fn contains_result(&self, key: &Key) -> bool {
        self.records.get(key).is_some_and(|record| record.test().is_some())
    }

    /// Returns the record of a run, which may be a failure; `None` if it was never run.
    pub(crate) fn get(&self, key: &Key) -> Option<&Record> {
        self.records.get(key)
    }

    /// Appends a line in a single write and syncs it to disk before returning.
    pub fn append(&mut self, record: Record) -> Result<(), SweepError> {
        let mut line = serde_json::to_vec(&record).expect("keys are strings");
        line.push(b'\n');
        if self.torn {
            line.insert(0, b'\n');
        }
        let file = self.file.as_mut().expect("opened for writing");
        // If the write is cut short, the next line must begin with a line break.
        self.torn = true;
        let written = file.write(&line).and_then(|bytes| match bytes == line.len() {
            true => file.sync_data(),
            false => Err(io::ErrorKind::StorageFull.into()),
        });
        written.map_err(|source| SweepError::Write { path: self.path.clone(), source })?;
        self.torn = false;
        self.insert(record);
        Ok(())
    }

    /// Keeps the better record of each run.
    fn insert(&mut self, record: Record) {
        let key = record.key();
        if self.records.get(&key).is_none_or(|old| record.is_better_than(old)) {
            self.records.insert(key, record);
        }
    }
}

fn read(path: &Path, file: &mut File) -> Result<Vec<u8>, SweepError> {
    let mut bytes = Vec::new();
    let read = file.metadata().and_then(|metadata| match metadata.is_file() {
        true => file.read_to_end(&mut bytes),
        // A device may never reach the end of file.
        false => Err(io::Error::other("not a regular file")),
    });
    read.map_err(|source| SweepError::Read { path: path.to_owned(), source })?;
    Ok(bytes)
}

fn parse_line(line: &[u8]) -> Result<Record, String> {
    let Versioned { schema } = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if schema != Record::SCHEMA {
        return Err(format!("its schema is {schema}, but this version reads {}", Record::SCHEMA));
    }
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::record::tests::record;
    use supergat_train::task::Status;

    fn temporary_path() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        (folder, path)
    }

    #[test]
    fn appended_lines_are_read_back() {
        let (_folder, path) = temporary_path();
        let mut results = ResultsFile::open(&path).unwrap();
        let failed = Record { status: Status::Failed { reason: "x".into() }, ..record(2, 0.0) };
        results.append(record(1, 0.8)).unwrap();
        results.append(failed.clone()).unwrap();
        assert!(results.contains_result(&record(1, 0.0).key()), "the key does not contain the result");
        assert!(!results.contains_result(&failed.key()), "a failed run has no result");
        drop(results);
        let mut again = ResultsFile::open(&path).unwrap();
        assert_eq!(again.records().count(), 2);
        again.append(record(2, 0.7)).unwrap();
        assert!(again.contains_result(&failed.key()));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().count() == 3 && text.ends_with('\n'));
        assert_eq!(ResultsFile::read(&path).unwrap().records().count(), 2);
    }

    #[test]
    fn shows_the_runs_of_one_kind_of_device() {
        let (_folder, path) = temporary_path();
        let mut results = ResultsFile::open(&path).unwrap();
        let gpu = Record { device: DeviceKind::Cuda, ..record(1, 0.7) };
        results.append(record(1, 0.8)).unwrap();
        results.append(gpu.clone()).unwrap();
        assert_eq!(results.records().collect::<Vec<_>>(), [&record(1, 0.8)]);
        results.select(DeviceKind::Cuda);
        assert_eq!(results.records().collect::<Vec<_>>(), [&gpu]);
        results.select(DeviceKind::CudaTf32);
        assert_eq!((results.records().count(), results.all_records().count()), (0, 2));
    }

    #[test]
    fn locks_the_file_against_a_second_writer() {
        let (_folder, path) = temporary_path();
        let first = ResultsFile::open(&path).unwrap();
        assert!(matches!(ResultsFile::open(&path), Err(SweepError::Locked { .. })));
        assert!(ResultsFile::read(&path).is_ok(), "a locked file can be read");
        drop(first);
        ResultsFile::open(&path).unwrap();
    }

    /// Damaged lines are reported, stay in the file and do not affect other lines.
    #[test]
    fn keeps_and_reports_damaged_lines() {
        let (_folder, path) = temporary_path();
        let line = serde_json::to_string(&record(1, 0.8)).unwrap();
        let newer = line.replace("\"schema\":1", "\"schema\":7");
        let before = format!("{line}\n\nrubbish\n{newer}\n{}", &line[..line.len() / 2]);
        std::fs::write(&path, &before).unwrap();
        let mut results = ResultsFile::open(&path).unwrap();
        assert_eq!(results.damaged().iter().map(|damage| damage.line).collect::<Vec<_>>(), [3, 4, 5]);
        assert!(results.damaged()[1].reason.starts_with("its schema is 7"));
        results.append(record(2, 0.7)).unwrap();
        results.append(record(3, 0.7)).unwrap();
        let after = std::fs::read_to_string(&path).unwrap();
        assert!(after.starts_with(&format!("{before}\n{{")) && after.lines().count() == 7);
        let again = ResultsFile::read(&path).unwrap();
        assert_eq!((again.records().count(), again.damaged().len()), (3, 3));
    }

    /// Lines can be appended to a file truncated at any position, and no complete line is lost.
    #[test]
    fn appends_after_truncation_at_any_position() {
        let (_folder, path) = temporary_path();
        let line = |seed| serde_json::to_string(&record(seed, 0.8)).unwrap() + "\n";
        let (first, text) = (line(1), line(1) + &line(2));
        for cut in (0..=text.len()).step_by(7) {
            std::fs::write(&path, &text.as_bytes()[..cut]).unwrap();
            ResultsFile::open(&path).unwrap().append(record(3, 0.8)).unwrap();
            let results = ResultsFile::read(&path).unwrap();
            let whole = usize::from(cut + 1 >= first.len()) + usize::from(cut + 1 >= text.len());
            assert_eq!(results.records().count(), whole + 1, "cut at {cut}");
            assert!(results.contains_result(&record(3, 0.8).key()));
        }
    }

    #[test]
    fn reports_unreadable_and_unwritable_paths() {
        let (folder, path) = temporary_path();
        let error = ResultsFile::open(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("cannot write "), "{error}");
        assert!(matches!(ResultsFile::read(&path), Err(SweepError::Read { .. })));
        assert!(matches!(ResultsFile::read(folder.path()), Err(SweepError::Read { .. })));
    }
}
