//! Reads the nodes of single parts from a converted file, without the rest of the file.

use super::index::{Arrays, Index};
use super::{EDGE_FEATURES, EDGE_WEIGHTS, LISTS};
use crate::error::{Error, Result};
use crate::files::read_at::{self, ReadAt};
use safetensors::tensor::Dtype;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use supergat_core::graph::Adjacency;
use supergat_core::{Direction, EdgeAttributes, Features, Labels, SparseMatrix};

/// A converted file whose nodes are stored in an internal order, divided into parts.
///
/// The file stays open, and every function reads the values of the given nodes only. The file is untrusted: values are
/// validated after they are read, as far as those nodes tell. All numbers of nodes are internal ones; [`PartitionedGraph::order`] returns the outer ones.
///
/// ```
/// use supergat_core::NodeOrder;
/// use supergat_data::converted::PartitionedFile;
/// let mut dataset = supergat_data::load("random-graph:nodes=40,degree=4,features=3,classes=2")?;
/// let order = NodeOrder::new((0..40).rev().collect(), vec![0, 10, 40]).unwrap();
/// let example = dataset.examples.remove(0).with_order(order).unwrap();
/// dataset.examples.push(example);
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("two-parts.supergat.safetensors");
/// supergat_data::convert(&dataset, &path)?;
///
/// let file = PartitionedFile::open(&path)?;
/// let graph = file.graph(0);
/// assert_eq!((graph.nodes(), graph.parts(), graph.part(0)), (40, 2, 0..10));
/// assert_eq!(graph.order(graph.part(0))?, (30..40).rev().collect::<Vec<u32>>());
/// let incoming = graph.incoming(graph.part(1))?;
/// assert_eq!(incoming.lists.offsets.len(), 30 + 1);
/// assert_eq!(graph.features(10..12)?.rows(), 2);
/// # Ok::<(), supergat_data::Error>(())
/// ```
pub struct PartitionedFile {
    index: Index,
    bytes: Box<dyn ReadAt>,
    graphs: Vec<Shape>,
}

/// Sizes of a graph.
#[derive(Debug)]
struct Shape {
    nodes: usize,
    edges: usize,
    /// First internal node of each part, followed by the number of nodes.
    bounds: Vec<u32>,
}

/// A graph of a [`PartitionedFile`], which has an example.
#[derive(Debug, Clone, Copy)]
pub struct PartitionedGraph<'a> {
    arrays: Arrays<'a>,
    shape: &'a Shape,
    k: usize,
}

/// Neighbour lists of consecutive nodes.
///
/// See [`PartitionedFile`] for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLists {
    /// Lists of the nodes; the first one starts at offset 0.
    pub lists: Adjacency,
    /// Position of the first edge among the edges of the whole graph.
    pub first_edge: u64,
}

impl fmt::Debug for PartitionedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionedFile").field("index", &self.index).field("graphs", &self.graphs).finish()
    }
}

impl PartitionedFile {
    /// Opens a file that `supergat partition` or `supergat convert --parts` wrote.
    pub fn open(path: &Path) -> Result<Self> {
        let (file, length) = read_at::open(path)?;
        Self::of(path, Box::new(file), length)
    }

