//! Implementation of `supergat recommend`.

use crate::args::RecommendArgs;
use crate::config::keys::{Key, Kind};
use crate::config::{Values, load_options};
use crate::error::{CliError, Result};
use crate::files;
use crate::output::{self, BOLD, SCHEMA, row};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;
use supergat::lab::recipe::{Claim, Known, Recommendation, figure, recommend};
use supergat_figure::Page;
use toml::Value;

/// Recommendation for a dataset, printed by `--json`.
#[derive(Debug, Serialize)]
struct RecommendOutput<'a> {
    schema: u32,
    dataset: &'a str,
    labels: Known,
    #[serde(flatten)]
    recommendation: &'a Recommendation,
}

/// Recommends a model for a dataset.
pub fn run(args: &RecommendArgs) -> Result<ExitCode> {
    let mut options = load_options(args.split, &args.reading.0)?;
    // Without labels, the recommendation is based on the degree alone.
    options.tables.labels_optional = true;
    let dataset = supergat::data::load_with(&args.dataset, &options)?;
    let labels = if args.training_labels { Known::Training } else { Known::TrainingAndValidation };
    let recommendation = &recommend(&dataset, labels);
    let source = &arguments(&args.dataset, &args.reading.0);
    if let Some(folder) = &args.out {
        write(folder, &dataset.name, source, recommendation)?;
    }
    if args.json {
        output::print_json(&RecommendOutput { schema: SCHEMA, dataset: &dataset.name, labels, recommendation })?;
    } else {
        output::print(&text(&dataset.name, source, recommendation))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the dataset and the table options as arguments of a command line.
fn arguments(dataset: &str, reading: &Values) -> String {
    let option = |(name, value): (&&'static str, &Value)| {
        let key = Key::named(name);
        let option = match (key.map(|key| key.kind), value) {
            (Some(Kind::Toggle { off }), Value::Boolean(false)) => off.to_owned(),
            _ => key.map(Key::option).unwrap_or_default(),
        };
        match value {
            Value::Boolean(_) => format!(" --{option}"),
            Value::String(text) => format!(" --{option} {text}"),
            other => format!(" --{option} {other}"),
        }
    };
    dataset.to_owned() + &reading.iter().map(option).collect::<String>()
}

/// Returns the first line of the log when the model was chosen by recommendation.
pub fn opening(recommended: &Recommendation) -> String {
    let sure = recommended.confidence.map_or_else(String::new, |_| format!("; {}", confidence(recommended)));
    format!(
        "model: {}, chosen for degree {:.1} and homophily {}{sure}; for reasons see `supergat recommend`",
        recommended.recommendation,
        recommended.degree,
        homophily(recommended)
    )
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Formats the confidence.
fn confidence(recommended: &Recommendation) -> String {
    match recommended.confidence {
        Some(confidence) => format!("{} confidence that no other form performs better", percent(confidence)),
        None => "no alternatives to compare".to_owned(),
    }
}

/// Formats the homophily with its 95 % interval.
fn homophily(recommended: &Recommendation) -> String {
    match &recommended.homophily {
        Some(h) => format!("{:.2} (95 %: {:.2} to {:.2})", h.estimate, h.low, h.high),
        None => "unknown".to_owned(),
    }
}

/// Formats the alternative models and their probabilities.
fn alternatives(recommended: &Recommendation) -> String {
    let each = recommended.alternatives.iter().map(|other| {
        let claim = match other.claim {
            Claim::Better => "performs better",
            Claim::AsWell => "performs equally well",
        };
        format!("{} {claim}: {}", other.model, percent(other.chance))
    });
    let all: Vec<String> = each.collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

/// Suggests the next command.
fn advice(source: &str, recommended: &Recommendation) -> String {
    let model = recommended.recommendation;
    if recommended.confidence.is_some() && recommended.homophily.is_none() {
        return "This recommendation is based on the degree alone. Label some nodes of every class, if possible linked ones, and run the command again.".into();
    }
    match recommended.alternatives.first() {
        Some(other) if recommended.close_call => format!(
            "The decision is close. Compare both models with a short search: supergat tune {source} --model {model} --minutes 10, then the same command with --model {}.",
            other.model
        ),
        _ => format!("Next: supergat train {source} --model {model}"),
    }
}

fn text(name: &str, source: &str, recommended: &Recommendation) -> String {
    let mut text = format!("{BOLD}{name}{BOLD:#}\n");
    text += &row("recommendation", &recommended.recommendation.to_string(), &confidence(recommended));
    text += &row("alternatives", &alternatives(recommended), "");
    text += &row("degree", &format!("{:.2}", recommended.degree), "average number of neighbours");
    text += &row("homophily", &homophily(recommended), "estimated share of a node's neighbours with its class");
    text += &format!("{BOLD}why{BOLD:#}\n");
    recommended.reasons.iter().for_each(|reason| text += &format!("  - {reason}\n"));
    text + &advice(source, recommended) + "\n"
}

/// Writes the map and the page, each file atomically.
fn write(folder: &Path, name: &str, source: &str, recommended: &Recommendation) -> Result<()> {
    let svg = figure(name, recommended);
    let page = Page::new(format!("{name}: {}", recommended.recommendation), &confidence(recommended))
        .facts(&[
            ("recommendation", recommended.recommendation.to_string()),
            ("alternatives", alternatives(recommended)),
            ("average degree", format!("{:.2}", recommended.degree)),
            ("homophily", homophily(recommended)),
        ])
        .figure(&svg, "Squares are synthetic graphs of the paper. Their colour shows the best form of attention, their size the gain of SuperGAT over GAT. The dot is this graph; the line is the 95 % interval of its homophily.")
        .section("Why")
        .notes(&recommended.reasons)
        .text(&advice(source, recommended))
        .code(&format!("supergat recommend {source}"));
    std::fs::create_dir_all(folder).map_err(|error| CliError::cannot_write(folder, error))?;
    files::write(folder, [("map.svg", svg), ("report.html", page.html())])
}
