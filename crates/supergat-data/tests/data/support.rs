//! Helpers of the tests of tables.

use supergat_data::Dataset;

/// Writes files to a temporary folder.
pub fn folder<T: AsRef<[u8]>>(files: &[(&str, T)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
    folder
}

/// Returns the notes of a dataset as one text.
pub fn notes(dataset: &Dataset) -> String {
    dataset.notes.join("\n")
}
