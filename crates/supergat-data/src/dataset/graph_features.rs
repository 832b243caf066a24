//! Features computed from the graph, instead of the given features or after them.
//!
//! Structural features are standardised over the nodes of all graphs. The means and deviations are recorded
//! in the choice, so that a trained model applies those of its training data to a new graph.

use super::Dataset;
use super::row_normalise::row_normalise;
use crate::error::{Error, Result};
use crate::options::{FeatureChoice, GivenFeatures, GraphFeatures};
use std::path::Path;
use std::sync::Arc;
use supergat_core::words::count;
use supergat_core::{Example, Features, SparseMatrix};
use supergat_numerics::node_columns::{NodeColumns, Statistic, dense_rows};
use supergat_numerics::pagerank::pagerank;
use supergat_numerics::spectral::spectral;
use supergat_numerics::structural::{EXACT, NAMES, PROBES, structural};

/// Largest number of computed numbers, which are dense until they are joined with sparse features: 1 GiB.
const MOST_NUMBERS: usize = 1 << 28;

impl FeatureChoice {
    /// Computes the features of a dataset that was read from `source`, and records their scales.
    pub(crate) fn apply(&mut self, source: &str, dataset: &mut Dataset) -> Result<()> {
        if self.row_normalise {
            if self.given() == GivenFeatures::Ignored {
                let expected = "given features (use parameter `add_features` to keep them)";
                return Err(Error::spec("row_normalise", expected, "features"));
            }
            row_normalise(Path::new(source), dataset)?;
        }
        if self.is_of_one_graph() && dataset.examples.len() > 1 {
            let expected = "one, because spectral features of several graphs cannot be compared (use structural)";
            return Err(Error::mismatch(Path::new(source), "graphs", expected, dataset.examples.len()));
        }
        let given: Vec<Arc<Features<f32>>> = dataset.examples.iter().map(|example| example.features.clone()).collect();
        let width = given.first().map_or(0, |given| given.columns());
        self.check_given(source, width, dataset.nodes())?;
        for kind in self.kinds.clone() {
            let columns = self.columns(kind, dataset, &given);
            let keep = self.keep_given || kind != self.kinds[0];
            for (example, columns) in dataset.examples.iter_mut().zip(columns) {
                let before = if keep { &*example.features } else { &none(example.graph.nodes()) };
                let joined = joined(before, &columns, kind.width(width));
                example.features = Arc::new(joined.map_err(Error::core(Path::new(source)))?);
            }
            dataset.notes.push(kind.note(dataset, width));
        }
        if self.given() == GivenFeatures::Ignored {
            dataset.schema = None;
        }
        Ok(())
    }

    /// Fails if there are no given features to compute others from, or too many.
    fn check_given(&self, source: &str, given: usize, nodes: usize) -> Result<()> {
        let is_computed_from_given = |kind: &&GraphFeatures| kind.width(1) != kind.width(0);
        for kind in self.kinds.iter().filter(is_computed_from_given) {
            let most = MOST_NUMBERS / (kind.width(1) * nodes).max(1);
            if given == 0 || given > most {
                let expected = format!("1 to {most} columns for the computed features {kind}");
                return Err(Error::mismatch(Path::new(source), "given features", expected, given));
            }
        }
        Ok(())
    }

