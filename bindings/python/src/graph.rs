//! Graphs: a dataset of the library with its arrays.

use crate::columns;
use crate::errors::{guarded, in_keywords};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use supergat::{CacheChoice, Dataset, FeatureChoice, LoadOptions, NodeOrderChoice, TableOptions};
use supergat_core::{Example, Features, Labels};
use supergat_data::schema::Decision;
use supergat_train::GraphStatistics;

/// Lists of training, validation and test nodes.
type Split<'py> = [PyReadonlyArray1<'py, u32>; 3];

/// A graph with features, and with labels and a split if they are known.
#[pyclass(frozen, module = "supergat._supergat")]
pub struct Graph {
    pub dataset: Arc<Dataset>,
}

impl Graph {
    pub fn new(dataset: Dataset) -> Self {
        Self { dataset: Arc::new(dataset) }
    }
}

/// Reads options for tables from JSON; unknown names are an error.
fn options(text: &str) -> PyResult<LoadOptions> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Options {
        split: Option<String>,
        features: Option<String>,
        add_features: Option<String>,
        row_normalise: bool,
        node_order: Option<String>,
        cache: bool,
        tables: TableOptions,
    }
    impl Default for Options {
        fn default() -> Self {
            let tables = TableOptions::default();
            let (split, features, add_features, node_order) = (None, None, None, None);
            Self { split, features, add_features, row_normalise: false, node_order, cache: true, tables }
        }
    }
    let refused = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    let Options { split, features, add_features, row_normalise, node_order, cache, tables } =
        serde_json::from_str(text).map_err(|error| refused(&error))?;
    let mut options = LoadOptions { tables, ..LoadOptions::default() };
    if let Some(split) = split {
        options.split = split.parse().map_err(|error| refused(&error))?;
    }
    let choice = match (features, add_features) {
        (Some(list), _) => Some(FeatureChoice::replace(&list)),
        (None, Some(list)) => Some(FeatureChoice::add(&list)),
        (None, None) => None,
    };
    if let Some(choice) = choice {
        options.features = choice.map_err(|error| refused(&error))?;
    }
    options.features = options.features.row_normalise(row_normalise);
    if let Some(order) = node_order {
        options.node_order = self::node_order(&order)?;
    }
    if !cache {
        options.cache = CacheChoice::Off;
    }
    Ok(options)
}

fn node_order(name: &str) -> PyResult<NodeOrderChoice> {
    name.parse().map_err(|_| {
        PyValueError::new_err(format!("node_order: expected \"auto\", \"given\" or \"local\", found {name:?}"))
    })
}

#[pymethods]
impl Graph {
    /// Reads a folder, a file or a known name.
    #[staticmethod]
    fn load(py: Python<'_>, source: &str, options_json: &str) -> PyResult<Self> {
        let options = options(options_json)?;
        guarded(py, || supergat::load_with(source, &options)).map(Self::new)
    }

    /// Reads two frames as the tables of nodes and links.
    #[staticmethod]
    fn from_frames(nodes: &Bound<'_, PyAny>, edges: &Bound<'_, PyAny>, options_json: &str) -> PyResult<Self> {
        let (py, mut options) = (nodes.py(), options(options_json)?);
        options.tables.labels_optional = true;
        let (nodes, edges) = (columns::frame("nodes", nodes)?, columns::frame("edges", edges)?);
        guarded(py, || supergat::load_frames(nodes, edges, &options)).map(Self::new)
    }

