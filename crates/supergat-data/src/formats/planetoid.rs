//! Reader for the Planetoid layout (Yang et al., "Revisiting semi-supervised learning with graph embeddings",
//! 2016): Cora, CiteSeer and PubMed, each in eight files `ind.NAME.*`.
//!
//! | file | contents |
//! |---|---|
//! | `x`, `y` | features and one-hot labels of the training nodes, which have the ids 0, 1, ... |
//! | `allx`, `ally` | features and labels of all nodes except test nodes; the first rows are `x` and `y` |
//! | `tx`, `ty` | features and labels of the test nodes, in the order of `test.index` |
//! | `test.index` | id of each test node, one per line |
//! | `graph` | list of neighbours of each node |
//!
//! Ids after `allx` that are missing in `test.index` (15 in CiteSeer) are nodes without features and label.

use crate::containers::pickle::{Id, Limits, Pickle, Value};
use crate::dataset::{Dataset, numbered, split};
use crate::error::{Error, Result};
use crate::files;
use crate::options::LoadOptions;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use supergat_core::{Direction, Example, Features, Graph, Labels, SparseMatrix};

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str = "ind.NAME.x, .tx, .allx, .y, .ty, .ally, .graph and .test.index";

/// File suffixes: the files are named `ind.NAME.SUFFIX`.
const SUFFIXES: [&str; 8] = ["x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"];

/// Number of validation nodes, which follow the training nodes, as published.
const VALIDATION: usize = 500;

/// Returns whether these file names belong to this format, even if some files are missing.
pub(crate) fn recognises(names: &[String]) -> bool {
    !datasets_in(names).is_empty()
}

/// Returns the names of all datasets among these files, sorted.
fn datasets_in(names: &[String]) -> Vec<&str> {
    let mut datasets: Vec<&str> = names.iter().filter_map(|name| dataset_of(name)).collect();
    datasets.sort_unstable();
    datasets.dedup();
    datasets
}

/// Returns `NAME` of `ind.NAME.SUFFIX`.
fn dataset_of(file: &str) -> Option<&str> {
    let rest = file.strip_prefix("ind.")?;
    let name = SUFFIXES.iter().find_map(|suffix| rest.strip_suffix(suffix)?.strip_suffix('.'))?;
    (!name.is_empty()).then_some(name)
}

/// Reads the dataset from a folder. The name is taken from the file names.
pub fn read(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    let names = files::list(folder)?;
    let found = datasets_in(&names);
    let [name] = found[..] else {
        let found = if found.is_empty() { "none".into() } else { found.join(", ") };
        return Err(Error::mismatch(folder, "Planetoid datasets in the folder", format!("one ({EXPECTED})"), found));
    };
    Files { folder, name, limits: Limits::default() }.read(options)
}

/// Files of one dataset.
struct Files<'a> {
    folder: &'a Path,
    name: &'a str,
    limits: Limits,
}

/// Classes decoded from one-hot rows.
struct Classes {
    count: usize,
    of: Vec<u32>,
}

