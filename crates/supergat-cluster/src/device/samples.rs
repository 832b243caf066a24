//! Samples of the edge loss of one process: its sampled edges, and the sampled non-edges with an end in it.
//!
//! All processes draw the same candidates and keep those with an own end, so that pairs need not travel. Whether a
//! pair is an edge is known to the process of either end. Only the number of rejected candidates is summed, which
//! says how many more are drawn.

use super::blocks::{Blocks, Lists, RunBlocks};
use super::needs::Needs;
use super::share::Edges;
use super::{Cluster, ClusterProblem, ClusterScratch};
use crate::peers::{Peers, gather, sum_one};
use bytemuck::Pod;
use rayon::prelude::*;
use supergat_core::device::{Draw, Sampling};
use supergat_core::memory::prefetch;
use supergat_core::random::{Purpose, Stream};
use supergat_core::sampling::{SampleSizes, group_pairs, non_edges};
use supergat_core::stopwatch::timed;
use supergat_core::{Error, Result};
use supergat_cpu::kernels::{Primitives, for_each_pair, mark_sample};
use supergat_cpu::sampling::NegativeSampler;

/// Sampler of the edge loss.
#[derive(Debug)]
pub(super) struct Sampler {
    pub(super) sizes: SampleSizes,
    /// All non-edges of a graph that is small or has more edges than non-edges.
    listed: Option<Vec<[u32; 2]>>,
}

impl Sampler {
    /// Prepares samples of `sampled_edges` edges of the example that `edges` belong to, and of its non-edges.
    pub(super) fn new(edges: &Edges, sampled_edges: u64, peers: &dyn Peers, p_e: f64, p_n: f64) -> Result<Self> {
        let (nodes, all_edges) = (edges.partition.nodes(), edges.all_edges);
        SampleSizes::of(nodes, all_edges as usize, p_e, p_n)?;
        let sizes = SampleSizes::of(nodes, sampled_edges as usize, p_e, p_n)?;
        let listed = if NegativeSampler::lists(nodes, all_edges) {
            let offsets = &edges.incoming.offsets;
            let starts = offsets[..offsets.len() - 1].iter().map(|offset| offset + edges.first_edge);
            let mut offsets: Vec<u64> = gather(peers, &starts.collect::<Vec<_>>())?.concat();
            offsets.push(all_edges);
            let neighbours = gather(peers, &edges.incoming.neighbours)?.concat();
            Some(non_edges(&supergat_core::graph::Adjacency { offsets, neighbours }))
        } else {
            None
        };
        Ok(Self { sizes, listed })
    }
}

impl<T: Primitives + Pod> Sampling for Cluster<T> {
    fn draw_samples(
        &self,
        problem: &ClusterProblem<T>,
        clock: &Draw,
        layer: u16,
        scratch: &mut ClusterScratch<T>,
    ) -> Result<()> {
        let Some(sampler) = &problem.sampler else { return Ok(()) };
        let streams = [Purpose::PositiveEdges, Purpose::NegativePairs]
            .map(|purpose| Stream::new(clock.seed, clock.step, layer, purpose));
        scratch.samples.draw([problem.attended(), problem.edges()], self.peers(), sampler, &problem.blocks, streams)
    }

    fn set_samples(&self, _: &ClusterProblem<T>, _: &[[u32; 2]], _: &mut ClusterScratch<T>) -> Result<()> {
        Err(Error::Peers { reason: "samples are set by one process only".into() })
    }

    fn samples(&self, _: &ClusterProblem<T>, _: &ClusterScratch<T>) -> Result<(Vec<u8>, Vec<[u32; 2]>)> {
        Err(Error::Peers { reason: "samples are read by one process only".into() })
    }
}

/// Sampled non-edges between some rows and the nodes of one part.
#[derive(Debug, Default)]
pub(super) struct NegativeBlock {
    /// Pairs whose target is an own row.
    pub(super) by_target: Lists,
    /// Pairs whose source is an own row.
    pub(super) by_source: Lists,
}

/// Samples of one layer and step. The memory is reused in every step.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Sampled edges, a bit each: those to own nodes, then those to nodes of other processes.
    pub(super) positives: Vec<u8>,
    /// Number of pairs in the mean of the loss.
    pub(super) count: usize,
    /// Non-edges by run and part.
    pub(super) blocks: Vec<Vec<NegativeBlock>>,
    /// Rows that non-edges need of other processes, except those that edges need.
    pub(super) needs: Needs,
    /// Pairs by end in this process: `[other node, own row]`, by target and by source.
    pairs: [Vec<[u32; 2]>; 2],
    chunks: Vec<Chunk>,
    grouped: [(Vec<u64>, Vec<u32>); 2],
    places: Vec<u32>,
    /// Nodes of other processes that only non-edges need, by run and part.
    halos: Vec<Vec<Vec<u32>>>,
}

