//! numpy's `.npy` files: a short header in Python's notation, then the bytes of one array.
//!
//! A parser that knows the three keys reads the header; nothing is evaluated. Arrays of Python objects are
//! pickles and are refused.

use crate::error::{Error, Result};
use crate::files;
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Maximum length of a header; numpy refuses longer ones too.
const MAX_HEADER: usize = 10_000;
/// Maximum number of axes; numpy 1 has the same limit.
const MAX_DIMENSIONS: usize = 32;

/// A numpy array and the bytes of its file.
#[derive(Debug)]
pub struct Array {
    path: PathBuf,
    shape: Vec<usize>,
    element: Element,
    big_endian: bool,
    /// Whether the first axis is the fastest in memory.
    fortran: bool,
    bytes: Vec<u8>,
    start: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Float,
    Signed,
    Unsigned,
    Bool,
    /// Four bytes per character.
    Unicode,
    Bytes,
}

/// Kind and size in bytes of an element.
#[derive(Debug, Clone, Copy)]
struct Element {
    kind: Kind,
    size: usize,
}

impl Array {
    /// Parses the bytes of a file; `path` is only named in errors.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let (header_start, start) = frame(path, &bytes)?;
        let header = Header::parse(path, header_start, &bytes[header_start..start])?;
        let (element, big_endian) = element(path, header_start, &header.descr)?;
        let expected = header.shape.iter().try_fold(element.size, |size, &length| size.checked_mul(length));
        let found = bytes.len() - start;
        if expected != Some(found) {
            let shape = header.shape;
            let expected = expected.map_or_else(|| "more than memory can hold".into(), |size| format!("{size} bytes"));
            return Err(Error::Binary {
                path: path.to_owned(),
                offset: start,
                expected: format!("{expected} for an array of shape {shape:?}"),
                found: format!("{found} bytes"),
            });
        }
        let Header { fortran, shape, .. } = header;
        Ok(Self { path: path.to_owned(), shape, element, big_endian, fortran, bytes, start })
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the rows and columns of an array, which must have two axes.
    pub fn rows_and_columns(&self) -> Result<[usize; 2]> {
        match self.shape[..] {
            [rows, columns] => Ok([rows, columns]),
            _ => Err(self.unexpected("an array of two axes", format!("shape {:?}", self.shape))),
        }
    }

    /// Decodes all elements as numbers, last axis fastest.
    pub fn numbers(&self) -> Result<Vec<f32>> {
        if matches!(self.element.kind, Kind::Unicode | Kind::Bytes) {
            return Err(self.unexpected("numbers", "text"));
        }
        self.collect(|raw| Ok(self.number(raw)))
    }

    /// Decodes all elements as whole numbers, last axis fastest. Booleans become 0 and 1.
    pub fn integers(&self) -> Result<Vec<i64>> {
        let whole = |raw: &[u8]| match self.element.kind {
            Kind::Signed => Some(self.signed(raw)),
            Kind::Unsigned => i64::try_from(self.bits(raw)).ok(),
            Kind::Bool => Some(i64::from(raw[0] != 0)),
            _ => None,
        };
        self.collect(|raw| whole(raw).ok_or_else(|| self.unexpected("whole numbers below 2^63", self.kind_in_words())))
    }

    /// Decodes all elements as text, last axis fastest. Invalid characters become `\u{fffd}`.
    pub fn texts(&self) -> Result<Vec<String>> {
        let text = |raw: &[u8]| -> Option<String> {
            Some(match self.element.kind {
                Kind::Bytes => String::from_utf8_lossy(raw).trim_end_matches('\0').to_owned(),
                Kind::Unicode => {
                    let character =
                        |code: &[u8]| char::from_u32(self.bits(code) as u32).unwrap_or(char::REPLACEMENT_CHARACTER);
                    raw.chunks_exact(4).map(character).collect::<String>().trim_end_matches('\0').to_owned()
                }
                _ => return None,
            })
        };
        self.collect(|raw| text(raw).ok_or_else(|| self.unexpected("text", self.kind_in_words())))
    }

