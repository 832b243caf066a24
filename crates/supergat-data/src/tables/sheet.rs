//! A table: named columns and rows of the same length, whatever file they come from.

use super::place::Place;
use super::text::Text;
use crate::error::{Result, shown};
use crate::options::TableOptions;
use csv::StringRecord;
use std::path::{Path, PathBuf};

/// How the files of tables end, in the order in which they are looked for.
pub(super) const ENDINGS: &[&str] = &["csv", "tsv", "txt", "parquet"];

#[derive(Debug)]
enum Rows {
    Text(Text),
    #[cfg(feature = "parquet")]
    Parquet(super::parquet::Parquet),
}

/// A table that can be walked through several times.
#[derive(Debug)]
pub(super) struct Sheet {
    rows: Rows,
    /// The names of the columns; `1`, `2`, ... when the file names none.
    pub header: Vec<String>,
    /// Whether the first row names the columns.
    pub has_header: bool,
}

/// The file of a table in a folder, if there is one.
pub(super) fn file_of(folder: &Path, stem: &str) -> Option<PathBuf> {
    ENDINGS.iter().map(|ending| folder.join(format!("{stem}.{ending}"))).find(|path| path.is_file())
}

impl Sheet {
    /// Opens a file; `names_columns` says whether its first row does.
    pub fn open(path: &Path, options: &TableOptions, names_columns: &dyn Fn(&StringRecord) -> bool) -> Result<Self> {
        if path.extension().is_some_and(|ending| ending == "parquet") {
            return Self::open_parquet(path);
        }
        let text = Text::read(path, options)?;
        let mut first = StringRecord::new();
        text.for_each(&mut |_, row| {
            first = row.clone();
            Ok(false)
        })?;
        let has_header = names_columns(&first);
        let name = |(at, field): (usize, &str)| if has_header { field.to_owned() } else { (at + 1).to_string() };
        let header: Vec<String> = first.iter().enumerate().map(name).collect();
        let sheet = Self { rows: Rows::Text(text), header, has_header };
        sheet.check_header()?;
        Ok(sheet)
    }

    #[cfg(feature = "parquet")]
    fn open_parquet(path: &Path) -> Result<Self> {
        let parquet = super::parquet::Parquet::open(path)?;
        let sheet = Self { header: parquet.columns()?, rows: Rows::Parquet(parquet), has_header: true };
        sheet.check_header()?;
        Ok(sheet)
    }

    #[cfg(not(feature = "parquet"))]
    fn open_parquet(path: &Path) -> Result<Self> {
        let advice = "build supergat with `--features parquet`, or save the table as CSV";
        Err(Place::file(path).error("a text file", "Parquet, which this build does not read", advice))
    }

    fn check_header(&self) -> Result<()> {
        let mut sorted: Vec<&String> = self.header.iter().collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Place { path: self.path(), line: 1, column: pair[0] }.error(
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
        }
    }

    /// The name of the file, without its folder.
    pub fn name(&self) -> String {
        self.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// A place in the table.
    pub fn at(&self, line: u64, column: usize) -> Place<'_> {
        Place { path: self.path(), line, column: self.header.get(column).map_or("", String::as_str) }
    }

    /// `3 columns: a, b, c`
    pub fn columns_in_words(&self) -> String {
        let names: Vec<String> = self.header.iter().take(8).map(|name| shown(name)).collect();
        let more = if self.header.len() > 8 { ", ..." } else { "" };
        let columns = if self.header.len() == 1 { "column" } else { "columns" };
        format!("{} {columns} ({}{more})", self.header.len(), names.join(", "))
    }

    /// Calls `take` with the line and the fields of every row below the header, which must be as many as in the first row.
    pub fn for_each(&self, take: &mut dyn FnMut(u64, &StringRecord) -> Result<()>) -> Result<()> {
        match &self.rows {
            Rows::Text(text) => self.for_each_text(text, take),
            #[cfg(feature = "parquet")]
            Rows::Parquet(parquet) => parquet.for_each(take),
        }
    }

    fn for_each_text(&self, text: &Text, take: &mut dyn FnMut(u64, &StringRecord) -> Result<()>) -> Result<()> {
        let mut header = self.has_header;
        text.for_each(&mut |line, row| {
            if std::mem::take(&mut header) {
                return Ok(true);
            }
            if row.len() != self.header.len() {
                let place = Place { path: self.path(), line, column: "" };
                let expected = format!("{} fields, as in the first row", self.header.len());
                return Err(place.error(expected, row.len().to_string(), text.advice_on_fields()));
            }
            take(line, row).map(|()| true)
        })
    }
}