/// Pairs that one thread finds.
#[derive(Debug, Default)]
struct Chunk {
    /// Candidates with an own end.
    candidates: Vec<[u32; 2]>,
    pairs: [Vec<[u32; 2]>; 2],
    rejected: u64,
}

/// Candidates that one thread draws at a time.
const CHUNK: usize = 1 << 13;
/// Chunks in memory.
const CHUNKS: usize = 32;
/// Candidates between prefetching a list and searching it.
const FLIGHT: usize = 16;

impl Samples {
    /// Draws the samples of a step: of the edges of attention, and of pairs that are not among all edges.
    pub(super) fn draw(
        &mut self,
        [attended, edges]: [&Edges; 2],
        peers: &dyn Peers,
        sampler: &Sampler,
        blocks: &Blocks,
        streams: [Stream; 2],
    ) -> Result<()> {
        self.count = sampler.sizes.positives + sampler.sizes.negatives;
        timed("sample_edges", || self.draw_edges(attended, sampler, &blocks.ghosts.positions, streams[0]));
        timed("sample_negatives", || self.draw_pairs(edges, peers, sampler, streams[1]))?;
        timed("group_negatives", || self.group(edges, peers, &blocks.runs))
    }

    fn draw_edges(&mut self, edges: &Edges, sampler: &Sampler, ghosts: &[u64], stream: Stream) {
        let (first_ghost, count) = (edges.first_ghost(), sampler.sizes.positives);
        let permutation = stream.permutation(edges.all_edges);
        self.positives.resize((first_ghost + ghosts.len()).div_ceil(8), 0);
        let (own, others) = self.positives.split_at_mut(first_ghost / 8);
        mark_sample(&permutation, edges.first_edge, edges.all_edges as usize, count, own);
        others.par_iter_mut().zip(ghosts.par_chunks(8)).with_min_len(512).for_each(|(byte, ghosts)| {
            let marked = |ghost: &u64| u8::from(permutation.apply(*ghost) < count as u64);
            *byte = ghosts.iter().enumerate().map(|(bit, ghost)| marked(ghost) << bit).sum();
        });
    }

    fn draw_pairs(&mut self, edges: &Edges, peers: &dyn Peers, sampler: &Sampler, stream: Stream) -> Result<()> {
        let (own, outgoing) = (edges.global(), edges.outgoing());
        self.pairs.iter_mut().for_each(Vec::clear);
        let mut keep = |[source, target]: [u32; 2]| {
            if own.contains(&target) {
                self.pairs[0].push([source, target - own.start]);
            }
            if own.contains(&source) {
                self.pairs[1].push([target, source - own.start]);
            }
        };
        if let Some(listed) = &sampler.listed {
            let permutation = stream.permutation(listed.len() as u64);
            (0..sampler.sizes.negatives).for_each(|k| keep(listed[permutation.apply(k as u64) as usize]));
            return Ok(());
        }
        let permutation = stream.permutation_of_pairs(edges.partition.nodes());
        let (mut next, mut wanted) = (0u64, sampler.sizes.negatives);
        while wanted > 0 {
            let mut rejected = 0;
            for first in (0..wanted).step_by(CHUNKS * CHUNK) {
                let count = (wanted - first).min(CHUNKS * CHUNK);
                let (next, chunks) = (next + first as u64, count.div_ceil(CHUNK));
                self.chunks.resize_with(CHUNKS, Chunk::default);
                self.chunks[..chunks].par_iter_mut().enumerate().for_each(|(k, chunk)| {
                    let (start, end) = (k * CHUNK, ((k + 1) * CHUNK).min(count));
                    let Chunk { candidates, pairs: [by_target, by_source], rejected } = chunk;
                    candidates.clear();
                    by_target.clear();
                    by_source.clear();
                    *rejected = 0;
                    for_each_pair(&permutation, next + start as u64, end - start, &mut |pair| {
                        if pair.iter().any(|node| own.contains(node)) {
                            candidates.push(pair);
                        }
                    });
                    // Lists are looked up at random: prefetching hides the latency of memory.
                    let list_of = |[source, target]: [u32; 2]| match own.contains(&target) {
                        true => (&edges.incoming, (target - own.start) as usize),
                        false => (outgoing, (source - own.start) as usize),
                    };
                    for (k, &[source, target]) in candidates.iter().enumerate() {
                        if let Some(&far) = candidates.get(k + 2 * FLIGHT) {
                            let (lists, row) = list_of(far);
                            prefetch(&lists.offsets[row..row + 2]);
                        }
                        if let Some(&ahead) = candidates.get(k + FLIGHT) {
                            let (lists, row) = list_of(ahead);
                            let list = lists.of(row);
                            prefetch(&list[..list.len().min(FLIGHT)]);
                        }
                        let ends = [own.contains(&target), own.contains(&source)];
                        let [target_row, source_row] = [target, source].map(|node| node.wrapping_sub(own.start));
                        let is_edge = match ends {
                            [true, _] => edges.incoming.of(target_row as usize).binary_search(&source).is_ok(),
                            [false, true] => outgoing.of(source_row as usize).binary_search(&target).is_ok(),
                            [false, false] => continue,
                        };
                        if is_edge {
                            *rejected += u64::from(ends[0]);
                            continue;
                        }
                        if ends[0] {
                            by_target.push([source, target_row]);
                        }
                        if ends[1] {
                            by_source.push([target, source_row]);
                        }
                    }
                });
                for chunk in &self.chunks[..chunks] {
                    rejected += chunk.rejected;
                    for (all, some) in self.pairs.iter_mut().zip(&chunk.pairs) {
                        all.extend_from_slice(some);
                    }
                }
            }
            next += wanted as u64;
            wanted = sum_one(peers, rejected)? as usize;
        }
        Ok(())
    }

