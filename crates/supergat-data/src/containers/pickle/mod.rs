//! Safe reader of Python pickles.
//!
//! A pickle is a small stack program that may call any Python function. This interpreter calls nothing. It
//! accepts only the names that numpy and scipy arrays, dicts and lists need, builds plain values for them,
//! and rejects all others.
//!
//! Values are stored in one flat list and refer to each other by [`Id`]. A shared value is stored once, a
//! list may contain itself, and nesting uses no call stack. Memory is proportional to the length of the file.
//! Arrays are decoded on request ([`Pickle::array`], [`Pickle::csr`]), so repeated references to an array
//! copy nothing.

mod cursor;
mod literal;
mod machine;
mod numpy;
mod opcode;

pub use numpy::Array;

use crate::error::{Error, Result};
use std::borrow::Cow;
use std::path::Path;

/// Limits on untrusted files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of the file in bytes.
    pub file_bytes: u64,
    /// Maximum total number of values, marks and memo entries, at about 40 bytes each.
    ///
    /// Readers also apply it to sizes that a single value can claim, such as the width of a sparse matrix.
    pub values: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 1 << 30, values: 1 << 25 }
    }
}

/// Index of a value in its [`Pickle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Id(u32);

/// Python names that a data file may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Global {
    /// `numpy.core.multiarray._reconstruct`.
    Reconstruct,
    /// `numpy.ndarray`.
    NdArray,
    /// `numpy.dtype`.
    Dtype,
    /// `scipy.sparse.csr_matrix`.
    CsrMatrix,
    /// `collections.defaultdict`.
    DefaultDict,
    /// `list`, as default factory of a defaultdict.
    List,
    /// `_codecs.encode`, with which Python 3 writes bytes for Python 2.
    Encode,
    /// `copy_reg._reconstructor`, with which protocols 0 and 1 create an object.
    Reconstructor,
    /// `object`, the base class argument of `_reconstructor`.
    Object,
}

impl Global {
    /// Looks up a name in the allow-list.
    fn find(module: &[u8], name: &[u8]) -> Option<Self> {
        Some(match (module, name) {
            (b"numpy.core.multiarray" | b"numpy._core.multiarray", b"_reconstruct") => Self::Reconstruct,
            (b"numpy", b"ndarray") => Self::NdArray,
            (b"numpy", b"dtype") => Self::Dtype,
            (b"scipy.sparse.csr" | b"scipy.sparse._csr" | b"scipy.sparse", b"csr_matrix") => Self::CsrMatrix,
            (b"collections", b"defaultdict") => Self::DefaultDict,
            (b"__builtin__" | b"builtins", b"list") => Self::List,
            (b"_codecs", b"encode") => Self::Encode,
            (b"copy_reg" | b"copyreg", b"_reconstructor") => Self::Reconstructor,
            (b"__builtin__" | b"builtins", b"object") => Self::Object,
            _ => return None,
        })
    }
}

/// A value of a pickle.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// `bytes`, or a Python 2 string.
    Bytes(Cow<'a, [u8]>),
    /// Unicode text.
    Str(Cow<'a, str>),
    /// A tuple.
    Tuple(Vec<Id>),
    /// A list.
    List(Vec<Id>),
    /// A dict in order of insertion. Keys may repeat; the last one is valid.
    Dict(Vec<(Id, Id)>),
    /// One of the allowed names.
    Global(Global),
    /// Element type of an array.
    Dtype {
        /// Code such as `f4`.
        code: Id,
        /// State with the byte order, once set.
        state: Option<Id>,
    },
    /// A numpy array and its state, once set.
    Array(Option<Id>),
    /// A scipy CSR matrix and its state, once set.
    Csr(Option<Id>),
}

impl Value<'_> {
    /// Returns a human-readable description.
    fn describe(&self) -> String {
        match self {
            Self::None => "None".into(),
            Self::Bool(value) => format!("the truth value {value}"),
            Self::Int(value) => format!("the number {value}"),
            Self::Float(value) => format!("the number {value:?}"),
            Self::Bytes(bytes) => format!("a string of {} bytes", bytes.len()),
            Self::Str(text) => format!("text of {} bytes", text.len()),
            Self::Tuple(items) => format!("a tuple of {}", items.len()),
            Self::List(items) => format!("a list of {}", items.len()),
            Self::Dict(items) => format!("a dict of {}", items.len()),
            Self::Global(global) => format!("the name {global:?}"),
            Self::Dtype { .. } => "a numpy dtype".into(),
            Self::Array(_) => "a numpy array".into(),
            Self::Csr(_) => "a scipy csr_matrix".into(),
        }
    }
}

/// A stored value.
#[derive(Debug)]
struct Entry<'a> {
    /// Offset of the instruction that created the value.
    offset: usize,
    value: Value<'a>,
}

/// Values of a pickle. An [`Id`] is only valid for the pickle that it came from.
#[derive(Debug)]
pub struct Pickle<'a> {
    path: &'a Path,
    limits: Limits,
    entries: Vec<Entry<'a>>,
    root: Id,
}

impl<'a> Pickle<'a> {
    /// Parses the bytes of a file; `path` is only used in error messages.
    pub fn parse(path: &'a Path, bytes: &'a [u8], limits: Limits) -> Result<Self> {
        let (entries, root) = machine::run(path, bytes, limits)?;
        Ok(Self { path, limits, entries, root })
    }

    /// Returns the id of the top-level value.
    pub fn root(&self) -> Id {
        self.root
    }

    /// Returns the number of values.
    pub fn values(&self) -> usize {
        self.entries.len()
    }

    /// Returns the value with the given id.
    pub fn value(&self, id: Id) -> &Value<'a> {
        &self.entries[id.0 as usize].value
    }

    /// Returns the bytes of a string, bytes or Unicode.
    pub fn text(&self, id: Id) -> Option<&[u8]> {
        match self.value(id) {
            Value::Bytes(bytes) => Some(bytes),
            Value::Str(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    /// Builds an error for a value of an unexpected kind.
    pub fn unexpected(&self, id: Id, expected: impl Into<String>) -> Error {
        self.error(id, expected.into(), self.value(id).describe())
    }

    fn error(&self, id: Id, expected: String, found: String) -> Error {
        Error::binary(self.path, self.entries[id.0 as usize].offset, expected, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(bytes: &[u8]) -> Value<'_> {
        let pickle = Pickle::parse(Path::new("f"), bytes, Limits::default()).unwrap();
        pickle.value(pickle.root()).clone()
    }

    #[test]
    fn memo_refers_to_same_list() {
        let Value::List(items) = root(b"]q\x00K\x01a(K\x02K\x03e0h\x00.") else { panic!("a list") };
        assert_eq!(items.len(), 3);
    }

    #[test]
    fn pops_values_and_marks() {
        assert_eq!(root(b"K\x01(K\x02K\x031."), Value::Int(1));
        assert_eq!(root(b"K\x01(0."), Value::Int(1));
        assert_eq!(root(b"K\x01K\x020."), Value::Int(1));
    }

    #[test]
    fn decodes_bytes_written_as_latin1_text() {
        let bytes = root(b"c_codecs\nencode\nX\x03\0\0\0a\xc3\xa9X\x06\0\0\0latin1\x86R.");
        assert_eq!(bytes, Value::Bytes(Cow::Borrowed(b"a\xe9")));
    }

    #[test]
    fn builds_matrix_of_old_protocols() {
        let pickle = b"ccopy_reg\n_reconstructor\n(cscipy.sparse.csr\ncsr_matrix\nc__builtin__\nobject\nNtR.";
        assert_eq!(root(pickle), Value::Csr(None));
    }
}
