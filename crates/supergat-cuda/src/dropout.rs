//! Dropout masks: a value is kept if a random 16-bit number is at least round(2^16 p).

use crate::beside::Beside;
use crate::compile::Source;
use crate::launch::{Cuda, grid, launch_in};
use crate::memory::{Bits, address};
use crate::problem::Problem;
use supergat_core::device::{Input, Masks, Random};
use supergat_core::random::Purpose;
use supergat_core::{Dropout, HeadLayout, Result};

pub(crate) const DROPOUT: Source = Source { name: "dropout", text: include_str!("../kernels/dropout.cu") };

const THREADS: u32 = 256;
/// Bytes of a mask that a thread draws.
const BYTES: usize = 4;

/// Returns the word that names a stream besides seed and step.
pub(crate) fn tag(layer: u16, purpose: Purpose) -> u32 {
    u32::from(layer) << 16 | purpose as u32
}

/// Returns the number that random 16-bit numbers of kept values reach, from the factor of kept values, 2^16 / (2^16 -
/// threshold).
pub(crate) fn threshold(dropout: Dropout) -> u32 {
    (65536.0 - 65536.0 / dropout.scale::<f64>()).round() as u32
}

impl Masks for Cuda {
    fn draw_mask(&self, random: Random<'_, Self>, dropout: Dropout, bytes: usize, keep: &mut Bits) -> Result<()> {
        draw(self, random, dropout, [0xFF, 1], bytes, keep)
    }

    fn draw_input_mask(
        &self,
        problem: &Problem,
        x: Input<'_, Self>,
        random: Random<'_, Self>,
        dropout: Dropout,
        bytes: usize,
        keep: &mut Bits,
    ) -> Result<()> {
        match x {
            Input::Hidden { .. } => problem.dropped.hidden.expect(address(&keep.0)),
            _ => problem.dropped.features.expect(address(&keep.0)),
        }
        self.draw_mask(random, dropout, bytes, keep)
    }

    fn draw_head_mask(
        &self,
        problem: &Problem,
        random: Random<'_, Self>,
        dropout: Dropout,
        layout: HeadLayout,
        keep: &mut Bits,
    ) -> Result<()> {
        let own_and_repeat = match layout.lane_heads {
            1 => [0x01, 0xFF],
            2 => [0x03, 0x55],
            4 => [0x0F, 0x11],
            _ => [0xFF, 1],
        };
        draw(self, random, dropout, own_and_repeat, problem.edges * layout.groups, keep)
    }
}

fn draw(
    cuda: &Cuda,
    random: Random<'_, Cuda>,
    dropout: Dropout,
    [own, repeat]: [u32; 2],
    bytes: usize,
    keep: &mut Bits,
) -> Result<()> {
    let (tag, threshold, count) = (tag(random.layer, random.purpose), threshold(dropout), bytes as u64);
    let config = grid(bytes.div_ceil(BYTES * THREADS as usize), THREADS);
    let clock = &random.clock.data;
    let mask = address(&keep.0);
    cuda.beside([mask; 3], cuda.start_of_mask(mask), |Beside { stream, .. }| {
        let keep = &mut keep.0;
        launch_in!(
            cuda,
            stream,
            &DROPOUT,
            &[],
            "draw_mask",
            config,
            clock,
            &tag,
            &threshold,
            &own,
            &repeat,
            &count,
            keep
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovers_the_threshold_of_every_probability() {
        for k in 0..65536u32 {
            assert_eq!(threshold(Dropout::new(f64::from(k) / 65536.0)), k);
        }
    }
}
