//! Products of layer inputs with weights: `X W`, `X^T G` for the gradient of `W`, and `G W^T` for that of `X`.
//!
//! Where labels are input, `X` is followed by rows of labels, and the weights by those of labels: their product is added.
//!
//! Rows of nodes whose length is a multiple of eight are multiplied by tensor cores (`product.rs`). Other dense products are
//! those of cuBLAS, which reads matrices by column: a matrix by rows is its transpose. For those, the input is copied with
//! dropout once per step, and the gradient of the weights uses the copy again.

use crate::beside::{Blas, Start};
use crate::compile::Source;
use crate::error::blas_failed;
use crate::launch::{Cuda, launch_in};
use crate::memory::{Numbers, address};
use crate::problem::sparse::SparseFeatures;
use crate::problem::{Dropped, FeatureMemory, Problem};
use crate::product::{self, Rows, Way};
use crate::scratch::Scratch;
use crate::sparse;
use cudarc::cublas::result::sgemm;
use cudarc::cublas::sys::cublasOperation_t as Operation;
use cudarc::driver::{CudaSlice, CudaStream};
use std::sync::PoisonError;
use supergat_core::Result;
use supergat_core::device::{Input, Mask, Products};

pub(crate) const DROP: Source = Source { name: "drop", text: include_str!("../kernels/drop.cu") };

impl Products for Cuda {
    fn product(
        &self,
        problem: &Problem,
        x: Input<'_, Self>,
        mask: Option<Mask<'_, Self>>,
        weight: &Numbers,
        stride: usize,
        out: &mut Numbers,
    ) -> Result<()> {
        match dense_rows(problem, &x) {
            Err(x) => sparse::product(self, problem.nodes, x, mask, weight, stride, out)?,
            Ok((rows, columns)) => {
                let own = product::multiplies(self, columns);
                let rows = if own { rows } else { dropped(self, problem, &x, (rows, columns), mask, false)? };
                let (input, weight) = (address(rows), &weight.0);
                let product = |stream: &CudaStream, blas: &Blas| {
                    if own {
                        let (rows, out) = (Rows { rows, depth: columns, mask }, (&out.0, stride));
                        return product::product(self, stream, problem.nodes, rows, weight, Way::default(), out);
                    }
                    let (weight, rows) = (matrix(weight, stride), matrix(rows, columns));
                    multiply(self, blas, [stride, problem.nodes, columns], weight, rows, (&out.0, 0, 0.0))
                };
                if self.is_last_input(input) {
                    // A shortcut: its product is not needed before the sums over neighbours.
                    let used = [input, address(weight), address(&out.0)];
                    self.beside(used, Start::AtInput, |beside| product(&beside.stream, &beside.blas))?;
                } else {
                    let stream = self.stream()?;
                    self.note_input(input)?;
                    product(stream, &self.inner.blas)?;
                }
            }
        }
        let Some((rows, classes, first)) = labels(problem, &x, stride) else { return Ok(()) };
        let weight = Matrix { first, ..matrix(&weight.0, stride) };
        let sizes = [stride, problem.nodes, classes];
        self.stream()?;
        multiply(self, &self.inner.blas, sizes, weight, matrix(rows, classes), (&out.0, 0, 1.0))
    }

    fn weight_gradient(
        &self,
        problem: &Problem,
        x: Input<'_, Self>,
        mask: Option<Mask<'_, Self>>,
        g: &Numbers,
        stride: usize,
        scratch: &mut Scratch,
        out: &mut Numbers,
    ) -> Result<()> {
        match dense_rows(problem, &x) {
            Err(x) => sparse::transposed_product(self, x, mask, g, stride, &mut scratch.partial, out)?,
            Ok((rows, columns)) if product::multiplies(self, columns) => {
                self.beside([address(rows), address(&g.0), address(&out.0)], Start::Now, |beside| {
                    let (rows, g) = (Rows { rows, depth: columns, mask }, (&g.0, stride));
                    let (stream, parts) = (&beside.stream, &scratch.weights);
                    product::weight_gradient(self, stream, problem.nodes, rows, g, parts, &out.0)
                })?;
            }
            Ok((rows, columns)) => {
                let rows = dropped(self, problem, &x, (rows, columns), mask, true)?;
                weight_gradient(self, problem.nodes, (rows, columns), (&g.0, stride), (&out.0, 0))?;
            }
        }
        let Some((rows, classes, first)) = labels(problem, &x, stride) else { return Ok(()) };
        weight_gradient(self, problem.nodes, (rows, classes), (&g.0, stride), (&out.0, first))
    }

