//! Variance of unnormalised attention in the layers of a network, before and after training.

use crate::variance::VarianceEstimate;
use serde::Serialize;
use std::ops::ControlFlow;
use supergat_core::Result;
use supergat_cpu::Model;
use supergat_data::Dataset;
use supergat_train::Resources;
use supergat_train::fitted::Fitted;
use supergat_train::run_seeds;
use supergat_train::settings::Settings;

/// Variance of e over all edges and heads in each layer, before and after training.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerVariances {
    /// Variances with the initial weights.
    pub before: Vec<f64>,
    /// Variances with the weights of the epoch with the best validation metric.
    pub after: Vec<f64>,
    /// Test metric after training.
    pub test: f64,
}

/// Trains a network of form GO or DP, whose edge logits are e, and measures the variances in its layers.
pub fn layer_variances(
    dataset: &Dataset,
    settings: &Settings,
    seed: u64,
    resources: impl Into<Resources>,
) -> Result<LayerVariances> {
    let before = variances(&Fitted::Network(Model::new(settings.architecture(dataset), seed)?, None), dataset)?;
    let finished = run_seeds(dataset, settings, &[seed], resources, |_| ControlFlow::Continue(()))?;
    let after = variances(&finished.model, dataset)?;
    Ok(LayerVariances { before, after, test: finished.runs[0].outcome.test.metric })
}

/// Returns the variance of the edge logits in each layer, over all graphs.
fn variances(model: &Fitted, dataset: &Dataset) -> Result<Vec<f64>> {
    let mut layers: Vec<Vec<f64>> = Vec::new();
    for (graph, example) in dataset.examples.iter().enumerate() {
        let values = model.attention(graph, example)?;
        layers.resize(values.len(), Vec::new());
        for (layer, values) in layers.iter_mut().zip(values) {
            layer.extend(values.logits.iter().map(|&logit| f64::from(logit)));
        }
    }
    Ok(layers.iter().map(|logits| VarianceEstimate::new(logits).variance).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_changes_the_variance_of_every_layer() {
        let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=5,homophily=0.8").unwrap();
        let settings = Settings::general("gat-dp".parse().unwrap()).with(|s| {
            s.network.layers = 3;
            s.training.max_epochs = 5;
        });
        let found = layer_variances(&dataset, &settings, 1, 1).unwrap();
        assert_eq!((found.before.len(), found.after.len()), (3, 3));
        assert!(found.before.iter().chain(&found.after).all(|variance| *variance > 0.0 && variance.is_finite()));
        assert!(found.before.iter().zip(&found.after).all(|(before, after)| before != after), "{found:?}");
        assert_eq!(found, layer_variances(&dataset, &settings, 1, 1).unwrap());
    }
}
