//! What is known about the published datasets: sizes, licences, addresses, and where they are on this machine.

mod entries;

pub use entries::ENTRIES;

use std::path::PathBuf;

/// The environment variable that names the folder in which known names are looked up.
pub const DATA_VARIABLE: &str = "SUPERGAT_DATA";

/// The names of the paper's real-world datasets.
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
    /// The name that `load` knows.
    pub name: &'static str,
    /// Nodes of all graphs.
    pub nodes: usize,
    /// Links as the paper counts them.
    pub edges: usize,
    /// Features per node, as the paper uses them.
    pub features: usize,
    /// Classes.
    pub classes: usize,
    /// The publisher's licence.
    pub licence: &'static str,
    /// The publisher's page.
    pub home: &'static str,
    /// The files to fetch.
    pub files: &'static [RemoteFile],
}

/// A file that is fetched.
#[derive(Debug, Clone, Copy)]
pub struct RemoteFile {
    /// What it is called here, and on a mirror.
    pub name: &'static str,
    /// The public address.
    pub url: &'static str,
    /// The checksum of the public file, where it is known.
    pub sha256: Option<&'static str>,
    /// What becomes of it.
    pub unpack: Unpack,
}

/// What becomes of a fetched file.
#[derive(Debug, Clone, Copy)]
pub enum Unpack {
    /// It stays as it is.
    Not,
    /// A zip archive of which the members with these endings are kept, under these names.
    Members(&'static [(&'static str, &'static str)]),
    /// A zip archive of which everything below a folder is kept.
    Below(&'static str),
}

/// The entry of a name.
pub fn entry(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

/// The folders in which datasets are looked for, the first one first: the one that `SUPERGAT_DATA` names, `./data`, and the
/// cache of this user.
pub fn roots() -> Vec<PathBuf> {
    let named = std::env::var_os(DATA_VARIABLE).map(PathBuf::from);
    named.into_iter().chain(["data".into()]).chain(cache()).collect()
}

/// The folder that downloads go to: the one that `SUPERGAT_DATA` names, else the cache of this user.
pub fn download_root() -> Option<PathBuf> {
    std::env::var_os(DATA_VARIABLE).map(PathBuf::from).or_else(cache)
}

/// Where a dataset is on this machine.
pub fn place(name: &str) -> Option<PathBuf> {
    roots().into_iter().map(|root| root.join(name)).find(|place| place.is_dir())
}

/// Where this system keeps what can be fetched again.
fn cache() -> Option<PathBuf> {
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
    fn entries_are_sound() {
        assert_eq!((KNOWN[0], KNOWN[16]), ("cora", "ppi"));
        for entry in &ENTRIES {
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
