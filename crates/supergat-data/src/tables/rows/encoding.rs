//! Text encodings of tables: UTF-8, UTF-16 with a byte order mark, and Windows-1252, of which Latin-1 is a part.

use super::location::Location;
use crate::error::Result;
use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252};
use std::path::Path;

/// First bytes of a ZIP archive, such as an .xlsx or .ods file.
const ARCHIVE: &[u8] = b"PK\x03\x04";

/// Decodes a file and removes its byte order mark. Returns the text, and whether the encoding was guessed.
///
/// Any file that is not UTF-8 or UTF-16 is read as Windows-1252; this is the guess. A file that contains both valid
/// letters of UTF-8 and invalid bytes is damaged, so it is refused.
pub(in crate::tables) fn decode(path: &Path, bytes: Vec<u8>) -> Result<(String, bool)> {
    if bytes.starts_with(ARCHIVE) {
        let found = "a packed file, such as a workbook of a spreadsheet program";
        return Err(Location::file(path).error("a table as text", found, "save the sheet as CSV in UTF-8"));
    }
    let utf_16 = match bytes {
        _ if bytes.starts_with(b"\xff\xfe") => Some(UTF_16LE),
        _ if bytes.starts_with(b"\xfe\xff") => Some(UTF_16BE),
        _ => None,
    };
    if let Some(encoding) = utf_16 {
        let text = encoding.decode_without_bom_handling_and_without_replacement(&bytes[2..]);
        let found = "a half of a character";
        let error = || Location::file(path).error("text in UTF-16, as its first bytes say", found, "save it as UTF-8");
        return Ok((text.ok_or_else(error)?.into_owned(), false));
    }
    let error = match String::from_utf8(bytes) {
        Ok(mut text) => {
            if text.starts_with('\u{feff}') {
                text.remove(0);
            }
            return Ok((text, false));
        }
        Err(error) => error,
    };
    let bytes = error.as_bytes();
    if !bytes.contains(&0) && bytes.utf8_chunks().all(|chunk| chunk.valid().is_ascii()) {
        return Ok((WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(), true));
    }
    let valid = error.utf8_error().valid_up_to();
    let before = &bytes[..valid];
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count() as u64;
    let found = format!("byte {:#04x} at position {} of the line", bytes[valid], valid - start + 1);
    Err(Location::line(path, line).error("text in UTF-8", found, "repair the line, or save the file as UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Result<(String, bool)> {
        decode(Path::new("nodes.csv"), bytes.to_vec())
    }

    #[test]
    fn decodes_all_encodings() {
        let text = "id,name\n1,José\n";
        let utf_16 = |mark: u16, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            std::iter::once(mark).chain(text.encode_utf16()).flat_map(bytes).collect()
        };
        let texts = [text.as_bytes().to_vec(), format!("\u{feff}{text}").into_bytes()];
        for bytes in texts.into_iter().chain([utf_16(0xfeff, u16::to_le_bytes), utf_16(0xfeff, u16::to_be_bytes)]) {
            assert_eq!(decoded(&bytes).unwrap(), (text.to_owned(), false), "{bytes:?}");
        }
        assert_eq!(decoded(b"id,name\n1,Jos\xe9\n").unwrap(), (text.to_owned(), true));
        assert_eq!(decoded(b"5 \x80").unwrap(), ("5 €".to_owned(), true));
    }

    #[test]
    fn refuses_damaged_text() {
        let refused = |bytes: &[u8]| decoded(bytes).unwrap_err().to_string();
        let error = refused("é\n1,Jos\u{e9}".as_bytes()[..9].as_ref());
        assert!(error.contains("nodes.csv, line 2: expected text in UTF-8, found byte 0xc3 at position 6"), "{error}");
        assert!(refused(b"a\0\xe9").contains("expected text in UTF-8"));
        let expected = "nodes.csv: expected a table as text, found a packed file, such as a workbook of a spreadsheet \
                        program; save the sheet as CSV in UTF-8";
        assert_eq!(refused(b"PK\x03\x04xl"), expected);
        assert!(refused(b"\xff\xfea\0b").contains("found a half of a character"));
    }
}
