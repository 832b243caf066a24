//! Training configuration.

use crate::contrast::Contrast;
use crate::error::Result;
use crate::hyperparameters::{
    EarlyStoppingSettings, EdgeLossSettings, Entries, Group, HYPERPARAMETERS, SettingsGroup, StoredValue,
    TrainingSettings,
};
use serde::de::{Deserializer, Error as _};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

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
/// use supergat_core::TrainConfig;
/// let config = TrainConfig::default().with(|config| config.early_stopping.early_stop = true);
/// assert_eq!((config.training.lr, config.training.max_epochs), (0.01, 500));
/// config.check()?;
/// let error = config.with(|config| config.training.lr = -1.0).check().unwrap_err();
/// assert_eq!(error.to_string(), "lr = -1: must be positive");
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct TrainConfig {
    /// Optimiser, loss of labels and length of training.
    #[serde(flatten)]
    pub training: TrainingSettings,
    /// Edge loss of self-supervised models.
    #[serde(flatten)]
    pub edge_loss: EdgeLossSettings,
    /// Rules that stop training before the last epoch.
    #[serde(flatten, deserialize_with = "early_stopping")]
    pub early_stopping: EarlyStoppingSettings,
    /// Constraints on attention, for CGAT only.
    #[serde(default)]
    pub contrast: Option<Contrast>,
    /// Score by which the best epoch is chosen; accuracy or micro-F1 if `None`.
    #[serde(default)]
    pub select: Option<Select>,
}

impl Default for TrainConfig {
    /// Returns the defaults of all hyperparameters, without early stopping.
    fn default() -> Self {
        Self {
            training: TrainingSettings::default(),
            edge_loss: EdgeLossSettings::default(),
            early_stopping: EarlyStoppingSettings { early_stop: false, ..EarlyStoppingSettings::default() },
            contrast: None,
            select: None,
        }
    }
}

impl TrainConfig {
    /// Returns a copy after a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Validates every number.
    pub fn check(&self) -> Result<()> {
        self.training.check()?;
        self.edge_loss.check()?;
        self.contrast.map_or(Ok(()), |contrast| contrast.check())?;
        self.early_stopping.check()
    }
}

impl Serialize for TrainConfig {
    /// Keeps the entries of earlier versions, in their order.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let groups: [&dyn SettingsGroup; 3] = [&self.training, &self.edge_loss, &self.early_stopping];
        let mut file = Entries::new(serializer.serialize_map(None)?, &groups);
        file.always(&["lr", "lambda_2", "lambda_e", "p_e", "p_n"])?;
        if let Some(contrast) = &self.contrast {
            file.other("contrast", contrast)?;
        }
        file.always(&["focal_gamma"])?;
        file.changed(&["checkpointing"])?;
        file.always(&["max_epochs"])?;
        file.switch(EARLY_STOP)?;
        file.changed(&["patience"])?;
        if let Some(select) = &self.select {
            file.other("select", select)?;
        }
        file.end()
    }
}

/// Switch of early stopping, whose values are an object in files.
const EARLY_STOP: &str = "early_stop";

/// Reads early stopping from the entries of a configuration.
fn early_stopping<'de, D: Deserializer<'de>>(file: D) -> std::result::Result<EarlyStoppingSettings, D::Error> {
    let entries = BTreeMap::<String, serde_json::Value>::deserialize(file)?;
    let object = entries.get(EARLY_STOP).filter(|object| !object.is_null());
    let mut settings = EarlyStoppingSettings { early_stop: object.is_some(), ..EarlyStoppingSettings::default() };
    for known in HYPERPARAMETERS.iter().filter(|known| known.group == Group::EarlyStopping && known.name != EARLY_STOP)
    {
        let stored = match known.stored_within(EARLY_STOP) {
            Some(key) => object.and_then(|object| object.get(key)),
            None => entries.get(known.stored),
        };
        let Some(stored) = stored else { continue };
        let stored = StoredValue::deserialize(stored).map_err(D::Error::custom)?;
        let value = stored.of(known).and_then(|value| known.check(value)).map_err(D::Error::custom)?;
        settings.put(known.name, value);
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn rejects_bad_hyperparameters() {
        let good = TrainConfig::default().with(|c| c.training.max_epochs = 1);
        assert!(good.check().is_ok());
        for bad in [
            good.with(|c| c.training.lr = 0.0),
            good.with(|c| c.training.lr = f64::NAN),
            good.with(|c| c.training.lambda_2 = -1.0),
            good.with(|c| c.edge_loss.lambda_e = f64::INFINITY),
            good.with(|c| c.edge_loss.p_e = 0.0),
            good.with(|c| c.edge_loss.p_e = 1.1),
            good.with(|c| c.edge_loss.p_n = -0.1),
            good.with(|c| c.training.max_epochs = 0),
            good.with(|c| c.early_stopping.early_stop_window = 0),
        ] {
            assert!(matches!(bad.check(), Err(Error::Hyperparameter { .. })), "{bad:?}");
        }
    }
}
