//! The paper's tables, made again: which runs they need, and what came out beside what was printed.

mod paper;
mod plan;

pub use paper::{Figure, PaperRow, PaperTable, tables, wall_clock};
pub use plan::{Plan, Splits};
