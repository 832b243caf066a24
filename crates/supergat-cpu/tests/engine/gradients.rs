//! All gradients compared with central differences, in double precision.

use crate::common::{ALL_FORMS, FORMS, Recipe, architecture, with_blocks, with_edges};
use supergat_core::hyperparameters::{ClassConstraintSettings, ConstraintSettings, NetworkSettings};
use supergat_core::{
    Activation, Architecture, Contrast, Convolution, EdgeAttributes, Example, Form, ModelKind, Norm, Precision,
    Prepared, Residual, Session, TrainConfig,
};
use supergat_cpu::{Cpu, Model};

/// Runs one step with fixed dropout masks and samples, or a step of evaluation. Returns the objective, and the model with
/// its gradients.
fn objective(
    model: Model<f64>,
    prepared: &Prepared<Cpu<f64>>,
    lambda_e: Option<f64>,
    training: bool,
) -> (f64, Model<f64>) {
    let mut session = Session::new(prepared, model, 3, true).unwrap();
    session.set_step(7).unwrap();
    session.forward(0, training).unwrap();
    session.backward(0, training, lambda_e).unwrap();
    (session.loss(0, lambda_e).unwrap().total, session.into_network())
}

fn check(what: &str, architecture: Architecture, example: &Example<f64>, lambda_e: Option<f64>) {
    check_with(
        what,
        architecture,
        example,
        lambda_e,
        TrainConfig::default().with(|c| (c.edge_loss.p_e, c.edge_loss.p_n) = (0.7, 0.9)),
    );
}

fn check_with(
    what: &str,
    architecture: Architecture,
    example: &Example<f64>,
    lambda_e: Option<f64>,
    config: TrainConfig,
) {
    check_mode(what, architecture, example, lambda_e, config, true);
}

fn check_mode(
    what: &str,
    architecture: Architecture,
    example: &Example<f64>,
    lambda_e: Option<f64>,
    config: TrainConfig,
    training: bool,
) {
    let prepared = Prepared::on(&Cpu::default(), std::slice::from_ref(example), architecture, config).unwrap();
    let mut model = Model::new(architecture, 5).unwrap();
    // Zero biases would hide errors that are proportional to them.
    let device = Cpu::default();
    // ReLU has a kink at zero, where a bias alone must not be.
    let centre = if architecture.network.has_steps() { 3.1 } else { 3.0 };
    let moved = |rows: Vec<f64>| rows.iter().enumerate().map(|(k, v)| v + 0.05 * ((k % 7) as f64 - centre)).collect();
    model
        .for_each_parameter(|p| {
            let moved: Vec<f64> = moved(p.to_rows(&device)?);
            p.set_rows(&device, &moved)
        })
        .unwrap();
    let (_, model) = objective(model, &prepared, lambda_e, training);
    let gradients: Vec<(String, Vec<f64>)> =
        model.parameters().map(|p| (p.name.clone(), p.gradient_to_rows(&device).unwrap())).collect();
    let mut nonzero = 0;
    for (index, (name, gradient)) in gradients.iter().enumerate() {
        if model.parameters().nth(index).is_some_and(|parameter| !parameter.learned) {
            continue;
        }
        for (element, &found) in gradient.iter().enumerate() {
            let at = |shift: f64| {
                let mut moved = model.clone();
                let mut number = 0;
                let shifted = moved.for_each_parameter(|p| {
                    if number == index {
                        let mut rows = p.to_rows(&device)?;
                        rows[element] += shift;
                        p.set_rows(&device, &rows)?;
                    }
                    number += 1;
                    Ok(())
                });
                shifted.unwrap();
                objective(moved, &prepared, lambda_e, training).0
            };
            let step = 1e-6;
            let expected = (at(step) - at(-step)) / (2.0 * step);
            let error = (found - expected).abs() / expected.abs().max(1.0);
            assert!(error < 1e-7, "{what}: {name}[{element}]: found {found}, central difference {expected}");
            nonzero += usize::from(expected.abs() > 1e-6);
        }
    }
    assert!(nonzero > 5, "{what}: the objective hardly depends on the parameters");
}

#[test]
fn match_differences_for_every_form_dropout_and_edge_loss() {
    for form in ALL_FORMS {
        for dropout in [0.0, 0.4] {
            for lambda_e in [None, Some(1.3)] {
                // GATv2 has a LeakyReLU per feature. With seed 1, one of its kinks is within the step of the differences.
                let seed = if form == Form::V2 { 80 } else { 1 };
                let example = Recipe { seed, ..Recipe::default() }.build();
                let shape = architecture(&example, form, lambda_e.is_some()).with(|a| a.network.dropout = dropout);
                check(&format!("{form:?} dropout {dropout} lambda_e {lambda_e:?}"), shape, &example, lambda_e);
            }
        }
    }
}

