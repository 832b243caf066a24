//! Error type of the crate. Every message is one sentence that says where, what was expected and what was
//! found.

use crate::words::shown;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Error of reading, building or generating a dataset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A file or folder that cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// Too little memory to read a file.
    #[error(
        "{}: not enough memory to read it: {bytes} bytes could not be allocated; free memory or raise the memory limit of the process",
        path.display()
    )]
    OutOfMemory {
        /// The file; a member of an archive is named as if the archive were a folder.
        path: PathBuf,
        /// Number of bytes that could not be allocated.
        bytes: u64,
    },
    /// A file that could not be downloaded.
    #[error("cannot fetch {url}: {reason}; try again to resume, or name a mirror")]
    Download {
        /// Address of the file.
        url: String,
        /// Reason of the failure.
        reason: String,
    },
    /// A required file, folder or array that does not exist.
    #[error("{} not found: {advice}", path.display())]
    NotFound {
        /// The missing file, folder or array.
        path: PathBuf,
        /// Places that were searched, and what to do.
        advice: String,
    },
    /// A file that ends too early.
    #[error("{}, byte {offset}: the file ends within {expected}; it is truncated, fetch it again", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Offset of the incomplete value.
        offset: usize,
        /// Description of the incomplete value.
        expected: String,
    },
    /// A compressed file that cannot be decompressed.
    #[error("{}: cannot be unpacked ({reason}); it is cut off or damaged, fetch it again", path.display())]
    Damaged {
        /// The file; a member of an archive is named as if the archive were a folder.
        path: PathBuf,
        /// Message of the decompressor.
        reason: String,
    },
    /// A binary file with unexpected content.
    #[error("{}, byte {offset}: expected {expected}, found {found}", path.display())]
    Binary {
        /// The file; a member of an archive is named as if the archive were a folder.
        path: PathBuf,
        /// Offset of the unexpected content.
        offset: usize,
        /// Expected content.
        expected: String,
        /// Actual content.
        found: String,
    },
    /// A pickle that names a function or type which is not allowed.
    #[error(
        "{}, byte {offset}: refuses to load `{name}`: a data file must only name numpy and scipy array types",
        path.display()
    )]
    ForbiddenGlobal {
        /// The file.
        path: PathBuf,
        /// Offset of the name.
        offset: usize,
        /// The name, `module.attribute`.
        name: String,
    },
    /// A size beyond the limit of a reader.
    #[error("{}: {what}: expected at most {limit}, found {found}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Description of the size.
        what: &'static str,
        /// Largest allowed size.
        limit: u64,
        /// Size that the file declares, or that was read before the reader stopped.
        found: u64,
    },
    /// A property of a file or folder that does not agree with the rest of the dataset.
    #[error("{}: {what}: expected {expected}, found {found}", path.display())]
    Mismatch {
        /// The file or folder.
        path: PathBuf,
        /// Description of the property.
        what: String,
        /// Expected value, and why.
        expected: String,
        /// Actual value.
        found: String,
    },
    /// A line of a text file that cannot be parsed.
    #[error("{}, line {line}: expected {expected}, found `{found}`", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// Number of the line, counted from 1.
        line: usize,
        /// Expected content of a line.
        expected: String,
        /// Actual line, shortened.
        found: String,
    },
    /// An error in a table.
    #[error("{0}")]
    Table(Box<TableError>),
    /// A folder whose files are of no known format.
    #[error(
        "{} has no recognised dataset files (found {found}): {nearest} needs {expected}; see `supergat train --help`",
        path.display()
    )]
    UnknownFormat {
        /// The folder.
        path: PathBuf,
        /// Format that has most files in common with the folder, or that of tables.
        nearest: &'static str,
        /// Files that this format needs.
        expected: &'static str,
        /// First few files of the folder.
        found: String,
    },
    /// A name that is neither a file, a folder nor a known dataset.
    #[error(
        "unknown dataset `{}` ({}): give a known name or the folder that holds the files",
        shown(name),
        suggestion(nearest)
    )]
    UnknownDataset {
        /// Name as given.
        name: String,
        /// Known names with a similar spelling, nearest first.
        nearest: Vec<&'static str>,
    },
    /// An invalid specification of a generated graph.
    #[error("`{spec}`: expected {expected}, found `{found}`")]
    Spec {
        /// Whole specification.
        spec: String,
        /// Allowed values.
        expected: String,
        /// Value that is not allowed.
        found: String,
    },
    /// An array in memory that does not fit the dataset that is built from it.
    #[error("{what}: expected {expected}, found {found}")]
    Array {
        /// Description of the array, and the position where that matters.
        what: String,
        /// Expected size or value.
        expected: String,
        /// Actual size or value.
        found: String,
    },
    /// Readable data that does not describe a valid graph.
    #[error("{}: {source}", path.display())]
    Core {
        /// File or folder, specification of a generated graph, or name of a dataset from arrays.
        path: PathBuf,
        /// Error of the engine.
        source: supergat_core::Error,
    },
}

