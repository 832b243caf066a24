//! A fast classifier that uses features only: ridge regression onto the classes. Every score is also
//! available without one of the training nodes.
//!
//! With rows x of length one, K = X X' + 1 over the training nodes (the 1 gives scores an offset), Y one-hot,
//! G = (K + lambda I)^-1 and A = G Y:
//!
//! | score of | formula |
//! |---|---|
//! | any x | f(x) = k(x)' A |
//! | training node i, without itself | Y_i - A_i / G_ii |
//! | any x, without training node i | f(x) - (k(x)' G)_i / G_ii * A_i |
//!
//! lambda, and whether columns are first scaled to unit mean square, are chosen by the smallest squared
//! leave-one-out error.

use rayon::prelude::*;
use supergat_core::{Example, Features};

/// A node: index of its graph, and its index in the graph.
pub type NodeRef = (usize, usize);

const LAMBDAS: [f64; 5] = [0.03, 0.1, 0.3, 1.0, 3.0];

/// Feature rows of all graphs, scaled.
struct Rows<'a> {
    examples: &'a [Example<f32>],
    /// Factor of each column, if columns are scaled.
    scale: Option<Vec<f64>>,
}

impl Rows<'_> {
    fn columns(&self) -> usize {
        self.examples.first().map_or(0, |example| example.features.columns())
    }

    /// Returns column and value of the non-zero entries of a node's row, normalised to length one.
    fn of(&self, (example, node): NodeRef) -> Vec<(usize, f64)> {
        let scaled = |column: usize, value: f32| {
            let value = f64::from(value) * self.scale.as_ref().map_or(1.0, |scale| scale[column]);
            (column, value)
        };
        let mut row: Vec<(usize, f64)> = match &*self.examples[example].features {
            Features::Dense { columns, values, .. } => {
                let values = &values[node * columns..(node + 1) * columns];
                values.iter().enumerate().filter(|(_, v)| **v != 0.0).map(|(c, v)| scaled(c, *v)).collect()
            }
            Features::Sparse(matrix) => {
                let (columns, values) = matrix.row(node);
                columns.iter().zip(values).map(|(c, v)| scaled(*c as usize, *v)).collect()
            }
        };
        let length = row.iter().map(|(_, v)| v * v).sum::<f64>().sqrt();
        if length > 0.0 {
            row.iter_mut().for_each(|(_, v)| *v /= length);
        }
        row
    }
}

/// Returns the inverse root mean square of every column.
fn column_scale(examples: &[Example<f32>]) -> Vec<f64> {
    let columns = examples.first().map_or(0, |example| example.features.columns());
    let rows: usize = examples.iter().map(|example| example.features.rows()).sum();
    let mut squares = vec![0.0f64; columns];
    for example in examples {
        match &*example.features {
            Features::Dense { values, .. } => {
                for (k, value) in values.iter().enumerate() {
                    squares[k % columns] += f64::from(*value).powi(2);
                }
            }
            Features::Sparse(matrix) => {
                for (column, value) in matrix.column_of().iter().zip(matrix.values()) {
                    squares[*column as usize] += f64::from(*value).powi(2);
                }
            }
        }
    }
    squares.into_iter().map(|sum| if sum > 0.0 { (rows as f64 / sum).sqrt() } else { 1.0 }).collect()
}

/// The fitted classifier.
pub struct Classifier<'a> {
    rows: Rows<'a>,
    classes: usize,
    training_nodes: usize,
    /// Index of each column among those in which a training node is not zero. Only these have weights.
    column_index: Vec<Option<u32>>,
    /// X' A by column index and class.
    weights: Vec<f64>,
    /// Offset of each class.
    offset: Vec<f64>,
    /// X' G by column index and training node.
    influence: Vec<f64>,
    /// Offset of each training node.
    influence_offset: Vec<f64>,
    /// A by training node and class.
    a: Vec<f64>,
    /// Diagonal of G.
    diagonal: Vec<f64>,
    /// Leave-one-out scores of the training nodes.
    left_out: Vec<f64>,
}

