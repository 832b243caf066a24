//! GATv2 attention on the CPU: arguments of its kernels, and the backward pass.

use super::Cpu;
use super::attention::{edge_loss, messages_backward, state_of};
use super::problem::CpuProblem;
use super::scratch::CpuScratch;
use crate::kernels::{self, GradientV2, Primitives, sum_columns, vector_sums};
use supergat_core::device::{Attention, AttentionGradient, Place, ProjectedGradient, Supervision};

impl<T: Primitives> CpuProblem<T> {
    /// Returns the arguments of the kernels of GATv2 attention.
    pub(super) fn attention_v2<'a>(&'a self, attention: Attention<'a, Cpu<T>>) -> kernels::AttentionV2<'a, T> {
        kernels::AttentionV2 {
            layout: attention.layout,
            slope: T::from_f64(attention.slope),
            z: &attention.z[..self.nodes() * 2 * attention.layout.stride()],
            vectors: attention.vectors.map_or(&[], |vectors| vectors),
            incoming: self.lists().incoming.lists(),
            keep: attention.keep.map(kernels::Mask::of),
            edges: self.edge_terms(attention.edge_vectors),
        }
    }
}

/// Computes the gradients of attention and of the edge loss; see [`supergat_core::device::AttentionPasses::attention_backward`].
pub(super) fn backward<T: Primitives>(
    problem: &CpuProblem<T>,
    attention: Attention<'_, Cpu<T>>,
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
