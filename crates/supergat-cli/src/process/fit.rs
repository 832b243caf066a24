//! Memory check: whether a training fits into memory. Printed by `train --estimate` and checked before each training.

use crate::config::Resolved;
use crate::error::{CliError, Result};
use crate::output::{BOLD, SCHEMA, row};
use crate::process::memory::{self, Limit, Usage};
use serde::Serialize;
use supergat::data::Dataset;
use supergat::data::size::text;
use supergat::lab::{Estimate, GpuEstimate, Resources, estimate, gpu_workspace};
use supergat::{DeviceChoice, DeviceInfo};

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
    /// Limit of the memory of the GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_limit_from: Option<String>,
    fits: bool,
}

/// Place of a training: threads, and a GPU if it is the device.
#[derive(Debug)]
pub struct Place {
    /// Threads and device.
    pub resources: Resources,
    gpu: Option<DeviceInfo>,
}

impl Place {
    /// Looks for the GPU. Fails if there is none, but it is the device.
    pub fn find(resources: Resources) -> Result<Self> {
        let DeviceChoice::Cuda(number) = resources.device else { return Ok(Self { resources, gpu: None }) };
        let mut found = supergat::devices()?;
        if number >= found.len() {
            let last = found.len() - 1;
            return Err(CliError::job(format!("there is no GPU {number}: this machine has GPUs 0 to {last}")));
        }
        Ok(Self { resources, gpu: Some(found.swap_remove(number)) })
    }
}

impl Fit {
    /// Estimates the memory of a training. `wanted` replaces the detected limit: that of the GPU if it trains.
    /// The workspace of a GPU is counted on the GPU if `exact` is set, or if the training may not fit.
    pub fn of(
        dataset: &Dataset,
        resolved: &Resolved,
        place: &Place,
        attention_rows: usize,
        wanted: Option<u64>,
        exact: bool,
    ) -> Result<Self> {
        let known: u64 = dataset.examples.iter().map(|example| example.bytes()).sum();
        let usage = memory::usage().unwrap_or(Usage { now: known, peak: known });
        let seeds = resolved.all_seeds().len();
        let (settings, memory) = (&resolved.settings, (usage.now, usage.peak));
        let Place { resources, gpu } = place;
        let mut estimate = estimate(dataset, settings, seeds, *resources, attention_rows, memory)?;
        if let (Some(needed), Some(gpu)) = (&mut estimate.gpu, gpu) {
            // A dataset that does not fit cannot be placed.
            let placeable = needed.dataset + needed.parameters < gpu.free_memory;
            if placeable && (exact || needed.peak > gpu.free_memory / 2) {
                let workspace = gpu_workspace(dataset, settings, resources)?;
                *needed = needed.with_workspace(workspace.unwrap_or(needed.workspace));
            }
        }
        let wanted = wanted.map(|bytes| Limit { bytes, from: "--max-memory".into() });
        let (limit, gpu_limit) = match gpu {
            None => (wanted.or_else(memory::limit), None),
            Some(gpu) => {
                let free = Limit { bytes: gpu.free_memory, from: format!("free memory of {}", gpu.name) };
                (memory::limit(), wanted.filter(|wanted| wanted.bytes < free.bytes).or(Some(free)))
            }
        };
        let fits = |needed: u64, limit: &Option<Limit>| limit.as_ref().is_none_or(|limit| needed <= limit.bytes);
        Ok(Self {
            schema: SCHEMA,
            dataset: dataset.name.clone(),
            model: resolved.settings.model.to_string(),
            fits: fits(estimate.peak, &limit) && fits(estimate.gpu.map_or(0, |gpu| gpu.peak), &gpu_limit),
            estimate,
            limit: limit.as_ref().map(|limit| limit.bytes),
            limit_from: limit.map(|limit| limit.from),
            gpu_limit: gpu_limit.as_ref().map(|limit| limit.bytes),
            gpu_limit_from: gpu_limit.map(|limit| limit.from),
        })
    }

    /// Returns an error if the training does not fit.
    pub fn check(&self) -> Result<()> {
        let Estimate { loaded, parameters, workspace, runs_at_once, peak, gpu, .. } = self.estimate;
        let runs = if runs_at_once == 1 { "one run".to_owned() } else { format!("{runs_at_once} runs at once") };
        if let (Some(gpu), Some(limit), Some(from)) = (gpu, self.gpu_limit, &self.gpu_limit_from)
            && gpu.peak > limit
        {
            return Err(CliError::job(format!(
                "this training would need {} of GPU memory ({runs} of {} each), but may use {} ({from}): \
                 use a smaller --hidden, --heads or --layers, fewer --seeds, or --device cpu",
                text(gpu.peak),
                text(gpu.peak / gpu.runs_at_once),
                text(limit),
            )));
        }
        let (false, Some(limit), Some(from)) = (self.fits, self.limit, &self.limit_from) else {
            return Ok(());
        };
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
        let Estimate { loaded, parameters, workspace, runs_at_once, results, peak, gpu } = self.estimate;
        let mark = |needed: u64, limit: Option<u64>| match limit {
            Some(limit) if needed > limit => "(does not fit)",
            _ => "",
        };
        let mut table = format!("{BOLD}{} on {}: memory{BOLD:#}\n", self.model, self.dataset);
        table += &row("loaded", &text(loaded), "(the dataset and the program)");
        if gpu.is_none() {
            table += &row("parameters", &text(parameters), "(of one run, with gradients and optimiser)");
            table += &row("workspace", &text(workspace), "(of one run)");
        }
        table += &row("runs at once", &runs_at_once.to_string(), "");
        table += &row("results", &text(results), "(predictions and attention)");
        table += &row("peak", &text(peak), mark(peak, self.limit));
        if let (Some(limit), Some(from)) = (self.limit, &self.limit_from) {
            table += &row("limit", &text(limit), &format!("({from})"));
        }
        if let Some(GpuEstimate { dataset, parameters, workspace, peak, .. }) = gpu {
            table += &format!("{BOLD}GPU memory{BOLD:#}\n");
            table += &row("dataset", &text(dataset), "(of one run)");
            table += &row("parameters", &text(parameters), "(of one run, with gradients and optimiser)");
            table += &row("workspace", &text(workspace), "(of one run)");
            table += &row("peak", &text(peak), mark(peak, self.gpu_limit));
            if let (Some(limit), Some(from)) = (self.gpu_limit, &self.gpu_limit_from) {
                table += &row("limit", &text(limit), &format!("({from})"));
            }
        }
        table
    }
}
