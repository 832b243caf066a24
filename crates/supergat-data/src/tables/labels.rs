//! From words in a column to classes.

use super::features::{is_missing, some};
use super::nodes::{Cell, NodeTable};
use super::sidecar::Sidecar;
use crate::error::{Result, shown};
use crate::file;
use crate::options::TableOptions;
use std::collections::{BTreeMap, HashMap};
use supergat_core::Labels;

/// Between several classes of a node.
pub(crate) const SEPARATOR: char = '|';

/// The classes of all nodes.
#[derive(Debug)]
pub(super) struct Classes {
    pub labels: Labels,
    pub names: Vec<String>,
    pub known: Vec<bool>,
    pub notes: Vec<String>,
}

/// How often each class occurs, and the line where it does first.
type Counts<'a> = BTreeMap<&'a str, (usize, u64)>;

/// Reads the classes; a model's must be among those it knows.
pub(super) fn make(table: &NodeTable, cells: &[Cell], options: &TableOptions, sidecar: &Sidecar) -> Result<Classes> {
    let expected = options.expected.as_ref();
    let several = expected.map(|expected| expected.several).or(sidecar.several_labels);
    let several = several.unwrap_or_else(|| cells.iter().any(|(_, word)| word.contains(SEPARATOR)));
    let mut counts = Counts::new();
    for (line, cell) in cells {
        for word in words(cell, several) {
            counts.entry(word).or_insert((0, *line)).0 += 1;
        }
    }
    let mut notes = Vec::new();
    let given = expected.map(|expected| &expected.classes).or(sidecar.classes.as_ref());
    let whole = |word: &&str| word.parse::<i64>().is_ok_and(|number| number >= 0);
    if given.is_none()
        && counts.keys().filter(|word| **word != "-1").all(whole)
        && let Some((count, _)) = counts.remove("-1")
    {
        notes.push(format!("{}: {count} labels are -1: read as not known", table.sheet.name()));
    }
    let names = match given {
        Some(names) => names.clone(),
        None => in_order(counts.keys().map(|word| (*word).to_owned()).collect()),
    };
    if given.is_none() {
        check(table, &counts, options)?;
    }
    let of_name: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
    if expected.is_none() && given.is_some() {
        refuse_unknown(table, &counts, &of_name)?;
    }
    let foreign: Vec<String> =
        counts.keys().filter(|word| !of_name.contains_key(**word)).map(|word| format!("`{}`", shown(word))).collect();
    if !foreign.is_empty() {
        notes.push(format!(
            "{}: labels that the model does not know, read as not known: {}",
            table.sheet.name(),
            some(&foreign)
        ));
    }
    let mut known = vec![false; cells.len()];
    let classes = names.len();
    let labels = if several {
        let mut of = file::filled(table.sheet.path(), 0u8, cells.len().saturating_mul(classes))?;
        for (node, (_, cell)) in cells.iter().enumerate() {
            for class in words(cell, true).filter_map(|word| of_name.get(word)) {
                of[node * classes + *class as usize] = 1;
            }
            known[node] = !is_missing(cell);
        }
        Labels::Multi { classes, of }
    } else {
        let of: Vec<u32> =
            cells.iter().map(|(_, cell)| of_name.get(cell.as_str()).copied().unwrap_or(Labels::UNKNOWN)).collect();
        known.iter_mut().zip(&of).for_each(|(known, class)| *known = *class != Labels::UNKNOWN);
        Labels::Single { classes, of }
    };
    notes.push(said(table, &names, &counts, &known, several));
    Ok(Classes { labels, names, known, notes })
}

/// The words of a cell, none where nothing is known.
fn words(cell: &str, several: bool) -> impl Iterator<Item = &str> {
    let parts = if several { cell.split(SEPARATOR) } else { cell.split('\u{0}') };
    parts.map(str::trim).filter(|word| !is_missing(word))
}

/// Numbers by size, words by alphabet.
fn in_order(mut names: Vec<String>) -> Vec<String> {
    let numbers: Option<Vec<i64>> = names.iter().map(|name| name.parse().ok()).collect();
    match numbers {
        Some(_) => names.sort_by_key(|name| name.parse::<i64>().unwrap_or(0)),
        None => names.sort_unstable(),
    }
    names
}

fn check(table: &NodeTable, counts: &Counts<'_>, options: &TableOptions) -> Result<()> {
    if options.labels_optional {
        return Ok(());
    }
    if !table.has_label() {
        let expected = "a column with the classes of the nodes, called label or class";
        let advice = "name it with --label-column, or add labels.csv";
        return Err(table.label_error(1, expected, table.sheet.columns_in_words(), advice));
    }
    if counts.is_empty() {
        let advice = "fill in the classes of some nodes, or name another --label-column";
        return Err(table.label_error(0, "labels", "none at all".into(), advice));
    }
    if counts.len() == 1 {
        let found = format!("only `{}`", shown(counts.keys().next().unwrap_or(&"")));
        let advice = "fill in nodes of another class, or name another --label-column";
        return Err(table.label_error(0, "at least two classes", found, advice));
    }
    let alone = counts.iter().filter(|(_, (count, _))| *count == 1).min_by_key(|(_, (_, line))| *line);
    match alone {
        Some((word, (_, line))) if !options.keep_rare => Err(table.label_error(
            *line,
            "classes that have at least two nodes",
            format!("`{}` once", shown(word)),
            "mend the label, leave it empty if it is not known, or say --keep-rare; if many labels occur once, name another --label-column",
        )),
        _ => Ok(()),
    }
}

fn refuse_unknown(table: &NodeTable, counts: &Counts<'_>, of_name: &HashMap<&str, u32>) -> Result<()> {
    match counts.iter().find(|(word, _)| !of_name.contains_key(**word)) {
        Some((word, (_, line))) => Err(table.label_error(
            *line,
            "one of the classes of dataset.toml",
            format!("`{}`", shown(word)),
            "mend the label, or add it there",
        )),
        None => Ok(()),
    }
}

fn said(table: &NodeTable, names: &[String], counts: &Counts<'_>, known: &[bool], several: bool) -> String {
    let labelled = known.iter().filter(|known| **known).count();
    let sizes: Vec<String> = names
        .iter()
        .map(|name| format!("`{}` ({})", shown(name), counts.get(name.as_str()).map_or(0, |(count, _)| *count)))
        .collect();
    let several = if several { ", several per node" } else { "" };
    format!(
        "{}: {labelled} of {} nodes have a label{several}; {} classes: {}",
        table.sheet.name(),
        known.len(),
        names.len(),
        some(&sizes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_ordered_as_people_do() {
        let order = |names: &[&str]| in_order(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(order(&["10", "9", "1"]), ["1", "9", "10"]);
        assert_eq!(order(&["b", "10", "9"]), ["10", "9", "b"]);
    }
}
