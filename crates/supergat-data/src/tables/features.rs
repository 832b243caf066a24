//! Builds features from columns of numbers and words.

use super::nodes::{NodeTable, Nodes};
use crate::error::{Error, Result, shown};
use crate::file;
use crate::options::TableOptions;
use crate::schema::{Column, Schema};
use std::collections::{BTreeMap, BTreeSet};
use supergat_core::{Features, SparseMatrix};

/// Minimum number of features for sparse storage.
const MIN_SPARSE_WIDTH: usize = 64;
/// Maximum fraction of nonzero values for sparse storage.
const MAX_SPARSE_DENSITY: f64 = 0.25;

/// Maximum number of categories of a column with fewer than two nodes per word on average.
///
/// Such a column with more distinct words contains names or free text.
const MAX_RARE_WORDS: usize = 50;

/// Maximum number of values of a dense matrix.
const MAX_VALUES: usize = 1 << 34;

/// Statistics of a column.
#[derive(Debug, Default, Clone)]
struct ColumnStatistics {
    numbers: usize,
    nonzero: usize,
    missing: usize,
    words: usize,
    /// Line and text of the first word.
    first_word: Option<(u64, String)>,
    sum: f64,
    sum_of_squares: f64,
}

/// Features, their schema and notes for the user.
#[derive(Debug)]
pub(super) struct FeatureTable {
    pub features: Features<f32>,
    pub schema: Option<Schema>,
    pub notes: Vec<String>,
}

/// Returns whether a field denotes a missing value.
pub(super) fn is_missing(field: &str) -> bool {
    ["", "na", "n/a", "nan", "null", "?"].iter().any(|word| word.eq_ignore_ascii_case(field))
}

/// Builds features from the columns of a table. `sparse` selects the storage; by default it depends on the
/// data.
pub(super) fn build(
    table: &NodeTable,
    nodes: &Nodes,
    options: &TableOptions,
    sparse: Option<bool>,
) -> Result<FeatureTable> {
    let mut notes = Vec::new();
    let expected = options.expected.as_ref().and_then(|expected| expected.schema.as_ref());
    let (schema, columns) = match expected {
        Some(schema) => (schema.clone(), match_columns(table, schema, &mut notes)?),
        None => infer_schema(table, nodes, options, sparse, &mut notes)?,
    };
    let features = encode(table, nodes, &schema, &columns, &mut notes)?;
    Ok(FeatureTable { features, schema: Some(schema), notes })
}

/// Finds the columns of a trained model's schema by name.
fn match_columns(table: &NodeTable, schema: &Schema, notes: &mut Vec<String>) -> Result<Vec<usize>> {
    let header = &table.sheet.header;
    let find = |name: &str| table.features.iter().copied().find(|at| header[*at] == name);
    let columns = schema.columns.iter().map(|column| {
        find(column.name()).ok_or_else(|| {
            let expected = format!("a column `{}`, which the model was trained with", shown(column.name()));
            let advice = "add the column; its values may be left empty";
            table.sheet.at(1, usize::MAX).error(expected, table.sheet.columns_in_words(), advice)
        })
    });
    let columns = columns.collect::<Result<Vec<usize>>>()?;
    let unused: Vec<String> = table
        .features
        .iter()
        .filter(|at| !columns.contains(at))
        .map(|at| format!("`{}`", shown(&header[*at])))
        .collect();
    if !unused.is_empty() {
        notes.push(format!("{}: the model does not know {}, not used", table.sheet.name(), first_few(&unused)));
    }
    Ok(columns)
}

