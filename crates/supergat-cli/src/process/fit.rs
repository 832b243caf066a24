//! Memory check: whether a training fits into memory. Printed by `train --estimate` and checked before each training.

use crate::config::Resolved;
use crate::error::{CliError, Result};
use crate::output::{BOLD, SCHEMA, row};
use crate::process::memory::{self, Limit, Usage};
use serde::Serialize;
use supergat::data::Dataset;
use supergat::data::size::text;
use supergat::lab::{Estimate, estimate};

/// Memory that a training needs, and the limit that applies to it.
#[derive(Debug, Serialize)]
pub struct Fit {
    schema: u32,
    dataset: String,
    model: String,
    #[serde(flatten)]
    estimate: Estimate,
    limit: Option<u64>,
    limit_from: Option<String>,
    fits: bool,
}

impl Fit {
    /// Estimates the memory of a training. `wanted` replaces the detected limit.
    pub fn of(
        dataset: &Dataset,
        resolved: &Resolved,
        threads: usize,
        attention_rows: usize,
        wanted: Option<u64>,
    ) -> Result<Self> {
        let known: u64 = dataset.examples.iter().map(|example| example.bytes()).sum();
        let usage = memory::usage().unwrap_or(Usage { now: known, peak: known });
        let seeds = resolved.all_seeds().len();
        let (settings, memory) = (&resolved.settings, (usage.now, usage.peak));
        let estimate = estimate(dataset, settings, seeds, threads, attention_rows, memory)?;
        let limit = match wanted {
            Some(bytes) => Some(Limit { bytes, from: "--max-memory".into() }),
            None => memory::limit(),
        };
        Ok(Self {
            schema: SCHEMA,
            dataset: dataset.name.clone(),
            model: resolved.settings.model.to_string(),
            fits: limit.as_ref().is_none_or(|limit| estimate.peak <= limit.bytes),
            estimate,
            limit: limit.as_ref().map(|limit| limit.bytes),
            limit_from: limit.map(|limit| limit.from),
        })
    }

    /// Returns an error if the training does not fit.
    pub fn check(&self) -> Result<()> {
        let (false, Some(limit), Some(from)) = (self.fits, self.limit, &self.limit_from) else {
            return Ok(());
        };
        let Estimate { loaded, parameters, workspace, runs_at_once, peak, .. } = self.estimate;
        let runs = if runs_at_once == 1 { "one run".to_owned() } else { format!("{runs_at_once} runs at once") };
        Err(CliError::job(format!(
            "this training would need {} ({} loaded, {runs} of {} each), but may use {} ({from}): \
             use a smaller --hidden, --heads or --layers, fewer --threads with several seeds, or a larger --max-memory",
            text(peak),
            text(loaded),
            text(parameters + workspace),
            text(limit),
        )))
    }

    /// Formats the estimate as a table.
    pub fn table(&self) -> String {
        let Estimate { loaded, parameters, workspace, runs_at_once, results, peak } = self.estimate;
        let mut table = format!("{BOLD}{} on {}: memory{BOLD:#}\n", self.model, self.dataset);
        table += &row("loaded", &text(loaded), "(the dataset and the program)");
        table += &row("parameters", &text(parameters), "(of one run, with gradients and optimiser)");
        table += &row("workspace", &text(workspace), "(of one run)");
        table += &row("runs at once", &runs_at_once.to_string(), "");
        table += &row("results", &text(results), "(predictions and attention)");
        table += &row("peak", &text(peak), if self.fits { "" } else { "(does not fit)" });
        if let (Some(limit), Some(from)) = (self.limit, &self.limit_from) {
            table += &row("limit", &text(limit), &format!("({from})"));
        }
        table
    }
}
