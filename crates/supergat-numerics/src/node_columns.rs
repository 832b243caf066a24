//! Columns of a node and its neighbours.
//!
//! `N(i)` are the neighbours of node `i`: the sources of its incoming edges without itself. The mean is weighted where edges
//! have weights. A node without neighbours has NaN in place of mean, maximum and minimum: a missing value.
//!
//! With features `x_i` of `F` columns, classifiers that know no graph, such as trees, have `4 F + 1` columns of node `i`:
//!
//! ```text
//! x_i | mean_{j in N(i)} x_j | max_{j in N(i)} x_j | min_{j in N(i)} x_j | number of neighbours
//! ```

use rayon::prelude::*;
use std::borrow::Cow;
use supergat_core::{Features, Graph};

/// Columns of the nodes of a graph.
///
/// ```
/// use supergat_core::{Direction, Features, Graph};
/// use supergat_numerics::node_columns::{NodeColumns, dense_rows};
/// let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], Direction::Undirected)?;
/// let features = Features::dense(3, 1, vec![1.0f32, 5.0, 3.0])?;
/// let columns = NodeColumns::new(&graph, &[], 1, dense_rows(&features));
/// let mut row = vec![0.0; columns.count()];
/// columns.row(1, &mut row);
/// // Its own, then mean, maximum and minimum of nodes 0 and 2, and their number.
/// assert_eq!(row, [5.0, 2.0, 3.0, 1.0, 2.0]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub struct NodeColumns<'a> {
    graph: &'a Graph,
    weights: &'a [f32],
    width: usize,
    rows: Cow<'a, [f32]>,
}

/// Returns the number of columns of a node with `width` features.
///
/// ```
/// assert_eq!(supergat_numerics::node_columns::count(7), 29);
/// ```
pub fn count(width: usize) -> usize {
    4 * width + 1
}

/// Returns features as rows of numbers, zeros included.
///
/// ```
/// use supergat_core::{Features, SparseMatrix};
/// let sparse = SparseMatrix::new(3, vec![0, 1, 2], vec![1, 0], vec![5.0f32, 6.0])?;
/// let rows = supergat_numerics::node_columns::dense_rows(&Features::Sparse(sparse)).into_owned();
/// assert_eq!(rows, [0.0, 5.0, 0.0, 6.0, 0.0, 0.0]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn dense_rows(features: &Features<f32>) -> Cow<'_, [f32]> {
    match features {
        Features::Dense { values, .. } => Cow::Borrowed(values),
        Features::Sparse(x) => {
            let mut rows = vec![0.0; x.rows() * x.columns()];
            for (i, row) in rows.chunks_exact_mut(x.columns().max(1)).enumerate() {
                let (columns, values) = x.row(i);
                columns.iter().zip(values).for_each(|(&column, &value)| row[column as usize] = value);
            }
            Cow::Owned(rows)
        }
    }
}

impl<'a> NodeColumns<'a> {
    /// Describes the nodes of a graph by `rows`, `width` numbers per node. `weights` are those of the incoming edges, in
    /// their order; empty if all are 1.
    pub fn new(graph: &'a Graph, weights: &'a [f32], width: usize, rows: Cow<'a, [f32]>) -> Self {
        assert_eq!(rows.len(), graph.nodes() * width, "one row per node");
        Self { graph, weights, width, rows }
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.graph.nodes()
    }

    /// Returns the number of columns of a node.
    pub fn count(&self) -> usize {
        count(self.width)
    }

    fn own(&self, node: usize) -> &[f32] {
        &self.rows[node * self.width..(node + 1) * self.width]
    }

    /// Writes the columns of a node.
    pub fn row(&self, node: usize, into: &mut [f32]) {
        let (own, rest) = into.split_at_mut(self.width);
        let (of_neighbours, count) = rest.split_at_mut(3 * self.width);
        own.copy_from_slice(self.own(node));
        for (k, statistic) in [Statistic::Mean, Statistic::Most, Statistic::Least].into_iter().enumerate() {
            self.of_node(node, statistic, &mut of_neighbours[k * self.width..(k + 1) * self.width]);
        }
        count[0] = self.neighbours(node).count() as f32;
    }

    /// Returns a statistic of the neighbours of every node, row by row; NaN for nodes without neighbours.
    ///
    /// ```
    /// use supergat_core::{Direction, Features, Graph};
    /// use supergat_numerics::node_columns::{NodeColumns, Statistic, dense_rows};
    /// let graph = Graph::from_edges(4, &[(0, 1), (1, 2)], Direction::Undirected)?;
    /// let features = Features::dense(4, 1, vec![1.0f32, 5.0, 3.0, 7.0])?;
    /// let columns = NodeColumns::new(&graph, &[], 1, dense_rows(&features));
    /// let of = |statistic| columns.of_neighbours(statistic);
    /// assert_eq!(of(Statistic::Mean)[..3], [5.0, 2.0, 5.0]);
    /// assert_eq!([of(Statistic::Least)[1], of(Statistic::Most)[1]], [1.0, 3.0]);
    /// assert!(of(Statistic::Mean)[3].is_nan());
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn of_neighbours(&self, statistic: Statistic) -> Vec<f32> {
        let mut all = vec![0.0; self.nodes() * self.width];
        let rows = all.par_chunks_exact_mut(self.width.max(1)).enumerate().with_min_len(64);
        rows.for_each(|(node, into)| self.of_node(node, statistic, into));
        all
    }

