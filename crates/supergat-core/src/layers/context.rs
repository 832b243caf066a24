//! A pass of layers: one example on its device, and the randomness of the pass.

use super::scratch::Scratch;
use crate::device::{Device, Random};
use crate::error::Result;
use crate::example::ExampleShape;
use crate::hyperparameters::TrainingSettings;
use crate::random::Purpose;
use std::borrow::Cow;

/// One example on its device, and the randomness of the pass. Created by [`crate::Prepared::context`].
///
/// See [`Layer`](super::Layer) for an example.
#[derive(Debug)]
pub struct Context<'a, D: Device> {
    /// The device.
    pub device: &'a D,
    /// The example as it was given.
    pub given: &'a D::Example,
    /// The example as the device computes with it: with internal numbers of the nodes if it has an order.
    pub example: &'a D::Example,
    /// The example in the memory of the device.
    pub problem: &'a D::Problem,
    /// Number of the example.
    pub number: usize,
    /// Randomness in training; `None` in evaluation.
    pub clock: Option<&'a D::Clock>,
    /// Settings of training, some of which the loss of labels reads.
    pub training: &'a TrainingSettings,
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
        self.write_samples(negatives, &mut scratch.own)
    }

    /// Sets the samples of the edge loss in the memory of the device.
    pub(crate) fn write_samples(&self, negatives: &[[u32; 2]], scratch: &mut D::Scratch) -> Result<()> {
        self.device.set_samples(self.problem, &self.pairs_to_internal(negatives), scratch)
    }

    /// Reads the samples of the edge loss: bits of the sampled edges in the given order of edges, and the non-edges
    /// `[source, target]`.
    pub(crate) fn read_samples(&self, scratch: &D::Scratch) -> Result<(Vec<u8>, Vec<[u32; 2]>)> {
        let (marks, mut pairs) = self.device.samples(self.problem, scratch)?;
        let Some((order, graph)) = self.given.order() else { return Ok((marks, pairs)) };
        pairs.iter_mut().flatten().for_each(|node| *node = order.to_outer(*node));
        let bits: Vec<u8> = (0..graph.edges()).map(|edge| marks[edge / 8] >> (edge % 8) & 1).collect();
        let bits = order.edges_to_outer(graph, &bits, 1);
        let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit);
        Ok((bits.chunks(8).map(byte).collect(), pairs))
    }

    /// Returns pairs of nodes with internal numbers.
    pub(crate) fn pairs_to_internal<'p>(&self, pairs: &'p [[u32; 2]]) -> Cow<'p, [[u32; 2]]> {
        match self.given.order() {
            None => pairs.into(),
            Some((order, _)) => pairs.iter().map(|pair| pair.map(|node| order.to_internal(node))).collect(),
        }
    }

    /// Returns rows of nodes in the given order of nodes.
    pub fn rows_to_outer(&self, rows: Vec<D::Number>, width: usize) -> Vec<D::Number> {
        match self.given.order() {
            None => rows,
            Some((order, _)) => order.rows_to_outer(&rows, width),
        }
    }

    /// Returns rows of nodes in the order of the nodes inside the engine.
    pub(crate) fn rows_to_internal<'r>(&self, rows: &'r [D::Number], width: usize) -> Cow<'r, [D::Number]> {
        match self.given.order() {
            None => rows.into(),
            Some((order, _)) => order.rows_to_internal(rows, width).into(),
        }
    }

    /// Returns values of edges in the given order of edges.
    pub fn edges_to_outer(&self, values: Vec<D::Number>, width: usize) -> Vec<D::Number> {
        match self.given.order() {
            None => values,
            Some((order, graph)) => order.edges_to_outer(graph, &values, width),
        }
    }

    /// Returns the random numbers of a layer in training.
    pub fn random(&self, layer: u16, purpose: Purpose) -> Option<Random<'a, D>> {
        self.clock.map(|clock| Random { clock, layer, purpose })
    }
}
