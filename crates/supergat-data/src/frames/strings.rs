//! A compact column of optional strings.

use std::collections::TryReserveError;

/// Optional strings, stored in one buffer.
///
/// ```
/// use supergat_data::frames::Strings;
/// let mut strings: Strings = [Some("red"), None].into_iter().collect();
/// strings.push(Some("blue"));
/// assert_eq!(strings.len(), 3);
/// assert_eq!((strings.get(0), strings.get(1), strings.get(2)), (Some("red"), None, Some("blue")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Strings {
    /// All strings, one after another.
    text: String,
    /// End of each string in the buffer.
    ends: Vec<usize>,
    /// Whether each string is known; `None` if all are.
    known: Option<Vec<bool>>,
}

impl Strings {
    /// Creates an empty column with room for `count` strings of `bytes` bytes in total.
    pub fn with_capacity(count: usize, bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), ends: Vec::with_capacity(count), known: None }
    }

    /// Makes room for a further string of `bytes` bytes.
    pub(crate) fn try_reserve(&mut self, bytes: usize) -> Result<(), TryReserveError> {
        self.text.try_reserve(bytes)?;
        self.ends.try_reserve(1)
    }

    /// Appends a string, or a missing value.
    pub fn push(&mut self, string: Option<&str>) {
        if string.is_none() && self.known.is_none() {
            self.known = Some(vec![true; self.ends.len()]);
        }
        if let Some(known) = &mut self.known {
            known.push(string.is_some());
        }
        self.text.push_str(string.unwrap_or(""));
        self.ends.push(self.text.len());
    }

    /// Returns a string; `None` if it is missing. Panics if there is no such row.
    pub fn get(&self, row: usize) -> Option<&str> {
        let known = self.known.as_ref().is_none_or(|known| known[row]);
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        let string = &self.text[start..self.ends[row]];
        known.then_some(string)
    }

    /// Returns the number of strings, including missing values.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

impl<S: AsRef<str>> Extend<Option<S>> for Strings {
    fn extend<I: IntoIterator<Item = Option<S>>>(&mut self, strings: I) {
        strings.into_iter().for_each(|string| self.push(string.as_ref().map(AsRef::as_ref)));
    }
}

impl<S: AsRef<str>> FromIterator<Option<S>> for Strings {
    fn from_iter<I: IntoIterator<Item = Option<S>>>(strings: I) -> Self {
        let mut all = Self::default();
        all.extend(strings);
        all
    }
}