    fn input_gradient(
        &self,
        problem: &Problem,
        g: &Numbers,
        stride: usize,
        weight: &Numbers,
        width: usize,
        _scratch: &mut Scratch,
        out: &mut Numbers,
    ) -> Result<()> {
        let stream = self.stream_beside(&[address(&out.0)])?;
        input_gradient(self, (stream, &self.inner.blas), problem.nodes, (g, stride), (weight, width), (out, false))
    }

    fn shortcut_gradient(
        &self,
        problem: &Problem,
        g: &Numbers,
        stride: usize,
        weight: &Numbers,
        width: usize,
        _scratch: &mut Scratch,
        out: &mut Numbers,
    ) -> Result<()> {
        self.beside([address(&g.0), address(&weight.0), address(&out.0)], Start::Now, |beside| {
            input_gradient(
                self,
                (&beside.stream, &beside.blas),
                problem.nodes,
                (g, stride),
                (weight, width),
                (out, false),
            )
        })
    }

    fn add_input_gradient(
        &self,
        problem: &Problem,
        g: &Numbers,
        stride: usize,
        weight: &Numbers,
        width: usize,
        _scratch: &mut Scratch,
        out: &mut Numbers,
    ) -> Result<()> {
        let stream = self.stream_beside(&[address(&out.0)])?;
        input_gradient(self, (stream, &self.inner.blas), problem.nodes, (g, stride), (weight, width), (out, true))
    }
}

/// Computes `X^T G` beside the main stream. The result is its memory and the place of its first number.
fn weight_gradient(
    cuda: &Cuda,
    nodes: usize,
    (rows, columns): (&CudaSlice<f32>, usize),
    (g, stride): (&CudaSlice<f32>, usize),
    (out, first): (&CudaSlice<f32>, usize),
) -> Result<()> {
    cuda.beside([address(rows), address(g), address(out)], Start::Now, |beside| {
        let (sizes, rows) = ([stride, columns, nodes], matrix(rows, columns).transposed());
        multiply(cuda, &beside.blas, sizes, matrix(g, stride), rows, (out, first, 0.0))
    })
}

/// Computes `G W^T` in a stream, which is that of `blas`, and adds it to the result if `adds`.
fn input_gradient(
    cuda: &Cuda,
    (stream, blas): (&CudaStream, &Blas),
    nodes: usize,
    (g, stride): (&Numbers, usize),
    (weight, width): (&Numbers, usize),
    (out, adds): (&Numbers, bool),
) -> Result<()> {
    if product::multiplies(cuda, stride) {
        let (rows, way) = (Rows { rows: &g.0, depth: stride, mask: None }, Way { transposed: true, adds });
        return product::product(cuda, stream, nodes, rows, &weight.0, way, (&out.0, width));
    }
    let weight = matrix(&weight.0, stride).transposed();
    multiply(cuda, blas, [width, nodes, stride], weight, matrix(&g.0, stride), (&out.0, 0, adds.into()))
}

/// Returns the rows of a dense input without labels, and their length; sparse features otherwise, which have products of
/// their own.
fn dense_rows<'a>(
    problem: &'a Problem,
    x: &Input<'a, Cuda>,
) -> std::result::Result<(&'a CudaSlice<f32>, usize), &'a SparseFeatures> {
    match (x, &problem.features) {
        (Input::Hidden { rows, width }, _) => Ok((&rows.0, *width)),
        (_, FeatureMemory::Dense { values, columns }) => Ok((values, *columns)),
        (_, FeatureMemory::Sparse(features)) => Err(features),
    }
}

/// Returns the rows of labels of an input, their length, and the place of their weights behind those of the features.
fn labels<'a>(problem: &Problem, x: &Input<'a, Cuda>, stride: usize) -> Option<(&'a CudaSlice<f32>, usize, usize)> {
    let Input::Labelled { rows, classes } = x else { return None };
    let columns = match &problem.features {
        FeatureMemory::Dense { columns, .. } => *columns,
        FeatureMemory::Sparse(features) => features.columns,
    };
    Some((&rows.0, *classes, columns * stride))
}

/// A matrix by columns in the memory of the GPU.
#[derive(Debug, Clone, Copy)]
struct Matrix<'a> {
    memory: &'a CudaSlice<f32>,
    /// Place of the first number.
    first: usize,
    /// Length of a column.
    length: usize,
    transposed: bool,
}

