//! A pass of layers: one example on its device, and the randomness of the pass.

use super::contrast::Contrast;
use super::scratch::Scratch;
use crate::device::{Device, Random};
use crate::error::Result;
use crate::example::Example;
use crate::random::Purpose;

/// Seed and step that determine all random numbers of a training step.
///
/// See [`crate::Session`] for an example.
#[derive(Debug, Clone, Copy)]
pub struct Draw {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the step, from 0.
    pub step: u32,
}

/// Kind of loss on attention that a model is trained with.
///
/// [`crate::Prepared`] chooses it by the model kind and has an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AttentionLoss {
    /// No loss on attention: labels only.
    None,
    /// SuperGAT: edges against sampled non-edges.
    Edges {
        /// Share of the edges that is sampled in each step.
        p_e: f64,
        /// Number of non-edges per sampled edge.
        p_n: f64,
    },
    /// CGAT: margins between the scores of edges.
    Margins(Contrast),
}

/// One example on its device, and the randomness of the pass. Created by [`crate::Prepared::context`].
///
/// See [`Layer`](super::Layer) for an example.
#[derive(Debug)]
pub struct Context<'a, D: Device> {
    pub(crate) device: &'a D,
    pub(crate) example: &'a Example<D::Number>,
    pub(crate) problem: &'a D::Problem,
    /// Number of the example.
    pub(crate) number: usize,
    /// Randomness in training; `None` in evaluation.
    pub(crate) clock: Option<&'a D::Clock>,
}

impl<D: Device> Clone for Context<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Context<'_, D> {}

impl<'a, D: Device> Context<'a, D> {
    /// Sets the samples of the edge loss of a pass without a clock: all edges, and the given non-edges
    /// `[source, target]`.
    pub fn set_samples(&self, negatives: &[[u32; 2]], scratch: &mut Scratch<D>) -> Result<()> {
        self.device.set_samples(self.problem, negatives, &mut scratch.own)
    }

    /// Returns the random numbers of a layer in training.
    pub(crate) fn random(&self, layer: u16, purpose: Purpose) -> Option<Random<'a, D>> {
        self.clock.map(|clock| Random { clock, layer, purpose })
    }
}
