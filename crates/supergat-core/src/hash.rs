//! A hash that is the same on every machine and in every version, unlike that of the standard library.

use bytemuck::NoUninit;

/// FNV-1a hash of 64 bits. A change of a single byte always changes it.
///
/// ```
/// use supergat_core::hash::Fnv;
/// let mut hash = Fnv::default();
/// hash.add(b"super");
/// hash.add(b"gat");
/// let mut whole = Fnv::default();
/// whole.add(b"supergat");
/// assert_eq!(hash.digits(), whole.digits());
/// ```
#[derive(Debug, Clone)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Adds the bytes of numbers.
    pub fn add_numbers<T: NoUninit>(&mut self, numbers: &[T]) {
        self.add(bytemuck::cast_slice(numbers));
    }

    /// Returns the hash.
    pub fn value(&self) -> u64 {
        self.0
    }

    /// Returns the hash as 16 hexadecimal digits.
    pub fn digits(&self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the authors of the hash.
    #[test]
    fn has_the_published_values() {
        for (text, digits) in [("", "cbf29ce484222325"), ("a", "af63dc4c8601ec8c"), ("foobar", "85944171f73967e8")] {
            let mut hash = Fnv::default();
            hash.add(text.as_bytes());
            assert_eq!(hash.digits(), digits);
        }
    }
}
