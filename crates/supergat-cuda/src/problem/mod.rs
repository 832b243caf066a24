//! An example in the memory of the GPU: graph, features, labels, split, and the samplers of the loss on attention.

mod attention;
mod edges;
pub(crate) mod factors;
pub(crate) mod labels;
mod lists;
pub(crate) mod margin;
pub(crate) mod samples;
pub(crate) mod sparse;

pub(crate) use attention::LARGE_GRAPH;
pub(crate) use edges::EdgeMemory;
pub(crate) use labels::LabelMemory;
pub(crate) use lists::Lists;

use crate::error::device_error;
use crate::launch::Cuda;
use crate::product;
use cudarc::driver::CudaSlice;
use factors::Factors;
use sparse::SparseFeatures;
use std::sync::{Mutex, PoisonError};
use supergat_core::device::{AttentionLoss, Lists as HostLists, NoLoops};
use supergat_core::{Architecture, Example, Features, HeadLayout, Result};

/// An example in the memory of the GPU.
#[derive(Debug)]
pub struct Problem {
    /// Number of nodes.
    pub(crate) nodes: usize,
    /// Number of edges that layers read: all, including self-loops, or those of `no_loops`.
    pub(crate) edges: usize,
    /// Sources by target.
    pub(crate) incoming: Lists,
    /// Targets by source; `None` if the graph is symmetric, where they equal `incoming`.
    pub(crate) outgoing: Option<Lists>,
    /// Edges without self-loops, if attention has none.
    pub(crate) no_loops: Option<NoLoops>,
    /// Sources by target with self-loops, which are never sampled as non-edges; `None` if `incoming` has them.
    with_loops: Option<Lists>,
    /// Division of the work of attention.
    pub(crate) attention: attention::Plan,
    /// Samplers of the loss on attention.
    pub(crate) supervision: samples::Plan,
    /// Features of the nodes.
    pub(crate) features: FeatureMemory,
    /// Weights and features of edges in attention; `None` if there are none.
    pub(crate) edge_memory: Option<EdgeMemory>,
    /// Labels and split.
    pub(crate) labels: LabelMemory,
    /// Weights of graph convolutions; `None` for other networks.
    pub(crate) factors: Option<Factors>,
    /// Inputs of layers after dropout, for products of cuBLAS, and which ones they are.
    pub(crate) dropped: DroppedInputs,
}

/// Features in the memory of the GPU.
#[derive(Debug)]
pub(crate) enum FeatureMemory {
    /// All values, row after row.
    Dense { values: CudaSlice<f32>, columns: usize },
    /// Nonzero values only.
    Sparse(Box<SparseFeatures>),
}

impl FeatureMemory {
    /// Returns whether only nonzero values are stored.
    pub(crate) fn is_sparse(&self) -> bool {
        matches!(self, Self::Sparse(_))
    }

    /// Returns the rows of sums of segments in products with the transposed features.
    pub(crate) fn segment_rows(&self) -> usize {
        match self {
            Self::Sparse(features) => features.by_column.as_ref().map_or(0, |by_column| by_column.segments.rows),
            Self::Dense { .. } => 0,
        }
    }
}

/// Dense inputs of layers after dropout. The backward pass needs those of the first layer again, so they have memory of
/// their own; hidden layers share the other.
#[derive(Debug)]
pub(crate) struct DroppedInputs {
    pub features: Dropped,
    pub hidden: Dropped,
}

/// Dense input of a layer after dropout.
#[derive(Debug)]
pub(crate) struct Dropped {
    /// Rows of the nodes.
    pub rows: CudaSlice<f32>,
    /// What the rows were made of.
    pub made_of: Mutex<MadeOf>,
}

#[derive(Debug, Default)]
pub(crate) struct MadeOf {
    /// Addresses of the input and of the mask that the rows were made of.
    pub rows: Option<[u64; 2]>,
    /// Address of the mask that was drawn last, for a new input; zero if none was.
    pub drawn: u64,
}

