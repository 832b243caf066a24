//! Memory of a run, given out or only counted. What a run will need is counted by the very code that takes it later, so the two cannot differ.

use crate::kernels::{Buffer, Real, defaults, in_large_pages};

/// Gives out memory and counts it.
#[derive(Debug)]
pub struct Room {
    bytes: u64,
    only_count: bool,
}

impl Room {
    /// Room that gives what is asked for.
    pub fn given() -> Self {
        Self { bytes: 0, only_count: false }
    }

    /// Room that counts what is asked for and gives nothing.
    pub fn counted() -> Self {
        Self { bytes: 0, only_count: true }
    }

    /// Bytes asked for so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Aligned zeros.
    pub fn numbers<T: Real>(&mut self, len: usize) -> Buffer<T> {
        Buffer::zeros(self.take::<T>(len))
    }

    /// A list of `len` default values.
    pub fn list<T: Clone + Default>(&mut self, len: usize) -> Vec<T> {
        defaults(self.take::<T>(len))
    }

    /// An empty list with room for `len` values.
    pub fn empty<T>(&mut self, len: usize) -> Vec<T> {
        in_large_pages(self.take::<T>(len))
    }

    fn take<T>(&mut self, len: usize) -> usize {
        self.bytes = self.bytes.saturating_add((len as u64).saturating_mul(size_of::<T>() as u64));
        if self.only_count { 0 } else { len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_gives_nothing() {
        let mut room = Room::counted();
        assert!(room.numbers::<f32>(1 << 60).is_empty() && room.list::<u64>(3).is_empty());
        assert_eq!(room.bytes(), (1 << 62) + 24);
        let mut room = Room::given();
        assert_eq!((room.numbers::<f64>(5).len(), room.list::<u8>(3), room.bytes()), (5, vec![0; 3], 43));
        assert!(room.empty::<u32>(7).capacity() >= 7);
    }
}
