//! Errors of the command: one sentence and an exit code.

use std::fmt::Display;
use std::path::Path;

/// Exit code after an interruption; shells use it for a command that is ended by SIGINT.
pub const INTERRUPTED: u8 = 130;

/// Error message and exit code of a failed command.
#[derive(Debug)]
pub struct CliError {
    /// Exit code of the process.
    pub code: u8,
    /// Message for the user, without `error:`.
    pub message: String,
}

/// Result with a [`CliError`].
pub type Result<T> = std::result::Result<T, CliError>;

impl CliError {
    /// Returns an error for an invalid command line or input: exit code 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }

    /// Returns an error for a job that failed with valid input: exit code 1.
    pub fn job(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into() }
    }

    /// Returns an error for a file or folder that cannot be written: exit code 1.
    pub fn cannot_write(path: &Path, reason: impl Display) -> Self {
        Self::job(format!("cannot write {}: {reason}", path.display()))
    }

    /// Returns the error with `place` in front of its message.
    pub fn at(self, place: impl Display) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }
}

impl From<supergat::engine::Error> for CliError {
    fn from(error: supergat::engine::Error) -> Self {
        match error {
            supergat::engine::Error::Diverged { .. }
            | supergat::engine::Error::Threads { .. }
            | supergat::engine::Error::Peers { .. }
            | supergat::engine::Error::Device { .. } => Self::job(error.to_string()),
            input => Self::usage(input.to_string()),
        }
    }
}

impl From<supergat::Error> for CliError {
    fn from(error: supergat::Error) -> Self {
        match error {
            supergat::Error::Data(error) => error.into(),
            supergat::Error::Model(error) => error.into(),
            supergat::Error::Write { .. } => Self::job(error.to_string()),
            input => Self::usage(input.to_string()),
        }
    }
}

impl From<supergat::data::Error> for CliError {
    fn from(error: supergat::data::Error) -> Self {
        match error {
            supergat::data::Error::Write { .. } | supergat::data::Error::Download { .. } => {
                Self::job(error.to_string())
            }
            input => Self::usage(input.to_string()),
        }
    }
}

impl From<supergat::lab::tune::TuneError> for CliError {
    fn from(error: supergat::lab::tune::TuneError) -> Self {
        match error {
            supergat::lab::tune::TuneError::Data(error) => error.into(),
            supergat::lab::tune::TuneError::Sweep(error) => error.into(),
        }
    }
}

impl From<supergat::lab::benchmark::BenchmarkError> for CliError {
    fn from(error: supergat::lab::benchmark::BenchmarkError) -> Self {
        match error {
            supergat::lab::benchmark::BenchmarkError::Input(message) => Self::usage(message),
            supergat::lab::benchmark::BenchmarkError::Sweep(error) => error.into(),
        }
    }
}

impl From<supergat::lab::sweep::SweepError> for CliError {
    fn from(error: supergat::lab::sweep::SweepError) -> Self {
        Self::job(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_jobs_exit_with_one_and_invalid_input_with_two() {
        let diverged = supergat::engine::Error::Diverged { epoch: 3, loss: f64::NAN, has_edge_loss: false };
        assert_eq!(CliError::from(diverged).code, 1);
        assert_eq!(CliError::from(supergat::engine::Error::Device { message: "no GPU".into() }).code, 1);
        assert_eq!(CliError::from(supergat::engine::Error::Peers { reason: "lost".into() }).code, 1);
        assert_eq!(CliError::from(supergat::engine::Error::EmptySplit { split: "training" }).code, 2);
        assert_eq!(CliError::cannot_write(Path::new("a"), "no").message, "cannot write a: no");
    }
}
