//! Reader for networks of Rozemberczki et al., "Multi-scale attributed node embedding", 2019: pages of Wikipedia
//! (Chameleon and Crocodile) and users of Twitch.
//!
//! | file | pages of Wikipedia | users of Twitch |
//! |---|---|---|
//! | `NAME_edges.csv` | `id1,id2`: the first page links to the second | `from,to`: numbers of two friends |
//! | `NAME_target.csv` | `id,target`: mean monthly traffic of each page | `id,days,mature,views,partner,new_id`: a user in each row, whose number is `new_id` |
//! | `NAME.json` or `NAME_features.json` | indices of the words on each page | indices of the features of each user, by `new_id` |
//!
//! Pages are prepared as in the paper: links are directed, as listed; classes are bins of log10 of the traffic;
//! words are binary features, reduced to 500 principal components.
//!
//! Users have undirected links, the classes `False` and `True` of `mature`, and binary features as listed.

use super::prepare::{COMPONENTS, undirected_noted};
use crate::containers::sparse;
use crate::dataset::{Dataset, numbered, split};
use crate::error::{Error, Result};
use crate::files;
use crate::files::lines::{self, Table};
use crate::options::LoadOptions;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use supergat_core::{Direction, Example, Features, Graph, Labels};
use supergat_numerics::pca::principal_components;

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str = "NAME_edges.csv, NAME_target.csv and NAME.json";

const EDGES: &str = "_edges.csv";
const TARGET: &str = "_target.csv";

/// Returns the class boundaries, in log10 of the traffic.
fn bins(name: &str) -> [f64; 5] {
    match name {
        "crocodile" => [2.0, 2.5, 3.0, 3.5, 4.0],
        _ => [2.5, 3.0, 3.5, 4.0, 4.5],
    }
}

/// Columns of the numbers and of the classes of users.
const USER_COLUMNS: [&str; 2] = ["new_id", "mature"];
/// Classes of users.
const MATURE: [&str; 2] = ["False", "True"];

/// Returns whether these file names belong to this format, even if some files are missing.
pub(crate) fn recognises(names: &[String]) -> bool {
    names.iter().any(|name| name.ends_with(TARGET)) && names.iter().any(|name| name.ends_with(EDGES))
}

/// Returns the positions of the columns of [`USER_COLUMNS`] in the first line, if it has them.
fn user_columns(text: &[u8]) -> Option<[usize; 2]> {
    let header = text.split(|&byte| byte == b'\n').next()?;
    let at = |name: &str| header.split(|&byte| byte == b',').position(|column| column.trim_ascii() == name.as_bytes());
    let [number, class] = USER_COLUMNS.map(at);
    Some([number?, class?])
}

/// Reads the dataset from a folder. The name is the common prefix of the files, without `musae_`.
pub fn read(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    let names = files::list(folder)?;
    let missing = |file: &str| Error::not_found(folder.join(file), format!("the folder must contain {EXPECTED}"));
    let stem = names.iter().find_map(|name| name.strip_suffix(EDGES)).ok_or_else(|| missing("NAME_edges.csv"))?;
    let words = [format!("{stem}.json"), format!("{stem}_features.json")];
    let words = words.iter().find(|file| names.contains(file)).ok_or_else(|| missing(&words[0]))?;
    let files = Files {
        edges: folder.join(format!("{stem}{EDGES}")),
        target: folder.join(format!("{stem}{TARGET}")),
        words: folder.join(words),
    };
    let bytes = |path: &Path| files::read(path, files::MAX_BYTES);
    let contents = [bytes(&files.edges)?, bytes(&files.target)?, bytes(&files.words)?];
    let name = stem.strip_prefix("musae_").unwrap_or(stem);
    files.parse([&contents[0], &contents[1], &contents[2]], name, options)
}

/// Paths of the three files.
#[derive(Debug)]
pub struct Files {
    /// Links between pages or users.
    pub edges: PathBuf,
    /// Traffic of the pages, or classes of the users.
    pub target: PathBuf,
    /// Words on the pages, or features of the users.
    pub words: PathBuf,
}

/// Classes of the nodes, and the preparation of links and features that belongs to them.
struct Targets {
    of: Vec<u32>,
    class_names: Vec<String>,
    direction: Direction,
    /// Number of features above which they are reduced to principal components.
    most_features: usize,
}

impl Files {
    /// Parses the contents of the three files, in the order of the fields. Paths are only used in error
    /// messages.
    pub fn parse(&self, [edges, target, words]: [&[u8]; 3], name: &str, options: &LoadOptions) -> Result<Dataset> {
        let mut notes = Vec::new();
        let targets = match user_columns(target) {
            Some(columns) => self.users(target, columns, &mut notes)?,
            None => self.pages(target, name, options, &mut notes)?,
        };
        let nodes = targets.of.len();
        let edges = lines::numbers::<u32>(&self.edges, edges, 1, Some(2))?;
        let edges: Vec<(u32, u32)> = edges.values.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        let features = self.features(words, nodes, targets.most_features, &mut notes)?;
        let labels = Labels::Single { classes: targets.class_names.len(), of: targets.of };
        let core = Error::core(&self.edges);
        let (graph, listed_links) = match targets.direction {
            Direction::Undirected => undirected_noted(nodes, &edges, &mut notes).map_err(core)?,
            Direction::Directed => {
                (Graph::from_edges(nodes, &edges, Direction::Directed).map_err(core)?, edges.len() as u64)
            }
        };
        let split = split::choose(options.split, &self.target, name, &labels, Vec::new(), &mut notes)?;
        let example = Example::new(graph, features, labels, split).map_err(Error::core(&self.words))?;
        Ok(Dataset {
            name: name.to_owned(),
            examples: vec![example],
            class_names: targets.class_names,
            listed_links,
            notes,
            ..Dataset::default()
        })
    }

