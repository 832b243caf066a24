//! Tests of the readers and generators through the public interface, in one binary.

mod arrays;
mod convert;
mod download;
mod formats;
mod hostile;
mod npz;
mod pickles;
mod planetoid;
mod random_partition;
mod tables;
