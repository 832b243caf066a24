//! The one error type of the crate. Every message is one sentence that says where, what was expected and what was found.

use std::fmt;
use std::path::PathBuf;

/// What can go wrong when reading or generating a dataset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system would not give the file.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The operating system would not take the file.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file that could not be fetched.
    #[error("cannot fetch {url}: {reason}; try again to resume, or name a mirror")]
    Download {
        /// Its address.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// Something that must be there is not.
    #[error("{} not found: {advice}", path.display())]
    NotFound {
        /// What was looked for.
        path: PathBuf,
        /// Where it was looked for, and what to do.
        advice: String,
    },
    /// The file ends too early.
    #[error("{}, byte {offset}: the file ends within {expected}; it is truncated, fetch it again", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Where the part begins that is cut off.
        offset: usize,
        /// That part, in words.
        expected: String,
    },
    /// An archive that cannot be unpacked.
    #[error("{}: cannot be unpacked ({reason}); it is cut off or damaged, fetch it again", path.display())]
    Damaged {
        /// The archive; a member is named as if the archive were a folder.
        path: PathBuf,
        /// What the unpacker said.
        reason: String,
    },
    /// A pickle that holds something else than a dataset's arrays and lists.
    #[error("{}, byte {offset}: expected {expected}, found {found}", path.display())]
    Pickle {
        /// The file.
        path: PathBuf,
        /// Where the value or the instruction begins.
        offset: usize,
        /// What a dataset has there.
        expected: String,
        /// What the file has there.
        found: String,
    },
    /// A binary file that holds something else than it must.
    #[error("{}, byte {offset}: expected {expected}, found {found}", path.display())]
    Binary {
        /// The file; a member of an archive is named as if the archive were a folder.
        path: PathBuf,
        /// Where the part begins.
        offset: usize,
        /// What must stand there.
        expected: String,
        /// What the file has there.
        found: String,
    },
    /// A pickle that names something that might be executed.
    #[error(
        "{}, byte {offset}: refuses to load `{name}`: a data file must only name numpy and scipy array types",
        path.display()
    )]
    ForbiddenGlobal {
        /// The file.
        path: PathBuf,
        /// Where the name stands.
        offset: usize,
        /// The name, `module.attribute`.
        name: String,
    },
    /// More than the reader is willing to hold in memory.
    #[error("{}: {what}: expected at most {limit}, found {found}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What is too large, in words.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// What the file claims, or how far the reader got.
        found: u64,
    },
    /// Two parts of a dataset that must agree do not.
    #[error("{}: {what}: expected {expected}, found {found}", path.display())]
    Mismatch {
        /// The file, or the folder when the parts are files.
        path: PathBuf,
        /// What was compared, in words.
        what: String,
        /// What it must be, and why.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A line of a text file that cannot be understood.
    #[error("{}, line {line}: expected {expected}, found `{found}`", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What a line must be.
        expected: String,
        /// The line as it is.
        found: String,
    },
    /// A table that cannot be used as it is.
    #[error("{0}")]
    Table(Box<TableError>),
    /// A folder whose files are of no known format.
    #[error("{} holds no known dataset: expected {expected}, found {found}", path.display())]
    UnknownFormat {
        /// The folder.
        path: PathBuf,
        /// The files of each known format.
        expected: String,
        /// The first few files of the folder.
        found: String,
    },
    /// A name that is neither a folder nor a known dataset.
    #[error("unknown dataset `{name}` ({}): give a known name or the folder that holds the files", suggestion(nearest))]
    UnknownDataset {
        /// The name as given.
        name: String,
        /// Known names that are spelt alike, nearest first.
        nearest: Vec<&'static str>,
    },
    /// A generator's specification that cannot be followed.
    #[error("`{spec}`: expected {expected}, found `{found}`")]
    Spec {
        /// The whole specification.
        spec: String,
        /// What is allowed.
        expected: String,
        /// The part that is not.
        found: String,
    },
    /// The files are readable, but what they describe is no graph to learn from.
    #[error("{}: {source}", path.display())]
    Core {
        /// The folder, or the specification of a generated dataset.
        path: PathBuf,
        /// What is wrong with it.
        source: supergat_core::Error,
    },
}

fn suggestion(nearest: &[&str]) -> String {
    match nearest {
        [] => format!("known are {} and random-partition", crate::registry::KNOWN.join(", ")),
        some => format!("did you mean {}?", some.join(" or ")),
    }
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A place in a table and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableError {
    /// The file.
    pub path: PathBuf,
    /// The line, or in files without lines the row, counted from 1; 0: the whole file.
    pub line: u64,
    /// The column; empty: the whole line.
    pub column: String,
    /// What must be there.
    pub expected: String,
    /// What is there.
    pub found: String,
    /// What to do.
    pub advice: String,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if self.line > 0 {
            write!(f, ", line {}", self.line)?;
        }
        if !self.column.is_empty() {
            write!(f, ", column `{}`", shown(&self.column))?;
        }
        write!(f, ": expected {}, found {}; {}", self.expected, self.found, self.advice)
    }
}

/// A part of a file as it may appear in a message: neither long nor with line breaks.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let plain: String = text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MOST).is_some() { format!("{plain}...") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_sentence() {
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

    /// Results stay cheap to return.
    #[test]
    fn errors_are_small() {
        assert!(size_of::<Error>() <= 128, "{}", size_of::<Error>());
    }
}
