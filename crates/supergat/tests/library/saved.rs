//! Saved models: complete, and readable in later versions.

use supergat::{Classifier, SplitChoice};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");

/// Predictions of a saved model for the new tables, as a table of text.
fn predictions(model: &Classifier) -> Vec<String> {
    let dataset = model.read(&format!("{FOLDER}/tables/new")).unwrap();
    let predictions = model.predict(&dataset).unwrap();
    let line = |node: usize| {
        let row = predictions.probabilities_of(node);
        format!("{},,,{},{:?},{:?}", dataset.node_id(0, node), predictions.class_name(node), row[0], row[1])
    };
    (0..predictions.nodes()).map(line).collect()
}

/// Compares with predictions of the program that wrote the file, up to rounding of other processors.
fn compare(found: &[String], file: &str) {
    let expected = std::fs::read_to_string(format!("{FOLDER}/saved/{file}")).unwrap();
    let expected: Vec<&str> = expected.lines().skip(1).collect();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let (found, expected): (Vec<&str>, Vec<&str>) = (found.split(',').collect(), expected.split(',').collect());
        assert_eq!(found[..4], expected[..4]);
        for k in [4, 5] {
            let difference = found[k].parse::<f64>().unwrap() - expected[k].parse::<f64>().unwrap();
            assert!(difference.abs() < 1e-5, "{found:?} {expected:?}");
        }
    }
}

/// The files were written by earlier versions of supergat and must stay readable.
#[test]
fn opens_files_of_every_version() {
    for version in [1, 2] {
        let model = Classifier::load(format!("{FOLDER}/saved/version-{version}.safetensors")).unwrap();
        assert_eq!(model.class_names(), ["cat", "dog"]);
        let card = model.card();
        assert_eq!((card.dataset.as_str(), card.seed, card.best_epoch), ("train", Some(0), Some(59)));
        assert_eq!(
            card.columns.as_ref().unwrap().feature_names(),
            ["age", "colour=blue", "colour=green", "colour=red"]
        );
        assert_eq!(card.settings.is_some(), version > 1);
        assert_eq!(model.splits().len(), usize::from(version > 1));
        assert_eq!(model.table_options().standardise, Some(true));
        compare(&predictions(&model), "version-1-predictions.csv");
    }
}

#[test]
fn refuses_files_of_unknown_versions_in_a_sentence() {
    let mut bytes = std::fs::read(format!("{FOLDER}/saved/version-1.safetensors")).unwrap();
    let key = b"\"format_version\":\"1\"";
    let at = bytes.windows(key.len()).position(|window| window == key).unwrap();
    bytes[at + 18] = b'7';
    let message = Classifier::from_bytes(&bytes).unwrap_err().to_string();
    assert!(message.contains("expected format version 1 or 2, found 7"), "{message}");
}

#[test]
fn a_saved_model_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let source = format!("{FOLDER}/tables/train");
    let dataset = supergat::load(&source).unwrap();
    for name in ["gat-go", "supergat-v2"] {
        let training = Classifier::builder().model(name).max_epochs(3).seeds(4..6).train(&dataset).unwrap();
        training.classifier.save(&path).unwrap();
        let model = Classifier::load(&path).unwrap();
        assert_eq!(model.card(), training.classifier.card());
        assert_eq!(model.splits(), training.classifier.splits());
        let example = &dataset.examples[0];
        assert_eq!(model.splits()[0], [example.train.clone(), example.validation.clone(), example.test.clone()]);
        assert_eq!(model.card().settings.unwrap().max_epochs, 3);
        assert_eq!(model.card().origin.as_ref().unwrap().split, SplitChoice::Published);
        assert_eq!(model.to_bytes(), training.classifier.to_bytes());
        let again = model.training_data().unwrap();
        assert_eq!(model.predict(&again).unwrap(), training.predictions);
        assert_eq!(model.evaluate(&again).unwrap().test.unwrap().score, training.runs[training.best].outcome.test);
    }
}

#[test]
fn a_missing_or_foreign_file_is_named() {
    let missing = Classifier::load("no/such/run").unwrap_err().to_string();
    assert!(missing.starts_with("no/such/run: not found: give the folder of a finished run"), "{missing}");
    let folder = tempfile::tempdir().unwrap();
    let empty = Classifier::load(folder.path()).unwrap_err().to_string();
    assert!(empty.contains("has no model.safetensors"), "{empty}");
    let path = folder.path().join("text.safetensors");
    std::fs::write(&path, "hello").unwrap();
    let foreign = Classifier::load(&path).unwrap_err().to_string();
    assert!(foreign.contains("text.safetensors: the saved model cannot be used: no safetensors file"), "{foreign}");
}
