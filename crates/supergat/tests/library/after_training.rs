//! Label propagation, and Correct and Smooth, through the public interface.

use supergat::engine::Labels;
use supergat::{Classifier, ClassifierBuilder, Dataset};

fn dataset() -> Dataset {
    supergat::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap()
}

fn builders() -> [(&'static str, ClassifierBuilder<'static>); 3] {
    let mlp = || Classifier::builder().model("mlp").max_epochs(10);
    [
        ("label propagation", Classifier::builder().model("label-propagation")),
        ("Correct and Smooth", mlp().set("correct_and_smooth", true).unwrap()),
        ("with validation labels", mlp().set("correct_and_smooth_validation", true).unwrap()),
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

#[test]
fn ensembles_and_thresholds_work_on_corrected_predictions() {
    let dataset = supergat::load("random-partition:classes=2,nodes=250,degree=6,homophily=0.8").unwrap();
    let builder = Classifier::builder().model("mlp").max_epochs(5).set("correct_and_smooth", true).unwrap();
    let training = builder.threshold("f1".parse().unwrap()).seeds(0..2).ensemble(true).train(&dataset).unwrap();
    assert!(training.classifier.card().decision.threshold.is_some() && training.ensemble.is_some());
    assert!(training.runs.iter().all(|run| run.correction.is_some()));
}