    /// Writes a statistic of the neighbours of a node.
    fn of_node(&self, node: usize, statistic: Statistic, into: &mut [f32]) {
        match statistic {
            Statistic::Mean => {
                let (mut sums, mut total) = (vec![0.0_f64; self.width], 0.0);
                for (weight, row) in self.neighbours(node) {
                    sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += weight * f64::from(value));
                    total += weight;
                }
                let share = |sum: f64| if total > 0.0 { (sum / total) as f32 } else { f32::NAN };
                into.iter_mut().zip(sums).for_each(|(mean, sum)| *mean = share(sum));
            }
            // The maximum and minimum of NaN and a number are the number.
            Statistic::Most => self.fold(node, into, f32::max),
            Statistic::Least => self.fold(node, into, f32::min),
        }
    }

    fn fold(&self, node: usize, into: &mut [f32], of: impl Fn(f32, f32) -> f32) {
        into.fill(f32::NAN);
        for (_, row) in self.neighbours(node) {
            into.iter_mut().zip(row).for_each(|(so_far, &value)| *so_far = of(*so_far, value));
        }
    }

    /// Returns the weights of the edges from the neighbours of a node, and their features.
    fn neighbours(&self, node: usize) -> impl Iterator<Item = (f64, &[f32])> {
        let incoming = self.graph.incoming();
        let others = incoming.range(node).filter(move |&edge| incoming.neighbours[edge] as usize != node);
        others.map(move |edge| {
            let weight = self.weights.get(edge).map_or(1.0, |&weight| f64::from(weight));
            (weight, self.own(incoming.neighbours[edge] as usize))
        })
    }
}

/// Statistic of the features of neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// Mean, weighted by the weights of edges.
    Mean,
    /// Minimum.
    Least,
    /// Maximum.
    Most,
}

/// Returns the columns of some nodes of several graphs, column after column, with the rows in the given order.
///
/// ```
/// use supergat_core::{Direction, Features, Graph};
/// use supergat_numerics::node_columns::{NodeColumns, column_major, dense_rows};
/// let graph = Graph::from_edges(3, &[(0, 1)], Direction::Undirected)?;
/// let features = Features::dense(3, 1, vec![1.0f32, 5.0, 3.0])?;
/// let columns = [NodeColumns::new(&graph, &[], 1, dense_rows(&features))];
/// let all = column_major(&columns, &[&[2, 0][..]]);
/// assert_eq!(all[..2], [3.0, 1.0]);
/// assert!(all[2].is_nan() && all[3] == 5.0);
/// assert_eq!(all[8..], [0.0, 1.0]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn column_major(graphs: &[NodeColumns<'_>], nodes: &[&[u32]]) -> Vec<f64> {
    let count = graphs.first().map_or(0, NodeColumns::count);
    let listed: Vec<(&NodeColumns<'_>, usize)> = graphs
        .iter()
        .zip(nodes)
        .flat_map(|(graph, nodes)| nodes.iter().map(move |&node| (graph, node as usize)))
        .collect();
    let mut rows = vec![0.0; listed.len() * count];
    rows.par_chunks_exact_mut(count.max(1))
        .zip(&listed)
        .with_min_len(16)
        .for_each(|(row, (graph, node))| graph.row(*node, row));
    let mut columns = vec![0.0; rows.len()];
    columns.par_chunks_exact_mut(listed.len().max(1)).enumerate().for_each(|(k, column)| {
        column.iter_mut().zip(rows.chunks_exact(count)).for_each(|(to, row)| *to = f64::from(row[k]));
    });
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::{Direction, EdgeAttributes, SparseMatrix};

    #[test]
    fn directed_neighbours_are_sources_and_weights_count_in_the_mean() {
        let graph = Graph::from_edges(4, &[(0, 2), (1, 2), (2, 3), (2, 2)], Direction::Directed).unwrap();
        let features = Features::dense(4, 2, vec![1.0f32, -1.0, 5.0, -5.0, 9.0, 9.0, 0.0, 0.0]).unwrap();
        let row = |weights: &[f32], node| {
            let columns = NodeColumns::new(&graph, weights, 2, dense_rows(&features));
            let mut row = vec![0.0; 9];
            columns.row(node, &mut row);
            row
        };
        assert_eq!(row(&[], 2), [9.0, 9.0, 3.0, -3.0, 5.0, -1.0, 1.0, -5.0, 2.0], "without the self-loop");
        let alone = row(&[], 0);
        assert!(alone[..2] == [1.0, -1.0] && alone[2..8].iter().all(|v| v.is_nan()) && alone[8] == 0.0);
        let mut weights = vec![1.0; graph.edges()];
        weights[graph.position(0, 2).unwrap()] = 3.0;
        let edges = EdgeAttributes::from_parts(&graph, weights, 0, Vec::new()).unwrap();
        assert_eq!(row(edges.weights(), 2)[2..4], [2.0, -2.0]);
        let none = vec![0.0; graph.edges()];
        assert!(row(&none, 2)[2].is_nan(), "no weight at all");
    }

    #[test]
    fn sparse_and_dense_features_give_the_same_columns() {
        let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], Direction::Undirected).unwrap();
        let dense = Features::dense(3, 2, vec![0.0f32, 2.0, 0.0, 0.0, 3.0, 0.0]).unwrap();
        let sparse = SparseMatrix::new(2, vec![0, 1, 1, 2], vec![1, 0], vec![2.0f32, 3.0]).unwrap();
        let all = |features: &Features<f32>| {
            column_major(&[NodeColumns::new(&graph, &[], 2, dense_rows(features))], &[&[0, 1, 2]])
        };
        assert_eq!(all(&dense), all(&Features::Sparse(sparse)));
    }
}
