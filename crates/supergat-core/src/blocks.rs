//! Options of deep networks: what a hidden layer does after its mixing.
//!
//! A hidden layer computes `act(norm(mixing(h) + b + residual(h)))`, where `h` is its input after dropout. Without an
//! output layer, the last layer is no hidden layer and has none of these steps.

use crate::activation::Activation;
use crate::hyperparameters::NetworkSettings;
use crate::precision::Precision;
use serde::{Deserialize, Serialize};

/// Shortcut of a hidden layer, which adds its input to the sums over neighbours.
///
/// ```
/// use supergat_core::Residual;
/// assert_eq!("linear".parse(), Ok(Residual::Linear));
/// assert_eq!(Residual::default().name(), "none");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Residual {
    /// No shortcut.
    #[default]
    None,
    /// A linear function of the input, `h W + b`.
    Linear,
    /// The input itself.
    Identity,
}

/// Normalisation of a hidden layer, with a learned weight and bias per feature.
///
/// ```
/// use supergat_core::Norm;
/// assert_eq!("batch".parse(), Ok(Norm::Batch));
/// assert!("group".parse::<Norm>().unwrap_err().contains("none, layer, batch"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// No normalisation.
    #[default]
    None,
    /// Layer norm: over the features of each node.
    Layer,
    /// Batch norm: of each feature over all nodes in training, by running statistics in evaluation.
    Batch,
}

macro_rules! names {
    ($type:ty: $($variant:ident = $name:literal),*) => {
        impl $type {
            /// All names, in the order of the documentation.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// Returns the name in settings.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(name: &str) -> std::result::Result<Self, String> {
                match name {
                    $($name => Ok(Self::$variant),)*
                    _ => Err(format!("must be one of {}", Self::NAMES.join(", "))),
                }
            }
        }
    };
}
names!(Residual: None = "none", Linear = "linear", Identity = "identity");
names!(Norm: None = "none", Layer = "layer", Batch = "batch");
names!(Activation: Elu = "elu", Relu = "relu");
names!(Precision: Auto = "auto", F32 = "f32", Bf16 = "bf16");

impl NetworkSettings {
    /// Returns whether hidden layers have more than bias and ELU after their mixing.
    pub fn has_steps(&self) -> bool {
        let has_shape = self.residual != Residual::None || self.norm != Norm::None;
        has_shape || self.activation != Activation::Elu || self.separate_ego
    }

    /// Returns whether nodes attend to themselves.
    pub fn attends_to_self(&self) -> bool {
        self.self_loops && !self.separate_ego
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files() {
        fn check<T: Serialize + std::str::FromStr<Err = String> + PartialEq + Copy>(names: &[&str]) {
            for name in names {
                let value: T = name.parse().unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(serde_json::to_value(value).unwrap(), *name);
            }
        }
        check::<Residual>(Residual::NAMES);
        check::<Norm>(Norm::NAMES);
        check::<Activation>(Activation::NAMES);
        check::<Precision>(Precision::NAMES);
    }
}
