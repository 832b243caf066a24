//! Training over several processes with further losses, attributes of edges, constraints and deep networks.

use crate::cluster::{self, assert_agrees_with_cpu, by_processes, models, recipes};
use crate::common::{FORMS, Recipe, architecture, with_blocks, with_edges};
use supergat_cluster::peers::Alone;
use supergat_cluster::{Cluster, Partition, Share};
use supergat_core::hyperparameters::{ClassConstraintSettings, ConstraintSettings, NetworkSettings};
use supergat_core::{
    Activation, Architecture, Contrast, Convolution, Example, ModelKind, Norm, Prepared, Residual, TrainConfig,
};
use supergat_cpu::Primitives;

fn config() -> TrainConfig {
    cluster::config().with(|c| c.training.max_epochs = 3)
}

/// Compares the bits of one, two, three and four processes.
fn assert_same_bits(example: &Example<f32>, architecture: Architecture, config: TrainConfig) {
    cluster::assert_same_bits(example, architecture, config, &[(3, &[2, 3, 4])]);
}

/// Weights of classes, of which one has weight 0.
fn weighed<T: Primitives>(recipe: Recipe) -> Example<T> {
    recipe.build::<T>().with_class_weights([0.3, 0.0, 5.0]).unwrap()
}

#[test]
fn weights_of_classes_and_the_focal_loss() {
    let focal = config().with(|c| c.training.focal_gamma = 1.5);
    let shapes = |example: &Example<f64>| -> [Architecture; 2] { [models(example)[7], models(example)[10]] };
    for recipe in recipes() {
        if recipe.multi {
            let example = recipe.build();
            for architecture in shapes(&example) {
                assert_same_bits(&recipe.build(), architecture, focal);
                assert_agrees_with_cpu(&example, architecture, focal);
            }
            assert!(recipe.build::<f32>().with_class_weights([0.3, 0.0, 5.0]).is_err());
            continue;
        }
        let example = weighed(recipe);
        for architecture in shapes(&example) {
            for config in [config(), focal] {
                assert_same_bits(&weighed(recipe), architecture, config);
                assert_agrees_with_cpu(&example, architecture, config);
            }
        }
    }
}

/// Attention of every form with weights and features of edges, and messages that carry the features.
#[test]
fn weights_and_features_of_edges_in_attention() {
    for recipe in recipes() {
        for (k, form) in FORMS.into_iter().enumerate() {
            let (weighted, width) = [(true, 0), (false, 3), (true, 2), (true, 1)][(k + recipe.seed as usize) % 4];
            let example = with_edges(recipe, weighted, width);
            let shape = architecture(&example, form, k > 1)
                .with(|a| (a.network.dropout, a.network.edge_messages) = (0.3, width > 1));
            let shape =
                if k == 1 { shape.with(|a| (a.network.heads, a.network.output_heads) = (10, 9)) } else { shape };
            assert_same_bits(&with_edges(recipe, weighted, width), shape, config());
            assert_agrees_with_cpu(&example, shape, config());
        }
    }
}

#[test]
fn weights_of_edges_in_convolutions() {
    for recipe in recipes() {
        let example = with_edges(recipe, true, 2);
        let plain = architecture(&example, FORMS[0], false).with(|a| (a.network.dropout, a.edge_features) = (0.3, 0));
        for kind in [Convolution::Gcn, Convolution::GcnIncoming, Convolution::Sage, Convolution::SageRoot] {
            let shape = Architecture { model: ModelKind::Convolution(kind), ..plain };
            assert_same_bits(&with_edges(recipe, true, 2), shape, config());
            assert_agrees_with_cpu(&example, shape, config());
        }
        let mlp = Architecture { model: ModelKind::Mlp, ..plain };
        assert_same_bits(&with_edges(recipe, true, 2), mlp, config());
    }
}

/// CGAT with and without the loss between classes.
#[test]
fn constrained_attention() {
    for recipe in recipes() {
        let example = recipe.build();
        for by_classes in [false, true].into_iter().filter(|by_classes| !(*by_classes && recipe.multi)) {
            let boundary = by_classes.then_some(ClassConstraintSettings { lambda_b: 0.5, margin_b: 0.1 });
            let contrast = Contrast {
                constraints: ConstraintSettings { top_k: 3, negatives_per_edge: 4, lambda_g: 1.5, margin_g: 0.5 },
                boundary,
            };
            let config = TrainConfig { contrast: Some(contrast), ..config() };
            let shape = architecture(&example, FORMS[0], false).with(|a| a.network.dropout = 0.3);
            let shape = Architecture { model: ModelKind::Constrained { by_classes }, ..shape };
            for shape in [shape, shape.with(|a| (a.network.heads, a.network.output_heads) = (10, 9))] {
                assert_same_bits(&recipe.build(), shape, config);
                assert_agrees_with_cpu(&example, shape, config);
            }
        }
    }
}

