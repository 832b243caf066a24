//! Tests of types that need a device, on the CPU.

mod architecture;
mod checkpoint;
mod files;
mod label_reuse;
mod parameter;
mod prepared;
mod train_state;
