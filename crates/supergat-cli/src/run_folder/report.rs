//! Report of a run, built after training or from a run folder.

use crate::error::{CliError, Result};
use crate::output::count;
use crate::run_folder::summary::{RunSummary, percent};
use supergat_core::Model;
use supergat_data::Dataset;
use supergat_lab::Runs;
use supergat_lab::report::{EpochLine, Report, Run};

/// Returns the epochs of all runs.
pub fn lines(runs: &Runs) -> Vec<EpochLine> {
    runs.runs.iter().flat_map(|run| run.history.iter().map(|epoch| EpochLine::new(run.seed, epoch))).collect()
}

/// Builds the report of a run from the logits of its best model.
pub fn make(
    dataset: &Dataset,
    model: &Model<f32>,
    logits: &[Vec<f32>],
    lines: &[EpochLine],
    summary: &RunSummary,
) -> Result<Report> {
    let best = summary.seeds.iter().position(|seed| *seed == summary.best_seed);
    let Some(&epoch) = best.and_then(|best| summary.best_epochs.get(best)) else {
        return Err(CliError::usage("the summary does not list its best seed"));
    };
    let run = Run { dataset, model, logits, lines, seed: summary.best_seed, epoch, metric: &summary.metric };
    Ok(Report::of(&run, &facts(dataset, summary, epoch))?)
}

/// Returns the facts at the beginning of the report.
fn facts(dataset: &Dataset, summary: &RunSummary, epoch: usize) -> Vec<(String, String)> {
    let RunSummary { metric, seeds, best_seed, .. } = summary;
    let most = summary.epochs.iter().max().copied().unwrap_or_default();
    let seed = match seeds.len() {
        1 => best_seed.to_string(),
        many => format!("{many}, best {best_seed}"),
    };
    let mut facts = vec![
        (format!("test {metric}"), percent(&summary.test)),
        (format!("validation {metric}"), percent(&summary.validation)),
        (if seeds.len() == 1 { "seed" } else { "seeds" }.into(), seed),
        ("best epoch (from 0)".into(), format!("{epoch} of {most}")),
        ("time of training".into(), format!("{:.1} s", summary.seconds)),
        ("graph".into(), format!("{}, {}", count(dataset.nodes(), "node"), links(dataset))),
    ];
    if summary.interrupted {
        facts.push(("ended".into(), "interrupted".into()));
    }
    facts
}

fn links(dataset: &Dataset) -> String {
    count(usize::try_from(dataset.listed_links).unwrap_or(usize::MAX), "link")
}
