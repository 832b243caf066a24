//! Growing boosted trees, by the crate `forust-ml`.
//!
//! The trees of a score minimise the log loss of one class against all others, on training nodes, with the weights of
//! their classes. They are kept up to the number with the lowest loss of the validation nodes.

use crate::node_list::NodeList;
use forust_ml::sampler::SampleMethod;
use forust_ml::tree::Tree;
use forust_ml::{GradientBooster, Matrix};
use rayon::prelude::*;
use std::borrow::Cow;
use supergat_core::hash::Fnv;
use supergat_core::hyperparameters::TreeSettings;
use supergat_core::{Error, Example, Features, Labels, Result, SparseMatrix};
use supergat_data::Dataset;
use supergat_numerics::boosted_trees::{BoostedTrees, TreeNode};
use supergat_numerics::node_columns::{NodeColumns, column_major};

/// Smallest share of a class, so that no score is infinite.
const LEAST: f64 = 1e-7;

/// Returns all features of a dataset as a sparse matrix, graph after graph.
pub(super) fn all_features(dataset: &Dataset) -> Result<Cow<'_, SparseMatrix<f32>>> {
    if let [Example { features, .. }] = &dataset.examples[..]
        && let Features::Sparse(x) = &**features
    {
        return Ok(Cow::Borrowed(x));
    }
    let rows = dataset.examples.iter().flat_map(|example| {
        let features = &*example.features;
        (0..features.rows()).map(|row| features.entries(row))
    });
    SparseMatrix::from_rows(dataset.features(), rows).map(Cow::Owned)
}

/// Columns, labels and weights of some nodes.
struct Table<'a> {
    dataset: &'a Dataset,
    list: NodeList,
    columns: Vec<f64>,
    rows: usize,
    weights: Vec<f64>,
}

impl<'a> Table<'a> {
    fn new(dataset: &'a Dataset, graphs: &[NodeColumns<'_>], list: NodeList) -> Self {
        let nodes: Vec<&[u32]> = dataset.examples.iter().map(&list).collect();
        let weight = |example: &Example<f32>, node: u32| match (&example.class_weights, &example.labels) {
            (Some(weights), Labels::Single { of, .. }) => weights[of[node as usize] as usize],
            _ => 1.0,
        };
        let weights =
            dataset.examples.iter().flat_map(|example| list(example).iter().map(move |&node| weight(example, node)));
        let weights: Vec<f64> = weights.collect();
        Self { dataset, list, columns: column_major(graphs, &nodes), rows: weights.len(), weights }
    }

    fn matrix(&self) -> Matrix<'_, f64> {
        Matrix::new(&self.columns, self.rows, self.columns.len() / self.rows)
    }

    /// Returns 1 for the nodes of a class, 0 for others.
    fn targets(&self, class: usize) -> Vec<f64> {
        let is_member = |example: &Example<f32>, node: u32| match &example.labels {
            Labels::Single { of, .. } => of[node as usize] as usize == class,
            Labels::Multi { classes, of } => of[node as usize * classes + class] == 1,
        };
        let of_graph =
            |example| (self.list)(example).iter().map(move |&node| f64::from(u8::from(is_member(example, node))));
        self.dataset.examples.iter().flat_map(of_graph).collect()
    }
}

