//! Implementation of `supergat convert`.

use crate::args::ConvertArgs;
use crate::config::load_options;
use crate::error::Result;
use crate::output::{self, SCHEMA};
use serde::Serialize;
use std::process::ExitCode;

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
}

/// Converts a dataset to a file or a folder of tables.
pub fn run(args: &ConvertArgs) -> Result<ExitCode> {
    let dataset = supergat::data::load_with(&args.source, &load_options(args.split, &args.reading.0)?)?;
    supergat::data::convert(&dataset, &args.dest)?;
    let written = ConvertOutput {
        schema: SCHEMA,
        dataset: dataset.name.clone(),
        place: args.dest.display().to_string(),
        graphs: dataset.examples.len(),
        nodes: dataset.nodes(),
        directed_edges: dataset.examples.iter().map(|example| example.graph.edges() - example.graph.nodes()).sum(),
        features: dataset.features(),
        classes: dataset.classes(),
    };
    if args.json {
        output::print_json(&written)?;
    } else {
        let ConvertOutput { dataset, place, directed_edges, features, .. } = &written;
        let nodes = output::count(written.nodes, "node");
        output::print(&format!("{place}: {dataset}, {nodes}, {directed_edges} directed edges, {features} features\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
