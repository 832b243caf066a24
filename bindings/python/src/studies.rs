//! Recommendation, comparison, tuning and the list of known datasets. Results are JSON.

use crate::errors::{exception, guarded};
use crate::graph::Graph;
use crate::model::{Comparing, flow, interruptible};
use crate::options::{self, Weights, parsed, settings_of, value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use supergat::Classifier;
use supergat_data::{SplitChoice, registry};
use supergat_select::compare::{ComparedRun, Sample};
use supergat_select::recommend::Family;
use supergat_select::recommend::quick::{QuickEvent, QuickQuestion, recommend};
use supergat_select::recommend::thorough::{self, Limit, ThoroughAnswer, ThoroughEvent, ThoroughQuestion};
use supergat_select::sweep::ResultsFile;
use supergat_select::tune::{Budget, FINALISTS, Space, TuneEvent, Tuning};
use supergat_train::Resources;

/// Recommends a model for a graph: compares families with their default settings within some seconds.
#[pyfunction]
#[pyo3(signature = (graph, *, seconds, seed, threads, metric=None, device="cpu", tf32=false, progress=None))]
#[allow(clippy::too_many_arguments)]
pub fn recommend_within_seconds(
    py: Python<'_>,
    graph: &Graph,
    seconds: f64,
    seed: u64,
    threads: usize,
    metric: Option<String>,
    device: &str,
    tf32: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let dataset = Arc::clone(&graph.dataset);
    let resources = resources(threads, device, tf32)?.resolved();
    let question = QuickQuestion { seconds: Some(seconds), metric, seed, ..QuickQuestion::default() };
    let (stop, comparing) = (AtomicBool::new(false), Comparing::default());
    let observe = |event: QuickEvent<'_>| {
        comparing.see(event);
        flow(&stop)
    };
    let tell = |py: Python<'_>| comparing.tell(py, progress.as_ref()).map(drop);
    let found = interruptible(py, &stop, &tell, || recommend(&dataset, &question, resources, observe))?;
    let answer = found.map_err(PyValueError::new_err)?;
    let mut result = json!(answer);
    for (place, found) in answer.measured.iter().flat_map(|measured| measured.families.iter().enumerate()) {
        result["measured"]["families"][place]["settings"] = settings_of(&found.settings, &graph.dataset.class_names);
    }
    Ok(result.to_string())
}

/// Returns the resources of runs, if the device can be used.
fn resources(threads: usize, device: &str, tf32: bool) -> PyResult<Resources> {
    let resources = Resources { device: parsed("device", device)?, tf32, ..threads.into() };
    resources.check().map_err(|error| exception(error.into()))?;
    Ok(resources)
}

/// Recommends a model for a graph: searches settings and compares families on test nodes within some minutes. Returns the
/// answer, all families and comparisons, and the settings of the recommended family.
#[pyfunction]
#[pyo3(signature = (graph, *, minutes, seed, threads, metric=None, families=Vec::new(), keep_split=false, device="cpu", tf32=false))]
#[allow(clippy::too_many_arguments)]
pub fn recommend_within_minutes(
    py: Python<'_>,
    graph: &Graph,
    minutes: f64,
    seed: u64,
    threads: usize,
    metric: Option<String>,
    families: Vec<String>,
    keep_split: bool,
    device: &str,
    tf32: bool,
) -> PyResult<String> {
    let failed = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    let resources = resources(threads, device, tf32)?;
    let mut question = ThoroughQuestion { metric, seed, keep_split, ..ThoroughQuestion::default() };
    if !families.is_empty() {
        let families = families.iter().map(|name| name.parse::<Family>()).collect::<Result<_, _>>();
        question.families = families.map_err(|error| failed(&error))?;
    }
    let limit = Limit::minutes(minutes);
    let dataset = Arc::clone(&graph.dataset);
    let folder = tempfile::tempdir()?;
    let mut results = ResultsFile::open(&folder.path().join("results.jsonl")).map_err(|error| failed(&error))?;
    let stop = AtomicBool::new(false);
    let observe = |_: ThoroughEvent<'_>| flow(&stop);
    let found = interruptible(py, &stop, &|_| Ok(()), || {
        let mut plan = thorough::plan(&dataset, &question, resources, limit)?;
        thorough::run(&dataset, &mut plan, &mut results, resources, Some(limit), |_| Ok(()), observe)?;
        Ok::<_, thorough::ThoroughError>((ThoroughAnswer::new(&plan, &results), plan))
    })?;
    let (answer, plan) = found.map_err(|error| failed(&error))?;
    let mut result = json!(answer);
    (result["recommendation"], result["settings"]) = (json!(null), json!(null));
    for (place, family) in answer.families.iter().enumerate() {
        let mut settings = settings_of(&family.settings, &graph.dataset.class_names);
        if family.balanced {
            settings["class_weight"] = json!("balanced");
        }
        if answer.family == Some(family.family) {
            result["recommendation"] = json!(family.settings.model);
            result["settings"] = settings.clone();
        }
        result["families"][place]["settings"] = settings;
    }
    result["plan"] = json!(plan);
    Ok(result.to_string())
}

