//! Products of layer inputs with weights: `X W`, `X^T G` for the gradient of `W`, and `G W^T` for that of `X`.
//!
//! Dense products are those of cuBLAS, which reads matrices by column: a matrix by rows is its transpose. Dropout is
//! applied to a copy of the input, which the product and the gradient of the weights of a step share.

use crate::Scratch;
use crate::compile::{Source, Variant};
use crate::launch::{Cuda, blas_failed, grid, launch};
use crate::memory::{Bits, Numbers};
use crate::problem::{FeatureMemory, Problem};
use crate::sparse::{self, address};
use cudarc::cublas::result::sgemm;
use cudarc::cublas::sys::cublasOperation_t as Operation;
use cudarc::driver::CudaSlice;
use std::sync::PoisonError;
use supergat_core::Result;
use supergat_core::device::{Input, Mask};

const DROP: Source = Source { name: "drop", text: include_str!("../kernels/drop.cu") };

/// Computes `out = drop(X) W`.
pub(crate) fn product(
    cuda: &Cuda,
    problem: &Problem,
    x: Input<'_, Cuda>,
    mask: Option<Mask<'_, Cuda>>,
    weight: &Numbers,
    stride: usize,
    out: &mut Numbers,
) -> Result<()> {
    let mask = mask.map(|mask| (mask.keep, mask.dropout.scale::<f32>()));
    if let (Input::Features, FeatureMemory::Sparse(x)) = (&x, &problem.features) {
        return sparse::product(cuda, problem.nodes, x, mask, weight, stride, out);
    }
    let (rows, columns) = dense_rows(problem, &x);
    let rows = dropped(cuda, problem, rows, columns, mask, true)?;
    let sizes = [stride, problem.nodes, columns];
    multiply(cuda, sizes, (&weight.0, stride, false), (rows, columns, false), &out.0)
}

/// Computes `out = drop(X)^T G`.
#[allow(clippy::too_many_arguments)]
pub(crate) fn weight_gradient(
    cuda: &Cuda,
    problem: &Problem,
    x: Input<'_, Cuda>,
    mask: Option<Mask<'_, Cuda>>,
    g: &Numbers,
    stride: usize,
    scratch: &mut Scratch,
    out: &mut Numbers,
) -> Result<()> {
    let mask = mask.map(|mask| (mask.keep, mask.dropout.scale::<f32>()));
    if let (Input::Features, FeatureMemory::Sparse(x)) = (&x, &problem.features) {
        return sparse::transposed_product(cuda, x, mask, g, stride, &mut scratch.partial, out);
    }
    let (rows, columns) = dense_rows(problem, &x);
    let rows = dropped(cuda, problem, rows, columns, mask, false)?;
    let sizes = [stride, columns, problem.nodes];
    multiply(cuda, sizes, (&g.0, stride, false), (rows, columns, true), &out.0)
}

/// Computes `out = G W^T`, where W has `width` rows of `stride` numbers.
pub(crate) fn input_gradient(
    cuda: &Cuda,
    problem: &Problem,
    g: &Numbers,
    stride: usize,
    weight: &Numbers,
    width: usize,
    out: &mut Numbers,
) -> Result<()> {
    let sizes = [width, problem.nodes, stride];
    multiply(cuda, sizes, (&weight.0, stride, true), (&g.0, stride, false), &out.0)
}

/// Returns the rows of a dense input, and their length.
fn dense_rows<'a>(problem: &'a Problem, x: &Input<'a, Cuda>) -> (&'a CudaSlice<f32>, usize) {
    match (x, &problem.features) {
        (Input::Hidden { rows, width }, _) => (&rows.0, *width),
        (Input::Features, FeatureMemory::Dense { values, columns }) => (values, *columns),
        (Input::Features, FeatureMemory::Sparse(_)) => unreachable!("sparse features have products of their own"),
    }
}

/// Returns the rows after dropout. Without `anew`, rows that were made of the same input and mask before are used.
fn dropped<'a>(
    cuda: &Cuda,
    problem: &'a Problem,
    rows: &'a CudaSlice<f32>,
    columns: usize,
    mask: Option<(&Bits, f32)>,
    anew: bool,
) -> Result<&'a CudaSlice<f32>> {
    let Some((keep, scale)) = mask else { return Ok(rows) };
    let out = &problem.dropped.rows;
    let of = Some([address(rows), address(&keep.0)]);
    let mut made_of = problem.dropped.made_of.lock().unwrap_or_else(PoisonError::into_inner);
    if !anew && *made_of == of {
        return Ok(out);
    }
    *made_of = of;
    let count = problem.nodes * columns;
    assert!(out.len() >= count, "memory for the input after dropout");
    let blocks = |threads: usize| grid(threads.div_ceil(256).min(32 * cuda.multiprocessors()), 256);
    if columns.is_multiple_of(8) {
        let bytes = (count / 8) as u64;
        launch!(cuda, &DROP, &[], "drop_bytes", blocks(count / 4), &bytes, rows, &keep.0, &scale, out)?;
    } else {
        let (numbers, columns) = (count as u64, columns as u32);
        launch!(cuda, &DROP, &[], "drop_numbers", blocks(count), &numbers, &columns, rows, &keep.0, &scale, out)?;
    }
    Ok(out)
}

/// Computes `C = op(A) op(B)` by columns: C is `m` by `n`, and the sums have `k` terms. A matrix is its memory, the
/// length of its columns, and whether it is transposed.
fn multiply(
    cuda: &Cuda,
    [m, n, k]: [usize; 3],
    (a, a_length, a_transposed): (&CudaSlice<f32>, usize, bool),
    (b, b_length, b_transposed): (&CudaSlice<f32>, usize, bool),
    c: &CudaSlice<f32>,
) -> Result<()> {
    assert!([m, n, k].iter().all(|&size| i32::try_from(size).is_ok()), "sizes below 2^31");
    let operation = |transposed| if transposed { Operation::CUBLAS_OP_T } else { Operation::CUBLAS_OP_N };
    let stored = |length: usize, other: usize| length * other;
    assert!(a.len() >= stored(a_length, if a_transposed { m } else { k }), "length of the first matrix");
    assert!(b.len() >= stored(b_length, if b_transposed { k } else { n }), "length of the second matrix");
    assert!(c.len() >= m * n, "length of the product");
    cuda.inner.context.bind_to_thread().map_err(|e| crate::launch::failed("be used by this thread", e))?;
    // SAFETY: the matrices have the sizes checked above.
    unsafe {
        sgemm(
            *cuda.inner.blas.handle(),
            operation(a_transposed),
            operation(b_transposed),
            m as i32,
            n as i32,
            k as i32,
            &1.0,
            address(a) as *const f32,
            a_length as i32,
            address(b) as *const f32,
            b_length as i32,
            &0.0,
            address(c) as *mut f32,
            m as i32,
        )
    }
    .map_err(|e| blas_failed("multiply matrices", e))
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    vec![(&DROP, vec![])]
}
