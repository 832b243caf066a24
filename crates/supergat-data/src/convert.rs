//! Writes a dataset as one safetensors file or as a folder of tables.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::files::atomic;
use crate::{converted, tables};
use std::io;
use std::path::Path;

/// Writes a dataset to `target`.
///
/// A target that ends in `.safetensors` becomes one file, which overwrites an existing one. Any other target
/// becomes a folder of tables and must be new or empty. Writing is atomic: the output is complete or absent.
pub fn convert(dataset: &Dataset, target: &Path) -> Result<()> {
    let failed = Error::write(target);
    if target.extension().is_some_and(|extension| extension == converted::ENDING) {
        return atomic::replace(target, |out| converted::write(dataset, out)).map_err(failed);
    }
    match std::fs::read_dir(target).map(|mut entries| entries.next().is_none()) {
        Ok(true) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        _ => {
            let expected = "a new or empty folder (or a file that ends in .safetensors)";
            let found = "an existing file or a folder that is not empty";
            return Err(Error::mismatch(target, "output folder", expected, found));
        }
    }
    write_folder(dataset, target).map_err(failed)
}

fn write_folder(dataset: &Dataset, target: &Path) -> io::Result<()> {
    let folder = temporary_folder(atomic::parent(target))?;
    let path = folder.path().join("dataset");
    std::fs::create_dir(&path)?;
    tables::write::write(dataset, &path)?;
    match std::fs::remove_dir(target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => std::fs::rename(path, target),
    }
}

/// Creates a temporary folder that is deleted with its contents on drop.
fn temporary_folder(parent: &Path) -> io::Result<tempfile::TempDir> {
    // The full error names the temporary folder, which the user did not choose.
    tempfile::Builder::new().prefix(".supergat-").tempdir_in(parent).map_err(|error| error.kind().into())
}
