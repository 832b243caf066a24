//! List of the nodes with the highest probability of a class, with reasons, as CSV.

use super::tables::{Table, Texts, label, splits};
use std::collections::BTreeMap;
use std::io::{self, Write};
use supergat::{Attention, Classifier, Dataset, Predictions};
use supergat_data::schema::Column;

/// Number of neighbours in the reason of a node.
const REASONS: usize = 3;

/// Which nodes are listed.
#[derive(Debug, Clone, Copy)]
pub struct Ranking {
    /// Class whose probability counts.
    pub class: usize,
    /// Number of nodes.
    pub count: usize,
}

impl Ranking {
    /// Writes the nodes with the highest probability, without those of training and validation: rank, graph (if there are
    /// several), node, split, label, probability, and the neighbours that receive most of the last layer's attention.
    pub fn write(
        self,
        out: &mut dyn Write,
        dataset: &Dataset,
        model: &Classifier,
        predictions: &Predictions,
        texts: Texts,
    ) -> io::Result<()> {
        let mut table = Table::new(out, texts);
        let several = dataset.examples.len() > 1;
        let probability = format!("p_{}", predictions.class_names()[self.class]);
        let columns = ["node", "split", "label", &probability, "attends to"];
        for column in ["rank"].into_iter().chain(several.then_some("graph")).chain(columns) {
            table.word(column);
        }
        table.end()?;
        let splits: Vec<_> = dataset.examples.iter().map(splits).collect();
        let attends = model.architecture().weights_per_edge() > 0;
        let graphs = 0..if attends { dataset.examples.len() } else { 0 };
        let attention = graphs.map(|k| model.attention(dataset, k).map_err(io::Error::other));
        let attention = attention.collect::<io::Result<Vec<_>>>()?;
        for (rank, (k, node, probability)) in self.first(&splits, predictions).into_iter().enumerate() {
            let reasons = attention.get(k).map(|attention| reasons(dataset, k, node, attention)).unwrap_or_default();
            table.whole(rank + 1);
            if several {
                table.whole(k);
            }
            table.text(&dataset.node_id(k, node));
            table.word(splits[k][node]);
            table.text(&label(dataset, &dataset.examples[k].labels, node));
            table.number(probability);
            table.text(&reasons);
            table.end()?;
        }
        table.finish()
    }

    /// Returns graph, node and probability of the first nodes. Of equal ones, the earlier comes first.
    fn first(self, splits: &[Vec<&str>], predictions: &Predictions) -> Vec<(usize, usize, f32)> {
        let (mut all, mut row) = (Vec::new(), 0);
        for (k, splits) in splits.iter().enumerate() {
            for (node, split) in splits.iter().enumerate() {
                if !["train", "validation"].contains(split) {
                    all.push((k, node, predictions.probabilities_of(row)[self.class]));
                }
                row += 1;
            }
        }
        all.sort_by(|a, b| b.2.total_cmp(&a.2));
        all.truncate(self.count);
        all
    }
}

/// Describes the neighbours of a node that receive most attention, mean over the heads of the last layer.
fn reasons(dataset: &Dataset, k: usize, node: usize, attention: &Attention<'_>) -> String {
    let last = attention.layers() - 1;
    let mut shares: BTreeMap<usize, (f32, usize)> = BTreeMap::new();
    for edge in attention.of(node).into_iter().filter(|edge| edge.layer == last) {
        let (sum, heads) = shares.entry(edge.source).or_default();
        (*sum, *heads) = (*sum + edge.coefficient, *heads + 1);
    }
    let mut shares: Vec<(usize, f32)> =
        shares.into_iter().map(|(source, (sum, heads))| (source, sum / heads as f32)).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let described = shares.into_iter().take(REASONS).map(|(source, share)| {
        let percent = format!("{:.0} %", 100.0 * share);
        if source == node {
            return format!("itself ({percent})");
        }
        let known = label(dataset, &dataset.examples[k].labels, source);
        let known = Some(known).filter(|known| !known.is_empty()).map(|known| format!("labelled {known}"));
        let about: Vec<String> = [percent].into_iter().chain(types(dataset, k, source, node)).chain(known).collect();
        format!("{} ({})", dataset.node_id(k, source), about.join(", "))
    });
    described.collect::<Vec<_>>().join("; ")
}

/// Returns the categories of the link from one node to another.
fn types(dataset: &Dataset, k: usize, source: usize, target: usize) -> Vec<String> {
    let example = &dataset.examples[k];
    let (Some(schema), Some(attributes)) = (&dataset.link_schema, &example.edges) else { return Vec::new() };
    let Some(edge) = example.graph.position(source as u32, target as u32) else { return Vec::new() };
    let (names, features) = (schema.feature_names(), attributes.features_of(edge));
    let (mut found, width) = (Vec::new(), schema.columns.width());
    for first in (0..schema.width()).step_by(width.max(1)) {
        let mut at = first;
        for column in &schema.columns.columns {
            if let Column::Category { values, .. } = column {
                let of_column = at..at + values.len();
                found
                    .extend(of_column.filter(|feature| features[*feature] > 0.0).map(|feature| names[feature].clone()));
            }
            at += column.width();
        }
    }
    found
}
