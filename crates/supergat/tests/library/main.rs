//! Tests of the public library, and its examples.

mod arrays;
mod examples;
mod saved;
