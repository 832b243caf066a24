//! Locations in tables, for error messages.

use crate::error::{Error, TableError};
use std::path::Path;

/// Word for the lines of a file.
pub(in crate::tables) const LINE: &str = "line";
/// Word for the rows of a frame.
pub(in crate::tables) const ROW: &str = "row";

/// A file, line and column of a table.
#[derive(Debug, Clone, Copy)]
pub(in crate::tables) struct Location<'a> {
    pub path: &'a Path,
    /// Line, counted from 1; 0 means the whole file.
    pub line: u64,
    /// Word for lines: [`LINE`] or [`ROW`].
    pub unit: &'static str,
    /// Name of the column; empty means the whole line.
    pub column: &'a str,
}

impl<'a> Location<'a> {
    /// Returns the location of a whole file.
    pub fn file(path: &'a Path) -> Self {
        Self::line(path, 0)
    }

    /// Returns the location of a line of a file.
    pub fn line(path: &'a Path, line: u64) -> Self {
        Self { path, line, unit: LINE, column: "" }
    }

    /// Builds an error at this location.
    pub fn error(self, expected: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Error {
        Error::Table(Box::new(TableError {
            path: self.path.to_owned(),
            line: self.line,
            unit: self.unit,
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
    use crate::words::quoted;

    #[test]
    fn messages_are_one_line() {
        let location = Location { column: "a\nge", ..Location::line(Path::new("nodes.csv"), 3) };
        let text = location.error("a number", quoted(&"x".repeat(99)), "fix it").to_string();
        assert_eq!(
            text,
            format!("nodes.csv, line 3, column `a ge`: expected a number, found `{}...`; fix it", "x".repeat(60))
        );
        let text = Location::file(Path::new("e")).error("links", "nothing", "add some").to_string();
        assert_eq!(text, "e: expected links, found nothing; add some");
    }
}
