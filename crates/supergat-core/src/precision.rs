//! Format of rows that are gathered over links.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Format of the rows that attention gathers over links. Sums, weights and everything else have 32 bits.
///
/// ```
/// use supergat_core::Precision;
/// assert_eq!("bf16".parse(), Ok(Precision::Bf16));
/// assert_eq!((Precision::default().name(), Precision::default().is_half()), ("auto", false));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits, unless settings choose 16 for a large graph.
    #[default]
    Auto,
    /// 32 bits.
    F32,
    /// Rounded to bfloat16: half the bytes, eight significant bits.
    Bf16,
}

impl Precision {
    /// Returns whether rows have 16 bits per number.
    pub fn is_half(self) -> bool {
        self == Self::Bf16
    }

    /// Returns the numbers of memory that `numbers` numbers take.
    pub fn stored(self, numbers: usize) -> usize {
        if self.is_half() { numbers.div_ceil(2) } else { numbers }
    }

    /// Fails if rows of 16 bits would be gathered over links with weights or features.
    pub fn accepts_links(self, have_attributes: bool) -> Result<()> {
        if self.is_half() && have_attributes {
            return Err(self.refused("needs links without weights and features; leave them out, or use f32"));
        }
        Ok(())
    }

    /// Returns the error of a precision that something cannot be computed in.
    pub fn refused(self, reason: &str) -> Error {
        Error::Hyperparameter { name: "precision", value: self.name().into(), reason: reason.into() }
    }
}
