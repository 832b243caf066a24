//! Values of a hyperparameter that a search tries: a range, or a list of choices.

use std::fmt;
use supergat_core::hyperparameters::{Hyperparameter, Range, Searched, Value};
use supergat_core::{Error, ModelKind, Result};

/// Name of the dimension that selects the model.
pub(super) const MODEL: &str = "model";

/// Values of a hyperparameter that are searched.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// All numbers between two ends, on a logarithmic scale.
    Between(f64, f64),
    /// Whole numbers from the first to the second, inclusive.
    Whole(u64, u64),
    /// One of a list.
    OneOf(Vec<Choice>),
}

/// One value of a search: of a hyperparameter, or a model.
///
/// ```
/// use supergat_select::tune::Choice;
/// assert_eq!(Choice::from("batch").to_string(), "batch");
/// assert_eq!(Choice::Model("gat-go".parse().unwrap()).to_string(), "gat-go");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Choice {
    /// Value of a hyperparameter.
    Value(Value),
    /// Kind of model.
    Model(ModelKind),
}

impl<T: Into<Value>> From<T> for Choice {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // As in files of results: always with a point or an exponent.
            Self::Value(Value::Number(number)) => write!(f, "{number:?}"),
            Self::Value(value) => value.fmt(f),
            Self::Model(model) => model.fmt(f),
        }
    }
}

impl Choice {
    /// Returns the value as a number, unless it is a switch, a name or a model.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Value(Value::Number(number)) => Some(number),
            Self::Value(Value::Whole(number)) => Some(number as f64),
            _ => None,
        }
    }
}

impl Values {
    /// Creates the values of a list.
    pub fn one_of<T: Copy + Into<Choice>>(choices: &[T]) -> Self {
        Self::OneOf(choices.iter().map(|&choice| choice.into()).collect())
    }

    /// Creates the usual values of a hyperparameter with this range.
    pub(super) fn usual(range: Range, values: Searched) -> Self {
        match (values, range) {
            (Searched::Between(low, high), _) => Self::Between(low, high),
            (Searched::Whole(low, high), _) => Self::Whole(low, high),
            (Searched::Numbers(numbers), _) => Self::one_of(numbers),
            (Searched::Wholes(numbers), _) => Self::one_of(numbers),
            (Searched::All, Range::Choice(names)) => Self::one_of(names),
            (Searched::All, _) => Self::one_of(&[false, true]),
        }
    }

    /// Parses the values of a hyperparameter: `LOW..HIGH` for a range, or a list separated by commas.
    ///
    /// ```
    /// use supergat_core::hyperparameters::Hyperparameter;
    /// use supergat_select::tune::Values;
    /// let values = |name, text| Values::parse(Hyperparameter::named(name).unwrap(), text);
    /// assert_eq!(values("layers", "2..8")?, Values::Whole(2, 8));
    /// assert_eq!(values("lr", "0.001..0.1")?, Values::Between(0.001, 0.1));
    /// assert_eq!(values("norm", "layer,batch")?, Values::one_of(&["layer", "batch"]));
    /// assert!(values("norm", "layer,group").is_err());
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn parse(hyperparameter: &'static Hyperparameter, text: &str) -> Result<Self> {
        let choice = |word: &str| parse(hyperparameter, word.trim());
        let wrong = |reason: &str| Error::Hyperparameter {
            name: hyperparameter.name,
            value: text.to_owned(),
            reason: reason.to_owned(),
        };
        let Some((low, high)) = text.split_once("..") else {
            let choices = text.split(',').map(choice).collect::<Result<Vec<_>>>()?;
            if (1..choices.len()).any(|k| choices[..k].contains(&choices[k])) {
                return Err(wrong("contains a value twice"));
            }
            return Ok(Self::OneOf(choices.into_iter().map(Choice::Value).collect()));
        };
        match (choice(low)?, choice(high)?) {
            (Value::Whole(low), Value::Whole(high)) if low < high => Ok(Self::Whole(low, high)),
            (Value::Number(low), Value::Number(high)) if 0.0 < low && low < high => Ok(Self::Between(low, high)),
            (Value::Whole(_), _) => Err(wrong("the first end must be below the second")),
            (Value::Number(_), _) => {
                Err(wrong("the ends must be positive and in order, since the scale is logarithmic; or give a list"))
            }
            _ => Err(wrong("has no range; give a list separated by commas")),
        }
    }

    /// Parses models separated by commas. All must be networks.
    pub(super) fn parse_models(text: &str) -> Result<Self> {
        let model = |name: &str| -> Result<Choice> {
            let wrong = |reason: String| Error::Hyperparameter { name: MODEL, value: name.to_owned(), reason };
            let model: ModelKind = name.parse().map_err(wrong)?;
            match model.is_network() {
                true => Ok(Choice::Model(model)),
                false => Err(wrong("is not a network; tune it alone".to_owned())),
            }
        };
        text.split(',').map(|name| model(name.trim())).collect::<Result<_>>().map(Self::OneOf)
    }

