//! Baselines: classifiers that are not networks, and systems, which have their own training.
//!
//! A baseline is fitted in one call, and returns logits like a network. A system is also observed epoch by epoch.
//! Everything after the logits is the same for both: calibration, metrics, selection of the best seed, run folders,
//! sweeps, predictions. To add one:
//!
//! 1. a variant of [`supergat_core::ModelKind`], with its name, for which `is_network` is false;
//! 2. its hyperparameters in [`supergat_core::hyperparameters`], in a group of their own, and in [`Settings`];
//! 3. a file in this folder with its type: `fit`, `logits`, `store` and `restore`;
//! 4. a variant of [`Baseline`].

mod label_propagation;
mod trees;

pub use label_propagation::LabelPropagation;
pub use trees::Trees;
pub use trees::width as tree_width;

use crate::settings::Settings;
use std::collections::HashMap;
use supergat_core::checkpoint::Weights;
use supergat_core::{Architecture, EdgeValues, Error, Example, ModelKind, Result};
use supergat_cpu::Checkpoint;
use supergat_data::Dataset;
use supergat_systems::{LearnedGraphs, SystemModel};

/// A fitted model that is not a network.
///
/// See [`Fitted`](crate::Fitted) for an example.
#[derive(Debug, Clone)]
pub enum Baseline {
    /// Label propagation.
    LabelPropagation(LabelPropagation),
    /// Gradient-boosted trees.
    Trees(Trees),
    /// A system.
    System(SystemModel),
}

/// Entry of the metadata of a model file: options of a system.
const SYSTEM: &str = "system";

impl Baseline {
    /// Fits the model that the settings name. Labels of test nodes are not read; those of validation nodes only select, such
    /// as the number of trees. A model with random numbers takes them from streams of the seed.
    pub(crate) fn fit(dataset: &Dataset, settings: &Settings, seed: u64) -> Result<Self> {
        match settings.model {
            ModelKind::LabelPropagation => LabelPropagation::fit(dataset, settings).map(Self::LabelPropagation),
            ModelKind::Trees => Trees::fit(dataset, settings, seed).map(Self::Trees),
            other => unreachable!("{other} is trained in epochs"),
        }
    }

    /// Returns the kind of the model and its classes. The shape of a network in it has no meaning.
    pub fn architecture(&self) -> &Architecture {
        match self {
            Self::LabelPropagation(model) => model.architecture(),
            Self::Trees(model) => model.architecture(),
            Self::System(model) => &model.architecture,
        }
    }

    /// Returns the logits of all nodes, one list per graph.
    pub fn logits(&self, dataset: &Dataset) -> Result<Vec<Vec<f32>>> {
        match self {
            Self::LabelPropagation(model) => model.logits(dataset),
            Self::Trees(model) => model.logits(dataset),
            Self::System(model) => dataset.examples.iter().map(|example| model.predict(example)).collect(),
        }
    }

    /// Adds the model to the metadata and lists of a model file.
    pub(crate) fn store(&self, metadata: &mut HashMap<String, String>, lists: &mut HashMap<String, Vec<u32>>) {
        match self {
            Self::LabelPropagation(model) => model.store(metadata, lists),
            Self::Trees(model) => model.store(lists),
            Self::System(model) => {
                metadata.insert(SYSTEM.into(), serde_json::to_string(&model.options).expect("plain numbers"));
                model.graphs.iter().for_each(|graphs| store_graphs(graphs, lists));
            }
        }
    }

    /// Returns the matrices of weights of a model file.
    pub(crate) fn weights(&self) -> Vec<Weights<f32>> {
        if let Self::System(model) = self { model.weights.clone() } else { Vec::new() }
    }

    /// Returns the weight and the score of every edge of a graph; nothing for models that do not learn them.
    pub(crate) fn edges(&self, example: &Example<f32>) -> Result<Vec<EdgeValues<f32>>> {
        match self {
            Self::System(model) => model.edges(example),
            Self::LabelPropagation(_) | Self::Trees(_) => Ok(Vec::new()),
        }
    }

    /// Takes the model out of the content of a model file.
    pub(crate) fn restore(checkpoint: &mut Checkpoint) -> Result<Self> {
        match checkpoint.architecture.model {
            ModelKind::LabelPropagation => LabelPropagation::restore(checkpoint).map(Self::LabelPropagation),
            ModelKind::Trees => Trees::restore(checkpoint).map(Self::Trees),
            ModelKind::System(_) => {
                let refuse = |reason: &str| Error::Checkpoint { reason: reason.into() };
                let entry = checkpoint.metadata.remove(SYSTEM).ok_or_else(|| refuse("it has no options"))?;
                let options = serde_json::from_str(&entry).map_err(|_| refuse("its options are unreadable"))?;
                let weights = std::mem::take(&mut checkpoint.weights);
                let graphs = restore_graphs(&mut checkpoint.lists)?;
                let model = SystemModel { architecture: checkpoint.architecture, options, weights, graphs };
                model.check().map(|()| Self::System(model))
            }
            network => unreachable!("{network} is a network"),
        }
    }
}

/// List of a model file with the hash and the number of nodes of a graph, and the number of graphs sampled for it.
const GRAPHS: &str = "graphs";

/// Returns the name of the list with the links of a sampled graph.
fn graph_name(number: usize) -> String {
    format!("{GRAPHS}.{number}")
}

/// Adds sampled graphs to the lists of a model file.
fn store_graphs(graphs: &LearnedGraphs, lists: &mut HashMap<String, Vec<u32>>) {
    let LearnedGraphs { hash, nodes, links } = graphs;
    lists.insert(GRAPHS.into(), vec![*hash as u32, (*hash >> 32) as u32, *nodes as u32, links.len() as u32]);
    for (number, links) in links.iter().enumerate() {
        lists.insert(graph_name(number), links.concat());
    }
}

/// Takes sampled graphs out of the lists of a model file, if it has any.
fn restore_graphs(lists: &mut HashMap<String, Vec<u32>>) -> Result<Option<LearnedGraphs>> {
    let Some(entry) = lists.remove(GRAPHS) else { return Ok(None) };
    let refuse = || Error::Checkpoint { reason: "its sampled graphs are unreadable".into() };
    let &[low, high, nodes, count] = &entry[..] else { return Err(refuse()) };
    let links = |number| {
        let list = lists.remove(&graph_name(number)).ok_or_else(refuse)?;
        let (pairs, rest) = list.as_chunks::<2>();
        if rest.is_empty() { Ok(pairs.to_vec()) } else { Err(refuse()) }
    };
    let links = (0..count as usize).map(links).collect::<Result<_>>()?;
    Ok(Some(LearnedGraphs { hash: u64::from(high) << 32 | u64::from(low), nodes: nodes as usize, links }))
}

/// Fails if this build cannot train a model, for want of a cargo feature.
pub fn check_available(model: ModelKind) -> Result<()> {
    if model == ModelKind::Trees && cfg!(not(feature = "trees")) {
        let reason = "this build does not train it; build supergat with the feature `trees`";
        return Err(Error::Hyperparameter { name: "model", value: model.to_string(), reason: reason.into() });
    }
    Ok(())
}
