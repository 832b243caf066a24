//! A training example: graph, features, labels and splits.

use crate::edge_attributes::EdgeAttributes;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::graph::Graph;
use crate::labels::Labels;
use crate::order::NodeOrder;
use crate::real::Real;
use std::fmt::Debug;
use std::sync::Arc;

/// Place of a node that is not a training node.
pub const NO_PLACE: u32 = u32::MAX;

/// Sizes of an example that networks and training depend on, wherever its rows are stored.
///
/// [`Example`] has an example of use.
pub trait ExampleShape: Debug + Clone + Send + Sync + 'static {
    /// Returns the number of nodes whose rows are stored here.
    fn nodes(&self) -> usize;
    /// Returns the number of edges that have a place in lists of edges here, self-loops included.
    fn edges(&self) -> usize;
    /// Returns the number of features per node.
    fn features(&self) -> usize;
    /// Returns the number of features per edge.
    fn edge_features(&self) -> usize {
        0
    }
    /// Returns the number of bytes of a dropout mask of the features.
    fn feature_mask_bytes(&self) -> usize;
    /// Returns the number of classes, and whether a node may have several of them.
    fn classes(&self) -> (usize, bool);
    /// Returns the numbers of training, validation and test nodes of the whole example.
    fn split_sizes(&self) -> [usize; 3];
    /// Returns the example as a device computes with it, if it has another order of the nodes inside the engine than
    /// the given one.
    fn internal(&self) -> Result<Option<Self>> {
        Ok(None)
    }
    /// Returns the order of the nodes inside the engine, with the graph in the given order, if they differ.
    fn order(&self) -> Option<(&NodeOrder, &Graph)> {
        None
    }
}

impl<T: Real> ExampleShape for Example<T> {
    fn nodes(&self) -> usize {
        self.graph.nodes()
    }

    fn edges(&self) -> usize {
        self.graph.edges()
    }

    fn features(&self) -> usize {
        self.features.columns()
    }

    fn edge_features(&self) -> usize {
        self.edges.as_ref().map_or(0, |edges| edges.width())
    }

    fn feature_mask_bytes(&self) -> usize {
        self.features.mask_bytes()
    }

    fn classes(&self) -> (usize, bool) {
        (self.labels.classes(), self.labels.is_multi())
    }

    fn split_sizes(&self) -> [usize; 3] {
        [&self.train, &self.validation, &self.test].map(Vec::len)
    }

    fn order(&self) -> Option<(&NodeOrder, &Graph)> {
        self.order.as_deref().filter(|order| !order.is_identity()).map(|order| (order, &*self.graph))
    }

    fn internal(&self) -> Result<Option<Self>> {
        let Some(order) = &self.order else { return Ok(None) };
        order.check(self.graph.nodes())?;
        if order.is_identity() {
            return Ok(None);
        }
        // Other examples in memory share the renumbered graph and features.
        let graph = order.share(&self.graph, || self.graph.renumbered_lists(order));
        let features = order.share(&self.features, || self.features.renumbered(order));
        let edges = self.edges.as_ref();
        let edges = edges.map(|edges| order.share(edges, || edges.renumbered(&self.graph, order)));
        Ok(Some(self.with_numbers_of(order, graph, features, edges)))
    }
}

/// One graph with features, labels and the split into training, validation and test nodes.
///
/// A transductive dataset is one example whose nodes are in different splits. An inductive dataset has many
/// examples, and all nodes of an example are in the same split.
///
/// ```
/// use supergat_core::example::ExampleShape;
/// use supergat_core::{Direction, Example, Features, Graph, Labels};
/// let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], Direction::Undirected)?;
/// let features = Features::dense(3, 1, vec![0.1f32, 0.2, 0.3])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 1, 1] };
/// let example = Example::new(graph.clone(), features, labels.clone(), [vec![0], vec![1], vec![2]])?;
/// assert_eq!(example.test, [2]);
/// assert_eq!((example.nodes(), example.edges(), example.split_sizes()), (3, 7, [1, 1, 1]));
/// let too_few = Features::dense(2, 1, vec![0.1f32, 0.2])?;
/// let error = Example::new(graph, too_few, labels, [vec![0], vec![1], vec![2]]).unwrap_err();
/// assert_eq!(error.to_string(), "rows of features (one per node): expected 3, found 2");
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Example<T> {
    /// Graph; shared, so that another split of the same graph needs no copy.
    pub graph: Arc<Graph>,
    /// Features of the nodes; shared like the graph.
    pub features: Arc<Features<T>>,
    /// Weights and features of the edges; shared like the graph.
    pub edges: Option<Arc<EdgeAttributes<T>>>,
    /// Labels of the nodes.
    pub labels: Labels,
    /// Weight of each class in the loss of training nodes; `None` if all are 1.
    pub class_weights: Option<Arc<[f64]>>,
    /// Training nodes.
    pub train: Vec<u32>,
    /// Validation nodes, which select the best epoch.
    pub validation: Vec<u32>,
    /// Test nodes, which are only used for reported scores.
    pub test: Vec<u32>,
    /// Order of the nodes inside the engine; `None` keeps the given one. All other fields, and all results, have
    /// the given numbers of nodes.
    pub order: Option<Arc<NodeOrder>>,
}

