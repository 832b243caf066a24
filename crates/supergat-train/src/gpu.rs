//! NVIDIA GPUs, in programs that are built with the feature `cuda`. Other programs find none.

use std::sync::{Mutex, PoisonError};
use supergat_core::{EdgeValues, Example, Network, Result};
use supergat_cpu::Model;

#[cfg(feature = "cuda")]
pub use supergat_cuda::{Cuda, DeviceInfo, SIDE_BY_SIDE, SMALL_GRAPH, devices};

#[cfg(feature = "cuda")]
pub(crate) fn open(number: usize, tf32: bool) -> Result<Cuda> {
    let cuda = Cuda::new(number)?;
    cuda.set_tf32(tf32)?;
    Ok(cuda)
}

#[cfg(not(feature = "cuda"))]
pub use without::{Cuda, DeviceInfo, SIDE_BY_SIDE, SMALL_GRAPH, devices, open};

/// A copy of a network on a GPU; one thread at a time may use it.
#[derive(Debug)]
pub struct GpuNetwork(Mutex<Network<Cuda>>);

impl GpuNetwork {
    /// Copies a network to the GPU with this number.
    pub fn new(network: &Model<f32>, number: usize) -> Result<Self> {
        Ok(Self(Mutex::new(network.to_device(&open(number, false)?)?)))
    }

    /// Returns the logits of all nodes of each example.
    pub fn predict(&self, examples: &[Example<f32>]) -> Result<Vec<Vec<f32>>> {
        let network = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        examples.iter().map(|example| network.predict(example)).collect()
    }

    /// Returns the attention on all edges of an example, for each attention layer.
    pub fn attention(&self, example: &Example<f32>) -> Result<Vec<EdgeValues<f32>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).attention(example)
    }
}

#[cfg(not(feature = "cuda"))]
mod without {
    use supergat_core::{Error, Result};
    use supergat_cpu::Cpu;

    /// Takes the place of a GPU; none is ever opened.
    pub type Cuda = Cpu<f32>;

    /// Number of small trainings side by side.
    pub const SIDE_BY_SIDE: usize = 1;
    /// Largest number of nodes of a small graph.
    pub const SMALL_GRAPH: usize = 1;

    /// A GPU.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct DeviceInfo {
        /// Name of the product.
        pub name: String,
        /// Memory in bytes.
        pub total_memory: u64,
        /// Memory in bytes that no program uses.
        pub free_memory: u64,
        /// Compute capability: major and minor number.
        pub compute_capability: (i32, i32),
        /// Version of CUDA that the driver supports: major and minor number.
        pub driver: (i32, i32),
    }

    /// Fails: this program cannot use GPUs.
    pub fn devices() -> Result<Vec<DeviceInfo>> {
        Err(missing())
    }

    /// Fails: this program cannot use GPUs.
    pub fn open(_: usize, _: bool) -> Result<Cuda> {
        Err(missing())
    }

    fn missing() -> Error {
        Error::Device { message: "this program was built without the feature `cuda`".into() }
    }
}
