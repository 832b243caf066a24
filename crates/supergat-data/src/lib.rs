//! Graph datasets for SuperGAT: readers of files and data frames, generators of synthetic graphs, and a builder
//! for arrays in memory.
//!
//! [`load`] takes a folder, a file, a known name, or the specification of a generated graph, and returns a
//! [`Dataset`]. [`read_frames`] makes one from data frames, and [`Dataset::builder`] from arrays.
//!
//! Files are untrusted input. No reader executes anything, every declared size is checked against the file,
//! decompression is limited, and every [`Error`] is one sentence that names the file, the position, what was
//! expected and what was found.
//!
//! ```
//! let dataset = supergat_data::load("random-partition:classes=3,nodes=200,degree=4")?;
//! assert_eq!((dataset.nodes(), dataset.classes(), dataset.features()), (600, 3, 2));
//! # Ok::<(), supergat_data::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod cache;
pub mod containers;
mod convert;
pub mod converted;
pub mod dataset;
pub mod error;
pub mod files;
pub mod formats;
pub mod frames;
pub mod generate;
pub mod options;
pub mod registry;
pub mod schema;
pub mod source;
pub mod tables;
mod tfidf;
mod words;

pub use convert::convert;
pub use dataset::Dataset;
pub use dataset::class_weight::ClassWeight;
pub use error::{Error, Result};
pub use files::{atomic, size};
pub use frames::{Frame, FrameColumn, Strings, Values};
pub use generate::random_graph::RandomGraph;
pub use generate::random_partition::{self, RandomPartition};
pub use generate::variant::{Variant, VariantLabels};
pub use options::{Cache, CacheChoice, FeatureChoice, LoadOptions, NodeOrderChoice, Shares, SplitChoice, TableOptions};
pub use registry::KNOWN;
pub use source::{DatasetBuilder, load, load_splits, load_with, node_order, read_frames};
