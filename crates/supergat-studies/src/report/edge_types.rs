//! Attention that each type of link receives.

use super::attention::selected_graphs;
use super::{Report, Run};
use supergat_core::{Example, Result};
use supergat_data::schema::{Column, LinkSchema};

/// Maximum number of types in the table.
const MAX_TYPES: usize = 40;

/// Sums over the edges of one type.
#[derive(Debug, Clone, Default, PartialEq)]
struct Type {
    name: String,
    /// Feature of the edge attributes that is 1 for this type.
    feature: usize,
    edges: f64,
    /// Attention if every node attended equally to its neighbours.
    uniform: f64,
    /// Attention in each layer, mean over the heads.
    layers: Vec<f64>,
}

pub(super) fn add(report: Report, run: &Run<'_>) -> Result<Report> {
    let Some(mut types) = run.dataset.link_schema.as_ref().map(types).filter(|types| !types.is_empty()) else {
        return Ok(report);
    };
    let graphs = selected_graphs(run);
    if run.model.architecture().weights_per_edge() == 0 || graphs.is_empty() {
        return Ok(report);
    }
    let (mut edges, mut uniform, mut layers) = (0.0, 0.0, Vec::new());
    for &k in &graphs {
        let example = &run.dataset.examples[k];
        let attention = run.model.attention(k, example)?;
        layers.resize(attention.len(), 0.0);
        for_each_edge(example, |edge, share, features| {
            let of_layer = |layer: &supergat_core::EdgeValues<f32>| {
                let heads = &layer.coefficients[edge * layer.heads..][..layer.heads];
                heads.iter().map(|c| f64::from(*c)).sum::<f64>() / layer.heads as f64
            };
            let received: Vec<f64> = attention.iter().map(of_layer).collect();
            edges += 1.0;
            uniform += share;
            layers.iter_mut().zip(&received).for_each(|(sum, received)| *sum += received);
            for one in &mut types {
                one.add(f64::from(features[one.feature]), share, &received);
            }
        });
    }
    let percent = |part: f64, whole: f64| format!("{:.1} %", 100.0 * part / if whole > 0.0 { whole } else { 1.0 });
    types.sort_by(|a, b| b.edges.total_cmp(&a.edges));
    let row = |one: &Type| {
        let fixed = [one.name.clone(), percent(one.edges, edges), percent(one.uniform, uniform)];
        let learned = one.layers.iter().zip(&layers).map(|(part, whole)| percent(*part, *whole));
        fixed.into_iter().chain(learned).collect()
    };
    let rows: Vec<Vec<String>> = types.iter().take(MAX_TYPES).map(row).collect();
    let names: Vec<String> = (1..=layers.len()).map(|layer| format!("layer {layer}")).collect();
    let header: Vec<&str> =
        ["type of link", "edges", "uniform"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let text = "Share of all attention between different nodes that each type of link receives in each layer, mean over the \
                heads; beside it the share of the edges, and the attention that the type would receive if every node \
                attended equally to its neighbours.";
    Ok(report.section("Attention by type of link").text(text).table(&header, &rows))
}

/// Returns the categories of all columns of links.
fn types(schema: &LinkSchema) -> Vec<Type> {
    let names = schema.feature_names();
    let (mut all, mut first) = (Vec::new(), 0);
    for column in &schema.columns.columns {
        if let Column::Category { values, .. } = column {
            let directions = if schema.two_way { 2 } else { 1 };
            for feature in (0..directions).flat_map(|k| (0..values.len()).map(move |value| (k, value))) {
                let feature = feature.0 * schema.columns.width() + first + feature.1;
                all.push(Type { name: names[feature].clone(), feature, ..Type::default() });
            }
        }
        first += column.width();
    }
    all
}

/// Calls `visit` with each edge between different nodes: its position, the share of uniform attention, and its features.
fn for_each_edge(example: &Example<f32>, mut visit: impl FnMut(usize, f64, &[f32])) {
    let Some(attributes) = &example.edges else { return };
    let incoming = example.graph.incoming();
    for node in 0..example.graph.nodes() {
        let edges = incoming.range(node);
        let share = 1.0 / edges.len() as f64;
        for edge in edges.filter(|edge| incoming.neighbours[*edge] as usize != node) {
            visit(edge, share, attributes.features_of(edge));
        }
    }
}

impl Type {
    /// Adds an edge that is of this type to some extent, from 0 to 1.
    fn add(&mut self, extent: f64, uniform: f64, layers: &[f64]) {
        self.layers.resize(layers.len(), 0.0);
        self.edges += extent;
        self.uniform += extent * uniform;
        self.layers.iter_mut().zip(layers).for_each(|(sum, received)| *sum += extent * received);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_data::schema::Schema;

    #[test]
    fn types_are_the_categories_of_links_in_both_directions() {
        let number = Column::Number {
            name: "amount".into(),
            mean: 0.0,
            deviation: None,
            notation: Default::default(),
            indicator: true,
        };
        let kinds = Column::Category { name: "kind".into(), values: vec!["a".into(), "b".into()], indicator: false };
        let columns = Schema { columns: vec![number, kinds], ..Schema::default() };
        let found = types(&LinkSchema { weight: None, columns, two_way: true });
        let found: Vec<(&str, usize)> = found.iter().map(|one| (one.name.as_str(), one.feature)).collect();
        let expected = [("kind=a", 2), ("kind=b", 3), ("kind=a (reverse)", 6), ("kind=b (reverse)", 7)];
        assert_eq!(found, expected);
    }
}