/// Infers for each column whether it contains numbers or categories.
fn infer_schema(
    table: &NodeTable,
    nodes: &Nodes,
    options: &TableOptions,
    sparse: Option<bool>,
    notes: &mut Vec<String>,
) -> Result<(Schema, Vec<usize>)> {
    let mut contents = vec![ColumnStatistics::default(); table.features.len()];
    table.for_each(nodes, &mut |_, line, row| {
        table.features.iter().zip(&mut contents).for_each(|(at, content)| content.add(line, &row[*at]));
        Ok(())
    })?;
    let mut words: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (&at, content) in table.features.iter().zip(&contents) {
        if let Some((line, word)) = &content.first_word {
            if content.words <= content.numbers {
                let expected = format!("a number, as in {} other rows", content.numbers);
                let advice =
                    "fix the value, leave it empty if it is not known, or leave the column out with --ignore-columns";
                return Err(table.sheet.at(*line, at).error(expected, format!("`{}`", shown(word)), advice));
            }
            words.insert(at, BTreeSet::new());
        }
    }
    if !words.is_empty() {
        table.for_each(nodes, &mut |_, _, row| {
            for (at, words) in words.iter_mut().filter(|(at, _)| !is_missing(&row[**at])) {
                if !words.contains(&row[*at]) {
                    words.insert(row[*at].to_owned());
                }
            }
            Ok(())
        })?;
    }
    let (mut columns, mut kept, mut filled) = (Vec::new(), Vec::new(), 0.0);
    let rows = nodes.len();
    let (mut numbers, mut categories) = (0, Vec::new());
    for (&at, content) in table.features.iter().zip(&contents) {
        let name = table.sheet.header[at].clone();
        let note = |what: &str| format!("{}: column `{}` {what}", table.sheet.name(), shown(&name));
        if let Some(words) = words.remove(&at) {
            if words.len() > MAX_RARE_WORDS && 2 * words.len() > content.words {
                notes.push(note(&format!("holds {} different texts, not categories: not used", words.len())));
                continue;
            }
            filled += (rows - content.missing) as f64;
            categories.push(format!("`{}` ({})", shown(&name), words.len()));
            columns.push(Column::Category { name, values: words.into_iter().collect() });
        } else if content.numbers == 0 {
            notes.push(note("is empty: not used"));
            continue;
        } else {
            if content.missing > 0 {
                notes.push(note(&format!("has {} missing values, replaced by the mean", content.missing)));
            }
            let count = content.numbers as f64;
            let mean = content.sum / count;
            let deviation = (content.sum_of_squares / count - mean * mean).max(0.0).sqrt() as f32;
            let deviation = options.standardise.then_some(if deviation > 0.0 { deviation } else { 1.0 });
            filled += if deviation.is_some() { rows } else { content.nonzero + content.missing } as f64;
            if deviation.is_none() && content.root_mean_square() > 100.0 {
                notes.push(note("has numbers far above 1; --standardise would make training easier"));
            }
            numbers += 1;
            columns.push(Column::Number { name, mean: mean as f32, deviation });
        }
        kept.push(at);
    }
    let width: usize = columns.iter().map(Column::width).sum();
    let density = filled / (rows as f64 * width as f64).max(1.0);
    let sparse = sparse.unwrap_or(width >= MIN_SPARSE_WIDTH && density < MAX_SPARSE_DENSITY);
    let mut summary = format!("{}: {width} features from {numbers} columns of numbers", table.sheet.name());
    if !categories.is_empty() {
        summary += &format!(" and {} of words: {}", categories.len(), first_few(&categories));
    }
    notes.push(summary + if sparse { "; kept sparse" } else { "" });
    Ok((Schema { columns, sparse }, kept))
}

impl ColumnStatistics {
    /// Adds a field of the column.
    fn add(&mut self, line: u64, field: &str) {
        match field.parse::<f64>() {
            _ if is_missing(field) => self.missing += 1,
            Ok(number) => {
                self.numbers += 1;
                self.nonzero += usize::from(number != 0.0);
                self.sum += number;
                self.sum_of_squares += number * number;
            }
            Err(_) => {
                self.words += 1;
                self.first_word.get_or_insert_with(|| (line, field.to_owned()));
            }
        }
    }

    /// Returns the root mean square of the numbers.
    fn root_mean_square(&self) -> f64 {
        (self.sum_of_squares / self.numbers.max(1) as f64).sqrt()
    }
}

