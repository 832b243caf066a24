//! Train/validation/test split of nodes in tables.

use super::columns::missing::MissingWords;
use super::columns::parse::mask;
use super::node_ids::Nodes;
use super::nodes::NodeTable;
use super::roles::{FOLD, GRAPH, ID, SPLIT, SplitColumns};
use super::rows::sheet::Sheet;
use crate::error::Result;
use crate::options::TableOptions;
use crate::words::{count, quoted, shown};
use std::path::Path;

/// Training, validation and test nodes.
pub(crate) type Splits = [Vec<u32>; 3];

/// Accepted names of training, validation and test set.
const NAMES: [&[&str]; 3] = [&["train", "training"], &["validation", "val", "valid", "dev"], &["test", "testing"]];
/// Words for nodes that are in no split.
const NONE: [&str; 2] = ["unlabelled", "unlabeled"];
const EXPECTED: &str = "train, validation, test or nothing";

/// Returns the index of the split that a word names, `None` for no split, or an error for an unknown word.
fn split_index(word: &str, missing: &MissingWords) -> std::result::Result<Option<usize>, ()> {
    let is = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(word));
    match NAMES.iter().position(|names| is(names)) {
        Some(split) => Ok(Some(split)),
        None if is(&NONE) || missing.include(word) => Ok(None),
        None => Err(()),
    }
}

/// Reads the split of the nodes from the columns of a table.
pub(super) fn from_columns(
    table: &NodeTable,
    columns: &SplitColumns,
    nodes: &Nodes,
    missing: &MissingWords,
    notes: &mut Vec<String>,
) -> Result<Splits> {
    match columns {
        SplitColumns::Names(column) => from_names(table, *column, nodes, missing, notes),
        SplitColumns::Masks(masks) => from_masks(table, masks, nodes, missing),
    }
}

/// Reads boolean columns. A node may be in one split only; missing values are false.
fn from_masks(table: &NodeTable, masks: &[Option<usize>; 3], nodes: &Nodes, missing: &MissingWords) -> Result<Splits> {
    let mut splits = Splits::default();
    table.for_each(nodes, &mut |node, line, row| {
        let mut earlier: Option<usize> = None;
        for (split, at) in masks.iter().enumerate().filter_map(|(split, at)| Some((split, (*at)?))) {
            let member = if missing.include(&row[at]) { Some(false) } else { mask(&row[at]) };
            let member = member.ok_or_else(|| {
                let found = quoted(&row[at]);
                table.sheet.at(line, at).error(
                    "true or false",
                    found,
                    "fix it, or name the right column with parameter `split_column`",
                )
            })?;
            if let (true, Some(earlier)) = (member, earlier) {
                let found = format!("a node that is also in `{}`", shown(&table.sheet.header[earlier]));
                let advice = "fix one of them, or name the right column with parameter `split_column`";
                return Err(table.sheet.at(line, at).error("nodes that are in one split", found, advice));
            }
            if member {
                earlier = Some(at);
                splits[split].push(node as u32);
            }
        }
        Ok(())
    })?;
    splits.iter_mut().for_each(|list| list.sort_unstable());
    Ok(splits)
}

/// Reads folds: the smallest number is the test set, the next one the validation set, all others the training set.
fn from_folds(folds: &[Option<i64>]) -> std::result::Result<(Splits, [i64; 2]), usize> {
    let mut numbers: Vec<i64> = folds.iter().flatten().copied().collect();
    numbers.sort_unstable();
    numbers.dedup();
    let [test, validation, _, ..] = numbers[..] else { return Err(numbers.len()) };
    let mut splits = Splits::default();
    for (node, fold) in (0..).zip(folds) {
        match fold {
            Some(fold) if *fold == test => splits[2].push(node),
            Some(fold) if *fold == validation => splits[1].push(node),
            Some(_) => splits[0].push(node),
            None => {}
        }
    }
    Ok((splits, [test, validation]))
}

