//! Words of messages: shortened text of files, lists of names, and numbers of things.

/// Shortens text of a file for a message and removes its line breaks.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let plain: String = text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MOST).is_some() { format!("{plain}...") } else { plain }
}

/// Shortens text of a file for a message and puts it in backticks.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", shown(text))
}

/// Joins the first few words of a list, for messages.
pub(crate) fn first_few(words: impl IntoIterator<Item = String>) -> String {
    first(6, words)
}

/// Joins the first `most` words of a list, for messages.
pub(crate) fn first(most: usize, words: impl IntoIterator<Item = String>) -> String {
    let mut words = words.into_iter();
    let shown = words.by_ref().take(most).collect::<Vec<_>>().join(", ");
    match words.count() {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns a number with its noun: `1 link`, `2 links`, `2 entries`, `2 classes`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        _ => format!("{number} {noun}{}", if noun.ends_with("ss") { "es" } else { "s" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_plurals() {
        let words = [count(1, "entry"), count(0, "entry"), count(1, "class"), count(2, "class"), count(3, "link")];
        assert_eq!(words, ["1 entry", "0 entries", "1 class", "2 classes", "3 links"]);
    }
}
