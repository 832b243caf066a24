//! Weights and features of edges: the arguments of kernels that read them, and messages that carry them.
//!
//! ```text
//! e_ij  = form(z_i, z_j) + u_h . f_ij          alpha_i = softmax_j(LeakyReLU(e_ij) + ln w_ij)
//! out_i = sum_j alpha_ij (z_j + V_h f_ij)      V only if messages carry features
//! ```
//!
//! Kernels of attention are compiled with code for edges only where edges have weights or features.

use crate::compile::{Source, Variant};
use crate::launch::{Cuda, copied_arguments, launch};
use crate::memory::{Numbers, address, address_of};
use crate::problem::Problem;
use crate::scratch::AttentionScratch;
use crate::teams::{self, Defines, FEW_BLOCKS, THREADS};
use cudarc::driver::LaunchConfig;
use supergat_core::device::MessageGradient;
use supergat_core::{Form, HeadLayout, Precision, Result};

const MESSAGES: Source = Source {
    name: "messages",
    text: concat!(
        include_str!("../kernels/rows.cuh"),
        include_str!("../kernels/edges.cuh"),
        include_str!("../kernels/messages.cu")
    ),
};

/// Arguments of a kernel that reads weights and features of edges: `Edges` in `kernels/edges.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments {
    log_weights: u64,
    features: u64,
    vectors: u64,
    pub(crate) matrix: u64,
    pub(crate) sums: u64,
    pub(crate) partial: u64,
    pub(crate) d_vectors: u64,
    width: u32,
    first: u32,
    count: u32,
    unused: u32,
}

copied_arguments!(Arguments);

/// Weights and features that a pass of attention reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) arguments: Arguments,
    /// Whether messages carry features.
    pub(crate) messages: bool,
}

impl Terms {
    /// Returns what attention reads of the edges; `None` if it reads nothing.
    pub(crate) fn new(problem: &Problem, edge_vectors: Option<&Numbers>, messages: bool) -> Option<Self> {
        let memory = problem.edge_memory.as_ref()?;
        let vectors = address_of(edge_vectors);
        let log_weights = memory.log_weights.as_ref().map_or(0, address);
        if vectors == 0 && log_weights == 0 {
            return None;
        }
        let width = if vectors == 0 { 0 } else { memory.width as u32 };
        let features = address(&memory.features);
        let [matrix, sums, partial, d_vectors] = [0; 4];
        let (first, count, unused) = (0, width, 0);
        let arguments =
            Arguments { log_weights, features, vectors, matrix, sums, partial, d_vectors, width, first, count, unused };
        Some(Self { arguments, messages })
    }

    /// Divides the features into chunks whose sums fit into shared memory: the definitions and the arguments of each
    /// launch. With `all`, one launch reads all features, because the kernel has no sums.
    pub(crate) fn launches(self, layout: HeadLayout, all: bool) -> impl Iterator<Item = (Defines, Arguments)> {
        let width = self.arguments.width;
        let count = if all { width } else { chunk(layout, width) }.max(1);
        (0..width.max(1)).step_by(count as usize).map(move |first| {
            let arguments = Arguments { first, count: count.min(width - first), ..self.arguments };
            let size = if all { 1 } else { count };
            (self.defines(size, first > 0), arguments)
        })
    }

    fn defines(&self, chunk: u32, resumes: bool) -> Defines {
        let Arguments { log_weights, vectors, .. } = self.arguments;
        let flags = [log_weights != 0, vectors != 0, self.messages, resumes].map(i64::from);
        define(flags, chunk, self.arguments.width)
    }
}

/// Largest number of features per edge that registers hold.
const FEW: u32 = 16;

/// Returns the definitions of weights, features, messages and a further chunk, of the length of chunks, and of the
/// number of features.
fn define([weighted, features, messages, resumes]: [i64; 4], chunk: u32, width: u32) -> Defines {
    vec![
        ("EDGES", 1),
        ("WEIGHTED", weighted),
        ("EDGE_FEATURES", features),
        ("MESSAGES", messages),
        ("CHUNK", chunk.into()),
        ("RESUMES", resumes),
        ("FEW_FEATURES", if width <= FEW { width.into() } else { 0 }),
    ]
}

