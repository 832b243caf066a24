//! Labels of training nodes as input, and label reuse.

use crate::common::{FORMS, Recipe, architecture};
use supergat_core::device::Adam;
use supergat_core::{
    Architecture, Convolution, Direction, Example, Features, Graph, Labels, ModelKind, NodeOrder, Prepared, Session,
    TrainConfig, Trainer,
};
use supergat_cpu::{Cpu, Model};

fn kinds() -> [ModelKind; 6] {
    ["supergat-mx", "gatv2", "gcn", "sage", "mlp", "gat-dp"].map(|name| name.parse().unwrap())
}

fn shape(example: &Example<f32>, model: ModelKind) -> Architecture {
    let (label_input, label_reuse) = (0.5, 2);
    architecture(example, FORMS[0], false).with(|a| {
        a.model = model;
        a.network.dropout = 0.4;
        a.network.label_input = label_input;
        a.network.label_reuse = label_reuse;
    })
}

/// Returns the example with other labels of some nodes.
fn relabelled(example: &Example<f32>, nodes: &[u32]) -> Example<f32> {
    let mut labels = example.labels.clone();
    match &mut labels {
        Labels::Single { classes, of } => {
            nodes.iter().for_each(|&node| of[node as usize] = (of[node as usize] + 1) % *classes as u32);
        }
        Labels::Multi { classes, of } => {
            let rows = nodes.iter().flat_map(|&node| node as usize * *classes..(node as usize + 1) * *classes);
            rows.for_each(|k| of[k] = 1 - of[k]);
        }
    }
    Example { labels, ..example.clone() }
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// Returns the bits of all weights after three steps.
fn weights_after_steps(example: &Example<f32>, shape: Architecture) -> Vec<u32> {
    let prepared = Prepared::on(&Cpu::default(), std::slice::from_ref(example), shape, TrainConfig::default()).unwrap();
    let mut session = Session::new(&prepared, Model::new(shape, 4).unwrap(), 4, true).unwrap();
    for _ in 0..3 {
        session.forward(0, true).unwrap();
        session.backward(0, true, Some(1.0)).unwrap();
        session.update(Adam { lr: 0.01, lambda_2: 0.0 }).unwrap();
        session.advance().unwrap();
    }
    session.network().parameters().flat_map(|parameter| bits(&parameter.to_rows(&Cpu::default()).unwrap())).collect()
}

#[test]
fn labels_of_validation_and_test_nodes_are_never_read() {
    for (kind, multi) in kinds().into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let example = Recipe { nodes: 60, edges: 150, multi, ..Recipe::default() }.build::<f32>();
        let shape = shape(&example, kind);
        let held_out: Vec<u32> = example.validation.iter().chain(&example.test).copied().collect();
        let [held_out, train] = [&held_out, &example.train].map(|nodes| relabelled(&example, nodes));
        let model = Model::<f32>::new(shape, 3).unwrap();
        let predicted = |example| bits(&model.predict(example).unwrap());
        assert_eq!(predicted(&example), predicted(&held_out), "{kind}, multi {multi}");
        assert_ne!(predicted(&example), predicted(&train), "{kind}, multi {multi}");
        assert_eq!(
            weights_after_steps(&example, shape),
            weights_after_steps(&held_out, shape),
            "{kind}, multi {multi}"
        );
        // Unknown labels are not read either.
        if let Labels::Single { classes, of } = &example.labels {
            let known = |node: usize| if node < example.train.len() { of[node] } else { Labels::UNKNOWN };
            let labels = Labels::Single { classes: *classes, of: (0..of.len()).map(known).collect() };
            let unknown = Example { labels, validation: vec![], test: vec![], ..example.clone() };
            assert_eq!(predicted(&example), predicted(&unknown), "{kind}");
        }
    }
}

/// Two nodes without a link. The only weights are those of labels: rows (2, 0) and (0, 1).
#[test]
fn matches_worked_example() {
    let graph = Graph::from_edges(2, &[], Direction::Undirected).unwrap();
    let features = Features::dense(2, 1, vec![0.0f64, 0.0]).unwrap();
    let labels = Labels::Single { classes: 2, of: vec![0, 1] };
    let example = Example::new(graph, features, labels, [vec![0], vec![1], vec![]]).unwrap();
    let plain = architecture(&example, FORMS[0], false).with(|a| (a.model, a.network.layers) = (ModelKind::Mlp, 1));
    let logits = |label_reuse| {
        let mut model =
            Model::zeros(plain.with(|a| (a.network.label_input, a.network.label_reuse) = (0.5, label_reuse))).unwrap();
        model
            .for_each_parameter(|parameter| match parameter.name.as_str() {
                "layer1.w" => parameter.set_rows(&Cpu::default(), &[9.0, 9.0, 2.0, 0.0, 0.0, 1.0]),
                _ => Ok(()),
            })
            .unwrap();
        model.predict(&example).unwrap()
    };
    assert_eq!(logits(0), [2.0, 0.0, 0.0, 0.0]);
    assert_eq!(logits(1), [2.0, 0.0, 1.0, 0.5]);
    let p = 1.0 / (1.0 + (-0.5f64).exp());
    assert!(logits(2).iter().zip([2.0, 0.0, 2.0 * p, 1.0 - p]).all(|(a, b)| (a - b).abs() < 1e-12));
}

