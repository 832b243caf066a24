//! Memory for rows of numbers, aligned to cache lines so that a row touches as few lines as possible.

use crate::real::Real;
use std::ops::{Deref, DerefMut};

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line<T>([T; 16]);

/// A zeroed, aligned slice of fixed length.
#[derive(Debug, Clone, Default)]
pub struct Buffer<T> {
    lines: Vec<Line<T>>,
    len: usize,
}

impl<T: Real> Buffer<T> {
    /// Allocates `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let mut lines = in_large_pages(len.div_ceil(16));
        lines.resize(len.div_ceil(16), Line([T::ZERO; 16]));
        Self { lines, len }
    }
}

/// Allocates an empty list with room for `capacity` values, in large pages if the system supports them and
/// the list is large.
///
/// Rows of neighbours are scattered in memory: with small pages nearly every row also costs a walk through
/// the page table.
pub fn in_large_pages<T>(capacity: usize) -> Vec<T> {
    let list = Vec::with_capacity(capacity);
    #[cfg(target_os = "linux")]
    {
        const SMALL_PAGE: usize = 4096;
        const LARGE: usize = 8 << 20;
        let bytes = capacity * size_of::<T>();
        if bytes >= LARGE {
            let start = (list.as_ptr() as usize).next_multiple_of(SMALL_PAGE);
            let end = (list.as_ptr() as usize + bytes) / SMALL_PAGE * SMALL_PAGE;
            // SAFETY: the range consists of whole pages of the allocation; the advice changes no contents and
            // may fail.
            unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
        }
    }
    list
}

/// Allocates a list of `len` default values like [`in_large_pages`].
pub fn defaults<T: Clone + Default>(len: usize) -> Vec<T> {
    let mut list = in_large_pages(len);
    list.resize(len, T::default());
    list
}

impl<T: Real> Buffer<T> {
    /// Views the memory as numbers of 16 bits.
    pub fn halves(&self) -> &[u16] {
        // SAFETY: as in `deref`; the memory is aligned to more than 2 bytes, and all bits are valid numbers of 16 bits.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len * (size_of::<T>() / 2)) }
    }

    /// Views the memory as numbers of 16 bits, mutably.
    pub fn halves_mut(&mut self) -> &mut [u16] {
        // SAFETY: as in `halves`; the borrow of `self` is exclusive, and all bits are valid floating-point numbers.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len * (size_of::<T>() / 2)) }
    }
}

impl<T: Real> Deref for Buffer<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `Line` is 16 numbers without padding (64 or 128 bytes at alignment 64), and `len` is at
        // most 16 per line.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<T: Real> DerefMut for Buffer<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_contiguous() {
        assert_eq!(size_of::<Line<f32>>(), 64);
        assert_eq!(size_of::<Line<f64>>(), 128);
        let mut buffer = Buffer::<f32>::zeros(37);
        assert_eq!(buffer.as_ptr() as usize % 64, 0);
        buffer.iter_mut().enumerate().for_each(|(i, v)| *v = i as f32);
        assert_eq!(buffer.len(), 37);
        assert!(buffer.iter().enumerate().all(|(i, v)| *v == i as f32));
        assert!(Buffer::<f64>::default().is_empty());
        buffer.halves_mut()[73] = 0x3F80;
        assert_eq!((buffer.halves().len(), buffer.halves()[73], buffer[36]), (74, 0x3F80, 1.0));
    }
}
