//! Search space: the paper's hyperparameters, and further ones on request.

use crate::tune::values::{Choice, MODEL, Values};
use supergat_core::hyperparameters::{Group, HYPERPARAMETERS, Hyperparameter, Search};
use supergat_core::{Error, ModelKind, Residual, Result};
use supergat_train::settings::Settings;

/// A hyperparameter of the search space.
#[derive(Debug, Clone, PartialEq)]
pub struct Dimension {
    /// Name in the settings.
    pub name: &'static str,
    /// Values that are searched.
    pub values: Values,
    /// Whether it is searched only on request.
    on_request: bool,
}

/// Returns all hyperparameters that have usual values, at their places. The model is the first, because it decides
/// which of the others are used.
fn known() -> Vec<Dimension> {
    let attention = ModelKind::ALL.into_iter().filter(|model| matches!(model, ModelKind::Attention { .. }));
    let model = dimension(MODEL, Values::OneOf(attention.map(Choice::Model).collect()), true);
    let mut placed: Vec<(u8, Dimension)> = HYPERPARAMETERS
        .iter()
        .filter_map(|known| {
            let (place, values, on_request) = match known.search {
                Search::Never | Search::Given => return None,
                Search::Always(place, values) => (place, values, false),
                Search::OnRequest(place, values) => (place, values, true),
            };
            Some((place, dimension(known.name, Values::usual(known.range, values), on_request)))
        })
        .collect();
    placed.sort_by_key(|(place, _)| *place);
    [model].into_iter().chain(placed.into_iter().map(|(_, dimension)| dimension)).collect()
}

fn dimension(name: &'static str, values: Values, on_request: bool) -> Dimension {
    Dimension { name, values, on_request }
}

/// The hyperparameters that a search varies.
#[derive(Debug, Clone, PartialEq)]
pub struct Space(Vec<Dimension>);

impl Space {
    /// Returns the names of hyperparameters that are searched only on request.
    pub fn on_request() -> Vec<&'static str> {
        known().iter().filter(|dimension| dimension.on_request).map(|dimension| dimension.name).collect()
    }

    /// Creates the search space of a model, with the requested further hyperparameters at their usual values.
    pub fn new(model: ModelKind, also: &[String]) -> Self {
        Self::of(model, also, Vec::new())
    }

    /// Creates the search space of a model. `given` are names of hyperparameters, or `model`, with the values to
    /// search, in the form of [`Values::parse`]. They replace the usual values.
    ///
    /// ```
    /// use supergat_select::tune::Space;
    /// let given = |name: &str, values: &str| (name.to_owned(), values.to_owned());
    /// let space = Space::with(
    ///     "supergat-mx".parse().unwrap(),
    ///     &["norm".to_owned()],
    ///     &[given("layers", "2..15"), given("p_n", "0.5")],
    /// )?;
    /// let names: Vec<&str> = space.dimensions().iter().map(|dimension| dimension.name).collect();
    /// assert_eq!(names, ["lambda_2", "lambda_e", "p_n", "p_e", "layers", "norm"]);
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn with(model: ModelKind, also: &[String], given: &[(String, String)]) -> Result<Self> {
        let mut values: Vec<Dimension> = Vec::new();
        for (name, text) in given {
            let new = match name.as_str() {
                MODEL => dimension(MODEL, Values::parse_models(text)?, true),
                _ => {
                    let hyperparameter = Hyperparameter::find(name)?;
                    check_searchable(hyperparameter, text)?;
                    dimension(hyperparameter.name, Values::parse(hyperparameter, text)?, true)
                }
            };
            if values.iter().any(|old| old.name == new.name) {
                return Err(unsearchable(new.name, text, "is given twice".into()));
            }
            values.push(new);
        }
        let texts: Vec<&str> = given.iter().map(|(_, text)| text.as_str()).collect();
        let names: Vec<&'static str> = values.iter().map(|dimension| dimension.name).collect();
        let space = Self::of(model, also, values);
        match names.iter().zip(texts).find(|(name, _)| space.0.iter().all(|dimension| dimension.name != **name)) {
            Some((name, text)) => Err(unsearchable(name, text, format!("{model} does not use it"))),
            None => Ok(space),
        }
    }

    fn of(model: ModelKind, also: &[String], given: Vec<Dimension>) -> Self {
        let mut all = known();
        for dimension in given {
            match all.iter_mut().find(|known| known.name == dimension.name) {
                Some(known) => *known = Dimension { on_request: false, ..dimension },
                None => all.push(Dimension { on_request: false, ..dimension }),
            }
        }
        all.retain(|dimension| !dimension.on_request || also.iter().any(|name| name == dimension.name));
        // Models that are not networks are tuned alone.
        all.retain(|dimension| dimension.name != MODEL || model.is_network());
        let mut models = vec![model];
        if let Some(Dimension { values: Values::OneOf(choices), .. }) = all.iter().find(|of| of.name == MODEL) {
            models.extend(choices.iter().filter_map(|choice| match choice {
                Choice::Model(model) => Some(*model),
                Choice::Value(_) => None,
            }));
        }
        all.retain(|dimension| models.iter().any(|&model| dimension.applies_to(model)));
        Self(all)
    }

    /// Returns the space with the hyperparameters of self-supervision at the end. Random trials of a model and of its form
    /// without self-supervision then have the same values of all others.
    ///
    /// ```
    /// use supergat_select::tune::Space;
    /// let space = Space::new("supergat-mx".parse().unwrap(), &["lr".to_owned()]).self_supervision_last();
    /// let names: Vec<&str> = space.dimensions().iter().map(|dimension| dimension.name).collect();
    /// assert_eq!(names, ["lambda_2", "lr", "lambda_e", "p_n", "p_e"]);
    /// ```
    #[must_use]
    pub fn self_supervision_last(mut self) -> Self {
        let is_last = |dimension: &Dimension| {
            Hyperparameter::named(dimension.name).is_some_and(|known| known.group == Group::SelfSupervision)
        };
        self.0.sort_by_key(is_last);
        self
    }

    /// Hyperparameters of the space.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.0
    }

    /// Returns settings of the space: `base` with the values at these coordinates.
    pub(crate) fn settings(&self, base: &Settings, mut coordinate: impl FnMut(&Dimension) -> f64) -> Settings {
        let mut settings = *base;
        for dimension in &self.0 {
            let value = dimension.values.at(coordinate(dimension));
            if dimension.applies_to(settings.model) {
                dimension.set(&mut settings, value);
            }
        }
        // Features have another width than hidden layers.
        settings.network.input_layer |= settings.network.residual == Residual::Identity;
        settings
    }

    /// Returns the settings of the space that need most memory, as far as depth, width and heads decide it.
    pub fn largest(&self, base: &Settings) -> Settings {
        let mut settings = *base;
        for dimension in self.0.iter().filter(|dimension| ["layers", "hidden", "heads"].contains(&dimension.name)) {
            let largest = match &dimension.values {
                Values::Between(_, high) => *high,
                Values::Whole(_, high) => *high as f64,
                Values::OneOf(choices) => choices.iter().filter_map(|choice| choice.number()).fold(0.0, f64::max),
            };
            let base = dimension.of(base).and_then(Choice::number).unwrap_or(0.0);
            dimension.set(&mut settings, (largest.max(base) as u64).into());
        }
        settings
    }
}

