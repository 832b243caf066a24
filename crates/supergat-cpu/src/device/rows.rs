//! Primitives on rows, for CPUs of one process, or of several with the rows of their nodes.

use super::{Cpu, CpuProblem, CpuScratch};
use crate::kernels::{self, Dense, Parts, Primitives, sum_columns, transpose};
use supergat_core::device::{
    Adam, Draw, FromAbove, Host, Join, Output, OutputGradient, Outputs, ParameterMemory, STATE, SumsGradient,
};
use supergat_core::memory::Buffer;
use supergat_core::{HeadLayout, Result};

/// Rows of nodes, and sums over all of them.
pub trait RowSums<T> {
    /// Returns the division of the rows of this process among threads.
    fn parts(&self) -> &Parts;
    /// Returns the numbers of rows of this process and of all processes.
    fn rows(&self) -> [usize; 2];
    /// Writes the sums over all rows to lists, from lists of the same total length for each part, one after another.
    fn add(&mut self, partial: &mut [T], to: &mut [&mut [T]]) -> Result<()>;
}

/// Rows of one process that has all of them, and their number.
pub(super) struct OwnRows<'a>(&'a Parts, usize);

impl<T: Primitives> RowSums<T> for OwnRows<'_> {
    fn parts(&self) -> &Parts {
        self.0
    }

    fn rows(&self) -> [usize; 2] {
        [self.1; 2]
    }

    fn add(&mut self, partial: &mut [T], to: &mut [&mut [T]]) -> Result<()> {
        let (width, mut first) = (to.iter().map(|list| list.len()).sum(), 0);
        for list in to {
            sum_columns(self.0.len(), partial, width, first, list);
            first += list.len();
        }
        Ok(())
    }
}

impl<T: Primitives> CpuProblem<T> {
    /// Returns the rows of all nodes.
    pub(super) fn own_rows(&self) -> OwnRows<'_> {
        OwnRows(&self.input.rows, self.nodes())
    }
}

/// Computes the gradient of a layer's input after dropout, `G W^T`, from G and W; with `add`, adds it to `out`.
pub fn input_gradient<T: Primitives>(
    all: &impl RowSums<T>,
    [g, weight]: [&[T]; 2],
    [stride, width]: [usize; 2],
    add: bool,
    transposed: &mut [T],
    out: &mut [T],
) {
    let ([nodes, _], transposed) = (all.rows(), &mut transposed[..weight.len()]);
    transpose(weight, width, stride, transposed);
    let g = Dense { values: &g[..nodes * stride], columns: stride };
    let out = &mut out[..nodes * width];
    match add {
        true => T::add_dense_product(all.parts(), g, transposed, width, out),
        false => T::dense_product(all.parts(), g, None, transposed, width, out),
    }
}

/// Computes the scores of nodes as targets and as sources.
pub fn attention_scores<T: Primitives>(
    all: &impl RowSums<T>,
    layout: HeadLayout,
    [z, vectors]: [&[T]; 2],
    state: &mut [T],
    source_score: &mut [T],
) {
    let [nodes, _] = all.rows();
    let (a_target, a_source) = vectors.split_at(layout.stride());
    let (z, state) = (&z[..nodes * layout.stride()], &mut state[..nodes * STATE * layout.head_stride()]);
    let source = &mut source_score[..nodes * layout.head_stride()];
    T::attention_scores(all.parts(), layout, z, a_target, a_source, state, source);
}

/// Computes the output of a layer.
pub fn output_forward<T: Primitives>(
    all: &impl RowSums<T>,
    Output { layout, join }: Output,
    [bias, sums]: [&[T]; 2],
    out: &mut [T],
) {
    let ([nodes, _], parts) = (all.rows(), all.parts());
    let sums = &sums[..nodes * layout.stride()];
    match join {
        Join::Mean => T::mean_forward(parts, layout, bias, sums, &mut out[..nodes * layout.features]),
        join => T::concat_forward(parts, join == Join::ConcatElu, bias, sums, &mut out[..nodes * layout.stride()]),
    }
}

/// Computes the gradients of a layer's output. `active` and `partial` are those of [`super::block_backward`].
pub fn output_backward<T: Primitives, D: Host<Element = T>>(
    all: &mut impl RowSums<T>,
    Output { layout, join }: Output,
    from: OutputGradient<'_, D>,
    (active, partial): (&mut [bool], &mut [T]),
    to: SumsGradient<'_, D>,
) -> Result<()> {
    let ([nodes, _], stride, parts) = (all.rows(), layout.stride(), all.parts());
    let sums = &from.sums[..nodes * stride];
    let gradient = kernels::OutputGradient {
        sums: &mut to.sums[..nodes * stride],
        active: &mut active[..nodes],
        state: to.state.map(|state| &mut state[..nodes * STATE * layout.head_stride()]),
        bias: &mut *partial,
    };
    match from.above {
        FromAbove::Mean(d_out) => {
            T::mean_backward(parts, layout, &d_out[..nodes * layout.features], sums, gradient);
        }
        FromAbove::Concat(mask) => {
            let mask = mask.map(kernels::Mask::of);
            T::concat_backward(parts, layout, join == Join::ConcatElu, mask, from.output, sums, gradient);
        }
    }
    all.add(partial, &mut [to.bias])
}

/// Updates parameters by one step of Adam.
pub fn adam<'a, T: Primitives, D: Host<Element = T>>(
    adam: Adam,
    clock: &Draw,
    parameters: impl Iterator<Item = ParameterMemory<'a, D>>,
) {
    let adam = kernels::Adam { lr: adam.lr, lambda_2: adam.lambda_2, step: u64::from(clock.step) + 1 };
    for ParameterMemory { value, gradient, moments: [m, v], .. } in parameters {
        T::adam(adam, value, gradient, m, v);
    }
}

impl<T: Primitives> Outputs for Cpu<T> {
    fn output_forward(
        &self,
        problem: &CpuProblem<T>,
        output: Output,
        bias: &Buffer<T>,
        sums: &Buffer<T>,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        output_forward(&problem.own_rows(), output, [bias, sums], out);
        Ok(())
    }

    fn output_backward(
        &self,
        problem: &CpuProblem<T>,
        output: Output,
        from: OutputGradient<'_, Self>,
        scratch: &mut CpuScratch<T>,
        to: SumsGradient<'_, Self>,
    ) -> Result<()> {
        let CpuScratch { active, partial, .. } = scratch;
        output_backward(&mut problem.own_rows(), output, from, (active, partial), to)
    }
}
