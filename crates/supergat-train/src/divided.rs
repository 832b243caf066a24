//! Datasets that are divided into parts, and trained by all processes together.

use crate::settings::Settings;
use std::sync::Arc;
use supergat_cluster::peers::{Peers, all_to_all, gather};
use supergat_cluster::{Cluster, Partition, Share, ShareEdges, ShareRows};
use supergat_core::example::ExampleShape;
use supergat_core::hash::Fnv;
use supergat_core::{Direction, EdgeAttributes, Error, Example, Features, Graph, Labels, Prepared, Result};
use supergat_cpu::Model;
use supergat_data::converted::{PartitionedFile, PartitionedGraph};
use supergat_data::{ClassWeight, Dataset};

/// Parts of a group: their nodes visit neighbours in the same order of parts. A process should have about as many
/// parts, so a graph for n processes should have 8 n parts.
const PARTS_OF_GROUP: usize = 8;

/// The share of this process of a dataset that is divided into parts.
///
/// All processes train together, and every result has the same bits for any number of processes:
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::Arc;
/// use supergat_core::NodeOrder;
/// use supergat_cluster::peers::{Alone, Peers, ThreadPeers};
/// use supergat_train::{Divided, Settings};
/// let mut dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8")?;
/// let order = NodeOrder::new((0..540).rev().collect(), vec![0, 150, 310, 540]).unwrap();
/// dataset.examples[0].order = Some(order.into());
/// let settings = Settings::general("supergat-sd".parse().unwrap()).with(|s| s.training.max_epochs = 3);
/// let train = |peers: Arc<dyn Peers>| {
///     let divided = Divided::of(&dataset, peers).unwrap().expect("it has parts");
///     divided.run_seeds(&settings, &[7], 1, None, &|_| ControlFlow::Continue(())).unwrap()
/// };
/// let alone = train(Arc::new(Alone));
/// let three = std::thread::scope(|scope| {
///     let start = |peers: ThreadPeers| scope.spawn(|| train(Arc::new(peers)));
///     let threads: Vec<_> = ThreadPeers::new(3).into_iter().map(start).collect();
///     threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
/// });
/// assert_eq!(three[2].runs[0].history, alone.runs[0].history);
/// // The first process has the logits of all nodes, in the given order of the nodes.
/// assert_eq!(three[0].logits, alone.logits);
/// # Ok::<(), supergat_data::Error>(())
/// ```
#[derive(Debug)]
pub struct Divided {
    peers: Arc<dyn Peers>,
    outline: Dataset,
    shares: Vec<Share<f32>>,
    /// Outer numbers of the nodes of each share.
    outer: Vec<Vec<u32>>,
    hash: String,
}

impl Divided {
    /// Takes the share of this process from a whole dataset. Returns `None` if the dataset is not divided into parts.
    pub fn of(dataset: &Dataset, peers: Arc<dyn Peers>) -> Result<Option<Self>> {
        if !is_divided(dataset) {
            return Ok(None);
        }
        let (mut shares, mut outer) = (Vec::new(), Vec::new());
        for example in &dataset.examples {
            let order = example.order.as_ref().expect("checked above");
            let partition = partition(order.bounds().to_vec(), &*peers)?;
            let internal = example.internal()?;
            let share = Share::of(internal.as_ref().unwrap_or(example), &partition, peers.rank())?;
            let own = share.edges().global();
            outer.push(order.outer()[own.start as usize..own.end as usize].to_vec());
            shares.push(share);
        }
        let columns = [dataset.features(), dataset.edge_features()];
        let labels = dataset.examples[0].labels.is_multi();
        let mut outline = outline(&dataset.name, &dataset.class_names, columns, labels, shares.len())?;
        outline.preset.clone_from(&dataset.preset);
        Ok(Some(Self::new(peers, outline, shares, outer)?))
    }

    /// Reads the share of this process from a file.
    pub fn read(file: &PartitionedFile, peers: Arc<dyn Peers>) -> supergat_data::Result<Self> {
        let core = |source| supergat_data::Error::Core { path: file.path().to_owned(), source };
        let (mut shares, mut outer) = (Vec::new(), Vec::new());
        for k in 0..file.graphs() {
            let graph = file.graph(k);
            let partition = partition(graph.bounds().to_vec(), &*peers).map_err(core)?;
            let own = partition.nodes_of_process(peers.rank());
            outer.push(graph.order(own.start as usize..own.end as usize)?);
            shares.push(share(&graph, partition, peers.rank())?);
        }
        let (labels, columns) = (file.is_multi_label(), [file.features(), file.edge_features()]);
        let mut outline = outline(file.name(), file.class_names(), columns, labels, shares.len()).map_err(core)?;
        outline.preset = file.preset().map(str::to_owned);
        Self::new(peers, outline, shares, outer).map_err(core)
    }