    /// Decodes all elements, last axis fastest.
    fn collect<T>(&self, decode: impl Fn(&[u8]) -> Result<T>) -> Result<Vec<T>> {
        files::collect(&self.path, self.count(), self.elements().map(decode))
    }

    fn count(&self) -> usize {
        (self.bytes.len() - self.start).checked_div(self.element.size).unwrap_or(0)
    }

    /// Iterates over the bytes of each element, last axis fastest.
    fn elements(&self) -> impl Iterator<Item = &[u8]> {
        let (data, size, count) = (&self.bytes[self.start..], self.element.size, self.count());
        (0..count).map(move |index| {
            let at = if self.fortran { self.fortran_index(index, count) } else { index };
            &data[at * size..(at + 1) * size]
        })
    }

    fn fortran_index(&self, mut index: usize, mut stride: usize) -> usize {
        let mut at = 0;
        for &length in self.shape.iter().rev() {
            stride /= length;
            at += index % length * stride;
            index /= length;
        }
        at
    }

    fn bits(&self, raw: &[u8]) -> u64 {
        let mut bytes = [0; 8];
        for (at, &byte) in raw.iter().enumerate() {
            bytes[if self.big_endian { raw.len() - 1 - at } else { at }] = byte;
        }
        u64::from_le_bytes(bytes)
    }

    fn signed(&self, raw: &[u8]) -> i64 {
        let unused = 64 - 8 * raw.len() as u32;
        (self.bits(raw) << unused) as i64 >> unused
    }

    fn number(&self, raw: &[u8]) -> f32 {
        match (self.element.kind, self.element.size) {
            (Kind::Float, 4) => f32::from_bits(self.bits(raw) as u32),
            (Kind::Float, _) => f64::from_bits(self.bits(raw)) as f32,
            (Kind::Signed, _) => self.signed(raw) as f32,
            (Kind::Bool, _) => f32::from(raw[0] != 0),
            _ => self.bits(raw) as f32,
        }
    }

    fn kind_in_words(&self) -> &'static str {
        match self.element.kind {
            Kind::Float => "floating-point numbers",
            Kind::Signed | Kind::Unsigned => "whole numbers",
            Kind::Bool => "truth values",
            Kind::Unicode | Kind::Bytes => "text",
        }
    }

    fn unexpected(&self, expected: &str, found: impl Into<String>) -> Error {
        Error::Binary { path: self.path.clone(), offset: self.start, expected: expected.into(), found: found.into() }
    }
}

/// Returns the offsets of the header and of the elements.
fn frame(path: &Path, bytes: &[u8]) -> Result<(usize, usize)> {
    let truncated =
        || Error::Truncated { path: path.to_owned(), offset: 0, expected: "the header of a numpy array".into() };
    if !bytes.starts_with(&MAGIC[..MAGIC.len().min(bytes.len())]) {
        return Err(Error::Binary {
            path: path.to_owned(),
            offset: 0,
            expected: "a numpy array (.npy)".into(),
            found: format!("bytes {:02x?}", &bytes[..bytes.len().min(6)]),
        });
    }
    let version = *bytes.get(6).ok_or_else(truncated)?;
    let (start, length) = match version {
        1 => (10, bytes.get(8..10).map(|raw| usize::from(raw[0]) | usize::from(raw[1]) << 8)),
        2 | 3 => (12, bytes.get(8..12).map(|raw| u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]) as usize)),
        _ => {
            return Err(Error::Binary {
                path: path.to_owned(),
                offset: 6,
                expected: "version 1, 2 or 3 of numpy's format".into(),
                found: version.to_string(),
            });
        }
    };
    let length = length.ok_or_else(truncated)?;
    if length > MAX_HEADER {
        let (limit, found) = (MAX_HEADER as u64, length as u64);
        return Err(Error::TooLarge { path: path.to_owned(), what: "bytes of a numpy header", limit, found });
    }
    if bytes.len() < start + length {
        return Err(truncated());
    }
    Ok((start, start + length))
}

