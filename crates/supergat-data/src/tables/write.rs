//! Writes a dataset as a folder of tables, from which [`super::read`] restores it exactly.

use super::labels::SEPARATOR;
use super::roles::{GRAPH, ID, LABEL, MASKS, SPLIT};
use super::rows::names::{EDGES, FEATURES, NODES, SPLITS};
use super::sidecar::{SIDECAR, Sidecar};
use crate::dataset::Dataset;
use crate::schema::Schema;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use supergat_core::{Direction, Example, Features, Graph, Labels};

type Table = csv::Writer<BufWriter<File>>;

/// Writes the tables to an existing folder. If the ids cannot be restored from a table, nodes are numbered 0,
/// 1, ...
pub(crate) fn write(dataset: &Dataset, folder: &Path) -> io::Result<()> {
    let numbered;
    let dataset = if ids_round_trip(dataset) {
        dataset
    } else {
        numbered = Dataset { node_ids: None, ..dataset.clone() };
        &numbered
    };
    let multi = dataset.is_multi_label();
    if multi && dataset.class_names.iter().any(|name| name.contains(SEPARATOR)) {
        return Err(io::Error::other(format!("tables cannot contain class names with `{SEPARATOR}`")));
    }
    let sparse = dataset.examples.iter().any(|example| matches!(*example.features, Features::Sparse(_)));
    let sidecar = Sidecar {
        name: Some(dataset.name.clone()),
        directed: dataset.examples.iter().any(|example| example.graph.direction() == Direction::Directed),
        features: Some(dataset.features()),
        sparse: Some(sparse),
        prepared: true,
        classes: Some(dataset.class_names.clone()),
        several_labels: Some(multi),
        listed_links: Some(dataset.listed_links),
    };
    let text = toml::to_string(&sidecar).map_err(io::Error::other)?;
    std::fs::write(folder.join(SIDECAR), text)?;
    nodes(dataset, sparse, table(folder, NODES)?)?;
    if sparse {
        entries(dataset, table(folder, FEATURES)?)?;
    }
    splits(dataset, table(folder, SPLITS)?)?;
    edges(dataset, table(folder, EDGES)?)
}

/// Returns whether ids are distinct within each graph and not changed by writing and reading.
fn ids_round_trip(dataset: &Dataset) -> bool {
    let plain = |id: &String| !id.is_empty() && id.trim() == id;
    dataset.node_ids.iter().flatten().all(|ids| {
        let distinct: HashSet<&String> = ids.iter().collect();
        distinct.len() == ids.len() && ids.iter().all(plain)
    })
}

/// Creates the table `stem` in a folder.
fn table(folder: &Path, stem: &str) -> io::Result<Table> {
    let file = BufWriter::new(File::create(folder.join(format!("{stem}.csv")))?);
    // Quote fields that look like comments.
    Ok(csv::WriterBuilder::new().comment(Some(b'#')).from_writer(file))
}

/// Flushes a table to disk.
fn finish(table: Table) -> io::Result<()> {
    let file = table.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
    file.into_inner()?.sync_all()
}

/// Returns the graph, if there are several, and the id of a node.
fn node_key<'a>(dataset: &'a Dataset, graph: usize, node: usize) -> impl Iterator<Item = String> + use<'a> {
    let graph_name = (dataset.examples.len() > 1).then(|| graph.to_string());
    graph_name.into_iter().chain([dataset.node_id(graph, node).into_owned()])
}

/// Returns the column names, with `graph` first if there are several graphs.
fn header(dataset: &Dataset, names: &[&str]) -> Vec<String> {
    let graph = (dataset.examples.len() > 1).then_some("graph");
    graph.into_iter().chain(names.iter().copied()).map(str::to_owned).collect()
}

fn nodes(dataset: &Dataset, sparse: bool, mut out: Table) -> io::Result<()> {
    let mut columns = header(dataset, &["id", "label"]);
    if !sparse {
        columns.extend(feature_names(dataset));
    }
    out.write_record(&columns)?;
    for (graph, example) in dataset.examples.iter().enumerate() {
        for node in 0..example.graph.nodes() {
            let mut row: Vec<String> = node_key(dataset, graph, node).collect();
            row.push(label(dataset, example, node));
            if let (Features::Dense { columns, values, .. }, false) = (&*example.features, sparse) {
                row.extend(values[node * columns..][..*columns].iter().map(|value| format!("{value:?}")));
            }
            out.write_record(&row)?;
        }
    }
    finish(out)
}

