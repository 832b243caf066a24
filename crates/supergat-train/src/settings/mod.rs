//! Settings of a run: model and hyperparameters. `presets.rs` has the published values for each dataset and model,
//! `engine.rs` what the engine reads.

mod engine;
mod presets;

#[cfg(feature = "trees")]
pub(crate) use engine::TreeSettings;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use supergat_core::hyperparameters::{HYPERPARAMETERS, Hyperparameter, Value};
use supergat_core::{Activation, ModelKind, Norm, Residual, Select};

/// Model and hyperparameters of a run. With the dataset and the seed, they determine the result.
///
/// Names are those of configuration files; [`supergat_core::hyperparameters`] describes them.
///
/// ```
/// use supergat_train::Settings;
/// let mut settings = Settings::published("cora", "supergat-mx".parse().unwrap()).unwrap();
/// assert_eq!((settings.heads, settings.max_epochs), (8, 490));
/// settings.set("lambda_e", 2.0)?;
/// assert_eq!(settings.lambda_e, 2.0);
/// assert!(settings.set("dropout", 1.5).is_err());
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Kind of network.
    pub model: ModelKind,
    /// Number of layers.
    pub layers: usize,
    /// Number of features per head in hidden layers.
    pub hidden: usize,
    /// Number of attention heads in hidden layers.
    pub heads: usize,
    /// Number of attention heads in the last layer, which are averaged.
    pub output_heads: usize,
    /// Dropout probability of layer inputs and attention coefficients.
    pub dropout: f64,
    /// LeakyReLU slope for negative attention scores.
    pub negative_slope: f64,
    /// Whether messages carry the features of their link.
    #[serde(default)]
    pub edge_messages: bool,
    /// Shortcut of hidden layers.
    #[serde(default)]
    pub residual: Residual,
    /// Normalisation in hidden layers.
    #[serde(default)]
    pub norm: Norm,
    /// Activation of hidden layers.
    #[serde(default)]
    pub activation: Activation,
    /// Whether a linear layer precedes the first layer.
    #[serde(default)]
    pub input_layer: bool,
    /// Whether a linear layer follows the last layer.
    #[serde(default)]
    pub output_layer: bool,
    /// Whether nodes attend to themselves.
    #[serde(default = "yes")]
    pub self_loops: bool,
    /// Whether dropout applies to attention coefficients too.
    #[serde(default = "yes")]
    pub attention_dropout: bool,
    /// Whether a node's own representation is put beside the sum over its neighbours.
    #[serde(default)]
    pub separate_ego: bool,
    /// Share of the training nodes whose label is input in each step; 0 if labels are no input.
    #[serde(default)]
    pub label_input: f64,
    /// Number of further forward passes with predicted classes as input.
    #[serde(default)]
    pub label_reuse: usize,
    /// Learning rate of Adam.
    pub lr: f64,
    /// Weight decay, added to the gradient.
    pub lambda_2: f64,
    /// Exponent of the focal loss of labels; 0 for cross-entropy.
    #[serde(default)]
    pub focal_gamma: f64,
    /// Whether hidden layers are computed again in the backward pass.
    #[serde(default)]
    pub checkpointing: bool,
    /// Weight of the edge loss.
    pub lambda_e: f64,
    /// Fraction of the edges sampled in each step.
    pub p_e: f64,
    /// Number of negative samples per sampled edge.
    pub p_n: f64,
    /// Number of neighbours that each head attends to in training; CGAT only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<usize>,
    /// Number of nodes that each edge is compared with; CGAT only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negatives_per_edge: Option<usize>,
    /// Weight of the loss that compares edges with non-edges; CGAT only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda_g: Option<f64>,
    /// Margin between the scores of an edge and a non-edge; CGAT only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_g: Option<f64>,
    /// Weight of the loss that compares edges within and between classes; fully supervised CGAT only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda_b: Option<f64>,
    /// Margin between the scores of edges within and between classes; fully supervised CGAT only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_b: Option<f64>,
    /// Maximum number of epochs.
    pub max_epochs: usize,
    /// Whether to stop early.
    pub early_stop: bool,
    /// Last epoch at which training may not stop early.
    pub early_stop_patience: usize,
    /// Number of previous validation results to average.
    pub early_stop_window: usize,
    /// Threshold of the relative change of the validation loss.
    pub early_stop_loss_change: f64,
    /// Threshold of the relative change of the validation metric.
    pub early_stop_metric_change: f64,
    /// Number of epochs without a better validation score after which training stops; 0 for no such limit.
    #[serde(default)]
    pub patience: usize,
    /// Share of the neighbours in a step of label propagation; `label-propagation` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagation_alpha: Option<f64>,
    /// Number of steps of label propagation; `label-propagation` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagation_iterations: Option<usize>,
    /// Maximum number of trees per class; `trees` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_count: Option<usize>,
    /// Factor of the values of each tree; `trees` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_lr: Option<f64>,
    /// Maximum depth of a tree; `trees` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_depth: Option<usize>,
    /// Penalty on the squared values of leaves; `trees` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_l2: Option<f64>,
    /// Share of the training nodes that each tree is grown from; `trees` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_node_share: Option<f64>,
    /// Share of the columns that each tree may ask for; `trees` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_column_share: Option<f64>,
    /// Number of trees without a lower validation loss after which no more are grown; `trees` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_patience: Option<usize>,
    /// Maximum number of columns per node before principal components replace them; `trees` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_components: Option<usize>,
    /// Number of projected features that the weights of links are learned from; `glcn` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_hidden: Option<usize>,
    /// Learning rate of the weights of links; `glcn` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_lr: Option<f64>,
    /// Weight of the loss of the learned graph; `glcn` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda_graph: Option<f64>,
    /// Weight of the squared weights of links within the loss of the learned graph; `glcn` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma_graph: Option<f64>,
    /// Whether the weights of links learn from labels too; `glcn` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_from_labels: Option<bool>,
    /// Factor of both learning rates after every 100 epochs; `glcn` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lr_decay: Option<f64>,
    /// Maximum number of neighbours that each node keeps; `neuralsparse` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled_neighbours: Option<usize>,
    /// Number of hidden features of the scores of neighbours; `neuralsparse` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampler_hidden: Option<usize>,
    /// Temperature of the Gumbel-softmax in the first epoch; `neuralsparse` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Rate at which the temperature falls; `neuralsparse` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_decay: Option<f64>,
    /// Lowest temperature; `neuralsparse` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_temperature: Option<f64>,
    /// Number of hidden features of the agreement model; `gcn-gam` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement_hidden: Option<usize>,
    /// Learning rate of the agreement model; `gcn-gam` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement_lr: Option<f64>,
    /// Maximum number of training steps of the agreement model in each round; `gcn-gam` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement_steps: Option<usize>,
    /// Number of links of each kind that the agreement loss samples; `gcn-gam` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement_edges: Option<usize>,
    /// Weight of the agreement loss between labelled nodes; `gcn-gam` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda_ll: Option<f64>,
    /// Weight of the agreement loss between a labelled and an unlabelled node; `gcn-gam` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda_lu: Option<f64>,
    /// Weight of the agreement loss between unlabelled nodes; `gcn-gam` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda_uu: Option<f64>,
    /// Maximum number of nodes that are labelled after each round; `gcn-gam` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_labels: Option<usize>,
    /// Smallest probability of a predicted class that becomes a label; `gcn-gam` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_label_certainty: Option<f64>,
    /// Whether new labels have the classes in the shares of the training nodes; `gcn-gam` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_class_shares: Option<bool>,
    /// Maximum number of rounds; `gcn-gam` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// Number of epochs without improvement after which a round ends; `gcn-gam` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_patience: Option<usize>,
    /// Number of similar nodes that each node is linked with at first; 0 for the given links; `lds` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similar_neighbours: Option<usize>,
    /// Learning rate of the probabilities of links; `lds` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_lr: Option<f64>,
    /// Number of steps between two updates of the probabilities of links; `lds` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_steps: Option<usize>,
    /// Maximum number of training steps in each epoch; `lds` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner_steps: Option<usize>,
    /// Number of steps without a smaller training loss after which an epoch ends; `lds` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner_patience: Option<usize>,
    /// Number of sampled graphs of a prediction; `lds` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_samples: Option<usize>,
    /// Number of epochs without improvement after which training ends; `lds` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outer_patience: Option<usize>,
    /// Whether predictions are corrected and smoothed; the following settings are present if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correct_and_smooth: Option<bool>,
    /// Share of the neighbours in a step of the correction; 0 if it is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correct_alpha: Option<f64>,
    /// Number of steps of the correction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correct_iterations: Option<usize>,
    /// Factor of propagated errors; 0 for autoscale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correct_scale: Option<f64>,
    /// Share of the neighbours in a step of the smoothing; 0 if it is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smooth_alpha: Option<f64>,
    /// Number of steps of the smoothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smooth_iterations: Option<usize>,
    /// Whether labels of validation nodes are inputs of the smoothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correct_and_smooth_validation: Option<bool>,
    /// Score by which the best epoch and seed are chosen; accuracy or micro-F1 if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<Select>,
    /// Index of the positive class, for metrics and thresholds; the second if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<usize>,
}

