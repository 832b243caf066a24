//! Attention over several processes, block by block.

use super::problem::ClusterProblem;
use super::samples::NegativeBlock;
use super::share::Edges;
use super::sums::by_part;
use super::travel::{Matrix, Received, Visit};
use super::{Cluster, ClusterScratch};
use bytemuck::Pod;
use supergat_core::device::{
    Attention, AttentionGradient, AttentionPasses, Place, ProjectedGradient, STATE, Supervision,
};
use supergat_core::graph::Neighbours;
use supergat_core::memory::Buffer;
use supergat_core::random::Stream;
use supergat_core::{Error, HeadLayout, Result};
use supergat_cpu::device::{self as cpu, clear_isolated};
use supergat_cpu::kernels::{
    self, EdgeLoss, Gradient, OtherGradients, Others, Primitives, ScoreGradient, score_sums, vector_sums,
};

impl<T: Primitives + Pod> ClusterProblem<T> {
    /// Returns the arguments of the kernels of attention among own nodes, without edges.
    fn attention<'a>(&'a self, attention: Attention<'a, Cluster<T>>) -> kernels::Attention<'a, T> {
        let terms = self.edge_values.terms(attention.edge_vectors.map_or(&[][..], |vectors| vectors));
        kernels::Attention::new(attention, self.nodes(), Neighbours::default(), terms)
    }
}

/// Returns attention to the nodes of a part: own ones, or those of received rows.
fn to_part<'a, T: Copy>(
    attention: kernels::Attention<'a, T>,
    visit: Visit,
    received: Option<Received<'a, T>>,
) -> kernels::Attention<'a, T> {
    let Some(received) = received else { return attention };
    let [z, source_score] = received.from(visit);
    kernels::Attention { others: Others { z, source_score }, ..attention }
}

/// Returns attention of own nodes with whole lists of neighbours, which have the numbers of the whole graph. `sources` are
/// the scores of all nodes.
fn to_all<'a, T>(
    attention: kernels::Attention<'a, T>,
    edges: &'a Edges,
    sources: &'a [T],
) -> kernels::Attention<'a, T> {
    let others = Others { z: &[], source_score: sources };
    kernels::Attention { source_score: sources, others, incoming: edges.incoming.lists(), ..attention }
}

/// Returns the rows that edges to a node need of it.
fn matrices<'a, T>(attention: &kernels::Attention<'a, T>) -> [Matrix<'a, T>; 2] {
    let layout = attention.layout;
    let scores = if attention.form.has_vector() { layout.head_stride() } else { 0 };
    [Matrix::new(attention.z, layout.stride()), Matrix::new(attention.source_score, scores)]
}

impl<T: Primitives + Pod> AttentionPasses for Cluster<T> {
    fn attention_scores(
        &self,
        problem: &ClusterProblem<T>,
        layout: HeadLayout,
        z: &Buffer<T>,
        vectors: &Buffer<T>,
        state: &mut Buffer<T>,
        source_score: &mut Buffer<T>,
    ) -> Result<()> {
        cpu::attention_scores(&self.rows(problem), layout, [z, vectors], state, source_score);
        Ok(())
    }

