//! An order of the nodes inside the engine changes neither predictions nor attention, and no result has internal
//! numbers.

use crate::common::{FORMS, Recipe, architecture};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;
use supergat_core::hyperparameters::ConstraintSettings;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{
    Architecture, Contrast, Example, ModelKind, Network, NodeOrder, Prepared, Real, Session, SingleDevice, TrainConfig,
    Trainer,
};
use supergat_cpu::{Cpu, Model, Primitives};

/// Returns a shuffled order of the nodes of an example, in three parts.
fn ordered<T: Real>(example: &Example<T>, seed: u64) -> Example<T> {
    let nodes = example.graph.nodes() as u32;
    let mut outer: Vec<u32> = (0..nodes).collect();
    Stream::new(seed, 0, 0, Purpose::Split).shuffle(&mut outer);
    let order = NodeOrder::new(outer, vec![0, nodes / 3, nodes / 2, nodes]).unwrap();
    example.clone().with_order(order).unwrap()
}

fn close<T: Real>(what: &str, found: &[T], expected: &[T], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        let distance = (found.to_f64() - expected.to_f64()).abs();
        assert!(distance <= tolerance * expected.to_f64().abs().max(1.0), "{what}: {found} instead of {expected}");
    }
}

/// Asserts that predictions, attention and logits of pairs are the same with and without an order.
fn check_results<D: SingleDevice>(device: &D, recipe: Recipe, model: ModelKind, tolerance: f64) {
    let plain = recipe.build::<D::Number>();
    let renumbered = ordered(&plain, recipe.seed);
    let shape = Architecture { model, ..architecture(&plain, FORMS[0], false) };
    let network = Network::on(device, shape, recipe.seed).unwrap();
    let what = |result: &str| format!("{result} of {model}, {recipe:?}");
    let predict = |example| network.predict(example).unwrap();
    close(&what("logits"), &predict(&renumbered), &predict(&plain), tolerance);
    let (found, expected) = (network.attention(&renumbered).unwrap(), network.attention(&plain).unwrap());
    for (found, expected) in found.iter().zip(&expected) {
        close(&what("coefficients"), &found.coefficients, &expected.coefficients, tolerance);
        close(&what("edge logits"), &found.logits, &expected.logits, tolerance);
    }
    let pairs: Vec<[u32; 2]> = (0..recipe.nodes as u32).map(|i| [i, (i * i + 1) % recipe.nodes as u32]).collect();
    let pair_logits = |example| network.pair_logits(example, &pairs).unwrap();
    match (pair_logits(&renumbered), pair_logits(&plain)) {
        (Some(found), Some(expected)) => close(&what("pair logits"), &found, &expected, tolerance),
        (found, expected) => assert_eq!(found.is_some(), expected.is_some()),
    }
}

fn config(model: ModelKind) -> TrainConfig {
    let contrast = Contrast {
        constraints: ConstraintSettings { top_k: 2, negatives_per_edge: 3, lambda_g: 1.3, margin_g: 0.3 },
        boundary: None,
    };
    let constrained = matches!(model, ModelKind::Constrained { .. });
    TrainConfig::default().with(|c| (c.contrast, c.training.max_epochs) = (constrained.then_some(contrast), 3))
}

/// Returns losses and gradients of all parameters, with all edges and the given non-edges as samples.
fn gradients(example: &Example<f64>, model: ModelKind, negatives: &[[u32; 2]]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let shape = Architecture { model, ..architecture(example, FORMS[0], false) };
    let prepared = Prepared::on(&Cpu::default(), std::slice::from_ref(example), shape, config(model)).unwrap();
    let mut session = Session::new(&prepared, Model::new(shape, 3).unwrap(), 0, true).unwrap();
    let lambda_e = model.is_self_supervised().then_some(0.7);
    session.forward(0, false).unwrap();
    if model.is_self_supervised() {
        session.set_samples(0, negatives).unwrap();
    }
    session.backward(0, false, lambda_e).unwrap();
    if model.is_self_supervised() {
        let (marks, pairs) = session.samples(0).unwrap();
        assert_eq!(pairs, negatives);
        assert_eq!(bits(&marks, example.graph.edges()), vec![true; example.graph.edges()]);
    }
    session.evaluate(0).unwrap();
    let loss = session.loss(0, lambda_e).unwrap();
    let scores = session.read().unwrap().scores[0];
    let losses = vec![loss.label, loss.edge, loss.total, scores[0].0, scores[1].0];
    let gradients = session.network().parameters().map(|parameter| parameter.gradient.to_vec()).collect();
    (losses, gradients)
}

fn bits(marks: &[u8], edges: usize) -> Vec<bool> {
    (0..edges).map(|edge| marks[edge / 8] >> (edge % 8) & 1 == 1).collect()
}

