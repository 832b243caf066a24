//! Implementation of `supergat study density`.

use super::write;
use crate::args::DensityArgs;
use crate::error::{CliError, Result};
use crate::files::probe;
use crate::output::{self, SCHEMA, count};
use serde::Serialize;
use std::process::ExitCode;
use supergat_figure::sheet::{Sheet, csv, exact, markdown, or_dash};
use supergat_figure::{Axis, Page, Plot, Tone, panels};
use supergat_select::recommend::map::density::{COLUMNS, Density, points};
use supergat_select::recommend::map::mixture::{Mode, is_mixture, modes};

/// Result printed by `--json`.
#[derive(Debug, Serialize)]
struct DensityOutput<'a> {
    schema: u32,
    datasets: &'a [DatasetDensity],
    folder: String,
}

/// Density of a dataset and its modes.
#[derive(Debug, Serialize)]
struct DatasetDensity {
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
        let estimated = estimate(source)?;
        if !args.quiet {
            let verdict = if estimated.mixture { ", a mixture" } else { "" };
            output::note(&format!("{}: {}{verdict}", estimated.dataset, count(estimated.modes.len(), "mode")));
        }
        all.push(estimated);
    }
    let sheet = sheet(&all);
    let text = markdown(std::slice::from_ref(&sheet));
    let figure = panels("Degree and homophily of nodes", 3, &all.iter().map(plane).collect::<Vec<_>>());
    let marginal_figure =
        panels("Degree and homophily, each alone", 4, &all.iter().flat_map(marginals).collect::<Vec<_>>());
    let page = Page::new("Degree and homophily of nodes", "Densities and their modes")
        .figure(
            &figure,
            "Square root of the density of nodes by degree and homophily. Dots are modes. Nodes whose only neighbour has another class are excluded.",
        )
        .section(&sheet.title)
        .toned_table(&sheet.header, &sheet.rows)
        .section("Each alone")
        .figure(&marginal_figure, "Densities of log10 of the degree and of homophily.")
        .section("Command")
        .code(&format!("supergat study density {}", args.datasets.join(" ")))
        .html();
    let files = [
        ("table.md", text.clone()),
        ("table.csv", csv(&sheet)),
        ("density.svg", figure),
        ("marginals.svg", marginal_figure),
    ];
    write(&args.out, files.into_iter().chain([("report.html", page)]), args.quiet)?;
    let printed = DensityOutput { schema: SCHEMA, datasets: &all, folder: args.out.display().to_string() };
    output::print_result(args.json, &printed, || text)
}

/// Loads a dataset, and estimates its density and modes.
fn estimate(source: &str) -> Result<DatasetDensity> {
    let dataset = supergat_data::load(source)?;
    let density = Density::of(&points(&dataset)).ok_or_else(|| {
        CliError::usage(format!("{source}: no node has a labelled neighbour, so homophily is undefined; expected a labelled graph with links"))
    })?;
    let modes = modes(&density);
    let (nodes, bandwidth, mixture) = (density.nodes, density.bandwidth, is_mixture(&modes));
    Ok(DatasetDensity { dataset: dataset.name, nodes, bandwidth, modes, mixture, density })
}

/// Plots the density over degree and homophily.
fn plane(estimated: &DatasetDensity) -> Plot {
    let density = &estimated.density;
    let end = |centres: &[f64]| centres[0] + centres[centres.len() - 1];
    let (right, top) = (end(&density.degrees), end(&density.homophilies));
    // The square root makes low densities visible next to high peaks.
    let values = density.values.iter().map(|value| value.sqrt()).collect();
    let drawn = supergat_figure::Density { x: [0.0, right], y: [0.0, top], columns: COLUMNS, values };
    let dots: Vec<[f64; 2]> = estimated.modes.iter().map(|mode| [mode.degree.log10(), mode.homophily]).collect();
    let (x, y) = (Axis::linear("log10 degree").range(0.0, right), Axis::linear("homophily").range(0.0, top));
    Plot::new(estimated.dataset.clone(), x, y).density("nodes", &drawn).dots("mode", &dots)
}

/// Plots the densities of degree and of homophily.
fn marginals(estimated: &DatasetDensity) -> [Plot; 2] {
    let plot = |axis: &str, line: &[[f64; 2]]| {
        Plot::new(estimated.dataset.clone(), Axis::linear(axis), Axis::linear("density")).line("", line)
    };
    [plot("log10 degree", &estimated.density.of_degree()), plot("homophily", &estimated.density.of_homophily())]
}

/// Builds the table, with one row per mode.
fn sheet(all: &[DatasetDensity]) -> Sheet {
    let each = || {
        all.iter()
            .flat_map(|estimated| estimated.modes.iter().zip(1..).map(move |(mode, number)| (estimated, mode, number)))
    };
    let texts = |(estimated, mode, number): (&DatasetDensity, &Mode, usize)| {
        let texts = vec![
            estimated.dataset.clone(),
            format!("{number} of {}", estimated.modes.len()),
            format!("{:.1}", mode.degree),
            format!("{:.2}", mode.homophily),
            format!("{:.2}", mode.height),
            or_dash(mode.valley.map(|valley| format!("{valley:.2}"))),
            format!("{:.0} %", 100.0 * mode.share),
            if estimated.mixture { "yes" } else { "no" }.to_owned(),
        ];
        (Tone::Plain, texts)
    };
    let numbers = |(estimated, mode, number): (&DatasetDensity, &Mode, usize)| {
        let mut row = vec![estimated.dataset.clone(), estimated.nodes.to_string(), number.to_string()];
        row.extend([mode.degree, mode.homophily, mode.height].map(|value| value.to_string()));
        row.extend([exact(mode.valley), mode.share.to_string(), estimated.mixture.to_string()]);
        row.extend(estimated.bandwidth.map(|value| value.to_string()));
        row
    };
    let header = ["dataset", "mode", "degree", "homophily", "height", "valley", "nodes", "mixture"];
    let csv_header =
        "dataset,nodes,mode,degree,homophily,height,valley,share,mixture,bandwidth_degree,bandwidth_homophily";
    Sheet::new("Modes of degree and homophily", header, each().map(texts)).with_csv(csv_header, each().map(numbers))
}