impl<'a> Classifier<'a> {
    /// Fits the classifier to the classes of some nodes.
    pub fn fit(examples: &'a [Example<f32>], nodes: &[NodeRef], class_of: &[usize], classes: usize) -> Self {
        let with = |scale| Choice::best(Rows { examples, scale }, nodes, class_of, classes, &LAMBDAS);
        let (plain, scaled) = rayon::join(|| with(None), || with(Some(column_scale(examples))));
        Self::new(if scaled.fit.error < plain.fit.error { scaled } else { plain }, classes)
    }

    fn new(choice: Choice<'a>, classes: usize) -> Self {
        let Choice { rows, labelled, fit } = choice;
        let (n, columns) = (labelled.len(), rows.columns());
        let g = product_with_transpose(&fit.inverse, n);
        let (mut column_index, mut used) = (vec![None; columns], 0);
        for &(column, _) in labelled.iter().flatten() {
            if column_index[column].is_none() {
                column_index[column] = Some(used);
                used += 1;
            }
        }
        let mut all = Self {
            rows,
            classes,
            training_nodes: n,
            column_index,
            weights: vec![0.0; used as usize * classes],
            offset: vec![0.0; classes],
            influence: vec![0.0; used as usize * n],
            influence_offset: vec![0.0; n],
            diagonal: fit.diagonal,
            a: fit.a,
            left_out: fit.left_out,
        };
        for (i, row) in labelled.iter().enumerate() {
            let (a, g) = (&all.a[i * classes..(i + 1) * classes], &g[i * n..(i + 1) * n]);
            add(&mut all.offset, 1.0, a);
            add(&mut all.influence_offset, 1.0, g);
            for &(column, value) in row {
                let k = all.column_index[column].expect("columns of training nodes have an index") as usize;
                add(&mut all.weights[k * classes..][..classes], value, a);
                add(&mut all.influence[k * n..][..n], value, g);
            }
        }
        all
    }

    /// Returns the scores of a node for every class: about 1 for its own and 0 for the others, if features
    /// determine the class.
    pub fn scores(&self, node: NodeRef) -> Vec<f64> {
        self.scores_of(&self.rows.of(node))
    }

    fn scores_of(&self, row: &[(usize, f64)]) -> Vec<f64> {
        let mut scores = self.offset.clone();
        for (k, value) in self.weighted(row) {
            add(&mut scores, value, &self.weights[k * self.classes..][..self.classes]);
        }
        scores
    }

    /// Returns the scores of a node, computed without training node `i`.
    pub fn scores_without(&self, node: NodeRef, i: usize) -> Vec<f64> {
        let row = self.rows.of(node);
        let mut scores = self.scores_of(&row);
        let dot: f64 = self.weighted(&row).map(|(k, value)| value * self.influence[k * self.training_nodes + i]).sum();
        let share = (self.influence_offset[i] + dot) / self.diagonal[i];
        add(&mut scores, -share, &self.a[i * self.classes..(i + 1) * self.classes]);
        scores
    }

    /// Returns the entries of a row in columns with weights, by the index of the column.
    fn weighted(&self, row: &[(usize, f64)]) -> impl Iterator<Item = (usize, f64)> {
        row.iter().filter_map(|&(column, value)| Some((self.column_index[column]? as usize, value)))
    }

    /// Returns the scores of training node `i`, computed without it.
    pub fn left_out(&self, i: usize) -> &[f64] {
        &self.left_out[i * self.classes..(i + 1) * self.classes]
    }
}

/// The best fit with one scaling of the columns.
struct Choice<'a> {
    rows: Rows<'a>,
    /// Rows of the training nodes.
    labelled: Vec<Vec<(usize, f64)>>,
    fit: Fit,
}

