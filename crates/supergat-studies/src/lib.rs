//! The paper's tables and studies, further studies, and the pages that show them.

#![forbid(unsafe_code)]

pub mod agreement;
pub mod defaults;
pub mod depth;
pub mod grid;
pub mod link_prediction;
#[cfg(test)]
mod records;
pub mod report;
pub mod reproduce;
mod seeded;
pub mod sensitivity;
pub mod synthetic;
mod tasks;
pub mod variance;

pub use agreement::Agreement;
pub use seeded::SeededRuns;
pub use tasks::task_named;