fn element(path: &Path, offset: usize, descr: &str) -> Result<(Element, bool)> {
    let refuse = |expected: &str| Error::Binary {
        path: path.to_owned(),
        offset,
        expected: expected.into(),
        found: format!("elements of type `{descr}`"),
    };
    let order = descr.chars().next().filter(|order| "<>|=".contains(*order));
    let code = if order.is_some() { &descr[1..] } else { descr };
    if code.starts_with('O') {
        return Err(refuse("numbers or text: Python objects would have to be executed and are never loaded"));
    }
    let known = || {
        let (kind, digits) = (code.chars().next()?, code.get(1..)?);
        let size: usize = digits.parse().ok()?;
        let kind = match (kind, size) {
            ('f', 4 | 8) => Kind::Float,
            ('i', 1 | 2 | 4 | 8) => Kind::Signed,
            ('u', 1 | 2 | 4 | 8) => Kind::Unsigned,
            ('b', 1) => Kind::Bool,
            ('U', 0..=1_000_000) => return Some(Element { kind: Kind::Unicode, size: 4 * size }),
            ('S' | 'a', 0..=1_000_000) => Kind::Bytes,
            _ => return None,
        };
        Some(Element { kind, size })
    };
    let element = known().ok_or_else(|| refuse("elements of type f4, f8, i1 to i8, u1 to u8, b1, U or S"))?;
    Ok((element, order == Some('>')))
}

/// Entries of a header.
struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    fn parse(path: &Path, offset: usize, bytes: &[u8]) -> Result<Self> {
        let text = String::from_utf8_lossy(bytes);
        Literal(text.trim()).header().ok_or_else(|| Error::Binary {
            path: path.to_owned(),
            offset,
            expected: "a header such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}".into(),
            found: format!("`{}`", text.trim().chars().take(80).collect::<String>()),
        })
    }
}

/// Unparsed rest of a header in Python's notation.
struct Literal<'a>(&'a str);

impl<'a> Literal<'a> {
    fn header(mut self) -> Option<Header> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.eat('{')?;
        while self.eat('}').is_none() {
            let key = self.text()?;
            self.eat(':')?;
            match key {
                "descr" => descr = Some(self.text()?.to_owned()),
                "fortran_order" => fortran = Some(self.truth()?),
                "shape" => shape = Some(self.shape()?),
                _ => return None,
            }
            if self.eat(',').is_none() && !self.0.starts_with('}') {
                return None;
            }
        }
        Some(Header { descr: descr?, fortran: fortran?, shape: shape? })
    }

    fn eat(&mut self, character: char) -> Option<()> {
        self.0 = self.0.strip_prefix(character)?.trim_start();
        Some(())
    }

    fn text(&mut self) -> Option<&'a str> {
        let quote = self.0.chars().next().filter(|quote| "'\"".contains(*quote))?;
        let (text, rest) = self.0[1..].split_once(quote)?;
        self.0 = rest.trim_start();
        Some(text)
    }

    fn truth(&mut self) -> Option<bool> {
        let value = self.0.starts_with("True");
        let rest = if value { self.0.strip_prefix("True") } else { self.0.strip_prefix("False") };
        self.0 = rest?.trim_start();
        Some(value)
    }

    fn shape(&mut self) -> Option<Vec<usize>> {
        let mut shape = Vec::new();
        self.eat('(')?;
        while self.eat(')').is_none() {
            let digits = self.0.len() - self.0.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            shape.push(self.0[..digits].parse().ok()?);
            // Python 2 wrote long numbers with an L.
            self.0 = self.0[digits..].trim_start_matches('L').trim_start();
            if (self.eat(',').is_none() && !self.0.starts_with(')')) || shape.len() > MAX_DIMENSIONS {
                return None;
            }
        }
        Some(shape)
    }
}
