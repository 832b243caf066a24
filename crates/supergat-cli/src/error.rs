//! Errors of the command: one sentence and an exit code.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

/// Exit code after an interruption; shells use it for a command that is ended by SIGINT.
pub const INTERRUPTED: u8 = 130;

/// Returns the exit code of a command that did its work, or was interrupted and wrote what there is.
pub fn exit_code(interrupted: bool) -> ExitCode {
    if interrupted { INTERRUPTED.into() } else { ExitCode::SUCCESS }
}

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

impl From<supergat_core::Error> for CliError {
    fn from(error: supergat_core::Error) -> Self {
        match error {
            supergat_core::Error::Diverged { .. }
            | supergat_core::Error::Threads { .. }
            | supergat_core::Error::Peers { .. }
            | supergat_core::Error::Device { .. } => Self::job(error.to_string()),
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

impl From<supergat_data::Error> for CliError {
    fn from(error: supergat_data::Error) -> Self {
        match error {
            supergat_data::Error::Write { .. } | supergat_data::Error::Download { .. } => Self::job(error.to_string()),
            input => Self::usage(input.to_string()),
        }
    }
}

impl From<supergat_select::tune::TuneError> for CliError {
    fn from(error: supergat_select::tune::TuneError) -> Self {
        match error {
            supergat_select::tune::TuneError::Data(error) => error.into(),
            supergat_select::tune::TuneError::Sweep(error) => error.into(),
        }
    }
}

impl From<supergat_select::recommend::thorough::ThoroughError> for CliError {
    fn from(error: supergat_select::recommend::thorough::ThoroughError) -> Self {
        match error {
            supergat_select::recommend::thorough::ThoroughError::Input(message) => Self::usage(message),
            supergat_select::recommend::thorough::ThoroughError::Sweep(error) => error.into(),
        }
    }
}

impl From<supergat_select::sweep::SweepError> for CliError {
    fn from(error: supergat_select::sweep::SweepError) -> Self {
        Self::job(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_jobs_exit_with_one_and_invalid_input_with_two() {
        let diverged = supergat_core::Error::Diverged { epoch: 3, loss: f64::NAN, has_edge_loss: false };
        assert_eq!(CliError::from(diverged).code, 1);
        assert_eq!(CliError::from(supergat_core::Error::Device { message: "no GPU".into() }).code, 1);
        assert_eq!(CliError::from(supergat_core::Error::Peers { reason: "lost".into() }).code, 1);
        assert_eq!(CliError::from(supergat_core::Error::EmptySplit { split: "training" }).code, 2);
        assert_eq!(CliError::cannot_write(Path::new("a"), "no").message, "cannot write a: no");
    }
}
