//! Devices of trainings: the CPU, or a GPU by its number.

use crate::gpu;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

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
