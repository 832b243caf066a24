//! Degree and homophily of labelled graphs.
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

/// Returns the number of nodes without neighbours.
pub fn isolated(graph: &Graph) -> usize {
    let alone = |i: usize| graph.incoming().of(i).len() == 1 && graph.outgoing().of(i).len() == 1;
    (0..graph.nodes()).filter(|&i| alone(i)).count()
}

impl Degree {
    /// Computes the degree statistics of graphs.
    pub fn of(examples: &[Example<f32>]) -> Self {
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
pub fn neighbours(graph: &Graph) -> Vec<Vec<u32>> {
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
pub fn neighbourhoods(example: &Example<f32>) -> Vec<[f64; 2]> {
    let counts = |(i, list): (usize, Vec<u32>)| {
        let known = list.into_iter().filter_map(|j| agreement(&example.labels, i, j as usize));
        known.fold([0.0, 0.0], |[neighbours, same], agreement| [neighbours + 1.0, same + agreement])
    };
    neighbours(&example.graph).into_iter().enumerate().map(counts).collect()
}

/// Returns the agreement of two nodes: 1 for the same class and 0 for different ones or, with several classes
/// per node, the share of all classes that both have. Returns `None` if a label is unknown.
pub fn agreement(labels: &Labels, i: usize, j: usize) -> Option<f64> {
    let maximum = if labels.is_multi() { labels.classes() } else { 1 };
    shared_labels(labels, i, j).map(|shared| shared as f64 / maximum as f64)
}

/// Returns the number of labels that two nodes share; `None` if a label is unknown.
pub fn shared_labels(labels: &Labels, i: usize, j: usize) -> Option<usize> {
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
