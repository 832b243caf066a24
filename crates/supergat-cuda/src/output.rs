//! Outputs of layers from the weighted sums of heads, and their gradients: concatenation of heads, bias and ELU in
//! hidden layers; the mean over heads plus bias in the last layer.

use crate::Scratch;
use crate::compile::{Source, Variant};
use crate::launch::{Cuda, grid, launch};
use crate::memory::Numbers;
use crate::problem::Problem;
use crate::sparse::{address, keep};
use cudarc::driver::{DeviceRepr, LaunchConfig};
use supergat_core::Result;
use supergat_core::device::{FromAbove, LayerWidth, Output, OutputGradient, SumsGradient};
use supergat_core::kernels::{HeadLayout, STATE};
use supergat_core::layers::Join;

const OUTPUT: Source = Source { name: "output", text: include_str!("../kernels/output.cu") };

/// Shape of the rows, as kernels take it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Shape {
    nodes: u32,
    quads: u32,
    vectors: u32,
    groups: u32,
    lane_heads: u32,
    heads: u32,
    features: u32,
    slots: u32,
}

// SAFETY: eight whole numbers without padding, in the order of the kernel's struct.
unsafe impl DeviceRepr for Shape {}

impl Shape {
    fn new(nodes: usize, layout: HeadLayout) -> Self {
        let HeadLayout { heads, features, lane_heads, groups, vectors } = layout;
        let [nodes, quads, vectors, groups, lane_heads, heads, features, slots] =
            [nodes, layout.stride() / 4, vectors, groups, lane_heads, heads, features, STATE].map(|n| n as u32);
        Self { nodes, quads, vectors, groups, lane_heads, heads, features, slots }
    }
}

/// Quads of a row that a block works on.
const COLUMNS: usize = 256;

/// Largest number of blocks that sum a column.
fn most_blocks(cuda: &Cuda) -> usize {
    4 * cuda.multiprocessors()
}

/// Returns the numbers that sums of blocks need.
pub(crate) fn partial_len(cuda: &Cuda, layers: &[LayerWidth]) -> usize {
    most_blocks(cuda) * layers.iter().map(|layer| layer.stride).max().unwrap_or(0)
}

/// Returns the number of tickets that a layer needs.
pub(crate) fn tickets(layers: &[LayerWidth]) -> usize {
    layers.iter().map(|layer| (layer.stride / 4).div_ceil(COLUMNS)).max().unwrap_or(0)
}

/// Computes the output of a layer.
pub(crate) fn output_forward(
    cuda: &Cuda,
    problem: &Problem,
    output: Output,
    bias: &Numbers,
    sums: &Numbers,
    out: &mut Numbers,
) -> Result<()> {
    let layout = output.layout;
    let blocks = |threads: usize| grid(threads.div_ceil(256).min(32 * cuda.multiprocessors()), 256);
    if output.join == Join::Mean {
        let count = problem.nodes * layout.features;
        let [features, stride, groups, lane_heads] =
            [layout.features, layout.stride(), layout.groups, layout.lane_heads].map(|n| n as u32);
        let (numbers, share) = (count as u64, (1.0 / layout.heads as f64) as f32);
        return launch!(
            cuda,
            &OUTPUT,
            &[],
            "mean_forward",
            blocks(count),
            &numbers,
            &features,
            &stride,
            &groups,
            &lane_heads,
            &share,
            &bias.0,
            &sums.0,
            &mut out.0
        );
    }
    let (quads, elu) = ((layout.stride() / 4) as u32, u32::from(output.join == Join::ConcatElu));
    let count = problem.nodes * layout.stride() / 4;
    let numbers = count as u64;
    launch!(cuda, &OUTPUT, &[], "concat_forward", blocks(count), &numbers, &quads, &elu, &bias.0, &sums.0, &mut out.0)
}

/// Computes the gradients of the sums and of the bias, and the last slot of the state.
pub(crate) fn output_backward(
    cuda: &Cuda,
    problem: &Problem,
    output: Output,
    from: OutputGradient<'_, Cuda>,
    scratch: &mut Scratch,
    to: SumsGradient<'_, Cuda>,
) -> Result<()> {
    let shape = Shape::new(problem.nodes, output.layout);
    let quads = shape.quads as usize;
    let (mean, above, mask) = match from.above {
        FromAbove::Mean(above) => (1u32, address(&above.0), None),
        FromAbove::Concat(mask) => (0, 0, mask),
    };
    let elu = u32::from(output.join == Join::ConcatElu);
    let (keep, scale) = keep(mask.map(|mask| (mask.keep, mask.dropout.scale())));
    let state = to.state.map_or(0, |state| address(&state.0));
    let rows = COLUMNS / quads.min(COLUMNS);
    let blocks = problem.nodes.div_ceil(rows).clamp(1, most_blocks(cuda)) as u32;
    let config = LaunchConfig {
        grid_dim: (blocks, quads.div_ceil(COLUMNS) as u32, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 0,
    };
    launch!(
        cuda,
        &OUTPUT,
        &[],
        "output_backward",
        config,
        &shape,
        &mean,
        &elu,
        &keep,
        &scale,
        &above,
        &from.output.0,
        &from.sums.0,
        &to.sums.0,
        &state,
        &scratch.partial,
        &scratch.tickets,
        &to.bias.0
    )?;
    if quads > COLUMNS && state != 0 {
        let threads = problem.nodes * output.layout.head_stride();
        launch!(
            cuda,
            &OUTPUT,
            &[],
            "shared_term",
            grid(threads.div_ceil(256), 256),
            &shape,
            &to.sums.0,
            &from.sums.0,
            &state
        )?;
    }
    Ok(())
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    vec![(&OUTPUT, vec![])]
}
