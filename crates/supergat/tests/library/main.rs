//! Tests of the public library, and its examples.

mod after_training;
mod arrays;
#[path = "../../../supergat-data/tests/data/corpus.rs"]
mod corpus;
mod examples;
mod links;
mod node_order;
#[allow(dead_code, reason = "tests of the command use all of it")]
#[path = "../../../supergat-cli/tests/cli/running.rs"]
mod running;
mod saved;
#[path = "../../../../fuzz/src/models.rs"]
mod targets;
