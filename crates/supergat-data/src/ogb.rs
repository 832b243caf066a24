//! Node property datasets of the Open Graph Benchmark (Hu et al., 2020) as they are downloaded: ogbn-arxiv.
//!
//! | file | holds |
//! |---|---|
//! | `raw/edge.csv.gz` | links, `source,target` |
//! | `raw/node-feat.csv.gz` | a row of features per node |
//! | `raw/node-label.csv.gz` | the class of each node |
//! | `raw/num-node-list.csv.gz` | the number of nodes |
//! | `split/NAME/{train,valid,test}.csv.gz` | the nodes of each list |
//!
//! Links are taken as listed, direction kept, as in the paper.

use crate::dataset::{Dataset, numbered};
use crate::error::{Error, Result};
use crate::lines::{self, Table};
use crate::options::LoadOptions;
use crate::{file, prepare, split};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use supergat_core::{Direction, Example, Features, Graph};

/// What the files of a folder must be called.
pub(crate) const EXPECTED: &str =
    "the folders raw and split with edge.csv.gz, node-feat.csv.gz, node-label.csv.gz and lists of nodes";

/// Whether files of these names are a dataset of this format, complete or not.
pub(crate) fn recognises(names: &[String]) -> bool {
    ["raw", "split"].iter().all(|folder| names.iter().any(|name| name == folder))
}

/// Reads the dataset in a folder.
pub fn read(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    let raw = |name: &str| folder.join("raw").join(format!("{name}.csv.gz"));
    let (edge, feat, label) = (raw("edge"), raw("node-feat"), raw("node-label"));
    let labels = prepare::classes(&label, &table::<i64>(&label, 1)?.values)?;
    let nodes = labels.nodes();
    let counted = raw("num-node-list");
    let count = table::<usize>(&counted, 1)?.values;
    same(&label, "rows", format!("{count:?}, as num-node-list.csv.gz says"), nodes, count == [nodes])?;

    let features = lines::numbers::<f32>(&feat, &lines::read(&feat)?, 0, None)?;
    same(&feat, "rows", format!("{nodes}, as node-label.csv.gz has"), features.rows(), features.rows() == nodes)?;
    let edges: Vec<(u32, u32)> = table(&edge, 2)?.values.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let core = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Core { path: path.clone(), source }
    };
    let graph = Graph::from_edges(nodes, &edges, Direction::Directed).map_err(core(&edge))?;
    let features = Features::dense(nodes, features.columns, features.values).map_err(core(&feat))?;

    let lists = scheme(folder)?;
    let list = |name: &str| Ok(table(&lists.join(format!("{name}.csv.gz")), 1)?.values);
    let of_files = [list("train")?, list("valid")?, list("test")?];
    let name = prepare::name_of(folder);
    let mut notes = vec!["links as listed, direction kept".to_owned()];
    let split = split::choose(options.split, folder, &name, &labels, vec![of_files], &mut notes)?;
    Ok(Dataset {
        name,
        class_names: numbered(labels.classes()),
        examples: vec![Example::new(graph, features, labels, split).map_err(core(folder))?],
        node_ids: None,
        listed_links: edges.len() as u64,
        notes,
        schema: None,
    })
}

fn table<T: FromStr>(path: &Path, columns: usize) -> Result<Table<T>> {
    lines::numbers(path, &lines::read(path)?, 0, Some(columns))
}

/// The only folder in `split`, which is called after how the nodes were divided, such as `time`.
fn scheme(folder: &Path) -> Result<PathBuf> {
    let folder = folder.join("split");
    let names: Vec<String> = file::list(&folder)?.into_iter().filter(|name| folder.join(name).is_dir()).collect();
    same(&folder, "folders", "one, such as `time`".into(), names.join(", "), names.len() == 1)?;
    Ok(folder.join(&names[0]))
}

fn same(path: &Path, what: &str, expected: String, found: impl ToString, fine: bool) -> Result<()> {
    if fine {
        return Ok(());
    }
    Err(Error::Mismatch { path: path.to_owned(), what: what.into(), expected, found: found.to_string() })
}
