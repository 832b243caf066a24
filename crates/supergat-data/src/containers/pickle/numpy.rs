//! Arrays and sparse matrices in a pickle, decoded on request.

use super::{Id, Pickle, Value};
use crate::containers::layout::{Kind, Layout, MAX_DIMENSIONS, element};
use crate::containers::sparse;
use crate::error::{Error, Result};
use crate::files;
use supergat_core::SparseMatrix;

/// Types of elements that published datasets have.
const ELEMENTS: [&str; 7] = ["f4", "f8", "i1", "i4", "i8", "u1", "b1"];

/// A numpy array that borrows its data from the file.
#[derive(Debug)]
pub struct Array<'p> {
    layout: Layout,
    data: &'p [u8],
}

impl Array<'_> {
    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    /// Number of elements.
    fn len(&self) -> usize {
        self.layout.count(self.data.len())
    }

    /// Iterates over all elements in C order. 64-bit integers beyond 2^53 are rounded.
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        let layout = &self.layout;
        layout.elements(self.data).map(move |raw| match (layout.kind, layout.size) {
            (Kind::Float, 4) => f32::from_bits(layout.bits(raw) as u32).into(),
            (Kind::Float, _) => f64::from_bits(layout.bits(raw)),
            (Kind::Signed, _) => layout.signed(raw) as f64,
            (Kind::Bool, _) => f64::from(raw[0] != 0),
            _ => layout.bits(raw) as f64,
        })
    }
}

