//! Features computed from the graph, instead of the given features or after them.
//!
//! Structural features are standardised over the nodes of all graphs. The means and deviations are recorded
//! in the choice, so that a trained model applies those of its training data to a new graph.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::row_normalise::row_normalise;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use supergat_core::{Features, SparseMatrix};
use supergat_numerics::spectral::spectral;
use supergat_numerics::structural::{EXACT, NAMES, PROBES, structural};

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
    kinds: Vec<GraphFeatures>,
    /// Whether the given features are kept, before the computed ones.
    keep_given: bool,
    /// Mean and standard deviation of each structural feature; empty until they are computed.
    scales: Vec<[f64; 2]>,
    /// Whether the given features of each node are divided by their sum.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    row_normalise: bool,
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
        let kinds = list.split(',').map(|kind| kind.trim().parse()).collect::<Result<Vec<GraphFeatures>>>()?;
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

    /// Computes the features of a dataset that was read from `source`, and records their scales.
    pub(crate) fn apply(&mut self, source: &str, dataset: &mut Dataset) -> Result<()> {
        if self.row_normalise {
            if self.given() == GivenFeatures::Ignored {
                return Err(Error::Spec {
                    spec: "row_normalise".into(),
                    expected: "given features (use --add-features to keep them)".into(),
                    found: "--features".into(),
                });
            }
            row_normalise(Path::new(source), dataset)?;
        }
        if self.is_of_one_graph() && dataset.examples.len() > 1 {
            return Err(Error::Mismatch {
                path: source.into(),
                what: "graphs".into(),
                expected: "one, because spectral features of several graphs cannot be compared (use structural)".into(),
                found: dataset.examples.len().to_string(),
            });
        }
        for kind in self.kinds.clone() {
            let columns = match kind {
                GraphFeatures::Structural => self.structural(dataset),
                GraphFeatures::Spectral(count) => {
                    dataset.examples.iter().map(|example| spectral(&example.graph, count)).collect()
                }
            };
            let keep = self.keep_given || kind != self.kinds[0];
            for (example, columns) in dataset.examples.iter_mut().zip(columns) {
                let before = if keep { &*example.features } else { &none(example.graph.nodes()) };
                let joined = joined(before, &columns, kind.width());
                example.features =
                    Arc::new(joined.map_err(|error| Error::Core { path: source.into(), source: error })?);
            }
            dataset.notes.push(kind.note(dataset));
        }
        if self.given() == GivenFeatures::Ignored {
            dataset.schema = None;
        }
        Ok(())
    }

    /// Computes the structural features of each graph, standardised.
    fn structural(&mut self, dataset: &Dataset) -> Vec<Vec<f32>> {
        let rows: Vec<Vec<[f64; NAMES.len()]>> =
            dataset.examples.iter().map(|example| structural(&example.graph)).collect();
        if self.scales.len() != NAMES.len() {
            self.scales = (0..NAMES.len()).map(|k| scale(rows.iter().flatten().map(|row| row[k]))).collect();
        }
        let standardised = |(value, [mean, deviation]): (&f64, &[f64; 2])| match *deviation > 0.0 {
            true => ((value - mean) / deviation) as f32,
            false => 0.0,
        };
        let of_graph = |rows: &Vec<[f64; NAMES.len()]>| {
            rows.iter().flat_map(|row| row.iter().zip(&self.scales).map(standardised)).collect()
        };
        rows.iter().map(of_graph).collect()
    }
}

impl GraphFeatures {
    fn width(&self) -> usize {
        match self {
            Self::Structural => NAMES.len(),
            Self::Spectral(count) => *count,
        }
    }

