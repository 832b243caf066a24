//! Estimate of the memory of a training, before it starts.

use crate::runs::prepare;
use crate::settings::Settings;
use serde::Serialize;
use supergat_core::{Model, Result};
use supergat_data::Dataset;

/// Memory of a training in bytes.
///
/// See [`estimate()`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Memory in use before training, the dataset included.
    pub loaded: u64,
    /// Parameters, gradients and optimiser state of one run.
    pub parameters: u64,
    /// Workspace of the forward and backward passes of one run.
    pub workspace: u64,
    /// Number of runs in parallel.
    pub runs_at_once: u64,
    /// Predictions and attention.
    pub results: u64,
    /// Peak memory.
    pub peak: u64,
}

/// Size of parameters, in bytes, above which the workspace is not counted.
const MANY_PARAMETERS: u64 = 1 << 34;

/// Memory of threads and small lists of one run; relevant for small graphs only.
const RUN: u64 = 2 << 20;
/// Code and data that the program loads while it runs.
const PROGRAM: u64 = 1 << 20;

/// Estimates the memory of `seeds` runs on `threads` threads and of writing `attention_rows` rows of
/// attention. `loaded` and `peak` are the current and the peak memory use of the process, in bytes.
///
/// ```
/// use supergat_lab::{Settings, estimate};
/// let dataset = supergat_data::load("random-graph:nodes=200,degree=8,features=16,classes=4").unwrap();
/// let settings = Settings::general("supergat-mx".parse().unwrap());
/// let one = estimate(&dataset, &settings, 1, 4, 0, (1000, 2000))?;
/// let four = estimate(&dataset, &settings, 4, 4, 0, (1000, 2000))?;
/// assert_eq!((one.loaded, one.runs_at_once, four.runs_at_once), (1000, 1, 4));
/// // Every run has its own parameters and workspace.
/// assert!(four.peak - one.peak >= 3 * (one.parameters + one.workspace));
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn estimate(
    dataset: &Dataset,
    settings: &Settings,
    seeds: usize,
    threads: usize,
    attention_rows: usize,
    (loaded, peak): (u64, u64),
) -> Result<Estimate> {
    let architecture = settings.architecture(dataset);
    architecture.check()?;
    let parameters = architecture.parameter_bytes::<f32>();
    let (mut workspace, mut attention) = (0, 0);
    if parameters <= MANY_PARAMETERS {
        let prepared = prepare(dataset, settings)?;
        let model = Model::<f32>::zeros(architecture)?;
        workspace = model.workspace_bytes(&prepared, true)?;
        if attention_rows > 0 {
            // Memory of another forward pass, and a coefficient and a logit per row.
            attention = model.workspace_bytes(&prepared, false)? + 8 * attention_rows as u64;
        }
    }
    let runs_at_once = threads.clamp(1, seeds.max(1)) as u64;
    let logits = (dataset.nodes() * dataset.classes() * size_of::<f32>()) as u64;
    let results = runs_at_once * logits + attention;
    let training = runs_at_once * (parameters + workspace + RUN + logits) + PROGRAM;
    // Attention is computed after the runs have freed their memory.
    let peak = peak.max(loaded + training.max(parameters + results));
    Ok(Estimate { loaded, parameters, workspace, runs_at_once, results, peak })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(spec: &str, settings: &Settings, seeds: usize, threads: usize) -> Estimate {
        estimate(&supergat_data::load(spec).unwrap(), settings, seeds, threads, 0, (1000, 2000)).unwrap()
    }

    #[test]
    fn grows_with_graph_model_and_runs() {
        let settings = Settings::general("supergat-mx".parse().unwrap());
        let small = of("random-graph:nodes=2000,degree=8,features=16,classes=4", &settings, 1, 2);
        assert_eq!((small.loaded, small.runs_at_once), (1000, 1));
        assert_eq!(small.peak, 1000 + small.parameters + small.workspace + small.results + RUN + PROGRAM);
        let large = of("random-graph:nodes=4000,degree=8,features=16,classes=4", &settings, 1, 2);
        let ratio = large.workspace as f64 / small.workspace as f64;
        assert!((1.9..2.1).contains(&ratio), "{ratio}");
        assert_eq!(large.parameters, small.parameters);
        let several = of("random-graph:nodes=2000,degree=8,features=16,classes=4", &settings, 5, 2);
        assert_eq!(several.peak - small.peak, small.parameters + small.workspace + small.results + RUN);
        let wide = Settings { hidden: 16, ..settings };
        assert!(of("random-graph:nodes=2000,degree=8,features=16,classes=4", &wide, 1, 1).workspace > small.workspace);
    }

    #[test]
    fn counts_huge_models_without_allocating() {
        let settings = Settings { hidden: 4096, layers: 60, ..Settings::general("gat-go".parse().unwrap()) };
        let huge = of("random-graph:nodes=200,degree=8,features=16,classes=4", &settings, 1, 1);
        assert!(huge.parameters > MANY_PARAMETERS && huge.workspace == 0);
    }
}
