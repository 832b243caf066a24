//! Attention on the CPU: arguments of its kernels, and the backward pass with the loss on attention.

use super::Cpu;
use super::contrast::Scores;
use super::problem::{CpuProblem, Sampler};
use super::scratch::{CpuScratch, Samples};
use crate::kernels::{
    self, EdgeLoss, Gradient, OtherGradients, Primitives, kept_numbers, sum_columns, sum_parts, vector_sums, widen,
};
use supergat_core::device::{
    Attention, AttentionGradient, AttentionPasses, MessageGradient, Place, ProjectedGradient, STATE, Supervision,
};
use supergat_core::memory::Buffer;
use supergat_core::random::Stream;
use supergat_core::{Error, Form, HeadLayout, Precision, Result};

impl<T: Primitives> CpuProblem<T> {
    /// Returns the arguments of the kernels of attention.
    fn attention<'a>(&'a self, attention: Attention<'a, Cpu<T>>) -> kernels::Attention<'a, T> {
        let edges = self.edge_terms(attention.edge_vectors);
        kernels::Attention::new(attention, self.nodes(), self.lists().incoming.lists(), edges)
    }
}

impl<T: Primitives> AttentionPasses for Cpu<T> {
    fn kept_by_attention(&self, form: Form, layout: HeadLayout) -> usize {
        if form == Form::Go { kept_numbers(layout) } else { 0 }
    }

    fn attention_scores(
        &self,
        problem: &CpuProblem<T>,
        layout: HeadLayout,
        z: &Buffer<T>,
        vectors: &Buffer<T>,
        state: &mut Buffer<T>,
        source_score: &mut Buffer<T>,
    ) -> Result<()> {
        super::attention_scores(&problem.own_rows(), layout, [z, vectors], state, source_score);
        Ok(())
    }

    fn round_rows(
        &self,
        problem: &CpuProblem<T>,
        stride: usize,
        rows: &Buffer<T>,
        rounded: &mut Buffer<T>,
    ) -> Result<()> {
        let numbers = problem.nodes() * stride;
        T::round_rows(&problem.input.rows, stride, &rows[..numbers], &mut rounded.halves_mut()[..numbers]);
        Ok(())
    }

    fn choose_top_k(
        &self,
        problem: &CpuProblem<T>,
        attention: Attention<'_, Self>,
        state: &Buffer<T>,
        chosen: &mut Vec<u8>,
    ) -> Result<()> {
        let Sampler::Margins(plan) = &problem.supervision else { return Err(Error::EmptySplit { split: "training" }) };
        let state = state_of(problem, attention.layout, state);
        let chosen = &mut chosen[..problem.graph().edges() * attention.layout.groups];
        T::choose_top_k(&problem.edges, problem.attention(attention), state, plan.top_k(), chosen);
        Ok(())
    }

    fn attention_forward(
        &self,
        problem: &CpuProblem<T>,
        attention: Attention<'_, Self>,
        state: &mut Buffer<T>,
        sums: &mut Buffer<T>,
        messages: Option<(&Buffer<T>, &mut Buffer<T>)>,
    ) -> Result<()> {
        let (nodes, layout, parts) = (problem.nodes(), attention.layout, &problem.edges);
        let input = problem.attention(attention);
        let kept = kept_len(problem, &input, state.len());
        let (state, rest) = state.split_at_mut(nodes * STATE * layout.head_stride());
        let kept = &mut rest[..kept];
        let sums = &mut sums[..nodes * layout.stride()];
        let (matrix, feature_sums) = messages.map_or((&[][..], &mut [][..]), |(matrix, feature_sums)| {
            let per_node = layout.head_stride() * matrix.len() / layout.stride();
            (&matrix[..], &mut feature_sums[..nodes * per_node])
        });
        T::attention_forward(parts, &[input], state, sums, feature_sums, kept);
        clear_isolated(problem.isolated(), layout, state, sums, feature_sums, kept);
        if !matrix.is_empty() {
            T::messages_forward(parts, layout, feature_sums, matrix, sums);
        }
        Ok(())
    }

