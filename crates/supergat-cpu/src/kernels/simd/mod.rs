//! Vectors of eight numbers, and kernels compiled for several instruction sets.
//!
//! Kernels are written once, over [`Lanes`]. [`dispatch`] compiles each of them for every instruction set and
//! chooses one at run time by what the processor supports, so one binary is fast on every machine.
//!
//! - `lanes`: the traits of numbers, vectors and instruction sets;
//! - `portable`, `avx2`, `avx512`: the instruction sets;
//! - `dispatch`: the choice among them;
//! - `rows`: loops over rows of vectors;
//! - `registers`: short rows in registers;
//! - `stored`: formats of rows in memory.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod dispatch;
mod lanes;
mod portable;
mod registers;
mod rows;
mod stored;

pub use dispatch::{Kernel, Simd, dispatch};
pub use lanes::{Arithmetic, CELLS, Isa, KEEP_BYTES, Lanes, P, Pair, SimdReal, V};
pub use portable::{Plain, Portable};
pub use registers::Registers;
pub(crate) use rows::in_blocks;
pub use rows::{
    add_by_sign, add_scaled, add_two_scaled, clear_row, dot, dot_leaky, largest_lane, load_two, prefetch_ahead,
    scale_row, store_two, vectors, vectors_mut,
};
pub use stored::{Stored, round, widen};