/// Trains on a training graph and a validation graph.
fn trained<T: Primitives>(examples: &[Example<T>; 2], model: ModelKind) -> (Prepared<Cpu<T>>, Vec<Vec<T>>) {
    let [mut first, mut second] = examples.clone();
    (first.train, first.validation, first.test) = ((0..first.graph.nodes() as u32).collect(), vec![], vec![]);
    (second.train, second.validation, second.test) = (vec![], (0..second.graph.nodes() as u32).collect(), vec![]);
    let shape = Architecture { model, ..architecture(&first, FORMS[0], false) };
    let prepared = Prepared::on(&Cpu::default(), &[first, second], shape, config(model)).unwrap();
    let trained = Trainer::new(&prepared, 5).unwrap().run(|_| ControlFlow::Continue(())).unwrap();
    for (example, logits) in prepared.examples().iter().zip(&trained.logits) {
        close("logits after training", logits, &trained.model.predict(example).unwrap(), 1e-5);
    }
    (prepared, trained.logits)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn results_do_not_depend_on_the_order(
        seed: u64, nodes in 3usize..50, edges in 0usize..300, directed: bool, sparse: bool, multi: bool,
    ) {
        let recipe = Recipe { nodes, edges, directed, sparse, multi, seed, ..Recipe::default() };
        for model in ModelKind::ALL.into_iter().filter(|model| model.is_network()) {
            check_results(&Cpu::<f64>::default(), recipe, model, 1e-12);
            check_results(&Cpu::<f32>::default(), recipe, model, 1e-4);
        }
    }

    #[test]
    fn gradients_do_not_depend_on_the_order(seed: u64, directed: bool, sparse: bool, multi: bool) {
        let recipe = Recipe { nodes: 20, edges: 60, directed, sparse, multi, seed, ..Recipe::default() };
        let plain = recipe.build::<f64>();
        let graph = &plain.graph;
        let negatives: Vec<[u32; 2]> =
            (0..20).flat_map(|i| (0..20).map(move |j| [j, i])).filter(|p| graph.position(p[0], p[1]).is_none()).collect();
        let is_compared = |model: &ModelKind| model.is_network() && !matches!(model, ModelKind::Constrained { .. });
        for model in ModelKind::ALL.into_iter().filter(is_compared) {
            let (losses, expected) = gradients(&plain, model, &negatives);
            let (found_losses, found) = gradients(&ordered(&plain, seed), model, &negatives);
            close("losses", &found_losses, &losses, 1e-12);
            for (found, expected) in found.iter().zip(&expected) {
                close("gradient", found, expected, 1e-11);
            }
        }
    }

    #[test]
    fn several_graphs_are_trained_in_their_orders(seed: u64, sparse: bool) {
        let recipe = Recipe { nodes: 30, edges: 90, sparse, multi: true, seed, ..Recipe::default() };
        let plain = [recipe, Recipe { nodes: 17, edges: 40, seed: seed ^ 1, ..recipe }].map(|r| r.build::<f32>());
        let renumbered = [ordered(&plain[0], seed), ordered(&plain[1], seed ^ 2)];
        // Without dropout and samples, a training has no random numbers of nodes or edges.
        for model in ["gat-mx", "gcn", "sage", "mlp"] {
            let model = model.parse().unwrap();
            let (_, expected) = trained(&plain, model);
            let (_, found) = trained(&renumbered, model);
            for (found, expected) in found.iter().zip(&expected) {
                close("trained logits", found, expected, 1e-3);
            }
        }
        for model in ["supergat-mx", "supergat-sd"] {
            trained(&renumbered, model.parse().unwrap());
        }
    }

    #[test]
    fn drawn_samples_have_given_numbers(seed: u64, directed: bool) {
        let recipe = Recipe { nodes: 40, edges: 150, directed, seed, ..Recipe::default() };
        let example = ordered(&recipe.build::<f32>(), seed);
        let shape = architecture(&example, FORMS[3], true);
        let prepared = Prepared::on(&Cpu::default(), std::slice::from_ref(&example), shape, TrainConfig::default()).unwrap();
        let mut session = Session::new(&prepared, Model::new(shape, 3).unwrap(), seed, true).unwrap();
        session.forward(0, true).unwrap();
        session.backward(0, true, Some(1.0)).unwrap();
        let (marks, pairs) = session.samples(0).unwrap();
        prop_assert!(pairs.iter().all(|pair| example.graph.position(pair[0], pair[1]).is_none()));
        prop_assert!(!pairs.is_empty());
        let marked = bits(&marks, example.graph.edges()).into_iter().filter(|&bit| bit).count();
        prop_assert_eq!(marked, (0.8 * example.graph.edges() as f64) as usize);
        prop_assert_eq!(marks.iter().map(|byte| byte.count_ones() as usize).sum::<usize>(), marked);
    }
}

#[test]
fn the_given_order_is_not_copied() {
    let plain = Recipe::default().build::<f32>();
    let shape = architecture(&plain, FORMS[3], true);
    let bytes = |example: &Example<f32>| {
        Prepared::on(&Cpu::default(), std::slice::from_ref(example), shape, TrainConfig::default())
            .unwrap()
            .renumbered_bytes()
    };
    let identity = plain.clone().with_order(NodeOrder::identity(12).unwrap()).unwrap();
    assert_eq!((bytes(&plain), bytes(&identity)), (0, 0));
    assert!(bytes(&ordered(&plain, 1)) > 0);
}

#[test]
fn rejects_an_order_of_another_graph() {
    let plain = Recipe::default().build::<f32>();
    let other = Arc::new(NodeOrder::identity(11).unwrap());
    let message = plain.clone().with_order(Arc::clone(&other)).unwrap_err().to_string();
    assert_eq!(message, "nodes of the order: expected 12, found 11");
    let shape = architecture(&plain, FORMS[3], true);
    let forced = Example { order: Some(other), ..plain };
    assert!(Prepared::on(&Cpu::default(), std::slice::from_ref(&forced), shape, TrainConfig::default()).is_err());
    assert!(Model::new(shape, 0).unwrap().predict(&forced).is_err());
}
