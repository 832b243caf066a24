//! Tests of the readers and generators through the public interface, in one binary.

mod arrays;
mod cache;
mod compressed_tables;
mod convert;
mod corpus;
mod download;
mod formats;
mod frames;
mod graph_features;
mod graph_files;
mod hostile;
#[cfg(unix)]
mod limits;
mod link_columns;
mod messy;
mod npz;
mod npz_datasets;
mod partitioned;
mod pickles;
mod planetoid;
mod random_partition;
#[allow(dead_code, reason = "tests of the command use all of it")]
#[path = "../../../supergat-cli/tests/cli/running.rs"]
mod running;
mod shares;
mod support;
mod tables;
#[path = "../../../../fuzz/src/data.rs"]
mod targets;
mod twitch;
