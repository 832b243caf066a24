//! Builds classes from the words of a column.

use super::columns::missing::MissingWords;
use super::nodes::{Cell, NodeTable};
use super::sidecar::Sidecar;
use crate::error::Result;
use crate::files;
use crate::options::TableOptions;
use crate::words::{count, first_few, quoted, shown};
use std::collections::{BTreeMap, HashMap};
use supergat_core::Labels;

/// Separator of several classes of a node.
pub(crate) const SEPARATOR: char = '|';

/// Maximum number of classes whose names are numbers with a fraction.
const MAX_FRACTIONS: usize = 20;

/// Classes of all nodes.
#[derive(Debug)]
pub(super) struct Classes {
    pub labels: Labels,
    pub names: Vec<String>,
    /// Whether each node has a label.
    pub known: Vec<bool>,
    pub notes: Vec<String>,
}

/// Number of occurrences of each class, and the line of the first one.
type Counts<'a> = BTreeMap<&'a str, (usize, u64)>;

/// Builds the classes from the label cells. Classes that a given model does not know are read as unknown.
pub(super) fn build(table: &NodeTable, cells: &[Cell], options: &TableOptions, sidecar: &Sidecar) -> Result<Classes> {
    let expected = options.expected.as_ref();
    let several = expected.map(|expected| expected.several).or(sidecar.several_labels);
    let several = several.unwrap_or_else(|| cells.iter().any(|(_, word)| word.contains(SEPARATOR)));
    let given = expected.map(|expected| &expected.classes).or(sidecar.classes.as_ref());
    // A class that is known by name may be called `none`.
    let missing = MissingWords::of_options(options);
    let is_class =
        |word: &&str| !missing.include(word) || given.is_some_and(|names| names.iter().any(|name| name == word));
    let mut counts = Counts::new();
    let mut unknown_words = Counts::new();
    for (line, cell) in cells {
        for word in words(cell, several).filter(is_class) {
            counts.entry(word).or_insert((0, *line)).0 += 1;
        }
        if !cell.is_empty() && !is_class(&cell.as_str()) {
            unknown_words.entry(cell).or_insert((0, *line)).0 += 1;
        }
    }
    let mut notes: Vec<String> = unknown_words
        .iter()
        .map(|(word, (times, _))| {
            format!("{}: {} `{word}`, read as not known", table.sheet.name(), count(*times, "label"))
        })
        .collect();
    let whole = |word: &&str| word.parse::<i64>().is_ok_and(|number| number >= 0);
    if given.is_none()
        && counts.keys().filter(|word| **word != "-1").all(whole)
        && let Some((times, _)) = counts.remove("-1")
    {
        notes.push(format!("{}: {} `-1`, read as not known", table.sheet.name(), count(times, "label")));
    }
    let names = match given {
        Some(names) => names.clone(),
        None => sorted(counts.keys().map(|word| (*word).to_owned()).collect()),
    };
    if given.is_none() {
        reject_quantities(table, &counts)?;
        check_labels(table, &counts, options)?;
    }
    let of_name: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
    if expected.is_none() && given.is_some() {
        reject_unknown(table, &counts, &of_name)?;
    }
    let unknown = first_few(counts.keys().filter(|word| !of_name.contains_key(**word)).map(|word| quoted(word)));
    if !unknown.is_empty() {
        let name = table.sheet.name();
        notes.push(format!("{name}: labels that the model does not know, read as not known: {unknown}"));
    }
    let mut known = vec![false; cells.len()];
    let classes = names.len();
    let labels = if several {
        let mut of = files::filled(table.sheet.path(), 0u8, cells.len().saturating_mul(classes))?;
        for (node, (_, cell)) in cells.iter().enumerate() {
            for class in words(cell, true).filter(is_class).filter_map(|word| of_name.get(word)) {
                of[node * classes + *class as usize] = 1;
            }
            known[node] = is_class(&cell.as_str());
        }
        Labels::Multi { classes, of }
    } else {
        let of: Vec<u32> =
            cells.iter().map(|(_, cell)| of_name.get(cell.as_str()).copied().unwrap_or(Labels::UNKNOWN)).collect();
        known.iter_mut().zip(&of).for_each(|(known, class)| *known = *class != Labels::UNKNOWN);
        Labels::Single { classes, of }
    };
    notes.push(summary(table, &names, &counts, &known, several));
    Ok(Classes { labels, names, known, notes })
}

