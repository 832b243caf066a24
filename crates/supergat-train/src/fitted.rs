//! Trained models: networks of the engine, and baselines and systems that are not networks.

use crate::baselines::Baseline;
use crate::known_labels::KnownLabels;
use std::borrow::Cow;
use std::collections::HashMap;
use supergat_core::{Architecture, EdgeValues, Error, Example, Result};
use supergat_cpu::{Checkpoint, Model};
use supergat_data::Dataset;

/// A trained model.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_train::{Settings, run_seeds};
/// let dataset = supergat_data::load("random-partition:classes=2,nodes=170,degree=4,homophily=0.9").unwrap();
/// for (name, is_network) in [("label-propagation", false), ("gcn", true)] {
///     let settings = Settings::general(name.parse().unwrap()).with(|s| s.training.max_epochs = 2);
///     let runs = run_seeds(&dataset, &settings, &[0], 1, |_| ControlFlow::Continue(()))?;
///     assert_eq!(runs.model.architecture().model.to_string(), name);
///     assert_eq!(runs.model.network().is_some(), is_network);
///     assert_eq!(runs.model.logits(&dataset)?, runs.logits);
/// }
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum Fitted {
    /// A network of the engine, and the labels of training nodes if it reads them as input.
    Network(Model<f32>, Option<KnownLabels>),
    /// A baseline or a system.
    Baseline(Baseline),
}

/// Names of the lists of labels in a model file.
const LISTS: &str = "input";
/// Name of the setting, for errors.
const NAME: &str = "label_input";

impl Fitted {
    /// Returns the kind of the model, and the shape of a network.
    pub fn architecture(&self) -> &Architecture {
        match self {
            Self::Network(model, _) => model.architecture(),
            Self::Baseline(baseline) => baseline.architecture(),
        }
    }

    /// Returns the network; `None` if the model is not one.
    pub fn network(&self) -> Option<&Model<f32>> {
        match self {
            Self::Network(model, _) => Some(model),
            Self::Baseline(_) => None,
        }
    }

    /// Returns the logits of all nodes, one list per graph.
    pub fn logits(&self, dataset: &Dataset) -> Result<Vec<Vec<f32>>> {
        match self {
            Self::Network(model, _) => self.inputs(dataset)?.iter().map(|example| model.predict(example)).collect(),
            Self::Baseline(baseline) => baseline.logits(dataset),
        }
    }

    /// Returns the graphs of a dataset as a network reads them. One with labels as input reads those that are stored with
    /// it, and fails for other graphs.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use supergat_train::{Settings, run_seeds};
    /// let dataset = supergat_data::load("random-partition:classes=2,nodes=170,degree=4,homophily=0.9").unwrap();
    /// let settings = Settings::general("gcn".parse().unwrap()).with(|s| { s.training.max_epochs = 2; s.network.label_input = 0.5; });
    /// let model = run_seeds(&dataset, &settings, &[0], 1, |_| ControlFlow::Continue(()))?.model;
    /// let input = model.inputs(&dataset)?;
    /// assert_eq!((&input[0].train, input[0].test.len()), (&dataset.examples[0].train, 0));
    /// let other = supergat_data::load("random-partition:classes=2,nodes=170,degree=5,homophily=0.9").unwrap();
    /// assert!(model.inputs(&other).is_err());
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn inputs<'d>(&self, dataset: &'d Dataset) -> Result<Cow<'d, [Example<f32>]>> {
        let Self::Network(model, Some(known)) = self else { return Ok((&dataset.examples).into()) };
        known.check(dataset, NAME)?;
        let labelled = |(k, example)| known.labelled(k, example, model.architecture(), NAME);
        dataset.examples.iter().enumerate().map(labelled).collect()
    }

    /// Returns graph number `graph` of a dataset as [`Fitted::inputs`] returns it.
    pub fn input<'e>(&self, graph: usize, example: &'e Example<f32>) -> Result<Cow<'e, Example<f32>>> {
        match self {
            Self::Network(model, Some(known)) => {
                known.labelled(graph, example, model.architecture(), NAME).map(Cow::Owned)
            }
            _ => Ok(Cow::Borrowed(example)),
        }
    }

    /// Returns the coefficient and the edge logit of every edge and head of a graph, by its number in the dataset, for each
    /// attention layer. For systems, these are the learned weight and the score of every edge. Returns nothing for models
    /// without attention.
    pub fn attention(&self, graph: usize, example: &Example<f32>) -> Result<Vec<EdgeValues<f32>>> {
        match self {
            Self::Network(model, _) => model.attention(&*self.input(graph, example)?),
            Self::Baseline(baseline) => baseline.edges(example),
        }
    }

    /// Returns the edge logit of each pair `[source, target]` of a graph, by its number in the dataset, as
    /// [`supergat_core::Network::pair_logits`]; `None` for models without attention.
    pub fn pair_logits(&self, graph: usize, example: &Example<f32>, pairs: &[[u32; 2]]) -> Result<Option<Vec<f32>>> {
        self.network().map_or(Ok(None), |model| model.pair_logits(&*self.input(graph, example)?, pairs))
    }

    /// Stores the labels of training nodes with a network that reads them as input. Other models do not change.
    pub(crate) fn with_labels(self, dataset: &Dataset) -> Self {
        match self {
            Self::Network(model, None) if model.architecture().reads_labels() => {
                let known = KnownLabels::of_any(dataset, &[|example| &example.train]);
                Self::Network(model, Some(known))
            }
            other => other,
        }
    }

    /// Returns the content of a model file, with further metadata and lists.
    pub fn checkpoint(
        &self,
        mut metadata: HashMap<String, String>,
        mut lists: HashMap<String, Vec<u32>>,
    ) -> Checkpoint {
        match self {
            Self::Network(model, known) => {
                known.iter().for_each(|known| known.store(LISTS, &mut lists));
                Checkpoint::of(model.clone(), metadata, lists)
            }
            Self::Baseline(baseline) => {
                baseline.store(&mut metadata, &mut lists);
                let (architecture, weights) = (*baseline.architecture(), baseline.weights());
                Checkpoint { architecture, network: None, weights, metadata, lists }
            }
        }
    }

    /// Takes the model out of the content of a model file; other metadata and lists remain.
    pub fn read(checkpoint: &mut Checkpoint) -> Result<Self> {
        match checkpoint.network.take() {
            Some(model) if model.architecture().reads_labels() => {
                let Architecture { classes, multi_label, .. } = *model.architecture();
                let known = KnownLabels::restore(LISTS, &mut checkpoint.lists, classes, multi_label)?;
                let reason = "it has no labels for its input";
                let known = known.ok_or_else(|| Error::Checkpoint { reason: reason.into() })?;
                Ok(Self::Network(model, Some(known)))
            }
            Some(model) => Ok(Self::Network(model, None)),
            None if checkpoint.architecture.model.is_network() => {
                Err(Error::Checkpoint { reason: "its weights are missing".into() })
            }
            None => Baseline::restore(checkpoint).map(Self::Baseline),
        }
    }
}
