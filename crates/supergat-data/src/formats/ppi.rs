//! Reader for PPI, protein-protein interactions in human tissues, in the GraphSAGE layout: a zip archive or a
//! folder.
//!
//! Files for each of `train`, `valid` and `test`:
//!
//! | file | contents |
//! |---|---|
//! | `_feats.npy` | features, one row per node |
//! | `_labels.npy` | 0/1 labels, one row per node, one column per class |
//! | `_graph_id.npy` | graph of each node |
//! | `_graph.json` | links between row numbers of these arrays (networkx node-link data) |
//! | `_label_known.npy` | optional: whether the labels of a node are known; unknown labels are zeros |
//!
//! Links are undirected, without self-loops. A node may have several classes.

use super::prepare;
use crate::containers::npy::Array;
use crate::containers::zip::Zip;
use crate::dataset::rows::{divided, feature_rows, label_rows};
use crate::dataset::{Dataset, numbered, split};
use crate::error::{Error, Result};
use crate::files;
use crate::options::LoadOptions;
use crate::words::count;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use supergat_core::example::ExampleShape;
use supergat_core::{Example, Features, Labels};

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str =
    "ppi.zip, or train_, valid_ and test_ with feats.npy, labels.npy, graph_id.npy and graph.json";

const ARCHIVE: &str = "ppi.zip";
const SPLITS: [&str; 3] = ["train", "valid", "test"];

/// Returns whether these file names belong to this format, even if some files are missing.
pub(crate) fn recognises(names: &[String]) -> bool {
    names.iter().any(|name| name == ARCHIVE || name == "train_graph_id.npy")
}

/// Reads the dataset from a folder.
pub fn read(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    let archive = folder.join(ARCHIVE);
    if archive.exists() {
        let bytes = files::read(&archive, files::MAX_BYTES)?;
        return parse(&archive, bytes, prepare::name_of(folder), options);
    }
    build(folder, &Files::Folder(folder), prepare::name_of(folder), options)
}

/// Parses the bytes of an archive; `path` is only used in error messages.
pub fn parse(path: &Path, bytes: Vec<u8>, name: String, options: &LoadOptions) -> Result<Dataset> {
    build(path, &Files::Archive(Zip::parse(path, bytes)?), name, options)
}

/// Container of the files.
enum Files<'a> {
    Archive(Zip),
    Folder(&'a Path),
}

impl Files<'_> {
    fn path(&self, name: &str) -> PathBuf {
        match self {
            Self::Archive(zip) => zip.member_path(name),
            Self::Folder(folder) => folder.join(name),
        }
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Self::Archive(zip) => zip.names().any(|member| member == name),
            Self::Folder(folder) => folder.join(name).exists(),
        }
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        match self {
            Self::Archive(zip) => zip.read(name),
            Self::Folder(folder) => files::read(&folder.join(name), files::MAX_BYTES),
        }
    }

    fn array(&self, name: &str) -> Result<Array> {
        Array::parse(&self.path(name), self.read(name)?)
    }
}

/// Links of networkx node-link data; other fields are ignored.
#[derive(Deserialize)]
struct NodeLink {
    links: Vec<Link>,
}

#[derive(Deserialize)]
struct Link {
    source: u32,
    target: u32,
}

fn build(path: &Path, files: &Files<'_>, name: String, options: &LoadOptions) -> Result<Dataset> {
    split::fixed(options.split, path, "whole graphs are for training, validation or testing")?;
    let mut dataset =
        Dataset { name, notes: vec!["links in both directions, self-loops dropped".into()], ..Dataset::default() };
    for (split, name) in SPLITS.into_iter().enumerate() {
        SplitData::read(files, name)?.append_to(&mut dataset, split, path)?;
    }
    let counts = [0, 1, 2].map(|split| dataset.examples.iter().filter(|e| e.split_sizes()[split] > 0).count());
    dataset
        .notes
        .push(format!("graphs for training: {}, validation: {}, testing: {}", counts[0], counts[1], counts[2]));
    Ok(dataset)
}

/// All graphs of one split: train, valid or test.
struct SplitData {
    name: &'static str,
    features: Features<f32>,
    labels: Labels,
    /// Number of graphs, and the graph of each node.
    graphs: usize,
    graph_of: Vec<u32>,
    links: Vec<Link>,
    unknown: usize,
}