/// Returns a matrix from the start of memory, with columns of a length.
fn matrix(memory: &CudaSlice<f32>, length: usize) -> Matrix<'_> {
    Matrix { memory, first: 0, length, transposed: false }
}

impl Matrix<'_> {
    fn transposed(self) -> Self {
        Self { transposed: true, ..self }
    }

    fn operation(&self) -> Operation {
        if self.transposed { Operation::CUBLAS_OP_T } else { Operation::CUBLAS_OP_N }
    }

    fn address(&self) -> u64 {
        address(self.memory) + (self.first * size_of::<f32>()) as u64
    }

    fn has_columns(&self, columns: usize) -> bool {
        self.memory.len() >= self.first + self.length * columns
    }
}

/// Returns the rows after dropout. Rows that were made of the same input and mask before are used again: for the weights of a
/// shortcut if the mask was drawn for this input, and for the gradient of the weights (`again`).
fn dropped<'a>(
    cuda: &Cuda,
    problem: &'a Problem,
    x: &Input<'_, Cuda>,
    (rows, columns): (&'a CudaSlice<f32>, usize),
    mask: Option<Mask<'_, Cuda>>,
    again: bool,
) -> Result<&'a CudaSlice<f32>> {
    let Some(Mask { keep, dropout }) = mask else { return Ok(rows) };
    let scale = dropout.scale::<f32>();
    let Dropped { rows: out, made_of } = match x {
        Input::Hidden { .. } => &problem.dropped.hidden,
        _ => &problem.dropped.features,
    };
    let of = [address(rows), address(&keep.0)];
    let mut made_of = made_of.lock().unwrap_or_else(PoisonError::into_inner);
    if made_of.rows == Some(of) && (again || made_of.drawn == of[1]) {
        return Ok(out);
    }
    made_of.rows = Some(of);
    let count = problem.nodes * columns;
    assert!(out.len() >= count, "memory for the input after dropout");
    let drop = |stream: &CudaStream| match columns % 8 {
        0 => {
            let (bytes, config) = ((count / 8) as u64, cuda.places(count / 4));
            launch_in!(cuda, stream, &DROP, &[], "drop_bytes", config, &bytes, rows, &keep.0, &scale, out)
        }
        _ => {
            let (numbers, columns, config) = (count as u64, columns as u32, cuda.places(count));
            launch_in!(cuda, stream, &DROP, &[], "drop_numbers", config, &numbers, &columns, rows, &keep.0, &scale, out)
        }
    };
    if again {
        // Only the gradient of the weights needs the rows.
        cuda.beside([of[0], of[1], address(out)], Start::Now, |beside| drop(&beside.stream))?;
    } else {
        cuda.forget_input();
        drop(cuda.stream_beside(&[of[1], address(out)])?)?;
    }
    Ok(out)
}

/// Computes `C = op(A) op(B) + beta C` by columns in the stream of `blas`: C is `m` by `n`, and the sums have `k` terms. C is
/// its memory, the place of its first number, and `beta`.
fn multiply(
    cuda: &Cuda,
    blas: &Blas,
    [m, n, k]: [usize; 3],
    a: Matrix<'_>,
    b: Matrix<'_>,
    (c, first, beta): (&CudaSlice<f32>, usize, f32),
) -> Result<()> {
    assert!([m, n, k].iter().all(|&size| i32::try_from(size).is_ok()), "sizes below 2^31");
    assert!(a.has_columns(if a.transposed { m } else { k }), "length of the first matrix");
    assert!(b.has_columns(if b.transposed { k } else { n }), "length of the second matrix");
    assert!(c.len() >= first + m * n, "length of the product");
    cuda.inner.context.bind_to_thread().map_err(|e| crate::error::failed("be used by this thread", e))?;
    // SAFETY: the matrices have the sizes checked above.
    unsafe {
        sgemm(
            *blas.handle.handle(),
            a.operation(),
            b.operation(),
            m as i32,
            n as i32,
            k as i32,
            &1.0,
            a.address() as *const f32,
            a.length as i32,
            b.address() as *const f32,
            b.length as i32,
            &beta,
            (address(c) + (first * size_of::<f32>()) as u64) as *mut f32,
            m as i32,
        )
    }
    .map_err(|e| blas_failed("multiply matrices", e))
}
