//! Formats of published datasets and of graphs in one file: one module each, listed in `FORMATS`.
//!
//! A module contains `EXPECTED`, `recognises`, and `read`; formats of one file `is_one` and `parse` instead of `read`.

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

use crate::containers::npz::Npz;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::files::{self, atomic};
use crate::options::LoadOptions;
use crate::{cache, tables};
use std::path::Path;

/// A file format of datasets. A new format is one module and one entry of [`FORMATS`].
pub(crate) struct Format {
    pub(crate) name: &'static str,
    pub(crate) expected: &'static str,
    /// Returns whether files of these names belong to a dataset of this format, complete or not.
    pub(crate) recognises: fn(&[String]) -> bool,
    pub(crate) reader: Reader,
}

/// Function that reads the datasets of a format.
pub(crate) enum Reader {
    /// Reads the dataset in a folder.
    Folder(fn(&Path, &LoadOptions) -> Result<Dataset>),
    /// Reads the dataset in one file and gives it a name.
    File {
        /// Returns whether a file of this name contains a dataset.
        is_one: fn(&str) -> bool,
        read: fn(&Path, String, &LoadOptions) -> Result<Dataset>,
        /// Whether the file can give the dataset its name. Other files are called the same for every dataset.
        named: bool,
    },
}

macro_rules! reader {
    ($name:literal, $module:ident, $reader:expr) => {
        Format { name: $name, expected: $module::EXPECTED, recognises: $module::recognises, reader: $reader }
    };
}

macro_rules! file {
    ($name:literal, $module:ident, $named:literal, $read:expr) => {
        reader!($name, $module, Reader::File { is_one: $module::is_one, read: $read, named: $named })
    };
}

pub(crate) const TABLES: Format = reader!("a folder of tables", tables, Reader::Folder(tables::load));

pub(crate) const FORMATS: &[Format] = &[
    reader!("Planetoid", planetoid, Reader::Folder(planetoid::read)),
    reader!("OGB", ogb, Reader::Folder(ogb::read)),
    reader!("GraphSAINT", graphsaint, Reader::Folder(graphsaint::read)),
    reader!("PPI", ppi, Reader::Folder(ppi::read)),
    reader!("MUSAE", musae, Reader::Folder(musae::read)),
    file!("Wiki-CS", wiki_cs, false, |path, name, options| wiki_cs::parse(path, &whole(path)?, name, options)),
    file!("WebKB", webkb, false, |path, name, options| webkb::parse(path, &whole(path)?, name, options)),
    file!("Matrix Market", matrix_market, true, |path, _, options| {
        tables::load_links(atomic::parent(path), path, options)
    }),
    TABLES,
    file!("GraphML", graphml, true, |path, name, options| graphml::parse(path, whole(path)?, name, options)),
    file!("a dataset of arrays", npz_dataset, true, |path, name, options| {
        npz_dataset::parse(&Npz::open(path)?, name, options)
    }),
];

fn whole(path: &Path) -> Result<Vec<u8>> {
    files::read(path, files::MAX_BYTES)
}

impl Format {
    /// Reads the dataset in a folder with files of these names, or takes it from the cache of prepared datasets.
    pub(crate) fn read_folder(&self, folder: &Path, names: &[String], options: &LoadOptions) -> Result<Dataset> {
        cache::load(self.name, folder, options, || match self.reader {
            Reader::Folder(read) => read(folder, options),
            Reader::File { is_one, read, .. } => match names.iter().find(|name| is_one(name)) {
                Some(name) => read(&folder.join(name), prepare::name_of(folder), options),
                None => Err(Error::not_found(folder, ["it must contain ", self.expected].concat())),
            },
        })
    }

    /// Reads the dataset of a file as [`Self::read_folder`] does. If the format needs further files, they are read from
    /// the same folder. They must have the same name with another extension if the format is one of single files: the
    /// cache takes only these into account.
    pub(crate) fn read_file(&self, path: &Path, options: &LoadOptions) -> Result<Dataset> {
        let folder = atomic::parent(path);
        match self.reader {
            Reader::Folder(read) => cache::load(self.name, folder, options, || read(folder, options)),
            Reader::File { read, named, .. } => cache::load(self.name, path, options, || {
                let name = if named { prepare::name_of(&path.with_extension("")) } else { prepare::name_of(folder) };
                read(path, name, options)
            }),
        }
    }
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
