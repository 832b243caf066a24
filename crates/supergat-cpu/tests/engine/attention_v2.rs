//! GATv2: agreement with plain loops over its definition, gradients of the input, saved models, devices without it.

use crate::common::{Recipe, architecture, with_blocks, with_edges};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use supergat_core::device::prelude::*;
use supergat_core::device::{FromAbove, Input, Join, Place};
use supergat_core::hyperparameters::NetworkSettings;
use supergat_core::layers::{EdgeInput, Layer, Shape};
use supergat_core::memory::Arena;
use supergat_core::{Architecture, Example, Features, Form, HeadLayout, Prepared, TrainConfig, Trainer};
use supergat_cpu::{Checkpoint, Cpu, Model};

/// Returns the elements of a parameter of the first layer.
fn parameter(model: &Model<f64>, name: &str) -> Vec<f64> {
    let found = model.parameters().find(|parameter| parameter.name == format!("layer1.{name}"));
    found.map_or_else(Vec::new, |parameter| parameter.to_rows(&Cpu::default()).unwrap())
}

/// Output of a one-layer network, its coefficients and its edge logits, computed by plain loops.
struct Expected {
    logits: Vec<f64>,
    coefficients: Vec<f64>,
    edge_logits: Vec<f64>,
}

fn expected(model: &Model<f64>, example: &Example<f64>) -> Expected {
    let shape = model.architecture();
    let (heads, features, inputs) = (shape.network.output_heads, shape.classes, shape.input_features);
    let Features::Dense { values: x, .. } = &*example.features else { panic!("dense features") };
    let [w, a, u, v, bias] = ["w", "a", "u", "v", "b"].map(|name| parameter(model, name));
    let width = heads * features;
    // Side 0 is the projection of sources, side 1 that of targets.
    let projected = |node: usize, side: usize, column: usize| -> f64 {
        (0..inputs).map(|k| x[node * inputs + k] * w[k * 2 * width + side * width + column]).sum()
    };
    let graph = &example.graph;
    let edges = example.edges.as_ref();
    let weight = |e: usize| edges.and_then(|edges| edges.weights().get(e).copied()).unwrap_or(1.0);
    let of_edge = |e: usize| edges.map_or(&[][..], |edges| &edges.features()[e * edges.width()..][..edges.width()]);
    let mut found = Expected {
        logits: vec![0.0; graph.nodes() * features],
        coefficients: vec![0.0; graph.edges() * heads],
        edge_logits: vec![0.0; graph.edges() * heads],
    };
    for i in 0..graph.nodes() {
        let own = &mut found.logits[i * features..(i + 1) * features];
        own.copy_from_slice(&bias);
        let attended: Vec<usize> = graph
            .incoming()
            .range(i)
            .filter(|&e| shape.network.self_loops || graph.incoming().neighbours[e] as usize != i)
            .collect();
        for h in 0..heads {
            let mut sum = 0.0;
            for &e in &attended {
                let j = graph.incoming().neighbours[e] as usize;
                let score: f64 = (0..features)
                    .map(|f| {
                        let x = projected(i, 1, h * features + f) + projected(j, 0, h * features + f);
                        a[h * features + f] * if x > 0.0 { x } else { shape.network.negative_slope * x }
                    })
                    .sum();
                let term: f64 = of_edge(e).iter().enumerate().map(|(k, f)| u[h * shape.edge_features + k] * f).sum();
                found.edge_logits[e * heads + h] = score;
                found.coefficients[e * heads + h] = weight(e) * (score + term).exp();
                sum += found.coefficients[e * heads + h];
            }
            for &e in &attended {
                let j = graph.incoming().neighbours[e] as usize;
                found.coefficients[e * heads + h] /= sum;
                for (f, own) in own.iter_mut().enumerate() {
                    let mut message = projected(j, 0, h * features + f);
                    if shape.network.edge_messages {
                        let carried = of_edge(e).iter().enumerate();
                        message += carried.map(|(k, value)| v[k * width + h * features + f] * value).sum::<f64>();
                    }
                    *own += found.coefficients[e * heads + h] * message / heads as f64;
                }
            }
        }
    }
    found
}

fn close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs() / expected.abs().max(1.0);
        assert!(error <= tolerance, "{what}[{k}]: {found} instead of {expected}");
    }
}

/// Returns a model whose biases are not zero.
fn model(shape: Architecture, seed: u64) -> Model<f64> {
    let mut model = Model::<f64>::new(shape, seed).unwrap();
    let move_by = |k: usize, value: &f64| value + 0.07 * ((k % 5) as f64 - 2.2);
    let moved = model.for_each_parameter(|p| {
        let rows: Vec<f64> = p.to_rows(&Cpu::default())?.iter().enumerate().map(|(k, v)| move_by(k, v)).collect();
        p.set_rows(&Cpu::default(), &rows)
    });
    moved.unwrap();
    model
}

