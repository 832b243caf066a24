//! A validated training problem: examples, architecture, configuration and the plan of every example.

use crate::architecture::Architecture;
use crate::config::TrainConfig;
use crate::device::{AttentionLoss, Device, SingleDevice};
use crate::error::{Error, Result};
use crate::example::{Example, ExampleShape};
use crate::layers::{Cache, Context, Layer, Scratch, Size};
use crate::memory::Arena;
use crate::model_kind::ModelKind;
use std::fmt;
use std::sync::Arc;

/// Validated examples, architecture and training configuration, with everything that all runs on them share.
///
/// Models are trained and run on prepared examples only, so that the shapes of model, example and plan always
/// match. Graphs and features are shared, not copied.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
/// use supergat_core::{Prepared, TrainConfig, Trainer};
/// use supergat_cpu::Cpu;
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]])?;
/// let architecture = Architecture::new("supergat-mx".parse().unwrap(), &example);
/// let config = TrainConfig::default().with(|config| config.training.max_epochs = 20);
/// let prepared = Prepared::on(&Cpu::default(), &[example], architecture, config)?;
/// let trained = Trainer::new(&prepared, 0)?.run(|_| ControlFlow::Continue(()))?;
/// assert_eq!(trained.outcome.epochs, 20);
/// assert_eq!(trained.logits[0].len(), 4 * 2);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Prepared<D: Device> {
    device: D,
    examples: Vec<D::Example>,
    /// Examples with internal numbers, where they have an order.
    internal: Vec<Option<D::Example>>,
    problems: Vec<D::Problem>,
    architecture: Architecture,
    config: TrainConfig,
    scorer: Option<Scorer<D::Number>>,
}

/// Metrics of the validation and the test nodes, computed after every epoch from the logits of all nodes, one list per
/// example. They replace accuracy and micro-F1.
///
/// ```
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
/// use supergat_core::{Prepared, Scorer, Select, TrainConfig, Trainer};
/// use supergat_cpu::Cpu;
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]])?;
/// let architecture = Architecture::new("gcn".parse().unwrap(), &example);
/// let config = TrainConfig { select: Some(Select::Auroc), ..TrainConfig::default() };
/// let prepared = Prepared::on(&Cpu::default(), &[example], architecture, config)?;
/// assert!(Trainer::new(&prepared, 0).is_err(), "there is no scorer");
/// let prepared = prepared.scored_by(Scorer::new(|logits: &[Vec<f32>]| [logits.len() as f64, 0.25]));
/// let epoch = Trainer::new(&prepared, 0)?.next_epoch()?.unwrap();
/// assert_eq!((epoch.validation.metric, epoch.test.metric), (1.0, 0.25));
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub struct Scorer<T>(Arc<ScoreOf<T>>);

type ScoreOf<T> = dyn Fn(&[Vec<T>]) -> [f64; 2] + Send + Sync;

impl<T> Scorer<T> {
    /// Creates a scorer from a function of the logits. Its numbers must be finite, and larger ones better.
    pub fn new(score: impl Fn(&[Vec<T>]) -> [f64; 2] + Send + Sync + 'static) -> Self {
        Self(Arc::new(score))
    }

    /// Returns the score of the validation nodes and that of the test nodes.
    pub fn score(&self, logits: &[Vec<T>]) -> [f64; 2] {
        (self.0)(logits)
    }
}

impl<T> fmt::Debug for Scorer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scorer")
    }
}

impl<D: SingleDevice> Prepared<D> {
    /// Returns the number of bytes of the copies with internal numbers, for examples with an order.
    pub fn renumbered_bytes(&self) -> u64 {
        self.internal.iter().flatten().map(Example::bytes).sum()
    }
}

