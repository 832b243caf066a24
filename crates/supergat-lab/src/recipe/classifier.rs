//! A quick classifier that looks at features only: ridge regression onto the classes. Every score can also be had as if one labelled node had not been there.
//!
//! With rows x of length one, K = X X' + 1 over the labelled nodes (the 1 gives scores an offset), Y one-hot, G = (K + lambda I)^-1 and A = G Y:
//!
//! | score of | formula |
//! |---|---|
//! | any x | f(x) = k(x)' A |
//! | labelled node i, without itself | Y_i - A_i / G_ii |
//! | any x, without labelled node i | f(x) - (k(x)' G)_i / G_ii * A_i |
//!
//! lambda, and whether columns are first brought to one scale, are those with the least squared error of nodes that are left out.

use supergat_core::{Example, Features};

/// A node: its graph and its number there.
pub(super) type Place = (usize, usize);

const LAMBDAS: [f64; 5] = [0.03, 0.1, 0.3, 1.0, 3.0];

/// The rows of all graphs, scaled.
struct Rows<'a> {
    examples: &'a [Example<f32>],
    /// What each column is multiplied with; `None`: columns stay as they are.
    scale: Option<Vec<f64>>,
}

impl Rows<'_> {
    /// Column and value of everything that is not zero in the row of a node, as a vector of length one.
    fn of(&self, (example, node): Place) -> Vec<(usize, f64)> {
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

/// One over the root of the mean square of every column.
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
pub(super) struct Classifier<'a> {
    rows: Rows<'a>,
    classes: usize,
    labelled: usize,
    /// Of each column its place among those in which a labelled node is not zero. No other has a weight.
    place: Vec<Option<u32>>,
    /// X' A by place of the column and class, and the offset of each class.
    weights: Vec<f64>,
    offset: Vec<f64>,
    /// X' G by place of the column and labelled node, and the offset of each labelled node.
    influence: Vec<f64>,
    influence_offset: Vec<f64>,
    /// A by labelled node and class.
    a: Vec<f64>,
    /// Diagonal of G.
    diagonal: Vec<f64>,
    /// Scores of the labelled nodes without themselves.
    left_out: Vec<f64>,
    error: f64,
}

impl<'a> Classifier<'a> {
    /// Learns the classes of some nodes.
    pub(super) fn fit(examples: &'a [Example<f32>], places: &[Place], class_of: &[usize], classes: usize) -> Self {
        let with = |scale| Self::with(examples, places, class_of, classes, scale, &LAMBDAS);
        let (plain, even) = (with(None), with(Some(column_scale(examples))));
        if even.error < plain.error { even } else { plain }
    }

    fn with(
        examples: &'a [Example<f32>],
        places: &[Place],
        class_of: &[usize],
        classes: usize,
        scale: Option<Vec<f64>>,
        lambdas: &[f64],
    ) -> Self {
        let rows = Rows { examples, scale };
        let labelled: Vec<Vec<(usize, f64)>> = places.iter().map(|place| rows.of(*place)).collect();
        let columns = examples.first().map_or(0, |example| example.features.columns());
        let kernel = kernel(&labelled, columns);
        let fits = lambdas.iter().map(|lambda| Fit::new(&kernel, class_of, classes, *lambda));
        let best = fits.min_by(|x, y| x.error.total_cmp(&y.error)).expect("there are lambdas");
        let n = places.len();
        let (mut place, mut used) = (vec![None; columns], 0);
        for &(column, _) in labelled.iter().flatten() {
            if place[column].is_none() {
                place[column] = Some(used);
                used += 1;
            }
        }
        let mut all = Self {
            rows,
            classes,
            labelled: n,
            place,
            weights: vec![0.0; used as usize * classes],
            offset: vec![0.0; classes],
            influence: vec![0.0; used as usize * n],
            influence_offset: vec![0.0; n],
            diagonal: (0..n).map(|i| best.g[i * n + i]).collect(),
            a: best.a,
            left_out: best.left_out,
            error: best.error,
        };
        for (i, row) in labelled.iter().enumerate() {
            let (a, g) = (&all.a[i * classes..(i + 1) * classes], &best.g[i * n..(i + 1) * n]);
            add(&mut all.offset, 1.0, a);
            add(&mut all.influence_offset, 1.0, g);
            for &(column, value) in row {
                let place = all.place[column].expect("a column of a labelled node has a place") as usize;
                add(&mut all.weights[place * classes..][..classes], value, a);
                add(&mut all.influence[place * n..][..n], value, g);
            }
        }
        all
    }

    /// Scores of a node for every class: about 1 for its own and 0 for the others, where features tell.
    pub(super) fn scores(&self, place: Place) -> Vec<f64> {
        self.scores_of(&self.rows.of(place))
    }

    fn scores_of(&self, row: &[(usize, f64)]) -> Vec<f64> {
        let mut scores = self.offset.clone();
        for (place, value) in self.known(row) {
            add(&mut scores, value, &self.weights[place * self.classes..][..self.classes]);
        }
        scores
    }

