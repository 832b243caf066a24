//! The share of an example on a process, with everything that stays constant in training.

use super::blocks::Blocks;
use super::contrast::{ContrastPlan, Lists};
use super::edge_terms::EdgeValues;
use super::needs::Needs;
use super::samples::Sampler;
use super::share::{Edges, Share};
use super::travel::{AllNeeds, Compute, Matrix, Schedule, Travel, for_each_block};
use crate::peers::{Peers, TreeSum, gather};
use bytemuck::Pod;
use std::sync::Mutex;
use supergat_core::device::AttentionLoss;
use supergat_core::device::lists::{isolated, scattered};
use supergat_core::example::no_training_weight;
use supergat_core::{Architecture, Convolution, ModelKind, Result};
use supergat_cpu::device::InputParts;
use supergat_cpu::kernels::{Parts, Primitives};

/// A share with its blocks of edges.
#[derive(Debug)]
pub struct ClusterProblem<T: Primitives> {
    pub(super) share: Share<T>,
    /// Edges of attention, if it has no self-loops.
    no_loops: Option<Edges>,
    /// Own nodes that attend to no node.
    pub(super) isolated: Vec<u32>,
    pub(super) blocks: Blocks,
    /// Weights and features of edges.
    pub(super) edge_values: EdgeValues<T>,
    /// Rows of each part of this process, divided among threads.
    pub(super) inputs: Vec<InputParts>,
    /// All rows, divided evenly among threads; the division of a row's part is inside the part.
    pub(super) rows: Parts,
    /// All rows, divided by stored features.
    pub(super) features: Parts,
    /// All rows, divided by edges.
    pub(super) edge_rows: Parts,
    /// How many of these divisions each part of this process has.
    pub(super) edge_parts: Vec<usize>,
    /// Training nodes, as a mask.
    pub(super) chosen: Vec<bool>,
    /// Sum of the weights of all training nodes of the example: their number without weights of classes.
    pub(super) training_weight: f64,
    /// Sampler of the edge loss; none for other models, and where the example has no training nodes.
    pub(super) sampler: Option<Sampler>,
    /// Constraints of CGAT; none for other models, and where the example has no training nodes.
    pub(super) contrast: Option<ContrastPlan<T>>,
    /// Weights of the sums of a graph convolution: outer and inner factors of own nodes.
    pub(super) factors: [Vec<T>; 2],
    /// Sums over the parts of all processes.
    pub(super) tree: TreeSum,
    travel: Mutex<Travel<T>>,
}

impl<T: Primitives + Pod> ClusterProblem<T> {
    pub(super) fn new(
        share: &Share<T>,
        peers: &dyn Peers,
        architecture: &Architecture,
        loss: AttentionLoss,
    ) -> Result<Self> {
        let (rows, edges) = (share.rows(), share.edges());
        let work: Vec<u64> = edges.incoming.offsets.iter().zip(&edges.outgoing().offsets).map(|(a, b)| a + b).collect();
        let of_parts =
            || edges.partition.parts_of_process(edges.process).map(|part| edges.rows_of_parts(part..part + 1));
        let edge_rows: Vec<Parts> = of_parts().map(|range| Parts::by_offsets_of(&work, range)).collect();
        let inputs: Vec<InputParts> = of_parts().map(|range| InputParts::of_rows(&rows.features, range)).collect();
        let mut chosen = vec![false; edges.global().len()];
        rows.splits[0].iter().for_each(|&node| chosen[node as usize] = true);
        let no_loops = (!architecture.network.attends_to_self()).then(|| edges.without_loops());
        let attended = no_loops.as_ref().unwrap_or(edges);
        let (mut sampler, mut contrast) = (None, None);
        match loss {
            _ if rows.split_sizes[0] == 0 => {}
            AttentionLoss::None => {}
            AttentionLoss::Edges { p_e, p_n } => {
                sampler = Some(Sampler::new(edges, attended.all_edges, peers, p_e, p_n)?)
            }
            AttentionLoss::Margins(margins) => contrast = Some(ContrastPlan::new(share, peers, margins)?),
        }
        let blocks = Blocks::new(attended, peers, &edge_rows)?;
        let edge_values = EdgeValues::new(share, no_loops.as_ref(), &blocks, peers, architecture)?;
        let factors = match architecture.model {
            ModelKind::Convolution(convolution) => own_factors(convolution, edges, &edge_values.degrees),
            _ => [Vec::new(), Vec::new()],
        };
        Ok(Self {
            share: share.clone(),
            isolated: isolated(&attended.incoming),
            no_loops,
            blocks,
            edge_values,
            rows: Parts::joined(inputs.iter().map(|input| input.rows.clone())),
            features: Parts::joined(inputs.iter().map(|input| input.features.clone())),
            inputs,
            edge_parts: edge_rows.iter().map(Parts::len).collect(),
            edge_rows: Parts::joined(edge_rows),
            chosen,
            training_weight: training_weight(share, peers)?,
            sampler,
            contrast,
            factors,
            tree: TreeSum::new(peers, |process| edges.partition.parts_of_process(process)),
            travel: Mutex::default(),
        })
    }

