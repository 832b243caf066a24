//! Adam with coupled weight decay; see [`supergat_cpu::kernels::Adam`]. The number of the step is that of the clock.

use crate::clock::Clock;
use crate::compile::Source;
use crate::launch::{Cuda, copied_arguments, grid, launch};
use crate::memory::address;
use supergat_core::Result;
use supergat_core::device::{Adam, Optimiser, ParameterMemory};

pub(crate) const ADAM: Source = Source { name: "adam", text: include_str!("../kernels/adam.cu") };

/// Parameters that one launch updates.
const BATCH: usize = 24;
/// Numbers that a block updates.
const PER_BLOCK: usize = 1024;

/// Memory of a parameter, as the kernel declares it.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Memory {
    value: u64,
    gradient: u64,
    moments: [u64; 2],
    length: u64,
    /// First block that works on this parameter.
    first_block: u64,
}

/// Arguments of a launch.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Batch {
    parameters: [Memory; BATCH],
    count: u64,
}

copied_arguments!(Batch);

impl Optimiser for Cuda {
    fn adam<'a>(
        &self,
        adam: Adam,
        clock: &Clock,
        parameters: impl Iterator<Item = ParameterMemory<'a, Self>>,
    ) -> Result<()> {
        let (mut batch, mut blocks) = (Batch::default(), 0);
        for ParameterMemory { value, gradient, moments: [m, v], len } in
            parameters.filter(|parameter| parameter.len > 0)
        {
            if batch.count as usize == BATCH {
                launch_batch(self, adam, clock, &batch, blocks)?;
                (batch, blocks) = (Batch::default(), 0);
            }
            batch.parameters[batch.count as usize] = Memory {
                value: address(&value.0),
                gradient: address(&gradient.0),
                moments: [address(&m.0), address(&v.0)],
                length: len as u64,
                first_block: blocks as u64,
            };
            batch.count += 1;
            blocks += len.div_ceil(PER_BLOCK);
        }
        if batch.count > 0 { launch_batch(self, adam, clock, &batch, blocks) } else { Ok(()) }
    }
}

fn launch_batch(cuda: &Cuda, adam: Adam, clock: &Clock, batch: &Batch, blocks: usize) -> Result<()> {
    let decay = adam.lambda_2 as f32;
    launch!(cuda, &ADAM, &[], "adam", grid(blocks, 256), &clock.data, &adam.lr, &decay, batch)
}
