//! Homophily from the links between labelled nodes.
//!
//! With w_i the weight of a labelled node, d_i its number of neighbours and x_ij the agreement of nodes i and
//! j, h = sum w_i w_j x_ij / d_i divided by the same sum without x_ij. The links of this ratio are not
//! independent, because they share nodes. With r_ij = w_i w_j (x_ij - h) / d_i, its variance is
//!
//! V = (sum over nodes of (sum of r over the node's links)^2 - sum over links of r^2) / (sum of weights)^2,
//!
//! but at least the variance of as many independent links, `h (1 - h) / (n + 2)`, with n the effective number
//! of links and h computed with one more link of either kind (Agresti and Coull). A few links that all agree
//! therefore still have a variance. If several graphs have labels, the variance between graphs is used if it
//! is larger, and the interval is Student's with one degree of freedom less than the number of graphs.

use super::labelled::LabelledNodes;
use super::partial_estimate::{NORMAL_REACH, PartialEstimate};
use supergat_numerics::homophily::agreement;
use supergat_numerics::statistics::{ALPHA, t_quantile};

/// Homophily from links between labelled nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkEvidence {
    pub(super) estimate: PartialEstimate,
    /// Number of linked pairs of labelled nodes.
    pub(super) pairs: usize,
}

/// A linked pair of labelled nodes; the weight is summed over both directions.
#[derive(Debug, Clone, Copy)]
struct Pair {
    nodes: [u32; 2],
    graph: usize,
    weight: f64,
    agreement: f64,
}

impl LinkEvidence {
    /// Computes the estimate; `None` if no link joins two labelled nodes.
    pub(super) fn of(sample: &LabelledNodes<'_>, weights: &[f64]) -> Option<Self> {
        let pairs = pairs(sample, weights);
        let total: f64 = pairs.iter().map(|pair| pair.weight).sum();
        if total <= 0.0 {
            return None;
        }
        let h = pairs.iter().map(|pair| pair.weight * pair.agreement).sum::<f64>() / total;
        let effective = total * total / pairs.iter().map(|pair| pair.weight * pair.weight).sum::<f64>();
        let value = (h * effective + 1.0) / (effective + 2.0);
        let least = value * (1.0 - value) / (effective + 2.0);
        let variance = shared_nodes(&pairs, h, weights.len()) / (total * total);
        let (between, reach) = between_graphs(&pairs, h, total);
        let estimate = PartialEstimate { value, variance: variance.max(least).max(between), reach };
        Some(Self { estimate, pairs: pairs.len() })
    }
}

/// Returns every linked pair of labelled nodes once.
fn pairs(sample: &LabelledNodes<'_>, weights: &[f64]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (i, (list, share)) in sample.around.iter().enumerate() {
        let (graph, node) = sample.nodes[i];
        for &other in list {
            let Some(j) = sample.index[graph][other as usize] else { continue };
            let Some(agreement) = agreement(&sample.examples[graph].labels, node, other as usize) else { continue };
            let nodes = [j.min(i as u32), j.max(i as u32)];
            pairs.push(Pair { nodes, graph, weight: weights[i] * weights[j as usize] * share, agreement });
        }
    }
    pairs.sort_by_key(|pair| pair.nodes);
    pairs.dedup_by(|later, first| {
        let same = later.nodes == first.nodes;
        if same {
            first.weight += later.weight;
        }
        same
    });
    pairs
}

/// Returns the variance of the sum of all r, where links that share a node are dependent.
fn shared_nodes(pairs: &[Pair], h: f64, labelled: usize) -> f64 {
    let (mut of_node, mut squares) = (vec![0.0; labelled], 0.0);
    for pair in pairs {
        let r = pair.weight * (pair.agreement - h);
        squares += r * r;
        pair.nodes.iter().for_each(|node| of_node[*node as usize] += r);
    }
    of_node.iter().map(|sum| sum * sum).sum::<f64>() - squares
}

/// Returns the variance between graphs, and the half width of a 95 % interval in standard errors.
fn between_graphs(pairs: &[Pair], h: f64, total: f64) -> (f64, f64) {
    let graphs = pairs.iter().map(|pair| pair.graph + 1).max().unwrap_or(0);
    let mut sums = vec![(0usize, 0.0); graphs];
    for pair in pairs {
        sums[pair.graph].0 += 1;
        sums[pair.graph].1 += pair.weight * (pair.agreement - h);
    }
    let sums: Vec<f64> = sums.into_iter().filter(|(links, _)| *links > 0).map(|(_, sum)| sum).collect();
    let n = sums.len() as f64;
    if sums.len() < 2 {
        return (0.0, NORMAL_REACH);
    }
    let squares = sums.iter().map(|sum| sum * sum).sum::<f64>();
    (squares / (total * total) * n / (n - 1.0), t_quantile(1.0 - ALPHA / 2.0, n - 1.0))
}
