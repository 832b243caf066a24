//! Datasets as readers, generators and [`crate::DatasetBuilder`] return them.

pub mod class_weight;
pub(crate) mod graph_features;
pub(crate) mod row_normalise;
pub(crate) mod rows;
mod shares;
pub(crate) mod split;

use crate::options::{Origin, SplitChoice};
use crate::schema::{LinkSchema, Schema};
use std::borrow::Cow;
use supergat_core::Example;
use supergat_core::example::ExampleShape;

/// Note on self-loops in the files, after their number, as in `2 links`.
pub(crate) const SELF_LOOPS: &str = "from a node to itself: replaced by the one self-loop that every node has";

/// Limit on class numbers: memory grows with the largest one, even if most classes are unused.
pub(crate) const MAX_CLASSES: i64 = 100_000;

/// A dataset: one graph with three lists of nodes, or many graphs that each belong to one list.
#[derive(Debug, Clone, Default)]
pub struct Dataset {
    /// Name such as `cora`, for people.
    pub name: String,
    /// Graphs with features, labels and splits.
    pub examples: Vec<Example<f32>>,
    /// Names of the classes; `0`, `1`, ... if the files contain none.
    pub class_names: Vec<String>,
    /// Names of the nodes of each example; `None` if they are called `0`, `1`, ...
    pub node_ids: Option<Vec<Vec<String>>>,
    /// Number of links as the publisher counts them, with duplicates.
    pub listed_links: u64,
    /// Sentences about what the reader recognised, counted and skipped.
    pub notes: Vec<String>,
    /// Columns from which the features were made, for tables.
    pub schema: Option<Schema>,
    /// Columns from which weights and features of links were made, for tables.
    pub link_schema: Option<LinkSchema>,
    /// Training, validation and test nodes of every split in the files, if there are several.
    pub splits: Vec<[Vec<u32>; 3]>,
    /// Source and options that it was read with; `None` for graphs made in memory.
    pub origin: Option<Origin>,
    /// Published dataset that this one is, whose published settings apply: recognised by the contents of its files
    /// ([`crate::registry::recognised`]), never by its name. `None` for all others.
    pub preset: Option<String>,
}

impl Dataset {
    /// Returns the number of nodes over all examples.
    pub fn nodes(&self) -> usize {
        self.examples.iter().map(|example| example.graph.nodes()).sum()
    }

    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.class_names.len()
    }

    /// Returns the number of features per node.
    pub fn features(&self) -> usize {
        self.examples.first().map_or(0, |example| example.features.columns())
    }

    /// Returns the number of features per link.
    pub fn edge_features(&self) -> usize {
        self.examples.first().map_or(0, |example| example.edge_features())
    }

    /// Returns whether a node may have several classes.
    pub fn is_multi_label(&self) -> bool {
        self.examples.first().is_some_and(|example| example.labels.is_multi())
    }

    /// Returns whether there are test nodes. Without any, no test metric is measured.
    pub fn has_test_nodes(&self) -> bool {
        self.examples.iter().any(|example| !example.test.is_empty())
    }

    /// Returns a copy with another random split, or `None` if there are several graphs or several classes per
    /// node.
    pub fn redrawn(&self, seed: u64) -> Option<Self> {
        let [example] = &self.examples[..] else { return None };
        let split = split::drawn(&example.labels, seed)?;
        Some(self.with_split(example, split, SplitChoice::Random { seed }))
    }

    /// Returns a copy with another of the splits in the files, or `None` if there is no such split.
    pub fn numbered(&self, number: usize) -> Option<Self> {
        let [example] = &self.examples[..] else { return None };
        Some(self.with_split(example, self.splits.get(number)?.clone(), SplitChoice::Numbered(number)))
    }

    fn with_split(&self, example: &Example<f32>, nodes: [Vec<u32>; 3], split: SplitChoice) -> Self {
        let [train, validation, test] = nodes;
        let example = Example { train, validation, test, ..example.clone() };
        let origin = self.origin.clone().map(|origin| Origin { split, ..origin });
        Self { examples: vec![example], origin, ..self.clone() }
    }

    /// Returns the name of a node.
    pub fn node_id(&self, example: usize, node: usize) -> Cow<'_, str> {
        let named = self.node_ids.as_ref().and_then(|all| all.get(example)?.get(node));
        named.map_or_else(|| Cow::Owned(node.to_string()), |id| Cow::Borrowed(id.as_str()))
    }
}

/// Returns the class names `0`, `1`, ...
pub(crate) fn numbered(classes: usize) -> Vec<String> {
    (0..classes).map(|class| class.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::{Direction, Features, Graph, Labels};

    #[test]
    fn reports_sizes_and_names() {
        let example = Example::new(
            Graph::from_edges(2, &[(0, 1)], Direction::Undirected).unwrap(),
            Features::dense(2, 3, vec![1.0f32; 6]).unwrap(),
            Labels::Single { classes: 2, of: vec![0, 1] },
            [vec![0], vec![], vec![1]],
        )
        .unwrap();
        let mut dataset = Dataset {
            name: "pair".into(),
            examples: vec![example.clone(), example],
            class_names: numbered(2),
            listed_links: 2,
            ..Dataset::default()
        };
        assert_eq!((dataset.nodes(), dataset.features(), dataset.classes()), (4, 3, 2));
        assert_eq!(dataset.class_names, ["0", "1"]);
        assert!(!dataset.is_multi_label());
        assert_eq!(dataset.node_id(0, 1), "1");
        dataset.node_ids = Some(vec![vec!["a".into(), "b".into()]]);
        assert_eq!(dataset.node_id(0, 1), "b");
        assert_eq!(dataset.node_id(1, 1), "1");
    }
}
