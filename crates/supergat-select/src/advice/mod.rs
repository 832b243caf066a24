//! Which model for a graph? Families are compared on validation nodes within seconds; the paper's map is prior
//! knowledge.
//!
//! Let `x(f, k)` be the score of family f on redraw k of the labelled nodes: its default settings are trained on the
//! training part, the epoch is selected on a second part, and a third part is scored. No part contains test nodes. On
//! large graphs there is one redraw with two rounds: all networks are trained for a few epochs, and those with the best
//! scores again for longer, which gives their scores. With J redraws and the mean `x(f)`:
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
//! There are F families. n of m redrawn nodes are scored in each redraw, d different ones in all; for AUROC, d is the
//! number in the smaller class. The first term is the variance of resampled scores (Nadeau and Bengio 2003); the second
//! keeps few nodes from looking certain. s(f)^2 is a mean with the median of all families, which counts as four more
//! redraws, and as 1 point at least while there are fewer than three. p is the mean score with one right and one wrong
//! node added.
//!
//! A [`MeasuringPlan`] determines all scores. It is made for a time from measured costs, or from the size of the graph
//! alone: its runs then take about as long as one training. `benchmark` compares the same families with searches, on test
//! nodes.
//!
//! ```
//! use std::ops::ControlFlow;
//! use supergat_select::advice::{Question, advise};
//! let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.9").unwrap();
//! let advice = advise(&dataset, &Question { seconds: Some(5.0), ..Question::default() }, 2, |_| ControlFlow::Continue(()))?;
//! println!("{}", advice.answer);
//! assert!(advice.measured.is_some_and(|measured| measured.families.len() > 1));
//! # Ok::<(), String>(())
//! ```
//!
//! | file | content |
//! |---|---|
//! | `contestants.rs` | which families are compared, with which settings |
//! | `redraws.rs` | redrawn parts of the labelled nodes |
//! | `plan.rs` | numbers of epochs and redraws |
//! | `run.rs` | the runs of a plan |
//! | `posterior.rs` | scores and the map as probabilities |
//! | `words.rs` | the answer as sentences |

mod contestants;
mod plan;
mod posterior;
mod redraws;
mod run;
mod words;

pub use plan::MeasuringPlan;
pub use posterior::{Gain, MeasuredFamily};

use crate::benchmark::{Family, LeftOut, MetricChoice, Wanted};
use crate::recipe::{Known, Recommendation, recommend};
use contestants::Contestant;
use redraws::{Redraws, redraws};
use serde::Serialize;
use std::ops::ControlFlow;
use std::time::Duration;
use supergat_core::ModelKind;
use supergat_data::Dataset;
use supergat_train::device::{DeviceChoice, Resources};
use supergat_train::settings::Settings;

/// Version of the comparison. Stored answers of other versions do not count.
pub const METHOD: u32 = 2;
/// Chance below which the choice between the compared families is open.
const OPEN: f64 = 0.5;
/// Chance from which on another family is named as an alternative.
const NAMED: f64 = 0.05;

/// What is asked about a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Seconds for measurements, 0 for the map alone. `None` for about as long as one training: the plan then depends on the
    /// size of the dataset alone, so the answer has the same bits on all machines with the same instruction set.
    pub seconds: Option<f64>,
    /// Whether networks alone are recommended: they predict nodes of other graphs too, and run on all devices. Others are
    /// compared, except for boosted trees, which not all builds have, and on large graphs Correct and Smooth.
    pub networks_only: bool,
    /// Metric, one of [`METRICS`](crate::benchmark::METRICS); `None` for the usual one of the dataset.
    pub metric: Option<String>,
    /// Labels that may be used.
    pub known: Known,
    /// Seed of redraws and runs.
    pub seed: u64,
    /// Bytes of memory that runs may use; `None` for any.
    pub memory: Option<u64>,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            seconds: Some(20.0),
            networks_only: false,
            metric: None,
            known: Known::TrainingAndValidation,
            seed: 0,
            memory: None,
        }
    }
}

