//! The real binary, driven as a person or a script would, each time in a folder of its own.

mod bench;
mod compare;
mod config;
mod errors;
mod inspect;
#[cfg(unix)]
mod interrupt;
mod recommend;
mod report;
mod reproduce;
mod saved;
mod study_appendix;
mod study_attention;
mod study_grid;
mod support;
mod tables;
mod train;
mod tune;
