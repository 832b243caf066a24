//! Random graphs for benchmarks of time and memory: random links, normal features, random labels.

use super::spec::{key_values, require};
use crate::dataset::{Dataset, numbered};
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Direction, Example, Features, Graph, Labels};

/// Name of these datasets and prefix of their specifications.
pub const NAME: &str = "random-graph";

/// Parameters of a random graph.
///
/// As text: `random-graph:nodes=10000,degree=10,features=64,classes=8,skew=1,communities=1,inside=0.9,seed=0`.
/// Every `key=value` is optional.
///
/// ```
/// use supergat_data::RandomGraph;
/// let graph: RandomGraph = "random-graph:nodes=600,degree=8,communities=20".parse()?;
/// assert_eq!((graph.communities, graph.inside), (20, 0.9));
/// assert_eq!(graph.generate()?.nodes(), 600);
/// # Ok::<(), supergat_data::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomGraph {
    /// Number of nodes.
    pub nodes: usize,
    /// Average number of neighbours, before duplicate links are merged.
    pub degree: usize,
    /// Number of features per node.
    pub features: usize,
    /// Number of classes.
    pub classes: usize,
    /// Skew of the degrees: an end of a link is node `n u^skew` for uniform `u`. 1 gives all nodes the same
    /// probability; 2 and more give a power law with hubs.
    pub skew: f64,
    /// Number of communities, of about equal size. Their nodes have scattered numbers.
    pub communities: usize,
    /// Share of the links between nodes of one community. The ends of all other links are drawn from all nodes.
    pub inside: f64,
    /// Seed of links, features and labels.
    pub seed: u64,
}

impl Default for RandomGraph {
    fn default() -> Self {
        Self { nodes: 10_000, degree: 10, features: 64, classes: 8, skew: 1.0, communities: 1, inside: 0.9, seed: 0 }
    }
}

impl RandomGraph {
    /// Generates the graph. The first half of the nodes is the training set; the second half is both the
    /// validation and the test set.
    pub fn generate(&self) -> Result<Dataset> {
        self.check()?;
        let path = PathBuf::from(self.to_string());
        let core = Error::core(&path);
        let n = self.nodes;
        let dice = Stream::new(self.seed, 0, 0, Purpose::SyntheticEdges);
        // Hubs have small indices: permute the nodes to spread them over memory.
        let shuffled = Stream::new(self.seed, 1, 0, Purpose::SyntheticEdges).permutation(n as u64);
        // One of `count` nodes, before the permutation.
        let end = |draw: u64, count: u64| ((count as f64 * dice.uniform(draw).powf(self.skew)) as u64).min(count - 1);
        let choice = Stream::new(self.seed, 2, 0, Purpose::SyntheticEdges);
        let communities = self.communities as u64;
        let link = |link: u64| {
            let first = end(2 * link, n as u64);
            let second = if communities > 1 && choice.uniform(link) < self.inside {
                // The nodes k, k + communities, k + 2 communities, ... are a community.
                let community = first % communities;
                community + communities * end(2 * link + 1, (n as u64 - community).div_ceil(communities))
            } else {
                end(2 * link + 1, n as u64)
            };
            (shuffled.apply(first) as u32, shuffled.apply(second) as u32)
        };
        let links: Vec<(u32, u32)> = (0..(n * self.degree / 2) as u64).into_par_iter().map(link).collect();
        let graph = Graph::from_edges(n, &links, Direction::Undirected).map_err(core)?;
        drop(links);

        let noise = Stream::new(self.seed, 0, 0, Purpose::SyntheticFeatures);
        let numbers = n * self.features;
        let values = (0..numbers.div_ceil(2) as u64).flat_map(|k| noise.normal_pair(k)).take(numbers);
        let features = Features::dense(n, self.features, values.map(|v| v as f32).collect()).map_err(core)?;
        let dice = Stream::new(self.seed, 0, 0, Purpose::SyntheticLabels);
        let of = (0..n as u64).map(|node| dice.below(node, self.classes as u64) as u32).collect();
        let labels = Labels::Single { classes: self.classes, of };
        let half = (n / 2) as u32;
        let rest: Vec<u32> = (half..n as u32).collect();
        let listed_links = graph.edges() as u64 / 2;
        let example = Example::new(graph, features, labels, [(0..half).collect(), rest.clone(), rest]).map_err(core)?;
        Ok(Dataset {
            name: NAME.to_owned(),
            examples: vec![example],
            class_names: numbered(self.classes),
            listed_links,
            ..Dataset::default()
        })
    }

    /// Returns a lower bound of the memory of the graph with its features, in bytes, without generating it.
    ///
    /// ```
    /// use supergat_data::RandomGraph;
    /// let graph = RandomGraph { nodes: 1000, degree: 20, features: 50, ..RandomGraph::default() };
    /// let found = graph.generate()?;
    /// let (edges, features) = (found.examples[0].graph.bytes(), 4 * 1000 * 50);
    /// assert!((features..=features + edges).contains(&graph.least_bytes()));
    /// # Ok::<(), supergat_data::Error>(())
    /// ```
    pub fn least_bytes(&self) -> u64 {
        let (nodes, links) = (self.nodes as f64, self.nodes as f64 * self.degree as f64 / 2.0);
        // Links that are drawn twice are merged. Hubs and communities have many of them.
        let is_uniform = self.skew == 1.0 && self.communities == 1;
        let pairs = (nodes * nodes / 2.0).max(1.0);
        let distinct = if is_uniform { 0.95 * pairs * -(-links / pairs).exp_m1() } else { 0.0 };
        // Two directions of four bytes each, and the place of each edge in the other list.
        (4.0 * nodes * (self.features as f64 + 1.0) + 16.0 * distinct) as u64
    }

