//! Memory of the GPU: numbers, bits, and copies between it and the host.

use crate::clock::{CLOCK, Clock};
use crate::error::{device_error, failed};
use crate::launch::{Cuda, grid, launch};
use crate::recording::{self, Recording};
use cudarc::driver::{CudaSlice, DeviceRepr, DriverError, ValidAsZeroBits, sys};
use supergat_core::device::{Mask, Memory};
use supergat_core::memory::Arena;
use supergat_core::{Error, Result};

/// Numbers in the memory of the GPU.
#[derive(Debug)]
pub struct Numbers(pub(crate) CudaSlice<f32>);

/// Bits in the memory of the GPU.
#[derive(Debug)]
pub struct Bits(pub(crate) CudaSlice<u8>);

impl Memory for Cuda {
    type Number = f32;
    type Numbers = Numbers;
    type Bits = Bits;
    type Clock = Clock;
    type Recording = Recording;

    fn numbers(&self, len: usize, arena: &mut Arena) -> Result<Numbers> {
        Ok(Numbers(self.zeros_in(len, arena)?))
    }

    fn bits(&self, bytes: usize, arena: &mut Arena) -> Result<Bits> {
        Ok(Bits(self.zeros_in(bytes, arena)?))
    }

    fn upload(&self, from: &[f32], to: &mut Numbers) -> Result<()> {
        self.write(from, &mut to.0)
    }

    fn download(&self, from: &Numbers, to: &mut [f32]) -> Result<()> {
        self.fetch(&from.0, to)
    }

    fn download_bits(&self, from: &Bits, to: &mut [u8]) -> Result<()> {
        self.fetch(&from.0, to)
    }

    fn copy(&self, from: &Numbers, to: &mut Numbers) -> Result<()> {
        self.duplicate(&from.0, &mut to.0)
    }

    fn clock(&self, seed: u64) -> Result<Clock> {
        let mut clock = Clock { data: self.uploaded(&[seed as u32, (seed >> 32) as u32, 0, 0, 0, 0, 0, 0])? };
        self.set_step(&mut clock, 0)?;
        Ok(clock)
    }

    fn set_step(&self, clock: &mut Clock, step: u32) -> Result<()> {
        let done = launch!(self, &CLOCK, &[], "set_step", grid(1, 1), &mut clock.data, &step);
        self.start_step();
        done
    }

    fn advance(&self, clock: &mut Clock) -> Result<()> {
        let done = launch!(self, &CLOCK, &[], "advance", grid(1, 1), &mut clock.data);
        self.start_step();
        done
    }

    fn replay(&self, recording: &mut Recording, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        recording::replay(self, recording, work)
    }
}

impl Cuda {
    /// Allocates zeros; at least one, because the GPU has no empty memory.
    pub(crate) fn zeros<T: DeviceRepr + ValidAsZeroBits>(&self, len: usize) -> Result<CudaSlice<T>> {
        let bytes = len.max(1) * size_of::<T>();
        self.stream()?.alloc_zeros(len.max(1)).map_err(|e| self.no_memory(bytes, e))
    }

    /// Allocates zeros and counts them, or only counts them.
    pub(crate) fn zeros_in<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        len: usize,
        arena: &mut Arena,
    ) -> Result<CudaSlice<T>> {
        let len = arena.take::<T>(len);
        self.zeros(len)
    }

    /// Copies numbers of the host to new memory.
    pub(crate) fn uploaded<T: DeviceRepr + ValidAsZeroBits>(&self, from: &[T]) -> Result<CudaSlice<T>> {
        let mut to = self.zeros(from.len())?;
        self.write(from, &mut to)?;
        Ok(to)
    }

    /// Writes numbers of the host to the front of memory.
    pub(crate) fn write<T: DeviceRepr>(&self, from: &[T], to: &mut CudaSlice<T>) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        let mut to = to.slice_mut(..from.len());
        self.stream()?.memcpy_htod(from, &mut to).map_err(|e| failed("copy to the GPU", e))
    }

    /// Reads numbers from the front of memory, after all work.
    pub(crate) fn fetch<T: DeviceRepr>(&self, from: &CudaSlice<T>, to: &mut [T]) -> Result<()> {
        if !to.is_empty() {
            let from = from.slice(..to.len());
            self.stream()?.memcpy_dtoh(&from, to).map_err(|e| failed("copy from the GPU", e))?;
        }
        self.synchronise()
    }

    /// Copies memory to memory of the same length.
    pub(crate) fn duplicate<T: DeviceRepr>(&self, from: &CudaSlice<T>, to: &mut CudaSlice<T>) -> Result<()> {
        let stream = self.stream_beside(&[address(from), address(to)])?;
        stream.memcpy_dtod(from, to).map_err(|e| failed("copy memory", e))
    }

    fn no_memory(&self, bytes: usize, error: DriverError) -> Error {
        if error.0 != sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return failed("allocate memory", error);
        }
        let (free, total) = self.inner.context.mem_get_info().unwrap_or((0, 0));
        let others = total.saturating_sub(self.inner.free_at_start);
        device_error(too_little(bytes, free, others))
    }
}

/// Memory of a GPU that drivers, displays and this program use before anything is placed on it.
const IDLE: usize = 2 << 30;

/// Describes memory that could not be allocated. `others` bytes were in use when the GPU was opened.
fn too_little(bytes: usize, free: usize, others: usize) -> String {
    let end = match others > IDLE {
        true => format!("end other programs, which use {}, ", in_words(others)),
        false => String::new(),
    };
    let (bytes, free) = (in_words(bytes), in_words(free));
    format!(
        "the GPU has too little memory: {bytes} asked for, {free} free; {end}use a smaller network or graph, or train on the CPU"
    )
}

/// Returns a number of bytes in a readable unit.
fn in_words(bytes: usize) -> String {
    let bytes = bytes as f64;
    let (unit, factor) = match bytes {
        b if b >= 1e9 => ("GB", 1e9),
        b if b >= 1e6 => ("MB", 1e6),
        _ => ("kB", 1e3),
    };
    format!("{:.1} {unit}", bytes / factor)
}

/// Returns the address of a mask, zero without one, and its factor.
pub(crate) fn keep(mask: Option<Mask<'_, Cuda>>) -> (u64, f32) {
    mask.map_or((0, 1.0), |mask| (address(&mask.keep.0), mask.dropout.scale()))
}

/// Returns the address of memory.
pub(crate) fn address<T>(memory: &CudaSlice<T>) -> u64 {
    use cudarc::driver::DevicePtr;
    memory.device_ptr(memory.stream()).0
}

/// Returns the address of numbers, or zero if there are none.
pub(crate) fn address_of(numbers: Option<&Numbers>) -> u64 {
    numbers.map_or(0, |numbers| address(&numbers.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_programs_are_named_only_if_they_use_memory() {
        let alone = too_little(5_000_000_000, 1_000_000_000, 500_000_000);
        assert!(!alone.contains("other programs") && alone.contains("5.0 GB asked for, 1.0 GB free"), "{alone}");
        let shared = too_little(5_000_000_000, 1_000_000_000, 60_000_000_000);
        assert!(shared.contains("end other programs, which use 60.0 GB, use a smaller"), "{shared}");
    }

    #[test]
    fn writes_bytes_in_readable_units() {
        assert_eq!([1_500, 2_500_000, 141_000_000_000].map(in_words), ["1.5 kB", "2.5 MB", "141.0 GB"]);
    }
}
