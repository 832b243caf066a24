//! Attention on the CPU: arguments of its kernels, and the backward pass with the loss on attention.

use super::contrast::Scores;
use super::problem::{CpuProblem, Sampler};
use super::scratch::{CpuScratch, Samples};
use super::{Cpu, attention_v2};
use crate::kernels::{
    self, EdgeLoss, Gradient, OtherGradients, Others, Primitives, sum_columns, sum_parts, vector_sums,
};
use supergat_core::device::{
    Attention, AttentionGradient, AttentionPasses, MessageGradient, Place, ProjectedGradient, STATE, Supervision,
};
use supergat_core::memory::Buffer;
use supergat_core::random::Stream;
use supergat_core::{Error, Form, HeadLayout, Result};

impl<T: Primitives> CpuProblem<T> {
    /// Returns the arguments of the kernels of attention.
    pub(super) fn attention<'a>(&'a self, attention: Attention<'a, Cpu<T>>) -> kernels::Attention<'a, T> {
        let z = &attention.z[..self.nodes() * attention.layout.stride()];
        kernels::Attention {
            form: attention.form,
            layout: attention.layout,
            slope: T::from_f64(attention.slope),
            z,
            source_score: attention.source_score,
            others: Others { z, source_score: attention.source_score },
            incoming: self.lists().incoming.lists(),
            keep: attention.keep.map(kernels::Mask::of),
            chosen: attention.chosen.map(Vec::as_slice),
            edges: self.edge_terms(attention.edge_vectors),
        }
    }
}

impl<T: Primitives> AttentionPasses for Cpu<T> {
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
        let state = &mut state[..nodes * STATE * layout.head_stride()];
        let sums = &mut sums[..nodes * layout.stride()];
        let (matrix, feature_sums) = messages.map_or((&[][..], &mut [][..]), |(matrix, feature_sums)| {
            let per_node = layout.head_stride() * matrix.len() / layout.stride();
            (&matrix[..], &mut feature_sums[..nodes * per_node])
        });
        match attention.form {
            Form::V2 => T::attention_v2_forward(parts, problem.attention_v2(attention), state, sums, feature_sums),
            _ => T::attention_forward(parts, &[problem.attention(attention)], state, sums, feature_sums),
        }
        clear_isolated(problem.isolated(), layout, state, sums, feature_sums);
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
        match attention.form {
            Form::V2 => attention_v2::backward(problem, attention, supervision, from, scratch, to, place),
            _ => backward(problem, attention, supervision, from, scratch, to, place),
        }
        Ok(())
    }

    fn edge_values(
        &self,
        problem: &CpuProblem<T>,
        attention: Attention<'_, Self>,
        state: &Buffer<T>,
    ) -> Result<[Vec<T>; 2]> {
        let state = state_of(problem, attention.layout, state);
        Ok(of_edges(problem, attention.layout.heads, |coefficients, logits| match attention.form {
            Form::V2 => T::v2_edge_values(problem.attention_v2(attention), state, coefficients, logits),
            _ => T::edge_values(problem.attention(attention), state, coefficients, logits),
        }))
    }

    fn pair_logits(
        &self,
        problem: &CpuProblem<T>,
        attention: Attention<'_, Self>,
        state: &Buffer<T>,
        pairs: &[[u32; 2]],
    ) -> Result<Vec<T>> {
        let mut out = vec![T::ZERO; pairs.len()];
        let state = state_of(problem, attention.layout, state);
        match attention.form {
            Form::V2 => T::v2_pair_logits(problem.attention_v2(attention), pairs, &mut out),
            _ => T::pair_logits(problem.attention(attention), state, pairs, &mut out),
        }
        Ok(out)
    }
}

/// Returns the state of the nodes of an example.
pub(super) fn state_of<'a, T: Primitives>(
    problem: &CpuProblem<T>,
    layout: HeadLayout,
    state: &'a Buffer<T>,
) -> &'a [T] {
    &state[..problem.nodes() * STATE * layout.head_stride()]
}

/// Returns the coefficients and the logits of all edges, which `write` writes. Those of missing self-loops are zero.
pub(super) fn of_edges<T: Primitives>(
    problem: &CpuProblem<T>,
    heads: usize,
    write: impl FnOnce(&mut [T], &mut [T]),
) -> [Vec<T>; 2] {
    let values = problem.lists().edges * heads;
    let [mut coefficients, mut logits] = [vec![T::ZERO; values], vec![T::ZERO; values]];
    write(&mut coefficients, &mut logits);
    let all = [coefficients, logits];
    match &problem.no_loops {
        Some(lists) => all.map(|values| lists.scattered(&values, heads)),
        None => all,
    }
}

