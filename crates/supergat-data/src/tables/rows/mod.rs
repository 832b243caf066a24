//! Rows of tables: files of text, Parquet files and frames, read as named columns of text.

mod encoding;
pub(super) mod location;
pub(super) mod names;
#[cfg(feature = "parquet")]
mod parquet;
pub(super) mod row;
pub(super) mod sheet;
mod text;
