//! CPUs of several processes as one device. Every process has the rows of its nodes and all weights.
//!
//! Work on rows is that of the CPU. Attention and convolutions visit the edges of a node in blocks, by part of the
//! neighbour, with rows that travel between processes. Sums over nodes are sums over parts, which are added along a
//! fixed tree. So results have the same bits for any number of processes and threads.
//!
//! ```text
//! partition.rs    parts, groups and processes        primitives.rs   work on rows, as on the CPU
//! share.rs        rows and edges of one process      attention.rs    attention and its gradient
//! problem.rs      a share with its blocks            contrast.rs     top-k softmax and margin losses of CGAT
//! blocks.rs       edges by part, rows for others     convolution.rs  sums of graph convolutions
//! travel.rs       rows travel during computation     samples.rs      sampled edges and non-edges
//! ghosts.rs       edges to nodes of others           masks.rs        dropout masks
//! edge_terms.rs   weights and features of edges      labels.rs       loss and scores of labels
//! sums.rs         sums over nodes                    record.rs       losses and scores by part
//! scratch.rs      memory of backward passes
//! ```

mod attention;
mod blocks;
mod contrast;
mod convolution;
mod edge_terms;
mod ghosts;
mod labels;
mod masks;
mod needs;
mod partition;
mod primitives;
mod problem;
mod record;
mod samples;
mod scratch;
mod share;
mod sums;
mod travel;

pub use partition::Partition;
pub use problem::ClusterProblem;
pub use record::ClusterRecord;
pub use scratch::ClusterScratch;
pub use share::{Edges as ShareEdges, Rows as ShareRows, Share};

use crate::peers::{Counted, Peers};
use std::marker::PhantomData;
use std::sync::Arc;

/// The CPUs of several processes.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::Arc;
/// use supergat_cluster::{Cluster, Partition, Share};
/// use supergat_cluster::peers::ThreadPeers;
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
/// use supergat_core::{Prepared, TrainConfig, Trainer};
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]])?;
/// let architecture = Architecture::new("supergat-mx".parse().unwrap(), &example);
/// let config = TrainConfig::default().with(|c| c.training.max_epochs = 20);
///
/// let partition = Arc::new(Partition::even(4, 2, 2, 2)?);
/// let train = |process: usize, peers: ThreadPeers| {
///     let share = Share::of(&example, &partition, process)?;
///     let prepared = Prepared::on(&Cluster::new(peers), &[share], architecture, config)?;
///     Trainer::new(&prepared, 0)?.run(|_| ControlFlow::Continue(()))
/// };
/// let trained = std::thread::scope(|scope| {
///     let start = |(process, peers)| scope.spawn(move || train(process, peers));
///     let threads: Vec<_> = ThreadPeers::new(2).into_iter().enumerate().map(start).collect();
///     threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Result<Vec<_>, _>>()
/// })?;
/// // Every process has the same scores, and the logits of its own two nodes.
/// assert_eq!(trained[0].outcome, trained[1].outcome);
/// assert_eq!(trained[1].logits[0].len(), 2 * 2);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cluster<T> {
    peers: Arc<Counted>,
    number: PhantomData<T>,
}

impl<T> Cluster<T> {
    /// Creates the device of one process.
    pub fn new(peers: impl Peers) -> Self {
        Self::over(Arc::new(peers))
    }

    /// Like [`Cluster::new`], with peers that are also used elsewhere.
    pub fn over(peers: Arc<dyn Peers>) -> Self {
        Self { peers: Arc::new(Counted::new(peers)), number: PhantomData }
    }

    /// Returns the processes.
    pub fn peers(&self) -> &dyn Peers {
        &*self.peers
    }

    /// Returns the bytes that this process has sent with this device.
    pub fn bytes_sent(&self) -> u64 {
        self.peers.bytes_sent()
    }
}