/// Writes zeros to the sums of nodes that attend to no node, whose softmax has no terms.
pub fn clear_isolated<T: Primitives>(
    isolated: &[u32],
    layout: HeadLayout,
    state: &mut [T],
    sums: &mut [T],
    feature_sums: &mut [T],
) {
    let (heads, per_node) = (layout.head_stride(), feature_sums.len() * layout.stride() / sums.len().max(1));
    for &node in isolated {
        let node = node as usize;
        sums[node * layout.stride()..(node + 1) * layout.stride()].fill(T::ZERO);
        feature_sums[node * per_node..(node + 1) * per_node].fill(T::ZERO);
        // The first slot is that of the node's score, which sampled non-edges read.
        state[(node * STATE + 1) * heads..(node + 1) * STATE * heads].fill(T::ZERO);
    }
}

/// Returns the edge loss on the samples, and the number of sampled pairs.
pub(super) fn edge_loss<'a, T: Primitives>(
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
pub(super) fn messages_backward<'a, T: Primitives>(
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

/// Computes the gradients of attention and of the loss on it; see [`AttentionPasses::attention_backward`].
fn backward<T: Primitives>(
    problem: &CpuProblem<T>,
    attention: Attention<'_, Cpu<T>>,
    supervision: Supervision<'_, Cpu<T>>,
    from: AttentionGradient<'_, Cpu<T>>,
    scratch: &mut CpuScratch<T>,
    to: ProjectedGradient<'_, Cpu<T>>,
    place: Place<'_, Cpu<T>>,
) {
    let (graph, lists) = (problem.graph(), problem.lists());
    let (nodes, layout) = (problem.nodes(), attention.layout);
    let stride = layout.stride();
    let CpuScratch { active, partial, losses, samples, .. } = scratch;
    let edge_loss = edge_loss(&supervision, samples);
    let pairs = edge_loss.map(|(_, pairs)| pairs);
    let vectors = attention.vectors.map_or([&[][..], &[][..]], |a| a.split_at(stride).into());
    let (attention, state) = (problem.attention(attention), state_of(problem, layout, from.state));
    let messages = messages_backward(problem, layout, from, to.messages, partial);
    let gradient = Gradient {
        state,
        out: &from.sums[..nodes * stride],
        active: &active[..nodes],
        others: OtherGradients { state, out: &from.sums[..nodes * stride], active: &active[..nodes], messages },
        vectors,
        outgoing: lists.outgoing.lists(),
        place_at_target: lists.place_at_target,
        symmetric: lists.symmetric,
        edge_loss: edge_loss.map(|(loss, _)| loss),
        messages,
    };
    let parts = &problem.edges;
    let edge_features = attention.edges.map_or(0, |terms| terms.vectors.len() / layout.head_stride());
    let per_part = vector_sums(layout, edge_features);
    let sums = &mut partial[..parts.len() * per_part];
    let losses = &mut losses[..parts.len()];
    let d_z = &mut to.z[..nodes * stride];
    T::attention_backward(parts, &[(attention, gradient)], d_z, &mut [], sums, losses);
    let mut loss = pairs.map_or(0.0, |pairs| losses.iter().sum::<f64>() / pairs.max(1) as f64);
    if let (Supervision::Margins { clock, layer }, Sampler::Margins(plan), Samples::Margins(samples)) =
        (supervision, &problem.supervision, samples)
    {
        samples.draw(graph, parts, plan, |purpose| Stream::new(clock.seed, clock.step, layer, purpose));
        let scores = Scores { parts, graph, attention, state, vectors };
        loss = samples.backward(plan, scores, d_z, sums, losses);
    }
    // The sums of a part are the gradients of the vectors of GO and MX, then of those of edge features.
    let (vectors, edge_vectors) = (2 * stride, per_part - 2 * stride);
    for (to, start, length) in [(to.vectors, 0, vectors), (to.edge_vectors, vectors, edge_vectors)] {
        if let Some(to) = to {
            sum_columns(parts.len(), sums, per_part, start, &mut to[..length]);
        }
    }
    place.record.losses[place.example][1] += loss;
}