    fn new(peers: Arc<dyn Peers>, outline: Dataset, shares: Vec<Share<f32>>, outer: Vec<Vec<u32>>) -> Result<Self> {
        let hash = hash(&*peers, &outline, &shares, &outer)?;
        Ok(Self { peers, outline, shares, outer, hash })
    }

    /// Returns the dataset with weights of its classes in the loss. Fails if nodes may have several classes, or for an
    /// unknown class.
    pub fn weigh_classes(self, choice: &ClassWeight) -> Result<Self> {
        let own: Vec<Vec<u64>> = self.shares.iter().map(Share::training_classes).collect();
        let counts = add_lists(&gather(&*self.peers, &add_lists(&own))?);
        let weights = choice.weights(&self.outline.class_names, &counts).map_err(|error| Error::Hyperparameter {
            name: "class_weight",
            value: choice.to_string(),
            reason: error.to_string(),
        })?;
        let Some(weights) = weights else { return Ok(self) };
        let weigh = |share: Share<f32>| share.with_class_weights(weights.clone());
        let shares = self.shares.into_iter().map(weigh).collect::<Result<_>>()?;
        Self::new(self.peers, self.outline, shares, self.outer)
    }

    /// Returns the processes.
    pub fn peers(&self) -> &dyn Peers {
        &*self.peers
    }

    /// Returns a dataset with the name, the classes and the number of features, but without nodes.
    pub fn outline(&self) -> &Dataset {
        &self.outline
    }

    /// Returns a hash of everything in the dataset that results depend on.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the shares of this process, one per graph.
    pub fn shares(&self) -> &[Share<f32>] {
        &self.shares
    }

    /// Prepares training; all runs with these settings share the result.
    pub(crate) fn prepare(&self, settings: &Settings) -> Result<Prepared<Cluster<f32>>> {
        let device = Cluster::over(Arc::clone(&self.peers));
        Prepared::on(&device, &self.shares, settings.architecture(&self.outline), settings.training())
    }

    /// Returns the logits of all nodes, one list per graph, in the first process; none in the others.
    pub fn logits(&self, model: &Model<f32>) -> Result<Vec<Vec<f32>>> {
        let network = model.to_device(&Cluster::over(Arc::clone(&self.peers)))?;
        let own = self.shares.iter().map(|share| network.predict(share)).collect::<Result<Vec<_>>>()?;
        self.collect(&own)
    }

    /// Collects rows of own nodes in the first process, in the outer order of the nodes.
    pub(crate) fn collect(&self, own: &[Vec<f32>]) -> Result<Vec<Vec<f32>>> {
        let mut all = Vec::new();
        for (share, (rows, outer)) in self.shares.iter().zip(own.iter().zip(&self.outer)) {
            let to_first = |list: Vec<u8>| {
                let mut lists = vec![Vec::new(); self.peers.count()];
                lists[0] = list;
                lists
            };
            let numbers = all_to_all(&*self.peers, &to_first(rows.iter().flat_map(|x| x.to_le_bytes()).collect()))?;
            let places = all_to_all(&*self.peers, &to_first(outer.iter().flat_map(|x| x.to_le_bytes()).collect()))?;
            let classes = share.classes().0;
            if self.peers.rank() > 0 {
                all.push(Vec::new());
                continue;
            }
            let mut rows = vec![0.0; share.edges().partition.nodes() * classes];
            let places = places.iter().flatten().copied().collect::<Vec<u8>>();
            let numbers = numbers.iter().flatten().copied().collect::<Vec<u8>>();
            let numbers: Vec<f32> = numbers.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
            for (place, from) in places.as_chunks().0.iter().zip(numbers.chunks_exact(classes)) {
                let place = u32::from_le_bytes(*place) as usize;
                let to = rows.get_mut(place * classes..(place + 1) * classes).ok_or_else(wrong_order)?;
                to.copy_from_slice(from);
            }
            all.push(rows);
        }
        Ok(all)
    }
}

/// Returns whether a dataset is divided into parts.
pub(crate) fn is_divided(dataset: &Dataset) -> bool {
    let has_parts = |example: &Example<f32>| example.order.as_ref().is_some_and(|order| order.parts() > 1);
    !dataset.examples.is_empty() && dataset.examples.iter().all(has_parts)
}

/// Adds lists of the same length.
fn add_lists(lists: &[Vec<u64>]) -> Vec<u64> {
    let mut sum = vec![0; lists.first().map_or(0, Vec::len)];
    lists.iter().for_each(|list| sum.iter_mut().zip(list).for_each(|(sum, number)| *sum += number));
    sum
}

fn wrong_order() -> Error {
    Error::Peers { reason: "the order of the nodes has a node that does not exist".into() }
}

fn partition(bounds: Vec<u32>, peers: &dyn Peers) -> Result<Arc<Partition>> {
    let groups = (bounds.len() - 1).div_ceil(PARTS_OF_GROUP);
    Ok(Arc::new(Partition::new(bounds, groups, peers.count())?))
}

