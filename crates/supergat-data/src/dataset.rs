//! What every reader and generator returns.

use crate::schema::Schema;
use std::borrow::Cow;
use supergat_core::Example;

/// A dataset: one graph with three lists of nodes, or many graphs that each belong to one list.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// Its name, such as `cora`; presets are looked up by it.
    pub name: String,
    /// The graphs with features, labels and splits.
    pub examples: Vec<Example<f32>>,
    /// The names of the classes: `0`, `1`, ... when the files name none.
    pub class_names: Vec<String>,
    /// For each example the names of its nodes; `None`: they are called `0`, `1`, ...
    pub node_ids: Option<Vec<Vec<String>>>,
    /// Links as the publisher counts them, before duplicates collapse.
    pub listed_links: u64,
    /// Sentences on what the reader understood, counted and left out.
    pub notes: Vec<String>,
    /// The columns that the features were made from, where they come from a table.
    pub schema: Option<Schema>,
}

impl Dataset {
    /// Number of nodes over all examples.
    pub fn nodes(&self) -> usize {
        self.examples.iter().map(|example| example.graph.nodes()).sum()
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.class_names.len()
    }

    /// Number of features per node.
    pub fn features(&self) -> usize {
        self.examples.first().map_or(0, |example| example.features.columns())
    }

    /// Whether a node may have several classes at once.
    pub fn is_multi_label(&self) -> bool {
        self.examples.first().is_some_and(|example| example.labels.is_multi())
    }

    /// The same graph with another random split, where random splits can be drawn: one graph, one class per node.
    pub fn redrawn(&self, seed: u64) -> Option<Self> {
        let [example] = &self.examples[..] else { return None };
        let [train, validation, test] = crate::split::drawn(&example.labels, seed)?;
        let example = Example { train, validation, test, ..example.clone() };
        Some(Self { examples: vec![example], ..self.clone() })
    }

    /// What a person calls a node.
    pub fn node_id(&self, example: usize, node: usize) -> Cow<'_, str> {
        let named = self.node_ids.as_ref().and_then(|all| all.get(example)?.get(node));
        named.map_or_else(|| Cow::Owned(node.to_string()), |id| Cow::Borrowed(id.as_str()))
    }
}

/// `0`, `1`, ... for files that do not name their classes.
pub(crate) fn numbered(classes: usize) -> Vec<String> {
    (0..classes).map(|class| class.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::{Direction, Features, Graph, Labels};

    #[test]
    fn sizes_and_names() {
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
            node_ids: None,
            listed_links: 2,
            notes: Vec::new(),
            schema: None,
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
