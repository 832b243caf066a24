//! Rows that are gathered in 16 bits: what they need, what they save, and what refuses them.

use crate::common::{Recipe, architecture};
use std::collections::HashMap;
use std::ops::ControlFlow;
use supergat_core::{Architecture, EdgeAttributes, Example, Form, Precision, Prepared, TrainConfig, Trainer};
use supergat_cpu::{Checkpoint, Cpu, Model};

const RECIPE: Recipe =
    Recipe { nodes: 80, edges: 300, features: 12, classes: 3, directed: false, sparse: false, multi: false, seed: 3 };

fn shape(example: &Example<f32>, form: Form, precision: Precision) -> Architecture {
    architecture(example, form, true).with(|a| {
        (a.network.heads, a.network.hidden, a.network.precision) = (8, 8, precision);
    })
}

fn prepared(example: &Example<f32>, shape: Architecture) -> Prepared<Cpu<f32>> {
    let config = TrainConfig::default().with(|c| c.training.max_epochs = 5);
    Prepared::on(&Cpu::default(), std::slice::from_ref(example), shape, config).unwrap()
}

#[test]
fn saved_models_predict_and_explain_in_16_bits() {
    for form in [Form::Go, Form::Mx] {
        let example = RECIPE.build();
        let prepared = prepared(&example, shape(&example, form, Precision::Bf16));
        let trained = Trainer::new(&prepared, 5).unwrap().run(|_| ControlFlow::Continue(())).unwrap();
        let (logits, attention) = (trained.logits[0].clone(), trained.model.attention(&example).unwrap());
        let saved = Checkpoint::of(trained.model, HashMap::new(), HashMap::new()).to_bytes();
        let read = Checkpoint::from_bytes(&saved).unwrap();
        assert_eq!(read.architecture.network.precision, Precision::Bf16);
        let network = read.network.expect("a network");
        assert_eq!(network.predict(&example).unwrap(), logits);
        for (found, expected) in network.attention(&example).unwrap().iter().zip(&attention) {
            assert_eq!(found.coefficients, expected.coefficients);
            // The coefficients of a node add up to 1.
            let sum: f32 = found.coefficients.iter().sum();
            let expected = (found.coefficients.len() / example.graph.edges() * example.graph.nodes()) as f32;
            assert!((sum - expected).abs() < 1e-3 * expected, "{sum} and {expected}");
        }
        // Prediction needs no links in both directions.
        let directed = Recipe { directed: true, ..RECIPE }.build();
        assert!(network.predict(&directed).unwrap().iter().all(|logit| logit.is_finite()));
    }
}

#[test]
fn rows_of_16_bits_save_memory() {
    let example = RECIPE.build();
    let [full, half] = [Precision::F32, Precision::Bf16].map(|precision| {
        let prepared = prepared(&example, shape(&example, Form::Mx, precision).with(|a| a.network.layers = 4));
        let model = Model::new(*prepared.architecture(), 0).unwrap();
        [true, false].map(|training| model.workspace_bytes(&prepared, training).unwrap())
    });
    // Three layers have rows of 64 numbers, the last one of 8. In training, the gradients of one layer are rounded too.
    let saved = 80 * 2 * (3 * 64 + 8);
    assert_eq!([full[0] - half[0], full[1] - half[1]], [saved - 80 * 2 * 64, saved]);
}

#[test]
fn refuses_16_bits_where_rows_have_32() {
    let example = RECIPE.build::<f32>();
    for model in ["gcn", "mlp", "gatv2", "cgat"] {
        let shape = Architecture::new(model.parse().unwrap(), &example);
        let error = shape.with(|a| a.network.precision = Precision::Bf16).check().unwrap_err().to_string();
        assert!(error.starts_with(&format!("precision = bf16: {model} gathers rows of 32 bits")), "{error}");
    }
    let refused = |example: &Example<f32>, heads: usize| {
        let shape = shape(example, Form::Sd, Precision::Bf16).with(|a| a.network.heads = heads);
        let prepared = Prepared::on(&Cpu::default(), std::slice::from_ref(example), shape, TrainConfig::default());
        prepared.and_then(|prepared| Trainer::new(&prepared, 0).map(|_| ())).unwrap_err().to_string()
    };
    let directed = Recipe { directed: true, ..RECIPE }.build();
    let of_training = "precision = bf16: trains at most eight heads, on links that count in both directions; use f32";
    assert_eq!([refused(&directed, 8), refused(&example, 9)], [of_training; 2]);
    let edges = example.graph.edges();
    let weights = EdgeAttributes::of_edges(edges, vec![2.0; edges], 0, vec![]).unwrap();
    let error = refused(&example.with_edges(weights).unwrap(), 8);
    assert_eq!(error, "precision = bf16: needs links without weights and features; leave them out, or use f32");
}
