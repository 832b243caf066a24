//! Checks of examples, architectures and configurations that do not fit together.

use std::sync::Arc;
use supergat_core::hyperparameters::ConstraintSettings;
use supergat_core::{
    Architecture, Contrast, Direction, Error, Example, Features, Graph, Labels, Prepared, Session, TrainConfig, Trainer,
};
use supergat_cpu::{Cpu, Model};

fn example(columns: usize) -> Example<f32> {
    let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], Direction::Undirected).unwrap();
    let features = Features::dense(3, columns, vec![0.5; 3 * columns]).unwrap();
    let labels = Labels::Single { classes: 2, of: vec![0, 1, 0] };
    Example::new(graph, features, labels, [vec![0], vec![1], vec![2]]).unwrap()
}

fn architecture(model: &str, example: &Example<f32>) -> Architecture {
    Architecture::new(model.parse().unwrap(), example)
}

#[test]
fn rejects_examples_of_another_shape() {
    let (two, three) = (example(2), example(3));
    let error =
        Prepared::on(&Cpu::default(), &[two.clone(), three], architecture("gat-go", &two), TrainConfig::default());
    let message = error.unwrap_err().to_string();
    assert_eq!(message, "the model expects features per node = 2, but the data has 3");
}

#[test]
fn rejects_constraints_for_other_models_than_cgat() {
    let example = example(2);
    let contrast = Contrast {
        constraints: ConstraintSettings { top_k: 4, negatives_per_edge: 5, lambda_g: 1.0, margin_g: 0.5 },
        boundary: None,
    };
    let with = TrainConfig { contrast: Some(contrast), ..TrainConfig::default() };
    let prepare = |model, config| {
        Prepared::on(&Cpu::default(), std::slice::from_ref(&example), architecture(model, &example), config)
    };
    assert!(prepare("gat-go", with).is_err() && prepare("cgat", TrainConfig::default()).is_err());
    assert!(prepare("cgat", with).is_ok());
}

#[test]
fn rejects_a_model_of_another_architecture() {
    let example = example(2);
    let shape = architecture("gat-go", &example);
    let prepared = Prepared::on(&Cpu::default(), &[example], shape, TrainConfig::default()).unwrap();
    let other = Model::new(shape.with(|a| a.network.hidden = 3), 0).unwrap();
    assert!(matches!(Session::new(&prepared, other, 0, false), Err(Error::OtherArchitecture { .. })));
}

#[test]
fn shares_graph_and_features() {
    let example = example(2);
    let prepared = Prepared::on(
        &Cpu::default(),
        std::slice::from_ref(&example),
        architecture("gat-go", &example),
        TrainConfig::default(),
    );
    let prepared = prepared.unwrap();
    assert!(Arc::ptr_eq(&prepared.examples()[0].graph, &example.graph));
    assert!(Arc::ptr_eq(&prepared.examples()[0].features, &example.features));
}

#[test]
fn rejects_empty_training_and_validation_splits() {
    let full = example(2);
    let without_training = Example { train: vec![], ..full.clone() };
    let without_validation = Example { validation: vec![], ..full.clone() };
    for (example, split) in [(without_training, "training"), (without_validation, "validation")] {
        let prepared =
            Prepared::on(&Cpu::default(), &[example], architecture("supergat-go", &full), TrainConfig::default());
        let error = Trainer::new(&prepared.unwrap(), 0).unwrap_err();
        assert_eq!(error, Error::EmptySplit { split });
    }
}