#[test]
fn match_differences_for_any_number_of_heads() {
    let example = Recipe { seed: 2, directed: false, ..Recipe::default() }.build();
    for form in ALL_FORMS {
        for (heads, output_heads) in [(1, 1), (3, 4), (4, 1), (8, 3), (9, 10)] {
            let shape = architecture(&example, form, true).with(|a| {
                a.network.heads = heads;
                a.network.output_heads = output_heads;
                a.network.hidden = 2;
                a.network.dropout = 0.3;
            });
            check(&format!("{form:?} heads {heads} and {output_heads}"), shape, &example, Some(0.8));
        }
    }
}

#[test]
fn match_differences_for_one_to_four_layers() {
    let example = Recipe { seed: 3, ..Recipe::default() }.build();
    for layers in [1, 3, 4] {
        for form in ALL_FORMS {
            let shape = architecture(&example, form, true).with(|a| {
                a.network.layers = layers;
                a.network.hidden = 2;
                a.network.dropout = 0.2;
            });
            check(&format!("{form:?} layers {layers}"), shape, &example, Some(0.8));
        }
    }
}

#[test]
fn match_differences_for_sparse_features_and_multiple_labels() {
    for form in ALL_FORMS {
        let example = Recipe { seed: 4, sparse: true, multi: true, features: 9, ..Recipe::default() }.build();
        let shape = architecture(&example, form, true).with(|a| a.network.dropout = 0.4);
        check(&format!("{form:?} sparse, multi-label"), shape, &example, Some(0.5));
    }
}

#[test]
fn match_differences_for_weights_and_features_of_edges() {
    for (seed, directed, weighted, width, messages, heads, layers) in [
        (7, true, true, 0, false, [2, 2], 2),
        (8, false, true, 0, false, [3, 8], 2),
        (9, true, false, 3, false, [2, 3], 2),
        (10, false, true, 1, false, [4, 1], 1),
        (11, true, true, 2, true, [3, 2], 2),
        (12, false, false, 4, true, [9, 8], 3),
    ] {
        let example = with_edges(Recipe { seed, directed, ..Recipe::default() }, weighted, width);
        for form in ALL_FORMS {
            for dropout in [0.0, 0.3] {
                let shape = architecture(&example, form, true).with(|a| {
                    a.network.layers = layers;
                    a.network.heads = heads[0];
                    a.network.output_heads = heads[1];
                    a.network.dropout = dropout;
                    a.network.edge_messages = messages;
                });
                check(&format!("{form:?} seed {seed}, dropout {dropout}"), shape, &example, Some(0.8));
            }
        }
    }
}

/// Equal weights of all edges change no coefficient, but the pass over edges: symmetric graphs without weights have one of
/// their own. Nodes have up to twice as many neighbours as it processes at a time, and only some have gradients.
#[test]
fn do_not_depend_on_the_pass_over_edges() {
    for (form, heads) in FORMS.into_iter().flat_map(|form| [[8, 2], [4, 8], [1, 1]].map(|heads| (form, heads))) {
        for (lambda_e, dropout) in [(None, 0.0), (Some(0.6), 0.4)] {
            let example = Recipe { nodes: 70, edges: 1200, directed: false, ..Recipe::default() }.build::<f64>();
            let weights = EdgeAttributes::of_edges(example.graph.edges(), vec![2.0; example.graph.edges()], 0, vec![]);
            let shape = architecture(&example, form, true).with(|a| {
                (a.network.heads, a.network.output_heads, a.network.hidden) = (heads[0], heads[1], 11);
                a.network.dropout = dropout;
            });
            let gradients = |example: &Example<f64>| {
                let config = TrainConfig::default();
                let prepared = Prepared::on(&Cpu::default(), std::slice::from_ref(example), shape, config).unwrap();
                let (loss, model) = objective(Model::new(shape, 5).unwrap(), &prepared, lambda_e, true);
                let rows = model.parameters().flat_map(|p| p.gradient_to_rows(&Cpu::default()).unwrap());
                std::iter::once(loss).chain(rows).collect::<Vec<f64>>()
            };
            let (found, expected) =
                (gradients(&example), gradients(&example.clone().with_edges(weights.unwrap()).unwrap()));
            assert_eq!(found.len(), expected.len());
            for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let error = (found - expected).abs() / expected.abs().max(1e-3);
                assert!(error < 1e-9, "{form:?}, heads {heads:?}, lambda {lambda_e:?}: {found} and {expected} at {k}");
            }
        }
    }
}