impl<T: Real> Example<T> {
    /// Validates that all parts have one row per node, that features are finite and that every node of a
    /// split has a label.
    pub fn new(
        graph: impl Into<Arc<Graph>>,
        features: impl Into<Arc<Features<T>>>,
        labels: Labels,
        splits: [Vec<u32>; 3],
    ) -> Result<Self> {
        let (graph, features) = (graph.into(), features.into());
        let nodes = graph.nodes();
        if features.rows() != nodes {
            return Err(Error::SizeMismatch {
                what: "rows of features (one per node)",
                expected: nodes,
                found: features.rows(),
            });
        }
        let label_entries = match &labels {
            Labels::Single { of, .. } => (nodes, of.len()),
            Labels::Multi { classes, of } => (nodes * classes, of.len()),
        };
        if label_entries.0 != label_entries.1 {
            return Err(Error::SizeMismatch {
                what: "labels (one row per node)",
                expected: label_entries.0,
                found: label_entries.1,
            });
        }
        if let Some(position) = features.values().iter().position(|v| !v.to_f64().is_finite()) {
            return Err(Error::OutOfRange {
                what: "feature value",
                position,
                expected: "a finite number".into(),
                found: features.values()[position].to_f64().to_string(),
            });
        }
        if let Labels::Single { classes, of } = &labels {
            let bad = of.iter().position(|&c| c as usize >= *classes && c != Labels::UNKNOWN);
            if let Some(position) = bad {
                return Err(Error::OutOfRange {
                    what: "label of a node",
                    position,
                    expected: format!("a class below {classes}"),
                    found: of[position].to_string(),
                });
            }
        }
        for list in &splits {
            for (position, &node) in list.iter().enumerate() {
                if node as usize >= nodes || !labels.is_known(node as usize) {
                    return Err(Error::OutOfRange {
                        what: "node of a split",
                        position,
                        expected: format!("a labelled node below {nodes}"),
                        found: node.to_string(),
                    });
                }
            }
        }
        let [train, validation, test] = splits;
        Ok(Self { graph, features, edges: None, labels, class_weights: None, train, validation, test, order: None })
    }

    /// Returns the number of bytes in memory.
    pub fn bytes(&self) -> u64 {
        let labels = match &self.labels {
            Labels::Single { of, .. } => size_of_val(&of[..]),
            Labels::Multi { of, .. } => of.len(),
        };
        let lists = 4 * (self.train.len() + self.validation.len() + self.test.len());
        let order = self.order.as_ref().map_or(0, |order| order.bytes());
        let edges = self.edges.as_ref().map_or(0, |edges| edges.bytes());
        self.graph.bytes() + self.features.bytes() + edges + (labels + lists) as u64 + order
    }

    /// Converts the features to another precision.
    pub fn cast<U: Real>(&self) -> Example<U> {
        Example {
            graph: Arc::clone(&self.graph),
            features: Arc::new(self.features.cast()),
            edges: self.edges.as_ref().map(|edges| Arc::new(edges.cast())),
            labels: self.labels.clone(),
            class_weights: self.class_weights.clone(),
            train: self.train.clone(),
            validation: self.validation.clone(),
            test: self.test.clone(),
            order: self.order.clone(),
        }
    }

    /// Returns the example with weights and features of its edges. Fails if they are those of another number of edges.
    pub fn with_edges(self, edges: impl Into<Arc<EdgeAttributes<T>>>) -> Result<Self> {
        let edges = edges.into();
        edges.check(self.graph.edges())?;
        Ok(Self { edges: Some(edges), ..self })
    }