    /// Builds a graph from arrays. Features are dense, or compressed rows (offsets, columns, values, width).
    #[staticmethod]
    #[pyo3(signature = (nodes, sources, targets, *, dense=None, csr=None, ids=None, weights=None, attributes=None, duplicates="sum", directed=false, name="arrays", node_order="auto"))]
    #[allow(clippy::too_many_arguments)]
    fn from_arrays(
        py: Python<'_>,
        nodes: usize,
        sources: PyReadonlyArray1<'_, u32>,
        targets: PyReadonlyArray1<'_, u32>,
        dense: Option<PyReadonlyArray2<'_, f32>>,
        csr: Option<(PyReadonlyArray1<'_, u64>, PyReadonlyArray1<'_, u32>, PyReadonlyArray1<'_, f32>, usize)>,
        ids: Option<Vec<String>>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        attributes: Option<PyReadonlyArray2<'_, f32>>,
        duplicates: &str,
        directed: bool,
        name: &str,
        node_order: &str,
    ) -> PyResult<Self> {
        let mut builder = Dataset::builder(nodes).name(name).directed(directed).class_names(["0", "1"]);
        builder = builder.node_order(self::node_order(node_order)?);
        builder = builder.edge_lists(sources.as_slice()?, targets.as_slice()?);
        let refused = |reason: String| PyValueError::new_err(format!("duplicates: {reason}, found {duplicates:?}"));
        builder = builder.duplicates(duplicates.parse().map_err(refused)?);
        if let Some(weights) = &weights {
            builder = builder.edge_weights(weights.as_slice()?);
        }
        if let Some(attributes) = &attributes {
            builder = builder.edge_features(attributes.as_slice()?, attributes.as_array().ncols());
        }
        if let Some(dense) = &dense {
            builder = builder.dense_features(dense.as_slice()?, dense.as_array().ncols());
        }
        if let Some((offsets, columns, values, width)) = &csr {
            builder = builder.csr_features(*width, offsets.as_slice()?, columns.as_slice()?, values.as_slice()?);
        }
        if let Some(ids) = ids {
            builder = builder.node_ids(ids);
        }
        let mut dataset = guarded(py, || Ok(builder.build()?))?;
        if weights.is_some() {
            dataset.notes.push(format!("{name}: weights of links are used"));
        }
        Ok(Self::new(dataset))
    }

    /// Returns the same graph with other labels (-1 is unknown) and another split.
    fn with_labels(
        &self,
        py: Python<'_>,
        labels: PyReadonlyArray1<'_, i64>,
        class_names: Vec<String>,
        split: Split<'_>,
    ) -> PyResult<Self> {
        let [example] = &self.dataset.examples[..] else {
            return Err(PyValueError::new_err("several graphs come with their own labels: use train() instead"));
        };
        let class = |label: &i64| u32::try_from(*label).unwrap_or(Labels::UNKNOWN);
        let labels = Labels::Single { classes: class_names.len(), of: labels.as_slice()?.iter().map(class).collect() };
        let lists = [split[0].as_slice()?.to_vec(), split[1].as_slice()?.to_vec(), split[2].as_slice()?.to_vec()];
        let dataset = &self.dataset;
        guarded(py, || {
            let (order, edges) = (example.order.clone(), example.edges.clone());
            let example = Example::new(example.graph.clone(), example.features.clone(), labels, lists)?;
            let example = Example { order, edges, ..example };
            let (splits, origin) = (Vec::new(), None);
            Ok(Dataset { examples: vec![example], class_names, splits, origin, ..(**dataset).clone() })
        })
        .map(Self::new)
    }

    /// Returns the same graph with another random split: by class, or by shares such as `60/20/20`.
    #[pyo3(signature = (seed, shares=None))]
    fn redrawn(&self, py: Python<'_>, seed: u64, shares: Option<&str>) -> PyResult<Self> {
        if let Some(shares) = shares {
            return guarded(py, || Ok(self.dataset.drawn_by_shares(shares.parse()?, seed)?)).map(Self::new);
        }
        let message = "a graph with several classes per node, or several graphs, comes with its own split";
        self.dataset.redrawn(seed).map(Self::new).ok_or_else(|| PyValueError::new_err(message))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.dataset.name
    }

    #[getter]
    fn nodes(&self) -> usize {
        self.dataset.nodes()
    }

    #[getter]
    fn node_order(&self) -> &'static str {
        self.dataset.node_order()
    }

    #[getter]
    fn features(&self) -> usize {
        self.dataset.features()
    }

    #[getter]
    fn class_names(&self) -> Vec<String> {
        self.dataset.class_names.clone()
    }

    #[getter]
    fn multi_label(&self) -> bool {
        self.dataset.is_multi_label()
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.dataset.notes.iter().map(|note| in_keywords(note)).collect()
    }

    #[getter]
    fn directed(&self) -> bool {
        use supergat_core::Direction;
        self.dataset.examples.iter().any(|example| example.graph.direction() == Direction::Directed)
    }

    /// Ids of all nodes; `None` if they are 0, 1, ...
    fn ids(&self) -> Option<Vec<String>> {
        self.dataset.node_ids.as_ref().map(|all| all.concat())
    }