    fn attention_backward(
        &self,
        problem: &CpuProblem<T>,
        attention: Attention<'_, Self>,
        supervision: Supervision<'_, Self>,
        from: AttentionGradient<'_, Self>,
        scratch: &mut CpuScratch<T>,
        to: ProjectedGradient<'_, Self>,
        place: Place<'_, Self>,
    ) -> Result<()> {
        let (graph, lists) = (problem.graph(), problem.lists());
        let (nodes, layout) = (problem.nodes(), attention.layout);
        let stride = layout.stride();
        let CpuScratch { active, partial, losses, samples, gathered, .. } = scratch;
        let edge_loss = edge_loss(&supervision, samples);
        let pairs = edge_loss.map(|(_, pairs)| pairs);
        let (attention, state) = (problem.attention(attention), state_of(problem, layout, from.state));
        let kept = &from.state[state.len()..][..kept_len(problem, &attention, from.state.len())];
        let messages = messages_backward(problem, layout, from, to.messages, partial);
        let half = (attention.half.is_some()).then(|| {
            let out = &mut gathered.halves_mut()[..nodes * stride];
            T::round_rows(&problem.input.rows, stride, &from.sums[..nodes * stride], out);
            &*out
        });
        let gradient = Gradient {
            state,
            half,
            out: &from.sums[..nodes * stride],
            kept,
            active: &active[..nodes],
            others: OtherGradients { state, out: &from.sums[..nodes * stride], active: &active[..nodes], messages },
            outgoing: lists.outgoing.lists(),
            place_at_target: lists.place_at_target,
            symmetric: lists.symmetric,
            edge_loss: edge_loss.map(|(loss, _)| loss),
            messages,
        };
        let parts = &problem.edges;
        let per_part = vector_sums(layout, attention.edges.map_or(0, |terms| terms.width));
        let sums = &mut partial[..parts.len() * per_part];
        let losses = &mut losses[..parts.len()];
        let d_z = &mut to.z[..nodes * attention.form.projections() * stride];
        T::attention_backward(parts, &[(attention, gradient)], d_z, &mut [], sums, losses);
        let mut loss = pairs.map_or(0.0, |pairs| losses.iter().sum::<f64>() / pairs.max(1) as f64);
        if let (Supervision::Margins { clock, layer }, Sampler::Margins(plan), Samples::Margins(samples)) =
            (supervision, &problem.supervision, samples)
        {
            samples.draw(graph, parts, plan, |purpose| Stream::new(clock.seed, clock.step, layer, purpose));
            let scores = Scores { parts, graph, attention, state };
            loss = samples.backward(plan, scores, d_z, sums, losses);
        }
        // The sums of a part are the gradients of the vectors, then of those of edge features.
        for (to, start) in [(to.vectors, 0), (to.edge_vectors, 2 * stride)] {
            if let Some(to) = to {
                sum_columns(parts.len(), sums, per_part, start, to);
            }
        }
        place.record.losses[place.example][1] += loss;
        Ok(())
    }

    fn edge_values(
        &self,
        problem: &CpuProblem<T>,
        attention: Attention<'_, Self>,
        state: &Buffer<T>,
    ) -> Result<[Vec<T>; 2]> {
        let (state, heads) = (state_of(problem, attention.layout, state), attention.layout.heads);
        let values = problem.lists().edges * heads;
        let [mut coefficients, mut logits] = [vec![T::ZERO; values], vec![T::ZERO; values]];
        let (attention, z) = (problem.attention(attention), full_rows(attention, problem.nodes()));
        T::edge_values(attention.with_full_rows(&z), state, &mut coefficients, &mut logits);
        let all = [coefficients, logits];
        // The values of missing self-loops are zero.
        Ok(match &problem.no_loops {
            Some(lists) => all.map(|values| lists.scattered(&values, heads)),
            None => all,
        })
    }

    fn pair_logits(
        &self,
        problem: &CpuProblem<T>,
        attention: Attention<'_, Self>,
        state: &Buffer<T>,
        pairs: &[[u32; 2]],
    ) -> Result<Vec<T>> {
        let mut out = vec![T::ZERO; pairs.len()];
        let (state, z) = (state_of(problem, attention.layout, state), full_rows(attention, problem.nodes()));
        T::pair_logits(problem.attention(attention).with_full_rows(&z), state, pairs, &mut out);
        Ok(out)
    }
}

