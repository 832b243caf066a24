//! Reader for node property datasets of the Open Graph Benchmark (Hu et al., 2020), in the published layout:
//! ogbn-arxiv.
//!
//! | file | contents |
//! |---|---|
//! | `raw/edge.csv.gz` | links, `source,target` |
//! | `raw/node-feat.csv.gz` | features, one row per node; may be missing if features are computed |
//! | `raw/node-label.csv.gz` | class of each node |
//! | `raw/num-node-list.csv.gz` | number of nodes |
//! | `split/NAME/{train,valid,test}.csv.gz` | nodes of each split |
//!
//! Links are directed, as listed, as in the paper.

use super::prepare;
use crate::dataset::{Dataset, graph_features, numbered, split};
use crate::error::{Error, Result};
use crate::files::lines::{self, Table};
use crate::files::{self, decompress};
use crate::options::LoadOptions;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use supergat_core::{Direction, Example, Features, Graph};

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str =
    "the folders raw and split with edge.csv.gz, node-feat.csv.gz, node-label.csv.gz and lists of nodes";

/// Returns whether these file names belong to this format, even if some files are missing.
pub(crate) fn recognises(names: &[String]) -> bool {
    ["raw", "split"].iter().all(|folder| names.iter().any(|name| name == folder))
}

/// Reads the dataset from a folder.
pub fn read(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    let raw = |name: &str| folder.join("raw").join(format!("{name}.csv.gz"));
    let (edge, feat, label) = (raw("edge"), raw("node-feat"), raw("node-label"));
    let labels = prepare::classes(&label, &table::<i64>(&label, Some(1))?.values)?;
    let nodes = labels.nodes();
    let counted = raw("num-node-list");
    let count = table::<usize>(&counted, Some(1))?.values;
    require(&label, "rows", format!("{count:?}, as num-node-list.csv.gz says"), nodes, count == [nodes])?;

    let features = match graph_features::are_read(&feat, options.features.given())? {
        true => features(&feat, nodes)?,
        false => graph_features::none(nodes),
    };
    let edges: Vec<(u32, u32)> = table(&edge, Some(2))?.values.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let graph = Graph::from_edges(nodes, &edges, Direction::Directed).map_err(Error::core(&edge))?;

    let lists = split_folder(folder)?;
    let list = |name: &str| Ok(table(&lists.join(format!("{name}.csv.gz")), Some(1))?.values);
    let of_files = [list("train")?, list("valid")?, list("test")?];
    let name = prepare::name_of(folder);
    let mut notes = vec!["links as listed, direction kept".to_owned()];
    let split = split::choose(options.split, folder, &name, &labels, vec![of_files], &mut notes)?;
    Ok(Dataset {
        name,
        class_names: numbered(labels.classes()),
        examples: vec![Example::new(graph, features, labels, split).map_err(Error::core(folder))?],
        listed_links: edges.len() as u64,
        notes,
        ..Dataset::default()
    })
}

/// Reads the features of `nodes` nodes.
fn features(path: &Path, nodes: usize) -> Result<Features<f32>> {
    let table = table::<f32>(path, None)?;
    require(path, "rows", format!("{nodes}, as node-label.csv.gz has"), table.rows(), table.rows() == nodes)?;
    Features::dense(nodes, table.columns, table.values).map_err(Error::core(path))
}

/// Reads a table with the given number of columns, or with any number.
fn table<T: FromStr>(path: &Path, columns: Option<usize>) -> Result<Table<T>> {
    lines::numbers(path, &decompress::read(path, files::MAX_BYTES)?, 0, columns)
}

/// Returns the only subfolder of `split`, named after the splitting scheme, such as `time`.
fn split_folder(folder: &Path) -> Result<PathBuf> {
    let folder = folder.join("split");
    let names: Vec<String> = files::list(&folder)?.into_iter().filter(|name| folder.join(name).is_dir()).collect();
    require(&folder, "folders", "one, such as `time`".into(), names.join(", "), names.len() == 1)?;
    Ok(folder.join(&names[0]))
}

/// Returns a mismatch error unless `valid`.
fn require(path: &Path, what: &str, expected: String, found: impl ToString, valid: bool) -> Result<()> {
    if valid { Ok(()) } else { Err(Error::mismatch(path, what, expected, found)) }
}
