//! Words of messages: shortened text of files, and lists of names.

pub(crate) use supergat_core::words::count;

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
