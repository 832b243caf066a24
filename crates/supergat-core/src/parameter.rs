//! Parameters in messages of the libraries.
//!
//! An error or note of a library names a parameter as ``parameter `missing` ``, or with a value as
//! ``parameter `missing=error` ``. Each front end shows its own form of the name: the command `--missing error`, Python
//! `missing="error"`.

const START: &str = "parameter `";

/// Replaces every parameter that a message names by `words` of its name and value.
///
/// ```
/// use supergat_core::parameter::in_words;
/// let message = "leave it out with parameter `ignore_columns`, or choose parameter `missing=zero`";
/// let option = |name: &str, value: Option<&str>| format!("--{name} {}", value.unwrap_or("NAME"));
/// assert_eq!(in_words(message, option), "leave it out with --ignore_columns NAME, or choose --missing zero");
/// assert_eq!(in_words("unknown hyperparameter `x`", option), "unknown hyperparameter `x`");
/// ```
pub fn in_words(message: &str, words: impl Fn(&str, Option<&str>) -> String) -> String {
    let mut parts = message.split(START);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // The end of another word, such as hyperparameter, names no parameter.
        let is_word = !text.ends_with(char::is_alphanumeric);
        match part.split_once('`').filter(|_| is_word) {
            Some((parameter, rest)) => {
                let (name, value) = match parameter.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (parameter, None),
                };
                text += &words(name, value);
                text += rest;
            }
            None => text.extend([START, part]),
        }
    }
    text
}