    /// Class of every node, -1 if it is not known. Only for one class per node.
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let mut all = Vec::with_capacity(self.dataset.nodes());
        for example in &self.dataset.examples {
            match &example.labels {
                Labels::Single { of, .. } => {
                    all.extend(of.iter().map(|c| if *c == Labels::UNKNOWN { -1 } else { i64::from(*c) }));
                }
                Labels::Multi { .. } => {
                    return Err(PyValueError::new_err("a node may have several classes: use multi_labels()"));
                }
            }
        }
        Ok(all.into_pyarray(py))
    }

    /// Classes of every node as 0 and 1, a row per node.
    fn multi_labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, numpy::PyArray2<u8>>> {
        let mut all = Vec::new();
        for example in &self.dataset.examples {
            match &example.labels {
                Labels::Multi { of, .. } => all.extend_from_slice(of),
                Labels::Single { .. } => return Err(PyValueError::new_err("a node has one class: use labels()")),
            }
        }
        all.into_pyarray(py).reshape([self.dataset.nodes(), self.dataset.classes()])
    }

    /// Training, validation and test nodes. Nodes of several graphs follow one another.
    fn split<'py>(&self, py: Python<'py>) -> [Bound<'py, PyArray1<u32>>; 3] {
        let list = |choose: fn(&Example<f32>) -> &[u32]| {
            let (mut first, mut all) = (0, Vec::new());
            for example in &self.dataset.examples {
                all.extend(choose(example).iter().map(|node| first + node));
                first += example.graph.nodes() as u32;
            }
            all.into_pyarray(py)
        };
        [list(|e| &e.train), list(|e| &e.validation), list(|e| &e.test)]
    }

    /// Sources and targets of all edges in both directions where links are undirected, without self-loops.
    fn edges<'py>(&self, py: Python<'py>) -> [Bound<'py, PyArray1<u32>>; 2] {
        let (mut sources, mut targets, mut first) = (Vec::new(), Vec::new(), 0u32);
        for example in &self.dataset.examples {
            for_each_edge(example, |position, node| {
                sources.push(first + example.graph.incoming().neighbours[position]);
                targets.push(first + node as u32);
            });
            first += example.graph.nodes() as u32;
        }
        [sources.into_pyarray(py), targets.into_pyarray(py)]
    }

    #[getter]
    fn edge_features(&self) -> usize {
        self.dataset.edge_features()
    }

    /// Weights of the edges of [`Self::edges`]; empty if all are 1.
    fn edge_weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        let weights =
            |example: &Example<f32>| example.edges.as_ref().map_or(Vec::new(), |edges| edges.weights().to_vec());
        let all: Vec<Vec<f32>> = self.dataset.examples.iter().map(weights).collect();
        let mut found = Vec::new();
        if all.iter().any(|weights| !weights.is_empty()) {
            for (example, weights) in self.dataset.examples.iter().zip(&all) {
                for_each_edge(example, |position, _| found.push(weights.get(position).copied().unwrap_or(1.0)));
            }
        }
        found.into_pyarray(py)
    }

    /// Features of the edges of [`Self::edges`], a row per edge.
    fn edge_attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, numpy::PyArray2<f32>>> {
        let (mut values, mut edges) = (Vec::new(), 0);
        for example in &self.dataset.examples {
            for_each_edge(example, |position, _| {
                edges += 1;
                values.extend(example.edges.iter().flat_map(|edges| edges.features_of(position)));
            });
        }
        values.into_pyarray(py).reshape([edges, self.dataset.edge_features()])
    }

    /// Features as a dense array, or as compressed rows (offsets, columns, values).
    fn feature_arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        let dense = self.dataset.examples.iter().all(|example| matches!(&*example.features, Features::Dense { .. }));
        if dense {
            let values: Vec<f32> = self.dataset.examples.iter().flat_map(|e| e.features.values().to_vec()).collect();
            found
                .set_item("dense", values.into_pyarray(py).reshape([self.dataset.nodes(), self.dataset.features()])?)?;
            return Ok(found);
        }
        let (mut offsets, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for example in &self.dataset.examples {
            match &*example.features {
                Features::Sparse(matrix) => {
                    for node in 0..example.graph.nodes() {
                        let (at, of) = matrix.row(node);
                        columns.extend_from_slice(at);
                        values.extend_from_slice(of);
                        offsets.push(columns.len() as u64);
                    }
                }
                Features::Dense { .. } => return Err(PyValueError::new_err("features of mixed storage")),
            }
        }
        found.set_item("offsets", offsets.into_pyarray(py))?;
        found.set_item("columns", columns.into_pyarray(py))?;
        found.set_item("values", values.into_pyarray(py))?;
        Ok(found)
    }

    /// Statistics, columns and notes, as JSON: what `supergat inspect --json` prints.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        let dataset = &self.dataset;
        guarded(py, || {
            let statistics = GraphStatistics::of(dataset);
            let columns = dataset.schema.as_ref().map_or(&[][..], |schema| &schema.decisions);
            let link_columns = dataset.link_schema.as_ref().map_or(&[][..], |schema| &schema.columns.decisions);
            let in_python = |decisions: &[Decision]| -> Vec<Decision> {
                let reason = |decision: &Decision| in_keywords(&decision.reason);
                decisions.iter().map(|decision| Decision { reason: reason(decision), ..decision.clone() }).collect()
            };
            let [columns, link_columns] = [columns, link_columns].map(in_python);
            Ok(json!({
                "dataset": dataset.name, "statistics": statistics, "columns": columns, "link_columns": link_columns,
                "notes": dataset.notes.iter().map(|note| in_keywords(note)).collect::<Vec<_>>(),
            }))
        })
        .map(|summary| summary.to_string())
    }

    /// Bytes of the graph with features, labels and split, for pickling.
    fn to_bytes(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let dataset = &self.dataset;
        guarded(py, || {
            let mut bytes = Vec::new();
            let failed = |source| supergat::Error::Write { path: "graph".into(), source };
            supergat_data::converted::write(dataset, &mut bytes).map_err(failed)?;
            Ok(bytes)
        })
    }

    /// Reads the bytes of [`Self::to_bytes`].
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        // With the order of nodes that the graph had.
        guarded(py, || Ok(supergat_data::converted::parse(Path::new("graph"), bytes)?)).map(Self::new)
    }
}

/// Calls `visit` with position and target of each edge between different nodes.
fn for_each_edge(example: &Example<f32>, mut visit: impl FnMut(usize, usize)) {
    let incoming = example.graph.incoming();
    for node in 0..example.graph.nodes() {
        for position in incoming.range(node).filter(|position| incoming.neighbours[*position] as usize != node) {
            visit(position, node);
        }
    }
}
