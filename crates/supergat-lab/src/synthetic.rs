//! Pictures of the paper's synthetic graphs: what degree and homophily mean, seen on small examples.
//!
//! Two nodes of one class are linked with probability p_in = h delta, two of different classes with (delta - p_in) / (c - 1). With n nodes in each of c
//! classes a node has about n delta neighbours, a share h of them of its own class. Nodes lie where t-SNE puts their two features.

use crate::tsne::{PERPLEXITY, tsne};
use supergat_data::{RandomPartition, Result};

/// Classes of the examples.
pub const CLASSES: usize = 5;
/// Nodes of each class.
pub const NODES: usize = 100;
/// Their delta.
pub const DELTAS: [f64; 2] = [0.025, 0.2];
/// Their p_in, as a share of delta: the homophily to be expected.
pub const HOMOPHILIES: [f64; 3] = [0.1, 0.5, 0.9];
/// Nodes of each class of the graph that an example is cut from: with the splits that generated graphs have, fewer are not drawn.
const DRAWN: usize = 200;

/// A graph with its places.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// delta.
    pub delta: f64,
    /// p_in / delta.
    pub homophily: f64,
    /// Pairs of linked nodes.
    pub links: Vec<[u32; 2]>,
    /// Class of each node.
    pub classes: Vec<u32>,
    /// Place of each node.
    pub places: Vec<[f64; 2]>,
}

impl Picture {
    /// The number of neighbours that a node has on average.
    pub fn mean_degree(&self) -> f64 {
        2.0 * self.links.len() as f64 / self.classes.len() as f64
    }

    /// The share of links within a class; `None` where there are no links.
    pub fn share_within(&self) -> Option<f64> {
        let class = |node: u32| self.classes[node as usize];
        let within = self.links.iter().filter(|[a, b]| class(*a) == class(*b)).count();
        (!self.links.is_empty()).then(|| within as f64 / self.links.len() as f64)
    }
}

/// All examples: a row of homophilies for each delta. They share their features and so their places; only the links differ.
pub fn pictures(seed: u64) -> Result<Vec<Picture>> {
    let (mut pictures, mut places) = (Vec::new(), None);
    for delta in DELTAS {
        for homophily in HOMOPHILIES {
            let (features, links) = example(delta, homophily, seed)?;
            let places = places.get_or_insert_with(|| tsne(&features, PERPLEXITY, seed).0).clone();
            let classes = (0..CLASSES * NODES).map(|node| (node / NODES) as u32).collect();
            pictures.push(Picture { delta, homophily, links, classes, places });
        }
    }
    Ok(pictures)
}

/// Features of all nodes, and links.
type Example = (Vec<[f64; 2]>, Vec<[u32; 2]>);

/// Draws an example. Any [`NODES`] nodes of each class of a larger graph with the same probabilities are one.
fn example(delta: f64, homophily: f64, seed: u64) -> Result<Example> {
    let degree = delta * DRAWN as f64;
    let larger = RandomPartition { classes: CLASSES, nodes_per_class: DRAWN, degree, homophily, seed }.generate()?;
    let [example] = &larger.examples[..] else { unreachable!("a random partition is one graph") };
    let kept = |node: usize| (node % DRAWN < NODES).then_some((node / DRAWN * NODES + node % DRAWN) as u32);
    let features = example.features.values().as_chunks::<2>().0.iter().map(|pair| pair.map(f64::from));
    let features = features.enumerate().filter(|(node, _)| kept(*node).is_some()).map(|(_, pair)| pair).collect();
    let mut links = Vec::new();
    for target in 0..example.graph.nodes() {
        let sources = example.graph.incoming().of(target).iter().filter(|source| (**source as usize) < target);
        links.extend(sources.filter_map(|&source| Some([kept(source as usize)?, kept(target)?])));
    }
    Ok((features, links))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over some seeds, links within and between classes are as many as expected, within four standard deviations of a binomial.
    #[test]
    fn examples_have_the_probabilities_of_the_paper() {
        for (delta, homophily) in [(0.025, 0.1), (0.2, 0.5), (0.2, 0.9)] {
            let seeds = 5;
            let (mut within, mut between) = (0, 0);
            for seed in 0..seeds {
                let (features, links) = example(delta, homophily, seed).unwrap();
                assert_eq!(features.len(), CLASSES * NODES);
                assert!(links.iter().flatten().all(|node| (*node as usize) < CLASSES * NODES));
                let same = |[a, b]: &[u32; 2]| *a as usize / NODES == *b as usize / NODES;
                within += links.iter().filter(|link| same(link)).count();
                between += links.iter().filter(|link| !same(link)).count();
            }
            let pairs_within = (seeds as usize * CLASSES * NODES * (NODES - 1) / 2) as f64;
            let pairs_between = (seeds as usize * CLASSES * (CLASSES - 1) / 2 * NODES * NODES) as f64;
            let (inside, outside) = (homophily * delta, (delta - homophily * delta) / (CLASSES as f64 - 1.0));
            for (found, pairs, p) in [(within, pairs_within, inside), (between, pairs_between, outside)] {
                let spread = (pairs * p * (1.0 - p)).sqrt();
                assert!(
                    (found as f64 - pairs * p).abs() < 4.0 * spread,
                    "{delta} {homophily}: {found} of {}",
                    pairs * p
                );
            }
        }
    }

    #[test]
    fn measures_of_a_picture() {
        let picture = Picture {
            delta: 0.1,
            homophily: 0.5,
            links: vec![[0, 1], [1, 2]],
            classes: vec![0, 0, 1, 1],
            places: vec![[0.0; 2]; 4],
        };
        assert_eq!((picture.mean_degree(), picture.share_within()), (1.0, Some(0.5)));
        assert_eq!(Picture { links: Vec::new(), ..picture }.share_within(), None);
    }
}
