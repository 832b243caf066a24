//! Statistics of a dataset: sizes, degree, homophily, isolated nodes.

use serde::Serialize;
use supergat_core::Example;
use supergat_data::Dataset;
use supergat_numerics::homophily::{Degree, Homophily, homophily, isolated};

/// Statistics of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GraphStatistics {
    /// Number of nodes in all graphs.
    pub nodes: usize,
    /// Number of links, as counted by the publisher.
    pub edges: u64,
    /// Number of features per node.
    pub features: usize,
    /// Number of classes.
    pub classes: usize,
    /// Number of graphs.
    pub graphs: usize,
    /// Mean and deviation of the number of neighbours.
    pub degree: Degree,
    /// Measures of homophily.
    pub homophily: Homophily,
    /// Number of training nodes.
    pub train: usize,
    /// Number of validation nodes.
    pub validation: usize,
    /// Number of test nodes.
    pub test: usize,
    /// Number of directed edges used by attention, without self-loops.
    pub directed_edges: usize,
    /// Number of nodes without neighbours.
    pub isolated: usize,
    /// Number of nodes without a label.
    pub unlabelled: usize,
    /// Number of self-loops in the input; in training every node has exactly one.
    pub self_loops: u64,
    /// Share of nonzero feature values.
    pub feature_density: f64,
    /// Whether a node may have several classes.
    pub multi_label: bool,
}

impl GraphStatistics {
    /// Computes the statistics of a dataset.
    pub fn of(dataset: &Dataset) -> Self {
        let sum = |f: &dyn Fn(&Example<f32>) -> usize| dataset.examples.iter().map(f).sum::<usize>();
        let nodes = dataset.nodes();
        let stored = nodes as f64 * dataset.features() as f64;
        let nonzero: f64 = dataset
            .examples
            .iter()
            .map(|e| e.features.density() * e.features.rows() as f64 * e.features.columns() as f64)
            .sum();
        Self {
            nodes,
            edges: dataset.listed_links,
            features: dataset.features(),
            classes: dataset.classes(),
            graphs: dataset.examples.len(),
            degree: Degree::of(&dataset.examples),
            homophily: homophily(&dataset.examples),
            train: sum(&|e| e.train.len()),
            validation: sum(&|e| e.validation.len()),
            test: sum(&|e| e.test.len()),
            directed_edges: sum(&|e| e.graph.edges() - e.graph.nodes()),
            isolated: sum(&|e| isolated(&e.graph)),
            unlabelled: sum(&|e| (0..e.labels.nodes()).filter(|node| !e.labels.is_known(*node)).count()),
            self_loops: dataset.examples.iter().map(|e| e.graph.self_loops()).sum(),
            feature_density: nonzero / stored.max(1.0),
            multi_label: dataset.is_multi_label(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::{Direction, Features, Graph, Labels};

    /// Returns a path 0 - 1 - 2 - 3 with classes A A B B, an isolated node 4 (A) and a self-loop on 3.
    fn path(labels: Labels) -> Dataset {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 3)];
        let example = Example::new(
            Graph::from_edges(5, &edges, Direction::Undirected).unwrap(),
            Features::dense(5, 2, vec![1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0]).unwrap(),
            labels,
            [vec![0], vec![1], vec![2, 3]],
        )
        .unwrap();
        Dataset {
            name: "path".into(),
            class_names: vec!["A".into(), "B".into()],
            examples: vec![example],
            node_ids: None,
            listed_links: 4,
            notes: Vec::new(),
            schema: None,
            link_schema: None,
            splits: Vec::new(),
            origin: None,
            preset: None,
        }
    }

    #[test]
    fn equals_values_computed_by_hand() {
        let statistics = GraphStatistics::of(&path(Labels::Single { classes: 2, of: vec![0, 0, 1, 1, 0] }));
        assert_eq!((statistics.nodes, statistics.edges, statistics.directed_edges), (5, 4, 6));
        assert_eq!((statistics.isolated, statistics.self_loops, statistics.unlabelled), (1, 1, 0));
        assert_eq!((statistics.train, statistics.validation, statistics.test), (1, 1, 2));
        assert!((statistics.degree.mean - 1.2).abs() < 1e-12);
        assert!((statistics.degree.std - 0.56f64.sqrt()).abs() < 1e-12);
        assert!((statistics.feature_density - 0.6).abs() < 1e-12);
        let h = statistics.homophily;
        assert!((h.node.unwrap() - 0.75).abs() < 1e-12); // 1, 1/2, 1/2, 1
        assert!((h.edge.unwrap() - 4.0 / 6.0).abs() < 1e-12);
        // h_A = 2/3 against 3/5, h_B = 2/3 against 2/5
        assert!((h.class_insensitive.unwrap() - (2.0 / 3.0 - 0.6 + 2.0 / 3.0 - 0.4)).abs() < 1e-12);
        assert!((h.adjusted.unwrap() - (4.0 / 6.0 - 0.5) / 0.5).abs() < 1e-12);
    }

    /// Repeated links count repeatedly; nodes without outgoing links are excluded.
    #[test]
    fn counts_directed_links_at_their_source() {
        let mut dataset = path(Labels::Single { classes: 2, of: vec![0, 0, 1, 1, 0] });
        let edges = [(0, 1), (0, 1), (0, 2), (2, 2), (3, 2)];
        dataset.examples[0].graph = Graph::from_edges(5, &edges, Direction::Directed).unwrap().into();
        let statistics = GraphStatistics::of(&dataset);
        assert!((statistics.degree.mean - 5.0 / 3.0).abs() < 1e-12);
        assert!((statistics.degree.std - (8.0f64 / 9.0).sqrt()).abs() < 1e-12);
        assert!((statistics.homophily.node.unwrap() - (2.0 / 3.0 + 1.0 + 1.0) / 3.0).abs() < 1e-12);
        assert_eq!((statistics.isolated, statistics.self_loops), (1, 1));
    }

    #[test]
    fn multi_label_agreement_is_the_share_of_common_classes() {
        let labels = Labels::Multi { classes: 2, of: vec![1, 1, 1, 1, 0, 1, 1, 0, 0, 0] };
        let h = GraphStatistics::of(&path(labels)).homophily;
        // Nodes 0 and 1 share both labels, 1 and 2 one, 2 and 3 none.
        assert!((h.node.unwrap() - (1.0 + 0.75 + 0.25 + 0.0) / 4.0).abs() < 1e-12);
        assert_eq!((h.class_insensitive, h.adjusted), (None, None));
    }

    #[test]
    fn homophily_is_undefined_without_labels() {
        let mut dataset = path(Labels::Single { classes: 2, of: vec![0, 0, 1, 1, 0] });
        dataset.examples[0].labels = Labels::Single { classes: 2, of: vec![Labels::UNKNOWN; 5] };
        assert_eq!(GraphStatistics::of(&dataset).homophily, Homophily::default());
    }
}