#[test]
fn agrees_with_plain_loops() {
    for (seed, directed, weighted, width, messages, output_heads, self_loops) in [
        (1, true, false, 0, false, 1, true),
        (2, false, false, 0, false, 8, true),
        (3, true, true, 0, false, 3, true),
        (4, false, true, 2, false, 2, true),
        (5, true, true, 3, true, 4, true),
        (6, false, false, 2, true, 11, true),
        (7, true, true, 2, true, 3, false),
        (8, false, false, 0, false, 5, false),
    ] {
        let recipe = Recipe { seed, directed, edges: 20, ..Recipe::default() };
        let example: Example<f64> =
            if weighted || width > 0 { with_edges(recipe, weighted, width) } else { recipe.build() };
        let blocks = NetworkSettings { self_loops, ..NetworkSettings::default() };
        let shape = architecture(&example, Form::V2, true);
        let shape = with_blocks(shape, blocks).with(|a| {
            a.network.layers = 1;
            a.network.output_heads = output_heads;
            a.network.edge_messages = messages;
        });
        let model = model(shape, seed);
        let expected = expected(&model, &example);
        close(&format!("seed {seed}: logits"), &model.predict(&example).unwrap(), &expected.logits, 1e-12);
        let found = model.attention(&example).unwrap().remove(0);
        close(&format!("seed {seed}: coefficients"), &found.coefficients, &expected.coefficients, 1e-12);
        close(&format!("seed {seed}: edge logits"), &found.logits, &expected.edge_logits, 1e-12);
    }
}

/// Returns the layer of a one-layer network.
fn layer(shape: Architecture, seed: u64) -> Layer<Cpu<f64>> {
    let edges = EdgeInput { features: shape.edge_features, messages: shape.network.edge_messages };
    let (input, join) = (HeadLayout::plain(shape.input_features), Join::Mean);
    let (heads, features) = (shape.network.output_heads, shape.classes);
    let of_layer = Shape { input, heads, features, join, dropout: 0.0, edges };
    let mut layer = Layer::attention(&Cpu::default(), 0, of_layer, Form::V2, shape.network.negative_slope).unwrap();
    layer.initialise(&Cpu::default(), seed).unwrap();
    layer
}

/// Returns the sum of the squared outputs of a layer, and its gradient by the features of the nodes.
fn squares(layer: &mut Layer<Cpu<f64>>, example: &Example<f64>, shape: Architecture) -> (f64, Vec<f64>) {
    let device = Cpu::default();
    let prepared = Prepared::for_evaluation(&Cpu::default(), example, shape).unwrap();
    let (context, nodes, inputs) = (prepared.context(0, None), example.graph.nodes(), shape.input_features);
    let (mut cache, mut scratch) = prepared.memory_of(layer).unwrap();
    layer.forward(&context, Input::Features, &mut cache).unwrap();
    let outputs = &cache.output[..nodes * shape.classes];
    let sum = outputs.iter().map(|v| v * v).sum();
    let doubled: Vec<f64> = outputs.iter().map(|v| 2.0 * v).collect();
    let mut above = device.numbers(doubled.len(), &mut Arena::allocating()).unwrap();
    device.upload(&doubled, &mut above).unwrap();
    let mut record = device.record(1).unwrap();
    let place = Place { record: &mut record, example: 0 };
    let above = FromAbove::Mean(&above);
    layer.backward(&context, Input::Features, above, None, &mut cache, &mut scratch, place).unwrap();
    let (stride, weight) = (layer.stride(), &layer.weight.value);
    let element = |i: usize, k: usize| {
        let of_node = &scratch.projected[i * stride..(i + 1) * stride];
        of_node.iter().zip(&weight[k * stride..]).map(|(g, w)| g * w).sum()
    };
    (sum, (0..nodes * inputs).map(|at| element(at / inputs, at % inputs)).collect())
}

