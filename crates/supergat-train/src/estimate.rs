//! Estimate of the memory of a training, before it starts.

use crate::baselines;
use crate::device::DeviceChoice;
use crate::resources::Resources;
use crate::settings::Settings;
use crate::training::{prepare, prepare_on};
use serde::Serialize;
use supergat_core::{Architecture, Example, Features, ModelKind, Network, Result};
use supergat_cpu::Model;
use supergat_data::Dataset;
use supergat_numerics::node_columns;

/// Memory of a training in bytes. On a GPU, parameters and workspace are in the memory of the GPU.
///
/// See [`estimate()`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Memory in use before training, the dataset included.
    pub loaded: u64,
    /// Parameters, gradients and optimiser state of one run.
    pub parameters: u64,
    /// Workspace of the forward and backward passes of one run; 0 if they run on a GPU.
    pub workspace: u64,
    /// Number of runs in parallel.
    pub runs_at_once: u64,
    /// Predictions and attention.
    pub results: u64,
    /// Peak memory.
    pub peak: u64,
    /// Memory of the GPU; `None` if the CPU trains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuEstimate>,
}

/// Memory of a GPU that a training needs, in bytes.
///
/// ```
/// use supergat_train::{DeviceChoice, Resources, Settings, estimate};
/// let dataset = supergat_data::load("random-graph:nodes=200,degree=8,features=16,classes=4").unwrap();
/// let settings = Settings::general("supergat-mx".parse().unwrap());
/// let resources = Resources { device: DeviceChoice::Cuda(0), ..Resources::from(2) };
/// let gpu = estimate(&dataset, &settings, 3, resources, 0, (1000, 2000))?.gpu.unwrap();
/// assert_eq!(gpu.runs_at_once, 3);
/// assert!(gpu.peak > 3 * (gpu.dataset + gpu.parameters + gpu.workspace));
/// assert_eq!(gpu.with_workspace(gpu.workspace), gpu);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GpuEstimate {
    /// Graph, features and labels of one run.
    pub dataset: u64,
    /// Parameters, gradients and optimiser state of one run.
    pub parameters: u64,
    /// Workspace of the forward and backward passes of one run.
    pub workspace: u64,
    /// Number of runs in parallel.
    pub runs_at_once: u64,
    /// Peak memory.
    pub peak: u64,
}

impl GpuEstimate {
    /// Returns the estimate with another workspace, such as that of [`gpu_workspace`].
    pub fn with_workspace(self, workspace: u64) -> Self {
        let run = (self.dataset + self.parameters).saturating_add(workspace).saturating_add(GPU_RUN);
        Self { workspace, peak: self.runs_at_once.saturating_mul(run), ..self }
    }
}

/// Size of parameters, in bytes, above which the workspace is not counted.
const MANY_PARAMETERS: u64 = 1 << 34;

/// Memory of threads and small lists of one run; relevant for small graphs only.
const RUN: u64 = 2 << 20;
/// Code and data that the program loads while it runs.
const PROGRAM: u64 = 1 << 20;

/// Memory of the driver of a GPU in this process; an upper bound.
const DRIVER: u64 = 512 << 20;
/// Memory of a GPU for compiled kernels and for cuBLAS in two streams, per run.
const GPU_RUN: u64 = 80 << 20;

