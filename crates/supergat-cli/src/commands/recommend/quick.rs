//! The answer of `supergat recommend` within seconds.

use crate::args::{ReadingArgs, RecommendArgs};
use crate::commands::recommend::SCHEMA;
use crate::commands::recommend::progress::QuickProgress;
use crate::config::keys::{KEYS, Key};
use crate::error::{CliError, Result};
use crate::files;
use crate::output::{self, BOLD, quoted, row};
use crate::process::fit::Place;
use crate::sweep::resources;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use supergat::SplitChoice;
use supergat_core::hyperparameters::Hyperparameter;
use supergat_data::Dataset;
use supergat_figure::Page;
use supergat_select::recommend::map::{Known, MapAnswer, figure};
use supergat_select::recommend::quick::{Measured, MeasuredFamily, QuickAnswer, QuickQuestion, percent, recommend};
use supergat_train::Settings;
use toml::Value;

/// Default time in seconds.
const SECONDS: f64 = 20.0;
/// Most alternatives in the command that compares within minutes.
const MOST_NAMED: usize = 3;
/// Seconds for which no progress is shown.
const AT_ONCE: f64 = 1.0;

/// MapAnswer for a dataset, printed by `--json`.
#[derive(Debug, Serialize)]
struct QuickOutput<'a> {
    schema: u32,
    dataset: &'a str,
    labels: Known,
    /// Commands to run next.
    next: Vec<String>,
    #[serde(flatten)]
    answer: &'a QuickAnswer,
}

/// Compares families within seconds and prints the answer.
pub fn run(args: &RecommendArgs) -> Result<ExitCode> {
    let resources = resources(&args.sweep)?;
    Place::find(resources)?.check_source(&args.dataset)?;
    let mut options = args.reading.load_options()?;
    // Without labels, the recommendation is based on the degree alone.
    options.tables.labels_optional = true;
    let dataset = supergat_data::load_with(&args.dataset, &options)?;
    let known = if args.training_labels { Known::Training } else { Known::TrainingAndValidation };
    let metric = args.metric.clone();
    let (seconds, seed) = (args.seconds.unwrap_or(SECONDS), args.seed.unwrap_or(0));
    let question = QuickQuestion { seconds: Some(seconds), metric, known, seed, ..QuickQuestion::default() };
    let progress = QuickProgress::new(args.sweep.quiet || seconds <= AT_ONCE, "measuring the time of every family");
    let answer = recommend(&dataset, &question, resources, |event| {
        progress.observe(event);
        ControlFlow::Continue(())
    });
    progress.status.finish();
    let answer = &answer.map_err(CliError::usage)?;
    let source = &arguments(&args.dataset, &args.reading);
    if let Some(folder) = &args.out {
        write(folder, &dataset, source, answer)?;
    }
    let next = next(source, &dataset, answer);
    let output = QuickOutput { schema: SCHEMA, dataset: &dataset.name, labels: known, next, answer };
    output::print_result(args.sweep.json, &output, || text(&dataset, source, answer))
}

