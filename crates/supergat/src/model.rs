//! The model of a training, by name or chosen for the graph.

use crate::error::{Error, Result};
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use supergat_core::{Form, ModelKind};

/// Name of [`Model::Auto`].
const AUTO: &str = "auto";

/// Default model for the datasets of the paper. Other datasets get the recommended one.
///
/// ```
/// assert_eq!(supergat::DEFAULT_MODEL.to_string(), "supergat-mx");
/// ```
pub const DEFAULT_MODEL: ModelKind = ModelKind::Attention { form: Form::Mx, self_supervised: true };

/// Model of a training. Names such as `supergat-mx` and `auto` parse to it.
///
/// ```
/// use supergat::{DEFAULT_MODEL, Model};
/// assert_eq!("auto".parse::<Model>()?, Model::Auto);
/// assert_eq!("supergat-mx".parse::<Model>()?, Model::Kind(DEFAULT_MODEL));
/// assert!("gat-og".parse::<Model>().is_err());
/// assert!(Model::names().contains(&"gat-go".to_owned()));
/// # Ok::<(), supergat::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// The network that does best on validation nodes.
    Auto,
    /// A model of this kind.
    Kind(ModelKind),
}

impl Model {
    /// Returns the names of all kinds of models.
    pub fn names() -> Vec<String> {
        ModelKind::ALL.iter().map(ToString::to_string).collect()
    }
}

impl FromStr for Model {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        if name == AUTO {
            return Ok(Self::Auto);
        }
        name.parse().map(Self::Kind).map_err(|_| {
            let mut known = Self::names();
            known.push(AUTO.to_owned());
            known.sort_by_key(|known| strsim::osa_distance(name, known));
            Error::UnknownModel { name: name.to_owned(), known }
        })
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str(AUTO),
            Self::Kind(kind) => kind.fmt(f),
        }
    }
}

impl From<ModelKind> for Model {
    fn from(kind: ModelKind) -> Self {
        Self::Kind(kind)
    }
}

impl TryFrom<&str> for Model {
    type Error = Error;

    fn try_from(name: &str) -> Result<Self> {
        name.parse()
    }
}

impl TryFrom<&String> for Model {
    type Error = Error;

    fn try_from(name: &String) -> Result<Self> {
        name.parse()
    }
}

impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
