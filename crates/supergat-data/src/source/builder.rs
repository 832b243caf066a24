//! Builds a dataset from arrays in memory.

use crate::dataset::split;
use crate::dataset::split::Split;
use crate::dataset::{Dataset, MAX_CLASSES, graph_features, numbered};
use crate::error::{Error, Result};
use crate::options::{FeatureChoice, GivenFeatures, LoadOptions, NodeOrderChoice};
use crate::tables::LinkColumns;
use crate::words::{count, shown};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use supergat_core::{Direction, Duplicates, Example, Features, Graph, Labels, SparseMatrix};

/// Builder of a [`Dataset`] with one graph, made by [`Dataset::builder`].
///
/// Features are required unless they are [computed](Self::compute_features). Labels, or the names of the
/// classes, are required too. Without a [split](Self::split), the labelled nodes are divided at random: 60 % of
/// every class for training, 20 % for validation, 20 % for test. All arrays are checked by
/// [`build`](Self::build).
///
/// ```
/// use supergat_data::Dataset;
///
/// let dataset = Dataset::builder(4)
///     .edges(&[(0, 1), (1, 2), (2, 3)])
///     .dense_features(&[1.0, 0.0, 0.5, 0.5, 0.0, 1.0, 0.25, 0.75], 2)
///     .labels(&[Some(0), Some(0), Some(1), None])
///     .class_names(["cat", "dog"])
///     .split(&[0, 2], &[1], &[])
///     .build()?;
/// assert_eq!((dataset.nodes(), dataset.features(), dataset.classes()), (4, 2, 2));
/// // Every link in both directions, and a self-loop per node.
/// assert_eq!(dataset.examples[0].graph.edges(), 2 * 3 + 4);
/// # Ok::<(), supergat_data::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "call build to get the dataset"]
pub struct DatasetBuilder {
    name: String,
    nodes: usize,
    edges: Vec<(u32, u32)>,
    /// Lengths of the first pair of edge lists that differ.
    unequal_lists: Option<[usize; 2]>,
    direction: Direction,
    /// Weights and features of the links.
    columns: LinkColumns,
    duplicates: Duplicates,
    features: FeatureArrays,
    computed: FeatureChoice,
    labels: LabelArrays,
    class_names: Option<Vec<String>>,
    node_ids: Option<Vec<String>>,
    split: Option<Split>,
    split_seed: u64,
    node_order: NodeOrderChoice,
}

#[derive(Debug, Clone, Default)]
enum FeatureArrays {
    #[default]
    Missing,
    Dense {
        columns: usize,
        values: Vec<f32>,
    },
    Csr {
        columns: usize,
        offsets: Vec<u64>,
        column_of: Vec<u32>,
        values: Vec<f32>,
    },
}

#[derive(Debug, Clone, Default)]
enum LabelArrays {
    #[default]
    Missing,
    Single(Vec<Option<u32>>),
    Multi {
        classes: usize,
        of: Vec<u8>,
    },
}

impl Dataset {
    /// Starts a dataset of one graph with `nodes` nodes from arrays in memory.
    pub fn builder(nodes: usize) -> DatasetBuilder {
        DatasetBuilder {
            name: "arrays".into(),
            nodes,
            edges: Vec::new(),
            unequal_lists: None,
            direction: Direction::Undirected,
            columns: LinkColumns::default(),
            duplicates: Duplicates::default(),
            features: FeatureArrays::default(),
            computed: FeatureChoice::default(),
            labels: LabelArrays::default(),
            class_names: None,
            node_ids: None,
            split: None,
            split_seed: 0,
            node_order: NodeOrderChoice::default(),
        }
    }
}

impl DatasetBuilder {
    /// Adds links as pairs of source and target.
    pub fn edges(mut self, edges: &[(u32, u32)]) -> Self {
        self.edges.extend_from_slice(edges);
        self
    }

    /// Adds links as a list of sources and a list of targets of the same length.
    pub fn edge_lists(mut self, sources: &[u32], targets: &[u32]) -> Self {
        if sources.len() != targets.len() {
            self.unequal_lists.get_or_insert([sources.len(), targets.len()]);
        }
        self.edges.extend(sources.iter().copied().zip(targets.iter().copied()));
        self
    }

    /// Sets whether links are directed; the default is undirected.
    pub fn directed(mut self, directed: bool) -> Self {
        self.direction = if directed { Direction::Directed } else { Direction::Undirected };
        self
    }

