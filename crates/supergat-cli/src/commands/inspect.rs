//! Implementation of `supergat inspect`.

use crate::args::InspectArgs;
use crate::error::Result;
use crate::output::{self, BOLD, SCHEMA};
use serde::Serialize;
use std::process::ExitCode;
use supergat_data::schema::Decision;
use supergat_train::GraphStatistics;

/// Maximum number of columns that are listed as text.
const MAX_COLUMNS: usize = 60;
/// Maximum length of the name of a column in the list.
const MAX_NAME: usize = 30;

/// Statistics of a dataset, printed by `--json`.
#[derive(Debug, Serialize)]
struct InspectOutput<'a> {
    schema: u32,
    dataset: &'a str,
    #[serde(flatten)]
    statistics: &'a GraphStatistics,
    /// Columns of the tables: type, number of features and reason.
    columns: &'a [Decision],
    /// Columns of the table of links.
    link_columns: &'a [Decision],
    /// Notes of the reader: how it interpreted the files, what it counted and skipped.
    notes: &'a [String],
}

/// Describes a dataset.
pub fn run(args: &InspectArgs) -> Result<ExitCode> {
    let dataset = supergat_data::load_with(&args.dataset, &args.reading.load_options()?)?;
    let statistics = &GraphStatistics::of(&dataset);
    let columns = dataset.schema.as_ref().map_or(&[][..], |schema| &schema.decisions);
    let link_columns = dataset.link_schema.as_ref().map_or(&[][..], |schema| &schema.columns.decisions);
    let (name, read) = (&dataset.name, &dataset.notes);
    let found = InspectOutput { schema: SCHEMA, dataset: name, statistics, columns, link_columns, notes: read };
    output::print_result(args.json, &found, || {
        let columns = column_list("columns", columns) + &column_list("columns of links", link_columns);
        table(name, statistics) + &columns + &notes(read)
    })
}

fn table(name: &str, s: &GraphStatistics) -> String {
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let classes = if s.multi_label { "a node may have several classes" } else { "a node has one class" };
    let h = &s.homophily;
    let rows = [
        ("graphs", s.graphs.to_string(), ""),
        ("nodes", s.nodes.to_string(), ""),
        ("edges", s.edges.to_string(), "links as published, duplicates included"),
        ("directed edges", s.directed_edges.to_string(), "edges used by attention, without the self-loop of each node"),
        ("self-loops", s.self_loops.to_string(), "links from a node to itself, in the graph as read"),
        ("isolated", s.isolated.to_string(), "nodes without a neighbour"),
        (
            "degree",
            format!("{:.2} ± {:.2}", s.degree.mean, s.degree.std),
            "neighbours per node, mean ± standard deviation",
        ),
        ("features", s.features.to_string(), "features per node"),
        ("density", format!("{:.2} %", 100.0 * s.feature_density), "share of feature values that are not zero"),
        ("classes", s.classes.to_string(), classes),
        ("unlabelled", s.unlabelled.to_string(), "nodes without a known class"),
        (
            "homophily",
            share(h.node),
            "share of a node's neighbours with its class, mean over nodes (the paper's definition)",
        ),
        ("  edge", share(h.edge), "share of edges within a class"),
        ("  class-insensitive", share(h.class_insensitive), "homophily per class, beyond what class sizes explain"),
        ("  adjusted", share(h.adjusted), "edge homophily, beyond what the degrees of classes explain"),
        ("train", s.train.to_string(), "nodes whose labels are used in training"),
        ("validation", s.validation.to_string(), "nodes that select the best epoch"),
        ("test", s.test.to_string(), "nodes used only for the test metric"),
    ];
    let width = rows.iter().map(|(_, value, _)| value.chars().count()).max().unwrap_or(0);
    let mut text = format!("{BOLD}{name}{BOLD:#}\n");
    for (name, value, explanation) in rows {
        text += &output::row(name, &format!("{value:>width$}"), explanation);
    }
    text
}

/// Formats the decisions on the columns of tables, one line each.
fn column_list(heading: &str, columns: &[Decision]) -> String {
    if columns.is_empty() {
        return String::new();
    }
    let names: Vec<String> = columns.iter().map(|column| short(&column.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut text = format!("{BOLD}{heading}{BOLD:#}\n");
    for (name, column) in names.iter().zip(columns).take(MAX_COLUMNS) {
        let features = match column.features {
            0 => "-".to_owned(),
            count => count.to_string(),
        };
        text += &format!(
            "  {name:<width$}  {:<8}  {features:>5}  {}\n",
            column.kind.name(),
            output::visible(&column.reason)
        );
    }
    if columns.len() > MAX_COLUMNS {
        text += &format!("  and {} more, listed by --json\n", columns.len() - MAX_COLUMNS);
    }
    text
}

/// Shortens the name of a column for a table.
fn short(name: &str) -> String {
    let mut short: String = output::visible(name).chars().take(MAX_NAME).collect();
    if short.is_empty() {
        short.push_str("(no name)");
    }
    short
}

/// Formats the notes of the reader.
fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = notes.iter().map(|note| format!("  - {}\n", output::visible(note))).collect();
    format!("{BOLD}as read{BOLD:#}\n{}", lines.concat())
}
