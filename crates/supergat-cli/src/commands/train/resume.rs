//! Resuming a training: its options come from the folder of its checkpoints.

use crate::args::TrainArgs;
use crate::config::{Choices, Resolved, Values};
use crate::error::{CliError, Result};
use crate::output::count;
use crate::run_folder::checkpoint::{CheckpointFolder, Manifest, Plan};
use std::path::{Path, PathBuf};
use supergat::DeviceChoice;
use supergat_cpu::kernels::Simd;
use supergat_train::Resources;
use supergat_train::checkpoints::FoundSeed;

/// A training that is resumed.
#[derive(Debug)]
pub struct Resumed {
    /// Folder of its checkpoints.
    pub path: PathBuf,
    manifest: Manifest,
}

/// Returns the name of the instruction set of this processor, as far as results depend on it.
fn instructions() -> String {
    // AVX-512 computes as AVX2 does.
    format!("{:?}", Simd::active().min(Simd::Avx2))
}

/// Returns everything that is needed to resume a training.
pub fn plan(args: &TrainArgs, resolved: &Resolved, resources: Resources) -> Plan {
    let manifest = Manifest {
        schema: Manifest::SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        device: resources.device.to_string(),
        tf32: resources.tf32,
        threads: args.sweep.threads,
        attention: args.attention,
        safe_csv: args.safe_csv,
        checkpoint_every: args.checkpoint_every.unwrap_or_default().to_string(),
        started_in: std::env::current_dir().unwrap_or_default(),
        instructions: instructions(),
    };
    Plan { config: resolved.to_toml(), manifest }
}

impl Resumed {
    /// Opens the training that `--resume` names, if it does, and replaces the arguments by those of the training. Given
    /// options must agree with it. `locks` as in [`CheckpointFolder::open`].
    pub fn open(args: &mut TrainArgs, locks: bool) -> Result<Option<(Self, CheckpointFolder)>> {
        let Some(given) = args.resume.take() else { return Ok(None) };
        let (folder, manifest) = CheckpointFolder::open(&given, locks)?;
        let contradicts = |what: String, has: String| {
            CliError::usage(format!(
                "--resume {}: {what} contradicts this training, which has {has}: leave it out, or start a new training",
                given.display()
            ))
        };
        let options = std::mem::take(&mut args.options.0);
        let recorded = Choices::new(Values::new(), Some(&folder.config()))?;
        let wanted = Choices::new(options, args.config.as_deref())?;
        if let Some((option, value)) = wanted.contradiction(&recorded) {
            return Err(contradicts(option, value));
        }
        if let Some(out) = args.out.take()
            && std::path::absolute(&out).ok() != std::path::absolute(folder.run()).ok()
        {
            return Err(contradicts(format!("--out {}", out.display()), format!("--out {}", folder.run().display())));
        }
        let unreadable = |reason: String| CliError::usage(format!("--resume {}: run.json: {reason}", given.display()));
        let device: DeviceChoice = manifest.device.parse().map_err(unreadable)?;
        let kind = |device: DeviceChoice, tf32| Resources { device, tf32, ..Resources::from(1) }.kind();
        let own = kind(device, manifest.tf32);
        let given_device = args.sweep.device.device.unwrap_or(device);
        if kind(given_device, args.sweep.device.tf32 || manifest.tf32) != own {
            let option = args.sweep.device.device.map_or("--tf32".into(), |device| format!("--device {device}"));
            return Err(contradicts(option, format!("the device {own}")));
        }
        args.sweep.device.device = Some(given_device);
        args.sweep.device.tf32 = manifest.tf32;
        args.config = Some(folder.config());
        args.sweep.threads = args.sweep.threads.or(manifest.threads);
        args.attention |= manifest.attention;
        args.safe_csv |= manifest.safe_csv;
        if args.checkpoint_every.is_none() {
            args.checkpoint_every = Some(manifest.checkpoint_every.parse().map_err(unreadable)?);
        }
        Ok(Some((Self { path: folder.path(), manifest }, folder)))
    }

    /// Adds the folder in which the training was started to an error of loading, if it is another one.
    pub fn explained(&self, error: CliError) -> CliError {
        let started_in = &self.manifest.started_in;
        match std::env::current_dir() {
            Ok(here) if here != *started_in => {
                let message = format!("{}; the training was started in {}", error.message, started_in.display());
                CliError { message, ..error }
            }
            _ => error,
        }
    }

    /// Returns the first lines of the progress: what was found, and what will differ.
    pub fn opening(&self, found: &[FoundSeed], seeds: usize) -> Vec<String> {
        let mut lines = vec![opening(&self.path, found, seeds)];
        if self.manifest.instructions != instructions() {
            lines
                .push("note: the training began on a processor with other instructions; last digits may differ".into());
        }
        lines
    }
}

fn opening(from: &Path, found: &[FoundSeed], seeds: usize) -> String {
    let from = from.display();
    match found {
        [] => format!("resuming from {from}: no epoch was saved"),
        [one] if seeds == 1 => format!("resuming from {from}, after {}", count(one.epochs, "epoch")),
        _ => {
            let finished = found.iter().filter(|seed| seed.is_finished).count();
            let begun = found.len() - finished;
            format!("resuming from {from}: {finished} of {} finished, {begun} begun", count(seeds, "run"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_what_was_found() {
        let seed = |seed, epochs, is_finished| FoundSeed { seed, epochs, is_finished, elapsed: 1.0 };
        let text = |found: &[FoundSeed], seeds| opening(Path::new("run.checkpoint"), found, seeds);
        assert_eq!(text(&[], 1), "resuming from run.checkpoint: no epoch was saved");
        assert_eq!(text(&[seed(0, 40, false)], 1), "resuming from run.checkpoint, after 40 epochs");
        assert_eq!(
            text(&[seed(0, 40, true), seed(1, 3, false)], 5),
            "resuming from run.checkpoint: 1 of 5 runs finished, 1 begun"
        );
    }
}
