//! Matrix of the encoded features of a table.

use super::parse::feature;
use crate::error::Result;
use crate::files;
use crate::schema::{Column, Missing, Notation};
use crate::tables::rows::sheet::Sheet;
use crate::words::quoted;
use supergat_core::SparseMatrix;

/// Values of all nodes, dense or as entries (node, feature, value).
pub(in crate::tables) struct Matrix<'a> {
    pub path: &'a std::path::Path,
    pub width: usize,
    pub dense: Option<Vec<f32>>,
    pub entries: Vec<(u32, u32, f32)>,
    pub known: Option<Vec<bool>>,
}

/// A column of a schema and the place of its features.
#[derive(Debug, Clone, Copy)]
pub(in crate::tables) struct Target<'a> {
    /// Position in the schema.
    pub number: usize,
    /// Position in the table.
    pub at: usize,
    pub column: &'a Column,
    /// Its first feature.
    pub first: usize,
}

impl Matrix<'_> {
    pub fn set(&mut self, node: usize, feature: usize, value: f32) -> Result<()> {
        match &mut self.dense {
            Some(dense) => dense[node * self.width + feature] = value,
            None if value != 0.0 => {
                files::push(self.path, &mut self.entries, (node as u32, feature as u32, value))?;
            }
            None => {}
        }
        Ok(())
    }

    /// Sets the features of a missing value.
    pub fn set_missing(&mut self, treatment: Missing, column: &Column, node: usize, first: usize) -> Result<()> {
        if treatment == Missing::Propagate {
            self.mark_unknown(node, first..first + column.width());
        }
        missing_features(treatment, column).try_for_each(|(offset, value)| self.set(node, first + offset, value))
    }

    fn mark_unknown(&mut self, node: usize, features: std::ops::Range<usize>) {
        if let Some(known) = &mut self.known {
            known[node * self.width..][features].fill(false);
        }
    }
}

/// Returns the features of a missing value that are not 0, as offsets and values.
pub(in crate::tables) fn missing_features(treatment: Missing, column: &Column) -> impl Iterator<Item = (usize, f32)> {
    let mean = match column {
        Column::Number { mean, deviation: None, .. } if treatment == Missing::Mean => Some((0, *mean)),
        _ => None,
    };
    let mark = match column {
        Column::Number { indicator: true, .. } | Column::Category { indicator: true, .. } => {
            Some((column.width() - 1, 1.0))
        }
        _ => None,
    };
    mean.into_iter().chain(mark)
}

/// Parses the number in a field.
pub(in crate::tables) fn number(sheet: &Sheet, line: u64, at: usize, field: &str, notation: Notation) -> Result<f32> {
    feature(notation, field).ok_or_else(|| {
        let expected = match notation {
            Notation::Plain => "a finite number",
            Notation::Point => "a number such as 1,234.50",
            Notation::Comma => "a number such as 1.234,50",
            Notation::Boolean => "true or false",
            Notation::YearFirst => "a date such as 2024-03-01",
            Notation::DayFirst => "a date with the day first, such as 01.03.2024",
            Notation::MonthFirst => "a date with the month first, such as 03/01/2024",
        };
        let advice =
            "fix the value, leave it empty if it is not known, or leave the column out with parameter `ignore_columns`";
        sheet.at(line, at).error(expected, quoted(field), advice)
    })
}

/// Builds a sparse matrix from entries (row, column, value).
pub(in crate::tables) fn sparse(
    rows: usize,
    columns: usize,
    mut entries: Vec<(u32, u32, f32)>,
) -> supergat_core::Result<SparseMatrix<f32>> {
    entries.sort_unstable_by_key(|&(row, column, _)| (row, column));
    let mut offsets = vec![0u64; rows + 1];
    entries.iter().for_each(|&(row, _, _)| offsets[row as usize + 1] += 1);
    for row in 0..rows {
        offsets[row + 1] += offsets[row];
    }
    let (column_of, values) = entries.into_iter().map(|(_, column, value)| (column, value)).unzip();
    SparseMatrix::new(columns, offsets, column_of, values)
}