    /// Reads the traffic of pages.
    fn pages(&self, text: &[u8], name: &str, options: &LoadOptions, notes: &mut Vec<String>) -> Result<Targets> {
        let of = self.classes(&lines::numbers(&self.target, text, 1, Some(2))?, bins(name))?;
        notes.push("links as listed, direction kept".to_owned());
        if !["chameleon", "crocodile"].contains(&name) {
            notes.push(format!("classes begin where log10 of the traffic reaches {:?}, as for chameleon", bins(name)));
        }
        Ok(Targets {
            of,
            class_names: numbered(bins(name).len() + 1),
            direction: Direction::Directed,
            most_features: if options.features.is_row_normalised() { usize::MAX } else { COMPONENTS },
        })
    }

    /// Reads the classes of users. Their numbers must be 0, 1, ... in any order.
    fn users(&self, text: &[u8], columns: [usize; 2], notes: &mut Vec<String>) -> Result<Targets> {
        let rows: Vec<&[u8]> = text.trim_ascii_end().split(|&byte| byte == b'\n').skip(1).collect();
        let mut of = files::filled(&self.target, None, rows.len())?;
        for (line, row) in rows.iter().enumerate() {
            let fields: Vec<&[u8]> = row.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).collect();
            let [number, mature] = columns.map(|at| fields.get(at).and_then(|field| std::str::from_utf8(field).ok()));
            let refuse = |expected: &str| lines::refused(&self.target, line + 1, expected, row);
            let class =
                number.and_then(|number| of.get_mut(number.parse::<usize>().ok()?)).filter(|class| class.is_none());
            let class = class.ok_or_else(|| refuse(&format!("another new_id from 0 to {}", rows.len() - 1)))?;
            let mature = mature.and_then(|word| MATURE.iter().position(|class| class.eq_ignore_ascii_case(word)));
            *class = Some(mature.ok_or_else(|| refuse("True or False in the column mature"))? as u32);
        }
        notes.push("users of Twitch: links in both directions; classes are those of `mature`".to_owned());
        notes.push("further columns such as `days`, `views` and `partner` are not used".to_owned());
        Ok(Targets {
            // There are as many numbers as rows and no number occurs twice, so every user has a class.
            of: of.into_iter().flatten().collect(),
            class_names: MATURE.map(str::to_owned).to_vec(),
            direction: Direction::Undirected,
            most_features: usize::MAX,
        })
    }

    /// Returns the class of each page. The table must contain the ids 0, 1, ... in any order.
    fn classes(&self, table: &Table<f64>, bins: [f64; 5]) -> Result<Vec<u32>> {
        let mut of = vec![None; table.rows()];
        for (row, pair) in table.values.chunks_exact(2).enumerate() {
            let refuse =
                |expected: String| Error::text(&self.target, row + 2, expected, format!("{},{}", pair[0], pair[1]));
            let class = of
                .get_mut(pair[0] as usize)
                .filter(|class| pair[0] >= 0.0 && pair[0].fract() == 0.0 && class.is_none());
            let class = class.ok_or_else(|| refuse(format!("another id from 0 to {}", table.rows() - 1)))?;
            if !(pair[1] >= 0.0 && pair[1].is_finite()) {
                return Err(refuse("traffic that is not negative".into()));
            }
            let traffic = pair[1].log10();
            *class = Some(bins.iter().filter(|edge| **edge <= traffic).count() as u32);
        }
        // There are as many ids as rows and no id occurs twice, so every page has a class.
        Ok(of.into_iter().flatten().collect())
    }

    /// Returns a feature per word, reduced to principal components if there are more than `most`.
    fn features(&self, text: &[u8], nodes: usize, most: usize, notes: &mut Vec<String>) -> Result<Features<f32>> {
        let pages: BTreeMap<String, Vec<u32>> =
            files::json(&self.words, text, "an object from each page to the numbers of its words")?;
        let mut entries = Vec::new();
        let mut columns = 0;
        for (page, words) in &pages {
            let row: u32 = page.parse().ok().filter(|&page| (page as usize) < nodes).ok_or_else(|| {
                let expected = format!("a number below {nodes}, as many as there are targets");
                Error::mismatch(&self.words, "page", expected, page.chars().take(40).collect::<String>())
            })?;
            columns = words.iter().map(|&word| word as usize + 1).max().unwrap_or(0).max(columns);
            entries.extend(words.iter().map(|&word| [row, word]));
        }
        sparse::check_sides(&self.words, [nodes, columns])?;
        entries.sort_unstable();
        entries.dedup();
        let ones = vec![1.0; entries.len()];
        let words = sparse::from_entries(&self.words, [nodes, columns], entries, ones)?;
        if columns <= most {
            return Ok(Features::Sparse(words));
        }
        notes.push(format!("features: {columns} words reduced to {COMPONENTS} principal components"));
        Ok(principal_components(&words, COMPONENTS))
    }
}
