//! Implementation of `supergat bench`.

use crate::args::BenchArgs;
use crate::config::Choices;
use crate::error::{CliError, Result};
use crate::output;
use crate::process::memory;
use crate::process::{NO_TF32, is_tf32_unused, resources};
use serde::Serialize;
use std::process::ExitCode;
use std::time::Instant;
use supergat::DEFAULT_MODEL;
use supergat::engine::Form;
use supergat::lab::{BenchResult, KernelTiming, bench};

/// Timings printed by `--json`.
#[derive(Debug, Serialize)]
struct BenchOutput {
    schema: u32,
    peer: &'static str,
    model: String,
    form: Option<&'static str>,
    data: String,
    device: String,
    threads: usize,
    nodes: usize,
    edges: usize,
    epochs: u32,
    /// Time to read or generate the dataset.
    load_ms: f64,
    #[serde(flatten)]
    timing: BenchResult,
    peak_rss_mib: Option<u64>,
}

/// Measures the time of training steps and evaluation passes.
pub fn run(args: BenchArgs) -> Result<ExitCode> {
    let mut options = args.options.0;
    options.entry("model").or_insert(DEFAULT_MODEL.into());
    let choices = Choices::new(options, None)?;
    choices.refuse_all_splits()?;
    let source = match &args.random {
        Some(spec) => random_graph(spec)?,
        None => choices.dataset().to_owned(),
    };
    let resources = resources(args.threads, args.device)?;
    if is_tf32_unused(&resources) {
        output::note(NO_TF32);
    }
    let started = Instant::now();
    let dataset = supergat::data::load_with(&source, &choices.load_options()?)?;
    let load_ms = 1000.0 * started.elapsed().as_secs_f64();
    let resolved = choices.resolve(&choices.choose(&dataset)?)?;
    let timing = bench(&dataset, &resolved.settings, args.epochs as usize, resources, resolved.seed)?;
    let measured = BenchOutput {
        schema: 1,
        peer: "supergat",
        model: resolved.settings.model.to_string(),
        form: resolved.settings.model.form().map(Form::name),
        data: source,
        device: resources.device.to_string(),
        threads: resources.threads,
        nodes: dataset.nodes(),
        edges: dataset.examples.iter().map(|example| example.graph.edges() - example.graph.nodes()).sum(),
        epochs: args.epochs,
        load_ms,
        timing,
        peak_rss_mib: memory::usage().map(|usage| usage.peak >> 20),
    };
    if args.json {
        output::print_json(&measured)?;
    } else {
        output::print(&table(&measured))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Converts `nodes,degree,features,classes[,skew]` to the specification of a generated graph.
fn random_graph(spec: &str) -> Result<String> {
    let parts: Vec<&str> = spec.split(',').collect();
    match parts[..] {
        [nodes, degree, features, classes] => {
            Ok(format!("random-graph:nodes={nodes},degree={degree},features={features},classes={classes}"))
        }
        [nodes, degree, features, classes, skew] => {
            Ok(format!("random-graph:nodes={nodes},degree={degree},features={features},classes={classes},skew={skew}"))
        }
        _ => Err(CliError::usage(format!(
            "--random {spec}: expected nodes,degree,features,classes and optionally a skew, found {} parts",
            parts.len()
        ))),
    }
}

fn table(measured: &BenchOutput) -> String {
    let BenchOutput { model, data, device, threads, nodes, edges, epochs, timing, .. } = measured;
    let row = |name: &str, timing: &supergat::lab::Timing| {
        format!("  {name:<12}{:>12.3}{:>12.3}\n", timing.min, timing.median)
    };
    let memory = measured.peak_rss_mib.map_or_else(|| "unknown".to_owned(), |mib| format!("{mib} MiB"));
    format!("{model} on {data}: {nodes} nodes, {edges} directed edges, {device}, {threads} threads, {epochs} epochs\n")
        + &format!("  {:<12}{:>12}{:>12}\n", "ms", "min", "median")
        + &row("training", &timing.train_ms)
        + &row("evaluation", &timing.eval_ms)
        + &format!("  loading {:>16.3}\n  peak memory {memory}\n\n", measured.load_ms)
        + &format!("  {:<28}{:>6}{:>12}{:>12}{:>9}\n", "in a training step", "calls", "min", "median", "share")
        + &timing.kernels.iter().map(|kernel| kernel_row(kernel, timing.train_ms.median)).collect::<String>()
}

fn kernel_row(kernel: &KernelTiming, step: f64) -> String {
    let KernelTiming { name, calls, ms } = kernel;
    let share = 100.0 * ms.median / step;
    format!("  {name:<28}{calls:>6}{:>12.3}{:>12.3}{share:>8.1}%\n", ms.min, ms.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_takes_four_or_five_numbers() {
        assert_eq!(random_graph("9,2,3,4").unwrap(), "random-graph:nodes=9,degree=2,features=3,classes=4");
        assert!(random_graph("9,2,3,4,2.5").unwrap().ends_with("skew=2.5"));
        assert!(random_graph("9,2,3").is_err());
    }
}
