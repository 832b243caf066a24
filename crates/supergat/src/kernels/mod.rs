//! The primitives layers are made of, on plain slices. Every loop over edges, and everything that must be fast, is here.

mod real;

pub use real::Real;
