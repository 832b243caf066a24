//! Specifications of generated graphs: a name, and parts such as `degree=10` after a colon, separated by commas.

use crate::error::{Error, Result};
use std::str::FromStr;

/// A part `key=value`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    spec: &'a str,
    pub(crate) key: &'a str,
    value: &'a str,
}

/// The parts of a specification that begins with `name`, each key once; `example` shows what one looks like.
pub(crate) fn parts<'a>(spec: &'a str, name: &str, example: &str) -> Result<Vec<Part<'a>>> {
    let rest =
        spec.strip_prefix(name).ok_or_else(|| error(spec, format!("a specification that begins with {name}"), spec))?;
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let rest = rest.strip_prefix(':').ok_or_else(|| error(spec, format!("`:` after {name}"), rest))?;
    let mut found: Vec<Part<'a>> = Vec::new();
    for part in rest.split(',') {
        let (key, value) = part.split_once('=').ok_or_else(|| error(spec, format!("parts such as {example}"), part))?;
        if found.iter().any(|before| before.key == key) {
            return Err(error(spec, format!("{key} once"), part));
        }
        found.push(Part { spec, key, value });
    }
    Ok(found)
}

impl Part<'_> {
    /// Its value as a number.
    pub(crate) fn number(&self) -> Result<f64> {
        self.parsed("a number")
    }

    /// Its value as a whole number.
    pub(crate) fn whole<N: FromStr>(&self) -> Result<N> {
        self.parsed("a whole number")
    }

    fn parsed<N: FromStr>(&self, what: &str) -> Result<N> {
        self.value.parse().map_err(|_| error(self.spec, format!("{what} for {}", self.key), self.value))
    }

    /// That there is no such key, only these.
    pub(crate) fn unknown(&self, keys: &str) -> Error {
        error(self.spec, keys.to_owned(), self.key)
    }
}

fn error(spec: &str, expected: String, found: &str) -> Error {
    Error::Spec { spec: spec.to_owned(), expected, found: found.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_mistakes_named() {
        let found = parts("graph:size=3,share=0.5", "graph", "size=3").unwrap();
        assert_eq!((found[0].whole::<usize>().unwrap(), found[1].number().unwrap()), (3, 0.5));
        assert!(parts("graph", "graph", "").unwrap().is_empty());
        for (bad, sentence) in [
            ("other", "begins with graph"),
            ("graphs", "`:` after graph"),
            ("graph:", "such as size=3"),
            ("graph:size", "such as size=3"),
            ("graph:size=1,size=2", "size once"),
        ] {
            let Err(Error::Spec { expected, .. }) = parts(bad, "graph", "size=3") else { panic!("{bad}") };
            assert!(expected.contains(sentence), "{bad}: {expected}");
        }
        assert!(found[1].whole::<usize>().is_err());
        assert!(found[0].unknown("width").to_string().contains("size"));
    }
}
