//! Whom some nodes trust: neighbours with the largest and the smallest attention.
//!
//! The nodes are test nodes that the model gets wrong, of middling degree: among those with at least three neighbours the ones whose degree is nearest to the
//! median, the first of equals. Where nothing is wrong, they are right ones. Attention is that of the last layer, its heads averaged.

use super::attention::within_reach;
use super::{Report, Run};
use supergat_core::kernels::argmax;
use supergat_core::{Example, Labels, Result};

/// Nodes that are shown, and neighbours at either end.
const NODES: usize = 6;
const NEIGHBOURS: usize = 3;
/// A node with fewer neighbours has nobody to choose from.
const LEAST_DEGREE: usize = 3;

pub(super) fn add(report: Report, run: &Run<'_>) -> Result<Report> {
    if run.model.architecture().model.form().is_none() {
        return Ok(report);
    }
    let Some((graph, nodes, wrong)) = chosen(run) else { return Ok(report) };
    let example = &run.dataset.examples[graph];
    let attention = run.model.attention(example)?;
    let Some(last) = attention.last() else { return Ok(report) };
    let trust = |position: usize| {
        let heads = &last.coefficients[position * last.heads..][..last.heads];
        heads.iter().map(|&value| f64::from(value)).sum::<f64>() / last.heads as f64
    };
    let mut rows = Vec::new();
    for node in nodes {
        let range = example.graph.incoming().range(node);
        let neighbours = example.graph.incoming().of(node);
        let mut trusted: Vec<(u32, f64)> = neighbours.iter().copied().zip(range.map(trust)).collect();
        trusted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let uniform = 1.0 / trusted.len() as f64;
        if trusted.len() > 2 * NEIGHBOURS {
            trusted.drain(NEIGHBOURS..trusted.len() - NEIGHBOURS);
        }
        for (neighbour, coefficient) in trusted {
            rows.push(row(run, graph, node, neighbour as usize, coefficient, coefficient / uniform));
        }
    }
    let kind = if wrong { "wrong" } else { "right (none is wrong)" };
    let header = ["node", "label", "predicted", "neighbour", "its label", "attention (%)", "times uniform"];
    Ok(report
        .section("Most and least trusted neighbours")
        .text(&format!(
            "Test nodes of middling degree that the model gets {kind}, each with the {NEIGHBOURS} neighbours it trusts most and least: attention of the last \
             layer, its heads averaged. A node is among its own neighbours."
        ))
        .table(&header, &rows))
}

fn row(run: &Run<'_>, graph: usize, node: usize, neighbour: usize, coefficient: f64, times: f64) -> Vec<String> {
    let example = &run.dataset.examples[graph];
    let logits = run.row(&run.logits[graph], node);
    let predicted = match &example.labels {
        Labels::Single { .. } => run.dataset.class_names[argmax(logits)].clone(),
        Labels::Multi { .. } => run.listed(logits.iter().map(|logit| *logit > 0.0)),
    };
    let name = if neighbour == node { "itself".into() } else { run.node_name(graph, neighbour) };
    vec![
        run.node_name(graph, node),
        run.label(&example.labels, node),
        predicted,
        name,
        run.label(&example.labels, neighbour),
        format!("{:.1}", 100.0 * coefficient),
        format!("{times:.2}"),
    ]
}

/// A graph, some of its nodes, and whether they are wrong ones: from the first graph with wrong nodes, else the first with any.
fn chosen(run: &Run<'_>) -> Option<(usize, Vec<usize>, bool)> {
    let graphs = within_reach(run);
    let pick = |wrong: bool| {
        let of = |&k: &usize| Some((k, middling(&run.dataset.examples[k], &run.logits[k], wrong)?, wrong));
        graphs.iter().find_map(of)
    };
    pick(true).or_else(|| pick(false))
}

/// Test nodes of middling degree that are wrong, or right; `None` where there are none.
fn middling(example: &Example<f32>, logits: &[f32], wrong: bool) -> Option<Vec<usize>> {
    let degree = |node: usize| example.graph.incoming().of(node).len() - 1;
    let nodes = example.test.iter().map(|&node| node as usize);
    let mut found: Vec<usize> = nodes
        .filter(|&node| degree(node) >= LEAST_DEGREE && is_wrong(&example.labels, logits, node) == Some(wrong))
        .collect();
    found.sort_by_key(|&node| (degree(node), node));
    let median = degree(*found.get(found.len() / 2)?);
    found.sort_by_key(|&node| (degree(node).abs_diff(median), node));
    found.truncate(NODES);
    Some(found)
}

/// Whether the prediction differs from the label; `None` where that is unknown.
fn is_wrong(labels: &Labels, logits: &[f32], node: usize) -> Option<bool> {
    let classes = labels.classes();
    let row = &logits[node * classes..][..classes];
    match labels {
        Labels::Single { of, .. } => (of[node] != Labels::UNKNOWN).then(|| argmax(row) != of[node] as usize),
        Labels::Multi { of, .. } => {
            let has = &of[node * classes..][..classes];
            Some(has.iter().zip(row).any(|(has, logit)| (*has == 1) != (*logit > 0.0)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::{Direction, Features, Graph};

    /// Stars around nodes 0, 1 and 2 with 3, 4 and 9 leaves.
    #[test]
    fn wrong_nodes_of_middling_degree_are_chosen() {
        let leaves = [3, 4, 9];
        let mut edges = Vec::new();
        let mut next = 3;
        for (centre, count) in leaves.into_iter().enumerate() {
            edges.extend((next..next + count).map(|leaf| (leaf, centre as u32)));
            next += count;
        }
        let nodes = next as usize;
        let example = Example::new(
            Graph::from_edges(nodes, &edges, Direction::Undirected).unwrap(),
            Features::dense(nodes, 1, vec![1.0f32; nodes]).unwrap(),
            Labels::Single { classes: 2, of: vec![0; nodes] },
            [vec![], vec![], vec![0, 1, 2, 3]],
        )
        .unwrap();
        let wrong: Vec<f32> = [0.0, 1.0].repeat(nodes);
        assert_eq!(middling(&example, &wrong, true).unwrap(), [1, 0, 2], "a leaf has too few neighbours");
        assert_eq!(middling(&example, &wrong, false), None);
        let right: Vec<f32> = [1.0, 0.0].repeat(nodes);
        assert_eq!(middling(&example, &right, false).unwrap().len(), 3);
    }
}
