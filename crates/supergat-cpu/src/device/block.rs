//! Hidden blocks on CPUs: of one process, or of several with the rows of their nodes.
//!
//! The statistics of batch norm are three rows: mean, variance and the inverse of the standard deviation of each column,
//! followed by room for the sums of parts. Those of layer norm are the inverse of each node.

use super::{Cpu, CpuProblem, CpuScratch, RowSums};
use crate::kernels::{self, ColumnNorm, Finish, MOST_PARTS, NORM_EPSILON, NormGradient, Primitives, RowNorm};
use supergat_core::device::{
    Block, BlockGradient, BlockGradients, BlockInput, BlockOutput, HiddenBlocks, Host, STATE, Shortcut,
};
use supergat_core::memory::Buffer;
use supergat_core::{Norm, Result};

/// Share of new statistics in running ones.
const MOMENTUM: f64 = 0.1;

/// Returns the length of the statistics of a norm.
fn statistics(block: Block, nodes: usize) -> usize {
    match block.norm {
        Norm::None => 0,
        Norm::Layer => nodes,
        Norm::Batch => (3 + MOST_PARTS) * block.layout.stride(),
    }
}

impl<T: Primitives> HiddenBlocks for Cpu<T> {
    fn norm_statistics(&self, block: Block, nodes: usize) -> usize {
        statistics(block, nodes)
    }

    fn block_forward(
        &self,
        problem: &CpuProblem<T>,
        block: Block,
        from: BlockInput<'_, Self>,
        to: BlockOutput<'_, Self>,
    ) -> Result<()> {
        forward(&mut problem.own_rows(), block, from, to)
    }

    fn block_backward(
        &self,
        problem: &CpuProblem<T>,
        block: Block,
        from: BlockGradient<'_, Self>,
        scratch: &mut CpuScratch<T>,
        to: BlockGradients<'_, Self>,
    ) -> Result<()> {
        let CpuScratch { active, partial, .. } = scratch;
        backward(&mut problem.own_rows(), block, from, (active, partial), to)
    }

    fn add_rows(&self, problem: &CpuProblem<T>, width: usize, rows: &Buffer<T>, sum: &mut Buffer<T>) -> Result<()> {
        let length = problem.nodes() * width;
        T::add_list(&mut sum[..length], &rows[..length]);
        Ok(())
    }
}

/// Computes the output of a hidden block.
pub fn forward<T: Primitives, D: Host<Element = T>>(
    all: &mut impl RowSums<T>,
    block: Block,
    from: BlockInput<'_, D>,
    to: BlockOutput<'_, D>,
) -> Result<()> {
    let Block { layout, norm, activation } = block;
    let ([nodes, all_nodes], stride) = (all.rows(), layout.stride());
    let rows = nodes * stride;
    let (sums, out) = (&from.sums[..rows], &mut to.output[..rows]);
    let normalised = if to.normalised.is_empty() { &mut [][..] } else { &mut to.normalised[..rows] };
    let shortcut = match from.shortcut {
        Shortcut::None => kernels::Shortcut::None,
        Shortcut::Product(bias) => kernels::Shortcut::Product(bias),
        Shortcut::Rows(input, mask) => kernels::Shortcut::Rows(&input[..rows], mask.map(kernels::Mask::of)),
    };
    let Some(parameters) = from.norm else {
        T::block_forward(all.parts(), layout, from.bias, sums, shortcut, Finish::Activation(activation), out);
        return Ok(());
    };
    if norm == Norm::Layer {
        let (weight, bias, inverse) = (parameters.weight, parameters.bias, &mut to.statistics[..nodes]);
        let norm = RowNorm { weight, bias, normalised, inverse };
        T::block_forward(all.parts(), layout, from.bias, sums, shortcut, Finish::Layer(activation, norm), out);
        return Ok(());
    }
    T::block_forward(all.parts(), layout, from.bias, sums, shortcut, Finish::Sum, out);
    let (mean, rest) = to.statistics.split_at_mut(stride);
    let (variance, rest) = rest.split_at_mut(stride);
    let (inverse, room) = rest.split_at_mut(stride);
    match parameters.running {
        Some([running_mean, running_variance]) => {
            mean.copy_from_slice(&running_mean[..stride]);
            variance.copy_from_slice(&running_variance[..stride]);
        }
        None => {
            // A part has a row or more, so its sums have room where the normalised rows are written afterwards.
            let partial = if room.is_empty() { &mut *normalised } else { room };
            assert!(partial.len() >= all.parts().len() * stride, "the memory is for evaluation only");
            let share = T::from_f64(1.0 / all_nodes.max(1) as f64);
            T::column_sums(all.parts(), stride, out, None, partial);
            all.add(partial, &mut [&mut *mean])?;
            mean.iter_mut().for_each(|mean| *mean *= share);
            T::column_sums(all.parts(), stride, out, Some(mean), partial);
            all.add(partial, &mut [&mut *variance])?;
            variance.iter_mut().for_each(|variance| *variance *= share);
        }
    }
    let epsilon = T::from_f64(NORM_EPSILON);
    inverse.iter_mut().zip(&*variance).for_each(|(inverse, v)| *inverse = T::ONE / (*v + epsilon).sqrt());
    let norm = ColumnNorm { mean, inverse, weight: parameters.weight, bias: parameters.bias };
    T::columns_forward(all.parts(), activation, norm, out, normalised);
    Ok(())
}