/// A label that a node shows must not be part of the loss of the same step.
#[test]
fn a_step_counts_other_nodes_only() {
    let example = Recipe { nodes: 90, edges: 0, features: 1, classes: 2, ..Recipe::default() }.build::<f64>();
    let features = Features::dense(90, 1, vec![0.0; 90]).unwrap();
    let example = Example { features: features.into(), ..example };
    let plain = architecture(&example, FORMS[0], false).with(|a| (a.model, a.network.layers) = (ModelKind::Mlp, 1));
    for (label_input, expected) in [(0.5, 15.0), (0.99, 1.0), (0.01, 30.0)] {
        let shape = plain.with(|a| a.network.label_input = label_input);
        let prepared =
            Prepared::on(&Cpu::default(), std::slice::from_ref(&example), shape, TrainConfig::default()).unwrap();
        let mut model = Model::zeros(shape).unwrap();
        // Nodes that show their label would have no loss.
        model
            .for_each_parameter(|parameter| match parameter.name.as_str() {
                "layer1.w" => parameter.set_rows(&Cpu::default(), &[0.0, 0.0, 50.0, -50.0, -50.0, 50.0]),
                _ => Ok(()),
            })
            .unwrap();
        let mut session = Session::new(&prepared, model, 1, true).unwrap();
        session.forward(0, true).unwrap();
        session.backward(0, true, None).unwrap();
        assert!((session.loss(0, None).unwrap().label - 2f64.ln()).abs() < 1e-12, "share {label_input}");
        // Every node that counts adds at most half its share of the loss to the gradient of the bias.
        let device = Cpu::default();
        let gradient = |name: &str| {
            let network = session.network();
            network.parameters().find(|p| p.name == name).unwrap().gradient_to_rows(&device).unwrap()
        };
        let step = 0.5 / expected;
        assert!(gradient("layer1.b").iter().all(|slope| (slope / step - (slope / step).round()).abs() < 1e-9));
        assert!(gradient("layer1.w").iter().all(|slope| slope.abs() < 1e-12));
    }
}

#[test]
fn predictions_do_not_depend_on_the_order_of_nodes() {
    for kind in kinds() {
        let example = Recipe { nodes: 40, edges: 100, ..Recipe::default() }.build::<f32>();
        let order = NodeOrder::new((0..40).rev().collect(), vec![0, 20, 40]).unwrap();
        let model = Model::<f32>::new(shape(&example, kind), 3).unwrap();
        let [given, renumbered] = [example.clone(), example.with_order(order).unwrap()];
        let (a, b) = (model.predict(&given).unwrap(), model.predict(&renumbered).unwrap());
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5), "{kind}");
    }
}

#[test]
fn trains_on_several_graphs() {
    let recipe = Recipe { nodes: 40, edges: 100, multi: true, ..Recipe::default() };
    let [first, second] = [recipe, Recipe { nodes: 30, seed: 1, ..recipe }].map(|recipe| recipe.build::<f32>());
    let all = |nodes: u32| (0..nodes).collect::<Vec<_>>();
    let first = Example { train: all(40), validation: vec![], test: vec![], ..first };
    let second = Example { train: vec![], validation: all(15), test: (15..30).collect(), ..second };
    let shape = shape(&first, kinds()[0]);
    let prepared = Prepared::on(&Cpu::default(), &[first, second], shape, TrainConfig::default()).unwrap();
    let mut trainer = Trainer::new(&prepared, 0).unwrap();
    let epoch = trainer.next_epoch().unwrap().unwrap();
    assert!(epoch.train.label.is_finite() && epoch.validation.loss.is_finite());
}

#[test]
fn reuse_without_input_is_refused() {
    let example = Recipe::default().build::<f32>();
    let shape = shape(&example, ModelKind::Convolution(Convolution::Gcn));
    let refused = shape.with(|a| a.network.label_input = 0.0).check().unwrap_err().to_string();
    assert_eq!(refused, "label_reuse = 2: needs labels as input; set label_input, such as 0.5");
    let others = Example { labels: Labels::Single { classes: 4, of: vec![3; 12] }, ..example };
    let refused = Model::<f32>::new(shape, 0).unwrap().predict(&others).unwrap_err().to_string();
    assert_eq!(refused, "the model expects classes = 3, but the data has 4");
}