    /// Returns all edges.
    pub(super) fn edges(&self) -> &Edges {
        self.share.edges()
    }

    /// Returns the edges of attention.
    pub(super) fn attended(&self) -> &Edges {
        self.no_loops.as_ref().unwrap_or_else(|| self.edges())
    }

    /// Returns values of the edges of attention to own nodes, `width` per edge, with zeros for self-loops without
    /// attention.
    pub(super) fn with_loops<V: Copy + Default>(&self, values: Vec<V>, width: usize) -> Vec<V> {
        match &self.no_loops {
            Some(edges) => scattered(&edges.incoming, edges.global().start as usize, &values, width),
            None => values,
        }
    }

    /// Returns the whole lists of the edges of this process.
    pub(super) fn lists(&self) -> Lists<'_> {
        Lists { edges: self.edges(), ghosts: &self.blocks.ghosts, parts: &self.edge_rows }
    }

    pub(super) fn nodes(&self) -> usize {
        self.chosen.len()
    }

    /// Calls `compute` for every run and part, with rows of other processes where the part is not an own one. `pairs` are
    /// further rows that sampled non-edges need.
    pub(super) fn for_each_block(
        &self,
        peers: &dyn Peers,
        pairs: Option<&Needs>,
        matrices: &[Matrix<'_, T>],
        compute: Compute<'_, T>,
    ) -> Result<()> {
        if peers.count() == 1 {
            // No rows travel, and several trainings may run at once.
            return self.blocks.runs.iter().enumerate().try_for_each(|(k, run)| compute(k, &run.visits, None));
        }
        let edges = self.edges();
        let needs = AllNeeds { edges: &self.blocks.needs, pairs };
        let schedule = Schedule { partition: &edges.partition, process: edges.process };
        let mut travel = self.travel.lock().expect("no thread panicked");
        for_each_block(peers, schedule, needs, matrices, &mut travel, compute)
    }
}

/// Returns the sum of the weights of all training nodes of all processes. It is a sum over classes, so it does not depend
/// on which process has which nodes.
fn training_weight<T: Primitives>(share: &Share<T>, peers: &dyn Peers) -> Result<f64> {
    let nodes = share.rows().split_sizes[0];
    let Some(weights) = share.class_weights() else { return Ok(nodes as f64) };
    let counts = gather(peers, &share.training_classes())?;
    let of_class = |class: usize| counts.iter().map(|counts| counts[class]).sum::<u64>() as f64;
    let sum = weights.iter().enumerate().map(|(class, weight)| weight * of_class(class)).sum();
    if nodes > 0 && sum <= 0.0 { Err(no_training_weight()) } else { Ok(sum) }
}

/// Returns the factors of the sums of own nodes; `weighted` are the sums of the weights of their edges, if they have any.
fn own_factors<T: Primitives>(convolution: Convolution, edges: &Edges, weighted: &[[f64; 2]]) -> [Vec<T>; 2] {
    let (incoming, outgoing) = (&edges.incoming, edges.outgoing());
    let nodes = edges.global().len();
    let counted = |row: usize| [incoming.range(row).len() as f64, outgoing.range(row).len() as f64];
    let degrees = |row: usize| weighted.get(row).copied().unwrap_or_else(|| counted(row));
    convolution.factors(nodes, degrees).map(|factors| factors.into_iter().map(T::from_f64).collect())
}