/// Reads a column with the names of splits, or with the numbers of folds if it is called `fold`.
fn from_names(
    table: &NodeTable,
    column: usize,
    nodes: &Nodes,
    missing: &MissingWords,
    notes: &mut Vec<String>,
) -> Result<Splits> {
    let cells = table.cells(nodes, Some(column))?;
    let whole = |word: &str| word.parse::<f64>().ok().filter(|fold| fold.fract() == 0.0).map(|fold| fold as i64);
    if FOLD.is(&table.sheet.header[column])
        && cells.iter().all(|(_, word)| missing.include(word) || whole(word).is_some())
    {
        let folds: Vec<Option<i64>> =
            cells.iter().map(|(_, word)| whole(word).filter(|_| !missing.include(word))).collect();
        let (splits, [test, validation]) = from_folds(&folds).map_err(|count| {
            let advice = "add folds, or leave the column out with parameter `ignore_columns`";
            table.sheet.at(0, column).error("at least three folds", count.to_string(), advice)
        })?;
        notes.push(format!(
            "{}: fold {test} is the test set, fold {validation} the validation set, the others are for training",
            table.sheet.name()
        ));
        return Ok(splits);
    }
    let mut splits = Splits::default();
    for (node, (line, word)) in cells.iter().enumerate() {
        let split = split_index(word, missing).map_err(|()| {
            let advice = "fix it, or name another column with parameter `split_column`";
            table.sheet.at(*line, column).error(EXPECTED, quoted(word), advice)
        })?;
        if let Some(split) = split {
            splits[split].push(node as u32);
        }
    }
    Ok(splits)
}

/// Reads the table `splits`: one row per node and split. The order of the rows is kept.
pub(super) fn from_table(
    path: &Path,
    nodes: &Nodes,
    options: &TableOptions,
    notes: &mut Vec<String>,
) -> Result<Splits> {
    let sheet = Sheet::open(path, options, &|_| true)?;
    notes.extend(sheet.encoding_note());
    let column = |role: &super::roles::Role| {
        role.find(&sheet, None)?.ok_or_else(|| {
            let expected = format!("a column with {}", role.what);
            sheet.at_header().error(expected, sheet.columns_in_words(), "call the columns split and id")
        })
    };
    let (split_column, id) = (column(&SPLIT)?, column(&ID)?);
    let graph = if nodes.graph_of.is_some() { Some(column(&GRAPH)?) } else { None };
    let missing = MissingWords::of_options(options);
    let mut splits = Splits::default();
    sheet.for_each(&mut |line, row| {
        let name = graph.map(|at| &row[at]);
        let node = nodes
            .find(name, &row[id])
            .or_else(|| nodes.find_number(name, &row[id]))
            .ok_or_else(|| sheet.at(line, id).error("the id of a node", quoted(&row[id]), "remove the row"))?;
        let word = &row[split_column];
        let split = split_index(word, &missing)
            .map_err(|()| sheet.at(line, split_column).error(EXPECTED, quoted(word), "fix it"))?;
        if let Some(split) = split {
            splits[split].push(node);
        }
        Ok(())
    })?;
    Ok(splits)
}

/// Removes nodes without a label from all splits.
pub(super) fn remove_unlabelled(splits: &mut Splits, known: &[bool], notes: &mut Vec<String>) {
    for (list, names) in splits.iter_mut().zip(NAMES) {
        let before = list.len();
        list.retain(|&node| known[node as usize]);
        if list.len() < before {
            notes.push(format!(
                "{} for {} without a label: only predicted",
                count(before - list.len(), "node"),
                names[0]
            ));
        }
    }
}

/// Returns a split with all labelled nodes in the test set.
pub(super) fn all_for_test(known: &[bool]) -> Splits {
    [Vec::new(), Vec::new(), (0..).zip(known).filter(|(_, known)| **known).map(|(node, _)| node).collect()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_alternative_split_names() {
        let index = |word: &str| split_index(word, &MissingWords::default());
        assert_eq!([index("Train"), index("val"), index("TEST")], [Ok(Some(0)), Ok(Some(1)), Ok(Some(2))]);
        assert_eq!([index(""), index("tset")], [Ok(None), Err(())]);
    }
}
