//! The engine on a GPU: golden files, agreement with the CPU, equal bits of two runs, and resumed trainings.

#[path = "../../supergat-cpu/tests/engine/common.rs"]
#[allow(dead_code)]
mod common;
#[path = "../../supergat-cpu/tests/engine/parity.rs"]
mod parity;
#[path = "../../supergat-cpu/tests/engine/properties.rs"]
mod properties;
mod support;

use common::{ALL_FORMS, FORMS, Recipe, architecture, with_blocks, with_edges};
use std::ops::ControlFlow;
use supergat_core::hyperparameters::{ClassConstraintSettings, ConstraintSettings, NetworkSettings};
use supergat_core::random::{Purpose, Stream};
use supergat_core::{
    Activation, Architecture, Contrast, Convolution, Direction, EdgeAttributes, Example, Features, Form, Graph,
    ModelKind, Network, Norm, Prepared, Residual, Session, SingleDevice, TrainConfig, TrainState, Trainer,
};
use supergat_cpu::Cpu;
use supergat_cuda::Cuda;
use support::gpu;

#[test]
fn golden_files_match() {
    let Some(cuda) = gpu() else { return };
    parity::check_all(&cuda, 1e-4);
    parity::check_edges(&cuda, 1e-4);
    parity::check_depth(&cuda, 1e-4);
    parity::check_v2(&cuda, 1e-4);
}

#[test]
fn properties_hold() {
    let Some(cuda) = gpu() else { return };
    for (seed, form) in (0..12).flat_map(|seed| ALL_FORMS.map(|form| (seed, form))) {
        let (nodes, edges) = (20 + 7 * seed as usize, 30 + 40 * seed as usize);
        let recipe = Recipe { nodes, edges, directed: seed % 2 == 0, seed, ..Recipe::default() };
        properties::attention_sums_to_one(&cuda, recipe, form);
        properties::pair_logits_of_edges_equal_attention_logits(&cuda, recipe, form, 1e-5);
        properties::predictions_do_not_depend_on_node_numbers(&cuda, recipe, form, 1e-5);
    }
    properties::attention_is_exact_for_hubs_and_large_scores(&cuda);
}

/// Models with their examples and training configurations: every form, with and without self-supervision, CGAT,
/// convolutions and MLP, any number of heads, directed and undirected, dense and sparse, one or several labels, with
/// and without weights and features of edges.
fn cases() -> Vec<(String, Architecture, Example<f32>, TrainConfig)> {
    let mut cases = Vec::new();
    let config = TrainConfig::default().with(|c| {
        c.edge_loss.p_e = 0.7;
        c.edge_loss.p_n = 0.9;
        c.training.max_epochs = 10;
        c.early_stopping.early_stop = false;
    });
    let mut add = |name: String, shape: Architecture, example: &Example<f32>, config: TrainConfig| {
        cases.push((name, shape, example.clone(), config));
    };
    for (number, form) in ALL_FORMS.into_iter().enumerate() {
        for (heads, output_heads, hidden) in [(8, 8, 8), (1, 1, 3), (2, 4, 5), (3, 1, 7), (4, 9, 4), (12, 2, 3)] {
            let directed = (heads + number) % 2 == 0;
            let recipe =
                Recipe { nodes: 60, edges: 200, features: 13, directed, seed: heads as u64, ..Recipe::default() };
            let recipe = Recipe { sparse: heads % 3 == 0, multi: heads == 4, ..recipe };
            let example: Example<f32> = recipe.build();
            for (supervised, dropout) in [(true, 0.3), (false, 0.6), (true, 0.0)] {
                let shape = architecture(&example, form, supervised);
                let shape = shape.with(|a| {
                    a.network.heads = heads;
                    a.network.output_heads = output_heads;
                    a.network.hidden = hidden;
                    a.network.dropout = dropout;
                });
                add(format!("{form:?} {heads} {output_heads} {supervised} {dropout}"), shape, &example, config);
            }
        }
    }
    for sparse in [false, true] {
        let example: Example<f32> =
            Recipe { nodes: 50, edges: 130, features: 9, sparse, seed: 3, ..Recipe::default() }.build();
        let shape = architecture(&example, FORMS[0], false).with(|a| {
            a.network.hidden = 5;
            a.network.dropout = 0.3;
            a.network.layers = 3;
        });
        let kinds = [Convolution::Gcn, Convolution::GcnIncoming, Convolution::Sage, Convolution::SageRoot];
        for kind in kinds.map(ModelKind::Convolution).into_iter().chain([ModelKind::Mlp]) {
            add(format!("{kind} sparse {sparse}"), Architecture { model: kind, ..shape }, &example, config);
        }
        let train = Example { train: (0..30).collect(), validation: vec![30], test: vec![31, 32], ..example.clone() };
        for by_classes in [false, true] {
            let contrast = Contrast {
                constraints: ConstraintSettings { top_k: 2, negatives_per_edge: 3, lambda_g: 1.3, margin_g: 0.3 },
                boundary: by_classes.then_some(ClassConstraintSettings { lambda_b: 0.9, margin_b: 0.1 }),
            };
            let model = ModelKind::Constrained { by_classes };
            let config = TrainConfig { contrast: Some(contrast), ..config };
            add(format!("{model} sparse {sparse}"), Architecture { model, ..shape }, &train, config);
        }
    }
    cases.extend(edge_cases(config));
    cases.extend(deep_cases(config));
    cases.extend(label_cases(config));
    cases
}

