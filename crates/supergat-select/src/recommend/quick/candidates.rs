//! The compared families with their settings.

use crate::recommend::families::{Family, LeftOut};
use crate::recommend::map::MapAnswer;
use crate::recommend::metric::MetricChoice;
use supergat_core::ModelKind;
use supergat_data::Dataset;
use supergat_train::settings::Settings;

/// A family with its settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) family: Family,
    pub(super) settings: Settings,
    /// Chance that no other form of attention is better, by the map; `None` for other families, and without a map.
    pub(super) by_map: Option<f64>,
}

/// Epochs below which a training has a higher learning rate.
pub(super) const SHORT: usize = 100;
/// Highest learning rate of short trainings.
const HIGHEST: f64 = 0.02;

impl Candidate {
    /// Returns it with settings for some epochs. Short trainings have a higher learning rate:
    ///
    /// ```text
    /// lr(epochs) = max(lr, min(lr * 100 / epochs, 0.02))
    /// ```
    pub(super) fn trained_for(mut self, epochs: usize) -> Self {
        let settings = &mut self.settings;
        if settings.model.is_network() {
            let faster = settings.training.lr * SHORT as f64 / epochs.max(1) as f64;
            (settings.training.max_epochs, settings.training.lr) =
                (epochs, faster.min(HIGHEST).max(settings.training.lr));
        }
        self
    }
}

/// Returns the compared families, the simplest first, and those that cannot be compared.
pub(super) fn of(dataset: &Dataset, map: &MapAnswer, metric: MetricChoice) -> (Vec<Candidate>, Vec<LeftOut>) {
    let (mut candidates, mut left_out) = (Vec::new(), Vec::new());
    for family in Family::within_seconds() {
        let found = family.kind().and_then(|kind| candidate(dataset, family, kind, map, metric));
        match found {
            Ok(candidate) => candidates.push(candidate),
            Err(reason) => left_out.push(LeftOut { family, reason }),
        }
    }
    (candidates, left_out)
}

fn candidate(
    dataset: &Dataset,
    family: Family,
    kind: ModelKind,
    map: &MapAnswer,
    metric: MetricChoice,
) -> Result<Candidate, String> {
    if map.degree == 0.0 && !matches!(family.name, "mlp" | "trees") {
        return Err("there are no links".into());
    }
    if dataset.is_multi_label() && matches!(family.name, "label-propagation" | "mlp-correct-and-smooth") {
        return Err("nodes may have several classes".into());
    }
    let mut settings = family.usual(dataset.preset.as_deref(), kind);
    (settings.select, settings.positive, settings.early_stopping.early_stop) = (metric.select, metric.positive, false);
    settings.check(dataset).map_err(|error| error.to_string())?;
    Ok(Candidate { family, settings, by_map: map.chance_of(kind) })
}
