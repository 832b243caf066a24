//! Sparse features listed as entries: node, feature, value.

use super::columns::features::FeatureTable;
use super::columns::matrix::{number, sparse};
use super::columns::missing::{MissingWords, refused};
use super::node_ids::Nodes;
use super::nodes::NodeTable;
use crate::error::{Error, Result};
use crate::files;
use crate::options::TableOptions;
use crate::schema::{Column, Missing, Notation, Schema};
use crate::words::{count, first_few, quoted};
use std::collections::{BTreeMap, HashMap};
use supergat_core::Features;

/// Maximum number of features.
const MAX_FEATURES: usize = 1 << 24;

/// Builds features from the entries of a table.
///
/// Features are numbered from 0 or named. `columns` is the number of features, if `dataset.toml` states it.
pub(super) fn build(
    table: &NodeTable,
    [feature, value]: [usize; 2],
    nodes: &Nodes,
    options: &TableOptions,
    columns: Option<usize>,
) -> Result<FeatureTable> {
    let expected = options.expected.as_ref();
    let schema = match expected {
        Some(expected) => expected.schema.clone(),
        None => named_schema(table, feature)?,
    };
    let words = MissingWords::of_options(options);
    let schema = schema.map(|schema| Schema { missing_words: words.clone().into_words(), ..schema });
    let index_of: Option<HashMap<&str, u32>> =
        schema.as_ref().map(|schema| schema.columns.iter().map(Column::name).zip(0..).collect());
    let known = schema.as_ref().map(Schema::width).or(expected.map(|expected| expected.features)).or(columns);
    let mut unknown: BTreeMap<String, usize> = BTreeMap::new();
    let mut entries = Vec::new();
    let mut largest = 0;
    let mut lines = Vec::new();
    let mut missing = 0;
    table.for_each(nodes, &mut |node, line, row| {
        let column = match &index_of {
            Some(index_of) => index_of.get(&row[feature]).copied(),
            None => Some(
                row[feature].parse().ok().filter(|at| *at < known.unwrap_or(MAX_FEATURES) as u32).ok_or_else(|| {
                    let most = known.unwrap_or(MAX_FEATURES);
                    let expected = format!("the number of a feature, from 0 to {}", most.saturating_sub(1));
                    let advice = "fix it, or give the number of features in dataset.toml";
                    table.sheet.at(line, feature).error(expected, quoted(&row[feature]), advice)
                })?,
            ),
        };
        let number = match words.include(&row[value]) {
            true if options.missing == Missing::Error => {
                return Err(refused(table.sheet.at(line, value)));
            }
            true => {
                missing += 1;
                0.0
            }
            false => number(&table.sheet, line, value, &row[value], Notation::Plain)?,
        };
        match column {
            Some(column) => {
                largest = largest.max(column as usize + 1);
                files::push(table.sheet.path(), &mut entries, (node as u32, column, number))?;
                files::push(table.sheet.path(), &mut lines, line)?;
            }
            None => *unknown.entry(quoted(&row[feature])).or_default() += 1,
        }
        Ok(())
    })?;
    reject_duplicates(table, feature, &entries, &lines)?;
    let columns = known.unwrap_or(largest);
    let mut notes = vec![format!(
        "{}: {} in {}, kept sparse",
        table.sheet.name(),
        count(columns, "feature"),
        count(entries.len(), "entry")
    )];
    if missing > 0 {
        notes.push(format!("{}: {} without a value, read as 0", table.sheet.name(), count(missing, "entry")));
    }
    if !unknown.is_empty() {
        let total: usize = unknown.values().sum();
        notes.push(format!(
            "{}: {} of features that the model does not know, not used: {}",
            table.sheet.name(),
            count(total, "entry"),
            first_few(unknown.into_keys())
        ));
    }
    let matrix = sparse(nodes.len(), columns, entries).map_err(Error::core(table.sheet.path()))?;
    Ok(FeatureTable { features: Features::Sparse(matrix), known: None, schema, notes })
}

/// Returns a schema of the feature names in alphabetical order, or `None` if all features are numbers.
fn named_schema(table: &NodeTable, feature: usize) -> Result<Option<Schema>> {
    let mut names = std::collections::BTreeSet::new();
    let mut numbers = true;
    table.sheet.for_each(&mut |_, row| {
        numbers &= row[feature].parse::<u32>().is_ok();
        if !numbers && !names.contains(&row[feature]) {
            names.insert(row[feature].to_owned());
        }
        Ok(())
    })?;
    if numbers {
        return Ok(None);
    }
    // Also include the numbers that precede the first word.
    table.sheet.for_each(&mut |_, row| {
        if !names.contains(&row[feature]) {
            names.insert(row[feature].to_owned());
        }
        Ok(())
    })?;
    let column =
        |name| Column::Number { name, mean: 0.0, deviation: None, notation: Notation::Plain, indicator: false };
    let columns = names.into_iter().map(column).collect();
    Ok(Some(Schema { columns, sparse: true, ..Schema::default() }))
}

/// Returns an error if a node has two values of the same feature.
fn reject_duplicates(table: &NodeTable, feature: usize, entries: &[(u32, u32, f32)], lines: &[u64]) -> Result<()> {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_unstable_by_key(|&k| (entries[k].0, entries[k].1, lines[k]));
    let same = |k: usize| (entries[k].0, entries[k].1);
    match order.windows(2).find(|pair| same(pair[0]) == same(pair[1])) {
        Some(pair) => Err(table.sheet.at(lines[pair[1]], feature).error(
            "one value for a node and a feature",
            format!("another, the first is in line {}", lines[pair[0]]),
            "remove one of the rows",
        )),
        None => Ok(()),
    }
}
