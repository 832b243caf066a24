//! Boosted trees as a function: a sum of the values of leaves.
//!
//! ```text
//! score(x) = base + sum_t value of the leaf of tree t that x falls into
//! ```
//!
//! At an inner node, a row goes left if its number in the column of the node is below the threshold, otherwise right. A
//! missing number (NaN) goes to the side that the node names. Trees are grown elsewhere; here they are validated, stored
//! and evaluated.

use crate::node_columns::NodeColumns;
use rayon::prelude::*;

/// A node of a tree.
///
/// See [`BoostedTrees`] for an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TreeNode {
    /// End of a path.
    Leaf {
        /// Number that is added to the score.
        value: f32,
    },
    /// A question about a column.
    Split {
        /// Column.
        column: u32,
        /// Rows with a number below it go left.
        threshold: f32,
        /// Whether rows without a number go left.
        missing_left: bool,
        /// Position of the left child in the tree; the right one follows it.
        left: u32,
    },
}

/// Sum of trees.
///
/// ```
/// use supergat_numerics::boosted_trees::{BoostedTrees, TreeNode};
/// let stump = vec![
///     TreeNode::Split { column: 1, threshold: 0.5, missing_left: true, left: 1 },
///     TreeNode::Leaf { value: -2.0 },
///     TreeNode::Leaf { value: 3.0 },
/// ];
/// let mut trees = BoostedTrees::new(0.25);
/// trees.push(&stump);
/// assert_eq!((trees.score(&[9.0, 0.1]), trees.score(&[9.0, 0.5]), trees.score(&[9.0, f32::NAN])), (-1.75, 3.25, -1.75));
/// let words = trees.to_words();
/// assert_eq!(BoostedTrees::from_words(&words, 2), Some(trees));
/// assert_eq!(BoostedTrees::from_words(&words, 1), None, "there is no column 1");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BoostedTrees {
    base: f32,
    /// Position of the first node of each tree.
    roots: Vec<u32>,
    /// Nodes of all trees, one tree after another.
    nodes: Vec<TreeNode>,
}

/// Words per node in a file: column and flags, number, left child.
const WORDS: usize = 3;
/// Words before the nodes: base and number of trees.
const HEADER: usize = 2;

impl BoostedTrees {
    /// Creates a sum without trees: every row has the score `base`.
    pub fn new(base: f32) -> Self {
        Self { base, roots: Vec::new(), nodes: Vec::new() }
    }

    /// Adds a tree, whose first node is the root. Panics unless children follow their parents.
    pub fn push(&mut self, tree: &[TreeNode]) {
        assert!(is_tree(tree, usize::MAX), "not a tree");
        self.roots.push(self.nodes.len() as u32);
        self.nodes.extend_from_slice(tree);
    }

    /// Returns the number of trees.
    pub fn len(&self) -> usize {
        self.roots.len()
    }

    /// Returns whether there is no tree.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// Returns the score of a row of columns.
    pub fn score(&self, row: &[f32]) -> f64 {
        self.roots.iter().fold(f64::from(self.base), |sum, &root| {
            let mut at = 0;
            loop {
                match self.nodes[root as usize + at] {
                    TreeNode::Leaf { value } => return sum + f64::from(value),
                    TreeNode::Split { column, threshold, missing_left, left } => {
                        let number = row[column as usize];
                        let is_left = if number.is_nan() { missing_left } else { number < threshold };
                        at = left as usize + usize::from(!is_left);
                    }
                }
            }
        })
    }

    /// Returns the trees as words of a file: base, number of trees, their first nodes, and three words per node.
    pub fn to_words(&self) -> Vec<u32> {
        let mut words = Vec::with_capacity(HEADER + self.roots.len() + WORDS * self.nodes.len());
        words.extend([self.base.to_bits(), self.roots.len() as u32]);
        words.extend(&self.roots);
        words.extend(self.nodes.iter().flat_map(|node| match *node {
            TreeNode::Leaf { value } => [0, value.to_bits(), 0],
            TreeNode::Split { column, threshold, missing_left, left } => {
                [column << 1 | u32::from(missing_left), threshold.to_bits(), left]
            }
        }));
        words
    }

    /// Restores trees over rows of `columns` numbers from words of a file; `None` unless they are complete and valid.
    pub fn from_words(words: &[u32], columns: usize) -> Option<Self> {
        let &[base, count, ref rest @ ..] = words else { return None };
        let (roots, rest) = rest.split_at_checked(count as usize)?;
        let (triples, []) = rest.as_chunks::<WORDS>() else { return None };
        let node = |&[split, number, left]: &[u32; WORDS]| match left {
            0 => TreeNode::Leaf { value: f32::from_bits(number) },
            _ => TreeNode::Split {
                column: split >> 1,
                threshold: f32::from_bits(number),
                missing_left: split & 1 == 1,
                left,
            },
        };
        let nodes: Vec<TreeNode> = triples.iter().map(node).collect();
        let mut trees = Self::new(f32::from_bits(base));
        if !trees.base.is_finite()
            || roots.first().is_some_and(|&root| root != 0)
            || roots.is_empty() != nodes.is_empty()
        {
            return None;
        }
        for (k, &root) in roots.iter().enumerate() {
            let end = roots.get(k + 1).map_or(nodes.len(), |&next| next as usize);
            let tree = nodes.get(root as usize..end)?;
            if !is_tree(tree, columns) {
                return None;
            }
        }
        trees.roots = roots.to_vec();
        trees.nodes = nodes;
        Some(trees)
    }
}

