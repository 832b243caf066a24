//! Members of a classifier: trained models with the steps after them. The usual classifier has one. The prediction of
//! several is the mean of their probabilities.

use std::sync::Arc;
use supergat_cluster::peers::Alone;
use supergat_core::{Architecture, EdgeValues, Error, Example, Result};
use supergat_data::Dataset;
use supergat_train::gpu::GpuNetwork;
use supergat_train::{Corrector, Decision, DeviceChoice, Divided, Ensemble, Fitted, SeedRun};

/// A trained model with the steps after it.
#[derive(Debug)]
pub(crate) struct Member {
    pub model: Fitted,
    /// Copy of the model on the GPU that predicts.
    gpu: Option<GpuNetwork>,
    /// Correct and Smooth with the labels that it uses.
    pub corrector: Option<Corrector>,
    /// Seed of the run.
    pub seed: Option<u64>,
    /// Epoch with the best validation metric, from 0.
    pub best_epoch: Option<usize>,
    /// Temperature of the probabilities. Several members have a threshold together, which the classifier has.
    pub decision: Decision,
}

impl Member {
    pub fn new(
        model: Fitted,
        corrector: Option<Corrector>,
        seed: Option<u64>,
        best_epoch: Option<usize>,
        decision: Decision,
    ) -> Self {
        Self { model, gpu: None, corrector, seed, best_epoch, decision }
    }

    /// Returns the member of a run on a dataset: its model with the steps after it.
    pub fn of(run: &SeedRun, model: Fitted, decision: Decision, dataset: &Dataset) -> Result<Self> {
        let corrector = run.correction.map(|correction| Corrector::new(dataset, correction.method)).transpose()?;
        Ok(Self::new(model, corrector, Some(run.seed), Some(run.outcome.best_epoch), decision))
    }

    /// Chooses the device of the model.
    pub fn on(mut self, device: DeviceChoice) -> Result<Self> {
        self.gpu = match (device.resolved(), self.model.network()) {
            (DeviceChoice::Cuda(number), Some(network)) => Some(GpuNetwork::new(network, number)?),
            // Other models predict on the CPU.
            _ => None,
        };
        Ok(self)
    }

    /// Returns the logits of all nodes, one list per graph, after Correct and Smooth.
    pub fn logits(&self, dataset: &Dataset) -> Result<Vec<Vec<f32>>> {
        let logits = match &self.gpu {
            Some(gpu) => gpu.predict(&self.model.inputs(dataset)?)?,
            None => match (Divided::of(dataset, Arc::new(Alone))?, self.model.network()) {
                // As it was trained, with the same bits.
                (Some(divided), Some(network)) => divided.logits(network)?,
                _ => self.model.logits(dataset)?,
            },
        };
        check_finite(&logits, self.model.architecture())?;
        match &self.corrector {
            Some(corrector) => corrector.apply(dataset, self.model.architecture(), &logits),
            None => Ok(logits),
        }
    }

    /// Returns the logits of a dataset that is divided among processes; `None` if the model cannot predict it.
    pub fn divided_logits(&self, divided: &Divided) -> Option<Result<Vec<Vec<f32>>>> {
        let network = self.model.network().filter(|_| self.corrector.is_none())?;
        Some(divided.logits(network).and_then(|logits| {
            check_finite(&logits, self.model.architecture())?;
            Ok(logits)
        }))
    }

    /// Returns the attention on all edges of a graph, by its number in the dataset.
    pub fn attention(&self, graph: usize, example: &Example<f32>) -> Result<Vec<EdgeValues<f32>>> {
        match &self.gpu {
            Some(gpu) => gpu.attention(&*self.model.input(graph, example)?),
            None => self.model.attention(graph, example),
        }
    }
}

/// Returns the logits of the mean probabilities of some members, whose logits `of` computes. Those of one member are
/// returned as they are.
pub(crate) fn mean_logits<E: From<Error>>(
    members: &[Member],
    of: impl Fn(&Member) -> std::result::Result<Vec<Vec<f32>>, E>,
) -> std::result::Result<Vec<Vec<f32>>, E> {
    if let [member] = members {
        return of(member);
    }
    let mut ensemble = Ensemble::new(*members[0].model.architecture());
    for (number, member) in members.iter().enumerate() {
        ensemble.add(number, &of(member)?, &member.decision)?;
    }
    Ok(ensemble.logits().expect("there are members"))
}

/// Returns the mean attention of some members of one architecture on all edges of a graph.
pub(crate) fn mean_attention(members: &[Member], graph: usize, example: &Example<f32>) -> Result<Vec<EdgeValues<f32>>> {
    let (first, others) = members.split_first().expect("there are members");
    let mut layers = first.attention(graph, example)?;
    if others.is_empty() {
        return Ok(layers);
    }
    for other in others {
        for (sum, more) in layers.iter_mut().zip(other.attention(graph, example)?) {
            sum.coefficients.iter_mut().zip(more.coefficients).for_each(|(sum, x)| *sum += x);
            sum.logits.iter_mut().zip(more.logits).for_each(|(sum, x)| *sum += x);
        }
    }
    let share = 1.0 / members.len() as f32;
    for EdgeValues { coefficients, logits, .. } in &mut layers {
        coefficients.iter_mut().chain(logits).for_each(|sum| *sum *= share);
    }
    Ok(layers)
}

/// Fails if a logit is not finite, which would give a probability that is no number.
fn check_finite(logits: &[Vec<f32>], architecture: &Architecture) -> Result<()> {
    for logits in logits {
        if let Some(place) = logits.iter().position(|logit| !logit.is_finite()) {
            return Err(Error::OutOfRange {
                what: "output of the model for the node",
                position: place / architecture.classes,
                expected: "a finite number (check the features for extreme values)".into(),
                found: logits[place].to_string(),
            });
        }
    }
    Ok(())
}