/// Formats a probability from 0 to 1, such as `over 99 %`: no measurement makes it certain.
///
/// ```
/// use supergat_select::advice::percent;
/// assert_eq!([0.001, 0.415, 1.0].map(percent), ["under 1 %", "42 %", "over 99 %"]);
/// ```
pub fn percent(share: f64) -> String {
    words::percent(share)
}

/// Event of a measurement, as reported to its observer.
#[derive(Debug, Clone, Copy)]
pub enum AdviceEvent<'a> {
    /// The time of a family is measured.
    Timing(Family),
    /// The plan is made; its runs begin.
    Planned(&'a MeasuringPlan),
    /// A run finished an epoch: about how much time is left, if that is known.
    Epoch(Option<Duration>),
    /// A run ended: number of ended runs, and of all runs.
    Run(usize, usize),
}

/// Results of a measurement on validation nodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Metric of the scores.
    pub metric: String,
    /// The plan, which determines all scores.
    pub plan: MeasuringPlan,
    /// Numbers of training, selecting and scored nodes in a redraw.
    pub parts: [usize; 3],
    /// Number of different nodes that were scored.
    pub scored: usize,
    /// Compared families, the simplest first.
    pub families: Vec<MeasuredFamily>,
    /// Mean score of predicting the most frequent class for all nodes, in percent.
    pub majority: f64,
    /// Expected gains of the recommended family over simpler ones.
    pub gains: Vec<Gain>,
}

/// A recommended model, with what was compared and what was not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// The answer in one or two sentences.
    pub answer: String,
    /// The recommended model.
    pub recommendation: ModelKind,
    /// Family of the recommended model; `None` if nothing was measured.
    pub family: Option<Family>,
    /// Its settings if others than its default ones are recommended.
    pub settings: Option<Settings>,
    /// Probability that it is the best one of what was compared, from 0 to 1; `None` if nothing was compared. `map` has the
    /// votes of the map.
    pub confidence: Option<f64>,
    /// Whether the choice is open between several models.
    pub close_call: bool,
    /// Other compared models that may be best, the most probable first.
    pub alternatives: Vec<ModelKind>,
    /// What limits the answer.
    pub notes: Vec<String>,
    /// Families that were not compared, with the reasons.
    pub left_out: Vec<LeftOut>,
    /// What was measured; `None` if nothing was.
    pub measured: Option<Measured>,
    /// The paper's map, consulted about forms of attention.
    pub map: Recommendation,
}

impl Advice {
    /// Returns the recommended model in words, such as `sage-root with 8 layers and batch norm`.
    pub fn model_in_words(&self) -> String {
        words::model(self.recommendation, self.settings.as_ref())
    }
}

/// Recommends a model for a dataset. Measurements use the threads of the CPU, or a GPU for networks, and end about when the
/// time is over; an observer may stop them, and what has finished is used. Fails if the metric is undefined or the time is
/// not a number.
pub fn advise(
    dataset: &Dataset,
    question: &Question,
    resources: impl Into<Resources>,
    observe: impl Fn(AdviceEvent<'_>) -> ControlFlow<()> + Sync,
) -> Result<Advice, String> {
    if let Some(seconds) = question.seconds.filter(|seconds| !(*seconds >= 0.0 && *seconds < 1e7)) {
        return Err(format!("seconds = {seconds}: must be 0 or more, and below 10000000"));
    }
    let map = recommend(dataset, question.known);
    if question.seconds == Some(0.0) {
        return Ok(words::of_map(map, words::NOT_WANTED.into(), Vec::new()));
    }
    if question.networks_only && map.degree == 0.0 {
        return Ok(words::of_map(map, words::NO_CHOICE.into(), Vec::new()));
    }
    let field = match Field::new(dataset, question, map)? {
        Ok(field) => field,
        Err(advice) => return Ok(*advice),
    };
    let workers = Workers::of(dataset, resources.into());
    let plan = match question.seconds {
        Some(seconds) => plan::timed(&field, question, seconds, workers, &observe),
        None => plan::by_size(&field, question),
    };
    field.answer(plan, workers, question.networks_only, &observe)
}

/// Number of nodes, or of directed edges, from which on a graph is large: one network is then trained at a time, which
/// takes less memory.
const LARGE: [usize; 2] = [50_000, 2_000_000];

fn is_large(dataset: &Dataset) -> bool {
    let edges: usize = dataset.examples.iter().map(|example| example.graph.edges()).sum();
    dataset.nodes() >= LARGE[0] || edges >= LARGE[1]
}

/// How runs share threads and device. Results do not depend on it.
#[derive(Clone, Copy)]
struct Workers {
    /// Number of runs at a time.
    count: usize,
    /// What each run may use.
    each: Resources,
}

impl Workers {
    /// Returns one run per thread on the CPU; one at a time on a GPU and on large graphs.
    fn of(dataset: &Dataset, resources: Resources) -> Self {
        match resources.kind().is_cpu() && !is_large(dataset) {
            true => Self { count: resources.threads, each: Resources { threads: 1, processes: None, ..resources } },
            false => Self { count: 1, each: Resources { processes: None, ..resources } },
        }
    }

    /// Returns what a run of a model may use: others than networks have no device.
    fn of_run(&self, model: ModelKind) -> Resources {
        let device = if model.is_network() { self.each.device } else { DeviceChoice::Cpu };
        Resources { device, ..self.each }
    }
}

/// What can be measured on a dataset.
struct Field<'a> {
    dataset: &'a Dataset,
    map: Recommendation,
    metric: MetricChoice,
    notes: Vec<String>,
    redraws: Redraws<'a>,
    contestants: Vec<Contestant>,
    left_out: Vec<LeftOut>,
}

