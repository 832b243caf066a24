//! Table of all hyperparameters: name, meaning, range, default and the models that each applies to.
//!
//! Architecture and training are validated against it. Presets, configuration files, options of the command
//! line and documentation are generated from it or checked against it.

use crate::activation::Activation;
use crate::blocks::{Norm, Residual};
use crate::error::{Error, Result};
use crate::heads::{MAX_HEADS, MOST_CHOSEN};
use crate::model_kind::{ModelKind, System};
use std::fmt;

/// Description of a hyperparameter.
///
/// ```
/// use supergat_core::hyperparameters::{Hyperparameter, Value};
/// let lr = Hyperparameter::named("lr").unwrap();
/// assert_eq!(lr.default("supergat-mx".parse().unwrap()), Value::Number(0.01));
/// assert_eq!(lr.check(Value::Number(-1.0)).unwrap_err().to_string(), "lr = -1: must be positive");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hyperparameter {
    /// Name in configuration files and in the library. Options of the command line have `-` instead of `_`.
    pub name: &'static str,
    /// Group of the hyperparameter.
    pub group: Group,
    /// Meaning in one sentence, with the symbol of the paper in brackets.
    pub meaning: &'static str,
    /// Allowed values.
    pub range: Range,
    defaults: Defaults,
}

/// Group of hyperparameters, which decides the models that they apply to.
///
/// ```
/// use supergat_core::hyperparameters::Group;
/// assert!(Group::SelfSupervision.applies_to("supergat-sd".parse().unwrap()));
/// assert!(!Group::SelfSupervision.applies_to("gat-go".parse().unwrap()));
/// assert_eq!(Group::EarlyStopping.heading(), "Early stopping");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Shape of the network.
    Network,
    /// Optimiser and length of training.
    Training,
    /// Edge loss of `supergat-*` models.
    SelfSupervision,
    /// Constraints of `cgat` models.
    Constraints,
    /// Constraints by classes, of `cgat-full-supervised` only.
    ClassConstraints,
    /// Rule that stops training before the last epoch.
    EarlyStopping,
    /// Steps of `label-propagation`.
    Propagation,
    /// Number and shape of the trees of `trees`.
    Trees,
    /// Graph learning of `glcn`.
    GraphLearning,
    /// Choice of neighbours of `neuralsparse`.
    Sparsification,
    /// Agreement and self-labelling of `gcn-gam`.
    Agreement,
    /// Edges learned by `lds`.
    EdgeLearning,
    /// Correct and Smooth, after the training of any model.
    CorrectAndSmooth,
}

impl Group {
    /// Returns whether the hyperparameters of this group have an effect on a model.
    pub fn applies_to(self, model: ModelKind) -> bool {
        match self {
            Self::Network | Self::Training => model.has_epochs(),
            Self::EarlyStopping => model.has_epochs() && !model.system().is_some_and(System::has_rounds),
            Self::SelfSupervision => model.is_self_supervised(),
            Self::Constraints => matches!(model, ModelKind::Constrained { .. }),
            Self::ClassConstraints => model == ModelKind::Constrained { by_classes: true },
            Self::Propagation => model == ModelKind::LabelPropagation,
            Self::Trees => model == ModelKind::Trees,
            Self::GraphLearning => model == ModelKind::System(System::Glcn),
            Self::Sparsification => model == ModelKind::System(System::NeuralSparse),
            Self::Agreement => model == ModelKind::System(System::Gam),
            Self::EdgeLearning => model == ModelKind::System(System::Lds),
            Self::CorrectAndSmooth => true,
        }
    }

