//! A GPU for tests, copies from and to it, and comparisons.

#![allow(dead_code, reason = "not every test program uses all of it")]

use supergat_core::device::prelude::*;
use supergat_core::memory::Arena;
use supergat_cuda::Cuda;

/// Returns a GPU, or says that there is none.
pub fn gpu() -> Option<Cuda> {
    Cuda::new(0).map_err(|error| println!("skipped: no GPU ({error})")).ok()
}

/// Copies numbers to a device.
pub fn upload<D: Memory<Number = f32>>(device: &D, from: &[f32]) -> D::Numbers {
    let mut to = device.numbers(from.len(), &mut Arena::allocating()).unwrap();
    device.upload(from, &mut to).unwrap();
    to
}

/// Copies numbers from a device.
pub fn fetch<D: Memory<Number = f32>>(device: &D, from: &D::Numbers, len: usize) -> Vec<f32> {
    let mut to = vec![0.0; len];
    device.download(from, &mut to).unwrap();
    to
}

/// Compares with a tolerance of 1e-4, relative to the largest number.
#[track_caller]
pub fn close(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(1e-6f32, |a, b| a.max(b.abs()));
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-4 * largest, "{what}, element {k}: {a} on the GPU and {b} expected");
    }
}