impl SplitData {
    fn read(files: &Files<'_>, name: &'static str) -> Result<Self> {
        let file = |end: &str| format!("{name}_{end}");
        let features = files.array(&file("feats.npy"))?;
        let labels = files.array(&file("labels.npy"))?;
        let ([nodes, columns], [labelled, classes]) = (features.rows_and_columns()?, labels.rows_and_columns()?);
        let graph_of = files.array(&file("graph_id.npy"))?.integers()?;
        let mismatch = |end: &str, what: String, expected: String, found: String| {
            Err(Error::mismatch(&files.path(&file(end)), what, expected, found))
        };
        for (end, found) in [("labels.npy", labelled), ("graph_id.npy", graph_of.len())] {
            if found != nodes {
                let expected = format!("{nodes}, as {name}_feats.npy has");
                return mismatch(end, "rows".into(), expected, found.to_string());
            }
        }
        let labels = labels.integers()?;
        if let Some(at) = labels.iter().position(|label| !(0..=1).contains(label)) {
            return mismatch("labels.npy", format!("row {}", at / classes), "0 or 1".into(), labels[at].to_string());
        }
        let expected = "node-link data: an object with a list `links` of objects with `source` and `target`";
        let path = files.path(&file("graph.json"));
        let NodeLink { links } = files::json(&path, &files.read(&file("graph.json"))?, expected)?;
        for (at, link) in links.iter().enumerate() {
            let graph = |node: u32| graph_of.get(node as usize);
            if graph(link.source).is_none() || graph(link.source) != graph(link.target) {
                let expected = format!("two nodes below {nodes} of the same graph");
                return mismatch(
                    "graph.json",
                    format!("link {at}"),
                    expected,
                    format!("{} and {}", link.source, link.target),
                );
            }
        }
        let known = file("label_known.npy");
        let unknown =
            if files.has(&known) { files.array(&known)?.integers()?.iter().filter(|k| **k == 0).count() } else { 0 };
        let mut graphs = graph_of.clone();
        graphs.sort_unstable();
        graphs.dedup();
        let graph = |id: &i64| graphs.partition_point(|other| other < id) as u32;
        let graph_of = graph_of.iter().map(graph).collect();
        let features = Features::dense(nodes, columns, features.numbers()?);
        let features = features.map_err(Error::core(&files.path(&file("feats.npy"))))?;
        let labels = Labels::Multi { classes, of: labels.into_iter().map(|label| label as u8).collect() };
        Ok(Self { name, features, labels, graphs: graphs.len(), graph_of, links, unknown })
    }

    /// Appends one example per graph; `split` is the index in [`SPLITS`].
    fn append_to(self, dataset: &mut Dataset, split: usize, path: &Path) -> Result<()> {
        let (columns, classes) = (self.features.columns(), self.labels.classes());
        if split > 0 && (columns, classes) != (dataset.features(), dataset.classes()) {
            let expected = format!("{} and {}, as train has", dataset.features(), dataset.classes());
            let what = format!("features and classes of {}", self.name);
            return Err(Error::mismatch(path, what, expected, format!("{columns} and {classes}")));
        }
        dataset.class_names = numbered(classes);
        dataset.listed_links += self.links.len() as u64;
        if self.unknown > 0 {
            dataset.notes.push(format!(
                "{}: the labels of {} are not known and count as none",
                self.name,
                count(self.unknown, "node")
            ));
        }
        let (members, index_in_graph) = divided(&self.graph_of, self.graphs);
        let mut links = vec![Vec::new(); self.graphs];
        for Link { source, target } in &self.links {
            let pair = (index_in_graph[*source as usize], index_in_graph[*target as usize]);
            links[self.graph_of[*source as usize] as usize].push(pair);
        }
        let core = Error::core(path);
        for (nodes, links) in members.iter().zip(links) {
            let (graph, _) = prepare::undirected(nodes.len(), links.into_iter()).map_err(core)?;
            let features = feature_rows(&self.features, nodes).map_err(core)?;
            let mut lists = [vec![], vec![], vec![]];
            lists[split] = (0..nodes.len() as u32).collect();
            let labels = label_rows(&self.labels, nodes);
            dataset.examples.push(Example::new(graph, features, labels, lists).map_err(core)?);
        }
        Ok(())
    }
}
