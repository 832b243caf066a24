//! Reader for GraphML files: nodes and links, both with attributes, in one XML file.
//!
//! | element | becomes |
//! |---|---|
//! | `<key for="node" attr.name="..">` | a column of the nodes, with its default value; links likewise |
//! | `<node id="..">` with `<data key="..">` | a node |
//! | `<edge source=".." target="..">` with `<data key="..">` | a link |
//! | `edgedefault="directed"` | the option `directed` |
//!
//! Nodes and links are written as two tables to a temporary folder and read like any other tables. So columns
//! are recognised by name, and all options for tables apply. Errors name the line of the GraphML file.

mod parser;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::options::LoadOptions;
use crate::{files, tables};
use parser::Parser;
use std::path::Path;

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str = "one .graphml file with nodes, their attributes and edges";

/// Maximum size of the tables, relative to the file. Default values are repeated for every node.
const MAX_GROWTH: u64 = 256;
/// Size of the tables that is always allowed.
const FLOOR: u64 = 64 << 20;

/// Returns whether these file names belong to this format.
pub(crate) fn recognises(names: &[String]) -> bool {
    names.iter().filter(|name| is_one(name)).count() == 1
}

/// Returns whether a file of this name contains a dataset.
pub(crate) fn is_one(name: &str) -> bool {
    name.ends_with(".graphml")
}

/// Parses the bytes of a file; `path` is only used in messages.
pub fn parse(path: &Path, bytes: Vec<u8>, name: String, options: &LoadOptions) -> Result<Dataset> {
    let size = bytes.len() as u64;
    let text = String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Error::binary(path, offset, "text in UTF-8", "other bytes; save the file as UTF-8")
    })?;
    let graph = Parser::new(path, &text).read()?;
    let failed = |source| Error::Write { path: std::env::temp_dir(), source };
    let folder = tempfile::tempdir().map_err(failed)?;
    for (table, content) in [(tables::NODES, graph.nodes_table(size)?), (tables::EDGES, graph.edges_table(size)?)] {
        std::fs::write(folder.path().join(format!("{table}.csv")), content).map_err(failed)?;
    }
    let mut options = options.clone();
    options.tables.delimiter = Some(",".into());
    options.tables.directed |= graph.directed;
    let mut dataset = tables::load(folder.path(), &options).map_err(|error| graph.located(error))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    for note in &mut dataset.notes {
        for table in [tables::NODES, tables::EDGES] {
            if let Some(rest) = note.strip_prefix(&format!("{table}.csv:")) {
                *note = format!("{file}, {table}:{rest}");
            }
        }
    }
    dataset.name = name;
    Ok(dataset)
}

/// A declared attribute of nodes, links or both.
#[derive(Debug, Default)]
struct Key {
    name: String,
    default: Option<String>,
    /// Whether it is an attribute of nodes, and of links.
    declared: [bool; 2],
    /// Whether a node has a value, and a link.
    used: [bool; 2],
}

/// Index of nodes and links in the fields of [`Key`].
const OF_NODES: usize = 0;
const OF_EDGES: usize = 1;

/// Attributes by the index of their key.
type Data = Vec<(usize, String)>;

/// A node: its line, its id and its attributes.
type Node = (u64, String, Data);

/// A link.
#[derive(Debug)]
struct Edge {
    line: u64,
    source: String,
    target: String,
    /// Whether it is a link in both directions of a directed graph.
    both: bool,
    data: Data,
}

/// Contents of a file.
#[derive(Debug)]
struct GraphMl<'a> {
    path: &'a Path,
    keys: Vec<Key>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    directed: bool,
}

