//! `supergat study density`

use super::write;
use crate::args::DensityArgs;
use crate::error::{CliError, Result};
use crate::files::probe;
use crate::output::{self, SCHEMA, count};
use serde::Serialize;
use std::process::ExitCode;
use supergat_figure::{Axis, Page, Plot, Tone, panels};
use supergat_lab::density::{COLUMNS, Density, points};
use supergat_lab::mixture::{Mode, is_mixture, modes};
use supergat_lab::sheet::{Sheet, csv, markdown};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Study<'a> {
    schema: u32,
    datasets: &'a [Looked],
    folder: String,
}

/// A dataset and its modes.
#[derive(Debug, Serialize)]
struct Looked {
    dataset: String,
    nodes: usize,
    bandwidth: [f64; 2],
    modes: Vec<Mode>,
    mixture: bool,
    #[serde(skip)]
    density: Density,
}

/// Estimates densities, finds modes, and writes figures and tables.
pub fn run(args: &DensityArgs) -> Result<ExitCode> {
    probe(&args.out)?;
    let mut all = Vec::new();
    for source in &args.datasets {
        let looked = look(source)?;
        if !args.quiet {
            let verdict = if looked.mixture { ", a mixture" } else { "" };
            output::note(&format!("{}: {}{verdict}", looked.dataset, count(looked.modes.len(), "mode")));
        }
        all.push(looked);
    }
    let sheet = sheet(&all);
    let text = markdown(std::slice::from_ref(&sheet));
    let figure = panels("Degree and homophily of nodes", 3, &all.iter().map(plane).collect::<Vec<_>>());
    let sides = panels("Degree and homophily, each alone", 4, &all.iter().flat_map(marginals).collect::<Vec<_>>());
    let page = Page::new("Degree and homophily of nodes", "Densities and their modes")
        .figure(
            &figure,
            "Density of nodes by degree and homophily, as its square root; dots are modes. Leaves linked to another class are left out.",
        )
        .section(&sheet.title)
        .toned_table(&sheet.header, &sheet.rows)
        .section("Each alone")
        .figure(&sides, "Densities of log10 of the degree and of homophily.")
        .section("Command")
        .code(&format!("supergat study density {}", args.datasets.join(" ")))
        .html();
    let files =
        [("table.md", text.clone()), ("table.csv", csv(&sheet)), ("density.svg", figure), ("marginals.svg", sides)];
    write(&args.out, files.into_iter().chain([("report.html", page)]), args.quiet)?;
    match args.json {
        true => output::print_json(&Study { schema: SCHEMA, datasets: &all, folder: args.out.display().to_string() })?,
        false => output::print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn look(source: &str) -> Result<Looked> {
    let dataset = supergat_data::load(source)?;
    let density = Density::of(&points(&dataset)).ok_or_else(|| {
        CliError::usage(format!("{source}: no node has a labelled neighbour, so that there is no homophily; expected a labelled graph with links"))
    })?;
    let modes = modes(&density);
    let (nodes, bandwidth, mixture) = (density.nodes, density.bandwidth, is_mixture(&modes));
    Ok(Looked { dataset: dataset.name, nodes, bandwidth, modes, mixture, density })
}

fn plane(looked: &Looked) -> Plot {
    let density = &looked.density;
    let end = |centres: &[f64]| centres[0] + centres[centres.len() - 1];
    let (right, top) = (end(&density.degrees), end(&density.homophilies));
    // Square roots, so that thin parts are seen beside high peaks.
    let values = density.values.iter().map(|value| value.sqrt()).collect();
    let drawn = supergat_figure::Density { x: [0.0, right], y: [0.0, top], columns: COLUMNS, values };
    let dots: Vec<[f64; 2]> = looked.modes.iter().map(|mode| [mode.degree.log10(), mode.homophily]).collect();
    let (x, y) = (Axis::linear("log10 degree").range(0.0, right), Axis::linear("homophily").range(0.0, top));
    Plot::new(looked.dataset.clone(), x, y).density("nodes", &drawn).dots("mode", &dots)
}

fn marginals(looked: &Looked) -> [Plot; 2] {
    let plot = |axis: &str, line: &[[f64; 2]]| {
        Plot::new(looked.dataset.clone(), Axis::linear(axis), Axis::linear("density")).line("", line)
    };
    [plot("log10 degree", &looked.density.of_degree()), plot("homophily", &looked.density.of_homophily())]
}

/// A row for each mode.
fn sheet(all: &[Looked]) -> Sheet {
    let each =
        || all.iter().flat_map(|looked| looked.modes.iter().zip(1..).map(move |(mode, number)| (looked, mode, number)));
    let texts = |(looked, mode, number): (&Looked, &Mode, usize)| {
        let texts = vec![
            looked.dataset.clone(),
            format!("{number} of {}", looked.modes.len()),
            format!("{:.1}", mode.degree),
            format!("{:.2}", mode.homophily),
            format!("{:.2}", mode.height),
            mode.valley.map_or_else(|| "-".to_owned(), |valley| format!("{valley:.2}")),
            format!("{:.0} %", 100.0 * mode.share),
            if looked.mixture { "yes" } else { "no" }.to_owned(),
        ];
        (Tone::Plain, texts)
    };
    let numbers = |(looked, mode, number): (&Looked, &Mode, usize)| {
        let valley = mode.valley.map_or_else(String::new, |valley| valley.to_string());
        let mut row = vec![looked.dataset.clone(), looked.nodes.to_string(), number.to_string()];
        row.extend([mode.degree, mode.homophily, mode.height].map(|value| value.to_string()));
        row.extend([valley, mode.share.to_string(), looked.mixture.to_string()]);
        row.extend(looked.bandwidth.map(|value| value.to_string()));
        row
    };
    Sheet {
        title: "Modes of degree and homophily".into(),
        header: ["dataset", "mode", "degree", "homophily", "height", "valley", "nodes", "mixture"]
            .map(Into::into)
            .into(),
        rows: each().map(texts).collect(),
        csv_header:
            "dataset,nodes,mode,degree,homophily,height,valley,share,mixture,bandwidth_degree,bandwidth_homophily"
                .into(),
        csv_rows: each().map(numbers).collect(),
        notes: Vec::new(),
    }
}
