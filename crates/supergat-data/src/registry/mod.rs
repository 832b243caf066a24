//! Registry of the published datasets: sizes, licences, download addresses and local folders.

pub mod download;
mod entries;

pub use entries::{ENTRIES, HETEROPHILOUS};

use crate::dataset::Dataset;
use std::path::PathBuf;

/// Environment variable with the folder that contains the datasets.
pub const DATA_VARIABLE: &str = "SUPERGAT_DATA";

/// Names of the paper's real-world datasets.
pub const KNOWN: [&str; ENTRIES.len()] = {
    let mut names = [""; ENTRIES.len()];
    let mut k = 0;
    while k < names.len() {
        names[k] = ENTRIES[k].name;
        k += 1;
    }
    names
};

/// A published dataset.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Name accepted by `load`.
    pub name: &'static str,
    /// Total number of nodes of all graphs.
    pub nodes: usize,
    /// Number of links as counted by the publisher.
    pub edges: usize,
    /// Number of features per node after preparation.
    pub features: usize,
    /// Number of classes.
    pub classes: usize,
    /// Licence stated by the publisher.
    pub licence: &'static str,
    /// Web page of the publisher.
    pub home: &'static str,
    /// Files to download.
    pub files: &'static [RemoteFile],
}

/// A file to download.
#[derive(Debug, Clone, Copy)]
pub struct RemoteFile {
    /// Local name, also used on mirrors.
    pub name: &'static str,
    /// Public download address.
    pub url: &'static str,
    /// SHA-256 checksum of the public file, if known.
    pub sha256: Option<&'static str>,
    /// Handling after the download.
    pub unpack: Unpack,
}

/// Handling of a downloaded file.
#[derive(Debug, Clone, Copy)]
pub enum Unpack {
    /// Keep the file unchanged.
    Not,
    /// Extract members of a zip archive: pairs of member suffix and local name.
    Members(&'static [(&'static str, &'static str)]),
    /// Extract all members of a zip archive below this folder.
    Below(&'static str),
}

/// Returns all entries: those of the paper and those of the heterophilous benchmark.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().chain(&HETEROPHILOUS)
}

/// Returns the entry with the given name.
pub fn entry(name: &str) -> Option<&'static Entry> {
    all().find(|entry| entry.name == name)
}

/// Recognises a published dataset by its contents: numbers of nodes, of links as listed, and of classes. Tables of the user
/// are never recognised: their features are prepared in another way.
pub fn recognised(dataset: &Dataset) -> Option<&'static Entry> {
    let is_it = |entry: &&Entry| {
        let expected = (entry.nodes, entry.edges as u64, entry.classes);
        expected == (dataset.nodes(), dataset.listed_links, dataset.classes())
    };
    all().find(is_it).filter(|_| dataset.schema.is_none())
}

/// Returns the folders that are searched for datasets, in order: `$SUPERGAT_DATA`, `./data` and the user's
/// cache folder.
pub fn roots() -> Vec<PathBuf> {
    let named = std::env::var_os(DATA_VARIABLE).map(PathBuf::from);
    named.into_iter().chain(["data".into()]).chain(cache()).collect()
}

/// Returns the download folder: `$SUPERGAT_DATA`, else the user's cache folder.
pub fn download_root() -> Option<PathBuf> {
    std::env::var_os(DATA_VARIABLE).map(PathBuf::from).or_else(cache)
}

/// Returns the local folder of a dataset, if it is present.
pub fn local_folder(name: &str) -> Option<PathBuf> {
    roots().into_iter().map(|root| root.join(name)).find(|folder| folder.is_dir())
}

/// Returns the cache folder of supergat in the platform's usual location.
pub(crate) fn cache() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        folder("HOME").map(|home| home.join("Library/Caches"))
    } else {
        folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))
    };
    base.map(|base| base.join("supergat"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_datasets_by_contents_not_by_name() {
        let cora = entry("cora").unwrap();
        let edges = [(0, 1); 2];
        let mut dataset = Dataset::builder(cora.nodes)
            .edges(&edges)
            .dense_features(&vec![0.0; cora.nodes], 1)
            .class_names((0..cora.classes).map(|class| class.to_string()))
            .build()
            .unwrap();
        dataset.name = "cora".into();
        assert!(recognised(&dataset).is_none());
        (dataset.name, dataset.listed_links) = ("mine".into(), cora.edges as u64);
        assert_eq!(recognised(&dataset).map(|entry| entry.name), Some("cora"));
    }

    #[test]
    fn entries_are_valid() {
        assert_eq!((KNOWN[0], KNOWN[16]), ("cora", "ppi"));
        for entry in all() {
            assert!(!entry.files.is_empty() && entry.nodes > entry.classes, "{}", entry.name);
            for file in entry.files {
                assert!(file.url.starts_with("http"), "{}", file.url);
                let hash = file.sha256.unwrap_or("");
                assert!(hash.is_empty() || hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()));
                assert!(!file.name.contains(['/', '\\']));
            }
        }
    }
}