/// Labels as input of every kind of model, with and without label reuse.
fn label_cases(config: TrainConfig) -> Vec<(String, Architecture, Example<f32>, TrainConfig)> {
    let forms = FORMS.map(|form| ModelKind::Attention { form, self_supervised: true });
    let others = ["gcn", "sage", "sage-root", "mlp"].map(|name| name.parse().unwrap());
    let mut cases = Vec::new();
    for (k, model) in forms.into_iter().chain(others).enumerate() {
        for label_reuse in [0, 2] {
            let (sparse, multi) = (k % 2 == 0, k % 3 == 0);
            let recipe = Recipe { nodes: 60, edges: 200, sparse, multi, seed: 90 + k as u64, ..Recipe::default() };
            let mut example: Example<f32> = recipe.build();
            if k == 4 {
                example = example.with_class_weights([0.5, 1.0, 2.0]).unwrap();
            }
            let shape = architecture(&example, FORMS[0], false).with(|a| {
                a.model = model;
                a.network.dropout = 0.3;
                a.network.hidden = 8;
            });
            let shape = shape.with(|a| (a.network.label_input, a.network.label_reuse) = (0.5, label_reuse));
            cases.push((format!("{model} with labels as input, reuse {label_reuse}"), shape, example, config));
        }
    }
    cases
}

/// Deep networks: every residual, norm and activation, with and without linear layers, self-loops and dropout of
/// attention; many heads and one wide head.
fn deep_cases(config: TrainConfig) -> Vec<(String, Architecture, Example<f32>, TrainConfig)> {
    let mut cases = Vec::new();
    let all = NetworkSettings { input_layer: true, output_layer: true, ..NetworkSettings::default() };
    let (relu, elu) = (Activation::Relu, Activation::Elu);
    for (k, (residual, norm, activation)) in [
        (Residual::Linear, Norm::Batch, relu),
        (Residual::Identity, Norm::Layer, relu),
        (Residual::None, Norm::Batch, elu),
        (Residual::Identity, Norm::Batch, relu),
        (Residual::Linear, Norm::Layer, elu),
        (Residual::None, Norm::Layer, relu),
        (Residual::Linear, Norm::None, relu),
        (Residual::Identity, Norm::None, elu),
    ]
    .into_iter()
    .enumerate()
    {
        for (j, (heads, hidden)) in [(8, 8), (3, 5), (1, 64), (1, 300), (12, 3)].into_iter().enumerate() {
            // Each k has a further case of GATv2.
            let forms = [FORMS[(j + k) % 4], Form::V2].into_iter().take(if (j + 2 * k) % 5 == 2 { 2 } else { 1 });
            for form in forms {
                let (directed, sparse) = ((j + k) % 2 == 0, j % 3 == 0);
                let seed = (10 * k + j) as u64;
                let recipe = Recipe { nodes: 70, edges: 90, features: 13, directed, sparse, seed, ..Recipe::default() };
                let weighted = (j + k) % 5 == 0;
                let width = if (j + k) % 4 == 3 { 3 } else { 0 };
                let example = if weighted || width > 0 { with_hub(recipe, weighted, width) } else { recipe.build() };
                let (self_loops, attention_dropout) = ((j + k) % 3 != 0, k % 2 == 0);
                let separate_ego = (j + k) % 4 == 1;
                let blocks =
                    NetworkSettings { residual, norm, activation, self_loops, attention_dropout, separate_ego, ..all };
                let model = match (j, k % 4) {
                    (0, 3) => ModelKind::Mlp,
                    (4, 2) => ModelKind::Convolution(Convolution::SageRoot),
                    _ => architecture(&example, form, k % 3 != 2).model,
                };
                let is_attention = matches!(model, ModelKind::Attention { .. });
                let blocks = if is_attention {
                    blocks
                } else {
                    NetworkSettings { self_loops: true, separate_ego: false, ..blocks }
                };
                let shape = architecture(&example, form, false).with(|a| {
                    a.network.heads = heads;
                    a.network.hidden = hidden;
                    a.network.layers = 3;
                    a.network.dropout = if j == 1 { 0.0 } else { 0.3 };
                });
                let edge_features = if is_attention { width } else { 0 };
                let edge_messages = is_attention && width > 0 && k % 2 == 1;
                let shape = with_blocks(shape, blocks).with(|a| {
                    a.model = model;
                    a.edge_features = edge_features;
                    a.network.edge_messages = edge_messages;
                });
                let name = format!("deep {model} {heads} {hidden} weights {weighted} features {width} {blocks:?}");
                if model != ModelKind::Mlp || !weighted {
                    cases.push((name, shape, example, config));
                }
            }
        }
    }
    cases
}

