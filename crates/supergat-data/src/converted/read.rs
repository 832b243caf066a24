//! Reads whole converted datasets. The file is untrusted: every array is copied and validated.

use super::index::{Arrays, Index};
use super::{EDGE_FEATURES, EDGE_WEIGHTS, LISTS, places_of};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::files;
use crate::files::read_at::{self, ReadAt};
use safetensors::tensor::Dtype;
use std::path::Path;
use supergat_core::graph::GraphArrays;
use supergat_core::{Direction, EdgeAttributes, Example, Features, Graph, Labels, NodeOrder, SparseMatrix};

/// Reads a dataset from a file.
pub fn read(path: &Path) -> Result<Dataset> {
    let (file, length) = read_at::open(path)?;
    parse_part(path, &file, length)
}

/// Parses a dataset from the bytes of a file; `path` is only used in error messages.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Dataset> {
    parse_part(path, &bytes, bytes.len() as u64)
}

/// Parses a dataset from the first `length` bytes of a file; `path` is only used in error messages.
pub(crate) fn parse_part(path: &Path, bytes: &dyn ReadAt, length: u64) -> Result<Dataset> {
    let index = Index::of(path, bytes, length)?;
    let (arrays, header) = (index.arrays(bytes), &index.header);
    let examples = (0..header.directed.len()).map(|k| arrays.example(k)).collect::<Result<Vec<_>>>()?;
    let node_ids =
        (0..examples.len()).map(|k| arrays.ids(k, examples[k].graph.nodes())).collect::<Result<Option<_>>>()?;
    Ok(Dataset {
        name: header.name.clone(),
        examples,
        class_names: header.class_names.clone(),
        node_ids,
        listed_links: header.listed_links,
        notes: header.notes.clone(),
        schema: header.schema.clone().filter(|schema| schema.width() == header.features),
        link_schema: header.link_schema.clone().filter(|schema| schema.width() == header.edge_features),
        splits: Vec::new(),
        origin: None,
        preset: header.preset.clone(),
    })
}