/// Compares two lists of test metrics, paired by seed.
#[pyfunction]
pub fn compare(
    a: (String, Vec<(u64, f64)>),
    b: (String, Vec<(u64, f64)>),
    dataset: &str,
    metric: &str,
) -> PyResult<String> {
    let sample = |(name, runs): (String, Vec<(u64, f64)>)| Sample {
        name,
        dataset: dataset.to_owned(),
        metric: metric.to_owned(),
        runs: runs
            .into_iter()
            .map(|(seed, test)| ComparedRun { split: "same".into(), split_hash: None, seed, test })
            .collect(),
    };
    let comparison = supergat_select::compare::compare(&sample(a), &sample(b));
    Ok(json!(comparison.map_err(PyValueError::new_err)?).to_string())
}

/// Lists the known datasets.
#[pyfunction]
pub fn datasets() -> String {
    let entry = |entry: &registry::Entry| {
        let place = registry::local_folder(entry.name).map(|place| place.display().to_string());
        json!({
            "name": entry.name, "nodes": entry.nodes, "edges": entry.edges, "features": entry.features,
            "classes": entry.classes, "licence": entry.licence, "home": entry.home, "place": place,
        })
    };
    json!(registry::all().map(entry).collect::<Vec<_>>()).to_string()
}

/// Searches hyperparameters by the validation metric. Returns the trials and the best settings.
#[pyfunction]
#[pyo3(signature = (graph, model, *, choose_seconds=None, trials, seed, seeds, threads, also=Vec::new(), search=Vec::new(),
    prune=false, values=None, device="cpu", tf32=false, class_weight=None, positive=None, select=None, progress=None))]
#[allow(clippy::too_many_arguments)]
pub fn tune(
    py: Python<'_>,
    graph: &Graph,
    model: &str,
    choose_seconds: Option<f64>,
    trials: usize,
    seed: u64,
    seeds: u64,
    threads: usize,
    also: Vec<String>,
    search: Vec<(String, String)>,
    prune: bool,
    values: Option<&Bound<'_, PyDict>>,
    device: &str,
    tf32: bool,
    class_weight: Option<Weights>,
    positive: Option<&str>,
    select: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let failed = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    let known = Space::on_request();
    if let Some(name) = also.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(PyValueError::new_err(format!("also: expected some of {}, found {name}", known.join(", "))));
    }
    let resources = resources(threads, device, tf32)?;
    let class_weight = options::class_weight(class_weight)?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("graph.safetensors");
    let (stop, comparing) = (AtomicBool::new(false), Comparing::default());
    let mut builder = Classifier::builder().model(model).resources(resources).observe_choice(|event| {
        comparing.see(event);
        flow(&stop)
    });
    if let Some(seconds) = choose_seconds {
        builder = builder.choose_seconds(seconds);
    }
    if let Some(class) = positive {
        builder = builder.positive(class);
    }
    if let Some(select) = options::select(select)? {
        builder = builder.select(select);
    }
    for (name, found) in values.into_iter().flatten() {
        let name: String = name.extract()?;
        builder = builder.set(&name, value(&name, &found)?);
    }
    let tell = |py: Python<'_>| comparing.tell(py, progress.as_ref()).map(drop);
    let choice = interruptible(py, &stop, &tell, || builder.choose(&graph.dataset))?;
    comparing.end();
    if stop.load(Ordering::Relaxed) {
        return Err(exception(supergat::Error::Interrupted));
    }
    let base = choice.map_err(exception)?.settings;
    let space = Space::with(base.model, &also, &search).map_err(|error| failed(&error))?;
    guarded(py, || Ok(supergat_data::convert(&graph.dataset, &path)?))?;
    let tuning = Tuning {
        source: path.display().to_string(),
        split: SplitChoice::Published,
        class_weight,
        space,
        base,
        seed,
        seeds,
        budget: Budget::Trials(trials),
        pruning: prune,
        finalists: FINALISTS,
        row_normalise: false,
        resources,
    };
    let mut results = ResultsFile::open(&folder.path().join("results.jsonl")).map_err(|error| failed(&error))?;
    let observe = |_: TuneEvent<'_>| flow(&stop);
    let tuned = interruptible(py, &stop, &|_| Ok(()), || {
        supergat_select::tune::tune(&tuning, &mut results, observe).map_err(|error| error.to_string())
    })?;
    let tuned = tuned.map_err(|error| failed(&error))?;
    let names = &graph.dataset.class_names;
    let trial = |trial: &supergat_select::tune::Trial| {
        json!({
            "settings": settings_of(&trial.settings, names), "validation": trial.scores, "finals": trial.finals,
            "pruned": trial.pruned,
        })
    };
    let trials: Vec<_> = tuned.trials.iter().map(trial).collect();
    Ok(json!({ "trials": trials, "best": tuned.best, "interrupted": tuned.interrupted }).to_string())
}
