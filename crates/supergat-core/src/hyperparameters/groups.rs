//! Table of all hyperparameters and a struct of each group, made from the declaration.

use super::Searched::{All, Between, Numbers, Whole, Wholes};
use super::declare::*;
use super::{Hyperparameter, Models, Range, Value, ValueType};
use crate::activation::Activation;
use crate::blocks::{Norm, Residual};
use crate::error::Result;
use crate::model_kind::ModelKind;
use crate::precision::Precision;
use serde::{Deserialize, Serialize};

/// Values of the hyperparameters of a group, which can be read and written by name.
///
/// ```
/// use supergat_core::hyperparameters::{SettingsGroup, TreeSettings, Value};
/// let mut trees = TreeSettings::default();
/// assert!(trees.put("tree_depth", Value::Whole(3)) && !trees.put("layers", Value::Whole(3)));
/// assert_eq!((trees.tree_depth, trees.get("tree_depth")), (3, Some(Value::Whole(3))));
/// ```
pub trait SettingsGroup {
    /// Returns the value of a hyperparameter; `None` if the group does not have it.
    fn get(&self, name: &str) -> Option<Value>;

    /// Sets the value of a hyperparameter without a check of its range. Returns `false` and changes nothing if the group
    /// does not have it, or if the value has another type.
    fn put(&mut self, name: &str, value: Value) -> bool;

    /// Validates every value.
    fn check(&self) -> Result<()> {
        let mut values = HYPERPARAMETERS.iter().filter_map(|known| Some((known, self.get(known.name)?)));
        values.try_for_each(|(known, value)| known.check(value).map(drop))
    }
}

macro_rules! define {
    ($($(#[doc = $about:literal])+ $group:ident: $settings:ident, $heading:literal, $applies:path {
        $($(#[doc = $meaning:literal])+ $name:ident: $type:ty = $described:expr;)+
    })+) => {
        /// Group of hyperparameters, which decides the models that they apply to.
        ///
        /// ```
        /// use supergat_core::hyperparameters::Group;
        /// assert!(Group::SelfSupervision.applies_to("supergat-sd".parse().unwrap()));
        /// assert!(!Group::SelfSupervision.applies_to("gat-go".parse().unwrap()));
        /// assert_eq!(Group::EarlyStopping.heading(), "Early stopping");
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Group {
            $($(#[doc = $about])+ $group,)+
        }

        impl Group {
            /// Returns whether the hyperparameters of this group have an effect on a model.
            pub fn applies_to(self, model: ModelKind) -> bool {
                match self {
                    $(Self::$group => $applies(model),)+
                }
            }

            /// Returns the human-readable heading.
            pub fn heading(self) -> &'static str {
                match self {
                    $(Self::$group => $heading,)+
                }
            }
        }

        /// All hyperparameters, in the order of documentation and help texts. See [`Hyperparameter`] for an example.
        pub const HYPERPARAMETERS: &[Hyperparameter] = &[
            $($($described.complete(stringify!($name), Group::$group, concat!($($meaning),+)),)+)+
        ];

        $($(#[doc = $about])+
        ///
        /// See [`SettingsGroup`] for an example.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $settings {
            $($(#[doc = $meaning])+ pub $name: $type,)+
        }

        impl $settings {
            /// Creates settings with the value that `of` returns for each hyperparameter.
            pub fn new(of: impl Fn(&Hyperparameter) -> Value) -> Self {
                let of = |name| of(Hyperparameter::named(name).expect("it is declared"));
                Self { $($name: ValueType::from_value(of(stringify!($name))).expect("it has its type"),)+ }
            }
        }

        impl Default for $settings {
            /// Returns the defaults of models with attention, in the style of the paper.
            fn default() -> Self {
                Self::new(Hyperparameter::default_of_groups)
            }
        }

        impl SettingsGroup for $settings {
            fn get(&self, name: &str) -> Option<Value> {
                match name {
                    $(stringify!($name) => Some(self.$name.into()),)+
                    _ => None,
                }
            }

            fn put(&mut self, name: &str, value: Value) -> bool {
                match name {
                    $(stringify!($name) => ValueType::from_value(value).map(|value| self.$name = value).is_some(),)+
                    _ => false,
                }
            }
        })+
    };
}

crate::declared_hyperparameters!(define);
