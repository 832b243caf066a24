//! Deep networks: state of batch norm, determinism, resuming, saved models, self-loops.

use crate::common::{ALL_FORMS, FORMS, Recipe, architecture, with_blocks};
use std::collections::HashMap;
use std::ops::ControlFlow;
use supergat_core::hyperparameters::NetworkSettings;
use supergat_core::{
    Activation, Architecture, Direction, Example, Features, Form, Graph, Labels, ModelKind, Norm, Prepared, Residual,
    Session, TrainConfig, TrainState, Trained, Trainer,
};
use supergat_cpu::{Checkpoint, Cpu, Model};

fn deep() -> NetworkSettings {
    NetworkSettings {
        residual: Residual::Linear,
        norm: Norm::Batch,
        activation: Activation::Relu,
        input_layer: true,
        output_layer: true,
        ..NetworkSettings::default()
    }
}

fn prepared(recipe: Recipe, blocks: NetworkSettings, layers: usize, heads: usize) -> Prepared<Cpu<f32>> {
    let example = recipe.build::<f32>();
    let shape = with_blocks(architecture(&example, FORMS[3], true), blocks).with(|a| {
        a.network.layers = layers;
        a.network.heads = heads;
        a.network.hidden = 8;
        a.network.dropout = 0.3;
    });
    let config = TrainConfig::default().with(|c| {
        c.training.max_epochs = 6;
        c.training.lr = 0.01;
        c.training.lambda_2 = 1e-3;
        c.edge_loss.p_e = 0.8;
        c.edge_loss.p_n = 0.5;
    });
    Prepared::on(&Cpu::default(), &[example], shape, config).unwrap()
}

/// Bits of all parameters and running statistics, and of the logits.
fn bits(trained: &Trained<Cpu<f32>>) -> Vec<u32> {
    let rows = trained.model.parameters().flat_map(|p| p.to_rows(trained.model.device()).unwrap());
    rows.chain(trained.logits[0].iter().copied()).map(f32::to_bits).collect()
}

fn on<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn results_are_identical_for_any_number_of_threads() {
    let recipe = Recipe { nodes: 1000, edges: 4000, features: 20, classes: 4, directed: false, ..Recipe::default() };
    for blocks in [
        deep(),
        NetworkSettings { norm: Norm::Layer, residual: Residual::Identity, ..deep() },
        NetworkSettings { norm: Norm::None, self_loops: false, attention_dropout: false, ..deep() },
        NetworkSettings { separate_ego: true, ..deep() },
    ] {
        let train = || {
            let prepared = prepared(recipe, blocks, 3, 4);
            bits(&Trainer::new(&prepared, 1).unwrap().run(|_| ControlFlow::Continue(())).unwrap())
        };
        let one = on(1, train);
        for threads in [2, 8] {
            assert!(one == on(threads, train), "{blocks:?} differs with {threads} threads");
        }
    }
}

#[test]
fn resumes_from_every_epoch_with_the_same_bits() {
    let recipe = Recipe { nodes: 60, edges: 200, features: 6, ..Recipe::default() };
    let prepared = prepared(recipe, deep(), 3, 3);
    let (mut history, mut files) = (Vec::new(), Vec::new());
    let whole = Trainer::new(&prepared, 5).unwrap().run_observed(|trainer, epoch| {
        history.push(*epoch);
        files.push(trainer.state(&history)?.to_bytes());
        Ok(ControlFlow::Continue(()))
    });
    let whole = whole.unwrap();
    for (epoch, file) in files.iter().enumerate() {
        let state = TrainState::from_bytes(file).unwrap();
        let resumed = Trainer::resume(&prepared, &state).unwrap().run(|_| ControlFlow::Continue(())).unwrap();
        assert!(bits(&resumed) == bits(&whole), "resumed after epoch {epoch}");
    }
}

/// Layers that are computed again in the backward pass need less memory and give the same bits.
#[test]
fn checkpointing_saves_memory_and_keeps_the_bits() {
    let recipe = Recipe { nodes: 60, edges: 200, features: 6, ..Recipe::default() };
    for blocks in
        [deep(), NetworkSettings { separate_ego: true, ..deep() }, NetworkSettings { output_layer: false, ..deep() }]
    {
        let whole = prepared(recipe, blocks, 6, 3);
        let config = (*whole.config()).with(|c| c.training.checkpointing = true);
        let again = Prepared::on(&Cpu::default(), whole.examples(), *whole.architecture(), config).unwrap();
        let train = |prepared| bits(&Trainer::new(prepared, 1).unwrap().run(|_| ControlFlow::Continue(())).unwrap());
        assert!(train(&whole) == train(&again), "{blocks:?}");
        let model = Model::new(*whole.architecture(), 0).unwrap();
        let [all, fewer] = [&whole, &again].map(|prepared| model.workspace_bytes(prepared, true).unwrap());
        assert!(2 * fewer < all, "{fewer} of {all} bytes for {blocks:?}");
        assert_eq!(model.workspace_bytes(&again, false).unwrap(), model.workspace_bytes(&whole, false).unwrap());
    }
}

