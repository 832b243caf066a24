//! Train/validation/test split of nodes in tables.

use super::nodes::{Cell, NodeTable, Nodes};
use super::roles::{GRAPH, ID, SPLIT};
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
const NONE: [&str; 5] = ["", "none", "na", "unlabelled", "unlabeled"];
const EXPECTED: &str = "train, validation, test or nothing";

/// Classes with fewer nodes than this yield unreliable metrics.
const FEW: usize = 5;

/// Returns the index of the split that a word names, `None` for no split, or an error for an unknown word.
fn split_index(word: &str) -> std::result::Result<Option<usize>, ()> {
    let is = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(word));
    match NAMES.iter().position(|names| is(names)) {
        Some(split) => Ok(Some(split)),
        None if is(&NONE) => Ok(None),
        None => Err(()),
    }
}

/// Reads the split column of a table of nodes.
pub(super) fn from_column(table: &NodeTable, cells: &[Cell]) -> Result<Splits> {
    let mut splits = Splits::default();
    for (node, (line, word)) in cells.iter().enumerate() {
        let split = split_index(word).map_err(|()| {
            let advice = "fix it, or name another --split-column";
            table.split_error(*line, EXPECTED, format!("`{}`", shown(word)), advice)
        })?;
        if let Some(split) = split {
            splits[split].push(node as u32);
        }
    }
    Ok(splits)
}

/// Reads the table `splits`: one row per node and split. The order of the rows is kept.
pub(super) fn from_table(path: &Path, nodes: &Nodes, options: &TableOptions) -> Result<Splits> {
    let sheet = Sheet::open(path, options, &|_| true)?;
    let column = |role: &super::roles::Role| {
        role.find(&sheet, None)?.ok_or_else(|| {
            let expected = format!("a column with {}", role.what);
            sheet.at(1, usize::MAX).error(expected, sheet.columns_in_words(), "call the columns split and id")
        })
    };
    let (split_column, id) = (column(&SPLIT)?, column(&ID)?);
    let graph = if nodes.graph_of.is_some() { Some(column(&GRAPH)?) } else { None };
    let mut splits = Splits::default();
    sheet.for_each(&mut |line, row| {
        let node = nodes.find(graph.map(|at| &row[at]), &row[id]).ok_or_else(|| {
            sheet.at(line, id).error("the id of a node", format!("`{}`", shown(&row[id])), "remove the row")
        })?;
        let word = &row[split_column];
        let split = split_index(word)
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
        assert_eq!(split_index("Train"), Ok(Some(0)));
        assert_eq!(split_index("val"), Ok(Some(1)));
        assert_eq!((split_index("TEST"), split_index(""), split_index("tset")), (Ok(Some(2)), Ok(None), Err(())));
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
