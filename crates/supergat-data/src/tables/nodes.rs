//! Tables with one row per node: ids, labels, splits and feature columns.

use super::columns::features::decision;
use super::columns::records::{Records, Visit};
use super::index_column;
use super::node_ids::Nodes;
use super::roles::{FEATURE, GRAPH, ID, LABEL, MASKS, Role, SPLIT, SplitColumns, VALUE};
use super::rows::names::{FEATURES, LABELS, NODES, is_table};
use super::rows::row::Row;
use super::rows::sheet::Sheet;
use crate::error::Result;
use crate::frames::FrameColumn;
use crate::options::{GivenFeatures, TableOptions};
use crate::schema::{ColumnType, Decision};
use crate::words::{quoted, shown};
use csv::StringRecord;
use std::path::Path;

/// A table of nodes, with the roles of its columns.
#[derive(Debug)]
pub(super) struct NodeTable {
    pub sheet: Sheet,
    pub id: Option<usize>,
    graph: Option<usize>,
    pub label: Option<usize>,
    pub split: Option<SplitColumns>,
    /// Column that numbers the rows and is not used.
    index: Option<usize>,
    /// Columns of masks that are not used, since there is another split.
    unused_masks: Vec<usize>,
    /// Feature columns.
    pub features: Vec<usize>,
    /// Columns of the feature and the value, if the table lists sparse entries.
    pub entries: Option<[usize; 2]>,
}

/// Line and text of a cell.
pub(super) type Cell = (u64, String);

impl NodeTable {
    /// Opens the file of the table `nodes`, `features` or `labels` and assigns roles to its columns.
    pub fn open(path: &Path, options: &TableOptions, graphs: bool) -> Result<Self> {
        let stem = [NODES, LABELS].into_iter().find(|stem| is_table(path, stem)).unwrap_or(FEATURES);
        let sheet = Sheet::open(path, options, &|row| is_header(row, options, stem == LABELS))?;
        Self::new(sheet, stem, options, graphs)
    }

    /// Assigns roles to the columns of the table `stem`: `nodes`, `features` or `labels`.
    pub fn new(sheet: Sheet, stem: &str, options: &TableOptions, graphs: bool) -> Result<Self> {
        let (main, labels) = (stem == NODES, stem == LABELS);
        if main && !sheet.has_header {
            let expected = "a first row that names the columns, such as id, label, age, colour";
            let advice = "add one; numbers cannot name columns unless one of them is called id or label";
            return Err(sheet.at_header().error(expected, first_row_in_words(&sheet)?, advice));
        }
        let optional_features = options.given_features != GivenFeatures::Required;
        if main && sheet.header.len() == 1 && !optional_features {
            let advice = "say with parameter `delimiter` which character separates the fields";
            return Err(sheet.at_header().error("several columns", sheet.columns_in_words(), advice));
        }
        let optional = options.expected.is_some();
        let find = |role: &Role, named: &Option<String>| match role.find(&sheet, named.as_deref()) {
            // Column options refer to the table of nodes, so other tables need not have these columns. For
            // prediction, labels and splits are optional.
            Err(_) if !main || optional && role.parameter != ID.parameter => Ok(None),
            found => found,
        };
        let graph = if graphs { GRAPH.find(&sheet, None)? } else { None };
        let mut label = find(&LABEL, &options.label_column)?;
        let used = |at: &usize| !options.ignores(&sheet.header[*at]);
        let masks = MASKS.each_ref().map(|role| role.find(&sheet, None).ok().flatten().filter(used));
        let mut unused_masks: Vec<usize> = masks.into_iter().flatten().collect();
        let split = match find(&SPLIT, &options.split_column)?.filter(used) {
            Some(column) => Some(SplitColumns::Names(column)),
            None if unused_masks.is_empty() => None,
            None => {
                unused_masks.clear();
                Some(SplitColumns::Masks(masks))
            }
        };
        let splits: Vec<usize> = split.iter().flat_map(SplitColumns::columns).collect();
        let index = index_column::find(&sheet)?;
        let mut id = find(&ID, &options.id_column)?;
        let wide = sheet.header.len() > 1;
        if id.is_none() && (main || labels && !sheet.has_header && wide) {
            let free = |at: &usize| ![label, graph].contains(&Some(*at)) && !splits.contains(at);
            id = (0..sheet.header.len()).find(free);
        }
        let index = index.filter(|at| ![id, label].contains(&Some(*at)));
        if label.is_none() && labels {
            let free = |at: &usize| ![id, graph, index].contains(&Some(*at)) && !splits.contains(at);
            label = (0..sheet.header.len()).find(free);
        }
        let roles = [id, label, graph, index];
        let mut features: Vec<usize> = (0..sheet.header.len())
            .filter(|at| !roles.contains(&Some(*at)) && !splits.contains(at) && !unused_masks.contains(at))
            .filter(|at| !options.ignores(&sheet.header[*at]))
            .collect();
        let is_word = |row: Row<'_>| row[0].parse::<f64>().is_err();
        if id.is_none() && !labels && !sheet.has_header && sheet.of_first_row(is_word)? == Some(true) {
            id = features.first().copied();
            features.retain(|at| Some(*at) != id);
        }
        let entry = |role: &Role| features.iter().copied().find(|at| role.is(&sheet.header[*at]));
        let entries = match (id, entry(&FEATURE), entry(&VALUE)) {
            (Some(_), Some(feature), Some(value)) if !main && features.len() == 2 => Some([feature, value]),
            _ => None,
        };
        Ok(Self { sheet, id, graph, label, split, index, unused_masks, features, entries })
    }

