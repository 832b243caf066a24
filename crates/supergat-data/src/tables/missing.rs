//! Missing values: counts for the notes, and their computation from the values of neighbours.

use super::features::first_few;
use super::location::Location;
use crate::error::{Error, Result, shown};
use crate::schema::{Column, Missing};
use std::path::Path;
use supergat_core::{Direction, Features, Graph};
use supergat_numerics::propagate::propagate;

/// Returns the error for a missing value where none is allowed.
pub(super) fn refused(location: Location<'_>) -> Error {
    let advice = "fill in the value, or choose another treatment with --missing";
    location.error("a value, since --missing error refuses missing ones", "none", advice)
}

/// Describes the missing values of each column; `counts` belong to `columns`.
pub(super) fn note(file: &str, columns: &[Column], counts: &[usize], treatment: Missing) -> Option<String> {
    let total: usize = counts.iter().sum();
    let with: Vec<(&Column, &usize)> = columns.iter().zip(counts).filter(|(_, count)| **count > 0).collect();
    let listed: Vec<String> =
        with.iter().map(|(column, count)| format!("`{}` ({count})", shown(column.name()))).collect();
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
    (total > 0).then(|| format!("{file}: {total} missing values in {}, {done}", first_few(&listed)))
}

/// Computes the values that are not known from those of neighbours. Links count in both directions.
pub(super) fn fill(folder: &Path, features: &mut Features<f32>, known: &[bool], pairs: &[(u32, u32)]) -> Result<()> {
    if let Features::Dense { rows, columns, values } = features
        && known.contains(&false)
    {
        let core = |source| Error::Core { path: folder.to_owned(), source };
        let graph = Graph::from_edges(*rows, pairs, Direction::Undirected).map_err(core)?;
        propagate(&graph, *columns, values, known);
    }
    Ok(())
}