/// Returns the dataset, its split and the table options as arguments of a command line.
fn arguments(dataset: &str, reading: &ReadingArgs) -> String {
    let option = |(name, value): (&&'static str, &Value)| Some(format!(" {}", Key::named(name)?.as_option(value)));
    let split = reading.split;
    let split = if split == SplitChoice::Published { String::new() } else { format!(" --split {split}") };
    quoted(dataset) + &split + &reading.values().iter().filter_map(option).collect::<String>()
}

/// Formats the confidence, confined to what was compared.
fn confidence(answer: &QuickAnswer) -> String {
    match (answer.confidence, &answer.measured) {
        (Some(sure), Some(measured)) => {
            let (count, metric) = (measured.families.len(), &measured.metric);
            format!("{} probability of the best {metric} among {count} compared families", percent(sure))
        }
        _ if answer.map.forms.is_empty() => "nothing was compared".to_owned(),
        _ => format!("nothing was compared; votes of the paper's map: {}", answer.map.votes()),
    }
}

/// Formats the homophily with its 95 % interval.
pub(super) fn homophily_in_words(map: &MapAnswer) -> String {
    match &map.homophily {
        Some(h) => format!("{:.2} (95 %: {:.2} to {:.2})", h.estimate, h.low, h.high),
        None => "unknown".to_owned(),
    }
}

/// Formats the expected gains over simple models.
fn gains(measured: &Measured) -> String {
    let each = measured.gains.iter().map(|gain| {
        let [points, low, high] = gain.in_points();
        format!("{points:+.1} points over {} (95 %: {low:.1} to {high:.1})", gain.over)
    });
    each.collect::<Vec<_>>().join(", ")
}

/// Returns whether nodes should be labelled first: nothing could be measured, and the map is consulted by the degree alone.
fn needs_labels(answer: &QuickAnswer) -> bool {
    answer.measured.is_none() && answer.map.degree > 0.0 && answer.map.homophily.is_none()
}

/// Returns the recommended settings that differ from the default ones, as options.
fn options(dataset: &Dataset, answer: &QuickAnswer) -> String {
    let Some(settings) = answer.settings else { return String::new() };
    let usual = Settings::usual(dataset.preset.as_deref(), answer.recommendation);
    let option = |key: &Key| {
        let default = || Hyperparameter::named(key.name).map(|found| found.default(answer.recommendation));
        let value = settings.get(key.name).filter(|value| usual.get(key.name).or_else(default) != Some(*value))?;
        Some(format!(" {}", key.as_option(&Value::try_from(value).ok()?)))
    };
    KEYS.iter().filter(|key| key.is_setting()).filter_map(option).collect()
}

/// Returns the commands to run next: a training of the recommended model, and a comparison within minutes if the choice is open.
fn next(source: &str, dataset: &Dataset, answer: &QuickAnswer) -> Vec<String> {
    let model = answer.recommendation;
    if needs_labels(answer) {
        return vec![format!("supergat recommend {source}")];
    }
    let families = answer.measured.iter().flat_map(|measured| &measured.families);
    let best = families.clone().find(|family| family.settings.model == model);
    let select = best.and_then(|best| best.settings.select).map(|select| select.to_string());
    let option = |name: &str| select.as_ref().map_or_else(String::new, |select| format!(" --{name} {select}"));
    let class = best.and_then(|best| dataset.class_names.get(best.settings.positive?));
    let positive = class.map_or_else(String::new, |class| format!(" --positive {}", quoted(class)));
    let settings = options(dataset, answer);
    let mut commands = vec![format!("supergat train {source} --model {model}{settings}{}{positive}", option("select"))];
    if answer.close_call && !answer.alternatives.is_empty() {
        let mut likely: Vec<&MeasuredFamily> = families.collect();
        likely.sort_by(|a, b| b.chance.total_cmp(&a.chance));
        let mut names: Vec<String> = match answer.family {
            Some(family) => vec![family.searched().name.to_owned()],
            None => [model].iter().chain(&answer.alternatives).map(ToString::to_string).collect(),
        };
        for name in likely.iter().map(|family| family.family.searched().name) {
            if !names.iter().any(|named| named == name) {
                names.push(name.to_owned());
            }
        }
        let names = names[..names.len().min(1 + MOST_NAMED)].join(",");
        commands.push(format!("supergat recommend {source} --minutes 10 --families {names}{}", option("metric")));
    }
    commands
}

/// Formats the commands to run next.
fn next_lines(source: &str, dataset: &Dataset, answer: &QuickAnswer) -> String {
    let mut lines = String::new();
    if needs_labels(answer) {
        lines += "This recommendation is based on the degree alone. Label some nodes of every class, if possible linked ones.\n";
    }
    for (command, what) in next(source, dataset, answer).iter().zip(["Next", "To compare the likeliest more closely"]) {
        lines += &format!("{what}: {command}\n");
    }
    lines
}

fn text(dataset: &Dataset, source: &str, answer: &QuickAnswer) -> String {
    let map = &answer.map;
    let mut text = format!("{BOLD}{}{BOLD:#}\n{}\n", dataset.name, answer.answer);
    text += &row("recommendation", &answer.model_in_words(), "");
    if let Some(measured) = &answer.measured {
        text += &row("expected gain", &gains(measured), "");
        text += &format!("{BOLD}compared on {} labelled nodes{BOLD:#}\n", measured.scored);
        text += &format!("  {:<19} {:>18}  {:>8}  {:>10}\n", "model", measured.metric, "error", "is best");
        let line = |name: &str, mean: f64, error: String, chance: String| {
            format!("  {name:<19} {:>18}  {error:>8}  {chance:>10}\n", format!("{:.1} %", 100.0 * mean))
        };
        text += &line("most frequent class", measured.majority, String::new(), String::new());
        for family in &measured.families {
            text += &line(
                &family.model_in_words(),
                family.mean,
                format!("{:.1}", 100.0 * family.error),
                percent(family.chance),
            );
        }
    }
    if !answer.notes.is_empty() {
        text += &format!("{BOLD}limits{BOLD:#}\n");
        answer.notes.iter().for_each(|note| text += &format!("  - {note}\n"));
    }
    text += &format!("{BOLD}the paper's map of forms of attention{BOLD:#}\n");
    text += &row("degree", &format!("{:.2}", map.degree), "average number of neighbours");
    text += &row("homophily", &homophily_in_words(map), "estimated share of a node's neighbours with its class");
    map.reasons.iter().for_each(|reason| text += &format!("  - {reason}\n"));
    text + &next_lines(source, dataset, answer)
}

/// Writes the map and the page, each file atomically.
fn write(folder: &Path, dataset: &Dataset, source: &str, answer: &QuickAnswer) -> Result<()> {
    let name = &dataset.name;
    let svg = figure(name, &answer.map);
    let mut facts = vec![("recommendation", answer.model_in_words()), ("confidence", confidence(answer))];
    facts.extend(answer.measured.as_ref().map(|measured| ("expected gain", gains(measured))));
    facts.extend([
        ("average degree", format!("{:.2}", answer.map.degree)),
        ("homophily", homophily_in_words(&answer.map)),
    ]);
    let mut page = Page::new(format!("{name}: {}", answer.model_in_words()), &answer.answer).facts(&facts);
    if let Some(measured) = &answer.measured {
        let each = measured.families.iter().map(|family| {
            let (name, chance) = (family.family.model_in_words(), percent(family.chance));
            format!(
                "{name}: {} {:.1} %, standard error {:.1}, best with {chance}",
                measured.metric,
                100.0 * family.mean,
                100.0 * family.error
            )
        });
        page = page.section("Compared on validation nodes").notes(&each.collect::<Vec<_>>());
    }
    if !answer.notes.is_empty() {
        page = page.section("Limits").notes(&answer.notes);
    }
    let page = page
        .section("The paper's map")
        .figure(&svg, "Squares are synthetic graphs of the paper. Their colour shows the best form of attention, their size the gain of SuperGAT over GAT. The dot is this graph; the line is the 95 % interval of its homophily.")
        .notes(&answer.map.reasons)
        .section("Next")
        .code(&next(source, dataset, answer).join("\n"));
    std::fs::create_dir_all(folder).map_err(|error| CliError::cannot_write(folder, error))?;
    files::write(folder, [("map.svg", svg), ("report.html", page.html())])
}
