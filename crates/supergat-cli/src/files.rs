//! Folders and files of results: known to be writable before hours of work, and whole or not there at all.

use crate::error::{CliError, Result};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Finds out before the first run whether files can be written to a folder, and makes it where there is none.
pub fn probe(folder: &Path) -> Result<()> {
    /// More than the tables need.
    const ROOM: usize = 1 << 20;
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        // The full error names a temporary file, which means nothing to anybody.
        let mut file = tempfile::tempfile_in(folder).map_err(|error| std::io::Error::from(error.kind()))?;
        file.write_all(&vec![0; ROOM])?;
        file.sync_all()
    });
    written.map_err(|error| CliError::cannot_write(folder, error))
}

/// Writes files to a folder, each whole or not at all.
pub fn write<N: AsRef<str>>(folder: &Path, files: impl IntoIterator<Item = (N, String)>) -> Result<()> {
    for (name, text) in files {
        let place = folder.join(name.as_ref());
        replace(&place, &text).map_err(|error| CliError::cannot_write(&place, error))?;
    }
    Ok(())
}

/// Writes beside the place, then renames.
fn replace(place: &Path, text: &str) -> std::io::Result<()> {
    let name = place.file_name().expect("a file in the output folder").display();
    let beside = place.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&beside, place)
    });
    // What could not be finished is not left behind; why it could not is what matters.
    written.inspect_err(|_| drop(std::fs::remove_file(&beside)))
}
