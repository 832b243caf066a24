//! Rows of a text file, with fields separated by commas, semicolons, tabs, bars or blanks.

use super::encoding;
use super::location::Location;
use super::names::{EDGES, is_table};
use crate::containers::matrix_market;
use crate::error::Result;
use crate::files::decompress;
use crate::options::TableOptions;
use crate::words::quoted;
use csv::StringRecord;
use std::path::{Path, PathBuf};

/// Maximum size of a table in bytes: 16 GiB.
const MAX_BYTES: u64 = 16 << 30;

/// Field delimiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delimiter {
    /// A single character.
    One(u8),
    /// Any run of whitespace.
    Blanks,
}

/// Contents of a text file.
#[derive(Debug)]
pub(in crate::tables) struct Text {
    pub path: PathBuf,
    content: String,
    delimiter: Delimiter,
    /// First character of comment lines, if comments are allowed.
    comment: Option<u8>,
    /// Whether comments end at the first row.
    comments_end: bool,
    /// Whether the encoding was guessed.
    pub guessed_encoding: bool,
}

impl Text {
    /// Reads a file. In the table of links, lines that begin with `#` are comments, as is usual in edge
    /// lists.
    pub fn read(path: &Path, options: &TableOptions) -> Result<Self> {
        let bytes = decompress::read(path, MAX_BYTES)?;
        let (content, guessed_encoding) = encoding::decode(path, bytes)?;
        if content.trim().is_empty() {
            return Err(Location::file(path).error("rows", "an empty file", "fill it or remove it"));
        }
        let (content, delimiter, comment) = match matrix_market::is_matrix(path) {
            true => (matrix_market::as_table(path, &content, options.directed)?, Delimiter::Blanks, Some(b'%')),
            false => {
                let delimiter = delimiter(path, &content, options)?;
                (content, delimiter, is_table(path, EDGES).then_some(b'#'))
            }
        };
        Ok(Self { path: path.to_owned(), content, delimiter, comment, comments_end: false, guessed_encoding })
    }

    /// Reads lines that begin with `#` as rows from the first row on, as is right under a header.
    pub fn end_comments(&mut self) {
        self.comments_end = true;
    }

    /// Returns whether lines that begin with `#` may be comments.
    pub fn allows_comments(&self) -> bool {
        self.comment.is_some()
    }

    /// Counts the lines that may be comments.
    pub fn comment_lines(&self) -> usize {
        self.comment.map_or(0, |_| self.content.lines().filter(|line| line.starts_with('#')).count())
    }

