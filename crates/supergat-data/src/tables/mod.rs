//! Reader for user-supplied graphs: a folder with tables of nodes and links.
//!
//! | file | contents |
//! |---|---|
//! | `edges` | ids of source and target of each link, `weight` and any number of feature columns |
//! | `nodes` | `id`, `label`, `split` and any number of feature columns; their types are detected |
//! | `features` | instead of columns in `nodes`: one row per node, or entries `id`, `feature`, `value` |
//! | `features.npz` | instead of `features`: a SciPy sparse matrix |
//! | `labels` | instead of a column in `nodes`: `id` and `label` |
//! | `splits` | instead of a column in `nodes`: `split` and `id`; the order of the rows is kept |
//! | `dataset.toml` | optional information that tables cannot express; see `sidecar.rs` |
//!
//! Tables are `.csv`, `.tsv` or `.txt`, also compressed as `.csv.gz` or `.csv.zst`, or, with the Cargo feature
//! `parquet`, `.parquet`. Columns are recognised
//! by name and position; [`TableOptions`] overrides this. A column `graph` in nodes and links distinguishes
//! several graphs.

mod columns;
mod edges;
mod ends;
mod entries;
mod graphs;
mod index_column;
mod labels;
mod link_columns;
mod node_ids;
mod nodes;
mod roles;
mod rows;
mod sidecar;
mod splits;
pub(crate) mod write;

pub(crate) use link_columns::LinkColumns;
pub(crate) use rows::names::{EDGES, NODES};

use crate::containers::matrix_market;
use crate::dataset::row_normalise::row_normalise;
use crate::dataset::{Dataset, split};
use crate::error::{Error, Result};
use crate::frames::Frame;
use crate::options::{GivenFeatures, LoadOptions, SplitChoice, TableOptions, names};
use crate::schema::Schema;
use crate::words::{count, first_few, quoted, shown};
use columns::features::{FeatureTable, Stated};
use columns::missing;
use node_ids::Nodes;
use nodes::{NodeRecords, NodeTable};
use rows::location::Location;
use rows::names::{FEATURES, LABELS, SPLITS, file_of, is_table};
use rows::sheet::Sheet;
use sidecar::Sidecar;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str = "nodes.csv and edges.csv, or edges.csv, features.csv and labels.csv";

/// File of sparse features.
const MATRIX: &str = "features.npz";

/// Name of a dataset from frames, and its place in errors.
pub(crate) const FRAMES: &str = "frames";

/// Returns whether these file names belong to a folder of tables, even if some files are missing.
pub(crate) fn recognises(names: &[String]) -> bool {
    names.iter().map(Path::new).any(|name| is_table(name, NODES) || is_table(name, EDGES))
}

/// Returns whether one of these files is a table of links.
pub(crate) fn lists_links(names: &[String]) -> bool {
    names.iter().any(|name| is_table(Path::new(name), EDGES))
}

/// Reads the tables of a folder.
pub fn read(folder: &Path, options: &TableOptions) -> Result<Dataset> {
    let missing = || Error::not_found(folder.join("edges.csv"), "it must list the links, two ids in each row");
    let edges = file_of(folder, EDGES).ok_or_else(missing)?;
    read_links(folder, edges, options)
}

/// Reads the tables of a folder, with the links of the file `edges`.
fn read_links(folder: &Path, edges: PathBuf, options: &TableOptions) -> Result<Dataset> {
    let sidecar = Sidecar::read(folder)?;
    let mut options = options.clone();
    options.directed |= sidecar.directed;
    Tables::open(folder, edges, options, sidecar)?.read()
}

/// Reads the tables of a folder and applies the requested split.
pub(crate) fn load(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    with_split(folder, read(folder, &options.tables)?, options)
}

/// Reads the tables of a folder, with the links of the file `edges`, and applies the requested split.
pub(crate) fn load_links(folder: &Path, edges: &Path, options: &LoadOptions) -> Result<Dataset> {
    with_split(folder, read_links(folder, edges.to_owned(), &options.tables)?, options)
}

/// Reads frames of nodes and links and applies the requested split.
pub(crate) fn load_frames(nodes: Frame, edges: Frame, options: &LoadOptions) -> Result<Dataset> {
    let dataset = Tables::of_frames(nodes, edges, options.tables.clone())?.read()?;
    with_split(Path::new(FRAMES), dataset, options)
}

