//! Reader for GraphML files: nodes and links, both with attributes, in one XML file.
//!
//! | element | becomes |
//! |---|---|
//! | `<key for="node" attr.name="..">` | a column of the nodes, with its default value; links likewise |
//! | `<node id="..">` with `<data key="..">` | a node |
//! | `<edge source=".." target="..">` with `<data key="..">` | a link |
//! | `edgedefault="directed"` | the option `directed` |
//!
//! Nodes and links become two frames, which are read like any other tables. So columns are recognised by name, and
//! all options for tables apply. Errors name the line of the GraphML file.

mod parser;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::frames::{Frame, FrameColumn, Strings};
use crate::options::LoadOptions;
use crate::{files, tables};
use parser::Parser;
use std::path::Path;

/// Expected file names, for error messages.
pub(crate) const EXPECTED: &str = "one .graphml file with nodes, their attributes and edges";

/// Maximum size of a frame, relative to the file. Default values are repeated for every node.
const MAX_GROWTH: u64 = 256;
/// Size of a frame that is always allowed.
const FLOOR: u64 = 64 << 20;
/// Bytes that a field counts besides its text.
const FIELD: u64 = 3;

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
    let mut options = options.clone();
    options.tables.directed |= graph.directed;
    let (nodes, edges) = (graph.nodes(size)?, graph.edges(size)?);
    drop(graph);
    let dataset = tables::load_frames(nodes, edges, &options).map_err(|error| located(path, error))?;
    Ok(Dataset { name, ..dataset })
}

/// Returns an error about one of the frames as one about the GraphML file.
fn located(file: &Path, mut error: Error) -> Error {
    match &mut error {
        Error::Table(table) => table.path = file.to_owned(),
        Error::Core { path, .. }
        | Error::Mismatch { path, .. }
        | Error::NotFound { path, .. }
        | Error::OutOfMemory { path, .. }
        | Error::TooLarge { path, .. } => *path = file.to_owned(),
        _ => {}
    }
    error
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
    /// Returns the frame of nodes: ids, and the attributes that have values.
    fn nodes(&self, size: u64) -> Result<Frame> {
        let columns = self.columns(OF_NODES);
        if columns.is_empty() {
            let expected = "the class and the features of each node, declared by <key for=\"node\">";
            return Err(Error::mismatch(self.path, "attributes of nodes", expected, "none"));
        }
        let taken = |name: &str| columns.iter().any(|&key| self.keys[key].name == name);
        let id = ["id", "node", "node_id", "nodeid"].into_iter().find(|name| !taken(name)).unwrap_or("key");
        let header = std::iter::once(id).chain(columns.iter().map(|&key| self.keys[key].name.as_str()));
        let rows = self.nodes.iter().map(|(line, id, data)| {
            let fields = std::iter::once(id.as_str()).chain(self.values(&columns, data));
            (*line, fields.collect())
        });
        self.frame("nodes", header.map(str::to_owned).collect(), rows, size)
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

    /// Returns the frame of links.
    fn edges(&self, size: u64) -> Result<Frame> {
        let columns = self.columns(OF_EDGES);
        // An attribute may be called source, too.
        let name = |key: &usize| match self.keys[*key].name.as_str() {
            name @ ("source" | "target") => format!("{name} of link"),
            name => name.to_owned(),
        };
        let header = ["source", "target"].map(str::to_owned).into_iter().chain(columns.iter().map(name));
        let rows = self.edges.iter().flat_map(|Edge { line, source, target, both, data }| {
            let values = self.values(&columns, data);
            let row = |ends: [_; 2]| (*line, [&ends[..], &values].concat());
            let back = both.then(|| row([target.as_str(), source]));
            back.into_iter().chain([row([source.as_str(), target])])
        });
        self.frame("edges", header.collect(), rows, size)
    }

    /// Builds a frame from the line and the fields of each row, with a limit on its size. Line ends in texts become
    /// blanks.
    fn frame<'a>(
        &self,
        name: &str,
        header: Vec<String>,
        rows: impl Iterator<Item = (u64, Vec<&'a str>)>,
        size: u64,
    ) -> Result<Frame> {
        let limit = size.saturating_mul(MAX_GROWTH).saturating_add(FLOOR).min(files::MAX_BYTES);
        let plain = |text: &str| text.replace(['\n', '\r'], " ");
        let mut columns = vec![Strings::default(); header.len()];
        let (mut lines, mut found) = (Vec::new(), 0);
        for (line, fields) in rows {
            for (column, field) in columns.iter_mut().zip(fields) {
                let field = if field.contains(['\n', '\r']) { &plain(field) } else { field };
                found += field.len() as u64 + FIELD;
                column.try_reserve(field.len()).map_err(|_| files::out_of_memory::<u8>(self.path, found as usize))?;
                column.push(Some(field));
            }
            if found > limit {
                let what = "bytes of nodes and links with their default values";
                return Err(Error::too_large(self.path, what, limit, found));
            }
            files::push(self.path, &mut lines, line)?;
        }
        let header = header.iter().map(|name| plain(name));
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let frame = Frame::new(format!("{file}, {name}"), header.zip(columns.into_iter().map(FrameColumn::from)))?;
        Ok(frame.at_lines(lines))
    }
}