    fn attention_forward(
        &self,
        problem: &ClusterProblem<T>,
        attention: Attention<'_, Self>,
        state: &mut Buffer<T>,
        sums: &mut Buffer<T>,
        messages: Option<(&Buffer<T>, &mut Buffer<T>)>,
    ) -> Result<()> {
        let (rows, nodes) = (problem.attention(attention), problem.nodes());
        let (layout, stride, heads) = (rows.layout, rows.layout.stride(), STATE * rows.layout.head_stride());
        let (state, sums) = (&mut state[..nodes * heads], &mut sums[..nodes * stride]);
        // Matrix of the features of edges in messages, numbers per node, and weighted sums of features.
        let (matrix, per_node, feature_sums) = match messages {
            Some((matrix, sums)) => {
                let per_node = layout.head_stride() * matrix.len() / stride;
                (&matrix[..], per_node, &mut sums[..nodes * per_node])
            }
            None => (&[][..], 0, &mut [][..]),
        };
        T::attention_begin(&problem.rows, layout, state, sums);
        T::clear_list(feature_sums);
        problem.for_each_block(self.peers(), None, &matrices(&rows), &mut |run, parts, received| {
            let run = &problem.blocks.runs[run];
            let (state, sums) = (&mut state[in_rows(&run.rows, heads)], &mut sums[in_rows(&run.rows, stride)]);
            let feature_sums = &mut feature_sums[in_rows(&run.rows, per_node)];
            let mut batch = Batch::new(rows, |blocks: &[kernels::Attention<'_, T>]| {
                T::attention_forward(&run.parts, blocks, state, sums, feature_sums, &mut []);
            });
            for &visit in parts {
                let lists = &run.blocks[visit.part].incoming;
                if !lists.is_empty() {
                    batch.push(kernels::Attention { incoming: lists.view(), ..to_part(rows, visit, received) });
                }
            }
            batch.end();
            Ok(())
        })?;
        T::attention_end(&problem.rows, layout, state, sums);
        clear_isolated(&problem.isolated, layout, state, sums, feature_sums, &mut []);
        if per_node > 0 {
            T::messages_end(&problem.rows, layout, state, per_node, feature_sums);
            T::messages_forward(&problem.rows, layout, feature_sums, matrix, sums);
        }
        Ok(())
    }

    /// Chooses the edges to own nodes, and those from own nodes to others.
    fn choose_top_k(
        &self,
        problem: &ClusterProblem<T>,
        attention: Attention<'_, Self>,
        state: &Buffer<T>,
        chosen: &mut Vec<u8>,
    ) -> Result<()> {
        let (rows, state) = (problem.attention(attention), own_state(problem, attention.layout, state));
        let Some(plan) = &problem.contrast else { return Err(Error::EmptySplit { split: "training" }) };
        let (edges, ghosts, groups) = (problem.edges(), &problem.blocks.ghosts, rows.layout.groups);
        let chosen = &mut chosen[..ghosts.places() * groups];
        let own = &mut chosen[..edges.incoming.neighbours.len() * groups];
        let scores = [state, rows.source_score];
        plan.with_scores(self.peers(), edges, rows.layout.head_stride(), scores, false, |scores| {
            let attention = to_all(rows, edges, scores.sources);
            T::choose_top_k(&problem.edge_rows, attention, state, plan.contrast.constraints.top_k, own);
        })?;
        ghosts.complete(self.peers(), groups, chosen)
    }

    /// Returns the values of every edge to an own node.
    fn edge_values(
        &self,
        problem: &ClusterProblem<T>,
        attention: Attention<'_, Self>,
        state: &Buffer<T>,
    ) -> Result<[Vec<T>; 2]> {
        let (rows, state) = (problem.attention(attention), own_state(problem, attention.layout, state));
        let values = problem.attended().incoming.neighbours.len() * rows.layout.heads;
        let [mut coefficients, mut logits] = [vec![T::ZERO; values], vec![T::ZERO; values]];
        problem.for_each_block(self.peers(), None, &matrices(&rows), &mut |run, parts, received| {
            for &visit in parts {
                let lists = &problem.blocks.runs[run].blocks[visit.part].incoming;
                if !lists.is_empty() {
                    let input = kernels::Attention { incoming: lists.view(), ..to_part(rows, visit, received) };
                    T::edge_values(input, state, &mut coefficients, &mut logits);
                }
            }
            Ok(())
        })?;
        Ok([coefficients, logits].map(|values| problem.with_loops(values, rows.layout.heads)))
    }