    /// Describes the roles of the columns in words.
    pub fn describe(&self) -> String {
        let mut parts = Vec::new();
        let name = |column: usize| quoted(&self.sheet.header[column]);
        for (role, column) in [("id", self.id), ("graph", self.graph), ("label", self.label)] {
            parts.extend(column.map(|column| format!("{role} is {}", name(column))));
        }
        if let Some(split) = &self.split {
            let columns: Vec<String> = split.columns().into_iter().map(name).collect();
            parts.push(format!("split is {}", columns.join(" and ")));
        }
        if self.id.is_none() {
            parts.push("no ids, so row k is node k, counted from 0".to_owned());
        }
        let first = if self.sheet.has_header { "first row names the columns" } else { "no header" };
        format!("{}: {first}; {}", self.sheet.name(), parts.join(", "))
    }

    /// Notes a guessed encoding, and columns that are not used.
    pub fn remarks(&self) -> Vec<String> {
        let masks: Vec<String> = self.unused_masks.iter().map(|at| quoted(&self.sheet.header[*at])).collect();
        let masks = (!masks.is_empty()).then(|| {
            let name = self.sheet.name();
            format!("{name}: {} not used, since there is another split column", masks.join(", "))
        });
        let index = self.index.map(|at| index_column::note(&self.sheet, at));
        [self.sheet.encoding_note(), index, masks].into_iter().flatten().collect()
    }

    /// Returns the decisions on columns that are not features, with their positions.
    pub fn role_decisions(&self, options: &TableOptions) -> Vec<(usize, Decision)> {
        let header = &self.sheet.header;
        let splits = self.split.iter().flat_map(SplitColumns::columns).map(|at| (Some(at), "split of the nodes"));
        let roles =
            [(self.id, "ids of the nodes"), (self.graph, "graphs of the nodes"), (self.label, "classes of the nodes")];
        let mut all: Vec<(usize, Decision)> = roles
            .into_iter()
            .chain(splits)
            .filter_map(|(at, what)| Some((at?, decision(&header[at?], ColumnType::Role, 0, what))))
            .collect();
        let ignored = |at: usize, why: &str| (at, decision(&header[at], ColumnType::Ignored, 0, why));
        all.extend(self.index.map(|at| ignored(at, "numbers the rows")));
        all.extend(self.unused_masks.iter().map(|at| ignored(*at, "there is another split column")));
        let taken: Vec<usize> = all.iter().map(|(at, _)| *at).collect();
        let requested = (0..header.len()).filter(|at| options.ignores(&header[*at]) && !taken.contains(at));
        all.extend(requested.map(|at| ignored(at, "requested with parameter `ignore_columns`")));
        all
    }

    /// Reads the nodes from the ids of this table.
    pub fn nodes(&self) -> Result<Nodes> {
        let Some(id) = self.id else {
            let mut rows = 0;
            self.sheet.for_each(&mut |_, _| {
                rows += 1;
                Ok(())
            })?;
            return Ok(Nodes::numbered(rows));
        };
        if let (Some(FrameColumn::Integers { values, known: None }), None) = (self.sheet.typed(id), self.graph)
            && !values.is_empty()
        {
            return Nodes::whole(values).map_err(|[first, again]| {
                let [first, line] = [first, again].map(|row| self.sheet.line_of(row));
                self.duplicate(id, line, first, &values[again].to_string())
            });
        }
        let mut nodes = Nodes::default();
        let mut lines: Vec<u64> = Vec::new();
        self.sheet.for_each(&mut |line, row| {
            if row[id].is_empty() {
                let advice = "give the node an id, or name the right column with parameter `id_column`";
                return Err(self.sheet.at(line, id).error("an id", "nothing", advice));
            }
            nodes
                .insert(self.graph.map(|at| &row[at]), &row[id])
                .map_err(|first| self.duplicate(id, line, lines[first as usize], &row[id]))?;
            lines.push(line);
            Ok(())
        })?;
        if nodes.len() == 0 {
            let advice = "add a row for every node";
            return Err(self.sheet.at(0, usize::MAX).error("nodes", "only a header", advice));
        }
        Ok(nodes)
    }