/// Deep networks of all models: every norm and shortcut, with and without input and output layers.
#[test]
fn deep_networks() {
    let linear = NetworkSettings {
        residual: Residual::Linear,
        norm: Norm::Batch,
        activation: Activation::Relu,
        output_layer: true,
        ..NetworkSettings::default()
    };
    let identity = NetworkSettings { residual: Residual::Identity, norm: Norm::Layer, input_layer: true, ..linear };
    let variants = [
        linear,
        NetworkSettings { attention_dropout: false, output_layer: false, ..identity },
        NetworkSettings { norm: Norm::None, ..identity },
        NetworkSettings { residual: Residual::None, activation: Activation::Elu, input_layer: true, ..linear },
    ];
    for recipe in recipes() {
        let example = recipe.build();
        let all = models(&example);
        for (k, blocks) in variants.into_iter().enumerate() {
            // Attention of one form, a convolution, and one of: several groups of heads, three layers, an MLP.
            for model in [2 * k + 1, 10 + k, [8, 9, 14][(k + recipe.seed as usize) % 3]] {
                let shape = with_blocks(all[model], blocks);
                assert_same_bits(&recipe.build(), shape, config());
                assert_agrees_with_cpu(&example, shape, config());
            }
        }
    }
}

/// Attention without self-loops, on graphs with nodes without neighbours, also with attributes of edges and with separate
/// egos.
#[test]
fn attention_without_self_loops() {
    for recipe in recipes() {
        let recipe = Recipe { edges: recipe.edges / 2, ..recipe };
        for (k, form) in FORMS.into_iter().enumerate() {
            for (weighted, width) in [(false, 0), (k % 2 == 0, 2)] {
                let example = with_edges(recipe, weighted, width);
                let norm = if k > 1 { Norm::Batch } else { Norm::None };
                let blocks =
                    NetworkSettings { self_loops: false, norm, separate_ego: k % 2 == 1, ..NetworkSettings::default() };
                let shape = architecture(&example, form, k != 1);
                let shape = with_blocks(shape, blocks)
                    .with(|a| (a.network.dropout, a.network.edge_messages) = (0.3, width > 0));
                assert_same_bits(&with_edges(recipe, weighted, width), shape, config());
                assert_agrees_with_cpu(&example, shape, config());
            }
        }
    }
}

/// Graphs whose parts are divided among threads, with options whose sums have several pieces per part.
#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let recipe = Recipe { nodes: 1300, edges: 9000, features: 6, ..Recipe::default() };
    let example = with_edges::<f32>(recipe, true, 2);
    let shape =
        architecture(&example, FORMS[3], true).with(|a| (a.network.dropout, a.network.edge_messages) = (0.3, true));
    let blocks = NetworkSettings {
        norm: Norm::Batch,
        residual: Residual::Linear,
        self_loops: false,
        ..NetworkSettings::default()
    };
    let deep = with_blocks(shape, blocks).with(|a| a.network.layers = 3);
    let contrast = Contrast {
        constraints: ConstraintSettings { top_k: 3, negatives_per_edge: 2, lambda_g: 1.5, margin_g: 0.5 },
        boundary: None,
    };
    let constrained = Architecture { model: ModelKind::Constrained { by_classes: false }, ..shape };
    let constrained = constrained.with(|a| (a.edge_features, a.network.edge_messages) = (0, false));
    for (example, shape, contrast) in [(example.clone(), deep, None), (recipe.build(), constrained, Some(contrast))] {
        let config = TrainConfig { contrast, ..config() };
        let train = |threads: usize, processes: usize| {
            by_processes(std::slice::from_ref(&example), shape, config, 2, processes, Some(threads))
        };
        let one = train(1, 1);
        for (threads, processes) in [(3, 1), (2, 3)] {
            assert!(one == train(threads, processes), "{shape:?}: {threads} threads, {processes} processes");
        }
    }
}

/// Returns the message with which a divided graph refuses an architecture.
fn refusal(model: &str, label_input: f64) -> String {
    let example = Recipe::default().build::<f32>();
    let shape = Architecture::new(model.parse().unwrap(), &example).with(|a| a.network.label_input = label_input);
    let partition = Partition::even(example.graph.nodes(), 4, 2, 1).unwrap();
    let share = Share::of(&example, &partition.into(), 0).unwrap();
    let refused = Prepared::on(&Cluster::new(Alone), &[share], shape, TrainConfig::default());
    refused.unwrap_err().to_string()
}

#[test]
fn refuses_gatv2_and_labels_as_input() {
    for model in ["gatv2", "supergat-v2"] {
        let message = refusal(model, 0.0);
        assert!(
            message.contains("do not train on a graph that is divided into parts: train them in one process on the"),
            "{message}"
        );
    }
    let message = refusal("gcn", 0.5);
    assert!(message.contains("label_input needs one process"), "{message}");
}
