//! Experiments on datasets and models: published presets, graph statistics, runs with many seeds, statistical
//! comparison, studies, and estimates of time and memory.

#![forbid(unsafe_code)]

pub mod agreement;
pub mod bench;
pub mod compare;
pub mod density;
mod device;
pub mod estimate;
pub mod graph_statistics;
pub mod grid;
pub mod link_prediction;
pub mod mixture;
pub mod recipe;
pub mod report;
pub mod reproduce;
pub mod runs;
pub mod sensitivity;
pub mod settings;
pub mod sheet;
pub mod statistics;
pub mod sweep;
pub mod synthetic;
pub mod tune;
pub mod variance;

pub use agreement::Agreement;
pub use bench::{BenchResult, KernelTiming, Timing, bench};
pub use device::{DeviceChoice, DeviceKind, Resources};
pub use estimate::{Estimate, GpuEstimate, estimate, gpu_workspace};
pub use graph_statistics::GraphStatistics;
pub use runs::{Observation, Runs, SeedRun, logits, run_seeds, run_splits, score};
pub use settings::Settings;
pub use statistics::Summary;
