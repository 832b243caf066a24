//! What the command ends with when it cannot do what was asked: one sentence and an exit code.

use std::fmt::Display;
use std::path::Path;

/// The exit code after an interruption, as shells give it to a command that ends by SIGINT.
pub const INTERRUPTED: u8 = 130;

/// An error as a person sees it.
#[derive(Debug)]
pub struct CliError {
    /// The exit code.
    pub code: u8,
    /// What is wrong.
    pub message: String,
}

/// Result of the command's parts.
pub type Result<T> = std::result::Result<T, CliError>;

impl CliError {
    /// The command line or the input cannot be used: exit code 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }

    /// The input was fine, but the job failed: exit code 1.
    pub fn job(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into() }
    }

    /// A file or folder could not be written.
    pub fn cannot_write(path: &Path, reason: impl Display) -> Self {
        Self::job(format!("cannot write {}: {reason}", path.display()))
    }

    /// The same error, its place named in front.
    pub fn at(self, place: impl Display) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }
}

impl From<supergat_core::Error> for CliError {
    fn from(error: supergat_core::Error) -> Self {
        match error {
            supergat_core::Error::Diverged { .. } | supergat_core::Error::Threads { .. } => {
                Self::job(error.to_string())
            }
            input => Self::usage(input.to_string()),
        }
    }
}

impl From<supergat_data::Error> for CliError {
    fn from(error: supergat_data::Error) -> Self {
        match error {
            supergat_data::Error::Write { .. } | supergat_data::Error::Download { .. } => Self::job(error.to_string()),
            input => Self::usage(input.to_string()),
        }
    }
}

impl From<supergat_lab::tune::TuneError> for CliError {
    fn from(error: supergat_lab::tune::TuneError) -> Self {
        match error {
            supergat_lab::tune::TuneError::Data(error) => error.into(),
            supergat_lab::tune::TuneError::Sweep(error) => error.into(),
        }
    }
}

impl From<supergat_lab::sweep::SweepError> for CliError {
    fn from(error: supergat_lab::sweep::SweepError) -> Self {
        Self::job(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failed_job_exits_with_one() {
        let diverged = supergat_core::Error::Diverged { epoch: 3, loss: f64::NAN };
        assert_eq!(CliError::from(diverged).code, 1);
        assert_eq!(CliError::from(supergat_core::Error::EmptySplit { split: "training" }).code, 2);
        assert_eq!(CliError::cannot_write(Path::new("a"), "no").message, "cannot write a: no");
    }
}
