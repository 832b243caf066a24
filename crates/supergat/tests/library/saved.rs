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
    assert!(message.contains("expected format version 3 or older, found 7"), "{message}");
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
        assert_eq!(model.card().settings.unwrap().training.max_epochs, 3);
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

/// Changes the header of a model file, which then has no checksum, as earlier versions wrote it.
fn forged(bytes: &[u8], change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
    let (length, rest) = bytes.split_first_chunk().unwrap();
    let (header, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let mut header: serde_json::Value = serde_json::from_slice(header).unwrap();
    header["__metadata__"].as_object_mut().unwrap().remove("checksum");
    change(&mut header);
    let header = header.to_string().into_bytes();
    [&(header.len() as u64).to_le_bytes()[..], &header, data].concat()
}

/// Changes a field of an entry of the metadata, which is JSON.
fn set(header: &mut serde_json::Value, entry: &str, field: &str, value: serde_json::Value) {
    let text = header["__metadata__"][entry].as_str().unwrap();
    let mut object: serde_json::Value = serde_json::from_str(text).unwrap();
    object[field] = value;
    header["__metadata__"][entry] = object.to_string().into();
}

/// Changes a number of a list, by its place.
fn set_in_list(bytes: &[u8], list: &str, place: usize, value: u32) -> Vec<u8> {
    let mut at = 0;
    let mut other = forged(bytes, |header| at = header[list]["data_offsets"][0].as_u64().unwrap() as usize);
    let start = 8 + u64::from_le_bytes(*other.first_chunk().unwrap()) as usize + at + 4 * place;
    other[start..start + 4].copy_from_slice(&value.to_le_bytes());
    other
}

fn small() -> supergat::Dataset {
    supergat::load("random-partition:classes=2,nodes=170,degree=4,homophily=0.9").unwrap()
}

#[test]
fn damaged_files_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.safetensors");
    let mut bytes = Classifier::builder().model("mlp").max_epochs(1).fit(&small()).unwrap().to_bytes();
    *bytes.last_mut().unwrap() ^= 4;
    std::fs::write(&path, &bytes).unwrap();
    let message = Classifier::load(&path).unwrap_err().to_string();
    assert!(message.contains("m.safetensors: the saved model cannot be used: it is damaged"), "{message}");
}

#[test]
fn files_of_unknown_models_are_refused() {
    let bytes = Classifier::builder().model("gcn").max_epochs(1).fit(&small()).unwrap().to_bytes();
    let change = |header: &mut serde_json::Value| set(header, "architecture", "model", "gat-go-gam".into());
    let message = Classifier::from_bytes(&forged(&bytes, change)).unwrap_err().to_string();
    assert!(message.contains("unknown model `gat-go-gam`: expected one of gat-go"), "{message}");
}

/// Sizes in the files of systems are compared with their weights before memory is allocated for them.
#[test]
fn sizes_of_systems_are_those_of_their_weights() {
    let dataset = small();
    for (model, field) in [("glcn", "graph_hidden"), ("neuralsparse", "sampler_hidden")] {
        let bytes = Classifier::builder().model(model).hidden(4).max_epochs(1).fit(&dataset).unwrap().to_bytes();
        assert!(Classifier::from_bytes(&forged(&bytes, |_| {})).is_ok());
        let option = |header: &mut serde_json::Value| {
            let text = header["__metadata__"]["system"].as_str().unwrap();
            let mut options: serde_json::Value = serde_json::from_str(text).unwrap();
            options.as_object_mut().unwrap().values_mut().for_each(|options| options[field] = 65_536.into());
            header["__metadata__"]["system"] = options.to_string().into();
        };
        let message = Classifier::from_bytes(&forged(&bytes, option)).unwrap_err().to_string();
        assert!(message.contains("its architecture needs at least"), "{message}");
        for (field, value) in [("hidden", 65_536), ("layers", 1000), ("input_features", 1 << 24), ("classes", 1 << 20)]
        {
            let change = |header: &mut serde_json::Value| set(header, "architecture", field, value.into());
            assert!(Classifier::from_bytes(&forged(&bytes, change)).is_err(), "{model}: {field}");
        }
    }
}

