//! Files of the cache.
//!
//! Every file is called `NAME-HASH` with an ending. Its content is followed by its key (32 bytes) and the CRC-32 of both:
//! a converted dataset in `.prepared`, an order of nodes in `.order`. The time of modification is the time of the last use.

use super::key::Key;
use crate::files::atomic;
use crate::files::read_at::{self, ReadAt};
use crate::options::Cache;
use flate2::Crc;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Ending of the files of prepared datasets.
pub(super) const DATASETS: &str = ".prepared";
/// Ending of the files of orders of nodes.
pub(super) const ORDERS: &str = ".order";
/// Number of hexadecimal digits of the key in the name of a file.
const DIGITS: usize = 32;
/// Number of bytes that are read at once to compute a checksum.
const CHUNK: usize = 1 << 20;
/// Age from which a temporary file is taken for one that a killed process left behind.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// A prepared dataset in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Name of the folder or file that the dataset was read from.
    pub name: String,
    /// File in the cache.
    pub path: PathBuf,
    /// Size of the file.
    pub bytes: u64,
    /// Time of the last use.
    pub used: SystemTime,
}

impl Cache {
    /// Lists the prepared datasets, the most recently used first. A missing folder is empty.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = self.files().filter_map(Entry::of).collect();
        entries.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.path.cmp(&b.path)));
        entries
    }

    /// Removes all prepared datasets and returns them. Other files in the folder are kept.
    ///
    /// Processes that read a removed file continue undisturbed.
    pub fn clear(&self) -> io::Result<Vec<Entry>> {
        let entries = self.entries();
        entries.iter().try_for_each(|entry| remove(&entry.path))?;
        self.remove_abandoned();
        Ok(entries)
    }

    /// Returns whether there are prepared datasets of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files().any(|path| name_before(&path, DATASETS).as_deref() == Some(name))
    }

    /// Reads the file of a key with `parse`, which gets its bytes and the length of its content. A damaged or foreign file
    /// is removed.
    pub(super) fn read<T>(&self, path: &Path, key: &Key, parse: impl FnOnce(&File, u64) -> Option<T>) -> Option<T> {
        if !fs::metadata(path).ok()?.is_file() {
            return None;
        }
        let found = intact(path, key).and_then(|(file, length)| parse(&file, length));
        // Errors are ignored: a cache that cannot be changed is still useful.
        match found {
            Some(_) => touch(path),
            None => drop(remove(path)),
        }
        found
    }

    /// Writes a file whose content `fill` writes, then removes others if the cache exceeds its limit.
    pub(super) fn write(
        &self,
        path: &Path,
        key: &Key,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        atomic::replace_entry(path, |out| {
            let mut out = Checked { out, crc: Crc::new(), left: self.limit };
            fill(&mut out)?;
            out.write_all(key)?;
            let crc = out.crc.sum();
            out.write_all(&crc.to_le_bytes())
        })?;
        self.shrink(path);
        Ok(())
    }

    /// Removes the least recently used datasets until the limit is met; `new` is kept.
    fn shrink(&self, new: &Path) {
        self.remove_abandoned();
        let mut entries = self.entries();
        let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        entries.retain(|entry| entry.path != new);
        while total > self.limit
            && let Some(oldest) = entries.pop()
        {
            // Another process may have removed it.
            let _ = remove(&oldest.path);
            total -= oldest.bytes;
        }
    }

    /// Removes temporary files that a killed process left behind.
    fn remove_abandoned(&self) {
        let is_temporary =
            |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(".supergat-"));
        let is_old = |path: &PathBuf| {
            let modified = fs::symlink_metadata(path).and_then(|about| about.modified());
            modified.is_ok_and(|modified| modified.elapsed().unwrap_or_default() >= ABANDONED)
        };
        for path in self.files().filter(is_temporary).filter(is_old) {
            let _ = remove(&path);
        }
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> + use<> {
        fs::read_dir(&self.folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
    }

    pub(super) fn path(&self, name: &str, key: &Key, ending: &str) -> PathBuf {
        let digits: String = key.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}-{digits}{ending}"))
    }
}

impl Entry {
    fn of(path: PathBuf) -> Option<Self> {
        let name = match name_before(&path, ORDERS) {
            Some(dataset) => format!("{dataset} (order of nodes)"),
            None => name_before(&path, DATASETS)?,
        };
        let about = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        Some(Self { name, bytes: about.len(), used: about.modified().ok()?, path })
    }
}

/// Returns the name in a file name that consists of a name, a hash and an ending.
fn name_before(path: &Path, ending: &str) -> Option<String> {
    let (name, digits) = path.file_name()?.to_str()?.strip_suffix(ending)?.rsplit_once('-')?;
    (digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())).then(|| name.to_owned())
}

/// Opens a file and returns the length of its content; `None` if it has another key or was changed.
fn intact(path: &Path, key: &Key) -> Option<(File, u64)> {
    let (file, length) = read_at::open(path).ok()?;
    let mut crc = [0; 4];
    let (mut found, mut sum) = ([0; size_of::<Key>()], Crc::new());
    let covered = length.checked_sub(crc.len() as u64)?;
    let content = covered.checked_sub(found.len() as u64)?;
    file.read_at(&mut crc, covered).ok()?;
    file.read_at(&mut found, content).ok()?;
    if found != *key {
        return None;
    }
    let mut buffer = vec![0; CHUNK];
    let mut at = 0;
    while at < covered {
        let bytes = &mut buffer[..CHUNK.min((covered - at) as usize)];
        file.read_at(bytes, at).ok()?;
        sum.update(bytes);
        at += bytes.len() as u64;
    }
    (u32::from_le_bytes(crc) == sum.sum()).then_some((file, content))
}

/// Sets the time of the last use.
fn touch(path: &Path) {
    // Errors are ignored: a cache that cannot be changed is still useful.
    let _ = File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Writer that computes the checksum and refuses to exceed the limit.
struct Checked<'a> {
    out: &'a mut dyn Write,
    crc: Crc,
    left: u64,
}

impl Write for Checked<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.crc.update(&bytes[..written]);
        let left = self.left.checked_sub(written as u64);
        self.left =
            left.ok_or_else(|| io::Error::other("it exceeds the size limit, which SUPERGAT_CACHE_SIZE sets"))?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