    /// Reads from the bytes of a file; `path` is only used in error messages.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let length = bytes.len() as u64;
        Self::of(path, Box::new(bytes), length)
    }

    fn of(path: &Path, bytes: Box<dyn ReadAt>, length: u64) -> Result<Self> {
        let index = Index::of(path, &*bytes, length)?;
        let arrays = index.arrays(&*bytes);
        let graphs = (0..index.header.directed.len()).map(|k| Shape::of(arrays, k)).collect::<Result<_>>()?;
        Ok(Self { index, bytes, graphs })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.index.path
    }

    /// Returns the name of the dataset.
    pub fn name(&self) -> &str {
        &self.index.header.name
    }

    /// Returns the published dataset that it is ([`crate::Dataset::preset`]).
    pub fn preset(&self) -> Option<&str> {
        self.index.header.preset.as_deref()
    }

    /// Returns the names of the classes.
    pub fn class_names(&self) -> &[String] {
        &self.index.header.class_names
    }

    /// Returns whether a node may have several classes.
    pub fn is_multi_label(&self) -> bool {
        self.index.header.several_labels
    }

    /// Returns the number of features per node.
    pub fn features(&self) -> usize {
        self.index.header.features
    }

    /// Returns the number of features per edge.
    pub fn edge_features(&self) -> usize {
        self.index.header.edge_features
    }

    /// Returns the number of graphs.
    pub fn graphs(&self) -> usize {
        self.graphs.len()
    }

    /// Returns a graph. Panics if there is none of this number.
    pub fn graph(&self, k: usize) -> PartitionedGraph<'_> {
        PartitionedGraph { arrays: self.index.arrays(&*self.bytes), shape: &self.graphs[k], k }
    }
}

impl Shape {
    fn of(arrays: Arrays<'_>, k: usize) -> Result<Self> {
        if !arrays.has(k, "order") {
            let expected = "a dataset with parts, as `supergat partition` writes it";
            return Err(Error::mismatch(arrays.path(), "file", expected, "a dataset without parts"));
        }
        let nodes = arrays.length(k, "order", Dtype::U32)?;
        let bounds = arrays.u32s(k, "parts")?;
        let ascend = bounds.is_sorted() && bounds.len() >= 2;
        if !ascend || bounds[0] != 0 || bounds[bounds.len() - 1] as usize != nodes {
            return Err(arrays.wrong(k, "parts", "numbers that ascend from 0 to the number of nodes", "others"));
        }
        let edges = arrays.length(k, "incoming.neighbours", Dtype::U32)?;
        let mut offsets = vec!["incoming"];
        offsets.extend(arrays.has(k, "outgoing.offsets").then_some("outgoing"));
        for name in offsets {
            let (offsets, neighbours) = (format!("{name}.offsets"), format!("{name}.neighbours"));
            expect(arrays, k, &neighbours, arrays.length(k, &neighbours, Dtype::U32)?, edges)?;
            expect(arrays, k, &offsets, arrays.length(k, &offsets, Dtype::U64)?, nodes + 1)?;
            let ends = [arrays.u64s_in(k, &offsets, 0..1)?, arrays.u64s_in(k, &offsets, nodes..nodes + 1)?];
            expect(arrays, k, &offsets, ends[0][0] as usize, 0)?;
            expect(arrays, k, &offsets, ends[1][0] as usize, edges)?;
        }
        expect(arrays, k, "place_at_target", arrays.length(k, "place_at_target", Dtype::U32)?, edges)?;
        let columns = arrays.index.header.features;
        if arrays.has(k, "features.offsets") {
            expect(arrays, k, "features.offsets", arrays.length(k, "features.offsets", Dtype::U64)?, nodes + 1)?;
        } else {
            let values = nodes.saturating_mul(columns);
            expect(arrays, k, "features", arrays.length(k, "features", Dtype::F32)?, values)?;
        }
        let classes = arrays.index.header.class_names.len();
        let (found, labels) = match arrays.index.header.several_labels {
            true => (arrays.length(k, "labels", Dtype::U8)?, nodes.saturating_mul(classes)),
            false => (arrays.length(k, "labels", Dtype::U32)?, nodes),
        };
        expect(arrays, k, "labels", found, labels)?;
        if arrays.has(k, EDGE_WEIGHTS) {
            expect(arrays, k, EDGE_WEIGHTS, arrays.length(k, EDGE_WEIGHTS, Dtype::F32)?, edges)?;
        }
        let edge_features = arrays.index.header.edge_features;
        if edge_features > 0 {
            let values = edges.saturating_mul(edge_features);
            expect(arrays, k, EDGE_FEATURES, arrays.length(k, EDGE_FEATURES, Dtype::F32)?, values)?;
        }
        Ok(Self { nodes, edges, bounds })
    }
}

