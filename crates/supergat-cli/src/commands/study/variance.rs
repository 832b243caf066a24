//! Implementation of `supergat study variance`.

use super::{with_tables, write};
use crate::args::VarianceArgs;
use crate::error::Result;
use crate::files::probe;
use crate::output::{self, SCHEMA};
use crate::sweep;
use serde::Serialize;
use std::process::ExitCode;
use supergat_core::ModelKind;
use supergat_data::Dataset;
use supergat_figure::sheet::{Sheet, csv, markdown};
use supergat_figure::{Axis, Page, Plot, Tone, panels};
use supergat_numerics::statistics::Summary;
use supergat_studies::variance::{Case, LayerVariances, VarianceEstimate, Varied, cases, layer_variances};
use supergat_train::Settings;

/// Number of layers of the measured models, as in the paper.
const LAYERS: usize = 4;
const MODELS: [&str; 2] = ["gat-go", "gat-dp"];

/// Result printed by `--json`.
#[derive(Debug, Serialize)]
struct VarianceOutput {
    schema: u32,
    trials: u32,
    simulation: Vec<Case>,
    dataset: String,
    network: Vec<Network>,
    folder: String,
}

/// Model and the variance of its attention.
#[derive(Debug, Serialize)]
struct Network {
    model: String,
    /// One entry per seed.
    runs: Vec<LayerVariances>,
}

/// Runs the simulation, trains the models, and writes figures and tables.
pub fn run(args: &VarianceArgs) -> Result<ExitCode> {
    let resources = sweep::resources(&args.sweep)?;
    let dataset = supergat_data::load(&args.dataset)?;
    probe(&args.out)?;
    let mut simulation = Vec::new();
    for varied in Varied::ALL {
        args.sweep.note(&format!(
            "simulating: {} varied, {} per value",
            varied.name(),
            output::count(args.trials as usize, "trial")
        ));
        simulation.extend(cases(varied, args.trials, args.seed));
    }
    let mut network = Vec::new();
    for name in MODELS {
        let settings = settings(&dataset, name.parse().expect("a known model"));
        let mut runs = Vec::new();
        for seed in 0..args.seeds {
            args.sweep.note(&format!("training {name} with {LAYERS} layers on {}, seed {seed}", dataset.name));
            runs.push(layer_variances(&dataset, &settings, seed, resources)?);
        }
        network.push(Network { model: name.to_owned(), runs });
    }
    let (name, folder) = (dataset.name.clone(), args.out.display().to_string());
    let study = VarianceOutput { schema: SCHEMA, trials: args.trials, simulation, dataset: name, network, folder };
    let sheets = [simulated(&study.simulation), layers(&study)];
    let text = markdown(&sheets);
    let (formulas, depth) = (formula_figure(&study.simulation), depth_figure(&study));
    let page = page(args, &sheets, &formulas, &depth);
    let files = [("table.md", text.clone()), ("table.csv", csv(&sheets[0])), ("layers.csv", csv(&sheets[1]))];
    let figures = [("variance-formula.svg", formulas), ("variance-layers.svg", depth), ("report.html", page)];
    write(&args.out, files.into_iter().chain(figures), args.sweep.quiet)?;
    output::print_result(args.sweep.json, &study, || text)
}

/// Returns the published settings of the four-layer model, or the general settings with four layers.
fn settings(dataset: &Dataset, model: ModelKind) -> Settings {
    let published = Settings::published_for("node-4-layer", dataset.preset.as_deref().unwrap_or_default(), model);
    published.unwrap_or_else(|| Settings::general(model).with(|s| s.network.layers = LAYERS))
}

/// Builds the table of simulated and computed variances.
fn simulated(cases: &[Case]) -> Sheet {
    let text = |estimate: &VarianceEstimate| {
        format!("{:.4} ± {:.4}", estimate.variance, estimate.variance - estimate.interval()[0])
    };
    let row = |case: &Case| {
        let texts = vec![
            case.varied.name().to_owned(),
            case.value.to_string(),
            text(&case.go),
            format!("{:.4}", case.go_formula),
            text(&case.dp),
            format!("{:.4}", case.dp_formula),
            format!("{:.4}", case.dp_bound),
        ];
        (Tone::Plain, texts)
    };
    let numbers = |case: &Case| {
        let Case { go, dp, .. } = case;
        let values =
            [case.value, go.variance, go.error, case.go_formula, dp.variance, dp.error, case.dp_formula, case.dp_bound];
        std::iter::once(case.varied.name().to_owned()).chain(values.map(|value| value.to_string())).collect()
    };
    let inside = |estimate: &VarianceEstimate, formula: f64| {
        let [low, high] = estimate.interval();
        usize::from(low <= formula && formula <= high)
    };
    let agree: usize =
        cases.iter().map(|case| inside(&case.go, case.go_formula) + inside(&case.dp, case.dp_formula)).sum();
    let title = "Variance of unnormalised attention, simulated and by formula";
    let header = ["varied", "value", "GO simulated", "GO formula", "DP simulated", "DP exact", "DP bound"];
    let csv_header = "varied,value,go,go_error,go_formula,dp,dp_error,dp_formula,dp_bound";
    let note = format!(
        "± is half the width of the 95 % interval. {agree} of {} formulas lie within it; 95 % are expected.",
        2 * cases.len()
    );
    Sheet::new(title, header, cases.iter().map(row)).with_csv(csv_header, cases.iter().map(numbers)).with_notes([note])
}

