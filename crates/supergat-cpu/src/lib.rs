//! The CPU as a device of [`supergat_core`].
//!
//! - [`Cpu`] implements [`Device`](supergat_core::Device): every primitive is a call of a kernel whose work is divided
//!   among threads.
//! - [`kernels`] are the loops over plain slices, compiled once for each number type and instruction set.
//! - [`sampling`] draws the samples of the edge loss.

pub mod device;
pub mod kernels;
pub mod sampling;

pub use device::{Cpu, CpuProblem, CpuScratch};
pub use kernels::Primitives;

/// A network on the CPU.
///
/// ```
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
/// use supergat_cpu::Model;
/// let graph = Graph::from_edges(3, &[(0, 1)], Direction::Undirected)?;
/// let features = Features::dense(3, 2, vec![1.0f32, 0.0, 0.0, 1.0, 0.5, 0.5])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 1, Labels::UNKNOWN] };
/// let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]])?;
/// let model = Model::new(Architecture::new("gat-go".parse().unwrap(), &example), 7)?;
/// assert_eq!(model.predict(&example)?.len(), 3 * 2);
/// # Ok::<(), supergat_core::Error>(())
/// ```
pub type Model<T> = supergat_core::Network<Cpu<T>>;

/// A saved model, read for the CPU.
pub type Checkpoint = supergat_core::checkpoint::Checkpoint<Cpu<f32>>;