/// Returns the scores of all nodes of a graph by several sums of trees, a row of scores per node.
///
/// ```
/// use supergat_core::{Direction, Features, Graph};
/// use supergat_numerics::boosted_trees::{BoostedTrees, scores};
/// use supergat_numerics::node_columns::{NodeColumns, dense_rows};
/// let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
/// let features = Features::dense(2, 1, vec![1.0f32, 2.0])?;
/// let columns = NodeColumns::new(&graph, &[], 1, dense_rows(&features));
/// let trees = [BoostedTrees::new(0.5), BoostedTrees::new(-1.0)];
/// assert_eq!(scores(&columns, &trees), [0.5, -1.0, 0.5, -1.0]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn scores(columns: &NodeColumns<'_>, trees: &[BoostedTrees]) -> Vec<f64> {
    let mut scores = vec![0.0; columns.nodes() * trees.len()];
    let row = || vec![0.0; columns.count()];
    scores.par_chunks_exact_mut(trees.len().max(1)).enumerate().with_min_len(64).for_each_init(
        row,
        |row, (node, scores)| {
            columns.row(node, row);
            scores.iter_mut().zip(trees).for_each(|(score, trees)| *score = trees.score(row));
        },
    );
    scores
}

/// Returns whether every path of a tree ends, and all numbers are usable with rows of `columns` numbers.
fn is_tree(tree: &[TreeNode], columns: usize) -> bool {
    let is_node = |(at, node): (usize, &TreeNode)| match *node {
        TreeNode::Leaf { value } => value.is_finite(),
        TreeNode::Split { column, threshold, left, .. } => {
            // A path that only moves to later nodes ends.
            (column as usize) < columns
                && column < u32::MAX >> 1
                && !threshold.is_nan()
                && left as usize > at
                && (left as usize) < tree.len() - 1
        }
    };
    !tree.is_empty() && tree.iter().enumerate().all(is_node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trees() -> BoostedTrees {
        let split = |column, left| TreeNode::Split { column, threshold: 0.0, missing_left: false, left };
        let leaf = |value| TreeNode::Leaf { value };
        let mut trees = BoostedTrees::new(1.0);
        trees.push(&[split(0, 1), split(2, 3), leaf(8.0), leaf(2.0), leaf(4.0)]);
        trees.push(&[leaf(0.5)]);
        trees
    }

    #[test]
    fn rows_follow_their_path() {
        let trees = trees();
        for (row, score) in [
            ([-1.0, 0.0, -1.0], 3.5),
            ([-1.0, 0.0, 1.0], 5.5),
            ([1.0, 0.0, 0.0], 9.5),
            ([f32::NAN, 0.0, 0.0], 9.5),
            ([f32::NEG_INFINITY, 0.0, f32::NAN], 5.5),
        ] {
            assert_eq!(trees.score(&row), score, "{row:?}");
        }
        assert_eq!((trees.len(), trees.is_empty(), BoostedTrees::new(2.0).score(&[])), (2, false, 2.0));
    }

    #[test]
    fn words_are_restored_with_equal_bits() {
        for trees in [trees(), BoostedTrees::new(-0.1)] {
            let words = trees.to_words();
            let restored = BoostedTrees::from_words(&words, 3).unwrap();
            assert_eq!((restored.to_words(), &restored), (words, &trees));
        }
    }

    /// Every single damaged word is either refused, or a tree whose paths end.
    #[test]
    fn damaged_words_are_refused_or_harmless() {
        let words = trees().to_words();
        assert!((0..words.len()).all(|length| BoostedTrees::from_words(&words[..length], 3).is_none()));
        let mut refused = 0;
        for place in 0..words.len() {
            for value in [0, 1, 2, 3, 4, 5, 6, 7, u32::MAX - 1, u32::MAX, f32::NAN.to_bits(), f32::INFINITY.to_bits()] {
                let mut damaged = words.clone();
                damaged[place] = value;
                match BoostedTrees::from_words(&damaged, 3) {
                    Some(trees) => assert!(trees.score(&[-1.0, f32::NAN, 1.0]).is_finite()),
                    None => refused += 1,
                }
            }
        }
        assert!(refused > 100, "{refused}");
    }
}
