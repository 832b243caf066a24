//! Ensembles: mean probabilities of the models of several seeds.

use super::decision::{Calibrate, Decision, DecisionOptions};
use super::seed_metrics::{SeedMetrics, measure};
use crate::settings::Settings;
use std::collections::BTreeMap;
use supergat_core::{Architecture, Result};
use supergat_data::Dataset;

/// Mean of the probabilities of several models. They are added in the order of their numbers, whatever the order in
/// which they arrive, so the mean has the same bits at any number of threads.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_train::{Decision, Ensemble, Settings, run_seeds};
/// let dataset = supergat_data::load("random-partition:classes=2,nodes=250,degree=4,homophily=0.8").unwrap();
/// let settings = Settings::general("gcn".parse().unwrap()).with(|s| s.training.max_epochs = 5);
/// let mut ensemble = Ensemble::new(settings.architecture(&dataset));
/// for seed in [1, 0] {
///     let run = run_seeds(&dataset, &settings, &[seed], 1, |_| ControlFlow::Continue(()))?;
///     ensemble.add(seed as usize, &run.logits, &Decision::default())?;
/// }
/// let mean = ensemble.logits().unwrap();
/// assert_eq!(mean[0].len(), 2 * 500);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Ensemble {
    architecture: Architecture,
    /// Sums of probabilities of the first models, one list per graph.
    sums: Vec<Vec<f64>>,
    added: usize,
    /// Number of the next model to add.
    next: usize,
    /// Probabilities of models that wait for earlier ones.
    waiting: BTreeMap<usize, Vec<Vec<f32>>>,
}

impl Ensemble {
    /// Creates an ensemble without models. All must have this architecture.
    pub fn new(architecture: Architecture) -> Self {
        Self { architecture, sums: Vec::new(), added: 0, next: 0, waiting: BTreeMap::new() }
    }

    /// Adds the model with a number from 0 on, given its logits and its decision.
    pub fn add(&mut self, number: usize, logits: &[Vec<f32>], decision: &Decision) -> Result<()> {
        let probabilities = logits.iter().map(|logits| decision.probabilities(&self.architecture, logits));
        self.waiting.insert(number, probabilities.collect::<Result<_>>()?);
        while let Some(next) = self.waiting.remove(&self.next) {
            self.sum(&next);
            self.next += 1;
        }
        Ok(())
    }

    fn sum(&mut self, probabilities: &[Vec<f32>]) {
        self.sums.resize_with(probabilities.len(), Vec::new);
        for (sums, probabilities) in self.sums.iter_mut().zip(probabilities) {
            sums.resize(probabilities.len(), 0.0);
            sums.iter_mut().zip(probabilities).for_each(|(sum, &p)| *sum += f64::from(p));
        }
        self.added += 1;
    }

    /// Returns logits with the mean probabilities: their logarithms or, with several labels per node, the logarithms
    /// of their odds. `None` without models.
    pub fn logits(mut self) -> Option<Vec<Vec<f32>>> {
        // Models are missing where a training was interrupted.
        for (_, probabilities) in std::mem::take(&mut self.waiting) {
            self.sum(&probabilities);
        }
        let (count, multi) = (self.added as f64, self.architecture.multi_label);
        let logit = |sum: f64| {
            let mean = sum / count;
            (if multi { (mean / (1.0 - mean)).ln() } else { mean.ln() }) as f32
        };
        (self.added > 0).then(|| self.sums.into_iter().map(|sums| sums.into_iter().map(logit).collect()).collect())
    }

    /// Returns the logits of the mean probabilities with their metrics. A threshold is chosen for the mean. `None`
    /// without models.
    pub fn measured(
        self,
        dataset: &Dataset,
        settings: &Settings,
        options: &DecisionOptions,
    ) -> Result<Option<(Vec<Vec<f32>>, SeedMetrics)>> {
        let Some(logits) = self.logits() else { return Ok(None) };
        // The probabilities of every model are calibrated already.
        let options = DecisionOptions { calibrate: Calibrate::None, ..*options };
        let metrics = measure(dataset, &settings.architecture(dataset), &logits, &options)?;
        Ok(Some((logits, metrics)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn architecture(classes: usize, multi_label: bool) -> Architecture {
        let dataset = supergat_data::load("random-partition:classes=2,nodes=170,degree=2").unwrap();
        Architecture { classes, multi_label, ..Settings::general("mlp".parse().unwrap()).architecture(&dataset) }
    }

    #[test]
    fn returns_the_mean_in_any_order() {
        let models =
            [[0.3f32, -1.0, 2.0, 0.0], [1.5, 0.25, -3.0, 1.0], [0.1, 0.2, 0.3, 0.4]].map(|row| vec![row.to_vec()]);
        for multi in [false, true] {
            let architecture = architecture(2, multi);
            let mean_of = |order: [usize; 3]| {
                let mut ensemble = Ensemble::new(architecture);
                for k in order {
                    ensemble.add(k, &models[k], &Decision::default()).unwrap();
                }
                ensemble.logits().unwrap()
            };
            let mean = mean_of([0, 1, 2]);
            assert_eq!((mean_of([2, 1, 0]), mean_of([1, 2, 0])), (mean.clone(), mean.clone()));
            let found = architecture.probabilities(&mean[0]).unwrap();
            for (k, p) in found.iter().enumerate() {
                let of = |model: &Vec<Vec<f32>>| architecture.probabilities(&model[0]).unwrap()[k];
                assert!((p - models.iter().map(of).sum::<f32>() / 3.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn certain_models_give_certain_means() {
        for multi in [false, true] {
            let architecture = architecture(2, multi);
            let mut ensemble = Ensemble::new(architecture);
            // The model with number 0 is missing.
            ensemble.add(1, &[vec![200.0, -200.0]], &Decision::default()).unwrap();
            let mean = ensemble.logits().unwrap();
            let found = architecture.probabilities(&mean[0]).unwrap();
            assert!(found[0] == 1.0 && found[1] < 1e-30, "{found:?}");
        }
        assert_eq!(Ensemble::new(architecture(2, false)).logits(), None);
    }
}
