//! The comparison within minutes: searches settings, and compares families on test nodes.
//!
//! Every family of models gets the same search on validation nodes; its selected settings then run on resampled splits. Let
//! `v_r(t)` be the mean validation metric of trial t on the splits of rung r, after its epochs `e_r`, and `test(f, k)` the test
//! metric of the settings of family f on split k, at the epoch with the best validation metric:
//!
//! ```text
//! T_0     = trials 0, ..., n_0 - 1 of the family: settings of two layers and of deep blocks, in turn
//! T_r     = the n_r trials of T_(r-1) with the largest v_(r-1)          (successive halving)
//! t*      = argmax of v_R(t) over T_R, the last rung
//! best    = argmax over f of the mean of test(f, k) over the splits k
//! tied    = best; every family whose mean is at most 0.005 below, and at most a tenth of the difference between the best
//!           and 1; and every family that is not significantly worse (paired t-test over k, with Holm's correction) and whose mean is
//!           at most one standard error of the paired difference below
//! answer  = of the least complex families of `tied`, the one with the best mean
//! ```
//!
//! Numbers of trials, epochs and splits are the same for all families. They are chosen from measured times, settled after
//! the first rung from the times of its runs, and recorded in a [`ThoroughPlan`]. If there is not enough time, the search of
//! families that are far behind ends with the first rung, and other bad ones are left out. ThoroughPlan and seed determine
//! everything else, so a comparison can be interrupted, resumed and repeated. If it is late, the rest is left out for all
//! families alike, and the plan records that.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::Arc;
//! use supergat_select::recommend::Family;
//! use supergat_select::recommend::thorough::{self, Limit, ThoroughAnswer, ThoroughQuestion};
//! use supergat_select::sweep::ResultsFile;
//! let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap();
//! let folder = tempfile::tempdir().unwrap();
//! let mut results = ResultsFile::open(&folder.path().join("results.jsonl"))?;
//! let families = ["mlp", "gcn"].map(|name| Family::named(name).unwrap()).to_vec();
//! let limit = Limit::minutes(0.05);
//! let question = ThoroughQuestion { families, ..ThoroughQuestion::default() };
//! let mut plan = thorough::plan(&dataset, &question, 2.into(), limit)?;
//! thorough::run(&Arc::new(dataset), &mut plan, &mut results, 2.into(), Some(limit), |_| Ok(()), |_| ControlFlow::Continue(()))?;
//! let found = ThoroughAnswer::new(&plan, &results);
//! println!("{}", found.answer);
//! # Ok::<(), thorough::ThoroughError>(())
//! ```
//!
//! | file | content |
//! |---|---|
//! | `planning.rs` | the question, its time limit, and the plan that is made from measured times |
//! | `plan.rs` | the plan and its file |
//! | `trials.rs` | search spaces and trials of the families |
//! | `splits.rs` | the resampled splits |
//! | `cost.rs` | measured times of the families |
//! | `forecast.rs` | estimated times of the runs of a plan |
//! | `size.rs` | numbers of trials, epochs and splits that there is time for |
//! | `run.rs` | execution of the missing runs |
//! | `standing.rs` | the order of trials, and the selected ones |
//! | `answer.rs` | results, tests and the answer |
//! | `words.rs` | the answer as sentences |
//! | `sheet.rs` | results as tables |

mod answer;
mod cost;
mod error;
mod forecast;
mod plan;
mod planning;
mod run;
pub mod sheet;
mod size;
mod splits;
mod standing;
mod trials;
mod words;

pub use answer::{FamilyComparison, FamilyResult, ThoroughAnswer, Verdict};
pub use cost::Cost;
pub use error::ThoroughError;
pub use plan::{FamilyPlan, RungPlan, SearchCut, ThoroughPlan};
pub use planning::{Limit, ThoroughQuestion, plan};
pub use run::{ThoroughEvent, ThoroughOutcome, run};
pub use splits::SplitPlan;

#[cfg(test)]
mod tests;
