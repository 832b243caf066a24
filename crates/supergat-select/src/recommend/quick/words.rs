//! The answer as sentences, which claim no more than was compared.

use crate::recommend::FEW_NODES;
use crate::recommend::families::{Family, LeftOut, model_in_words, not_compared};
use crate::recommend::map::MapAnswer;
use crate::recommend::quick::answer::QuickAnswer;
use crate::recommend::quick::candidates::SHORT;
use crate::recommend::quick::plan::KEPT;
use crate::recommend::quick::posterior::{Gain, Measured, MeasuredFamily, chances};
use crate::recommend::quick::setup::Setup;
use supergat_core::ModelKind;
use supergat_core::words::count;

/// Reason of no measurement if none is wanted.
pub(super) const NOT_WANTED: &str = "no time was given";
/// Reason of no measurement if there is one network to choose.
pub(super) const NO_CHOICE: &str = "other networks would only add cost";
/// Chance below which the choice between the compared families is open.
const OPEN: f64 = 0.5;
/// Chance from which on another family is named as an alternative.
const NAMED: f64 = 0.05;
/// Number of epochs below which trainings are short.
const FEW_EPOCHS: usize = 60;
/// Number of repetitions below which errors are rough.
const FEW_REPETITIONS: usize = 3;
/// Families whose chance is this share of the largest are as good; the simplest of them is recommended.
const EQUAL: f64 = 0.9;

/// Returns the advice of the map alone, with the reason why nothing was measured.
pub(super) fn of_map(map: MapAnswer, reason: String, left_out: Vec<LeftOut>) -> QuickAnswer {
    let model = map.recommendation;
    let answer = match map.forms.is_empty() {
        false => format!(
            "Nothing was measured: {reason}. The paper's map of forms of attention alone suggests {model}; its votes are {}.",
            map.votes()
        ),
        true => format!("Use {model}: there are no links. Nothing was measured: {reason}."),
    };
    QuickAnswer {
        answer,
        recommendation: model,
        family: None,
        settings: None,
        confidence: None,
        close_call: map.close_call,
        alternatives: map.alternatives.clone(),
        notes: not_compared(&left_out, Family::model_in_words).into_iter().collect(),
        left_out,
        measured: None,
        map,
    }
}

/// Returns the advice of a measurement.
pub(super) fn of_measurement(setup: Setup<'_>, mut measured: Measured, networks_only: bool) -> QuickAnswer {
    // Families that can be chosen, with their chances among themselves.
    let may_win = |family: &&MeasuredFamily| !networks_only || family.is_network();
    let mut choices: Vec<MeasuredFamily> = measured.families.iter().filter(may_win).cloned().collect();
    let effects: Vec<(f64, f64)> = choices.iter().map(|family| (family.expected, family.deviation)).collect();
    choices.iter_mut().zip(chances(&effects)).for_each(|(family, chance)| family.chance = chance);
    let largest = choices.iter().map(|family| family.chance).fold(0.0, f64::max);
    let Some(best) = choices.iter().find(|family| family.chance >= EQUAL * largest) else {
        return of_map(setup.map.clone(), "no run of a network has finished".into(), setup.left_out);
    };
    measured.gains = measured.gains_of(best);
    let mut others: Vec<&MeasuredFamily> =
        choices.iter().filter(|other| other.family != best.family && other.chance >= NAMED).collect();
    others.sort_by(|a, b| b.chance.total_cmp(&a.chance));
    let recommendation = best.settings.model;
    let mut alternatives: Vec<ModelKind> = Vec::new();
    for model in others.iter().map(|other| other.settings.model) {
        if model != recommendation && !alternatives.contains(&model) {
            alternatives.push(model);
        }
    }
    let settings =
        best.family.has_own_settings().then(|| best.family.usual(setup.dataset.preset.as_deref(), recommendation));
    let confidence = (choices.len() > 1).then_some(best.chance);
    let close_call = best.chance < OPEN && choices.len() > 1;
    let compared = format!("{} compared {}", choices.len(), if networks_only { "networks" } else { "families" });
    let name = model_in_words(recommendation, settings.as_ref());
    let answer = answer(&measured, best, &name, &others, &compared);
    let mut notes = limits(&setup, &measured);
    notes.extend(better_without_network(&measured, best, networks_only));
    notes.extend(not_compared(&setup.left_out, Family::model_in_words));
    notes.extend(setup.notes);
    QuickAnswer {
        answer,
        recommendation,
        family: Some(best.family),
        settings,
        confidence,
        close_call,
        alternatives,
        notes,
        left_out: setup.left_out,
        measured: Some(measured),
        map: setup.map.clone(),
    }
}

