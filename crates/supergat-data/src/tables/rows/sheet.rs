//! A table with named columns and rows of equal length, independent of the file format.

use super::location::{LINE, Location, ROW};
use super::row::{FrameRow, Row};
use super::text::Text;
use crate::error::Result;
use crate::frames::{Frame, FrameColumn};
use crate::options::TableOptions;
use crate::words::{count, shown};
use csv::StringRecord;
use std::path::{Path, PathBuf};

/// Source of the rows.
#[derive(Debug)]
enum Rows {
    Text(Text),
    #[cfg(feature = "parquet")]
    Parquet(crate::tables::rows::parquet::Parquet),
    /// A frame, and its name as a path.
    Frame(Frame, PathBuf),
}

/// A table whose rows can be read repeatedly.
#[derive(Debug)]
pub(in crate::tables) struct Sheet {
    rows: Rows,
    /// Names of the columns; `1`, `2`, ... if the table has no header.
    pub header: Vec<String>,
    /// Whether the first row is a header.
    pub has_header: bool,
}

impl Sheet {
    /// Opens a file; `is_header` decides whether its first row is a header.
    pub fn open(path: &Path, options: &TableOptions, is_header: &dyn Fn(&StringRecord) -> bool) -> Result<Self> {
        if path.extension().is_some_and(|extension| extension == "parquet") {
            return Self::open_parquet(path);
        }
        let mut text = Text::read(path, options)?;
        let mut first = StringRecord::new();
        text.for_each(&mut |_, row| {
            first = row.clone();
            Ok(false)
        })?;
        if first.is_empty() {
            let found = "only lines that begin with `#`, which are comments";
            return Err(Location::file(path).error("rows", found, "add a first row that names the columns"));
        }
        let has_header = is_header(&first);
        if has_header {
            text.end_comments();
        }
        let name = |(at, field): (usize, &str)| if has_header { field.to_owned() } else { (at + 1).to_string() };
        let header: Vec<String> = first.iter().enumerate().map(name).collect();
        let sheet = Self { rows: Rows::Text(text), header, has_header };
        sheet.check_header()?;
        Ok(sheet)
    }

    /// Opens a frame.
    pub fn of_frame(frame: Frame) -> Result<Self> {
        let path = PathBuf::from(frame.name());
        let header: Vec<String> = frame.columns().iter().map(|(name, _)| name.trim().to_owned()).collect();
        let sheet = Self { header, rows: Rows::Frame(frame, path), has_header: true };
        if sheet.header.is_empty() {
            return Err(sheet.at_header().error("columns", "none", "add the columns of the table"));
        }
        sheet.check_header()?;
        Ok(sheet)
    }

    #[cfg(feature = "parquet")]
    fn open_parquet(path: &Path) -> Result<Self> {
        let parquet = crate::tables::rows::parquet::Parquet::open(path)?;
        let sheet = Self { header: parquet.columns()?, rows: Rows::Parquet(parquet), has_header: true };
        sheet.check_header()?;
        Ok(sheet)
    }

    #[cfg(not(feature = "parquet"))]
    fn open_parquet(path: &Path) -> Result<Self> {
        let advice = "install supergat with `cargo install --path crates/supergat-cli --features parquet`, or save the table as CSV";
        Err(Location::file(path).error("a text file", "Parquet, which this build does not read", advice))
    }

