//! Missing values: words for them, counts for the notes, and their computation from the values of neighbours.

use crate::error::{Error, Result};
use crate::options::{TableOptions, names};
use crate::schema::{Column, Missing, Schema};
use crate::tables::rows::location::Location;
use crate::words::{count, first_few, shown};
use std::path::Path;
use supergat_core::{Direction, Features, Graph};
use supergat_numerics::propagate::propagate;

/// Usual words for missing values, in any case. `\N` is written by exports of databases.
const USUAL: [&str; 8] = ["", "na", "n/a", "nan", "null", "none", "?", "\\N"];

/// Words for missing values.
#[derive(Debug, Clone, Default)]
pub(in crate::tables) struct MissingWords {
    /// Words besides the usual ones.
    words: Vec<String>,
    /// Those of the words that are numbers.
    numbers: Vec<f64>,
}

impl MissingWords {
    /// Returns the words of the options and of the trained model that reads the tables.
    pub fn of_options(options: &TableOptions) -> Self {
        let expected = options.expected.as_ref();
        let trained = [
            expected.and_then(|expected| expected.schema.as_ref()),
            expected.map(|expected| &expected.links.columns),
            options.schema.as_ref(),
            options.link_schema.as_ref().map(|links| &links.columns),
        ];
        let trained = trained.into_iter().flatten().flat_map(|schema| &schema.missing_words).map(String::as_str);
        let mut words: Vec<String> = names(&options.missing_words).chain(trained).map(str::to_owned).collect();
        words.sort_unstable();
        words.dedup();
        Self::new(words)
    }

    /// Returns the words of a schema.
    pub fn of_schema(schema: &Schema) -> Self {
        Self::new(schema.missing_words.clone())
    }

    fn new(words: Vec<String>) -> Self {
        let numbers = words.iter().filter_map(|word| word.parse().ok()).collect();
        Self { words, numbers }
    }

    /// Returns whether a field denotes a missing value.
    pub fn include(&self, field: &str) -> bool {
        let is = |word: &str| word.eq_ignore_ascii_case(field);
        USUAL.into_iter().any(is)
            || self.words.iter().any(|word| is(word))
            || !self.numbers.is_empty() && field.parse().is_ok_and(|number: f64| self.numbers.contains(&number))
    }

    /// Returns the numbers that denote a missing value.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// Returns the words besides the usual ones.
    pub fn into_words(self) -> Vec<String> {
        self.words
    }
}

/// Returns the error for a missing value where none is allowed.
pub(in crate::tables) fn refused(location: Location<'_>) -> Error {
    let advice = "fill in the value, or choose another treatment with parameter `missing`";
    location.error("a value, since parameter `missing=error` refuses missing ones", "none", advice)
}

/// Describes the missing values of each column; `counts` belong to `columns`.
pub(in crate::tables) fn note(file: &str, columns: &[Column], counts: &[usize], treatment: Missing) -> Option<String> {
    let total: usize = counts.iter().sum();
    let with: Vec<(&Column, &usize)> = columns.iter().zip(counts).filter(|(_, count)| **count > 0).collect();
    let listed = with.iter().map(|(column, count)| format!("`{}` ({count})", shown(column.name())));
    let marked = |column: &Column| {
        matches!(column, Column::Number { indicator: true, .. } | Column::Category { indicator: true, .. })
    };
    let done = match treatment {
        Missing::Mean if with.iter().any(|(column, _)| marked(column)) => {
            "replaced by the mean, and marked by one more feature per column"
        }
        Missing::Mean => "replaced by the mean",
        Missing::Zero => "replaced by 0",
        Missing::Propagate => "computed from the values of neighbours by feature propagation",
        Missing::Error => "refused",
    };
    (total > 0).then(|| format!("{file}: {} in {}, {done}", count(total, "missing value"), first_few(listed)))
}

/// Computes the values that are not known from those of neighbours. Links count in both directions.
pub(in crate::tables) fn fill(
    folder: &Path,
    features: &mut Features<f32>,
    known: &[bool],
    pairs: &[(u32, u32)],
) -> Result<()> {
    if let Features::Dense { rows, columns, values } = features
        && known.contains(&false)
    {
        let graph = Graph::from_edges(*rows, pairs, Direction::Undirected).map_err(Error::core(folder))?;
        propagate(&graph, *columns, values, known);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_missing_values_ignore_case_and_notation() {
        let usual = MissingWords::default();
        assert!(["", "None", "NaN", "NA", "null", "N/A", "?", "\\N"].into_iter().all(|word| usual.include(word)));
        assert!(!["no", "-999", "N"].into_iter().any(|word| usual.include(word)));
        let options = TableOptions { missing_words: Some("Unknown, -999".into()), ..Default::default() };
        let words = MissingWords::of_options(&options);
        assert!(["unknown", "-999", "-999.0", "-9.99e2", ""].into_iter().all(|word| words.include(word)));
        assert!(!["999", "known", "-9990"].into_iter().any(|word| words.include(word)));
    }
}
