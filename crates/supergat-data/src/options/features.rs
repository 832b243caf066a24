//! Choice of features that are computed from the graph, instead of the given features or after them.

use crate::error::{Error, Result};
use crate::words::shown;
use serde::{Deserialize, Serialize};
use std::fmt;
use supergat_numerics::structural::NAMES;

/// Largest number of spectral features.
const MAX_SPECTRAL: usize = 1024;
/// Largest number of steps to the neighbours whose columns are features.
const MAX_STEPS: usize = 4;

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
    /// Logarithm of PageRank.
    PageRank,
    /// Means of the given features of neighbours, up to this number of steps.
    Means(usize),
    /// Minima and maxima of the given features of neighbours, up to this number of steps.
    Extremes(usize),
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
    /// Replaces the given features by computed ones: `structural`, `spectral:COUNT`, `pagerank`, or several separated by
    /// commas.
    pub fn replace(list: &str) -> Result<Self> {
        let choice = Self::parse(list, false)?;
        match choice.kinds.iter().find(|kind| kind.per_given() > 0) {
            Some(kind) => {
                let expected = "parameter `add_features`, because they are computed from given features";
                Err(Error::spec(format!("computed features {kind}"), expected, "parameter `features`"))
            }
            None => Ok(choice),
        }
    }

    /// Adds computed features to the given ones: those of [`Self::replace`], and of the neighbours' given features
    /// `means:STEPS` and `extremes:STEPS`.
    ///
    /// ```
    /// use supergat_data::{Dataset, FeatureChoice};
    /// let dataset = Dataset::builder(3)
    ///     .edges(&[(0, 1), (1, 2)])
    ///     .dense_features(&[1.0, 5.0, 3.0], 1)
    ///     .class_names(["a", "b"])
    ///     .compute_features(FeatureChoice::add("means:2")?)
    ///     .build()?;
    /// // Its own, the mean of its neighbours, and the mean of their means.
    /// assert_eq!(dataset.examples[0].features.values()[3..6], [5.0, 2.0, 5.0]);
    /// # Ok::<(), supergat_data::Error>(())
    /// ```
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

    /// Returns the number of computed features, for `given` given ones.
    pub fn width(&self, given: usize) -> usize {
        self.kinds.iter().map(|kind| kind.width(given)).sum()
    }

    /// Returns the number of given features among `all`.
    pub fn given_among(&self, all: usize) -> usize {
        let per_given: usize = self.kinds.iter().map(|kind| kind.per_given()).sum();
        if self.keep_given || self.is_empty() { all.saturating_sub(self.width(0)) / (1 + per_given) } else { 0 }
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
    /// Returns the number of features, for `given` given ones.
    pub(crate) fn width(&self, given: usize) -> usize {
        match self {
            Self::Structural => NAMES.len(),
            Self::Spectral(count) => *count,
            Self::PageRank => 1,
            Self::Means(_) | Self::Extremes(_) => given * self.per_given(),
        }
    }

    /// Returns the number of features for each given one.
    fn per_given(&self) -> usize {
        match self {
            Self::Means(steps) => *steps,
            Self::Extremes(steps) => 2 * steps,
            Self::Structural | Self::Spectral(_) | Self::PageRank => 0,
        }
    }
}

impl fmt::Display for GraphFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Structural => write!(f, "structural"),
            Self::Spectral(count) => write!(f, "spectral:{count}"),
            Self::PageRank => write!(f, "pagerank"),
            Self::Means(steps) => write!(f, "means:{steps}"),
            Self::Extremes(steps) => write!(f, "extremes:{steps}"),
        }
    }
}

impl TryFrom<String> for GraphFeatures {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        let number = |text: &str, most| text.parse().ok().filter(|number| (1..=most).contains(number));
        let kind = match text.split_once(':') {
            None if text == "structural" => Some(Self::Structural),
            None if text == "pagerank" => Some(Self::PageRank),
            Some(("spectral", count)) => number(count, MAX_SPECTRAL).map(Self::Spectral),
            Some(("means", steps)) => number(steps, MAX_STEPS).map(Self::Means),
            Some(("extremes", steps)) => number(steps, MAX_STEPS).map(Self::Extremes),
            _ => None,
        };
        kind.ok_or_else(|| invalid(&text))
    }
}

impl From<GraphFeatures> for String {
    fn from(kind: GraphFeatures) -> Self {
        kind.to_string()
    }
}

fn invalid(found: &str) -> Error {
    let expected = format!(
        "structural, spectral:COUNT with 1 to {MAX_SPECTRAL} vectors, pagerank, means:STEPS or extremes:STEPS with 1 to \
         {MAX_STEPS} steps, or some of them separated by commas"
    );
    Error::spec("computed features", expected, shown(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_parse_and_print() {
        let choice = FeatureChoice::add("structural, spectral:32").unwrap();
        assert_eq!(choice.kinds, [GraphFeatures::Structural, GraphFeatures::Spectral(32)]);
        assert_eq!((choice.width(5), choice.given()), (41, GivenFeatures::Optional));
        assert_eq!(FeatureChoice::replace("spectral:1").unwrap().given(), GivenFeatures::Ignored);
        assert_eq!(FeatureChoice::default().given(), GivenFeatures::Required);
        let choice = FeatureChoice::add("pagerank,means:2,extremes:1").unwrap();
        assert_eq!((choice.width(5), choice.given_among(26), choice.given_among(1)), (21, 5, 0));
        assert_eq!(
            choice.kinds.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
            "pagerank,means:2,extremes:1"
        );
        let replaced = FeatureChoice::replace("pagerank,means:2").unwrap_err().to_string();
        assert!(replaced.contains("means:2`: expected parameter `add_features`"), "{replaced}");
        assert_eq!(FeatureChoice::replace("pagerank").unwrap().given_among(1), 0);
        let wrong = ["", "degree", "spectral", "spectral:0", "spectral:1025", "means", "means:0", "extremes:5"];
        for list in wrong.into_iter().chain(["structural,structural", "spectral:2,spectral:3", "means:1,means:2"]) {
            let error = FeatureChoice::replace(list).unwrap_err().to_string();
            assert!(error.starts_with("`computed features`: expected structural, spectral:COUNT"), "{error}");
        }
    }
}
