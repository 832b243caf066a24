//! Rows of a table that are encoded as features: one for each node or link.

use super::node_ids::Nodes;
use super::nodes::NodeTable;
use super::row::Row;
use super::sheet::Sheet;
use crate::error::Result;
use crate::options::TableOptions;
use crate::schema::Decision;

/// Function that gets the number, the line and the fields of each record.
pub(super) type Visit<'a> = dyn FnMut(usize, u64, Row<'_>) -> Result<()> + 'a;

/// Nodes or links that the rows of a table describe.
pub(super) trait Records {
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

/// Nodes and the table that describes them.
#[derive(Debug)]
pub(super) struct NodeRecords<'a> {
    pub table: &'a NodeTable,
    pub nodes: &'a Nodes,
}

impl Records for NodeRecords<'_> {
    fn sheet(&self) -> &Sheet {
        &self.table.sheet
    }

    fn columns(&self) -> &[usize] {
        &self.table.features
    }

    fn count(&self) -> usize {
        self.nodes.len()
    }

    fn for_each(&self, visit: &mut Visit<'_>) -> Result<()> {
        self.table.for_each(self.nodes, visit)
    }

    fn role_decisions(&self, options: &TableOptions) -> Vec<(usize, Decision)> {
        self.table.role_decisions(options)
    }

    fn noun(&self) -> &'static str {
        "node"
    }

    fn name(&self, record: usize) -> String {
        self.nodes.ids[record].clone()
    }
}
