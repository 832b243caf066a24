//! Choice of the order of nodes inside the engine.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Order of the nodes inside the engine, where training and prediction compute. It changes their speed on large
/// graphs, random numbers and last digits. Results and all other fields of a dataset keep the given order.
///
/// ```
/// use supergat_data::{LoadOptions, NodeOrderChoice, load_with};
/// assert_eq!("local".parse::<NodeOrderChoice>()?, NodeOrderChoice::Local);
/// let source = "random-graph:nodes=500,communities=10";
/// let small = load_with(source, &LoadOptions::default())?;
/// assert_eq!(small.node_order(), "given");
/// let ordered = load_with(source, &LoadOptions { node_order: NodeOrderChoice::Local, ..LoadOptions::default() })?;
/// assert_eq!(ordered.node_order(), "local");
/// assert_eq!(ordered.examples[0].labels, small.examples[0].labels);
/// # Ok::<(), supergat_data::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeOrderChoice {
    /// The order in the file, if it has one; for graphs of 16,384 nodes and more, an order that keeps neighbours
    /// close, if it keeps many more of them close than the given order; otherwise the given order.
    #[default]
    Auto,
    /// The given order. Datasets that are divided into parts keep the order of their parts.
    Given,
    /// The order in the file, if it has one; otherwise one that keeps neighbours close.
    Local,
}

impl FromStr for NodeOrderChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "given" => Ok(Self::Given),
            "local" => Ok(Self::Local),
            _ => Err(Error::spec(format!("node order {text}"), "auto, given or local", text)),
        }
    }
}

impl fmt::Display for NodeOrderChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Given => "given",
            Self::Local => "local",
        })
    }
}
