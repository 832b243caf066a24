//! CGAT over several processes: top-k softmax and margin losses. Formulas are in `layers/contrast.rs`.
//!
//! Rivals are drawn from all nodes, so a process compares its edges with most nodes of the graph. Therefore every process
//! gets the scores of all nodes, a few numbers per node, and works on whole lists of neighbours. The process of an edge's
//! target draws its rivals. It tells them to the process of the source, and each triple to the process of the rival, in
//! the order of the edges of the whole graph. So sums have the order of those of one process.

use super::ghosts::Ghosts;
use super::share::{Edges, Share};
use crate::peers::{Incoming, Outgoing, Peers, all_to_all, gather, no_work, sum_one};
use bytemuck::Pod;
use std::sync::Mutex;
use supergat_core::contrast::ClassEdges;
use supergat_core::device::STATE;
use supergat_core::hyperparameters::ConstraintSettings;
use supergat_core::memory::Buffer;
use supergat_core::random::{Purpose, Stream};
use supergat_core::stopwatch::timed;
use supergat_core::{Contrast, Result};
use supergat_cpu::kernels::{
    Attention, Margin, NO_RIVAL, NodeScores, OutgoingEdges, Parts, Pool, Primitives, RivalDraws, ScoreGradient,
    draw_rivals, group_triples,
};

/// Constraints on one example. Built once and shared by all runs.
#[derive(Debug)]
pub(super) struct ContrastPlan<T> {
    pub(super) contrast: Contrast,
    classes: Option<ClassEdges>,
    /// Place of each outgoing edge in lists of edges.
    outgoing: Vec<u32>,
    tables: Mutex<Tables<T>>,
}

/// Scores of all nodes as targets and as sources, kept from pass to pass. Not used by a process without peers.
#[derive(Debug)]
struct Tables<T> {
    targets: Buffer<T>,
    sources: Buffer<T>,
}

impl<T: Primitives + Pod> ContrastPlan<T> {
    /// Validates the constraints and prepares them for an example.
    pub(super) fn new(share: &Share<T>, peers: &dyn Peers, contrast: Contrast) -> Result<Self> {
        contrast.check()?;
        let (rows, edges) = (share.rows(), share.edges());
        let classes = match contrast.training_classes(&rows.labels, &rows.splits[0])? {
            Some(own) => {
                let (class, first) = (gather(peers, &own)?.concat(), edges.global().start as usize);
                Some(ClassEdges::new(edges.incoming.lists(), first, &class))
            }
            None => None,
        };
        // Places are below 2^32, as was checked for the blocks of edges.
        let outgoing = edges.places_of_outgoing().map(|place| place as u32).collect();
        let tables = Tables { targets: Buffer::zeros(0), sources: Buffer::zeros(0) };
        Ok(Self { contrast, classes, outgoing, tables: tables.into() })
    }

    /// Calls `work` with the scores of all nodes: those as sources, and those as targets if `with_targets`. `state` and
    /// `sources` have the scores of own nodes, in rows of `heads` numbers.
    pub(super) fn with_scores<R>(
        &self,
        peers: &dyn Peers,
        edges: &Edges,
        heads: usize,
        [state, sources]: [&[T]; 2],
        with_targets: bool,
        work: impl FnOnce(NodeScores<'_, T>) -> R,
    ) -> Result<R> {
        if peers.count() == 1 {
            // Several trainings may run at once.
            return Ok(work(NodeScores { targets: state, target_rows: STATE, sources, first_node: 0 }));
        }
        let mut tables = self.tables.lock().expect("no thread panicked");
        let (first, length) = (edges.global().start as usize, edges.partition.nodes() * heads);
        let Tables { targets, sources: all } = &mut *tables;
        for table in [&mut *targets, &mut *all] {
            if table.len() < length {
                *table = Buffer::zeros(length);
            }
        }
        all[first * heads..][..sources.len()].copy_from_slice(sources);
        gather_rows(peers, edges, heads, &mut all[..length])?;
        if with_targets {
            let own = targets[first * heads..].chunks_exact_mut(heads);
            own.zip(state.chunks_exact(STATE * heads)).for_each(|(own, state)| own.copy_from_slice(&state[..heads]));
            gather_rows(peers, edges, heads, &mut targets[..length])?;
        }
        Ok(work(NodeScores { targets, target_rows: 1, sources: all, first_node: first }))
    }
}

/// Completes a table with rows of `width` numbers of all nodes, of which each process has written those of its nodes.
fn gather_rows<T: Pod>(peers: &dyn Peers, edges: &Edges, width: usize, table: &mut [T]) -> Result<()> {
    let (mut rest, mut own) = (table, &[][..]);
    let mut incoming: Vec<Incoming<'_>> = Vec::with_capacity(peers.count());
    for process in 0..peers.count() {
        let (rows, after) = rest.split_at_mut(edges.partition.nodes_of_process(process).len() * width);
        rest = after;
        match process == peers.rank() {
            true => own = bytemuck::cast_slice(rows),
            false => incoming.push((process, bytemuck::cast_slice_mut(rows))),
        }
    }
    let others = (0..peers.count()).filter(|process| *process != peers.rank());
    let outgoing: Vec<Outgoing<'_>> = others.map(|process| (process, own)).collect();
    peers.exchange(&outgoing, &mut incoming, &mut no_work)
}

/// Samples of one layer and step. The memory is reused in every step.
#[derive(Debug, Default)]
pub(super) struct ContrastSamples {
    structure: Comparisons,
    boundary: Comparisons,
    /// Triples `[k, i, j]` by process of the rival k, and those of own nodes.
    sent: Vec<Vec<[u32; 3]>>,
    own: Vec<[u32; 3]>,
}

/// Sampled triples of a margin loss.
#[derive(Debug, Default)]
struct Comparisons {
    /// Rivals of own edges, and of edges to other processes.
    rivals: Vec<u32>,
    offsets: Vec<u64>,
    triples: Vec<[u32; 2]>,
    /// Number of triples of all processes.
    count: u64,
}

/// The edges of a process, with the places of those that lead to other processes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lists<'a> {
    pub(super) edges: &'a Edges,
    pub(super) ghosts: &'a Ghosts,
    /// Division of own nodes by their edges.
    pub(super) parts: &'a Parts,
}

