//! Key of a prepared dataset: a hash of everything that determines it.

use crate::files::{self, atomic, sha256};
use crate::options::{CacheChoice, LoadOptions, NodeOrderChoice};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use supergat_cpu::kernels::Simd;

/// Version of the prepared datasets. Increase it when a reader returns another dataset for the same files.
const VERSION: u32 = 4;

/// Folders that commands write results to, also if they run in the folder of a dataset. They are no input.
const OUTPUTS: [&str; 2] = ["runs", "tune"];

/// Maximum depth of folders in a dataset.
const MAX_DEPTH: usize = 8;
/// Maximum number of files and folders of a dataset.
const MAX_ENTRIES: usize = 10_000;
/// Maximum total size of the files of a dataset in bytes.
const MAX_BYTES: u64 = 4 * files::MAX_BYTES;

/// Hash that identifies a prepared dataset.
pub(super) type Key = [u8; 32];

/// Input files of a dataset, with the properties that change when a file does.
#[derive(Debug, PartialEq, Default)]
pub(super) struct Inputs {
    files: Vec<Input>,
    /// Number of files and folders.
    entries: usize,
    /// Total size of the files.
    bytes: u64,
}

#[derive(Debug, PartialEq)]
struct Input {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Inputs {
    /// Lists the files of a dataset: all files in a folder, or a file and those of the same name with another
    /// extension. Hidden files are no input.
    ///
    /// Returns `None` if a file is unreadable, or if there are too many or too large ones to hash.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let mut inputs = Self::default();
        if path.is_dir() {
            inputs.add_folder(path, MAX_DEPTH)?;
        } else {
            let stem = stem(&path.file_name()?.to_string_lossy()).to_owned();
            let folder = atomic::parent(path);
            for name in files::list(folder).ok()?.iter().filter(|name| self::stem(name) == stem) {
                inputs.add_file(folder.join(name))?;
            }
        }
        Some(inputs)
    }

    fn add_folder(&mut self, folder: &Path, depth: usize) -> Option<()> {
        let names = files::list(folder).ok()?;
        for name in names.iter().filter(|name| !name.starts_with('.')) {
            let path = folder.join(name);
            if !path.is_dir() {
                self.add_file(path)?;
            } else if !OUTPUTS.contains(&name.as_str()) {
                self.count(0)?;
                self.add_folder(&path, depth.checked_sub(1)?)?;
            }
        }
        Some(())
    }

    /// Adds a regular file; pipes and devices are no input.
    fn add_file(&mut self, path: PathBuf) -> Option<()> {
        let about = fs::metadata(&path).ok()?;
        self.count(about.len())?;
        if about.is_file() {
            self.files.push(Input { path, bytes: about.len(), modified: about.modified().ok() });
        }
        Some(())
    }

    /// Counts a file or folder; returns `None` beyond the limits.
    fn count(&mut self, bytes: u64) -> Option<()> {
        self.entries += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        (self.entries <= MAX_ENTRIES && self.bytes <= MAX_BYTES).then_some(())
    }

    /// Hashes the contents and names of the files, the reader, the options, the version and the kind of machine.
    /// Returns `None` if a file cannot be read.
    pub(super) fn key(&self, format: &str, path: &Path, options: &LoadOptions) -> Option<Key> {
        // The text for debugging contains all fields of the options, also those that are not saved with a model.
        let node_order = NodeOrderChoice::default();
        let split = options.split.of_reader();
        let options = LoadOptions { cache: CacheChoice::Off, node_order, split, ..options.clone() };
        let program = (VERSION, env!("CARGO_PKG_VERSION"), cfg!(feature = "parquet"));
        // Principal components differ in the last digits between instruction sets. AVX-512 computes as AVX2 does.
        let machine = (std::env::consts::OS, std::env::consts::ARCH, Simd::active().min(Simd::Avx2));
        let about = (program, machine, format, names(path), options);
        let hashes = self.files.par_iter().map(|input| {
            let name = input.path.strip_prefix(atomic::parent(path)).unwrap_or(&input.path).to_owned();
            Some((name, sha256(&input.path).ok()?))
        });
        let hashes: Option<Vec<_>> = hashes.collect();
        Some(Sha256::digest(format!("{about:?} {:?}", hashes?)).into())
    }
}

