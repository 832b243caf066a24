//! Rows of tables as text.

use crate::frames::{Frame, FrameColumn};
use csv::StringRecord;
use std::cell::OnceCell;
use std::ops::Index;

/// Fields of a row.
#[derive(Debug, Clone, Copy)]
pub(in crate::tables) enum Row<'a> {
    /// Row of a file.
    Record(&'a StringRecord),
    /// Row of a frame.
    Frame(&'a FrameRow<'a>),
}

/// A row of a frame, whose values are written as text when they are needed.
#[derive(Debug)]
pub(in crate::tables) struct FrameRow<'a> {
    frame: &'a Frame,
    row: usize,
    texts: Vec<OnceCell<String>>,
}

impl<'a> FrameRow<'a> {
    /// Creates the first row.
    pub fn first(frame: &'a Frame) -> Self {
        Self { frame, row: 0, texts: vec![OnceCell::new(); frame.columns().len()] }
    }

    /// Moves on to the next row.
    pub fn advance(&mut self) {
        self.row += 1;
        self.texts.iter_mut().filter(|text| text.get().is_some()).for_each(|text| *text = OnceCell::new());
    }

    fn field(&self, at: usize) -> &str {
        match &self.frame.columns()[at].1 {
            FrameColumn::Text(strings) | FrameColumn::Categories(strings) => strings.get(self.row).unwrap_or("").trim(),
            other => self.texts[at].get_or_init(|| other.text(self.row).into_owned()),
        }
    }
}

impl Index<usize> for Row<'_> {
    type Output = str;

    fn index(&self, at: usize) -> &str {
        match self {
            Self::Record(record) => &record[at],
            Self::Frame(row) => row.field(at),
        }
    }
}
