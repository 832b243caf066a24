//! Tests of the public library, and its examples.

mod after_training;
mod arrays;
mod examples;
mod links;
mod node_order;
mod saved;
