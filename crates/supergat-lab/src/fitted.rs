//! Trained models: networks of the engine, and baselines that are not networks.

use crate::baselines::Baseline;
use crate::runs::logits;
use std::collections::HashMap;
use supergat_core::checkpoint::Checkpoint;
use supergat_core::{Architecture, EdgeValues, Error, Example, Model, Result};
use supergat_data::Dataset;

/// A trained model.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_lab::{Settings, run_seeds};
/// let dataset = supergat_data::load("random-partition:classes=2,nodes=170,degree=4,homophily=0.9").unwrap();
/// for (name, is_network) in [("label-propagation", false), ("gcn", true)] {
///     let settings = Settings { max_epochs: 2, ..Settings::general(name.parse().unwrap()) };
///     let runs = run_seeds(&dataset, &settings, &[0], 1, |_| ControlFlow::Continue(()))?;
///     assert_eq!(runs.model.architecture().model.to_string(), name);
///     assert_eq!(runs.model.network().is_some(), is_network);
///     assert_eq!(runs.model.logits(&dataset)?, runs.logits);
/// }
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub enum Fitted {
    /// A network of the engine.
    Network(Model<f32>),
    /// A model that is not a network.
    Baseline(Baseline),
}

impl Fitted {
    /// Returns the kind of the model, and the shape of a network.
    pub fn architecture(&self) -> &Architecture {
        match self {
            Self::Network(model) => model.architecture(),
            Self::Baseline(baseline) => baseline.architecture(),
        }
    }

    /// Returns the network; `None` if the model is not one.
    pub fn network(&self) -> Option<&Model<f32>> {
        match self {
            Self::Network(model) => Some(model),
            Self::Baseline(_) => None,
        }
    }

    /// Returns the logits of all nodes, one list per graph.
    pub fn logits(&self, dataset: &Dataset) -> Result<Vec<Vec<f32>>> {
        match self {
            Self::Network(model) => logits(model, dataset),
            Self::Baseline(baseline) => baseline.logits(dataset),
        }
    }

    /// Returns the coefficient and the edge logit of every edge and head, for each attention layer; nothing for models
    /// without attention.
    pub fn attention(&self, example: &Example<f32>) -> Result<Vec<EdgeValues<f32>>> {
        self.network().map_or(Ok(Vec::new()), |model| model.attention(example))
    }

    /// Returns the edge logit of each pair `[source, target]`, as [`supergat_core::Network::pair_logits`]; `None` for
    /// models without attention.
    pub fn pair_logits(&self, example: &Example<f32>, pairs: &[[u32; 2]]) -> Result<Option<Vec<f32>>> {
        self.network().map_or(Ok(None), |model| model.pair_logits(example, pairs))
    }

    /// Returns the content of a model file, with further metadata and lists.
    pub fn checkpoint(
        &self,
        mut metadata: HashMap<String, String>,
        mut lists: HashMap<String, Vec<u32>>,
    ) -> Checkpoint {
        match self {
            Self::Network(model) => Checkpoint::of(model.clone(), metadata, lists),
            Self::Baseline(baseline) => {
                baseline.store(&mut metadata, &mut lists);
                Checkpoint { architecture: *baseline.architecture(), network: None, metadata, lists }
            }
        }
    }

    /// Takes the model out of the content of a model file; other metadata and lists remain.
    pub fn read(checkpoint: &mut Checkpoint) -> Result<Self> {
        match checkpoint.network.take() {
            Some(model) => Ok(Self::Network(model)),
            None if checkpoint.architecture.model.is_network() => {
                Err(Error::Checkpoint { reason: "its weights are missing".into() })
            }
            None => Baseline::restore(checkpoint).map(Self::Baseline),
        }
    }
}
