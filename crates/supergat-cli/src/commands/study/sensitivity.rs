//! Implementation of `supergat study sensitivity`.

use super::{METRICS_SCHEMA, write};
use crate::args::SensitivityArgs;
use crate::error::{CliError, Result, exit_code};
use crate::output;
use crate::sweep;
use serde::Serialize;
use std::process::ExitCode;
use supergat_figure::sheet::{Sheet, csv, markdown, or_dash};
use supergat_figure::{Axis, Page, Plot, Tone, panels};
use supergat_studies::sensitivity::{Curve, Hyperparameter, SensitivityPlan, SensitivityPoint};
use supergat_train::task::NodeClassification;

/// Result printed by `--json`.
#[derive(Debug, Serialize)]
struct SensitivityOutput<'a> {
    schema: u32,
    seeds: u64,
    curves: &'a [Curve],
    interrupted: bool,
    folder: String,
}

/// Trains the missing runs, and writes curves and tables.
pub fn run(args: &SensitivityArgs) -> Result<ExitCode> {
    if let Some(model) = args.model.filter(|model| !model.is_self_supervised()) {
        return Err(CliError::usage(format!(
            "--model {model}: it has no self-supervision to vary; expected a supergat model such as supergat-mx"
        )));
    }
    let resources = sweep::resources(&args.sweep)?;
    let plans = args.datasets.iter().map(|source| SensitivityPlan::new(source, args.model, args.seeds));
    let plans: Vec<SensitivityPlan> = plans.collect::<supergat_data::Result<_>>()?;
    let path = args.out.join("results.jsonl");
    let jobs = plans.iter().flat_map(|plan| plan.runs.jobs()).collect();
    let (results, outcome) = sweep::study(&NodeClassification, jobs, &path, resources, &args.sweep)?;
    let curves: Vec<Curve> = plans.iter().flat_map(|plan| plan.curves(&results)).collect();
    let sheets = [ranges(&curves), points(&curves)];
    let figures = figures(&curves);
    let mut files = vec![("table.md".to_owned(), markdown(&sheets)), ("table.csv".to_owned(), csv(&sheets[1]))];
    files.extend(figures.iter().map(|(dataset, svg)| (file_name(dataset), svg.clone())));
    files.push(("report.html".to_owned(), page(args, &figures, &sheets)));
    write(&args.out, files, args.sweep.quiet)?;
    let (interrupted, folder) = (outcome.interrupted, args.out.display().to_string());
    let printed = SensitivityOutput { schema: METRICS_SCHEMA, seeds: args.seeds, curves: &curves, interrupted, folder };
    output::print_result(args.sweep.json, &printed, || markdown(&sheets[..1]))?;
    Ok(exit_code(interrupted))
}

/// Builds the table with the range of the means of each curve.
fn ranges(curves: &[Curve]) -> Sheet {
    let header = ["dataset", "model", "varied", "published", "there", "lowest", "at", "highest", "at", "range"];
    let row = |curve: &Curve| {
        let [lowest, highest] = curve.extremes()?;
        let mean = |point: &SensitivityPoint| point.test.in_percent().mean;
        let at_published = or_dash(curve.at_published().map(|point| format!("{:.2}", mean(point))));
        let texts = vec![
            curve.dataset.clone(),
            curve.model.clone(),
            curve.hyperparameter.name().to_owned(),
            three_digits(curve.published),
            at_published,
            format!("{:.2}", mean(lowest)),
            three_digits(lowest.value),
            format!("{:.2}", mean(highest)),
            three_digits(highest.value),
            format!("{:.2}", mean(highest) - mean(lowest)),
        ];
        Some((Tone::Plain, texts))
    };
    Sheet::new("Range of mean test metrics, in percent", header, curves.iter().filter_map(row))
}