/// Rounded rows change gradients by the size of the rounding, in every form and layout, with dropout and the edge loss. The
/// scores of DP are large here, so rounding changes its coefficients more.
#[test]
fn are_close_in_16_bits() {
    for (form, heads) in FORMS.into_iter().flat_map(|form| [[8, 2], [3, 8], [1, 1]].map(|heads| (form, heads))) {
        for (lambda_e, dropout) in [(None, 0.0), (Some(0.6), 0.4)] {
            let example = Recipe { nodes: 70, edges: 700, directed: false, ..Recipe::default() }.build::<f64>();
            let gradient = |precision| {
                let shape = architecture(&example, form, true).with(|a| {
                    (a.network.heads, a.network.output_heads, a.network.hidden) = (heads[0], heads[1], 11);
                    (a.network.dropout, a.network.precision) = (dropout, precision);
                });
                let prepared =
                    Prepared::on(&Cpu::default(), std::slice::from_ref(&example), shape, TrainConfig::default());
                let (_, model) = objective(Model::new(shape, 5).unwrap(), &prepared.unwrap(), lambda_e, true);
                let rows = model.parameters().flat_map(|p| p.gradient_to_rows(&Cpu::default()).unwrap());
                rows.collect::<Vec<f64>>()
            };
            let (found, expected) = (gradient(Precision::Bf16), gradient(Precision::F32));
            let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
            let error =
                norm(&mut found.iter().zip(&expected).map(|(a, b)| a - b)) / norm(&mut expected.iter().copied());
            let limit = if form == Form::Dp { 0.3 } else { 0.05 };
            println!("{form:?}, heads {heads:?}, lambda {lambda_e:?}: {error}");
            assert!(error > 0.0 && error < limit, "{form:?}, heads {heads:?}, lambda {lambda_e:?}: {error}");
        }
    }
}

#[test]
fn match_differences_for_class_weights_and_focal_loss() {
    for (seed, multi, weights, focal_gamma) in
        [(13, false, Some([0.3, 5.0, 1.0]), 0.0), (14, false, Some([2.0, 0.0, 1.0]), 1.5), (15, true, None, 2.0)]
    {
        let mut example = Recipe { seed, multi, ..Recipe::default() }.build();
        if let Some(weights) = weights {
            example = example.with_class_weights(weights).unwrap();
        }
        let shape = architecture(&example, FORMS[3], true).with(|a| a.network.dropout = 0.2);
        let config = TrainConfig::default().with(|c| c.training.focal_gamma = focal_gamma);
        check_with(&format!("seed {seed}, gamma {focal_gamma}"), shape, &example, Some(0.8), config);
    }
}

#[test]
fn match_differences_for_mlp() {
    let example = Recipe { seed: 5, sparse: true, ..Recipe::default() }.build();
    for layers in [1, 2, 3] {
        let shape = architecture(&example, FORMS[0], false).with(|a| {
            a.model = ModelKind::Mlp;
            a.network.layers = layers;
            a.network.dropout = 0.3;
        });
        check(&format!("mlp layers {layers}"), shape, &example, None);
    }
}

#[test]
fn match_differences_for_convolutions() {
    for kind in [Convolution::Gcn, Convolution::GcnIncoming, Convolution::Sage, Convolution::SageRoot] {
        for (layers, sparse, directed) in [(1, true, true), (2, false, true), (3, true, false)] {
            let example = Recipe { seed: 6, sparse, directed, ..Recipe::default() }.build();
            let model = ModelKind::Convolution(kind);
            let shape = architecture(&example, FORMS[0], false).with(|a| {
                a.model = model;
                a.network.layers = layers;
                a.network.dropout = 0.3;
            });
            check(&format!("{kind:?} layers {layers}"), shape, &example, None);
            let weighted = with_edges(Recipe { seed: 6, sparse, directed, ..Recipe::default() }, true, 0);
            check(&format!("{kind:?} layers {layers}, weighted"), shape, &weighted, None);
        }
    }
}

