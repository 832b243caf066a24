//! Resources of trainings: threads, a device, other processes.

use crate::device::{DeviceChoice, DeviceKind};
use crate::gpu::{self, Cuda, SIDE_BY_SIDE, SMALL_GRAPH};
use crate::processes::Processes;
use supergat_core::{Error, ModelKind, Result};
use supergat_data::NodeOrderChoice;

/// Resources of trainings: threads, a device, the order of nodes, and other processes.
///
/// A number of threads is enough where the CPU trains:
///
/// ```
/// use supergat_train::{DeviceChoice, Resources};
/// let cpu = Resources::from(2);
/// assert_eq!((cpu.threads, cpu.device, cpu.tf32), (2, DeviceChoice::Cpu, false));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resources {
    /// Number of threads.
    pub threads: usize,
    /// Device that trains.
    pub device: DeviceChoice,
    /// Whether dense products on a GPU may round their factors to 10 bits (TF32).
    pub tf32: bool,
    /// Order of the nodes of datasets that sweeps load. Datasets that are given to a training have one.
    pub node_order: NodeOrderChoice,
    /// Other processes that train whole runs.
    pub processes: Option<&'static Processes>,
}

impl From<usize> for Resources {
    fn from(threads: usize) -> Self {
        Self { threads, device: DeviceChoice::Cpu, tf32: false, node_order: NodeOrderChoice::Auto, processes: None }
    }
}

impl Resources {
    /// Replaces [`DeviceChoice::Auto`] by a device.
    pub fn resolved(self) -> Self {
        Self { device: self.device.resolved(), ..self }
    }

    /// Returns the kind of the device.
    pub fn kind(&self) -> DeviceKind {
        match self.device.resolved() {
            DeviceChoice::Cuda(_) if self.tf32 => DeviceKind::CudaTf32,
            DeviceChoice::Cuda(_) => DeviceKind::Cuda,
            DeviceChoice::Cpu | DeviceChoice::Auto => DeviceKind::Cpu,
        }
    }

    /// Fails if the device is a GPU and the model is not a network, without looking for the GPU.
    ///
    /// ```
    /// use supergat_train::{DeviceChoice, Resources};
    /// let gpu = Resources { device: DeviceChoice::Cuda(0), ..Resources::from(2) };
    /// assert!(gpu.check_model("gat-go".parse().unwrap()).is_ok());
    /// let error = gpu.check_model("gcn-gam".parse().unwrap()).unwrap_err();
    /// assert_eq!(error.to_string(), "gcn-gam runs on the CPU only: use parameter `device=cpu`, or another model");
    /// ```
    pub fn check_model(&self, model: ModelKind) -> Result<()> {
        match self.device.resolved() {
            DeviceChoice::Cuda(_) if !model.is_network() => Err(Error::Device {
                message: format!("{model} runs on the CPU only: use parameter `device=cpu`, or another model"),
            }),
            _ => Ok(()),
        }
    }

    /// Checks that the device can be used.
    pub fn check(&self) -> Result<()> {
        self.cuda().map(drop)
    }

    /// Opens the GPU, if it is the device.
    pub fn cuda(&self) -> Result<Option<Cuda>> {
        match self.device.resolved() {
            DeviceChoice::Cuda(number) => gpu::open(number, self.tf32).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns how many trainings of `nodes` nodes run at once in this process. On a GPU, small graphs leave most of it idle, so
    /// several run side by side, each driven by a thread.
    pub fn workers(&self, nodes: usize, jobs: usize) -> usize {
        let jobs = self.processes.map_or(jobs, |processes| processes.share(jobs));
        let most = match self.device.resolved() {
            DeviceChoice::Cpu | DeviceChoice::Auto => self.threads,
            DeviceChoice::Cuda(_) if nodes <= SMALL_GRAPH => SIDE_BY_SIDE,
            DeviceChoice::Cuda(_) => 1,
        };
        most.clamp(1, jobs.max(1))
    }
}
