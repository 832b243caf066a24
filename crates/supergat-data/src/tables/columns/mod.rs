//! Columns of tables as features: their types, their numbers, and missing values.

mod column_types;
mod encode;
pub(super) mod features;
pub(super) mod matrix;
pub(super) mod missing;
pub(super) mod parse;
mod profile;
pub(super) mod records;
mod typed;