#[test]
fn numbers_of_nodes_in_a_file_are_checked() {
    let dataset = small();
    let builder = |model: &str| Classifier::builder().model(model).max_epochs(2);
    let corrected = || builder("mlp").set("correct_and_smooth", true);
    let both = || corrected().set("correct_and_smooth_validation", true);
    let propagation = builder("label-propagation").fit(&dataset).unwrap().to_bytes();
    let correct = corrected().fit(&dataset).unwrap().to_bytes();
    let smooth = both().fit(&dataset).unwrap().to_bytes();
    for (bytes, list) in [
        (&propagation, "known.0.nodes"),
        (&correct, "corrected.0.nodes"),
        (&smooth, "corrected.0.nodes"),
        (&smooth, "smoothed.0.nodes"),
        (&smooth, "split.0.validation"),
    ] {
        let model = Classifier::from_bytes(&set_in_list(bytes, list, 1, 340)).unwrap();
        let message = model.predict(&dataset).unwrap_err().to_string();
        assert!(message.ends_with("its known labels are damaged"), "{list}: {message}");
    }
    for (bytes, list) in [(&propagation, "known.0.classes"), (&smooth, "smoothed.0.classes")] {
        assert!(Classifier::from_bytes(&set_in_list(bytes, list, 1, 2)).is_err(), "{list}");
    }
    for (bytes, entry, field, value) in [
        (&propagation, "label_propagation", "alpha", serde_json::json!(1e300)),
        (&propagation, "label_propagation", "iterations", u64::MAX.into()),
        (&correct, "correct_and_smooth", "smooth_alpha", (-1.0).into()),
        (&correct, "correct_and_smooth", "correct_iterations", 1_000_001.into()),
        (&propagation, "architecture", "classes", 0.into()),
        (&propagation, "architecture", "classes", 1_000_000.into()),
        (&correct, "decision", "temperature", 1e-300.into()),
    ] {
        let change = |header: &mut serde_json::Value| set(header, entry, field, value.clone());
        assert!(Classifier::from_bytes(&forged(bytes, change)).is_err(), "{entry}: {field} = {value}");
    }
}

/// A finite weight can still give logits that are not.
#[test]
fn outputs_that_are_not_finite_are_errors() {
    let dataset = small();
    let bytes = Classifier::builder().model("mlp").layers(1).max_epochs(1).fit(&dataset).unwrap().to_bytes();
    let mut large = bytes;
    for place in 0..4 {
        large = set_in_list(&large, "layer1.w", place, f32::MAX.to_bits());
    }
    let message = Classifier::from_bytes(&large).unwrap().predict(&dataset).unwrap_err().to_string();
    assert!(message.contains("output of the model for the node at position"), "{message}");
}

/// The model of an ensemble has all networks, with the temperature and the method of each.
#[test]
fn an_ensemble_predicts_the_mean_of_all_networks() {
    let dataset = small();
    let builder = |model: &str| Classifier::builder().model(model).max_epochs(8).seeds(3..6).ensemble(true);
    for builder in [
        builder("gat-go").threshold("f1".parse().unwrap()),
        builder("mlp").set("correct_and_smooth", true),
        builder("gcn").set("label_input", 0.5),
        builder("label-propagation"),
        builder("glcn").seeds([7]),
    ] {
        let training = builder.train(&dataset).unwrap();
        let (mean, metrics) = training.ensemble.as_ref().unwrap();
        let model = &training.classifier;
        assert_eq!(model.member_count(), training.runs.len());
        assert_eq!(&model.predict(&dataset).unwrap(), mean);
        assert_eq!(model.card().decision, metrics.decision);
        let read = Classifier::from_bytes(&model.to_bytes()).unwrap();
        assert_eq!((read.card(), read.member_count()), (model.card(), model.member_count()));
        assert_eq!(&read.predict(&dataset).unwrap(), mean);
        assert_eq!(read.evaluate(&dataset).unwrap().test.unwrap().metrics, metrics.test.clone().unwrap());
        assert_eq!(read.to_bytes(), model.to_bytes());
    }
}

#[test]
fn attention_of_an_ensemble_is_the_mean() {
    let dataset = small();
    let builder = || Classifier::builder().model("supergat-mx").max_epochs(3);
    let both = builder().seeds(0..2).ensemble(true).fit(&dataset).unwrap();
    let alone = [0, 1].map(|seed| builder().seed(seed).fit(&dataset).unwrap());
    let of = |model: &Classifier| model.attention(&dataset, 0).unwrap().of(5);
    let (mean, first, second) = (of(&both), of(&alone[0]), of(&alone[1]));
    for ((mean, a), b) in mean.iter().zip(&first).zip(&second) {
        assert!((mean.coefficient - (a.coefficient + b.coefficient) / 2.0).abs() < 1e-6);
        assert_eq!((mean.source, mean.layer, mean.head), (a.source, a.layer, a.head));
    }
}