impl Error {
    /// Returns a function that adds the path to an error of reading.
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    /// Returns a function that adds the path to an error of writing.
    pub(crate) fn write(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::Write { path: path.to_owned(), source }
    }

    /// Returns a function that adds the path to an error of the engine.
    pub(crate) fn core(path: &Path) -> impl Fn(supergat_core::Error) -> Self + Copy {
        move |source| Self::Core { path: path.to_owned(), source }
    }

    pub(crate) fn not_found(path: impl Into<PathBuf>, advice: impl Into<String>) -> Self {
        Self::NotFound { path: path.into(), advice: advice.into() }
    }

    pub(crate) fn too_large(path: &Path, what: &'static str, limit: u64, found: u64) -> Self {
        Self::TooLarge { path: path.to_owned(), what, limit, found }
    }

    pub(crate) fn mismatch(
        path: &Path,
        what: impl Into<String>,
        expected: impl Into<String>,
        found: impl ToString,
    ) -> Self {
        let (what, expected, found) = (what.into(), expected.into(), found.to_string());
        Self::Mismatch { path: path.to_owned(), what, expected, found }
    }

    pub(crate) fn binary(path: &Path, offset: usize, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Binary { path: path.to_owned(), offset, expected: expected.into(), found: found.into() }
    }

    pub(crate) fn text(path: &Path, line: usize, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Text { path: path.to_owned(), line, expected: expected.into(), found: found.into() }
    }

    pub(crate) fn spec(spec: impl Into<String>, expected: impl Into<String>, found: impl ToString) -> Self {
        Self::Spec { spec: spec.into(), expected: expected.into(), found: found.to_string() }
    }

    pub(crate) fn array(what: impl Into<String>, expected: impl Into<String>, found: impl ToString) -> Self {
        Self::Array { what: what.into(), expected: expected.into(), found: found.to_string() }
    }
}

fn suggestion(nearest: &[&str]) -> String {
    match nearest {
        [] => "`supergat datasets` lists the known names".into(),
        some => format!("did you mean {}?", some.join(" or ")),
    }
}

/// Result with the error of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error at a position in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableError {
    /// The file, or the name of a frame in memory.
    pub path: PathBuf,
    /// Line, or row in files without lines and in frames, counted from 1; 0 for the whole table.
    pub line: u64,
    /// Word for lines in messages: `line` or `row`.
    pub unit: &'static str,
    /// Name of the column; empty for the whole line.
    pub column: String,
    /// Expected content.
    pub expected: String,
    /// Actual content.
    pub found: String,
    /// Advice on how to fix it.
    pub advice: String,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if self.line > 0 {
            write!(f, ", {} {}", self.unit, self.line)?;
        }
        if !self.column.is_empty() {
            write!(f, ", column `{}`", shown(&self.column))?;
        }
        write!(f, ": expected {}, found {}; {}", self.expected, self.found, self.advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_file_and_the_remedy() {
        let forbidden =
            Error::ForbiddenGlobal { path: "data/ind.cora.x".into(), offset: 2, name: "os.system".to_owned() };
        assert_eq!(
            forbidden.to_string(),
            "data/ind.cora.x, byte 2: refuses to load `os.system`: a data file must only name numpy and scipy array types"
        );
        let unknown = Error::UnknownDataset { name: "corra".into(), nearest: vec!["cora", "cora-ml"] };
        assert_eq!(
            unknown.to_string(),
            "unknown dataset `corra` (did you mean cora or cora-ml?): give a known name or the folder that holds the files"
        );
    }

    #[test]
    fn errors_are_small() {
        assert!(size_of::<Error>() <= 128, "{}", size_of::<Error>());
    }
}
