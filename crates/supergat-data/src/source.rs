//! From what a person typed to a dataset: a folder, a known name, or a generator's specification.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::options::LoadOptions;
use crate::random_graph::{self, RandomGraph};
use crate::random_partition::{self, RandomPartition};
use crate::registry::{self, DATA_VARIABLE, KNOWN};
use crate::{converted, file, gnn_benchmark, graphsaint, musae, ogb, planetoid, ppi, split, tables, webkb, wiki_cs};
use std::path::{Path, PathBuf};

/// A way in which datasets are stored in a folder. A further format is one file and one line of [`FORMATS`].
struct Format {
    name: &'static str,
    expected: &'static str,
    /// Whether the folder with these names is meant to be of this format, complete or not.
    recognises: fn(&[String]) -> bool,
    read: fn(&Path, &LoadOptions) -> Result<Dataset>,
}

macro_rules! reader {
    ($name:literal, $module:ident) => {
        Format { name: $name, expected: $module::EXPECTED, recognises: $module::recognises, read: $module::read }
    };
}

const FORMATS: &[Format] = &[
    reader!("Planetoid", planetoid),
    reader!("OGB", ogb),
    reader!("GraphSAINT", graphsaint),
    reader!("PPI", ppi),
    reader!("MUSAE", musae),
    reader!("Wiki-CS", wiki_cs),
    reader!("WebKB", webkb),
    Format { name: "tables", expected: tables::EXPECTED, recognises: tables::recognises, read: tables::load },
    reader!("gnn-benchmark", gnn_benchmark),
];

/// Loads a dataset.
///
/// `source` is a specification such as `random-partition:homophily=0.9`, which is generated; or a folder, whose format is
/// recognised by its files; or a file that [`crate::convert()`] wrote; or one of the [`KNOWN`] names, which is a folder of that name in the folder that the environment variable
/// `SUPERGAT_DATA` names, in `./data`, or in the user's cache.
pub fn load(source: &str) -> Result<Dataset> {
    load_with(source, &LoadOptions::default())
}

/// Loads a dataset as [`load`] does, with options.
pub fn load_with(source: &str, options: &LoadOptions) -> Result<Dataset> {
    load_from(source, &registry::roots(), options)
}

fn load_from(source: &str, roots: &[PathBuf], options: &LoadOptions) -> Result<Dataset> {
    let path = Path::new(source);
    let generator = source.split(':').next().filter(|name| [random_partition::NAME, random_graph::NAME].contains(name));
    if generator.is_some() {
        split::fixed(options.split, path, "generated graphs come with their own split")?;
    }
    match generator {
        Some(random_partition::NAME) => return source.parse::<RandomPartition>()?.generate(),
        Some(random_graph::NAME) => return source.parse::<RandomGraph>()?.generate(),
        _ => {}
    }
    if path.is_dir() {
        return read_folder(path, options);
    }
    if path.is_file() && path.extension().is_some_and(|ending| ending == converted::ENDING) {
        split::fixed(options.split, path, "a converted dataset holds the one split that it was written with")?;
        return converted::read(path);
    }
    if KNOWN.contains(&source) {
        let places: Vec<PathBuf> = roots.iter().map(|root| root.join(source)).collect();
        return match places.iter().find(|place| place.is_dir()) {
            Some(place) => read_folder(place, options),
            None => Err(Error::NotFound {
                path: path.to_owned(),
                advice: format!(
                    "looked for {}; `supergat download {source}` fetches it, or give the folder that holds its files, or set \
                     {DATA_VARIABLE} to the one above it",
                    places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(" and ")
                ),
            }),
        };
    }
    if path.exists() || path.components().count() > 1 {
        let advice = "give the folder that holds the files of a dataset, a converted one (.safetensors), or one of the known names";
        let advice = if path.exists() { format!("it is a file; {advice}") } else { advice.to_owned() };
        return Err(Error::NotFound { path: path.to_owned(), advice });
    }
    Err(Error::UnknownDataset { name: source.to_owned(), nearest: nearest(source) })
}

fn read_folder(folder: &Path, options: &LoadOptions) -> Result<Dataset> {
    let names = file::list(folder)?;
    if let Some(format) = FORMATS.iter().find(|format| (format.recognises)(&names)) {
        return (format.read)(folder, options);
    }
    let shown = names.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
    Err(Error::UnknownFormat {
        path: folder.to_owned(),
        expected: FORMATS
            .iter()
            .map(|format| format!("{} ({})", format.expected, format.name))
            .collect::<Vec<_>>()
            .join(" or "),
        found: match names.len() {
            0 => "nothing".into(),
            1..=5 => shown,
            more => format!("{shown} and {} more", more - 5),
        },
    })
}

/// Known names that are spelt alike, nearest first, at most three.
fn nearest(name: &str) -> Vec<&'static str> {
    let name = name.to_lowercase();
    let mut close: Vec<(usize, &str)> = KNOWN
        .into_iter()
        .chain([random_partition::NAME, random_graph::NAME])
        .map(|known| (edits(&name, known), known))
        .filter(|&(edits, known)| edits <= known.len().div_ceil(3))
        .collect();
    close.sort_by_key(|&(edits, _)| edits);
    close.into_iter().take(3).map(|(_, known)| known).collect()
}

/// How many letters must be inserted, removed or replaced to turn one word into the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_from(source: &str, roots: &[PathBuf]) -> Result<Dataset> {
        super::load_from(source, roots, &LoadOptions::default())
    }

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("cora", "cora"), 0);
    }

    #[test]
    fn near_names_are_suggested() {
        assert_eq!(nearest("corra"), ["cora"]);
        assert_eq!(nearest("CiteSeer"), ["citeseer"]);
        assert_eq!(nearest("coraml"), ["cora-ml", "cora"]);
        assert_eq!(nearest("random_partition"), ["random-partition"]);
        assert!(nearest("imagenet-21k").is_empty());
        assert!(nearest(&"a".repeat(10_000)).is_empty());
    }

    #[test]
    fn unknown_sources_are_explained() {
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
        assert!(error.starts_with("some/where not found: give the folder"), "{error}");
        assert!(matches!(load_from("corra", &roots), Err(Error::UnknownDataset { .. })));
        assert!(matches!(load_from("", &roots), Err(Error::UnknownDataset { .. })));
        assert!(matches!(load_from("random-partition:x=1", &roots), Err(Error::Spec { .. })));
        assert_eq!(load_from("random-partition:classes=2", &roots).unwrap().nodes(), 1000);
    }

    #[test]
    fn folders_of_no_known_format_are_described() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let found = || match load_from(path, &[]) {
            Err(Error::UnknownFormat { found, .. }) => found,
            other => panic!("{other:?}"),
        };
        assert_eq!(found(), "nothing");
        for name in ["b", "a", "g", "f", "e", "d", "c"] {
            std::fs::write(folder.path().join(name), b"").unwrap();
        }
        assert_eq!(found(), "a, b, c, d, e and 2 more");
        let file = folder.path().join("a");
        let error = load_from(file.to_str().unwrap(), &[]).unwrap_err().to_string();
        assert!(error.contains("it is a file"), "{error}");
    }
}
