//! The paper's synthetic graphs: random partition graphs with given homophily and average degree.
//!
//! With `delta = degree / nodes_per_class`, two nodes of one class are linked with probability
//! `p_in = homophily * delta`, two nodes of different classes with `p_out = (delta - p_in) / (classes - 1)`.
//! The features of a node are a point in the plane, drawn from a normal distribution around the centre of its
//! class, which is on a circle. The distributions overlap, so links carry additional information.

use super::spec::{key_values, require};
use crate::dataset::{Dataset, numbered};
use crate::error::{Error, Result};
use std::f64::consts::TAU;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Direction, Example, Features, Graph, Labels};

/// Name of these datasets and prefix of their specifications.
pub const NAME: &str = "random-partition";

/// Radius of the circle of class centres.
const RADIUS: f64 = 300.0;
/// Variances of the points along the circle and across it.
const VARIANCES: [f64; 2] = [70.0 * 350.0, 20.0 * 350.0];

/// Training nodes per class.
const TRAIN: usize = 20;
/// Validation nodes per class.
const VALIDATION: usize = 50;
/// Test nodes per class.
const TEST: usize = 100;

/// Maximum number of nodes.
const MAX_NODES: f64 = 1e8;
/// Maximum expected number of links.
const MAX_LINKS: f64 = 1e9;

/// Parameters of a random partition graph.
///
/// As text: `random-partition:homophily=0.5,degree=10,classes=10,nodes=500,seed=0`. Every `key=value` is
/// optional.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomPartition {
    /// Number of classes.
    pub classes: usize,
    /// Number of nodes per class.
    pub nodes_per_class: usize,
    /// Average number of neighbours.
    pub degree: f64,
    /// Expected fraction of a node's neighbours in its own class.
    pub homophily: f64,
    /// Seed of links, features and split.
    pub seed: u64,
}

impl Default for RandomPartition {
    fn default() -> Self {
        Self { classes: 10, nodes_per_class: 500, degree: 10.0, homophily: 0.5, seed: 0 }
    }
}

impl RandomPartition {
    /// Generates the graph in time proportional to its nodes and links.
    pub fn generate(&self) -> Result<Dataset> {
        self.check()?;
        let path = PathBuf::from(self.to_string());
        let core = Error::core(&path);
        let links = self.links();
        let nodes = self.classes * self.nodes_per_class;
        let graph = Graph::from_edges(nodes, &links, Direction::Undirected).map_err(core)?;
        let features = Features::dense(nodes, 2, standardised(&self.points())).map_err(core)?;
        let of = (0..nodes).map(|node| (node / self.nodes_per_class) as u32).collect();
        let labels = Labels::Single { classes: self.classes, of };
        Ok(Dataset {
            name: NAME.to_owned(),
            examples: vec![Example::new(graph, features, labels, self.splits()).map_err(core)?],
            class_names: numbered(self.classes),
            listed_links: links.len() as u64,
            preset: Some(NAME.to_owned()),
            ..Dataset::default()
        })
    }

    /// Returns the link probabilities within a class and between two classes.
    fn probabilities(&self) -> (f64, f64) {
        let delta = self.degree / self.nodes_per_class as f64;
        let inside = self.homophily * delta;
        (inside, (delta - inside) / (self.classes as f64 - 1.0))
    }

    fn check(&self) -> Result<()> {
        let per_class = TRAIN + VALIDATION + TEST;
        let nodes = self.classes as f64 * self.nodes_per_class as f64;
        require(self, self.classes >= 2, "at least 2 classes", self.classes)?;
        require(
            self,
            self.nodes_per_class >= per_class,
            format!("at least {per_class} nodes per class ({TRAIN} train, {VALIDATION} validation, {TEST} test)"),
            self.nodes_per_class,
        )?;
        require(self, (0.0..=1.0).contains(&self.homophily), "homophily from 0 to 1", self.homophily)?;
        require(self, self.degree >= 0.0, "a degree from 0 on", self.degree)?;
        require(self, nodes <= MAX_NODES, format!("at most {MAX_NODES} nodes"), nodes)?;
        let links = nodes * self.degree / 2.0;
        require(self, links <= MAX_LINKS, format!("at most {MAX_LINKS} links"), links)?;
        let (inside, between) = self.probabilities();
        require(
            self,
            inside <= 1.0 && between <= 1.0,
            "link probabilities of at most 1: a lower degree, or more nodes",
            format!("{inside} within and {between} between classes"),
        )
    }

