//! Layout of numpy arrays: shape, type and order of the elements.

/// Maximum number of axes in numpy 1.
pub(super) const MAX_DIMENSIONS: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Float,
    Signed,
    Unsigned,
    Bool,
    /// Four bytes per character.
    Unicode,
    Bytes,
}

/// Shape of an array, and the place and type of its elements.
#[derive(Debug)]
pub(super) struct Layout {
    pub shape: Vec<usize>,
    pub kind: Kind,
    /// Size of an element in bytes.
    pub size: usize,
    pub big_endian: bool,
    /// Whether the first axis is the fastest in memory (Fortran order).
    pub fortran: bool,
}

/// Returns kind and size of the elements that numpy names by a code such as `f4`.
pub(super) fn element(code: &str) -> Option<(Kind, usize)> {
    let (kind, digits) = (code.chars().next()?, code.get(1..)?);
    let size: usize = digits.parse().ok()?;
    match (kind, size) {
        ('f', 4 | 8) => Some((Kind::Float, size)),
        ('i', 1 | 2 | 4 | 8) => Some((Kind::Signed, size)),
        ('u', 1 | 2 | 4 | 8) => Some((Kind::Unsigned, size)),
        ('b', 1) => Some((Kind::Bool, size)),
        ('U', 0..=1_000_000) => Some((Kind::Unicode, 4 * size)),
        ('S' | 'a', 0..=1_000_000) => Some((Kind::Bytes, size)),
        _ => None,
    }
}

impl Layout {
    /// Fails with the expected size in words unless an array of this layout has `found` bytes.
    pub fn check(&self, found: usize) -> Result<(), String> {
        let expected = self.shape.iter().try_fold(self.size, |bytes, &length| bytes.checked_mul(length));
        if expected == Some(found) {
            return Ok(());
        }
        let expected = expected.map_or("more than memory can hold".into(), |bytes| format!("{bytes} bytes"));
        Err(format!("{expected} for an array of shape {:?}", self.shape))
    }

    /// Returns the number of elements in `bytes` bytes.
    pub fn count(&self, bytes: usize) -> usize {
        bytes.checked_div(self.size).unwrap_or(0)
    }

    /// Iterates over the bytes of each element, last axis fastest.
    pub fn elements<'a>(&'a self, data: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let (size, count) = (self.size, self.count(data.len()));
        (0..count).map(move |index| {
            let at = if self.fortran { self.fortran_index(index, count) } else { index };
            &data[at * size..(at + 1) * size]
        })
    }

    /// Converts an index with the last axis fastest to one with the first axis fastest.
    fn fortran_index(&self, mut index: usize, mut stride: usize) -> usize {
        let mut at = 0;
        for &length in self.shape.iter().rev() {
            stride /= length;
            at += index % length * stride;
            index /= length;
        }
        at
    }

    /// Returns the bits of an element, or of a part of it.
    pub fn bits(&self, raw: &[u8]) -> u64 {
        let mut bytes = [0; 8];
        for (at, &byte) in raw.iter().enumerate() {
            bytes[if self.big_endian { raw.len() - 1 - at } else { at }] = byte;
        }
        u64::from_le_bytes(bytes)
    }

    /// Returns a signed element.
    pub fn signed(&self, raw: &[u8]) -> i64 {
        let unused = 64 - 8 * raw.len() as u32;
        (self.bits(raw) << unused) as i64 >> unused
    }
}
