//! Train/validation/test split of nodes in tables.

use super::missing::MissingWords;
use super::node_ids::Nodes;
use super::nodes::NodeTable;
use super::parse::mask;
use super::roles::{FOLD, GRAPH, ID, SPLIT};
use super::sheet::Sheet;
use crate::error::{Result, shown};
use crate::options::TableOptions;
use std::path::Path;
use supergat_core::Labels;
use supergat_core::random::{Purpose, Stream};

/// Training, validation and test nodes.
pub(crate) type Splits = [Vec<u32>; 3];

/// Accepted names of training, validation and test set.
const NAMES: [&[&str]; 3] = [&["train", "training"], &["validation", "val", "valid", "dev"], &["test", "testing"]];
/// Words for nodes that are in no split.
const NONE: [&str; 2] = ["unlabelled", "unlabeled"];
const EXPECTED: &str = "train, validation, test or nothing";

/// Classes with fewer nodes than this yield unreliable metrics.
const FEW: usize = 5;

/// Returns the index of the split that a word names, `None` for no split, or an error for an unknown word.
fn split_index(word: &str, missing: &MissingWords) -> std::result::Result<Option<usize>, ()> {
    let is = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(word));
    match NAMES.iter().position(|names| is(names)) {
        Some(split) => Ok(Some(split)),
        None if is(&NONE) || missing.include(word) => Ok(None),
        None => Err(()),
    }
}

/// Columns of a table of nodes that contain the split.
#[derive(Debug)]
pub(super) enum SplitColumns {
    /// Column with the name of the split, or the number of the fold, of each node.
    Names(usize),
    /// Boolean columns that mark the training, validation and test nodes.
    Masks([Option<usize>; 3]),
}

impl SplitColumns {
    /// Returns the positions of the columns.
    pub fn columns(&self) -> Vec<usize> {
        match self {
            Self::Names(column) => vec![*column],
            Self::Masks(masks) => masks.iter().flatten().copied().collect(),
        }
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
                let found = format!("`{}`", shown(&row[at]));
                table.sheet.at(line, at).error("true or false", found, "fix it, or name a --split-column")
            })?;
            if let (true, Some(earlier)) = (member, earlier) {
                let found = format!("a node that is also in `{}`", shown(&table.sheet.header[earlier]));
                let advice = "fix one of them, or name a --split-column";
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
    let numbers: std::collections::BTreeSet<i64> = folds.iter().flatten().copied().collect();
    let mut sorted = numbers.iter().copied();
    let (Some(test), Some(validation), Some(_)) = (sorted.next(), sorted.next(), sorted.next()) else {
        return Err(numbers.len());
    };
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
            let advice = "add folds, or leave the column out with --ignore-columns";
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
            let advice = "fix it, or name another --split-column";
            table.sheet.at(*line, column).error(EXPECTED, format!("`{}`", shown(word)), advice)
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
        let node = nodes.find(name, &row[id]).or_else(|| nodes.find_number(name, &row[id])).ok_or_else(|| {
            sheet.at(line, id).error("the id of a node", format!("`{}`", shown(&row[id])), "remove the row")
        })?;
        let word = &row[split_column];
        let split = split_index(word, &missing)
            .map_err(|()| sheet.at(line, split_column).error(EXPECTED, format!("`{}`", shown(word)), "fix it"))?;
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
            notes.push(format!("{} nodes for {} have no label: only predicted", before - list.len(), names[0]));
        }
    }
}

/// Returns a split with all labelled nodes in the test set.
pub(super) fn all_for_test(known: &[bool]) -> Splits {
    [Vec::new(), Vec::new(), (0..).zip(known).filter(|(_, known)| **known).map(|(node, _)| node).collect()]
}

/// Draws a random split: 60, 20 and 20 % of each class, with at least one node per split if the class has
/// three nodes.
pub(crate) fn random(labels: &Labels, known: &[bool], names: &[String], seed: u64, notes: &mut Vec<String>) -> Splits {
    let groups: Vec<Vec<u32>> = match labels {
        Labels::Single { classes, of } => {
            let mut groups = vec![Vec::new(); *classes];
            (0..).zip(of).filter(|(_, class)| **class != Labels::UNKNOWN).for_each(|(node, class)| {
                groups[*class as usize].push(node);
            });
            groups
        }
        Labels::Multi { .. } => vec![(0..known.len() as u32).filter(|node| known[*node as usize]).collect()],
    };
    let mut splits = Splits::default();
    let mut few = Vec::new();
    for (class, mut group) in groups.into_iter().enumerate() {
        Stream::new(seed, class as u32, 0, Purpose::Split).shuffle(&mut group);
        let n = group.len();
        let validation = (n / 5).max(usize::from(n >= 2));
        let test = (n / 5).max(usize::from(n >= 3));
        splits[1].extend(group.drain(..validation));
        splits[2].extend(group.drain(..test));
        splits[0].append(&mut group);
        if n < FEW && !labels.is_multi() {
            few.push(format!("`{}` ({n})", shown(&names[class])));
        }
    }
    splits.iter_mut().for_each(|list| list.sort_unstable());
    let within = if labels.is_multi() { "of the labelled nodes" } else { "of every class" };
    notes.push(format!(
        "no split column: 60 % {within} for training, 20 % for validation, 20 % for test, drawn with --split-seed {seed}"
    ));
    if !few.is_empty() {
        let what = "these classes have so few labels that their metrics are unreliable; at least one node of each is used for training";
        notes.push(format!("{what}: {}", super::features::first_few(&few)));
    }
    splits
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

    #[test]
    fn random_split_is_stratified() {
        let of: Vec<u32> = (0..113)
            .map(|node| {
                if node < 100 {
                    0
                } else if node < 110 {
                    1
                } else {
                    2
                }
            })
            .collect();
        let labels = Labels::Single { classes: 3, of: of.clone() };
        let (mut notes, names) = (Vec::new(), ["a".to_owned(), "b".to_owned(), "c".to_owned()]);
        let splits = random(&labels, &[true; 113], &names, 0, &mut notes);
        let sizes =
            |class: u32| splits.each_ref().map(|list| list.iter().filter(|node| of[**node as usize] == class).count());
        assert_eq!((sizes(0), sizes(1), sizes(2)), ([60, 20, 20], [6, 2, 2], [1, 1, 1]));
        let mut all = splits.concat();
        all.sort_unstable();
        assert_eq!(all, (0..113).collect::<Vec<u32>>());
        assert!(notes[1].contains("`c` (3)") && !notes[1].contains("`b`"), "{notes:?}");
        assert_ne!(splits, random(&labels, &[true; 113], &names, 1, &mut notes));
    }
}
