//! Training of networks and baselines on datasets: settings and presets, runs with many seeds, checkpoints, other processes,
//! decisions and their metrics, estimates of time and memory.

#![forbid(unsafe_code)]

pub mod baselines;
pub mod checkpoints;
pub mod correct_and_smooth;
pub mod dataset_hash;
pub mod device;
pub mod divided;
pub mod estimate;
pub mod fitted;
pub mod gpu;
pub mod graph_statistics;
mod jobs;
mod known_labels;
pub mod measure;
pub mod memory;
pub mod node_list;
pub mod processes;
pub mod profile;
mod resources;
mod results;
mod runs;
pub mod selection;
mod serve;
pub mod settings;
pub mod task;
pub mod task_run;
pub mod threads;
mod training;

pub use baselines::Baseline;
pub use checkpoints::{Checkpoints, Interval, Saving};
pub use correct_and_smooth::{CorrectAndSmooth, Corrector, SeedCorrection};
pub use device::{DeviceChoice, DeviceKind};
pub use divided::Divided;
pub use estimate::{Estimate, GpuEstimate, estimate, gpu_workspace};
pub use fitted::Fitted;
pub use graph_statistics::GraphStatistics;
pub use known_labels::KnownLabels;
pub use measure::{
    Calibrate, ClassSummary, Decision, DecisionOptions, Ensemble, PartialSummary, SeedMetrics, class_summaries, measure,
};
pub use profile::{KernelTiming, Profile, Timing, profile};
pub use resources::Resources;
pub use results::{Observation, Runs, SeedRun};
pub use runs::{resume_seeds, run_seeds, run_splits};
pub use selection::{metric_of, score};
pub use serve::serve;
pub use settings::Settings;

/// Processes that are connected by MPI.
#[doc(no_inline)]
pub use supergat_cluster::mpi;
