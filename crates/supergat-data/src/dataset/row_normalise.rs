//! Features divided by their sum over each node.

use super::Dataset;
use crate::error::{Error, Result};
use std::path::Path;
use std::sync::Arc;
use supergat_core::{Features, SparseMatrix};

/// Note on features that were divided.
const NOTE: &str = "features of each node divided by their sum";

/// Divides the features of each node by their sum, `x_ij / sum_k x_ik`, and records it in the schema. A node whose
/// features are all 0 keeps them. Does nothing if the schema says that it was done.
///
/// Errors name the dataset by `path`. Features below 0 are refused: their sum says nothing about their size.
pub(crate) fn row_normalise(path: &Path, dataset: &mut Dataset) -> Result<()> {
    if dataset.schema.as_ref().is_some_and(|schema| schema.row_normalised) {
        return Ok(());
    }
    for example in &mut dataset.examples {
        example.features = Arc::new(divided(path, &example.features)?);
    }
    if let Some(schema) = &mut dataset.schema {
        schema.row_normalised = true;
    }
    dataset.notes.push(NOTE.into());
    Ok(())
}

fn divided(path: &Path, features: &Features<f32>) -> Result<Features<f32>> {
    let mut values = features.values().to_vec();
    let columns = features.columns();
    if let Some(found) = values.iter().find(|value| **value < 0.0) {
        let expected =
            "no numbers below 0, as in counts of words; leave it out, or for tables set parameter `standardise=false`";
        return Err(Error::mismatch(path, "features to divide by their sum (row_normalise)", expected, found));
    }
    let divide = |row: &mut [f32]| {
        let sum: f64 = row.iter().map(|value| f64::from(*value)).sum();
        if sum > 0.0 {
            row.iter_mut().for_each(|value| *value = (f64::from(*value) / sum) as f32);
        }
    };
    let divided = match features {
        Features::Dense { rows, .. } => {
            values.chunks_exact_mut(columns.max(1)).for_each(divide);
            Features::dense(*rows, columns, values)
        }
        Features::Sparse(matrix) => {
            for ends in matrix.offsets().windows(2) {
                divide(&mut values[ends[0] as usize..ends[1] as usize]);
            }
            let (offsets, column_of) = (matrix.offsets().to_vec(), matrix.column_of().to_vec());
            SparseMatrix::new(columns, offsets, column_of, values).map(Features::Sparse)
        }
    };
    divided.map_err(Error::core(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divides_dense_and_sparse_rows() {
        let path = Path::new("here");
        let dense = Features::dense(3, 2, vec![1.0f32, 3.0, 0.0, 0.0, 5.0, 0.0]).unwrap();
        assert_eq!(divided(path, &dense).unwrap().values(), [0.25, 0.75, 0.0, 0.0, 1.0, 0.0]);
        let sparse = SparseMatrix::new(2, vec![0, 2, 2, 3], vec![0, 1, 0], vec![1.0f32, 3.0, 5.0]).unwrap();
        let Features::Sparse(sparse) = divided(path, &Features::Sparse(sparse)).unwrap() else { panic!("sparse") };
        assert_eq!((sparse.values(), sparse.row(1).0.len()), (&[0.25, 0.75, 1.0][..], 0));
        let negative = Features::dense(1, 2, vec![1.0f32, -0.5]).unwrap();
        let error = divided(path, &negative).unwrap_err().to_string();
        assert!(
            error.starts_with("here: features to divide by their sum (row_normalise): expected no numbers below 0")
        );
        assert!(error.ends_with("found -0.5"), "{error}");
    }
}
