//! Implementation of `supergat compare`.

use crate::args::CompareArgs;
use crate::config::keys::nearest_first;
use crate::config::{Choices, Values};
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, SCHEMA, row};
use crate::run_folder::CONFIG;
use crate::run_folder::summary::RunSummary;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;
use std::process::ExitCode;
use supergat::{NamedMetric, SplitChoice};
use supergat_numerics::statistics::{Interval, TTest, Wilcoxon};
use supergat_select::compare::{Answer, ComparedRun, Comparison, Sample, Side, compare, p_value};
use supergat_select::sweep::{Record, ResultsFile};
use supergat_train::task::Status;

/// Comparison printed by `--json`.
#[derive(Serialize)]
struct CompareOutput<'a> {
    schema: u32,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

/// Compares two sets of runs.
pub fn run(args: &CompareArgs) -> Result<ExitCode> {
    let (mut a, mut b) = (sample(&args.a, args.metric.as_ref())?, sample(&args.b, args.metric.as_ref())?);
    if a.name == b.name {
        // For example, two run folders of one model.
        (a.name, b.name) = (args.a.clone(), args.b.clone());
    }
    let comparison = compare(&a, &b).map_err(CliError::usage)?;
    output::print_result(args.json, &CompareOutput { schema: SCHEMA, comparison: &comparison }, || table(&comparison))
}

/// Reads the runs named by an argument, with the given metric.
fn sample(argument: &str, metric: Option<&NamedMetric>) -> Result<Sample> {
    let path = Path::new(argument);
    if path.is_dir() {
        return run_folder(path, metric);
    }
    let results_file = |file: &str, filter: &str| {
        let sample = results_file(file, filter)?;
        match metric.filter(|metric| metric.to_string() != sample.metric) {
            Some(metric) => Err(CliError::usage(format!(
                "--metric {metric}: {file} contains {} only; compare run folders of `supergat train`",
                sample.metric
            ))),
            None => Ok(sample),
        }
    };
    match argument
        .char_indices()
        .map(|(k, _)| k)
        .find(|&k| argument[k..].starts_with(':') && Path::new(&argument[..k]).is_file())
    {
        Some(colon) => results_file(&argument[..colon], &argument[colon + 1..]),
        None if path.is_file() => results_file(argument, ""),
        None => Err(CliError::usage(format!(
            "{argument}: expected a run folder of `supergat train`, or runs of a results file such as results.jsonl:cora/gat-go"
        ))),
    }
}

/// Reads the runs of a run folder.
fn run_folder(path: &Path, metric: Option<&NamedMetric>) -> Result<Sample> {
    let mut summary = RunSummary::read(path)?;
    let split = Choices::new(Values::new(), Some(&path.join(CONFIG)))?.load_options()?.split.to_string();
    if summary.interrupted {
        return Err(CliError::usage(format!("{}: the run was interrupted; train it again to the end", path.display())));
    }
    let Some(mut test) = summary.test else {
        return Err(CliError::usage(format!(
            "{}: the dataset has no test nodes, so there is no test metric to compare; train with another split",
            path.display()
        )));
    };
    if let Some(metric) = metric.filter(|metric| metric.to_string() != summary.metric) {
        test = summary
            .metrics
            .test(metric)
            .map_err(|reason| CliError::usage(format!("--metric {metric}: {} {reason}", path.display())))?;
        summary.metric = metric.to_string();
    }
    let finite = test.values.iter().all(|value| value.is_finite());
    if summary.seeds.is_empty() || summary.seeds.len() != test.values.len() || !finite {
        return Err(CliError::usage(format!(
            "{}: summary.json does not contain a finite result for every seed",
            path.display()
        )));
    }
    // All generated graphs have the same name. Results files use their specification instead.
    let generated = summary.source.strip_prefix(&summary.dataset).is_some_and(|rest| rest.starts_with(':'));
    let runs = summary.seeds.iter().zip(&test.values).enumerate();
    let run = |(k, (&seed, &test)): (usize, (&u64, &f64))| {
        let split = summary.splits.get(k).map_or_else(|| split.clone(), usize::to_string);
        ComparedRun { split, split_hash: None, seed, test }
    };
    Ok(Sample {
        name: summary.model,
        dataset: if generated { summary.source } else { summary.dataset },
        metric: summary.metric,
        runs: runs.map(run).collect(),
    })
}