#[test]
fn saved_models_have_running_statistics() {
    let recipe = Recipe { nodes: 60, edges: 200, features: 6, ..Recipe::default() };
    let prepared = prepared(recipe, NetworkSettings { self_loops: false, ..deep() }, 2, 3);
    let trained = Trainer::new(&prepared, 5).unwrap().run(|_| ControlFlow::Continue(())).unwrap();
    let logits = trained.logits[0].clone();
    let variance = trained.model.parameters().find(|p| p.name == "layer2.norm.variance").expect("batch norm");
    assert!(!variance.learned && variance.to_rows(&Cpu::default()).unwrap().iter().all(|v| *v > 0.0 && *v != 1.0));
    let saved = Checkpoint::of(trained.model, HashMap::new(), HashMap::new()).to_bytes();
    let read = Checkpoint::from_bytes(&saved).unwrap();
    assert_eq!(&read.architecture, prepared.architecture());
    let network = read.network.expect("a network");
    assert_eq!(network.predict(&prepared.examples()[0]).unwrap(), logits);
    let copy = network.clone();
    assert_eq!(copy.predict(&prepared.examples()[0]).unwrap(), logits);
}

/// Evaluation uses running statistics: it depends neither on the other nodes of a graph nor on a training pass before it.
#[test]
fn batch_norm_evaluates_with_running_statistics() {
    let recipe = Recipe { nodes: 30, edges: 0, features: 6, ..Recipe::default() };
    let prepared = prepared(recipe, deep(), 2, 2);
    let mut session = Session::new(&prepared, Model::new(*prepared.architecture(), 3).unwrap(), 0, true).unwrap();
    session.forward(0, false).unwrap();
    let before = session.logits(0).unwrap();
    session.forward(0, true).unwrap();
    assert_ne!(session.logits(0).unwrap(), before, "training uses the statistics of all nodes");
    session.forward(0, false).unwrap();
    assert_eq!(session.logits(0).unwrap(), before, "a forward pass alone changes no statistics");
    session.forward(0, true).unwrap();
    session.backward(0, true, None).unwrap();
    session.forward(0, false).unwrap();
    assert_ne!(session.logits(0).unwrap(), before, "a training step moves the running statistics");
    // Nodes without links have the same logits in a smaller graph.
    let after = session.logits(0).unwrap();
    let example = &prepared.examples()[0];
    let Features::Dense { columns, values, .. } = &*example.features else { panic!("dense") };
    let features = Features::dense(10, *columns, values[..10 * columns].to_vec()).unwrap();
    let labels = Labels::Single { classes: 3, of: vec![0; 10] };
    let graph = Graph::from_edges(10, &[], Direction::Directed).unwrap();
    let smaller = Example::new(graph, features, labels, [vec![0], vec![], vec![]]).unwrap();
    assert_eq!(session.network().predict(&smaller).unwrap(), after[..10 * 3]);
}

/// Networks of 32 layers learn, and those of one wide head or of many. In a graph with few links, nodes stay different.
#[test]
fn deep_and_wide_networks_learn() {
    let recipe = Recipe { nodes: 60, edges: 20, directed: false, features: 8, ..Recipe::default() };
    for (layers, heads, hidden, norm, max_epochs) in [
        (32, 8, 4, Norm::Layer, 30),
        (32, 1, 16, Norm::Batch, 30),
        (2, 1, 512, Norm::Layer, 6),
        (1, 16, 64, Norm::Batch, 6),
    ] {
        let example = recipe.build::<f32>();
        let blocks = NetworkSettings { norm, residual: Residual::Identity, ..deep() };
        let shape = architecture(&example, FORMS[0], false);
        let shape = with_blocks(shape, blocks).with(|a| {
            a.network.layers = layers;
            a.network.heads = heads;
            a.network.hidden = hidden;
            a.network.dropout = 0.0;
        });
        let config = TrainConfig::default().with(|c| {
            c.training.max_epochs = max_epochs;
            c.training.lr = 2e-3;
            c.training.lambda_2 = 0.0;
        });
        let prepared = Prepared::on(&Cpu::default(), &[example], shape, config).unwrap();
        let mut losses = Vec::new();
        Trainer::new(&prepared, 0)
            .unwrap()
            .run(|epoch| {
                losses.push(epoch.train.label);
                ControlFlow::Continue(())
            })
            .unwrap();
        let (first, last) = (losses[0], losses[losses.len() - 1]);
        assert!(last < 0.9 * first, "{layers} layers of {heads} x {hidden}, {norm:?}: {first} to {last}");
    }
}