fn with_split(folder: &Path, mut dataset: Dataset, options: &LoadOptions) -> Result<Dataset> {
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

/// Opened tables of a folder, or of frames in memory.
struct Tables<'a> {
    /// Folder, for the names of files in errors.
    folder: &'a Path,
    edges: Edges,
    /// First row of the table of links, which may name its columns.
    link_columns: Vec<String>,
    options: TableOptions,
    sidecar: Sidecar,
    nodes: Option<NodeTable>,
    features: Option<NodeTable>,
    labels: Option<NodeTable>,
    /// File of the sparse features, if there is no table of features.
    matrix: Option<PathBuf>,
    /// File of the splits.
    splits: Option<PathBuf>,
}

/// Table of the links.
enum Edges {
    /// A file. Whether it has a header depends on the nodes.
    File(PathBuf),
    Frame(Sheet),
}

impl<'a> Tables<'a> {
    fn open(folder: &'a Path, edges: PathBuf, options: TableOptions, sidecar: Sidecar) -> Result<Self> {
        // There are several graphs only if the table of links has a column `graph`.
        let first_row = RefCell::new(Vec::new());
        let links = Sheet::open(&edges, &options, &|row| {
            first_row.replace(row.iter().map(str::to_owned).collect());
            row.iter().any(|name| roles::GRAPH.is(name))
        })?;
        let graphs = roles::GRAPH.find(&links, None)?.is_some();
        let link_columns = [first_row.into_inner(), links.header].concat();
        let open = |stem| file_of(folder, stem).map(|path| NodeTable::open(&path, &options, graphs)).transpose();
        let tables = (open(NODES)?, open(FEATURES)?, open(LABELS)?);
        let (nodes, features, labels) = tables;
        if nodes.is_none() && labels.is_none() && options.expected.is_none() {
            let advice = match matrix_market::is_matrix(&edges) {
                true => {
                    "a .mtx file contains only links, so this table must list the nodes: id (from 1), label and features"
                }
                false => "it must list the nodes and their labels; or add labels.csv",
            };
            return Err(Error::not_found(folder.join("nodes.csv"), advice));
        }
        let matrix = Some(folder.join(MATRIX)).filter(|path| features.is_none() && path.is_file());
        let (edges, splits) = (Edges::File(edges), file_of(folder, SPLITS));
        let tables = Self { folder, edges, link_columns, options, sidecar, nodes, features, labels, matrix, splits };
        tables.check_column_lists()?;
        Ok(tables)
    }

    /// Opens a frame of nodes and one of links.
    fn of_frames(nodes: Frame, edges: Frame, options: TableOptions) -> Result<Self> {
        let edges = Sheet::of_frame(edges)?;
        let graphs = roles::GRAPH.find(&edges, None)?.is_some();
        let nodes = NodeTable::new(Sheet::of_frame(nodes)?, NODES, &options, graphs)?;
        let tables = Self {
            folder: Path::new(FRAMES),
            link_columns: edges.header.clone(),
            edges: Edges::Frame(edges),
            options,
            sidecar: Sidecar { name: Some(FRAMES.to_owned()), ..Sidecar::default() },
            nodes: Some(nodes),
            features: None,
            labels: None,
            matrix: None,
            splits: None,
        };
        tables.check_column_lists()?;
        Ok(tables)
    }

    /// Returns an error if an option names a column that no table has. New tables of a trained model may have
    /// fewer columns than its training tables.
    fn check_column_lists(&self) -> Result<()> {
        let tables = || [&self.nodes, &self.features, &self.labels].into_iter().flatten();
        let Some(first) = tables().next().filter(|_| self.options.expected.is_none()) else { return Ok(()) };
        let of_nodes = tables().flat_map(|table| &table.sheet.header);
        let known: Vec<&str> = of_nodes.chain(&self.link_columns).map(String::as_str).collect();
        for (parameter, list) in self.options.column_lists() {
            if let Some(name) = names(list).find(|name| !known.contains(name)) {
                let nearest = known.iter().min_by_key(|known| strsim::osa_distance(name, known)).unwrap_or(&"");
                let expected = format!("a column `{}`, which parameter `{parameter}` names", shown(name));
                let advice = format!("did you mean `{}`?", shown(nearest));
                return Err(first.sheet.at_header().error(expected, first.sheet.columns_in_words(), advice));
            }
        }
        Ok(())
    }