/// Selection of runs in a results file: `dataset/model`, optionally followed by `,key=value` for settings, split, task or device.
struct Filter<'a> {
    dataset: &'a str,
    model: &'a str,
    values: Vec<(&'a str, &'a str)>,
}

impl<'a> Filter<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (dataset, rest) = text.rsplit_once('/')?;
        let mut parts = rest.split(',');
        let model = parts.next()?;
        let values = parts.map(|part| part.split_once('=')).collect::<Option<_>>()?;
        Some(Self { dataset, model, values })
    }

    fn matches(&self, record: &Record) -> bool {
        let values = choices(record);
        let equal = |&(key, expected): &(&str, &str)| match values.get(key) {
            Some(Value::Number(number)) => number.as_f64() == expected.parse().ok(),
            Some(Value::Bool(switch)) => expected.parse() == Ok(*switch),
            Some(Value::String(text)) => text == expected || key == "split" && record.split == expected,
            _ => false,
        };
        record.dataset == self.dataset && record.model == self.model && self.values.iter().all(equal)
    }
}

/// Returns the choices in which runs of one dataset and model may differ: settings, split, task and kind of device. The split is
/// `redrawn` if each seed has its own.
fn choices(record: &Record) -> Map<String, Value> {
    let mut choices = match serde_json::to_value(record.settings) {
        Ok(Value::Object(settings)) => settings,
        _ => unreachable!("settings are an object"),
    };
    let redrawn = record.split == format!("random:{}", record.seed);
    choices.insert("split".into(), if redrawn { "redrawn" } else { &record.split }.into());
    choices.insert("task".into(), record.task.as_str().into());
    choices.insert("device".into(), record.device.to_string().into());
    choices
}

/// Reads the runs of a results file that match a filter. They must agree in all choices.
fn results_file(file: &str, filter: &str) -> Result<Sample> {
    let results = ResultsFile::read(Path::new(file))?;
    results.damage_notes().iter().for_each(|note| output::note(note));
    let finished = || results.all_records().filter(|record| record.test().is_some());
    // If the filter names a split, the error message lists the available splits.
    let names: &[String] = if filter.contains(",split=") { &["split".into()] } else { &[] };
    let mut available: Vec<String> = finished().map(|record| example(record, names)).collect();
    available.sort_unstable();
    available.dedup();
    let expected = || {
        let mut nearest = nearest_first(filter, available.clone());
        nearest.truncate(3);
        let found = if filter.is_empty() { "no filter".to_owned() } else { format!("`{filter}`") };
        CliError::usage(format!(
            "{file}: expected runs such as {file}:{}, found {found}",
            nearest.join(&format!(" or {file}:"))
        ))
    };
    if available.is_empty() {
        return Err(CliError::usage(format!("{file} contains no finished run")));
    }
    let selection = Filter::parse(filter).ok_or_else(expected)?;
    let mut records: Vec<&Record> = finished().filter(|record| selection.matches(record)).collect();
    let Some(first) = records.first().copied() else { return Err(expected()) };
    let differing = differing(&records);
    if !differing.is_empty() {
        return Err(CliError::usage(format!(
            "{file}:{filter} has runs that differ in {}: say which, as in {file}:{}",
            differing.join(", "),
            example(first, &differing)
        )));
    }
    records.sort_by(|a, b| (&a.split, a.seed).cmp(&(&b.split, b.seed)));
    let mut sample =
        Sample { name: first.model.clone(), dataset: first.dataset.clone(), metric: String::new(), runs: Vec::new() };
    for record in records {
        let Status::Ok { metric, test, .. } = &record.status else { continue };
        sample.metric.clone_from(metric);
        let (split, split_hash) = (record.split.clone(), Some(record.split_hash.clone()));
        sample.runs.push(ComparedRun { split, split_hash, seed: record.seed, test: test.metric });
    }
    Ok(sample)
}

