//! Systems as models: trainings, files, estimates, and what they refuse.

use std::collections::HashMap;
use std::ops::ControlFlow;
use supergat_core::hyperparameters::GamOptions;
use supergat_cpu::Checkpoint;
use supergat_data::Dataset;
use supergat_systems::Options;
use supergat_train::settings::FamilySettings;
use supergat_train::{DeviceChoice, Fitted, Observation, Resources, Runs, Settings, estimate, run_seeds};

fn dataset() -> Dataset {
    supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap()
}

fn settings(model: &str) -> Settings {
    let general = Settings::general(model.parse().unwrap());
    match model {
        "glcn" | "neuralsparse" => general.with(|s| s.training.max_epochs = 12),
        "lds" => general.with(|s| {
            s.training.max_epochs = 2;
            s.set("inner_steps", 40).unwrap();
            s.set("graph_samples", 3).unwrap();
        }),
        _ => general.with(|s| {
            s.training.max_epochs = 30;
            s.set("rounds", 3).unwrap();
            s.set("agreement_steps", 50).unwrap();
        }),
    }
}

fn trained(model: &str, seeds: &[u64], threads: usize) -> Runs {
    run_seeds(&dataset(), &settings(model), seeds, threads, |_| ControlFlow::Continue(())).unwrap()
}

const MODELS: [&str; 4] = ["glcn", "neuralsparse", "gcn-gam", "lds"];

#[test]
fn results_do_not_depend_on_threads_or_other_seeds() {
    for model in ["gcn-gam", "lds"] {
        let (both, alone) = (trained(model, &[4, 5], 2), trained(model, &[5], 3));
        assert_eq!(both.runs[1].history, alone.runs[0].history, "{model}");
        assert!(alone.runs[0].outcome.test.metric > 0.5, "{model}: {:?}", alone.runs[0].outcome);
    }
}

#[test]
fn models_are_saved_and_predict_the_same_bits() {
    let dataset = dataset();
    let other = supergat_data::load("random-partition:classes=3,nodes=180,degree=7,homophily=0.8").unwrap();
    for model in MODELS {
        let runs = trained(model, &[1], 2);
        let bytes = runs.model.checkpoint(HashMap::new(), HashMap::new()).to_bytes();
        let read = Fitted::read(&mut Checkpoint::from_bytes(&bytes).unwrap()).unwrap();
        assert_eq!(read.architecture().model.to_string(), model);
        assert_eq!(read.logits(&dataset).unwrap(), runs.logits, "{model}");
        let example = &dataset.examples[0];
        let weights = read.attention(0, example).unwrap();
        assert_eq!(weights, runs.model.attention(0, example).unwrap());
        assert_eq!(weights.is_empty(), ["gcn-gam", "lds"].contains(&model), "{model}");
        assert!(weights.iter().all(|layer| layer.coefficients.len() == layer.heads * example.graph.edges()));
        // A network can predict another graph, and the graphs of LDS belong to one.
        match (model, read.logits(&other)) {
            ("lds", Err(error)) => assert!(error.to_string().contains("this is another one"), "{error}"),
            (_, logits) => assert_eq!(logits.unwrap()[0].len(), runs.logits[0].len()),
        }
    }
}

#[test]
fn observers_see_every_epoch_and_stop_trainings() {
    for (model, last) in [("glcn", 7), ("neuralsparse", 7), ("gcn-gam", 34), ("lds", 0)] {
        let runs = run_seeds(&dataset(), &settings(model), &[0], 1, |observation| match observation {
            Observation::Epoch(_, epoch) if epoch.epoch == last => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        let runs = runs.unwrap();
        assert!(runs.interrupted && runs.runs[0].history.len() == last + 1, "{model}");
    }
}

#[test]
fn memory_is_estimated_and_large_graphs_are_refused() {
    let dataset = dataset();
    let bytes = |settings: &Settings| estimate(&dataset, settings, 1, Resources::from(1), 0, (0, 0)).unwrap().workspace;
    let pairs = 540 * 539 / 2 * 4;
    assert!(bytes(&settings("lds")) > pairs && bytes(&settings("gcn-gam")) > bytes(&settings("glcn")) / 100);
    let more = settings("gcn-gam").with(|s| {
        s.set("agreement_hidden", 512).unwrap();
    });
    assert!(bytes(&more) > bytes(&settings("gcn-gam")));
    let large = supergat_data::load("random-graph:nodes=9000,degree=2,features=4,classes=2").unwrap();
    for error in [
        estimate(&large, &settings("lds"), 1, Resources::from(1), 0, (0, 0)).unwrap_err(),
        run_seeds(&large, &settings("lds"), &[0], 1, |_| ControlFlow::Continue(())).unwrap_err(),
    ] {
        let error = error.to_string();
        assert!(error.contains("at most 8000 nodes; 9000 nodes would need 0.2 GB"), "{error}");
    }
}

#[test]
fn gpus_and_options_without_effect_are_refused() {
    let gpu = Resources { device: DeviceChoice::Cuda(0), ..Resources::from(1) };
    for model in MODELS {
        let error = run_seeds(&dataset(), &settings(model), &[0], gpu, |_| ControlFlow::Continue(())).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{model} runs on the CPU only: use parameter `device=cpu`, or another model")
        );
    }
    let deep = settings("lds").with(|s| s.network.layers = 3);
    assert_eq!(deep.check(&dataset()).unwrap_err().to_string(), "layers = 3: lds has 2 layers; use another model");
    let family = FamilySettings::System(Options::Gam(GamOptions { rounds: 0, ..GamOptions::default() }));
    let zero = Settings { family, ..settings("gcn-gam") };
    assert!(zero.check(&dataset()).unwrap_err().to_string().starts_with("rounds = 0: must be"));
}
