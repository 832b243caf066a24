//! Last steps of hidden blocks, from the sums over neighbours to the output of the layer, and their gradients.
//!
//! ```text
//! y  = s + b + r                         r: shortcut, if any
//! x^ = (y - mean) / sqrt(var + 1e-5)     layer norm: over a row; batch norm: over a column
//! h' = act(weight x^ + bias)             without norm: h' = act(y)
//! ```
//!
//! Rows are in the layout of heads, whose padding stays zero: weight and bias are zero there, and layer norm leaves
//! padding out. Sums over rows are computed per part and added in the order of the parts.

mod activation;
mod backward;
mod columns;
mod forward;

pub use backward::{NormGradient, block_backward, block_sums};
pub use columns::{ColumnNorm, column_gradients, column_sums, columns_forward};
pub use forward::{Finish, RowNorm, Shortcut, block_forward};

/// Rows that are processed together: in registers block by block, while they are in the first cache.
const CHUNK: usize = 32;

/// Number that is added to variances, as in other software.
pub const NORM_EPSILON: f64 = 1e-5;

#[cfg(test)]
mod tests;