/// Returns the words in a cell.
fn words(cell: &str, several: bool) -> impl Iterator<Item = &str> {
    let parts = if several { cell.split(SEPARATOR) } else { cell.split('\u{0}') };
    parts.map(str::trim)
}

/// Sorts class names: numerically if all are numbers, else alphabetically.
fn sorted(mut names: Vec<String>) -> Vec<String> {
    let numbers: Option<Vec<i64>> = names.iter().map(|name| name.parse().ok()).collect();
    match numbers {
        Some(_) => names.sort_by_key(|name| name.parse::<i64>().unwrap_or(0)),
        None => names.sort_unstable(),
    }
    names
}

/// Returns an error if the labels are a quantity: many numbers with a fraction, or about one per node.
fn reject_quantities(table: &NodeTable, counts: &Counts<'_>) -> Result<()> {
    let is_fraction =
        |word: &&&str| word.parse::<f64>().is_ok_and(|number| number.is_finite() && number.fract() != 0.0);
    let fractions = counts.keys().filter(is_fraction).count();
    let labelled: usize = counts.values().map(|(count, _)| count).sum();
    let Some(first) = counts.keys().find(is_fraction) else { return Ok(()) };
    if fractions <= MAX_FRACTIONS && 2 * fractions <= labelled {
        return Ok(());
    }
    let numbers = if fractions == 1 { "number" } else { "different numbers" };
    let found =
        format!("{fractions} {numbers} such as `{first}`, which look like a quantity to predict, as in regression");
    let advice = "only classes can be predicted: replace the numbers by a few ranges, such as low and high; write them \
                  as words if they are names of classes; or name another column with parameter `label_column`";
    Err(table.label_error(0, "the classes of the nodes", found, advice))
}

/// Returns an error if labels are missing, or if classes are too few or too rare.
fn check_labels(table: &NodeTable, counts: &Counts<'_>, options: &TableOptions) -> Result<()> {
    if options.labels_optional {
        return Ok(());
    }
    if table.label.is_none() {
        let expected = "a column with the classes of the nodes, called label or class";
        let advice = "name it with parameter `label_column`, or add labels.csv";
        return Err(table.label_error(table.sheet.header_line(), expected, table.sheet.columns_in_words(), advice));
    }
    if counts.is_empty() {
        let advice = "fill in the classes of some nodes, or name another column with parameter `label_column`";
        return Err(table.label_error(0, "labels", "none at all".into(), advice));
    }
    if counts.len() == 1 {
        let found = format!("only `{}`", shown(counts.keys().next().unwrap_or(&"")));
        let advice = "fill in nodes of another class, or name another column with parameter `label_column`";
        return Err(table.label_error(0, "at least two classes", found, advice));
    }
    let alone = counts.iter().filter(|(_, (count, _))| *count == 1).min_by_key(|(_, (_, line))| *line);
    match alone {
        Some((word, (_, line))) if !options.keep_rare => Err(table.label_error(
            *line,
            "classes that have at least two nodes",
            format!("`{}` once", shown(word)),
            "fix the label, leave it empty if it is not known, or set parameter `keep_rare`; if many labels occur once, name another column with parameter `label_column`",
        )),
        _ => Ok(()),
    }
}

/// Returns an error if a label is not among the given classes.
fn reject_unknown(table: &NodeTable, counts: &Counts<'_>, of_name: &HashMap<&str, u32>) -> Result<()> {
    match counts.iter().find(|(word, _)| !of_name.contains_key(**word)) {
        Some((word, (_, line))) => Err(table.label_error(
            *line,
            "one of the classes of dataset.toml",
            quoted(word),
            "fix the label, or add it there",
        )),
        None => Ok(()),
    }
}

/// Summarises the number of labels and the sizes of classes.
fn summary(table: &NodeTable, names: &[String], counts: &Counts<'_>, known: &[bool], several: bool) -> String {
    let labelled = known.iter().filter(|known| **known).count();
    let size = |name: &String| counts.get(name.as_str()).map_or(0, |(count, _)| *count);
    let sizes = names.iter().map(|name| format!("`{}` ({})", shown(name), size(name)));
    let several = if several { ", several per node" } else { "" };
    format!(
        "{}: {labelled} of {} nodes have a label{several}; {}: {}",
        table.sheet.name(),
        known.len(),
        count(names.len(), "class"),
        first_few(sizes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_numbers_numerically_and_words_alphabetically() {
        let order = |names: &[&str]| sorted(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(order(&["10", "9", "1"]), ["1", "9", "10"]);
        assert_eq!(order(&["b", "10", "9"]), ["10", "9", "b"]);
    }
}
