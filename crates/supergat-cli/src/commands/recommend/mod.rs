//! Implementation of `supergat recommend`.

mod progress;

use crate::args::RecommendArgs;
use crate::config::keys::{KEYS, Key, Kind};
use crate::config::{Choices, Values, load_options};
use crate::error::{CliError, Result};
use crate::files;
use crate::output::{self, BOLD, SCHEMA, row};
use crate::process::{memory, resources};
use crate::run_folder::quoted;
use progress::AdviceProgress;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use supergat::{Choice, Classifier, SplitChoice};
use supergat_core::hyperparameters::{Hyperparameter, Value as Hyper};
use supergat_data::Dataset;
use supergat_figure::Page;
use supergat_select::advice::{Advice, Measured, MeasuredFamily, Question, advise, percent};
use supergat_select::recipe::{Known, Recommendation, figure};
use supergat_train::{Resources, Settings};
use toml::Value;

/// Most alternatives in the command of a benchmark.
const MOST_NAMED: usize = 3;
/// Seconds for which no progress is shown.
const AT_ONCE: f64 = 1.0;

/// Recommendation for a dataset, printed by `--json`.
#[derive(Debug, Serialize)]
struct RecommendOutput<'a> {
    schema: u32,
    dataset: &'a str,
    labels: Known,
    /// Commands to run next.
    next: Vec<String>,
    #[serde(flatten)]
    advice: &'a Advice,
}