    /// Sets the weight of each link. A weight of 0 removes the link.
    ///
    /// ```
    /// use supergat_data::Dataset;
    /// let dataset = Dataset::builder(3)
    ///     .edges(&[(0, 1), (1, 2), (0, 2)])
    ///     .edge_weights(&[2.0, 0.5, 0.0])
    ///     .edge_features(&[1.0, 0.0, 0.0, 1.0, 0.0, 0.0], 2)
    ///     .dense_features(&[1.0, 2.0, 3.0], 1)
    ///     .class_names(["cat", "dog"])
    ///     .build()?;
    /// let example = &dataset.examples[0];
    /// assert_eq!((example.graph.edges(), dataset.edge_features()), (2 * 2 + 3, 2));
    /// let edge = example.graph.position(1, 0).unwrap();
    /// assert_eq!(example.edges.as_ref().unwrap().weights()[edge], 2.0);
    /// # Ok::<(), supergat_data::Error>(())
    /// ```
    pub fn edge_weights(mut self, weights: &[f64]) -> Self {
        self.columns.weights = Some(weights.to_vec());
        self
    }

    /// Sets features of the links: `columns` values for each, row by row.
    pub fn edge_features(mut self, values: &[f32], columns: usize) -> Self {
        (self.columns.width, self.columns.features) = (columns, values.to_vec());
        self
    }

    /// Sets what is done with links that are listed several times; the default is [`Duplicates::Sum`].
    pub fn duplicates(mut self, duplicates: Duplicates) -> Self {
        self.duplicates = duplicates;
        self
    }

    /// Sets dense features: `nodes * columns` values, row by row.
    pub fn dense_features(mut self, values: &[f32], columns: usize) -> Self {
        self.features = FeatureArrays::Dense { columns, values: values.to_vec() };
        self
    }

    /// Sets sparse features in compressed rows. The entries of node `i` are at `offsets[i]..offsets[i + 1]`,
    /// with strictly ascending columns.
    pub fn csr_features(mut self, columns: usize, offsets: &[u64], column_of: &[u32], values: &[f32]) -> Self {
        self.features = FeatureArrays::Csr {
            columns,
            offsets: offsets.to_vec(),
            column_of: column_of.to_vec(),
            values: values.to_vec(),
        };
        self
    }

    /// Computes features from the graph, instead of given ones or in addition to them.
    pub fn compute_features(mut self, choice: FeatureChoice) -> Self {
        self.computed = choice;
        self
    }

    /// Sets the class of each node; `None` if it is not known. The number of classes is that of the
    /// [class names](Self::class_names), or one more than the largest class.
    pub fn labels(mut self, labels: &[Option<u32>]) -> Self {
        self.labels = LabelArrays::Single(labels.to_vec());
        self
    }

    /// Sets any number of classes per node: `nodes * classes` values of 0 or 1, row by row.
    pub fn multi_labels(mut self, classes: usize, labels: &[u8]) -> Self {
        self.labels = LabelArrays::Multi { classes, of: labels.to_vec() };
        self
    }