/// Returns how many numbers behind the state the gradient of GO reads, in memory of `room` numbers: none without that
/// memory, as in evaluation, and none where the gradient reads the rows of all edges.
fn kept_len<T: Primitives>(problem: &CpuProblem<T>, attention: &kernels::Attention<'_, T>, room: usize) -> usize {
    let per_node = kept_numbers(attention.layout);
    let is_read = attention.form == Form::Go
        && problem.lists().symmetric
        && attention.edges.is_none()
        && attention.chosen.is_none();
    let has_room = room >= problem.nodes() * (STATE * attention.layout.head_stride() + per_node);
    if is_read && has_room { problem.nodes() * per_node } else { 0 }
}

/// Returns the rows of `z` in full precision if they are stored in 16 bits, else nothing.
fn full_rows<T: Primitives>(attention: Attention<'_, Cpu<T>>, nodes: usize) -> Vec<T> {
    match attention.precision {
        Precision::F32 | Precision::Auto => Vec::new(),
        Precision::Bf16 => widen(&attention.z.halves()[..nodes * attention.layout.stride()]),
    }
}

/// Returns the state of the nodes of an example.
fn state_of<'a, T: Primitives>(problem: &CpuProblem<T>, layout: HeadLayout, state: &'a Buffer<T>) -> &'a [T] {
    &state[..problem.nodes() * STATE * layout.head_stride()]
}

/// Writes zeros to the sums of nodes that attend to no node, whose softmax has no terms, and to what is kept of them.
pub fn clear_isolated<T: Primitives>(
    isolated: &[u32],
    layout: HeadLayout,
    state: &mut [T],
    sums: &mut [T],
    feature_sums: &mut [T],
    kept: &mut [T],
) {
    let (heads, nodes) = (layout.head_stride(), (sums.len() / layout.stride()).max(1));
    for &node in isolated {
        let node = node as usize;
        for rows in [&mut *sums, &mut *feature_sums, &mut *kept] {
            let per_node = rows.len() / nodes;
            rows[node * per_node..(node + 1) * per_node].fill(T::ZERO);
        }
        // The first slot is that of the node's score, which sampled non-edges read.
        state[(node * STATE + 1) * heads..(node + 1) * STATE * heads].fill(T::ZERO);
    }
}

/// Returns the edge loss on the samples, and the number of sampled pairs.
fn edge_loss<'a, T: Primitives>(
    supervision: &Supervision<'_, Cpu<T>>,
    samples: &'a Samples,
) -> Option<(EdgeLoss<'a>, usize)> {
    let (Supervision::Edges { lambda_e }, Samples::Edges(samples)) = (supervision, samples) else { return None };
    let loss = EdgeLoss {
        positives: &samples.positives,
        negatives_by_target: samples.by_target.lists(),
        negatives_by_source: samples.by_source.lists(),
        weight: lambda_e / samples.count() as f64,
    };
    Some((loss, samples.count()))
}

/// Computes the gradients of the features of edges in messages. Returns that of their weighted sums, which is empty if
/// messages carry none.
fn messages_backward<'a, T: Primitives>(
    problem: &CpuProblem<T>,
    layout: HeadLayout,
    from: AttentionGradient<'_, Cpu<T>>,
    to: Option<MessageGradient<'a, Cpu<T>>>,
    partial: &mut [T],
) -> &'a [T] {
    let (Some((matrix, sums)), Some(to)) = (from.messages, to) else { return &[] };
    let (nodes, parts, stride) = (problem.nodes(), &problem.edges, layout.stride());
    let per_node = layout.head_stride() * matrix.len() / stride;
    let (sums, d_sums) = (&sums[..nodes * per_node], &mut to.sums[..nodes * per_node]);
    let d_matrix = &mut partial[..parts.len() * matrix.len()];
    T::messages_backward(parts, layout, [sums, matrix, &from.sums[..nodes * stride]], d_sums, d_matrix);
    sum_parts(parts.len(), d_matrix, to.matrix);
    d_sums
}