impl Files<'_> {
    fn read(&self, options: &LoadOptions) -> Result<Dataset> {
        for suffix in SUFFIXES {
            if !self.path(suffix).exists() {
                let advice = format!("the folder must contain {}", EXPECTED.replace("NAME", self.name));
                return Err(Error::not_found(self.path(suffix), advice));
            }
        }
        let (x, tx, allx) = (self.features("x")?, self.features("tx")?, self.features("allx")?);
        let (y, ty, ally) = (self.classes("y")?, self.classes("ty")?, self.classes("ally")?);
        self.require_equal("y", "rows", y.of.len(), "x", x.rows())?;
        self.require_equal("ally", "rows", ally.of.len(), "allx", allx.rows())?;
        self.require_equal("ty", "rows", ty.of.len(), "tx", tx.rows())?;
        for (suffix, matrix) in [("x", &x), ("tx", &tx)] {
            self.require_equal(suffix, "columns", matrix.columns(), "allx", allx.columns())?;
        }
        for (suffix, classes) in [("y", &y), ("ty", &ty)] {
            self.require_equal(suffix, "columns", classes.count, "ally", ally.count)?;
        }
        let (training, listed) = (y.of.len(), ally.of.len());
        if training > listed {
            return Err(self.mismatch("y", "rows", format!("at most {listed}, as ally has"), training));
        }
        let test = self.test_index(listed)?;
        self.require_equal("test.index", "lines", test.len(), "tx", tx.rows())?;

        let path = self.path("graph");
        let bytes = files::read(&path, self.limits.file_bytes)?;
        let pickle = Pickle::parse(&path, &bytes, self.limits)?;
        let Value::Dict(neighbours) = pickle.value(pickle.root()) else {
            return Err(pickle.unexpected(pickle.root(), "a dict from each node to the list of its neighbours"));
        };

        let nodes = test.iter().map(|&id| id as usize + 1).max().unwrap_or(listed);
        // A single large id in test.index must not allocate unbounded memory.
        let missing = nodes - listed - test.len();
        if missing > neighbours.len() {
            let expected = format!("ids that leave out no more nodes than the {} of the graph", neighbours.len());
            return Err(self.mismatch("test.index", "ids", expected, format!("{missing} left out")));
        }
        let (links, entries) = self.links(&pickle, neighbours, nodes)?;

        let mut row_of = vec![None; nodes - listed];
        for (row, &id) in test.iter().enumerate() {
            row_of[id as usize - listed] = Some(row);
        }
        let mut labels = ally.of;
        labels.extend(row_of.iter().map(|row| row.map_or(Labels::UNKNOWN, |row| ty.of[row])));
        let ids = |range: std::ops::Range<usize>| range.map(|node| node as u32).collect::<Vec<_>>();
        let of_files = [ids(0..training), ids(training..listed.min(training + VALIDATION)), test];

        let core = Error::core(self.folder);
        let graph = Graph::from_edges(nodes, &links, Direction::Undirected).map_err(core)?;
        let features = Features::Sparse(stack(&allx, &tx, &row_of).map_err(core)?);
        let labels = Labels::Single { classes: ally.count, of: labels };
        let mut notes = Vec::new();
        let split = split::choose(options.split, self.folder, self.name, &labels, vec![of_files], &mut notes)?;
        Ok(Dataset {
            name: self.name.to_owned(),
            examples: vec![Example::new(graph, features, labels, split).map_err(core)?],
            class_names: numbered(ally.count),
            listed_links: entries / 2,
            notes,
            ..Dataset::default()
        })
    }

    fn path(&self, suffix: &str) -> PathBuf {
        self.folder.join(format!("ind.{}.{suffix}", self.name))
    }

    fn features(&self, suffix: &str) -> Result<SparseMatrix<f32>> {
        let path = self.path(suffix);
        let bytes = files::read(&path, self.limits.file_bytes)?;
        let pickle = Pickle::parse(&path, &bytes, self.limits)?;
        pickle.csr(pickle.root())
    }

    fn classes(&self, suffix: &str) -> Result<Classes> {
        let path = self.path(suffix);
        let bytes = files::read(&path, self.limits.file_bytes)?;
        let pickle = Pickle::parse(&path, &bytes, self.limits)?;
        let array = pickle.array(pickle.root())?;
        let [rows, classes] = array.shape()[..] else {
            return Err(self.mismatch(suffix, "axes", "2 (nodes and classes)", array.shape().len()));
        };
        if rows == 0 || classes == 0 {
            return Err(self.mismatch(
                suffix,
                "shape",
                "at least one node and one class",
                format!("{rows} x {classes}"),
            ));
        }
        let mut values = array.values();
        let mut of = Vec::with_capacity(rows);
        for row in 0..rows {
            let mut class = Labels::UNKNOWN;
            for (column, value) in values.by_ref().take(classes).enumerate() {
                if value == 1.0 && class == Labels::UNKNOWN {
                    class = column as u32;
                } else if value != 0.0 {
                    let expected = "a single 1 for the class, or only zeros if it is unknown";
                    let found = format!("{value} in column {column}");
                    return Err(self.mismatch(suffix, format!("row {row}"), expected, found));
                }
            }
            of.push(class);
        }
        Ok(Classes { count: classes, of })
    }

    /// Reads the ids of the test nodes, in the order of the rows of `tx`.
    fn test_index(&self, first: usize) -> Result<Vec<u32>> {
        let path = self.path("test.index");
        let bytes = files::read(&path, self.limits.file_bytes)?;
        let mut seen = HashSet::new();
        let mut ids = Vec::new();
        for (line, text) in bytes.trim_ascii_end().split(|&byte| byte == b'\n').enumerate() {
            let text = String::from_utf8_lossy(text.trim_ascii());
            let id = text.parse().ok().filter(|&id| id as usize >= first && id < u32::MAX && seen.insert(id));
            ids.push(id.ok_or_else(|| {
                let expected =
                    format!("the id of another test node, a number from {first} on (those before are in allx)");
                Error::text(&path, line + 1, expected, text.chars().take(40).collect::<String>())
            })?);
        }
        Ok(ids)
    }

    /// Returns the distinct links in order of first appearance, and the total number of list entries.
    fn links(&self, pickle: &Pickle, neighbours: &[(Id, Id)], nodes: usize) -> Result<(Vec<(u32, u32)>, u64)> {
        let node = |id: Id| match pickle.value(id) {
            Value::Int(node) if (0..nodes as i64).contains(node) => Ok(*node as u32),
            _ => Err(pickle.unexpected(id, format!("a node id from 0 to {}", nodes.saturating_sub(1)))),
        };
        let mut keys = vec![false; nodes];
        let mut seen = HashSet::new();
        let mut links = Vec::new();
        let mut entries = 0;
        for &(key, list) in neighbours {
            let from = node(key)?;
            if std::mem::replace(&mut keys[from as usize], true) {
                return Err(self.mismatch("graph", format!("lists of node {from}"), 1, "another"));
            }
            let Value::List(list) = pickle.value(list) else {
                return Err(pickle.unexpected(list, format!("the list of the neighbours of node {from}")));
            };
            entries += list.len() as u64;
            // Python writes each entry as its own value. More entries than values means shared lists, which
            // could claim any number of links.
            if entries > pickle.values() as u64 {
                let what = "neighbours listed by the values of the file";
                return Err(Error::too_large(&self.path("graph"), what, pickle.values() as u64, entries));
            }
            for &to in list {
                let to = node(to)?;
                if seen.insert((from.min(to), from.max(to))) {
                    links.push((from, to));
                }
            }
        }
        Ok((links, entries))
    }

    fn require_equal(&self, suffix: &str, what: &str, found: usize, other: &str, expected: usize) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        Err(self.mismatch(suffix, what, format!("{expected}, as ind.{}.{other} has", self.name), found))
    }

    fn mismatch(&self, suffix: &str, what: impl Into<String>, expected: impl ToString, found: impl ToString) -> Error {
        Error::mismatch(&self.path(suffix), what, expected.to_string(), found)
    }
}

/// Stacks the rows of `allx` and the row of `tx` of each later node; nodes without a row get an empty one.
fn stack(
    allx: &SparseMatrix<f32>,
    tx: &SparseMatrix<f32>,
    row_of: &[Option<usize>],
) -> supergat_core::Result<SparseMatrix<f32>> {
    let listed = (0..allx.rows()).map(|row| Some((allx, row)));
    let rows = listed.chain(row_of.iter().map(|row| row.map(|row| (tx, row))));
    let entries = rows.map(|row| row.into_iter().flat_map(|(matrix, row)| matrix.entries(row)));
    SparseMatrix::from_rows(allx.columns(), entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_dataset_names_in_file_names() {
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let some =
            names(&["LICENSE", "ind.cora.x", "ind.cora.tx", "ind.nell.0.001.test.index", "ind..x", "ind.x", "é"]);
        assert_eq!(datasets_in(&some), ["cora", "nell.0.001"]);
        assert!(!recognises(&names(&["cora_ml.npz", "ind.cora.npz"])));
    }
}
