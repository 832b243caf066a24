//! Neighbours that receive most and least attention, for a few test nodes.
//!
//! The nodes are misclassified test nodes with at least three neighbours, whose degree is nearest to their
//! median. Among equally near nodes, the first are shown. If no node is misclassified, correctly classified
//! nodes are shown instead. Attention is that of the last layer, averaged over heads.

use super::attention::selected_graphs;
use super::{Report, Run};
use supergat_core::{Example, Labels, Result};

/// Number of nodes shown.
const NODES: usize = 6;
/// Number of neighbours shown with most, and with least, attention.
const NEIGHBOURS: usize = 3;
/// Minimum degree of the nodes.
const MIN_DEGREE: usize = 3;

pub(super) fn add(report: Report, run: &Run<'_>) -> Result<Report> {
    if run.model.architecture().weights_per_edge() == 0 {
        return Ok(report);
    }
    let Some((graph, nodes, wrong)) = chosen(run) else { return Ok(report) };
    let example = &run.dataset.examples[graph];
    let attention = run.model.attention(graph, example)?;
    let Some(last) = attention.last() else { return Ok(report) };
    let mean_attention = |position: usize| {
        let heads = &last.coefficients[position * last.heads..][..last.heads];
        heads.iter().map(|&value| f64::from(value)).sum::<f64>() / last.heads as f64
    };
    let mut rows = Vec::new();
    for node in nodes {
        let range = example.graph.incoming().range(node);
        let neighbours = example.graph.incoming().of(node);
        let mut ranked: Vec<(u32, f64)> = neighbours.iter().copied().zip(range.map(mean_attention)).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let uniform = 1.0 / ranked.len() as f64;
        if ranked.len() > 2 * NEIGHBOURS {
            ranked.drain(NEIGHBOURS..ranked.len() - NEIGHBOURS);
        }
        for (neighbour, coefficient) in ranked {
            rows.push(row(run, graph, node, neighbour as usize, coefficient, coefficient / uniform));
        }
    }
    let kind = if wrong { "misclassified" } else { "correctly classified (none is misclassified)" };
    let header = ["node", "label", "predicted", "neighbour", "its label", "attention (%)", "times uniform"];
    Ok(report
        .section("Neighbours with most and least attention")
        .text(&format!(
            "Test nodes of medium degree that are {kind}, each with the {NEIGHBOURS} neighbours that receive most and least attention. \
             Attention is that of the last layer, averaged over heads. A node is a neighbour of itself."
        ))
        .table(&header, &rows))
}

fn row(run: &Run<'_>, graph: usize, node: usize, neighbour: usize, coefficient: f64, times: f64) -> Vec<String> {
    let example = &run.dataset.examples[graph];
    let logits = run.row(&run.logits[graph], node);
    let predicted = match &example.labels {
        Labels::Single { .. } => run.dataset.class_names[run.class(logits)].clone(),
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

/// Returns the index of a graph, its nodes to show, and whether they are misclassified. The graph is the
/// first with misclassified nodes to show, else the first with any nodes to show.
fn chosen(run: &Run<'_>) -> Option<(usize, Vec<usize>, bool)> {
    let graphs = selected_graphs(run);
    let class = |logits: &[f32]| run.class(logits);
    let pick = |wrong: bool| {
        let of = |&k: &usize| Some((k, medium_degree(&run.dataset.examples[k], &run.logits[k], &class, wrong)?, wrong));
        graphs.iter().find_map(of)
    };
    pick(true).or_else(|| pick(false))
}

/// Returns misclassified, or correctly classified, test nodes of medium degree; `None` if there are none.
fn medium_degree(
    example: &Example<f32>,
    logits: &[f32],
    class: &dyn Fn(&[f32]) -> usize,
    wrong: bool,
) -> Option<Vec<usize>> {
    let degree = |node: usize| example.graph.incoming().of(node).len() - 1;
    let nodes = example.test.iter().map(|&node| node as usize);
    let mut found: Vec<usize> = nodes
        .filter(|&node| degree(node) >= MIN_DEGREE && is_wrong(&example.labels, logits, class, node) == Some(wrong))
        .collect();
    found.sort_by_key(|&node| (degree(node), node));
    let median = degree(*found.get(found.len() / 2)?);
    found.sort_by_key(|&node| (degree(node).abs_diff(median), node));
    found.truncate(NODES);
    Some(found)
}

/// Returns whether the prediction differs from the label; `None` if the label is unknown.
fn is_wrong(labels: &Labels, logits: &[f32], class: &dyn Fn(&[f32]) -> usize, node: usize) -> Option<bool> {
    let classes = labels.classes();
    let row = &logits[node * classes..][..classes];
    match labels {
        Labels::Single { of, .. } => (of[node] != Labels::UNKNOWN).then(|| class(row) != of[node] as usize),
        Labels::Multi { of, .. } => {
            let has = &of[node * classes..][..classes];
            Some(has.iter().zip(row).any(|(has, logit)| (*has == 1) != (*logit > 0.0)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::{Direction, Features, Graph, argmax};

    /// Stars around nodes 0, 1 and 2 with 3, 4 and 9 leaves.
    #[test]
    fn selects_misclassified_nodes_of_medium_degree() {
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
        assert_eq!(
            medium_degree(&example, &wrong, &|row| argmax(row), true).unwrap(),
            [1, 0, 2],
            "a leaf has too few neighbours"
        );
        assert_eq!(medium_degree(&example, &wrong, &|row| argmax(row), false), None);
        let right: Vec<f32> = [1.0, 0.0].repeat(nodes);
        assert_eq!(medium_degree(&example, &right, &|row| argmax(row), false).unwrap().len(), 3);
    }
}
