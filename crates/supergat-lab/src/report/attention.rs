//! Entropy of attention, and its divergence from the agreement of labels, by layer and head.

use super::{Report, Run, counted};
use crate::Agreement;
use crate::agreement::Measures;
use std::borrow::Cow;
use supergat::Result;
use supergat_data::Dataset;
use supergat_figure::{Axis, Plot, Quartiles, panels};

/// The most coefficients that are looked at: edges times heads of all layers.
const MOST_COEFFICIENTS: usize = 4_000_000;
/// The most heads that have a box each; of more, a layer's are put together.
const MOST_BOXES: usize = 24;

pub(super) fn add(report: Report, run: &Run<'_>) -> Result<Report> {
    let report = report.section("Attention");
    if run.model.architecture().model.form().is_none() {
        return Ok(report.text("This model has no attention."));
    }
    let graphs = within_reach(run);
    if graphs.is_empty() {
        return Ok(report.text(
            "The graph is too large for attention to be looked at here; `train --attention` writes it to a file.",
        ));
    }
    let dataset = only(run.dataset, &graphs);
    let agreement = Agreement::of(run.model, &dataset)?;
    if agreement.nodes == 0 {
        return Ok(report
            .text("No node has a label whose neighbours all have one, so attention cannot be compared with labels."));
    }
    let left_out = match agreement.left_out {
        0 => String::new(),
        nodes => format!(" {} left out, since a label is unknown.", counted(nodes, "node")),
    };
    let caption = format!(
        "Each box holds {}, not only those for testing. Above: 100 % is uniform attention, 0 % trusts one neighbour only. Below: 0 is attention to \
         exactly the neighbours that share a node's label; the box of uniform attention is what a head without knowledge would have.{left_out}",
        counted(agreement.nodes, "node")
    );
    let plots = [
        plot("Entropy of attention", "% of the largest possible", &agreement, |measures| {
            measures.relative_entropy.iter().map(|entropy| 100.0 * entropy).collect()
        }),
        plot("Divergence from label agreement", "nats", &agreement, |measures| measures.divergence.clone()),
    ];
    Ok(report.figure("attention", panels("", 1, &plots), &caption))
}

/// The graphs whose attention is looked at: those with test nodes, where there are any, and as many of them as the bound allows.
pub(super) fn within_reach(run: &Run<'_>) -> Vec<usize> {
    let a = run.model.architecture();
    let heads = (a.layers - 1) * a.heads + a.output_heads;
    let mut seen = 0;
    let fits = |(_, edges): &(usize, usize)| {
        seen += edges * heads;
        seen <= MOST_COEFFICIENTS
    };
    let tested: Vec<usize> = run.tested().map(|(k, ..)| k).collect();
    let graphs = if tested.is_empty() { (0..run.dataset.examples.len()).collect() } else { tested };
    let sized = graphs.into_iter().map(|k| (k, run.dataset.examples[k].graph.edges()));
    sized.take_while(fits).map(|(k, _)| k).collect()
}

/// The dataset with only those graphs, in order, without names.
fn only<'a>(dataset: &'a Dataset, graphs: &[usize]) -> Cow<'a, Dataset> {
    if graphs.len() == dataset.examples.len() {
        return Cow::Borrowed(dataset);
    }
    Cow::Owned(Dataset {
        name: dataset.name.clone(),
        examples: graphs.iter().map(|&k| dataset.examples[k].clone()).collect(),
        class_names: dataset.class_names.clone(),
        node_ids: None,
        listed_links: 0,
        notes: Vec::new(),
        schema: None,
    })
}

/// A box for every head of every layer, or for every layer, and one for uniform attention.
fn plot(title: &str, label: &str, agreement: &Agreement, values: impl Fn(&Measures) -> Vec<f64>) -> Plot {
    let heads: Vec<usize> = agreement.layers.iter().map(|layer| layer.entropy.len() / agreement.nodes).collect();
    let apart = heads.iter().sum::<usize>() < MOST_BOXES;
    let mut names = Vec::new();
    let mut series: Vec<(String, Vec<(f64, Quartiles)>)> = Vec::new();
    for (k, (layer, &heads)) in agreement.layers.iter().zip(&heads).enumerate() {
        let groups = if apart { heads } else { 1 };
        let all = values(layer);
        let boxes = (0..groups).map(|group| {
            // The heads of a node stand together.
            let of_group: Vec<f64> = all.iter().skip(group).step_by(groups).copied().collect();
            names.push(if groups > 1 { format!("{}.{}", k + 1, group + 1) } else { (k + 1).to_string() });
            ((names.len() - 1) as f64, Quartiles::of(&of_group))
        });
        series.push((format!("layer {}", k + 1), boxes.collect()));
    }
    names.push("uniform".into());
    series.push((
        "uniform attention".into(),
        vec![((names.len() - 1) as f64, Quartiles::of(&values(&agreement.uniform)))],
    ));
    let axis = if apart { "layer.head" } else { "layer" };
    let plot = Plot::new(title, Axis::categories(axis, names), Axis::linear(label)).height(330.0);
    series.iter().fold(plot, |plot, (name, boxes)| plot.boxes(name, boxes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_told_apart() {
        let measures = |entropy: Vec<f64>| Measures { entropy, ..Measures::default() };
        let agreement = Agreement {
            layers: vec![measures(vec![1.0, 10.0, 1.0, 10.0]), measures(vec![5.0, 5.0])],
            uniform: measures(vec![7.0, 7.0]),
            nodes: 2,
            left_out: 0,
        };
        let svg = plot("t", "l", &agreement, |measures| measures.entropy.clone()).svg();
        for words in ["1.1: median 1,", "1.2: median 10,", "2: median 5,", "uniform: median 7,"] {
            assert_eq!(svg.matches(words).count(), 1, "{words} in {svg}");
        }
    }
}