impl Dropped {
    fn new(cuda: &Cuda, len: usize) -> Result<Self> {
        Ok(Self { rows: cuda.zeros(len)?, made_of: Mutex::default() })
    }

    /// Notes that a mask was drawn for a new input.
    pub(crate) fn expect(&self, mask: u64) {
        *self.made_of.lock().unwrap_or_else(PoisonError::into_inner) = MadeOf { rows: None, drawn: mask };
    }
}

impl Problem {
    /// Places an example in the memory of the GPU.
    pub(crate) fn new(
        cuda: &Cuda,
        example: &Example<f32>,
        architecture: &Architecture,
        loss: AttentionLoss,
    ) -> Result<Self> {
        let graph = &*example.graph;
        let nodes = graph.nodes();
        let no_loops = (!architecture.network.attends_to_self()).then(|| NoLoops::new(graph));
        let lists = no_loops.as_ref().map_or_else(|| HostLists::of(graph), NoLoops::lists);
        let edges = lists.edges;
        // Positions of edges and blocks of kernels are numbered with 32 bits.
        if edges >= 1 << 32 {
            return Err(device_error(format!(
                "{edges} edges are more than the 4294967295 that a GPU can number: train on the CPU"
            )));
        }
        let training = !example.train.is_empty();
        let features = match &*example.features {
            Features::Dense { values, columns, .. } => {
                FeatureMemory::Dense { values: cuda.uploaded(values)?, columns: *columns }
            }
            Features::Sparse(matrix) => FeatureMemory::Sparse(Box::new(SparseFeatures::new(cuda, matrix, training)?)),
        };
        let [first, hidden] = if training && architecture.network.dropout > 0.0 {
            let first = if let FeatureMemory::Dense { columns, .. } = &features { *columns } else { 0 };
            [first, copied_width(architecture, 0)].map(|width| if product::multiplies(cuda, width) { 0 } else { width })
        } else {
            [0; 2]
        };
        architecture.network.precision.accepts_links(example.edges.is_some())?;
        if example.edges.as_ref().is_some_and(|edges| !edges.weights().is_empty()) {
            architecture.model.accepts_edge_weights()?;
        }
        Ok(Self {
            nodes,
            edges,
            incoming: Lists::new(cuda, lists.incoming)?,
            outgoing: if lists.symmetric { None } else { Some(Lists::new(cuda, lists.outgoing)?) },
            with_loops: if no_loops.is_some() { Some(Lists::new(cuda, graph.incoming())?) } else { None },
            attention: attention::Plan::new(cuda, lists)?,
            supervision: samples::Plan::new(cuda, example, edges, loss)?,
            features,
            edge_memory: EdgeMemory::new(cuda, example, no_loops.as_ref(), architecture)?,
            no_loops,
            labels: LabelMemory::new(cuda, example, architecture)?,
            factors: Factors::new(cuda, example, architecture)?,
            dropped: DroppedInputs {
                features: Dropped::new(cuda, nodes * first)?,
                hidden: Dropped::new(cuda, nodes * hidden)?,
            },
        })
    }

    /// Returns the targets by source.
    pub(crate) fn outgoing(&self) -> &Lists {
        self.outgoing.as_ref().unwrap_or(&self.incoming)
    }

    /// Returns the sources by target with self-loops: pairs that are never sampled as non-edges.
    pub(crate) fn with_loops(&self) -> &Lists {
        self.with_loops.as_ref().unwrap_or(&self.incoming)
    }
}

/// Returns the width of the widest dense input, which is copied for dropout; `first` is that of dense features.
fn copied_width(architecture: &Architecture, first: usize) -> usize {
    let network = &architecture.network;
    let hidden = match architecture.model.form() {
        Some(_) => HeadLayout::new(network.heads, network.hidden).stride(),
        None => HeadLayout::plain(network.heads * network.hidden).stride(),
    };
    if network.layers > 1 || network.input_layer || network.output_layer { first.max(hidden) } else { first }
}
