//! Instructions with an inline value: numbers, strings and text.

use super::cursor::{Cursor, shortened};
use super::{Value, opcode};
use crate::error::Result;
use std::borrow::Cow;
use std::str::FromStr;

/// Reads the value of a literal instruction; returns `None` for other instructions.
pub(super) fn read<'a>(cursor: &mut Cursor<'a>, code: u8) -> Result<Option<Value<'a>>> {
    Ok(Some(match code {
        opcode::NONE => Value::None,
        opcode::NEWTRUE => Value::Bool(true),
        opcode::NEWFALSE => Value::Bool(false),
        opcode::INT => integer(cursor)?,
        opcode::LONG => Value::Int(parse_line(cursor, |line| number(line.strip_suffix(b"L").unwrap_or(line)))?),
        opcode::FLOAT => Value::Float(parse_line(cursor, number)?),
        opcode::BININT => Value::Int(i32::from_le_bytes(cursor.array()?).into()),
        opcode::BININT1 => Value::Int(cursor.u8()?.into()),
        opcode::BININT2 => Value::Int(u16::from_le_bytes(cursor.array()?).into()),
        opcode::LONG1 | opcode::LONG4 => {
            let length = length(cursor, code)?;
            long(cursor, length)?
        }
        opcode::BINFLOAT => Value::Float(f64::from_be_bytes(cursor.array()?)),
        opcode::STRING => Value::Bytes(Cow::Owned(parse_line(cursor, unquote)?)),
        opcode::UNICODE => Value::Str(Cow::Owned(parse_line(cursor, unescape)?)),
        opcode::SHORT_BINSTRING | opcode::SHORT_BINBYTES | opcode::BINSTRING | opcode::BINBYTES | opcode::BINBYTES8 => {
            let length = length(cursor, code)?;
            Value::Bytes(Cow::Borrowed(cursor.take(length, "a string")?))
        }
        opcode::SHORT_BINUNICODE | opcode::BINUNICODE | opcode::BINUNICODE8 => {
            let length = length(cursor, code)?;
            text(cursor, length)?
        }
        _ => return Ok(None),
    }))
}

/// Reads the length of a value. That of BINSTRING is signed: read as unsigned, a negative length exceeds the file and is
/// rejected.
fn length(cursor: &mut Cursor<'_>, code: u8) -> Result<u64> {
    match code {
        opcode::LONG1 | opcode::SHORT_BINSTRING | opcode::SHORT_BINBYTES | opcode::SHORT_BINUNICODE => {
            cursor.u8().map(u64::from)
        }
        opcode::BINBYTES8 | opcode::BINUNICODE8 => cursor.array().map(u64::from_le_bytes),
        _ => cursor.u32().map(u64::from),
    }
}

/// Parses the rest of the line with `parse`.
pub(super) fn parse_line<'a, T>(cursor: &mut Cursor<'a>, parse: impl Fn(&'a [u8]) -> Option<T>) -> Result<T> {
    let line = cursor.line()?;
    parse(line).ok_or_else(|| cursor.refuse("a number or a string as text", format!("`{}`", shortened(line))))
}

/// Parses a number written as text.
pub(super) fn number<T: FromStr>(line: &[u8]) -> Option<T> {
    std::str::from_utf8(line).ok()?.parse().ok()
}

/// Reads an integer, or a boolean, which protocols 0 and 1 write as `00` or `01`.
fn integer<'a>(cursor: &mut Cursor<'a>) -> Result<Value<'a>> {
    parse_line(cursor, |line| match line {
        b"00" => Some(Value::Bool(false)),
        b"01" => Some(Value::Bool(true)),
        line => number(line).map(Value::Int),
    })
}

/// Reads a little-endian two's complement integer of `length` bytes.
fn long<'a>(cursor: &mut Cursor<'a>, length: u64) -> Result<Value<'a>> {
    let bytes = cursor.take(length, "a whole number")?;
    if bytes.len() > 8 {
        return Err(cursor.refuse("a whole number of at most 8 bytes", format!("one of {length}")));
    }
    let negative = bytes.last().is_some_and(|&last| last >= 0x80);
    let mut value = [if negative { 0xff } else { 0 }; 8];
    value[..bytes.len()].copy_from_slice(bytes);
    Ok(Value::Int(i64::from_le_bytes(value)))
}

