//! Writing of CSV files with many numbers.

use std::io::{self, Write};

/// Bytes of rows that are written together.
const TOGETHER: usize = 32 << 10;
/// Numbers whose shortest text has no exponent, without their sign.
const PLAIN: std::ops::Range<f32> = 1e-4..1e12;

/// Writes a table as CSV, one field after another. A row has at least two fields.
///
/// ```
/// # use supergat_data::files::csv::Table;
/// let mut bytes = Vec::new();
/// let mut table = Table::new(&mut bytes);
/// table.text("a,b");
/// table.whole(12);
/// table.number(0.25);
/// table.end()?;
/// table.finish()?;
/// assert_eq!(bytes, b"\"a,b\",12,0.25\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Table<'w> {
    out: &'w mut dyn Write,
    /// Rows that are not written yet.
    rows: Vec<u8>,
}

impl<'w> Table<'w> {
    /// Creates a table without rows.
    pub fn new(out: &'w mut dyn Write) -> Self {
        Self { out, rows: Vec::new() }
    }

    /// Writes a text, in quotes if it needs them.
    pub fn text(&mut self, text: &str) {
        if text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
            self.field(format!("\"{}\"", text.replace('"', "\"\"")).as_bytes());
        } else {
            self.field(text.as_bytes());
        }
    }

    /// Writes a whole number.
    pub fn whole(&mut self, number: usize) {
        match u8::try_from(number) {
            Ok(digit @ 0..10) => self.field(&[b'0' + digit]),
            _ => self.field(number.to_string().as_bytes()),
        }
    }

    /// Writes a number as the shortest text that parses to the same number.
    pub fn number(&mut self, number: f32) {
        // Of two shortest texts that are equally near to a number, `zmij` chooses the even one, and the standard library
        // the larger one. Such a number is a multiple of 2^-14 if it is plain; for all others, both write the same.
        let scaled = number * 16384.0;
        if PLAIN.contains(&number.abs()) && scaled != (scaled as i64) as f32 {
            self.field(zmij::Buffer::new().format_finite(number).as_bytes());
        } else {
            self.field(format!("{number:?}").as_bytes());
        }
    }

    fn field(&mut self, field: &[u8]) {
        self.rows.extend_from_slice(field);
        self.rows.push(b',');
    }

    /// Ends a row.
    pub fn end(&mut self) -> io::Result<()> {
        *self.rows.last_mut().expect("a row has fields") = b'\n';
        if self.rows.len() >= TOGETHER {
            self.out.write_all(&self.rows)?;
            self.rows.clear();
        }
        Ok(())
    }

    /// Writes what is left.
    pub fn finish(self) -> io::Result<()> {
        self.out.write_all(&self.rows)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl Fn(&mut Table<'_>)) -> String {
        let mut bytes = Vec::new();
        let mut table = Table::new(&mut bytes);
        write(&mut table);
        table.end().unwrap();
        table.finish().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn texts_have_quotes_if_they_need_them() {
        let texts = ["", "plain", "a,b", "say \"x\"", "two\nlines", "\r", "'=1", "ä"];
        let found = written(|table| texts.iter().for_each(|text| table.text(text)));
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(found.as_bytes());
        assert_eq!(reader.records().next().unwrap().unwrap(), texts.to_vec());
        assert_eq!(written(|table| ["a", "b\"", "c d"].iter().for_each(|text| table.text(text))), "a,\"b\"\"\",c d\n");
    }

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        for whole in [0, 9, 10, 255, 256, 1_234_567] {
            assert_eq!(written(|table| table.whole(whole)), format!("{whole}\n"));
        }
        let all = (0..=u32::MAX).step_by(40_009).map(f32::from_bits);
        let powers = (-45..39).flat_map(|power| {
            let power = format!("1e{power}").parse::<f32>().unwrap();
            [power, power.next_down(), power.next_up(), -power]
        });
        let others = [0.0, -0.0, 1.0, f32::INFINITY, f32::NAN, f32::MAX, f32::MIN_POSITIVE];
        // Some have two shortest texts, such as 0.298828125.
        let fractions = (1..1 << 18).map(|k| k as f32 / 65536.0);
        for number in all.chain(powers).chain(fractions).chain(others) {
            assert_eq!(written(|table| table.number(number)), format!("{number:?}\n"));
        }
    }
}