    fn links(&self) -> Vec<(u32, u32)> {
        let (inside, between) = self.probabilities();
        let (classes, size) = (self.classes as u64, self.nodes_per_class as u64);
        let stream = |kind| Stream::new(self.seed, 0, kind, Purpose::SyntheticEdges);
        let mut links = Vec::new();

        let pairs = size * (size - 1) / 2;
        successes(&stream(0), inside, classes * pairs, |index| {
            let (first, (low, high)) = (index / pairs * size, pair(index % pairs));
            links.push(((first + low) as u32, (first + high) as u32));
        });
        let block = size * size;
        successes(&stream(1), between, classes * (classes - 1) / 2 * block, |index| {
            let ((low, high), within) = (pair(index / block), index % block);
            links.push(((low * size + within / size) as u32, (high * size + within % size) as u32));
        });
        links
    }

    /// Draws one point per node, before standardisation.
    fn points(&self) -> Vec<[f64; 2]> {
        let stream = Stream::new(self.seed, 0, 0, Purpose::SyntheticFeatures);
        let point = |node: usize| {
            let (sin, cos) = (TAU * (node / self.nodes_per_class) as f64 / self.classes as f64).sin_cos();
            let [along, across] = stream.normal_pair(node as u64);
            let (along, across) = (along * VARIANCES[0].sqrt(), RADIUS + across * VARIANCES[1].sqrt());
            // Class 0 is at the top of the circle; the others are rotated copies, clockwise.
            [along * cos + across * sin, across * cos - along * sin]
        };
        (0..self.classes * self.nodes_per_class).map(point).collect()
    }

    fn splits(&self) -> [Vec<u32>; 3] {
        let mut splits = [Vec::new(), Vec::new(), Vec::new()];
        for class in 0..self.classes {
            let first = class * self.nodes_per_class;
            let mut nodes: Vec<u32> = (first..first + self.nodes_per_class).map(|node| node as u32).collect();
            Stream::new(self.seed, class as u32, 0, Purpose::Split).shuffle(&mut nodes);
            let mut rest = nodes.into_iter();
            for (split, count) in splits.iter_mut().zip([TRAIN, VALIDATION, TEST]) {
                split.extend(rest.by_ref().take(count));
            }
        }
        splits.iter_mut().for_each(|split| split.sort_unstable());
        splits
    }
}

/// Calls `found` for each success among `trials` Bernoulli trials of probability `p`, in time proportional to
/// the successes.
fn successes(stream: &Stream, p: f64, trials: u64, mut found: impl FnMut(u64)) {
    if p <= 0.0 {
        return;
    }
    let log_failure = (-p).ln_1p();
    let mut next = 0u64;
    for draw in 0.. {
        // The number of failures before a success is geometric. For p = 1 the divisor is -infinity: no
        // failures.
        let failures = (1.0 - stream.uniform(draw)).ln() / log_failure;
        next = next.saturating_add(failures as u64);
        if next >= trials {
            return;
        }
        found(next);
        next += 1;
    }
}

/// Returns the pair at `index` in the sequence (0, 1), (0, 2), (1, 2), (0, 3), ...
fn pair(index: u64) -> (u64, u64) {
    let mut high = ((1.0 + (1.0 + 8.0 * index as f64).sqrt()) / 2.0) as u64;
    // Correct the rounding error of the square root.
    while high * (high - 1) / 2 > index {
        high -= 1;
    }
    while high * (high + 1) / 2 <= index {
        high += 1;
    }
    (index - high * (high - 1) / 2, high)
}