impl<'a> Choice<'a> {
    fn best(rows: Rows<'a>, nodes: &[NodeRef], class_of: &[usize], classes: usize, lambdas: &[f64]) -> Self {
        let labelled: Vec<Vec<(usize, f64)>> = nodes.iter().map(|node| rows.of(*node)).collect();
        let kernel = kernel(&labelled, rows.columns());
        let fits: Vec<_> = lambdas.par_iter().map(|lambda| Fit::new(&kernel, class_of, classes, *lambda)).collect();
        let fit = fits.into_iter().min_by(|x, y| x.error.total_cmp(&y.error)).expect("there are lambdas");
        Self { rows, labelled, fit }
    }
}

/// Ridge regression with one lambda. With K + lambda I = L L' and M = L^-1: G = M' M. A and the diagonal of G are
/// computed from M, so G need not be formed.
struct Fit {
    /// M, lower triangular.
    inverse: Vec<f64>,
    a: Vec<f64>,
    /// Diagonal of G.
    diagonal: Vec<f64>,
    left_out: Vec<f64>,
    /// Squared leave-one-out error.
    error: f64,
}

impl Fit {
    fn new(kernel: &[f64], class_of: &[usize], classes: usize, lambda: f64) -> Self {
        let n = class_of.len();
        let mut matrix = kernel.to_vec();
        (0..n).for_each(|i| matrix[i * n + i] += lambda);
        let inverse = inverse_of_factor(&mut matrix, n);
        let (mut a, mut left_out, mut error) = (vec![0.0; n * classes], vec![0.0; n * classes], 0.0);
        let (mut diagonal, mut of_classes) = (vec![0.0; n], vec![0.0; classes]);
        for i in 0..n {
            let row = &inverse[i * n..][..=i];
            of_classes.fill(0.0);
            row.iter().zip(class_of).for_each(|(value, class)| of_classes[*class] += value);
            for (j, value) in row.iter().enumerate() {
                diagonal[j] += value * value;
                add(&mut a[j * classes..(j + 1) * classes], *value, &of_classes);
            }
        }
        for i in 0..n {
            for class in 0..classes {
                let wanted = f64::from(u8::from(class == class_of[i]));
                let miss = a[i * classes + class] / diagonal[i];
                left_out[i * classes + class] = wanted - miss;
                error += miss * miss;
            }
        }
        Self { inverse, a, diagonal, left_out, error }
    }
}

/// Returns the dot products of all pairs of rows, plus one.
fn kernel(rows: &[Vec<(usize, f64)>], columns: usize) -> Vec<f64> {
    let n = rows.len();
    let (mut kernel, mut dense) = (vec![0.0; n * n], vec![0.0; columns]);
    for i in 0..n {
        rows[i].iter().for_each(|&(column, value)| dense[column] = value);
        for j in 0..=i {
            let dot: f64 = rows[j].iter().map(|&(column, value)| value * dense[column]).sum();
            (kernel[i * n + j], kernel[j * n + i]) = (1.0 + dot, 1.0 + dot);
        }
        rows[i].iter().for_each(|&(column, _)| dense[column] = 0.0);
    }
    kernel
}

/// Returns the inverse of the factor L of a symmetric positive definite matrix L L', of which the lower triangle is
/// read and overwritten.
fn inverse_of_factor(matrix: &mut [f64], n: usize) -> Vec<f64> {
    let (mut inverse, mut column) = (vec![0.0; n * n], vec![0.0; n]);
    for k in 0..n {
        let (above, below) = inverse.split_at_mut((k + 1) * n);
        let row = &mut above[k * n..][..=k];
        row[k] = 1.0;
        let factor = 1.0 / matrix[k * n + k].sqrt();
        row.iter_mut().for_each(|value| *value *= factor);
        for i in k + 1..n {
            column[i] = matrix[i * n + k] * factor;
            add(&mut matrix[i * n..][k + 1..=i], -column[i], &column[k + 1..=i]);
            add(&mut below[(i - k - 1) * n..][..=k], -column[i], row);
        }
    }
    inverse
}