    /// Returns an error if two columns have the same name.
    fn check_header(&self) -> Result<()> {
        let mut sorted: Vec<&String> = self.header.iter().collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Location { column: pair[0], ..self.at_header() }.error(
                "columns with distinct names",
                "the same name twice",
                "rename one of them",
            )),
            None => Ok(()),
        }
    }

    pub fn path(&self) -> &Path {
        match &self.rows {
            Rows::Text(text) => &text.path,
            #[cfg(feature = "parquet")]
            Rows::Parquet(parquet) => &parquet.path,
            Rows::Frame(_, path) => path,
        }
    }

    /// Returns a note if the encoding of the text was guessed.
    pub fn encoding_note(&self) -> Option<String> {
        let guessed = matches!(&self.rows, Rows::Text(text) if text.guessed_encoding);
        let name = self.name();
        guessed.then(|| format!("{name}: not UTF-8, so read as Windows-1252; save it as UTF-8 if letters look wrong"))
    }

    /// Counts the lines that begin with `#`, for tables in which they may be comments.
    pub fn comment_lines(&self) -> usize {
        match &self.rows {
            Rows::Text(text) => text.comment_lines(),
            #[cfg(feature = "parquet")]
            Rows::Parquet(_) => 0,
            Rows::Frame(..) => 0,
        }
    }

    /// Returns the file name without its folder.
    pub fn name(&self) -> String {
        self.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns a location in the table; a `column` out of range means the whole line.
    pub fn at(&self, line: u64, column: usize) -> Location<'_> {
        let column = self.header.get(column).map_or("", String::as_str);
        Location { path: self.path(), line, unit: self.unit(), column }
    }

    /// Returns the location of the names of the columns.
    pub fn at_header(&self) -> Location<'_> {
        self.at(self.header_line(), usize::MAX)
    }

    /// Returns the line with the names of the columns; 0 for frames, which have no such row.
    pub fn header_line(&self) -> u64 {
        u64::from(self.frame().is_none())
    }

    /// Returns the word for lines in messages.
    pub fn unit(&self) -> &'static str {
        if self.frame().is_some_and(|frame| frame.lines().is_none()) { ROW } else { LINE }
    }

    /// Returns the line of a row of a frame, counted from 1, or the number of the row.
    pub fn line_of(&self, row: usize) -> u64 {
        self.frame().and_then(|frame| frame.lines()?.get(row).copied()).unwrap_or(row as u64 + 1)
    }

    /// Returns the frame that contains the rows, if they are in memory.
    pub fn frame(&self) -> Option<&Frame> {
        match &self.rows {
            Rows::Frame(frame, _) => Some(frame),
            _ => None,
        }
    }

    /// Returns a column of a frame whose values are numbers or booleans and not texts.
    pub fn typed(&self, at: usize) -> Option<&FrameColumn> {
        let column = self.frame().map(|frame| &frame.columns()[at].1);
        column.filter(|column| !matches!(column, FrameColumn::Text(_) | FrameColumn::Categories(_)))
    }

    /// Returns whether a column of a frame has a categorical type.
    pub fn is_categorical(&self, at: usize) -> bool {
        self.frame().is_some_and(|frame| matches!(frame.columns()[at].1, FrameColumn::Categories(_)))
    }

    /// Describes the columns in words: `3 columns (a, b, c)`.
    pub fn columns_in_words(&self) -> String {
        let names: Vec<String> = self.header.iter().take(8).map(|name| shown(name)).collect();
        let more = if self.header.len() > 8 { ", ..." } else { "" };
        format!("{} ({}{more})", count(self.header.len(), "column"), names.join(", "))
    }

    /// Returns the result of `of` for the first row below the header, if there is one. All rows are checked.
    pub fn of_first_row<T>(&self, of: impl Fn(Row<'_>) -> T) -> Result<Option<T>> {
        let mut first = None;
        self.for_each(&mut |_, row| {
            first.get_or_insert_with(|| of(row));
            Ok(())
        })?;
        Ok(first)
    }

    /// Calls `visit` with the line and the fields of each row below the header. Rows must have equal length.
    pub fn for_each(&self, visit: &mut dyn FnMut(u64, Row<'_>) -> Result<()>) -> Result<()> {
        match &self.rows {
            Rows::Text(text) => self.for_each_text(text, visit),
            #[cfg(feature = "parquet")]
            Rows::Parquet(parquet) => parquet.for_each(visit),
            Rows::Frame(frame, _) => {
                let mut row = FrameRow::first(frame);
                (0..frame.rows()).try_for_each(|number| {
                    visit(self.line_of(number), Row::Frame(&row))?;
                    row.advance();
                    Ok(())
                })
            }
        }
    }

    fn for_each_text(&self, text: &Text, visit: &mut dyn FnMut(u64, Row<'_>) -> Result<()>) -> Result<()> {
        let mut header = self.has_header;
        text.for_each(&mut |line, row| {
            if std::mem::take(&mut header) {
                return Ok(true);
            }
            let comment = row[0].starts_with('#') && !row.iter().any(|field| field.contains('\n'));
            if row.len() != self.header.len() && comment && text.allows_comments() {
                return Ok(true);
            }
            if row.len() != self.header.len() {
                let location = self.at(line, usize::MAX);
                let expected = format!("{} fields, as in the first row", self.header.len());
                let several_lines = row.iter().any(|field| field.contains('\n'));
                let (found, advice) = match several_lines {
                    true => (
                        format!("{}, with a quoted field that continues in the next lines", row.len()),
                        "close its quotation mark, or remove it".to_owned(),
                    ),
                    false => (row.len().to_string(), text.advice_on_fields()),
                };
                return Err(location.error(expected, found, advice));
            }
            visit(line, Row::Record(row)).map(|()| true)
        })
    }
}
