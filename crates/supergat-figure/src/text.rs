//! Text and numbers for SVG and HTML.

use std::fmt::Write as _;

/// Font size of normal text.
pub(crate) const FONT_SIZE: f64 = 13.0;

/// Escapes text for XML and HTML; control characters become spaces.
pub fn escaped(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(plain).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Estimates the width of a text at a font size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let letter = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | '.' | ',' | ':' | ' ' | '|' | '\'' => 0.36,
        _ if c.is_uppercase() => 0.7,
        _ => 0.59,
    };
    size * text.chars().map(letter).sum::<f64>()
}

/// Smallest font size of a figure.
const MIN_FONT_SIZE: f64 = 12.0;

/// Fits a line of text into a width, by a smaller font size and then by cutting it. Returns size and text.
pub(crate) fn fitted(text: &str, size: f64, wide: f64) -> (f64, String) {
    let size = (size * wide / width(text, size).max(1.0)).clamp(MIN_FONT_SIZE, size);
    // Integer sizes keep the figures of a page uniform.
    let size = size.floor();
    (size, shortened(text, (wide / width("x", size)) as usize))
}

/// Cuts a text to at most `most` characters; the last one is then an ellipsis.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// Formats a number with four significant digits, or in scientific notation if it is very large or small.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        0.0 => "0".into(),
        1e-3..1e6 => {
            let digits = (3.0 - size.log10().floor()).clamp(0.0, 6.0) as usize;
            trimmed(&format!("{value:.digits$}"))
        }
        _ => format!("{value:.2e}"),
    }
}

/// Formats a figure coordinate with at most one decimal.
pub(crate) fn coordinate(value: f64) -> String {
    trimmed(&format!("{value:.1}"))
}

/// Writes a text element with its start, middle or end at `(x, y)`. `class` and `look`, further attributes, may be empty.
pub(crate) fn write(out: &mut String, class: &str, [x, y]: [f64; 2], look: &str, words: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let space = if look.is_empty() { "" } else { " " };
    let (x, y, words) = (coordinate(x), coordinate(y), escaped(words));
    // Writing to a string never fails.
    let _ = writeln!(out, "<text{class} x=\"{x}\" y=\"{y}\"{space}{look}>{words}</text>");
}

/// Removes trailing zeros of a decimal number.
fn trimmed(text: &str) -> String {
    match text.contains('.') {
        true => match text.trim_end_matches('0').trim_end_matches('.') {
            "-0" => "0".into(),
            short => short.into(),
        },
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_shortens_and_fits_text() {
        assert_eq!(escaped("<a & \"b\">\u{7}"), "&lt;a &amp; &quot;b&quot;&gt; ");
        assert_eq!(shortened("neighbourhood", 6), "neigh…");
        assert_eq!(shortened("six", 6), "six");
        assert_eq!(fitted("short", 17.0, 700.0), (17.0, "short".into()));
        let (size, words) = fitted(&"long ".repeat(40), 17.0, 700.0);
        assert!(size == MIN_FONT_SIZE && words.ends_with('…') && width(&words, size) <= 700.0, "{words}");
        assert_eq!(fitted(&"x".repeat(80), 17.0, 700.0).0, 14.0);
    }

    #[test]
    fn formats_numbers_and_coordinates() {
        let texts: Vec<String> = [0.0, 84.3, 0.123456, 1234.5, 2e9, -0.5, 1e-5, 12.0].map(number).into();
        assert_eq!(texts, ["0", "84.3", "0.1235", "1234", "2.00e9", "-0.5", "1.00e-5", "12"]);
        assert_eq!([coordinate(-0.01), coordinate(3.1234), coordinate(10.0)], ["0", "3.1", "10"]);
    }
}
