//! Implementation of the commands, one file per command.

pub mod cache;
pub mod compare;
pub mod convert;
pub mod datasets;
pub mod devices;
pub mod download;
pub mod evaluate;
pub mod inspect;
pub mod partition;
pub mod predict;
pub mod profile;
pub mod recommend;
pub mod report;
pub mod reproduce;
pub mod study;
pub mod train;
pub mod tune;
