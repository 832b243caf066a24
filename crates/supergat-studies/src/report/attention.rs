//! Entropy of attention and its divergence from label agreement, by layer and head.

use super::{Report, Run};
use crate::Agreement;
use crate::agreement::relative_entropy;
use supergat_core::words::count;
use supergat_core::{EdgeValues, Example, Result};
use supergat_figure::{Axis, Plot, Quartiles, panels};

/// Maximum number of coefficients, counted as edges times heads of all layers. Larger graphs are skipped.
const MAX_COEFFICIENTS: usize = 4_000_000;
/// Maximum number of boxes. With more heads, those of a layer share a box.
const MAX_BOXES: usize = 24;

pub(super) fn add(report: Report, run: &Run<'_>) -> Result<Report> {
    let report = report.section("Attention");
    if run.model.architecture().weights_per_edge() == 0 {
        return Ok(report.text("This model has no attention."));
    }
    let graphs = selected_graphs(run);
    if graphs.is_empty() {
        return Ok(report.text(
            "The graph is too large for an attention section; the file attention.csv contains it if it is requested.",
        ));
    }
    let nodes = graphs.iter().map(|&k| run.dataset.examples[k].graph.nodes()).sum();
    let (mut entropies, mut agreement) = (Vec::new(), Agreement::default());
    for k in graphs {
        let example = &run.dataset.examples[k];
        let layers = run.model.attention(k, example)?;
        add_entropies(&mut entropies, example, &layers);
        agreement.add(example, &layers);
    }
    let entropy = plot("Entropy of attention", "% of the largest possible", &entropies, &[100.0], nodes);
    let caption = "Entropy of the attention over the neighbours of a node: 100 % is uniform attention, 0 % is attention to a single neighbour.";
    let Agreement { layers, uniform, nodes, .. } = agreement;
    if nodes == 0 {
        let missing = "Attention is not compared with labels, because no labelled node has only labelled neighbours.";
        return Ok(report.figure("attention", panels("", 1, &[entropy]), &format!("{caption} {missing}")));
    }
    let divergences: Vec<Vec<f64>> = layers.into_iter().map(|layer| layer.divergence).collect();
    let divergence = plot("Divergence from label agreement", "nats", &divergences, &uniform.divergence, nodes);
    let below = format!(
        "Divergence of attention from label agreement, which attends only to neighbours with the node's label (divergence 0), for the {} \
         whose neighbours all have labels. The box of uniform attention is the baseline.",
        count(nodes, "node")
    );
    Ok(report.figure("attention", panels("", 1, &[entropy, divergence]), &format!("{caption} {below}")))
}

/// Adds the entropy of every node and head of one graph to that of each layer, in percent. The heads of a node are
/// adjacent.
fn add_entropies(entropies: &mut Vec<Vec<f64>>, example: &Example<f32>, layers: &[EdgeValues<f32>]) {
    entropies.resize(layers.len(), Vec::new());
    for (values, layer) in entropies.iter_mut().zip(layers) {
        for node in 0..example.graph.nodes() {
            let edges = example.graph.incoming().range(node);
            let of_head = |head: usize| -> Vec<f64> {
                edges.clone().map(|edge| f64::from(layer.coefficients[edge * layer.heads + head])).collect()
            };
            values.extend((0..layer.heads).map(|head| 100.0 * relative_entropy(&of_head(head))));
        }
    }
}

/// Returns the graphs whose attention is computed: those with test nodes, or all if there are none, up to
/// [`MAX_COEFFICIENTS`].
pub(super) fn selected_graphs(run: &Run<'_>) -> Vec<usize> {
    let heads = run.model.architecture().weights_per_edge();
    let mut seen = 0;
    let fits = |(_, edges): &(usize, usize)| {
        seen += edges * heads;
        seen <= MAX_COEFFICIENTS
    };
    let tested: Vec<usize> = run.tested().map(|(k, ..)| k).collect();
    let graphs = if tested.is_empty() { (0..run.dataset.examples.len()).collect() } else { tested };
    let sized = graphs.into_iter().map(|k| (k, run.dataset.examples[k].graph.edges()));
    sized.take_while(fits).map(|(k, _)| k).collect()
}

/// Draws a box for every head of every layer, or for every layer, and one for uniform attention.
fn plot(title: &str, label: &str, layers: &[Vec<f64>], uniform: &[f64], nodes: usize) -> Plot {
    let heads: Vec<usize> = layers.iter().map(|values| values.len() / nodes).collect();
    let by_head = heads.iter().sum::<usize>() < MAX_BOXES;
    let mut names = Vec::new();
    let mut series: Vec<(String, Vec<(f64, Quartiles)>)> = Vec::new();
    for (k, (values, &heads)) in layers.iter().zip(&heads).enumerate() {
        let groups = if by_head { heads } else { 1 };
        let boxes = (0..groups).map(|group| {
            // The heads of a node are adjacent.
            let of_group: Vec<f64> = values.iter().skip(group).step_by(groups).copied().collect();
            names.push(if groups > 1 { format!("{}.{}", k + 1, group + 1) } else { (k + 1).to_string() });
            ((names.len() - 1) as f64, Quartiles::of(&of_group))
        });
        series.push((format!("layer {}", k + 1), boxes.collect()));
    }
    names.push("uniform".into());
    series.push(("uniform attention".into(), vec![((names.len() - 1) as f64, Quartiles::of(uniform))]));
    let axis = if by_head { "layer.head" } else { "layer" };
    let plot = Plot::new(title, Axis::categories(axis, names), Axis::linear(label)).height(330.0);
    series.iter().fold(plot, |plot, (name, boxes)| plot.boxes(name, boxes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_one_box_per_head() {
        let svg = plot("t", "l", &[vec![1.0, 10.0, 1.0, 10.0], vec![5.0, 5.0]], &[7.0, 7.0], 2).svg();
        for words in ["1.1: median 1,", "1.2: median 10,", "2: median 5,", "uniform: median 7,"] {
            assert_eq!(svg.matches(words).count(), 1, "{words} in {svg}");
        }
    }
}