    /// Returns the example with weights of its classes in the loss. Fails if a node may have several classes, and unless
    /// there is one finite weight per class that is not negative, above 0 for some training node.
    pub fn with_class_weights(self, weights: impl Into<Arc<[f64]>>) -> Result<Self> {
        let weights = weights.into();
        check_class_weights(&self.labels, &weights)?;
        let example = Self { class_weights: Some(weights), ..self };
        if !example.train.is_empty() && example.training_weight() <= 0.0 {
            return Err(no_training_weight());
        }
        Ok(example)
    }

    /// Returns the sum of the weights of all training nodes: their number without weights of classes.
    pub fn training_weight(&self) -> f64 {
        match (&self.class_weights, &self.labels) {
            (Some(weights), Labels::Single { of, .. }) => {
                self.train.iter().map(|&node| weights[of[node as usize] as usize]).sum()
            }
            _ => self.train.len() as f64,
        }
    }

    /// Returns the place of each node in the list of training nodes, [`NO_PLACE`] for other nodes.
    pub fn training_places(&self) -> Vec<u32> {
        let mut places = vec![NO_PLACE; self.graph.nodes()];
        self.train.iter().enumerate().for_each(|(place, &node)| places[node as usize] = place as u32);
        places
    }

    /// Returns the example with another order of the nodes inside the engine. Fails if the order is one of another
    /// number of nodes.
    pub fn with_order(self, order: impl Into<Arc<NodeOrder>>) -> Result<Self> {
        let order = order.into();
        order.check(self.graph.nodes())?;
        Ok(Self { order: Some(order), ..self })
    }

    /// Returns the example with the internal numbers of an order, which must be one of as many nodes. Splits are in
    /// ascending order. The order of the result is the given one of its nodes, with the same parts.
    ///
    /// ```
    /// use supergat_core::{Direction, Example, Features, Graph, Labels, NodeOrder};
    /// let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], Direction::Undirected)?;
    /// let features = Features::dense(3, 1, vec![0.1f32, 0.2, 0.3])?;
    /// let labels = Labels::Single { classes: 2, of: vec![0, 1, 1] };
    /// let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![2]])?;
    /// let renumbered = example.renumbered(&NodeOrder::new(vec![2, 0, 1], vec![0, 1, 3])?);
    /// assert_eq!(renumbered.features.values(), [0.3, 0.1, 0.2]);
    /// assert_eq!((&renumbered.train[..], &renumbered.test[..]), (&[1][..], &[0][..]));
    /// let order = renumbered.order.expect("an order");
    /// assert!(order.is_identity() && order.parts() == 2);
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn renumbered(&self, order: &NodeOrder) -> Self {
        let edges = self.edges.as_ref().map(|edges| edges.renumbered(&self.graph, order).into());
        let features = self.features.renumbered(order).into();
        self.with_numbers_of(order, self.graph.renumbered(order).into(), features, edges)
    }

    fn with_numbers_of(
        &self,
        order: &NodeOrder,
        graph: Arc<Graph>,
        features: Arc<Features<T>>,
        edges: Option<Arc<EdgeAttributes<T>>>,
    ) -> Self {
        Self {
            graph,
            features,
            edges,
            labels: self.labels.renumbered(order),
            class_weights: self.class_weights.clone(),
            train: order.list_to_internal(&self.train),
            validation: order.list_to_internal(&self.validation),
            test: order.list_to_internal(&self.test),
            order: Some(order.of_internal().into()),
        }
    }
}

/// Returns the weight of the nodes that count in the loss, if `shown` of `train` training nodes of total weight `total`
/// show their label as input: the expected weight of the others.
pub fn hidden_weight(total: f64, train: usize, shown: usize) -> f64 {
    if shown == 0 { total } else { total * (train - shown) as f64 / train as f64 }
}

fn refused_class_weight(value: String, reason: &str) -> Error {
    Error::Hyperparameter { name: "class_weight", value, reason: reason.into() }
}

/// Returns the error of weights that leave nothing to learn from.
pub fn no_training_weight() -> Error {
    refused_class_weight("0".into(), "no training node has a class with a positive weight")
}

/// Fails if a node may have several classes, and unless there is one finite weight per class that is not negative.
pub fn check_class_weights(labels: &Labels, weights: &[f64]) -> Result<()> {
    if labels.is_multi() {
        return Err(refused_class_weight("given".into(), "nodes may have several classes"));
    }
    if weights.len() != labels.classes() {
        let reason = format!("there are {} classes", labels.classes());
        return Err(refused_class_weight(format!("{} weights", weights.len()), &reason));
    }
    match weights.iter().find(|weight| !weight.is_finite() || **weight < 0.0) {
        Some(bad) => Err(refused_class_weight(bad.to_string(), "must be a number that is not negative")),
        None => Ok(()),
    }
}
