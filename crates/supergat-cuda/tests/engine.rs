//! The engine on a GPU: golden files, agreement with the CPU, and equal bits of two runs.

#[path = "../../supergat-core/tests/engine/common.rs"]
#[allow(dead_code)]
mod common;
#[path = "../../supergat-core/tests/engine/parity.rs"]
mod parity;
#[path = "../../supergat-core/tests/engine/properties.rs"]
mod properties;
mod support;

use common::{FORMS, Recipe, architecture};
use std::ops::ControlFlow;
use supergat_core::layers::{Boundary, Contrast};
use supergat_core::{
    Architecture, Convolution, Cpu, Device, Example, Features, ModelKind, Network, Prepared, Session, TrainConfig,
    Trainer,
};
use supergat_cuda::Cuda;
use support::gpu;

#[test]
fn golden_files_match() {
    let Some(cuda) = gpu() else { return };
    parity::check_all(&cuda, 1e-4);
}

#[test]
fn properties_hold() {
    let Some(cuda) = gpu() else { return };
    for (seed, form) in (0..12).flat_map(|seed| FORMS.map(|form| (seed, form))) {
        let (nodes, edges) = (20 + 7 * seed as usize, 30 + 40 * seed as usize);
        let recipe = Recipe { nodes, edges, directed: seed % 2 == 0, seed, ..Recipe::default() };
        properties::attention_sums_to_one(&cuda, recipe, form);
        properties::pair_logits_of_edges_equal_attention_logits(&cuda, recipe, form, 1e-5);
        properties::predictions_do_not_depend_on_node_numbers(&cuda, recipe, form, 1e-5);
    }
    properties::attention_is_exact_for_hubs_and_large_scores(&cuda);
}

/// Models with their examples and training configurations: every form, with and without self-supervision, CGAT,
/// convolutions and MLP, any number of heads, directed and undirected, dense and sparse, one or several labels.
fn cases() -> Vec<(String, Architecture, Example<f32>, TrainConfig)> {
    let mut cases = Vec::new();
    let config = TrainConfig { p_e: 0.7, p_n: 0.9, max_epochs: 10, early_stop: None, ..TrainConfig::default() };
    let mut add = |name: String, shape: Architecture, example: &Example<f32>, config: TrainConfig| {
        cases.push((name, shape, example.clone(), config));
    };
    for (number, form) in FORMS.into_iter().enumerate() {
        for (heads, output_heads, hidden) in [(8, 8, 8), (1, 1, 3), (2, 4, 5), (3, 1, 7), (4, 9, 4), (12, 2, 3)] {
            let directed = (heads + number) % 2 == 0;
            let recipe =
                Recipe { nodes: 60, edges: 200, features: 13, directed, seed: heads as u64, ..Recipe::default() };
            let recipe = Recipe { sparse: heads % 3 == 0, multi: heads == 4, ..recipe };
            let example: Example<f32> = recipe.build();
            for (supervised, dropout) in [(true, 0.3), (false, 0.6), (true, 0.0)] {
                let shape = architecture(&example, form, supervised);
                let shape = Architecture { heads, output_heads, hidden, dropout, ..shape };
                add(format!("{form:?} {heads} {output_heads} {supervised} {dropout}"), shape, &example, config);
            }
        }
    }
    for sparse in [false, true] {
        let example: Example<f32> =
            Recipe { nodes: 50, edges: 130, features: 9, sparse, seed: 3, ..Recipe::default() }.build();
        let shape = Architecture { hidden: 5, dropout: 0.3, layers: 3, ..architecture(&example, FORMS[0], false) };
        let kinds = [Convolution::Gcn, Convolution::GcnIncoming, Convolution::Sage, Convolution::SageRoot];
        for kind in kinds.map(ModelKind::Convolution).into_iter().chain([ModelKind::Mlp]) {
            add(format!("{kind} sparse {sparse}"), Architecture { model: kind, ..shape }, &example, config);
        }
        let train = Example { train: (0..30).collect(), validation: vec![30], test: vec![31, 32], ..example.clone() };
        for by_classes in [false, true] {
            let contrast = Contrast {
                top_k: 2,
                negatives_per_edge: 3,
                lambda_g: 1.3,
                margin_g: 0.3,
                boundary: by_classes.then_some(Boundary { lambda_b: 0.9, margin_b: 0.1 }),
            };
            let model = ModelKind::Constrained { by_classes };
            let config = TrainConfig { contrast: Some(contrast), ..config };
            add(format!("{model} sparse {sparse}"), Architecture { model, ..shape }, &train, config);
        }
    }
    cases
}

/// Losses and gradients of one step, by parameter.
fn step<D: Device<Number = f32>>(
    device: &D,
    shape: Architecture,
    example: &Example<f32>,
    config: TrainConfig,
) -> Vec<(String, Vec<f32>)> {
    let prepared = Prepared::on(device, std::slice::from_ref(example), shape, config).unwrap();
    let network = Network::on(device, shape, 5).unwrap();
    let mut session = Session::new(&prepared, network, 3, true).unwrap();
    session.set_step(7).unwrap();
    let lambda_e = shape.model.is_self_supervised().then_some(1.3);
    session.forward(0, true).unwrap();
    let logits = session.logits(0).unwrap();
    session.backward(0, true, lambda_e).unwrap();
    let loss = session.loss(0, lambda_e).unwrap();
    let mut found = vec![("losses".to_owned(), vec![loss.label as f32, loss.edge as f32]), ("logits".into(), logits)];
    let gradients = session.network().parameters().map(|p| (p.name.clone(), p.gradient_to_rows(device).unwrap()));
    found.extend(gradients);
    found
}

