//! Implementation of `supergat study link-prediction`.

use super::{METRICS_SCHEMA, with_tables, write};
use crate::args::LinkPredictionArgs;
use crate::error::{CliError, Result, exit_code};
use crate::output;
use crate::sweep;
use serde::Serialize;
use std::process::ExitCode;
use supergat_core::{Form, ModelKind};
use supergat_figure::sheet::{Sheet, csv, markdown, or_dash, p_value};
use supergat_figure::{Axis, Page, Plot, Tone, panels};
use supergat_numerics::statistics::Summary;
use supergat_numerics::statistics::paired_t;
use supergat_studies::SeededRuns;
use supergat_studies::link_prediction::{LinkPrediction, LinkPredictionResult, plan, points};

const FIGURE: &str = "link-prediction.svg";
const CAPTION: &str =
    "Solid: AUC of held-out edges. Dashed: test metric of the nodes, on the right axis. Means over seeds.";

/// Result printed by `--json`.
#[derive(Debug, Serialize)]
struct LinkPredictionOutput<'a> {
    schema: u32,
    seeds: u64,
    points: &'a [LinkPredictionResult],
    interrupted: bool,
    folder: String,
}

/// Trains the missing runs, and writes the figure and the tables.
pub fn run(args: &LinkPredictionArgs) -> Result<ExitCode> {
    let resources = sweep::resources(&args.sweep)?;
    let plans = args.datasets.0.iter().map(|source| plan(source, &args.forms, &args.lambda_e.0, args.seeds));
    let plans: Vec<SeededRuns> = plans.collect::<supergat_data::Result<_>>()?;
    let path = args.out.join("results.jsonl");
    let jobs = plans.iter().flat_map(SeededRuns::jobs).collect();
    let (results, outcome) = sweep::study(&LinkPrediction, jobs, &path, resources, &args.sweep)?;
    let points: Vec<LinkPredictionResult> = plans.iter().flat_map(|plan| points(plan, &results)).collect();
    if points.is_empty() && !outcome.interrupted {
        return Err(CliError::job(format!("no edges could be predicted; see the errors in {}", path.display())));
    }
    let sheets = [dp_and_go(&points), all_results(&points)];
    let svg = figure(&plans, &points);
    let files = [
        (FIGURE, svg.clone()),
        ("table.md", markdown(&sheets)),
        ("table.csv", csv(&sheets[1])),
        ("report.html", page(args, &svg, &sheets)),
    ];
    write(&args.out, files, args.sweep.quiet)?;
    let (interrupted, folder) = (outcome.interrupted, args.out.display().to_string());
    let printed =
        LinkPredictionOutput { schema: METRICS_SCHEMA, seeds: args.seeds, points: &points, interrupted, folder };
    output::print_result(args.sweep.json, &printed, || markdown(&sheets))?;
    Ok(exit_code(interrupted))
}

/// Compares DP with GO at each weight, in pairs of the same seed and held-out edges.
fn dp_and_go(points: &[LinkPredictionResult]) -> Sheet {
    let model = |form| ModelKind::Attention { form, self_supervised: true };
    let row = |go: &LinkPredictionResult| {
        let dp = points
            .iter()
            .find(|dp| (&dp.dataset, dp.lambda_e, dp.model) == (&go.dataset, go.lambda_e, model(Form::Dp)))?;
        let paired = (dp.seeds == go.seeds).then(|| paired_t(&dp.auc.values, &go.auc.values).ok()).flatten();
        let row = vec![
            go.dataset.clone(),
            go.lambda_e.to_string(),
            mean_and_deviation(&go.auc, 3),
            mean_and_deviation(&dp.auc, 3),
            format!("{:+.3}", dp.auc.mean - go.auc.mean),
            or_dash(paired.map(|test| p_value(test.p))),
            go.auc.values.len().to_string(),
        ];
        Some((Tone::Plain, row))
    };
    let rows = points.iter().filter(|point| point.model == model(Form::Go)).filter_map(row);
    Sheet::new("AUC of DP against GO", ["dataset", "lambda_E", "GO", "DP", "DP - GO", "p", "n"], rows)
        .with_notes(["Mean ± standard deviation over n seeds; p is the p-value of the paired t-test."])
}

/// Builds the table of all results.
fn all_results(points: &[LinkPredictionResult]) -> Sheet {
    let row = |point: &LinkPredictionResult| {
        let row = vec![
            point.dataset.clone(),
            point.model.to_string(),
            point.lambda_e.to_string(),
            mean_and_deviation(&point.auc, 3),
            mean_and_deviation(&point.average_precision, 3),
            mean_and_deviation(&point.test.in_percent(), 1),
            point.auc.values.len().to_string(),
        ];
        (Tone::Plain, row)
    };
    let numbers = |point: &LinkPredictionResult| {
        let mut row = vec![point.dataset.clone(), point.model.to_string(), point.lambda_e.to_string()];
        for summary in [&point.auc, &point.average_precision, &point.test] {
            row.extend([summary.mean, summary.std].map(|number| number.to_string()));
        }
        row.push(point.auc.values.len().to_string());
        row
    };
    let header = ["dataset", "model", "lambda_E", "AUC", "average precision", "nodes (%)", "n"];
    let csv_header = "dataset,model,lambda_e,auc,auc_std,average_precision,average_precision_std,test,test_std,n";
    Sheet::new("Link prediction and node classification", header, points.iter().map(row))
        .with_csv(csv_header, points.iter().map(numbers))
        .with_notes([
            "Mean ± standard deviation over n seeds; nodes: test accuracy, or micro-F1 if a node may have several labels.",
        ])
}

/// Plots one panel per dataset.
fn figure(plans: &[SeededRuns], points: &[LinkPredictionResult]) -> String {
    let plot = |plan: &SeededRuns| {
        let right = Axis::linear(format!("{} (%)", plan.metric));
        let empty = Plot::new(&plan.dataset, Axis::log("lambda_E"), Axis::linear("AUC")).right(right);
        let of_plan: Vec<&LinkPredictionResult> = points.iter().filter(|point| point.dataset == plan.dataset).collect();
        of_plan.chunk_by(|a, b| a.model == b.model).fold(empty, |plot, points| {
            let line =
                |y: fn(&LinkPredictionResult) -> f64| points.iter().map(|p| [p.lambda_e, y(p)]).collect::<Vec<_>>();
            let name = points[0].model.to_string();
            plot.line(&name, &line(|p| p.auc.mean)).line_right(&name, &line(|p| p.test.in_percent().mean))
        })
    };
    let plots: Vec<Plot> = plans.iter().map(plot).collect();
    panels("AUC and node classification against lambda_E", 2, &plots)
}

fn page(args: &LinkPredictionArgs, svg: &str, sheets: &[Sheet; 2]) -> String {
    let subtitle = "Held-out edges, predicted by the attention of the last layer";
    let page = with_tables(Page::new("Link prediction", subtitle).figure(svg, CAPTION), sheets);
    let forms: Vec<&str> = args.forms.iter().filter_map(|model| Some(model.form()?.name())).collect();
    let weights: Vec<String> = args.lambda_e.0.iter().map(f64::to_string).collect();
    let command = format!(
        "supergat study link-prediction --datasets {} --forms {} --lambda-e {} --seeds {}",
        args.datasets.0.join(","),
        forms.join(","),
        weights.join(","),
        args.seeds
    );
    page.section("Command").code(&command).html()
}

/// Formats a summary as `mean ± standard deviation`.
fn mean_and_deviation(summary: &Summary, digits: usize) -> String {
    format!("{:.digits$} ± {:.digits$}", summary.mean, summary.std)
}
