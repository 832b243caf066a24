//! The study of depth: does self-supervision help beyond deep networks, where, and how much?
//!
//! A cell of the study is a graph, a model and a depth: two layers as published, or deep blocks with norms and
//! residuals. Let `v(s)` be the validation metric of settings s on split 0 and `t(s, k)` the test metric on split k,
//! both of the epoch with the best validation metric:
//!
//! ```text
//! s*        = argmax of v(s) over the trials of a search, with the same number of trials in every cell
//! result    = t(s*, k), k = 0, ..., splits - 1
//! gain(k)   = t of a self-supervised model - t of a model without self-supervision, at the same depth
//! change(k) = gain(k) with deep blocks - gain(k) at the published depth
//! ```
//!
//! Gains are tested by paired t-tests over the splits, with Holm's correction over all tests of a question. Test
//! metrics do not affect the selection.
//!
//! | file | content |
//! |---|---|
//! | `graphs.rs` | splits of the graphs; published settings and search spaces at each depth |
//! | `plan.rs` | cells of the study, their searches and final runs |
//! | `task.rs` | the task of the final runs |
//! | `run.rs` | execution of the missing runs, cell by cell |
//! | `table.rs` | results and tests |
//! | `sheet.rs` | results as text |

mod graphs;
mod plan;
mod run;
pub mod sheet;
mod table;
mod task;

pub use graphs::{DATASETS, Depth, DepthGraph};
pub use plan::{Cell, DepthPlan, MODELS, twin};
pub use run::{DepthEvent, DepthOutcome, run_depth};
pub use table::{CellResult, DepthComparison, DepthStudy, Question, Verdict};
pub(crate) use task::selected_run_named;

#[cfg(test)]
mod tests;