    /// Adds the loss on attention to the sums of each part of this process.
    fn attention_backward(
        &self,
        problem: &ClusterProblem<T>,
        attention: Attention<'_, Self>,
        supervision: Supervision<'_, Self>,
        from: AttentionGradient<'_, Self>,
        scratch: &mut ClusterScratch<T>,
        to: ProjectedGradient<'_, Self>,
        place: Place<'_, Self>,
    ) -> Result<()> {
        let rows = problem.attention(attention);
        let lambda_e = match supervision {
            Supervision::Edges { lambda_e } if problem.sampler.is_some() => Some(lambda_e),
            _ => None,
        };
        let mut record = |losses: &[f64], mean: &dyn Fn(f64) -> f64| {
            let sums = by_part(losses, problem.edge_parts.iter().copied());
            for (record, sum) in place.record.0[place.example].iter_mut().zip(sums) {
                record.losses[1] += mean(sum);
            }
        };
        let (nodes, layout) = (problem.nodes(), rows.layout);
        let (stride, heads) = (layout.stride(), layout.head_stride());
        let ClusterScratch { active, partial, losses, samples, contrast, d_scores, other_active, .. } = scratch;
        let state = own_state(problem, layout, from.state);
        let d_out = &from.sums[..nodes * stride];
        let active = &active[..nodes];
        let symmetric = problem.edges().outgoing.is_none();
        let d_z = &mut to.z[..nodes * stride];
        let d_scores = &mut d_scores[..nodes * score_sums(layout)];
        let losses = &mut losses[..problem.edge_rows.len()];
        T::clear_list(d_z);
        T::clear_list(d_scores);
        losses.fill(0.0);
        let parts = problem.edge_rows.len();
        let mut d_messages = &[][..];
        let mut per_node = 0;
        if let (Some((matrix, sums)), Some(to)) = (from.messages, to.messages) {
            per_node = heads * matrix.len() / stride;
            let (sums, d_sums) = (&sums[..nodes * per_node], &mut to.sums[..nodes * per_node]);
            let d_matrix = &mut partial[..parts * matrix.len()];
            T::messages_backward(&problem.edge_rows, layout, [sums, matrix, d_out], d_sums, d_matrix);
            self.sum_pieces(problem, problem.edge_parts.iter().copied(), d_matrix, to.matrix)?;
            d_messages = d_sums;
        }
        // Gradients of the vectors of edge features, then of the vectors of scores, per division of the rows.
        let edge_width = rows.edges.map_or(0, |terms| terms.vectors.len());
        let (edge_sums, vector_partial) = partial.split_at_mut(parts * edge_width);
        T::clear_list(edge_sums);
        let sampled = lambda_e.map(|lambda_e| (lambda_e / samples.count as f64, &*samples));
        let gradient = Gradient {
            state,
            out: d_out,
            half: None,
            kept: &[],
            active,
            others: OtherGradients { state, out: d_out, active, messages: d_messages },
            outgoing: Neighbours::default(),
            place_at_target: &[],
            symmetric,
            edge_loss: sampled.map(|(weight, samples)| EdgeLoss {
                positives: &samples.positives,
                negatives_by_target: Neighbours::default(),
                negatives_by_source: Neighbours::default(),
                weight,
            }),
            messages: d_messages,
        };

        // A neighbour's row, score, state and gradients. Non-edges do not need the gradients.
        let [z, source_score] = matrices(&rows);
        let scored = rows.form.has_vector();
        let matrices = [
            Matrix { for_pairs: rows.form.has_product(), ..z },
            Matrix { for_pairs: true, ..source_score },
            Matrix { for_pairs: scored, ..Matrix::new(state, STATE * heads) },
            Matrix::new(d_out, stride),
            Matrix::new(d_messages, per_node),
        ];
        let pairs = sampled.map(|(_, samples)| &samples.needs);
        problem.for_each_block(self.peers(), pairs, &matrices, &mut |run, parts, received| {
            let (number, run) = (run, &problem.blocks.runs[run]);
            if let Some(received) = received {
                let [.., out, _]: [_; 5] = received.from(Visit::default());
                other_active.resize(out.len() / stride, false);
                T::mark_active(out, stride, other_active);
            }
            let parts_of_run = run.first_part..run.first_part + run.parts.len();
            let d_z = &mut d_z[in_rows(&run.rows, stride)];
            let d_scores = &mut d_scores[in_rows(&run.rows, score_sums(layout))];
            let d_vectors = &mut edge_sums[in_rows(&parts_of_run, edge_width)];
            let losses = &mut losses[parts_of_run];
            let mut blocks =
                Batch::new((rows, gradient), |blocks: &[(kernels::Attention<'_, T>, Gradient<'_, T>)]| {
                    T::attention_backward(&run.parts, blocks, d_z, d_scores, d_vectors, losses);
                });
            for &visit in parts {
                let (block, mut gradient) = (&run.blocks[visit.part], gradient);
                if let Some(received) = received {
                    let [_, _, state, out, messages] = received.from(visit);
                    let active = &other_active[visit.first_row[0]..];
                    gradient.others = OtherGradients { state, out, active, messages };
                }
                gradient.place_at_target = &block.positions;
                let alone = to_part(rows, visit, received);
                if !block.incoming.is_empty() {
                    blocks.push((kernels::Attention { incoming: block.incoming.view(), ..alone }, gradient));
                }
                if !block.outgoing.is_empty() {
                    blocks.push((alone, Gradient { outgoing: block.outgoing.view(), ..gradient }));
                }
                let Some((loss, (_, samples))) = gradient.edge_loss.zip(sampled) else { continue };
                let NegativeBlock { by_target, by_source } = &samples.blocks[number][visit.part];
                if !by_target.is_empty() {
                    let loss = EdgeLoss { negatives_by_target: by_target.view(), ..loss };
                    blocks.push((alone, Gradient { edge_loss: Some(loss), ..gradient }));
                }
                if !by_source.is_empty() {
                    let loss = EdgeLoss { negatives_by_source: by_source.view(), ..loss };
                    blocks.push((alone, Gradient { edge_loss: Some(loss), ..gradient }));
                }
            }
            blocks.end();
            Ok(())
        })?;
        if lambda_e.is_some() {
            record(losses, &|sum| sum / samples.count.max(1) as f64);
        }
        if let Some(d_vectors) = to.edge_vectors {
            self.sum_pieces(problem, problem.edge_parts.iter().copied(), edge_sums, d_vectors)?;
        }
        if let Some(d_vectors) = to.vectors {
            let sums = &mut vector_partial[..parts * vector_sums(layout, 0)];
            T::attention_backward_end(&problem.edge_rows, layout, rows.z, rows.vectors, d_scores, d_z, sums);
            if let (Supervision::Margins { clock, layer }, Some(plan)) = (supervision, &problem.contrast) {
                let lists = problem.lists();
                let stream = |purpose| Stream::new(clock.seed, clock.step, layer, purpose);
                contrast.draw(self.peers(), lists, plan, stream)?;
                let scores = [state, rows.source_score];
                plan.with_scores(self.peers(), lists.edges, heads, scores, true, |scores| {
                    let attention = to_all(rows, lists.edges, scores.sources);
                    let to = ScoreGradient { z: d_z, vectors: sums, losses };
                    contrast.backward(plan, lists, attention, scores, to, &mut record);
                })?;
            }
            self.sum_pieces(problem, problem.edge_parts.iter().copied(), sums, d_vectors)?;
        }
        Ok(())
    }

