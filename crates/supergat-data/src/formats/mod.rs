//! Formats of published datasets and of graphs in one file: one module each, listed in `FORMATS`.
//!
//! A module contains `EXPECTED`, `recognises` and `read`, and for formats of one file `read_file`.

pub mod gnn_benchmark;
pub mod graphml;
pub mod graphsaint;
pub mod heterophilous;
mod matrix_market;
pub mod musae;
pub mod npz_dataset;
mod ogb;
pub mod planetoid;
pub mod ppi;
mod prepare;
pub mod webkb;
pub mod wiki_cs;

use crate::dataset::Dataset;
use crate::error::Result;
use crate::options::LoadOptions;
use crate::{files, tables};
use std::path::Path;

pub(crate) type Read = fn(&Path, &LoadOptions) -> Result<Dataset>;

/// A file format of datasets. A new format is one module and one entry of [`FORMATS`].
pub(crate) struct Format {
    pub(crate) name: &'static str,
    pub(crate) expected: &'static str,
    /// Returns whether files of these names belong to a dataset of this format, complete or not.
    pub(crate) recognises: fn(&[String]) -> bool,
    /// Reads the dataset in a folder.
    pub(crate) read: Read,
    /// Reads the dataset in a single file, for formats of one file. Other files that it reads must have the same
    /// name with another extension: the cache takes only these into account.
    pub(crate) read_file: Option<Read>,
}

macro_rules! reader {
    ($name:literal, $module:ident, $read_file:expr) => {
        Format {
            name: $name,
            expected: $module::EXPECTED,
            recognises: $module::recognises,
            read: $module::read,
            read_file: $read_file,
        }
    };
}

pub(crate) const TABLES: Format = Format {
    name: "a folder of tables",
    expected: tables::EXPECTED,
    recognises: tables::recognises,
    read: tables::load,
    read_file: None,
};

pub(crate) const FORMATS: &[Format] = &[
    reader!("Planetoid", planetoid, None),
    reader!("OGB", ogb, None),
    reader!("GraphSAINT", graphsaint, None),
    reader!("PPI", ppi, None),
    reader!("MUSAE", musae, None),
    reader!("Wiki-CS", wiki_cs, Some(|path, options| wiki_cs::parse(path, &whole(path)?, name_of(path), options))),
    reader!("WebKB", webkb, Some(|path, options| webkb::parse(path, &whole(path)?, name_of(path), options))),
    reader!("Matrix Market", matrix_market, Some(matrix_market::read_file)),
    TABLES,
    reader!("GraphML", graphml, Some(graphml::read_file)),
    reader!("a dataset of arrays", npz_dataset, Some(npz_dataset::read_file)),
];

fn whole(path: &Path) -> Result<Vec<u8>> {
    files::read(path, files::MAX_BYTES)
}

/// Returns the name of the dataset in a file that is called the same for every dataset: that of its folder.
fn name_of(path: &Path) -> String {
    prepare::name_of(folder_of(path))
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the format whose description names the endings of most of these files, or that of tables.
pub(crate) fn nearest_format(names: &[String]) -> &'static Format {
    let in_common = |format: &Format| {
        let endings: Vec<&str> = format
            .expected
            .split([' ', ','])
            .filter(|word| word.contains('.'))
            .map(|word| word.rsplit("NAME").next().unwrap_or(word))
            .collect();
        names.iter().filter(|name| endings.iter().any(|ending| name.ends_with(ending))).count()
    };
    let best = FORMATS.iter().rev().max_by_key(|format| in_common(format)).filter(|format| in_common(format) > 0);
    best.unwrap_or(&TABLES)
}
