//! Rows of a table that are encoded as features: one for each node or link.

use crate::error::Result;
use crate::options::TableOptions;
use crate::schema::Decision;
use crate::tables::rows::row::Row;
use crate::tables::rows::sheet::Sheet;

/// Function that gets the number, the line and the fields of each record.
pub(in crate::tables) type Visit<'a> = dyn FnMut(usize, u64, Row<'_>) -> Result<()> + 'a;

/// Nodes or links that the rows of a table describe.
pub(in crate::tables) trait Records {
    /// Returns the table.
    fn sheet(&self) -> &Sheet;

    /// Returns the columns that are encoded.
    fn columns(&self) -> &[usize];

    /// Returns the number of records.
    fn count(&self) -> usize;

    /// Calls `visit` with the records in the order of the rows.
    fn for_each(&self, visit: &mut Visit<'_>) -> Result<()>;

    /// Returns the decisions on all other columns, with their positions.
    fn role_decisions(&self, options: &TableOptions) -> Vec<(usize, Decision)>;

    /// Returns what a record is called in messages.
    fn noun(&self) -> &'static str;

    /// Returns the name of a record.
    fn name(&self, record: usize) -> String;
}
