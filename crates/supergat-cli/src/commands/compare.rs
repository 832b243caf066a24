//! `supergat compare`

use crate::args::CompareArgs;
use crate::config::keys::nearest_first;
use crate::error::{CliError, Result};
use crate::output::{self, BOLD, SCHEMA, row};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use supergat_lab::Summary;
use supergat_lab::compare::{Answer, ComparedRun, Comparison, Sample, Side, compare, p_value};
use supergat_lab::statistics::{Interval, TTest, Wilcoxon};
use supergat_lab::sweep::{Record, ResultsFile, Status};

/// Compares two sets of runs.
pub fn run(args: &CompareArgs) -> Result<ExitCode> {
    let (mut a, mut b) = (sample(&args.a)?, sample(&args.b)?);
    if a.name == b.name {
        // Two folders of one model, for example.
        (a.name, b.name) = (args.a.clone(), args.b.clone());
    }
    let comparison = compare(&a, &b).map_err(|error| CliError::usage(error.to_string()))?;
    if args.json {
        #[derive(Serialize)]
        struct Report {
            schema: u32,
            #[serde(flatten)]
            comparison: Comparison,
        }
        output::print_json(&Report { schema: SCHEMA, comparison })?;
    } else {
        output::print(&table(&comparison))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The runs that a person named.
fn sample(place: &str) -> Result<Sample> {
    let path = Path::new(place);
    if path.is_dir() {
        return folder(path);
    }
    match place
        .char_indices()
        .map(|(k, _)| k)
        .find(|&k| place[k..].starts_with(':') && Path::new(&place[..k]).is_file())
    {
        Some(colon) => part(&place[..colon], &place[colon + 1..]),
        None if path.is_file() => part(place, ""),
        None => Err(CliError::usage(format!(
            "{place}: expected a run folder of `supergat train`, or a results file with a part of it such as results.jsonl:cora/gat-go"
        ))),
    }
}

/// What a comparison needs of summary.json.
#[derive(Deserialize)]
struct RunFolderSummary {
    dataset: String,
    source: String,
    model: String,
    metric: String,
    seeds: Vec<u64>,
    test: Summary,
    #[serde(default)]
    interrupted: bool,
}

/// What a comparison needs of config.toml.
#[derive(Deserialize)]
struct RunFolderConfig {
    split: String,
}

fn folder(path: &Path) -> Result<Sample> {
    let summary: RunFolderSummary = read(path.join("summary.json"), |text| Ok(serde_json::from_str(text)?))?;
    let config: RunFolderConfig = read(path.join("config.toml"), |text| Ok(toml::from_str(text)?))?;
    if summary.interrupted {
        return Err(CliError::usage(format!("{} was interrupted: train it to its end", path.display())));
    }
    let finite = summary.test.values.iter().all(|value| value.is_finite());
    if summary.seeds.is_empty() || summary.seeds.len() != summary.test.values.len() || !finite {
        return Err(CliError::usage(format!("{}: summary.json does not hold a result for every seed", path.display())));
    }
    // Generated graphs share a name, and go by their specification in results files.
    let generated = summary.source.strip_prefix(&summary.dataset).is_some_and(|rest| rest.starts_with(':'));
    let runs = summary.seeds.iter().zip(&summary.test.values);
    let run = |(&seed, &test): (&u64, &f64)| ComparedRun { split: config.split.clone(), split_hash: None, seed, test };
    Ok(Sample {
        name: summary.model,
        dataset: if generated { summary.source } else { summary.dataset },
        metric: summary.metric,
        runs: runs.map(run).collect(),
    })
}

type Parsed<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn read<T>(path: PathBuf, parse: impl Fn(&str) -> Parsed<T>) -> Result<T> {
    let parsed = std::fs::read_to_string(&path).map_err(Into::into).and_then(|text| parse(&text));
    parsed.map_err(|error| CliError::usage(format!("cannot read {}: {error}", path.display())))
}

/// What is to be taken of a results file: `dataset/model`, and settings, the split or the task behind commas.
struct Filter<'a> {
    dataset: &'a str,
    model: &'a str,
    values: Vec<(&'a str, &'a str)>,
}

impl<'a> Filter<'a> {
    fn new(text: &'a str) -> Option<Self> {
        let (dataset, rest) = text.rsplit_once('/')?;
        let mut parts = rest.split(',');
        let model = parts.next()?;
        let values = parts.map(|part| part.split_once('=')).collect::<Option<_>>()?;
        Some(Self { dataset, model, values })
    }

    fn takes(&self, record: &Record) -> bool {
        let values = choices(record);
        let fits = |&(key, wanted): &(&str, &str)| match values.get(key) {
            Some(Value::Number(number)) => number.as_f64() == wanted.parse().ok(),
            Some(Value::Bool(switch)) => wanted.parse() == Ok(*switch),
            Some(Value::String(text)) => text == wanted || key == "split" && record.split == wanted,
            _ => false,
        };
        record.dataset == self.dataset && record.model == self.model && self.values.iter().all(fits)
    }
}

/// What runs of one dataset and model may differ in: settings, the split (`redrawn` where each seed has its own) and the task.
fn choices(record: &Record) -> Map<String, Value> {
    let mut choices = match serde_json::to_value(record.settings) {
        Ok(Value::Object(settings)) => settings,
        _ => unreachable!("settings are an object"),
    };
    let redrawn = record.split == format!("random:{}", record.seed);
    choices.insert("split".into(), if redrawn { "redrawn" } else { &record.split }.into());
    choices.insert("task".into(), record.task.as_str().into());
    choices
}

fn part(file: &str, filter: &str) -> Result<Sample> {
    let results = ResultsFile::read(Path::new(file))?;
    results.damage_notes().iter().for_each(|note| output::note(note));
    let ended = || results.records().filter(|record| record.test().is_some());
    // A wish for a split is answered by the splits there are.
    let names: &[String] = if filter.contains(",split=") { &["split".into()] } else { &[] };
    let mut known: Vec<String> = ended().map(|record| example(record, names)).collect();
    known.sort_unstable();
    known.dedup();
    let expected = || {
        let mut nearest = nearest_first(filter, known.clone());
        nearest.truncate(3);
        let found = if filter.is_empty() { "no filter".to_owned() } else { format!("`{filter}`") };
        CliError::usage(format!(
            "{file}: expected runs such as {file}:{}, found {found}",
            nearest.join(&format!(" or {file}:"))
        ))
    };
    if known.is_empty() {
        return Err(CliError::usage(format!("{file} holds no finished run")));
    }
    let wanted = Filter::new(filter).ok_or_else(expected)?;
    let mut records: Vec<&Record> = ended().filter(|record| wanted.takes(record)).collect();
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
        sample.runs.push(ComparedRun { split, split_hash, seed: record.seed, test: 100.0 * test.metric });
    }
    Ok(sample)
}

