//! What several readers do on the way from lists of numbers to a dataset.

use crate::error::{Error, Result};
use crate::registry::KNOWN;
use std::path::Path;
use supergat_core::{Direction, Graph, Labels};

/// Principal components that the paper reduces long features to.
pub(crate) const COMPONENTS: usize = 500;

/// Class numbers cost memory even where no node has them.
pub(crate) const MAX_CLASSES: i64 = 100_000;

/// A graph of links in both directions without duplicates and self-loops, and how many links it has.
pub(crate) fn undirected(nodes: usize, pairs: impl Iterator<Item = (u32, u32)>) -> supergat_core::Result<(Graph, u64)> {
    let mut links: Vec<(u32, u32)> = pairs.filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect();
    links.sort_unstable();
    links.dedup();
    let graph = Graph::from_edges(nodes, &links, Direction::Undirected)?;
    Ok((graph, links.len() as u64))
}

/// One class per node; -1 where it is not known.
pub(crate) fn classes(path: &Path, of: &[i64]) -> Result<Labels> {
    let most = of.iter().copied().max().unwrap_or(0);
    if let Some(node) = of.iter().position(|&class| !(-1..MAX_CLASSES).contains(&class)) {
        return Err(Error::Mismatch {
            path: path.to_owned(),
            what: format!("class of node {node}"),
            expected: format!("a number below {MAX_CLASSES}, or -1 when nobody knows it"),
            found: of[node].to_string(),
        });
    }
    let class = |&class: &i64| u32::try_from(class).unwrap_or(Labels::UNKNOWN);
    Ok(Labels::Single { classes: (most + 1).max(0) as usize, of: of.iter().map(class).collect() })
}

/// The name of the dataset in a folder: the known one that it is called after, else the folder's own.
pub(crate) fn name_of(folder: &Path) -> String {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let name = folder.file_name().map_or_else(|| "dataset".into(), |name| name.to_string_lossy().into_owned());
    let plain = name.to_lowercase().replace('_', "-");
    KNOWN.iter().find(|known| **known == plain || known.replace('-', "") == plain).map_or(name, |known| (*known).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_count_once() {
        let (graph, links) = undirected(3, [(0, 1), (1, 0), (2, 2), (1, 2), (1, 2)].into_iter()).unwrap();
        assert_eq!((links, graph.edges(), graph.self_loops()), (2, 3 + 4, 0));
    }

    #[test]
    fn classes_by_number() {
        let path = Path::new("x");
        assert_eq!(classes(path, &[2, -1, 0]).unwrap(), Labels::Single { classes: 3, of: vec![2, Labels::UNKNOWN, 0] });
        assert_eq!(classes(path, &[]).unwrap().classes(), 1);
        assert!(classes(path, &[1 << 40]).is_err() && classes(path, &[-2]).is_err());
    }

    #[test]
    fn folders_called_after_a_dataset() {
        for (folder, name) in
            [("a/ogbn_arxiv", "ogbn-arxiv"), ("WikiCS", "wiki-cs"), ("flickr/", "flickr"), ("a/mine", "mine")]
        {
            assert_eq!(name_of(Path::new(folder)), name);
        }
    }
}