    /// Returns the human-readable heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Network => "Network",
            Self::Training => "Training",
            Self::SelfSupervision => "Self-supervision (supergat-* only)",
            Self::Constraints | Self::ClassConstraints => "Constraints (cgat* only)",
            Self::EarlyStopping => "Early stopping",
            Self::Propagation => "Label propagation (label-propagation only)",
            Self::Trees => "Boosted trees (trees only)",
            Self::GraphLearning => "Graph learning (glcn only)",
            Self::Sparsification => "Choice of neighbours (neuralsparse only)",
            Self::Agreement => "Graph Agreement Models (gcn-gam only)",
            Self::EdgeLearning => "Learned edges (lds only)",
            Self::CorrectAndSmooth => "Correct and Smooth",
        }
    }

    /// Returns the name of the switch without which the other hyperparameters of the group have no effect, and which
    /// they turn on; `None` for groups without a switch of this kind.
    ///
    /// ```
    /// use supergat_core::hyperparameters::Group;
    /// assert_eq!(Group::CorrectAndSmooth.switch(), Some("correct_and_smooth"));
    /// assert_eq!(Group::Training.switch(), None);
    /// ```
    pub fn switch(self) -> Option<&'static str> {
        match self {
            Self::CorrectAndSmooth => Some("correct_and_smooth"),
            _ => None,
        }
    }
}

/// Allowed values of a hyperparameter.
///
/// ```
/// use supergat_core::hyperparameters::Range;
/// assert_eq!(Range::Whole(1, 64).to_string(), "must be a whole number from 1 to 64");
/// assert_eq!(Range::Share.to_string(), "must lie in (0, 1]");
/// assert_eq!(Range::Choice(&["none", "batch"]).to_string(), "must be one of none, batch");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// Whole numbers from the first to the second, inclusive.
    Whole(u64, u64),
    /// Numbers above zero.
    Positive,
    /// Numbers from zero.
    NotNegative,
    /// Numbers from zero to below one.
    BelowOne,
    /// Numbers above zero, up to one.
    Share,
    /// Numbers from zero to one.
    UnitInterval,
    /// True or false.
    Switch,
    /// One of these names.
    Choice(&'static [&'static str]),
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(least, most) => write!(f, "must be a whole number from {least} to {most}"),
            Self::Positive => f.write_str("must be positive"),
            Self::NotNegative => f.write_str("must not be negative"),
            Self::BelowOne => f.write_str("must lie in [0, 1)"),
            Self::Share => f.write_str("must lie in (0, 1]"),
            Self::UnitInterval => f.write_str("must lie in [0, 1]"),
            Self::Switch => f.write_str("must be true or false"),
            Self::Choice(names) => write!(f, "must be one of {}", names.join(", ")),
        }
    }
}

/// Value of a hyperparameter.
///
/// ```
/// use supergat_core::hyperparameters::Value;
/// assert_eq!(Value::from(3), Value::Whole(3));
/// assert_eq!(Value::from(0.5), Value::Number(0.5));
/// assert_eq!(Value::from(true).to_string(), "true");
/// assert_eq!(Value::from("batch"), Value::Choice("batch"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Whole number.
    Whole(u64),
    /// Number.
    Number(f64),
    /// True or false.
    Switch(bool),
    /// Name of a choice; see [`Hyperparameter::choice`] for names that are not constant.
    Choice(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Switch(value) => value.fmt(f),
            Self::Choice(name) => f.write_str(name),
        }
    }
}

macro_rules! value_from {
    ($($type:ty => $variant:ident),*) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}
value_from!(u64 => Whole, u32 => Whole, f64 => Number, f32 => Number, bool => Switch);

impl From<&'static str> for Value {
    fn from(name: &'static str) -> Self {
        Self::Choice(name)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Whole(value as u64)
    }
}

impl From<i32> for Value {
    /// Converts negative values to [`Value::Number`], so that error messages show them.
    fn from(value: i32) -> Self {
        u64::try_from(value).map_or(Self::Number(value.into()), Self::Whole)
    }
}

/// Default values, by model.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Defaults {
    Same(Value),
    /// First number for models with attention, second for others.
    ByAttention(u64, u64),
}