/// Returns the answer of a measurement.
fn answer(
    measured: &Measured,
    best: &MeasuredFamily,
    name: &str,
    others: &[&MeasuredFamily],
    compared: &str,
) -> String {
    let Measured { metric, scored, families, .. } = measured;
    let mut answer = match families.len() {
        1 => {
            format!("Only {name} ran ({metric} {:.1} % on held-out nodes), so nothing was compared.", 100.0 * best.mean)
        }
        _ => {
            let open = match (best.chance < OPEN, others) {
                (true, [first, ..]) if first.chance > best.chance => {
                    let (other, chance) = (first.family.model_in_words(), percent(first.chance));
                    format!("; {other} ({chance}) is about as likely, but less simple")
                }
                (true, [first, ..]) => {
                    let (other, chance) = (first.family.model_in_words(), percent(first.chance));
                    format!("; the next, {other} ({chance}), may be as good")
                }
                _ => String::new(),
            };
            let chance = percent(best.chance);
            format!("Use {name}: with {chance} probability it has the best {metric} of the {compared}{open}.")
        }
    };
    let gain = measured.gains.last();
    if let Some(gain) = gain {
        answer += &format!(" {}.", gain_words(gain));
    }
    if let Some(majority) = measured.gains.iter().find(|gain| gain.over == "majority" && gain.low <= 0.0) {
        if gain != Some(majority) {
            answer += &format!(" {}.", gain_words(majority));
        }
        answer += " It is not clearly better than no model.";
    }
    if *scored < FEW_NODES {
        answer += &format!(" With {}, this means little.", count(*scored, "scored node"));
    }
    answer
}

/// Describes a gain, such as `The expected gain over mlp is 3.1 points (95 % interval 1.0 to 5.2)`.
fn gain_words(gain: &Gain) -> String {
    let over = if gain.over == "majority" { "predicting the most frequent class" } else { &gain.over };
    let [points, low, high] = gain.in_points();
    format!("The expected gain over {over} is {points:.1} points (95 % interval {low:.1} to {high:.1})")
}

/// Describes the comparison and its limits.
fn limits(setup: &Setup<'_>, measured: &Measured) -> Vec<String> {
    let Measured { plan, parts: [train, select, score], .. } = measured;
    let repetitions = if plan.repetitions == 1 { "once".to_owned() } else { format!("{} times", plan.repetitions) };
    let nodes = match plan.keeps_training {
        true => {
            format!(
                "{select} validation nodes selected the epoch and {score} others were scored, resampled {repetitions}"
            )
        }
        false => format!(
            "{train} labelled nodes were trained on, {select} selected the epoch and {score} were scored, resampled {repetitions}"
        ),
    };
    let networks = match plan.first_epochs {
        Some(first) => format!("networks for {} and the best {KEPT} again for {}", count(first, "epoch"), plan.epochs),
        None => format!("networks for {}", count(plan.epochs, "epoch")),
    };
    let fewest = plan.first_epochs.unwrap_or(plan.epochs);
    let networks = if fewest < SHORT { format!("{networks} with a higher learning rate") } else { networks };
    let mut notes =
        vec![format!("Every family ran with its default settings, {networks}: {nodes}. No test node was used.")];
    let more = if plan.seconds.is_some() { "; give more seconds" } else { "" };
    if fewest < FEW_EPOCHS {
        notes.push(format!(
            "Training was short ({}): other families may be better after longer training{more}.",
            count(fewest, "epoch")
        ));
    }
    if plan.repetitions < FEW_REPETITIONS {
        notes.push(format!("Errors are rough ({}){more}.", count(plan.repetitions, "repetition")));
    }
    if setup.map.degree > 0.0 {
        notes.push("Tuned networks were not compared; that takes minutes instead of seconds.".into());
    }
    notes
}

/// Says so if a model that is no network was better than the recommended one, but could not be recommended.
fn better_without_network(measured: &Measured, best: &MeasuredFamily, networks_only: bool) -> Option<String> {
    let better = measured.families.iter().filter(|family| networks_only && !family.is_network());
    let better =
        better.max_by(|a, b| a.expected.total_cmp(&b.expected)).filter(|other| other.expected > best.expected)?;
    Some(format!(
        "{} was better ({:.1} % against {:.1} %), but only networks are chosen automatically.",
        better.family.model_in_words(),
        100.0 * better.mean,
        100.0 * best.mean
    ))
}

/// Formats a probability from 0 to 1, such as `over 99 %`: no measurement makes it certain.
///
/// ```
/// use supergat_select::recommend::quick::percent;
/// assert_eq!([0.001, 0.415, 1.0].map(percent), ["under 1 %", "42 %", "over 99 %"]);
/// ```
pub fn percent(share: f64) -> String {
    match 100.0 * share {
        more if more > 99.0 => "over 99 %".to_owned(),
        less if less < 1.0 => "under 1 %".to_owned(),
        some => format!("{some:.0} %"),
    }
}
