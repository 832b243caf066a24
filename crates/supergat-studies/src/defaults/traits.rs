//! Traits of a graph that may tell which family suits it.

use serde::{Deserialize, Serialize};
use supergat_core::{Example, Labels};
use supergat_data::Dataset;
use supergat_train::graph_statistics::GraphStatistics;

/// Names of the traits, in the order of [`Traits::values`].
pub const TRAITS: [&str; 11] = [
    "nodes",
    "degree",
    "node homophily",
    "adjusted homophily",
    "class-insensitive homophily",
    "classes",
    "largest class",
    "training share",
    "training nodes per class",
    "feature signal",
    "link signal",
];

/// Traits of a graph with a split. Labels of test nodes are not used.
///
/// ```
/// use supergat_studies::defaults::{TRAITS, Traits};
/// let dataset = supergat_data::load("random-partition:classes=2,nodes=200,degree=4,homophily=0.9").unwrap();
/// let traits = Traits::of(&dataset);
/// assert_eq!((traits.nodes, traits.classes), (400, 2));
/// assert_eq!(traits.values([0.1, 0.2]).len(), TRAITS.len());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Traits {
    /// Number of nodes.
    pub nodes: usize,
    /// Mean number of neighbours.
    pub degree: f64,
    /// Mean share of a node's labelled neighbours that have its class.
    pub node_homophily: Option<f64>,
    /// Homophily corrected for the total degrees of the classes.
    pub adjusted_homophily: Option<f64>,
    /// Homophily corrected for class sizes.
    pub class_insensitive_homophily: Option<f64>,
    /// Number of classes.
    pub classes: usize,
    /// Share of the largest class among labelled nodes.
    pub largest_class: f64,
    /// Number of training nodes.
    pub train: usize,
}

impl Traits {
    /// Measures a dataset, with labels of training and validation nodes only.
    pub fn of(dataset: &Dataset) -> Self {
        let known = Dataset { examples: dataset.examples.iter().map(without_test_labels).collect(), ..dataset.clone() };
        let statistics = GraphStatistics::of(&known);
        let counts = class_counts(&known);
        let labelled: u64 = counts.iter().sum();
        Self {
            nodes: statistics.nodes,
            degree: statistics.degree.mean,
            node_homophily: statistics.homophily.node,
            adjusted_homophily: statistics.homophily.adjusted,
            class_insensitive_homophily: statistics.homophily.class_insensitive,
            classes: statistics.classes,
            largest_class: counts.into_iter().max().unwrap_or(0) as f64 / labelled.max(1) as f64,
            train: statistics.train,
        }
    }

    /// Returns the values of [`TRAITS`]. The last two are measured by models: what an MLP and label propagation gain over
    /// the largest class on validation nodes. Unknown values are 0.
    pub fn values(&self, [features, links]: [f64; 2]) -> [f64; TRAITS.len()] {
        [
            self.nodes as f64,
            self.degree,
            self.node_homophily.unwrap_or(0.0),
            self.adjusted_homophily.unwrap_or(0.0),
            self.class_insensitive_homophily.unwrap_or(0.0),
            self.classes as f64,
            self.largest_class,
            self.train as f64 / self.nodes.max(1) as f64,
            self.train as f64 / self.classes.max(1) as f64,
            features,
            links,
        ]
    }
}

/// Returns an example in which test nodes have no label.
fn without_test_labels(example: &Example<f32>) -> Example<f32> {
    let mut known = example.clone();
    if let Labels::Single { of, .. } = &mut known.labels {
        example.test.iter().for_each(|&node| of[node as usize] = Labels::UNKNOWN);
    }
    known
}

/// Returns the numbers of labelled nodes by class.
fn class_counts(dataset: &Dataset) -> Vec<u64> {
    let mut counts = vec![0; dataset.classes()];
    for example in &dataset.examples {
        if let Labels::Single { of, .. } = &example.labels {
            for &class in of.iter().filter(|&&class| class != Labels::UNKNOWN) {
                counts[class as usize] += 1;
            }
        }
    }
    counts
}
