//! The comparison within seconds: families with their default settings, on labelled nodes that are no test nodes. The
//! paper's map is prior knowledge.
//!
//! Let `x(f, k)` be the score of family f in repetition k, with resampled labelled nodes: its default settings are trained on the
//! training part, the epoch is selected on a second part, and a third part is scored. No part contains test nodes. On
//! large graphs there is one repetition with two rounds: all networks are trained for a few epochs, and those with the best
//! scores again for longer, which gives their scores. With J repetitions and the mean `x(f)`:
//!
//! ```text
//! error(f)^2  = max(s(f)^2 (1/J + n/(m - n)), p (1 - p) / 2d)      s(f)^2: F / (F - 1) times the variance of
//!                                                                  x(f, k) - mean of x(., k) over k
//! prior(f)    = N(mean of all x + b (c(f) - mean of c), t^2)       c(f): chance of a form of attention by the map
//! effect(f)   = normal posterior of x(f) with this prior
//! chance(f)   = probability that effect(f) is the largest, all effects independent
//! answer      = the simplest family whose chance is at least 9/10 of the largest
//! ```
//!
//! There are F families. n of m resampled nodes are scored in each repetition, d different ones in all; for AUROC, d is the
//! number in the smaller class. The first term is the variance of resampled scores (Nadeau and Bengio 2003); the second
//! keeps few nodes from looking certain. s(f)^2 is a mean with the median of all families, which counts as four more
//! repetitions, and as 0.01^2 at least while there are fewer than three. p is the mean score with one right and one wrong
//! node added.
//!
//! A [`QuickPlan`] determines all scores. It is made for a time from measured costs, or from the size of the graph
//! alone: its runs then take up to about 20 s of one core, on large graphs about as long as one training. [`thorough`](crate::recommend::thorough)
//! compares families with searches, on test nodes.
//!
//! ```
//! use std::ops::ControlFlow;
//! use supergat_select::recommend::quick::{QuickQuestion, recommend};
//! let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.9").unwrap();
//! let found = recommend(&dataset, &QuickQuestion { seconds: Some(5.0), ..QuickQuestion::default() }, 2, |_| ControlFlow::Continue(()))?;
//! println!("{}", found.answer);
//! assert!(found.measured.is_some_and(|measured| measured.families.len() > 1));
//! # Ok::<(), String>(())
//! ```
//!
//! | file | content |
//! |---|---|
//! | `question.rs` | the question |
//! | `candidates.rs` | the compared families with their settings |
//! | `resampled.rs` | resampled parts of the labelled nodes |
//! | `setup.rs` | everything that a comparison is made from |
//! | `plan.rs` | numbers of epochs and repetitions |
//! | `run.rs` | the runs of a plan |
//! | `posterior.rs` | scores and the map as probabilities |
//! | `answer.rs` | the answer |
//! | `words.rs` | the answer as sentences |

mod answer;
mod candidates;
mod plan;
mod posterior;
mod question;
mod resampled;
mod run;
mod setup;
mod words;

pub use answer::QuickAnswer;
pub use plan::{QuickEvent, QuickPlan};
pub use posterior::{Gain, Measured, MeasuredFamily};
pub use question::QuickQuestion;
pub use words::percent;

use crate::recommend::map::consult;
use setup::{Setup, Workers};
use std::ops::ControlFlow;
use supergat_data::Dataset;
use supergat_train::{Resources, memory};

/// Version of the comparison. Stored answers of other versions do not count.
pub const METHOD: u32 = 2;

/// Recommends a model for a dataset. Measurements use the threads of the CPU, or a GPU for networks, and end about when the
/// time is over. An observer may stop them; finished runs are used. Fails if the metric is undefined or the time is not a
/// number.
pub fn recommend(
    dataset: &Dataset,
    question: &QuickQuestion,
    resources: impl Into<Resources>,
    observe: impl Fn(QuickEvent<'_>) -> ControlFlow<()> + Sync,
) -> Result<QuickAnswer, String> {
    if let Some(seconds) = question.seconds.filter(|seconds| !(*seconds >= 0.0 && *seconds < 1e7)) {
        return Err(format!("seconds = {seconds}: must be 0 or more, and below 10000000"));
    }
    let resources = resources.into();
    let free = || memory::free().filter(|_| resources.kind().is_cpu());
    let question = QuickQuestion { memory: question.memory.or_else(free), ..question.clone() };
    let map = consult(dataset, question.known);
    let by_map = |reason: String, left_out| Ok(words::of_map(map.clone(), reason, left_out));
    if question.seconds == Some(0.0) {
        return by_map(words::NOT_WANTED.into(), Vec::new());
    }
    if question.networks_only && map.degree == 0.0 {
        return by_map(words::NO_CHOICE.into(), Vec::new());
    }
    let mut setup = match Setup::new(dataset, &question, &map)? {
        Ok(setup) => setup,
        Err(reason) => return by_map(reason, Vec::new()),
    };
    let workers = Workers::of(dataset, resources);
    let planned = match question.seconds {
        Some(seconds) => plan::timed(&setup, &question, seconds, workers, &observe),
        None => plan::by_size(&setup, &question, workers),
    };
    let mut plan = match planned {
        Ok(plan) => plan,
        Err(reason) => return by_map(reason, setup.left_out),
    };
    setup.left_out.append(&mut plan.left_out.clone());
    let scores = run::run(&setup, &mut plan, workers, &observe);
    setup.left_out.extend(scores.failed.iter().cloned());
    if plan.repetitions == 0 || scores.families.is_empty() {
        let reason = if scores.failed.is_empty() { "no run has finished" } else { "no family has results" };
        return by_map(reason.into(), setup.left_out);
    }
    let measured = posterior::measured(&setup, plan, scores);
    Ok(words::of_measurement(setup, measured, question.networks_only))
}

#[cfg(test)]
mod tests;
