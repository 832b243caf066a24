//! Implementation of `supergat study synthetic`.

use super::write;
use crate::args::SyntheticArgs;
use crate::error::Result;
use crate::files::probe;
use crate::output::{self, SCHEMA};
use serde::Serialize;
use std::process::ExitCode;
use supergat_figure::sheet::{Sheet, csv, exact, markdown, or_dash};
use supergat_figure::{Axis, Page, Plot, Tone, panels};
use supergat_studies::synthetic::{CLASSES, HOMOPHILIES, NODES, Picture, pictures};

/// Result printed by `--json`.
#[derive(Debug, Serialize)]
struct SyntheticOutput {
    schema: u32,
    seed: u64,
    graphs: Vec<GraphOutput>,
    folder: String,
}

/// Statistics of a graph.
#[derive(Debug, Serialize)]
struct GraphOutput {
    delta: f64,
    p_in: f64,
    links: usize,
    mean_degree: f64,
    share_within: Option<f64>,
}

/// Draws the graphs and writes the figure and the table.
pub fn run(args: &SyntheticArgs) -> Result<ExitCode> {
    probe(&args.out)?;
    if !args.quiet {
        output::note(&format!("placing {} nodes by t-SNE", CLASSES * NODES));
    }
    let pictures = pictures(args.seed)?;
    let sheet = sheet(&pictures);
    let text = markdown(std::slice::from_ref(&sheet));
    let figure = panels("Synthetic graphs", HOMOPHILIES.len(), &pictures.iter().map(plot).collect::<Vec<_>>());
    let page = Page::new("Synthetic graphs", "Small examples of graphs with given degree and homophily")
        .figure(
            &figure,
            "Nodes are placed by t-SNE of their features and coloured by class. All panels have the same nodes.",
        )
        .section(&sheet.title)
        .toned_table(&sheet.header, &sheet.rows)
        .section("Command")
        .code(&format!("supergat study synthetic --seed {}", args.seed))
        .html();
    let files =
        [("table.md", text.clone()), ("table.csv", csv(&sheet)), ("synthetic.svg", figure), ("report.html", page)];
    write(&args.out, files, args.quiet)?;
    let (graphs, folder) = (pictures.iter().map(statistics).collect(), args.out.display().to_string());
    let printed = SyntheticOutput { schema: SCHEMA, seed: args.seed, graphs, folder };
    output::print_result(args.json, &printed, || text)
}

/// Computes the statistics of a graph.
fn statistics(picture: &Picture) -> GraphOutput {
    GraphOutput {
        delta: picture.delta,
        p_in: picture.homophily * picture.delta,
        links: picture.links.len(),
        mean_degree: picture.mean_degree(),
        share_within: picture.share_within(),
    }
}

fn plot(picture: &Picture) -> Plot {
    let position = |node: u32| picture.positions[node as usize];
    let segments: Vec<[f64; 4]> =
        picture.links.iter().map(|&[a, b]| [position(a)[0], position(a)[1], position(b)[0], position(b)[1]]).collect();
    let title = format!("delta {}, p_in {} delta", picture.delta, picture.homophily);
    let mut plot = Plot::new(title, Axis::linear(""), Axis::linear("")).segments(&segments);
    for class in 0..CLASSES as u32 {
        let nodes = picture.positions.iter().zip(&picture.classes).filter(|(_, node_class)| **node_class == class);
        plot = plot.dots(&class.to_string(), &nodes.map(|(position, _)| *position).collect::<Vec<_>>());
    }
    plot
}

/// Builds the table of expected and actual degrees and homophilies.
fn sheet(pictures: &[Picture]) -> Sheet {
    let expected = |picture: &Picture| {
        let (delta, inside) = (picture.delta, picture.homophily * picture.delta);
        (NODES as f64 * delta, inside)
    };
    let texts = |picture: &Picture| {
        let (degree, inside) = expected(picture);
        let texts = vec![
            picture.delta.to_string(),
            format!("{inside:.4}"),
            format!("{degree:.1}"),
            format!("{:.2}", picture.mean_degree()),
            format!("{:.1}", picture.homophily),
            or_dash(picture.share_within().map(|share| format!("{share:.2}"))),
        ];
        (Tone::Plain, texts)
    };
    let numbers = |picture: &Picture| {
        let graph = statistics(picture);
        let mut row = [graph.delta, graph.p_in, expected(picture).0, graph.mean_degree, picture.homophily]
            .map(|value| value.to_string())
            .to_vec();
        row.extend([exact(graph.share_within), graph.links.to_string()]);
        row
    };
    let title = format!("Synthetic graphs of {CLASSES} classes with {NODES} nodes each");
    let header = ["delta", "p_in", "n delta", "mean degree", "p_in / delta", "links within classes"];
    let csv_header = "delta,p_in,expected_degree,mean_degree,expected_homophily,share_within,links";
    Sheet::new(title, header, pictures.iter().map(texts)).with_csv(csv_header, pictures.iter().map(numbers))
}