/// Estimates the memory of `seeds` runs and of writing `attention_rows` rows of attention. `loaded` and `peak`
/// are the current and the peak memory use of the process, in bytes.
///
/// No GPU is opened: its workspace is assumed to be that of the CPU. [`gpu_workspace`] counts it.
///
/// ```
/// use supergat_train::{Resources, Settings, estimate};
/// let dataset = supergat_data::load("random-graph:nodes=200,degree=8,features=16,classes=4").unwrap();
/// let settings = Settings::general("supergat-mx".parse().unwrap());
/// let one = estimate(&dataset, &settings, 1, Resources::from(4), 0, (1000, 2000))?;
/// let four = estimate(&dataset, &settings, 4, Resources::from(4), 0, (1000, 2000))?;
/// assert_eq!((one.loaded, one.runs_at_once, four.runs_at_once), (1000, 1, 4));
/// // Every run has its own parameters and workspace.
/// assert!(four.peak - one.peak >= 3 * (one.parameters + one.workspace));
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub fn estimate(
    dataset: &Dataset,
    settings: &Settings,
    seeds: usize,
    resources: Resources,
    attention_rows: usize,
    (loaded, peak): (u64, u64),
) -> Result<Estimate> {
    let resources = resources.resolved();
    let architecture = settings.architecture(dataset);
    if !settings.model.is_network() {
        return baseline(dataset, settings, seeds, &resources, (loaded, peak));
    }
    architecture.check()?;
    let parameters = architecture.parameter_bytes::<f32>();
    let (mut workspace, mut attention, mut renumbered) = (0, 0, 0);
    if parameters <= MANY_PARAMETERS {
        let prepared = prepare(dataset, settings)?;
        renumbered = prepared.renumbered_bytes();
        if !architecture.network.self_loops {
            // Attention reads a copy of the lists without self-loops.
            renumbered += dataset.examples.iter().map(|example| example.graph.bytes()).sum::<u64>();
        }
        let model = Model::<f32>::zeros(architecture)?;
        workspace = model.workspace_bytes(&prepared, true)?;
        if attention_rows > 0 {
            // Memory of another forward pass, and a coefficient and a logit per row.
            attention = model.workspace_bytes(&prepared, false)? + 8 * attention_rows as u64;
        }
    }
    let runs_at_once = resources.workers(dataset.nodes(), seeds) as u64;
    let (mut gpu, mut copies, mut driver) = (None, 0, 0);
    if let DeviceChoice::Cuda(_) = resources.device {
        let placed = dataset.examples.iter().map(|example| placed(example, &architecture)).sum();
        let estimate = GpuEstimate { dataset: placed, parameters, workspace: 0, runs_at_once, peak: 0 };
        gpu = Some(estimate.with_workspace(workspace));
        copies = dataset.examples.iter().map(|example| copies_for_gpu(example, &architecture)).sum();
        (workspace, driver) = (0, DRIVER);
    }
    let logits = (dataset.nodes() * dataset.classes() * size_of::<f32>()) as u64;
    let results = runs_at_once * logits + attention;
    let training = runs_at_once * (parameters + workspace + RUN + logits + copies) + renumbered + PROGRAM + driver;
    // Attention is computed after the runs have freed their memory.
    let peak = peak.max(loaded + training.max(parameters + results + renumbered + driver));
    Ok(Estimate { loaded, parameters, workspace, runs_at_once, results, peak, gpu })
}

/// Estimates the memory of models that are not networks.
fn baseline(
    dataset: &Dataset,
    settings: &Settings,
    seeds: usize,
    resources: &Resources,
    (loaded, peak): (u64, u64),
) -> Result<Estimate> {
    let mut renumbered = 0;
    let [parameters, workspace] = match settings.system() {
        Some(options) => {
            let prepared = prepare(dataset, settings)?;
            renumbered = prepared.renumbered_bytes();
            options.bytes(&prepared)?
        }
        None if settings.model == ModelKind::Trees => [0, trees(dataset, settings, resources.threads)],
        None => [0, propagation(dataset)],
    };
    let runs_at_once = resources.threads.clamp(1, seeds.max(1)) as u64;
    let results = runs_at_once * (dataset.nodes() * dataset.classes() * size_of::<f32>()) as u64;
    // Each run of a system prepares the dataset, so each has its own copy with internal numbers.
    let run = parameters + workspace + renumbered + RUN;
    let peak = peak.max(loaded + runs_at_once * run + results + PROGRAM);
    Ok(Estimate { loaded, parameters, workspace, runs_at_once, results, peak, gpu: None })
}

/// Returns the number of bytes of label propagation: links with values, and a few rows of numbers per node.
fn propagation(dataset: &Dataset) -> u64 {
    const ROWS: usize = 5;
    let edges: usize = dataset.examples.iter().map(|example| example.graph.edges()).sum();
    let rows = dataset.nodes() * dataset.classes().next_multiple_of(8);
    ((edges + ROWS * rows) * size_of::<f64>()) as u64
}

/// Returns the number of bytes of growing boosted trees: features as rows, columns of training and validation nodes, and
/// for every class at a time, the bins of the columns and the histograms of the nodes of a level.
fn trees(dataset: &Dataset, settings: &Settings, threads: usize) -> u64 {
    const BINS: usize = 256;
    let width = baselines::tree_width(dataset.features(), settings);
    let columns = node_columns::count(width) as u64;
    let nodes = |list: fn(&Example<f32>) -> usize| dataset.examples.iter().map(list).sum::<usize>();
    let train = nodes(|example| example.train.len());
    let rows = (train + nodes(|example| example.validation.len())) as u64;
    let is_copied = width < dataset.features()
        || dataset.examples.iter().any(|example| matches!(*example.features, Features::Sparse(_)));
    let copied = if is_copied { (size_of::<f32>() * dataset.nodes() * width) as u64 } else { 0 };
    // Columns as rows of `f32` and then as columns of `f64`.
    let table = rows * columns * (size_of::<f32>() + size_of::<f64>()) as u64;
    let at_once = threads.clamp(1, dataset.classes().max(1)) as u64;
    let depth = settings.trees().tree_depth.min(u32::BITS as usize - 1) as u32;
    // A node has some weight, so no level has more nodes than rows. Two levels exist at a time.
    let level = (2_u64 << depth).min(2 * train as u64);
    let histograms = level * columns * (BINS.min(train + 1) * 2 * size_of::<f32>()) as u64;
    copied + table + at_once * (rows * columns * size_of::<u16>() as u64 + histograms)
}

