//! Tables of numbers in text files: one row per line, commas between numbers.

use crate::error::{Error, Result};
use crate::files;
use crate::words::count;
use std::path::Path;
use std::str::FromStr;

/// Parses all numbers of a table, row by row. Every line must have `columns` numbers, or as many as the first
/// line if that is `None`. The first `skip` lines are headings; empty lines at the end are ignored.
pub(crate) fn numbers<T: FromStr>(path: &Path, text: &[u8], skip: usize, columns: Option<usize>) -> Result<Table<T>> {
    let mut table = Table { columns: columns.unwrap_or(0), values: Vec::new() };
    let mut expected = columns;
    if skip > 0 && text.trim_ascii().is_empty() {
        return Err(Error::text(path, 1, "the names of the columns", ""));
    }
    for (line, text) in text.trim_ascii_end().split(|&byte| byte == b'\n').enumerate().skip(skip) {
        let refuse =
            |expected: usize| refused(path, line, &format!("{} with commas between", count(expected, "number")), text);
        let before = table.values.len();
        for field in text.split(|&byte| byte == b',') {
            let number = std::str::from_utf8(field.trim_ascii()).ok().and_then(|field| field.parse().ok());
            let number = number.ok_or_else(|| refuse(expected.unwrap_or(1)))?;
            files::push(path, &mut table.values, number)?;
        }
        let found = table.values.len() - before;
        let expected = *expected.get_or_insert(found);
        if found != expected {
            return Err(refuse(expected));
        }
        table.columns = expected;
    }
    Ok(table)
}

/// Returns the error for a line, counted from 0, that contains another text than expected.
pub(crate) fn refused(path: &Path, line: usize, expected: &str, text: &[u8]) -> Error {
    let found = String::from_utf8_lossy(text).chars().take(60).collect::<String>();
    Error::text(path, line + 1, expected, found.trim_end())
}

/// Rows of numbers.
#[derive(Debug)]
pub(crate) struct Table<T> {
    /// Numbers per row.
    pub columns: usize,
    /// All numbers, row by row.
    pub values: Vec<T>,
}

impl<T> Table<T> {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.columns).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_tables_of_numbers() {
        let path = Path::new("t.csv");
        let table = numbers::<f32>(path, b"a,b\r\n1, 2.5\r\n-3,4e1\r\n\n", 1, None).unwrap();
        assert_eq!((table.columns, table.rows(), &table.values[..]), (2, 2, &[1.0, 2.5, -3.0, 40.0][..]));
        for (text, message) in [
            ("1,2\n3", "t.csv, line 2: expected 2 numbers with commas between, found `3`"),
            ("1,2\n\n3,4", "t.csv, line 2: expected 2 numbers with commas between, found ``"),
            ("x", "t.csv, line 1: expected 1 number with commas between, found `x`"),
        ] {
            assert_eq!(numbers::<u32>(path, text.as_bytes(), 0, None).unwrap_err().to_string(), message);
        }
        assert!(numbers::<u32>(path, b"\xff", 0, Some(1)).is_err());
        assert!(numbers::<u32>(path, b"\n", 1, Some(1)).is_err());
        assert!(numbers::<u32>(path, b"h\n", 1, Some(2)).unwrap().values.is_empty());
    }
}