/// A layer without self-loops: a node without neighbours gets the bias, others the mean of their neighbours only.
#[test]
fn attention_without_self_loops_reads_other_nodes_only() {
    // 0 <- 1, 0 <- 2, 3 <- 0; nodes 1 and 2 have no incoming edges.
    let graph = Graph::from_edges(4, &[(1, 0), (2, 0), (0, 3)], Direction::Directed).unwrap();
    let features = Features::dense(4, 1, vec![100.0, 1.0, 3.0, 1000.0]).unwrap();
    let labels = Labels::Single { classes: 1, of: vec![0; 4] };
    let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]]).unwrap();
    for form in ALL_FORMS {
        let blocks = NetworkSettings { self_loops: false, ..NetworkSettings::default() };
        let model = ModelKind::Attention { form, self_supervised: true };
        let shape = with_blocks(Architecture::new(model, &example), blocks)
            .with(|a| (a.network.layers, a.network.output_heads) = (1, 2));
        let mut model = Model::<f32>::zeros(shape).unwrap();
        // Attention vectors are zero, and so is the dot product of DP, SD and MX with one of the two heads zero.
        let device = Cpu::default();
        model
            .for_each_parameter(|p| match p.name.as_str() {
                "layer1.w" if form == Form::V2 => p.set_rows(&device, &[2.0, 0.0, 1.0, 1.0]),
                "layer1.w" => p.set_rows(&device, &[2.0, 0.0]),
                "layer1.b" => p.set_rows(&device, &[0.5]),
                _ => Ok(()),
            })
            .unwrap();
        let logits = model.predict(&example).unwrap();
        let values = &model.attention(&example).unwrap()[0];
        let (graph, heads) = (&example.graph, 2);
        let coefficient = |from: u32, to: u32| values.coefficients[graph.position(from, to).unwrap() * heads];
        for node in 0..4 {
            assert_eq!(coefficient(node, node), 0.0, "{form:?}: self-loop of {node}");
        }
        let (one, two) = (coefficient(1, 0), coefficient(2, 0));
        assert!((one + two - 1.0).abs() < 1e-6, "{form:?}: {one} and {two}");
        // The mean over two heads, of which one is zero.
        let expected = [one + 3.0 * two + 0.5, 0.5, 0.5, 100.5];
        for (found, expected) in logits.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-4, "{form:?}: {logits:?}, expected {expected}");
        }
    }
}

#[test]
fn samples_without_self_loops_contain_none() {
    let recipe = Recipe { nodes: 40, edges: 120, ..Recipe::default() };
    let prepared = prepared(recipe, NetworkSettings { self_loops: false, ..NetworkSettings::default() }, 1, 2);
    let mut session = Session::new(&prepared, Model::new(*prepared.architecture(), 3).unwrap(), 0, true).unwrap();
    session.forward(0, true).unwrap();
    session.backward(0, true, Some(1.0)).unwrap();
    let (positives, negatives) = session.samples(0).unwrap();
    let graph = &prepared.examples()[0].graph;
    let is_sampled = |edge: usize| positives[edge / 8] >> (edge % 8) & 1 == 1;
    assert!((0..40).all(|node| !is_sampled(graph.position(node, node).unwrap())));
    let expected = (0.8 * (graph.edges() - 40) as f64) as usize;
    assert_eq!((0..graph.edges()).filter(|edge| is_sampled(*edge)).count(), expected);
    assert_eq!(negatives.len(), (0.5 * 0.8 * (graph.edges() - 40) as f64) as usize);
    assert!(negatives.iter().all(|&[from, to]| graph.position(from, to).is_none()), "negatives are no edges or loops");
}

#[test]
fn refuses_options_that_a_model_cannot_have() {
    let example = Recipe::default().build::<f32>();
    let check = |model: &str, blocks| {
        let shape = with_blocks(Architecture::new(model.parse().unwrap(), &example), blocks);
        shape.check().map_err(|error| error.to_string())
    };
    let identity = NetworkSettings { residual: Residual::Identity, ..NetworkSettings::default() };
    assert!(check("gat-go", identity).unwrap_err().starts_with("residual = identity: features have another width"));
    assert!(check("gat-go", NetworkSettings { input_layer: true, ..identity }).is_ok());
    let no_loops = NetworkSettings { self_loops: false, ..NetworkSettings::default() };
    for model in ["gcn", "mlp", "cgat"] {
        assert!(check(model, no_loops).unwrap_err().starts_with("self_loops = false: "), "{model}");
    }
    assert!(check("supergat-sd", no_loops).is_ok());
}
