//! The variance of unnormalised attention in the layers of a real network, before and after training.

use crate::runs::{prepare, train};
use crate::settings::Settings;
use crate::variance::Estimate;
use serde::Serialize;
use std::ops::ControlFlow;
use supergat_core::{Model, Result};
use supergat_data::Dataset;

/// The variance of e over all edges and heads, for each layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attended {
    /// With the weights that training begins with.
    pub before: Vec<f64>,
    /// With those of the epoch with the best validation metric.
    pub after: Vec<f64>,
    /// The test metric after training.
    pub test: f64,
}

/// Trains a network of form GO or DP, whose edge logits are e, with a seed.
pub fn attended(dataset: &Dataset, settings: &Settings, seed: u64) -> Result<Attended> {
    let before = variances(&Model::new(settings.architecture(dataset), seed)?, dataset)?;
    let finished = train(&prepare(dataset, settings)?, seed, |_| ControlFlow::Continue(()))?;
    let after = variances(&finished.model, dataset)?;
    Ok(Attended { before, after, test: finished.run.outcome.test.metric })
}

fn variances(model: &Model<f32>, dataset: &Dataset) -> Result<Vec<f64>> {
    let mut layers: Vec<Vec<f64>> = Vec::new();
    for example in &dataset.examples {
        let values = model.attention(example)?;
        layers.resize(values.len(), Vec::new());
        for (layer, values) in layers.iter_mut().zip(values) {
            layer.extend(values.logits.iter().map(|&logit| f64::from(logit)));
        }
    }
    Ok(layers.iter().map(|logits| Estimate::of(logits).variance).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_has_variances_and_training_changes_them() {
        let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=5,homophily=0.8").unwrap();
        let settings = Settings { layers: 3, max_epochs: 20, ..Settings::general("gat-dp".parse().unwrap()) };
        let found = attended(&dataset, &settings, 1).unwrap();
        assert_eq!((found.before.len(), found.after.len()), (3, 3));
        assert!(found.before.iter().chain(&found.after).all(|variance| *variance > 0.0 && variance.is_finite()));
        assert!(found.before.iter().zip(&found.after).all(|(before, after)| before != after), "{found:?}");
        assert_eq!(found, attended(&dataset, &settings, 1).unwrap());
    }
}
