//! Orders of nodes inside the engine, seen from outside.

use std::sync::Arc;
use supergat::{Classifier, Dataset, LoadOptions, NodeOrderChoice, Training, load_with};

const SOURCE: &str = "random-partition:classes=3,nodes=180,degree=8,homophily=0.8";

fn load(source: &str, node_order: NodeOrderChoice) -> Dataset {
    load_with(source, &LoadOptions { node_order, ..LoadOptions::default() }).unwrap()
}

fn train(dataset: &Dataset, threads: usize) -> Training {
    let builder = Classifier::builder().model("supergat-mx").max_epochs(40).seeds([3, 4]).threads(threads);
    builder.train(dataset).unwrap()
}

#[test]
fn given_order_has_the_bits_of_no_order() {
    let given = load(SOURCE, NodeOrderChoice::Given);
    assert!(given.examples[0].order.is_none());
    // A small graph is not ordered automatically.
    let auto = load(SOURCE, NodeOrderChoice::Auto);
    let mut removed = load(SOURCE, NodeOrderChoice::Local);
    removed.order_nodes(&LoadOptions { node_order: NodeOrderChoice::Given, ..LoadOptions::default() });
    let expected = train(&given, 2);
    for dataset in [auto, removed] {
        let found = train(&dataset, 2);
        assert_eq!(found.predictions, expected.predictions);
        assert_eq!(found.runs[1].history, expected.runs[1].history);
    }
}

#[test]
fn local_order_has_the_same_bits_at_any_number_of_threads() {
    let local = load(SOURCE, NodeOrderChoice::Local);
    let (one, three) = (train(&local, 1), train(&local, 3));
    assert_eq!(one.predictions, three.predictions);
    assert_eq!(one.runs[0].history, three.runs[0].history);
    // The random numbers are those of other nodes.
    assert_ne!(one.runs[0].history, train(&load(SOURCE, NodeOrderChoice::Given), 1).runs[0].history);
}

#[test]
fn results_have_given_numbers() {
    let (given, local) = (load(SOURCE, NodeOrderChoice::Given), load(SOURCE, NodeOrderChoice::Local));
    assert!(local.examples[0].order.as_ref().unwrap().outer().windows(2).any(|pair| pair[0] > pair[1]));
    let training = train(&local, 1);
    let model = &training.classifier;
    assert_eq!(model.splits(), train(&given, 1).classifier.splits());
    // The same model on the same nodes, in both orders.
    let (expected, found) = (model.predict(&given).unwrap(), model.predict(&local).unwrap());
    assert_eq!(found, training.predictions);
    assert_eq!(found.probabilities().len(), 540 * 3);
    for (a, b) in expected.probabilities().iter().zip(found.probabilities()) {
        assert!((a - b).abs() < 1e-5, "{a} and {b}");
    }
    let [expected, found] = [&given, &local].map(|dataset| model.evaluate(dataset).unwrap().test.unwrap());
    assert_eq!((expected.nodes, expected.score.metric), (found.nodes, found.score.metric));
    let [expected, found] = [&given, &local].map(|dataset| model.attention(dataset, 0).unwrap());
    for (a, b) in expected.edges().zip(found.edges()) {
        assert_eq!((a.source, a.target, a.layer, a.head), (b.source, b.target, b.layer, b.head));
        assert!((a.coefficient - b.coefficient).abs() < 1e-5, "{a:?} and {b:?}");
    }
}

#[test]
fn stored_order_is_the_one_that_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ordered.safetensors");
    let local = load(SOURCE, NodeOrderChoice::Local);
    supergat_data::convert(&local, &path).unwrap();
    let stored = load(path.to_str().unwrap(), NodeOrderChoice::Auto);
    assert_eq!(stored.examples[0].order.as_ref().unwrap().outer(), local.examples[0].order.as_ref().unwrap().outer());
    assert_eq!(stored.examples[0].graph.incoming(), local.examples[0].graph.incoming());
    assert_eq!(train(&stored, 1).predictions, train(&local, 1).predictions);
}

#[test]
fn saved_models_read_their_training_data_in_the_same_order() {
    let local = load(SOURCE, NodeOrderChoice::Local);
    let training = train(&local, 1);
    let model = Classifier::from_bytes(&training.classifier.to_bytes()).unwrap();
    assert_eq!(model.card().origin.as_ref().unwrap().node_order, NodeOrderChoice::Local);
    let read = model.training_data().unwrap();
    assert_eq!(read.node_order(), "local");
    assert_eq!(model.predict(&read).unwrap(), training.predictions);
}

#[test]
fn arrays_are_ordered_on_request() {
    let links: Vec<(u32, u32)> = (0..300).map(|node| (node, (node * 7 + 1) % 300)).collect();
    let builder = || {
        let labels: Vec<Option<u32>> = (0..300).map(|node| Some(node % 2)).collect();
        Dataset::builder(300).edges(&links).dense_features(&[0.5; 300], 1).labels(&labels)
    };
    let given = builder().build().unwrap();
    let local = builder().node_order(NodeOrderChoice::Local).build().unwrap();
    assert_eq!((given.node_order(), local.node_order()), ("given", "local"));
    // Other splits share the order.
    let redrawn = local.redrawn(5).unwrap();
    let orders = [&local, &redrawn].map(|dataset| dataset.examples[0].order.as_ref().unwrap());
    assert!(Arc::ptr_eq(orders[0], orders[1]));
}
