//! Train/validation/test splits.

use crate::error::{Error, Result};
use crate::options::SplitChoice;
use crate::words::{first_few, shown};
use serde::Deserialize;
use std::collections::HashMap;
use std::path::Path;
use supergat_core::Labels;
use supergat_core::random::{Purpose, Stream};

/// Lists of training, validation and test nodes.
pub(crate) type Split = [Vec<u32>; 3];

/// Number of training nodes per class in random splits.
pub(crate) const TRAIN: usize = 20;
/// Number of validation nodes per class in random splits.
const VALIDATION: usize = 30;

/// Classes with fewer nodes than this yield unreliable metrics.
const FEW: usize = 5;

/// Splits of the paper's results for datasets whose files contain none. All other nodes are test nodes.
const PUBLISHED: &str = include_str!("published/splits.json");

#[derive(Deserialize)]
struct Embedded {
    nodes: usize,
    train: Vec<u32>,
    validation: Vec<u32>,
}

/// Chooses the split of a graph, where `of_files` are the splits of its files, and adds a note about the
/// choice. Splits by shares are empty; they are drawn after reading.
pub(crate) fn choose(
    choice: SplitChoice,
    path: &Path,
    name: &str,
    labels: &Labels,
    mut of_files: Vec<Split>,
    notes: &mut Vec<String>,
) -> Result<Split> {
    let count = of_files.len();
    match choice {
        SplitChoice::Published if count > 0 => {
            if count > 1 {
                notes.push(numbered_note(0, count));
            }
            Ok(of_files.swap_remove(0))
        }
        SplitChoice::Published => Ok(match published(name, labels) {
            Some(split) => {
                notes.push("the split that the paper's results were made with".into());
                split
            }
            None => {
                notes.push(format!(
                    "no published split is known, so one was drawn with seed 0: {TRAIN} nodes per class for training, {VALIDATION} for validation"
                ));
                random(path, choice, labels, 0)?
            }
        }),
        SplitChoice::FullSupervised => {
            let [_, validation, test] = choose(SplitChoice::Published, path, name, labels, of_files, notes)?;
            notes.push("all other labelled nodes are for training".into());
            Ok([rest(labels, [&validation, &test]), validation, test])
        }
        SplitChoice::Random { seed } => {
            notes.push(format!(
                "a split drawn with seed {seed}: {TRAIN} nodes per class for training, {VALIDATION} for validation"
            ));
            random(path, choice, labels, seed)
        }
        SplitChoice::Shares { .. } => Ok(Split::default()),
        SplitChoice::Numbered(number) if number < count => {
            notes.push(numbered_note(number, count));
            Ok(of_files.swap_remove(number))
        }
        SplitChoice::Numbered(_) => Err(refused(
            path,
            choice,
            match count {
                0 => "published or random, since the files hold no splits".into(),
                1 => "published, random, or 0, since the files hold one split".into(),
                _ => format!(
                    "published, random, or a number from 0 to {}, since the files hold {count} splits",
                    count - 1
                ),
            },
        )),
    }
}

/// Returns the note on a split of several in the files.
pub(crate) fn numbered_note(number: usize, count: usize) -> String {
    format!("split {number} of the {count} in the files")
}

/// Rejects splits by class, and numbers of splits, for a dataset whose split is fixed.
pub(crate) fn fixed(choice: SplitChoice, path: &Path, reason: &str) -> Result<()> {
    match choice {
        SplitChoice::Published | SplitChoice::Shares { .. } => Ok(()),
        _ => Err(refused(path, choice, format!("published, since {reason}"))),
    }
}

fn refused(path: &Path, choice: SplitChoice, expected: String) -> Error {
    Error::mismatch(path, "split", expected, choice)
}

/// Returns the paper's split of the dataset called `name` if the number of nodes is the same.
fn published(name: &str, labels: &Labels) -> Option<Split> {
    let mut all: HashMap<String, Embedded> = serde_json::from_str(PUBLISHED).expect("checked by a test");
    let Embedded { nodes, train, validation } = all.remove(name)?;
    let Labels::Single { of, .. } = labels else { return None };
    let fits = |list: &[u32]| list.iter().all(|&node| of.get(node as usize).is_some_and(|&c| c != Labels::UNKNOWN));
    let is_valid = of.len() == nodes && fits(&train) && fits(&validation);
    let test = is_valid.then(|| rest(labels, [&train, &validation]))?;
    Some([train, validation, test])
}

