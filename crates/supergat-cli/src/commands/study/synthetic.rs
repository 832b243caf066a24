//! `supergat study synthetic`

use super::write;
use crate::args::SyntheticArgs;
use crate::error::Result;
use crate::files::probe;
use crate::output::{self, SCHEMA};
use serde::Serialize;
use std::process::ExitCode;
use supergat_figure::{Axis, Page, Plot, Tone, panels};
use supergat_lab::sheet::{Sheet, csv, markdown};
use supergat_lab::synthetic::{CLASSES, HOMOPHILIES, NODES, Picture, pictures};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Study {
    schema: u32,
    seed: u64,
    graphs: Vec<Drawn>,
    folder: String,
}

#[derive(Debug, Serialize)]
struct Drawn {
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
    let page = Page::new("Synthetic graphs", "Small examples of the graphs whose degree and homophily are chosen")
        .figure(
            &figure,
            "Nodes where t-SNE puts their features, coloured by class, and all links. All panels share their nodes.",
        )
        .section(&sheet.title)
        .toned_table(&sheet.header, &sheet.rows)
        .section("Command")
        .code(&format!("supergat study synthetic --seed {}", args.seed))
        .html();
    let files =
        [("table.md", text.clone()), ("table.csv", csv(&sheet)), ("synthetic.svg", figure), ("report.html", page)];
    write(&args.out, files, args.quiet)?;
    if args.json {
        let graphs = pictures.iter().map(drawn).collect();
        output::print_json(&Study { schema: SCHEMA, seed: args.seed, graphs, folder: args.out.display().to_string() })?;
    } else {
        output::print(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn drawn(picture: &Picture) -> Drawn {
    Drawn {
        delta: picture.delta,
        p_in: picture.homophily * picture.delta,
        links: picture.links.len(),
        mean_degree: picture.mean_degree(),
        share_within: picture.share_within(),
    }
}

fn plot(picture: &Picture) -> Plot {
    let place = |node: u32| picture.places[node as usize];
    let segments: Vec<[f64; 4]> =
        picture.links.iter().map(|&[a, b]| [place(a)[0], place(a)[1], place(b)[0], place(b)[1]]).collect();
    let title = format!("delta {}, p_in {} delta", picture.delta, picture.homophily);
    let mut plot = Plot::new(title, Axis::linear(""), Axis::linear("")).segments(&segments);
    for class in 0..CLASSES as u32 {
        let nodes = picture.places.iter().zip(&picture.classes).filter(|(_, of)| **of == class);
        plot = plot.dots(&class.to_string(), &nodes.map(|(place, _)| *place).collect::<Vec<_>>());
    }
    plot
}

/// What was asked for, and what was drawn.
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
            picture.share_within().map_or_else(|| "-".to_owned(), |share| format!("{share:.2}")),
        ];
        (Tone::Plain, texts)
    };
    let numbers = |picture: &Picture| {
        let drawn = drawn(picture);
        let within = drawn.share_within.map_or_else(String::new, |share| share.to_string());
        let mut row = [drawn.delta, drawn.p_in, expected(picture).0, drawn.mean_degree, picture.homophily]
            .map(|value| value.to_string())
            .to_vec();
        row.extend([within, drawn.links.to_string()]);
        row
    };
    Sheet {
        title: format!("Synthetic graphs of {CLASSES} classes with {NODES} nodes each"),
        header: ["delta", "p_in", "n delta", "mean degree", "p_in / delta", "links within classes"]
            .map(Into::into)
            .into(),
        rows: pictures.iter().map(texts).collect(),
        csv_header: "delta,p_in,expected_degree,mean_degree,expected_homophily,share_within,links".into(),
        csv_rows: pictures.iter().map(numbers).collect(),
        notes: Vec::new(),
    }
}
