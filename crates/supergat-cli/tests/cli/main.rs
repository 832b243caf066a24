//! Tests of the binary, each in its own temporary folder.

mod bench;
mod cache;
mod compare;
mod config;
mod devices;
mod errors;
mod graph_features;
mod inspect;
#[cfg(unix)]
mod interrupt;
#[cfg(unix)]
mod output_files;
mod recommend;
mod report;
mod reproduce;
mod saved;
mod splits;
mod study_appendix;
mod study_attention;
mod study_grid;
mod support;
mod tables;
mod train;
mod tune;