/// Refuses hyperparameters that are the same in all trials, because trials are compared in the middle of a run.
fn check_searchable(hyperparameter: &'static Hyperparameter, text: &str) -> Result<()> {
    match hyperparameter.search {
        Search::Never => Err(unsearchable(hyperparameter.name, text, "is not searched; set it for all trials".into())),
        _ => Ok(()),
    }
}

fn unsearchable(name: &'static str, text: &str, reason: String) -> Error {
    Error::Hyperparameter { name, value: text.to_owned(), reason }
}

impl Dimension {
    /// Returns the value in some settings; `None` if their model does not use it.
    pub fn of(&self, settings: &Settings) -> Option<Choice> {
        match self.name {
            _ if !self.applies_to(settings.model) => None,
            MODEL => Some(Choice::Model(settings.model)),
            name => settings.get(name).map(Choice::Value),
        }
    }

    /// Returns the coordinate of the value in some settings; NaN if the value is not in the space.
    pub(super) fn coordinate(&self, settings: &Settings) -> f64 {
        self.of(settings).map_or(f64::NAN, |value| self.values.coordinate(value))
    }

    fn set(&self, settings: &mut Settings, value: Choice) {
        match value {
            Choice::Model(model) => *settings = settings.with_model(model),
            Choice::Value(value) => drop(settings.set(self.name, value).expect("values were checked")),
        }
    }

    /// Returns whether the hyperparameter has an effect on a model.
    fn applies_to(&self, model: ModelKind) -> bool {
        match self.name {
            MODEL => model.is_network(),
            name => Hyperparameter::named(name).is_some_and(|known| known.is_searched_for(model)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn given(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, values)| ((*name).to_owned(), (*values).to_owned())).collect()
    }

    fn names(space: &Space) -> Vec<&'static str> {
        space.dimensions().iter().map(|dimension| dimension.name).collect()
    }

