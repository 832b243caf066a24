//! Systems whose training consists of rounds: GAM and LDS.

use super::gam::{GamOptions, GamTrainer};
use super::lds::{LdsModel, LdsOptions, LdsTrained, LdsTrainer};
use super::{Options, SystemModel, TrainedSystem};
use std::ops::ControlFlow;
use supergat_core::checkpoint::Weights;
use supergat_core::hash::Fnv;
use supergat_core::train::check_selection;
use supergat_core::{Architecture, Convolution, Epoch, Error, Example, Graph, ModelKind, Prepared, Result, Trained};
use supergat_cpu::kernels::Primitives;
use supergat_cpu::{Cpu, Model};

/// Graphs that a model predicts on, sampled from a learned distribution.
///
/// See [`super::train`] for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearnedGraphs {
    /// Hash of the graph that the model was trained on.
    pub hash: u64,
    /// Number of nodes.
    pub nodes: usize,
    /// Links `[i, j]` with i < j of each graph, in ascending order.
    pub links: Vec<Vec<[u32; 2]>>,
}

/// Returns a hash of the links of a graph.
fn graph_hash(graph: &Graph) -> u64 {
    let mut hash = Fnv::default();
    hash.add_numbers(&graph.incoming().offsets);
    hash.add_numbers(&graph.incoming().neighbours);
    hash.value()
}

/// Trains a system in rounds. Panics if its options are those of another one.
pub(super) fn train<T: Primitives>(
    options: Options,
    prepared: &Prepared<Cpu<T>>,
    seed: u64,
    observe: &mut dyn FnMut(&Epoch) -> ControlFlow<()>,
) -> Result<TrainedSystem<T>> {
    match options {
        Options::Gam(options) => train_gam(prepared, options, seed, observe),
        Options::Lds(options) => train_lds(prepared, options, seed, observe),
        Options::Glcn(_) | Options::NeuralSparse(_) => unreachable!("trained by its learner"),
    }
}

/// Returns the logits of a model that was trained in rounds.
pub(super) fn predict<T: Primitives>(model: &SystemModel<T>, example: &Example<T>) -> Result<Vec<T>> {
    match model.options {
        Options::Lds(_) => predict_lds(model, example),
        _ => network(model)?.predict(example),
    }
}

/// Returns the architecture of the GCN that GAM trains.
fn of_gcn(architecture: &Architecture) -> Architecture {
    Architecture { model: ModelKind::Convolution(Convolution::Gcn), ..*architecture }
}

/// Trains a GCN by GAM.
fn train_gam<T: Primitives>(
    prepared: &Prepared<Cpu<T>>,
    options: GamOptions,
    seed: u64,
    observe: impl FnMut(&Epoch) -> ControlFlow<()>,
) -> Result<TrainedSystem<T>> {
    check_selection(prepared)?;
    let network = prepared.with_architecture(of_gcn(prepared.architecture()))?;
    let Trained { model, outcome, mut logits } = GamTrainer::new(&network, options, seed)?.run(observe)?;
    let device = network.device();
    let matrix = |p: &supergat_core::layers::Parameter<Cpu<T>>| {
        Ok(Weights { name: p.name.clone(), shape: p.shape, elements: p.to_rows(device)? })
    };
    let weights = model.parameters().map(matrix).collect::<Result<_>>()?;
    let (architecture, options) = (*prepared.architecture(), Options::Gam(options));
    let model = SystemModel { architecture, options, weights, graphs: None };
    Ok(TrainedSystem { model, outcome, logits: logits.pop().expect("one graph") })
}

/// Returns the GCN of a model that GAM trained.
fn network<T: Primitives>(model: &SystemModel<T>) -> Result<Model<T>> {
    let mut network = Model::zeros(of_gcn(&model.architecture))?;
    let device = *network.device();
    network.for_each_parameter(|parameter| {
        let is_saved = |saved: &&Weights<T>| saved.name == parameter.name && saved.shape == parameter.shape;
        let saved = model.weights.iter().find(is_saved).ok_or_else(|| Error::Checkpoint {
            reason: format!("it has no `{}` of shape {:?}", parameter.name, parameter.shape),
        })?;
        parameter.set_rows(&device, &saved.elements)
    })?;
    Ok(network)
}

