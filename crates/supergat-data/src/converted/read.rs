//! Reads converted datasets. The file is untrusted: every array is copied and validated.

use super::{Header, METADATA_KEY, VERSION};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::file;
use crate::map;
use rayon::prelude::*;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::path::Path;
use supergat_core::graph::{Adjacency, GraphArrays};
use supergat_core::{Direction, Example, Features, Graph, Labels, SparseMatrix};

/// Minimum number of values that a thread copies at once.
const MIN_CHUNK: usize = 1 << 16;

/// Reads a dataset from a file.
pub fn read(path: &Path) -> Result<Dataset> {
    parse(path, &map::open(path)?)
}

/// Parses a dataset from the bytes of a file; `path` is only used in error messages.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Dataset> {
    let invalid = |error: safetensors::SafeTensorError| {
        mismatch(path, "file", "a complete safetensors file", &format!("something else ({error})"))
    };
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(invalid)?;
    let entry = metadata.metadata().as_ref().and_then(|entries| entries.get(METADATA_KEY)).ok_or_else(|| {
        let found = "another file with this extension, such as a trained model";
        mismatch(path, "file", "a dataset that `supergat convert` wrote", found)
    })?;
    let header: Header = serde_json::from_str(entry)
        .map_err(|error| mismatch(path, "description of the dataset", "version 1", &error.to_string()))?;
    if header.version != VERSION {
        return Err(mismatch(path, "version", &VERSION.to_string(), &header.version.to_string()));
    }
    let tensors = SafeTensors::deserialize(bytes).map_err(invalid)?;
    if header.directed.len() > tensors.len() {
        return Err(mismatch(path, "graphs", "at most one per array", &header.directed.len().to_string()));
    }
    let arrays = Arrays { path, tensors, header: &header };
    let examples = (0..header.directed.len()).map(|k| arrays.example(k)).collect::<Result<Vec<_>>>()?;
    if examples.is_empty() {
        return Err(mismatch(path, "graphs", "at least one", "none"));
    }
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
        splits: Vec::new(),
        origin: None,
    })
}

fn mismatch(path: &Path, what: &str, expected: &str, found: &str) -> Error {
    Error::Mismatch { path: path.to_owned(), what: what.into(), expected: expected.into(), found: found.into() }
}

/// The arrays of a file, with typed access by graph number and name.
struct Arrays<'a> {
    path: &'a Path,
    tensors: SafeTensors<'a>,
    header: &'a Header,
}

impl Arrays<'_> {
    fn example(&self, k: usize) -> Result<Example<f32>> {
        let core = |source| Error::Core { path: self.path.to_owned(), source };
        let graph = Graph::from_arrays(GraphArrays {
            incoming: self.adjacency(k, "incoming")?,
            outgoing: self.has(k, "outgoing.offsets").then(|| self.adjacency(k, "outgoing")).transpose()?,
            place_at_target: self.u32s(k, "place_at_target")?,
            input_positions: self.u64s(k, "links")?,
            direction: if self.header.directed[k] { Direction::Directed } else { Direction::Undirected },
        })
        .map_err(core)?;
        let features = self.features(k)?;
        let labels = self.labels(k)?;
        let splits = [self.u32s(k, "train")?, self.u32s(k, "validation")?, self.u32s(k, "test")?];
        Example::new(graph, features, labels, splits).map_err(core)
    }

    fn adjacency(&self, k: usize, name: &str) -> Result<Adjacency> {
        let offsets = self.u64s(k, &format!("{name}.offsets"))?;
        Ok(Adjacency { offsets, neighbours: self.u32s(k, &format!("{name}.neighbours"))? })
    }

    fn features(&self, k: usize) -> Result<Features<f32>> {
        let core = |source| Error::Core { path: self.path.to_owned(), source };
        let columns = self.header.features;
        if self.has(k, "features.offsets") {
            let (offsets, column_of) = (self.u64s(k, "features.offsets")?, self.u32s(k, "features.columns")?);
            let values = self.f32s(k, "features.values")?;
            return SparseMatrix::new(columns, offsets, column_of, values).map(Features::Sparse).map_err(core);
        }
        let rows = self.array(k, "features", Dtype::F32)?.shape().first().copied().unwrap_or(0);
        Features::dense(rows, columns, self.f32s(k, "features")?).map_err(core)
    }

    fn labels(&self, k: usize) -> Result<Labels> {
        let classes = self.header.class_names.len();
        if !self.header.several_labels {
            return Ok(Labels::Single { classes, of: self.u32s(k, "labels")? });
        }
        let labels = self.array(k, "labels", Dtype::U8)?.data();
        let of = file::collect(self.path, labels.len(), labels.iter().copied().map(Ok))?;
        match of.iter().find(|has| **has > 1) {
            Some(has) => Err(mismatch(self.path, &format!("`{k}.labels`"), "0 or 1", &has.to_string())),
            None => Ok(Labels::Multi { classes, of }),
        }
    }

    /// Returns the node ids of graph `k`, if the file contains them.
    fn ids(&self, k: usize, nodes: usize) -> Result<Option<Vec<String>>> {
        if !self.has(k, "ids.ends") {
            return Ok(None);
        }
        let wrong = |found: &str| mismatch(self.path, &format!("`{k}.ids`"), "an id of every node, in UTF-8", found);
        let ends = self.u64s(k, "ids.ends")?;
        let text = self.array(k, "ids.text", Dtype::U8)?.data();
        let text = std::str::from_utf8(text).map_err(|error| wrong(&error.to_string()))?;
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

    fn has(&self, k: usize, name: &str) -> bool {
        self.tensors.tensor(&format!("{k}.{name}")).is_ok()
    }

    fn array(&self, k: usize, name: &str, dtype: Dtype) -> Result<TensorView<'_>> {
        let what = format!("`{k}.{name}`");
        let expected = format!("an array of {dtype:?}");
        match self.tensors.tensor(&format!("{k}.{name}")) {
            Ok(array) if array.dtype() == dtype => Ok(array),
            Ok(array) => Err(mismatch(self.path, &what, &expected, &format!("{:?}", array.dtype()))),
            Err(_) => Err(mismatch(self.path, &what, &expected, "none")),
        }
    }

    fn u32s(&self, k: usize, name: &str) -> Result<Vec<u32>> {
        let (numbers, _) = self.array(k, name, Dtype::U32)?.data().as_chunks::<4>();
        self.numbers(numbers, u32::from_le_bytes)
    }

    fn u64s(&self, k: usize, name: &str) -> Result<Vec<u64>> {
        let (numbers, _) = self.array(k, name, Dtype::U64)?.data().as_chunks::<8>();
        self.numbers(numbers, u64::from_le_bytes)
    }

    fn f32s(&self, k: usize, name: &str) -> Result<Vec<f32>> {
        let (numbers, _) = self.array(k, name, Dtype::F32)?.data().as_chunks::<4>();
        self.numbers(numbers, f32::from_le_bytes)
    }

    /// Decodes numbers of `N` bytes.
    fn numbers<T: Send, const N: usize>(&self, bytes: &[[u8; N]], decode: fn([u8; N]) -> T) -> Result<Vec<T>> {
        let mut numbers = file::with_capacity(self.path, bytes.len())?;
        numbers.par_extend(bytes.par_iter().with_min_len(MIN_CHUNK).map(|bytes| decode(*bytes)));
        Ok(numbers)
    }
}