/// Models of graphs whose edges have weights or features.
fn edge_cases(config: TrainConfig) -> Vec<(String, Architecture, Example<f32>, TrainConfig)> {
    let mut cases = Vec::new();
    for (number, form) in ALL_FORMS.into_iter().enumerate() {
        // Heads, output heads, hidden features; whether edges have weights, their features, and whether messages carry
        // them. The sums of many features need several launches.
        for (k, (heads, output_heads, hidden, weighted, width, edge_messages)) in [
            (8, 8, 8, true, 0, false),
            (2, 3, 5, false, 3, false),
            (12, 1, 3, true, 2, true),
            (8, 2, 1, false, 9, true),
            (1, 9, 4, true, 30, false),
        ]
        .into_iter()
        .enumerate()
        {
            let directed = (k + number) % 2 == 0;
            let seed = (10 * number + k) as u64;
            let recipe = Recipe { nodes: 60, edges: 200, features: 13, directed, seed, ..Recipe::default() };
            let example: Example<f32> =
                if k % 2 == 0 { with_edges(recipe, weighted, width) } else { with_hub(recipe, weighted, width) };
            for (supervised, dropout) in [(true, 0.3), (false, 0.0)] {
                let shape = architecture(&example, form, supervised);
                let shape = shape.with(|a| {
                    a.network.heads = heads;
                    a.network.output_heads = output_heads;
                    a.network.hidden = hidden;
                    a.network.dropout = dropout;
                    a.network.edge_messages = edge_messages;
                });
                let name = format!("{form:?} {heads} {output_heads} weights {weighted} features {width} {dropout}");
                cases.push((name, shape, example.clone(), config));
            }
        }
    }
    for (k, kind) in
        [Convolution::Gcn, Convolution::GcnIncoming, Convolution::Sage, Convolution::SageRoot].into_iter().enumerate()
    {
        let recipe = Recipe { nodes: 60, edges: 200, directed: k % 2 == 0, seed: k as u64, ..Recipe::default() };
        for example in [with_edges(recipe, true, 0), with_hub(recipe, true, 2)] {
            let shape =
                architecture(&example, FORMS[0], false).with(|a| (a.network.hidden, a.network.dropout) = (5, 0.3));
            let shape = Architecture { model: ModelKind::Convolution(kind), edge_features: 0, ..shape };
            cases.push((format!("{} weights", shape.model), shape, example, config));
        }
    }
    cases
}

/// A graph whose node 0 has edges with all others, in which an edge and its reverse have different attributes.
fn with_hub(recipe: Recipe, weighted: bool, width: usize) -> Example<f32> {
    let mut example: Example<f32> = recipe.build();
    let mut edges = recipe.edge_list();
    edges.extend((1..recipe.nodes as u32).map(|node| if node % 3 == 0 { (0, node) } else { (node, 0) }));
    let direction = if recipe.directed { Direction::Directed } else { Direction::Undirected };
    example.graph = Graph::from_edges(recipe.nodes, &edges, direction).unwrap().into();
    let edges = example.graph.edges();
    let dice = Stream::new(recipe.seed, 2, 0, Purpose::SyntheticFeatures);
    let numbers = |count: usize, side: usize| (0..count as u64).map(move |k| dice.normal_pair(k)[side]);
    let weights = numbers(if weighted { edges } else { 0 }, 0).map(|x| x.exp() as f32).collect();
    let features = numbers(edges * width, 1).map(|x| x as f32).collect();
    let attributes = EdgeAttributes::from_parts(&example.graph, weights, width, features).unwrap();
    example.with_edges(attributes).unwrap()
}