/// Largest number of sums per thread, in the shared memory of a block.
const SUMS_PER_THREAD: usize = 24;

/// Returns the features of a launch: as few launches as possible, of similar size.
fn chunk(layout: HeadLayout, width: u32) -> u32 {
    let most = (SUMS_PER_THREAD / teams::owned_heads(layout, Precision::F32)).max(1) as u32;
    width.div_ceil(width.div_ceil(most).max(1))
}

/// Returns the features that a block has at once in the gradient of messages: as many as registers have rows for.
fn at_once(layout: HeadLayout) -> usize {
    (8 / teams::quads_per_lane(layout, Precision::F32)).clamp(1, 4)
}

/// Computes the gradients of the weighted sums of features and of their matrix from the gradient of the output.
pub(crate) fn messages_backward(
    cuda: &Cuda,
    problem: &Problem,
    layout: HeadLayout,
    (matrix, sums): (&Numbers, &Numbers),
    gradient: &Numbers,
    scratch: &AttentionScratch,
    to: &mut MessageGradient<'_, Cuda>,
) -> Result<()> {
    let Some(memory) = &problem.edge_memory else { return Ok(()) };
    let (nodes, width, at_once) = (problem.nodes as u32, memory.width as u32, at_once(layout));
    let mut defines = teams::layout_defines(layout, Form::Go, problem.attention.lanes);
    defines.push(("AT_ONCE", at_once as i64));
    let teams = teams::teams_per_block(layout, Precision::F32);
    let most = teams::light_summing_blocks(cuda, problem, (layout, Precision::F32), FEW_BLOCKS);
    let blocks = problem.nodes.div_ceil(teams).min(most);
    let config = LaunchConfig {
        grid_dim: (blocks as u32, memory.width.div_ceil(at_once) as u32, 1),
        block_dim: (THREADS, 1, 1),
        shared_mem_bytes: 0,
    };
    launch!(
        cuda,
        &MESSAGES,
        &defines,
        "messages_backward",
        config,
        &nodes,
        &width,
        &gradient.0,
        &matrix.0,
        &sums.0,
        &to.sums.0,
        &scratch.edge_partial,
        &scratch.counter,
        &to.matrix.0
    )
}

/// Returns a source for the test of compilation without code for edges, and with it: for weights, features, both with
/// messages, and a further chunk of features.
pub(crate) fn with_edges(source: &'static Source, defines: Defines) -> Vec<Variant> {
    let cases = [([1, 0, 0, 0], 1, 0), ([0, 1, 0, 0], 8, 8), ([1, 1, 1, 0], 3, 3), ([0, 1, 1, 1], 2, 20)];
    let of_edges = cases.map(|(flags, chunk, width)| define(flags, chunk, width));
    let all = std::iter::once(Defines::new()).chain(of_edges);
    all.map(|of_edges| (source, [defines.clone(), of_edges].concat())).collect()
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    let with_rows = |mut defines: Defines| -> Variant {
        defines.push(("AT_ONCE", 2));
        (&MESSAGES, defines)
    };
    teams::representative_defines().into_iter().map(with_rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_fit_into_shared_memory() {
        let of = |heads, features, width| chunk(HeadLayout::new(heads, features), width);
        // Eight heads of one feature are owned by two lanes, four each.
        assert_eq!([of(8, 8, 3), of(8, 8, 24), of(8, 8, 25), of(1, 7, 100)], [3, 24, 13, 20]);
        assert_eq!([of(8, 1, 10), of(64, 1, 3), of(16, 8, 30)], [5, 1, 10]);
        for heads in [1, 2, 3, 8, 12, 64] {
            for features in [1, 2, 3, 8, 40] {
                let layout = HeadLayout::new(heads, features);
                let sums = chunk(layout, 1000) as usize * teams::owned_heads(layout, Precision::F32);
                // A kernel has 48 KiB; 12 KiB of it are used by other sums.
                assert!(sums * THREADS as usize * 4 <= 36 << 10, "{heads} heads of {features} features");
            }
        }
    }
}
