//! Graph datasets for SuperGAT: readers of published files and generators of synthetic graphs.
//!
//! The way through the crate: [`load`] takes what a person typed (a folder, a known name, or a generator's
//! specification), finds the format or the generator that answers to it, and returns a [`Dataset`].
//!
//! Files come from strangers. No reader executes anything, every size a file claims is checked against what the file holds, and
//! every [`Error`] is one sentence that names the file, the place, what was expected and what was found.
//!
//! ```
//! let dataset = supergat_data::load("random-partition:classes=3,nodes=200,degree=4")?;
//! assert_eq!((dataset.nodes(), dataset.classes(), dataset.features()), (600, 3, 2));
//! # Ok::<(), supergat_data::Error>(())
//! ```

#![deny(unsafe_code)]

pub mod convert;
pub mod converted;
pub mod dataset;
pub mod download;
pub mod error;
mod file;
pub mod gnn_benchmark;
pub mod graphsaint;
mod lines;
mod map;
pub mod musae;
pub mod npy;
pub mod npz;
pub mod ogb;
pub mod options;
pub mod pca;
pub mod pickle;
pub mod planetoid;
pub mod ppi;
mod prepare;
pub mod random_graph;
pub mod random_partition;
pub mod registry;
pub mod schema;
pub mod source;
mod sparse;
mod spec;
pub mod split;
pub mod tables;
pub mod tfidf;
pub mod webkb;
pub mod wiki_cs;
mod zip;

pub use convert::convert;
pub use dataset::Dataset;
pub use error::{Error, Result};
pub use options::{LoadOptions, TableOptions};
pub use random_graph::RandomGraph;
pub use random_partition::RandomPartition;
pub use registry::KNOWN;
pub use source::{load, load_with};
pub use split::SplitChoice;
