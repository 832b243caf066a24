//! Architecture: the shape of a network and its validation.

use crate::blocks::{Norm, Residual};
use crate::error::{Error, Result};
use crate::example::{Example, ExampleShape};
use crate::form::Form;
use crate::heads::HeadLayout;
use crate::hyperparameters::{Entries, HYPERPARAMETERS, NetworkSettings, SettingsGroup};
use crate::model_kind::{ModelKind, System};
use crate::real::Real;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

/// Hyperparameters of the network that systems with layers of their own read. They refuse others.
const OF_OWN_LAYERS: [&str; 3] = ["layers", "hidden", "dropout"];

/// Shape of a network. Prediction needs only the architecture and the parameters. Of a model that is not a network, it
/// is a record of its kind and its classes.
///
/// ```
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
/// let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 1] };
/// let features = Features::dense(2, 1, vec![1.0f32, 2.0])?;
/// let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
/// let architecture = Architecture::new("supergat-mx".parse().unwrap(), &example);
/// let network = architecture.network;
/// assert_eq!((network.layers, network.heads, network.hidden), (2, 8, 8));
/// assert_eq!((architecture.input_features, architecture.classes), (1, 2));
/// let error = architecture.with(|shape| shape.network.dropout = 1.0).check().unwrap_err();
/// assert_eq!(error.to_string(), "dropout = 1: must lie in [0, 1)");
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Architecture {
    /// Kind of network.
    pub model: ModelKind,
    /// Number of features per node.
    pub input_features: usize,
    /// Number of classes.
    pub classes: usize,
    /// Whether a node may have several classes.
    pub multi_label: bool,
    /// Number of features per edge that attention reads.
    #[serde(default)]
    pub edge_features: usize,
    /// Hyperparameters of the network.
    #[serde(flatten)]
    pub network: NetworkSettings,
}

impl Architecture {
    /// Creates the default shape for an example: two layers, eight heads of eight features (64 features
    /// without attention), dropout 0.6.
    pub fn new<T: Real>(model: ModelKind, example: &Example<T>) -> Self {
        Self {
            model,
            input_features: example.features.columns(),
            classes: example.labels.classes(),
            multi_label: example.labels.is_multi(),
            edge_features: if model.reads_edge_features() { example.edge_features() } else { 0 },
            network: NetworkSettings::new(|known| known.default(model)),
        }
    }

    /// Returns a copy after a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Validates every number. Fails if the engine does not train such models.
    pub fn check(&self) -> Result<()> {
        if !self.model.has_epochs() {
            let reason = "is not a network, so the engine cannot train it; choose another model".into();
            return Err(Error::Hyperparameter { name: "model", value: self.model.to_string(), reason });
        }
        self.network.check()?;
        between("input_features", self.input_features, 1 << 24)?;
        self.check_classes()?;
        if self.model.system().is_some_and(System::has_own_layers) {
            self.check_own_layers()?;
        }
        let network = &self.network;
        let refuse =
            |name, value: usize, reason: String| Err(Error::Hyperparameter { name, value: value.to_string(), reason });
        if self.edge_features > 0 && !self.model.reads_edge_features() {
            let reason = format!("{} does not read features of edges", self.model);
            return refuse("edge_features", self.edge_features, reason);
        }
        if network.edge_messages && self.edge_features == 0 {
            return refuse("edge_messages", 1, "edges have no features".into());
        }
        if network.label_reuse > 0 && !self.reads_labels() {
            let reason = "needs labels as input; set label_input, such as 0.5".into();
            return refuse("label_reuse", network.label_reuse, reason);
        }
        let refuse_choice =
            |name, value: &str, reason: String| Err(Error::Hyperparameter { name, value: value.into(), reason });
        if network.residual == Residual::Identity && !network.input_layer {
            let reason = "features have another width than hidden layers; use input_layer, or a linear residual".into();
            return refuse_choice("residual", "identity", reason);
        }
        if !network.self_loops && !self.model.is_attention() {
            let reason = format!("{} always has self-loops; use a gat or supergat model", self.model);
            return refuse_choice("self_loops", "false", reason);
        }
        if network.precision.is_half() && !self.model.gathers_half_rows() {
            let reason =
                format!("{} gathers rows of 32 bits only; use f32, or another model with attention", self.model);
            return refuse_choice("precision", network.precision.name(), reason);
        }
        if network.separate_ego && !self.model.is_attention() {
            let reason =
                format!("{} has no attention to separate a node from; use a gat or supergat model", self.model);
            return refuse_choice("separate_ego", "true", reason);
        }
        let hidden = network.hidden * network.heads;
        let widest = self.projections() * hidden.max(self.classes * network.output_heads);
        if self.input_width().max(hidden).saturating_mul(widest) >= 1 << 31 {
            return refuse("hidden", network.hidden, "a weight matrix would have more than 2^31 elements".into());
        }
        Ok(())
    }