impl Settings {
    /// Returns general settings in the style of the paper, on which its settings of single datasets are based.
    pub fn general(model: ModelKind) -> Self {
        Self::from_defaults(model, |hyperparameter| hyperparameter.default(model))
    }

    /// Returns the settings for graphs that the paper has none for, chosen by a study of many graphs.
    ///
    /// ```
    /// use supergat_core::{ModelKind, Norm};
    /// use supergat_train::Settings;
    /// let of = |model| Settings::on_new_graphs(model);
    /// assert_eq!([of(ModelKind::Mlp).norm, Settings::general(ModelKind::Mlp).norm], [Norm::Layer, Norm::None]);
    /// assert_eq!(of(ModelKind::Trees), Settings::general(ModelKind::Trees));
    /// ```
    pub fn on_new_graphs(model: ModelKind) -> Self {
        Self::from_defaults(model, |hyperparameter| hyperparameter.default_on_new_graphs(model))
    }

    fn from_defaults(model: ModelKind, default: impl Fn(&Hyperparameter) -> Value) -> Self {
        let value = |name: &str| {
            let found = Hyperparameter::named(name).expect("settings are hyperparameters");
            (found.group.applies_to(model), default(found))
        };
        let whole = |name: &str| if let (_, Value::Whole(number)) = value(name) { number as usize } else { 0 };
        let number = |name: &str| if let (_, Value::Number(number)) = value(name) { number } else { f64::NAN };
        let switch = |name: &str| matches!(value(name), (_, Value::Switch(true)));
        let choice = |name: &str| if let (_, Value::Choice(chosen)) = value(name) { chosen } else { "" };
        let optional = |name: &str| value(name).0.then(|| number(name));
        let optional_whole = |name: &str| value(name).0.then(|| whole(name));
        let optional_switch = |name: &str| value(name).0.then(|| switch(name));
        Self {
            model,
            layers: whole("layers"),
            hidden: whole("hidden"),
            heads: whole("heads"),
            output_heads: whole("output_heads"),
            dropout: number("dropout"),
            negative_slope: number("negative_slope"),
            edge_messages: switch("edge_messages"),
            residual: choice("residual").parse().expect("a name of the table"),
            norm: choice("norm").parse().expect("a name of the table"),
            activation: choice("activation").parse().expect("a name of the table"),
            input_layer: switch("input_layer"),
            output_layer: switch("output_layer"),
            self_loops: switch("self_loops"),
            attention_dropout: switch("attention_dropout"),
            separate_ego: switch("separate_ego"),
            label_input: number("label_input"),
            label_reuse: whole("label_reuse"),
            lr: number("lr"),
            lambda_2: number("lambda_2"),
            focal_gamma: number("focal_gamma"),
            checkpointing: switch("checkpointing"),
            lambda_e: number("lambda_e"),
            p_e: number("p_e"),
            p_n: number("p_n"),
            top_k: optional_whole("top_k"),
            negatives_per_edge: optional_whole("negatives_per_edge"),
            lambda_g: optional("lambda_g"),
            margin_g: optional("margin_g"),
            lambda_b: optional("lambda_b"),
            margin_b: optional("margin_b"),
            max_epochs: whole("max_epochs"),
            early_stop: switch("early_stop"),
            early_stop_patience: whole("early_stop_patience"),
            early_stop_window: whole("early_stop_window"),
            early_stop_loss_change: number("early_stop_loss_change"),
            early_stop_metric_change: number("early_stop_metric_change"),
            patience: whole("patience"),
            propagation_alpha: optional("propagation_alpha"),
            propagation_iterations: optional_whole("propagation_iterations"),
            tree_count: optional_whole("tree_count"),
            tree_lr: optional("tree_lr"),
            tree_depth: optional_whole("tree_depth"),
            tree_l2: optional("tree_l2"),
            tree_node_share: optional("tree_node_share"),
            tree_column_share: optional("tree_column_share"),
            tree_patience: optional_whole("tree_patience"),
            tree_components: optional_whole("tree_components"),
            graph_hidden: optional_whole("graph_hidden"),
            graph_lr: optional("graph_lr"),
            lambda_graph: optional("lambda_graph"),
            gamma_graph: optional("gamma_graph"),
            graph_from_labels: optional_switch("graph_from_labels"),
            lr_decay: optional("lr_decay"),
            sampled_neighbours: optional_whole("sampled_neighbours"),
            sampler_hidden: optional_whole("sampler_hidden"),
            temperature: optional("temperature"),
            temperature_decay: optional("temperature_decay"),
            least_temperature: optional("least_temperature"),
            agreement_hidden: optional_whole("agreement_hidden"),
            agreement_lr: optional("agreement_lr"),
            agreement_steps: optional_whole("agreement_steps"),
            agreement_edges: optional_whole("agreement_edges"),
            lambda_ll: optional("lambda_ll"),
            lambda_lu: optional("lambda_lu"),
            lambda_uu: optional("lambda_uu"),
            self_labels: optional_whole("self_labels"),
            self_label_certainty: optional("self_label_certainty"),
            keep_class_shares: optional_switch("keep_class_shares"),
            rounds: optional_whole("rounds"),
            round_patience: optional_whole("round_patience"),
            similar_neighbours: optional_whole("similar_neighbours"),
            edge_lr: optional("edge_lr"),
            edge_steps: optional_whole("edge_steps"),
            inner_steps: optional_whole("inner_steps"),
            inner_patience: optional_whole("inner_patience"),
            graph_samples: optional_whole("graph_samples"),
            outer_patience: optional_whole("outer_patience"),
            correct_and_smooth: None,
            correct_alpha: None,
            correct_iterations: None,
            correct_scale: None,
            smooth_alpha: None,
            smooth_iterations: None,
            correct_and_smooth_validation: None,
            select: None,
            positive: None,
        }
    }

