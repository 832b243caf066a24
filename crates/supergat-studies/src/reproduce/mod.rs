//! Reproduction of the paper's tables: the runs they need, and a comparison with the printed numbers.
//!
//! | file | content |
//! |---|---|
//! | `paper.rs` | printed numbers |
//! | `plan.rs` | runs that a table needs |
//! | `table.rs` | results beside the printed numbers |
//! | `verdict.rs` | whether two numbers agree |
//! | `wall_clock.rs` | table of training times, measured each time |

mod paper;
mod plan;
mod table;
mod verdict;
mod wall_clock;

pub use paper::{PaperRow, PaperTable, PrintedNumber, printed_name, tables};
pub use plan::{Splits, TablePlan};
pub use table::{Table, TableRow};
pub use verdict::Verdict;
pub use wall_clock::WallClock;
