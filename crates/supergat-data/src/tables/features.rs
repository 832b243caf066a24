//! From columns of numbers and words to features.

use super::nodes::{NodeTable, Nodes};
use crate::error::{Error, Result, shown};
use crate::file;
use crate::options::TableOptions;
use crate::schema::{Column, Schema};
use std::collections::{BTreeMap, BTreeSet};
use supergat_core::{Features, SparseMatrix};

/// Features are kept sparse from this number on, when few enough of their values are not zero.
const WIDE: usize = 64;
const SPARSE_SHARE: f64 = 0.25;

/// More words in a column than this, and on average fewer than two nodes per word, are names or sentences, not categories.
const MANY_WORDS: usize = 50;

/// No dense matrix may hold more values.
const MOST_VALUES: usize = 1 << 34;

/// What a column holds.
#[derive(Debug, Default, Clone)]
struct Content {
    numbers: usize,
    nonzero: usize,
    missing: usize,
    words: usize,
    first_word: Option<(u64, String)>,
    sum: f64,
    squares: f64,
}

/// Features, the columns they came from and what is to be said about them.
#[derive(Debug)]
pub(super) struct Made {
    pub features: Features<f32>,
    pub schema: Option<Schema>,
    pub notes: Vec<String>,
}

/// Whether a field says that nothing is known.
pub(super) fn is_missing(field: &str) -> bool {
    ["", "na", "n/a", "nan", "null", "?"].iter().any(|word| word.eq_ignore_ascii_case(field))
}

/// Makes features from the columns of a table; `sparse` decides over their form, where somebody did.
pub(super) fn make(table: &NodeTable, nodes: &Nodes, options: &TableOptions, sparse: Option<bool>) -> Result<Made> {
    let mut notes = Vec::new();
    let expected = options.expected.as_ref().and_then(|expected| expected.schema.as_ref());
    let (schema, columns) = match expected {
        Some(schema) => (schema.clone(), matched(table, schema, &mut notes)?),
        None => guessed(table, nodes, options, sparse, &mut notes)?,
    };
    let features = encoded(table, nodes, &schema, &columns, &mut notes)?;
    Ok(Made { features, schema: Some(schema), notes })
}

/// The table's columns that a trained model reads, by name.
fn matched(table: &NodeTable, schema: &Schema, notes: &mut Vec<String>) -> Result<Vec<usize>> {
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
    let unread: Vec<String> = table
        .features
        .iter()
        .filter(|at| !columns.contains(at))
        .map(|at| format!("`{}`", shown(&header[*at])))
        .collect();
    if !unread.is_empty() {
        notes.push(format!("{}: the model does not know {}, not used", table.sheet.name(), some(&unread)));
    }
    Ok(columns)
}

/// Decides for every column whether it holds numbers or words.
fn guessed(
    table: &NodeTable,
    nodes: &Nodes,
    options: &TableOptions,
    sparse: Option<bool>,
    notes: &mut Vec<String>,
) -> Result<(Schema, Vec<usize>)> {
    let mut contents = vec![Content::default(); table.features.len()];
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
                    "mend the value, leave it empty if it is not known, or leave the column out with --ignore-columns";
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
        let say = |what: &str| format!("{}: column `{}` {what}", table.sheet.name(), shown(&name));
        if let Some(words) = words.remove(&at) {
            if words.len() > MANY_WORDS && 2 * words.len() > content.words {
                notes.push(say(&format!("holds {} different texts, not categories: not used", words.len())));
                continue;
            }
            filled += (rows - content.missing) as f64;
            categories.push(format!("`{}` ({})", shown(&name), words.len()));
            columns.push(Column::Category { name, values: words.into_iter().collect() });
        } else if content.numbers == 0 {
            notes.push(say("is empty: not used"));
            continue;
        } else {
            if content.missing > 0 {
                notes.push(say(&format!("misses {} values: the mean stands for them", content.missing)));
            }
            let count = content.numbers as f64;
            let mean = content.sum / count;
            let deviation = (content.squares / count - mean * mean).max(0.0).sqrt() as f32;
            let deviation = options.standardise.then_some(if deviation > 0.0 { deviation } else { 1.0 });
            filled += if deviation.is_some() { rows } else { content.nonzero + content.missing } as f64;
            if deviation.is_none() && content.largest() > 100.0 {
                notes.push(say("has numbers far above 1; --standardise would make training easier"));
            }
            numbers += 1;
            columns.push(Column::Number { name, mean: mean as f32, deviation });
        }
        kept.push(at);
    }
    let width: usize = columns.iter().map(Column::width).sum();
    let share = filled / (rows as f64 * width as f64).max(1.0);
    let sparse = sparse.unwrap_or(width >= WIDE && share < SPARSE_SHARE);
    let mut said = format!("{}: {width} features from {numbers} columns of numbers", table.sheet.name());
    if !categories.is_empty() {
        said += &format!(" and {} of words: {}", categories.len(), some(&categories));
    }
    notes.push(said + if sparse { "; kept sparse" } else { "" });
    Ok((Schema { columns, sparse }, kept))
}

impl Content {
    fn add(&mut self, line: u64, field: &str) {
        match field.parse::<f64>() {
            _ if is_missing(field) => self.missing += 1,
            Ok(number) => {
                self.numbers += 1;
                self.nonzero += usize::from(number != 0.0);
                self.sum += number;
                self.squares += number * number;
            }
            Err(_) => {
                self.words += 1;
                self.first_word.get_or_insert_with(|| (line, field.to_owned()));
            }
        }
    }

    /// The root of the mean square: how large the numbers are.
    fn largest(&self) -> f64 {
        (self.squares / self.numbers.max(1) as f64).sqrt()
    }
}

/// The first few of a list.
pub(super) fn some(words: &[String]) -> String {
    const FEW: usize = 6;
    let shown = words.iter().take(FEW).cloned().collect::<Vec<_>>().join(", ");
    if words.len() > FEW { format!("{shown} and {} more", words.len() - FEW) } else { shown }
}

/// Turns the fields of `columns` into the features of a schema.
fn encoded(
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
        let values = nodes.len().checked_mul(width).filter(|values| *values <= MOST_VALUES);
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
                        Ok(place) => Some((first + place, 1.0)),
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
            some(&words)
        ));
    }
    let core = |source| Error::Core { path: table.sheet.path().to_owned(), source };
    if schema.sparse {
        return sparse(nodes.len(), width, entries).map(Features::Sparse).map_err(core);
    }
    Features::dense(nodes.len(), width, dense).map_err(core)
}

/// The number in a field, the mean where nothing is known.
pub(super) fn number(table: &NodeTable, line: u64, at: usize, field: &str, mean: f32) -> Result<f32> {
    if is_missing(field) {
        return Ok(mean);
    }
    field.parse::<f32>().ok().filter(|number| number.is_finite()).ok_or_else(|| {
        let advice = "mend the value, leave it empty if it is not known, or leave the column out with --ignore-columns";
        table.sheet.at(line, at).error("a finite number", format!("`{}`", shown(field)), advice)
    })
}

/// Compressed rows of entries (row, column, value).
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
