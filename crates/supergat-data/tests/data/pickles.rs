//! A small pickle writer: protocol 2, with the instructions in the order of Python 2, numpy and scipy.

use std::collections::HashMap;

/// Instructions of a pickle. As in Python, a name is written once and then read from the memo.
#[derive(Default)]
pub struct Writer {
    bytes: Vec<u8>,
    memo: HashMap<&'static str, u8>,
}

impl Writer {
    /// Returns the whole file.
    pub fn file(self) -> Vec<u8> {
        [&b"\x80\x02"[..], &self.bytes, b"."].concat()
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub fn int(self, value: i64) -> Self {
        match value {
            0..=0xff => self.raw(&[b'K', value as u8]),
            0x100..=0xffff => self.raw(b"M").raw(&(value as u16).to_le_bytes()),
            _ => self.raw(b"J").raw(&(value as i32).to_le_bytes()),
        }
    }

    pub fn string(self, bytes: &[u8]) -> Self {
        match u8::try_from(bytes.len()) {
            Ok(length) => self.raw(&[b'U', length]).raw(bytes),
            Err(_) => self.raw(b"T").raw(&(bytes.len() as u32).to_le_bytes()).raw(bytes),
        }
    }

    /// Writes a tuple of numbers.
    pub fn shape(mut self, shape: &[i64]) -> Self {
        if shape.len() > 3 {
            self = self.raw(b"(");
        }
        for &length in shape {
            self = self.int(length);
        }
        self.raw(match shape.len() {
            0 => b")",
            1 => b"\x85",
            2 => b"\x86",
            3 => b"\x87",
            _ => b"t",
        })
    }

    /// Writes a global name, given as `module\nname\n`.
    pub fn global(mut self, name: &'static str) -> Self {
        if let Some(&index) = self.memo.get(name) {
            return self.raw(&[b'h', index]);
        }
        let index = self.memo.len() as u8 + 1;
        self.memo.insert(name, index);
        self.raw(b"c").raw(name.as_bytes()).raw(&[b'q', index])
    }

    /// Writes a numpy array; `code` is an element type such as `<i4`.
    pub fn array(self, shape: &[i64], code: &str, fortran: bool, data: &[u8]) -> Self {
        let (order, code) = code.split_at(1);
        self.global("numpy.core.multiarray\n_reconstruct\n")
            .global("numpy\nndarray\n")
            .shape(&[0])
            .string(b"b")
            .raw(b"\x87R(")
            .int(1)
            .shape(shape)
            .global("numpy\ndtype\n")
            .string(code.as_bytes())
            .int(0)
            .int(1)
            .raw(b"\x87R(")
            .int(3)
            .string(order.as_bytes())
            .raw(b"NNN")
            .int(-1)
            .int(-1)
            .int(0)
            .raw(b"tb")
            .raw(if fortran { b"\x88" } else { b"\x89" })
            .string(data)
            .raw(b"tb")
    }

    /// Writes a csr_matrix as scipy 0.13 does.
    pub fn csr(self, shape: [i64; 2], indptr: &[i32], indices: &[i32], data: &[f32]) -> Self {
        self.global("scipy.sparse.csr\ncsr_matrix\n")
            .raw(b")\x81}(")
            .string(b"format")
            .string(b"csr")
            .string(b"_shape")
            .shape(&shape)
            .string(b"indptr")
            .array(&[indptr.len() as i64], "<i4", false, &little(indptr, i32::to_le_bytes))
            .string(b"_cs_matrix__has_sorted_indices")
            .raw(b"\x88")
            .string(b"indices")
            .array(&[indices.len() as i64], "<i4", false, &little(indices, i32::to_le_bytes))
            .string(b"maxprint")
            .int(50)
            .string(b"data")
            .array(&[data.len() as i64], "<f4", false, &little(data, f32::to_le_bytes))
            .raw(b"ub")
    }

    /// Writes a defaultdict from nodes to lists of neighbours.
    pub fn graph(mut self, lists: &[(i64, &[i64])]) -> Self {
        self = self.global("collections\ndefaultdict\n").global("__builtin__\nlist\n").raw(b"\x85R(");
        for (node, neighbours) in lists {
            self = self.int(*node).raw(b"](");
            for &neighbour in *neighbours {
                self = self.int(neighbour);
            }
            self = self.raw(b"e");
        }
        self.raw(b"u")
    }
}

/// Converts numbers to bytes, as in `little(&[1, 2], i32::to_le_bytes)`.
pub fn little<T: Copy, const N: usize>(values: &[T], bytes: fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&value| bytes(value)).collect()
}

/// Writes one-hot rows as int32, the element type of the published files.
pub fn one_hot(classes: usize, of: &[usize]) -> Vec<u8> {
    let row = |class: usize| (0..classes).map(move |column| i32::from(column == class));
    let values: Vec<i32> = of.iter().flat_map(|&class| row(class)).collect();
    Writer::default().array(&[of.len() as i64, classes as i64], "<i4", false, &little(&values, i32::to_le_bytes)).file()
}
