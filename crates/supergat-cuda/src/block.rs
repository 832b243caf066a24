//! Hidden blocks of deep networks: residual, norm and activation after the sums over neighbours, and their gradients.
//!
//! The statistics of batch norm are the mean and the variance of each column, followed by room for those of blocks
//! and their tickets. Those of layer norm are the inverse of the standard deviation of each node.

use crate::columns::{COLUMNS, column_grid, most_blocks, number, row_grid, tickets};
use crate::compile::Source;
use crate::launch::{Cuda, copied_arguments, grid, launch, launch_in};
use crate::memory::{Numbers, address, keep};
use crate::output::{self, Shape};
use crate::problem::Problem;
use crate::problem::sparse::lanes;
use crate::scratch::Scratch;
use supergat_core::device::{
    Block, BlockGradient, BlockGradients, BlockInput, BlockOutput, FromAbove, HiddenBlocks, OutputGradient, Shortcut,
    SumsGradient,
};
use supergat_core::{Norm, Result};

pub(crate) const BLOCK: Source = Source {
    name: "block",
    text: concat!(include_str!("../kernels/columns.cuh"), include_str!("../kernels/block.cu")),
};

/// Terms that a block adds to the sums, as arguments of kernels.
#[repr(C)]
#[derive(Clone, Copy)]
struct Added {
    bias: u64,
    rows: u64,
    keep: u64,
    scale: f32,
    is_product: u32,
}

copied_arguments!(Added);

impl Added {
    fn new(shortcut: Shortcut<'_, Cuda>) -> Self {
        let nothing = Self { bias: 0, rows: 0, keep: 0, scale: 1.0, is_product: 0 };
        match shortcut {
            Shortcut::None => nothing,
            Shortcut::Product(bias) => Self { bias: address(&bias.0), is_product: 1, ..nothing },
            Shortcut::Rows(rows, mask) => {
                let (keep, scale) = keep(mask);
                Self { rows: address(&rows.0), keep, scale, ..nothing }
            }
        }
    }
}

impl HiddenBlocks for Cuda {
    fn norm_statistics(&self, block: Block, nodes: usize) -> usize {
        let stride = block.layout.stride();
        match block.norm {
            Norm::None => 0,
            Norm::Layer => nodes,
            Norm::Batch => (2 + 2 * most_blocks(self)) * stride + tickets(stride),
        }
    }

    fn block_forward(
        &self,
        problem: &Problem,
        block: Block,
        from: BlockInput<'_, Self>,
        to: BlockOutput<'_, Self>,
    ) -> Result<()> {
        let stride = block.layout.stride();
        let count = problem.nodes * stride / 4;
        if count == 0 {
            return Ok(());
        }
        let (numbers, nodes, quads) = (count as u64, problem.nodes as u32, (stride / 4) as u32);
        let (added, activation) = (Added::new(from.shortcut), number(Some(block.activation)));
        let Some(norm) = from.norm else {
            return sum(self, count, quads, activation, added, from, to.output);
        };
        let normalised = address_if(to.normalised, to.normalised.0.len() >= problem.nodes * stride);
        let shape = Shape::new(problem.nodes, block.layout);
        if block.norm == Norm::Layer {
            let lanes = lanes(quads);
            return launch!(
                self,
                &BLOCK,
                &[],
                "layer_forward",
                grid((problem.nodes * lanes as usize).div_ceil(256), 256),
                &shape,
                &lanes,
                &activation,
                &added,
                &from.sums.0,
                &from.bias.0,
                &norm.weight.0,
                &norm.bias.0,
                &normalised,
                &to.statistics.0,
                &to.output.0
            );
        }
        let own = Statistics::new(self, block, to.statistics);
        let ([mean, variance], used) = match norm.running {
            Some(running) => {
                sum(self, count, quads, 0, added, from, to.output)?;
                (running.map(|numbers| address(&numbers.0)), own.mean)
            }
            None => {
                let config = column_grid(self, problem.nodes, quads as usize, ROWS);
                launch!(
                    self,
                    &BLOCK,
                    &[],
                    "batch_statistics",
                    config,
                    &nodes,
                    &quads,
                    &added,
                    &from.sums.0,
                    &from.bias.0,
                    &to.output.0,
                    &own.partial,
                    &own.tickets,
                    &own.mean,
                    &own.variance
                )?;
                ([own.mean, own.variance], 0)
            }
        };
        launch!(
            self,
            &BLOCK,
            &[],
            "batch_forward",
            self.places(count),
            &numbers,
            &quads,
            &activation,
            &mean,
            &variance,
            &norm.weight.0,
            &norm.bias.0,
            &normalised,
            &to.output.0,
            &used
        )
    }

