//! Finds and loads a dataset: a folder, a file, a known name, or the specification of a generated graph.

mod builder;
mod frames;
pub mod node_order;

pub use builder::DatasetBuilder;
pub use frames::read_frames;

use crate::dataset::{Dataset, split};
use crate::error::{Error, Result};
use crate::formats::{FORMATS, Format, nearest_format};
use crate::generate::random_graph::{self, RandomGraph};
use crate::generate::random_partition::{self, RandomPartition};
use crate::generate::variant::{self, Variant};
use crate::options::{LoadOptions, Origin, SplitChoice, TableOptions};
use crate::registry::{self, DATA_VARIABLE};
use crate::words::{first, shown};
use crate::{converted, files};
use std::path::{Path, PathBuf};

/// Loads a dataset.
///
/// `source` is one of these, tried in this order:
///
/// - the specification of a generated graph, such as `random-partition:homophily=0.9`;
/// - a folder, whose format is recognised by the names of its files;
/// - a file that [`crate::convert()`] wrote (`.safetensors`);
/// - a single file of a dataset, such as an `.npz` file of the gnn-benchmark. If the format needs further files,
///   they are read from the same folder;
/// - the name of one of the [`registry`] entries: a folder of that name in the folder given by the environment variable
///   `SUPERGAT_DATA`, in `./data`, or in the user's cache.
///
/// A dataset that takes long to prepare is stored in the user's cache and taken from there the next time. See
/// [`crate::cache`].
pub fn load(source: &str) -> Result<Dataset> {
    load_with(source, &LoadOptions::default())
}

/// Loads a dataset as [`load`] does, with options.
pub fn load_with(source: &str, options: &LoadOptions) -> Result<Dataset> {
    let mut options = options.clone();
    options.tables.given_features = options.features.given();
    let mut dataset = load_from(source, &registry::roots(), &options)?;
    draw_split(source, &options, &mut dataset)?;
    dataset.order_nodes(&options);
    let LoadOptions { split, mut features, tables, node_order, .. } = options;
    features.apply(source, &mut dataset)?;
    let tables = TableOptions {
        expected: None,
        schema: None,
        labels_optional: false,
        given_features: Default::default(),
        ..tables
    };
    dataset.origin = Some(Origin { source: source.to_owned(), split, features, tables, node_order });
    Ok(dataset)
}

/// Draws the split of a dataset if it is chosen by shares of the nodes, which no reader does.
fn draw_split(source: &str, options: &LoadOptions, dataset: &mut Dataset) -> Result<()> {
    if let SplitChoice::Shares { shares, seed } = options.split {
        dataset.draw_by_shares(Path::new(source), shares, seed)?;
        dataset.notes.push(shares.note(seed));
    }
    Ok(())
}

/// Loads a dataset once per split of its files, which must be several. All share their graph and features.
pub fn load_splits(source: &str, options: &LoadOptions) -> Result<Vec<Dataset>> {
    let mut dataset = load_with(source, &LoadOptions { split: SplitChoice::Published, ..options.clone() })?;
    if dataset.splits.is_empty() {
        let expected = "files with several splits, such as masks of ten rows; use parameter `seeds` for several runs";
        return Err(Error::mismatch(Path::new(source), "splits", expected, "one split"));
    }
    let note = split::numbered_note(0, dataset.splits.len());
    if let Some(note) = dataset.notes.iter_mut().find(|found| **found == note) {
        *note = format!("all {} splits in the files, one run for each", dataset.splits.len());
    }
    Ok((0..dataset.splits.len()).filter_map(|number| dataset.numbered(number)).collect())
}

fn load_from(source: &str, roots: &[PathBuf], options: &LoadOptions) -> Result<Dataset> {
    let path = Path::new(source);
    let generators = [random_partition::NAME, random_graph::NAME, variant::NAME];
    let generator = source.split(':').next().filter(|name| generators.contains(name));
    if generator.is_some() {
        split::fixed(options.split, path, "generated graphs come with their own split")?;
    }
    match generator {
        Some(random_partition::NAME) => return source.parse::<RandomPartition>()?.generate(),
        Some(random_graph::NAME) => return source.parse::<RandomGraph>()?.generate(),
        Some(variant::NAME) => {
            let variant: Variant = source.parse()?;
            let options = LoadOptions { split: SplitChoice::Published, ..options.clone() };
            return variant.derive(&load_from(&variant.of, roots, &options)?);
        }
        _ => {}
    }
    let mut dataset = read_from(source, roots, options)?;
    if dataset.preset.is_none() {
        dataset.preset = registry::recognised(&dataset).map(|entry| entry.name.to_owned());
    }
    Ok(dataset)
}

/// Reads a dataset from a folder, a file or the folder of a known name.
fn read_from(source: &str, roots: &[PathBuf], options: &LoadOptions) -> Result<Dataset> {
    let path = Path::new(source);
    if path.is_dir() {
        return read_folder(path, options);
    }
    if path.is_file() && path.extension().is_some_and(|ending| ending == converted::ENDING) {
        split::fixed(options.split, path, "a converted dataset holds the one split that it was written with")?;
        return converted::read(path);
    }
    if path.is_file() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(format) = FORMATS.iter().find(|format| (format.recognises)(std::slice::from_ref(&name))) {
            return format.read_file(path, options);
        }
    }
    if registry::entry(source).is_some() {
        let folders: Vec<PathBuf> = roots.iter().map(|root| root.join(source)).collect();
        return match folders.iter().find(|folder| folder.is_dir()) {
            Some(folder) => read_folder(folder, options),
            None => {
                let places: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
                let advice = format!(
                    "looked for {}; `supergat download {source}` fetches it, or give the folder that holds its files, or set \
                     {DATA_VARIABLE} to the one above it",
                    places.join(" and ")
                );
                Err(Error::not_found(path, advice))
            }
        };
    }
    if path.exists() || path.components().count() > 1 {
        let advice = "give the folder or file of a dataset (.npz, .graphml, .mtx), a converted one (.safetensors), or a known name";
        let advice =
            if path.exists() { format!("it is no file of a known format; {advice}") } else { advice.to_owned() };
        return Err(Error::not_found(path, advice));
    }
    Err(Error::UnknownDataset { name: source.to_owned(), nearest: nearest(source) })
}

