//! Parser of specifications of generated graphs: `NAME:key=value,key=value,...`.

use crate::error::{Error, Result};
use std::str::FromStr;

/// A `key=value` of a specification.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyValue<'a> {
    spec: &'a str,
    pub(crate) key: &'a str,
    value: &'a str,
}

/// Parses the key-value pairs of a specification that begins with `name`. Keys must be distinct.
///
/// `example` is a pair that is shown in error messages.
pub(crate) fn key_values<'a>(spec: &'a str, name: &str, example: &str) -> Result<Vec<KeyValue<'a>>> {
    let rest =
        spec.strip_prefix(name).ok_or_else(|| error(spec, format!("a specification that begins with {name}"), spec))?;
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let rest = rest.strip_prefix(':').ok_or_else(|| error(spec, format!("`:` after {name}"), rest))?;
    let mut found: Vec<KeyValue<'a>> = Vec::new();
    for pair in rest.split(',') {
        let (key, value) =
            pair.split_once('=').ok_or_else(|| error(spec, format!("settings such as {example}"), pair))?;
        if found.iter().any(|before| before.key == key) {
            return Err(error(spec, format!("{key} once"), pair));
        }
        found.push(KeyValue { spec, key, value });
    }
    Ok(found)
}

impl KeyValue<'_> {
    /// Parses the value as a number.
    pub(crate) fn number(&self) -> Result<f64> {
        self.parsed("a number")
    }

    /// Parses the value as an integer.
    pub(crate) fn whole<N: FromStr>(&self) -> Result<N> {
        self.parsed("a whole number")
    }

    fn parsed<N: FromStr>(&self, what: &str) -> Result<N> {
        self.value.parse().map_err(|_| error(self.spec, format!("{what} for {}", self.key), self.value))
    }

    /// Returns the value as text.
    pub(crate) fn text(&self) -> &str {
        self.value
    }

    /// Builds an error for a value that is none of the allowed ones.
    pub(crate) fn wrong(&self, values: &str) -> Error {
        error(self.spec, format!("{values} for {}", self.key), self.value)
    }

    /// Builds an error for an unknown key; `keys` lists the allowed ones.
    pub(crate) fn unknown(&self, keys: &str) -> Error {
        error(self.spec, keys.to_owned(), self.key)
    }
}

/// Fails unless a value of a specification is valid.
pub(crate) fn require(
    spec: &impl ToString,
    valid: bool,
    expected: impl Into<String>,
    found: impl ToString,
) -> Result<()> {
    if valid { Ok(()) } else { Err(Error::spec(spec.to_string(), expected, found)) }
}

fn error(spec: &str, expected: String, found: &str) -> Error {
    Error::spec(spec, expected, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_pairs_and_rejects_invalid_ones() {
        let found = key_values("graph:size=3,share=0.5", "graph", "size=3").unwrap();
        assert_eq!((found[0].whole::<usize>().unwrap(), found[1].number().unwrap()), (3, 0.5));
        assert!(key_values("graph", "graph", "").unwrap().is_empty());
        for (bad, sentence) in [
            ("other", "begins with graph"),
            ("graphs", "`:` after graph"),
            ("graph:", "such as size=3"),
            ("graph:size", "such as size=3"),
            ("graph:size=1,size=2", "size once"),
        ] {
            let Err(Error::Spec { expected, .. }) = key_values(bad, "graph", "size=3") else { panic!("{bad}") };
            assert!(expected.contains(sentence), "{bad}: {expected}");
        }
        assert!(found[1].whole::<usize>().is_err());
        assert!(found[0].unknown("width").to_string().contains("size"));
    }
}