/// Returns the geometric mean over seeds of a layer's variance, and the ends of its 95 % interval.
fn over_seeds(network: &Network, layer: usize, trained: bool) -> [f64; 3] {
    let exponent = |run: &LayerVariances| if trained { run.after[layer].log10() } else { run.before[layer].log10() };
    let summary = Summary::of(network.runs.iter().map(exponent).collect());
    let [low, high] = summary.interval().map_or([summary.mean; 2], |interval| [interval.low, interval.high]);
    [summary.mean, low, high].map(|exponent| 10f64.powf(exponent))
}

/// Returns the number of layers.
fn depth(network: &Network) -> usize {
    network.runs.first().map_or(0, |run| run.before.len())
}

/// Builds the table of the variance in every layer.
fn layers(study: &VarianceOutput) -> Sheet {
    let rows = study.network.iter().flat_map(|network| {
        (0..depth(network)).map(move |layer| {
            let text = |trained| {
                let [mean, low, high] = over_seeds(network, layer, trained);
                format!("{} ({} to {})", three_digits(mean), three_digits(low), three_digits(high))
            };
            (Tone::Plain, vec![network.model.clone(), (layer + 1).to_string(), text(false), text(true)])
        })
    });
    let numbers = study.network.iter().flat_map(|network| {
        network.runs.iter().zip(0..).flat_map(move |(run, seed): (&LayerVariances, u64)| {
            (0..run.before.len()).map(move |layer| {
                let values = [run.before[layer], run.after[layer], run.test].map(|value| value.to_string());
                [network.model.clone(), seed.to_string(), (layer + 1).to_string()].into_iter().chain(values).collect()
            })
        })
    });
    let title = format!("Variance of unnormalised attention over edges and heads, {}", study.dataset);
    Sheet::new(title, ["model", "layer", "before training", "after training"], rows)
        .with_csv("model,seed,layer,before,after,test", numbers)
        .with_notes(["Geometric mean over seeds, with Student's 95 % interval of its logarithm."])
}

/// Formats a number with three significant digits or more.
fn three_digits(value: f64) -> String {
    if (0.01..1000.0).contains(&value) {
        format!("{:.1$}", value, if value < 10.0 { 3 } else { 1 })
    } else {
        format!("{value:.2e}")
    }
}

/// Plots simulated variances and formulas.
fn formula_figure(cases: &[Case]) -> String {
    let mut plots = Vec::new();
    for varied in Varied::ALL {
        let varied_cases = || cases.iter().filter(move |case| case.varied == varied);
        let axis =
            || if varied == Varied::Correlation { Axis::linear(varied.name()) } else { Axis::log(varied.name()) };
        let line =
            |formula: fn(&Case) -> f64| varied_cases().map(|case| [case.value, formula(case)]).collect::<Vec<_>>();
        let plot = |form: &str, estimate: fn(&Case) -> VarianceEstimate| {
            let intervals: Vec<[f64; 3]> = varied_cases()
                .map(|case| (case.value, estimate(case).interval()))
                .map(|(x, [low, high])| [x, low, high])
                .collect();
            let dots: Vec<[f64; 2]> = varied_cases().map(|case| [case.value, estimate(case).variance]).collect();
            let plot =
                Plot::new(format!("{form}, by {}", varied.name()), axis(), Axis::log(format!("variance of e_{form}")));
            plot.series(&["exact", "simulated", "lower bound"])
                .intervals("simulated", &intervals)
                .dots("simulated", &dots)
        };
        plots.push(plot("GO", |case| case.go).faint_line("exact", &line(|case| case.go_formula)));
        let dp = plot("DP", |case| case.dp).faint_line("exact", &line(|case| case.dp_formula));
        plots.push(dp.faint_line("lower bound", &line(|case| case.dp_bound)));
    }
    panels("Variance of attention: the proposition and a simulation", 2, &plots)
}

/// Plots the variance by layer.
fn depth_figure(study: &VarianceOutput) -> String {
    let layers = study.network.iter().map(depth).max().unwrap_or(0);
    let title = format!("Variance of attention by layer, {}", study.dataset);
    let axis = Axis::categories("layer", (1..=layers).map(|layer| layer.to_string()));
    let mut plot = Plot::new(title, axis, Axis::log("variance of e over edges and heads"));
    for network in &study.network {
        for (trained, when) in [(false, "before training"), (true, "trained")] {
            let name = format!("{}, {when}", network.model);
            let all: Vec<[f64; 3]> = (0..depth(network)).map(|layer| over_seeds(network, layer, trained)).collect();
            let line: Vec<[f64; 2]> =
                all.iter().zip(0..).map(|([mean, ..], layer)| [f64::from(layer), *mean]).collect();
            let bands: Vec<[f64; 3]> =
                all.iter().zip(0..).map(|([_, low, high], layer)| [f64::from(layer), *low, *high]).collect();
            plot = plot.intervals(&name, &bands).line(&name, &line);
        }
    }
    plot.svg()
}

fn page(args: &VarianceArgs, sheets: &[Sheet; 2], formulas: &str, depth: &str) -> String {
    let page = Page::new("Variance of attention", "The proposition on GO and DP attention: a simulation, and models with four layers")
        .section("The proposition")
        .text("Dots are simulated, with 95 % intervals; lines are formulas. The proposition gives the variance of GO attention and a lower bound for DP attention.")
        .figure(formulas, "Variance of e over inputs, weights and attention vectors.")
        .section("In trained models")
        .figure(depth, "Variance of e over all edges and heads: geometric mean over seeds, with 95 % intervals.");
    let command = format!(
        "supergat study variance {} --trials {} --seeds {} --seed {}",
        args.dataset, args.trials, args.seeds, args.seed
    );
    with_tables(page, sheets).section("Command").code(&command).html()
}
