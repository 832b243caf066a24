//! `supergat convert`

use crate::args::ConvertArgs;
use crate::config::load_options;
use crate::error::Result;
use crate::output::{self, SCHEMA};
use serde::Serialize;
use std::process::ExitCode;

/// What was written.
#[derive(Debug, Serialize)]
struct Converted {
    schema: u32,
    dataset: String,
    place: String,
    graphs: usize,
    nodes: usize,
    directed_edges: usize,
    features: usize,
    classes: usize,
}

/// Writes a dataset in another form.
pub fn run(args: &ConvertArgs) -> Result<ExitCode> {
    let dataset = supergat_data::load_with(&args.source, &load_options(args.split, &args.tables.0)?)?;
    supergat_data::convert(&dataset, &args.dest)?;
    let converted = Converted {
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
        output::print_json(&converted)?;
    } else {
        let Converted { dataset, place, directed_edges, features, .. } = &converted;
        let nodes = output::count(converted.nodes, "node");
        output::print(&format!("{place}: {dataset}, {nodes}, {directed_edges} directed edges, {features} features\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
