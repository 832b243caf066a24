//! The share of one process: the rows of its nodes, and their edges.

use super::partition::Partition;
use std::ops::Range;
use std::sync::Arc;
use supergat_core::device::lists::{places_without_loops, without_loops};
use supergat_core::example::{ExampleShape, check_class_weights};
use supergat_core::graph::Adjacency;
use supergat_core::{EdgeAttributes, Example, Features, Labels, Real, Result, SparseMatrix};

/// The rows of an example that belong to one process.
///
/// ```
/// use std::sync::Arc;
/// use supergat_cluster::{Partition, Share};
/// use supergat_core::example::ExampleShape;
/// use supergat_core::{Direction, Example, Features, Graph, Labels};
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]])?;
/// let partition = Arc::new(Partition::even(4, 2, 2, 2)?);
/// let share = Share::of(&example, &partition, 1)?;
/// assert_eq!((share.nodes(), share.split_sizes()), (2, [2, 1, 1]));
/// assert_eq!(share.edges().outgoing().of(0), [1, 2, 3]);
/// assert_eq!(share.training_classes(), [0, 1]);
/// assert!(share.with_class_weights([1.0, 2.0, 3.0]).is_err(), "there are two classes");
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Share<T> {
    rows: Arc<Rows<T>>,
    class_weights: Option<Arc<[f64]>>,
}

/// Contents of a [`Share`]. Nodes of this process are numbered from 0.
#[derive(Debug)]
pub struct Rows<T> {
    /// Edges.
    pub edges: Edges,
    /// Features.
    pub features: Features<T>,
    /// Number of stored features of processes before this one.
    pub first_feature: u64,
    /// Weights and features of the incoming edges, if the graph has some.
    pub edge_attributes: Option<EdgeAttributes<T>>,
    /// Labels.
    pub labels: Labels,
    /// Training, validation and test nodes, in ascending order.
    pub splits: [Vec<u32>; 3],
    /// Numbers of training, validation and test nodes of the whole example.
    pub split_sizes: [usize; 3],
}

/// The edges of the nodes of one process. Neighbours have the numbers of the whole graph.
#[derive(Debug)]
pub struct Edges {
    /// Division of the graph.
    pub partition: Arc<Partition>,
    /// Number of the process.
    pub process: usize,
    /// Number of edges of the whole graph, self-loops included.
    pub all_edges: u64,
    /// Number of edges of processes before this one.
    pub first_edge: u64,
    /// Sources of the edges to nodes of this process.
    pub incoming: Adjacency,
    /// Targets of the edges from nodes of this process; `None` on a symmetric graph, where they are the sources.
    pub outgoing: Option<Adjacency>,
    /// Place of each outgoing edge among the incoming edges of its target.
    pub place_at_target: Vec<u32>,
}

impl Edges {
    /// Returns the targets of the edges from nodes of this process.
    pub fn outgoing(&self) -> &Adjacency {
        self.outgoing.as_ref().unwrap_or(&self.incoming)
    }

    /// Returns the nodes of this process, in the numbers of the whole graph.
    pub fn global(&self) -> Range<u32> {
        self.partition.nodes_of_process(self.process)
    }

    /// Returns the rows of this process's nodes of some parts.
    pub(super) fn rows_of_parts(&self, parts: Range<usize>) -> Range<usize> {
        let (first, partition) = (self.global().start, &self.partition);
        let bound = |node: u32| (node - first) as usize;
        bound(partition.nodes_of_part(parts.start).start)..bound(partition.nodes_of_part(parts.end - 1).end)
    }

    /// Returns the edges without self-loops, of which each node has one.
    pub(super) fn without_loops(&self) -> Self {
        let first = self.global().start;
        Self {
            partition: Arc::clone(&self.partition),
            process: self.process,
            all_edges: self.all_edges - self.partition.nodes() as u64,
            first_edge: self.first_edge - u64::from(first),
            incoming: without_loops(&self.incoming, first as usize),
            outgoing: self.outgoing.as_ref().map(|lists| without_loops(lists, first as usize)),
            place_at_target: places_without_loops(self.outgoing(), &self.place_at_target, first),
        }
    }

    /// Returns the number of edges from nodes of this process to nodes of others.
    fn ghosts(&self) -> usize {
        let own = self.global();
        self.outgoing().neighbours.iter().filter(|target| !own.contains(target)).count()
    }

    /// Returns the place of each outgoing edge in lists of edges.
    pub(super) fn places_of_outgoing(&self) -> impl Iterator<Item = u64> {
        let (own, mut ghost) = (self.global(), self.first_ghost() as u64);
        let targets = self.outgoing().neighbours.iter().zip(&self.place_at_target);
        targets.map(move |(&target, &place)| match own.contains(&target) {
            true => self.incoming.offsets[(target - own.start) as usize] + u64::from(place),
            false => {
                ghost += 1;
                ghost - 1
            }
        })
    }

    /// Returns the place of the first edge to a node of another process in lists of edges: after those to nodes of
    /// this process, in a new byte of bits.
    pub(super) fn first_ghost(&self) -> usize {
        self.incoming.neighbours.len().next_multiple_of(8)
    }
}

