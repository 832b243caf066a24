//! Implementation of `supergat profile`.

use crate::args::ProfileArgs;
use crate::config::Choices;
use crate::error::{CliError, Result};
use crate::output;
use crate::process::fit::{Fit, Place};
use crate::process::{processes, resources};
use crate::status_line::StatusLine;
use serde::Serialize;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use supergat::{DEFAULT_MODEL, Dataset};
use supergat_cluster::peers::{Peers, gather_one};
use supergat_core::Form;
use supergat_data::RandomGraph;
use supergat_train::{Divided, KernelTiming, Profile, Resources, memory, profile};

/// Timings printed by `--json`.
#[derive(Debug, Serialize)]
struct ProfileOutput {
    schema: u32,
    peer: &'static str,
    model: String,
    form: Option<&'static str>,
    data: String,
    device: String,
    processes: usize,
    /// Threads of each process.
    threads: usize,
    nodes: usize,
    edges: usize,
    epochs: u32,
    node_order: &'static str,
    /// Time to read or generate the dataset.
    load_ms: f64,
    #[serde(flatten)]
    timing: Profile,
    /// Largest peak of all processes.
    peak_rss_mib: Option<u64>,
}

/// Measures the time of training steps and evaluation passes.
pub fn run(args: ProfileArgs, peers: Arc<dyn Peers>) -> Result<ExitCode> {
    let mut options = args.options.0;
    options.entry("model").or_insert(DEFAULT_MODEL.to_string().into());
    let choices = Choices::new(options, None)?;
    choices.refuse_all_splits()?;
    let source = match &args.random {
        Some(spec) => random_graph(spec)?,
        None => choices.dataset().to_owned(),
    };
    let resources = resources(args.threads, args.device, false)?;
    let place = Place::find(resources)?;
    place.check_source(&source)?;
    let started = Instant::now();
    let work = match peers.count() {
        1 => Work::Whole(load(&source, &choices)?),
        _ => Work::open(&source, &choices, &resources, &peers)?,
    };
    let load_ms = 1000.0 * started.elapsed().as_secs_f64();
    let resolved = choices.resolve(&choices.builder(resources)?.choose(work.dataset())?)?;
    let (settings, epochs, seed) = (&resolved.settings, args.epochs as usize, resolved.seed);
    if let Work::Whole(dataset) = &work {
        Fit::of(dataset, &resolved, &place, 0, None, false)?.check()?;
    }
    let timing = match &work {
        Work::Whole(dataset) => profile(dataset, settings, epochs, resources, seed)?,
        Work::Divided { divided, .. } => divided.profile(settings, epochs, resources.threads, seed)?,
    };
    let [nodes, edges] = work.size();
    let peak = memory::usage().map_or(0, |usage| usage.peak >> 20);
    let peak = gather_one(&*peers, peak)?.into_iter().max().filter(|peak| *peak > 0);
    if peers.rank() > 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let measured = ProfileOutput {
        schema: 1,
        peer: "supergat",
        model: settings.model.to_string(),
        form: settings.model.form().map(Form::name),
        data: source,
        device: resources.device.to_string(),
        processes: peers.count(),
        threads: resources.threads,
        nodes,
        edges,
        epochs: args.epochs,
        node_order: work.node_order(),
        load_ms,
        timing,
        peak_rss_mib: peak,
    };
    output::print_result(args.json, &measured, || table(&measured))
}

/// Number of nodes, links and feature values of a generated graph from which on it is announced.
const MANY: usize = 50_000_000;

/// Loads the dataset, and shows that a large graph is being generated.
fn load(source: &str, choices: &Choices) -> Result<Dataset> {
    let graph = source.parse::<RandomGraph>().ok();
    let is_large = graph.is_some_and(|graph| graph.nodes.saturating_mul(graph.degree + graph.features) >= MANY);
    let status = StatusLine::with_spinner(!is_large);
    if let Some(graph) = graph {
        let links = graph.nodes.saturating_mul(graph.degree) / 2;
        let text = format!("generating {} nodes and about {links} links", graph.nodes);
        match status.bar() {
            Some(bar) => bar.enable_steady_tick(Duration::from_millis(200)),
            None => status.line(&text),
        }
        status.show(&text);
    }
    let dataset = supergat_data::load_with(source, &choices.load_options()?);
    status.finish();
    Ok(dataset?)
}

/// Subject of the measurement: a dataset, or the share of this process of a divided one.
enum Work {
    Whole(Dataset),
    Divided { divided: Divided, size: [usize; 2] },
}

impl Work {
    /// Reads the share of this process.
    fn open(source: &str, choices: &Choices, resources: &Resources, peers: &Arc<dyn Peers>) -> Result<Self> {
        processes::refuse_other_options("profile", choices, resources)?;
        let file = processes::open_parts(source, &**peers)?;
        processes::agree(&**peers, &file)?;
        let graphs = (0..file.graphs()).map(|k| file.graph(k));
        let size = graphs.fold([0, 0], |[n, e], graph| [n + graph.nodes(), e + graph.edges() - graph.nodes()]);
        Ok(Self::Divided { divided: Divided::read(&file, Arc::clone(peers))?, size })
    }

    fn dataset(&self) -> &Dataset {
        match self {
            Self::Whole(dataset) => dataset,
            Self::Divided { divided, .. } => divided.outline(),
        }
    }

    fn node_order(&self) -> &'static str {
        match self {
            Self::Whole(dataset) => dataset.node_order(),
            Self::Divided { .. } => "parts",
        }
    }

    /// Returns the numbers of nodes and of directed edges.
    fn size(&self) -> [usize; 2] {
        match self {
            Self::Whole(dataset) => {
                let edges = dataset.examples.iter().map(|e| e.graph.edges() - e.graph.nodes()).sum();
                [dataset.nodes(), edges]
            }
            Self::Divided { size, .. } => *size,
        }
    }
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

fn table(measured: &ProfileOutput) -> String {
    let ProfileOutput { model, data, device, processes, threads, nodes, edges, epochs, timing, .. } = measured;
    let threads = output::count(*threads, "thread");
    let workers = match processes {
        1 => threads,
        _ => format!("{processes} processes of {threads}"),
    };
    let sent = timing.sent_bytes.iter().max().filter(|bytes| **bytes > 0);
    let sent = sent.map_or_else(String::new, |bytes| format!("  sent in a step {:>9.1} MB\n", *bytes as f64 / 1e6));
    let row = |name: &str, timing: &supergat_train::Timing| {
        format!("  {name:<12}{:>12.3}{:>12.3}\n", timing.min, timing.median)
    };
    let memory = measured.peak_rss_mib.map_or_else(|| "unknown".to_owned(), |mib| format!("{mib} MiB"));
    format!(
        "{model} on {data}: {nodes} nodes, {edges} directed edges, {device}, {workers}, {}, ",
        output::count(*epochs as usize, "epoch")
    ) + &format!("node order {}\n", measured.node_order)
        + &format!("  {:<12}{:>12}{:>12}\n", "ms", "min", "median")
        + &row("training", &timing.train_ms)
        + &row("evaluation", &timing.eval_ms)
        + &format!("  loading {:>16.3}\n  peak memory {memory}\n{sent}\n", measured.load_ms)
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
