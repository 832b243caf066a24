//! Containers of arrays: pickles, NumPy files, archives and sparse matrices, with limits on declared sizes.

mod layout;
pub mod matrix_market;
pub mod npy;
pub mod npz;
pub mod pickle;
pub(crate) mod sparse;
pub(crate) mod zip;
