//! Training configuration.

use crate::contrast::Contrast;
use crate::error::Result;
use crate::hyperparameters::{check, default_number, default_whole};
use crate::model_kind::ModelKind;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Early stopping as published.
///
/// After epoch `after`, training stops when the validation loss or metric is close to the mean of its last
/// `window` values: when their relative difference is below its threshold. A metric that has had the same value below 1
/// in every epoch does not count: it shows that nothing was learned yet, not that training has converged.
///
/// See [`TrainConfig`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EarlyStop {
    /// Epoch after which training may stop early.
    #[serde(rename = "patience")]
    pub after: usize,
    /// Number of recent validation results that the mean is taken over.
    pub window: usize,
    /// Threshold of the relative change of the loss.
    pub loss_change: f64,
    /// Threshold of the relative change of the metric.
    pub metric_change: f64,
}

/// Score of the validation nodes by which the best epoch is chosen, instead of accuracy or micro-F1.
///
/// The engine computes losses, accuracy and micro-F1. The other metrics come from a [`Scorer`](crate::Scorer) of the
/// prepared examples.
///
/// ```
/// use supergat_core::Select;
/// assert_eq!("macro-f1".parse(), Ok(Select::MacroF1));
/// assert_eq!(Select::Loss.to_string(), "loss");
/// assert!(Select::Auroc.needs_scorer() && !Select::Loss.needs_scorer());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Select {
    /// Smallest mean loss.
    Loss,
    /// Largest mean recall of the classes.
    BalancedAccuracy,
    /// Largest mean F1 of the classes.
    #[serde(rename = "macro-f1")]
    MacroF1,
    /// Largest area under the ROC curve.
    Auroc,
    /// Largest average precision.
    AveragePrecision,
}

impl Select {
    /// All scores.
    pub const ALL: [Self; 5] = [Self::Loss, Self::BalancedAccuracy, Self::MacroF1, Self::Auroc, Self::AveragePrecision];

    /// Returns the name, as options have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::BalancedAccuracy => "balanced-accuracy",
            Self::MacroF1 => "macro-f1",
            Self::Auroc => "auroc",
            Self::AveragePrecision => "average-precision",
        }
    }

    /// Returns whether the score comes from a scorer.
    pub fn needs_scorer(self) -> bool {
        self != Self::Loss
    }
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Select {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        Self::ALL.into_iter().find(|select| select.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|select| select.name()).collect();
            format!("expected accuracy, {}, found `{text}`", names.join(", "))
        })
    }
}

/// Training configuration.
///
/// ```
/// use supergat_core::{EarlyStop, TrainConfig};
/// let stop = EarlyStop { after: 100, window: 50, loss_change: 1e-4, metric_change: 1e-4 };
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
    /// Exponent of the focal loss of labels; 0 for cross-entropy.
    #[serde(default)]
    pub focal_gamma: f64,
    /// Whether hidden layers are computed again in the backward pass, so that they share memory. Results do not change.
    #[serde(default, skip_serializing_if = "is_false")]
    pub checkpointing: bool,
    /// Maximum number of epochs.
    pub max_epochs: usize,
    /// Early stopping, if any.
    pub early_stop: Option<EarlyStop>,
    /// Number of epochs without a better validation score after which training stops; 0 for no such limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub patience: usize,
    /// Score by which the best epoch is chosen; accuracy or micro-F1 if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<Select>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(value: &usize) -> bool {
    *value == 0
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
            focal_gamma: default_number("focal_gamma", model),
            checkpointing: false,
            max_epochs: default_whole("max_epochs", model),
            early_stop: None,
            patience: 0,
            select: None,
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
            ("focal_gamma", self.focal_gamma),
        ] {
            check(name, value)?;
        }
        if let Some(contrast) = &self.contrast {
            contrast.check()?;
        }
        check("max_epochs", self.max_epochs)?;
        check("patience", self.patience)?;
        if let Some(stop) = self.early_stop {
            check("early_stop_after", stop.after)?;
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
