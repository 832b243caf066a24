//! What is wrong with a table, said so that a person can mend it.

use crate::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

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
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let plain: String = text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MOST).is_some() { format!("{plain}...") } else { plain }
}

/// A place in a table, from which errors are made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub path: &'a Path,
    pub line: u64,
    pub column: &'a str,
}

impl<'a> Place<'a> {
    pub fn file(path: &'a Path) -> Self {
        Self { path, line: 0, column: "" }
    }

    pub fn error(self, expected: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Error {
        Error::Table(Box::new(TableError {
            path: self.path.to_owned(),
            line: self.line,
            column: self.column.to_owned(),
            expected: expected.into(),
            found: found.into(),
            advice: advice.into(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line() {
        let place = Place { path: Path::new("nodes.csv"), line: 3, column: "a\nge" };
        let text = place.error("a number", format!("`{}`", shown(&"x".repeat(99))), "mend it").to_string();
        assert_eq!(
            text,
            format!("nodes.csv, line 3, column `a ge`: expected a number, found `{}...`; mend it", "x".repeat(60))
        );
        let text = Place::file(Path::new("e")).error("links", "nothing", "add some").to_string();
        assert_eq!(text, "e: expected links, found nothing; add some");
    }
}
