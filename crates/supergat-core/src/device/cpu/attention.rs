//! Attention on the CPU: arguments of its kernels, and the backward pass with the loss on attention.

use super::Cpu;
use super::contrast::Scores;
use super::problem::{CpuProblem, Sampler};
use super::scratch::{CpuScratch, Samples};
use crate::device::{Attention, AttentionGradient, Mask, Place, ProjectedGradient, Supervision};
use crate::error::Result;
use crate::kernels::{self, Buffer, EdgeLoss, Gradient, HeadLayout, Primitives, STATE, sum_parts, vector_sums};
use crate::random::Stream;

impl<'a, T: Primitives> Attention<'a, Cpu<T>> {
    pub(super) fn kernel(self, problem: &'a CpuProblem<T>) -> kernels::Attention<'a, T> {
        kernels::Attention {
            form: self.form,
            layout: self.layout,
            slope: T::from_f64(self.slope),
            z: &self.z[..problem.nodes() * self.layout.stride()],
            source_score: self.source_score,
            incoming: problem.graph().incoming().lists(),
            keep: self.keep.map(Mask::kernel),
            chosen: self.chosen.map(Vec::as_slice),
        }
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

/// Computes the gradients of attention and of the loss on it; see [`crate::Device::attention_backward`].
pub(super) fn backward<T: Primitives>(
    problem: &CpuProblem<T>,
    attention: Attention<'_, Cpu<T>>,
    supervision: Supervision<'_, Cpu<T>>,
    from: AttentionGradient<'_, Cpu<T>>,
    scratch: &mut CpuScratch<T>,
    to: ProjectedGradient<'_, Cpu<T>>,
    place: Place<'_, Cpu<T>>,
) -> Result<()> {
    let (graph, nodes, layout) = (problem.graph(), problem.nodes(), attention.layout);
    let stride = layout.stride();
    let CpuScratch { active, partial, losses, samples, .. } = scratch;
    let sampled = match (&supervision, &*samples) {
        (Supervision::Edges { lambda_e }, Samples::Edges(samples)) => Some((*lambda_e, samples)),
        _ => None,
    };
    let edge_loss = sampled.map(|(lambda_e, samples)| EdgeLoss {
        positives: &samples.positives,
        negatives_by_target: samples.by_target.lists(),
        negatives_by_source: samples.by_source.lists(),
        weight: lambda_e / samples.count() as f64,
    });
    let vectors = from.vectors.map_or([&[][..], &[][..]], |a| a.split_at(stride).into());
    let (attention, state) = (attention.kernel(problem), state_of(problem, layout, from.state));
    let gradient = Gradient {
        state,
        out: &from.sums[..nodes * stride],
        active: &active[..nodes],
        vectors,
        outgoing: graph.outgoing().lists(),
        place_at_target: graph.place_at_target(),
        symmetric: graph.is_symmetric(),
        edge_loss,
    };
    let parts = &problem.edges;
    let sums = &mut partial[..parts.len() * vector_sums(layout)];
    let losses = &mut losses[..parts.len()];
    let d_z = &mut to.z[..nodes * stride];
    T::attention_backward(parts, attention, gradient, d_z, sums, losses);
    let mut loss = sampled.map_or(0.0, |(_, samples)| losses.iter().sum::<f64>() / samples.count().max(1) as f64);
    if let (Supervision::Margins { clock, layer }, Sampler::Margins(plan), Samples::Margins(samples)) =
        (supervision, &problem.supervision, samples)
    {
        samples.draw(graph, parts, plan, |purpose| Stream::new(clock.seed, clock.step, layer, purpose));
        let scores = Scores { parts, graph, attention, state, vectors };
        loss = samples.backward(plan, scores, d_z, sums, losses);
    }
    if let Some(d_vectors) = to.vectors {
        sum_parts(parts.len(), sums, d_vectors);
    }
    place.record.losses[place.example][1] += loss;
    Ok(())
}