impl<T: Real> Share<T> {
    /// Takes the rows of a process from a whole example.
    pub fn of(example: &Example<T>, partition: &Arc<Partition>, process: usize) -> Result<Self> {
        let nodes = partition.nodes_of_process(process);
        let (graph, rows) = (&*example.graph, nodes.start as usize..nodes.end as usize);
        let outgoing = graph.outgoing();
        let out_edges = outgoing.offsets[rows.start] as usize..outgoing.offsets[rows.end] as usize;
        let incoming = graph.incoming();
        let in_edges = incoming.offsets[rows.start] as usize..incoming.offsets[rows.end] as usize;
        let (features, first_feature) = feature_rows(&example.features, rows.clone())?;
        let labels = match &example.labels {
            Labels::Single { classes, of } => Labels::Single { classes: *classes, of: of[rows.clone()].to_vec() },
            Labels::Multi { classes, of } => {
                Labels::Multi { classes: *classes, of: of[rows.start * classes..rows.end * classes].to_vec() }
            }
        };
        let own = |list: &Vec<u32>| {
            let mut own: Vec<u32> = list.iter().filter(|n| nodes.contains(n)).map(|n| n - nodes.start).collect();
            own.sort_unstable();
            own
        };
        let edges = Edges {
            partition: Arc::clone(partition),
            process,
            all_edges: graph.edges() as u64,
            first_edge: incoming.offsets[rows.start],
            incoming: lists_of(incoming, rows.clone()),
            outgoing: (!graph.is_symmetric()).then(|| lists_of(outgoing, rows)),
            place_at_target: graph.place_at_target()[out_edges].to_vec(),
        };
        let share = Self::new(Rows {
            edges,
            features,
            first_feature,
            edge_attributes: example.edges.as_ref().map(|all| all.slice(in_edges)),
            labels,
            splits: [&example.train, &example.validation, &example.test].map(own),
            split_sizes: example.split_sizes(),
        });
        match &example.class_weights {
            Some(weights) => share.with_class_weights(Arc::clone(weights)),
            None => Ok(share),
        }
    }

    /// Creates a share from rows that were read elsewhere.
    pub fn new(mut rows: Rows<T>) -> Self {
        // The dropout mask of sparse features has a bit per stored value of the whole example. The mask of these
        // rows starts with a whole byte of it.
        if let Features::Sparse(matrix) = rows.features {
            rows.features = Features::Sparse(matrix.after((rows.first_feature % 8) as usize));
        }
        Self { rows: Arc::new(rows), class_weights: None }
    }

    /// Returns the share with weights of the classes in the loss, which must be the same in all processes. Fails if a
    /// node may have several classes, and unless there is one finite weight per class that is not negative.
    pub fn with_class_weights(self, weights: impl Into<Arc<[f64]>>) -> Result<Self> {
        let weights = weights.into();
        check_class_weights(&self.rows.labels, &weights)?;
        Ok(Self { class_weights: Some(weights), ..self })
    }

    /// Returns the contents.
    pub fn rows(&self) -> &Rows<T> {
        &self.rows
    }

    /// Returns the edges.
    pub fn edges(&self) -> &Edges {
        &self.rows.edges
    }

    /// Returns the weight of each class in the loss of training nodes; `None` if all are 1.
    pub fn class_weights(&self) -> Option<&[f64]> {
        self.class_weights.as_deref()
    }

    /// Returns the number of training nodes of this process by class; none if a node may have several classes.
    pub fn training_classes(&self) -> Vec<u64> {
        let mut counts = vec![0; self.rows.labels.classes()];
        if let Labels::Single { of, .. } = &self.rows.labels {
            self.rows.splits[0].iter().for_each(|&node| counts[of[node as usize] as usize] += 1);
        }
        counts
    }
}

impl<T: Real> ExampleShape for Share<T> {
    fn nodes(&self) -> usize {
        self.rows.edges.global().len()
    }

    fn edges(&self) -> usize {
        self.rows.edges.first_ghost() + self.rows.edges.ghosts()
    }

    fn features(&self) -> usize {
        self.rows.features.columns()
    }

    fn edge_features(&self) -> usize {
        self.rows.edge_attributes.as_ref().map_or(0, EdgeAttributes::width)
    }

    fn feature_mask_bytes(&self) -> usize {
        self.rows.features.mask_bytes()
    }

    fn classes(&self) -> (usize, bool) {
        (self.rows.labels.classes(), self.rows.labels.is_multi())
    }

    fn split_sizes(&self) -> [usize; 3] {
        self.rows.split_sizes
    }
}

fn lists_of(all: &Adjacency, rows: Range<usize>) -> Adjacency {
    let first = all.offsets[rows.start];
    let offsets: Vec<u64> = all.offsets[rows.start..=rows.end].iter().map(|offset| offset - first).collect();
    let edges = first as usize..all.offsets[rows.end] as usize;
    Adjacency { offsets, neighbours: all.neighbours[edges].to_vec() }
}

/// Returns rows of features, and the number of stored values before them.
fn feature_rows<T: Real>(features: &Features<T>, rows: Range<usize>) -> Result<(Features<T>, u64)> {
    match features {
        Features::Dense { columns, values, .. } => {
            let first = rows.start * columns;
            Ok((Features::dense(rows.len(), *columns, values[first..rows.end * columns].to_vec())?, first as u64))
        }
        Features::Sparse(m) => {
            let [first, end] = [rows.start, rows.end].map(|row| m.offsets()[row]);
            let offsets = m.offsets()[rows.start..=rows.end].iter().map(|offset| offset - first).collect();
            let stored = first as usize..end as usize;
            let (columns, values) = (m.column_of()[stored.clone()].to_vec(), m.values()[stored].to_vec());
            Ok((Features::Sparse(SparseMatrix::new(m.columns(), offsets, columns, values)?), first))
        }
    }
}
