//! Outputs of layers from the weighted sums of heads, and their gradients: concatenation of heads, bias and ELU in
//! hidden layers; the mean over heads plus bias in the last layer.

use crate::columns::{COLUMNS, column_grid, number};
use crate::compile::Source;
use crate::launch::{Cuda, copied_arguments, grid, launch, launch_in};
use crate::memory::{Numbers, address, keep};
use crate::problem::Problem;
use crate::scratch::Scratch;
use supergat_core::device::{FromAbove, Join, Output, OutputGradient, Outputs, STATE, SumsGradient};
use supergat_core::{Activation, HeadLayout, Result};

pub(crate) const OUTPUT: Source = Source {
    name: "output",
    text: concat!(include_str!("../kernels/columns.cuh"), include_str!("../kernels/output.cu")),
};

/// Shape of the rows, as kernels take it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    nodes: u32,
    pub(crate) quads: u32,
    vectors: u32,
    groups: u32,
    lane_heads: u32,
    heads: u32,
    features: u32,
    slots: u32,
    slot: u32,
}

copied_arguments!(Shape);

/// Quads from which on a row is long. There, few blocks sum many rows each: a column of the sums of blocks has few threads.
const LONG_ROW: usize = 64;

/// Slot of the state for the term that the gradients of a node's coefficients share (`SHARED` in `kernels/rows.cuh`).
const SHARED_SLOT: u32 = 2;

impl Shape {
    pub(crate) fn new(nodes: usize, layout: HeadLayout) -> Self {
        let HeadLayout { heads, features, lane_heads, groups, vectors } = layout;
        let [nodes, quads, vectors, groups, lane_heads, heads, features, slots] =
            [nodes, layout.stride() / 4, vectors, groups, lane_heads, heads, features, STATE].map(|n| n as u32);
        Self { nodes, quads, vectors, groups, lane_heads, heads, features, slots, slot: SHARED_SLOT }
    }
}

impl Outputs for Cuda {
    fn output_forward(
        &self,
        problem: &Problem,
        output: Output,
        bias: &Numbers,
        sums: &Numbers,
        out: &mut Numbers,
    ) -> Result<()> {
        let layout = output.layout;
        if output.join == Join::Mean {
            let count = problem.nodes * layout.features;
            let [features, stride, groups, lane_heads] =
                [layout.features, layout.stride(), layout.groups, layout.lane_heads].map(|n| n as u32);
            let (numbers, share) = (count as u64, (1.0 / layout.heads as f64) as f32);
            return launch!(
                self,
                &OUTPUT,
                &[],
                "mean_forward",
                self.places(count),
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
        let (quads, activation) = ((layout.stride() / 4) as u32, number(activation(output)));
        let count = problem.nodes * layout.stride() / 4;
        let numbers = count as u64;
        launch!(
            self,
            &OUTPUT,
            &[],
            "concat_forward",
            self.places(count),
            &numbers,
            &quads,
            &activation,
            &bias.0,
            &sums.0,
            &mut out.0
        )
    }

    fn output_backward(
        &self,
        problem: &Problem,
        output: Output,
        from: OutputGradient<'_, Self>,
        scratch: &mut Scratch,
        to: SumsGradient<'_, Self>,
    ) -> Result<()> {
        activation_backward(self, problem, output.layout, activation(output), from, scratch, to)
    }
}

fn activation(output: Output) -> Option<Activation> {
    (output.join == Join::ConcatElu).then_some(Activation::Elu)
}

/// Computes the gradients of the sums and of the bias, and the shared term in the state, from the gradient of an
/// activation's output.
pub(crate) fn activation_backward(
    cuda: &Cuda,
    problem: &Problem,
    layout: HeadLayout,
    activation: Option<Activation>,
    from: OutputGradient<'_, Cuda>,
    scratch: &mut Scratch,
    to: SumsGradient<'_, Cuda>,
) -> Result<()> {
    let shape = Shape::new(problem.nodes, layout);
    let quads = shape.quads as usize;
    let (mean, above, mask) = match from.above {
        FromAbove::Mean(above) => (1u32, address(&above.0), None),
        FromAbove::Concat(mask) => (0, 0, mask),
    };
    let activation = number(activation);
    let (keep, scale) = keep(mask);
    let state = to.state.map_or(0, |state| address(&state.0));
    let stream = cuda.stream_beside(&[address(&to.sums.0)])?;
    launch_in!(
        cuda,
        stream,
        &OUTPUT,
        &[],
        "output_backward",
        column_grid(cuda, problem.nodes, quads, if quads < LONG_ROW { 1 } else { 8 }),
        &shape,
        &mean,
        &activation,
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
        shared_term(cuda, problem, layout, to.sums, from.sums, state)?;
    }
    Ok(())
}

/// Writes the products of the gradient of the sums with the sums, per head, to the state, whose address is `state`.
pub(crate) fn shared_term(
    cuda: &Cuda,
    problem: &Problem,
    layout: HeadLayout,
    gradient: &Numbers,
    sums: &Numbers,
    state: u64,
) -> Result<()> {
    let threads = problem.nodes * layout.head_stride();
    let shape = Shape::new(problem.nodes, layout);
    let config = grid(threads.div_ceil(256), 256);
    let stream = cuda.stream_beside(&[state])?;
    launch_in!(cuda, stream, &OUTPUT, &[], "shared_term", config, &shape, &gradient.0, &sums.0, &state)
}