const fn whole(
    name: &'static str,
    group: Group,
    range: (u64, u64),
    default: u64,
    meaning: &'static str,
) -> Hyperparameter {
    let range = Range::Whole(range.0, range.1);
    Hyperparameter { name, group, meaning, range, defaults: Defaults::Same(Value::Whole(default)) }
}

const fn number(name: &'static str, group: Group, range: Range, default: f64, meaning: &'static str) -> Hyperparameter {
    Hyperparameter { name, group, meaning, range, defaults: Defaults::Same(Value::Number(default)) }
}

const fn switch(name: &'static str, group: Group, default: bool, meaning: &'static str) -> Hyperparameter {
    let defaults = Defaults::Same(Value::Switch(default));
    Hyperparameter { name, group, meaning, range: Range::Switch, defaults }
}

/// A choice of the network, whose first name is the default.
const fn choice(name: &'static str, names: &'static [&'static str], meaning: &'static str) -> Hyperparameter {
    let defaults = Defaults::Same(Value::Choice(names[0]));
    Hyperparameter { name, group: Group::Network, meaning, range: Range::Choice(names), defaults }
}

const fn by_attention(
    name: &'static str,
    range: (u64, u64),
    defaults: (u64, u64),
    meaning: &'static str,
) -> Hyperparameter {
    Hyperparameter {
        name,
        group: Group::Network,
        meaning,
        range: Range::Whole(range.0, range.1),
        defaults: Defaults::ByAttention(defaults.0, defaults.1),
    }
}

/// Upper bound of counts without another limit.
const MANY: u64 = 100_000_000;
/// Numbers of steps of a propagation.
const STEPS: (u64, u64) = (1, 1_000_000);
const HEADS: (u64, u64) = (1, MAX_HEADS as u64);

/// Defaults on graphs that the paper has no settings for, where they differ: of networks with attention, and of other
/// networks. They were chosen by a study of many graphs (docs/studies/defaults.md).
const ON_NEW_GRAPHS: [(&str, Value, Value); 13] = [
    ("hidden", Value::Whole(16), Value::Whole(64)),
    ("heads", Value::Whole(4), Value::Whole(1)),
    ("output_heads", Value::Whole(1), Value::Whole(1)),
    ("dropout", Value::Number(0.5), Value::Number(0.5)),
    ("residual", Value::Choice("linear"), Value::Choice("linear")),
    ("norm", Value::Choice("layer"), Value::Choice("layer")),
    ("activation", Value::Choice("relu"), Value::Choice("relu")),
    ("output_layer", Value::Switch(true), Value::Switch(true)),
    ("attention_dropout", Value::Switch(false), Value::Switch(false)),
    ("lr", Value::Number(0.005), Value::Number(0.005)),
    ("lambda_2", Value::Number(5e-4), Value::Number(5e-4)),
    ("early_stop", Value::Switch(false), Value::Switch(false)),
    ("patience", Value::Whole(100), Value::Whole(100)),
];

/// All hyperparameters, in the order of documentation and help texts. See [`Hyperparameter`] for an example.
pub const HYPERPARAMETERS: [Hyperparameter; 84] = [
    whole("layers", Group::Network, (1, 1000), 2, "Number of layers (L)"),
    by_attention(
        "hidden",
        (1, 1 << 16),
        (8, 64),
        "Features per head in hidden layers (F); models without attention have heads * hidden",
    ),
    by_attention("heads", HEADS, (8, 1), "Number of attention heads in hidden layers, concatenated (K)"),
    by_attention("output_heads", HEADS, (8, 1), "Number of attention heads in the last layer, averaged"),
    number(
        "dropout",
        Group::Network,
        Range::BelowOne,
        0.6,
        "Dropout probability of layer inputs and attention coefficients",
    ),
    number("negative_slope", Group::Network, Range::UnitInterval, 0.2, "LeakyReLU slope for negative attention scores"),
    switch(
        "edge_messages",
        Group::Network,
        false,
        "Whether messages carry the features of their link, where links have features and the model attends",
    ),
    choice(
        "residual",
        Residual::NAMES,
        "Shortcut that hidden layers add to their sums over neighbours: none, linear (h W + b), or identity, which needs \
         input_layer",
    ),
    choice("norm", Norm::NAMES, "Normalisation in hidden layers: none, layer or batch"),
    choice("activation", Activation::NAMES, "Activation of hidden layers: elu or relu"),
    switch("input_layer", Group::Network, false, "Whether a linear layer precedes the first layer"),
    switch(
        "output_layer",
        Group::Network,
        false,
        "Whether a linear layer follows the last layer, which is then a hidden layer too",
    ),
    switch("self_loops", Group::Network, true, "Whether nodes attend to themselves; gat and supergat models only"),
    switch(
        "attention_dropout",
        Group::Network,
        true,
        "Whether dropout applies to attention coefficients too, not to layer inputs only",
    ),
    switch(
        "separate_ego",
        Group::Network,
        false,
        "Whether hidden layers put a node's own representation beside the sum over its neighbours, followed by two linear \
         layers; gat and supergat models only",
    ),
    number(
        "label_input",
        Group::Network,
        Range::BelowOne,
        0.0,
        "Share of the training nodes whose label is input in each step, with the loss on the others; 0: no labels as input",
    ),
    whole(
        "label_reuse",
        Group::Network,
        (0, 100),
        0,
        "Number of further forward passes with predicted classes as input of unlabelled nodes; needs label_input",
    ),
    number("lr", Group::Training, Range::Positive, 0.01, "Learning rate (Adam)"),
    number(
        "lambda_2",
        Group::Training,
        Range::NotNegative,
        0.002,
        "Weight decay, added to the gradient of every weight (lambda_2)",
    ),
    number(
        "focal_gamma",
        Group::Training,
        Range::NotNegative,
        0.0,
        "Exponent of the focal loss, which lowers the weight of nodes that are classified well; 0 for cross-entropy",
    ),
    switch(
        "checkpointing",
        Group::Training,
        false,
        "Whether hidden layers are computed again in the backward pass: less memory in deep networks, more time, the same \
         result",
    ),
    whole("max_epochs", Group::Training, (1, MANY), 500, "Maximum number of epochs"),
    number("lambda_e", Group::SelfSupervision, Range::NotNegative, 1.0, "Weight of the edge loss (lambda_E)"),
    number("p_e", Group::SelfSupervision, Range::Share, 0.8, "Fraction of the edges sampled in each step (p_e)"),
    number(
        "p_n",
        Group::SelfSupervision,
        Range::NotNegative,
        0.5,
        "Number of negative samples (unlinked pairs) per sampled edge (p_n)",
    ),
    whole(
        "top_k",
        Group::Constraints,
        (1, MOST_CHOSEN as u64),
        4,
        "Number of neighbours, those with the highest scores, that each head attends to in training (k)",
    ),
    whole("negatives_per_edge", Group::Constraints, (1, 1000), 5, "Number of nodes that each edge is compared with"),
    number(
        "lambda_g",
        Group::Constraints,
        Range::NotNegative,
        1.0,
        "Weight of the loss that compares edges with non-edges (lambda_g)",
    ),
    number(
        "margin_g",
        Group::Constraints,
        Range::NotNegative,
        0.3,
        "Minimum margin between the scores of an edge and a non-edge",
    ),
    number(
        "lambda_b",
        Group::ClassConstraints,
        Range::NotNegative,
        1.0,
        "Weight of the loss that compares edges within and between classes (lambda_b); cgat-full-supervised only",
    ),
    number(
        "margin_b",
        Group::ClassConstraints,
        Range::NotNegative,
        0.1,
        "Minimum margin between the scores of edges within and between classes; cgat-full-supervised only",
    ),
    switch(
        "early_stop",
        Group::EarlyStopping,
        true,
        "Whether to stop before max_epochs once the validation loss or metric has settled; if turned off, patience is 0 unless given",
    ),
    whole(
        "early_stop_patience",
        Group::EarlyStopping,
        (0, MANY),
        100,
        "No early stop up to this epoch, counted from 0",
    ),
    whole(
        "early_stop_window",
        Group::EarlyStopping,
        (1, MANY),
        100,
        "Number of previous validation results to average",
    ),
    number(
        "early_stop_loss_change",
        Group::EarlyStopping,
        Range::NotNegative,
        1e-4,
        "Stop when the validation loss is within this fraction of its average",
    ),
    number(
        "early_stop_metric_change",
        Group::EarlyStopping,
        Range::NotNegative,
        1e-4,
        "Stop when the validation metric is within this fraction of its average",
    ),
    whole(
        "patience",
        Group::EarlyStopping,
        (0, MANY),
        0,
        "Stop after this number of epochs without a better validation score; 0 for no such limit",
    ),
    number(
        "propagation_alpha",
        Group::Propagation,
        Range::BelowOne,
        0.9,
        "Share of the neighbours in a step of label propagation; known labels have the rest (alpha)",
    ),
    whole("propagation_iterations", Group::Propagation, STEPS, 50, "Number of steps of label propagation"),
    whole("tree_count", Group::Trees, (1, 100_000), 500, "Maximum number of trees per class"),
    number(
        "tree_lr",
        Group::Trees,
        Range::Share,
        0.1,
        "Factor of the values of each tree (learning rate); with a lower one, more trees are needed",
    ),
    whole("tree_depth", Group::Trees, (1, 64), 6, "Maximum depth of a tree: the number of questions before a leaf"),
    number(
        "tree_l2",
        Group::Trees,
        Range::NotNegative,
        1.0,
        "Penalty on the squared values of leaves, which makes them smaller (L2)",
    ),
    number(
        "tree_node_share",
        Group::Trees,
        Range::Share,
        0.8,
        "Share of the training nodes that each tree is grown from",
    ),
    number("tree_column_share", Group::Trees, Range::Share, 0.5, "Share of the columns that each tree may ask for"),
    whole(
        "tree_patience",
        Group::Trees,
        (1, 100_000),
        50,
        "Stop after this number of trees without a lower validation loss of the class",
    ),
    whole(
        "tree_components",
        Group::Trees,
        (1, 4096),
        128,
        "Maximum number of columns per node; where there are more, trees read this number of principal components",
    ),
    whole(
        "graph_hidden",
        Group::GraphLearning,
        (1, 1 << 16),
        70,
        "Number of projected features that the weights of links are learned from",
    ),
    number("graph_lr", Group::GraphLearning, Range::Positive, 0.005, "Learning rate of the weights of links (Adam)"),
    number(
        "lambda_graph",
        Group::GraphLearning,
        Range::NotNegative,
        0.01,
        "Weight of the loss of the learned graph: squared differences of linked nodes (lambda)",
    ),
    number(
        "gamma_graph",
        Group::GraphLearning,
        Range::NotNegative,
        0.01,
        "Weight of the squared weights of links within the loss of the learned graph (gamma)",
    ),
    switch(
        "graph_from_labels",
        Group::GraphLearning,
        true,
        "Whether the weights of links learn from labels too, not from the loss of the graph alone",
    ),
    number("lr_decay", Group::GraphLearning, Range::Share, 0.9, "Factor of both learning rates after every 100 epochs"),
    whole(
        "sampled_neighbours",
        Group::Sparsification,
        (1, 1000),
        5,
        "Maximum number of neighbours that each node keeps (k)",
    ),
    whole(
        "sampler_hidden",
        Group::Sparsification,
        (1, 1 << 16),
        64,
        "Number of hidden features of the scores of neighbours",
    ),
    number(
        "temperature",
        Group::Sparsification,
        Range::Positive,
        1.0,
        "Temperature of the Gumbel-softmax in the first epoch (tau)",
    ),
    number(
        "temperature_decay",
        Group::Sparsification,
        Range::NotNegative,
        0.01,
        "Rate at which the temperature falls with the epochs: exp(-rate * epoch) (r)",
    ),
    number(
        "least_temperature",
        Group::Sparsification,
        Range::Positive,
        0.05,
        "Lowest temperature of the Gumbel-softmax",
    ),
    whole(
        "agreement_hidden",
        Group::Agreement,
        (1, 1 << 16),
        128,
        "Number of hidden features of the model that says whether two nodes have the same class",
    ),
    number("agreement_lr", Group::Agreement, Range::Positive, 0.001, "Learning rate of the agreement model (Adam)"),
    whole(
        "agreement_steps",
        Group::Agreement,
        (1, MANY),
        2000,
        "Maximum number of training steps of the agreement model in each round",
    ),
    whole(
        "agreement_edges",
        Group::Agreement,
        (1, MANY),
        512,
        "Number of links of each kind that the agreement loss samples in each step",
    ),
    number(
        "lambda_ll",
        Group::Agreement,
        Range::NotNegative,
        0.0,
        "Weight of the agreement loss between labelled nodes (lambda_LL)",
    ),
    number(
        "lambda_lu",
        Group::Agreement,
        Range::NotNegative,
        100.0,
        "Weight of the agreement loss between a labelled and an unlabelled node (lambda_LU)",
    ),
    number(
        "lambda_uu",
        Group::Agreement,
        Range::NotNegative,
        50.0,
        "Weight of the agreement loss between unlabelled nodes (lambda_UU)",
    ),
    whole(
        "self_labels",
        Group::Agreement,
        (0, MANY),
        200,
        "Maximum number of nodes that are labelled with their predicted class after each round (M)",
    ),
    number(
        "self_label_certainty",
        Group::Agreement,
        Range::UnitInterval,
        0.4,
        "Smallest probability of a predicted class that becomes a label",
    ),
    switch(
        "keep_class_shares",
        Group::Agreement,
        true,
        "Whether new labels have the classes in the shares of the training nodes",
    ),
    whole(
        "rounds",
        Group::Agreement,
        (1, 100_000),
        30,
        "Maximum number of rounds, the first one without agreement included; max_epochs limits each round",
    ),
    whole(
        "round_patience",
        Group::Agreement,
        (1, MANY),
        200,
        "Number of epochs without a better validation metric after which a round ends",
    ),
    whole(
        "similar_neighbours",
        Group::EdgeLearning,
        (0, 1000),
        0,
        "Number of nodes with the most similar features that each node is linked with at first; 0: the given links",
    ),
    number("edge_lr", Group::EdgeLearning, Range::NotNegative, 1.0, "Learning rate of the probabilities of links"),
    whole(
        "edge_steps",
        Group::EdgeLearning,
        (1, 100),
        5,
        "Number of steps between two updates of the probabilities of links, which their gradient passes through (tau)",
    ),
    whole("inner_steps", Group::EdgeLearning, (1, MANY), 400, "Maximum number of training steps in each epoch"),
    whole(
        "inner_patience",
        Group::EdgeLearning,
        (1, MANY),
        20,
        "Number of steps without a smaller training loss after which an epoch ends",
    ),
    whole("graph_samples", Group::EdgeLearning, (1, 1000), 16, "Number of sampled graphs of a prediction (S)"),
    whole(
        "outer_patience",
        Group::EdgeLearning,
        (1, MANY),
        20,
        "Number of epochs without a better validation metric after which training ends",
    ),
    switch(
        "correct_and_smooth",
        Group::CorrectAndSmooth,
        false,
        "Whether predictions are corrected and smoothed over links with the labels of training nodes",
    ),
    number(
        "correct_alpha",
        Group::CorrectAndSmooth,
        Range::UnitInterval,
        0.0,
        "Share of the neighbours in a step of the correction; 0: chosen on the validation nodes",
    ),
    whole("correct_iterations", Group::CorrectAndSmooth, STEPS, 50, "Number of steps of the correction"),
    number(
        "correct_scale",
        Group::CorrectAndSmooth,
        Range::NotNegative,
        0.0,
        "Factor of propagated errors in the correction; 0: each node has the mean error of training nodes (autoscale)",
    ),
    number(
        "smooth_alpha",
        Group::CorrectAndSmooth,
        Range::UnitInterval,
        0.0,
        "Share of the neighbours in a step of the smoothing; 0: chosen on the validation nodes",
    ),
    whole("smooth_iterations", Group::CorrectAndSmooth, STEPS, 50, "Number of steps of the smoothing"),
    switch(
        "correct_and_smooth_validation",
        Group::CorrectAndSmooth,
        false,
        "Whether labels of validation nodes are inputs of the smoothing too",
    ),
];

impl Hyperparameter {
    /// Finds a hyperparameter by name.
    pub fn named(name: &str) -> Option<&'static Self> {
        HYPERPARAMETERS.iter().find(|hyperparameter| hyperparameter.name == name)
    }

    /// Finds a hyperparameter by name, or returns an error that lists all names, the most similar first.
    pub fn find(name: &str) -> Result<&'static Self> {
        Self::named(name).ok_or_else(|| {
            let mut known: Vec<&str> = HYPERPARAMETERS.iter().map(|hyperparameter| hyperparameter.name).collect();
            known.sort_by_key(|known| strsim::osa_distance(name, known));
            Error::UnknownHyperparameter { name: name.to_owned(), known }
        })
    }

    /// Returns the default for a model in the style of the paper, on which its settings of single datasets are based.
    pub fn default(&self, model: ModelKind) -> Value {
        match self.defaults {
            Defaults::Same(value) => value,
            Defaults::ByAttention(with, without) => Value::Whole(if model.form().is_some() { with } else { without }),
        }
    }

    /// Returns the default for a model on a graph that the paper has no settings for.
    ///
    /// ```
    /// use supergat_core::hyperparameters::{Hyperparameter, Value};
    /// let norm = Hyperparameter::named("norm").unwrap();
    /// let of = |model: &str| norm.default_on_new_graphs(model.parse().unwrap());
    /// assert_eq!([of("gat-go"), of("cgat")], [Value::Choice("layer"), Value::Choice("none")]);
    /// ```
    pub fn default_on_new_graphs(&self, model: ModelKind) -> Value {
        let is_measured = model.is_network() && !matches!(model, ModelKind::Constrained { .. });
        let changed = ON_NEW_GRAPHS.iter().find(|(name, ..)| is_measured && *name == self.name);
        changed.map_or_else(
            || self.default(model),
            |&(_, with, without)| if model.form().is_some() { with } else { without },
        )
    }

    /// Returns the value as the type of this hyperparameter, or an error with the allowed range.
    ///
    /// Whole numbers are accepted where numbers are expected.
    pub fn check(&self, value: Value) -> Result<Value> {
        let within = |x: f64| match self.range {
            Range::Positive => x > 0.0 && x.is_finite(),
            Range::NotNegative => x >= 0.0 && x.is_finite(),
            Range::BelowOne => (0.0..1.0).contains(&x),
            Range::Share => x > 0.0 && x <= 1.0,
            Range::UnitInterval => (0.0..=1.0).contains(&x),
            Range::Whole(..) | Range::Switch | Range::Choice(_) => false,
        };
        match (self.range, value) {
            (Range::Whole(least, most), Value::Whole(x)) if (least..=most).contains(&x) => Ok(value),
            (Range::Switch, Value::Switch(_)) => Ok(value),
            (Range::Choice(names), Value::Choice(name)) if names.contains(&name) => Ok(value),
            (_, Value::Number(x)) if within(x) => Ok(value),
            (_, Value::Whole(x)) if within(x as f64) => Ok(Value::Number(x as f64)),
            _ => {
                let is_number = !matches!(self.range, Range::Whole(..) | Range::Switch | Range::Choice(_));
                let reason = match value {
                    Value::Number(x) if is_number && !x.is_finite() => "must be a finite number".to_owned(),
                    _ => self.range.to_string(),
                };
                Err(Error::Hyperparameter { name: self.name, value: value.to_string(), reason })
            }
        }
    }
}

