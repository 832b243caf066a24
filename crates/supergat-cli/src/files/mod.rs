//! Writing result files: folders are checked before hours of work, and every file is complete or absent.

pub use supergat_data::atomic::{
    append_entry, create, create_folder_entry, parent, replace, replace_entry, sync_folder,
};

use crate::error::{CliError, Result};
use std::io::{self, Write};
use std::path::Path;

/// Checks that files can be written to a folder; creates the folder if it is missing.
pub fn probe(folder: &Path) -> Result<()> {
    /// More bytes than the tables need.
    const ROOM: usize = 1 << 20;
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        // The full error names a temporary file, which is of no use to the user.
        let mut file = tempfile::tempfile_in(folder).map_err(|error| std::io::Error::from(error.kind()))?;
        file.write_all(&vec![0; ROOM])?;
        file.sync_all()
    });
    written.map_err(|error| CliError::cannot_write(folder, error))
}

/// Writes texts to files of a folder, each of them atomically. Symbolic links in the folder are replaced.
pub fn write<N: AsRef<str>>(folder: &Path, files: impl IntoIterator<Item = (N, String)>) -> Result<()> {
    files.into_iter().try_for_each(|(name, text)| replace_text(&folder.join(name.as_ref()), &text))
}

fn replace_text(path: &Path, text: &str) -> Result<()> {
    let written = replace_entry(path, |out| out.write_all(text.as_bytes()));
    written.map_err(|error| CliError::cannot_write(path, error))
}

/// Writes and syncs a text in a folder that is published as a whole later.
pub fn create_text(path: &Path, text: &str) -> io::Result<()> {
    create(path, |out| out.write_all(text.as_bytes()))
}