fn expect(arrays: Arrays<'_>, k: usize, name: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(arrays.wrong(k, name, &expected.to_string(), &found.to_string())) }
}

impl PartitionedGraph<'_> {
    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.shape.nodes
    }

    /// Returns the number of directed edges, including one self-loop per node.
    pub fn edges(&self) -> usize {
        self.shape.edges
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.shape.bounds.len() - 1
    }

    /// Returns the nodes of a part.
    pub fn part(&self, part: usize) -> Range<usize> {
        self.shape.bounds[part] as usize..self.shape.bounds[part + 1] as usize
    }

    /// Returns the first node of each part, followed by the number of nodes.
    pub fn bounds(&self) -> &[u32] {
        &self.shape.bounds
    }

    /// Returns whether every edge has its reverse, so that outgoing lists equal the incoming ones.
    pub fn is_symmetric(&self) -> bool {
        !self.arrays.has(self.k, "outgoing.offsets")
    }

    /// Returns whether the links of the graph were given as directed or undirected.
    pub fn direction(&self) -> Direction {
        if self.arrays.index.header.directed[self.k] { Direction::Directed } else { Direction::Undirected }
    }

    /// Returns the outer numbers of nodes.
    pub fn order(&self, nodes: Range<usize>) -> Result<Vec<u32>> {
        self.check(&nodes)?;
        let outer = self.arrays.u32s_in(self.k, "order", nodes)?;
        let mut sorted = outer.clone();
        sorted.sort_unstable();
        let is_valid = sorted.last().is_none_or(|&last| (last as usize) < self.nodes());
        if !is_valid || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(self.wrong("order", "every node once", "other nodes"));
        }
        Ok(outer)
    }

    /// Returns the sources of the incoming edges of nodes.
    pub fn incoming(&self, nodes: Range<usize>) -> Result<NodeLists> {
        self.lists("incoming", nodes)
    }

    /// Returns the targets of the outgoing edges of nodes.
    pub fn outgoing(&self, nodes: Range<usize>) -> Result<NodeLists> {
        self.lists(self.outgoing_name(), nodes)
    }

    /// Returns the place of every outgoing edge of nodes in the incoming list of its target, in the order of
    /// [`PartitionedGraph::outgoing`].
    ///
    /// A place at a target among the nodes is checked to be that of the edge. A place at another target is checked
    /// to be in its list; whether it is that of the edge is known only to a reader of that list.
    pub fn place_at_target(&self, nodes: Range<usize>) -> Result<Vec<u32>> {
        let (incoming, outgoing) = (self.incoming(nodes.clone())?, self.outgoing(nodes.clone())?);
        let first = outgoing.first_edge as usize;
        let edges = first..first + outgoing.lists.neighbours.len();
        let places = self.arrays.u32s_in(self.k, "place_at_target", edges)?;
        for (source, here) in nodes.clone().zip(0..) {
            let edges = outgoing.lists.range(here);
            for (&target, &place) in outgoing.lists.neighbours[edges.clone()].iter().zip(&places[edges]) {
                let is_valid = match (target as usize).checked_sub(nodes.start).filter(|at| *at < nodes.len()) {
                    Some(at) => incoming.lists.of(at).get(place as usize) == Some(&(source as u32)),
                    None => {
                        let list = self.incoming_range(target)?;
                        u64::from(place) < list.end - list.start
                    }
                };
                if !is_valid {
                    let expected = "the place of each edge in the list of its target";
                    return Err(self.wrong("place_at_target", expected, "another place"));
                }
            }
        }
        Ok(places)
    }

    /// Returns the positions of the incoming edges of a node among the edges of the whole graph.
    pub fn incoming_range(&self, node: u32) -> Result<Range<u64>> {
        let node = node as usize;
        self.check(&(node..node + 1))?;
        let ends = self.arrays.u64s_in(self.k, "incoming.offsets", node..node + 2)?;
        if ends[0] > ends[1] || ends[1] > self.edges() as u64 {
            return Err(self.wrong("incoming.offsets", "offsets that do not decrease", "others"));
        }
        Ok(ends[0]..ends[1])
    }

    /// Returns the features of nodes, one row for each.
    pub fn features(&self, nodes: Range<usize>) -> Result<Features<f32>> {
        self.check(&nodes)?;
        let (arrays, columns) = (self.arrays, self.arrays.index.header.features);
        let core = Error::core(arrays.path());
        let features = if arrays.has(self.k, "features.offsets") {
            let mut offsets = arrays.u64s_in(self.k, "features.offsets", nodes.start..nodes.end + 1)?;
            let entries = self.rebased("features.offsets", &mut offsets)?;
            let column_of = arrays.u32s_in(self.k, "features.columns", entries.clone())?;
            let values = arrays.f32s_in(self.k, "features.values", entries)?;
            Features::Sparse(SparseMatrix::new(columns, offsets, column_of, values).map_err(core)?)
        } else {
            // The product of all nodes and columns was checked on opening.
            let values = arrays.f32s_in(self.k, "features", nodes.start * columns..nodes.end * columns)?;
            Features::dense(nodes.len(), columns, values).map_err(core)?
        };
        match features.values().iter().find(|value| !value.is_finite()) {
            Some(value) => Err(self.wrong("features", "finite numbers", &value.to_string())),
            None => Ok(features),
        }
    }

    /// Returns the number of stored feature values of all nodes before a node.
    pub fn features_before(&self, node: usize) -> Result<u64> {
        self.check(&(node..node))?;
        if self.arrays.has(self.k, "features.offsets") {
            return Ok(self.arrays.u64s_in(self.k, "features.offsets", node..node + 1)?[0]);
        }
        Ok(node as u64 * self.arrays.index.header.features as u64)
    }

    /// Returns weights and features of the incoming edges of nodes, in the order of [`PartitionedGraph::incoming`], if
    /// the graph has some.
    pub fn edge_attributes(&self, nodes: Range<usize>) -> Result<Option<EdgeAttributes<f32>>> {
        self.check(&nodes)?;
        let (arrays, width) = (self.arrays, self.arrays.index.header.edge_features);
        let has_weights = arrays.has(self.k, EDGE_WEIGHTS);
        if !has_weights && width == 0 {
            return Ok(None);
        }
        let mut offsets = arrays.u64s_in(self.k, "incoming.offsets", nodes.start..nodes.end + 1)?;
        let edges = self.rebased("incoming.offsets", &mut offsets)?;
        let weights = if has_weights { arrays.f32s_in(self.k, EDGE_WEIGHTS, edges.clone())? } else { Vec::new() };
        let features = match width {
            0 => Vec::new(),
            // The product of all edges and features was checked on opening.
            _ => arrays.f32s_in(self.k, EDGE_FEATURES, self.scaled(&edges, width)?)?,
        };
        let attributes = EdgeAttributes::of_edges(edges.len(), weights, width, features);
        attributes.map(Some).map_err(Error::core(arrays.path()))
    }

    /// Returns the places of `width` values for each of some edges.
    fn scaled(&self, edges: &Range<usize>, width: usize) -> Result<Range<usize>> {
        if edges.end > self.edges() {
            return Err(self.wrong("incoming.offsets", "offsets up to the number of edges", &edges.end.to_string()));
        }
        Ok(edges.start * width..edges.end * width)
    }

    /// Returns the numbers of training, validation and test nodes of the whole graph.
    pub fn split_sizes(&self) -> Result<[usize; 3]> {
        let [train, validation, test] = LISTS.map(|name| self.arrays.length(self.k, name, Dtype::U32));
        Ok([train?, validation?, test?])
    }

    /// Returns the labels of nodes.
    pub fn labels(&self, nodes: Range<usize>) -> Result<Labels> {
        self.check(&nodes)?;
        let (header, classes) = (&self.arrays.index.header, self.arrays.index.header.class_names.len());
        if header.several_labels {
            let of = self.arrays.flags_in(self.k, nodes.start * classes..nodes.end * classes)?;
            return Ok(Labels::Multi { classes, of });
        }
        let of = self.arrays.u32s_in(self.k, "labels", nodes)?;
        match of.iter().find(|&&class| class as usize >= classes && class != Labels::UNKNOWN) {
            Some(class) => Err(self.wrong("labels", &format!("classes below {classes}"), &class.to_string())),
            None => Ok(Labels::Single { classes, of }),
        }
    }

    /// Returns the training, validation and test nodes among nodes, in ascending order.
    pub fn splits(&self, nodes: Range<usize>) -> Result<[Vec<u32>; 3]> {
        let labels = self.labels(nodes.clone())?;
        let mut splits = [Vec::new(), Vec::new(), Vec::new()];
        for (name, split) in LISTS.into_iter().zip(&mut splits) {
            let (start, end) = (self.before(name, nodes.start)?, self.before(name, nodes.end)?);
            *split = self.arrays.u32s_in(self.k, name, start..end.max(start))?;
            let is_valid = |node: &u32| {
                let at = (*node as usize).checked_sub(nodes.start).filter(|at| *at < nodes.len());
                at.is_some_and(|at| labels.is_known(at))
            };
            if !split.iter().all(is_valid) || !split.is_sorted() {
                return Err(self.wrong(name, "labelled nodes in ascending order", "other nodes"));
            }
        }
        Ok(splits)
    }

    /// Returns how many nodes of an ascending list are before `node`.
    fn before(&self, name: &str, node: usize) -> Result<usize> {
        let (mut low, mut high) = (0, self.arrays.length(self.k, name, Dtype::U32)?);
        while low < high {
            let middle = low + (high - low) / 2;
            match (self.arrays.u32s_in(self.k, name, middle..middle + 1)?[0] as usize) < node {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }

    fn outgoing_name(&self) -> &'static str {
        if self.is_symmetric() { "incoming" } else { "outgoing" }
    }

    fn lists(&self, name: &str, nodes: Range<usize>) -> Result<NodeLists> {
        self.check(&nodes)?;
        let offsets_name = format!("{name}.offsets");
        let mut offsets = self.arrays.u64s_in(self.k, &offsets_name, nodes.start..nodes.end + 1)?;
        let edges = self.rebased(&offsets_name, &mut offsets)?;
        let first_edge = edges.start as u64;
        let neighbours = self.arrays.u32s_in(self.k, &format!("{name}.neighbours"), edges)?;
        let lists = Adjacency { offsets, neighbours };
        for (at, node) in nodes.enumerate() {
            let list = lists.of(at);
            let ascends = list.windows(2).all(|pair| pair[0] < pair[1]);
            let is_inside = list.last().is_some_and(|&last| (last as usize) < self.nodes());
            if !ascends || !is_inside || list.binary_search(&(node as u32)).is_err() {
                let expected = "ascending nodes of the graph, including the node itself";
                return Err(self.wrong(&format!("{name}.neighbours"), expected, "other nodes"));
            }
        }
        Ok(NodeLists { lists, first_edge })
    }

    /// Checks that offsets do not decrease, lets them start at 0, and returns the range that they cover.
    fn rebased(&self, name: &str, offsets: &mut [u64]) -> Result<Range<usize>> {
        if !offsets.is_sorted() {
            return Err(self.wrong(name, "offsets that do not decrease", "others"));
        }
        let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
        offsets.iter_mut().for_each(|offset| *offset -= first);
        Ok(first as usize..last as usize)
    }

    /// Fails unless the nodes are nodes of the graph.
    fn check(&self, nodes: &Range<usize>) -> Result<()> {
        if nodes.start <= nodes.end && nodes.end <= self.nodes() {
            return Ok(());
        }
        let expected = format!("a range of the {} nodes", self.nodes());
        Err(Error::mismatch(self.arrays.path(), "nodes to read", expected, format!("{nodes:?}")))
    }

    fn wrong(&self, name: &str, expected: &str, found: &str) -> Error {
        self.arrays.wrong(self.k, name, expected, found)
    }
}
