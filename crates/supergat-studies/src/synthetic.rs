//! Pictures of small synthetic graphs of the paper, which illustrate degree and homophily.
//!
//! Two nodes of the same class are linked with probability p_in = h delta, two nodes of different classes
//! with probability (delta - p_in) / (c - 1). With n nodes in each of c classes, a node has about n delta
//! neighbours, a share h of them in its own class. Node positions are computed by t-SNE from the two
//! features.

use supergat_data::{RandomPartition, Result};
use supergat_numerics::tsne::{PERPLEXITY, tsne};

/// Number of classes of the examples.
pub const CLASSES: usize = 5;
/// Number of nodes per class of the examples.
pub const NODES: usize = 100;
/// Values of delta of the examples.
pub const DELTAS: [f64; 2] = [0.025, 0.2];
/// Expected homophilies of the examples: p_in / delta.
pub const HOMOPHILIES: [f64; 3] = [0.1, 0.5, 0.9];
/// Number of nodes per class of the graph from which an example is taken. The splits of generated graphs do
/// not allow fewer.
const GENERATED_NODES: usize = 200;

/// A graph with node positions.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Link density (delta).
    pub delta: f64,
    /// Expected homophily, p_in / delta.
    pub homophily: f64,
    /// Pairs of linked nodes.
    pub links: Vec<[u32; 2]>,
    /// Class of each node.
    pub classes: Vec<u32>,
    /// Position of each node.
    pub positions: Vec<[f64; 2]>,
}

impl Picture {
    /// Returns the mean number of neighbours.
    pub fn mean_degree(&self) -> f64 {
        2.0 * self.links.len() as f64 / self.classes.len() as f64
    }

    /// Returns the share of links within a class; `None` if there are no links.
    pub fn share_within(&self) -> Option<f64> {
        let class = |node: u32| self.classes[node as usize];
        let within = self.links.iter().filter(|[a, b]| class(*a) == class(*b)).count();
        (!self.links.is_empty()).then(|| within as f64 / self.links.len() as f64)
    }
}

/// Returns all examples, by delta and then homophily. They have the same features and positions and differ in
/// links only.
pub fn pictures(seed: u64) -> Result<Vec<Picture>> {
    let (mut pictures, mut positions) = (Vec::new(), None);
    for delta in DELTAS {
        for homophily in HOMOPHILIES {
            let (features, links) = example(delta, homophily, seed)?;
            let positions =
                positions.get_or_insert_with(|| tsne(features.as_flattened(), 2, PERPLEXITY, seed).0).clone();
            let classes = (0..CLASSES * NODES).map(|node| (node / NODES) as u32).collect();
            pictures.push(Picture { delta, homophily, links, classes, positions });
        }
    }
    Ok(pictures)
}

/// Features of all nodes, and links between them.
type Example = (Vec<[f64; 2]>, Vec<[u32; 2]>);

/// Generates an example: the first [`NODES`] nodes of each class of a larger graph with the same
/// probabilities.
fn example(delta: f64, homophily: f64, seed: u64) -> Result<Example> {
    let degree = delta * GENERATED_NODES as f64;
    let larger =
        RandomPartition { classes: CLASSES, nodes_per_class: GENERATED_NODES, degree, homophily, seed }.generate()?;
    let [example] = &larger.examples[..] else { unreachable!("a random partition is one graph") };
    let kept = |node: usize| {
        (node % GENERATED_NODES < NODES).then_some((node / GENERATED_NODES * NODES + node % GENERATED_NODES) as u32)
    };
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

    /// Numbers of links within and between classes are within four standard deviations of the binomial
    /// distribution.
    #[test]
    fn link_probabilities_are_those_of_the_paper() {
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
    fn computes_degree_and_share_within_classes() {
        let picture = Picture {
            delta: 0.1,
            homophily: 0.5,
            links: vec![[0, 1], [1, 2]],
            classes: vec![0, 0, 1, 1],
            positions: vec![[0.0; 2]; 4],
        };
        assert_eq!((picture.mean_degree(), picture.share_within()), (1.0, Some(0.5)));
        assert_eq!(Picture { links: Vec::new(), ..picture }.share_within(), None);
    }
}
