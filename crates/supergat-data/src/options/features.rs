//! Choice of features that are computed from the graph, instead of the given features or after them.

use crate::error::{Error, Result};
use crate::words::shown;
use serde::{Deserialize, Serialize};
use std::fmt;
use supergat_numerics::structural::NAMES;

/// Largest number of spectral features.
const MAX_SPECTRAL: usize = 1024;

/// Features to compute from the graph. The default is none: the dataset keeps its own.
///
/// ```
/// use supergat_data::{FeatureChoice, LoadOptions, load_with};
/// let source = "random-partition:classes=2,nodes=170,degree=4";
/// let width = |features| {
///     Ok::<_, supergat_data::Error>(load_with(source, &LoadOptions { features, ..Default::default() })?.features())
/// };
/// assert_eq!(width(FeatureChoice::default())?, 2);
/// assert_eq!(width(FeatureChoice::replace("structural")?)?, 9);
/// assert_eq!(width(FeatureChoice::add("structural,spectral:4")?)?, 2 + 9 + 4);
/// # Ok::<(), supergat_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureChoice {
    /// Kinds of features, in the order of their columns.
    pub(crate) kinds: Vec<GraphFeatures>,
    /// Whether the given features are kept, before the computed ones.
    pub(crate) keep_given: bool,
    /// Mean and standard deviation of each structural feature; empty until they are computed.
    pub(crate) scales: Vec<[f64; 2]>,
    /// Whether the given features of each node are divided by their sum.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) row_normalise: bool,
}

/// A kind of features computed from the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum GraphFeatures {
    /// Degree, clustering and return probabilities.
    Structural,
    /// Number of leading eigenvectors of the normalised adjacency matrix.
    Spectral(usize),
}

/// Use of the features that the files of a dataset contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GivenFeatures {
    /// A dataset without features is refused.
    #[default]
    Required,
    /// A dataset may have no features, because others are added.
    Optional,
    /// Features are not used.
    Ignored,
}

impl FeatureChoice {
    /// Replaces the given features by computed ones: `structural`, `spectral:COUNT`, or both separated by a comma.
    pub fn replace(list: &str) -> Result<Self> {
        Self::parse(list, false)
    }

    /// Adds computed features to the given ones; see [`Self::replace`] for their names.
    pub fn add(list: &str) -> Result<Self> {
        Self::parse(list, true)
    }

    fn parse(list: &str, keep_given: bool) -> Result<Self> {
        let kinds =
            list.split(',').map(|kind| kind.trim().to_owned().try_into()).collect::<Result<Vec<GraphFeatures>>>()?;
        let same = |a: &GraphFeatures, b: &GraphFeatures| std::mem::discriminant(a) == std::mem::discriminant(b);
        match kinds.iter().enumerate().find(|(k, kind)| kinds[..*k].iter().any(|before| same(before, kind))) {
            Some((_, again)) => Err(invalid(&again.to_string())),
            None => Ok(Self { kinds, keep_given, ..Self::default() }),
        }
    }

    /// Sets whether the given features of each node are divided by their sum. Features of published datasets are then not
    /// reduced to principal components, which have no meaningful sum.
    ///
    /// ```
    /// use supergat_data::{Dataset, FeatureChoice};
    /// let dataset = Dataset::builder(2)
    ///     .edges(&[(0, 1)])
    ///     .dense_features(&[1.0, 3.0, 0.0, 2.0], 2)
    ///     .class_names(["a", "b"])
    ///     .compute_features(FeatureChoice::default().row_normalise(true))
    ///     .build()?;
    /// assert_eq!(dataset.examples[0].features.values(), [0.25, 0.75, 0.0, 1.0]);
    /// # Ok::<(), supergat_data::Error>(())
    /// ```
    pub fn row_normalise(self, row_normalise: bool) -> Self {
        Self { row_normalise, ..self }
    }

    /// Returns whether the given features of each node are divided by their sum.
    pub fn is_row_normalised(&self) -> bool {
        self.row_normalise
    }

    /// Returns whether no features are computed.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Returns the number of computed features.
    pub fn width(&self) -> usize {
        self.kinds.iter().map(GraphFeatures::width).sum()
    }

    /// Returns whether the features describe one graph only, so that a model cannot be applied to another.
    pub fn is_of_one_graph(&self) -> bool {
        self.kinds.iter().any(|kind| matches!(kind, GraphFeatures::Spectral(_)))
    }

    /// Returns the use of the features in the files.
    pub(crate) fn given(&self) -> GivenFeatures {
        match (self.is_empty(), self.keep_given) {
            (true, _) => GivenFeatures::Required,
            (false, true) => GivenFeatures::Optional,
            (false, false) => GivenFeatures::Ignored,
        }
    }
}

impl GraphFeatures {
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::Structural => NAMES.len(),
            Self::Spectral(count) => *count,
        }
    }
}

impl fmt::Display for GraphFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Structural => write!(f, "structural"),
            Self::Spectral(count) => write!(f, "spectral:{count}"),
        }
    }
}

impl TryFrom<String> for GraphFeatures {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        match text.split_once(':') {
            None if text == "structural" => Ok(Self::Structural),
            Some(("spectral", count)) => {
                let count = count.parse().ok().filter(|count| (1..=MAX_SPECTRAL).contains(count));
                count.map(Self::Spectral).ok_or_else(|| invalid(&text))
            }
            _ => Err(invalid(&text)),
        }
    }
}

impl From<GraphFeatures> for String {
    fn from(kind: GraphFeatures) -> Self {
        kind.to_string()
    }
}

fn invalid(found: &str) -> Error {
    let expected =
        format!("structural, spectral:COUNT with 1 to {MAX_SPECTRAL} vectors, or one of each separated by a comma");
    Error::spec("computed features", expected, shown(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_parse_and_print() {
        let choice = FeatureChoice::add("structural, spectral:32").unwrap();
        assert_eq!(choice.kinds, [GraphFeatures::Structural, GraphFeatures::Spectral(32)]);
        assert_eq!((choice.width(), choice.given()), (41, GivenFeatures::Optional));
        assert_eq!(FeatureChoice::replace("spectral:1").unwrap().given(), GivenFeatures::Ignored);
        assert_eq!(FeatureChoice::default().given(), GivenFeatures::Required);
        for list in
            ["", "degree", "spectral", "spectral:0", "spectral:1025", "structural,structural", "spectral:2,spectral:3"]
        {
            let error = FeatureChoice::replace(list).unwrap_err().to_string();
            assert!(error.starts_with("`computed features`: expected structural, spectral:COUNT"), "{error}");
        }
    }
}
