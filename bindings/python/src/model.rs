//! Training and trained models.

use crate::errors::{exception, guarded, in_keywords, internal};
use crate::graph::Graph;
use crate::options::{self, Weights, parsed, settings_of, value};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::json;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use supergat::hyperparameters::{HYPERPARAMETERS, Hyperparameter};
use supergat::{
    Calibrate, Checkpoints, Classifier, DeviceChoice, Epoch, Interval, Observation, Predictions, SeedMetrics, SeedRun,
    ThresholdRule,
};
use supergat_select::recommend::quick::QuickEvent;
use supergat_studies::report::{EpochLine, Report, Run};
use supergat_train::Saving;

/// Time between two looks at signals and progress.
const LOOK: Duration = Duration::from_millis(50);

/// A trained model.
#[pyclass(frozen, module = "supergat._supergat")]
pub struct Model {
    classifier: Arc<Classifier>,
}

/// Names of all models.
#[pyfunction]
pub fn model_names() -> Vec<String> {
    supergat::Model::names()
}

/// Table of all hyperparameters, as JSON: name, meaning, range and default.
#[pyfunction]
pub fn hyperparameters() -> PyResult<String> {
    let model = supergat::DEFAULT_MODEL;
    let row = |h: &Hyperparameter| {
        json!({
            "name": h.name, "group": h.group.heading(), "meaning": h.meaning, "range": h.range.to_string(),
            "default": h.default_on_new_graphs(model),
        })
    };
    Ok(json!(HYPERPARAMETERS.iter().map(row).collect::<Vec<_>>()).to_string())
}

/// Lists the devices that can train, the CPU first, and says why no GPU can be used. As JSON.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut listed = vec![json!({
        "device": "cpu", "name": format!("{cores} cores"), "memory": null, "free": null, "compute_capability": null,
        "driver": null,
    })];
    let found = guarded(py, || Ok(supergat::devices()))?;
    let no_gpu = found.as_ref().err().map(ToString::to_string);
    let text = |(major, minor): (i32, i32)| format!("{major}.{minor}");
    listed.extend(found.into_iter().flatten().enumerate().map(|(number, gpu)| {
        json!({
            "device": format!("cuda:{number}"), "name": gpu.name, "memory": gpu.total_memory, "free": gpu.free_memory,
            "compute_capability": text(gpu.compute_capability), "driver": text(gpu.driver),
        })
    }));
    Ok(json!({ "devices": listed, "no_gpu": no_gpu }).to_string())
}

/// Runs `work` on another thread, so that this one can handle signals. The first Ctrl-C sets `stop`; the second
/// raises. `progress` is called about ten times per second.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    progress: &dyn Fn(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let wait = || receiver.lock().map_or(Err(mpsc::RecvTimeoutError::Disconnected), |it| it.recv_timeout(LOOK));
    let mut raised = None;
    let result = std::thread::scope(|scope| {
        scope.spawn(move || sender.send(catch_unwind(AssertUnwindSafe(work))));
        loop {
            match py.detach(wait) {
                Ok(result) => break result,
                Err(mpsc::RecvTimeoutError::Disconnected) => break Err(Box::new("the training thread ended")),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if let Err(error) = py.check_signals().and(progress(py)) {
                // The first Ctrl-C ends the training with what there is. Any other exception is raised at its end.
                let interrupt = error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py);
                if stop.swap(true, Ordering::Relaxed) || !interrupt {
                    raised.get_or_insert(error);
                }
            }
        }
    });
    match (raised, result) {
        (Some(error), _) => Err(error),
        (None, Ok(result)) => Ok(result),
        (None, Err(panic)) => Err(internal(&*panic)),
    }
}

/// Returns `Break` once the work must stop.
pub fn flow(stop: &AtomicBool) -> ControlFlow<()> {
    if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// State of a comparison of models, for a progress line.
#[derive(Default)]
pub struct Comparing {
    /// Names of the families, numbers of ended and of all runs, and about how many seconds are left. `None` before and after.
    state: Mutex<Option<(String, usize, usize, Option<f64>)>>,
}

impl Comparing {
    /// Records an event.
    pub fn see(&self, event: QuickEvent<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (names, done, all, left) = state.get_or_insert_default();
        match event {
            QuickEvent::Timing(_) => {}
            QuickEvent::Planned(plan) => {
                let families: Vec<&str> = plan.families.iter().map(|family| family.name).collect();
                *names = families.join(", ");
            }
            QuickEvent::Epoch(time) => *left = time.map(|time| time.as_secs_f64()),
            QuickEvent::Run(ended, runs) => (*done, *all) = (ended, runs),
        }
    }

    /// Forgets the comparison, which has ended.
    pub fn end(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Calls `progress.choosing` if models are compared now, and returns whether they are.
    pub fn tell(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<bool> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some((names, done, all, left)) = state else { return Ok(false) };
        if let Some(progress) = progress {
            progress.call_method1(py, "choosing", (names, (done + 1).min(all), all, left))?;
        }
        Ok(true)
    }
}

/// Trains once per seed. `progress(done, epoch, metric)` is called while it runs, and `progress.choosing` while models are
/// compared. Checkpoints are written to the
/// folder `checkpoint`, and removed when the training is finished.
#[pyfunction]
#[pyo3(signature = (graph, *, model=None, choose_seconds=None, preset=None, values=None, seeds, threads=None, device="cpu", tf32=false,
    checkpoint=None, checkpoint_every="10m",
    class_weight=None, positive=None, calibrate="auto", threshold=None, select=None, ensemble=false, progress=None))]
