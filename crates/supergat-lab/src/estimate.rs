//! How much memory a training will need, before it starts.

use crate::settings::Settings;
use serde::Serialize;
use supergat_core::train::plans;
use supergat_core::{Model, Result};
use supergat_data::Dataset;

/// Memory of a training in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// The dataset, and everything else that is in memory already.
    pub loaded: u64,
    /// Parameters, gradients and the optimiser's memory of one run.
    pub parameters: u64,
    /// What one run's forward and backward passes write to.
    pub workspace: u64,
    /// Runs side by side.
    pub runs_at_once: u64,
    /// Results of the training: predictions and attention.
    pub results: u64,
    /// The most that will be in memory at once.
    pub peak: u64,
}

/// Parameters of more bytes than this are not even made to count the rest.
const MANY_PARAMETERS: u64 = 1 << 34;

/// What code, threads and small lists of one run add; matters for small graphs only.
const RUN: u64 = 2 << 20;
/// What the program itself will load while it runs.
const PROGRAM: u64 = 1 << 20;

/// Predicts the memory of training `seeds` runs on `threads` threads and writing `attention_rows` rows of attention, when `loaded` bytes are in
/// memory already and `peak` were at most.
pub fn estimate(
    dataset: &Dataset,
    settings: &Settings,
    seeds: usize,
    threads: usize,
    attention_rows: usize,
    (loaded, peak): (u64, u64),
) -> Result<Estimate> {
    let config = settings.training();
    let architecture = settings.architecture(dataset);
    architecture.check()?;
    let parameters = architecture.parameter_bytes::<f32>();
    let (mut workspace, mut attention) = (0, 0);
    if parameters <= MANY_PARAMETERS {
        let plans = plans(&dataset.examples, settings.model.is_self_supervised(), &config)?;
        let model = Model::<f32>::zeros(architecture)?;
        workspace = model.workspace_bytes(&dataset.examples, &plans, true);
        if attention_rows > 0 {
            // A pass of its own, and coefficient and logit of every row.
            attention = model.workspace_bytes(&dataset.examples, &plans, false) + 8 * attention_rows as u64;
        }
    }
    let runs_at_once = threads.clamp(1, seeds.max(1)) as u64;
    let logits = (dataset.nodes() * dataset.classes() * size_of::<f32>()) as u64;
    let results = runs_at_once * logits + attention;
    let training = runs_at_once * (parameters + workspace + RUN + logits) + PROGRAM;
    // Attention is computed when the runs have given their memory back.
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
    fn memory_grows_with_the_graph_the_model_and_the_runs() {
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
    fn absurd_models_are_counted_without_being_made() {
        let settings = Settings { hidden: 4096, layers: 60, ..Settings::general("gat-go".parse().unwrap()) };
        let huge = of("random-graph:nodes=200,degree=8,features=16,classes=4", &settings, 1, 1);
        assert!(huge.parameters > MANY_PARAMETERS && huge.workspace == 0);
    }
}
