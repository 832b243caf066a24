//! numpy's `.npy` files: a short header in Python's notation, then the bytes of one array.
//!
//! A parser that knows the three keys reads the header; nothing is evaluated. Arrays of Python objects are
//! pickles and are refused.

use super::layout::{Kind, Layout, MAX_DIMENSIONS, element};
use crate::error::{Error, Result};
use crate::files;
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Maximum length of a header; numpy refuses longer ones too.
const MAX_HEADER: usize = 10_000;

/// A numpy array and the bytes of its file.
#[derive(Debug)]
pub struct Array {
    path: PathBuf,
    layout: Layout,
    bytes: Vec<u8>,
    start: usize,
}

impl Array {
    /// Parses the bytes of a file; `path` is only named in errors.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let (header_start, start) = frame(path, &bytes)?;
        let header = Header::parse(path, header_start, &bytes[header_start..start])?;
        let Header { descr, fortran, shape } = header;
        let ((kind, size), big_endian) = element_type(path, header_start, &descr)?;
        let layout = Layout { shape, kind, size, big_endian, fortran };
        let found = bytes.len() - start;
        layout.check(found).map_err(|expected| Error::binary(path, start, expected, format!("{found} bytes")))?;
        Ok(Self { path: path.to_owned(), layout, bytes, start })
    }

    /// Returns the length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    /// Returns the rows and columns of an array, which must have two axes.
    pub fn rows_and_columns(&self) -> Result<[usize; 2]> {
        match self.shape()[..] {
            [rows, columns] => Ok([rows, columns]),
            _ => Err(self.unexpected("an array of two axes", format!("shape {:?}", self.shape()))),
        }
    }

    /// Decodes all elements as numbers, last axis fastest.
    pub fn numbers(&self) -> Result<Vec<f32>> {
        if matches!(self.layout.kind, Kind::Unicode | Kind::Bytes) {
            return Err(self.unexpected("numbers", "text"));
        }
        self.collect(|raw| Ok(self.number(raw)))
    }

    /// Decodes all elements as whole numbers, last axis fastest. Booleans become 0 and 1.
    pub fn integers(&self) -> Result<Vec<i64>> {
        let whole = |raw: &[u8]| match self.layout.kind {
            Kind::Signed => Some(self.layout.signed(raw)),
            Kind::Unsigned => i64::try_from(self.layout.bits(raw)).ok(),
            Kind::Bool => Some(i64::from(raw[0] != 0)),
            _ => None,
        };
        self.collect(|raw| whole(raw).ok_or_else(|| self.unexpected("whole numbers below 2^63", self.kind_in_words())))
    }

    /// Decodes all elements as text, last axis fastest. Invalid characters become `\u{fffd}`.
    pub fn texts(&self) -> Result<Vec<String>> {
        let text = |raw: &[u8]| -> Option<String> {
            Some(match self.layout.kind {
                Kind::Bytes => String::from_utf8_lossy(raw).trim_end_matches('\0').to_owned(),
                Kind::Unicode => {
                    let character = |code: &[u8]| {
                        char::from_u32(self.layout.bits(code) as u32).unwrap_or(char::REPLACEMENT_CHARACTER)
                    };
                    raw.chunks_exact(4).map(character).collect::<String>().trim_end_matches('\0').to_owned()
                }
                _ => return None,
            })
        };
        self.collect(|raw| text(raw).ok_or_else(|| self.unexpected("text", self.kind_in_words())))
    }

    /// Decodes all elements, last axis fastest.
    fn collect<T>(&self, decode: impl Fn(&[u8]) -> Result<T>) -> Result<Vec<T>> {
        let data = &self.bytes[self.start..];
        files::collect(&self.path, self.layout.count(data.len()), self.layout.elements(data).map(decode))
    }

    fn number(&self, raw: &[u8]) -> f32 {
        match (self.layout.kind, self.layout.size) {
            (Kind::Float, 4) => f32::from_bits(self.layout.bits(raw) as u32),
            (Kind::Float, _) => f64::from_bits(self.layout.bits(raw)) as f32,
            (Kind::Signed, _) => self.layout.signed(raw) as f32,
            (Kind::Bool, _) => f32::from(raw[0] != 0),
            _ => self.layout.bits(raw) as f32,
        }
    }

    fn kind_in_words(&self) -> &'static str {
        match self.layout.kind {
            Kind::Float => "floating-point numbers",
            Kind::Signed | Kind::Unsigned => "whole numbers",
            Kind::Bool => "truth values",
            Kind::Unicode | Kind::Bytes => "text",
        }
    }

    fn unexpected(&self, expected: &str, found: impl Into<String>) -> Error {
        Error::binary(&self.path, self.start, expected, found)
    }
}

/// Returns the offsets of the header and of the elements.
fn frame(path: &Path, bytes: &[u8]) -> Result<(usize, usize)> {
    let truncated =
        || Error::Truncated { path: path.to_owned(), offset: 0, expected: "the header of a numpy array".into() };
    if !bytes.starts_with(&MAGIC[..MAGIC.len().min(bytes.len())]) {
        let found = format!("bytes {:02x?}", &bytes[..bytes.len().min(6)]);
        return Err(Error::binary(path, 0, "a numpy array (.npy)", found));
    }
    let version = *bytes.get(6).ok_or_else(truncated)?;
    let (start, length) = match version {
        1 => (10, bytes.get(8..10).map(|raw| usize::from(raw[0]) | usize::from(raw[1]) << 8)),
        2 | 3 => (12, bytes.get(8..12).map(|raw| u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]) as usize)),
        _ => {
            return Err(Error::binary(path, 6, "version 1, 2 or 3 of numpy's format", version.to_string()));
        }
    };
    let length = length.ok_or_else(truncated)?;
    if length > MAX_HEADER {
        return Err(Error::too_large(path, "bytes of a numpy header", MAX_HEADER as u64, length as u64));
    }
    if bytes.len() < start + length {
        return Err(truncated());
    }
    Ok((start, start + length))
}

/// Returns kind and size of the elements, and whether they are big-endian.
fn element_type(path: &Path, offset: usize, descr: &str) -> Result<((Kind, usize), bool)> {
    let refuse = |expected: &str| Error::binary(path, offset, expected, format!("elements of type `{descr}`"));
    let order = descr.chars().next().filter(|order| "<>|=".contains(*order));
    let code = if order.is_some() { &descr[1..] } else { descr };
    if code.starts_with('O') {
        return Err(refuse("numbers or text: Python objects would have to be executed and are never loaded"));
    }
    let known = element(code).ok_or_else(|| refuse("elements of type f4, f8, i1 to i8, u1 to u8, b1, U or S"))?;
    Ok((known, order == Some('>')))
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
        Literal(text.trim()).header().ok_or_else(|| {
            let expected = "a header such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}";
            Error::binary(path, offset, expected, format!("`{}`", text.trim().chars().take(80).collect::<String>()))
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
