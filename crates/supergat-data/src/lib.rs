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

pub mod atomic;
pub mod cache;
pub mod class_weight;
pub mod convert;
pub mod converted;
pub mod dataset;
pub mod dataset_builder;
mod decompress;
pub mod download;
pub mod error;
mod file;
pub mod frames;
pub mod gnn_benchmark;
pub mod graph_features;
pub mod graphml;
pub mod graphsaint;
pub mod heterophilous;
mod lines;
pub mod matrix_market;
pub mod musae;
pub mod node_order;
pub mod npy;
pub mod npz;
pub mod npz_dataset;
pub mod ogb;
pub mod options;
pub mod pickle;
pub mod planetoid;
pub mod ppi;
mod prepare;
pub mod random_graph;
pub mod random_partition;
mod read_at;
pub mod registry;
mod row_normalise;
pub mod schema;
pub mod shares;
pub mod size;
pub mod source;
mod sparse;
mod spec;
pub mod split;
pub mod tables;
pub mod tfidf;
pub mod variant;
pub mod webkb;
pub mod wiki_cs;
mod zip;

pub use cache::{Cache, CacheChoice};
pub use class_weight::ClassWeight;
pub use convert::convert;
pub use dataset::Dataset;
pub use dataset_builder::DatasetBuilder;
pub use error::{Error, Result};
pub use frames::{Frame, FrameColumn, Strings, Values, read_frames};
pub use graph_features::FeatureChoice;
pub use node_order::NodeOrderChoice;
pub use options::{LoadOptions, TableOptions};
pub use random_graph::RandomGraph;
pub use random_partition::RandomPartition;
pub use registry::KNOWN;
pub use shares::Shares;
pub use source::{load, load_splits, load_with};
pub use split::SplitChoice;
pub use variant::{Variant, VariantLabels};