#[allow(clippy::too_many_arguments)]
pub fn train<'py>(
    py: Python<'py>,
    graph: &Graph,
    model: Option<&str>,
    choose_seconds: Option<f64>,
    preset: Option<&str>,
    values: Option<&Bound<'py, PyDict>>,
    seeds: Vec<u64>,
    threads: Option<usize>,
    device: &str,
    tf32: bool,
    checkpoint: Option<PathBuf>,
    checkpoint_every: &str,
    class_weight: Option<Weights>,
    positive: Option<&str>,
    calibrate: &str,
    threshold: Option<&str>,
    select: Option<&str>,
    ensemble: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (device, every): (DeviceChoice, Interval) =
        (parsed("device", device)?, parsed("checkpoint_every", checkpoint_every)?);
    let calibrate: Calibrate = parsed("calibrate", calibrate)?;
    let threshold: Option<ThresholdRule> = threshold.map(|rule| parsed("threshold", rule)).transpose()?;
    let (select, class_weight) = (options::select(select)?, options::class_weight(class_weight)?);
    let not_saved = Mutex::new(None);
    let report = |saving: Saving<'_>| {
        let mut not_saved = not_saved.lock().unwrap_or_else(PoisonError::into_inner);
        *not_saved = if let Saving::Failed(error) = saving { Some(error.to_string()) } else { None };
    };
    let checkpoints = checkpoint.map(|folder| Checkpoints::in_folder(&folder, every).report_to(report));
    let stop = AtomicBool::new(false);
    let (done, epochs, metric) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let observe = |event: Observation<'_>| {
        match event {
            Observation::Epoch(_, epoch) => {
                epochs.store(epoch.epoch as u64 + 1, Ordering::Relaxed);
                metric.store(epoch.validation.metric.to_bits(), Ordering::Relaxed);
            }
            Observation::Done(..) => {
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
        flow(&stop)
    };
    let mut given = Vec::new();
    for (name, found) in values.into_iter().flatten() {
        let name: String = name.extract()?;
        given.push((name.clone(), value(&name, &found)?));
    }
    let comparing = Comparing::default();
    let tell = |py: Python<'_>| {
        if comparing.tell(py, progress.as_ref())? {
            return Ok(());
        }
        let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let state = (load(&done), load(&epochs), f64::from_bits(load(&metric)));
        progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, state).map(drop))
    };
    let dataset = &graph.dataset;
    let training = interruptible(py, &stop, &tell, || {
        let mut builder = Classifier::builder().seeds(seeds).device(device).tf32(tf32).observe(observe);
        builder = builder.observe_choice(|event| {
            comparing.see(event);
            flow(&stop)
        });
        if let Some(seconds) = choose_seconds {
            builder = builder.choose_seconds(seconds);
        }
        if let Some(name) = model {
            builder = builder.model(name);
        }
        if let Some(preset) = preset {
            builder = builder.preset(preset);
        }
        if let Some(threads) = threads {
            builder = builder.threads(threads);
        }
        if let Some(checkpoints) = &checkpoints {
            builder = builder.checkpoints(checkpoints);
        }
        builder = builder.calibrate(calibrate).ensemble(ensemble).class_weight(class_weight);
        if let Some(class) = positive {
            builder = builder.positive(class);
        }
        if let Some(rule) = threshold {
            builder = builder.threshold(rule);
        }
        if let Some(select) = select {
            builder = builder.select(select);
        }
        for (name, value) in given {
            builder = builder.set(&name, value);
        }
        // Models are compared once.
        let choice = builder.choose(dataset)?;
        comparing.end();
        if choice.recommendation.is_some() && stop.load(Ordering::Relaxed) {
            return Err(supergat::Error::Interrupted);
        }
        builder.chosen(choice.clone()).train(dataset).map(|training| (training, choice))
    })?;
    let (training, choice) = training.map_err(exception)?;
    if let Some(checkpoints) = checkpoints.as_ref().filter(|_| !training.interrupted) {
        checkpoints.remove()?;
    }
    drop(checkpoints);
    let found = PyDict::new(py);
    found.set_item("not_saved", not_saved.into_inner().unwrap_or_else(PoisonError::into_inner))?;
    found.set_item("runs", training.runs.iter().map(|run| run_of(py, run)).collect::<PyResult<Vec<_>>>()?)?;
    found.set_item("best", training.best)?;
    found.set_item("interrupted", training.interrupted)?;
    found.set_item("recommendation", choice.recommendation.as_ref().map(|found| json!(found).to_string()))?;
    found.set_item("settings", settings_of(&choice.settings, &dataset.class_names).to_string())?;
    found.set_item("published", choice.published)?;
    found.set_item("unused", choice.unused)?;
    found.set_item("probabilities", probabilities(py, &training.predictions)?)?;
    let mean = training.ensemble.as_ref().map(|(mean, _)| probabilities(py, mean)).transpose()?;
    found.set_item("ensemble", mean)?;
    found.set_item("metric", training.metric.name())?;
    found.set_item("metrics", json!(training.metrics.iter().map(metrics_of).collect::<Vec<_>>()).to_string())?;
    found
        .set_item("ensemble_metrics", training.ensemble.as_ref().map(|(_, metrics)| metrics_of(metrics).to_string()))?;
    found.set_item("warnings", training.warnings().iter().map(|warning| in_keywords(warning)).collect::<Vec<_>>())?;
    found.set_item("model", Model { classifier: Arc::new(training.classifier) })?;
    Ok(found)
}