    /// Groups the pairs by run, part of the other node and own row, and asks for the rows of other processes.
    fn group(&mut self, edges: &Edges, peers: &dyn Peers, runs: &[RunBlocks]) -> Result<()> {
        let (own, partition) = (edges.global(), &edges.partition);
        let Self { pairs, grouped, blocks, places, halos, .. } = self;
        let group = |pairs: &[[u32; 2]], (offsets, others): &mut (Vec<u64>, Vec<u32>)| {
            group_pairs(own.len(), pairs, 1, offsets, others);
        };
        let [by_target, by_source] = grouped;
        rayon::join(|| group(&pairs[0], by_target), || group(&pairs[1], by_source));
        blocks.resize_with(runs.len(), Vec::new);
        halos.resize_with(runs.len(), Vec::new);
        for ((run, blocks), halos) in runs.iter().zip(blocks.iter_mut()).zip(halos.iter_mut()) {
            halos.resize_with(partition.parts(), Vec::new);
            halos.iter_mut().for_each(Vec::clear);
            blocks.resize_with(partition.parts(), NegativeBlock::default);
            for block in blocks.iter_mut() {
                block.by_target.clear();
                block.by_source.clear();
            }
            for row in run.rows.clone() {
                for (end, (offsets, others)) in grouped.iter().enumerate() {
                    for &node in &others[offsets[row] as usize..offsets[row + 1] as usize] {
                        let block = &mut blocks[partition.part_of(node)];
                        let lists = if end == 0 { &mut block.by_target } else { &mut block.by_source };
                        lists.push(row as u32, node);
                    }
                }
            }
            for (part, (block, halo)) in blocks.iter_mut().zip(halos.iter_mut()).enumerate() {
                let nodes = partition.nodes_of_part(part);
                let lists = [&mut block.by_target.nodes, &mut block.by_source.nodes];
                if own.contains(&nodes.start) || nodes.is_empty() {
                    lists.into_iter().flatten().for_each(|node| *node -= own.start);
                    continue;
                }
                // Received rows are those that edges need, then further ones. Mark the latter, number them, and
                // replace nodes by rows.
                const UNUSED: u32 = u32::MAX;
                const FURTHER: u32 = u32::MAX - 1;
                let of_edges = &run.halo[part];
                places.clear();
                places.resize(nodes.len(), UNUSED);
                for (place, node) in (0..).zip(of_edges) {
                    places[(node - nodes.start) as usize] = place;
                }
                for node in lists.iter().flat_map(|list| list.iter()) {
                    let place = &mut places[(node - nodes.start) as usize];
                    *place = if *place == UNUSED { FURTHER } else { *place };
                }
                for (node, place) in nodes.clone().zip(places.iter_mut()).filter(|(_, place)| **place == FURTHER) {
                    *place = (of_edges.len() + halo.len()) as u32;
                    halo.push(node);
                }
                lists.into_iter().flatten().for_each(|node| *node = places[(*node - nodes.start) as usize]);
            }
        }
        self.needs = Needs::exchange(edges, peers, halos)?;
        Ok(())
    }
}