impl<'a> Pickle<'a> {
    /// Decodes a numpy array of numbers.
    pub fn array(&self, id: Id) -> Result<Array<'_>> {
        let Value::Array(Some(state)) = self.value(id) else {
            return Err(self.unexpected(id, "a numpy array"));
        };
        let [_version, shape, dtype, fortran, data] = self.tuple(*state)? else {
            return Err(self.unexpected(*state, "the five parts of a numpy array"));
        };
        let shape = self.tuple(*shape)?.iter().map(|&length| self.size(length)).collect::<Result<Vec<_>>>()?;
        if shape.len() > MAX_DIMENSIONS {
            return Err(self.error(id, format!("at most {MAX_DIMENSIONS} axes"), shape.len().to_string()));
        }
        let ((kind, size), big_endian) = self.dtype(*dtype)?;
        let fortran = match self.value(*fortran) {
            Value::Bool(fortran) => *fortran,
            Value::Int(fortran) => *fortran != 0,
            _ => return Err(self.unexpected(*fortran, "whether the array is in Fortran order")),
        };
        let Value::Bytes(data) = self.value(*data) else {
            return Err(self.unexpected(*data, "the bytes of a numpy array"));
        };
        let layout = Layout { shape, kind, size, big_endian, fortran };
        layout.check(data.len()).map_err(|expected| self.error(id, expected, format!("{} bytes", data.len())))?;
        Ok(Array { layout, data })
    }

    /// Decodes a scipy CSR matrix: sorts columns, sums duplicates and drops zeros.
    pub fn csr(&self, id: Id) -> Result<SparseMatrix<f32>> {
        let Value::Csr(Some(state)) = self.value(id) else {
            return Err(self.unexpected(id, "a scipy csr_matrix"));
        };
        let shape = self.entry(*state, "_shape")?;
        let [rows, columns] = self.tuple(shape)? else {
            return Err(self.unexpected(shape, "rows and columns of a csr_matrix"));
        };
        let (rows, columns) = (self.size(*rows)?, self.size(*columns)?);
        if columns > self.limits.values as usize {
            let limit = self.limits.values.into();
            return Err(Error::too_large(self.path, "columns of a csr_matrix", limit, columns as u64));
        }
        let (data, indices, indptr) =
            (self.entry(*state, "data")?, self.entry(*state, "indices")?, self.entry(*state, "indptr")?);
        let values = self.array(data)?;
        let values = files::collect(self.path, values.len(), values.values().map(|value| Ok(value as f32)))?;
        let column_of = self.indices(indices, "a column", columns)?;
        let offsets = self.indices(indptr, "a row offset", values.len() + 1)?;

        let size = |id, what: &str, expected: usize, found: usize| {
            let error = || self.error(id, format!("{expected} {what}"), found.to_string());
            if expected == found { Ok(()) } else { Err(error()) }
        };
        size(indices, "columns, one per value", values.len(), column_of.len())?;
        size(indptr, "row offsets, one more than rows", rows.saturating_add(1), offsets.len())?;
        size(indptr, "as first row offset", 0, offsets.first().map_or(0, |&first| first as usize))?;
        size(indptr, "as last row offset", values.len(), offsets.last().map_or(0, |&last| last as usize))?;
        if let Some(row) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(self.error(
                indptr,
                "row offsets that do not decrease".into(),
                format!("a decrease in row {row}"),
            ));
        }

        let entries = (0..).zip(offsets.windows(2)).flat_map(|(row, ends)| {
            column_of[ends[0] as usize..ends[1] as usize].iter().map(move |column| Ok([row, *column]))
        });
        let pairs = files::collect(self.path, values.len(), entries)?;
        sparse::from_entries(self.path, [rows, columns], pairs, values)
    }

    /// Decodes an array of integers from 0 to `end - 1`.
    fn indices(&self, id: Id, what: &str, end: usize) -> Result<Vec<u32>> {
        let array = self.array(id)?;
        let indices = array.values().enumerate().map(|(place, value)| {
            let valid = value >= 0.0 && value < end as f64 && value.fract() == 0.0 && value <= f64::from(u32::MAX);
            let error = || self.error(id, format!("{what} below {end} at position {place}"), value.to_string());
            if valid { Ok(value as u32) } else { Err(error()) }
        });
        files::collect(self.path, array.len(), indices)
    }

    /// Returns the element type of an array and whether it is big-endian.
    fn dtype(&self, id: Id) -> Result<((Kind, usize), bool)> {
        let Value::Dtype { code, state: Some(state) } = self.value(id) else {
            return Err(self.unexpected(id, "a numpy dtype"));
        };
        let code = self.text(*code).unwrap_or_default();
        let known = std::str::from_utf8(code).ok().filter(|code| ELEMENTS.contains(code));
        let Some(element) = known.and_then(element) else {
            let found = format!("dtype `{}`", super::cursor::shortened(code));
            return Err(self.error(id, "elements of type f4, f8, i1, i4, i8, u1 or b1".into(), found));
        };
        match self.tuple(*state)?.get(1).and_then(|&order| self.text(order)) {
            Some(b"<" | b"|") => Ok((element, false)),
            Some(b">") => Ok((element, true)),
            _ => Err(self.unexpected(*state, "the byte order `<`, `>` or `|` of a numpy dtype")),
        }
    }

    /// Returns the items of a tuple.
    fn tuple(&self, id: Id) -> Result<&[Id]> {
        match self.value(id) {
            Value::Tuple(items) => Ok(items),
            _ => Err(self.unexpected(id, "a tuple")),
        }
    }

    /// Decodes a non-negative size.
    fn size(&self, id: Id) -> Result<usize> {
        match self.value(id) {
            Value::Int(size) => usize::try_from(*size).map_err(|_| self.unexpected(id, "a size")),
            _ => Err(self.unexpected(id, "a size")),
        }
    }

    /// Looks up a key in a dict. The last of several equal keys is valid, as in Python.
    fn entry(&self, dict: Id, key: &str) -> Result<Id> {
        let Value::Dict(items) = self.value(dict) else {
            return Err(self.unexpected(dict, "the attributes of a csr_matrix"));
        };
        let found = items.iter().rev().find(|(name, _)| self.text(*name) == Some(key.as_bytes()));
        let (_, value) =
            found.ok_or_else(|| self.unexpected(dict, format!("the attribute `{key}` of a csr_matrix")))?;
        Ok(*value)
    }
}
