//! The command in several processes, started by `mpirun`. Tests print "skipped" where it is not installed.
//!
//! Graphs are tiny: with more processes than cores, the time is that of the messages.

mod accidents;
mod killed;
mod mpirun;
#[allow(dead_code, reason = "the tests of one process use all of it")]
#[path = "../cli/running.rs"]
mod running;
mod runs;
#[allow(dead_code, reason = "the tests of one process use all of it")]
#[path = "../cli/support.rs"]
mod support;
mod together;
