//! The benchmark: which model for a graph?
//!
//! Every family of models gets the same search on validation nodes; its selected settings then run on redrawn splits. Let
//! `v_r(t)` be the mean validation metric of trial t on the splits of rung r, after its epochs `e_r`, and `test(f, k)` the test
//! metric of the settings of family f on split k, at the epoch with the best validation metric:
//!
//! ```text
//! T_0     = trials 0, ..., n_0 - 1 of the family: settings of two layers and of deep blocks, in turn
//! T_r     = the n_r trials of T_(r-1) with the largest v_(r-1)          (successive halving)
//! t*      = argmax of v_R(t) over T_R, the last rung
//! best    = argmax over f of the mean of test(f, k) over the splits k
//! tied    = best; every family whose mean is at most 0.5 points below, and at most a tenth of what the best lacks to 100; and
//!           every family that is not significantly worse (paired t-test over k, with Holm's correction) and whose mean is
//!           at most one standard error of the paired difference below
//! answer  = of the least complex families of `tied`, the one with the best mean
//! ```
//!
//! Numbers of trials, epochs and splits are the same for all families. They are chosen from measured times, settled after
//! the first rung from the times of its runs, and written down as a [`Plan`]. If there is not enough time, the search of
//! families that are far behind ends with the first rung, and other bad ones are left out. Plan and seed determine
//! everything else, so a benchmark can be interrupted, resumed and repeated. If it is late, the rest is left out for all
//! families alike, and the plan records that.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::Arc;
//! use supergat_select::benchmark::{self, Benchmark, Family, Limit, Request};
//! use supergat_select::sweep::ResultsFile;
//! let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap();
//! let folder = tempfile::tempdir().unwrap();
//! let mut results = ResultsFile::open(&folder.path().join("results.jsonl"))?;
//! let families = ["mlp", "gcn"].map(|name| Family::named(name).unwrap()).to_vec();
//! let limit = Limit::minutes(0.05);
//! let request = Request { families, ..Request::default() };
//! let mut plan = benchmark::plan(&dataset, &request, 2.into(), limit)?;
//! benchmark::run(&Arc::new(dataset), &mut plan, &mut results, 2.into(), Some(limit), |_| Ok(()), |_| ControlFlow::Continue(()))?;
//! let found = Benchmark::new(&plan, &results);
//! println!("{}", found.answer);
//! # Ok::<(), benchmark::BenchmarkError>(())
//! ```
//!
//! | file | content |
//! |---|---|
//! | `families.rs` | the families, their search spaces and trials |
//! | `metric.rs` | the metric, and whether classes are imbalanced |
//! | `splits.rs` | the redrawn splits |
//! | `cost.rs` | measured times of the families |
//! | `plan.rs` | the plan |
//! | `forecast.rs` | estimated times of the runs of a plan |
//! | `size.rs` | numbers of trials, epochs and splits that there is time for |
//! | `run.rs` | execution of the missing runs |
//! | `standing.rs` | the order of trials, and the selected ones |
//! | `table.rs` | results and tests |
//! | `answer.rs` | the recommended family, and what limits the answer |
//! | `sheet.rs` | results as text |

mod answer;
mod cost;
mod families;
mod forecast;
mod metric;
mod plan;
mod run;
pub mod sheet;
mod size;
mod splits;
mod standing;
mod table;

pub(crate) use cost::{fits, time};
pub use families::DEEP;
pub use families::{FAMILIES, Family, Trial};
pub(crate) use metric::Wanted;
pub use metric::{METRICS, MetricChoice};
pub use plan::{FamilyPlan, LeftOut, Limit, Plan, Request, RungPlan, SearchCut, plan};
pub use run::{BenchmarkEvent, BenchmarkOutcome, run};
pub use splits::SplitPlan;
pub use table::{Benchmark, FamilyComparison, FamilyResult, Verdict};

use crate::sweep::SweepError;

/// Error of a benchmark.
#[derive(Debug, thiserror::Error)]
pub enum BenchmarkError {
    /// The dataset, the request or the plan cannot be used.
    #[error("{0}")]
    Input(String),
    /// The runs failed, or results cannot be written.
    #[error("{0}")]
    Sweep(#[from] SweepError),
}

#[cfg(test)]
mod tests;