/// Reads the rows of a process.
fn share(graph: &PartitionedGraph<'_>, partition: Arc<Partition>, process: usize) -> supergat_data::Result<Share<f32>> {
    let own = partition.nodes_of_process(process);
    let nodes = own.start as usize..own.end as usize;
    let incoming = graph.incoming(nodes.clone())?;
    let outgoing = if graph.is_symmetric() { None } else { Some(graph.outgoing(nodes.clone())?.lists) };
    let local = |list: Vec<u32>| list.into_iter().map(|node| node - own.start).collect();
    let edges = ShareEdges {
        partition,
        process,
        all_edges: graph.edges() as u64,
        first_edge: incoming.first_edge,
        incoming: incoming.lists,
        outgoing,
        place_at_target: graph.place_at_target(nodes.clone())?,
    };
    Ok(Share::new(ShareRows {
        edges,
        features: graph.features(nodes.clone())?,
        first_feature: graph.features_before(nodes.start)?,
        edge_attributes: graph.edge_attributes(nodes.clone())?,
        labels: graph.labels(nodes.clone())?,
        splits: graph.splits(nodes)?.map(local),
        split_sizes: graph.split_sizes()?,
    }))
}

/// Returns a dataset without nodes; `columns` are the numbers of features per node and per edge.
fn outline(
    name: &str,
    class_names: &[String],
    [columns, edge_columns]: [usize; 2],
    multi_label: bool,
    graphs: usize,
) -> Result<Dataset> {
    let classes = class_names.len();
    let labels = match multi_label {
        true => Labels::Multi { classes, of: Vec::new() },
        false => Labels::Single { classes, of: Vec::new() },
    };
    let graph = Graph::from_edges(0, &[], Direction::Undirected)?;
    let mut example = Example::new(graph, Features::dense(0, columns, Vec::new())?, labels, Default::default())?;
    if edge_columns > 0 {
        example = example.with_edges(EdgeAttributes::of_edges(0, Vec::new(), edge_columns, Vec::new())?)?;
    }
    Ok(Dataset {
        name: name.into(),
        examples: vec![example; graphs],
        class_names: class_names.to_vec(),
        node_ids: None,
        listed_links: 0,
        notes: Vec::new(),
        schema: None,
        link_schema: None,
        splits: Vec::new(),
        origin: None,
        preset: None,
    })
}

/// Returns a hash of everything that results depend on: the hash of the hashes of all parts.
fn hash(peers: &dyn Peers, outline: &Dataset, shares: &[Share<f32>], outer: &[Vec<u32>]) -> Result<String> {
    let mut all = Fnv::default();
    all.add(outline.class_names.join("\n").as_bytes());
    for (share, outer) in shares.iter().zip(outer) {
        let (rows, edges) = (share.rows(), share.edges());
        let first = edges.global().start;
        let own = edges.partition.parts_of_process(edges.process).map(|part| {
            let nodes = edges.partition.nodes_of_part(part);
            let range = (nodes.start - first) as usize..(nodes.end - first) as usize;
            let mut hash = Fnv::default();
            hash.add_numbers(&outer[range.clone()]);
            for row in range.clone() {
                hash.add_numbers(edges.incoming.of(row));
                hash.add(b"\n");
                match &rows.features {
                    Features::Dense { columns, values, .. } => {
                        hash.add_numbers(&values[row * columns..(row + 1) * columns]);
                    }
                    Features::Sparse(matrix) => {
                        hash.add_numbers(matrix.row(row).0);
                        hash.add_numbers(matrix.row(row).1);
                    }
                }
            }
            if let Some(attributes) = &rows.edge_attributes {
                let [start, end] = [range.start, range.end].map(|row| edges.incoming.offsets[row] as usize);
                hash.add(b"edges");
                if !attributes.weights().is_empty() {
                    hash.add_numbers(&attributes.weights()[start..end]);
                }
                hash.add_numbers(&attributes.features()[start * attributes.width()..end * attributes.width()]);
            }
            match &rows.labels {
                Labels::Single { of, .. } => hash.add_numbers(&of[range.clone()]),
                Labels::Multi { classes, of } => hash.add(&of[range.start * classes..range.end * classes]),
            }
            for list in &rows.splits {
                let within = list.iter().filter(|node| range.contains(&(**node as usize)));
                hash.add_numbers(&within.map(|node| node - range.start as u32).collect::<Vec<_>>());
                hash.add(b"\n");
            }
            hash.digits().into_bytes()
        });
        let own: Vec<u8> = own.flatten().collect();
        gather(peers, &own)?.iter().for_each(|digits| all.add(digits));
        all.add_numbers(&[edges.all_edges, edges.partition.nodes() as u64, edges.partition.parts() as u64]);
        if let Some(weights) = share.class_weights() {
            all.add(b"classes");
            all.add_numbers(weights);
        }
    }
    Ok(all.digits())
}
