//! Writes converted datasets.

use super::{Header, METADATA_KEY, VERSION};
use crate::dataset::Dataset;
use safetensors::tensor::{Dtype, TensorView};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use supergat_core::{Direction, Features, Graph, Labels};

/// Arrays to write: name, element type, shape and bytes.
#[derive(Default)]
struct Arrays(Vec<(String, Dtype, Vec<usize>, Vec<u8>)>);

/// Writes a dataset to a file, overwriting an existing one.
pub fn write(dataset: &Dataset, path: &Path) -> io::Result<()> {
    let directed = |graph: &Graph| graph.direction() == Direction::Directed;
    let header = Header {
        version: VERSION,
        name: dataset.name.clone(),
        class_names: dataset.class_names.clone(),
        several_labels: dataset.is_multi_label(),
        listed_links: dataset.listed_links,
        notes: dataset.notes.clone(),
        schema: dataset.schema.clone(),
        features: dataset.features(),
        directed: dataset.examples.iter().map(|example| directed(&example.graph)).collect(),
    };
    let mut arrays = Arrays::default();
    for (k, example) in dataset.examples.iter().enumerate() {
        arrays.graph(k, &example.graph);
        arrays.features(k, &example.features);
        match &example.labels {
            Labels::Single { of, .. } => arrays.u32s(k, "labels", of),
            Labels::Multi { classes, of } => {
                arrays.push(k, "labels", Dtype::U8, vec![example.graph.nodes(), *classes], of.clone());
            }
        }
        let lists = [("train", &example.train), ("validation", &example.validation), ("test", &example.test)];
        lists.iter().for_each(|(name, list)| arrays.u32s(k, name, list));
        if let Some(ids) = dataset.node_ids.as_ref().and_then(|all| all.get(k)) {
            arrays.ids(k, ids);
        }
    }
    arrays.save(path, &header)
}

impl Arrays {
    fn push(&mut self, k: usize, name: &str, dtype: Dtype, shape: Vec<usize>, bytes: Vec<u8>) {
        self.0.push((format!("{k}.{name}"), dtype, shape, bytes));
    }

    fn u32s(&mut self, k: usize, name: &str, values: &[u32]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.push(k, name, Dtype::U32, vec![values.len()], bytes);
    }

    fn u64s(&mut self, k: usize, name: &str, values: &[u64]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.push(k, name, Dtype::U64, vec![values.len()], bytes);
    }

    fn f32s(&mut self, k: usize, name: &str, shape: Vec<usize>, values: &[f32]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.push(k, name, Dtype::F32, shape, bytes);
    }

    fn graph(&mut self, k: usize, graph: &Graph) {
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

    fn features(&mut self, k: usize, features: &Features<f32>) {
        match features {
            Features::Dense { rows, columns, values } => self.f32s(k, "features", vec![*rows, *columns], values),
            Features::Sparse(matrix) => {
                self.u64s(k, "features.offsets", matrix.offsets());
                self.u32s(k, "features.columns", matrix.column_of());
                self.f32s(k, "features.values", vec![matrix.values().len()], matrix.values());
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
        self.u64s(k, "ids.ends", &ends);
        self.push(k, "ids.text", Dtype::U8, vec![text.len()], text);
    }

    /// Writes all arrays and the header.
    ///
    /// The metadata is a hash map, written in arbitrary order. A single entry keeps the file reproducible.
    fn save(&self, path: &Path, header: &Header) -> io::Result<()> {
        let header = serde_json::to_string(header).map_err(io::Error::other)?;
        let metadata = HashMap::from([(METADATA_KEY.to_owned(), header)]);
        let views = self.0.iter().map(|(name, dtype, shape, bytes)| {
            TensorView::new(*dtype, shape.clone(), bytes).map(|view| (name.as_str(), view)).map_err(io::Error::other)
        });
        let views = views.collect::<io::Result<Vec<_>>>()?;
        safetensors::serialize_to_file(views, Some(metadata), path).map_err(io::Error::other)
    }
}