/// Losses and gradients of one step, by parameter.
fn step<D: SingleDevice<Number = f32>>(
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

/// Tolerance of a case. Rounding errors of a batch norm of few nodes grow from layer to layer.
fn tolerance(name: &str) -> f32 {
    if name.starts_with("deep") { 1e-3 } else { 1e-4 }
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
            assert_close(&format!("{name}: {what}"), found, expected, tolerance(&name));
        }
    }
}

/// Weights, losses and predictions after ten epochs.
fn trained<D: SingleDevice<Number = f32>>(
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
        // Deep networks with batch norm of few nodes are chaotic: a change of the learning rate by 1e-7 changes their
        // losses by a tenth after six epochs. The first two epochs must agree.
        if name.starts_with("deep") {
            let labels = |all: &[Vec<f32>]| all[0].iter().copied().step_by(4).take(2).collect::<Vec<_>>();
            assert_close(&format!("{name}: losses"), &labels(&first), &labels(&cpu), 1e-2);
            continue;
        }
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
    let shape = architecture(&examples[0], FORMS[2], true).with(|a| {
        a.network.dropout = 0.2;
        a.network.heads = 4;
        a.network.hidden = 8;
    });
    let config = TrainConfig::default().with(|c| (c.training.max_epochs, c.early_stopping.early_stop) = (5, false));
    let (ours, theirs) = (trained(&cuda, shape, &examples, config), trained(&Cpu::default(), shape, &examples, config));
    for (k, (found, expected)) in ours.iter().zip(&theirs).enumerate() {
        assert_close(&format!("{k}"), found, expected, 2e-3);
    }
}

/// CGAT ignores features of edges and refuses weights, as on the CPU.
#[test]
fn cgat_refuses_weights_of_edges() {
    let Some(cuda) = gpu() else { return };
    let contrast = Contrast {
        constraints: ConstraintSettings { top_k: 2, negatives_per_edge: 3, lambda_g: 1.3, margin_g: 0.3 },
        boundary: None,
    };
    let config = TrainConfig { contrast: Some(contrast), ..TrainConfig::default() };
    let recipe = Recipe { nodes: 60, edges: 200, ..Recipe::default() };
    for (weighted, width) in [(true, 0), (true, 2), (false, 2)] {
        let examples = [with_edges(recipe, weighted, width)];
        let model = ModelKind::Constrained { by_classes: false };
        let shape = Architecture { model, edge_features: 0, ..architecture(&examples[0], FORMS[0], false) };
        let error = |error: supergat_core::Error| error.to_string();
        let on_gpu = Prepared::on(&cuda, &examples, shape, config).map(|_| ()).map_err(error);
        let on_cpu = Prepared::on(&Cpu::default(), &examples, shape, config).map(|_| ()).map_err(error);
        assert_eq!((&on_gpu, on_gpu.is_err()), (&on_cpu, weighted));
    }
}

/// The state is read from the GPU after steps that were replayed, and resumed on a GPU whose recordings are new.
#[test]
fn resumed_trainings_repeat_the_bits() {
    let Some(cuda) = gpu() else { return };
    for (name, shape, example, config) in cases().into_iter().step_by(7) {
        let examples = [example.clone(), example];
        let (mut states, mut history) = (Vec::new(), Vec::new());
        let prepared = Prepared::on(&cuda, &examples, shape, config).unwrap();
        let whole = Trainer::new(&prepared, 1).unwrap().run_observed(|trainer, epoch| {
            history.push(*epoch);
            states.push(trainer.state(&history)?.to_bytes());
            Ok(ControlFlow::Continue(()))
        });
        let whole = whole.unwrap();
        for state in [&states[0], &states[4], &states[9]] {
            let state = TrainState::from_bytes(state).unwrap();
            let again = Prepared::on(&Cuda::new(0).unwrap(), &examples, shape, config).unwrap();
            let mut epochs = state.history.clone();
            let resumed = Trainer::resume(&again, &state).unwrap().run(|epoch| {
                epochs.push(*epoch);
                ControlFlow::Continue(())
            });
            let resumed = resumed.unwrap();
            assert!((resumed.outcome, &epochs) == (whole.outcome, &history), "{name}: scores differ");
            assert!(resumed.logits == whole.logits, "{name}: predictions differ");
        }
    }
}

#[test]
fn samples_and_masks_are_the_same_bits() {
    let Some(cuda) = gpu() else { return };
    let samples = |example: &Example<f32>, step: u32| {
        let shape = architecture(example, FORMS[3], true);
        let config = TrainConfig::default().with(|c| (c.edge_loss.p_e, c.edge_loss.p_n) = (0.8, 0.5));
        let examples = std::slice::from_ref(example);
        let (cpu, gpu) =
            (Prepared::on(&Cpu::default(), examples, shape, config), Prepared::on(&cuda, examples, shape, config));
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
