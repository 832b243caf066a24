//! Words of messages.

/// Returns a number with its noun.
///
/// ```
/// use supergat_core::words::count;
///
/// assert_eq!([count(1, "link"), count(0, "link"), count(2, "entry")], ["1 link", "0 links", "2 entries"]);
/// assert_eq!([count(1, "class"), count(3, "class"), count(2, "day")], ["1 class", "3 classes", "2 days"]);
/// ```
pub fn count(number: usize, noun: &str) -> String {
    let stem = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match (number, stem) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        _ => format!("{number} {noun}{}", if noun.ends_with("ss") { "es" } else { "s" }),
    }
}