    fn pair_logits(
        &self,
        _: &ClusterProblem<T>,
        _: Attention<'_, Self>,
        _: &Buffer<T>,
        _: &[[u32; 2]],
    ) -> Result<Vec<T>> {
        Err(Error::Peers { reason: "logits of pairs are computed by one process only".into() })
    }
}

/// Returns the state of own nodes.
fn own_state<'a, T: Primitives + Pod>(
    problem: &ClusterProblem<T>,
    layout: HeadLayout,
    state: &'a Buffer<T>,
) -> &'a [T] {
    &state[..problem.nodes() * STATE * layout.head_stride()]
}

/// Blocks of edges that are computed together, so that the rows of their nodes stay in the cache.
struct Batch<B, F> {
    blocks: [B; BATCH],
    count: usize,
    compute: F,
}

/// Blocks in a batch.
const BATCH: usize = 32;

impl<B: Copy, F: FnMut(&[B])> Batch<B, F> {
    /// Creates an empty batch. `empty` is any block, which is not computed.
    fn new(empty: B, compute: F) -> Self {
        Self { blocks: [empty; BATCH], count: 0, compute }
    }

    /// Adds a block, and computes the batch if it is full.
    fn push(&mut self, block: B) {
        self.blocks[self.count] = block;
        self.count += 1;
        if self.count == BATCH {
            (self.compute)(&self.blocks);
            self.count = 0;
        }
    }

    /// Computes the remaining blocks.
    fn end(mut self) {
        (self.compute)(&self.blocks[..self.count]);
    }
}

/// Returns the place of rows of `width` numbers.
pub(super) fn in_rows(rows: &std::ops::Range<usize>, width: usize) -> std::ops::Range<usize> {
    rows.start * width..rows.end * width
}