/// Converts all metrics of one seed.
fn metrics_of(seed: &SeedMetrics) -> serde_json::Value {
    json!({
        "validation": seed.validation, "test": seed.test, "temperature": seed.decision.temperature,
        "threshold": seed.decision.threshold, "uncalibrated": seed.uncalibrated,
    })
}

/// Converts the result of one seed, with its curves.
fn run_of<'py>(py: Python<'py>, run: &SeedRun) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("seed", run.seed)?;
    found.set_item("epochs", run.outcome.epochs)?;
    found.set_item("best_epoch", run.outcome.best_epoch)?;
    found.set_item("validation", run.outcome.validation.metric)?;
    found.set_item("test", run.outcome.test.metric)?;
    found.set_item("seconds", run.seconds)?;
    let curves: [(&str, fn(&Epoch) -> f64); 7] = [
        ("label_loss", |e| e.train.label),
        ("edge_loss", |e| e.train.edge),
        ("train_loss", |e| e.train.total),
        ("validation_loss", |e| e.validation.loss),
        ("validation_metric", |e| e.validation.metric),
        ("test_loss", |e| e.test.loss),
        ("test_metric", |e| e.test.metric),
    ];
    let all = PyDict::new(py);
    for (name, of) in curves {
        all.set_item(name, run.history.iter().map(of).collect::<Vec<f64>>().into_pyarray(py))?;
    }
    found.set_item("curves", all)?;
    Ok(found)
}

fn probabilities<'py>(py: Python<'py>, predictions: &Predictions) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let shape = [predictions.nodes(), predictions.class_names().len()];
    predictions.probabilities().to_vec().into_pyarray(py).reshape(shape)
}

#[pymethods]
impl Model {
    /// Opens a model file or a run folder.
    #[staticmethod]
    fn load(py: Python<'_>, path: &str) -> PyResult<Self> {
        let classifier = guarded(py, || Classifier::load(path))?;
        Ok(Self { classifier: Arc::new(classifier) })
    }