    /// Validates the hyperparameters of a system with layers of its own.
    fn check_own_layers(&self) -> Result<()> {
        let refuse = |name, value: String, reason| Err(Error::Hyperparameter { name, value, reason });
        for known in HYPERPARAMETERS.iter().filter(|known| !OF_OWN_LAYERS.contains(&known.name)) {
            if let Some(value) = self.network.get(known.name).filter(|value| *value != known.default(self.model)) {
                let reason = format!("{} has no such option; use another model", self.model);
                return refuse(known.name, value.to_string(), reason);
            }
        }
        if self.model == ModelKind::System(System::Lds) && self.network.layers != 2 {
            let reason = "lds has 2 layers; use another model".into();
            return refuse("layers", self.network.layers.to_string(), reason);
        }
        Ok(())
    }

    /// Validates the number of classes, which every model has.
    pub(crate) fn check_classes(&self) -> Result<()> {
        between("classes", self.classes, 1 << 20)
    }

    /// Returns how many weights the model gives to each edge: one per attention layer and head, and one in systems that learn
    /// or choose edges. Other models have none.
    ///
    /// ```
    /// # use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
    /// # let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
    /// # let labels = Labels::Single { classes: 2, of: vec![0, 1] };
    /// # let features = Features::dense(2, 1, vec![1.0f32, 2.0])?;
    /// # let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
    /// let of = |name: &str| Architecture::new(name.parse().unwrap(), &example).weights_per_edge();
    /// assert_eq!((of("gat-go"), of("glcn"), of("gcn")), (8 + 8, 1, 0));
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn weights_per_edge(&self) -> usize {
        match self.model {
            ModelKind::System(System::Glcn | System::NeuralSparse) => 1,
            model if model.form().is_some() => {
                let NetworkSettings { layers, heads, output_heads, output_layer, .. } = self.network;
                (layers - 1) * heads + if output_layer { heads } else { output_heads }
            }
            _ => 0,
        }
    }

    /// Returns whether labels of training nodes are input.
    pub fn reads_labels(&self) -> bool {
        self.network.label_input > 0.0
    }

    /// Returns the number of rows of the first weight matrix: one per feature, and one per class if labels are input.
    pub fn input_width(&self) -> usize {
        self.input_features + if self.reads_labels() { self.classes } else { 0 }
    }

    /// Returns how many of `train` training nodes show their label in a training step. At least one does not.
    ///
    /// ```
    /// # use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
    /// # let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
    /// # let labels = Labels::Single { classes: 2, of: vec![0, 1] };
    /// # let features = Features::dense(2, 1, vec![1.0f32, 2.0])?;
    /// # let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
    /// let plain = Architecture::new("gat-go".parse().unwrap(), &example);
    /// let half = plain.with(|shape| shape.network.label_input = 0.5);
    /// assert_eq!((half.shown_labels(140), half.shown_labels(1), plain.shown_labels(140)), (70, 0, 0));
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn shown_labels(&self, train: usize) -> usize {
        ((self.network.label_input * train as f64).round() as usize).min(train.saturating_sub(1))
    }

    /// Returns the number of projections of a layer's input.
    fn projections(&self) -> usize {
        self.model.form().map_or(1, Form::projections)
    }

    /// Returns the number of bytes of all parameters in training, with gradients, optimiser state and a copy
    /// of the best epoch. Padding is included.
    pub fn parameter_bytes<T: Real>(&self) -> u64 {
        let NetworkSettings { residual, norm, input_layer, output_layer, separate_ego, .. } = self.network;
        let NetworkSettings { layers, heads, hidden, output_heads, edge_messages, .. } = self.network;
        let wide = HeadLayout::new(heads, hidden).stride() as u64;
        let last = HeadLayout::new(output_heads, self.classes).stride() as u64;
        let mut weights = 0;
        let mut rows = self.input_width() as u64;
        if input_layer {
            weights += (rows + 1) * wide;
            rows = wide;
        }
        for index in 0..layers {
            let is_last = index + 1 == layers && !output_layer;
            let columns = if is_last { last } else { wide };
            // Weights, both halves of the attention vector, bias; vectors and matrix of edge features.
            weights += (self.projections() as u64 * rows + 3) * columns;
            let heads = if is_last { output_heads } else { heads };
            let messages = if edge_messages { columns } else { 0 };
            weights += self.edge_features as u64 * (HeadLayout::new(heads, 1).head_stride() as u64 + messages);
            if !is_last {
                let skip = if residual == Residual::Linear { rows + 1 } else { 0 };
                // Weight and bias of the norm, and running statistics.
                weights += (skip + if norm == Norm::None { 0 } else { 4 }) * columns;
                weights += if separate_ego { (rows + 2 * columns + 1) * columns } else { 0 };
            }
            rows = columns;
        }
        if output_layer {
            weights += (rows + 1) * HeadLayout::plain(self.classes).stride() as u64;
        }
        // Value, gradient, two moments and the best value; four bytes for the index of an element.
        weights * (5 * size_of::<T>() as u64 + 4)
    }

