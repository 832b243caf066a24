//! Names of the files of tables.

use crate::files::decompress::ENDINGS;
use std::path::{Path, PathBuf};

pub(crate) const NODES: &str = "nodes";
pub(crate) const EDGES: &str = "edges";
pub(in crate::tables) const FEATURES: &str = "features";
pub(in crate::tables) const LABELS: &str = "labels";
pub(in crate::tables) const SPLITS: &str = "splits";

/// File extensions of tables of text, in order of precedence. They may be compressed.
const TEXT: [&str; 3] = ["csv", "tsv", "txt"];

/// Returns whether a file is the table called `stem`.
pub(in crate::tables) fn is_table(path: &Path, stem: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('.'));
    ending.is_some_and(|found| endings().any(|ending| ending == found))
}

/// Returns the file of the table `stem` in a folder, if it exists.
pub(in crate::tables) fn file_of(folder: &Path, stem: &str) -> Option<PathBuf> {
    endings().map(|ending| folder.join(format!("{stem}.{ending}"))).find(|path| path.is_file())
}

/// Returns the possible endings of a table, in order of precedence.
fn endings() -> impl Iterator<Item = String> {
    let compressed = |ending: &'static str| ENDINGS.iter().map(move |how| format!("{ending}.{how}"));
    let text = TEXT.into_iter().flat_map(move |ending| std::iter::once(ending.to_owned()).chain(compressed(ending)));
    text.chain(["parquet".to_owned()])
}
