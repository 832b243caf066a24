//! Graph convolutions: sums over neighbours whose weights depend on the graph only.
//!
//! ```text
//! s_i = outer_i * sum_j w_ij inner_j z_j        w_ij: weight of the edge, if edges have weights
//! ```

use crate::compile::{Source, Variant};
use crate::launch::{Cuda, grid, launch};
use crate::memory::Numbers;
use crate::problem::factors::Factors;
use crate::problem::sparse::{Segments, lanes};
use crate::problem::{Lists, Problem};
use cudarc::driver::CudaSlice;
use supergat_core::device::Convolutions;
use supergat_core::{Convolution, Result};

const CONVOLUTION: Source = Source {
    name: "convolution",
    text: concat!(include_str!("../kernels/segments.cuh"), include_str!("../kernels/convolution.cu")),
};

impl Convolutions for Cuda {
    fn convolve(
        &self,
        problem: &Problem,
        convolution: Convolution,
        width: usize,
        z: &Numbers,
        sums: &mut Numbers,
    ) -> Result<()> {
        let stride = convolution.halves() * width;
        let factors = factors(problem);
        let weights = [&factors.outer, &factors.inner];
        let pass = Pass {
            own: convolution != Convolution::SageRoot,
            root: stride > width,
            copy: false,
            width,
            z_stride: stride,
            stride: width,
        };
        let edge_weights = factors.edge_weights.as_ref().map(|[by_incoming, _]| by_incoming);
        aggregate(self, pass, &factors.incoming, &problem.incoming, weights, edge_weights, &factors.partial, z, sums)
    }

    fn convolve_backward(
        &self,
        problem: &Problem,
        convolution: Convolution,
        width: usize,
        gradient: &Numbers,
        d_z: &mut Numbers,
    ) -> Result<()> {
        let stride = convolution.halves() * width;
        let factors = factors(problem);
        let weights = [&factors.inner, &factors.outer];
        let segments = factors.outgoing.as_ref().unwrap_or(&factors.incoming);
        let pass = Pass {
            own: convolution != Convolution::SageRoot,
            root: false,
            copy: stride > width,
            width,
            z_stride: width,
            stride,
        };
        let edge_weights = factors.edge_weights.as_ref().map(|[_, by_outgoing]| by_outgoing);
        aggregate(self, pass, segments, problem.outgoing(), weights, edge_weights, &factors.partial, gradient, d_z)
    }
}

fn factors(problem: &Problem) -> &Factors {
    problem.factors.as_ref().expect("an example placed for a network of convolutions")
}

/// Kind of sum, and the lengths of rows.
struct Pass {
    own: bool,
    root: bool,
    copy: bool,
    width: usize,
    z_stride: usize,
    stride: usize,
}

#[allow(clippy::too_many_arguments)]
fn aggregate(
    cuda: &Cuda,
    pass: Pass,
    segments: &Segments,
    lists: &Lists,
    [outer, inner]: [&CudaSlice<f32>; 2],
    edge_weights: Option<&CudaSlice<f32>>,
    partial: &CudaSlice<f32>,
    z: &Numbers,
    out: &mut Numbers,
) -> Result<()> {
    let [own, root, copy] = [pass.own, pass.root, pass.copy].map(u32::from);
    let [quads, z_quads, out_quads] = [pass.width, pass.z_stride, pass.stride].map(|n| (n / 4) as u32);
    let (count, lanes) = (segments.count as u32, lanes(quads));
    launch!(
        cuda,
        &CONVOLUTION,
        if edge_weights.is_some() { &[("WEIGHTED", 1)] } else { &[] },
        "aggregate",
        grid(segments.count.div_ceil(4), 128),
        &segments.segments,
        &segments.splits,
        &count,
        &lists.nodes,
        outer,
        inner,
        &own,
        &root,
        &copy,
        &z.0,
        &z_quads,
        &quads,
        &lanes,
        partial,
        &segments.tickets,
        &mut out.0,
        &out_quads;
        edge_weights
    )
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    vec![(&CONVOLUTION, vec![]), (&CONVOLUTION, vec![("WEIGHTED", 1)])]
}
