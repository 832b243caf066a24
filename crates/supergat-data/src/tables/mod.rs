//! A person's own graph: tables of nodes and links in a folder.
//!
//! | file | holds |
//! |---|---|
//! | `edges` | two columns with the ids of a link's ends; further columns are reported and not used |
//! | `nodes` | `id`, `label`, `split` and any number of columns with numbers or words |
//! | `features` | instead of columns of `nodes`: a row per node, or `id`, `feature`, `value` per entry, or a sparse matrix (`features.npz`) |
//! | `labels` | instead of a column of `nodes`: `id` and `label` |
//! | `splits` | instead of a column of `nodes`: `split` and `id`, in the order of the lists |
//! | `dataset.toml` | what tables cannot say; see `sidecar.rs` |
//!
//! Tables are `.csv`, `.tsv`, `.txt` or, where the feature `parquet` is on, `.parquet`. Columns are recognised by their names and
//! places, and [`TableOptions`] says otherwise. A column `graph` in nodes and links tells several graphs apart.

mod edges;
mod entries;
mod features;
mod graphs;
mod labels;
mod nodes;
#[cfg(feature = "parquet")]
mod parquet;
mod place;
mod roles;
mod sheet;
mod sidecar;
pub(crate) mod splits;
mod text;
pub(crate) mod write;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::options::{LoadOptions, TableOptions};
use crate::split::{self, SplitChoice};
use features::Made;
use nodes::{NodeTable, Nodes};
use place::Place;
use sheet::file_of;
use sidecar::Sidecar;
use std::path::Path;

/// What the files of a folder must be called.
pub(crate) const EXPECTED: &str = "nodes.csv and edges.csv, or edges.csv, features.csv and labels.csv";

pub(crate) const NODES: &str = "nodes";
pub(crate) const EDGES: &str = "edges";
pub(crate) const FEATURES: &str = "features";
pub(crate) const LABELS: &str = "labels";
pub(crate) const SPLITS: &str = "splits";

/// Whether files of these names are a folder of tables, complete or not.
pub(crate) fn recognises(names: &[String]) -> bool {
    let table = |name: &String, stem: &str| {
        name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('.')).is_some_and(|e| sheet::ENDINGS.contains(&e))
    };
    names.iter().any(|name| table(name, NODES) || table(name, EDGES))
}

/// Reads the tables of a folder.
pub fn read(folder: &Path, options: &TableOptions) -> Result<Dataset> {
    let sidecar = Sidecar::read(folder)?;
    let mut options = options.clone();
    options.directed |= sidecar.directed;
    Tables::open(folder, options, sidecar)?.read()
}

/// Reads the tables of a folder and divides its nodes as asked.
pub(crate) fn load(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    let mut dataset = read(folder, &options.tables)?;
    if options.split == SplitChoice::Published {
        return Ok(dataset);
    }
    let [example] = &mut dataset.examples[..] else {
        split::fixed(options.split, folder, "several graphs come with their own split")?;
        return Ok(dataset);
    };
    let of_files = vec![[&example.train, &example.validation, &example.test].map(Clone::clone)];
    let notes = &mut dataset.notes;
    let split = split::choose(options.split, folder, &dataset.name, &example.labels, of_files, notes)?;
    [example.train, example.validation, example.test] = split;
    Ok(dataset)
}

/// The tables of a folder.
struct Tables<'a> {
    folder: &'a Path,
    options: TableOptions,
    sidecar: Sidecar,
    nodes: Option<NodeTable>,
    features: Option<NodeTable>,
    labels: Option<NodeTable>,
}

impl<'a> Tables<'a> {
    fn open(folder: &'a Path, options: TableOptions, sidecar: Sidecar) -> Result<Self> {
        let missing = |name: &str, advice: &str| Error::NotFound { path: folder.join(name), advice: advice.into() };
        let Some(edges) = file_of(folder, EDGES) else {
            return Err(missing("edges.csv", "it must list the links, two ids in each row"));
        };
        // Only links that name their graph tell several apart.
        let graphs = sheet::Sheet::open(&edges, &options, &|row| row.iter().any(|name| roles::GRAPH.is(name)))?;
        let graphs = roles::GRAPH.find(&graphs, None)?.is_some();
        let open = |stem| file_of(folder, stem).map(|path| NodeTable::new(&path, &options, graphs)).transpose();
        let tables = (open(NODES)?, open(FEATURES)?, open(LABELS)?);
        let (nodes, features, labels) = tables;
        if nodes.is_none() && labels.is_none() && options.expected.is_none() {
            return Err(missing("nodes.csv", "it must list the nodes and their labels; or add labels.csv"));
        }
        Ok(Self { folder, options, sidecar, nodes, features, labels })
    }