/// Counts the workspace of one run on a GPU, in bytes. The dataset is placed on the GPU, but no workspace is
/// allocated. Returns `None` if the CPU trains.
pub fn gpu_workspace(dataset: &Dataset, settings: &Settings, resources: &Resources) -> Result<Option<u64>> {
    let Some(cuda) = resources.cuda()? else { return Ok(None) };
    let prepared = prepare_on(&cuda, dataset, settings)?;
    Network::zeros_on(&cuda, settings.architecture(dataset))?.workspace_bytes(&prepared, true).map(Some)
}

/// Returns the number of bytes of an example in the memory of a GPU, for training.
fn placed(example: &Example<f32>, architecture: &Architecture) -> u64 {
    let (graph, features) = (&example.graph, &example.features);
    let (nodes, edges) = (graph.nodes() as u64, graph.edges() as u64);
    // Offsets and neighbours, and the position of each edge in the other lists.
    let lists = 4 * (nodes + edges);
    let graph = if graph.is_symmetric() { lists } else { 2 * lists } + 4 * edges;
    let stored = features.stored() as u64;
    // Sparse values are stored by rows and by columns, with indices.
    let values = match **features {
        Features::Dense { .. } => 4 * stored,
        Features::Sparse(_) => 20 * stored + 4 * nodes,
    };
    // Dense features are copied for dropout if cuBLAS multiplies them. GPUs before Ampere also copy hidden rows.
    let columns = if let Features::Dense { columns, .. } = **features { columns } else { 0 };
    let is_copied = architecture.network.dropout > 0.0 && !columns.is_multiple_of(8);
    let dropped = if is_copied { 4 * nodes * columns as u64 } else { 0 };
    // Attention reads all weights and features of edges, convolutions the weights by target and by source.
    let all = example.edges.as_ref().map_or(0, |edges| edges.bytes());
    let attributes = match architecture.model {
        ModelKind::Attention { .. } => all,
        ModelKind::Convolution(_) => 8 * weights_of_edges(example),
        _ => 0,
    };
    let places = if architecture.reads_labels() { 4 * nodes } else { 0 };
    let other = example.bytes() - example.graph.bytes() - features.bytes() - all + nodes + places;
    graph + values + dropped + attributes + other
}

/// Returns the number of weights of edges; none if all are 1.
fn weights_of_edges(example: &Example<f32>) -> u64 {
    example.edges.as_ref().map_or(0, |edges| edges.weights().len() as u64)
}

