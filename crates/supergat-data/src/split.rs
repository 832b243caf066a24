//! Train/validation/test splits.

use crate::error::{Error, Result};
use crate::shares::Shares;
use serde::Deserialize;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use supergat_core::Labels;
use supergat_core::random::{Purpose, Stream};

/// Lists of training, validation and test nodes.
pub(crate) type Split = [Vec<u32>; 3];

/// Number of training nodes per class in random splits.
pub(crate) const TRAIN: usize = 20;
/// Number of validation nodes per class in random splits.
const VALIDATION: usize = 30;

/// Splits of the paper's results for datasets whose files contain none. All other nodes are test nodes.
const PUBLISHED: &str = include_str!("published/splits.json");

/// Choice of a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SplitChoice {
    /// Split of the files, else the split of the paper's results, else a random one with seed 0.
    #[default]
    Published,
    /// Random split: 20 training and 30 validation nodes per class, all others for testing.
    Random {
        /// Seed of the random numbers.
        seed: u64,
    },
    /// Random split by shares of the labelled nodes, uniform over the nodes.
    Shares {
        /// Shares of training, validation and test nodes.
        shares: Shares,
        /// Seed of the random numbers.
        seed: u64,
    },
    /// Validation and test nodes as in [`SplitChoice::Published`]; all other labelled nodes for training.
    FullSupervised,
    /// Index of one of several splits in the files, counted from 0.
    Numbered(usize),
}

impl fmt::Display for SplitChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published => write!(f, "published"),
            Self::Random { seed } => write!(f, "random:{seed}"),
            Self::Shares { shares, seed } => write!(f, "random:{shares}:{seed}"),
            Self::FullSupervised => write!(f, "full-supervised"),
            Self::Numbered(number) => write!(f, "{number}"),
        }
    }
}

impl SplitChoice {
    /// Returns the choice without its seed; other random splits of the kind differ from it in the nodes only.
    ///
    /// ```
    /// use supergat_data::SplitChoice;
    /// assert_eq!("random:60/20/20:7".parse::<SplitChoice>()?.without_seed(), "random:60/20/20");
    /// assert_eq!("random:7".parse::<SplitChoice>()?.without_seed(), "random");
    /// # Ok::<(), supergat_data::Error>(())
    /// ```
    pub fn without_seed(self) -> String {
        match self {
            Self::Random { .. } => "random".to_owned(),
            Self::Shares { shares, .. } => format!("random:{shares}"),
            other => other.to_string(),
        }
    }

    /// Returns the choice that readers apply. Splits by shares are drawn after reading and need none.
    pub(crate) fn of_reader(self) -> Self {
        match self {
            Self::Shares { .. } => Self::Shares { shares: Shares::ANY, seed: 0 },
            other => other,
        }
    }
}

impl FromStr for SplitChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(rest) = text.strip_prefix("random:")
            && rest.contains('/')
        {
            let (shares, seed) = rest.split_once(':').unwrap_or((rest, "0"));
            let shares = shares.parse()?;
            let seed = seed.parse().map_err(|_| Error::Spec {
                spec: format!("split {text}"),
                expected: format!("random:{shares} or random:{shares}:SEED with a whole number"),
                found: seed.into(),
            })?;
            return Ok(Self::Shares { shares, seed });
        }
        let choice = match text.split_once(':') {
            None if text == "published" => Some(Self::Published),
            None if text == "full-supervised" => Some(Self::FullSupervised),
            None if text == "random" => Some(Self::Random { seed: 0 }),
            None => text.parse().ok().map(Self::Numbered),
            Some(("random", seed)) => seed.parse().ok().map(|seed| Self::Random { seed }),
            Some(_) => None,
        };
        choice.ok_or_else(|| Error::Spec {
            spec: format!("split {text}"),
            expected: "published, random, random:SEED, random:60/20/20:SEED, full-supervised, or the number of one of several splits".into(),
            found: text.into(),
        })
    }
}

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
            Ok(with_all_else(labels, validation, test))
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
    Error::Mismatch { path: path.to_owned(), what: "split".into(), expected, found: choice.to_string() }
}