/// Returns the bytes of weights and of passes of GAM.
pub(super) fn gam_bytes<T: Primitives>(prepared: &Prepared<Cpu<T>>, options: GamOptions) -> Result<[u64; 2]> {
    let network = prepared.with_architecture(of_gcn(prepared.architecture()))?;
    let workspace = Model::<T>::zeros(*network.architecture())?.workspace_bytes(&network, true)?;
    let own: u64 = network.examples().iter().map(|example| GamTrainer::<T>::bytes(example, &options)).sum();
    Ok([network.architecture().parameter_bytes::<T>(), workspace + own])
}

const NAMES: [&str; 2] = ["layer1.w", "layer2.w"];

/// Trains a network and its edges by LDS.
fn train_lds<T: Primitives>(
    prepared: &Prepared<Cpu<T>>,
    options: LdsOptions,
    seed: u64,
    observe: impl FnMut(&Epoch) -> ControlFlow<()>,
) -> Result<TrainedSystem<T>> {
    check_selection(prepared)?;
    let (architecture, config) = (prepared.architecture(), prepared.config());
    let refuse = |name, value: String, reason: &str| Err(Error::Hyperparameter { name, value, reason: reason.into() });
    if let Some(select) = config.select {
        return refuse("select", select.to_string(), "lds selects by accuracy; choose accuracy, or another model");
    }
    let focal_gamma = config.training.focal_gamma;
    if focal_gamma != 0.0 {
        return refuse("focal_gamma", focal_gamma.to_string(), "lds trains with cross-entropy; set it to 0");
    }
    let LdsTrained { model, outcome, logits } = LdsTrainer::new(prepared, options, seed)?.run(observe)?;
    let (graph, widths) = (&prepared.examples()[0].graph, model.widths());
    let matrix = |k: usize| {
        let elements = model.weights()[k].clone();
        Weights { name: NAMES[k].into(), shape: [elements.len() / widths[k], widths[k]], elements }
    };
    let graphs = LearnedGraphs { hash: graph_hash(graph), nodes: graph.nodes(), links: model.links() };
    let weights = vec![matrix(0), matrix(1)];
    let model =
        SystemModel { architecture: *architecture, options: Options::Lds(options), weights, graphs: Some(graphs) };
    Ok(TrainedSystem { model, outcome, logits })
}

/// Returns the logits of a model that LDS trained. Fails for another graph.
fn predict_lds<T: Primitives>(model: &SystemModel<T>, example: &Example<T>) -> Result<Vec<T>> {
    let refuse = |reason: &str| Error::Checkpoint { reason: reason.into() };
    model.architecture.accepts_features(example)?;
    let graphs = model.graphs.as_ref().ok_or_else(|| refuse("it has no graphs"))?;
    if graphs.nodes != example.graph.nodes() || graphs.hash != graph_hash(&example.graph) {
        return Err(refuse(
            "lds predicts the graph that it was trained on, and this is another one: train a model on it",
        ));
    }
    let matrix = |name: &str, shape: [usize; 2]| {
        let found = model.weights.iter().find(|saved| saved.name == name && saved.shape == shape);
        found.map(|saved| saved.elements.clone()).ok_or_else(|| refuse("its weights are missing"))
    };
    let Architecture { input_features, classes, network, .. } = model.architecture;
    let hidden = network.hidden;
    let weights = [matrix(NAMES[0], [input_features, hidden])?, matrix(NAMES[1], [hidden, classes])?];
    LdsModel::new([hidden, classes], weights, graphs.nodes, &graphs.links)?.logits(&example.features)
}

/// Returns the bytes of weights and of passes of LDS. Fails for graphs that are too large.
pub(super) fn lds_bytes<T: Primitives>(prepared: &Prepared<Cpu<T>>, options: LdsOptions) -> Result<[u64; 2]> {
    let of_example = |example| LdsTrainer::<T>::bytes(example, prepared.architecture().network.hidden, &options);
    let passes = prepared.examples().iter().map(of_example).sum::<Result<u64>>()?;
    Ok([prepared.architecture().parameter_bytes::<T>(), passes])
}