    #[test]
    fn contains_the_hyperparameters_of_the_model() {
        let of = |model: &str, also: &[&str]| names(&Space::new(model.parse().unwrap(), &owned(also)));
        assert_eq!(of("supergat-mx", &[]), ["lambda_2", "lambda_e", "p_n", "p_e"]);
        assert_eq!(of("gat-go", &[]), ["lambda_2"]);
        assert_eq!(of("gat-go", &["dropout", "lr"]), ["lambda_2", "lr", "dropout"]);
        assert_eq!(of("label-propagation", &["lr", "model"]), ["propagation_alpha"]);
        assert_eq!(of("glcn", &["norm", "hidden"]), ["lambda_2", "lambda_graph", "graph_lr", "hidden"]);
        assert_eq!(of("neuralsparse", &[]), ["lambda_2", "sampled_neighbours", "temperature_decay"]);
        assert_eq!(of("gat-go", &["norm", "layers", "self_loops"]), ["lambda_2", "layers", "norm", "self_loops"]);
        assert_eq!(of("gcn", &["heads", "layers", "separate_ego"]), ["lambda_2", "layers"]);
        assert_eq!(of("gat-go", &["model"]), ["model", "lambda_2", "lambda_e", "p_n", "p_e"]);
        assert_eq!(Space::on_request()[..3], ["model", "lr", "dropout"]);
    }

    #[test]
    fn given_values_replace_the_usual_ones() {
        let model = "supergat-mx".parse().unwrap();
        let space = Space::with(model, &[], &given(&[("p_n", "0.5"), ("negative_slope", "0.1,0.2")])).unwrap();
        assert_eq!(names(&space), ["lambda_2", "lambda_e", "p_n", "p_e", "negative_slope"]);
        assert_eq!(space.dimensions()[2].values, Values::one_of(&[0.5]));
        for (name, text, expected) in [
            ("lyers", "1..2", "layers"),
            ("max_epochs", "10..20", "max_epochs = 10..20: is not searched; set it for all trials"),
            ("early_stop", "true", "early_stop = true: is not searched"),
            ("top_k", "1..4", "top_k = 1..4: supergat-mx does not use it"),
            ("heads", "65", "heads = 65: must be a whole number from 1 to 64"),
        ] {
            let error = Space::with(model, &[], &given(&[(name, text)])).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = Space::with(model, &[], &given(&[("heads", "1"), ("heads", "2")])).unwrap_err().to_string();
        assert_eq!(error, "heads = 2: is given twice");
    }

    /// Places decide random numbers, so that searches of earlier versions can be resumed.
    #[test]
    fn every_place_is_taken_once() {
        let mut places: Vec<u8> = HYPERPARAMETERS
            .iter()
            .filter_map(|known| match known.search {
                Search::Always(place, _) | Search::OnRequest(place, _) => Some(place),
                Search::Never | Search::Given => None,
            })
            .collect();
        places.sort_unstable();
        assert!(places.iter().copied().eq(1..=places.len() as u8), "{places:?}");
        let first = ["model", "lambda_2", "lambda_e", "p_n", "p_e", "lr", "dropout", "propagation_alpha", "tree_lr"];
        assert!(known().iter().map(|dimension| dimension.name).take(first.len()).eq(first));
    }

    /// Every point of the space is a network that the engine accepts, whatever the model.
    #[test]
    fn every_point_is_a_valid_network() {
        let dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.7").unwrap();
        let models = "gat-go,gatv2,supergat-sd,cgat-full-supervised,gcn,mlp";
        let space =
            Space::with("gat-go".parse().unwrap(), &owned(&Space::on_request()), &given(&[("model", models)])).unwrap();
        let base = Settings::general("gat-go".parse().unwrap());
        for k in 0..500_u32 {
            let stream = supergat_core::random::Stream::new(1, k, 0, supergat_core::random::Purpose::Search);
            let mut number = 0;
            let settings = space.settings(&base, |dimension| {
                number += 1;
                let (low, high) = dimension.values.ends();
                low + stream.uniform(number) * (high - low)
            });
            settings.check(&dataset).unwrap();
            for dimension in space.dimensions() {
                let used = dimension.of(&settings).is_some();
                assert_eq!(used, dimension.applies_to(settings.model), "{}: {settings:?}", dimension.name);
                assert!(!used || !dimension.coordinate(&settings).is_nan(), "{}: {settings:?}", dimension.name);
            }
            let is_supervised = settings.model.is_self_supervised();
            assert!(
                is_supervised || settings.edge_loss.lambda_e == base.edge_loss.lambda_e,
                "unused values change the settings"
            );
            assert_eq!(settings.get("lambda_b").is_some(), settings.model.to_string() == "cgat-full-supervised");
        }
    }

    #[test]
    fn largest_settings_have_the_largest_sizes() {
        let base = Settings::general("gat-go".parse().unwrap());
        let space =
            Space::with(base.model, &[], &given(&[("layers", "2..9"), ("hidden", "4,2"), ("lr", "0.1")])).unwrap();
        assert_eq!(space.largest(&base), base.with(|s| s.network.layers = 9));
        assert_eq!(space.dimensions()[0].of(&base), Some(base.training.lambda_2.into()));
    }
}
