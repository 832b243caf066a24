//! Arguments of `supergat devices`, and the choice of a device, which several commands share.

use super::help;
use clap::Args;
use supergat::DeviceChoice;

/// Arguments of `supergat devices`.
#[derive(Debug, Args)]
#[command(after_help = help::DEVICES)]
pub struct DevicesArgs {
    /// Print the devices as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Choice of the device that trains.
#[derive(Debug, Clone, Copy, Args)]
pub struct DeviceArgs {
    /// Device that trains: cpu, cuda, cuda:1, or auto (a GPU if there is one). The last digits of results differ between CPU and GPU
    /// [default: cpu]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<DeviceChoice>,
    /// Let dense products on a GPU round their factors to 10 bits: faster for wide features, less exact
    #[arg(long)]
    pub tf32: bool,
}