    /// Returns the value at a coordinate. Coordinates are logarithms, whole numbers and a part below one, or indices
    /// into the list of choices.
    pub(super) fn at(&self, coordinate: f64) -> Choice {
        match self {
            &Self::Between(low, high) => coordinate.exp().clamp(low, high).into(),
            &Self::Whole(low, high) => (coordinate as u64).clamp(low, high).into(),
            Self::OneOf(choices) => choices[(coordinate as usize).min(choices.len() - 1)],
        }
    }

    /// Returns the coordinate of a value; NaN if it is not among the values.
    pub(super) fn coordinate(&self, value: Choice) -> f64 {
        match (self, value) {
            (&Self::Between(low, high), Choice::Value(Value::Number(x))) if (low..high).contains(&x) => x.ln(),
            (&Self::Whole(low, high), Choice::Value(Value::Whole(x))) if (low..=high).contains(&x) => x as f64 + 0.5,
            (Self::Between(..) | Self::Whole(..), _) => f64::NAN,
            (Self::OneOf(choices), _) => {
                choices.iter().position(|&choice| choice == value).map_or(f64::NAN, |k| k as f64)
            }
        }
    }

    /// Returns the smallest coordinate, and the end of the coordinates.
    pub(crate) fn ends(&self) -> (f64, f64) {
        match self {
            Self::Between(low, high) => (low.ln(), high.ln()),
            &Self::Whole(low, high) => (low as f64, (high + 1) as f64),
            Self::OneOf(choices) => (0.0, choices.len() as f64),
        }
    }
}

/// Parses a value as the type of a hyperparameter.
fn parse(hyperparameter: &'static Hyperparameter, word: &str) -> Result<Value> {
    let wrong = || Error::Hyperparameter {
        name: hyperparameter.name,
        value: word.to_owned(),
        reason: hyperparameter.range.to_string(),
    };
    let value = match hyperparameter.range {
        Range::Choice(_) => return hyperparameter.choice(word),
        Range::Switch => Value::Switch(word.parse().map_err(|_| wrong())?),
        Range::Whole(..) => Value::Whole(word.parse().map_err(|_| wrong())?),
        _ => Value::Number(word.parse().map_err(|_| wrong())?),
    };
    hyperparameter.check(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(name: &str, text: &str) -> Result<Values> {
        Values::parse(Hyperparameter::named(name).unwrap(), text)
    }

    #[test]
    fn coordinates_round_trip() {
        let models = Values::parse_models("gat-go, supergat-mx").unwrap();
        let all = [
            values("lambda_2", "1e-7..0.1").unwrap(),
            values("layers", "2..15").unwrap(),
            values("norm", "none,batch").unwrap(),
            values("self_loops", "true,false").unwrap(),
            values("p_n", "0.3,0.5,0.7").unwrap(),
            models,
        ];
        for values in all {
            let (low, high) = values.ends();
            for share in [0.0, 0.01, 0.5, 0.99] {
                let coordinate = low + share * (high - low);
                let back = values.coordinate(values.at(coordinate));
                let expected = match values {
                    Values::Between(..) => coordinate,
                    Values::Whole(..) => coordinate.floor() + 0.5,
                    Values::OneOf(_) => coordinate.floor(),
                };
                assert!((back - expected).abs() < 1e-12, "{values:?}: {coordinate} gave {back}");
            }
        }
        assert!(values("p_n", "0.3,0.5").unwrap().coordinate(0.4.into()).is_nan());
        assert!(values("lambda_2", "1e-7..0.1").unwrap().coordinate(0.0.into()).is_nan());
        assert!(values("layers", "2..4").unwrap().coordinate(5_u64.into()).is_nan());
    }

    #[test]
    fn refuses_values_that_cannot_be_searched() {
        let message = |name: &str, text: &str| values(name, text).unwrap_err().to_string();
        assert_eq!(message("layers", "8..2"), "layers = 8..2: the first end must be below the second");
        assert_eq!(message("layers", "0..2"), "layers = 0: must be a whole number from 1 to 1000");
        assert_eq!(message("norm", "none..batch"), "norm = none..batch: has no range; give a list separated by commas");
        assert_eq!(message("norm", "group"), "norm = group: must be one of none, layer, batch");
        assert_eq!(message("self_loops", "no"), "self_loops = no: must be true or false");
        assert_eq!(message("heads", "1,2,1"), "heads = 1,2,1: contains a value twice");
        assert!(message("dropout", "0..0.5").contains("the scale is logarithmic"));
        assert!(Values::parse_models("gat-go,transformer").unwrap_err().to_string().contains("unknown model"));
        assert!(Values::parse_models("label-propagation").unwrap_err().to_string().contains("is not a network"));
    }
}
