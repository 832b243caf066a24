//! Gradients of networks that reuse predicted labels.

use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels, Prepared, Session, TrainConfig};
use supergat_cpu::{Cpu, Model};

/// The predicted classes that nodes reuse are constants of the step: no gradient passes through them.
#[test]
fn gradients_match_differences() {
    let graph = Graph::from_edges(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], Direction::Undirected).unwrap();
    let features = Features::dense(6, 2, (0..12).map(|k| f64::from(k * 5 % 7) - 3.0).collect()).unwrap();
    let labels = Labels::Single { classes: 2, of: vec![0, 1, 1, 0, 0, 1] };
    let example = Example::new(graph, features, labels, [vec![0, 1, 2, 3], vec![4], vec![5]]).unwrap();
    let plain = Architecture::new("gcn".parse().unwrap(), &example);
    let architecture = plain.with(|a| {
        a.network.hidden = 3;
        a.network.dropout = 0.3;
        a.network.label_input = 0.5;
        a.network.label_reuse = 2;
    });
    let device = Cpu::default();
    let prepared = Prepared::on(&device, &[example], architecture, TrainConfig::default()).unwrap();
    let mut session = Session::new(&prepared, Model::new(architecture, 5).unwrap(), 3, true).unwrap();
    session.forward(0, true).unwrap();
    session.backward(0, true, None).unwrap();
    let weight = &session.network().layers()[0].weight;
    let (name, gradient) = (weight.name.clone(), weight.gradient_to_rows(&device).unwrap());
    let weights = weight.to_rows(&device).unwrap();
    let mut loss = |element: usize, shift: f64| {
        let mut moved = weights.clone();
        moved[element] += shift;
        let set = |p: &mut supergat_core::layers::Parameter<_>| {
            if p.name == name { p.set_rows(&device, &moved) } else { Ok(()) }
        };
        session.network_mut().for_each_parameter(set).unwrap();
        session.forward_again(0, true).unwrap();
        session.backward(0, true, None).unwrap();
        session.loss(0, None).unwrap().label
    };
    for (element, found) in gradient.iter().enumerate() {
        let expected = (loss(element, 1e-6) - loss(element, -1e-6)) / 2e-6;
        assert!((found - expected).abs() < 1e-8, "{element}: found {found}, central difference {expected}");
    }
    assert!(gradient[2 * 3..].iter().any(|slope| slope.abs() > 1e-3), "weights of labels have gradients");
}