    /// Calls `visit` with the line and the fields of each row that is not empty, until it returns `false`.
    pub fn for_each(&self, visit: &mut dyn FnMut(u64, &StringRecord) -> Result<bool>) -> Result<()> {
        match self.delimiter {
            Delimiter::Blanks => {
                let mut comment = self.comment;
                for (line, text) in self.content.lines().enumerate() {
                    let row: StringRecord = text.split_whitespace().collect();
                    if row.is_empty() || comment.is_some() && text.bytes().next() == comment {
                        continue;
                    }
                    if !visit(line as u64 + 1, &row)? {
                        break;
                    }
                    comment = self.comment_in_rows();
                }
            }
            Delimiter::One(delimiter) => {
                let first = self.start_of_row(0, self.comment);
                let mut reader = csv::ReaderBuilder::new()
                    .delimiter(delimiter)
                    .has_headers(false)
                    .flexible(true)
                    .comment(self.comment_in_rows())
                    .trim(csv::Trim::All)
                    .from_reader(&self.content.as_bytes()[first..]);
                let mut row = StringRecord::new();
                let (mut line, mut counted) = (1, 0);
                // No error can occur: the text is in memory and in UTF-8, and rows may have any length.
                while reader.read_record(&mut row).unwrap_or(false) {
                    let byte = first + row.position().map_or(0, |position| position.byte() as usize);
                    let start = self.start_of_row(byte, self.comment_in_rows());
                    line += newlines(&self.content.as_bytes()[counted.min(start)..start]);
                    counted = start;
                    let empty = row.len() == 1 && row[0].is_empty();
                    if !empty && !visit(line, &row)? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the first character of comment lines after the first row.
    fn comment_in_rows(&self) -> Option<u8> {
        self.comment.filter(|_| !self.comments_end)
    }

    /// Returns the offset of the row at or after `byte`, skipping line ends, empty lines and comments.
    fn start_of_row(&self, mut byte: usize, comment: Option<u8>) -> usize {
        let bytes = self.content.as_bytes();
        loop {
            match bytes.get(byte) {
                Some(b'\r' | b'\n') => byte += 1,
                Some(&first) if Some(first) == comment => {
                    byte += bytes[byte..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - byte);
                }
                _ => return byte.min(bytes.len()),
            }
        }
    }

    /// Returns the advice for a row with a wrong number of fields.
    pub fn advice_on_fields(&self) -> String {
        let now = match self.delimiter {
            Delimiter::Blanks => "blanks".to_owned(),
            Delimiter::One(b'\t') => "tabs".to_owned(),
            Delimiter::One(byte) => format!("`{}`", byte as char),
        };
        format!("fix the row, or say with parameter `delimiter` which character separates the fields (currently {now})")
    }
}

/// Counts line feeds.
fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Returns the delimiter of the options, else the most frequent candidate in the first row.
fn delimiter(path: &Path, content: &str, options: &TableOptions) -> Result<Delimiter> {
    if let Some(name) = &options.delimiter {
        return match name.as_bytes() {
            b"tab" | b"\\t" => Ok(Delimiter::One(b'\t')),
            b"space" | b" " => Ok(Delimiter::Blanks),
            [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\r\n".contains(byte) => {
                Ok(Delimiter::One(*byte))
            }
            _ => Err(Location::file(path).error(
                "a delimiter that is one character, tab or space",
                quoted(name),
                "change parameter `delimiter`",
            )),
        };
    }
    let rows = content.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let first = rows.into_iter().next().unwrap_or("");
    let count = |byte: u8| first.bytes().filter(|found| *found == byte).count();
    let best = [b',', b'\t', b';', b'|'].into_iter().rev().max_by_key(|byte| count(*byte)).unwrap_or(b',');
    Ok(match count(best) {
        0 if first.split_whitespace().nth(1).is_some() => Delimiter::Blanks,
        0 => Delimiter::One(b','),
        _ => Delimiter::One(best),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn rows(content: &[u8], options: &TableOptions) -> Result<Vec<(u64, Vec<String>)>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edges.csv");
        std::fs::write(&path, content).unwrap();
        let mut rows = Vec::new();
        Text::read(&path, options)?.for_each(&mut |line, row| {
            rows.push((line, row.iter().map(str::to_owned).collect()));
            Ok(true)
        })?;
        Ok(rows)
    }

    #[test]
    fn detects_delimiters() {
        let none = TableOptions::default();
        for text in ["a,b c\n1,2\n", "a\tb c\n1\t2\n", "a;b c\r\n\r\n1;2", "\u{feff}a|b c\n1|2\n"] {
            let found = rows(text.as_bytes(), &none).unwrap();
            assert_eq!(found[0].1, ["a", "b c"], "{text:?}");
            assert_eq!(found[1].1, ["1", "2"], "{text:?}");
        }
        assert_eq!(rows(b"# a comment, with comma\n 1   2\n", &none).unwrap(), [(2, vec!["1".into(), "2".into()])]);
        assert_eq!(rows(b"\"a, \"\"b\"\"\",c\n", &none).unwrap()[0].1, ["a, \"b\"", "c"]);
        assert_eq!(rows(b"one\ntwo\n", &none).unwrap().len(), 2);
    }

    #[test]
    fn reports_line_numbers_with_comments_and_multiline_fields() {
        for end in ["\n", "\r\n"] {
            let text = ["a,b", "# a comment", "", "1,\"x", "y\"", "2,z", "# another", "3,w"].join(end);
            let found = rows(text.as_bytes(), &TableOptions::default()).unwrap();
            assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 4, 6, 8], "{end:?}");
        }
    }

    #[test]
    fn accepts_and_rejects_named_delimiters() {
        let with = |name: &str| TableOptions { delimiter: Some(name.into()), ..Default::default() };
        assert_eq!(rows(b"a,b;c\n", &with(";")).unwrap()[0].1, ["a,b", "c"]);
        assert_eq!(rows(b"a,b\tc\n", &with("tab")).unwrap()[0].1, ["a,b", "c"]);
        assert_eq!(rows(b"a,b c\n", &with("space")).unwrap()[0].1, ["a,b", "c"]);
        let error = rows(b"a\n", &with("xy")).unwrap_err().to_string();
        assert!(error.contains("found `xy`; change parameter `delimiter`"), "{error}");
    }

    #[test]
    fn rejects_empty_files() {
        assert!(matches!(rows(b" \n\n", &TableOptions::default()), Err(Error::Table(_))));
    }
}
