//! Implementation of `supergat devices`.

use crate::args::DevicesArgs;
use crate::error::Result;
use crate::output::{self, SCHEMA};
use serde::Serialize;
use std::process::ExitCode;
use supergat_data::size::text;

/// Devices, printed by `--json`.
#[derive(Debug, Serialize)]
struct DevicesOutput {
    schema: u32,
    devices: Vec<Listed>,
    /// Why no GPU can be used.
    no_gpu: Option<String>,
}

/// A device that can train.
#[derive(Debug, Serialize)]
struct Listed {
    /// Name for `--device`.
    device: String,
    name: String,
    /// Memory of a GPU in bytes.
    memory: Option<u64>,
    free: Option<u64>,
}

/// Lists the devices that can train.
pub fn run(args: &DevicesArgs) -> Result<ExitCode> {
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let mut devices = vec![Listed { device: "cpu".into(), name: format!("{threads} cores"), memory: None, free: None }];
    let mut no_gpu = None;
    match supergat::devices() {
        Ok(found) => devices.extend(found.into_iter().enumerate().map(|(number, gpu)| Listed {
            device: format!("cuda:{number}"),
            name: format!(
                "{}, compute capability {}.{}, driver for CUDA {}.{}",
                gpu.name, gpu.compute_capability.0, gpu.compute_capability.1, gpu.driver.0, gpu.driver.1
            ),
            memory: Some(gpu.total_memory),
            free: Some(gpu.free_memory),
        })),
        Err(error) => no_gpu = Some(error.to_string()),
    }
    let found = DevicesOutput { schema: SCHEMA, devices, no_gpu };
    output::print_result(args.json, &found, || table(&found))
}

fn table(found: &DevicesOutput) -> String {
    let mut lines = String::new();
    for Listed { device, name, memory, free } in &found.devices {
        lines += &format!("{device:<8}{name}");
        if let (Some(memory), Some(free)) = (memory, free) {
            lines += &format!(", {} of {} free", text(*free), text(*memory));
        }
        lines.push('\n');
    }
    lines + &found.no_gpu.as_ref().map_or_else(String::new, |reason| format!("no GPU: {reason}\n"))
}