/// Returns the part of a file name before the first dot.
fn stem(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Returns the name of a folder, or those of a file and its folder, as given and with links resolved: the name of a
/// dataset can depend on them.
fn names(path: &Path) -> Vec<PathBuf> {
    let forms = [std::path::absolute(path), path.canonicalize()];
    let count = if path.is_dir() { 1 } else { 2 };
    let last = |path: PathBuf| path.iter().skip(path.iter().count().saturating_sub(count)).collect();
    forms.into_iter().flatten().map(last).collect()
}

/// Returns the name that is shown for the dataset at `path`: that of the folder or file, in plain characters.
pub(super) fn name(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    plain(&path.file_name().unwrap_or_default().to_string_lossy())
}

/// Returns a name in plain characters.
pub(super) fn plain(name: &str) -> String {
    const MOST: usize = 60;
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = name.chars().take(MOST).map(plain).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "dataset".into() } else { name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SplitChoice, TableOptions};

    fn key(path: &Path, format: &str, options: &LoadOptions) -> Option<Key> {
        Inputs::of(path)?.key(format, path, options)
    }

    #[test]
    fn key_changes_with_everything_that_determines_the_dataset() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("mine");
        fs::create_dir_all(folder.join("split/time")).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        write("a.csv", "1");
        write("split/time/train.csv", "2");
        let now = || key(&folder, "tables", &LoadOptions::default()).unwrap();
        let first = now();
        // Neither of these is an input.
        fs::create_dir(folder.join("runs")).unwrap();
        write("runs/report.html", "");
        write(".hidden", "");
        write("a.csv", "1");
        assert_eq!(now(), first);
        let mut keys = vec![first];
        let mut is_new = |key: Key| {
            assert!(!keys.contains(&key));
            keys.push(key);
        };
        write("a.csv", "3");
        is_new(now());
        write("split/time/train.csv", "4");
        is_new(now());
        fs::rename(folder.join("a.csv"), folder.join("b.csv")).unwrap();
        is_new(now());
        is_new(key(&folder, "other", &LoadOptions::default()).unwrap());
        let split = SplitChoice::Random { seed: 1 };
        is_new(key(&folder, "tables", &LoadOptions { split, ..Default::default() }).unwrap());
        for tables in [
            TableOptions { label_column: Some("x".into()), ..Default::default() },
            TableOptions { labels_optional: true, ..Default::default() },
        ] {
            is_new(key(&folder, "tables", &LoadOptions { tables, ..Default::default() }).unwrap());
        }
        fs::rename(&folder, root.path().join("renamed")).unwrap();
        is_new(key(&root.path().join("renamed"), "tables", &LoadOptions::default()).unwrap());
    }

    #[test]
    fn key_does_not_depend_on_the_place_or_the_cache() {
        let roots = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let keys = roots.each_ref().map(|root| {
            let folder = root.path().join("mine");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("x.npz"), "1").unwrap();
            let options = LoadOptions { cache: CacheChoice::In(crate::Cache::new(root.path())), ..Default::default() };
            [key(&folder, "", &options).unwrap(), key(&folder.join("x.npz"), "", &options).unwrap()]
        });
        assert_eq!(keys[0], keys[1]);
        assert_ne!(keys[0][0], keys[0][1]);
    }

    #[test]
    fn inputs_of_a_file_are_those_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["x.npz", "x.labels.csv", "y.npz"] {
            fs::write(folder.path().join(name), "1").unwrap();
        }
        assert_eq!(Inputs::of(&folder.path().join("x.npz")).unwrap().files.len(), 2);
        assert_eq!(Inputs::of(folder.path()).unwrap().files.len(), 3);
    }

    #[test]
    fn folders_that_are_too_deep_have_no_inputs() {
        let folder = tempfile::tempdir().unwrap();
        let at = |depth: usize| folder.path().join("a/".repeat(depth));
        fs::create_dir_all(at(MAX_DEPTH)).unwrap();
        assert!(Inputs::of(folder.path()).is_some());
        fs::create_dir(at(MAX_DEPTH + 1)).unwrap();
        assert!(Inputs::of(folder.path()).is_none());
    }

    /// Folders that contain themselves have an infinite number of paths.
    #[cfg(unix)]
    #[test]
    fn folders_that_contain_themselves_have_no_inputs() {
        let folder = tempfile::tempdir().unwrap();
        for k in 0..9 {
            std::os::unix::fs::symlink(".", folder.path().join(format!("self{k}"))).unwrap();
        }
        assert!(Inputs::of(folder.path()).is_none());
    }

    #[test]
    fn names_are_plain() {
        for (path, expected) in [("a/crocodile", "crocodile"), ("/", "dataset"), ("x/m n/é", "_"), ("a/.b", "b")] {
            assert_eq!(name(Path::new(path)), expected);
        }
        assert_eq!(name(Path::new(&"x".repeat(1000))).len(), 60);
    }
}