    /// Returns a lower bound of the number of weights: the elements of all matrices, without vectors and biases. A file
    /// with fewer weights is damaged, and memory is not allocated for it.
    pub fn least_weights(&self) -> u64 {
        let product = |factors: &[usize]| factors.iter().fold(1u64, |product, &x| product.saturating_mul(x as u64));
        let NetworkSettings { layers, heads, hidden, output_heads, edge_messages, .. } = self.network;
        let NetworkSettings { residual, input_layer, output_layer, separate_ego, .. } = self.network;
        let (hidden, attends) = (heads * hidden, self.model.form().is_some());
        let mut weights = if input_layer { product(&[self.input_width(), hidden]) } else { 0 };
        let mut rows = if input_layer { hidden } else { self.input_width() };
        for index in 0..layers {
            let is_last = index + 1 == layers && !output_layer;
            let heads = if is_last { output_heads } else { heads };
            let columns = match (is_last, attends) {
                (false, _) => hidden,
                (true, true) => heads * self.classes,
                (true, false) => self.classes,
            };
            let of_edges = if attends { heads + if edge_messages { columns } else { 0 } } else { 0 };
            let skip = usize::from(!is_last && residual == Residual::Linear);
            let own = usize::from(!is_last && separate_ego);
            weights = [
                product(&[self.projections() + skip + own, rows, columns]),
                product(&[2 * own, columns, columns]),
                product(&[self.edge_features, of_edges]),
            ]
            .into_iter()
            .fold(weights, u64::saturating_add);
            rows = columns;
        }
        weights.saturating_add(if output_layer { product(&[rows, self.classes]) } else { 0 })
    }

    /// Checks that an example has the features and classes of this architecture.
    pub fn accepts(&self, example: &impl ExampleShape) -> Result<()> {
        self.accepts_features(example)?;
        let (classes, multi_label) = example.classes();
        fits("classes", self.classes, classes)?;
        fits("several labels per node (0: no, 1: yes)", self.multi_label.into(), multi_label.into())
    }

    /// Checks the number of features per node.
    pub fn accepts_features(&self, example: &impl ExampleShape) -> Result<()> {
        fits("features per node", self.input_features, example.features())?;
        let edges = if self.model.reads_edge_features() { example.edge_features() } else { 0 };
        fits("features per edge", self.edge_features, edges)
    }

    /// Converts logits, one row of classes per node, to probabilities: softmax over each row, or the sigmoid
    /// of each logit if a node may have several classes.
    ///
    /// ```
    /// # use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
    /// # let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
    /// # let labels = Labels::Single { classes: 2, of: vec![0, 1] };
    /// # let features = Features::dense(2, 1, vec![1.0f32, 2.0])?;
    /// # let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
    /// let architecture = Architecture::new("gat-go".parse().unwrap(), &example);
    /// assert_eq!(architecture.probabilities(&[0.0f64, 0.0, 0.0, 0.0])?, [0.5, 0.5, 0.5, 0.5]);
    /// assert!(architecture.probabilities(&[0.0f64, 0.0, 0.0]).is_err());
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn probabilities<T: Real>(&self, logits: &[T]) -> Result<Vec<T>> {
        let rows = logits.len() / self.classes;
        if rows * self.classes != logits.len() {
            return Err(Error::SizeMismatch {
                what: "logits (a whole number of rows, one number per class)",
                expected: (rows + 1) * self.classes,
                found: logits.len(),
            });
        }
        let mut out = vec![T::ZERO; logits.len()];
        for (row, out) in logits.chunks_exact(self.classes).zip(out.chunks_exact_mut(self.classes)) {
            if self.multi_label {
                out.iter_mut().zip(row).for_each(|(o, &x)| *o = T::ONE / (T::ONE + (-x).exp()));
                continue;
            }
            let largest = row.iter().copied().fold(T::NEG_INFINITY, T::max);
            out.iter_mut().zip(row).for_each(|(o, &x)| *o = (x - largest).exp());
            let sum: T = out.iter().copied().sum();
            out.iter_mut().for_each(|o| *o = *o / sum);
        }
        Ok(out)
    }
}

impl Serialize for Architecture {
    /// Keeps the entries of earlier versions, in their order.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let groups: [&dyn SettingsGroup; 1] = [&self.network];
        let mut file = Entries::new(serializer.serialize_map(None)?, &groups);
        file.other("model", &self.model)?;
        file.other("input_features", &self.input_features)?;
        file.other("classes", &self.classes)?;
        file.other("multi_label", &self.multi_label)?;
        file.always(&["layers", "hidden", "heads", "output_heads", "dropout", "negative_slope"])?;
        if self.edge_features > 0 {
            file.other("edge_features", &self.edge_features)?;
        }
        file.changed(&["edge_messages", "label_input", "label_reuse"])?;
        file.end()
    }
}

/// Returns an error unless a number lies between 1 and `most`.
fn between(name: &'static str, value: usize, most: usize) -> Result<()> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(Error::Hyperparameter { name, value: value.to_string(), reason: format!("must lie between 1 and {most}") })
}

/// Returns an error unless the number in the data is that of the model.
fn fits(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Incompatible { what, expected, found }) }
}