/// Returns the labelled nodes that are in neither list.
fn rest(labels: &Labels, lists: [&[u32]; 2]) -> Vec<u32> {
    let mut free: Vec<bool> = (0..labels.nodes()).map(|node| labels.is_known(node)).collect();
    lists.into_iter().flatten().for_each(|&node| free[node as usize] = false);
    (0..free.len() as u32).filter(|&node| free[node as usize]).collect()
}

fn random(path: &Path, choice: SplitChoice, labels: &Labels, seed: u64) -> Result<Split> {
    let expected = "published, since nodes with several classes cannot be drawn by class";
    drawn(labels, seed).ok_or_else(|| refused(path, choice, expected.into()))
}

/// Returns the nodes of each class.
fn of_classes(classes: usize, of: &[u32]) -> Vec<Vec<u32>> {
    let mut members = vec![Vec::new(); classes];
    for (node, class) in (0..).zip(of) {
        // Nodes without a label are of no class.
        if let Some(members) = members.get_mut(*class as usize) {
            members.push(node);
        }
    }
    members
}

/// Draws a random split by class; small classes fill the training list first. Returns `None` for several
/// classes per node.
pub(crate) fn drawn(labels: &Labels, seed: u64) -> Option<Split> {
    let Labels::Single { classes, of } = labels else { return None };
    let (mut train, mut validation) = (Vec::new(), Vec::new());
    for (class, mut members) in of_classes(*classes, of).into_iter().enumerate() {
        Stream::new(seed, class as u32, 0, Purpose::Split).shuffle(&mut members);
        let (first, rest) = members.split_at(members.len().min(TRAIN));
        train.extend_from_slice(first);
        validation.extend(rest.iter().take(VALIDATION));
    }
    let test = rest(labels, [&train, &validation]);
    Some([train, validation, test])
}