/// Returns the names of the choices in which runs differ. Random splits with different seeds are one choice.
fn differing(records: &[&Record]) -> Vec<String> {
    let comparable = |record: &Record| {
        let mut choices = choices(record);
        if let Ok(split) = record.split.parse::<SplitChoice>() {
            choices.insert("split".into(), split.without_seed().into());
        }
        choices
    };
    let first = comparable(records[0]);
    let differs = |name: &&String| records.iter().any(|record| comparable(record).get(*name) != first.get(*name));
    first.keys().filter(differs).cloned().collect()
}

/// Returns a filter that matches the run, but no run that differs from it in the named choices.
fn example(record: &Record, names: &[String]) -> String {
    let choices = choices(record);
    let value = |name: &String| match &choices[name] {
        Value::String(text) => format!(",{name}={text}"),
        other => format!(",{name}={other}"),
    };
    format!("{}/{}{}", record.dataset, record.model, names.iter().map(value).collect::<String>())
}

fn table(comparison: &Comparison) -> String {
    let Comparison { dataset, metric, a, b, .. } = comparison;
    let how = if comparison.paired { "paired: same splits and seeds" } else { "unpaired" };
    let mut text = format!("{BOLD}test {metric} on {dataset}{BOLD:#}, {how}\n");
    for side in [a, b] {
        text += &row(
            &side.name,
            &mean(side, comparison),
            &format!("({}{})", output::count(side.runs, "run"), interval(&side.interval, comparison)),
        );
    }
    let t = |test: &TTest| format!("{} (t = {:.2}, {:.1} degrees of freedom)", p_value(test.p), test.t, test.df);
    let sign = |value: f64| if value < 0.0 { "" } else { "+" };
    let difference = |test: &TTest| format!("{}{}", sign(test.difference), comparison.difference(test.difference));
    let ends = comparison.decisive().value().map_or_else(String::new, |test| span(&test.interval, comparison));
    text += &row("difference", &comparison.decisive().text(difference), &ends);
    if let Some(test) = &comparison.paired_t {
        text += &row("paired t-test", &test.text(t), "");
    }
    if let Some(test) = &comparison.wilcoxon {
        let words = |test: &Wilcoxon| format!("{} (W = {}, {} pairs)", p_value(test.p), test.statistic, test.n);
        text += &row("Wilcoxon", &test.text(words), "");
    }
    text += &row("Welch's t-test", &comparison.welch_t.text(t), "");
    text += &row("pooled t-test", &comparison.pooled_t.text(t), "(the paper's)");
    if let Some(mark) = comparison.mark.value().map(ToString::to_string).filter(|mark| !mark.is_empty()) {
        text += &row("the paper's mark", &mark, &format!("({} against {})", a.name, b.name));
    }
    text += &row(
        "effect size",
        &comparison.effect.text(|e| format!("d = {:.2}, g = {:.2}", e.d, e.g)),
        "(standard deviations)",
    );
    let detectable = comparison.detectable.text(|difference| comparison.difference(*difference));
    text += &row("smallest detectable", &detectable, "(at level 0.05 with power 0.8)");
    text + &format!("\n{}\n", comparison.conclusion)
}

fn digits(comparison: &Comparison) -> usize {
    if comparison.is_in_percent() { 2 } else { 4 }
}

fn mean(side: &Side, comparison: &Comparison) -> String {
    let (digits, unit) = (digits(comparison), if comparison.is_in_percent() { " %" } else { "" });
    let [mean, std] = [side.mean, side.std].map(|value| comparison.shown(value));
    match side.runs {
        1 => format!("{mean:.digits$}{unit}"),
        _ => format!("{mean:.digits$} ± {std:.digits$}{unit}"),
    }
}

fn interval(interval: &Answer<Interval>, comparison: &Comparison) -> String {
    let digits = digits(comparison);
    let text = |interval: &Interval| {
        let [low, high] = [interval.low, interval.high].map(|value| comparison.shown(value));
        format!(", 95 %: {low:.digits$} to {high:.digits$}")
    };
    interval.value().map_or_else(String::new, text)
}

fn span(interval: &Interval, comparison: &Comparison) -> String {
    let digits = digits(comparison);
    let [low, high] = [interval.low, interval.high].map(|value| comparison.shown(value));
    format!("(95 %: {low:+.digits$} to {high:+.digits$})")
}