/// Reads UTF-8 text of `length` bytes.
fn text<'a>(cursor: &mut Cursor<'a>, length: u64) -> Result<Value<'a>> {
    match std::str::from_utf8(cursor.take(length, "text")?) {
        Ok(text) => Ok(Value::Str(Cow::Borrowed(text))),
        Err(error) => Err(cursor.refuse("Unicode text", error.to_string())),
    }
}

/// Decodes a quoted Python 2 string in the form of `repr`.
fn unquote(line: &[u8]) -> Option<Vec<u8>> {
    let quote = *line.first().filter(|&&byte| byte == b'\'' || byte == b'"')?;
    let inside = line.get(1..)?.strip_suffix(&[quote])?;
    let mut bytes = Vec::with_capacity(inside.len());
    let mut rest = inside.iter().copied();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'x' => hexadecimal(&mut rest, 2)? as u8,
                other @ (b'\\' | b'\'' | b'"') => other,
                _ => return None,
            },
            byte => byte,
        });
    }
    Some(bytes)
}

/// Decodes Python's raw-unicode-escape: Latin-1 bytes with the escapes `\uXXXX` and `\UXXXXXXXX`.
fn unescape(line: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(line.len());
    let mut rest = line.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        let digits = match (byte, rest.peek()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => {
                text.push(char::from(byte));
                continue;
            }
        };
        rest.next();
        text.push(char::from_u32(hexadecimal(&mut rest, digits)?)?);
    }
    Some(text)
}

/// Reads a hexadecimal number of `digits` digits.
fn hexadecimal(bytes: &mut impl Iterator<Item = u8>, digits: u32) -> Option<u32> {
    (0..digits).try_fold(0u32, |value, _| Some(value << 4 | char::from(bytes.next()?).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn value(bytes: &[u8]) -> Option<Value<'_>> {
        let mut cursor = Cursor::new(Path::new("f"), bytes);
        let code = cursor.instruction().unwrap();
        read(&mut cursor, code).ok().flatten()
    }

    #[test]
    fn reads_numbers_of_all_protocols() {
        for (bytes, expected) in [
            (&b"I01\n"[..], Value::Bool(true)),
            (b"I-7\n", Value::Int(-7)),
            (b"L12L\n", Value::Int(12)),
            (b"F0.5\n", Value::Float(0.5)),
            (b"J\xff\xff\xff\xff", Value::Int(-1)),
            (b"M\x99\x05", Value::Int(1433)),
            (b"\x8a\x00", Value::Int(0)),
            (b"\x8a\x01\xff", Value::Int(-1)),
            (b"\x8a\x02\x00\x80", Value::Int(-32768)),
            (b"\x8b\x08\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\x7f", Value::Int(i64::MAX)),
            (b"G\x3f\xe0\x00\x00\x00\x00\x00\x00", Value::Float(0.5)),
        ] {
            assert_eq!(value(bytes), Some(expected), "{bytes:?}");
        }
        for bad in [&b"Ix\n"[..], b"I\n", b"L99999999999999999999L\n", b"\x8a\x09123456789", b"\x8b\xff\xff\xff\xff"] {
            assert_eq!(value(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn reads_strings_of_all_protocols() {
        assert_eq!(unquote(br"'a\x00\n\\\'b'").unwrap(), b"a\0\n\\'b");
        assert_eq!(unquote(b"\"it's\"").unwrap(), b"it's");
        for bad in [&b""[..], b"'", b"abc", b"'a\"", br"'\x0'", br"'\q'"] {
            assert_eq!(unquote(bad), None, "{bad:?}");
        }
        assert_eq!(unescape(b"a\\u00e9\xe9\\U0001F600\\n").unwrap(), "aéé😀\\n");
        for bad in [&b"\\u12"[..], b"\\ud800", b"\\Uffffffff"] {
            assert_eq!(unescape(bad), None, "{bad:?}");
        }
        assert_eq!(value(b"U\x02ab"), Some(Value::Bytes(Cow::Borrowed(b"ab"))));
        assert_eq!(value(b"\x8c\x02\xc3\xa9"), Some(Value::Str(Cow::Borrowed("é"))));
        assert_eq!(value(b"\x8c\x01\xff"), None);
        assert_eq!(value(b"T\xff\xff\xff\xffab"), None);
    }
}
