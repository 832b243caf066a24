//! Implementation of `supergat partition`.

use crate::args::PartitionArgs;
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, SCHEMA, row};
use serde::Serialize;
use std::process::ExitCode;
use supergat::Dataset;
use supergat_numerics::locality::{PartitionQuality, partition};

/// Sizes and quality of the parts, printed by `--json`.
#[derive(Debug, Serialize)]
struct PartitionOutput {
    schema: u32,
    dataset: String,
    file: String,
    parts: usize,
    seconds: f64,
    graphs: Vec<PartitionQuality>,
}

/// Divides a dataset into parts and writes it to a file.
pub fn run(args: &PartitionArgs) -> Result<ExitCode> {
    if args.out.extension().is_none_or(|extension| extension != "safetensors") {
        let out = args.out.display();
        return Err(CliError::usage(format!("--out {out}: the name of the file must end in .safetensors")));
    }
    let started = std::time::Instant::now();
    let mut dataset = supergat_data::load_with(&args.source, &args.reading.load_options()?)?;
    let graphs = divide(&mut dataset, args.parts)?;
    supergat_data::convert(&dataset, &args.out)?;
    let written = PartitionOutput {
        schema: SCHEMA,
        dataset: dataset.name.clone(),
        file: args.out.display().to_string(),
        parts: args.parts,
        seconds: started.elapsed().as_secs_f64(),
        graphs,
    };
    output::print_result(args.json, &written, || table(&written))
}

/// Gives every graph of a dataset an order with this number of parts. Returns their quality.
pub fn divide(dataset: &mut Dataset, parts: usize) -> Result<Vec<PartitionQuality>> {
    let mut qualities = Vec::new();
    for example in &mut dataset.examples {
        let order =
            partition(&example.graph, parts).map_err(|error| CliError::usage(format!("--parts {parts}: {error}")))?;
        qualities.push(PartitionQuality::new(&example.graph, &order));
        example.order = Some(order.into());
    }
    Ok(qualities)
}

fn table(written: &PartitionOutput) -> String {
    let PartitionOutput { dataset, file, parts, seconds, graphs, .. } = written;
    let mean = |value: &dyn Fn(&PartitionQuality) -> f64| graphs.iter().map(value).sum::<f64>() / graphs.len() as f64;
    let largest = |value: &dyn Fn(&PartitionQuality) -> f64| graphs.iter().map(value).fold(0.0, f64::max);
    let halo = |quality: &PartitionQuality| quality.halos.iter().sum::<u64>() as f64 / quality.halos.len() as f64;
    let largest_halo = |quality: &PartitionQuality| quality.halos.iter().max().copied().unwrap_or(0) as f64;
    let of_graphs = if graphs.len() > 1 { format!(" of {} graphs", graphs.len()) } else { String::new() };
    let mut text = format!("{BOLD}{dataset} in {parts} parts{of_graphs}{BOLD:#}\n");
    text += &row("edge cut", &format!("{:.1} %", 100.0 * mean(&|q| q.edge_cut)), "of the edges are between parts");
    text += &row("halo", &format!("{:.0}", mean(&halo)), &format!("nodes, at most {:.0}", largest(&largest_halo)));
    let balance = format!("{:.2}", largest(&|q| q.node_balance));
    text += &row("balance", &balance, &format!("of nodes, {:.2} of edges", largest(&|q| q.edge_balance)));
    text += &row("seconds", &format!("{seconds:.1}"), "");
    text + &row("file", file, "")
}