impl Arrays<'_> {
    fn example(&self, k: usize) -> Result<Example<f32>> {
        let core = Error::core(self.path());
        let graph = Graph::from_arrays(GraphArrays {
            incoming: self.adjacency(k, "incoming")?,
            outgoing: self.has(k, "outgoing.offsets").then(|| self.adjacency(k, "outgoing")).transpose()?,
            place_at_target: self.u32s(k, "place_at_target")?,
            input_positions: self.u64s(k, "links")?,
            direction: if self.index.header.directed[k] { Direction::Directed } else { Direction::Undirected },
        })
        .map_err(core)?;
        let (features, labels) = (self.features(k)?, self.labels(k)?);
        let [train, validation, test] = LISTS.map(|name| self.u32s(k, name));
        let edges = self.edge_attributes(k, &graph)?;
        let mut example = Example::new(graph, features, labels, [train?, validation?, test?]).map_err(core)?;
        if let Some(edges) = edges {
            example = example.with_edges(edges).map_err(core)?;
        }
        if !self.has(k, "order") {
            return Ok(example);
        }
        let order = NodeOrder::new(self.u32s(k, "order")?, self.u32s(k, "parts")?).map_err(core)?;
        self.given(k, example, &order)?.with_order(order).map_err(core)
    }

    /// Returns an example that is stored in the internal order, with the outer numbers of its nodes.
    fn given(&self, k: usize, internal: Example<f32>, order: &NodeOrder) -> Result<Example<f32>> {
        // Before the conversion, which needs as many nodes.
        if order.nodes() != internal.graph.nodes() {
            let expected = format!("{} nodes", internal.graph.nodes());
            return Err(self.wrong(k, "order", &expected, &order.nodes().to_string()));
        }
        let lists = [&internal.train, &internal.validation, &internal.test];
        let mut restored = [Vec::new(), Vec::new(), Vec::new()];
        for ((name, list), restored) in LISTS.into_iter().zip(lists).zip(&mut restored) {
            *restored = self.given_list(k, name, list, order)?;
        }
        let [train, validation, test] = restored;
        let given = if order.is_identity() { internal } else { internal.renumbered(&order.inverse()) };
        Ok(Example { train, validation, test, ..given })
    }

    /// Returns the nodes of a split with their outer numbers, in the order that they were given in.
    fn given_list(&self, k: usize, name: &str, list: &[u32], order: &NodeOrder) -> Result<Vec<u32>> {
        let mut given: Vec<u32> = list.iter().map(|&node| order.to_outer(node)).collect();
        let places = places_of(name);
        if !self.has(k, &places) {
            given.sort_unstable();
            return Ok(given);
        }
        let places = self.u32s(k, &places)?;
        let mut restored: Vec<Option<u32>> = files::filled(self.path(), None, list.len())?;
        for (&place, &node) in places.iter().zip(&given) {
            if let Some(to @ None) = restored.get_mut(place as usize) {
                *to = Some(node);
            }
        }
        let restored: Option<Vec<u32>> = restored.into_iter().collect();
        let is_valid = places.len() == list.len();
        let expected = "the place of every node of the split, once";
        restored.filter(|_| is_valid).ok_or_else(|| self.wrong(k, &places_of(name), expected, "other places"))
    }

    fn features(&self, k: usize) -> Result<Features<f32>> {
        let core = Error::core(self.path());
        let columns = self.index.header.features;
        if self.has(k, "features.offsets") {
            let (offsets, column_of) = (self.u64s(k, "features.offsets")?, self.u32s(k, "features.columns")?);
            let values = self.f32s(k, "features.values")?;
            return SparseMatrix::new(columns, offsets, column_of, values).map(Features::Sparse).map_err(core);
        }
        let rows = self.shape(k, "features", Dtype::F32)?.first().copied().unwrap_or(0);
        Features::dense(rows, columns, self.f32s(k, "features")?).map_err(core)
    }

    /// Returns weights and features of the edges, if the file has some.
    fn edge_attributes(&self, k: usize, graph: &Graph) -> Result<Option<EdgeAttributes<f32>>> {
        let width = self.index.header.edge_features;
        let values = |name: &str| if self.has(k, name) { self.f32s(k, name) } else { Ok(Vec::new()) };
        let (weights, features) = (values(EDGE_WEIGHTS)?, values(EDGE_FEATURES)?);
        if weights.is_empty() && features.is_empty() && width == 0 {
            return Ok(None);
        }
        let attributes = EdgeAttributes::from_parts(graph, weights, width, features);
        attributes.map(Some).map_err(Error::core(self.path()))
    }

    fn labels(&self, k: usize) -> Result<Labels> {
        let classes = self.index.header.class_names.len();
        if !self.index.header.several_labels {
            return Ok(Labels::Single { classes, of: self.u32s(k, "labels")? });
        }
        Ok(Labels::Multi { classes, of: self.flags_in(k, 0..self.length(k, "labels", Dtype::U8)?)? })
    }

    /// Returns the node ids of graph `k`, if the file contains them.
    fn ids(&self, k: usize, nodes: usize) -> Result<Option<Vec<String>>> {
        if !self.has(k, "ids.ends") {
            return Ok(None);
        }
        let wrong = |found: &str| self.wrong(k, "ids", "an id of every node, in UTF-8", found);
        let ends = self.u64s(k, "ids.ends")?;
        let text = self.u8s(k, "ids.text")?;
        let text = std::str::from_utf8(&text).map_err(|error| wrong(&error.to_string()))?;
        if ends.len() != nodes || ends.last().map_or(0, |end| *end) != text.len() as u64 {
            return Err(wrong(&format!("{} ids", ends.len())));
        }
        let mut start = 0;
        let ids = ends.iter().map(|&end| {
            let id = text.get(start..end as usize).map(str::to_owned).ok_or_else(|| wrong("ends in the wrong order"));
            start = end as usize;
            id
        });
        ids.collect::<Result<Vec<_>>>().map(Some)
    }
}
