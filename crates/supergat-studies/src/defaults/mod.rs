//! The study of defaults: which settings and which family of models suit a new graph?
//!
//! Many graphs, real ones and variants of them, are trained with every family and a few candidates for its default settings.
//! Every decision is judged on a graph that it has not seen. Let `t(g, f, c, k)` be the test metric of family f with
//! candidate c on split k of graph g, `v` the validation metric, and a bar the mean over the splits:
//!
//! ```text
//! regret(g, f, c) = max over c' of t̄(g, f, c')  -  t̄(g, f, c)
//! c(f, -g)        = argmin over c of the mean of regret(g', f, c) over all graphs g' except g
//! t(g, f, k)      = t(g, f, c(f, -g), k), the same for v
//! best(g)         = argmax over f of t̄(g, f)
//! measured(g, k)  = argmax over f of v(g, f, k)
//! ```
//!
//! A rule names a family for a graph: always the same one, the measured one, the answer of `recommend`, or that of a small
//! tree of decisions over traits of the graph, which is grown without the graph. Its regret is the difference to `best(g)`. It
//! is significantly worse if a paired t-test over the splits says so at level 0.05.
//!
//! | file | content |
//! |---|---|
//! | `graphs.rs` | the graphs |
//! | `candidates.rs` | families and candidates for their default settings |
//! | `plan.rs` | the runs |
//! | `recommended.rs` | what `recommend` says about every graph |
//! | `traits.rs` | traits of a graph, measured by the runs |
//! | `tree.rs` | small trees of decisions |
//! | `table.rs` | results, defaults and rules |
//! | `sheet.rs` | results as text |

mod candidates;
mod graphs;
mod plan;
mod recommended;
pub mod sheet;
mod table;
mod traits;
mod tree;

pub use candidates::{CANDIDATES, Candidate, FAMILIES};
pub use graphs::{GRAPHS, StudyGraph};
pub use plan::{DefaultsPlan, DefaultsTask};
pub use recommended::RecommendTask;
pub use table::{DefaultsStudy, FamilyDefaults, GraphResult, Rule, RuleResult};
pub use traits::{TRAITS, Traits};
pub use tree::{Decision, Tree};

#[cfg(test)]
mod tests;
