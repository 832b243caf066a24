//! A validated training problem: examples, architecture, configuration and the plan of every example.

use crate::architecture::Architecture;
use crate::config::TrainConfig;
use crate::device::{Cpu, Device, SingleDevice};
use crate::error::{Error, Result};
use crate::example::{Example, ExampleShape};
use crate::kernels::Primitives;
use crate::layers::{AttentionLoss, Context, Size};
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
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]])?;
/// let architecture = Architecture::new("supergat-mx".parse().unwrap(), &example);
/// let config = TrainConfig { max_epochs: 20, ..TrainConfig::default() };
/// let prepared = Prepared::new(&[example], architecture, config)?;
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
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]])?;
/// let architecture = Architecture::new("gcn".parse().unwrap(), &example);
/// let config = TrainConfig { select: Some(Select::Auroc), ..TrainConfig::default() };
/// let prepared = Prepared::new(&[example], architecture, config)?;
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

impl<T: Primitives> Prepared<Cpu<T>> {
    /// Validates the architecture and the configuration, checks that every example fits them, and prepares
    /// the examples for the CPU.
    pub fn new(examples: &[Example<T>], architecture: Architecture, config: TrainConfig) -> Result<Self> {
        Self::on(&Cpu::default(), examples, architecture, config)
    }

    /// Prepares one example for forward passes of a network of this architecture, on the CPU. Labels are read only if
    /// those of training nodes are input.
    pub fn for_evaluation(example: &Example<T>, architecture: Architecture) -> Result<Self> {
        Self::for_evaluation_on(&Cpu::default(), example, architecture)
    }
}

impl<D: SingleDevice> Prepared<D> {
    /// Returns the number of bytes of the copies with internal numbers, for examples with an order.
    pub fn renumbered_bytes(&self) -> u64 {
        self.internal.iter().flatten().map(Example::bytes).sum()
    }
}

impl<D: Device> Prepared<D> {
    /// Like [`Prepared::new`], on any device.
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
                AttentionLoss::Edges { p_e: config.p_e, p_n: config.p_n }
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
        architecture.model.form().map_or(Ok(()), |form| device.supports_form(form))?;
        let internal = examples.iter().map(D::Example::internal).collect::<Result<Vec<_>>>()?;
        let numbered = examples.iter().zip(&internal).map(|(given, internal)| internal.as_ref().unwrap_or(given));
        let place = |example| device.place(example, &architecture, loss);
        let problems = numbered.map(place).collect::<Result<_>>()?;
        Ok(Self { device: device.clone(), examples, internal, problems, architecture, config, scorer: None })
    }

    /// Prepares the same examples for another architecture.
    pub(crate) fn with_architecture(&self, architecture: Architecture) -> Result<Self> {
        let prepared = Self::on(&self.device, &self.examples, architecture, self.config)?;
        Ok(Self { scorer: self.scorer.as_ref().map(|scorer| Scorer(Arc::clone(&scorer.0))), ..prepared })
    }

    /// Computes the metrics of every epoch by a scorer.
    pub fn scored_by(mut self, scorer: Scorer<D::Number>) -> Self {
        self.scorer = Some(scorer);
        self
    }

    /// Returns the scorer of the metrics, if there is one.
    pub(crate) fn scorer(&self) -> Option<&Scorer<D::Number>> {
        self.scorer.as_ref()
    }

    /// Like [`Prepared::for_evaluation`], on any device.
    pub fn for_evaluation_on(device: &D, example: &D::Example, architecture: Architecture) -> Result<Self> {
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
    pub(crate) fn problems(&self) -> &[D::Problem] {
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
            focal_gamma: self.config.focal_gamma,
        }
    }

    /// Returns the sizes that memory for all examples must have; `training` includes backward passes.
    pub(crate) fn size(&self, training: bool) -> Size {
        Size::of(&self.examples, training)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Features;
    use crate::graph::{Direction, Graph};
    use crate::labels::Labels;
    use crate::layers::Contrast;
    use crate::model::Model;
    use crate::session::Session;
    use crate::train::Trainer;

    fn example(columns: usize) -> Example<f32> {
        let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], Direction::Undirected).unwrap();
        let features = Features::dense(3, columns, vec![0.5; 3 * columns]).unwrap();
        let labels = Labels::Single { classes: 2, of: vec![0, 1, 0] };
        Example::new(graph, features, labels, [vec![0], vec![1], vec![2]]).unwrap()
    }

    fn architecture(model: &str, example: &Example<f32>) -> Architecture {
        Architecture::new(model.parse().unwrap(), example)
    }

    #[test]
    fn rejects_examples_of_another_shape() {
        let (two, three) = (example(2), example(3));
        let error = Prepared::new(&[two.clone(), three], architecture("gat-go", &two), TrainConfig::default());
        let message = error.unwrap_err().to_string();
        assert_eq!(message, "the model expects features per node = 2, but the data has 3");
    }

    #[test]
    fn rejects_constraints_for_other_models_than_cgat() {
        let example = example(2);
        let contrast = Contrast { top_k: 4, negatives_per_edge: 5, lambda_g: 1.0, margin_g: 0.5, boundary: None };
        let with = TrainConfig { contrast: Some(contrast), ..TrainConfig::default() };
        let prepare =
            |model, config| Prepared::new(std::slice::from_ref(&example), architecture(model, &example), config);
        assert!(prepare("gat-go", with).is_err() && prepare("cgat", TrainConfig::default()).is_err());
        assert!(prepare("cgat", with).is_ok());
    }

    #[test]
    fn rejects_a_model_of_another_architecture() {
        let example = example(2);
        let shape = architecture("gat-go", &example);
        let prepared = Prepared::new(&[example], shape, TrainConfig::default()).unwrap();
        let other = Model::new(Architecture { hidden: 3, ..shape }, 0).unwrap();
        assert!(matches!(Session::new(&prepared, other, 0, false), Err(Error::OtherArchitecture { .. })));
    }

    #[test]
    fn shares_graph_and_features() {
        let example = example(2);
        let prepared =
            Prepared::new(std::slice::from_ref(&example), architecture("gat-go", &example), TrainConfig::default());
        let prepared = prepared.unwrap();
        assert!(Arc::ptr_eq(&prepared.examples()[0].graph, &example.graph));
        assert!(Arc::ptr_eq(&prepared.examples()[0].features, &example.features));
    }

    #[test]
    fn rejects_empty_training_and_validation_splits() {
        let full = example(2);
        let without_training = Example { train: vec![], ..full.clone() };
        let without_validation = Example { validation: vec![], ..full.clone() };
        for (example, split) in [(without_training, "training"), (without_validation, "validation")] {
            let prepared = Prepared::new(&[example], architecture("supergat-go", &full), TrainConfig::default());
            let error = Trainer::new(&prepared.unwrap(), 0).unwrap_err();
            assert_eq!(error, Error::EmptySplit { split });
        }
    }
}
