//! Reads the elements of a GraphML file, one after another.

use super::{Edge, GraphMl, Key, OF_EDGES, OF_NODES};
use crate::error::{Error, Result};
use crate::files;
use crate::words::shown;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;
use std::collections::HashMap;
use std::path::Path;

/// State of reading a file.
pub(super) struct Parser<'a> {
    reader: Reader<&'a [u8]>,
    text: &'a str,
    /// Number of bytes whose line ends were counted, and the line at their end.
    counted: (usize, u64),
    graph: GraphMl<'a>,
    /// Index of each key; `None` for keys that are not used.
    key_of: HashMap<String, Option<usize>>,
    /// Text of the innermost `data` or `default`.
    value: String,
    /// Use of the text.
    target: Target,
    in_key: bool,
    /// Whether an element is in a node, or in a link: [`OF_NODES`] or [`OF_EDGES`].
    inside: Option<usize>,
    graphs: usize,
    depth: usize,
}

/// Destination of the text of an element.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Target {
    None,
    /// Attribute of the last node or link.
    Data(usize),
    /// Default value of the last key.
    Default,
}

impl<'a> Parser<'a> {
    pub fn new(path: &'a Path, text: &'a str) -> Self {
        let graph = GraphMl { path, keys: Vec::new(), nodes: Vec::new(), edges: Vec::new(), directed: false };
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Self {
            reader,
            text,
            counted: (0, 1),
            graph,
            key_of: HashMap::new(),
            value: String::new(),
            target: Target::None,
            in_key: false,
            inside: None,
            graphs: 0,
            depth: 0,
        }
    }

