//! `supergat recommend`

use crate::args::RecommendArgs;
use crate::config::keys::Key;
use crate::config::{Values, load_options};
use crate::error::{CliError, Result};
use crate::files;
use crate::output::{self, BOLD, SCHEMA, row};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;
use supergat_figure::Page;
use supergat_lab::recipe::{Claim, Known, Recommendation, figure, recommend};
use toml::Value;

/// What is said of a dataset.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    schema: u32,
    dataset: &'a str,
    labels: Known,
    #[serde(flatten)]
    recommendation: &'a Recommendation,
}

/// Recommends a model for a dataset.
pub fn run(args: &RecommendArgs) -> Result<ExitCode> {
    let mut options = load_options(args.split, &args.tables.0)?;
    // Without labels there is still a degree to go by.
    options.tables.labels_optional = true;
    let dataset = supergat_data::load_with(&args.dataset, &options)?;
    let labels = if args.training_labels { Known::Training } else { Known::TrainingAndValidation };
    let recommendation = &recommend(&dataset, labels);
    let source = &typed(&args.dataset, &args.tables.0);
    if let Some(folder) = &args.out {
        write(folder, &dataset.name, source, recommendation)?;
    }
    if args.json {
        output::print_json(&Answer { schema: SCHEMA, dataset: &dataset.name, labels, recommendation })?;
    } else {
        output::print(&text(&dataset.name, source, recommendation))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The dataset and what was said about tables, as one types it.
fn typed(dataset: &str, tables: &Values) -> String {
    let option = |(name, value): (&&'static str, &Value)| {
        let option = Key::named(name).map(Key::option).unwrap_or_default();
        match value {
            Value::Boolean(_) => format!(" --{option}"),
            Value::String(text) => format!(" --{option} {text}"),
            other => format!(" --{option} {other}"),
        }
    };
    dataset.to_owned() + &tables.iter().map(option).collect::<String>()
}

/// The line with which a training begins whose model was chosen by the recipe.
pub fn opening(answer: &Recommendation) -> String {
    let sure = answer.confidence.map_or_else(String::new, |_| format!("; {}", confidence(answer)));
    format!(
        "model: {}, chosen for degree {:.1} and homophily {}{sure}; `supergat recommend` says why",
        answer.recommendation,
        answer.degree,
        homophily(answer)
    )
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// How sure the answer is.
fn confidence(answer: &Recommendation) -> String {
    match answer.confidence {
        Some(confidence) => format!("{} sure that no other form does better", percent(confidence)),
        None => "nothing to choose from".to_owned(),
    }
}

/// The homophily with its interval.
fn homophily(answer: &Recommendation) -> String {
    match &answer.homophily {
        Some(h) => format!("{:.2} (95 %: {:.2} to {:.2})", h.estimate, h.low, h.high),
        None => "unknown".to_owned(),
    }
}

fn alternatives(answer: &Recommendation) -> String {
    let each = answer.alternatives.iter().map(|other| {
        let claim = match other.claim {
            Claim::Better => "does better",
            Claim::AsWell => "does as well",
        };
        format!("{} {claim}: {}", other.model, percent(other.chance))
    });
    let all: Vec<String> = each.collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

/// What to do next.
fn advice(source: &str, answer: &Recommendation) -> String {
    let model = answer.recommendation;
    if answer.confidence.is_some() && answer.homophily.is_none() {
        return "This rests on the degree alone. Label some nodes of every class, linked ones if you can, and ask again.".into();
    }
    match answer.alternatives.first() {
        Some(other) if answer.close_call => format!(
            "This is a close call. Let a short search decide: supergat tune {source} --model {model} --minutes 10, and the same with --model {}.",
            other.model
        ),
        _ => format!("Next: supergat train {source} --model {model}"),
    }
}

fn text(name: &str, source: &str, answer: &Recommendation) -> String {
    let mut text = format!("{BOLD}{name}{BOLD:#}\n");
    text += &row("recommendation", &answer.recommendation.to_string(), &confidence(answer));
    text += &row("alternatives", &alternatives(answer), "");
    text += &row("degree", &format!("{:.2}", answer.degree), "average number of neighbours");
    text += &row("homophily", &homophily(answer), "share of neighbours of a node's own class, estimated");
    text += &format!("{BOLD}why{BOLD:#}\n");
    answer.reasons.iter().for_each(|reason| text += &format!("  - {reason}\n"));
    text + &advice(source, answer) + "\n"
}

/// Writes the map and the page, each whole or not at all.
fn write(folder: &Path, name: &str, source: &str, answer: &Recommendation) -> Result<()> {
    let svg = figure(name, answer);
    let page = Page::new(format!("{name}: {}", answer.recommendation), &confidence(answer))
        .facts(&[
            ("recommendation", answer.recommendation.to_string()),
            ("alternatives", alternatives(answer)),
            ("average degree", format!("{:.2}", answer.degree)),
            ("homophily", homophily(answer)),
        ])
        .figure(&svg, "Squares are synthetic graphs of the paper: their colour is the best form of attention, their size what SuperGAT gains over GAT. The dot is this graph, the line the 95 % interval of its homophily.")
        .section("Why")
        .notes(&answer.reasons)
        .text(&advice(source, answer))
        .code(&format!("supergat recommend {source}"));
    std::fs::create_dir_all(folder).map_err(|error| CliError::cannot_write(folder, error))?;
    files::write(folder, [("map.svg", svg), ("report.html", page.html())])
}
