//! Targets of saved models, checkpoints of trainings, and plans of recommendations. The tests of supergat include this file.
//!
//! In fuzzers every checksum is right, so that they get past it.

use std::sync::LazyLock;
use supergat::{Checkpoints, Classifier, Dataset, Interval, Settings};
use supergat_core::{Prepared, TrainState, Trainer};
use supergat_cpu::Cpu;
use supergat_select::recommend::thorough::{ThoroughAnswer, ThoroughPlan, sheet};
use supergat_select::sweep::ResultsFile;

/// A reader under test. Returns whether it accepts the bytes.
pub type Target = fn(&[u8]) -> bool;

/// All targets of models by the name of their folder in the corpus.
pub const TARGETS: [(&str, Target); 3] =
    [("model", model_file), ("train_state", train_state_file), ("plan", plan_files)];

/// Separator of a plan and its results.
pub const SEPARATOR: &[u8] = b"\n==\n";

/// Graph that the models of the corpus were trained on.
static GRAPH: LazyLock<Dataset> = LazyLock::new(|| {
    let builder = Dataset::builder(6).edges(&[(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]);
    let builder = builder.dense_features(&[1.0, 0.8, 0.9, -1.0, -0.7, -0.9], 1);
    let labels = [Some(0), Some(0), None, Some(1), Some(1), Some(1)];
    builder.labels(&labels).split(&[0, 5], &[1, 4], &[3]).build().expect("a small graph")
});

/// Settings of the trainings of the corpus.
fn settings() -> Settings {
    let general = Settings::general("supergat-mx".parse().expect("a model"));
    general.with(|s| {
        s.network.hidden = 1;
        s.network.heads = 1;
        s.network.output_heads = 1;
        s.training.max_epochs = 9;
    })
}

/// The graph, prepared for these trainings.
static PREPARED: LazyLock<Prepared<Cpu<f32>>> = LazyLock::new(|| {
    let (settings, examples) = (settings(), &GRAPH.examples);
    Prepared::on(&Cpu::default(), examples, settings.architecture(&GRAPH), settings.training())
        .expect("settings of the graph")
});

/// Opens a model and predicts a graph.
pub fn model_file(bytes: &[u8]) -> bool {
    let Ok(model) = Classifier::from_bytes(bytes) else { return false };
    if let Ok(predictions) = model.predict(&GRAPH) {
        assert!(predictions.probabilities().iter().all(|p| p.is_finite()), "a probability is no number");
    }
    let _ = (model.evaluate(&GRAPH), model.attention(&GRAPH, 0), model.correction());
    Classifier::from_bytes(&model.to_bytes()).expect("a model that was read can be saved");
    true
}

/// Resumes a training, as a state in memory and as a file of its folder.
pub fn train_state_file(bytes: &[u8]) -> bool {
    let Ok(state) = TrainState::from_bytes(bytes) else { return false };
    TrainState::from_bytes(&state.to_bytes()).expect("a state that was read can be saved");
    let trainer = Trainer::resume(&PREPARED, &state);
    let is_resumed = trainer.is_ok_and(|mut trainer| trainer.next_epoch().is_ok());
    let folder = std::env::temp_dir().join(format!("supergat-fuzz-state-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    std::fs::write(folder.join("seed-0.safetensors"), bytes).expect("a temporary file");
    let checkpoints = Checkpoints::in_folder(&folder, Interval::Never);
    assert!(checkpoints.found().is_ok() && checkpoints.seconds().is_finite());
    let builder = Classifier::builder().settings(settings()).threads(1).checkpoints(&checkpoints);
    let _ = builder.train(&GRAPH);
    std::fs::remove_dir_all(folder).expect("the folder was just made");
    is_resumed
}

/// Reads a plan and its results, and compares the families.
pub fn plan_files(bytes: &[u8]) -> bool {
    let end = bytes.windows(SEPARATOR.len()).position(|window| window == SEPARATOR).unwrap_or(bytes.len());
    let (plan, results) = (&bytes[..end], bytes.get(end + SEPARATOR.len()..).unwrap_or_default());
    let path = std::env::temp_dir().join(format!("supergat-fuzz-results-{}.jsonl", std::process::id()));
    std::fs::write(&path, results).expect("a temporary file");
    let results = ResultsFile::read(&path).expect("the file was just written");
    std::fs::remove_file(path).expect("the file was just written");
    let Some(plan) = std::str::from_utf8(plan).ok().and_then(|text| ThoroughPlan::from_json(text).ok()) else {
        return false;
    };
    ThoroughPlan::from_json(&plan.to_json()).expect("a plan that was read can be written");
    let _ = (plan.check(&GRAPH), plan.families.iter().filter_map(|of| plan.largest(of.family)).count());
    let answer = ThoroughAnswer::new(&plan, &results);
    let _ = (sheet::families(&answer), sheet::comparisons(&answer));
    true
}