/// Returns M' M for a lower triangular M.
fn product_with_transpose(lower: &[f64], n: usize) -> Vec<f64> {
    let mut product = vec![0.0; n * n];
    for k in 0..n {
        let row = &lower[k * n..][..=k];
        for (i, value) in row.iter().enumerate() {
            add(&mut product[i * n..][..=k], *value, row);
        }
    }
    product
}

/// `into += factor * values`
fn add(into: &mut [f64], factor: f64, values: &[f64]) {
    into.iter_mut().zip(values).for_each(|(into, value)| *into += factor * value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::random::{Purpose, Stream};
    use supergat_core::{Direction, Graph, Labels};

    fn close(a: &[f64], b: &[f64]) {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9), "{a:?} {b:?}");
    }

    #[test]
    fn leave_one_out_scores_equal_refitting() {
        let stream = Stream::new(7, 0, 0, Purpose::SyntheticFeatures);
        let class = |node: usize| node / 180;
        let values = |node: usize| stream.normal_pair(node as u64).map(|z| (z + class(node) as f64) as f32);
        let examples = [Example::new(
            Graph::from_edges(540, &[], Direction::Undirected).unwrap(),
            Features::dense(540, 2, (0..540).flat_map(values).collect()).unwrap(),
            Labels::Single { classes: 3, of: (0..540).map(|node| class(node) as u32).collect() },
            [vec![], vec![], vec![]],
        )
        .unwrap()];
        let nodes: Vec<usize> = (0..540).step_by(27).collect();
        let fit = |nodes: &[usize]| {
            let refs: Vec<NodeRef> = nodes.iter().map(|node| (0, *node)).collect();
            let classes: Vec<usize> = nodes.iter().map(|node| class(*node)).collect();
            let rows = Rows { examples: &examples, scale: None };
            Classifier::new(Choice::best(rows, &refs, &classes, 3, &[0.1]), 3)
        };
        let (all, without) = (fit(&nodes), fit(&nodes[1..]));
        for node in [nodes[0], nodes[4], 1] {
            close(&all.scores_without((0, node), 0), &without.scores((0, node)));
        }
        close(all.left_out(0), &without.scores((0, nodes[0])));
    }

    #[test]
    fn inverts_a_matrix() {
        let matrix = vec![4.0, 1.0, 0.5, 1.0, 3.0, 0.2, 0.5, 0.2, 2.0];
        let inverse = product_with_transpose(&inverse_of_factor(&mut matrix.clone(), 3), 3);
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|k| matrix[i * 3 + k] * inverse[k * 3 + j]).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
    }

    /// The first column is large noise; the second is small and determines the class.
    #[test]
    fn scales_columns_if_that_reduces_the_error() {
        let (n, labels): (usize, Vec<usize>) = (20, (0..20).map(|i| i % 2).collect());
        let noise = |i: usize| 1000.0 * ((i * 7 % 11) as f32 - 5.0);
        let values = (0..n).flat_map(|i| [noise(i), if i % 2 == 0 { 1.0 } else { -1.0 }]).collect();
        let example = Example::new(
            Graph::from_edges(n, &[], Direction::Undirected).unwrap(),
            Features::dense(n, 2, values).unwrap(),
            Labels::Single { classes: 2, of: labels.iter().map(|c| *c as u32).collect() },
            [vec![], vec![], vec![]],
        )
        .unwrap();
        let examples = [example];
        let nodes: Vec<NodeRef> = (0..n).map(|i| (0, i)).collect();
        let classifier = Classifier::fit(&examples, &nodes, &labels, 2);
        assert!(classifier.rows.scale.is_some());
        assert!((0..n).all(|i| classifier.left_out(i)[labels[i]] > 0.5));
    }
}