/// Names of the choices in which runs differ. Random splits are one choice, whatever their seeds.
fn differing(records: &[&Record]) -> Vec<String> {
    let of = |record: &Record| {
        let mut choices = choices(record);
        if record.split.starts_with("random:") {
            choices.insert("split".into(), "random".into());
        }
        choices
    };
    let first = of(records[0]);
    let differs = |name: &&String| records.iter().any(|record| of(record).get(*name) != first.get(*name));
    first.keys().filter(differs).cloned().collect()
}

/// A filter that takes a run, and no other that differs in the named choices.
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
    let how = if comparison.paired { "in pairs: the same splits and seeds" } else { "unpaired" };
    let mut text = format!("{BOLD}test {metric} on {dataset}{BOLD:#}, {how}\n");
    for side in [a, b] {
        text += &row(
            &side.name,
            &mean(side),
            &format!("({}{})", output::count(side.runs, "run"), interval(&side.interval)),
        );
    }
    let t = |test: &TTest| format!("{} (t = {:.2}, {:.1} degrees of freedom)", p_value(test.p), test.t, test.df);
    let difference = |test: &TTest| format!("{:+.2} points", test.difference);
    let ends = comparison.decisive().value().map_or_else(String::new, |test| span(&test.interval));
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
    let least = comparison.detectable.text(|points| format!("{points:.2} points"));
    text += &row("can be seen", &least, "(at level 0.05 with power 0.8)");
    text + &format!("\n{}\n", comparison.conclusion)
}

fn mean(side: &Side) -> String {
    match side.runs {
        1 => format!("{:.2} %", side.mean),
        _ => format!("{:.2} ± {:.2} %", side.mean, side.std),
    }
}

fn interval(interval: &Answer<Interval>) -> String {
    interval.value().map_or_else(String::new, |interval| format!(", 95 %: {:.2} to {:.2}", interval.low, interval.high))
}

fn span(interval: &Interval) -> String {
    format!("(95 %: {:+.2} to {:+.2})", interval.low, interval.high)
}