/// Joins the first few words of a list, for messages.
pub(super) fn first_few(words: &[String]) -> String {
    const FEW: usize = 6;
    let shown = words.iter().take(FEW).cloned().collect::<Vec<_>>().join(", ");
    if words.len() > FEW { format!("{shown} and {} more", words.len() - FEW) } else { shown }
}

/// Encodes the fields of `columns` as the features of a schema.
fn encode(
    table: &NodeTable,
    nodes: &Nodes,
    schema: &Schema,
    columns: &[usize],
    notes: &mut Vec<String>,
) -> Result<Features<f32>> {
    let width = schema.width();
    let mut unseen: BTreeMap<String, usize> = BTreeMap::new();
    let mut entries: Vec<(u32, u32, f32)> = Vec::new();
    let mut dense = Vec::new();
    if !schema.sparse {
        let values = nodes.len().checked_mul(width).filter(|values| *values <= MAX_VALUES);
        let values = values.ok_or_else(|| {
            let found = format!("{} nodes with {width} features", nodes.len());
            let advice = "leave columns of many words out with --ignore-columns";
            table.sheet.at(0, usize::MAX).error("a table that fits into memory", found, advice)
        })?;
        dense = file::filled(table.sheet.path(), 0.0f32, values)?;
    }
    let mut filled = vec![false; nodes.len()];
    table.for_each(nodes, &mut |node, line, row| {
        filled[node] = true;
        let mut first = 0;
        for (column, &at) in schema.columns.iter().zip(columns) {
            let entry = match column {
                Column::Number { mean, deviation, .. } => {
                    let value = number(table, line, at, &row[at], *mean)?;
                    Some((first, deviation.map_or(value, |deviation| (value - mean) / deviation)))
                }
                Column::Category { name, values } => {
                    match values.binary_search_by(|word| word.as_str().cmp(&row[at])) {
                        Ok(category) => Some((first + category, 1.0)),
                        Err(_) if is_missing(&row[at]) => None,
                        Err(_) => {
                            *unseen.entry(format!("`{}` in `{}`", shown(&row[at]), shown(name))).or_default() += 1;
                            None
                        }
                    }
                }
            };
            match entry {
                Some((feature, value)) if !schema.sparse => dense[node * width + feature] = value,
                Some((feature, value)) if value != 0.0 => {
                    file::push(table.sheet.path(), &mut entries, (node as u32, feature as u32, value))?;
                }
                _ => {}
            }
            first += column.width();
        }
        Ok(())
    })?;
    if let Some(node) = filled.iter().position(|filled| !filled) {
        let found = format!("none for `{}`", shown(&nodes.ids[node]));
        return Err(table.sheet.at(0, usize::MAX).error("a row for every node", found, "add the row"));
    }
    if !unseen.is_empty() {
        let nodes: usize = unseen.values().sum();
        let words: Vec<String> = unseen.into_keys().collect();
        notes.push(format!(
            "{}: {nodes} values that training did not see, read as unknown: {}",
            table.sheet.name(),
            first_few(&words)
        ));
    }
    let core = |source| Error::Core { path: table.sheet.path().to_owned(), source };
    if schema.sparse {
        return sparse(nodes.len(), width, entries).map(Features::Sparse).map_err(core);
    }
    Features::dense(nodes.len(), width, dense).map_err(core)
}

/// Parses the number in a field; returns `mean` if it is missing.
pub(super) fn number(table: &NodeTable, line: u64, at: usize, field: &str, mean: f32) -> Result<f32> {
    if is_missing(field) {
        return Ok(mean);
    }
    field.parse::<f32>().ok().filter(|number| number.is_finite()).ok_or_else(|| {
        let advice = "fix the value, leave it empty if it is not known, or leave the column out with --ignore-columns";
        table.sheet.at(line, at).error("a finite number", format!("`{}`", shown(field)), advice)
    })
}

/// Builds a sparse matrix from entries (row, column, value).
pub(super) fn sparse(
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
