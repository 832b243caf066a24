//! `supergat inspect`

use crate::args::InspectArgs;
use crate::config::load_options;
use crate::error::Result;
use crate::output::{self, BOLD, SCHEMA};
use serde::Serialize;
use std::process::ExitCode;
use supergat_lab::GraphStatistics;

/// What is said of a dataset.
#[derive(Debug, Serialize)]
struct Inspection<'a> {
    schema: u32,
    dataset: &'a str,
    #[serde(flatten)]
    statistics: &'a GraphStatistics,
    /// What the reader understood, counted and left out.
    notes: &'a [String],
}

/// Describes a dataset.
pub fn run(args: &InspectArgs) -> Result<ExitCode> {
    let dataset = supergat_data::load_with(&args.dataset, &load_options(args.split, &args.tables.0)?)?;
    let statistics = &GraphStatistics::of(&dataset);
    if args.json {
        output::print_json(&Inspection { schema: SCHEMA, dataset: &dataset.name, statistics, notes: &dataset.notes })?;
    } else {
        output::print(&(table(&dataset.name, statistics) + &notes(&dataset.notes)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn table(name: &str, s: &GraphStatistics) -> String {
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let classes = if s.multi_label { "a node may have several" } else { "a node has one" };
    let h = &s.homophily;
    let rows = [
        ("graphs", s.graphs.to_string(), ""),
        ("nodes", s.nodes.to_string(), ""),
        ("edges", s.edges.to_string(), "links as the publisher counts them, before duplicates collapse"),
        ("directed edges", s.directed_edges.to_string(), "what attention runs over, besides a self-loop per node"),
        ("self-loops", s.self_loops.to_string(), "links from a node to itself in the files"),
        ("isolated", s.isolated.to_string(), "nodes without a neighbour"),
        ("degree", format!("{:.2} ± {:.2}", s.degree.mean, s.degree.std), "neighbours of a node, mean and deviation"),
        ("features", s.features.to_string(), "numbers that describe a node"),
        ("density", format!("{:.2} %", 100.0 * s.feature_density), "share of these numbers that are not zero"),
        ("classes", s.classes.to_string(), classes),
        ("unlabelled", s.unlabelled.to_string(), "nodes whose class is not known"),
        ("homophily", share(h.node), "share of a node's neighbours of its own class, mean over nodes (the paper's)"),
        ("  edge", share(h.edge), "share of edges within a class"),
        ("  class-insensitive", share(h.class_insensitive), "the same per class, above what class sizes explain"),
        ("  adjusted", share(h.adjusted), "edge homophily above what the classes' degrees explain"),
        ("train", s.train.to_string(), "nodes whose labels are learned from"),
        ("validation", s.validation.to_string(), "nodes that select the best epoch"),
        ("test", s.test.to_string(), "nodes that are only measured"),
    ];
    let width = rows.iter().map(|(_, value, _)| value.chars().count()).max().unwrap_or(0);
    let mut text = format!("{BOLD}{name}{BOLD:#}\n");
    for (name, value, explanation) in rows {
        text += &output::row(name, &format!("{value:>width$}"), explanation);
    }
    text
}

/// What the reader has to say.
fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = notes.iter().map(|note| format!("  - {note}\n")).collect();
    format!("{BOLD}as read{BOLD:#}\n{}", lines.concat())
}