impl Hyperparameter {
    /// Returns the choice of this name, or an error with the names of all choices.
    ///
    /// ```
    /// use supergat_core::hyperparameters::{Hyperparameter, Value};
    /// let norm = Hyperparameter::named("norm").unwrap();
    /// assert_eq!(norm.choice(&"batch".to_owned())?, Value::Choice("batch"));
    /// let error = norm.choice("group").unwrap_err();
    /// assert_eq!(error.to_string(), "norm = group: must be one of none, layer, batch");
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn choice(&self, name: &str) -> Result<Value> {
        let names = if let Range::Choice(names) = self.range { names } else { &[] };
        names.iter().find(|known| **known == name).map(|known| Value::Choice(known)).ok_or_else(|| {
            Error::Hyperparameter { name: self.name, value: name.to_owned(), reason: self.range.to_string() }
        })
    }
}

/// Validates a value against the range of a hyperparameter in the table.
pub fn check(name: &str, value: impl Into<Value>) -> Result<()> {
    Hyperparameter::named(name).expect("names in this crate are in the table").check(value.into()).map(drop)
}

/// Returns the default of a number in the table.
pub(crate) fn default_number(name: &str, model: ModelKind) -> f64 {
    match Hyperparameter::named(name).map(|hyperparameter| hyperparameter.default(model)) {
        Some(Value::Number(number)) => number,
        other => panic!("{name} is no number of the table: {other:?}"),
    }
}