/// Standardises all values with a common mean and standard deviation, as in the paper.
fn standardised(points: &[[f64; 2]]) -> Vec<f32> {
    let values = points.as_flattened();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    values.iter().map(|value| ((value - mean) / variance.sqrt()) as f32).collect()
}

impl fmt::Display for RandomPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { classes, nodes_per_class, degree, homophily, seed } = self;
        write!(f, "{NAME}:homophily={homophily},degree={degree},classes={classes},nodes={nodes_per_class},seed={seed}")
    }
}

impl FromStr for RandomPartition {
    type Err = Error;

    fn from_str(spec: &str) -> Result<Self> {
        let mut graph = Self::default();
        for setting in key_values(spec, NAME, "homophily=0.5")? {
            match setting.key {
                "homophily" => graph.homophily = setting.number()?,
                "degree" => graph.degree = setting.number()?,
                "classes" => graph.classes = setting.whole()?,
                "nodes" => graph.nodes_per_class = setting.whole()?,
                "seed" => graph.seed = setting.whole()?,
                _ => return Err(setting.unknown("homophily, degree, classes, nodes (per class) or seed")),
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
    fn enumerates_pairs_without_gaps() {
        let mut index = 0;
        for high in 1..60 {
            for low in 0..high {
                assert_eq!(pair(index), (low, high));
                index += 1;
            }
        }
        let n = 100_000_000u64;
        assert_eq!(pair(n * (n - 1) / 2 - 1), (n - 2, n - 1));
        assert_eq!(pair(n * (n - 1) / 2), (0, n));
    }

    #[test]
    fn every_trial_succeeds_with_given_probability() {
        let stream = |seed| Stream::new(seed, 0, 0, Purpose::SyntheticEdges);
        let count = |p, trials| {
            let mut hits = vec![0u32; trials as usize];
            (0..4000).for_each(|seed| successes(&stream(seed), p, trials, |trial| hits[trial as usize] += 1));
            hits
        };
        assert_eq!(count(0.0, 9), [0; 9]);
        assert_eq!(count(1.0, 9), [4000; 9]);
        assert_eq!(count(1e-300, 9), [0; 9]);
        // Four standard deviations around the mean of a binomial distribution.
        for p in [0.05f64, 0.5, 0.9] {
            let (mean, spread) = (4000.0 * p, (4000.0 * p * (1.0 - p)).sqrt());
            assert!(count(p, 9).iter().all(|&hits| (f64::from(hits) - mean).abs() < 4.0 * spread), "p = {p}");
        }
    }

    /// Class 1 of 10: covariance diag(24500, 7000) rotated by 36 degrees, centre (300 sin 36, 300 cos 36).
    #[test]
    fn points_have_rotated_covariance() {
        let nodes_per_class = 40_000;
        let points = RandomPartition { nodes_per_class, ..Default::default() }.points();
        let class = &points[nodes_per_class..2 * nodes_per_class];
        let mean = |f: &dyn Fn(&[f64; 2]) -> f64| class.iter().map(f).sum::<f64>() / nodes_per_class as f64;
        let (x, y) = (mean(&|p| p[0]), mean(&|p| p[1]));
        assert!((x - 176.336).abs() < 2.5 && (y - 242.705).abs() < 2.5, "{x} {y}");
        let covariance = [
            (mean(&|p| (p[0] - x).powi(2)), 18453.9),
            (mean(&|p| (p[0] - x) * (p[1] - y)), -8321.7),
            (mean(&|p| (p[1] - y).powi(2)), 13046.1),
        ];
        assert!(covariance.iter().all(|(found, expected)| (found - expected).abs() < 400.0), "{covariance:?}");
    }

    #[test]
    fn equal_seeds_give_equal_graphs() {
        let draw = |seed| {
            let graph = RandomPartition { seed, ..Default::default() };
            (graph.links(), graph.points(), graph.splits())
        };
        assert_eq!(draw(1), draw(1));
        let (one, two) = (draw(1), draw(2));
        assert!(one.0 != two.0 && one.1 != two.1 && one.2 != two.2);
    }
}