impl<'a> Field<'a> {
    /// Prepares a measurement. The inner error is the advice if nothing can be measured.
    fn new(
        dataset: &'a Dataset,
        question: &Question,
        map: Recommendation,
    ) -> Result<Result<Self, Box<Advice>>, String> {
        let plain = MetricChoice { select: None, positive: None };
        let draw = |metric| redraws(dataset, question.known, metric, question.seed);
        let (metric, notes, drawn) = match dataset.classes() {
            0 => (plain, Vec::new(), draw(plain)),
            _ => {
                let name = question.metric.as_deref();
                let wanted = Wanted::new(dataset, name, question.known != Known::Training)?;
                match draw(wanted.choice) {
                    // A metric that was chosen here, not by the user, is replaced by accuracy.
                    Err(reason) if name.is_none() && wanted.choice != plain => {
                        (plain, wanted.notes(false, &reason), draw(plain))
                    }
                    drawn => (wanted.choice, wanted.notes(true, ""), drawn),
                }
            }
        };
        let redraws = match drawn {
            Ok(redraws) => redraws,
            Err(reason) => return Ok(Err(Box::new(words::of_map(map, reason, Vec::new())))),
        };
        let (mut contestants, mut left_out) = contestants::of(dataset, &map, metric);
        if question.networks_only {
            // Correct and Smooth takes longer than short trainings of networks on large graphs.
            let is_compared = |family: Family| {
                family.name != "trees" && !(family.name == "mlp-correct-and-smooth" && is_large(dataset))
            };
            contestants.retain(|contestant| is_compared(contestant.family));
            left_out.retain(|left| is_compared(left.family));
        }
        Ok(Ok(Self { dataset, map, metric, notes, redraws, contestants, left_out }))
    }

    /// Runs a plan and concludes.
    fn answer(
        mut self,
        plan: Result<MeasuringPlan, String>,
        workers: Workers,
        networks_only: bool,
        observe: &(impl Fn(AdviceEvent<'_>) -> ControlFlow<()> + Sync),
    ) -> Result<Advice, String> {
        let mut plan = match plan {
            Ok(plan) => plan,
            Err(reason) => return Ok(words::of_map(self.map, reason, self.left_out)),
        };
        self.left_out.append(&mut plan.left_out.clone());
        let scores = run::run(&self, &mut plan, workers, observe);
        self.left_out.extend(scores.failed.iter().cloned());
        if plan.redraws == 0 || scores.families.is_empty() {
            let reason = if scores.failed.is_empty() { "no run has finished" } else { "no family has results" };
            return Ok(words::of_map(self.map, reason.into(), self.left_out));
        }
        let measured = posterior::measured(&self, plan, scores);
        Ok(words::of_measurement(self, measured, networks_only))
    }
}

#[cfg(test)]
mod tests;
