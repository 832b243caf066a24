//! Losses of node labels, their gradients, and the counts behind accuracy and micro-F1.

use crate::Scratch;
use crate::compile::{Source, Variant};
use crate::launch::{Cuda, grid, launch};
use crate::memory::Numbers;
use crate::problem::Problem;
use crate::record::WIDTH;
use crate::sparse::address;
use cudarc::driver::{CudaSlice, LaunchConfig};
use supergat_core::device::{LabelLoss, Place};
use supergat_core::example::hidden_weight;
use supergat_core::{Architecture, Example, Labels, Result};

const LABELS: Source = Source { name: "labels", text: include_str!("../kernels/labels.cu") };

/// Largest number of blocks of a kernel that sums losses.
pub(crate) const BLOCKS: usize = 1024;

/// Labels and split in the memory of the GPU.
#[derive(Debug)]
pub(crate) struct LabelMemory {
    classes: usize,
    /// Class of each node; for single labels.
    single: Option<CudaSlice<u32>>,
    /// 0 or 1 for each node and class; for multiple labels.
    multi: Option<CudaSlice<u8>>,
    /// Training nodes, as a mask, their number, and the sum of their weights.
    chosen: CudaSlice<u8>,
    train: usize,
    total: f64,
    /// Place of each node among the training nodes; empty unless labels are input.
    places: CudaSlice<u32>,
    /// Weight of each class; `None` if all are 1.
    class_weights: Option<CudaSlice<f64>>,
    /// Validation and test nodes.
    validation: CudaSlice<u32>,
    test: CudaSlice<u32>,
    counts: [usize; 2],
    /// Sums of the blocks of an evaluation.
    partial: CudaSlice<f64>,
    /// Number of blocks of an evaluation that are done; zero between kernels.
    tickets: CudaSlice<u32>,
}

impl LabelMemory {
    /// Places labels and split in the memory of the GPU.
    pub fn new(cuda: &Cuda, example: &Example<f32>, architecture: &Architecture) -> Result<Self> {
        let places = if architecture.reads_labels() { example.training_places() } else { Vec::new() };
        let mut chosen = vec![0u8; example.graph.nodes()];
        example.train.iter().for_each(|&node| chosen[node as usize] = 1);
        let (single, multi) = match &example.labels {
            Labels::Single { of, .. } => (Some(cuda.uploaded(of)?), None),
            Labels::Multi { of, .. } => (None, Some(cuda.uploaded(of)?)),
        };
        Ok(Self {
            classes: example.labels.classes(),
            single,
            multi,
            chosen: cuda.uploaded(&chosen)?,
            train: example.train.len(),
            total: example.training_weight(),
            places: cuda.uploaded(&places)?,
            class_weights: example.class_weights.as_deref().map(|weights| cuda.uploaded(weights)).transpose()?,
            validation: cuda.uploaded(&example.validation)?,
            test: cuda.uploaded(&example.test)?,
            counts: [example.validation.len(), example.test.len()],
            partial: cuda.zeros(2 * 4 * BLOCKS)?,
            tickets: cuda.zeros(2)?,
        })
    }

    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Returns the number of training nodes.
    pub fn training_nodes(&self) -> usize {
        self.train
    }

    /// Returns the place of each node among the training nodes.
    pub fn places(&self) -> &CudaSlice<u32> {
        &self.places
    }

    /// Returns the addresses of single and of multiple labels; one of them is zero.
    pub fn addresses(&self) -> [u64; 2] {
        [self.single.as_ref().map_or(0, address), self.multi.as_ref().map_or(0, address)]
    }

    /// Returns the lanes that share a row, and the blocks for a number of rows.
    fn division(&self, rows: usize) -> (u32, usize) {
        let lanes = self.classes.next_power_of_two().min(32);
        (lanes as u32, rows.div_ceil(256 / lanes).clamp(1, BLOCKS))
    }
}

/// Computes the gradient of the loss of the training nodes by the logits, and writes the loss to the record.
pub(crate) fn label_loss_backward(
    cuda: &Cuda,
    problem: &Problem,
    logits: &Numbers,
    LabelLoss { focal_gamma, shown }: LabelLoss<'_, Cuda>,
    gradient: &mut Numbers,
    scratch: &mut Scratch,
    place: Place<'_, Cuda>,
) -> Result<()> {
    let labels = &problem.labels;
    let [single, multi] = labels.addresses();
    let (lanes, blocks) = labels.division(problem.nodes);
    let (nodes, classes) = (problem.nodes as u32, labels.classes as u32);
    let total = hidden_weight(labels.total, labels.train, shown.map_or(0, |(_, count)| count));
    let shown = shown.map_or(0, |(nodes, _)| address(&nodes.0));
    let class_weights = labels.class_weights.as_ref().map_or(0, address);
    let record = place.record.data.slice(place.example * WIDTH..(place.example + 1) * WIDTH);
    launch!(
        cuda,
        &LABELS,
        &[],
        "label_loss_backward",
        grid(blocks, 256),
        &nodes,
        &classes,
        &lanes,
        &single,
        &multi,
        &labels.chosen,
        &shown,
        &class_weights,
        &total,
        &focal_gamma,
        &logits.0,
        &mut gradient.0,
        &scratch.losses,
        &scratch.tickets,
        &record
    )
}

/// Writes the sums of the losses and the counts of the validation and the test nodes to the record.
pub(crate) fn evaluate(cuda: &Cuda, problem: &Problem, logits: &Numbers, place: Place<'_, Cuda>) -> Result<()> {
    let labels = &problem.labels;
    let [single, multi] = labels.addresses();
    let (lanes, blocks) = labels.division(labels.counts[0].max(labels.counts[1]));
    let [validation, test, classes] = [labels.counts[0], labels.counts[1], labels.classes].map(|n| n as u32);
    let record = place.record.data.slice(place.example * WIDTH..(place.example + 1) * WIDTH);
    let config = LaunchConfig { grid_dim: (blocks as u32, 2, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    launch!(
        cuda,
        &LABELS,
        &[],
        "evaluate",
        config,
        &labels.validation,
        &labels.test,
        &validation,
        &test,
        &classes,
        &lanes,
        &single,
        &multi,
        &logits.0,
        &labels.partial,
        &labels.tickets,
        &record
    )
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    vec![(&LABELS, vec![])]
}