    /// Reads the whole file.
    pub fn read(mut self) -> Result<GraphMl<'a>> {
        loop {
            let line = self.line();
            match self.reader.read_event() {
                Ok(Event::Start(element)) => {
                    self.depth += 1;
                    self.start(line, &element)?;
                }
                Ok(Event::End(element)) => {
                    self.depth -= 1;
                    self.end(element.local_name().as_ref())?;
                }
                Ok(Event::Text(text)) => self.append(&text.xml10_content()),
                Ok(Event::CData(text)) => self.append(&text.xml10_content()),
                Ok(Event::GeneralRef(reference)) => self.append_reference(line, &reference)?,
                Ok(Event::Eof) if self.depth > 0 => {
                    return Err(self.error(
                        line,
                        "the end of every element (the file is truncated)",
                        "the end of the file",
                    ));
                }
                Ok(Event::Eof) if self.graphs == 0 => {
                    return Err(self.error(line, "an element <graph> in <graphml>", "the end of the file"));
                }
                Ok(Event::Eof) => return Ok(self.graph),
                Ok(_) => {}
                Err(error) => return Err(self.error(line, "well-formed XML", &error.to_string())),
            }
        }
    }

    fn start(&mut self, line: u64, element: &BytesStart<'_>) -> Result<()> {
        match element.local_name().as_ref() {
            "key" => self.key(line, element),
            "default" => {
                self.expect(Target::Default);
                Ok(())
            }
            "graph" => {
                self.graphs += 1;
                if self.graphs > 1 {
                    return Err(self.error(
                        line,
                        "one graph, without further graphs beside or in it",
                        "another <graph>",
                    ));
                }
                self.graph.directed =
                    self.attribute(line, element, "edgedefault")?.is_some_and(|kind| kind == "directed");
                Ok(())
            }
            "node" => {
                let id = self.required(line, element, "id")?;
                files::push(self.graph.path, &mut self.graph.nodes, (line, id, Vec::new()))?;
                self.inside = Some(OF_NODES);
                Ok(())
            }
            "edge" => self.edge(line, element),
            "hyperedge" => Err(self.error(line, "links with two ends, as <edge>", "<hyperedge>")),
            "data" if self.inside.is_some() => {
                let key = self.required(line, element, "key")?;
                match self.key_of.get(&key) {
                    Some(Some(key)) => self.expect(Target::Data(*key)),
                    Some(None) => {}
                    None => return Err(self.error(line, "the id of a <key> above", &key)),
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, name: &str) -> Result<()> {
        match (name, self.target) {
            ("data", Target::Data(key)) => {
                let value = std::mem::take(&mut self.value).trim().to_owned();
                let of = self.inside.unwrap_or(OF_NODES);
                let data = match of {
                    OF_NODES => self.graph.nodes.last_mut().map(|(_, _, data)| data),
                    _ => self.graph.edges.last_mut().map(|edge| &mut edge.data),
                };
                if let Some(data) = data.filter(|_| !value.is_empty()) {
                    self.graph.keys[key].used[of] = true;
                    files::push(self.graph.path, data, (key, value))?;
                }
                self.target = Target::None;
            }
            ("default", Target::Default) => {
                let value = std::mem::take(&mut self.value).trim().to_owned();
                if let Some(key) = self.graph.keys.last_mut().filter(|_| self.in_key) {
                    key.default = Some(value).filter(|value| !value.is_empty());
                }
                self.target = Target::None;
            }
            ("node" | "edge", _) => self.inside = None,
            ("key", _) => self.in_key = false,
            _ => {}
        }
        Ok(())
    }

    /// Reads the declaration of an attribute. Those without a name belong to the program that wrote the file.
    fn key(&mut self, line: u64, element: &BytesStart<'_>) -> Result<()> {
        if self.graphs > 0 {
            return Err(self.error(line, "every <key> before the <graph>", "a <key> in or after it"));
        }
        let id = self.required(line, element, "id")?;
        let name = self.attribute(line, element, "attr.name")?;
        let used_for = self.attribute(line, element, "for")?;
        let declared = match used_for.as_deref() {
            None | Some("all") => [true; 2],
            Some(kind) => [kind == "node", kind == "edge"],
        };
        let index = self.graph.keys.len();
        match name {
            Some(name) if declared.contains(&true) => {
                files::push(self.graph.path, &mut self.graph.keys, Key { name, declared, ..Key::default() })?;
                self.key_of.insert(id, Some(index));
                self.in_key = true;
            }
            _ => {
                self.key_of.insert(id, None);
            }
        }
        Ok(())
    }

    /// Reads a link; one without direction in a directed graph is a link in both directions.
    fn edge(&mut self, line: u64, element: &BytesStart<'_>) -> Result<()> {
        let (source, target) = (self.required(line, element, "source")?, self.required(line, element, "target")?);
        let both =
            self.graph.directed && self.attribute(line, element, "directed")?.is_some_and(|kind| kind == "false");
        self.inside = Some(OF_EDGES);
        let edge = Edge { line, source, target, both, data: Vec::new() };
        files::push(self.graph.path, &mut self.graph.edges, edge)
    }

    /// Begins to collect the text of an element, unless it is in another one.
    fn expect(&mut self, target: Target) {
        if self.target == Target::None {
            self.value.clear();
            self.target = target;
        }
    }

    fn append(&mut self, text: &str) {
        if self.target != Target::None {
            self.value.push_str(text);
        }
    }

    /// Appends a character such as `&amp;` or `&#228;`.
    fn append_reference(&mut self, line: u64, reference: &BytesRef<'_>) -> Result<()> {
        let character = reference.resolve_char_ref().ok().flatten();
        let named = resolve_predefined_entity(reference);
        match (character, named) {
            (Some(character), _) => self.append(character.encode_utf8(&mut [0; 4])),
            (None, Some(text)) => self.append(text),
            (None, None) => return Err(self.error(line, "a reference such as &amp; or &#228;", reference)),
        }
        Ok(())
    }

    fn attribute(&self, line: u64, element: &BytesStart<'_>, name: &str) -> Result<Option<String>> {
        let malformed = |error: String| self.error(line, "well-formed XML", &error);
        let found = element.try_get_attribute(name).map_err(|error| malformed(error.to_string()))?;
        let value =
            found.map(|attribute| attribute.normalized_value(XmlVersion::Implicit1_0).map(|text| text.into_owned()));
        value.transpose().map_err(|error| malformed(error.to_string()))
    }

    fn required(&self, line: u64, element: &BytesStart<'_>, name: &str) -> Result<String> {
        let element_name = element.local_name();
        self.attribute(line, element, name)?.ok_or_else(|| {
            self.error(line, &format!("an attribute {name}"), &format!("<{}> without it", element_name.as_ref()))
        })
    }

    /// Returns the line of the next element.
    fn line(&mut self) -> u64 {
        let (from, line) = self.counted;
        let to = (self.reader.buffer_position() as usize).clamp(from, self.text.len());
        let newlines = self.text.as_bytes()[from..to].iter().filter(|byte| **byte == b'\n').count();
        self.counted = (to, line + newlines as u64);
        self.counted.1
    }

    fn error(&self, line: u64, expected: &str, found: &str) -> Error {
        Error::text(self.graph.path, line as usize, expected, shown(found))
    }
}
