//! All hyperparameters of a run, and the published ones of each dataset and model.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use supergat::{Architecture, EarlyStop, ModelKind, TrainConfig};
use supergat_data::Dataset;

/// The published configurations by dataset, task and model.
const PRESETS: &str = include_str!("presets.json");

/// Everything that decides a run, besides the dataset and the seed. The names are those of the configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Which network.
    pub model: ModelKind,
    /// Layers.
    pub layers: usize,
    /// Features per head in hidden layers.
    pub hidden: usize,
    /// Heads of hidden layers.
    pub heads: usize,
    /// Heads of the last layer, which are averaged.
    pub output_heads: usize,
    /// Dropout of inputs and attention coefficients.
    pub dropout: f64,
    /// Negative slope of LeakyReLU.
    pub negative_slope: f64,
    /// Learning rate.
    pub lr: f64,
    /// Weight decay, coupled.
    pub lambda_2: f64,
    /// Weight of the edge losses.
    pub lambda_e: f64,
    /// Share of the edges sampled each step.
    pub p_e: f64,
    /// Negatives per sampled edge.
    pub p_n: f64,
    /// Epochs at most.
    pub max_epochs: usize,
    /// Whether to stop early.
    pub early_stop: bool,
    /// No stop up to this epoch.
    pub early_stop_patience: usize,
    /// Validation results that are remembered.
    pub early_stop_window: usize,
    /// Stop when the loss changes by a smaller share than this.
    pub early_stop_loss_change: f64,
    /// Stop when the metric changes by a smaller share than this.
    pub early_stop_metric_change: f64,
}

impl Settings {
    /// What to start from on a graph that the paper does not know: near the middle of the published configurations.
    pub fn general(model: ModelKind) -> Self {
        // 64 hidden features: eight heads of eight, or all in one where there are no heads.
        let (hidden, heads) = if matches!(model, ModelKind::Attention { .. }) { (8, 8) } else { (64, 1) };
        Self {
            model,
            layers: 2,
            hidden,
            heads,
            output_heads: heads,
            dropout: 0.6,
            negative_slope: 0.2,
            lr: 0.01,
            lambda_2: 0.002,
            lambda_e: 1.0,
            p_e: 0.8,
            p_n: 0.5,
            max_epochs: 500,
            early_stop: true,
            early_stop_patience: 100,
            early_stop_window: 100,
            early_stop_loss_change: 1e-4,
            early_stop_metric_change: 1e-4,
        }
    }

    /// The published settings of a dataset and model for node classification, if there are any.
    pub fn published(dataset: &str, model: ModelKind) -> Option<Self> {
        Self::published_for("node", dataset, model)
    }

    /// The published settings for a task: `node`, `link`, `attention`, `node-4-layer` or `attention-4-layer`.
    pub fn published_for(task: &str, dataset: &str, model: ModelKind) -> Option<Self> {
        let all: Value = serde_json::from_str(PRESETS).expect("checked by a test");
        let entry = all.get(dataset)?.get(task)?.get(model.to_string())?;
        let mut settings = Self::general(model);
        let attends = matches!(model, ModelKind::Attention { .. });
        if dataset == supergat_data::random_partition::NAME {
            // Chosen per graph in the paper, from grids around these.
            (settings.lambda_2, settings.lambda_e) = (1e-5, 1.0);
        }
        let number = |key: &str, into: &mut f64| {
            if let Some(value) = entry.get(key).and_then(Value::as_f64) {
                *into = value;
            }
        };
        let count = |key: &str, into: &mut usize| {
            if let Some(value) = entry.get(key).and_then(Value::as_u64) {
                *into = value as usize;
            }
        };
        count("layers", &mut settings.layers);
        count("hidden_per_head", &mut settings.hidden);
        if attends {
            count("heads", &mut settings.heads);
            count("output_heads", &mut settings.output_heads);
        }
        number("dropout", &mut settings.dropout);
        number("lr", &mut settings.lr);
        number("lambda_2", &mut settings.lambda_2);
        number("lambda_e", &mut settings.lambda_e);
        number("p_e", &mut settings.p_e);
        number("p_n", &mut settings.p_n);
        count("max_epochs", &mut settings.max_epochs);
        settings.early_stop = entry.get("early_stop_patience").is_some();
        count("early_stop_patience", &mut settings.early_stop_patience);
        count("early_stop_window", &mut settings.early_stop_window);
        number("early_stop_loss_change", &mut settings.early_stop_loss_change);
        number("early_stop_metric_change", &mut settings.early_stop_metric_change);
        Some(settings)
    }

    /// The network these settings make for a dataset.
    pub fn architecture(&self, dataset: &Dataset) -> Architecture {
        Architecture {
            model: self.model,
            input_features: dataset.features(),
            classes: dataset.classes(),
            multi_label: dataset.is_multi_label(),
            layers: self.layers,
            hidden: self.hidden,
            heads: self.heads,
            output_heads: self.output_heads,
            dropout: self.dropout,
            negative_slope: self.negative_slope,
        }
    }

    /// How these settings train it.
    pub fn training(&self) -> TrainConfig {
        TrainConfig {
            lr: self.lr,
            lambda_2: self.lambda_2,
            lambda_e: self.lambda_e,
            p_e: self.p_e,
            p_n: self.p_n,
            max_epochs: self.max_epochs,
            early_stop: self.early_stop.then_some(EarlyStop {
                patience: self.early_stop_patience,
                window: self.early_stop_window,
                loss_change: self.early_stop_loss_change,
                metric_change: self.early_stop_metric_change,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> ModelKind {
        name.parse().unwrap()
    }

    #[test]
    fn presets_are_the_published_numbers() {
        let cora = Settings::published("cora", kind("supergat-mx")).unwrap();
        assert_eq!((cora.lambda_2, cora.lambda_e), (0.008228864972965771, 11.346574532931719));
        assert_eq!((cora.max_epochs, cora.early_stop_patience, cora.early_stop_window), (490, 485, 484));
        let arxiv = Settings::published("ogbn-arxiv", kind("supergat-sd")).unwrap();
        assert_eq!((arxiv.hidden, arxiv.output_heads, arxiv.dropout, arxiv.lr), (16, 1, 0.2, 0.05));
        assert_eq!(Settings::published_for("node-4-layer", "cora", kind("gat-dp")).unwrap().layers, 4);
        assert_eq!(Settings::published("cora", kind("mlp")), None);
        assert_eq!(Settings::published("karate", kind("gat-go")), None);
    }

    /// Every dataset of the paper has every attention model of its tables, and every preset can be trained with.
    #[test]
    fn every_preset_is_valid() {
        for dataset in supergat_data::KNOWN {
            for model in ["gat-go", "supergat-sd", "supergat-mx"] {
                let settings = Settings::published(dataset, kind(model)).unwrap_or_else(|| panic!("{dataset} {model}"));
                settings.training().check().unwrap();
            }
        }
    }
}
