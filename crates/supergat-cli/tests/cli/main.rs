//! Tests of the binary, each in its own temporary folder.

mod after_training;
mod attention_v2;
mod cache;
#[cfg(unix)]
mod checkpoint;
mod compare;
mod config;
mod depth;
mod devices;
mod errors;
mod graph_features;
#[cfg(unix)]
mod hostile;
mod inspect;
#[cfg(unix)]
mod interrupt;
mod metrics;
mod node_order;
#[cfg(unix)]
mod output_files;
mod processes;
mod profile;
mod recommend;
mod recommend_minutes;
mod report;
mod reproduce;
mod rounds;
mod running;
mod saved;
mod splits;
mod study_appendix;
mod study_attention;
mod study_defaults;
mod study_depth;
mod study_grid;
mod support;
mod systems;
mod tables;
mod time_limit;
mod train;
mod trees;
mod tune;
