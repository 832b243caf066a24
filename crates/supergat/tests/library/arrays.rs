//! Training and prediction on arrays.

use std::ops::ControlFlow;
use supergat::{Classifier, ClassifierBuilder, Dataset, Error};

/// Two cliques of `size` nodes, joined by one link; the feature tells them apart with noise.
fn cliques(size: u32) -> Dataset {
    let pairs = |first: u32| (0..size).flat_map(move |a| (0..a).map(move |b| (first + a, first + b)));
    let edges: Vec<(u32, u32)> = pairs(0).chain(pairs(size)).chain([(0, size)]).collect();
    let nodes = 2 * size;
    let features: Vec<f32> = (0..nodes).map(|n| if n < size { 1.0 } else { -1.0 } + (n * 7 % 5) as f32 / 3.0).collect();
    let labels: Vec<Option<u32>> = (0..nodes).map(|n| (n % 3 > 0).then_some(u32::from(n >= size))).collect();
    let dataset = Dataset::builder(nodes as usize).edges(&edges).dense_features(&features, 1).labels(&labels);
    dataset.class_names(["left", "right"]).build().unwrap()
}

#[test]
fn learns_from_some_labels() {
    let dataset = cliques(10);
    let model = Classifier::builder().model("supergat-mx").seeds(0..2).fit(&dataset).unwrap();
    let predictions = model.predict(&dataset).unwrap();
    let right = predictions.classes().iter().enumerate().filter(|(n, class)| **class == usize::from(*n >= 10)).count();
    assert!(right >= 18, "{right} of 20");
    assert_eq!(model.class_names(), ["left", "right"]);
}

#[test]
fn same_seed_gives_same_bits_at_any_number_of_threads() {
    let dataset = cliques(10);
    let bytes = |threads| Classifier::builder().seed(5).threads(threads).fit(&dataset).unwrap().to_bytes();
    assert!(bytes(1) == bytes(2) && bytes(1) == bytes(3));
}

#[test]
fn predicts_on_another_graph_without_labels() {
    let model = Classifier::builder().model("gat-go").fit(&cliques(10)).unwrap();
    let new = Dataset::builder(3)
        .edge_lists(&[0, 1], &[1, 2])
        .csr_features(1, &[0, 1, 2, 3], &[0, 0, 0], &[2.0, 1.5, -1.0])
        .class_names(model.class_names().to_vec())
        .build()
        .unwrap();
    assert_eq!(model.predict(&new).unwrap().nodes(), 3);
    let evaluation = model.evaluate(&new).unwrap();
    assert!(evaluation.train.is_none() && evaluation.test.is_none());
}

#[test]
fn errors_name_what_was_expected_and_found() {
    let dataset = cliques(10);
    let model = Classifier::builder().model("mlp").max_epochs(2).fit(&dataset).unwrap();
    let wide = Dataset::builder(2)
        .edges(&[(0, 1)])
        .dense_features(&[0.0; 6], 3)
        .class_names(["left", "right"])
        .build()
        .unwrap();
    let message = model.predict(&wide).unwrap_err().to_string();
    assert_eq!(message, "arrays: the model expects features per node = 1, but the data has 3");
    let message = model.attention(&dataset, 0).unwrap_err().to_string();
    assert!(message.starts_with("mlp has no attention"), "{message}");
    let other =
        Dataset::builder(2).edges(&[(0, 1)]).dense_features(&[0.0; 2], 1).class_names(["up", "down"]).build().unwrap();
    let message = model.evaluate(&other).unwrap_err().to_string();
    assert!(message.contains("the model knows the classes left, right, but the data has up, down"), "{message}");

    let builder = || Classifier::builder().model("gat-go");
    assert!(matches!(builder().seeds([]).fit(&dataset), Err(Error::NoSeeds)));
    let refused = |builder: ClassifierBuilder<'_>| builder.fit(&dataset).unwrap_err().to_string();
    assert!(refused(builder().set("lambda_q", 1.0)).contains("lambda_e"));
    assert_eq!(refused(builder().set("heads", 0)), "heads = 0: must be a whole number from 1 to 64");
    let settings = builder().choose(&dataset).unwrap().settings;
    let of_settings = || Classifier::builder().heads(2).settings(settings).hidden(3);
    let choice = of_settings().choose(&dataset).unwrap();
    assert_eq!(
        (choice.settings.network.heads, choice.settings.network.hidden),
        (2, 3),
        "setters before and after settings count"
    );
    assert!(matches!(of_settings().model("gcn").choose(&dataset), Err(Error::ModelAndSettings)));
    assert_eq!(builder().dropout(1.0).fit(&dataset).unwrap_err().to_string(), "dropout = 1: must lie in [0, 1)");
    let attention = Classifier::builder().model("gat-go").max_epochs(1).fit(&dataset).unwrap();
    assert!(matches!(attention.attention(&dataset, 1), Err(Error::OutOfRange { what: "graph", found: 1, count: 1 })));
}

#[test]
fn chooses_presets_and_models_by_name() {
    let dataset = cliques(10);
    let published = Classifier::builder().model("supergat-mx").preset("cora").lambda_e(2.0).choose(&dataset).unwrap();
    assert!(
        published.published
            && published.settings.training.max_epochs == 490
            && published.settings.edge_loss.lambda_e == 2.0
    );
    let auto = Classifier::builder().model("auto").p_e(0.5).top_k(3).choose(&dataset).unwrap();
    assert_eq!(auto.recommendation.unwrap().recommendation, auto.settings.model);
    assert!(auto.unused.contains(&"top_k"));
    let fixed = Classifier::builder().settings(auto.settings).choose(&dataset).unwrap();
    assert_eq!(fixed.settings, auto.settings);
}

/// Options are checked although the training would not use them.
#[test]
fn refuses_options_that_it_would_not_use() {
    let named = || Classifier::builder().model("gat-go");
    let error = |builder: ClassifierBuilder<'_>| builder.choose(&cliques(10)).unwrap_err().to_string();
    assert!(error(named().preset("kora")).starts_with("unknown preset `kora`: expected one of cora, "));
    assert_eq!(error(named().choose_seconds(-1.0)), "choose_seconds = -1: must be 0 or more, and below 10000000");
}

#[test]
fn an_observer_can_cancel() {
    let dataset = cliques(10);
    let training = Classifier::builder().model("gat-go").observe(|_| ControlFlow::Break(())).train(&dataset).unwrap();
    assert!(training.interrupted);
    assert_eq!(training.runs[0].outcome.epochs, 1);
}
