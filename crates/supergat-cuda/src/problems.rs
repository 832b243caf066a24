//! Examples on the GPU, with the memory of their backward passes and their losses and scores.

use crate::launch::Cuda;
use crate::problem::Problem;
use crate::record::Record;
use crate::scratch::Scratch;
use supergat_core::device::{AttentionLoss, LayerWidth, Problems, Readings};
use supergat_core::memory::Arena;
use supergat_core::{Architecture, Example, Result};

impl Problems for Cuda {
    type Example = Example<f32>;
    type Problem = Problem;
    type Scratch = Scratch;
    type Record = Record;

    fn supports(&self, _: &Architecture) -> Result<()> {
        Ok(())
    }

    fn place(&self, example: &Example<f32>, architecture: &Architecture, loss: AttentionLoss) -> Result<Problem> {
        Problem::new(self, example, architecture, loss)
    }

    fn scratch(
        &self,
        problems: &[Problem],
        layers: &[LayerWidth],
        training: bool,
        arena: &mut Arena,
    ) -> Result<Scratch> {
        Scratch::new(self, problems, layers, training, arena)
    }

    fn record(&self, examples: usize) -> Result<Record> {
        Record::new(self, examples)
    }

    fn read(&self, record: &Record, to: &mut Readings) -> Result<()> {
        record.read(self, to)
    }
}