/// Builds the table of all points of all curves.
fn points(curves: &[Curve]) -> Sheet {
    let all = || curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)));
    let texts = |(curve, point): (&Curve, &SensitivityPoint)| {
        let mark = if point.value == curve.published { " (published)" } else { "" };
        let test = point.test.in_percent();
        let interval = or_dash(test.interval().ok().map(|i| format!("{:.2} to {:.2}", i.low, i.high)));
        let texts = vec![
            curve.dataset.clone(),
            curve.hyperparameter.name().to_owned(),
            three_digits(point.value) + mark,
            format!("{:.2} ± {:.2}", test.mean, test.std),
            interval,
            point.test.values.len().to_string(),
        ];
        (Tone::Plain, texts)
    };
    let numbers = |(curve, point): (&Curve, &SensitivityPoint)| {
        let Curve { dataset, model, metric, hyperparameter, published, .. } = curve;
        let ends = point.interval.map_or_else(Default::default, |i| [i.low, i.high].map(|end| end.to_string()));
        let mut row = vec![dataset.clone(), model.clone(), (*metric).to_owned(), hyperparameter.name().to_owned()];
        row.extend([point.value, *published, point.test.mean, point.test.std].map(|number| number.to_string()));
        row.extend(ends);
        row.push(point.test.values.len().to_string());
        row
    };
    let header = ["dataset", "varied", "value", "mean", "95 % interval", "n"];
    let csv_header = "dataset,model,metric,varied,value,published,mean,std,low,high,n";
    Sheet::new("Test metric at each value, in percent", header, all().map(texts))
        .with_csv(csv_header, all().map(numbers))
}

/// Plots one figure per dataset. Returns the datasets and the SVG texts.
fn figures(curves: &[Curve]) -> Vec<(String, String)> {
    let figure = |curves: &[Curve]| {
        let (dataset, model) = (&curves[0].dataset, &curves[0].model);
        let title = format!("{model} on {dataset}: each hyperparameter varied alone");
        (dataset.clone(), panels(&title, curves.len(), &curves.iter().map(plot).collect::<Vec<_>>()))
    };
    curves.chunk_by(|a, b| a.dataset == b.dataset).map(figure).collect()
}

fn plot(curve: &Curve) -> Plot {
    let axis = if curve.hyperparameter == Hyperparameter::LambdaE {
        Axis::log("lambda_E")
    } else {
        Axis::linear(curve.hyperparameter.name())
    };
    let line: Vec<[f64; 2]> = curve.points.iter().map(|point| [point.value, point.test.in_percent().mean]).collect();
    let interval =
        |point: &SensitivityPoint| point.test.in_percent().interval().ok().map(|i| [point.value, i.low, i.high]);
    let band: Vec<[f64; 3]> = curve.points.iter().filter_map(interval).collect();
    let plot = Plot::new("", axis, Axis::linear(format!("test {} (%)", curve.metric)));
    plot.series(&["mean and 95 % interval"])
        .band("mean and 95 % interval", &band)
        .line("mean and 95 % interval", &line)
        .mark_x(curve.published, "published")
}

/// Returns the file name of a dataset's figure. Characters of generated graphs that do not suit file names become `-`.
fn file_name(dataset: &str) -> String {
    let name: String = dataset.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    format!("sensitivity-{name}.svg")
}

fn page(args: &SensitivityArgs, figures: &[(String, String)], sheets: &[Sheet; 2]) -> String {
    let mut page = Page::new(
        "Sensitivity to self-supervision",
        "lambda_E, p_n and p_e, each varied alone around the published settings",
    );
    for (dataset, svg) in figures {
        page = page
            .section(dataset)
            .figure(svg, "Mean test metric over seeds with its 95 % interval; the dashed line is the published value.");
    }
    for sheet in sheets {
        page = page.section(&sheet.title).toned_table(&sheet.header, &sheet.rows);
    }
    let model = args.model.map_or_else(String::new, |model| format!(" --model {model}"));
    let command = format!("supergat study sensitivity {}{model} --seeds {}", args.datasets.join(" "), args.seeds);
    page.section("Command").code(&command).html()
}

/// Formats a number with three digits.
fn three_digits(value: f64) -> String {
    let digits = (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
