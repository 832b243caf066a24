//! Training of networks and baselines on datasets: settings and presets, runs with many seeds, checkpoints, other processes,
//! decisions and their metrics, estimates of time and memory.

#![forbid(unsafe_code)]

pub mod baselines;
pub mod checkpoints;
pub mod class_summary;
pub mod correct_and_smooth;
pub mod dataset_hash;
pub mod device;
pub mod divided;
pub mod ensemble;
pub mod estimate;
pub mod fitted;
pub mod gpu;
pub mod graph_statistics;
pub mod jobs;
mod known_labels;
pub mod measure;
pub mod processes;
pub mod profile;
pub mod runs;
pub mod selection;
pub mod settings;
pub mod task;
pub mod threshold_basis;

pub use baselines::Baseline;
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
pub use profile::{KernelTiming, Profile, Timing, profile};
pub use runs::{Observation, Runs, SeedRun, logits, resume_seeds, resume_splits, run_seeds, run_splits, score};
pub use selection::metric_of;
pub use settings::Settings;

/// Processes that are connected by MPI.
#[doc(no_inline)]
pub use supergat_cluster::mpi;