impl ContrastSamples {
    /// Draws the samples of a step; `stream` returns the random stream of a purpose.
    pub(super) fn draw<T: Primitives + Pod>(
        &mut self,
        peers: &dyn Peers,
        lists: Lists<'_>,
        plan: &ContrastPlan<T>,
        stream: impl Fn(Purpose) -> Stream,
    ) -> Result<()> {
        let Self { structure, boundary, sent, own } = self;
        let per_edge = plan.contrast.constraints.negatives_per_edge;
        let mut draw = |to: &mut Comparisons, pool: Pool<'_>, among: Option<&[u8]>, stream: Stream| {
            let draws = RivalDraws { stream, first_edge: lists.edges.first_edge, per_edge };
            to.draw(peers, lists, pool, among, draws, sent, own)
        };
        let outside = Pool::Outside(lists.edges.incoming.lists(), lists.edges.partition.nodes());
        match &plan.classes {
            None => draw(structure, outside, None, stream(Purpose::ContrastRivals)),
            Some(ClassEdges { alike, unlike }) => {
                draw(structure, outside, Some(alike), stream(Purpose::ContrastRivals))?;
                draw(boundary, Pool::Listed(unlike.lists()), Some(alike), stream(Purpose::BoundaryRivals))
            }
        }
    }

    /// Adds the gradients of both losses to those of attention. Calls `record` for each loss with the sums of its terms per
    /// part, and the function that weighs them.
    pub(super) fn backward<T: Primitives + Pod>(
        &self,
        plan: &ContrastPlan<T>,
        lists: Lists<'_>,
        attention: Attention<'_, T>,
        scores: NodeScores<'_, T>,
        to: ScoreGradient<'_, T>,
        mut record: impl FnMut(&[f64], &dyn Fn(f64) -> f64),
    ) {
        let Contrast { constraints: ConstraintSettings { lambda_g, margin_g, .. }, boundary } = plan.contrast;
        let terms =
            [Some((&self.structure, lambda_g, margin_g)), boundary.map(|b| (&self.boundary, b.lambda_b, b.margin_b))];
        let outgoing =
            OutgoingEdges { lists: lists.edges.outgoing().lists(), places: &plan.outgoing, first_edges: &[] };
        let ScoreGradient { z, vectors: d_vectors, losses } = to;
        for (Comparisons { rivals, offsets, triples, count }, lambda, margin) in terms.into_iter().flatten() {
            let weight = lambda / (*count.max(&1) * attention.layout.heads as u64) as f64;
            let per_edge = plan.contrast.constraints.negatives_per_edge;
            let margin = Margin { rivals, per_edge, offsets, triples, margin, weight };
            let to = ScoreGradient { z: &mut *z, vectors: &mut *d_vectors, losses: &mut *losses };
            T::margin_backward(lists.parts, attention, scores, margin, outgoing, to);
            record(losses, &|sum| weight * sum);
        }
    }
}

impl Comparisons {
    /// Draws rivals of all own edges, or of those whose bit in `among` is set, and exchanges them.
    #[allow(clippy::too_many_arguments)]
    fn draw(
        &mut self,
        peers: &dyn Peers,
        Lists { edges, ghosts, parts }: Lists<'_>,
        pool: Pool<'_>,
        among: Option<&[u8]>,
        draws: RivalDraws,
        sent: &mut Vec<Vec<[u32; 3]>>,
        own: &mut Vec<[u32; 3]>,
    ) -> Result<()> {
        let (lists, per_edge, nodes) = (edges.incoming.lists(), draws.per_edge, edges.global());
        self.rivals.resize(ghosts.places() * per_edge, NO_RIVAL);
        let rivals = &mut self.rivals[..edges.incoming.neighbours.len() * per_edge];
        timed("draw_rivals", || draw_rivals(parts, lists, pool, among, draws, rivals));
        // Triples by process of the rival.
        sent.resize_with(peers.count(), Vec::new);
        sent.iter_mut().for_each(Vec::clear);
        let process_of = |node: u32| edges.partition.process_of(node);
        let slots = rivals.chunks_exact(per_edge);
        let mut all = slots.zip(&edges.incoming.neighbours);
        for (row, target) in nodes.clone().enumerate() {
            for (rivals, &source) in all.by_ref().take(edges.incoming.range(row).len()) {
                for &rival in rivals.iter().filter(|rival| **rival != NO_RIVAL) {
                    sent[process_of(rival)].push([rival, target, source]);
                }
            }
        }
        ghosts.complete(peers, per_edge, &mut self.rivals)?;
        if peers.count() == 1 {
            std::mem::swap(own, &mut sent[0]);
        } else {
            own.clear();
            for list in all_to_all(peers, sent)? {
                own.extend(list.into_iter().map(|[rival, target, source]| [rival - nodes.start, target, source]));
            }
        }
        timed("group_by_rival", || group_triples(nodes.len(), own, &mut self.offsets, &mut self.triples));
        self.count = sum_one(peers, self.triples.len() as u64)?;
        Ok(())
    }
}