    /// Computes the features of a kind for each graph, which has the `given` features.
    fn columns(&mut self, kind: GraphFeatures, dataset: &Dataset, given: &[Arc<Features<f32>>]) -> Vec<Vec<f32>> {
        let examples = dataset.examples.iter().zip(given);
        let logarithms = |ranks: Vec<f64>| ranks.into_iter().map(|rank| rank.ln() as f32).collect();
        match kind {
            GraphFeatures::Structural => self.structural(dataset),
            GraphFeatures::Spectral(count) => examples.map(|(example, _)| spectral(&example.graph, count)).collect(),
            GraphFeatures::PageRank => examples.map(|(example, _)| logarithms(pagerank(&example.graph))).collect(),
            GraphFeatures::Means(steps) => {
                examples.map(|(example, given)| of_neighbours(example, given, &[Statistic::Mean], steps)).collect()
            }
            GraphFeatures::Extremes(steps) => {
                let both = [Statistic::Least, Statistic::Most];
                examples.map(|(example, given)| of_neighbours(example, given, &both, steps)).collect()
            }
        }
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
    /// Describes the computed features of a dataset.
    fn note(self, dataset: &Dataset, given: usize) -> String {
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
            Self::PageRank => "1 feature computed from the graph: the logarithm of PageRank".to_owned(),
            Self::Means(steps) | Self::Extremes(steps) => {
                let what = if let Self::Means(_) = self { "means" } else { "minima and maxima" };
                let steps = count(steps, "step");
                format!(
                    "{} features computed from neighbours: {what} of {given} given ones, up to {steps}",
                    self.width(given)
                )
            }
            Self::Spectral(vectors) => {
                format!(
                    "{vectors} spectral features computed from the graph; a model trained with them cannot be applied to another graph"
                )
            }
        }
    }
}

/// Returns statistics of the neighbours' features up to `steps` steps: of each step and statistic, a column per feature.
///
/// With `s` a statistic, `x` the features and `N(i)` the neighbours of node `i`, the columns of step `k` are
///
/// ```text
/// x^0 = x,   x^k_i = s of x^(k-1)_j over j in N(i); 0 without neighbours
/// ```
fn of_neighbours(example: &Example<f32>, given: &Features<f32>, statistics: &[Statistic], steps: usize) -> Vec<f32> {
    let (given, width) = (dense_rows(given), given.columns());
    let weights = example.edges.as_ref().map_or(&[][..], |edges| edges.weights());
    let (nodes, per_node) = (example.graph.nodes(), steps * statistics.len() * width);
    let mut all = vec![0.0; nodes * per_node];
    for (place, statistic) in statistics.iter().enumerate() {
        let mut rows = given.clone();
        for step in 0..steps {
            let mut next = NodeColumns::new(&example.graph, weights, width, rows).of_neighbours(*statistic);
            next.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
            let first = (place * steps + step) * width;
            for (all, next) in all.chunks_exact_mut(per_node).zip(next.chunks_exact(width)) {
                all[first..first + width].copy_from_slice(next);
            }
            rows = next.into();
        }
    }
    all
}

/// Returns the features of a dataset that has none.
pub(crate) fn none(nodes: usize) -> Features<f32> {
    Features::Dense { rows: nodes, columns: 0, values: Vec::new() }
}

/// Returns whether the features in a file are read. Fails if they are required and there is no such file.
pub(crate) fn are_read(path: &Path, given: GivenFeatures) -> Result<bool> {
    match given {
        GivenFeatures::Ignored => Ok(false),
        GivenFeatures::Required if !path.exists() => {
            let advice = "add the file, or compute features from the graph with parameter `features=structural`";
            Err(Error::not_found(path, advice))
        }
        _ => Ok(path.exists()),
    }
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
            let new = |row: usize| {
                let row = columns[row * width..(row + 1) * width].iter().enumerate();
                row.filter(|(_, value)| **value != 0.0).map(|(k, value)| ((first + k) as u32, *value))
            };
            let rows = (0..rows).map(|row| matrix.entries(row).chain(new(row)));
            SparseMatrix::from_rows(first + width, rows).map(Features::Sparse)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn columns_of_neighbours_are_limited() {
        let check = |list: &str, given, nodes| FeatureChoice::add(list).unwrap().check_given("tables", given, nodes);
        assert!(check("means:2", 128, 1 << 20).is_ok() && check("structural,pagerank", 0, usize::MAX).is_ok());
        for (list, expected) in [("means:2", "1 to 128 columns"), ("pagerank,extremes:2", "1 to 64 columns")] {
            let error = check(list, 129, 1 << 20).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("found 129"), "{error}");
        }
    }

    #[test]
    fn constant_columns_have_no_deviation() {
        assert_eq!(scale([2.0, 4.0].into_iter()), [3.0, 1.0]);
        assert_eq!(scale([0.1; 7].into_iter())[1], 0.0);
        assert_eq!(scale(std::iter::empty()), [0.0, 0.0]);
    }
}
