//! Experiments on datasets and models: published presets, graph statistics, runs with many seeds, statistical
//! comparison, studies, and estimates of time and memory.

#![forbid(unsafe_code)]

pub mod advice;
pub mod agreement;
pub mod baselines;
pub mod bench;
pub mod benchmark;
pub mod checkpoints;
pub mod class_summary;
pub mod compare;
pub mod correct_and_smooth;
pub mod defaults;
pub mod density;
pub mod depth;
mod device;
pub mod divided;
pub mod ensemble;
pub mod estimate;
pub mod fitted;
pub mod graph_statistics;
pub mod grid;
mod jobs;
mod known_labels;
pub mod link_prediction;
pub mod measure;
pub mod mixture;
pub mod processes;
pub mod recipe;
pub mod report;
pub mod reproduce;
pub mod runs;
pub mod selection;
pub mod sensitivity;
pub mod settings;
pub mod sheet;
pub mod statistics;
pub mod sweep;
pub mod synthetic;
pub mod threshold_basis;
pub mod tune;
pub mod variance;

pub use agreement::Agreement;
pub use baselines::Baseline;
pub use bench::{BenchResult, KernelTiming, Timing, bench};
pub use checkpoints::{Checkpoints, Interval, Saving};
pub use class_summary::{ClassSummary, PartialSummary, class_summaries};
pub use correct_and_smooth::{CorrectAndSmooth, Corrector, SeedCorrection};
pub use device::{DeviceChoice, DeviceKind, Resources};
pub use divided::Divided;
pub use ensemble::Ensemble;
pub use estimate::{Estimate, GpuEstimate, estimate, gpu_workspace};
pub use fitted::{Fitted, InputLabels};
pub use graph_statistics::GraphStatistics;
pub use measure::{Calibrate, Decision, DecisionOptions, SeedMetrics, measure};
pub use runs::{Observation, Runs, SeedRun, logits, resume_seeds, resume_splits, run_seeds, run_splits, score};
pub use selection::metric_of;
pub use settings::Settings;
pub use statistics::Summary;

/// Processes that are connected by MPI.
#[doc(no_inline)]
pub use supergat_mpi as mpi;