    /// Sets the names of the classes; the default is `0`, `1`, ...
    pub fn class_names(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.class_names = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets distinct names of the nodes; the default is `0`, `1`, ...
    pub fn node_ids(mut self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.node_ids = Some(ids.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the training, validation and test nodes, which must have labels.
    pub fn split(mut self, train: &[u32], validation: &[u32], test: &[u32]) -> Self {
        self.split = Some([train, validation, test].map(<[u32]>::to_vec));
        self
    }

    /// Sets the seed of the random split; the default is 0. It has no effect if [`split`](Self::split) is
    /// called.
    pub fn split_seed(mut self, seed: u64) -> Self {
        self.split_seed = seed;
        self
    }

    /// Sets the order of the nodes inside the engine; the default is [`NodeOrderChoice::Auto`].
    pub fn node_order(mut self, choice: NodeOrderChoice) -> Self {
        self.node_order = choice;
        self
    }

    /// Sets the name of the dataset; the default is `arrays`.
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }

    /// Checks all arrays and builds the dataset.
    pub fn build(mut self) -> Result<Dataset> {
        if let Some([sources, targets]) = self.unequal_lists {
            return Err(Error::array("targets of edges", format!("{sources}, one per source"), targets));
        }
        self.check_edge_arrays()?;
        let listed_links = self.edges.len() as u64;
        self.columns.remove_unweighted(&mut self.edges);
        let name = PathBuf::from(&self.name);
        let core = Error::core(&name);
        let graph = Graph::from_edges(self.nodes, &self.edges, self.direction).map_err(core)?;
        let attributes = self.columns.attributes(&graph, self.duplicates).map_err(core)?;
        let features = std::mem::take(&mut self.features);
        let features = self.checked_features(&name, features)?;
        let (labels, known) = self.checked_labels()?;
        let class_names = self.class_names.take().unwrap_or_else(|| numbered(labels.classes()));
        self.check_node_ids()?;
        let mut notes = Vec::new();
        let split = match self.split.take() {
            Some(split) => self.checked_split(split, &known)?,
            None if !known.contains(&true) => Split::default(),
            None => {
                let split = split::by_class(&labels, &known, &class_names, self.split_seed, &mut notes);
                // The first note names an option of the command line.
                notes[0] = format!(
                    "no split given: 60 % for training, 20 % for validation, 20 % for test, drawn with seed {}",
                    self.split_seed
                );
                split
            }
        };
        let mut example = Example::new(graph, features, labels, split).map_err(core)?;
        if let Some(attributes) = attributes {
            example = example.with_edges(attributes).map_err(core)?;
        }
        let mut dataset = Dataset {
            examples: vec![example],
            name: self.name.clone(),
            class_names,
            node_ids: self.node_ids.map(|ids| vec![ids]),
            listed_links,
            notes,
            ..Dataset::default()
        };
        self.computed.apply(&self.name, &mut dataset)?;
        dataset.order_nodes(&LoadOptions { node_order: self.node_order, ..LoadOptions::default() });
        Ok(dataset)
    }

    fn check_edge_arrays(&self) -> Result<()> {
        let (links, LinkColumns { weights, width, features, .. }) = (self.edges.len(), &self.columns);
        if let Some(weights) = weights.as_ref().filter(|weights| weights.len() != links) {
            return Err(Error::array("weights of links", format!("{links}, one per link"), weights.len()));
        }
        if links.checked_mul(*width) != Some(features.len()) {
            let expected = format!("{width} for each of {}", count(links, "link"));
            return Err(Error::array("features of links", expected, features.len()));
        }
        let is_weight = |weight: &f64| weight.is_finite() && *weight >= 0.0;
        match weights.iter().flatten().enumerate().find(|(_, weight)| !is_weight(weight)) {
            Some((link, weight)) => {
                Err(Error::array(format!("weight of link {link}"), "a number that is not negative", weight))
            }
            None => Ok(()),
        }
    }

    fn checked_features(&self, name: &Path, arrays: FeatureArrays) -> Result<Features<f32>> {
        let core = Error::core(name);
        let features = match arrays {
            FeatureArrays::Missing if self.computed.given() != GivenFeatures::Required => {
                return Ok(graph_features::none(self.nodes));
            }
            FeatureArrays::Missing => {
                let expected = format!(
                    "dense_features or csr_features with a row for each of the {} nodes, or compute_features",
                    self.nodes
                );
                return Err(Error::array("features", expected, "none"));
            }
            FeatureArrays::Dense { columns, values } => Features::dense(self.nodes, columns, values).map_err(core)?,
            FeatureArrays::Csr { columns, offsets, column_of, values } => {
                if offsets.len() != self.nodes + 1 {
                    let expected = format!("{}, one more than nodes", self.nodes + 1);
                    return Err(Error::array("row offsets of features", expected, offsets.len()));
                }
                Features::Sparse(SparseMatrix::new(columns, offsets, column_of, values).map_err(core)?)
            }
        };
        match features.columns() {
            0 => Err(Error::array("columns of features", "at least 1", 0)),
            _ => Ok(features),
        }
    }

    /// Returns the labels, and for each node whether they are known.
    fn checked_labels(&mut self) -> Result<(Labels, Vec<bool>)> {
        let named = self.class_names.as_ref().map(Vec::len);
        match std::mem::take(&mut self.labels) {
            LabelArrays::Multi { classes, of } => {
                if named.is_some_and(|named| named != classes) {
                    let expected = format!("{classes}, one per class of the labels");
                    return Err(Error::array("class names", expected, named.unwrap_or(0)));
                }
                if classes == 0 || self.nodes.checked_mul(classes) != Some(of.len()) {
                    let expected = format!("0 or 1 for each of {} nodes and at least one class", self.nodes);
                    return Err(Error::array("labels", expected, format!("{} values for {classes} classes", of.len())));
                }
                if let Some(at) = of.iter().position(|has| *has > 1) {
                    let what = format!("label of node {} and class {}", at / classes, at % classes);
                    return Err(Error::array(what, "0 or 1", of[at]));
                }
                Ok((Labels::Multi { classes, of }, vec![true; self.nodes]))
            }
            LabelArrays::Single(labels) => self.single_labels(&labels, named),
            LabelArrays::Missing => self.single_labels(&vec![None; self.nodes], named),
        }
    }

    fn single_labels(&self, labels: &[Option<u32>], named: Option<usize>) -> Result<(Labels, Vec<bool>)> {
        if labels.len() != self.nodes {
            return Err(Error::array("labels", format!("{}, one per node", self.nodes), labels.len()));
        }
        let end = named.unwrap_or(MAX_CLASSES as usize);
        if let Some(node) = labels.iter().position(|label| label.is_some_and(|class| class as usize >= end)) {
            let found = labels[node].unwrap_or_default();
            return Err(Error::array(format!("label of node {node}"), format!("a class below {end}"), found));
        }
        let largest = labels.iter().flatten().max();
        let classes = named.unwrap_or_else(|| largest.map_or(0, |class| *class as usize + 1));
        if classes == 0 {
            return Err(Error::array("classes", "the labels of some nodes, or class_names", "none"));
        }
        let of = labels.iter().map(|label| label.unwrap_or(Labels::UNKNOWN)).collect();
        Ok((Labels::Single { classes, of }, labels.iter().map(Option::is_some).collect()))
    }

    fn check_node_ids(&self) -> Result<()> {
        let Some(ids) = &self.node_ids else { return Ok(()) };
        if ids.len() != self.nodes {
            return Err(Error::array("ids of nodes", format!("{}, one per node", self.nodes), ids.len()));
        }
        let mut first = HashMap::with_capacity(ids.len());
        for (node, id) in ids.iter().enumerate() {
            if let Some(other) = first.insert(id, node) {
                let found = format!("`{}` again, as of node {other}", shown(id));
                return Err(Error::array(format!("id of node {node}"), "distinct ids", found));
            }
        }
        Ok(())
    }

    fn checked_split(&self, split: Split, known: &[bool]) -> Result<Split> {
        for (name, list) in ["training", "validation", "test"].into_iter().zip(&split) {
            if let Some(at) = list.iter().position(|node| known.get(*node as usize) != Some(&true)) {
                let what = format!("{name} node at position {at}");
                return Err(Error::array(what, format!("a labelled node below {}", self.nodes), list[at]));
            }
        }
        Ok(split)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three nodes with one feature each.
    fn three() -> DatasetBuilder {
        Dataset::builder(3).edges(&[(0, 1)]).dense_features(&[1.0, 2.0, 3.0], 1)
    }

    fn labelled() -> DatasetBuilder {
        three().labels(&[Some(0), Some(1), None])
    }

    #[test]
    fn builds_from_lists_and_sparse_features() {
        let dataset = Dataset::builder(3)
            .name("mine")
            .edge_lists(&[0, 1], &[1, 2])
            .directed(true)
            .csr_features(4, &[0, 1, 1, 3], &[3, 0, 2], &[1.0, 2.0, 3.0])
            .multi_labels(2, &[1, 0, 1, 1, 0, 0])
            .node_ids(["a", "b", "c"])
            .split(&[0], &[1], &[2])
            .build()
            .unwrap();
        let example = &dataset.examples[0];
        assert_eq!((dataset.name.as_str(), dataset.features(), dataset.listed_links), ("mine", 4, 2));
        assert_eq!((dataset.node_id(0, 2).as_ref(), dataset.is_multi_label()), ("c", true));
        assert_eq!((example.graph.direction(), example.graph.edges()), (Direction::Directed, 2 + 3));
        assert_eq!([&example.train, &example.validation, &example.test], [&[0], &[1], &[2]]);
    }

    #[test]
    fn classes_follow_the_labels_or_the_names() {
        let dataset = labelled().build().unwrap();
        assert_eq!((dataset.name.as_str(), &dataset.class_names[..]), ("arrays", &["0".to_owned(), "1".into()][..]));
        assert_eq!(labelled().class_names(["x", "y", "z"]).build().unwrap().classes(), 3);
    }

    #[test]
    fn builds_without_labels_for_prediction() {
        for builder in [three(), three().labels(&[None; 3])] {
            let dataset = builder.class_names(["x", "y"]).build().unwrap();
            let example = &dataset.examples[0];
            assert_eq!(
                (dataset.classes(), example.train.len() + example.validation.len() + example.test.len()),
                (2, 0)
            );
        }
    }

    #[test]
    fn draws_the_split_of_the_tables_reader() {
        let labels: Vec<Option<u32>> = (0..40).map(|node| (node != 7).then_some(node % 2)).collect();
        let build = |seed| {
            let values: Vec<f32> = (0..40).map(|node| node as f32).collect();
            let builder = Dataset::builder(40).edges(&[(0, 1)]).dense_features(&values, 1).labels(&labels);
            let dataset = builder.split_seed(seed).build().unwrap();
            let example = &dataset.examples[0];
            [example.train.clone(), example.validation.clone(), example.test.clone()]
        };
        let folder = tempfile::tempdir().unwrap();
        let mut nodes = "id,label,x\n".to_owned();
        for (node, label) in labels.iter().enumerate() {
            nodes += &format!("{node},{},{node}.5\n", label.map_or(String::new(), |class| class.to_string()));
        }
        std::fs::write(folder.path().join("nodes.csv"), nodes).unwrap();
        std::fs::write(folder.path().join("edges.csv"), "source,target\n0,1\n").unwrap();
        for seed in [0, 5] {
            let options = crate::TableOptions { split_seed: seed, ..Default::default() };
            let example = crate::tables::read(folder.path(), &options).unwrap().examples.remove(0);
            assert_eq!(build(seed), [example.train, example.validation, example.test]);
        }
        assert_ne!(build(0), build(5));
    }

    #[test]
    fn errors_say_what_was_expected_and_found() {
        let message = |builder: DatasetBuilder| builder.build().unwrap_err().to_string();
        for (builder, expected) in [
            (
                Dataset::builder(3).labels(&[Some(0); 3]),
                "features: expected dense_features or csr_features with a row for each of the 3 nodes, or compute_features, found none",
            ),
            (labelled().edge_lists(&[0, 1], &[1]), "targets of edges: expected 2, one per source, found 1"),
            (labelled().edges(&[(0, 3)]), "arrays: edge 1 joins 0 -> 3, but the graph has only 3 nodes (ids 0 to 2)"),
            (
                labelled().dense_features(&[1.0; 5], 2),
                "arrays: values of dense features (nodes * features): expected 6, found 5",
            ),
            (labelled().dense_features(&[], 0), "columns of features: expected at least 1, found 0"),
            (
                labelled().csr_features(2, &[0, 0], &[], &[]),
                "row offsets of features: expected 4, one more than nodes, found 2",
            ),
            (
                labelled().csr_features(2, &[0, 1, 1, 1], &[2], &[1.0]),
                "arrays: row of a sparse matrix at position 0: expected ascending columns below 2, found [2]",
            ),
            (
                labelled().dense_features(&[1.0, f32::NAN, 1.0], 1).name("mine"),
                "mine: feature value at position 1: expected a finite number, found NaN",
            ),
            (three().labels(&[Some(0)]), "labels: expected 3, one per node, found 1"),
            (three(), "classes: expected the labels of some nodes, or class_names, found none"),
            (three().class_names([""; 0]), "classes: expected the labels of some nodes, or class_names, found none"),
            (three().labels(&[Some(u32::MAX); 3]), "label of node 0: expected a class below 100000, found 4294967295"),
            (labelled().class_names(["x"]), "label of node 1: expected a class below 1, found 1"),
            (
                three().multi_labels(2, &[1; 5]),
                "labels: expected 0 or 1 for each of 3 nodes and at least one class, found 5 values for 2 classes",
            ),
            (three().multi_labels(1, &[0, 2, 0]), "label of node 1 and class 0: expected 0 or 1, found 2"),
            (
                three().multi_labels(2, &[0; 6]).class_names(["x"]),
                "class names: expected 2, one per class of the labels, found 1",
            ),
            (labelled().node_ids(["a", "b"]), "ids of nodes: expected 3, one per node, found 2"),
            (
                labelled().node_ids(["a", "b", "a"]),
                "id of node 2: expected distinct ids, found `a` again, as of node 0",
            ),
            (
                labelled().split(&[0], &[1, 2], &[]),
                "validation node at position 1: expected a labelled node below 3, found 2",
            ),
            (
                labelled().split(&[3], &[], &[]),
                "training node at position 0: expected a labelled node below 3, found 3",
            ),
        ] {
            assert_eq!(message(builder), expected);
        }
    }
}