    fn read(mut self) -> Result<Dataset> {
        let matrix = self.matrix.as_deref().map(crate::containers::npz::sparse_features).transpose()?;
        let (mut nodes, mut notes) = self.node_list(matrix.as_ref())?;
        let FeatureTable { mut features, known, schema, notes: more } = self.build_features(&nodes, matrix)?;
        notes.extend(more);
        let tables = [&self.labels, &self.nodes, &self.features].map(Option::as_ref);
        let labelled = tables.into_iter().flatten().find(|table| table.label.is_some());
        let table = labelled.or(tables.into_iter().flatten().next());
        let table = table.ok_or_else(|| self.no_nodes())?;
        let classes = labels::build(table, &table.cells(&nodes, table.label)?, &self.options, &self.sidecar)?;
        notes.extend(classes.notes);
        let tables = [&self.nodes, &self.labels, &self.features];
        let with_split = tables.into_iter().flatten().find_map(|table| Some((table, table.split.as_ref()?)));
        let mut splits = match (&self.splits, with_split) {
            (Some(path), _) => splits::from_table(path, &nodes, &self.options, &mut notes)?,
            (None, Some((table, columns))) => {
                let missing = missing::MissingWords::of_options(&self.options);
                splits::from_columns(table, columns, &nodes, &missing, &mut notes)?
            }
            // A trained model is tested on all labelled nodes of a new graph.
            (None, None) if self.options.expected.is_some() => splits::all_for_test(&classes.known),
            (None, None) => {
                let seed = self.options.split_seed;
                split::by_class(&classes.labels, &classes.known, &classes.names, seed, &mut notes)
            }
        };
        // With several classes per node, a node without a class is labelled too.
        if !classes.labels.is_multi() {
            splits::remove_unlabelled(&mut splits, &classes.known, &mut notes);
        }
        // Only links are read from now on, and tables may need much memory.
        [self.nodes, self.features, self.labels] = [None, None, None];
        let edges = match self.edges {
            Edges::File(path) => edges::open(&path, &nodes, &self.options)?,
            Edges::Frame(sheet) => sheet,
        };
        let links = edges::read(&edges, &nodes, &self.options, self.sidecar.is_prepared())?;
        drop(edges);
        nodes.forget_keys();
        notes.extend(links.notes);
        if let Some(known) = known {
            missing::fill(self.folder, &mut features, &known, &links.pairs)?;
        }
        let link_schema = (!links.columns.is_empty()).then(|| links.columns.schema.clone());
        let listed_links = self.sidecar.listed_links.unwrap_or(links.pairs.len() as u64);
        let combined = graphs::Combined {
            folder: self.folder,
            directed: self.options.directed,
            duplicates: self.options.duplicates,
            pairs: links.pairs,
            columns: links.columns,
            features,
            labels: classes.labels,
            splits,
        };
        let (examples, node_ids) = combined.split_graphs(nodes, &mut notes)?;
        let is_row_normalised = schema.as_ref().is_some_and(|schema| schema.row_normalised);
        let schema = schema.map(|schema| Schema { row_normalised: false, ..schema });
        let mut dataset = Dataset {
            name: self.sidecar.name.clone().unwrap_or_else(|| folder_name(self.folder)),
            examples,
            class_names: classes.names,
            node_ids,
            listed_links,
            notes,
            schema,
            link_schema,
            splits: Vec::new(),
            origin: None,
            preset: None,
        };
        // As the features of the trained model that reads the tables.
        if is_row_normalised {
            row_normalise(self.folder, &mut dataset)?;
        }
        Ok(dataset)
    }