/// The objective has kinks where a margin is reached or the top k changes. No kink is within the step of
/// these differences.
#[test]
fn match_differences_for_constrained_attention() {
    for (seed, directed, sparse, heads, layers) in [
        (1, true, false, [2, 2], 2),
        (2, false, true, [3, 9], 2),
        (3, true, true, [1, 4], 3),
        (4, false, false, [8, 1], 1),
    ] {
        let example = Recipe { seed, directed, sparse, edges: 40, ..Recipe::default() }.build();
        // The constraints by classes need many training nodes.
        let example = Example { train: (0..9).collect(), validation: vec![9], test: vec![10, 11], ..example };
        for (by_classes, dropout) in [(false, 0.0), (true, 0.0), (true, 0.4)] {
            let contrast = Contrast {
                constraints: ConstraintSettings { top_k: 2, negatives_per_edge: 3, lambda_g: 1.3, margin_g: 0.3 },
                boundary: by_classes.then_some(ClassConstraintSettings { lambda_b: 0.9, margin_b: 0.1 }),
            };
            let shape = architecture(&example, FORMS[0], false).with(|a| {
                a.model = ModelKind::Constrained { by_classes };
                a.network.layers = layers;
                a.network.heads = heads[0];
                a.network.output_heads = heads[1];
                a.network.dropout = dropout;
            });
            let config = TrainConfig { contrast: Some(contrast), ..TrainConfig::default() };
            check_with(&format!("seed {seed}, {contrast:?}, dropout {dropout}"), shape, &example, None, config);
        }
    }
}

/// Returns every combination of residual, norm and activation.
fn all_blocks() -> impl Iterator<Item = NetworkSettings> {
    let residuals = [Residual::None, Residual::Linear, Residual::Identity];
    residuals.into_iter().flat_map(|residual| {
        [Norm::None, Norm::Layer, Norm::Batch].into_iter().flat_map(move |norm| {
            [Activation::Elu, Activation::Relu].map(|activation| NetworkSettings {
                residual,
                norm,
                activation,
                input_layer: residual == Residual::Identity || norm == Norm::Layer,
                output_layer: activation == Activation::Relu,
                ..NetworkSettings::default()
            })
        })
    })
}

/// No kink of ReLU is within the step of these differences.
#[test]
fn match_differences_for_blocks_of_every_form() {
    let form_of = |k: usize| [FORMS[k % 4], Form::V2];
    for (k, blocks, form) in all_blocks().enumerate().flat_map(|(k, blocks)| form_of(k).map(|form| (k, blocks, form))) {
        let recipe = Recipe { seed: 20 + k as u64, directed: k % 2 == 0, sparse: k % 3 == 0, ..Recipe::default() };
        let example = recipe.build();
        let shape = architecture(&example, form, true);
        let (heads, dropout) = ([3, 1, 2, 9][k / 2 % 4], [0.3, 0.0][k / 3 % 2]);
        // Layer norm of two numbers is nearly a sign.
        let hidden = if heads == 1 { 5 } else { 2 };
        let shape = with_blocks(shape, blocks).with(|a| {
            a.network.layers = 2 + k % 2;
            a.network.hidden = hidden;
            a.network.heads = heads;
            a.network.dropout = dropout;
        });
        check(&format!("{form:?} {heads} heads, dropout {dropout}, {blocks:?}"), shape, &example, Some(0.8));
    }
}

#[test]
fn match_differences_for_blocks_of_convolutions_and_mlp() {
    let kinds = [
        ModelKind::Convolution(Convolution::Gcn),
        ModelKind::Convolution(Convolution::SageRoot),
        ModelKind::Mlp,
        ModelKind::Constrained { by_classes: false },
    ];
    for (k, blocks) in all_blocks().enumerate() {
        let model = kinds[k % 4];
        let example = Recipe { seed: 40 + k as u64, directed: k % 2 == 0, edges: 30, ..Recipe::default() }.build();
        let shape = architecture(&example, FORMS[0], false);
        let shape = with_blocks(shape, blocks).with(|a| {
            a.model = model;
            a.network.layers = 2;
            a.network.dropout = 0.3;
        });
        let contrast = matches!(model, ModelKind::Constrained { .. }).then_some(Contrast {
            constraints: ConstraintSettings { top_k: 2, negatives_per_edge: 3, lambda_g: 1.3, margin_g: 0.3 },
            boundary: None,
        });
        let config = TrainConfig { contrast, ..TrainConfig::default() };
        check_with(&format!("{model}, {blocks:?}"), shape, &example, None, config);
    }
}

#[test]
fn match_differences_for_batch_norm_with_running_statistics() {
    let example = Recipe { seed: 60, ..Recipe::default() }.build();
    for blocks in all_blocks().filter(|blocks| blocks.norm == Norm::Batch) {
        let shape = with_blocks(architecture(&example, FORMS[3], false), blocks).with(|a| a.network.layers = 2);
        check_mode(&format!("evaluation, {blocks:?}"), shape, &example, None, TrainConfig::default(), false);
    }
}

