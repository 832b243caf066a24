//! The paper's tables, made again: which runs they need, and what came out beside what was printed.
//!
//! | file | what it is |
//! |---|---|
//! | `paper.rs` | the printed numbers |
//! | `plan.rs` | the runs that a table needs |
//! | `table.rs` | their results beside the printed numbers |
//! | `verdict.rs` | whether the two agree |
//! | `wall_clock.rs` | the table of training times, measured anew |
//! | `sheet.rs` | any of these tables as text: Markdown, CSV, a page for a browser |

mod paper;
mod plan;
mod table;
mod verdict;
mod wall_clock;

pub use paper::{Figure, PaperRow, PaperTable, printed_name, tables};
pub use plan::{Plan, Splits};
pub use table::{Line, Table};
pub use verdict::Verdict;
pub use wall_clock::WallClock;