    /// Describes the computed features of a dataset.
    fn note(self, dataset: &Dataset) -> String {
        match self {
            Self::Structural => {
                let exact = dataset.examples.iter().all(|example| example.graph.nodes() <= EXACT);
                let how = match exact {
                    true => "exact".to_owned(),
                    false => format!("of 4 and more steps estimated with {PROBES} random vectors"),
                };
                format!(
                    "{} structural features computed from the graph: degree, clustering, return probabilities of 2 to 8 steps ({how})",
                    NAMES.len()
                )
            }
            Self::Spectral(count) => {
                format!(
                    "{count} spectral features computed from the graph; a model trained with them cannot be applied to another graph"
                )
            }
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

impl FromStr for GraphFeatures {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once(':') {
            None if text == "structural" => Ok(Self::Structural),
            Some(("spectral", count)) => {
                let count = count.parse().ok().filter(|count| (1..=MAX_SPECTRAL).contains(count));
                count.map(Self::Spectral).ok_or_else(|| invalid(text))
            }
            _ => Err(invalid(text)),
        }
    }
}

impl TryFrom<String> for GraphFeatures {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<GraphFeatures> for String {
    fn from(kind: GraphFeatures) -> Self {
        kind.to_string()
    }
}

fn invalid(found: &str) -> Error {
    Error::Spec {
        spec: "computed features".into(),
        expected: format!(
            "structural, spectral:COUNT with 1 to {MAX_SPECTRAL} vectors, or one of each separated by a comma"
        ),
        found: crate::error::shown(found),
    }
}

/// Returns the features of a dataset that has none.
pub(crate) fn none(nodes: usize) -> Features<f32> {
    Features::Dense { rows: nodes, columns: 0, values: Vec::new() }
}

/// Returns the error for a missing file of features.
pub(crate) fn missing(path: &Path) -> Error {
    let advice = "add the file, or compute features from the graph with --features structural";
    Error::NotFound { path: path.to_owned(), advice: advice.into() }
}

/// Returns mean and standard deviation.
fn scale(values: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    // A constant column has a deviation of rounding errors.
    let deviation = variance.sqrt();
    [mean, if deviation > 1e-9 * mean.abs() { deviation } else { 0.0 }]
}

/// Appends `width` dense columns to features. Sparse features remain sparse.
fn joined(before: &Features<f32>, columns: &[f32], width: usize) -> supergat_core::Result<Features<f32>> {
    let rows = before.rows();
    match before {
        Features::Dense { columns: old, values, .. } => {
            let mut all = Vec::with_capacity(values.len() + columns.len());
            for row in 0..rows {
                all.extend_from_slice(&values[row * old..(row + 1) * old]);
                all.extend_from_slice(&columns[row * width..(row + 1) * width]);
            }
            Features::dense(rows, old + width, all)
        }
        Features::Sparse(matrix) => {
            let first = matrix.columns();
            let (mut offsets, mut column_of, mut values) = (vec![0], Vec::new(), Vec::new());
            for row in 0..rows {
                let (old, entries) = matrix.row(row);
                column_of.extend_from_slice(old);
                values.extend_from_slice(entries);
                let new =
                    columns[row * width..(row + 1) * width].iter().enumerate().filter(|(_, value)| **value != 0.0);
                for (k, value) in new {
                    column_of.push((first + k) as u32);
                    values.push(*value);
                }
                offsets.push(values.len() as u64);
            }
            SparseMatrix::new(first + width, offsets, column_of, values).map(Features::Sparse)
        }
    }
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

    #[test]
    fn choices_survive_json() {
        let choice = FeatureChoice { scales: vec![[0.1, 1.0 / 3.0]], ..FeatureChoice::add("spectral:7").unwrap() };
        let text = serde_json::to_string(&choice).unwrap();
        assert_eq!(text, r#"{"kinds":["spectral:7"],"keep_given":true,"scales":[[0.1,0.3333333333333333]]}"#);
        assert_eq!(serde_json::from_str::<FeatureChoice>(&text).unwrap(), choice);
        let normalised = FeatureChoice::default().row_normalise(true);
        let text = serde_json::to_string(&normalised).unwrap();
        assert_eq!(text, r#"{"kinds":[],"keep_given":false,"scales":[],"row_normalise":true}"#);
        assert_eq!(serde_json::from_str::<FeatureChoice>(&text).unwrap(), normalised);
    }

    #[test]
    fn columns_are_appended_to_dense_and_sparse_features() {
        let new = [5.0f32, 0.0, 6.0, 7.0];
        let dense = joined(&Features::dense(2, 1, vec![1.0f32, 0.0]).unwrap(), &new, 2).unwrap();
        assert_eq!(dense.values(), [1.0, 5.0, 0.0, 0.0, 6.0, 7.0]);
        let sparse = Features::Sparse(SparseMatrix::new(1, vec![0, 1, 1], vec![0], vec![1.0f32]).unwrap());
        let Features::Sparse(sparse) = joined(&sparse, &new, 2).unwrap() else { panic!("sparse") };
        assert_eq!((sparse.columns(), sparse.row(0)), (3, (&[0, 1][..], &[1.0, 5.0][..])));
        assert_eq!(sparse.row(1), (&[1, 2][..], &[6.0, 7.0][..]));
        assert_eq!(joined(&none(2), &new, 2).unwrap().values(), new);
    }

    #[test]
    fn constant_columns_have_no_deviation() {
        assert_eq!(scale([2.0, 4.0].into_iter()), [3.0, 1.0]);
        assert_eq!(scale([0.1; 7].into_iter())[1], 0.0);
        assert_eq!(scale(std::iter::empty()), [0.0, 0.0]);
    }
}
