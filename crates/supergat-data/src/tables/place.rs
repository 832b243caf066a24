//! Where something is wrong in a table.

use crate::error::{Error, TableError};
use std::path::Path;

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
    use crate::error::shown;

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
