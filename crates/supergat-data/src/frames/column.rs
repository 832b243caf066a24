//! A column of a frame, and its values as text and as numbers.

use super::{Strings, Values};
use std::borrow::Cow;
use std::ops::Range;

/// Values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameColumn {
    /// Numbers in double precision; NaN is a missing value.
    Numbers(Values<f64>),
    /// Numbers in single precision; NaN is a missing value.
    Float32(Values<f32>),
    /// Whole numbers.
    Integers {
        /// Number of each row.
        values: Values<i64>,
        /// Whether each number is known; `None` if all are.
        known: Option<Vec<bool>>,
    },
    /// Booleans.
    Booleans {
        /// Value of each row.
        values: Vec<bool>,
        /// Whether each value is known; `None` if all are.
        known: Option<Vec<bool>>,
    },
    /// Texts. They are read like the fields of a text file, so they may also contain numbers or dates.
    Text(Strings),
    /// Texts of a categorical type. They are never read as numbers or dates.
    Categories(Strings),
}

impl From<Vec<f64>> for FrameColumn {
    fn from(values: Vec<f64>) -> Self {
        Self::Numbers(values.into())
    }
}

impl From<Vec<f32>> for FrameColumn {
    fn from(values: Vec<f32>) -> Self {
        Self::Float32(values.into())
    }
}

impl From<Vec<i64>> for FrameColumn {
    fn from(values: Vec<i64>) -> Self {
        Self::Integers { values: values.into(), known: None }
    }
}

impl From<Vec<bool>> for FrameColumn {
    fn from(values: Vec<bool>) -> Self {
        Self::Booleans { values, known: None }
    }
}

impl From<Strings> for FrameColumn {
    fn from(values: Strings) -> Self {
        Self::Text(values)
    }
}

impl FrameColumn {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Float32(values) => values.len(),
            Self::Integers { values, .. } => values.len(),
            Self::Booleans { values, .. } => values.len(),
            Self::Text(values) | Self::Categories(values) => values.len(),
        }
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the marks of known values, if the column has them besides its values.
    pub(crate) fn known(&self) -> Option<&[bool]> {
        match self {
            Self::Integers { known, .. } | Self::Booleans { known, .. } => known.as_deref(),
            _ => None,
        }
    }

    /// Returns the column with the given numbers as missing values. Booleans and texts have no numbers.
    pub(crate) fn without(&self, missing: &[f64]) -> Cow<'_, Self> {
        let is_missing = |value: f64| missing.contains(&value);
        let is_missing_32 = |value: f32| missing.iter().any(|number| *number as f32 == value);
        match self {
            Self::Numbers(values) if values.iter().any(|value| is_missing(*value)) => {
                let kept = values.iter().map(|value| if is_missing(*value) { f64::NAN } else { *value });
                Cow::Owned(Self::Numbers(kept.collect()))
            }
            Self::Float32(values) if values.iter().any(|value| is_missing_32(*value)) => {
                let kept = values.iter().map(|value| if is_missing_32(*value) { f32::NAN } else { *value });
                Cow::Owned(Self::Float32(kept.collect()))
            }
            Self::Integers { values, known } if values.iter().any(|value| is_missing(*value as f64)) => {
                let is_known = |row: usize| known.as_ref().is_none_or(|known| known[row]);
                let kept = values.iter().enumerate().map(|(row, value)| is_known(row) && !is_missing(*value as f64));
                Cow::Owned(Self::Integers { known: Some(kept.collect()), values: values.clone() })
            }
            _ => Cow::Borrowed(self),
        }
    }

    /// Returns the text of a value, as a file would contain it; empty if it is missing.
    pub fn text(&self, row: usize) -> Cow<'_, str> {
        if self.known().is_some_and(|known| !known[row]) {
            return Cow::Borrowed("");
        }
        match self {
            Self::Numbers(values) if values[row].is_nan() => Cow::Borrowed(""),
            Self::Float32(values) if values[row].is_nan() => Cow::Borrowed(""),
            Self::Numbers(values) => Cow::Owned(format!("{:?}", values[row])),
            Self::Float32(values) => Cow::Owned(format!("{:?}", values[row])),
            Self::Integers { values, .. } => Cow::Owned(values[row].to_string()),
            Self::Booleans { values, .. } => Cow::Borrowed(if values[row] { "true" } else { "false" }),
            Self::Text(values) | Self::Categories(values) => Cow::Borrowed(values.get(row).unwrap_or("").trim()),
        }
    }

    /// Calls `visit` with each value as a number; `None` for missing values. Texts have no numbers.
    pub(crate) fn for_each_number(&self, mut visit: impl FnMut(Option<f64>)) {
        let visit = |_: usize, value| visit(value);
        self.for_each(0..self.len(), visit, |value| value, f64::from, |value| value as f64);
    }

    /// Calls `visit` with each of the given rows and its value as a feature; `None` for missing values. Texts have
    /// no numbers.
    pub(crate) fn for_each_feature(&self, rows: Range<usize>, visit: impl FnMut(usize, Option<f32>)) {
        self.for_each(rows, visit, rounded, |value| value, |value| value as f32);
    }

    /// Calls `visit` with each of the given rows and its value, which is converted from its own type.
    fn for_each<N>(
        &self,
        rows: Range<usize>,
        mut visit: impl FnMut(usize, Option<N>),
        double: impl Fn(f64) -> N,
        single: impl Fn(f32) -> N,
        whole: impl Fn(i64) -> N,
    ) {
        match self {
            Self::Numbers(values) => {
                let known = |value: f64| (!value.is_nan()).then(|| double(value));
                rows.clone().zip(&values[rows]).for_each(|(row, value)| visit(row, known(*value)));
            }
            Self::Float32(values) => {
                let known = |value: f32| (!value.is_nan()).then(|| single(value));
                rows.clone().zip(&values[rows]).for_each(|(row, value)| visit(row, known(*value)));
            }
            Self::Integers { values, known } => {
                marked(values, known, rows, |row, value| visit(row, value.map(&whole)));
            }
            Self::Booleans { values, known } => {
                marked(values, known, rows, |row, value| visit(row, value.map(|value| whole(value.into()))));
            }
            Self::Text(_) | Self::Categories(_) => {}
        }
    }
}

