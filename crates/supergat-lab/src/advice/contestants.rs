//! Which families are compared, and with which settings.

use crate::benchmark::{DEEP, Family, LeftOut, MetricChoice};
use crate::recipe::{PreferredForm, Recommendation};
use crate::settings::Settings;
use supergat_core::ModelKind;
use supergat_core::kernels::Form;
use supergat_data::Dataset;

/// Families that are always compared where they can be; forms of SuperGAT come from the map.
const ALWAYS: [&str; 6] = ["label-propagation", "mlp", "trees", "gcn", "sage", "gat-go"];
/// Share of the votes of the map from which on the second form of SuperGAT is compared too.
const SECOND: f64 = 0.1;

/// A family with its settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contestant {
    pub(super) family: Family,
    pub(super) settings: Settings,
    /// Chance that no other form of attention is better, by the map; `None` for other families, and without a map.
    pub(super) by_map: Option<f64>,
}

/// Returns the compared families, the simplest first, and those that cannot be compared.
pub(super) fn of(dataset: &Dataset, map: &Recommendation, metric: MetricChoice) -> (Vec<Contestant>, Vec<LeftOut>) {
    let forms = forms(map);
    let names = ALWAYS.into_iter().chain(forms);
    let (mut contestants, mut left_out) = (Vec::new(), Vec::new());
    for family in names.filter_map(Family::named).chain([DEEP]) {
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
    if map.degree == 0.0 && (family.is_graph_network() || kind == ModelKind::LabelPropagation) {
        return Err("there are no links".into());
    }
    if dataset.is_multi_label() && kind == ModelKind::LabelPropagation {
        return Err("nodes may have several classes".into());
    }
    let mut settings = family.usual(&dataset.name, kind);
    (settings.select, settings.positive, settings.early_stop) = (metric.select, metric.positive, false);
    settings.check(dataset).map_err(|error| error.to_string())?;
    Ok(Contestant { family, settings, by_map: map.chance_of(kind) })
}

/// Returns the forms of SuperGAT that the map points to: the one that it names or prefers, and the other one if it may well be
/// better.
fn forms(map: &Recommendation) -> Vec<&'static str> {
    let [sd, mx] = [PreferredForm::Sd, PreferredForm::Mx].map(|form| map.share_of(form));
    let prefers_sd = match map.recommendation.form() {
        Some(Form::Sd) => true,
        Some(Form::Mx) => false,
        _ => sd > mx,
    };
    let (first, second, other) =
        if prefers_sd { ("supergat-sd", "supergat-mx", mx) } else { ("supergat-mx", "supergat-sd", sd) };
    if other >= SECOND { vec![first, second] } else { vec![first] }
}