    /// Reads the bytes of a model file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let classifier = guarded(py, || Classifier::from_bytes(bytes))?;
        Ok(Self { classifier: Arc::new(classifier) })
    }

    /// Bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.classifier.to_bytes())
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        guarded(py, || self.classifier.save(path))
    }

    /// Probabilities of all nodes of a graph.
    fn predict<'py>(&self, py: Python<'py>, graph: &Graph) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let predictions = guarded(py, || self.classifier.predict(&graph.dataset))?;
        probabilities(py, &predictions)
    }

    /// Number of nodes, loss, metric and all metrics of every split, as JSON.
    fn evaluate(&self, py: Python<'_>, graph: &Graph) -> PyResult<String> {
        let found = guarded(py, || self.classifier.evaluate(&graph.dataset))?;
        let score = |split: Option<supergat::SplitScore>| {
            split.map(|split| {
                let (nodes, score) = (split.nodes, split.score);
                json!({ "nodes": nodes, "loss": score.loss, "metric": score.metric, "metrics": split.metrics })
            })
        };
        let splits =
            json!({ "train": score(found.train), "validation": score(found.validation), "test": score(found.test) });
        Ok(splits.to_string())
    }

    /// Attention on all edges of the first graph, or on those of one of its nodes: arrays of equal length.
    #[pyo3(signature = (graph, node=None))]
    fn attention<'py>(&self, py: Python<'py>, graph: &Graph, node: Option<usize>) -> PyResult<Bound<'py, PyDict>> {
        let edges = guarded(py, || {
            let attention = self.classifier.attention(&graph.dataset, 0)?;
            let count = graph.dataset.examples[0].graph.nodes();
            match node {
                Some(found) if found >= count => Err(supergat::Error::OutOfRange { what: "node", found, count }),
                Some(node) => Ok(attention.of(node)),
                None => Ok(attention.edges().collect()),
            }
        })?;
        let found = PyDict::new(py);
        found.set_item("source", edges.iter().map(|e| e.source as i64).collect::<Vec<_>>().into_pyarray(py))?;
        found.set_item("target", edges.iter().map(|e| e.target as i64).collect::<Vec<_>>().into_pyarray(py))?;
        found.set_item("layer", edges.iter().map(|e| e.layer as i64).collect::<Vec<_>>().into_pyarray(py))?;
        found.set_item("head", edges.iter().map(|e| e.head as i64).collect::<Vec<_>>().into_pyarray(py))?;
        found.set_item("coefficient", edges.iter().map(|e| e.coefficient).collect::<Vec<_>>().into_pyarray(py))?;
        found.set_item("logit", edges.iter().map(|e| e.logit).collect::<Vec<_>>().into_pyarray(py))?;
        Ok(found)
    }

    /// Reads a new dataset for this model, with the columns and classes of the training data.
    fn read(&self, py: Python<'_>, source: &str) -> PyResult<Graph> {
        guarded(py, || self.classifier.read(source)).map(Graph::new)
    }

    /// Reads two new frames for this model, with the columns and classes of the training data.
    fn read_frames(&self, nodes: &Bound<'_, PyAny>, edges: &Bound<'_, PyAny>) -> PyResult<Graph> {
        let py = nodes.py();
        let (nodes, edges) = (crate::columns::frame("nodes", nodes)?, crate::columns::frame("edges", edges)?);
        guarded(py, || self.classifier.read_frames(nodes, edges)).map(Graph::new)
    }

    /// Name, classes, settings, seed and version, as JSON.
    fn card(&self) -> String {
        let (card, shape) = (self.classifier.card(), self.classifier.architecture());
        json!({
            "model": self.classifier.model_name(), "dataset": card.dataset, "class_names": card.class_names,
            "settings": card.settings.as_ref().map(|settings| settings_of(settings, &card.class_names)), "seed": card.seed, "best_epoch": card.best_epoch, "version": card.version,
            "temperature": card.decision.temperature, "threshold": card.decision.threshold,
            "positive": self.classifier.positive_class(), "features": shape.input_features, "multi_label": shape.multi_label,
        })
        .to_string()
    }

    /// Report of the model on its training graph: the page and its figures (name, SVG).
    fn report(
        &self,
        py: Python<'_>,
        graph: &Graph,
        curves: Vec<(u64, Vec<[f64; 7]>)>,
        facts: Vec<(String, String)>,
        metric: &str,
    ) -> PyResult<(String, Vec<(String, String)>)> {
        let (classifier, dataset) = (&self.classifier, &graph.dataset);
        let lines: Vec<EpochLine> = curves.iter().flat_map(|(seed, epochs)| lines(*seed, epochs)).collect();
        guarded(py, || {
            let predictions = classifier.predict(dataset)?;
            let (seed, epoch) = (classifier.card().seed.unwrap_or(0), classifier.card().best_epoch.unwrap_or(0));
            let (model, decision, logits) = (classifier.engine(), &classifier.card().decision, predictions.logits());
            let run = Run { dataset, model, logits, decision, lines: &lines, seed, epoch, metric };
            let report = Report::of(&run, &facts)?;
            Ok((report.html("", ""), report.figures().to_vec()))
        })
    }
}

/// Converts the curves of a seed, in the order of the curves of [`run_of`].
fn lines(seed: u64, epochs: &[[f64; 7]]) -> impl Iterator<Item = EpochLine> + '_ {
    use supergat::Score;
    epochs.iter().enumerate().map(move |(epoch, &[label, edge, total, loss, metric, test_loss, test_metric])| {
        let train = supergat_core::StepLoss { label, edge, total };
        let (validation, test) = (Score { loss, metric }, Score { loss: test_loss, metric: test_metric });
        EpochLine::new(seed, &Epoch { epoch, train, validation, test, best: false })
    })
}
