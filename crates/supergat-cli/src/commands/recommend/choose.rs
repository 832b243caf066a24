//! The choice of a model for commands that train one.

use super::progress::QuickProgress;
use super::quick::homophily_in_words;
use crate::config::Choices;
use crate::error::Result;
use crate::output;
use std::ops::ControlFlow;
use supergat::Choice;
use supergat_data::Dataset;
use supergat_select::recommend::quick::{QuickAnswer, percent};
use supergat_train::Resources;

/// Chooses model and settings for a dataset, with progress while models are compared.
pub fn choose(
    choices: &Choices,
    dataset: &Dataset,
    resources: Resources,
    seconds: Option<f64>,
    quiet: bool,
) -> Result<Choice> {
    let builder = choices.builder(resources)?;
    if !builder.compares_models(dataset) {
        if seconds.is_some() && !quiet {
            output::note("note: --choose-seconds has no effect, because no models are compared");
        }
        return Ok(builder.choose(dataset)?);
    }
    let time = seconds
        .map_or_else(|| "up to 20 s on one core, on large graphs one training".to_owned(), |time| format!("{time} s"));
    let start = format!("no model is named: comparing networks on held-out labelled nodes, {time}");
    let progress = QuickProgress::new(quiet, &start);
    let builder = builder.observe_choice(|event| {
        progress.observe(event);
        ControlFlow::Continue(())
    });
    let choice = seconds.into_iter().fold(builder, |builder, time| builder.choose_seconds(time)).choose(dataset);
    progress.status.finish();
    Ok(choice?)
}

/// Returns the first lines of the log when the model was chosen by recommendation.
pub fn opening(answer: &QuickAnswer) -> Vec<String> {
    let model = answer.model_in_words();
    let first = match &answer.measured {
        Some(measured) => {
            let networks = measured.families.iter().filter(|family| family.is_network());
            let compared = output::count(networks.count(), "network");
            let sure = answer.confidence.map_or_else(String::new, |sure| {
                format!("; {} probability of the best {} among them", percent(sure), measured.metric)
            });
            format!(
                "model: {model}, chosen among {compared} on held-out labelled nodes{sure}; for more see `supergat recommend`"
            )
        }
        None => {
            let votes = answer.map.votes();
            let votes = if votes.is_empty() { votes } else { format!("; votes of the paper's map: {votes}") };
            format!(
                "model: {model}, not measured, chosen for degree {:.1} and homophily {}{votes}",
                answer.map.degree,
                homophily_in_words(&answer.map)
            )
        }
    };
    let automatically = answer.notes.iter().filter(|note| note.contains("chosen automatically"));
    [first].into_iter().chain(automatically.map(|note| format!("note: {note}"))).collect()
}
