//! Memory check: whether a training fits into memory. Printed by `train --estimate` and checked before each training.

use crate::config::Resolved;
use crate::error::{CliError, Result};
use crate::output::{BOLD, SCHEMA, row};
use serde::Serialize;
use supergat::{DeviceChoice, DeviceInfo};
use supergat_data::size::text;
use supergat_data::{Dataset, RandomGraph};
use supergat_train::memory::{self, Limit, Usage};
use supergat_train::{Estimate, GpuEstimate, Resources, estimate, gpu_workspace};

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
    /// Advice about other programs on the GPU; empty if there are none.
    #[serde(skip)]
    gpu_advice: String,
}

/// Memory of a GPU that its driver and display use without any program.
const IDLE_GPU: u64 = 1 << 30;

/// Returns the advice to end other programs, if they use much of a GPU; empty otherwise.
fn gpu_advice(total: u64, free: u64) -> String {
    match total.saturating_sub(free) {
        used if used > IDLE_GPU => format!("end other programs, which use {} of {}; ", text(used), text(total)),
        _ => String::new(),
    }
}

/// Returns an error if a generated graph that needs at least `needed` bytes exceeds a limit of the process or of the GPU,
/// given as name, total and free memory.
fn check_graph(source: &str, needed: u64, limit: Option<Limit>, gpu: Option<(&str, u64, u64)>) -> Result<()> {
    if let Some((name, total, free)) = gpu
        && needed > free
    {
        return Err(CliError::job(format!(
            "{source} would need at least {} of GPU memory, but {} of {} are free ({name}): {}use a smaller graph, or \
             --device cpu",
            text(needed),
            text(free),
            text(total),
            gpu_advice(total, free)
        )));
    }
    match limit {
        Some(Limit { bytes, from }) if needed > bytes => Err(CliError::job(format!(
            "{source} would need at least {}, but may use {} ({from}): use a smaller graph",
            text(needed),
            text(bytes)
        ))),
        _ => Ok(()),
    }
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

    /// Returns an error if a generated graph does not fit into memory, before it is generated. Other sources pass.
    pub fn check_source(&self, source: &str) -> Result<()> {
        let Ok(graph) = source.parse::<RandomGraph>() else { return Ok(()) };
        let gpu = self.gpu.as_ref().map(|gpu| (&*gpu.name, gpu.total_memory, gpu.free_memory));
        check_graph(source, graph.least_bytes(), memory::limit(), gpu)
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
        let parameters = settings.architecture(dataset).parameter_bytes::<f32>();
        let mut estimate = match memory::limit() {
            // Counting the workspace would allocate the parameters.
            Some(limit) if settings.model.is_network() && usage.now.saturating_add(parameters) > limit.bytes => {
                let peak = usage.now.saturating_add(parameters);
                Estimate { loaded: usage.now, parameters, workspace: 0, runs_at_once: 1, results: 0, peak, gpu: None }
            }
            _ => estimate(dataset, settings, seeds, *resources, attention_rows, memory)?,
        };
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
            None => {
                let fixed = memory::fixed_limit().map_or(u64::MAX, |limit| limit.bytes);
                (wanted.filter(|wanted| wanted.bytes <= fixed).or_else(memory::limit), None)
            }
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
            gpu_advice: gpu.as_ref().map(|gpu| gpu_advice(gpu.total_memory, gpu.free_memory)).unwrap_or_default(),
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
                "this training would need {} of GPU memory ({runs} of {} each), but may use {} ({from}): {}\
                 use a smaller --hidden, --heads or --layers, fewer --seeds, or --device cpu",
                text(gpu.peak),
                text(gpu.peak / gpu.runs_at_once),
                text(limit),
                self.gpu_advice,
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

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn graphs_are_checked_before_they_are_generated() {
        let check = |needed, limit: Option<u64>, gpu: Option<(u64, u64)>| {
            let limit = limit.map(|bytes| Limit { bytes, from: "free memory of this machine".into() });
            let gpu = gpu.map(|(total, free)| ("H200", total, free));
            check_graph("random-graph:nodes=9", needed, limit, gpu).err().map(|error| error.message)
        };
        assert_eq!(check(GIB, None, None), None);
        assert_eq!(check(GIB, Some(2 * GIB), Some((2 * GIB, 2 * GIB))), None);
        let idle = check(20 * GIB, Some(30 * GIB), Some((16 * GIB, 16 * GIB - GIB / 2))).unwrap();
        assert!(idle.contains("15.50 GiB of 16.00 GiB are free (H200): use a smaller graph"), "{idle}");
        let shared = check(20 * GIB, Some(30 * GIB), Some((16 * GIB, 6 * GIB))).unwrap();
        assert!(shared.contains("end other programs, which use 10.00 GiB of 16.00 GiB"), "{shared}");
        let host = check(20 * GIB, Some(10 * GIB), Some((160 * GIB, 160 * GIB))).unwrap();
        assert!(host.contains("may use 10.00 GiB (free memory of this machine)"), "{host}");
    }
}
