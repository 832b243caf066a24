//! The synthetic study: which form of attention suits which graph (the paper's third question).
//!
//! Every cell of the grid is one random partition graph g(h, d) with homophily h and average degree d: 10 classes of
//! 500 nodes, drawn with seed 0, so that seeds change the training only; or, where graphs are redrawn, run k has a graph of its own, drawn
//! with seed k. For a model m, with `v(s, k)` the validation and `t(s, k)` the test accuracy of settings s with seed k:
//!
//! ```text
//! S(m)   = lambda_2 from {1e-7, 1e-5, 1e-3}, times lambda_E from {1e-5, 1e-4, ..., 1e2} where m is self-supervised
//! s*     = argmax over s in S(m) of v(s, 0), then the smaller validation loss, then the earlier s
//! result = mean and standard deviation of t(s*, k), k = 0, ..., seeds - 1
//! ```
//!
//! One seed chooses, and it is also the first of the final ones; test nodes have no part in the choice.
//!
//! | file | what it is |
//! |---|---|
//! | `plan.rs` | the cells and the runs they need |
//! | `real.rs` | the real graphs in the same plane |
//! | `run.rs` | makes the runs that are missing, cell after cell |
//! | `table.rs` | the results beside the paper's |
//! | `sheet.rs` | the same as text |

mod plan;
mod real;
mod run;
pub mod sheet;
mod table;

pub use plan::{GAT, GCN, MX, Place, Plan, SD};
pub use real::{REAL_GRAPHS, RealGraph};
pub use run::run_grid;
pub use table::{Choice, Compared, Line, Share, Study};

#[cfg(test)]
mod tests;