#[test]
fn gradient_of_the_input_matches_differences() {
    for (seed, output_heads, self_loops) in [(21, 1, true), (22, 3, true), (23, 8, false), (24, 12, true)] {
        let example = with_edges::<f64>(Recipe { seed, directed: seed % 2 == 0, ..Recipe::default() }, true, 2);
        let blocks = NetworkSettings { self_loops, ..NetworkSettings::default() };
        let shape = architecture(&example, Form::V2, false);
        let shape = with_blocks(shape, blocks).with(|a| {
            a.network.layers = 1;
            a.network.output_heads = output_heads;
            a.network.edge_messages = true;
        });
        let mut layer = layer(shape, seed);
        let (_, gradient) = squares(&mut layer, &example, shape);
        let Features::Dense { rows, columns, values } = &*example.features else { panic!("dense features") };
        for (k, found) in gradient.iter().enumerate() {
            let mut at = |shift: f64| {
                let mut values = values.to_vec();
                values[k] += shift;
                let features = Arc::new(Features::dense(*rows, *columns, values).unwrap());
                squares(&mut layer, &Example { features, ..example.clone() }, shape).0
            };
            let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
            let error = (found - difference).abs() / difference.abs().max(1.0);
            assert!(error < 1e-7, "seed {seed}, input {k}: found {found}, central difference {difference}");
        }
    }
}

/// Both projections are drawn as Glorot matrices of their own, as in PyTorch Geometric.
#[test]
fn projections_are_drawn_separately() {
    let example = Recipe { features: 40, ..Recipe::default() }.build::<f64>();
    let shape = architecture(&example, Form::V2, false).with(|a| (a.network.heads, a.network.hidden) = (8, 8));
    let model = Model::<f64>::new(shape, 3).unwrap();
    let (weights, a) = (parameter(&model, "w"), parameter(&model, "a"));
    assert_eq!((weights.len(), a.len()), (40 * 2 * 64, 64));
    for (drawn, limit) in [(weights, (6.0f64 / (40.0 + 64.0)).sqrt()), (a, (6.0f64 / 16.0).sqrt())] {
        let largest = drawn.iter().map(|v| v.abs()).fold(0.0, f64::max);
        assert!(largest <= limit && largest > 0.9 * limit, "{largest} of {limit}");
    }
}

fn trained(recipe: Recipe) -> (Prepared<Cpu<f32>>, Model<f32>, Vec<f32>) {
    let example = recipe.build::<f32>();
    let shape = architecture(&example, Form::V2, true).with(|a| (a.network.heads, a.network.dropout) = (3, 0.4));
    let config = TrainConfig::default().with(|c| {
        c.training.max_epochs = 8;
        c.edge_loss.p_e = 0.8;
        c.edge_loss.p_n = 0.5;
    });
    let prepared = Prepared::on(&Cpu::default(), &[example], shape, config).unwrap();
    let trained = Trainer::new(&prepared, 1).unwrap().run(|_| ControlFlow::Continue(())).unwrap();
    let logits = trained.logits[0].clone();
    (prepared, trained.model, logits)
}

#[test]
fn saved_models_predict_the_same_bits() {
    let (prepared, model, logits) = trained(Recipe { nodes: 40, edges: 120, ..Recipe::default() });
    let example = &prepared.examples()[0];
    let attention = model.attention(example).unwrap();
    let saved = Checkpoint::of(model, HashMap::new(), HashMap::new()).to_bytes();
    let read = Checkpoint::from_bytes(&saved).unwrap().network.expect("a network");
    assert_eq!(read.architecture(), prepared.architecture());
    assert_eq!(read.predict(example).unwrap(), logits);
    for (found, expected) in read.attention(example).unwrap().iter().zip(&attention) {
        assert_eq!(found.coefficients, expected.coefficients);
    }
}

#[test]
fn memory_is_estimated_with_both_projections() {
    let example = Recipe::default().build::<f32>();
    let of = |form| architecture(&example, form, true).parameter_bytes::<f32>();
    let (go, v2) = (of(Form::Go), of(Form::V2));
    // Rows of 8 and of 8 numbers, for 5 features and for a row of 8 numbers; 24 bytes per weight.
    assert_eq!(v2 - go, (5 * 8 + 8 * 8) * 24);
}

#[test]
fn training_lowers_the_edge_loss() {
    let recipe = Recipe { nodes: 60, edges: 150, features: 16, directed: false, ..Recipe::default() };
    let example = recipe.build::<f32>();
    let shape = architecture(&example, Form::V2, true).with(|a| (a.network.heads, a.network.hidden) = (8, 8));
    let config = TrainConfig::default().with(|c| {
        c.training.max_epochs = 60;
        c.training.lr = 0.01;
        c.edge_loss.lambda_e = 5.0;
        c.edge_loss.p_e = 1.0;
        c.edge_loss.p_n = 1.0;
    });
    let prepared = Prepared::on(&Cpu::default(), std::slice::from_ref(&example), shape, config).unwrap();
    let mut losses = Vec::new();
    let mut trainer = Trainer::new(&prepared, 1).unwrap();
    while let Some(epoch) = trainer.next_epoch().unwrap() {
        losses.push(epoch.train.edge);
    }
    let (first, last) = (losses[0], losses[losses.len() - 1]);
    assert!(last < 0.8 * first, "edge loss from {first} to {last}");
}
