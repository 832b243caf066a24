//! Writes converted datasets: arrays are encoded one after the other, without a second copy of the dataset.

use super::{EDGE_FEATURES, EDGE_WEIGHTS, Header, LISTS, METADATA_KEY, PARTITIONED, VERSION, places_of};
use crate::dataset::Dataset;
use crate::files::encoded;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use supergat_core::{Direction, Example, Features, Graph, Labels, NodeOrder};

/// Largest header that readers of safetensors accept, in bytes.
const MAX_HEADER: usize = 100_000_000;

/// An array to write.
struct Array<'a> {
    name: String,
    shape: Vec<usize>,
    values: Values<'a>,
}

/// Values of an array.
enum Values<'a> {
    U8(Cow<'a, [u8]>),
    U32(&'a [u32]),
    U64(Cow<'a, [u64]>),
    F32(&'a [f32]),
}

#[derive(Default)]
struct Arrays<'a>(Vec<Array<'a>>);

/// Writes a dataset. Graphs with an order of their nodes are stored in that order.
pub fn write(dataset: &Dataset, out: &mut dyn Write) -> io::Result<()> {
    let stored: Vec<Stored<'_>> = dataset.examples.iter().map(Stored::new).collect();
    let directed = |graph: &Graph| graph.direction() == Direction::Directed;
    let header = Header {
        version: if stored.iter().any(|graph| graph.order.is_some()) { PARTITIONED } else { VERSION },
        name: dataset.name.clone(),
        preset: dataset.preset.clone(),
        class_names: dataset.class_names.clone(),
        several_labels: dataset.is_multi_label(),
        listed_links: dataset.listed_links,
        notes: dataset.notes.clone(),
        schema: dataset.schema.clone(),
        link_schema: dataset.link_schema.clone(),
        features: dataset.features(),
        edge_features: dataset.edge_features(),
        directed: dataset.examples.iter().map(|example| directed(&example.graph)).collect(),
    };
    let mut arrays = Arrays::default();
    for (k, graph) in stored.iter().enumerate() {
        let example = &*graph.example;
        arrays.graph(k, &example.graph);
        arrays.features(k, &example.features);
        if let Some(edges) = &example.edges {
            if !edges.weights().is_empty() {
                arrays.push(k, EDGE_WEIGHTS, vec![edges.weights().len()], Values::F32(edges.weights()));
            }
            if edges.width() > 0 {
                let shape = vec![example.graph.edges(), edges.width()];
                arrays.push(k, EDGE_FEATURES, shape, Values::F32(edges.features()));
            }
        }
        match &example.labels {
            Labels::Single { of, .. } => arrays.u32s(k, "labels", of),
            Labels::Multi { classes, of } => {
                arrays.push(k, "labels", vec![example.graph.nodes(), *classes], Values::U8(of.into()));
            }
        }
        let lists = [&example.train, &example.validation, &example.test];
        for ((name, list), places) in LISTS.into_iter().zip(lists).zip(&graph.places) {
            arrays.u32s(k, name, list);
            if let Some(places) = places {
                arrays.u32s(k, &places_of(name), places);
            }
        }
        if let Some(order) = graph.order {
            arrays.u32s(k, "order", order.outer());
            arrays.u32s(k, "parts", order.bounds());
        }
        if let Some(ids) = dataset.node_ids.as_ref().and_then(|all| all.get(k)) {
            arrays.ids(k, ids);
        }
    }
    arrays.write(&header, out)
}

/// A graph with its nodes in the order of the file.
struct Stored<'a> {
    example: Cow<'a, Example<f32>>,
    order: Option<&'a NodeOrder>,
    /// Place of each node in the given list of its split, for lists that do not ascend.
    places: [Option<Vec<u32>>; 3],
}

impl<'a> Stored<'a> {
    fn new(given: &'a Example<f32>) -> Self {
        let order = given.order.as_deref();
        let example = match order {
            None => Cow::Borrowed(given),
            Some(order) if order.is_identity() => {
                let [train, validation, test] =
                    [&given.train, &given.validation, &given.test].map(|list| order.list_to_internal(list));
                Cow::Owned(Example { train, validation, test, ..given.clone() })
            }
            Some(order) => Cow::Owned(given.renumbered(order)),
        };
        let places = |list: &[u32]| {
            let order = order.filter(|_| !list.is_sorted())?;
            let mut places: Vec<u32> = (0..list.len() as u32).collect();
            places.sort_by_key(|&place| order.to_internal(list[place as usize]));
            Some(places)
        };
        let places = [&given.train, &given.validation, &given.test].map(|list| places(list));
        Self { example, order, places }
    }
}

impl<'a> Arrays<'a> {
    fn push(&mut self, k: usize, name: &str, shape: Vec<usize>, values: Values<'a>) {
        self.0.push(Array { name: format!("{k}.{name}"), shape, values });
    }

    fn u32s(&mut self, k: usize, name: &str, values: &'a [u32]) {
        self.push(k, name, vec![values.len()], Values::U32(values));
    }

    fn u64s(&mut self, k: usize, name: &str, values: &'a [u64]) {
        self.push(k, name, vec![values.len()], Values::U64(values.into()));
    }

    fn graph(&mut self, k: usize, graph: &'a Graph) {
        let parts = graph.arrays();
        self.u64s(k, "incoming.offsets", &parts.incoming.offsets);
        self.u32s(k, "incoming.neighbours", &parts.incoming.neighbours);
        if let Some(outgoing) = parts.outgoing {
            self.u64s(k, "outgoing.offsets", &outgoing.offsets);
            self.u32s(k, "outgoing.neighbours", &outgoing.neighbours);
        }
        self.u32s(k, "place_at_target", parts.place_at_target);
        self.u64s(k, "links", parts.input_positions);
    }

    fn features(&mut self, k: usize, features: &'a Features<f32>) {
        match features {
            Features::Dense { rows, columns, values } => {
                self.push(k, "features", vec![*rows, *columns], Values::F32(values));
            }
            Features::Sparse(matrix) => {
                self.u64s(k, "features.offsets", matrix.offsets());
                self.u32s(k, "features.columns", matrix.column_of());
                self.push(k, "features.values", vec![matrix.values().len()], Values::F32(matrix.values()));
            }
        }
    }

    fn ids(&mut self, k: usize, ids: &[String]) {
        let mut text = Vec::new();
        let ends: Vec<u64> = ids
            .iter()
            .map(|id| {
                text.extend_from_slice(id.as_bytes());
                text.len() as u64
            })
            .collect();
        self.push(k, "ids.ends", vec![ends.len()], Values::U64(ends.into()));
        self.push(k, "ids.text", vec![text.len()], Values::U8(text.into()));
    }

    /// Writes a safetensors file: length of the header, header, and arrays in descending order of alignment.
    ///
    /// The metadata is a hash map, written in arbitrary order. A single entry keeps the file reproducible.
    fn write(mut self, header: &Header, out: &mut dyn Write) -> io::Result<()> {
        self.0.sort_by(|a, b| b.values.dtype().cmp(&a.values.dtype()).then_with(|| a.name.cmp(&b.name)));
        let mut end = 0;
        let about = self.0.iter().map(|Array { name, shape, values }| {
            let start = end;
            end += values.bytes();
            let info = TensorInfo { dtype: values.dtype(), shape: shape.clone(), data_offsets: (start, end) };
            (name.clone(), info)
        });
        let about = about.collect();
        let entry = (METADATA_KEY.to_owned(), serde_json::to_string(header).map_err(io::Error::other)?);
        let metadata = Metadata::new(Some(HashMap::from([entry])), about).map_err(io::Error::other)?;
        let mut text = serde_json::to_vec(&metadata).map_err(io::Error::other)?;
        text.resize(text.len().next_multiple_of(8), b' ');
        if text.len() > MAX_HEADER {
            return Err(io::Error::other("the names, notes and columns of the dataset exceed 100 MB"));
        }
        out.write_all(&(text.len() as u64).to_le_bytes())?;
        out.write_all(&text)?;
        self.0.iter().try_for_each(|array| array.values.write(out))
    }
}

impl Values<'_> {
    fn dtype(&self) -> Dtype {
        match self {
            Self::U8(_) => Dtype::U8,
            Self::U32(_) => Dtype::U32,
            Self::U64(_) => Dtype::U64,
            Self::F32(_) => Dtype::F32,
        }
    }

    /// Returns the number of bytes in the file.
    fn bytes(&self) -> usize {
        match self {
            Self::U8(values) => values.len(),
            Self::U32(values) => size_of_val(*values),
            Self::U64(values) => size_of_val(&values[..]),
            Self::F32(values) => size_of_val(*values),
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let write = |block: Vec<u8>| out.write_all(&block);
        match self {
            Self::U8(values) => out.write_all(values),
            Self::U32(values) => encoded(values, |value| value.to_le_bytes()).try_for_each(write),
            Self::U64(values) => encoded(values, |value| value.to_le_bytes()).try_for_each(write),
            Self::F32(values) => encoded(values, |value| value.to_le_bytes()).try_for_each(write),
        }
    }
}
