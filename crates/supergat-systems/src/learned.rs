//! Learned numbers with gradient and optimiser state, outside networks.

use supergat_core::memory::Buffer;
use supergat_core::random::Stream;
use supergat_cpu::kernels::{Adam, Primitives};

/// Learned numbers with their gradient and the moments of Adam.
#[derive(Debug, Clone)]
pub(super) struct Learned<T> {
    /// Numbers.
    pub(super) value: Buffer<T>,
    /// Gradient of the numbers.
    pub(super) gradient: Buffer<T>,
    /// First and second moment.
    pub(super) moments: [Buffer<T>; 2],
}

impl<T: Primitives> Learned<T> {
    /// Allocates `len` zeros.
    pub(super) fn zeros(len: usize) -> Self {
        let zeros = || Buffer::zeros(len);
        Self { value: zeros(), gradient: zeros(), moments: [zeros(), zeros()] }
    }

    /// Draws `rows` x `columns` numbers uniformly from +-sqrt(6 / (rows + columns)) (Glorot & Bengio 2010), and sets the
    /// moments to zero. Rows have `stride` numbers; the rest of a row is zero.
    pub(super) fn draw(&mut self, stream: Stream, [rows, columns]: [usize; 2], stride: usize) {
        let limit = (6.0 / (rows + columns) as f64).sqrt();
        for (r, row) in self.value[..rows * stride].chunks_exact_mut(stride).enumerate() {
            for (c, v) in row.iter_mut().enumerate() {
                let uniform = stream.uniform((r * columns + c) as u64);
                *v = if c < columns { T::from_f64(limit * (2.0 * uniform - 1.0)) } else { T::ZERO };
            }
        }
        self.forget();
    }

    /// Sets the moments to zero.
    pub(super) fn forget(&mut self) {
        self.moments.iter_mut().for_each(|moment| moment.fill(T::ZERO));
    }

    /// Applies one step of Adam.
    pub(super) fn step(&mut self, adam: Adam) {
        let Self { value, gradient, moments: [first, second] } = self;
        T::adam(adam, value, gradient, first, second);
    }

    /// Returns the number of bytes of `len` learned numbers.
    pub(super) fn bytes(len: usize) -> u64 {
        (4 * len * size_of::<T>()) as u64
    }
}
