//! Columns that number the rows, as data frame libraries write them: an unnamed first column with 0, 1, ...

use super::rows::sheet::Sheet;
use crate::error::Result;
use crate::frames::FrameColumn;

/// Returns the index column of a table: the first one, if it has no name and contains 0, 1, ... in any order.
pub(super) fn find(sheet: &Sheet) -> Result<Option<usize>> {
    let unnamed = |name: &String| name.is_empty() || name.starts_with("Unnamed: ");
    if !sheet.has_header || !sheet.header.first().is_some_and(unnamed) {
        return Ok(None);
    }
    let mut numbers: Vec<Option<u64>> = Vec::new();
    match sheet.typed(0) {
        Some(FrameColumn::Integers { values, known: None }) => {
            numbers = values.iter().map(|number| u64::try_from(*number).ok()).collect();
        }
        _ => sheet.for_each(&mut |_, row| {
            numbers.push(row[0].parse().ok());
            Ok(())
        })?,
    }
    numbers.sort_unstable();
    let counts = numbers.iter().zip(0u64..).all(|(number, row)| *number == Some(row));
    Ok((counts && !numbers.is_empty()).then_some(0))
}

/// Notes that the index column of a table is not used.
pub(super) fn note(sheet: &Sheet, at: usize) -> String {
    let name = match sheet.header[at].as_str() {
        "" => "the first column, which has no name,".to_owned(),
        name => format!("column `{name}`"),
    };
    format!("{}: {name} numbers the rows: not used", sheet.name())
}
