//! Text and numbers as SVG and HTML hold them.

/// Size of letters.
pub(crate) const LETTERS: f64 = 13.0;

/// A text as XML and HTML hold it; control characters become spaces.
pub fn escaped(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(plain).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// About how wide a text is in units, at a size of letters.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let letter = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | '.' | ',' | ':' | ' ' | '|' | '\'' => 0.36,
        _ if c.is_uppercase() => 0.7,
        _ => 0.59,
    };
    size * text.chars().map(letter).sum::<f64>()
}

/// The smallest letters of a figure.
const SMALLEST: f64 = 12.0;

/// A line of text that fits a width, set in smaller letters or cut where it must be: its size and its words.
pub(crate) fn fitted(text: &str, size: f64, wide: f64) -> (f64, String) {
    let size = (size * wide / width(text, size).max(1.0)).clamp(SMALLEST, size);
    // Whole sizes keep figures of one page alike.
    let size = size.floor();
    (size, shortened(text, (wide / width("x", size)) as usize))
}

/// At most that many letters, the last of them dots where some were cut.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// A number for people: four digits that matter, powers of ten where it is very large or small.
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

/// A place in the figure: one decimal suffices.
pub(crate) fn place(value: f64) -> String {
    trimmed(&format!("{value:.1}"))
}

/// A decimal number without zeros at its end.
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
    fn text_cannot_leave_its_place() {
        assert_eq!(escaped("<a & \"b\">\u{7}"), "&lt;a &amp; &quot;b&quot;&gt; ");
        assert_eq!(shortened("neighbourhood", 6), "neigh…");
        assert_eq!(shortened("six", 6), "six");
        assert_eq!(fitted("short", 17.0, 700.0), (17.0, "short".into()));
        let (size, words) = fitted(&"long ".repeat(40), 17.0, 700.0);
        assert!(size == SMALLEST && words.ends_with('…') && width(&words, size) <= 700.0, "{words}");
        assert_eq!(fitted(&"x".repeat(80), 17.0, 700.0).0, 14.0);
    }

    #[test]
    fn numbers_are_short() {
        let texts: Vec<String> = [0.0, 84.3, 0.123456, 1234.5, 2e9, -0.5, 1e-5, 12.0].map(number).into();
        assert_eq!(texts, ["0", "84.3", "0.1235", "1234", "2.00e9", "-0.5", "1.00e-5", "12"]);
        assert_eq!([place(-0.01), place(3.1234), place(10.0)], ["0", "3.1", "10"]);
    }
}
