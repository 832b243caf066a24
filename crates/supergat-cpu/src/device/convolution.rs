//! Graph convolutions on the CPU.

use super::{Cpu, CpuProblem};
use crate::kernels::{Aggregation, Primitives, Slice};
use supergat_core::device::Convolutions;
use supergat_core::graph::Neighbours;
use supergat_core::memory::Buffer;
use supergat_core::{Convolution, Result};

impl<T: Primitives> Convolutions for Cpu<T> {
    fn convolve(
        &self,
        problem: &CpuProblem<T>,
        convolution: Convolution,
        width: usize,
        z: &Buffer<T>,
        sums: &mut Buffer<T>,
    ) -> Result<()> {
        let (nodes, stride) = (problem.nodes(), convolution.halves() * width);
        let [outer, inner] = &problem.factors;
        let sum = aggregation(
            convolution,
            problem.graph().incoming().lists(),
            [outer, inner],
            &problem.edge_weights.by_incoming,
        );
        let root = (stride > width).then_some(Slice { stride, offset: width });
        let (z, sums) = (&z[..nodes * stride], &mut sums[..nodes * width]);
        T::aggregate(&problem.edges, sum, width, z, stride, root, sums, width);
        Ok(())
    }

    /// `d z_j = inner_j * sum of outer_i g_i` over the outgoing edges j -> i: the forward sum with `outer` and
    /// `inner` swapped.
    fn convolve_backward(
        &self,
        problem: &CpuProblem<T>,
        convolution: Convolution,
        width: usize,
        gradient: &Buffer<T>,
        d_z: &mut Buffer<T>,
    ) -> Result<()> {
        let (nodes, stride) = (problem.nodes(), convolution.halves() * width);
        let [outer, inner] = &problem.factors;
        let sum = aggregation(
            convolution,
            problem.graph().outgoing().lists(),
            [inner, outer],
            &problem.edge_weights.by_outgoing,
        );
        let (gradient, d_z) = (&gradient[..nodes * width], &mut d_z[..nodes * stride]);
        T::aggregate(&problem.edges, sum, width, gradient, width, None, d_z, stride);
        if stride > width {
            for (row, g) in d_z.chunks_exact_mut(stride).zip(gradient.chunks_exact(width)) {
                row[width..].copy_from_slice(g);
            }
        }
        Ok(())
    }
}

fn aggregation<'a, T>(
    convolution: Convolution,
    lists: Neighbours<'a>,
    [outer, inner]: [&'a [T]; 2],
    weights: &'a [T],
) -> Aggregation<'a, T> {
    Aggregation { lists, outer, inner, weights, own: convolution != Convolution::SageRoot }
}