/// Returns the paper's split of the dataset called `name` if the number of nodes is the same.
fn published(name: &str, labels: &Labels) -> Option<Split> {
    let mut all: HashMap<String, Embedded> = serde_json::from_str(PUBLISHED).expect("checked by a test");
    let Embedded { nodes, train, validation } = all.remove(name)?;
    let Labels::Single { of, .. } = labels else { return None };
    let fits = |list: &[u32]| list.iter().all(|&node| of.get(node as usize).is_some_and(|&c| c != Labels::UNKNOWN));
    (of.len() == nodes && fits(&train) && fits(&validation)).then(|| with_rest(of, train, validation))
}

/// Completes a split with all other labelled nodes for training.
fn with_all_else(labels: &Labels, validation: Vec<u32>, test: Vec<u32>) -> Split {
    let mut free = match labels {
        Labels::Single { of, .. } => of.iter().map(|&class| class != Labels::UNKNOWN).collect(),
        Labels::Multi { .. } => vec![true; labels.nodes()],
    };
    validation.iter().chain(&test).for_each(|&node| free[node as usize] = false);
    let train = (0..free.len() as u32).filter(|&node| free[node as usize]).collect();
    [train, validation, test]
}

fn with_rest(of: &[u32], train: Vec<u32>, validation: Vec<u32>) -> Split {
    let mut taken = vec![false; of.len()];
    train.iter().chain(&validation).for_each(|&node| taken[node as usize] = true);
    let free = |node: &u32| !taken[*node as usize] && of[*node as usize] != Labels::UNKNOWN;
    let test = (0..of.len() as u32).filter(free).collect();
    [train, validation, test]
}

fn random(path: &Path, choice: SplitChoice, labels: &Labels, seed: u64) -> Result<Split> {
    let expected = "published, since nodes with several classes cannot be drawn by class";
    drawn(labels, seed).ok_or_else(|| refused(path, choice, expected.into()))
}

/// Draws a random split by class; small classes fill the training list first. Returns `None` for several
/// classes per node.
pub(crate) fn drawn(labels: &Labels, seed: u64) -> Option<Split> {
    let Labels::Single { classes, of } = labels else { return None };
    let mut members = vec![Vec::new(); *classes];
    for (node, &class) in of.iter().enumerate() {
        if let Some(members) = members.get_mut(class as usize) {
            members.push(node as u32);
        }
    }
    let (mut train, mut validation) = (Vec::new(), Vec::new());
    for (class, mut members) in members.into_iter().enumerate() {
        Stream::new(seed, class as u32, 0, Purpose::Split).shuffle(&mut members);
        let (first, rest) = members.split_at(members.len().min(TRAIN));
        train.extend_from_slice(first);
        validation.extend(rest.iter().take(VALIDATION));
    }
    Some(with_rest(of, train, validation))
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
    fn parses_and_displays_choices() {
        for text in ["published", "random:7", "random:60/20/20:7", "full-supervised", "12"] {
            assert_eq!(text.parse::<SplitChoice>().unwrap().to_string(), text);
        }
        assert_eq!("random".parse::<SplitChoice>().unwrap(), SplitChoice::Random { seed: 0 });
        let shares = "60/20/20".parse().unwrap();
        assert_eq!("random:60/20/20".parse::<SplitChoice>().unwrap(), SplitChoice::Shares { shares, seed: 0 });
        for (wrong, part) in [
            ("random:60/20/20:x", "expected random:60/20/20 or random:60/20/20:SEED with a whole number, found `x`"),
            ("random:60/20/20:1:2", "found `1:2`"),
            ("random:60/20/30:1", "with the sum 100 instead of 110, found `60/20/30`"),
            ("random:3:60/20/20", "expected three shares in per cent"),
        ] {
            let error = wrong.parse::<SplitChoice>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        for wrong in ["", "randon", "random:", "random:-1", "published:1", "-1", "1.5"] {
            let error = wrong.parse::<SplitChoice>().unwrap_err().to_string();
            assert!(error.contains("expected published, random, random:SEED"), "{error}");
        }
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
}
