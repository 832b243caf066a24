//! The results file: a line for every run that has ended. Lines are only ever added.

use crate::sweep::error::SweepError;
use crate::sweep::record::{Key, Record};
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A results file, read whole and open for further lines.
#[derive(Debug)]
pub struct ResultsFile {
    path: PathBuf,
    /// `None`: it is only read.
    file: Option<File>,
    records: HashMap<Key, Record>,
    damaged: Vec<Damage>,
    /// Whether the last line has no end, so that the next one must begin with it.
    torn: bool,
}

/// A line that cannot be used. It stays where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// What every line must have, whatever else its version holds.
#[derive(Deserialize)]
struct Versioned {
    schema: u32,
}

impl ResultsFile {
    /// Opens a file for further lines, made where there is none. Nobody else can meanwhile.
    pub fn open(path: &Path) -> Result<Self, SweepError> {
        let cannot_write = |source| SweepError::Write { path: path.to_owned(), source };
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(cannot_write)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SweepError::Locked { path: path.to_owned() }),
            // Some network file systems know no locks; a single process does no harm there.
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

    fn parse(path: &Path, bytes: &[u8]) -> Self {
        let torn = bytes.last().is_some_and(|&byte| byte != b'\n');
        let mut results =
            Self { path: path.to_owned(), file: None, records: HashMap::new(), damaged: Vec::new(), torn };
        for (k, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match parse_line(line) {
                Ok(record) => results.keep(record),
                Err(reason) => results.damaged.push(Damage { line: k + 1, reason }),
            }
        }
        results
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lines that cannot be used.
    pub fn damaged(&self) -> &[Damage] {
        &self.damaged
    }

    /// A sentence for each of them.
    pub fn damage_notes(&self) -> Vec<String> {
        let place = self.path.display();
        let note = |damage: &Damage| format!("note: {place}, line {} is skipped: {}", damage.line, damage.reason);
        self.damaged.iter().map(note).collect()
    }

    /// The records, one for each run, in no particular order.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    /// Whether a run came to its end.
    pub fn holds(&self, key: &Key) -> bool {
        self.records.get(key).is_some_and(|record| record.test().is_some())
    }

    /// Adds a line: one write of the whole of it, which is on the disk when this returns.
    pub fn append(&mut self, record: Record) -> Result<(), SweepError> {
        let mut line = serde_json::to_vec(&record).expect("keys are strings");
        line.push(b'\n');
        if self.torn {
            line.insert(0, b'\n');
        }
        let file = self.file.as_mut().expect("opened for writing");
        // Should it be cut off, the next line begins with the end of this one.
        self.torn = true;
        let written = file.write(&line).and_then(|bytes| match bytes == line.len() {
            true => file.sync_data(),
            false => Err(io::ErrorKind::StorageFull.into()),
        });
        written.map_err(|source| SweepError::Write { path: self.path.clone(), source })?;
        self.torn = false;
        self.keep(record);
        Ok(())
    }

    fn keep(&mut self, record: Record) {
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
        // A device may go on without end.
        false => Err(io::Error::other("it is no regular file")),
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
    use crate::sweep::record::Status;
    use crate::sweep::record::tests::record;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        (folder, path)
    }

    #[test]
    fn lines_are_kept_and_found() {
        let (_folder, path) = place();
        let mut results = ResultsFile::open(&path).unwrap();
        let failed = Record { status: Status::Failed { reason: "x".into() }, ..record(2, 0.0) };
        results.append(record(1, 0.8)).unwrap();
        results.append(failed.clone()).unwrap();
        assert!(results.holds(&record(1, 0.0).key()), "the result is no part of the key");
        assert!(!results.holds(&failed.key()), "a failed run is to be tried again");
        drop(results);
        let mut again = ResultsFile::open(&path).unwrap();
        assert_eq!(again.records().count(), 2);
        again.append(record(2, 0.7)).unwrap();
        assert!(again.holds(&failed.key()));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().count() == 3 && text.ends_with('\n'));
        assert_eq!(ResultsFile::read(&path).unwrap().records().count(), 2);
    }

    #[test]
    fn two_cannot_write() {
        let (_folder, path) = place();
        let first = ResultsFile::open(&path).unwrap();
        assert!(matches!(ResultsFile::open(&path), Err(SweepError::Locked { .. })));
        assert!(ResultsFile::read(&path).is_ok(), "reading is no harm");
        drop(first);
        ResultsFile::open(&path).unwrap();
    }

    /// Whatever is cut off or damaged stays, is reported, and harms no other line.
    #[test]
    fn damaged_lines_stay() {
        let (_folder, path) = place();
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

    /// A file that was cut off anywhere takes further lines and loses no whole one.
    #[test]
    fn any_cut_is_survived() {
        let (_folder, path) = place();
        let line = |seed| serde_json::to_string(&record(seed, 0.8)).unwrap() + "\n";
        let (first, text) = (line(1), line(1) + &line(2));
        for cut in (0..=text.len()).step_by(7) {
            std::fs::write(&path, &text.as_bytes()[..cut]).unwrap();
            ResultsFile::open(&path).unwrap().append(record(3, 0.8)).unwrap();
            let results = ResultsFile::read(&path).unwrap();
            let whole = usize::from(cut + 1 >= first.len()) + usize::from(cut + 1 >= text.len());
            assert_eq!(results.records().count(), whole + 1, "cut at {cut}");
            assert!(results.holds(&record(3, 0.8).key()));
        }
    }

    #[test]
    fn places_that_cannot_be_written_are_said() {
        let (folder, path) = place();
        let error = ResultsFile::open(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("cannot write "), "{error}");
        assert!(matches!(ResultsFile::read(&path), Err(SweepError::Read { .. })));
        assert!(matches!(ResultsFile::read(folder.path()), Err(SweepError::Read { .. })));
    }
}
