//! Reader for the npz files of the "Pitfalls of graph neural network evaluation" benchmark (Shchur et al.,
//! 2018) and of CitationFull: Cora-ML, Cora-Full, DBLP, CS, Physics, Photo and Computers.
//!
//! | array | contents |
//! |---|---|
//! | `adj_data`, `adj_indices`, `adj_indptr`, `adj_shape` | links as a sparse matrix (CSR) |
//! | `attr_data`, ... or `attr_matrix` | features, sparse (CSR) or dense |
//! | `labels` | class of each node |
//!
//! Preparation as in the paper: links are undirected, without duplicates and self-loops; positive features
//! become 1, all others 0; features of CS, Physics and Cora-Full are reduced to 500 principal components.
//! Arrays of Python objects, such as node names, are ignored.

use crate::dataset::{Dataset, numbered};
use crate::error::{Error, Result};
use crate::npz::Npz;
use crate::options::LoadOptions;
use crate::prepare::COMPONENTS;
use crate::{file, prepare, sparse, split};
use std::path::Path;
use supergat_core::{Example, Features, SparseMatrix};
use supergat_numerics::pca::principal_components;

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str = "one .npz file with adj_data, attr_data and labels";

/// Published file stem, dataset name, and whether the features are reduced to principal components.
const PUBLISHED: [(&str, &str, bool); 9] = [
    ("cora_ml", "cora-ml", false),
    ("cora_full", "cora-full", true),
    ("cora", "cora-full", true),
    ("dblp", "dblp", false),
    ("ms_academic_cs", "cs", true),
    ("ms_academic_phy", "physics", true),
    ("amazon_electronics_photo", "photo", false),
    ("amazon_electronics_computers", "computers", false),
    ("citeseer", "citeseer-full", false),
];

/// Returns whether these file names belong to this format.
pub(crate) fn recognises(names: &[String]) -> bool {
    let tables = names.iter().any(|name| [".csv", ".tsv", ".parquet", ".txt"].iter().any(|end| name.ends_with(end)));
    names.iter().filter(|name| name.ends_with(".npz")).count() == 1 && !tables
}

/// Reads the dataset from a folder. The name follows from the published file name, else from the folder.
pub fn read(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    let names = file::list(folder)?;
    let Some(stem) = names.iter().find_map(|name| name.strip_suffix(".npz")) else {
        return Err(Error::NotFound {
            path: folder.join("*.npz"),
            advice: format!("the folder must contain {EXPECTED}"),
        });
    };
    read_named(folder, stem, prepare::name_of(folder), options)
}

/// Reads the dataset in a single file. Its name is the one under which the file is published, else the file's.
pub fn read_file(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    read_named(path.parent().unwrap_or(Path::new("")), &stem, prepare::name_of(&path.with_extension("")), options)
}

fn read_named(folder: &Path, stem: &str, name: String, options: &LoadOptions) -> Result<Dataset> {
    let path = folder.join(format!("{stem}.npz"));
    let known = PUBLISHED.iter().find(|(file, ..)| *file == stem);
    let name = known.map_or(name, |(_, name, _)| (*name).to_owned());
    let reduced = PUBLISHED.iter().any(|(_, known, reduced)| *known == name && *reduced);
    parse(&path, file::read(&path, file::MAX_BYTES)?, name, reduced, options)
}

/// Parses the bytes of a file; `path` is only used in error messages.
///
/// `reduced` replaces the features by their principal components.
pub fn parse(path: &Path, bytes: Vec<u8>, name: String, reduced: bool, options: &LoadOptions) -> Result<Dataset> {
    let npz = Npz::parse(path, bytes)?;
    let adjacency = npz.csr("adj_")?;
    let nodes = adjacency.offsets().len() - 1;
    let mut notes = Vec::new();

    let labels = prepare::classes(path, &npz.array("labels")?.integers()?)?;
    let features = binary(if npz.has("attr_matrix") { dense(path, &npz)? } else { npz.csr("attr_")? });
    let core = |source| Error::Core { path: path.to_owned(), source };
    let features = features.map_err(core)?;
    notes.push("features: every positive value became 1".into());
    let wide = Features::Sparse(features);
    let features = match &wide {
        Features::Sparse(matrix) if reduced && wide.columns() > COMPONENTS => {
            notes.push(format!("features: {} words reduced to {COMPONENTS} principal components", wide.columns()));
            principal_components(matrix, COMPONENTS)
        }
        _ => wide,
    };

    let pairs = (0..nodes).flat_map(|row| adjacency.row(row).0.iter().map(move |&column| (row as u32, column)));
    let (graph, links) = prepare::undirected(nodes, pairs).map_err(core)?;
    let split = split::choose(options.split, path, &name, &labels, Vec::new(), &mut notes)?;
    Ok(Dataset {
        name,
        class_names: numbered(labels.classes()),
        examples: vec![Example::new(graph, features, labels, split).map_err(core)?],
        node_ids: None,
        listed_links: links,
        notes,
        schema: None,
        origin: None,
    })
}

/// Reads the dense feature matrix as a sparse one.
fn dense(path: &Path, npz: &Npz) -> Result<SparseMatrix<f32>> {
    let array = npz.array("attr_matrix")?;
    let sides @ [_, columns] = array.rows_and_columns()?;
    sparse::check_sides(path, sides)?;
    let cell = |at: usize| [(at / columns) as u32, (at % columns) as u32];
    let entries = array.numbers()?.into_iter().enumerate().filter(|(_, value)| *value != 0.0);
    let (pairs, values) = entries.map(|(at, value)| (cell(at), value)).unzip();
    sparse::from_entries(path, sides, pairs, values)
}

/// Replaces positive values by 1 and drops all others.
fn binary(matrix: SparseMatrix<f32>) -> supergat_core::Result<SparseMatrix<f32>> {
    let rows = matrix.offsets().len() - 1;
    let columns = Features::Sparse(matrix.clone()).columns();
    let (mut offsets, mut column_of) = (vec![0], Vec::with_capacity(matrix.values().len()));
    for row in 0..rows {
        let (columns, values) = matrix.row(row);
        column_of.extend(columns.iter().zip(values).filter(|(_, value)| **value > 0.0).map(|(column, _)| column));
        offsets.push(column_of.len() as u64);
    }
    let values = vec![1.0; column_of.len()];
    SparseMatrix::new(columns, offsets, column_of, values)
}