/// Returns the feature names of the schema if they are distinct and differ from role names, else `f0`,
/// `f1`, ...
fn feature_names(dataset: &Dataset) -> Vec<String> {
    let own = dataset.schema.as_ref().map(Schema::feature_names).unwrap_or_default();
    let distinct: HashSet<&String> = own.iter().collect();
    let plain = |name: &String| {
        let role = [ID, LABEL, SPLIT, GRAPH].iter().chain(&MASKS).any(|role| role.is(name));
        !role && !name.is_empty() && name.trim() == name
    };
    if own.len() == dataset.features() && distinct.len() == own.len() && own.iter().all(plain) {
        return own;
    }
    (0..dataset.features()).map(|feature| format!("f{feature}")).collect()
}

/// Returns the label cell of a node.
fn label(dataset: &Dataset, example: &Example<f32>, node: usize) -> String {
    match &example.labels {
        Labels::Single { of, .. } => dataset.class_names.get(of[node] as usize).cloned().unwrap_or_default(),
        Labels::Multi { classes, of } => {
            let has = of[node * classes..][..*classes].iter().zip(&dataset.class_names).filter(|(has, _)| **has == 1);
            has.map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(&SEPARATOR.to_string())
        }
    }
}

fn entries(dataset: &Dataset, mut out: Table) -> io::Result<()> {
    out.write_record(header(dataset, &["id", "feature", "value"]))?;
    for (graph, example) in dataset.examples.iter().enumerate() {
        for node in 0..example.graph.nodes() {
            for (feature, value) in example.features.entries(node) {
                let row = node_key(dataset, graph, node).chain([feature.to_string(), format!("{value:?}")]);
                out.write_record(row)?;
            }
        }
    }
    finish(out)
}

fn splits(dataset: &Dataset, mut out: Table) -> io::Result<()> {
    out.write_record(header(dataset, &["id", "split"]))?;
    for (graph, example) in dataset.examples.iter().enumerate() {
        let lists = [("train", &example.train), ("validation", &example.validation), ("test", &example.test)];
        for (name, list) in lists {
            for &node in list {
                out.write_record(node_key(dataset, graph, node as usize).chain([name.to_owned()]))?;
            }
        }
    }
    finish(out)
}

/// Writes the links as they were listed. Links with weights or features are written once, since those of repeated ones
/// are merged.
fn edges(dataset: &Dataset, mut out: Table) -> io::Result<()> {
    let is_weighted = |example: &Example<f32>| example.edges.as_ref().is_some_and(|edges| !edges.weights().is_empty());
    let weighted = dataset.examples.iter().any(is_weighted);
    let features: Vec<String> = (0..dataset.edge_features()).map(|feature| format!("f{feature}")).collect();
    let names = ["source", "target"].into_iter().chain(weighted.then_some("weight"));
    out.write_record(header(dataset, &names.chain(features.iter().map(String::as_str)).collect::<Vec<_>>()))?;
    for (graph, example) in dataset.examples.iter().enumerate() {
        let edges = example.edges.as_deref();
        let mut written = vec![false; edges.map_or(0, |_| example.graph.edges())];
        for &position in example.graph.position_of_input() {
            let (source, target) = ends(&example.graph, position);
            let mut row: Vec<String> = node_key(dataset, graph, source).collect();
            row.push(dataset.node_id(graph, target).into_owned());
            if let Some(edges) = edges {
                let reverse = match example.graph.direction() {
                    Direction::Undirected => example.graph.position(target as u32, source as u32),
                    Direction::Directed => None,
                };
                let attributes = |position: usize| {
                    let weight = weighted.then(|| edges.weights().get(position).copied().unwrap_or(1.0));
                    weight.into_iter().chain(edges.features_of(position).iter().copied()).collect::<Vec<f32>>()
                };
                let own = attributes(position as usize);
                if reverse.is_some_and(|reverse| attributes(reverse) != own) {
                    let reason = "tables cannot contain links with other features in each direction; \
                                  convert to a file that ends in .supergat.safetensors";
                    return Err(io::Error::other(reason));
                }
                let places = [Some(position as usize), reverse].into_iter().flatten();
                if places.fold(false, |before, place| std::mem::replace(&mut written[place], true) | before) {
                    continue;
                }
                row.extend(own.iter().map(|value| format!("{value:?}")));
            }
            out.write_record(row)?;
        }
    }
    finish(out)
}

/// Returns source and target of the edge at a position.
fn ends(graph: &Graph, position: u64) -> (usize, usize) {
    let incoming = graph.incoming();
    let target = incoming.offsets.partition_point(|&offset| offset <= position) - 1;
    (incoming.neighbours[position as usize] as usize, target)
}
