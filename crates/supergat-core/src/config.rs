//! Training configuration.

use crate::error::Result;
use crate::hyperparameters::{check, default_number, default_whole};
use crate::layers::Contrast;
use crate::model_kind::ModelKind;
use serde::{Deserialize, Serialize};

/// Early stopping as published.
///
/// After epoch `patience`, training stops when the validation loss or metric is close to the mean of its last
/// `window` values: when their relative difference is below its threshold.
///
/// See [`TrainConfig`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EarlyStop {
    /// Last epoch at which training may not stop early.
    pub patience: usize,
    /// Number of recent validation results that the mean is taken over.
    pub window: usize,
    /// Threshold of the relative change of the loss.
    pub loss_change: f64,
    /// Threshold of the relative change of the metric.
    pub metric_change: f64,
}

/// Training configuration.
///
/// ```
/// use supergat_core::{EarlyStop, TrainConfig};
/// let stop = EarlyStop { patience: 100, window: 50, loss_change: 1e-4, metric_change: 1e-4 };
/// let config = TrainConfig { early_stop: Some(stop), ..TrainConfig::default() };
/// assert_eq!((config.lr, config.max_epochs), (0.01, 500));
/// config.check()?;
/// let error = TrainConfig { lr: -1.0, ..config }.check().unwrap_err();
/// assert_eq!(error.to_string(), "lr = -1: must be positive");
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrainConfig {
    /// Learning rate of Adam.
    pub lr: f64,
    /// Weight decay, added to the gradient (L2).
    pub lambda_2: f64,
    /// Weight of the edge losses of self-supervised models.
    pub lambda_e: f64,
    /// Share of the edges that self-supervised models sample in each step.
    pub p_e: f64,
    /// Number of sampled non-edges per sampled edge.
    pub p_n: f64,
    /// Constraints on attention, for CGAT only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contrast: Option<Contrast>,
    /// Maximum number of epochs.
    pub max_epochs: usize,
    /// Early stopping, if any.
    pub early_stop: Option<EarlyStop>,
}

impl Default for TrainConfig {
    fn default() -> Self {
        // These defaults are the same for all models.
        let model = ModelKind::Mlp;
        Self {
            lr: default_number("lr", model),
            lambda_2: default_number("lambda_2", model),
            lambda_e: default_number("lambda_e", model),
            p_e: default_number("p_e", model),
            p_n: default_number("p_n", model),
            contrast: None,
            max_epochs: default_whole("max_epochs", model),
            early_stop: None,
        }
    }
}

impl TrainConfig {
    /// Validates every number.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [
            ("lr", self.lr),
            ("lambda_2", self.lambda_2),
            ("lambda_e", self.lambda_e),
            ("p_e", self.p_e),
            ("p_n", self.p_n),
        ] {
            check(name, value)?;
        }
        if let Some(contrast) = &self.contrast {
            contrast.check()?;
        }
        check("max_epochs", self.max_epochs)?;
        if let Some(stop) = self.early_stop {
            check("early_stop_patience", stop.patience)?;
            check("early_stop_window", stop.window)?;
            check("early_stop_loss_change", stop.loss_change)?;
            check("early_stop_metric_change", stop.metric_change)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn rejects_bad_hyperparameters() {
        let good = TrainConfig { max_epochs: 1, ..TrainConfig::default() };
        assert!(good.check().is_ok());
        for bad in [
            TrainConfig { lr: 0.0, ..good },
            TrainConfig { lr: f64::NAN, ..good },
            TrainConfig { lambda_2: -1.0, ..good },
            TrainConfig { lambda_e: f64::INFINITY, ..good },
            TrainConfig { p_e: 0.0, ..good },
            TrainConfig { p_e: 1.1, ..good },
            TrainConfig { p_n: -0.1, ..good },
            TrainConfig { max_epochs: 0, ..good },
        ] {
            assert!(matches!(bad.check(), Err(Error::Hyperparameter { .. })), "{bad:?}");
        }
    }
}