/// Returns the number of bytes of the lists that are made in the memory of the host to be copied to a GPU.
fn copies_for_gpu(example: &Example<f32>, architecture: &Architecture) -> u64 {
    let sparse = if let Features::Sparse(_) = *example.features { 12 * example.features.stored() } else { 0 };
    // ln of the weights of edges for attention, their order by target and by source for convolutions.
    let weights = match architecture.model {
        ModelKind::Attention { .. } => 4 * weights_of_edges(example),
        ModelKind::Convolution(_) => 8 * weights_of_edges(example),
        _ => 0,
    };
    (4 * (example.graph.nodes() + example.graph.edges()) + sparse) as u64 + weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::EdgeAttributes;

    fn of(spec: &str, settings: &Settings, seeds: usize, threads: usize) -> Estimate {
        estimate(&supergat_data::load(spec).unwrap(), settings, seeds, Resources::from(threads), 0, (1000, 2000))
            .unwrap()
    }

    #[test]
    fn grows_with_graph_model_and_runs() {
        let settings = Settings::general("supergat-mx".parse().unwrap());
        let small = of("random-graph:nodes=2000,degree=8,features=16,classes=4", &settings, 1, 2);
        assert_eq!((small.loaded, small.runs_at_once), (1000, 1));
        assert_eq!(small.peak, 1000 + small.parameters + small.workspace + small.results + RUN + PROGRAM);
        let large = of("random-graph:nodes=4000,degree=8,features=16,classes=4", &settings, 1, 2);
        let ratio = large.workspace as f64 / small.workspace as f64;
        assert!((1.9..2.1).contains(&ratio), "{ratio}");
        assert_eq!(large.parameters, small.parameters);
        let several = of("random-graph:nodes=2000,degree=8,features=16,classes=4", &settings, 5, 2);
        assert_eq!(several.peak - small.peak, small.parameters + small.workspace + small.results + RUN);
        let wide = settings.with(|s| s.network.hidden = 16);
        assert!(of("random-graph:nodes=2000,degree=8,features=16,classes=4", &wide, 1, 1).workspace > small.workspace);
    }

    #[test]
    fn a_gpu_has_workspace_and_a_dataset_per_run() {
        let dataset = supergat_data::load("random-graph:nodes=2000,degree=8,features=16,classes=4").unwrap();
        let settings = Settings::general("supergat-mx".parse().unwrap());
        let resources = Resources { device: DeviceChoice::Cuda(0), ..Resources::from(2) };
        let cpu = estimate(&dataset, &settings, 1, Resources::from(2), 0, (1000, 2000)).unwrap();
        let one = estimate(&dataset, &settings, 1, resources, 0, (1000, 2000)).unwrap();
        let (gpu, nodes, edges) = (one.gpu.unwrap(), 2000, dataset.examples[0].graph.edges() as u64);
        assert_eq!((one.workspace, cpu.gpu), (0, None));
        assert_eq!((gpu.parameters, gpu.workspace), (cpu.parameters, cpu.workspace));
        // Graph and features.
        let largest = 4 * (nodes + 2 * edges) + 4 * 16 * nodes;
        assert!(gpu.dataset >= largest && gpu.dataset < largest + 20 * nodes, "{gpu:?}");
        let five = estimate(&dataset, &settings, 5, resources, 0, (1000, 2000)).unwrap().gpu.unwrap();
        assert_eq!((five.runs_at_once, five.peak), (5, 5 * gpu.peak));
        let large = gpu.with_workspace(1 << 40);
        assert_eq!(large.peak - gpu.peak, (1 << 40) - gpu.workspace);
    }

    #[test]
    fn a_gpu_has_the_attributes_of_edges_that_a_model_reads() {
        let plain = supergat_data::load("random-graph:nodes=2000,degree=8,features=16,classes=4").unwrap();
        let edges = plain.examples[0].graph.edges();
        let attributes =
            EdgeAttributes::from_parts(&plain.examples[0].graph, vec![0.5; edges], 3, vec![0.1; 3 * edges]);
        let mut dataset = plain.clone();
        dataset.examples[0] = dataset.examples[0].clone().with_edges(attributes.unwrap()).unwrap();
        let resources = Resources { device: DeviceChoice::Cuda(0), ..Resources::from(2) };
        // Attention has ln of the weight and three features of an edge, a convolution two copies of its weight.
        for (model, numbers) in [("supergat-mx", 4), ("gcn", 2), ("mlp", 0)] {
            let settings = Settings::general(model.parse().unwrap());
            let of = |dataset| estimate(dataset, &settings, 1, resources, 0, (1000, 2000)).unwrap().gpu.unwrap();
            let difference = of(&dataset).dataset - of(&plain).dataset;
            assert_eq!(difference, 4 * numbers * edges as u64, "{model}");
        }
        // Messages need sums of features per node and head, and their gradients.
        let of = |edge_messages| {
            let settings =
                Settings::general("supergat-mx".parse().unwrap()).with(|s| s.network.edge_messages = edge_messages);
            estimate(&dataset, &settings, 1, resources, 0, (1000, 2000)).unwrap().gpu.unwrap()
        };
        assert!(of(true).workspace >= of(false).workspace + 2 * 2 * 4 * 3 * 8 * 2000);
    }

    #[test]
    fn a_gpu_has_both_projections_of_gatv2() {
        let dataset = supergat_data::load("random-graph:nodes=2000,degree=8,features=16,classes=4").unwrap();
        let resources = Resources { device: DeviceChoice::Cuda(0), ..Resources::from(2) };
        let of = |model: &str| {
            let settings = Settings::general(model.parse().unwrap()).with(|s| {
                s.network.hidden = 8;
                s.network.heads = 8;
                s.network.output_heads = 1;
            });
            estimate(&dataset, &settings, 1, resources, 0, (1000, 2000)).unwrap().gpu.unwrap()
        };
        let (one, two) = (of("gat-dp"), of("gatv2"));
        // A further row of 64 numbers per node in the hidden layer and of 8 in the last one, and a gradient of 64.
        assert!(two.workspace >= one.workspace + 4 * (64 + 8 + 64) * 2000, "{one:?} {two:?}");
        assert_eq!(two.dataset, one.dataset);
        assert!(two.parameters > one.parameters);
    }

    #[test]
    fn counts_huge_models_without_allocating() {
        let settings = Settings::general("gat-go".parse().unwrap()).with(|s| {
            s.network.hidden = 4096;
            s.network.layers = 60;
        });
        let huge = of("random-graph:nodes=200,degree=8,features=16,classes=4", &settings, 1, 1);
        assert!(huge.parameters > MANY_PARAMETERS && huge.workspace == 0);
    }
}
