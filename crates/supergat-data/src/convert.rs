//! Writes a dataset in a form of this project: one file, or a folder of tables.

use crate::converted;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::tables;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Writes a dataset to `place`: to one file when its name ends in `.safetensors`, which is replaced when it exists, else to a new folder of
/// tables. What is written appears whole or not at all.
pub fn convert(dataset: &Dataset, place: &Path) -> Result<()> {
    let failed = |source| Error::Write { path: place.to_owned(), source };
    if place.extension().is_some_and(|ending| ending == converted::ENDING) {
        return write_file(dataset, place).map_err(failed);
    }
    match std::fs::read_dir(place).map(|mut entries| entries.next().is_none()) {
        Ok(true) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        _ => {
            return Err(Error::Mismatch {
                path: place.to_owned(),
                what: "place for tables".into(),
                expected: "a new folder (or a file that ends in .safetensors)".into(),
                found: "something that is there already".into(),
            });
        }
    }
    write_folder(dataset, place).map_err(failed)
}

fn write_file(dataset: &Dataset, place: &Path) -> io::Result<()> {
    if place.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let folder = temporary(&parent(place))?;
    let path = folder.path().join("dataset");
    converted::write(dataset, &path)?;
    // What is written may be private; this becomes an ordinary file.
    let ordinary = File::create(folder.path().join("ordinary"))?.metadata()?.permissions();
    std::fs::set_permissions(&path, ordinary)?;
    File::open(&path)?.sync_all()?;
    std::fs::rename(path, place)
}

fn write_folder(dataset: &Dataset, place: &Path) -> io::Result<()> {
    let folder = temporary(&parent(place))?;
    let path = folder.path().join("dataset");
    std::fs::create_dir(&path)?;
    tables::write::write(dataset, &path)?;
    match std::fs::remove_dir(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => std::fs::rename(path, place),
    }
}

/// A folder that takes everything with it that is not renamed in time.
fn temporary(parent: &Path) -> io::Result<tempfile::TempDir> {
    // The full error names the temporary folder, which means nothing to anybody.
    tempfile::Builder::new().prefix(".supergat-").tempdir_in(parent).map_err(|error| error.kind().into())
}

fn parent(place: &Path) -> PathBuf {
    place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}
