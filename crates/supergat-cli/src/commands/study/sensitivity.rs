//! `supergat study sensitivity`

use super::write;
use crate::args::SensitivityArgs;
use crate::commands::reproduce::{open, sweep, told};
use crate::commands::train::threads;
use crate::error::{CliError, INTERRUPTED, Result};
use crate::interrupt::Interrupt;
use crate::output;
use crate::summary::SCHEMA;
use serde::Serialize;
use std::process::ExitCode;
use supergat_lab::reproduce::{Sheet, csv, markdown};
use supergat_lab::sensitivity::{Curve, Plan};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    schema: u32,
    seeds: u64,
    curves: &'a [Curve],
    interrupted: bool,
    folder: String,
}

/// Runs what is missing and writes curves and tables.
pub fn run(args: &SensitivityArgs) -> Result<ExitCode> {
    if let Some(model) = args.model.filter(|model| !model.is_self_supervised()) {
        return Err(CliError::usage(format!(
            "--model {model}: it has no self-supervision to vary; expected supergat-go, supergat-dp, supergat-sd or supergat-mx"
        )));
    }
    let plans = args.datasets.iter().map(|source| Plan::new(source, args.model, args.seeds));
    let plans: Vec<Plan> = plans.collect::<supergat_data::Result<_>>()?;
    let place = args.out.join("results.jsonl");
    let mut results = open(&place)?;
    if !args.quiet {
        results.damage_notes().iter().for_each(|note| output::note(note));
    }
    let interrupt = Interrupt::listen()?;
    let jobs = plans.iter().flat_map(Plan::jobs).collect();
    let report = sweep(jobs, &mut results, threads(args.threads)?, args.quiet, &interrupt)?;
    if !args.quiet {
        output::note(&told(&report, &place));
    }
    let curves: Vec<Curve> = plans.iter().flat_map(|plan| plan.curves(&results)).collect();
    let (ranges, points) = (ranges(&curves), points(&curves));
    let text = markdown(&[ranges.clone(), points.clone()]);
    let files = [("table.md".to_owned(), text), ("table.csv".to_owned(), csv(&points))];
    write(&args.out, &files, args.quiet)?;
    if args.json {
        let (folder, interrupted) = (args.out.display().to_string(), report.interrupted);
        output::print_json(&Summary { schema: SCHEMA, seeds: args.seeds, curves: &curves, interrupted, folder })?;
    } else {
        output::print(&markdown(&[ranges]))?;
    }
    Ok(if report.interrupted { INTERRUPTED.into() } else { ExitCode::SUCCESS })
}

/// How far the means of each curve lie apart.
fn ranges(curves: &[Curve]) -> Sheet {
    let header = ["dataset", "model", "varied", "published", "there", "lowest", "at", "highest", "at", "range"];
    let row = |curve: &Curve| {
        let [lowest, highest] = curve.extremes()?;
        let there = curve.at_published().map_or_else(|| "-".to_owned(), |point| format!("{:.2}", point.test.mean));
        let texts = vec![
            curve.dataset.clone(),
            curve.model.clone(),
            curve.knob.name().to_owned(),
            short(curve.published),
            there,
            format!("{:.2}", lowest.test.mean),
            short(lowest.value),
            format!("{:.2}", highest.test.mean),
            short(highest.value),
            format!("{:.2}", highest.test.mean - lowest.test.mean),
        ];
        Some(("", texts))
    };
    Sheet {
        title: "Range of mean test metrics, in percent".into(),
        header: header.map(Into::into).into(),
        rows: curves.iter().filter_map(row).collect(),
        csv_header: String::new(),
        csv_rows: Vec::new(),
        notes: Vec::new(),
    }
}

/// Every point of every curve.
fn points(curves: &[Curve]) -> Sheet {
    let all = || curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)));
    let texts = |(curve, point): (&Curve, &supergat_lab::sensitivity::Point)| {
        let mark = if point.value == curve.published { " (published)" } else { "" };
        let [low, high] = point.interval;
        let texts = vec![
            curve.dataset.clone(),
            curve.knob.name().to_owned(),
            short(point.value) + mark,
            format!("{:.2} ± {:.2}", point.test.mean, point.test.std),
            format!("{low:.2} to {high:.2}"),
            point.test.values.len().to_string(),
        ];
        ("", texts)
    };
    let numbers = |(curve, point): (&Curve, &supergat_lab::sensitivity::Point)| {
        let Curve { dataset, model, metric, knob, published, .. } = curve;
        let [low, high] = point.interval;
        let mut row = vec![dataset.clone(), model.clone(), (*metric).to_owned(), knob.name().to_owned()];
        row.extend(
            [point.value, *published, point.test.mean, point.test.std, low, high].map(|number| number.to_string()),
        );
        row.push(point.test.values.len().to_string());
        row
    };
    Sheet {
        title: "Test metric at each value, in percent".into(),
        header: ["dataset", "varied", "value", "mean", "95 % interval", "n"].map(Into::into).into(),
        rows: all().map(texts).collect(),
        csv_header: "dataset,model,metric,varied,value,published,mean,std,low,high,n".into(),
        csv_rows: all().map(numbers).collect(),
        notes: Vec::new(),
    }
}

/// Three digits.
fn short(value: f64) -> String {
    let digits = (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