    /// Sets a hyperparameter by name. Setting any `early_stop_*` value enables early stopping, and setting a value of a
    /// group with a switch turns it on.
    ///
    /// Returns `false` and changes nothing if the model has no such setting. Fails if there is no
    /// hyperparameter of this name or if the value is out of range.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> supergat_core::Result<bool> {
        let hyperparameter = Hyperparameter::find(name)?;
        let value = hyperparameter.check(value.into())?;
        let Json::Object(mut all) = serde_json::to_value(*self).expect("plain numbers and names") else {
            unreachable!("settings are a JSON object")
        };
        if let Some(switch) = hyperparameter.group.switch().filter(|_| hyperparameter.group.applies_to(self.model)) {
            let members = || HYPERPARAMETERS.iter().filter(|other| other.group == hyperparameter.group);
            if name == switch && value == Value::Switch(false) {
                members().for_each(|member| drop(all.remove(member.name)));
                *self = serde_json::from_value(Json::Object(all)).expect("optional settings may be missing");
                return Ok(true);
            }
            for member in members() {
                all.entry(member.name).or_insert_with(|| json(member.default(self.model)));
            }
            all.insert(switch.into(), true.into());
        }
        let Some(place) = all.get_mut(name) else { return Ok(false) };
        *place = json(value);
        if name.starts_with("early_stop_") {
            all.insert("early_stop".into(), true.into());
        }
        *self = serde_json::from_value(Json::Object(all)).expect("values were checked against the table");
        Ok(true)
    }

    /// Returns a hyperparameter by name; `None` if the model has no such setting.
    pub fn get(&self, name: &str) -> Option<Value> {
        let hyperparameter = Hyperparameter::named(name)?;
        let json = serde_json::to_value(*self).expect("plain numbers and names").get(name)?.clone();
        match (json.as_u64(), json.as_f64(), json.as_bool()) {
            (Some(number), ..) => hyperparameter.check(Value::Whole(number)).ok(),
            (_, Some(number), _) => Some(Value::Number(number)),
            (_, _, Some(on)) => Some(Value::Switch(on)),
            _ => hyperparameter.choice(json.as_str()?).ok(),
        }
    }

    /// Returns these settings for another model. Hyperparameters that only the new model has get their defaults, and
    /// those that only the old one has are removed.
    ///
    /// ```
    /// use supergat_train::Settings;
    /// let deep = Settings { layers: 9, ..Settings::general("gat-go".parse().unwrap()) };
    /// let constrained = deep.with_model("cgat".parse().unwrap());
    /// assert_eq!((constrained.layers, constrained.top_k), (9, Some(4)));
    /// assert_eq!(constrained.with_model(deep.model), deep);
    /// ```
    pub fn with_model(self, model: ModelKind) -> Self {
        fn kept<T>(own: Option<T>, default: Option<T>) -> Option<T> {
            default.map(|default| own.unwrap_or(default))
        }
        let general = Self::general(model);
        Self {
            model,
            top_k: kept(self.top_k, general.top_k),
            negatives_per_edge: kept(self.negatives_per_edge, general.negatives_per_edge),
            lambda_g: kept(self.lambda_g, general.lambda_g),
            margin_g: kept(self.margin_g, general.margin_g),
            lambda_b: kept(self.lambda_b, general.lambda_b),
            margin_b: kept(self.margin_b, general.margin_b),
            propagation_alpha: kept(self.propagation_alpha, general.propagation_alpha),
            propagation_iterations: kept(self.propagation_iterations, general.propagation_iterations),
            tree_count: kept(self.tree_count, general.tree_count),
            tree_lr: kept(self.tree_lr, general.tree_lr),
            tree_depth: kept(self.tree_depth, general.tree_depth),
            tree_l2: kept(self.tree_l2, general.tree_l2),
            tree_node_share: kept(self.tree_node_share, general.tree_node_share),
            tree_column_share: kept(self.tree_column_share, general.tree_column_share),
            tree_patience: kept(self.tree_patience, general.tree_patience),
            tree_components: kept(self.tree_components, general.tree_components),
            graph_hidden: kept(self.graph_hidden, general.graph_hidden),
            graph_lr: kept(self.graph_lr, general.graph_lr),
            lambda_graph: kept(self.lambda_graph, general.lambda_graph),
            gamma_graph: kept(self.gamma_graph, general.gamma_graph),
            graph_from_labels: kept(self.graph_from_labels, general.graph_from_labels),
            lr_decay: kept(self.lr_decay, general.lr_decay),
            sampled_neighbours: kept(self.sampled_neighbours, general.sampled_neighbours),
            sampler_hidden: kept(self.sampler_hidden, general.sampler_hidden),
            temperature: kept(self.temperature, general.temperature),
            temperature_decay: kept(self.temperature_decay, general.temperature_decay),
            least_temperature: kept(self.least_temperature, general.least_temperature),
            agreement_hidden: kept(self.agreement_hidden, general.agreement_hidden),
            agreement_lr: kept(self.agreement_lr, general.agreement_lr),
            agreement_steps: kept(self.agreement_steps, general.agreement_steps),
            agreement_edges: kept(self.agreement_edges, general.agreement_edges),
            lambda_ll: kept(self.lambda_ll, general.lambda_ll),
            lambda_lu: kept(self.lambda_lu, general.lambda_lu),
            lambda_uu: kept(self.lambda_uu, general.lambda_uu),
            self_labels: kept(self.self_labels, general.self_labels),
            self_label_certainty: kept(self.self_label_certainty, general.self_label_certainty),
            keep_class_shares: kept(self.keep_class_shares, general.keep_class_shares),
            rounds: kept(self.rounds, general.rounds),
            round_patience: kept(self.round_patience, general.round_patience),
            similar_neighbours: kept(self.similar_neighbours, general.similar_neighbours),
            edge_lr: kept(self.edge_lr, general.edge_lr),
            edge_steps: kept(self.edge_steps, general.edge_steps),
            inner_steps: kept(self.inner_steps, general.inner_steps),
            inner_patience: kept(self.inner_patience, general.inner_patience),
            graph_samples: kept(self.graph_samples, general.graph_samples),
            outer_patience: kept(self.outer_patience, general.outer_patience),
            ..self
        }
    }
}

