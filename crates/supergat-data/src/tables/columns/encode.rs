//! Encodes the fields of a table as the features of a schema.

use super::matrix::{Matrix, Target, number, sparse};
use super::missing::{self, MissingWords};
use super::records::Records;
use super::typed::{self, Typed};
use crate::error::{Error, Result};
use crate::files;
use crate::schema::{Column, Missing, Schema};
use crate::tables::rows::row::Row;
use crate::tables::rows::sheet::Sheet;
use crate::tfidf::{Terms, row as tf_idf_row};
use crate::words::{count, first_few, shown};
use std::collections::BTreeMap;
use supergat_core::Features;

/// Maximum number of values of a dense matrix.
const MAX_VALUES: usize = 1 << 34;

/// Encodes the fields of `columns` as the features of a schema. Returns also whether each value is known, if unknown
/// ones are to be computed from those of neighbours.
pub(in crate::tables) fn encode(
    records: &dyn Records,
    schema: &Schema,
    columns: &[usize],
    notes: &mut Vec<String>,
) -> Result<(Features<f32>, Option<Vec<bool>>)> {
    let (sheet, rows) = (records.sheet(), records.count());
    let mut matrix = allocate(records, schema)?;
    let mut unseen: BTreeMap<String, usize> = BTreeMap::new();
    let words = MissingWords::of_schema(schema);
    let (typed, texts) = split_columns(sheet, schema, columns, &words);
    let mut missing = vec![0; columns.len()];
    for (column, found) in typed.iter().zip(typed::encode(sheet, &typed, schema.missing, &mut matrix)?) {
        missing[column.number] = found;
    }
    let mut filled = vec![false; rows];
    let terms = Terms::default();
    let read_rows = !texts.is_empty() || sheet.frame().is_none();
    let mut encode_row = |record: usize, line: u64, row: Row<'_>| {
        filled[record] = true;
        for &Target { number: k, at, column, first } in &texts {
            let field = &row[at];
            // A word that training saw as a category is one, even if it is among those for missing values.
            if let Column::Category { values, .. } = column
                && let Ok(category) = values.binary_search_by(|word| word.as_str().cmp(field))
            {
                matrix.set(record, first + category, 1.0)?;
                continue;
            }
            match column {
                Column::Text { terms: known, weights, .. } => {
                    let mut document = Vec::new();
                    terms.append(if words.include(field) { "" } else { field }, &mut document);
                    for (term, weight) in tf_idf_row(&document, known, weights) {
                        matrix.set(record, first + term as usize, weight)?;
                    }
                }
                _ if words.include(field) => {
                    if schema.missing == Missing::Error {
                        return Err(missing::refused(sheet.at(line, at)));
                    }
                    missing[k] += 1;
                    matrix.set_missing(schema.missing, column, record, first)?;
                }
                Column::Number { mean, deviation, notation, .. } => {
                    let value = number(sheet, line, at, field, *notation)?;
                    matrix.set(record, first, deviation.map_or(value, |deviation| (value - mean) / deviation))?;
                }
                Column::Category { name, .. } => {
                    *unseen.entry(format!("`{}` in `{}`", shown(field), shown(name))).or_default() += 1;
                }
            }
        }
        Ok(())
    };
    if read_rows {
        records.for_each(&mut encode_row)?;
    }
    if let Some(record) = filled.iter().position(|filled| !filled).filter(|_| read_rows) {
        let found = format!("none for `{}`", shown(&records.name(record)));
        let expected = format!("a row for every {}", records.noun());
        return Err(sheet.at(0, usize::MAX).error(expected, found, "add the row"));
    }
    notes.extend(missing::note(&sheet.name(), &schema.columns, &missing, schema.missing));
    if !unseen.is_empty() {
        let values: usize = unseen.values().sum();
        notes.push(format!(
            "{}: {} that training did not see, read as unknown: {}",
            sheet.name(),
            count(values, "value"),
            first_few(unseen.into_keys())
        ));
    }
    let features = match matrix.dense {
        Some(dense) => Features::dense(rows, matrix.width, dense),
        None => sparse(rows, matrix.width, matrix.entries).map(Features::Sparse),
    };
    Ok((features.map_err(Error::core(sheet.path()))?, matrix.known))
}

/// Allocates the values. Feature propagation needs dense ones.
fn allocate<'a>(records: &'a dyn Records, schema: &Schema) -> Result<Matrix<'a>> {
    let (path, rows, width) = (records.sheet().path(), records.count(), schema.width());
    let mut matrix = Matrix { path, width, dense: None, entries: Vec::new(), known: None };
    if !schema.sparse || schema.missing == Missing::Propagate {
        let values = rows.checked_mul(width).filter(|values| *values <= MAX_VALUES);
        let values = values.ok_or_else(|| {
            let found = format!("{} with {}", count(rows, records.noun()), count(width, "feature"));
            let advice = "leave columns of many words out with parameter `ignore_columns`";
            records.sheet().at(0, usize::MAX).error("a table that fits into memory", found, advice)
        })?;
        matrix.dense = Some(files::filled(path, 0.0, values)?);
        if schema.missing == Missing::Propagate {
            matrix.known = Some(files::filled(path, true, values)?);
        }
    }
    Ok(matrix)
}

/// Divides the columns of a schema into those that are encoded from typed values and those that are encoded from
/// texts.
fn split_columns<'a>(
    sheet: &'a Sheet,
    schema: &'a Schema,
    columns: &[usize],
    words: &MissingWords,
) -> (Vec<Typed<'a>>, Vec<Target<'a>>) {
    let (mut typed, mut texts) = (Vec::new(), Vec::new());
    let mut first = 0;
    for (number, (column, &at)) in schema.columns.iter().zip(columns).enumerate() {
        let target = Target { number, at, column, first };
        match sheet.typed(at).and_then(|values| Typed::new(target, values, words.numbers())) {
            Some(column) => typed.push(column),
            None => texts.push(target),
        }
        first += column.width();
    }
    (typed, texts)
}