fn assert_close(what: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1e-3f32, |largest, v| largest.max(v.abs()));
    for (k, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= tolerance * scale, "{what}[{k}]: found {f}, expected {e}, largest {scale}");
    }
}

/// Returns the largest difference, relative to the largest expected number.
fn error(found: &[f32], expected: &[f32]) -> f32 {
    let scale = expected.iter().fold(1e-3f32, |largest, v| largest.max(v.abs()));
    found.iter().zip(expected).fold(0f32, |largest, (f, e)| largest.max((f - e).abs() / scale))
}

#[test]
fn losses_and_gradients_agree_with_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for (name, shape, example, config) in cases() {
        let (ours, theirs) = (step(&cuda, shape, &example, config), step(&Cpu::default(), shape, &example, config));
        for ((what, found), (_, expected)) in ours.iter().zip(&theirs) {
            assert_close(&format!("{name}: {what}"), found, expected, 1e-4);
        }
    }
}

/// Weights, losses and predictions after ten epochs.
fn trained<D: Device<Number = f32>>(
    device: &D,
    shape: Architecture,
    examples: &[Example<f32>],
    config: TrainConfig,
) -> Vec<Vec<f32>> {
    let prepared = Prepared::on(device, examples, shape, config).unwrap();
    let mut losses = Vec::new();
    let trained = Trainer::new(&prepared, 1).unwrap().run(|epoch| {
        losses
            .extend([epoch.train.label, epoch.train.edge, epoch.validation.loss, epoch.test.metric].map(|v| v as f32));
        ControlFlow::Continue(())
    });
    let trained = trained.unwrap();
    let mut all = vec![losses];
    all.extend(trained.model.parameters().map(|p| p.to_rows(trained.model.device()).unwrap()));
    all.extend(trained.logits);
    all
}

#[test]
fn ten_epochs_agree_with_the_cpu_and_repeat_their_bits() {
    let Some(cuda) = gpu() else { return };
    let mut largest = 0f32;
    for (name, shape, example, config) in cases().into_iter().step_by(3) {
        let examples = [example];
        let first = trained(&cuda, shape, &examples, config);
        let again = trained(&Cuda::new(0).unwrap(), shape, &examples, config);
        let bits = |all: &[Vec<f32>]| all.iter().flatten().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert!(bits(&first) == bits(&again), "{name}: two runs differ");
        let cpu = trained(&Cpu::default(), shape, &examples, config);
        for (k, (found, expected)) in first.iter().zip(&cpu).enumerate().skip(1) {
            largest = largest.max(error(found, expected));
            assert_close(&format!("{name}: {k}"), found, expected, 1e-4);
        }
    }
    println!("largest difference of weights and predictions after ten epochs: {largest:e}");
}

#[test]
fn several_graphs_train_as_on_the_cpu() {
    let Some(cuda) = gpu() else { return };
    let recipe = |seed: u64, nodes: usize| Recipe { seed, nodes, edges: 4 * nodes, multi: true, ..Recipe::default() };
    let examples: Vec<Example<f32>> =
        [(1, 40), (2, 90), (3, 25)].map(|(seed, nodes)| recipe(seed, nodes).build()).into();
    let shape = Architecture { dropout: 0.2, heads: 4, hidden: 8, ..architecture(&examples[0], FORMS[2], true) };
    let config = TrainConfig { max_epochs: 5, early_stop: None, ..TrainConfig::default() };
    let (ours, theirs) = (trained(&cuda, shape, &examples, config), trained(&Cpu::default(), shape, &examples, config));
    for (k, (found, expected)) in ours.iter().zip(&theirs).enumerate() {
        assert_close(&format!("{k}"), found, expected, 2e-3);
    }
}

#[test]
fn samples_and_masks_are_the_same_bits() {
    let Some(cuda) = gpu() else { return };
    let samples = |example: &Example<f32>, step: u32| {
        let shape = architecture(example, FORMS[3], true);
        let config = TrainConfig { p_e: 0.8, p_n: 0.5, ..TrainConfig::default() };
        let examples = std::slice::from_ref(example);
        let (cpu, gpu) = (Prepared::new(examples, shape, config), Prepared::on(&cuda, examples, shape, config));
        let (cpu, gpu) = (cpu.unwrap(), gpu.unwrap());
        let mut on_cpu = Session::new(&cpu, Network::on(&Cpu::default(), shape, 0).unwrap(), 9, true).unwrap();
        let mut on_gpu = Session::new(&gpu, Network::on(&cuda, shape, 0).unwrap(), 9, true).unwrap();
        on_cpu.set_step(step).unwrap();
        on_gpu.set_step(step).unwrap();
        on_cpu.forward(0, true).unwrap();
        on_cpu.backward(0, true, Some(1.0)).unwrap();
        on_gpu.forward(0, true).unwrap();
        on_gpu.backward(0, true, Some(1.0)).unwrap();
        assert!(on_cpu.samples(0).unwrap() == on_gpu.samples(0).unwrap(), "{} nodes", example.graph.nodes());
    };
    for (nodes, edges) in [(12, 25), (12, 45), (300, 2000), (3000, 20_000)] {
        for directed in [false, true] {
            let recipe = Recipe { nodes, edges, directed, seed: nodes as u64, ..Recipe::default() };
            let example: Example<f32> = recipe.build();
            let Features::Dense { .. } = *example.features else { panic!("dense features") };
            (0..3).for_each(|step| samples(&example, step));
        }
    }
}