    fn check(&self) -> Result<()> {
        require(self, (2..=1 << 31).contains(&self.nodes), "from 2 to 2^31 nodes", self.nodes)?;
        require(self, (1..=1 << 16).contains(&self.features), "from 1 to 65536 features", self.features)?;
        require(self, (2..=1 << 16).contains(&self.classes), "from 2 to 65536 classes", self.classes)?;
        let links = self.nodes as f64 * self.degree as f64 / 2.0;
        require(self, links <= 1e9, "at most 1e9 links", links)?;
        let numbers = self.nodes as f64 * self.features as f64;
        require(self, numbers <= 1e10, "at most 1e10 feature values", numbers)?;
        let communities = self.communities;
        require(self, (1..=self.nodes).contains(&communities), "from 1 community to one per node", communities)?;
        require(self, (0.0..=1.0).contains(&self.inside), "a share of links inside from 0 to 1", self.inside)?;
        require(self, (1.0..=8.0).contains(&self.skew), "a skew from 1 to 8", self.skew)
    }
}

impl fmt::Display for RandomGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nodes, degree, features, classes, skew, communities, inside, seed } = self;
        write!(f, "{NAME}:nodes={nodes},degree={degree},features={features},classes={classes},skew={skew}")?;
        if *communities > 1 {
            write!(f, ",communities={communities},inside={inside}")?;
        }
        write!(f, ",seed={seed}")
    }
}

impl FromStr for RandomGraph {
    type Err = Error;

    fn from_str(spec: &str) -> Result<Self> {
        let mut graph = Self::default();
        for setting in key_values(spec, NAME, "nodes=10000")? {
            match setting.key {
                "nodes" => graph.nodes = setting.whole()?,
                "degree" => graph.degree = setting.whole()?,
                "features" => graph.features = setting.whole()?,
                "classes" => graph.classes = setting.whole()?,
                "skew" => graph.skew = setting.number()?,
                "communities" => graph.communities = setting.whole()?,
                "inside" => graph.inside = setting.number()?,
                "seed" => graph.seed = setting.whole()?,
                _ => return Err(setting.unknown("nodes, degree, features, classes, skew, communities, inside or seed")),
            }
        }
        graph.check()?;
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generates_requested_sizes() {
        let dataset = crate::load("random-graph:nodes=3000,degree=8,features=5,classes=4").unwrap();
        let example = &dataset.examples[0];
        assert_eq!((dataset.nodes(), dataset.features(), dataset.classes()), (3000, 5, 4));
        let edges = example.graph.edges() - 3000;
        assert!((23_500..=24_000).contains(&edges), "{edges}");
        assert!(example.graph.is_symmetric());
        assert_eq!((example.train.len(), example.test.len()), (1500, 1500));
    }

    #[test]
    fn skew_creates_hubs() {
        let largest = |skew: f64| {
            let dataset = RandomGraph { nodes: 5000, skew, ..Default::default() }.generate().unwrap();
            (0..5000).map(|i| dataset.examples[0].graph.degree(i)).max().unwrap()
        };
        assert!(largest(1.0) < 40, "{}", largest(1.0));
        assert!(largest(3.0) > 500, "{}", largest(3.0));
    }

    /// Without communities, two nodes that share a neighbour are hardly ever linked.
    #[test]
    fn communities_have_most_links_inside() {
        let triangles = |communities: usize| {
            let graph = RandomGraph { nodes: 2000, communities, ..Default::default() };
            let graph = graph.generate().unwrap().examples.remove(0).graph;
            let pairs = (0..2000).flat_map(|node| graph.incoming().of(node).windows(2));
            let (mut linked, mut all) = (0, 0);
            for pair in pairs {
                all += 1;
                linked += usize::from(graph.position(pair[0], pair[1]).is_some());
            }
            linked as f64 / all as f64
        };
        assert!(triangles(1) < 0.2, "{}", triangles(1));
        assert!(triangles(100) > 0.4, "{}", triangles(100));
    }

    #[test]
    fn parses_valid_and_rejects_invalid_specifications() {
        let graph: RandomGraph = "random-graph:skew=2,nodes=77".parse().unwrap();
        assert_eq!(graph.to_string().parse::<RandomGraph>().unwrap(), graph);
        let graph: RandomGraph = "random-graph:communities=7,inside=0.5".parse().unwrap();
        assert_eq!(graph.to_string().parse::<RandomGraph>().unwrap(), graph);
        for bad in [
            "random-graph:communities=0",
            "random-graph:inside=2",
            "random-graph:nodes=1",
            "random-graph:skew=x",
            "random-graph:colour=3",
            "random-graph:nodes",
        ] {
            assert!(matches!(bad.parse::<RandomGraph>(), Err(Error::Spec { .. })), "{bad}");
        }
    }
}
