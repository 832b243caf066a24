//! Allocation and estimation of memory. The code that allocates the memory of a run also estimates it, so
//! both always agree.

mod buffer;

pub use buffer::{Buffer, defaults, in_large_pages};

use crate::real::Real;

/// An allocator of lists that counts their bytes, and can count without allocating.
#[derive(Debug)]
pub struct Arena {
    bytes: u64,
    only_count: bool,
}

impl Arena {
    /// Creates an arena that allocates.
    pub fn allocating() -> Self {
        Self { bytes: 0, only_count: false }
    }

    /// Creates an arena that only counts bytes and allocates nothing.
    pub fn counting() -> Self {
        Self { bytes: 0, only_count: true }
    }

    /// Returns the number of bytes requested so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Allocates `len` aligned zeros.
    pub fn numbers<T: Real>(&mut self, len: usize) -> Buffer<T> {
        Buffer::zeros(self.take::<T>(len))
    }

    /// Allocates a list of `len` default values.
    pub fn list<T: Clone + Default>(&mut self, len: usize) -> Vec<T> {
        defaults(self.take::<T>(len))
    }

    /// Allocates an empty list with room for `len` values.
    pub fn empty<T>(&mut self, len: usize) -> Vec<T> {
        in_large_pages(self.take::<T>(len))
    }

    /// Counts `len` values of memory elsewhere; returns how many to allocate: none if this arena only counts.
    pub fn take<T>(&mut self, len: usize) -> usize {
        self.bytes = self.bytes.saturating_add((len as u64).saturating_mul(size_of::<T>() as u64));
        if self.only_count { 0 } else { len }
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches a row that will be read soon.
#[inline(always)]
pub fn prefetch<T>(row: &[T]) {
    prefetch_part(row, 0, row.len());
}

/// Prefetches `len` values from index `start` on. The range may extend beyond the slice.
#[inline(always)]
pub fn prefetch_part<T>(values: &[T], start: usize, len: usize) {
    let start = values.as_ptr().wrapping_add(start).cast::<i8>();
    for line in 0..(len * size_of::<T>()).div_ceil(LINE) {
        prefetch_line(start.wrapping_add(line * LINE));
    }
}

#[inline(always)]
fn prefetch_line(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching has no visible effect and is allowed at any address; SSE is part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_arena_allocates_nothing() {
        let mut arena = Arena::counting();
        assert!(arena.numbers::<f32>(1 << 60).is_empty() && arena.list::<u64>(3).is_empty());
        assert_eq!(arena.bytes(), (1 << 62) + 24);
        let mut arena = Arena::allocating();
        assert_eq!((arena.numbers::<f64>(5).len(), arena.list::<u8>(3), arena.bytes()), (5, vec![0; 3], 43));
        assert!(arena.empty::<u32>(7).capacity() >= 7);
    }
}
