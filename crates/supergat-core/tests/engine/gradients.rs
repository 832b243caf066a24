//! All gradients compared with central differences, in double precision.

use crate::common::{FORMS, Recipe, architecture};
use supergat_core::layers::{Boundary, Contrast};
use supergat_core::{Architecture, Convolution, Cpu, Example, Model, ModelKind, Prepared, Session, TrainConfig};

/// Runs one step with fixed dropout masks and samples. Returns the objective, and the model with its
/// gradients.
fn objective(model: Model<f64>, prepared: &Prepared<Cpu<f64>>, lambda_e: Option<f64>) -> (f64, Model<f64>) {
    let mut session = Session::new(prepared, model, 3, true).unwrap();
    session.set_step(7).unwrap();
    session.forward(0, true).unwrap();
    session.backward(0, true, lambda_e).unwrap();
    (session.loss(0, lambda_e).unwrap().total, session.into_network())
}

fn check(what: &str, architecture: Architecture, example: &Example<f64>, lambda_e: Option<f64>) {
    check_with(what, architecture, example, lambda_e, TrainConfig { p_e: 0.7, p_n: 0.9, ..TrainConfig::default() });
}

fn check_with(
    what: &str,
    architecture: Architecture,
    example: &Example<f64>,
    lambda_e: Option<f64>,
    config: TrainConfig,
) {
    let prepared = Prepared::new(std::slice::from_ref(example), architecture, config).unwrap();
    let mut model = Model::new(architecture, 5).unwrap();
    // Zero biases would hide errors that are proportional to them.
    let device = Cpu::default();
    let moved = |rows: Vec<f64>| rows.iter().enumerate().map(|(k, v)| v + 0.05 * ((k % 7) as f64 - 3.0)).collect();
    model
        .for_each_parameter(|p| {
            let moved: Vec<f64> = moved(p.to_rows(&device)?);
            p.set_rows(&device, &moved)
        })
        .unwrap();
    let (_, model) = objective(model, &prepared, lambda_e);
    let gradients: Vec<(String, Vec<f64>)> =
        model.parameters().map(|p| (p.name.clone(), p.gradient_to_rows(&device).unwrap())).collect();
    let mut nonzero = 0;
    for (index, (name, gradient)) in gradients.iter().enumerate() {
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
                objective(moved, &prepared, lambda_e).0
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
    for form in FORMS {
        for dropout in [0.0, 0.4] {
            for lambda_e in [None, Some(1.3)] {
                let example = Recipe { seed: 1, ..Recipe::default() }.build();
                let shape = Architecture { dropout, ..architecture(&example, form, lambda_e.is_some()) };
                check(&format!("{form:?} dropout {dropout} lambda_e {lambda_e:?}"), shape, &example, lambda_e);
            }
        }
    }
}

#[test]
fn match_differences_for_any_number_of_heads() {
    let example = Recipe { seed: 2, directed: false, ..Recipe::default() }.build();
    for form in FORMS {
        for (heads, output_heads) in [(1, 1), (3, 4), (4, 1), (8, 3), (9, 10)] {
            let shape =
                Architecture { heads, output_heads, hidden: 2, dropout: 0.3, ..architecture(&example, form, true) };
            check(&format!("{form:?} heads {heads} and {output_heads}"), shape, &example, Some(0.8));
        }
    }
}

#[test]
fn match_differences_for_one_to_four_layers() {
    let example = Recipe { seed: 3, ..Recipe::default() }.build();
    for layers in [1, 3, 4] {
        for form in FORMS {
            let shape = Architecture { layers, hidden: 2, dropout: 0.2, ..architecture(&example, form, true) };
            check(&format!("{form:?} layers {layers}"), shape, &example, Some(0.8));
        }
    }
}

#[test]
fn match_differences_for_sparse_features_and_multiple_labels() {
    for form in FORMS {
        let example = Recipe { seed: 4, sparse: true, multi: true, features: 9, ..Recipe::default() }.build();
        let shape = Architecture { dropout: 0.4, ..architecture(&example, form, true) };
        check(&format!("{form:?} sparse, multi-label"), shape, &example, Some(0.5));
    }
}

#[test]
fn match_differences_for_mlp() {
    let example = Recipe { seed: 5, sparse: true, ..Recipe::default() }.build();
    for layers in [1, 2, 3] {
        let shape =
            Architecture { model: ModelKind::Mlp, layers, dropout: 0.3, ..architecture(&example, FORMS[0], false) };
        check(&format!("mlp layers {layers}"), shape, &example, None);
    }
}

#[test]
fn match_differences_for_convolutions() {
    for kind in [Convolution::Gcn, Convolution::GcnIncoming, Convolution::Sage, Convolution::SageRoot] {
        for (layers, sparse, directed) in [(1, true, true), (2, false, true), (3, true, false)] {
            let example = Recipe { seed: 6, sparse, directed, ..Recipe::default() }.build();
            let model = ModelKind::Convolution(kind);
            let shape = Architecture { model, layers, dropout: 0.3, ..architecture(&example, FORMS[0], false) };
            check(&format!("{kind:?} layers {layers}"), shape, &example, None);
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
                top_k: 2,
                negatives_per_edge: 3,
                lambda_g: 1.3,
                margin_g: 0.3,
                boundary: by_classes.then_some(Boundary { lambda_b: 0.9, margin_b: 0.1 }),
            };
            let shape = Architecture {
                model: ModelKind::Constrained { by_classes },
                layers,
                heads: heads[0],
                output_heads: heads[1],
                dropout,
                ..architecture(&example, FORMS[0], false)
            };
            let config = TrainConfig { contrast: Some(contrast), ..TrainConfig::default() };
            check_with(&format!("seed {seed}, {contrast:?}, dropout {dropout}"), shape, &example, None, config);
        }
    }
}
