//! Python pickles as data, never as a program.
//!
//! A pickle is a small stack program that may call any Python function. This interpreter calls nothing: it knows the few names
//! that numpy and scipy arrays, dicts and lists need, builds plain values for them, and refuses every other name.
//!
//! Values refer to one another by number ([`Id`]) and live in one flat list. A shared value is stored once, a list may hold itself,
//! and depth costs no call stack; memory stays proportional to the length of the file, whatever the file says. Arrays are
//! decoded only when asked for ([`Pickle::array`], [`Pickle::csr`]), so naming one a thousand times copies nothing.

mod cursor;
mod literal;
mod machine;
mod numpy;
mod opcode;

pub use numpy::{Array, Csr};

use crate::error::{Error, Result};
use std::borrow::Cow;
use std::path::Path;

/// How much a file may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Values, marks and memo entries together; also what readers allow for anything that a few values can describe, such
    /// as the width of a sparse matrix. A value takes about 40 bytes.
    pub values: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 1 << 30, values: 1 << 25 }
    }
}

/// The number of a value within its [`Pickle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Id(u32);

/// The names a data file may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Global {
    /// `numpy.core.multiarray._reconstruct`
    Reconstruct,
    /// `numpy.ndarray`
    NdArray,
    /// `numpy.dtype`
    Dtype,
    /// `scipy.sparse.csr_matrix`
    CsrMatrix,
    /// `collections.defaultdict`
    DefaultDict,
    /// `list`, the factory of a defaultdict
    List,
    /// `_codecs.encode`, how Python 3 writes bytes for Python 2
    Encode,
    /// `copy_reg._reconstructor`, how protocols 0 and 1 make an object
    Reconstructor,
    /// `object`, the base class given to the above
    Object,
}

impl Global {
    /// The allow-list.
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
    /// `None`
    None,
    /// `True` or `False`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// `bytes`, or a string of Python 2.
    Bytes(Cow<'a, [u8]>),
    /// Unicode text.
    Str(Cow<'a, str>),
    /// A tuple.
    Tuple(Vec<Id>),
    /// A list.
    List(Vec<Id>),
    /// A dict in order of insertion; a key may come twice, the later one counts.
    Dict(Vec<(Id, Id)>),
    /// One of the allowed names.
    Global(Global),
    /// The type of an array's elements: its code such as `f4`, and the state that tells the byte order.
    Dtype {
        /// The code.
        code: Id,
        /// The state, once it was given.
        state: Option<Id>,
    },
    /// A numpy array and its state, once that was given.
    Array(Option<Id>),
    /// A scipy matrix in compressed rows and its state, once that was given.
    Csr(Option<Id>),
}

impl Value<'_> {
    /// What it is, for a person.
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

#[derive(Debug)]
struct Entry<'a> {
    /// Where the instruction stands that made the value.
    offset: usize,
    value: Value<'a>,
}

/// All values of a pickle. Ids are only meaningful for the pickle they came from.
#[derive(Debug)]
pub struct Pickle<'a> {
    path: &'a Path,
    limits: Limits,
    entries: Vec<Entry<'a>>,
    root: Id,
}

impl<'a> Pickle<'a> {
    /// Reads the bytes of a file; `path` only serves the messages.
    pub fn parse(path: &'a Path, bytes: &'a [u8], limits: Limits) -> Result<Self> {
        let (entries, root) = machine::run(path, bytes, limits)?;
        Ok(Self { path, limits, entries, root })
    }

    /// The value the whole pickle stands for.
    pub fn root(&self) -> Id {
        self.root
    }

    /// How many values there are.
    pub fn values(&self) -> usize {
        self.entries.len()
    }

    /// The value of that number.
    pub fn value(&self, id: Id) -> &Value<'a> {
        &self.entries[id.0 as usize].value
    }

    /// The bytes of a string of either kind.
    pub fn text(&self, id: Id) -> Option<&[u8]> {
        match self.value(id) {
            Value::Bytes(bytes) => Some(bytes),
            Value::Str(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    /// The error for a value that is not what a reader needs.
    pub fn unexpected(&self, id: Id, expected: impl Into<String>) -> Error {
        self.error(id, expected.into(), self.value(id).describe())
    }

    fn error(&self, id: Id, expected: String, found: String) -> Error {
        Error::Pickle { path: self.path.to_owned(), offset: self.entries[id.0 as usize].offset, expected, found }
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
    fn a_stored_list_grows_with_the_original() {
        let Value::List(items) = root(b"]q\x00K\x01a(K\x02K\x03e0h\x00.") else { panic!("a list") };
        assert_eq!(items.len(), 3);
    }

    #[test]
    fn marks_hide_what_is_below() {
        assert_eq!(root(b"K\x01(K\x02K\x031."), Value::Int(1));
        assert_eq!(root(b"K\x01(0."), Value::Int(1));
        assert_eq!(root(b"K\x01K\x020."), Value::Int(1));
    }

    #[test]
    fn python_3_writes_bytes_for_python_2_as_text() {
        let bytes = root(b"c_codecs\nencode\nX\x03\0\0\0a\xc3\xa9X\x06\0\0\0latin1\x86R.");
        assert_eq!(bytes, Value::Bytes(Cow::Borrowed(b"a\xe9")));
    }

    #[test]
    fn old_protocols_make_matrices_by_another_way() {
        let made = b"ccopy_reg\n_reconstructor\n(cscipy.sparse.csr\ncsr_matrix\nc__builtin__\nobject\nNtR.";
        assert_eq!(root(made), Value::Csr(None));
    }
}
