//! Losses and scores of an epoch, in the memory of the GPU until they are read in one copy.

use crate::launch::Cuda;
use crate::memory;
use cudarc::driver::CudaSlice;
use supergat_core::device::Readings;
use supergat_core::{Counts, Result};

/// Numbers of an example in a record.
const WIDTH: usize = 10;
/// Place of the loss of the labels.
pub(crate) const LABEL_LOSS: usize = 0;
/// Place of the sum of the losses on attention.
pub(crate) const ATTENTION_LOSS: usize = 1;
/// Place of the sums of the losses of the validation and the test nodes.
pub(crate) const LOSS_SUMS: usize = 2;
/// Place of the counts of the validation and the test nodes: hits, false alarms, misses.
pub(crate) const COUNTS: usize = 4;

/// Losses and scores, a fixed number of numbers for each example. Counts are whole numbers below 2^53.
#[derive(Debug)]
pub struct Record {
    pub(crate) data: CudaSlice<f64>,
    examples: usize,
}

impl Record {
    /// Creates a record for a number of examples.
    pub(crate) fn new(cuda: &Cuda, examples: usize) -> Result<Self> {
        Ok(Self { data: cuda.zeros(examples * WIDTH)?, examples })
    }

    /// Returns the address of a number of an example.
    pub(crate) fn address(&self, example: usize, number: usize) -> u64 {
        memory::address(&self.data) + ((example * WIDTH + number) * size_of::<f64>()) as u64
    }

    /// Waits for all work and reads the record.
    pub(crate) fn read(&self, cuda: &Cuda, to: &mut Readings) -> Result<()> {
        let mut data = vec![0.0; self.examples * WIDTH];
        cuda.fetch(&self.data, &mut data)?;
        to.losses.clear();
        to.scores.clear();
        for row in data.chunks_exact(WIDTH) {
            to.losses.push([row[LABEL_LOSS], row[ATTENTION_LOSS]]);
            to.scores.push([0, 1].map(|k| {
                let count = |n: usize| row[COUNTS + 3 * k + n] as u64;
                (row[LOSS_SUMS + k], Counts { hits: count(0), false_alarms: count(1), misses: count(2) })
            }));
        }
        Ok(())
    }
}