#[test]
fn match_differences_for_separate_egos() {
    for (k, blocks) in all_blocks().step_by(2).enumerate() {
        let (form, directed) = (ALL_FORMS[k % 5], k % 2 == 0);
        let recipe = Recipe { seed: 90 + k as u64, edges: 20, directed, ..Recipe::default() };
        let example = if k % 3 == 0 { with_edges(recipe, true, 2) } else { recipe.build() };
        let (heads, dropout) = ([3, 1, 2, 9][k / 2 % 4], [0.3, 0.0][k / 3 % 2]);
        let blocks = NetworkSettings { separate_ego: true, ..blocks };
        let shape = architecture(&example, form, true);
        let shape = with_blocks(shape, blocks).with(|a| {
            a.network.layers = 2;
            a.network.heads = heads;
            a.network.dropout = dropout;
        });
        check(&format!("{form:?} {heads} heads, dropout {dropout}, {blocks:?}"), shape, &example, Some(0.8));
    }
}

#[test]
fn match_differences_for_labels_as_input() {
    let forms = ALL_FORMS.map(|form| ModelKind::Attention { form, self_supervised: true });
    let others = ["gcn", "sage", "sage-root", "mlp", "cgat", "cgat-full-supervised"].map(|name| name.parse().unwrap());
    for (k, model) in forms.into_iter().chain(others).enumerate() {
        let (sparse, directed, multi) = (k % 2 == 0, k % 3 > 0, k % 4 == 1);
        let recipe = Recipe { seed: 110 + k as u64, edges: 40, sparse, directed, multi, ..Recipe::default() };
        let example = recipe.build();
        let example = Example { train: (0..8).collect(), validation: vec![8, 9], test: vec![10, 11], ..example };
        let weights = if multi { None } else { Some([1.0, 2.0, 0.5]) };
        let weighted = |example: Example<f64>, weights: [f64; 3]| example.with_class_weights(weights).unwrap();
        let example = match weights.filter(|_| k % 2 == 1) {
            Some(weights) => weighted(example, weights),
            None => example,
        };
        let contrast = matches!(model, ModelKind::Constrained { .. }).then_some(Contrast {
            constraints: ConstraintSettings { top_k: 2, negatives_per_edge: 3, lambda_g: 1.3, margin_g: 0.3 },
            boundary: (model == ModelKind::Constrained { by_classes: true })
                .then_some(ClassConstraintSettings { lambda_b: 0.9, margin_b: 0.1 }),
        });
        let config = TrainConfig { contrast, ..TrainConfig::default() };
        let lambda_e = model.is_self_supervised().then_some(0.8);
        let plain = NetworkSettings::default();
        let deep = NetworkSettings { residual: Residual::Linear, norm: Norm::Layer, ..plain };
        let ego = NetworkSettings { separate_ego: matches!(model, ModelKind::Attention { .. }), ..deep };
        let before = NetworkSettings { input_layer: true, ..deep };
        for (blocks, dropout, label_input) in
            [(plain, 0.0, 0.5), (plain, 0.3, 0.3), (ego, 0.3, 0.6), (before, 0.2, 0.5)]
        {
            let shape = architecture(&example, FORMS[0], false);
            let shape = with_blocks(shape, blocks).with(|a| {
                a.model = model;
                a.network.dropout = dropout;
                a.network.label_input = label_input;
            });
            check_with(&format!("{model}, {label_input}, {blocks:?}"), shape, &example, lambda_e, config);
        }
    }
}

#[test]
fn match_differences_without_self_loops() {
    for (k, form) in ALL_FORMS.into_iter().enumerate() {
        for directed in [true, false] {
            let recipe = Recipe { seed: 70 + k as u64, edges: 14, directed, ..Recipe::default() };
            let blocks =
                NetworkSettings { self_loops: false, attention_dropout: k % 2 == 0, ..NetworkSettings::default() };
            for (example, edge_messages) in
                [(recipe.build(), false), (with_edges(recipe, true, 2), false), (with_edges(recipe, false, 2), true)]
            {
                let shape = architecture(&example, form, true);
                let shape = with_blocks(shape, blocks).with(|a| {
                    a.network.dropout = 0.3;
                    a.network.heads = 3;
                    a.network.edge_messages = edge_messages;
                });
                check(&format!("{form:?} directed {directed}, messages {edge_messages}"), shape, &example, Some(0.8));
            }
        }
    }
}
