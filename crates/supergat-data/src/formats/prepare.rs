//! Preparation steps shared by several readers.

use crate::dataset::{MAX_CLASSES, SELF_LOOPS, numbered};
use crate::error::{Error, Result};
use crate::registry;
use crate::words::count;
use std::path::Path;
use supergat_core::{Direction, Graph, Labels};

/// Number of principal components to which the paper reduces long feature vectors.
pub(crate) const COMPONENTS: usize = 500;

/// Builds an undirected graph without duplicates and self-loops; returns it with its number of links.
pub(crate) fn undirected(nodes: usize, pairs: impl Iterator<Item = (u32, u32)>) -> supergat_core::Result<(Graph, u64)> {
    let mut links: Vec<(u32, u32)> = pairs.filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect();
    links.sort_unstable();
    links.dedup();
    let graph = Graph::from_edges(nodes, &links, Direction::Undirected)?;
    Ok((graph, links.len() as u64))
}

/// Builds an undirected graph as [`undirected`] does, and notes the number of self-loops.
pub(crate) fn undirected_noted(
    nodes: usize,
    pairs: &[(u32, u32)],
    notes: &mut Vec<String>,
) -> supergat_core::Result<(Graph, u64)> {
    match pairs.iter().filter(|(a, b)| a == b).count() {
        0 => {}
        loops => notes.push(format!("{} {SELF_LOOPS}", count(loops, "link"))),
    }
    undirected(nodes, pairs.iter().copied())
}

/// Builds single-class labels from class numbers; -1 means unknown.
pub(crate) fn classes(path: &Path, of: &[i64]) -> Result<Labels> {
    let most = of.iter().copied().max().unwrap_or(0);
    if let Some(node) = of.iter().position(|&class| !(-1..MAX_CLASSES).contains(&class)) {
        let expected = format!("a number below {MAX_CLASSES}, or -1 if unknown");
        return Err(Error::mismatch(path, format!("class of node {node}"), expected, of[node]));
    }
    let class = |&class: &i64| u32::try_from(class).unwrap_or(Labels::UNKNOWN);
    Ok(Labels::Single { classes: (most + 1).max(0) as usize, of: of.iter().map(class).collect() })
}

/// Builds single-class labels from class numbers as [`classes`] does, without classes that no node has. The
/// names of the classes are the numbers; a note says which occur if some do not.
pub(crate) fn named_classes(path: &Path, of: &[i64], notes: &mut Vec<String>) -> Result<(Labels, Vec<String>)> {
    const SHOWN: usize = 10;
    let labels = classes(path, of)?;
    let Labels::Single { of: numbers, .. } = &labels else { return Ok((labels, Vec::new())) };
    let mut used: Vec<u32> = numbers.iter().copied().filter(|&class| class != Labels::UNKNOWN).collect();
    used.sort_unstable();
    used.dedup();
    let names: Vec<String> = used.iter().map(u32::to_string).collect();
    if names.is_empty() || names.len() == labels.classes() {
        let names = numbered(labels.classes());
        return Ok((labels, names));
    }
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    let shown = names[..names.len().min(SHOWN)].join(", ");
    notes.push(format!("labels: {}, named by the numbers that occur ({shown}{more})", count(names.len(), "class")));
    let class = |number: &u32| used.binary_search(number).map_or(Labels::UNKNOWN, |class| class as u32);
    Ok((Labels::Single { classes: names.len(), of: numbers.iter().map(class).collect() }, names))
}

/// Returns the name of the dataset in a folder: the known name that the folder name matches, else the folder
/// name.
pub(crate) fn name_of(folder: &Path) -> String {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let name = folder.file_name().map_or_else(|| "dataset".into(), |name| name.to_string_lossy().into_owned());
    let plain = name.to_lowercase().replace('_', "-");
    let known =
        registry::all().map(|entry| entry.name).find(|known| *known == plain || known.replace('-', "") == plain);
    known.map_or(name, str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undirected_drops_duplicates_and_self_loops() {
        let (graph, links) = undirected(3, [(0, 1), (1, 0), (2, 2), (1, 2), (1, 2)].into_iter()).unwrap();
        assert_eq!((links, graph.edges(), graph.self_loops()), (2, 3 + 4, 0));
    }

    #[test]
    fn classes_rejects_invalid_numbers() {
        let path = Path::new("x");
        assert_eq!(classes(path, &[2, -1, 0]).unwrap(), Labels::Single { classes: 3, of: vec![2, Labels::UNKNOWN, 0] });
        assert_eq!(classes(path, &[]).unwrap().classes(), 1);
        assert!(classes(path, &[1 << 40]).is_err() && classes(path, &[-2]).is_err());
    }

    #[test]
    fn named_classes_have_no_empty_class() {
        let path = Path::new("x");
        let mut notes = Vec::new();
        let (labels, names) = named_classes(path, &[2, -1, 1, 4], &mut notes).unwrap();
        assert_eq!(labels, Labels::Single { classes: 3, of: vec![1, Labels::UNKNOWN, 0, 2] });
        assert_eq!(names, ["1", "2", "4"]);
        assert_eq!(notes, ["labels: 3 classes, named by the numbers that occur (1, 2, 4)"]);
        let (labels, names) = named_classes(path, &[1, 0], &mut notes).unwrap();
        assert_eq!((labels.classes(), names.len(), notes.len()), (2, 2, 1));
        assert!(named_classes(path, &[-1], &mut notes).unwrap().1.is_empty());
    }

    #[test]
    fn folder_names_match_known_datasets() {
        for (folder, name) in
            [("a/ogbn_arxiv", "ogbn-arxiv"), ("WikiCS", "wiki-cs"), ("flickr/", "flickr"), ("a/mine", "mine")]
        {
            assert_eq!(name_of(Path::new(folder)), name);
        }
    }
}