    /// The same without what was learned from the labelled node of that number.
    pub(super) fn scores_without(&self, place: Place, i: usize) -> Vec<f64> {
        let row = self.rows.of(place);
        let mut scores = self.scores_of(&row);
        let dot: f64 = self.known(&row).map(|(place, value)| value * self.influence[place * self.labelled + i]).sum();
        let share = (self.influence_offset[i] + dot) / self.diagonal[i];
        add(&mut scores, -share, &self.a[i * self.classes..(i + 1) * self.classes]);
        scores
    }

    /// What a row has in columns that have a place, with that place.
    fn known(&self, row: &[(usize, f64)]) -> impl Iterator<Item = (usize, f64)> {
        row.iter().filter_map(|&(column, value)| Some((self.place[column]? as usize, value)))
    }

    /// Scores of the labelled node of that number, without itself.
    pub(super) fn left_out(&self, i: usize) -> &[f64] {
        &self.left_out[i * self.classes..(i + 1) * self.classes]
    }
}

/// What one lambda gives.
struct Fit {
    g: Vec<f64>,
    a: Vec<f64>,
    left_out: Vec<f64>,
    /// Squared error of nodes that are left out.
    error: f64,
}

impl Fit {
    fn new(kernel: &[f64], class_of: &[usize], classes: usize, lambda: f64) -> Self {
        let n = class_of.len();
        let mut g = kernel.to_vec();
        (0..n).for_each(|i| g[i * n + i] += lambda);
        invert(&mut g, n);
        let (mut a, mut left_out, mut error) = (vec![0.0; n * classes], vec![0.0; n * classes], 0.0);
        for i in 0..n {
            let a = &mut a[i * classes..(i + 1) * classes];
            class_of.iter().enumerate().for_each(|(j, class)| a[*class] += g[i * n + j]);
            for class in 0..classes {
                let wanted = f64::from(u8::from(class == class_of[i]));
                let miss = a[class] / g[i * n + i];
                left_out[i * classes + class] = wanted - miss;
                error += miss * miss;
            }
        }
        Self { g, a, left_out, error }
    }
}

/// Products of all pairs of rows, plus one.
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

/// Inverts a symmetric positive definite matrix in place (Gauss and Jordan; such matrices need no exchange of rows).
fn invert(matrix: &mut [f64], n: usize) {
    let mut pivot_row = vec![0.0; n];
    for k in 0..n {
        let pivot = matrix[k * n + k];
        pivot_row.copy_from_slice(&matrix[k * n..(k + 1) * n]);
        pivot_row[k] = 1.0;
        pivot_row.iter_mut().for_each(|value| *value /= pivot);
        for i in (0..n).filter(|i| *i != k) {
            let row = &mut matrix[i * n..(i + 1) * n];
            let factor = std::mem::replace(&mut row[k], 0.0);
            add(row, -factor, &pivot_row);
        }
        matrix[k * n..(k + 1) * n].copy_from_slice(&pivot_row);
    }
}

/// `into += factor * values`
fn add(into: &mut [f64], factor: f64, values: &[f64]) {
    into.iter_mut().zip(values).for_each(|(into, value)| *into += factor * value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::{Direction, Graph, Labels};
    use supergat_data::load;

    fn close(a: &[f64], b: &[f64]) {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9), "{a:?} {b:?}");
    }

    /// What the formulas say without a node is what a classifier says that never saw it.
    #[test]
    fn leaving_out_is_fitting_without() {
        let dataset = load("random-partition:classes=3,nodes=180,degree=4,homophily=0.5").unwrap();
        let Labels::Single { of, .. } = &dataset.examples[0].labels else { unreachable!("one class per node") };
        let nodes: Vec<usize> = (0..540).step_by(27).collect();
        let fit = |nodes: &[usize]| {
            let places: Vec<Place> = nodes.iter().map(|node| (0, *node)).collect();
            let classes: Vec<usize> = nodes.iter().map(|node| of[*node] as usize).collect();
            Classifier::with(&dataset.examples, &places, &classes, 3, None, &[0.1])
        };
        let (all, without) = (fit(&nodes), fit(&nodes[1..]));
        for node in [nodes[0], nodes[4], 1] {
            close(&all.scores_without((0, node), 0), &without.scores((0, node)));
        }
        close(all.left_out(0), &without.scores((0, nodes[0])));
    }

    #[test]
    fn an_inverse_times_its_matrix_is_one() {
        let matrix = vec![4.0, 1.0, 0.5, 1.0, 3.0, 0.2, 0.5, 0.2, 2.0];
        let mut inverse = matrix.clone();
        invert(&mut inverse, 3);
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|k| matrix[i * 3 + k] * inverse[k * 3 + j]).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
    }

    /// A column of large numbers without meaning hides one of small numbers with meaning, unless columns are brought to one scale.
    #[test]
    fn columns_are_brought_to_one_scale_where_that_helps() {
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
        let places: Vec<Place> = (0..n).map(|i| (0, i)).collect();
        let classifier = Classifier::fit(&examples, &places, &labels, 2);
        assert!(classifier.rows.scale.is_some());
        assert!((0..n).all(|i| classifier.left_out(i)[labels[i]] > 0.5));
    }
}