    /// Reads the nodes from the first table with ids, else from the first table; returns them with notes on
    /// all tables.
    fn node_list(&self, matrix: Option<&supergat_core::Features<f32>>) -> Result<(Nodes, Vec<String>)> {
        let tables = [&self.nodes, &self.features, &self.labels];
        let describe = |table: &NodeTable| [vec![table.describe()], table.remarks()].concat();
        let mut notes: Vec<String> = tables.into_iter().flatten().flat_map(describe).collect();
        let candidates = tables.into_iter().flatten().filter(|table| table.entries.is_none());
        let nodes = match (&self.nodes, matrix) {
            (None, Some(matrix)) => Nodes::numbered(matrix.rows()),
            _ => {
                let first = candidates.clone().find(|table| table.id.is_some()).or(candidates.clone().next());
                first.ok_or_else(|| self.no_nodes())?.nodes()?
            }
        };
        for table in [&self.features, &self.labels].into_iter().flatten() {
            notes.extend(table.note_ids(&nodes)?);
        }
        Ok((nodes, notes))
    }

    /// Builds features from the matrix, the table of features or the table of nodes.
    fn build_features(&self, nodes: &Nodes, matrix: Option<supergat_core::Features<f32>>) -> Result<FeatureTable> {
        let note_unused = |notes: &mut Vec<String>, file: &str| {
            if let Some(NodeTable { sheet, features, .. }) = self.nodes.as_ref().filter(|t| !t.features.is_empty()) {
                let columns = first_few(features.iter().map(|at| quoted(&sheet.header[*at])));
                notes.push(format!(
                    "{}: not used, since {file} has the features: {columns}; move them there",
                    sheet.name()
                ));
            }
        };
        let given = self.options.given_features;
        if given == GivenFeatures::Ignored {
            let tables = [&self.nodes, &self.features].into_iter().flatten().filter(|table| !table.features.is_empty());
            let note = |table: &NodeTable| format!("{}: columns of features not used", table.sheet.name());
            return Ok(FeatureTable::none(nodes.len(), tables.map(note).collect()));
        }
        if let Some(features) = matrix {
            if features.rows() != nodes.len() {
                let path = self.folder.join(MATRIX);
                let expected = format!("{} rows, one per node", nodes.len());
                let advice = "the rows must be in the order of the nodes";
                return Err(Location::file(&path).error(expected, features.rows().to_string(), advice));
            }
            let mut notes = vec![format!("{MATRIX}: {}, kept sparse", count(features.columns(), "feature"))];
            note_unused(&mut notes, MATRIX);
            return Ok(FeatureTable { features, known: None, schema: None, notes });
        }
        let table = match [&self.features, &self.nodes].into_iter().flatten().next() {
            Some(table) => table,
            None if given == GivenFeatures::Optional => return Ok(FeatureTable::none(nodes.len(), Vec::new())),
            None => {
                let advice = "add features.csv, features.npz, or nodes.csv with columns of features, \
                              or compute features from the graph with parameter `features=structural`";
                return Err(Error::not_found(self.folder.join("features.csv"), advice));
            }
        };
        let mut built = match table.entries {
            Some(columns) => entries::build(table, columns, nodes, &self.options, self.sidecar.features)?,
            None => {
                let stated =
                    Stated { sparse: self.sidecar.sparse, prepared: self.sidecar.is_prepared(), of_links: false };
                let expected = self.options.expected.as_ref().and_then(|expected| expected.schema.as_ref());
                let known = expected.or(self.options.schema.as_ref());
                columns::features::build(&NodeRecords { table, nodes }, known, &self.options, stated)?
            }
        };
        if let Some(table) = &self.features {
            note_unused(&mut built.notes, &table.sheet.name());
            if self.folder.join(MATRIX).is_file() {
                built.notes.push(format!("{MATRIX}: not used, since {} has the features", table.sheet.name()));
            }
        }
        if built.features.columns() == 0 && given == GivenFeatures::Required {
            let advice = "add a column that describes the nodes, such as a number or a category, \
                          or compute features from the graph with parameter `features=structural`";
            return Err(table.sheet.at_header().error("columns of features", table.sheet.columns_in_words(), advice));
        }
        Ok(built)
    }

    fn no_nodes(&self) -> Error {
        Error::not_found(self.folder.join("nodes.csv"), "it must list the nodes and their labels")
    }
}

/// Returns the name of a folder, also for paths such as `.`.
fn folder_name(folder: &Path) -> String {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let absolute = || folder.canonicalize().ok();
    name(folder).or_else(|| name(&absolute()?)).unwrap_or_else(|| "tables".to_owned())
}
