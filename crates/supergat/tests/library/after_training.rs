//! Label propagation, Correct and Smooth, and labels as input, through the public interface.

use supergat::{Classifier, ClassifierBuilder, Dataset};
use supergat_core::Labels;

fn dataset() -> Dataset {
    supergat::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap()
}

fn builders() -> [(&'static str, ClassifierBuilder<'static>); 5] {
    let mlp = || Classifier::builder().model("mlp").max_epochs(10);
    [
        ("label propagation", Classifier::builder().model("label-propagation")),
        ("Correct and Smooth", mlp().set("correct_and_smooth", true)),
        ("with validation labels", mlp().set("correct_and_smooth_validation", true)),
        ("labels as input", Classifier::builder().model("gcn").max_epochs(10).set("label_input", 0.5)),
        ("label reuse", mlp().set("label_input", 0.5).set("label_reuse", 2)),
    ]
}

/// Returns the dataset with other labels of its test nodes.
fn with_other_test_labels(dataset: &Dataset) -> Dataset {
    let mut changed = dataset.clone();
    let example = &mut changed.examples[0];
    let Labels::Single { of, .. } = &mut example.labels else { panic!("one class per node") };
    example.test.iter().for_each(|&node| of[node as usize] = (of[node as usize] + 1) % 3);
    changed
}

#[test]
fn saved_models_predict_with_the_same_bits() {
    let dataset = dataset();
    for (what, builder) in builders() {
        let training = builder.seeds(0..2).train(&dataset).unwrap();
        let read = Classifier::from_bytes(&training.classifier.to_bytes()).unwrap();
        let predictions = read.predict(&dataset).unwrap();
        assert_eq!(predictions, training.predictions, "{what}");
        assert_eq!(read.to_bytes(), training.classifier.to_bytes(), "{what}");
        assert_eq!(read.correction(), training.classifier.correction(), "{what}");
        let evaluated = read.evaluate(&dataset).unwrap();
        assert_eq!(evaluated.test.unwrap().score, training.runs[training.best].outcome.test, "{what}");
        // Labels that prediction uses are those of the file, not of the dataset.
        let Labels::Single { classes, of } = dataset.examples[0].labels.clone() else { panic!("one class per node") };
        let mut unknown = dataset.clone();
        unknown.examples[0].labels = Labels::Single { classes, of: vec![Labels::UNKNOWN; of.len()] };
        let example = &mut unknown.examples[0];
        [&mut example.train, &mut example.validation, &mut example.test].into_iter().for_each(Vec::clear);
        assert_eq!(read.predict(&unknown).unwrap(), predictions, "{what}");
    }
}

#[test]
fn labels_of_test_nodes_change_no_prediction() {
    let (dataset, changed) = (dataset(), with_other_test_labels(&dataset()));
    for ((what, builder), (_, again)) in builders().into_iter().zip(builders()) {
        let (before, after) = (builder.train(&dataset).unwrap(), again.train(&changed).unwrap());
        assert_eq!(before.predictions, after.predictions, "{what}");
        assert_ne!(before.test().mean, after.test().mean, "{what}: the labels did change");
    }
}

/// Two graphs of the same links, whose nodes may have several classes: one has training nodes, the other none.
fn several_graphs() -> Dataset {
    let mut dataset = dataset();
    let example = &mut dataset.examples[0];
    let Labels::Single { classes, of } = &example.labels else { panic!("one class per node") };
    let has = |k: usize| u8::from(of[k / classes] as usize == k % classes || k.is_multiple_of(5));
    example.labels = Labels::Multi { classes: *classes, of: (0..of.len() * classes).map(has).collect() };
    let mut second = example.clone();
    (second.train, second.validation, second.test) = (Vec::new(), example.validation.clone(), example.test.clone());
    example.validation.clear();
    dataset.examples.push(second);
    dataset
}

#[test]
fn labels_as_input_are_those_of_each_graph() {
    let dataset = several_graphs();
    let builder = Classifier::builder().model("supergat-mx").max_epochs(5);
    let training = builder.set("label_input", 0.5).train(&dataset).unwrap();
    let read = Classifier::from_bytes(&training.classifier.to_bytes()).unwrap();
    assert_eq!(read.predict(&dataset).unwrap(), training.predictions);
    let logits = training.predictions.logits();
    assert_ne!(logits[0], logits[1], "only the first graph shows labels");
    let [first, second] = [0, 1].map(|graph| read.attention(&dataset, graph).unwrap());
    let coefficients =
        |attention: &supergat::Attention<'_>| attention.of(0).iter().map(|e| e.coefficient).collect::<Vec<_>>();
    assert_ne!(coefficients(&first), coefficients(&second));
    let mut one = dataset.clone();
    one.examples.truncate(1);
    let refused = read.predict(&one).unwrap_err().to_string();
    let expected = "label_input uses the labels of its training nodes, and this is another graph: train a model on it";
    assert!(refused.contains(expected), "{refused}");
}

#[test]
fn files_without_the_labels_of_their_input_are_refused() {
    let builder = Classifier::builder().model("mlp").max_epochs(1).set("label_input", 0.5);
    let model = builder.fit(&dataset()).unwrap();
    let mut checkpoint = supergat_cpu::Checkpoint::from_bytes(&model.to_bytes()).unwrap();
    checkpoint.lists.retain(|name, _| !name.starts_with("input."));
    let refused = Classifier::from_bytes(&checkpoint.to_bytes()).unwrap_err().to_string();
    assert!(refused.contains("it has no labels for its input"), "{refused}");
}

#[test]
fn ensembles_and_thresholds_work_on_corrected_predictions() {
    let dataset = supergat::load("random-partition:classes=2,nodes=250,degree=6,homophily=0.8").unwrap();
    let builder = Classifier::builder().model("mlp").max_epochs(5).set("correct_and_smooth", true);
    let training = builder.threshold("f1".parse().unwrap()).seeds(0..2).ensemble(true).train(&dataset).unwrap();
    assert!(training.classifier.card().decision.threshold.is_some() && training.ensemble.is_some());
    assert!(training.runs.iter().all(|run| run.correction.is_some()));
}
