//! Statistics of a dataset's graphs: degree, four measures of homophily, isolated nodes.
//!
//! Neighbours are counted as in the paper. In an undirected graph they are the other nodes that a node is
//! linked with. In a directed graph they are the targets of its links, including repeated links and itself.
//! With d_i the number of neighbours and s_i the number of those in the node's own class:
//!
//! | measure | formula | source |
//! |---|---|---|
//! | node | mean of s_i / d_i over nodes with neighbours | Pei et al. 2020, used in the paper |
//! | edge | sum s_i / sum d_i | Zhu et al. 2020 |
//! | class-insensitive | 1/(C-1) sum over classes of max(0, h_k - n_k/n), h_k = sum s_i / sum d_i over class k | Lim et al. 2021 |
//! | adjusted | (h_edge - q) / (1 - q), q = sum over classes of (D_k / D)^2, D_k the degrees of class k | Platonov et al. 2022 |
//!
//! With several classes per node, s_i is the sum over neighbours of the number of shared labels, divided by
//! the number of classes, as in the paper. The last two measures are then undefined.

use serde::Serialize;
use supergat_core::{Direction, Example, Graph, Labels};
use supergat_data::Dataset;

/// Four measures of homophily; `None` where undefined (no labelled edge, or several classes per node).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Homophily {
    /// Mean share of neighbours in the node's own class, as in the paper.
    pub node: Option<f64>,
    /// Share of edges within a class.
    pub edge: Option<f64>,
    /// Class-insensitive homophily: corrected for class sizes.
    pub class_insensitive: Option<f64>,
    /// Adjusted homophily: corrected for the total degrees of the classes.
    pub adjusted: Option<f64>,
}

/// Mean and population standard deviation of the number of neighbours. As in the paper, nodes without
/// neighbours are excluded in directed graphs and in datasets of several graphs.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Degree {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub std: f64,
}

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
            isolated: sum(&|e| (0..e.graph.nodes()).filter(|&i| is_isolated(&e.graph, i)).count()),
            unlabelled: sum(&|e| match &e.labels {
                Labels::Single { of, .. } => of.iter().filter(|c| **c == Labels::UNKNOWN).count(),
                Labels::Multi { .. } => 0,
            }),
            self_loops: dataset.examples.iter().map(|e| e.graph.self_loops()).sum(),
            feature_density: nonzero / stored.max(1.0),
            multi_label: dataset.is_multi_label(),
        }
    }
}

fn is_isolated(graph: &Graph, node: usize) -> bool {
    graph.incoming().of(node).len() == 1 && graph.outgoing().of(node).len() == 1
}

impl Degree {
    /// Computes the degree statistics of graphs.
    pub(crate) fn of(examples: &[Example<f32>]) -> Self {
        let directed = examples.iter().any(|e| e.graph.direction() == Direction::Directed);
        let exclude_isolated = directed || examples.len() > 1;
        let degrees = examples.iter().flat_map(|e| neighbours(&e.graph)).map(|list| list.len() as f64);
        let degrees: Vec<f64> = degrees.filter(|degree| *degree > 0.0 || !exclude_isolated).collect();
        let n = (degrees.len() as f64).max(1.0);
        let mean = degrees.iter().sum::<f64>() / n;
        let variance = degrees.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n;
        Self { mean, std: variance.sqrt() }
    }
}

/// Returns the neighbours of every node, counted as in the paper (see the module documentation).
pub(crate) fn neighbours(graph: &Graph) -> Vec<Vec<u32>> {
    let nodes = graph.nodes();
    if graph.direction() == Direction::Undirected {
        let others = |i: usize| graph.incoming().of(i).iter().copied().filter(|j| *j as usize != i).collect();
        return (0..nodes).map(others).collect();
    }
    let mut lists = vec![Vec::new(); nodes];
    let incoming = graph.incoming();
    for &position in graph.position_of_input() {
        let target = incoming.offsets.partition_point(|offset| *offset <= position) - 1;
        lists[incoming.neighbours[position as usize] as usize].push(target as u32);
    }
    lists
}

/// Computes the homophily over all graphs. Edges to unlabelled nodes are ignored.
pub fn homophily(examples: &[Example<f32>]) -> Homophily {
    let classes = examples.first().map_or(0, |e| e.labels.classes());
    let (mut ratios, mut with_neighbours) = (0.0, 0.0);
    // Per class: nodes, neighbours, neighbours of the same class.
    let mut per_class = vec![[0.0f64; 3]; classes];
    let (mut agreeing, mut edges) = (0.0, 0.0);
    for example in examples {
        for (i, [neighbours, same]) in neighbourhoods(example).into_iter().enumerate() {
            if let Labels::Single { of, .. } = &example.labels
                && of[i] != Labels::UNKNOWN
            {
                let class = &mut per_class[of[i] as usize];
                *class = [class[0] + 1.0, class[1] + neighbours, class[2] + same];
            }
            if neighbours > 0.0 {
                ratios += same / neighbours;
                with_neighbours += 1.0;
                agreeing += same;
                edges += neighbours;
            }
        }
    }
    if edges == 0.0 {
        return Homophily::default();
    }
    let edge = agreeing / edges;
    let single = examples.iter().all(|e| !e.labels.is_multi());
    let labelled: f64 = per_class.iter().map(|c| c[0]).sum();
    let insensitive =
        per_class.iter().filter(|c| c[1] > 0.0).map(|c| (c[2] / c[1] - c[0] / labelled).max(0.0)).sum::<f64>()
            / (classes as f64 - 1.0);
    let expected: f64 = per_class.iter().map(|c| (c[1] / edges).powi(2)).sum();
    Homophily {
        node: Some(ratios / with_neighbours),
        edge: Some(edge),
        class_insensitive: (single && classes > 1).then_some(insensitive),
        adjusted: (single && expected < 1.0).then(|| (edge - expected) / (1.0 - expected)),
    }
}

/// Returns for every node the number of its labelled neighbours (d_i) and of those that agree with it (s_i).
pub(crate) fn neighbourhoods(example: &Example<f32>) -> Vec<[f64; 2]> {
    let counts = |(i, list): (usize, Vec<u32>)| {
        let known = list.into_iter().filter_map(|j| agreement(&example.labels, i, j as usize));
        known.fold([0.0, 0.0], |[neighbours, same], agreement| [neighbours + 1.0, same + agreement])
    };
    neighbours(&example.graph).into_iter().enumerate().map(counts).collect()
}

/// Returns the agreement of two nodes: 1 for the same class and 0 for different ones or, with several classes
/// per node, the share of all classes that both have. Returns `None` if a label is unknown.
pub(crate) fn agreement(labels: &Labels, i: usize, j: usize) -> Option<f64> {
    let maximum = if labels.is_multi() { labels.classes() } else { 1 };
    shared_labels(labels, i, j).map(|shared| shared as f64 / maximum as f64)
}

/// Returns the number of labels that two nodes share; `None` if a label is unknown.
pub(crate) fn shared_labels(labels: &Labels, i: usize, j: usize) -> Option<usize> {
    match labels {
        Labels::Single { of, .. } => {
            let known = of[i] != Labels::UNKNOWN && of[j] != Labels::UNKNOWN;
            known.then(|| usize::from(of[i] == of[j]))
        }
        Labels::Multi { classes, of } => {
            let row = |node: usize| &of[node * classes..(node + 1) * classes];
            Some(row(i).iter().zip(row(j)).filter(|(a, b)| **a == 1 && **b == 1).count())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Features;

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
            origin: None,
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
