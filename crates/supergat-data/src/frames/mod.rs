//! Data frames in memory as tables of nodes and links.
//!
//! [`read_frames`](crate::read_frames) treats two frames as [`crate::tables`] treats the files `nodes.csv` and `edges.csv`: roles and
//! types of columns, missing values and splits are recognised in the same way, and the same notes are given.
//!
//! Texts are trimmed. A missing value is read as an empty field.
//!
//! Columns of a categorical type are categories, whatever their values look like.
//!
//! Ids, classes and categories are texts. Whole numbers become `1`, floating-point numbers `1.0`, and booleans
//! `true` and `false`.
//!
//! Notes and errors name a frame by its name, and a row by its number, counted from 1 for the first row of data.

mod column;
mod strings;
mod values;

pub use column::FrameColumn;
pub use strings::Strings;
pub use values::Values;

use crate::error::{Error, Result};
use crate::words::shown;

/// A table in memory: named columns of equal length.
///
/// ```
/// use supergat_data::frames::{Frame, FrameColumn};
/// let frame = Frame::new("nodes", [("id", FrameColumn::from(vec![7i64, 8])), ("age", vec![31.5, f64::NAN].into())])?;
/// assert_eq!((frame.name(), frame.rows(), frame.columns().len()), ("nodes", 2, 2));
/// # Ok::<(), supergat_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    name: String,
    columns: Vec<(String, FrameColumn)>,
    /// Line of each row in the file that contains the table, if it is one.
    lines: Option<Vec<u64>>,
}

impl Frame {
    /// Creates a frame. Returns an error unless all columns have the same length.
    pub fn new<N: Into<String>>(
        name: impl Into<String>,
        columns: impl IntoIterator<Item = (N, FrameColumn)>,
    ) -> Result<Self> {
        let columns = columns.into_iter().map(|(name, column)| (name.into(), column)).collect();
        let frame = Self { name: name.into(), columns, lines: None };
        for (name, column) in &frame.columns {
            if column.len() != frame.rows() {
                let expected = format!("{}, as in column `{}`", frame.rows(), shown(&frame.columns[0].0));
                return Err(frame.unexpected("rows", name, expected, column.len()));
            }
            if let Some(known) = column.known().filter(|known| known.len() != column.len()) {
                let expected = format!("{}, one per row", column.len());
                return Err(frame.unexpected("marks of known values", name, expected, known.len()));
            }
        }
        Ok(frame)
    }

    fn unexpected(&self, what: &str, column: &str, expected: String, found: usize) -> Error {
        let what = format!("{what} of column `{}` of {}", shown(column), shown(&self.name));
        Error::array(what, expected, found)
    }

    /// Sets the line of each row, which errors name instead of its number.
    pub(crate) fn at_lines(self, lines: Vec<u64>) -> Self {
        Self { lines: Some(lines), ..self }
    }

    /// Returns the line of each row, if they were set.
    pub(crate) fn lines(&self) -> Option<&[u64]> {
        self.lines.as_deref()
    }

    /// Returns the name of the frame, which notes and errors contain.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Returns the names and values of the columns.
    pub fn columns(&self) -> &[(String, FrameColumn)] {
        &self.columns
    }
}