/// Returns a value as JSON.
fn json(value: Value) -> Json {
    match value {
        Value::Whole(number) => number.into(),
        Value::Number(number) => number.into(),
        Value::Switch(on) => on.into(),
        Value::Choice(name) => name.into(),
    }
}

/// Default of switches that are on in older files.
fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> ModelKind {
        name.parse().unwrap()
    }

    #[test]
    fn other_models_have_no_cgat_settings() {
        let names = |model| {
            let Json::Object(all) = serde_json::to_value(Settings::general(kind(model))).unwrap() else {
                unreachable!()
            };
            all.len()
        };
        assert_eq!((names("gat-go"), names("cgat"), names("cgat-full-supervised")), (32, 36, 38));
        let text = serde_json::to_string(&Settings::general(kind("gcn"))).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), Settings::general(kind("gcn")));
    }

    /// Names are the same in both, and every setting can be written and read by name.
    #[test]
    fn every_hyperparameter_is_a_setting() {
        let table = supergat_core::hyperparameters::HYPERPARAMETERS;
        let models = ["cgat-full-supervised", "supergat-mx", "label-propagation", "trees", "glcn", "neuralsparse"];
        for model in models.map(kind) {
            let mut settings = Settings::general(model);
            let plain = settings;
            for switch in table.iter().filter_map(|h| h.group.switch()) {
                settings.set(switch, true).unwrap();
            }
            let Json::Object(all) = serde_json::to_value(settings).unwrap() else { unreachable!() };
            assert!(all.keys().all(|name| name == "model" || table.iter().any(|h| h.name == name)));
            for Hyperparameter { name, .. } in table.iter().filter(|h| h.group.applies_to(model)) {
                let value = settings.get(name).unwrap_or_else(|| panic!("{name} is no setting"));
                let default = Hyperparameter::named(name).unwrap().default(model);
                let is_switch = table.iter().any(|h| h.group.switch() == Some(*name));
                assert_eq!(if is_switch { Value::Switch(true) } else { default }, value, "{name}");
                assert!(settings.set(name, value).unwrap());
            }
            for switch in table.iter().filter_map(|h| h.group.switch()) {
                settings.set(switch, false).unwrap();
            }
            assert_eq!((settings, plain), (Settings::general(model), settings));
        }
    }

    #[test]
    fn values_of_a_group_turn_its_switch_on() {
        let mut settings = Settings::general(kind("mlp"));
        assert!(settings.set("smooth_alpha", 0.7).unwrap());
        assert_eq!((settings.correct_and_smooth, settings.smooth_iterations), (Some(true), Some(50)));
        assert!(settings.set("correct_and_smooth", true).unwrap());
        assert_eq!((settings.smooth_alpha, settings.correct_alpha), (Some(0.7), Some(0.0)));
        assert!(settings.set("correct_and_smooth", false).unwrap());
        assert_eq!(settings, Settings::general(kind("mlp")));
    }

    #[test]
    fn sets_choices_by_name() {
        let mut settings = Settings::general(kind("gat-go"));
        assert!(settings.set("norm", "batch").unwrap() && settings.set("self_loops", false).unwrap());
        assert_eq!((settings.norm, settings.self_loops), (Norm::Batch, false));
        assert_eq!(settings.get("norm"), Some(Value::Choice("batch")));
        assert_eq!(serde_json::to_value(settings).unwrap()["norm"], "batch");
        let error = settings.set("norm", "group").unwrap_err().to_string();
        assert_eq!(error, "norm = group: must be one of none, layer, batch");
    }

    #[test]
    fn reads_settings_without_options_of_deep_networks() {
        let settings = Settings::general(kind("gat-go"));
        let Json::Object(mut all) = serde_json::to_value(settings).unwrap() else { unreachable!() };
        let switches = ["input_layer", "output_layer", "self_loops", "attention_dropout", "separate_ego"];
        let others = ["residual", "norm", "activation", "label_input", "label_reuse", "patience"];
        let new: Vec<_> = others.into_iter().chain(switches).collect();
        assert!(new.iter().all(|name| all.remove(*name).is_some()));
        assert_eq!(serde_json::from_value::<Settings>(Json::Object(all)).unwrap(), settings);
    }

    #[test]
    fn setting_an_early_stopping_value_enables_early_stopping() {
        let mut settings = Settings { early_stop: false, ..Settings::general(kind("gat-go")) };
        assert!(settings.set("early_stop_window", 7).unwrap());
        assert_eq!((settings.early_stop, settings.early_stop_window), (true, 7));
        assert!(!settings.set("lambda_g", 7).unwrap(), "gat-go has no constraints");
        assert!(settings.set("lamda_e", 1.0).unwrap_err().to_string().contains("lambda_e"));
    }
}
