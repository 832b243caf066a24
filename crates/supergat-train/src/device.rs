//! Devices of trainings: the CPU, or a GPU by its number.

use crate::gpu::{self, Cuda, SIDE_BY_SIDE, SMALL_GRAPH};
use crate::jobs::{Finished, Jobs, Worker};
use crate::processes::Processes;
use crate::runs::scored;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use supergat_core::{Error, ModelKind, Prepared, Result};
use supergat_data::{Dataset, NodeOrderChoice};

/// Device that trains.
///
/// ```
/// use supergat_train::DeviceChoice;
/// assert_eq!("cuda:1".parse(), Ok(DeviceChoice::Cuda(1)));
/// assert_eq!(DeviceChoice::default().to_string(), "cpu");
/// assert!("gpu".parse::<DeviceChoice>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// The CPU.
    #[default]
    Cpu,
    /// A GPU, by its number.
    Cuda(usize),
    /// The first GPU if there is one, else the CPU.
    Auto,
}

impl DeviceChoice {
    /// Replaces [`DeviceChoice::Auto`] by a device.
    pub fn resolved(self) -> Self {
        match self {
            Self::Auto if gpu::devices().is_ok_and(|found| !found.is_empty()) => Self::Cuda(0),
            Self::Auto => Self::Cpu,
            other => other,
        }
    }
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            "auto" => Ok(Self::Auto),
            _ => {
                let number = text.strip_prefix("cuda:").and_then(|number| number.parse().ok());
                number.map(Self::Cuda).ok_or_else(|| format!("expected cpu, cuda, cuda:1 or auto, found {text}"))
            }
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => formatter.write_str("cpu"),
            Self::Cuda(number) => write!(formatter, "cuda:{number}"),
            Self::Auto => formatter.write_str("auto"),
        }
    }
}

/// Kind of device of a run, as far as it determines the result: all GPUs compute alike, but not as the CPU does.
///
/// ```
/// use supergat_train::{DeviceChoice, DeviceKind, Resources};
/// let gpu = Resources { device: DeviceChoice::Cuda(1), ..Resources::from(2) };
/// assert_eq!((Resources::from(2).kind(), gpu.kind()), (DeviceKind::Cpu, DeviceKind::Cuda));
/// assert_eq!(Resources { tf32: true, ..gpu }.kind().to_string(), "cuda-tf32");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// The CPU.
    #[default]
    Cpu,
    /// A GPU in single precision.
    Cuda,
    /// A GPU whose dense products round their factors to 10 bits.
    CudaTf32,
}

impl DeviceKind {
    /// Returns whether the device is the CPU.
    pub fn is_cpu(&self) -> bool {
        *self == Self::Cpu
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::CudaTf32 => "cuda-tf32",
        })
    }
}

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

/// Prepares a dataset on a GPU and returns a worker that trains on it.
pub(crate) fn gpu_worker<'a>(
    cuda: &Cuda,
    dataset: &Dataset,
    settings: &Settings,
    jobs: Jobs<'a>,
) -> Result<Worker<'a>> {
    let prepared = Prepared::on(cuda, &dataset.examples, settings.architecture(dataset), settings.training())?;
    let prepared = scored(prepared, dataset, settings)?;
    Ok(Box::new(move |k, observe| -> Result<Finished> { jobs.train(k, &prepared, observe) }))
}