    /// Builds the error for an id that occurs twice.
    fn duplicate(&self, column: usize, line: u64, first: u64, id: &str) -> crate::Error {
        let found = format!("`{}` again, first in {} {first}", shown(id), self.sheet.unit());
        let advice = "remove one of the rows, or name the right column with parameter `id_column`";
        self.sheet.at(line, column).error("an id that occurs once", found, advice)
    }

    /// Calls `visit` with the node, the line and the fields of each row.
    ///
    /// Nodes must not repeat, except in a table of sparse entries.
    pub fn for_each(&self, nodes: &Nodes, visit: &mut dyn FnMut(usize, u64, Row<'_>) -> Result<()>) -> Result<()> {
        // A frame of nodes is the only table with nodes, so its rows are the nodes.
        let rows_are_nodes = self.sheet.frame().is_some();
        let mut seen = vec![false; nodes.len()];
        let mut next = 0;
        self.sheet.for_each(&mut |line, row| {
            let node = match self.id.filter(|_| !rows_are_nodes) {
                Some(id) => self.find(nodes, id, row).ok_or_else(|| {
                    let advice =
                        "add it to the table of nodes, remove the row, or name the right column with parameter `id_column`";
                    let found = quoted(&row[id]);
                    self.sheet.at(line, id).error("the id of a node", found, advice)
                })? as usize,
                None => next,
            };
            next += 1;
            if node >= nodes.len() {
                let expected = format!("{} rows, one per node", nodes.len());
                let advice = "remove the rows that are too many, or name the column of ids with parameter `id_column`";
                return Err(self.sheet.at(line, usize::MAX).error(expected, "another", advice));
            }
            if std::mem::replace(&mut seen[node], true) && self.entries.is_none() {
                let found = format!("another row for `{}`", shown(&nodes.ids[node]));
                let at = self.sheet.at(line, self.id.unwrap_or(usize::MAX));
                return Err(at.error("one row per node", found, "remove one of the rows"));
            }
            visit(node, line, row)
        })
    }

    /// Looks up the node of a row, also by ids that are equal as whole numbers.
    fn find(&self, nodes: &Nodes, id: usize, row: Row<'_>) -> Option<u32> {
        let graph = self.graph.map(|at| &row[at]);
        nodes.find(graph, &row[id]).or_else(|| nodes.find_number(graph, &row[id]))
    }

    /// Notes that the ids of this table are written in another way than those of the nodes.
    pub fn note_ids(&self, nodes: &Nodes) -> Result<Option<String>> {
        let other_id = |row: Row<'_>| {
            let id = self.id?;
            nodes.find(self.graph.map(|at| &row[at]), &row[id]).is_none().then(|| quoted(&row[id]))
        };
        let other = self.sheet.of_first_row(other_id)?.flatten();
        Ok(other.map(|id| format!("{}: ids such as {id} are matched as whole numbers", self.sheet.name())))
    }

    /// Returns the cell of each node in a column; empty cells if there is none.
    pub fn cells(&self, nodes: &Nodes, column: Option<usize>) -> Result<Vec<Cell>> {
        let mut cells = vec![(0, String::new()); nodes.len()];
        if let Some(column) = column {
            self.for_each(nodes, &mut |node, line, row| {
                cells[node] = (line, row[column].to_owned());
                Ok(())
            })?;
        }
        Ok(cells)
    }

    /// Builds an error in the label column.
    pub fn label_error(&self, line: u64, expected: &str, found: String, advice: &str) -> crate::Error {
        self.sheet.at(line, self.label.unwrap_or(usize::MAX)).error(expected, found, advice)
    }
}

/// Returns whether the first row is a header: a field names a role, or no field is a number.
///
/// A table of labels may contain only words, so there a header must name a role.
fn is_header(row: &StringRecord, options: &TableOptions, labels: bool) -> bool {
    let named = [&options.id_column, &options.label_column, &options.split_column];
    let role = |name: &str| {
        [ID, LABEL, SPLIT].iter().any(|role| role.is(name)) || named.iter().any(|n| n.as_deref() == Some(name))
    };
    let number = |name: &str| name.parse::<f64>().is_ok();
    row.iter().any(|name| role(name) && !number(name)) || !labels && !row.iter().any(number)
}

/// Returns the first fields of the first row, for messages.
fn first_row_in_words(sheet: &Sheet) -> Result<String> {
    let fields = |row: Row<'_>| (0..sheet.header.len().min(4)).map(|at| shown(&row[at])).collect::<Vec<_>>();
    Ok(format!("`{}`", sheet.of_first_row(fields)?.unwrap_or_default().join(", ")))
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
