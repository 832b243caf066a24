//! The real binary, driven as a person or a script would, each time in a folder of its own.

mod bench;
mod compare;
mod config;
mod errors;
mod inspect;
#[cfg(unix)]
mod interrupt;
mod reproduce;
mod saved;
mod study;
mod support;
mod tables;
mod train;
mod tune;