fn read_folder(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    let names = files::list(folder)?;
    if let Some(format) = FORMATS.iter().find(|format| (format.recognises)(&names)) {
        return format.read_folder(folder, &names, options);
    }
    let found = if names.is_empty() { "nothing".into() } else { first(3, names.iter().map(|name| shown(name))) };
    let Format { name, expected, .. } = nearest_format(&names);
    Err(Error::UnknownFormat { path: folder.to_owned(), nearest: name, expected, found })
}

/// Returns up to three known names with a similar spelling, nearest first.
fn nearest(name: &str) -> Vec<&'static str> {
    let name = name.to_lowercase();
    let mut close: Vec<(usize, &str)> = registry::all()
        .map(|entry| entry.name)
        .chain([random_partition::NAME, random_graph::NAME, variant::NAME])
        .map(|known| (strsim::levenshtein(&name, known), known))
        .filter(|&(edits, known)| edits <= known.len().div_ceil(3))
        .collect();
    close.sort_by_key(|&(edits, _)| edits);
    close.into_iter().take(3).map(|(_, known)| known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_from(source: &str, roots: &[PathBuf]) -> Result<Dataset> {
        super::load_from(source, roots, &LoadOptions::default())
    }

    #[test]
    fn suggests_similar_names() {
        assert_eq!(nearest("corra"), ["cora"]);
        assert_eq!(nearest("CiteSeer"), ["citeseer"]);
        assert_eq!(nearest("coraml"), ["cora-ml", "cora"]);
        assert_eq!(nearest("random_partition"), ["random-partition"]);
        assert!(nearest("imagenet-21k").is_empty());
        assert!(nearest(&"a".repeat(10_000)).is_empty());
    }

    #[test]
    fn explains_unknown_sources() {
        let folder = tempfile::tempdir().unwrap();
        let roots = [folder.path().join("a"), folder.path().join("b")];
        let error = load_from("cora", &roots).unwrap_err().to_string();
        let places = format!("{} and {}", roots[0].join("cora").display(), roots[1].join("cora").display());
        assert_eq!(
            error,
            format!(
                "cora not found: looked for {places}; `supergat download cora` fetches it, or give the folder that holds its files, or set \
                 SUPERGAT_DATA to the one above it"
            )
        );
        let error = load_from("some/where", &roots).unwrap_err().to_string();
        assert!(error.starts_with("some/where not found: give the folder or file of a dataset"), "{error}");
        assert!(matches!(load_from("corra", &roots), Err(Error::UnknownDataset { .. })));
        assert!(matches!(load_from("", &roots), Err(Error::UnknownDataset { .. })));
        assert!(matches!(load_from("random-partition:x=1", &roots), Err(Error::Spec { .. })));
        assert_eq!(load_from("random-partition:classes=2", &roots).unwrap().nodes(), 1000);
    }

    #[test]
    fn explains_unknown_folders_in_300_characters() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let message = || load_from(path, &[]).unwrap_err().to_string().replace(path, "X");
        assert_eq!(
            message(),
            "X has no recognised dataset files (found nothing): a folder of tables needs nodes.csv and edges.csv, or \
             edges.csv, features.csv and labels.csv; see `supergat train --help`"
        );
        for name in ["b", "a", "e", "d", "c"] {
            std::fs::write(folder.path().join(name), b"").unwrap();
        }
        assert!(
            message().starts_with("X has no recognised dataset files (found a, b, c and 2 more): "),
            "{}",
            message()
        );
        for name in ["one.npz", "two.npz"] {
            std::fs::write(folder.path().join(name), b"").unwrap();
        }
        assert!(message().contains("): a dataset of arrays needs one .npz file with adj_data"), "{}", message());
        let error = load_from(folder.path().join("a").to_str().unwrap(), &[]).unwrap_err().to_string();
        assert!(error.contains("not found: it is no file of a known format; give the folder"), "{error}");
    }

    #[test]
    fn messages_about_folders_stay_short() {
        for format in FORMATS {
            let error = Error::UnknownFormat {
                path: "X".into(),
                nearest: format.name,
                expected: format.expected,
                found: format!("{} and 7 more", ["a".repeat(20), "b".repeat(20), "c".repeat(20)].join(", ")),
            };
            assert!(error.to_string().len() <= 300, "{error}");
        }
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let nearest = |list: &[&str]| nearest_format(&names(list)).name;
        assert_eq!(nearest(&["my_labels.csv", "features.csv"]), "a folder of tables");
        assert_eq!(nearest(&["cora.allx", "cora.tx"]), "Planetoid");
        assert_eq!(nearest(&["train_feats.npy", "train_labels.npy", "train_graph.json"]), "PPI");
        assert_eq!(nearest(&["chameleon_edges.csv", "chameleon.json"]), "MUSAE");
        assert_eq!(nearest(&["readme"]), "a folder of tables");
        let long = Error::UnknownDataset { name: "x".repeat(10_000), nearest: nearest_names() };
        assert!(long.to_string().len() < 300, "{long}");
    }

    fn nearest_names() -> Vec<&'static str> {
        super::nearest(&"x".repeat(10_000))
    }
}
