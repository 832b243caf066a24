//! `supergat study link-prediction`

use super::write;
use crate::args::LinkPredictionArgs;
use crate::error::{CliError, INTERRUPTED, Result};
use crate::output::{self, SCHEMA};
use crate::sweep;
use serde::Serialize;
use std::process::ExitCode;
use supergat_core::{Form, ModelKind};
use supergat_figure::{Axis, Page, Plot, Tone, panels};
use supergat_lab::Summary;
use supergat_lab::link_prediction::{LinkPrediction, Plan, Point};
use supergat_lab::sheet::{Sheet, csv, markdown};
use supergat_lab::statistics::paired_t;

const FIGURE: &str = "link-prediction.svg";
const CAPTION: &str =
    "Solid: AUC of held-out edges. Dashed: test metric of the nodes, on the right axis. Means over seeds.";

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Printed<'a> {
    schema: u32,
    seeds: u64,
    points: &'a [Point],
    interrupted: bool,
    folder: String,
}

/// Runs what is missing and writes figure and tables.
pub fn run(args: &LinkPredictionArgs) -> Result<ExitCode> {
    let plans = args.datasets.0.iter().map(|source| Plan::new(source, &args.forms, &args.lambda_e.0, args.seeds));
    let plans: Vec<Plan> = plans.collect::<supergat_data::Result<_>>()?;
    let place = args.out.join("results.jsonl");
    let jobs = plans.iter().flat_map(Plan::jobs).collect();
    let (results, report) = sweep::study(&LinkPrediction, jobs, &place, args.sweep.threads, args.sweep.quiet)?;
    let points: Vec<Point> = plans.iter().flat_map(|plan| plan.points(&results)).collect();
    if points.is_empty() && !report.interrupted {
        return Err(CliError::job(format!("no edges could be predicted: {} says why", place.display())));
    }
    let sheets = [dp_and_go(&points), all(&points)];
    let svg = figure(&plans, &points);
    let files = [
        (FIGURE, svg.clone()),
        ("table.md", markdown(&sheets)),
        ("table.csv", csv(&sheets[1])),
        ("report.html", page(args, &svg, &sheets)),
    ];
    write(&args.out, files, args.sweep.quiet)?;
    if args.sweep.json {
        let (folder, interrupted) = (args.out.display().to_string(), report.interrupted);
        output::print_json(&Printed { schema: SCHEMA, seeds: args.seeds, points: &points, interrupted, folder })?;
    } else {
        output::print(&markdown(&sheets))?;
    }
    Ok(if report.interrupted { INTERRUPTED.into() } else { ExitCode::SUCCESS })
}

/// DP against GO at each weight, seed by seed: both have the same held-out edges.
fn dp_and_go(points: &[Point]) -> Sheet {
    let model = |form| ModelKind::Attention { form, self_supervised: true };
    let row = |go: &Point| {
        let dp = points
            .iter()
            .find(|dp| (&dp.dataset, dp.lambda_e, dp.model) == (&go.dataset, go.lambda_e, model(Form::Dp)))?;
        let paired = (dp.seeds == go.seeds).then(|| paired_t(&dp.auc.values, &go.auc.values).ok()).flatten();
        let row = vec![
            go.dataset.clone(),
            go.lambda_e.to_string(),
            spread(&go.auc, 3),
            spread(&dp.auc, 3),
            format!("{:+.3}", dp.auc.mean - go.auc.mean),
            paired.map_or_else(|| "-".into(), |test| probability(test.p)),
            go.auc.values.len().to_string(),
        ];
        Some((Tone::Plain, row))
    };
    Sheet {
        title: "AUC of DP against GO".into(),
        header: ["dataset", "lambda_E", "GO", "DP", "DP - GO", "p", "n"].map(Into::into).into(),
        rows: points.iter().filter(|point| point.model == model(Form::Go)).filter_map(row).collect(),
        csv_header: String::new(),
        csv_rows: Vec::new(),
        notes: vec!["Mean ± standard deviation over n seeds; p is that of the paired t-test.".into()],
    }
}

/// Every point.
fn all(points: &[Point]) -> Sheet {
    let row = |point: &Point| {
        let row = vec![
            point.dataset.clone(),
            point.model.to_string(),
            point.lambda_e.to_string(),
            spread(&point.auc, 3),
            spread(&point.average_precision, 3),
            spread(&point.test, 1),
            point.auc.values.len().to_string(),
        ];
        (Tone::Plain, row)
    };
    let numbers = |point: &Point| {
        let mut row = vec![point.dataset.clone(), point.model.to_string(), point.lambda_e.to_string()];
        for of in [&point.auc, &point.average_precision, &point.test] {
            row.extend([of.mean, of.std].map(|number| number.to_string()));
        }
        row.push(point.auc.values.len().to_string());
        row
    };
    Sheet {
        title: "Link prediction and node classification".into(),
        header: ["dataset", "model", "lambda_E", "AUC", "average precision", "nodes (%)", "n"].map(Into::into).into(),
        rows: points.iter().map(row).collect(),
        csv_header: "dataset,model,lambda_e,auc,auc_std,average_precision,average_precision_std,test,test_std,n".into(),
        csv_rows: points.iter().map(numbers).collect(),
        notes: vec![
            "Mean ± standard deviation over n seeds; nodes: test accuracy, or micro-F1 with several labels.".into(),
        ],
    }
}

/// A panel for each dataset.
fn figure(plans: &[Plan], points: &[Point]) -> String {
    let plot = |plan: &Plan| {
        let right = Axis::linear(format!("{} (%)", plan.metric));
        let empty = Plot::new(&plan.dataset, Axis::log("lambda_E"), Axis::linear("AUC")).right(right);
        let of_plan: Vec<&Point> = points.iter().filter(|point| point.dataset == plan.dataset).collect();
        of_plan.chunk_by(|a, b| a.model == b.model).fold(empty, |plot, points| {
            let line = |y: fn(&Point) -> f64| points.iter().map(|p| [p.lambda_e, y(p)]).collect::<Vec<_>>();
            let name = points[0].model.to_string();
            plot.line(&name, &line(|p| p.auc.mean)).line_right(&name, &line(|p| p.test.mean))
        })
    };
    let plots: Vec<Plot> = plans.iter().map(plot).collect();
    panels("AUC and node classification against lambda_E", 2, &plots)
}

fn page(args: &LinkPredictionArgs, svg: &str, sheets: &[Sheet; 2]) -> String {
    let subtitle = "Edges are held out, and predicted by the attention of the last layer";
    let mut page = Page::new("Link prediction", subtitle).figure(svg, CAPTION);
    for sheet in sheets {
        page = sheet.shown_on(page);
    }
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

/// `mean ± standard deviation`
fn spread(summary: &Summary, digits: usize) -> String {
    format!("{:.digits$} ± {:.digits$}", summary.mean, summary.std)
}

fn probability(p: f64) -> String {
    if p < 1e-4 { "<0.0001".into() } else { format!("{p:.4}") }
}