/// Grows the trees of each score, one score per thread, or one score by all threads.
pub(super) fn grow(
    dataset: &Dataset,
    graphs: &[NodeColumns<'_>],
    scores: usize,
    settings: TreeSettings,
    seed: u64,
) -> Result<Vec<BoostedTrees>> {
    let train = Table::new(dataset, graphs, |example| &example.train);
    let validation = Table::new(dataset, graphs, |example| &example.validation);
    let grow_one = |score: usize| {
        // The only score of two classes is that of the second.
        let class = if scores == 1 && dataset.classes() == 2 { 1 } else { score };
        grow_class(&train, &validation, class, settings, seed, scores == 1)
    };
    (0..scores).into_par_iter().map(grow_one).collect()
}

fn grow_class(
    train: &Table<'_>,
    validation: &Table<'_>,
    class: usize,
    settings: TreeSettings,
    seed: u64,
    parallel: bool,
) -> Result<BoostedTrees> {
    let targets = train.targets(class);
    let total: f64 = train.weights.iter().sum();
    let positive: f64 = targets.iter().zip(&train.weights).map(|(target, weight)| target * weight).sum();
    let share = (positive / total).clamp(LEAST, 1.0 - LEAST);
    let base = (share / (1.0 - share)).ln() as f32;
    let mut grown = BoostedTrees::new(base);
    if targets.iter().all(|target| *target == targets[0]) {
        return Ok(grown);
    }
    let matrix = train.matrix();
    let mut name = Fnv::default();
    name.add_numbers(&[seed, class as u64]);
    let sample = if settings.tree_node_share < 1.0 { SampleMethod::Random } else { SampleMethod::None };
    let mut booster = GradientBooster::default()
        .set_iterations(settings.tree_count)
        .set_learning_rate(settings.tree_lr as f32)
        .set_max_depth(settings.tree_depth)
        .set_l2(settings.tree_l2 as f32)
        .set_base_score(f64::from(base))
        .set_sample_method(sample)
        .set_subsample(settings.tree_node_share as f32)
        .set_colsample_bytree(column_share(settings.tree_column_share, matrix.cols))
        .set_early_stopping_rounds(Some(settings.tree_patience))
        .set_nbins(bins(matrix.rows))
        .set_seed(name.value())
        .set_parallel(parallel);
    let (targets_of_validation, weights) = (validation.targets(class), &validation.weights);
    let evaluation = vec![(validation.matrix(), &targets_of_validation[..], &weights[..])];
    booster.fit(&matrix, &targets, &train.weights, Some(evaluation)).map_err(|error| Error::Hyperparameter {
        name: "model",
        value: "trees".into(),
        reason: error.to_string(),
    })?;
    let count = booster.prediction_iteration.unwrap_or(booster.trees.len());
    booster.trees[..count].iter().for_each(|tree| grown.push(&converted(tree)));
    Ok(grown)
}

/// Returns the number of thresholds per column: about one per 25 training nodes. More are not more accurate, and on
/// small graphs the time of growing is proportional to them.
fn bins(nodes: usize) -> u16 {
    (nodes / 25).clamp(64, 256) as u16
}

/// Returns the share that makes `forust-ml` take at least one column: it rounds their number down.
fn column_share(share: f64, columns: usize) -> f64 {
    let taken = (share * columns as f64).ceil() as usize;
    if taken >= columns { 1.0 } else { (taken as f64 + 0.5) / columns as f64 }
}

/// Converts a tree: nodes level after level, both children of a node side by side.
fn converted(tree: &Tree) -> Vec<TreeNode> {
    let mut found = vec![0];
    let mut nodes = Vec::with_capacity(tree.nodes.len());
    while let Some(&number) = found.get(nodes.len()) {
        let node = &tree.nodes[number];
        nodes.push(if node.is_leaf {
            // A leaf of no weight has no number if there is no penalty.
            TreeNode::Leaf { value: if node.weight_value.is_finite() { node.weight_value } else { 0.0 } }
        } else {
            let left = found.len() as u32;
            found.extend([node.left_child, node.right_child]);
            TreeNode::Split {
                column: node.split_feature as u32,
                threshold: rounded_up(node.split_value),
                missing_left: node.missing_node == node.left_child,
                left,
            }
        });
    }
    nodes
}

/// Returns the smallest `f32` that is not below a threshold. The same numbers of type `f32` are below both.
fn rounded_up(threshold: f64) -> f32 {
    let near = threshold as f32;
    if f64::from(near) < threshold { near.next_up() } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_divide_numbers_as_before() {
        for threshold in [0.1, -0.1, 1.0, 1e-50, -1e-50, 0.30000000000000004, f64::MAX, 16777217.0] {
            let rounded = rounded_up(threshold);
            let near = threshold as f32;
            for number in [near, near.next_up(), near.next_down(), 0.0, f32::MAX] {
                assert_eq!(number < rounded, f64::from(number) < threshold, "{number} {threshold}");
            }
        }
    }

    #[test]
    fn at_least_one_column_is_taken() {
        for (share, columns, expected) in [(0.001, 5, 1), (0.5, 5, 3), (1.0, 5, 5), (0.5, 29, 15), (0.3, 1, 1)] {
            let taken = (columns as f64 * column_share(share, columns)).floor() as usize;
            assert_eq!(taken, expected, "{share} of {columns}");
        }
    }
}
