//! Implementation of `supergat convert`.

use crate::args::ConvertArgs;
use crate::commands::partition::divide;
use crate::error::Result;
use crate::output::{self, SCHEMA};
use serde::Serialize;
use std::process::ExitCode;
use supergat_data::converted::ENDING;

/// Summary of the converted dataset, printed by `--json`.
#[derive(Debug, Serialize)]
struct ConvertOutput {
    schema: u32,
    dataset: String,
    place: String,
    graphs: usize,
    nodes: usize,
    directed_edges: usize,
    features: usize,
    classes: usize,
    node_order: &'static str,
}

/// Converts a dataset to a file or a folder of tables.
pub fn run(args: &ConvertArgs) -> Result<ExitCode> {
    let mut options = args.reading.load_options()?;
    // Tables have no place for an order, and parts have their own.
    if args.dest.extension().is_some_and(|extension| extension == ENDING) && args.parts.is_none() {
        options.node_order = args.node_order;
    }
    let mut dataset = supergat_data::load_with(&args.source, &options)?;
    if let Some(parts) = args.parts {
        divide(&mut dataset, parts)?;
    }
    supergat_data::convert(&dataset, &args.dest)?;
    let written = ConvertOutput {
        schema: SCHEMA,
        dataset: dataset.name.clone(),
        place: args.dest.display().to_string(),
        graphs: dataset.examples.len(),
        nodes: dataset.nodes(),
        directed_edges: dataset.examples.iter().map(|example| example.graph.edges() - example.graph.nodes()).sum(),
        features: dataset.features(),
        classes: dataset.classes(),
        node_order: dataset.node_order(),
    };
    output::print_result(args.json, &written, || {
        let ConvertOutput { dataset, place, directed_edges, features, node_order, .. } = &written;
        let nodes = output::count(written.nodes, "node");
        let edges = output::count(*directed_edges, "directed edge");
        let features = output::count(*features, "feature");
        let order = if *node_order == "given" { String::new() } else { format!(", node order {node_order}") };
        format!("{place}: {dataset}, {nodes}, {edges}, {features}{order}\n")
    })
}
