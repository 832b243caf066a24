//! Words of messages: shortened text of files, and lists of names.

/// Shortens text of a file for a message and removes its line breaks.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let plain: String = text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MOST).is_some() { format!("{plain}...") } else { plain }
}

/// Joins the first few words of a list, for messages.
pub(crate) fn first_few(words: &[String]) -> String {
    const FEW: usize = 6;
    let shown = words.iter().take(FEW).cloned().collect::<Vec<_>>().join(", ");
    if words.len() > FEW { format!("{shown} and {} more", words.len() - FEW) } else { shown }
}
