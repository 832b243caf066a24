//! Devices of trainings: the CPU, or a GPU by its number.

use crate::runs::{Finished, Worker, train};
use crate::settings::Settings;
use std::fmt;
use std::str::FromStr;
use supergat_core::{Prepared, Result};
use supergat_cuda::{Cuda, SIDE_BY_SIDE, SMALL_GRAPH};
use supergat_data::Dataset;

/// Device that trains.
///
/// ```
/// use supergat_lab::DeviceChoice;
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
            Self::Auto if supergat_cuda::devices().is_ok_and(|found| !found.is_empty()) => Self::Cuda(0),
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

/// What trainings may use: threads, and a device.
///
/// A number of threads is enough where the CPU trains:
///
/// ```
/// use supergat_lab::{DeviceChoice, Resources};
/// assert_eq!(Resources::from(2), Resources { threads: 2, device: DeviceChoice::Cpu, tf32: false });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resources {
    /// Number of threads.
    pub threads: usize,
    /// Device that trains.
    pub device: DeviceChoice,
    /// Whether dense products on a GPU may round their factors to 10 bits (TF32).
    pub tf32: bool,
}

impl From<usize> for Resources {
    fn from(threads: usize) -> Self {
        Self { threads, device: DeviceChoice::Cpu, tf32: false }
    }
}

impl Resources {
    /// Opens the GPU, if it is the device.
    pub(crate) fn cuda(&self) -> Result<Option<Cuda>> {
        match self.device.resolved() {
            DeviceChoice::Cuda(number) => {
                let cuda = Cuda::new(number)?;
                cuda.set_tf32(self.tf32)?;
                Ok(Some(cuda))
            }
            _ => Ok(None),
        }
    }

    /// Returns how many trainings of `nodes` nodes run at once. On a GPU, small graphs leave most of it idle, so
    /// several run side by side, each driven by a thread.
    pub(crate) fn workers(&self, nodes: usize, jobs: usize) -> usize {
        let most = match self.device.resolved() {
            DeviceChoice::Cpu | DeviceChoice::Auto => self.threads,
            DeviceChoice::Cuda(_) if nodes <= SMALL_GRAPH => SIDE_BY_SIDE,
            DeviceChoice::Cuda(_) => 1,
        };
        most.clamp(1, jobs.max(1))
    }
}

/// Prepares a dataset on a GPU and returns a worker that trains on it, once per seed.
pub(crate) fn gpu_worker<'a>(
    cuda: &Cuda,
    dataset: &Dataset,
    settings: &Settings,
    seeds: &'a [u64],
) -> Result<Worker<'a>> {
    let prepared = Prepared::on(cuda, &dataset.examples, settings.architecture(dataset), settings.training())?;
    Ok(Box::new(move |k, observe| -> Result<Finished> { train(&prepared, seeds[k], observe) }))
}