impl GraphMl<'_> {
    /// Returns the table of nodes as CSV: ids, and the attributes that have values.
    fn nodes_table(&self, size: u64) -> Result<Vec<u8>> {
        let columns = self.columns(OF_NODES);
        if columns.is_empty() {
            let expected = "the class and the features of each node, declared by <key for=\"node\">";
            return Err(Error::mismatch(self.path, "attributes of nodes", expected, "none"));
        }
        let taken = |name: &str| columns.iter().any(|&key| self.keys[key].name == name);
        let id = ["id", "node", "node_id", "nodeid"].into_iter().find(|name| !taken(name)).unwrap_or("key");
        let header = std::iter::once(id).chain(columns.iter().map(|&key| self.keys[key].name.as_str()));
        let mut table = Table::new(self.path, size);
        table.row(header)?;
        for (_, id, data) in &self.nodes {
            table.row(std::iter::once(id.as_str()).chain(self.values(&columns, data)))?;
        }
        Ok(table.bytes)
    }

    /// Returns the keys of nodes or links that have values.
    fn columns(&self, of: usize) -> Vec<usize> {
        let has_values = |key: &Key| key.declared[of] && (key.used[of] || key.default.is_some());
        (0..self.keys.len()).filter(|&key| has_values(&self.keys[key])).collect()
    }

    /// Returns the values of a node or a link in ascending columns.
    fn values<'a>(&'a self, columns: &[usize], data: &'a Data) -> Vec<&'a str> {
        let default = |key: &usize| self.keys[*key].default.as_deref().unwrap_or("");
        let mut values: Vec<&str> = columns.iter().map(default).collect();
        for (key, value) in data {
            if let Ok(at) = columns.binary_search(key) {
                values[at] = value;
            }
        }
        values
    }

    /// Returns the table of links as CSV.
    fn edges_table(&self, size: u64) -> Result<Vec<u8>> {
        let columns = self.columns(OF_EDGES);
        // An attribute may be called source, too.
        let name = |key: &usize| match self.keys[*key].name.as_str() {
            name @ ("source" | "target") => format!("{name} of link"),
            name => name.to_owned(),
        };
        let names: Vec<String> = columns.iter().map(name).collect();
        let mut table = Table::new(self.path, size);
        table.row(["source", "target"].into_iter().chain(names.iter().map(String::as_str)))?;
        for Edge { source, target, both, data, .. } in &self.edges {
            let ends = [[target, source], [source, target]];
            for ends in &ends[usize::from(!both)..] {
                table.row(ends.iter().map(|end| end.as_str()).chain(self.values(&columns, data)))?;
            }
        }
        Ok(table.bytes)
    }

    /// Returns an error about one of the tables as one about the GraphML file.
    fn located(&self, mut error: Error) -> Error {
        match &mut error {
            Error::Table(table) => {
                let lines: &mut dyn Iterator<Item = u64> = match table.path.file_stem() {
                    Some(stem) if stem == tables::NODES => &mut self.nodes.iter().map(|node| node.0),
                    _ => &mut self
                        .edges
                        .iter()
                        .flat_map(|edge| std::iter::repeat_n(edge.line, 1 + usize::from(edge.both))),
                };
                // The first row names the columns.
                table.line = table.line.checked_sub(2).and_then(|row| lines.nth(row as usize)).unwrap_or(0);
                table.path = self.path.to_owned();
            }
            Error::Core { path, .. }
            | Error::Mismatch { path, .. }
            | Error::NotFound { path, .. }
            | Error::OutOfMemory { path, .. }
            | Error::TooLarge { path, .. } => *path = self.path.to_owned(),
            _ => {}
        }
        error
    }
}

/// A table as CSV with one line per row, and a limit on its size.
struct Table<'a> {
    path: &'a Path,
    limit: u64,
    bytes: Vec<u8>,
}

impl<'a> Table<'a> {
    fn new(path: &'a Path, size: u64) -> Self {
        Self {
            path,
            limit: size.saturating_mul(MAX_GROWTH).saturating_add(FLOOR).min(files::MAX_BYTES),
            bytes: Vec::new(),
        }
    }

    fn row<'b>(&mut self, fields: impl Iterator<Item = &'b str>) -> Result<()> {
        let start = self.bytes.len();
        for field in fields {
            files::reserve(self.path, &mut self.bytes, 2 * field.len() + 3)?;
            let separator: &[u8] = if self.bytes.len() == start { b"\"" } else { b",\"" };
            self.bytes.extend_from_slice(separator);
            if field.contains('"') || field.contains('\n') || field.contains('\r') {
                let escaped = field.replace(['\n', '\r'], " ").replace('"', "\"\"");
                self.bytes.extend_from_slice(escaped.as_bytes());
            } else {
                self.bytes.extend_from_slice(field.as_bytes());
            }
            self.bytes.push(b'"');
        }
        self.bytes.push(b'\n');
        match self.bytes.len() as u64 {
            found if found > self.limit => {
                let what = "bytes of nodes and links with their default values";
                Err(Error::too_large(self.path, what, self.limit, found))
            }
            _ => Ok(()),
        }
    }
}