/// Returns the default of a whole number in the table.
pub(crate) fn default_whole(name: &str, model: ModelKind) -> usize {
    match Hyperparameter::named(name).map(|hyperparameter| hyperparameter.default(model)) {
        Some(Value::Whole(number)) => number as usize,
        other => panic!("{name} is no whole number of the table: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_all_defaults() {
        for hyperparameter in &HYPERPARAMETERS {
            for model in ModelKind::ALL {
                hyperparameter.check(hyperparameter.default(model)).unwrap();
            }
        }
    }

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<&str> = HYPERPARAMETERS.iter().map(|hyperparameter| hyperparameter.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), HYPERPARAMETERS.len());
    }

    #[test]
    fn rejects_values_out_of_range() {
        let message =
            |name: &str, value: Value| Hyperparameter::named(name).unwrap().check(value).unwrap_err().to_string();
        assert_eq!(message("heads", 65.into()), "heads = 65: must be a whole number from 1 to 64");
        assert_eq!(message("heads", 2.5.into()), "heads = 2.5: must be a whole number from 1 to 64");
        assert_eq!(message("heads", Value::from(-2)), "heads = -2: must be a whole number from 1 to 64");
        assert_eq!(message("dropout", 1.into()), "dropout = 1: must lie in [0, 1)");
        assert_eq!(message("lr", 0.into()), "lr = 0: must be positive");
        for hyperparameter in &HYPERPARAMETERS {
            for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
                let expected = match hyperparameter.range {
                    range @ (Range::Whole(..) | Range::Switch | Range::Choice(_)) => range.to_string(),
                    _ => "must be a finite number".to_owned(),
                };
                let name = hyperparameter.name;
                assert_eq!(message(name, value.into()), format!("{name} = {value}: {expected}"));
            }
        }
        assert_eq!(message("early_stop", 1.into()), "early_stop = 1: must be true or false");
        assert_eq!(message("norm", "group".into()), "norm = group: must be one of none, layer, batch");
        assert_eq!(message("norm", true.into()), "norm = true: must be one of none, layer, batch");
        let whole = Hyperparameter::named("lambda_e").unwrap().check(3.into()).unwrap();
        assert_eq!(whole, Value::Number(3.0));
    }
}
