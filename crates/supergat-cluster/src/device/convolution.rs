//! Sums of graph convolutions over several processes, block by block.

use super::Cluster;
use super::attention::in_rows;
use super::problem::ClusterProblem;
use super::travel::Matrix;
use bytemuck::Pod;
use supergat_core::device::Convolutions;
use supergat_core::memory::Buffer;
use supergat_core::{Convolution, Result};
use supergat_cpu::kernels::{Aggregation, Primitives, Slice};

impl<T: Primitives + Pod> Convolutions for Cluster<T> {
    fn convolve(
        &self,
        problem: &ClusterProblem<T>,
        convolution: Convolution,
        width: usize,
        z: &Buffer<T>,
        sums: &mut Buffer<T>,
    ) -> Result<()> {
        let (nodes, stride) = (problem.nodes(), convolution.halves() * width);
        let (z, sums) = (&z[..nodes * stride], &mut sums[..nodes * width]);
        let matrix = Matrix { rows: z, stride, width, for_pairs: false };
        self.aggregate_blocks(problem, convolution, false, matrix, sums, width)?;
        let root = (stride > width).then_some(Slice { stride, offset: width });
        T::aggregate_end(&problem.edge_rows, &problem.factors[0], width, z, root, sums, width);
        Ok(())
    }

    fn convolve_backward(
        &self,
        problem: &ClusterProblem<T>,
        convolution: Convolution,
        width: usize,
        gradient: &Buffer<T>,
        d_z: &mut Buffer<T>,
    ) -> Result<()> {
        let (nodes, stride) = (problem.nodes(), convolution.halves() * width);
        let (gradient, d_z) = (&gradient[..nodes * width], &mut d_z[..nodes * stride]);
        self.aggregate_blocks(problem, convolution, true, Matrix::new(gradient, width), d_z, stride)?;
        T::aggregate_end(&problem.edge_rows, &problem.factors[1], width, gradient, None, d_z, stride);
        if stride > width {
            for (row, g) in d_z.chunks_exact_mut(stride).zip(gradient.chunks_exact(width)) {
                row[width..].copy_from_slice(g);
            }
        }
        Ok(())
    }
}

impl<T: Primitives + Pod> Cluster<T> {
    /// Computes the sums of a convolution over incoming edges, or of its gradient over outgoing edges, without their
    /// factors.
    fn aggregate_blocks(
        &self,
        problem: &ClusterProblem<T>,
        convolution: Convolution,
        backward: bool,
        matrix: Matrix<'_, T>,
        out: &mut [T],
        out_stride: usize,
    ) -> Result<()> {
        let inner = &problem.factors[usize::from(!backward)];
        let width = matrix.width;
        let matrices = [matrix, Matrix::new(inner, 1)];
        T::clear_list(out);
        problem.for_each_block(self.peers(), None, &matrices, &mut |run, parts, received| {
            let (weights, run) = (problem.edge_values.of_blocks.get(run), &problem.blocks.runs[run]);
            let directed = problem.edges().outgoing.is_some();
            let own = received.is_some() || convolution != Convolution::SageRoot;
            let out = &mut out[in_rows(&run.rows, out_stride)];
            for &visit in parts {
                let (z, z_stride, inner) = match received {
                    None => (matrix.rows, matrix.stride, &inner[..]),
                    Some(received) => {
                        let [z, inner] = received.from(visit);
                        (z, width, inner)
                    }
                };
                let block = &run.blocks[visit.part];
                let lists = if backward && directed { &block.outgoing } else { &block.incoming };
                if !lists.is_empty() {
                    let weights = weights.map_or(&[][..], |run| &run[visit.part][usize::from(backward)]);
                    let sum = Aggregation { lists: lists.view(), outer: &[], inner, weights, own };
                    T::aggregate(&run.parts, sum, width, z, z_stride, None, out, out_stride);
                }
            }
            Ok(())
        })
    }
}