/// Calls `visit` with each of the given rows and its value, if it is known.
fn marked<T: Copy>(
    values: &[T],
    known: &Option<Vec<bool>>,
    rows: Range<usize>,
    mut visit: impl FnMut(usize, Option<T>),
) {
    match known {
        None => rows.clone().zip(&values[rows]).for_each(|(row, value)| visit(row, Some(*value))),
        Some(known) => rows.for_each(|row| visit(row, known[row].then_some(values[row]))),
    }
}

/// Rounds a number to single precision, with the result of reading its shortest text.
///
/// The text differs from the number by less than half a unit in double precision. That matters only if the number
/// is halfway between two numbers of single precision, and only if its text is not exact.
fn rounded(value: f64) -> f32 {
    const TAIL: u64 = (1 << 29) - 1;
    const HALF: u64 = 1 << 28;
    const EXACT: f64 = (1u64 << 53) as f64;
    let halfway = value.to_bits() & TAIL == HALF && (value.fract() != 0.0 || value.abs() > EXACT);
    let tiny = value.abs() < f64::from(f32::MIN_POSITIVE) && value != 0.0;
    match halfway || tiny {
        true => format!("{value:?}").parse().unwrap_or(value as f32),
        false => value as f32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn writes_the_text_of_a_file() {
        let text = |column: FrameColumn| (0..column.len()).map(|row| column.text(row).into_owned()).collect::<Vec<_>>();
        assert_eq!(text(vec![1.0, 0.1, f64::NAN, -1e300, f64::INFINITY].into()), ["1.0", "0.1", "", "-1e300", "inf"]);
        assert_eq!(text(vec![0.1f32, f32::NAN].into()), ["0.1", ""]);
        assert_eq!(
            text(FrameColumn::Integers { values: vec![7, -8].into(), known: Some(vec![false, true]) }),
            ["", "-8"]
        );
        assert_eq!(text(vec![true, false].into()), ["true", "false"]);
        assert_eq!(text([Some(" a "), None].into_iter().collect::<Strings>().into()), ["a", ""]);
    }

    #[test]
    fn numbers_that_denote_missing_values_are_missing() {
        let numbers = |column: FrameColumn| {
            let mut found = Vec::new();
            column.without(&[-999.0, 0.1]).for_each_number(|number| found.push(number));
            found
        };
        assert_eq!(numbers(vec![1.0, -999.0, 0.1].into()), [Some(1.0), None, None]);
        assert_eq!(numbers(vec![1.0f32, -999.0, 0.1].into()), [Some(1.0), None, None]);
        let known = Some(vec![false, true, true]);
        assert_eq!(numbers(FrameColumn::Integers { values: vec![1, -999, 3].into(), known }), [None, None, Some(3.0)]);
        let untouched = FrameColumn::from(vec![1.0, 2.0]);
        assert!(matches!(untouched.without(&[-999.0]), Cow::Borrowed(_)));
    }

    proptest! {
        /// Includes numbers halfway between two numbers of single precision, and their neighbours.
        #[test]
        fn rounds_like_the_shortest_text(bits: u32, next in -1i64..=1, other: f64) {
            let halfway = f64::from_bits(f64::from(f32::from_bits(bits)).to_bits() + (1 << 28));
            let near = f64::from_bits(halfway.to_bits().wrapping_add_signed(next));
            for value in [near, other, near.trunc()] {
                if !value.is_nan() {
                    let text: f32 = format!("{value:?}").parse().unwrap();
                    prop_assert_eq!(rounded(value).to_bits(), text.to_bits(), "{:?}", value);
                }
            }
        }
    }
}