/// Computes the gradients of a hidden block, and moves the running statistics. `active` and `partial` are scratch memory:
/// whether the gradient of a row is not zero, and sums per part.
pub fn backward<T: Primitives, D: Host<Element = T>>(
    all: &mut impl RowSums<T>,
    block: Block,
    from: BlockGradient<'_, D>,
    (active, partial): (&mut [bool], &mut [T]),
    to: BlockGradients<'_, D>,
) -> Result<()> {
    let Block { layout, norm, activation } = block;
    let ([nodes, all_nodes], stride) = (all.rows(), layout.stride());
    let rows = nodes * stride;
    let (gradient, output) = (&mut to.sums[..rows], &from.output[..rows]);
    let mask = from.mask.map(kernels::Mask::of);
    let (weight, normalised) = (from.weight.map_or(&[][..], |weight| weight), &from.normalised[..]);
    let mut of_norm = to.norm;
    let (backward, kept) = match norm {
        Norm::None => (NormGradient::None(activation, mask), true),
        Norm::Layer => {
            (NormGradient::Layer { activation, mask, weight, normalised, inverse: &from.statistics[..nodes] }, true)
        }
        Norm::Batch => {
            let rows = [output, &normalised[..rows]];
            T::column_gradients(all.parts(), activation, mask, rows, stride, gradient, partial);
            let [d_weight, d_bias] = of_norm.take().expect("batch norm has parameters");
            all.add(partial, &mut [d_bias, d_weight])?;
            let share = if from.of_nodes { 1.0 / all_nodes as f64 } else { 0.0 };
            let inverse = &from.statistics[2 * stride..3 * stride];
            let (sums, share) = ([&**d_bias, &**d_weight], T::from_f64(share));
            (NormGradient::Batch { weight, normalised, inverse, sums, share }, !from.of_nodes)
        }
    };
    let gradients = kernels::OutputGradient {
        sums: gradient,
        active: &mut active[..nodes],
        state: to.state.map(|state| &mut state[..nodes * STATE * layout.head_stride()]),
        bias: &mut *partial,
    };
    T::block_backward(all.parts(), layout, backward, output, &from.sums[..rows], gradients);
    match (kept, of_norm) {
        (true, None) => all.add(partial, &mut [to.bias])?,
        (true, Some([d_weight, d_bias])) => all.add(partial, &mut [to.bias, d_weight, d_bias])?,
        // The mean of a column cancels its bias: the gradient is zero, and the sum would be rounding errors only.
        (false, _) => to.bias.fill(T::ZERO),
    }
    if let (Some([mean, variance]), true) = (to.running, from.of_nodes) {
        // Running variances are unbiased ones, as in other software.
        let unbiased = all_nodes as f64 / (all_nodes.max(2) - 1) as f64;
        move_towards(mean, &from.statistics[..stride], 1.0);
        move_towards(variance, &from.statistics[stride..2 * stride], unbiased);
    }
    Ok(())
}

/// Moves running statistics towards new ones, which are multiplied by a factor.
fn move_towards<T: Primitives>(running: &mut [T], new: &[T], factor: f64) {
    let (old_share, new_share) = (T::from_f64(1.0 - MOMENTUM), T::from_f64(MOMENTUM * factor));
    running.iter_mut().zip(new).for_each(|(running, new)| *running = old_share * *running + new_share * *new);
}
