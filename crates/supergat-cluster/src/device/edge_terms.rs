//! Weights and features of edges. A process has those of the edges to its own nodes, and gets those of the edges from
//! its nodes to others once, before training.

use super::blocks::{Block, Blocks, RunBlocks};
use super::share::{Edges, Share};
use crate::peers::Peers;
use bytemuck::Pod;
use supergat_core::device::lists::positions_with_loops;
use supergat_core::{Architecture, ModelKind, Result};
use supergat_cpu::kernels::{EdgeTerms, Primitives};

/// Weights and features of the edges of a process, by place in lists of edges.
#[derive(Debug)]
pub(super) struct EdgeValues<T> {
    /// ln of the weights in attention; empty if all weights are 1.
    log_weights: Vec<T>,
    /// Features in attention; empty if it does not read them.
    features: Vec<T>,
    /// Number of features per edge.
    width: usize,
    /// Weights in graph convolutions, by run and part: of incoming and of outgoing edges, in the order of the lists
    /// that are summed. Empty if all weights are 1.
    pub(super) of_blocks: Vec<Vec<[Vec<T>; 2]>>,
    /// Sums of the weights of incoming and outgoing edges of each node; empty if all weights are 1.
    pub(super) degrees: Vec<[f64; 2]>,
}

impl<T: Primitives + Pod> EdgeValues<T> {
    /// Collects what a network of this architecture reads. `no_loops` are the edges of its `blocks`, if they have no
    /// self-loops.
    pub(super) fn new(
        share: &Share<T>,
        no_loops: Option<&Edges>,
        blocks: &Blocks,
        peers: &dyn Peers,
        architecture: &Architecture,
    ) -> Result<Self> {
        let none = || Self {
            log_weights: Vec::new(),
            features: Vec::new(),
            width: 0,
            of_blocks: Vec::new(),
            degrees: Vec::new(),
        };
        let Some(attributes) = &share.rows().edge_attributes else { return Ok(none()) };
        let width = attributes.width();
        // Values of own edges, then those of edges to other processes.
        let completed = |width: usize, values: &[T]| -> Result<Vec<T>> {
            let mut all = vec![T::ZERO; blocks.ghosts.places() * width];
            match no_loops {
                None => all[..values.len()].copy_from_slice(values),
                Some(Edges { incoming, .. }) if width > 0 => {
                    let positions = positions_with_loops(incoming, share.edges().global().start as usize);
                    for (to, position) in all.chunks_exact_mut(width).zip(positions) {
                        to.copy_from_slice(&values[position * width..(position + 1) * width]);
                    }
                }
                Some(_) => {}
            }
            blocks.ghosts.complete(peers, width, &mut all)?;
            Ok(all)
        };
        let weights = match attributes.weights() {
            [] => Vec::new(),
            weights => {
                architecture.model.accepts_edge_weights()?;
                completed(1, weights)?
            }
        };
        match architecture.model {
            ModelKind::Attention { .. } => {
                let log = |weight: T| T::from_f64(weight.to_f64().ln());
                Ok(Self {
                    log_weights: weights.into_iter().map(log).collect(),
                    features: completed(width, attributes.features())?,
                    width,
                    ..none()
                })
            }
            ModelKind::Convolution(_) if !weights.is_empty() => {
                Ok(Self { of_blocks: of_blocks(blocks, &weights), degrees: degrees(share.edges(), &weights), ..none() })
            }
            _ => Ok(none()),
        }
    }

    /// Returns the weights and features of edges in attention with these vectors of features.
    pub(super) fn terms<'a>(&'a self, vectors: &'a [T]) -> Option<EdgeTerms<'a, T>> {
        let (width, features) = if vectors.is_empty() { (0, &[][..]) } else { (self.width, &self.features[..]) };
        let is_read = !(vectors.is_empty() && self.log_weights.is_empty());
        is_read.then_some(EdgeTerms { log_weights: &self.log_weights, width, features, vectors })
    }
}

/// Returns the weights of the edges of all blocks.
fn of_blocks<T: Copy>(blocks: &Blocks, weights: &[T]) -> Vec<Vec<[Vec<T>; 2]>> {
    let of_run = |run: &RunBlocks| {
        let of_block = |block: &Block| {
            let incoming = block.incoming.positions().map(|position| weights[position]).collect();
            [incoming, block.positions.iter().map(|position| weights[*position as usize]).collect()]
        };
        run.blocks.iter().map(of_block).collect()
    };
    blocks.runs.iter().map(of_run).collect()
}

/// Returns the sums of the weights of a node's edges, in the order of the lists of the whole graph.
fn degrees<T: Primitives>(edges: &Edges, weights: &[T]) -> Vec<[f64; 2]> {
    let sum = |positions: &mut dyn Iterator<Item = usize>| positions.map(|at| weights[at].to_f64()).sum::<f64>();
    let mut outgoing = edges.places_of_outgoing().map(|place| place as usize);
    let rows = 0..edges.global().len();
    rows.map(|row| {
        let leaving = edges.outgoing().range(row).len();
        [sum(&mut edges.incoming.range(row)), sum(&mut outgoing.by_ref().take(leaving))]
    })
    .collect()
}
