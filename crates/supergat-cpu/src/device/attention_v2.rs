//! GATv2 attention on the CPU: arguments of its kernels, and both passes.

use super::Cpu;
use super::attention::{clear_isolated, edge_loss, messages_backward, state_of};
use super::problem::CpuProblem;
use super::scratch::CpuScratch;
use crate::kernels::{self, GradientV2, Primitives, sum_columns, vector_sums};
use supergat_core::device::{AttentionGradient, AttentionV2, Place, ProjectedGradient, STATE, Supervision};
use supergat_core::memory::Buffer;

impl<T: Primitives> CpuProblem<T> {
    /// Returns the arguments of the kernels of GATv2 attention.
    pub(super) fn attention_v2<'a>(&'a self, attention: AttentionV2<'a, Cpu<T>>) -> kernels::AttentionV2<'a, T> {
        kernels::AttentionV2 {
            layout: attention.layout,
            slope: T::from_f64(attention.slope),
            z: &attention.z[..self.nodes() * 2 * attention.layout.stride()],
            vectors: attention.vectors,
            incoming: self.lists().incoming.lists(),
            keep: attention.keep.map(kernels::Mask::of),
            edges: self.edge_terms(attention.edge_vectors),
        }
    }
}

/// Computes attention; see [`supergat_core::Device::attention_v2_forward`].
pub(super) fn forward<T: Primitives>(
    problem: &CpuProblem<T>,
    attention: AttentionV2<'_, Cpu<T>>,
    state: &mut Buffer<T>,
    sums: &mut Buffer<T>,
    messages: Option<(&Buffer<T>, &mut Buffer<T>)>,
) {
    let (nodes, layout) = (problem.nodes(), attention.layout);
    let state = &mut state[..nodes * STATE * layout.head_stride()];
    let sums = &mut sums[..nodes * layout.stride()];
    let (matrix, feature_sums) = messages.map_or((&[][..], &mut [][..]), |(matrix, feature_sums)| {
        let per_node = layout.head_stride() * matrix.len() / layout.stride();
        (&matrix[..], &mut feature_sums[..nodes * per_node])
    });
    T::attention_v2_forward(&problem.edges, problem.attention_v2(attention), state, sums, feature_sums);
    clear_isolated(problem.isolated(), layout, state, sums, feature_sums);
    if !matrix.is_empty() {
        T::messages_forward(&problem.edges, layout, feature_sums, matrix, sums);
    }
}

/// Computes the gradients of attention and of the edge loss; see [`supergat_core::Device::attention_v2_backward`].
pub(super) fn backward<T: Primitives>(
    problem: &CpuProblem<T>,
    attention: AttentionV2<'_, Cpu<T>>,
    supervision: Supervision<'_, Cpu<T>>,
    from: AttentionGradient<'_, Cpu<T>>,
    scratch: &mut CpuScratch<T>,
    to: ProjectedGradient<'_, Cpu<T>>,
    place: Place<'_, Cpu<T>>,
) {
    let (nodes, layout, lists) = (problem.nodes(), attention.layout, problem.lists());
    let (parts, stride) = (&problem.edges, layout.stride());
    let CpuScratch { active, partial, losses, samples, .. } = scratch;
    let edge_loss = edge_loss(&supervision, samples);
    let gradient = GradientV2 {
        state: state_of(problem, layout, from.state),
        out: &from.sums[..nodes * stride],
        active: &active[..nodes],
        outgoing: lists.outgoing.lists(),
        place_at_target: lists.place_at_target,
        symmetric: lists.symmetric,
        edge_loss: edge_loss.map(|(loss, _)| loss),
        messages: messages_backward(problem, layout, from, to.messages, partial),
    };
    let attention = problem.attention_v2(attention);
    let per_part = vector_sums(layout, attention.edges.map_or(0, |terms| terms.width));
    let (sums, losses) = (&mut partial[..parts.len() * per_part], &mut losses[..parts.len()]);
    T::attention_v2_backward(parts, attention, gradient, &mut to.z[..nodes * 2 * stride], sums, losses);
    // The sums of a part are the gradient of the vectors, a row of no meaning, and the gradient of those of edge features.
    for (to, start) in [(to.vectors, 0), (to.edge_vectors, 2 * stride)] {
        if let Some(to) = to {
            sum_columns(parts.len(), sums, per_part, start, to);
        }
    }
    let loss = edge_loss.map_or(0.0, |(_, pairs)| losses.iter().sum::<f64>() / pairs.max(1) as f64);
    place.record.losses[place.example][1] += loss;
}