impl<D: Device> Prepared<D> {
    /// Validates the architecture and the configuration, checks that every example fits them, and prepares
    /// the examples for a device.
    pub fn on(device: &D, examples: &[D::Example], architecture: Architecture, config: TrainConfig) -> Result<Self> {
        architecture.check()?;
        config.check()?;
        let constrained = matches!(architecture.model, ModelKind::Constrained { .. });
        if constrained != config.contrast.is_some() {
            return Err(Error::Hyperparameter {
                name: "contrast",
                value: if constrained { "none" } else { "given" }.into(),
                reason: "belongs to cgat models, and to no others".into(),
            });
        }
        examples.iter().try_for_each(|example| architecture.accepts(example))?;
        let loss = match config.contrast {
            Some(contrast) => AttentionLoss::Margins(contrast),
            None if architecture.model.is_self_supervised() => {
                AttentionLoss::Edges { p_e: config.edge_loss.p_e, p_n: config.edge_loss.p_n }
            }
            None => AttentionLoss::None,
        };
        Self::place(device, examples.to_vec(), loss, architecture, config)
    }

    /// Places the examples on the device, with internal numbers where they have an order.
    fn place(
        device: &D,
        examples: Vec<D::Example>,
        loss: AttentionLoss,
        architecture: Architecture,
        config: TrainConfig,
    ) -> Result<Self> {
        device.supports(&architecture)?;
        let internal = examples.iter().map(D::Example::internal).collect::<Result<Vec<_>>>()?;
        let numbered = examples.iter().zip(&internal).map(|(given, internal)| internal.as_ref().unwrap_or(given));
        let place = |example| device.place(example, &architecture, loss);
        let problems = numbered.map(place).collect::<Result<_>>()?;
        Ok(Self { device: device.clone(), examples, internal, problems, architecture, config, scorer: None })
    }

    /// Prepares the same examples for another architecture.
    pub fn with_architecture(&self, architecture: Architecture) -> Result<Self> {
        let prepared = Self::on(&self.device, &self.examples, architecture, self.config)?;
        Ok(Self { scorer: self.scorer.as_ref().map(|scorer| Scorer(Arc::clone(&scorer.0))), ..prepared })
    }

    /// Computes the metrics of every epoch by a scorer.
    pub fn scored_by(mut self, scorer: Scorer<D::Number>) -> Self {
        self.scorer = Some(scorer);
        self
    }

    /// Returns the scorer of the metrics, if there is one.
    pub fn scorer(&self) -> Option<&Scorer<D::Number>> {
        self.scorer.as_ref()
    }

    /// Prepares one example for forward passes of a network of this architecture. Labels are read only if those of
    /// training nodes are input.
    pub fn for_evaluation(device: &D, example: &D::Example, architecture: Architecture) -> Result<Self> {
        architecture.accepts_features(example)?;
        if architecture.reads_labels() {
            architecture.accepts(example)?;
        }
        Self::place(device, vec![example.clone()], AttentionLoss::None, architecture, TrainConfig::default())
    }

    /// Returns the device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Returns the examples as they were given.
    pub fn examples(&self) -> &[D::Example] {
        &self.examples
    }

    /// Returns the examples in the memory of the device.
    pub fn problems(&self) -> &[D::Problem] {
        &self.problems
    }

    /// Returns the architecture of the network.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Returns the training configuration.
    pub fn config(&self) -> &TrainConfig {
        &self.config
    }

    /// Returns one example for a pass of a layer: with a clock in training, without in evaluation.
    pub fn context<'a>(&'a self, example: usize, clock: Option<&'a D::Clock>) -> Context<'a, D> {
        Context {
            device: &self.device,
            given: &self.examples[example],
            example: self.internal[example].as_ref().unwrap_or(&self.examples[example]),
            problem: &self.problems[example],
            number: example,
            clock,
            training: &self.config.training,
        }
    }

    /// Allocates the memory of a single layer, for passes over any of the examples without dropout.
    pub fn memory_of(&self, layer: &Layer<D>) -> Result<(Cache<D>, Scratch<D>)> {
        let (size, mut arena) = (self.size(true), Arena::allocating());
        let cache = layer.cache(&self.device, size, 0, true, &mut arena)?;
        let widths = [layer.width()];
        let scratch = Scratch::new(&self.device, &self.problems, size, &widths, layer.has_shortcut(), &mut arena)?;
        Ok((cache, scratch))
    }

    /// Returns the sizes that memory for all examples must have; `training` includes backward passes.
    pub fn size(&self, training: bool) -> Size {
        Size::of(&self.examples, training)
    }
}
