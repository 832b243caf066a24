//! Which families are compared, and with which settings.

use crate::benchmark::{DEEP, Family, LeftOut, MetricChoice};
use crate::recipe::Recommendation;
use supergat_core::ModelKind;
use supergat_data::Dataset;
use supergat_train::settings::Settings;

/// Families that are compared where they can be, besides the deep one.
const FAMILIES: [&str; 9] = [
    "label-propagation",
    "mlp",
    "trees",
    "mlp-correct-and-smooth",
    "gcn",
    "sage",
    "gat-go",
    "supergat-sd",
    "supergat-mx",
];

/// A family with its settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contestant {
    pub(super) family: Family,
    pub(super) settings: Settings,
    /// Chance that no other form of attention is better, by the map; `None` for other families, and without a map.
    pub(super) by_map: Option<f64>,
}

/// Epochs below which a training has a higher learning rate.
pub(super) const SHORT: usize = 100;
/// Highest learning rate of short trainings.
const HIGHEST: f64 = 0.02;

impl Contestant {
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
pub(super) fn of(dataset: &Dataset, map: &Recommendation, metric: MetricChoice) -> (Vec<Contestant>, Vec<LeftOut>) {
    let (mut contestants, mut left_out) = (Vec::new(), Vec::new());
    for family in FAMILIES.into_iter().filter_map(Family::named).chain([DEEP]) {
        let found = family.kind().and_then(|kind| contestant(dataset, family, kind, map, metric));
        match found {
            Ok(contestant) => contestants.push(contestant),
            Err(reason) => left_out.push(LeftOut { family, reason }),
        }
    }
    (contestants, left_out)
}

fn contestant(
    dataset: &Dataset,
    family: Family,
    kind: ModelKind,
    map: &Recommendation,
    metric: MetricChoice,
) -> Result<Contestant, String> {
    if map.degree == 0.0 && !matches!(family.name, "mlp" | "trees") {
        return Err("there are no links".into());
    }
    if dataset.is_multi_label() && matches!(family.name, "label-propagation" | "mlp-correct-and-smooth") {
        return Err("nodes may have several classes".into());
    }
    let mut settings = family.usual(dataset.preset.as_deref(), kind);
    (settings.select, settings.positive, settings.early_stopping.early_stop) = (metric.select, metric.positive, false);
    settings.check(dataset).map_err(|error| error.to_string())?;
    Ok(Contestant { family, settings, by_map: map.chance_of(kind) })
}