/// Recommends a model for a dataset.
pub fn run(args: &RecommendArgs) -> Result<ExitCode> {
    let resources = resources(args.threads, args.device)?;
    resources.check()?;
    let mut options = load_options(args.split, &args.reading.0)?;
    // Without labels, the recommendation is based on the degree alone.
    options.tables.labels_optional = true;
    let dataset = supergat_data::load_with(&args.dataset, &options)?;
    let known = if args.training_labels { Known::Training } else { Known::TrainingAndValidation };
    let (metric, memory) = (args.metric.clone(), memory::free());
    let seconds = Some(args.seconds);
    let question = Question { seconds, metric, known, seed: args.seed, memory, ..Question::default() };
    let progress = AdviceProgress::new(args.quiet || args.seconds <= AT_ONCE, "measuring the time of every family");
    let advice = advise(&dataset, &question, resources, |event| {
        progress.observe(event);
        ControlFlow::Continue(())
    });
    progress.finish();
    let advice = &advice.map_err(CliError::usage)?;
    let source = &arguments(&args.dataset, args.split, &args.reading.0);
    if let Some(folder) = &args.out {
        write(folder, &dataset, source, advice)?;
    }
    if args.json {
        let next = next(source, &dataset, advice);
        output::print_json(&RecommendOutput { schema: SCHEMA, dataset: &dataset.name, labels: known, next, advice })?;
    } else {
        output::print(&text(&dataset, source, advice))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the dataset, its split and the table options as arguments of a command line.
fn arguments(dataset: &str, split: SplitChoice, reading: &Values) -> String {
    let option = |(name, value): (&&'static str, &Value)| {
        let key = Key::named(name);
        let option = match (key.map(|key| key.kind), value) {
            (Some(Kind::Toggle { off }), Value::Boolean(false)) => off.to_owned(),
            _ => key.map(Key::option).unwrap_or_default(),
        };
        match value {
            Value::Boolean(_) => format!(" --{option}"),
            Value::String(text) => format!(" --{option} {}", quoted(text)),
            other => format!(" --{option} {other}"),
        }
    };
    let split = if split == SplitChoice::Published { String::new() } else { format!(" --split {split}") };
    quoted(dataset) + &split + &reading.iter().map(option).collect::<String>()
}

/// Chooses model and settings for a dataset, with progress while models are compared.
pub fn choose(
    choices: &Choices,
    dataset: &Dataset,
    resources: Resources,
    seconds: Option<f64>,
    quiet: bool,
) -> Result<Choice> {
    let builder = Classifier::builder().resources(resources);
    if !choices.compares_models(dataset) {
        if seconds.is_some() && !quiet {
            output::note("note: --choose-seconds has no effect, because no models are compared");
        }
        return choices.choose(dataset, builder);
    }
    let time = seconds.map_or_else(|| "about as long as one training takes".to_owned(), |time| format!("{time} s"));
    let start = format!("no model is named: comparing networks on held-out labelled nodes, {time}");
    let progress = AdviceProgress::new(quiet, &start);
    let builder = builder.observe_choice(|event| {
        progress.observe(event);
        ControlFlow::Continue(())
    });
    let choice =
        choices.choose(dataset, seconds.into_iter().fold(builder, |builder, time| builder.choose_seconds(time)));
    progress.finish();
    choice
}

/// Returns the first lines of the log when the model was chosen by recommendation.
pub fn opening(advice: &Advice) -> Vec<String> {
    let model = advice.model_in_words();
    let first = match &advice.measured {
        Some(measured) => {
            let networks = measured.families.iter().filter(|family| family.is_network());
            let compared = output::count(networks.count(), "network");
            let sure = advice.confidence.map_or_else(String::new, |sure| {
                format!("; {} probability of the best {} among them", percent(sure), measured.metric)
            });
            format!(
                "model: {model}, chosen among {compared} on held-out labelled nodes{sure}; for more see `supergat recommend`"
            )
        }
        None => {
            let votes = advice.map.votes();
            let votes = if votes.is_empty() { votes } else { format!("; votes of the paper's map: {votes}") };
            format!(
                "model: {model}, not measured, chosen for degree {:.1} and homophily {}{votes}",
                advice.map.degree,
                homophily(&advice.map)
            )
        }
    };
    let automatically = advice.notes.iter().filter(|note| note.contains("chosen automatically"));
    [first].into_iter().chain(automatically.map(|note| format!("note: {note}"))).collect()
}

/// Formats the confidence, confined to what was compared.
fn confidence(advice: &Advice) -> String {
    match (advice.confidence, &advice.measured) {
        (Some(sure), Some(measured)) => {
            let (count, metric) = (measured.families.len(), &measured.metric);
            format!("{} probability of the best {metric} among {count} compared families", percent(sure))
        }
        _ if advice.map.forms.is_empty() => "nothing was compared".to_owned(),
        _ => format!("nothing was compared; votes of the paper's map: {}", advice.map.votes()),
    }
}

/// Formats the homophily with its 95 % interval.
fn homophily(map: &Recommendation) -> String {
    match &map.homophily {
        Some(h) => format!("{:.2} (95 %: {:.2} to {:.2})", h.estimate, h.low, h.high),
        None => "unknown".to_owned(),
    }
}

/// Formats the expected gains over simple models.
fn gains(measured: &Measured) -> String {
    let each = measured.gains.iter().map(|gain| {
        format!("{:+.1} points over {} (95 %: {:.1} to {:.1})", gain.points, gain.over, gain.low, gain.high)
    });
    each.collect::<Vec<_>>().join(", ")
}

/// Returns whether nodes should be labelled first: nothing could be measured, and the map is consulted by the degree alone.
fn needs_labels(advice: &Advice) -> bool {
    advice.measured.is_none() && advice.map.degree > 0.0 && advice.map.homophily.is_none()
}

/// Returns the recommended settings that differ from the default ones, as options.
fn options(dataset: &Dataset, advice: &Advice) -> String {
    let Some(settings) = advice.settings else { return String::new() };
    let usual = Settings::usual(dataset.preset.as_deref(), advice.recommendation);
    let option = |key: &Key| {
        let default = || Hyperparameter::named(key.name).map(|found| found.default(advice.recommendation));
        let value = settings.get(key.name).filter(|value| usual.get(key.name).or_else(default) != Some(*value))?;
        Some(match (key.kind, value) {
            (Kind::Toggle { off }, Hyper::Switch(false)) => format!(" --{off}"),
            (_, Hyper::Switch(_)) => format!(" --{}", key.option()),
            (_, value) => format!(" --{} {value}", key.option()),
        })
    };
    KEYS.iter().filter(|key| key.is_setting()).filter_map(option).collect()
}

/// Returns the commands to run next: a training of the recommended model, and a benchmark if the choice is open.
fn next(source: &str, dataset: &Dataset, advice: &Advice) -> Vec<String> {
    let model = advice.recommendation;
    if needs_labels(advice) {
        return vec![format!("supergat recommend {source}")];
    }
    let families = advice.measured.iter().flat_map(|measured| &measured.families);
    let best = families.clone().find(|family| family.settings.model == model);
    let select = best.and_then(|best| best.settings.select).map(|select| select.to_string());
    let option = |name: &str| select.as_ref().map_or_else(String::new, |select| format!(" --{name} {select}"));
    let class = best.and_then(|best| dataset.class_names.get(best.settings.positive?));
    let positive = class.map_or_else(String::new, |class| format!(" --positive {}", quoted(class)));
    let settings = options(dataset, advice);
    let mut commands = vec![format!("supergat train {source} --model {model}{settings}{}{positive}", option("select"))];
    if advice.close_call && !advice.alternatives.is_empty() {
        let mut likely: Vec<&MeasuredFamily> = families.collect();
        likely.sort_by(|a, b| b.chance.total_cmp(&a.chance));
        let mut names: Vec<String> = match advice.family {
            Some(family) => vec![family.searched().name.to_owned()],
            None => [model].iter().chain(&advice.alternatives).map(ToString::to_string).collect(),
        };
        for name in likely.iter().map(|family| family.family.searched().name) {
            if !names.iter().any(|named| named == name) {
                names.push(name.to_owned());
            }
        }
        let names = names[..names.len().min(1 + MOST_NAMED)].join(",");
        commands.push(format!("supergat benchmark {source} --families {names} --minutes 10{}", option("metric")));
    }
    commands
}

/// Formats the commands to run next.
fn next_lines(source: &str, dataset: &Dataset, advice: &Advice) -> String {
    let mut lines = String::new();
    if needs_labels(advice) {
        lines += "This recommendation is based on the degree alone. Label some nodes of every class, if possible linked ones.\n";
    }
    for (command, what) in next(source, dataset, advice).iter().zip(["Next", "To compare the likeliest more closely"]) {
        lines += &format!("{what}: {command}\n");
    }
    lines
}

fn text(dataset: &Dataset, source: &str, advice: &Advice) -> String {
    let map = &advice.map;
    let mut text = format!("{BOLD}{}{BOLD:#}\n{}\n", dataset.name, advice.answer);
    text += &row("recommendation", &advice.model_in_words(), "");
    if let Some(measured) = &advice.measured {
        text += &row("expected gain", &gains(measured), "");
        text += &format!("{BOLD}compared on {} labelled nodes{BOLD:#}\n", measured.scored);
        text += &format!("  {:<19} {:>18}  {:>8}  {:>10}\n", "model", measured.metric, "error", "is best");
        let line = |name: &str, mean: f64, error: String, chance: String| {
            format!("  {name:<19} {:>18}  {error:>8}  {chance:>10}\n", format!("{mean:.1} %"))
        };
        text += &line("most frequent class", measured.majority, String::new(), String::new());
        for family in &measured.families {
            text +=
                &line(&family.model_in_words(), family.mean, format!("{:.1}", family.error), percent(family.chance));
        }
    }
    if !advice.notes.is_empty() {
        text += &format!("{BOLD}limits{BOLD:#}\n");
        advice.notes.iter().for_each(|note| text += &format!("  - {note}\n"));
    }
    text += &format!("{BOLD}the paper's map of forms of attention{BOLD:#}\n");
    text += &row("degree", &format!("{:.2}", map.degree), "average number of neighbours");
    text += &row("homophily", &homophily(map), "estimated share of a node's neighbours with its class");
    map.reasons.iter().for_each(|reason| text += &format!("  - {reason}\n"));
    text + &next_lines(source, dataset, advice)
}

/// Writes the map and the page, each file atomically.
fn write(folder: &Path, dataset: &Dataset, source: &str, advice: &Advice) -> Result<()> {
    let name = &dataset.name;
    let svg = figure(name, &advice.map);
    let mut facts = vec![("recommendation", advice.model_in_words()), ("confidence", confidence(advice))];
    facts.extend(advice.measured.as_ref().map(|measured| ("expected gain", gains(measured))));
    facts.extend([("average degree", format!("{:.2}", advice.map.degree)), ("homophily", homophily(&advice.map))]);
    let mut page = Page::new(format!("{name}: {}", advice.model_in_words()), &advice.answer).facts(&facts);
    if let Some(measured) = &advice.measured {
        let each = measured.families.iter().map(|family| {
            let (name, chance) = (family.family.name, percent(family.chance));
            format!(
                "{name}: {} {:.1} %, standard error {:.1}, best with {chance}",
                measured.metric, family.mean, family.error
            )
        });
        page = page.section("Compared on validation nodes").notes(&each.collect::<Vec<_>>());
    }
    if !advice.notes.is_empty() {
        page = page.section("Limits").notes(&advice.notes);
    }
    let page = page
        .section("The paper's map")
        .figure(&svg, "Squares are synthetic graphs of the paper. Their colour shows the best form of attention, their size the gain of SuperGAT over GAT. The dot is this graph; the line is the 95 % interval of its homophily.")
        .notes(&advice.map.reasons)
        .section("Next")
        .code(&next(source, dataset, advice).join("\n"));
    std::fs::create_dir_all(folder).map_err(|error| CliError::cannot_write(folder, error))?;
    files::write(folder, [("map.svg", svg), ("report.html", page.html())])
}