/// Draws a random split: 60, 20 and 20 % of each class, with at least one node per split if the class has
/// three nodes.
pub(crate) fn by_class(labels: &Labels, known: &[bool], names: &[String], seed: u64, notes: &mut Vec<String>) -> Split {
    let groups: Vec<Vec<u32>> = match labels {
        Labels::Single { classes, of } => of_classes(*classes, of),
        Labels::Multi { .. } => vec![(0..known.len() as u32).filter(|node| known[*node as usize]).collect()],
    };
    let mut splits = Split::default();
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
        "no split column: 60 % {within} for training, 20 % for validation, 20 % for test, drawn with parameter `split_seed={seed}`"
    ));
    if !few.is_empty() {
        let what = "these classes have so few labels that their metrics are unreliable; at least one node of each is used for training";
        notes.push(format!("{what}: {}", first_few(few)));
    }
    splits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(of: Vec<u32>) -> Labels {
        Labels::Single { classes: 2, of }
    }

    fn chosen(choice: SplitChoice, name: &str, labels: &Labels, of_files: Vec<Split>) -> Result<(Split, Vec<String>)> {
        let mut notes = Vec::new();
        choose(choice, Path::new("here"), name, labels, of_files, &mut notes).map(|split| (split, notes))
    }

    #[test]
    fn random_splits_have_20_and_30_nodes_of_each_class() {
        // Class 0 has 60 nodes, class 1 has 25, one node has none.
        let of: Vec<u32> =
            (0..86).map(|node| if node == 85 { Labels::UNKNOWN } else { u32::from(node >= 60) }).collect();
        let labels = labels(of.clone());
        let (split, notes) = chosen(SplitChoice::Random { seed: 3 }, "x", &labels, vec![]).unwrap();
        let count = |list: &[u32], class| list.iter().filter(|&&node| of[node as usize] == class).count();
        assert_eq!([0, 1].map(|class| [0, 1, 2].map(|k| count(&split[k], class))), [[20, 30, 10], [20, 5, 0]]);
        assert_eq!(split.iter().map(Vec::len).sum::<usize>(), 85);
        assert!(notes[0].contains("seed 3"));
        let again = chosen(SplitChoice::Random { seed: 3 }, "y", &labels, vec![]).unwrap().0;
        let other = chosen(SplitChoice::Random { seed: 4 }, "x", &labels, vec![]).unwrap().0;
        assert!(again == split && other != split);
        // Without a published split, one with seed 0 is drawn.
        let (default, notes) = chosen(SplitChoice::Published, "x", &labels, vec![]).unwrap();
        assert_eq!(default, chosen(SplitChoice::Random { seed: 0 }, "x", &labels, vec![]).unwrap().0);
        assert!(notes[0].starts_with("no published split is known"));
    }

    #[test]
    fn prefers_splits_of_the_files() {
        let labels = labels(vec![0, 1, 0]);
        let two = || vec![[vec![0], vec![1], vec![2]], [vec![2], vec![1], vec![0]]];
        assert_eq!(chosen(SplitChoice::Published, "cora-ml", &labels, two()).unwrap().0[0], [0]);
        assert_eq!(chosen(SplitChoice::Numbered(1), "x", &labels, two()).unwrap().0[0], [2]);
        let more = self::labels(vec![0, 1, 0, 1, Labels::UNKNOWN, 1]);
        let (full, notes) = chosen(SplitChoice::FullSupervised, "x", &more, two()).unwrap();
        assert_eq!((full, notes.len()), ([vec![0, 3, 5], vec![1], vec![2]], 2));
        let error = chosen(SplitChoice::Numbered(2), "x", &labels, two()).unwrap_err().to_string();
        assert_eq!(
            error,
            "here: split: expected published, random, or a number from 0 to 1, since the files hold 2 splits, found 2"
        );
        assert!(chosen(SplitChoice::Numbered(0), "x", &labels, vec![]).is_err());
        let several = Labels::Multi { classes: 1, of: vec![1, 0, 1] };
        assert!(chosen(SplitChoice::Random { seed: 0 }, "x", &several, vec![]).is_err());
        assert!(fixed(SplitChoice::Random { seed: 0 }, Path::new("x"), "so it is").is_err());
    }

    /// Every list has 20 or 30 nodes of each class, without repetition, and is only used for a graph of that
    /// size.
    #[test]
    fn embedded_splits_are_complete() {
        let all: HashMap<String, Embedded> = serde_json::from_str(PUBLISHED).unwrap();
        let classes = [
            ("cora-ml", 7),
            ("dblp", 4),
            ("cs", 15),
            ("physics", 5),
            ("photo", 8),
            ("computers", 10),
            ("chameleon", 6),
            ("crocodile", 6),
        ];
        assert_eq!(all.len(), classes.len());
        for (name, classes) in classes {
            let Embedded { nodes, train, validation } = &all[name];
            assert_eq!((train.len(), validation.len()), (TRAIN * classes, VALIDATION * classes), "{name}");
            let labels = labels(vec![0; *nodes]);
            let [train, validation, test] = published(name, &labels).unwrap();
            assert_eq!(train.len() + validation.len() + test.len(), *nodes, "{name}: a node is in two lists");
            assert!(published(name, &self::labels(vec![0; nodes + 1])).is_none());
        }
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
        let splits = by_class(&labels, &[true; 113], &names, 0, &mut notes);
        let sizes =
            |class: u32| splits.each_ref().map(|list| list.iter().filter(|node| of[**node as usize] == class).count());
        assert_eq!((sizes(0), sizes(1), sizes(2)), ([60, 20, 20], [6, 2, 2], [1, 1, 1]));
        let mut all = splits.concat();
        all.sort_unstable();
        assert_eq!(all, (0..113).collect::<Vec<u32>>());
        assert!(notes[1].contains("`c` (3)") && !notes[1].contains("`b`"), "{notes:?}");
        assert_ne!(splits, by_class(&labels, &[true; 113], &names, 1, &mut notes));
    }
}