    fn read(&self) -> Result<Dataset> {
        let matrix = self.matrix()?;
        let (nodes, mut notes) = self.node_list(matrix.as_ref())?;
        let Made { features, schema, notes: more } = self.make_features(&nodes, matrix)?;
        notes.extend(more);
        let labelled = [&self.labels, &self.nodes, &self.features].into_iter().flatten();
        let table = labelled.clone().find(|table| table.has_label()).or(labelled.clone().next());
        let table = table.ok_or_else(|| self.no_nodes())?;
        let classes = labels::make(table, &table.labels(&nodes)?, &self.options, &self.sidecar)?;
        notes.extend(classes.notes);
        let with_split = [&self.nodes, &self.labels, &self.features].into_iter().flatten().find(|t| t.has_split());
        let mut splits = match (file_of(self.folder, SPLITS), with_split) {
            (Some(path), _) => splits::from_table(&path, &nodes, &self.options)?,
            (None, Some(table)) => splits::from_column(table, &table.splits(&nodes)?)?,
            // On a graph that the model never saw, whatever is labelled measures it.
            (None, None) if self.options.expected.is_some() => splits::all_for_test(&classes.known),
            (None, None) => {
                let seed = self.options.split_seed;
                splits::random(&classes.labels, &classes.known, &classes.names, seed, &mut notes)
            }
        };
        // Where a node may have several classes, it may also have none.
        if !classes.labels.is_multi() {
            splits::only_labelled(&mut splits, &classes.known, &mut notes);
        }
        let path = file_of(self.folder, EDGES).ok_or_else(|| self.no_nodes())?;
        let links = edges::read(&path, &nodes, &self.options)?;
        notes.extend(links.notes);
        let listed_links = self.sidecar.listed_links.unwrap_or(links.pairs.len() as u64);
        let whole = graphs::Whole {
            folder: self.folder,
            directed: self.options.directed,
            pairs: links.pairs,
            features,
            labels: classes.labels,
            splits,
        };
        let (examples, node_ids) = whole.divide(nodes, &mut notes)?;
        Ok(Dataset {
            name: self.sidecar.name.clone().unwrap_or_else(|| folder_name(self.folder)),
            examples,
            class_names: classes.names,
            node_ids,
            listed_links,
            notes,
            schema,
        })
    }

    /// A sparse matrix of features beside the tables.
    fn matrix(&self) -> Result<Option<supergat_core::Features<f32>>> {
        let path = self.folder.join("features.npz");
        if self.features.is_none() && path.is_file() { crate::npz::sparse_features(&path).map(Some) } else { Ok(None) }
    }

    /// The nodes, as the first table names them that does.
    fn node_list(&self, matrix: Option<&supergat_core::Features<f32>>) -> Result<(Nodes, Vec<String>)> {
        let tables = [&self.nodes, &self.features, &self.labels];
        let notes = tables.into_iter().flatten().map(NodeTable::describe).collect();
        let naming = tables.into_iter().flatten().filter(|table| table.entries.is_none());
        let nodes = match (&self.nodes, matrix) {
            (None, Some(matrix)) => Nodes::numbered(matrix.rows()),
            _ => {
                let first = naming.clone().find(|table| table.has_ids()).or(naming.clone().next());
                first.ok_or_else(|| self.no_nodes())?.nodes()?
            }
        };
        Ok((nodes, notes))
    }

    fn make_features(&self, nodes: &Nodes, matrix: Option<supergat_core::Features<f32>>) -> Result<Made> {
        let unused = |notes: &mut Vec<String>| {
            if let Some(table) = self.nodes.as_ref().filter(|table| !table.features.is_empty()) {
                let columns = table.features.len();
                notes.push(format!(
                    "{}: {columns} further columns not used, since there is a table of features",
                    table.sheet.name()
                ));
            }
        };
        if let Some(features) = matrix {
            if features.rows() != nodes.len() {
                let path = self.folder.join("features.npz");
                let expected = format!("{} rows, one per node", nodes.len());
                let advice = "the rows must be in the order of the nodes";
                return Err(Place::file(&path).error(expected, features.rows().to_string(), advice));
            }
            let mut notes = vec![format!("features.npz: {} features, kept sparse", features.columns())];
            unused(&mut notes);
            return Ok(Made { features, schema: None, notes });
        }
        let table = [&self.features, &self.nodes].into_iter().flatten().next().ok_or_else(|| {
            let advice = "add features.csv, features.npz, or nodes.csv with columns of features";
            Error::NotFound { path: self.folder.join("features.csv"), advice: advice.into() }
        })?;
        let mut made = match table.entries {
            Some(columns) => entries::make(table, columns, nodes, &self.options, self.sidecar.features)?,
            None => features::make(table, nodes, &self.options, self.sidecar.sparse)?,
        };
        if self.features.is_some() {
            unused(&mut made.notes);
        }
        if made.features.columns() == 0 {
            let advice = "add a column that describes the nodes, such as a number or a category";
            return Err(table.sheet.at(1, usize::MAX).error(
                "columns of features",
                table.sheet.columns_in_words(),
                advice,
            ));
        }
        Ok(made)
    }

    fn no_nodes(&self) -> Error {
        Error::NotFound {
            path: self.folder.join("nodes.csv"),
            advice: "it must list the nodes and their labels".into(),
        }
    }
}

/// What a folder is called, however it was written.
fn folder_name(folder: &Path) -> String {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let absolute = || folder.canonicalize().ok();
    name(folder).or_else(|| name(&absolute()?)).unwrap_or_else(|| "tables".to_owned())
}
