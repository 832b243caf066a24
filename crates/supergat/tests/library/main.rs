//! Tests of the public library, and its examples.

mod after_training;
mod arrays;
#[path = "../../../supergat-data/tests/data/corpus.rs"]
mod corpus;
mod examples;
mod links;
mod node_order;
mod saved;
#[path = "../../../../fuzz/src/models.rs"]
mod targets;
