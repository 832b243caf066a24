//! Search space: the paper's hyperparameters, and two more on request.

use crate::settings::Settings;
use supergat_core::ModelKind;
use supergat_core::hyperparameters::Hyperparameter;

/// Values of a hyperparameter that are searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Values {
    /// All values between two ends, on a logarithmic scale.
    Between(f64, f64),
    /// One of a list.
    OneOf(&'static [f64]),
}

/// A hyperparameter of the search space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dimension {
    /// Name in the settings.
    pub name: &'static str,
    /// Values that are searched.
    pub values: Values,
    /// Whether it is searched only on request.
    on_request: bool,
}

/// All hyperparameters that can be searched. The choices of `p_n` and `p_e` are the paper's; the ranges
/// contain nearly all published values.
const DIMENSIONS: [Dimension; 7] = [
    dimension("lambda_2", Values::Between(1e-7, 0.1), false),
    dimension("lambda_e", Values::Between(1e-5, 200.0), false),
    dimension("p_n", Values::OneOf(&[0.3, 0.5, 0.7, 0.9]), false),
    dimension("p_e", Values::OneOf(&[0.6, 0.8, 1.0]), false),
    dimension("lr", Values::Between(1e-3, 0.1), true),
    dimension("dropout", Values::OneOf(&[0.0, 0.2, 0.4, 0.6, 0.8]), true),
    dimension("propagation_alpha", Values::OneOf(&[0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]), false),
];

const fn dimension(name: &'static str, values: Values, on_request: bool) -> Dimension {
    Dimension { name, values, on_request }
}

/// The hyperparameters that a search varies.
#[derive(Debug, Clone, PartialEq)]
pub struct Space(Vec<Dimension>);

impl Space {
    /// Returns the names of hyperparameters that are searched only on request.
    pub fn on_request() -> Vec<&'static str> {
        DIMENSIONS.iter().filter(|dimension| dimension.on_request).map(|dimension| dimension.name).collect()
    }

    /// Creates the search space of a model, with the requested further hyperparameters.
    pub fn new(model: ModelKind, also: &[String]) -> Self {
        let wanted = |dimension: &Dimension| !dimension.on_request || also.iter().any(|name| name == dimension.name);
        let read = |dimension: &Dimension| {
            Hyperparameter::named(dimension.name).is_some_and(|known| known.group.applies_to(model))
        };
        Self(DIMENSIONS.into_iter().filter(|dimension| wanted(dimension) && read(dimension)).collect())
    }

    /// Hyperparameters of the space.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.0
    }
}

impl Dimension {
    /// Returns the value in some settings.
    pub fn of(&self, settings: &Settings) -> f64 {
        let mut settings = *settings;
        *self.field(&mut settings)
    }

    /// Sets the value of a coordinate. Coordinates are logarithms, or indices into the list of choices.
    pub(super) fn set(&self, settings: &mut Settings, coordinate: f64) {
        *self.field(settings) = match self.values {
            Values::Between(low, high) => coordinate.exp().clamp(low, high),
            Values::OneOf(choices) => choices[(coordinate as usize).min(choices.len() - 1)],
        };
    }

    /// Returns the coordinate of the value in some settings; NaN if the value is not in the space.
    pub(super) fn coordinate(&self, settings: &Settings) -> f64 {
        let value = self.of(settings);
        match self.values {
            Values::Between(low, high) if (low..high).contains(&value) => value.ln(),
            Values::Between(..) => f64::NAN,
            Values::OneOf(choices) => choices.iter().position(|&choice| choice == value).map_or(f64::NAN, |k| k as f64),
        }
    }

    /// Returns the smallest and largest coordinate.
    pub(super) fn ends(&self) -> (f64, f64) {
        match self.values {
            Values::Between(low, high) => (low.ln(), high.ln()),
            Values::OneOf(choices) => (0.0, choices.len() as f64),
        }
    }

    fn field<'a>(&self, settings: &'a mut Settings) -> &'a mut f64 {
        match self.name {
            "lambda_2" => &mut settings.lambda_2,
            "lambda_e" => &mut settings.lambda_e,
            "p_n" => &mut settings.p_n,
            "p_e" => &mut settings.p_e,
            "lr" => &mut settings.lr,
            "propagation_alpha" => settings.propagation_alpha.get_or_insert(f64::NAN),
            _ => &mut settings.dropout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(model: &str, also: &[&str]) -> Vec<&'static str> {
        let also: Vec<String> = also.iter().map(|name| (*name).to_owned()).collect();
        Space::new(model.parse().unwrap(), &also).dimensions().iter().map(|dimension| dimension.name).collect()
    }

    #[test]
    fn contains_the_hyperparameters_of_the_model() {
        assert_eq!(names("supergat-mx", &[]), ["lambda_2", "lambda_e", "p_n", "p_e"]);
        assert_eq!(names("gat-go", &[]), ["lambda_2"]);
        assert_eq!(names("gat-go", &["dropout", "lr"]), ["lambda_2", "lr", "dropout"]);
        assert_eq!(names("label-propagation", &["lr"]), ["propagation_alpha"]);
        assert_eq!(Space::on_request(), ["lr", "dropout"]);
    }

    #[test]
    fn coordinates_round_trip() {
        let mut settings = Settings::general("supergat-mx".parse().unwrap());
        for (k, dimension) in DIMENSIONS.iter().enumerate() {
            let (low, high) = dimension.ends();
            for share in [0.01, 0.5, 0.99] {
                let coordinate = low + share * (high - low);
                dimension.set(&mut settings, coordinate);
                let back = dimension.coordinate(&settings);
                let same = match dimension.values {
                    Values::Between(..) => (back - coordinate).abs() < 1e-12,
                    Values::OneOf(_) => back == coordinate.floor(),
                };
                assert!(same, "{k}: {coordinate} gave {back}");
            }
        }
        assert_eq!(DIMENSIONS.map(|dimension| dimension.of(&settings)).len(), 7);
        assert!(DIMENSIONS[2].coordinate(&Settings { p_n: 0.4, ..settings }).is_nan());
        assert!(DIMENSIONS[0].coordinate(&Settings { lambda_2: 0.0, ..settings }).is_nan());
    }
}