    fn block_backward(
        &self,
        problem: &Problem,
        block: Block,
        from: BlockGradient<'_, Self>,
        scratch: &mut Scratch,
        to: BlockGradients<'_, Self>,
    ) -> Result<()> {
        let Block { layout, activation, .. } = block;
        let (Some(weight), Some([d_weight, d_bias])) = (from.weight, to.norm) else {
            let above = FromAbove::Concat(from.mask);
            let sums_gradient = SumsGradient { sums: to.sums, state: to.state, bias: to.bias };
            let from = OutputGradient { above, sums: from.sums, output: from.output };
            return output::activation_backward(self, problem, layout, Some(activation), from, scratch, sums_gradient);
        };
        let count = problem.nodes * layout.stride() / 4;
        if count == 0 {
            return Ok(());
        }
        let (nodes, quads) = (problem.nodes as u32, (layout.stride() / 4) as u32);
        let activation = number(Some(activation));
        let (keep, scale) = keep(from.mask);
        let stream = self.stream_beside(&[address(&to.sums.0)])?;
        launch_in!(
            self,
            stream,
            &BLOCK,
            &[],
            "norm_sums",
            column_grid(self, problem.nodes, quads as usize, ROWS),
            &nodes,
            &quads,
            &activation,
            &keep,
            &scale,
            &from.output.0,
            &from.normalised.0,
            &to.sums.0,
            &scratch.partial,
            &scratch.tickets,
            &d_weight.0,
            &d_bias.0
        )?;
        if block.norm == Norm::Layer {
            let (lanes, shape) = (lanes(quads), Shape::new(problem.nodes, layout));
            launch_in!(
                self,
                stream,
                &BLOCK,
                &[],
                "layer_backward",
                grid((problem.nodes * lanes as usize).div_ceil(256), 256),
                &shape,
                &lanes,
                &weight.0,
                &from.normalised.0,
                &from.statistics.0,
                &to.sums.0
            )?;
        } else {
            let own = Statistics::new(self, block, from.statistics);
            let whole_rows = from.of_nodes && quads as usize <= COLUMNS;
            let state = to.state.as_ref().filter(|_| whole_rows).map_or(0, |state| address(&state.0));
            let share = if from.of_nodes { 1.0 / problem.nodes as f32 } else { 0.0 };
            // Running variances are unbiased ones, as in other software.
            let unbiased = (problem.nodes as f64 / (problem.nodes.max(2) - 1) as f64) as f32;
            let running =
                to.running.filter(|_| from.of_nodes).map(|running| running.map(|numbers| address(&numbers.0)));
            let [running_mean, running_variance] = running.unwrap_or_default();
            launch_in!(
                self,
                stream,
                &BLOCK,
                &[],
                "batch_backward",
                row_grid(self, problem.nodes, quads as usize),
                &Shape::new(problem.nodes, layout),
                &share,
                &unbiased,
                &weight.0,
                &own.mean,
                &own.variance,
                &d_weight.0,
                &d_bias.0,
                &from.normalised.0,
                &from.sums.0,
                &to.sums.0,
                &to.bias.0,
                &running_mean,
                &running_variance,
                &state
            )?;
            if from.of_nodes {
                return match to.state {
                    Some(state) if !whole_rows => {
                        output::shared_term(self, problem, layout, to.sums, from.sums, address(&state.0))
                    }
                    _ => Ok(()),
                };
            }
        }
        let from = OutputGradient { above: FromAbove::Concat(None), sums: from.sums, output: from.output };
        let to = SumsGradient { sums: to.sums, state: to.state, bias: to.bias };
        output::activation_backward(self, problem, layout, None, from, scratch, to)
    }

    fn add_rows(&self, problem: &Problem, width: usize, rows: &Numbers, sum: &mut Numbers) -> Result<()> {
        let count = problem.nodes * width / 4;
        let (numbers, config) = (count as u64, self.places(count));
        launch!(self, &BLOCK, &[], "add_rows", config, &numbers, &rows.0, &sum.0)
    }
}

/// Smallest number of rows that a thread sums. More rows per thread mean fewer blocks, whose sums are added up faster.
const ROWS: usize = 8;

/// Addresses of the statistics of batch norm.
struct Statistics {
    mean: u64,
    variance: u64,
    partial: u64,
    tickets: u64,
}

impl Statistics {
    fn new(cuda: &Cuda, block: Block, memory: &Numbers) -> Self {
        let (start, row) = (address(&memory.0), 4 * block.layout.stride() as u64);
        let tickets = start + (2 + 2 * most_blocks(cuda) as u64) * row;
        Self { mean: start, variance: start + row, partial: start + 2 * row, tickets }
    }
}

/// Returns the address of memory, or zero if it is empty.
fn address_if(memory: &Numbers, is_used: bool) -> u64 {
    if is_used { address(&memory.0) } else { 0 }
}

/// Computes the activation of sums, bias and shortcut; activation 0 is none.
fn sum(
    cuda: &Cuda,
    count: usize,
    quads: u32,
    activation: u32,
    added: Added,
    from: BlockInput<'_, Cuda>,
    out: &Numbers,
) -> Result<()> {
    let (numbers, config) = (count as u64, cuda.places(count));
    launch!(
        cuda,
        &BLOCK,
        &[],
        "block_forward",
        config,
        &numbers,
        &quads,
        &activation,
        &added,
        &from.sums.0,
        &from.bias.0,
        &out.0
    )
}
