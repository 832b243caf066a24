//! Adam with coupled weight decay; see [`supergat_core::kernels::Adam`]. The number of the step is that of the clock.

use crate::clock::Clock;
use crate::compile::{Source, Variant};
use crate::launch::{Cuda, grid, launch};
use supergat_core::Result;
use supergat_core::device::{Adam, ParameterMemory};

const ADAM: Source = Source { name: "adam", text: include_str!("../kernels/adam.cu") };

/// Updates a parameter by one step.
pub(crate) fn adam(cuda: &Cuda, adam: Adam, clock: &Clock, parameter: ParameterMemory<'_, Cuda>) -> Result<()> {
    let ParameterMemory { value, gradient, moments, len } = parameter;
    if len == 0 {
        return Ok(());
    }
    let [m, v] = moments;
    let (decay, len64) = (adam.lambda_2 as f32, len as u64);
    let blocks = len.div_ceil(1024).min(16 * cuda.multiprocessors());
    launch!(
        cuda,
        &ADAM,
        &[],
        "adam",
        grid(blocks, 256),
        &clock.data,
        &adam.lr,
        &decay,
        &len64,
        &mut value.0,
        &gradient.0,
        &mut m.0,
        &mut v.0
    )
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    vec![(&ADAM, vec![])]
}
