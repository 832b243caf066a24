//! Files of models.

use safetensors::tensor::TensorView;
use std::collections::HashMap;
use supergat_core::checkpoint::Weights;
use supergat_core::hyperparameters::NetworkSettings;
use supergat_core::layers::Parameter;
use supergat_core::sealed::{CHECKSUM, sealed, split};
use supergat_core::{Architecture, Error, Form, ModelKind};
use supergat_cpu::{Checkpoint, Cpu, Model};

fn model() -> Model<f32> {
    let architecture = Architecture {
        model: ModelKind::Attention { form: Form::Mx, self_supervised: true },
        input_features: 5,
        classes: 3,
        multi_label: false,
        edge_features: 0,
        network: NetworkSettings {
            layers: 3,
            hidden: 3,
            heads: 3,
            output_heads: 2,
            dropout: 0.5,
            negative_slope: 0.2,
            edge_messages: false,
            label_input: 0.0,
            label_reuse: 0,
            ..NetworkSettings::default()
        },
    };
    Model::new(architecture, 4).unwrap()
}

fn checkpoint(metadata: HashMap<String, String>) -> Checkpoint {
    Checkpoint::of(model(), metadata, HashMap::from([("split.train".to_owned(), vec![3, 1])]))
}

#[test]
fn reads_written_file() {
    let metadata = HashMap::from([("classes".to_owned(), "a,b,c".to_owned())]);
    let read = Checkpoint::from_bytes(&checkpoint(metadata).to_bytes()).unwrap();
    assert_eq!(read.metadata["classes"], "a,b,c");
    assert_eq!(read.lists["split.train"], [3, 1]);
    assert_eq!(&read.architecture, model().architecture());
    for (a, b) in read.network.unwrap().parameters().zip(model().parameters()) {
        let device = Cpu::default();
        assert_eq!((&a.name, a.shape, a.to_rows(&device)), (&b.name, b.shape, b.to_rows(&device)));
    }
}

#[test]
fn reads_models_that_are_not_networks() {
    let architecture = Architecture { model: ModelKind::LabelPropagation, ..*model().architecture() };
    let lists = HashMap::from([("known".to_owned(), vec![7])]);
    let weights = vec![Weights { name: "graph.p".into(), shape: [1, 2], elements: vec![0.5, -1.0] }];
    let written = Checkpoint { architecture, network: None, weights, metadata: HashMap::new(), lists };
    let read = Checkpoint::from_bytes(&written.to_bytes()).unwrap();
    assert!(read.architecture == architecture && read.network.is_none() && read.lists == written.lists);
    assert_eq!(read.weights, written.weights);
}

#[test]
fn equal_models_give_equal_files() {
    let metadata: HashMap<String, String> = (0..9).map(|k| (format!("key{k}"), k.to_string())).collect();
    let first = checkpoint(metadata.clone()).to_bytes();
    // Every hash map has its own order, so a few repetitions reveal an unsorted header.
    assert!((0..4).all(|_| checkpoint(metadata.clone().into_iter().collect()).to_bytes() == first));
}

/// Returns the file of a model with another header, without a checksum, as earlier versions wrote it.
fn forged(change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
    let bytes = checkpoint(HashMap::new()).to_bytes();
    let (mut header, data) = split(&bytes).unwrap();
    header["__metadata__"].as_object_mut().unwrap().remove(CHECKSUM);
    change(&mut header);
    let header = header.to_string().into_bytes();
    [&(header.len() as u64).to_le_bytes()[..], &header, data].concat()
}

fn reason(bytes: &[u8]) -> String {
    Checkpoint::from_bytes(bytes).unwrap_err().to_string()
}

#[test]
fn files_without_checksum_are_read() {
    assert!(Checkpoint::from_bytes(&forged(|_| {})).is_ok());
}

#[test]
fn rejects_every_changed_byte() {
    let bytes = checkpoint(HashMap::from([("classes".to_owned(), "a,b,c".to_owned())])).to_bytes();
    let key = bytes.windows(8).position(|window| window == CHECKSUM.as_bytes()).unwrap();
    for k in (0..bytes.len()).filter(|k| !(key..key + CHECKSUM.len()).contains(k)) {
        for change in [1, 0x20, 0x80] {
            let mut other = bytes.clone();
            other[k] ^= change;
            assert!(Checkpoint::from_bytes(&other).is_err(), "byte {k} changed by {change}");
        }
    }
    let mut other = bytes.clone();
    *other.last_mut().unwrap() ^= 1;
    assert!(reason(&other).contains("it is damaged: its checksum is wrong"), "{}", reason(&other));
}

/// Sizes are compared with the weights of the file before memory is allocated.
#[test]
fn rejects_sizes_that_the_weights_do_not_have() {
    let large = |key: &str, value: u64| {
        reason(&forged(|header| {
            let text = header["__metadata__"]["architecture"].as_str().unwrap();
            let mut architecture: serde_json::Value = serde_json::from_str(text).unwrap();
            architecture[key] = value.into();
            header["__metadata__"]["architecture"] = architecture.to_string().into();
        }))
    };
    for (key, value) in [("layers", 1000), ("hidden", 9000), ("heads", 64), ("output_heads", 64)] {
        let found = large(key, value);
        assert!(found.contains("its architecture needs at least"), "{key}: {found}");
    }
    for value in [1 << 20, 1 << 32, u64::MAX / 3, u64::MAX] {
        let found = large("edge_features", value);
        assert!(found.contains("its architecture needs at least"), "{value}: {found}");
        for key in ["layers", "hidden", "heads", "input_features", "classes"] {
            assert!(!large(key, value).is_empty(), "{key}: {value}");
        }
    }
}

#[test]
fn several_models_are_read_in_their_order() {
    let member = |seed: u32| {
        let (metadata, lists) = (("seed".to_owned(), seed.to_string()), ("split.train".to_owned(), vec![seed]));
        let network = Model::new(*model().architecture(), seed.into()).unwrap();
        Checkpoint::of(network, HashMap::from([metadata]), HashMap::from([lists]))
    };
    // Twelve, so that the order of names is not that of numbers.
    let members: Vec<Checkpoint> = (0..12).map(member).collect();
    let bytes = Checkpoint::join(&members);
    let read = Checkpoint::members(&bytes).unwrap();
    assert_eq!(read.len(), 12);
    for (seed, read) in (0..12u32).zip(&read) {
        assert_eq!((read.metadata["seed"].as_str(), &read.lists["split.train"]), (&*seed.to_string(), &vec![seed]));
        let rows = |member: &Checkpoint| -> Vec<_> {
            let network = member.network.as_ref().unwrap();
            network.parameters().map(|p| p.to_rows(network.device()).unwrap()).collect()
        };
        assert_eq!(rows(read), rows(&member(seed)));
    }
    assert!(reason(&bytes).ends_with("it has several models"));
    assert!(Checkpoint::join(&members[..1]) == member(0).to_bytes(), "a file of one has no prefixes");
}

#[test]
fn rejects_missing_models() {
    let bytes = Checkpoint::join(&[checkpoint(HashMap::new()), checkpoint(HashMap::new())]);
    for count in ["0", "1", "3", "99999999999", "-1", "x"] {
        let (mut header, data) = split(&bytes).unwrap();
        header["__metadata__"]["members"] = count.into();
        assert!(Checkpoint::members(&sealed(header, data.len(), |file| file.extend(data))).is_err(), "{count}");
    }
}

#[test]
fn rejects_weights_that_are_not_finite() {
    for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut checkpoint = checkpoint(HashMap::new());
        let network = checkpoint.network.as_mut().unwrap();
        let device = *network.device();
        let change = |parameter: &mut Parameter<Cpu<f32>>| {
            let mut rows = parameter.to_rows(&device)?;
            if parameter.name == "layer2.w" {
                rows[1] = number;
            }
            parameter.set_rows(&device, &rows)
        };
        network.for_each_parameter(change).unwrap();
        let expected = "the saved model cannot be used: `layer2.w` has numbers that are not finite";
        assert_eq!(reason(&checkpoint.to_bytes()), expected);
    }
}

#[test]
fn rejects_damaged_and_foreign_files() {
    let bytes = checkpoint(HashMap::new()).to_bytes();
    let rejected = |bytes: &[u8]| matches!(Checkpoint::from_bytes(bytes), Err(Error::Checkpoint { .. }));
    for cut in [0, 7, 8, 50, bytes.len() - 1] {
        assert!(rejected(&bytes[..cut]), "cut at {cut}");
    }
    let changed = |key: &str, by: u8| {
        let at = bytes.windows(key.len()).position(|window| window == key.as_bytes()).expect("it is in the header");
        let mut other = bytes.clone();
        other[at + key.len()] = by;
        other
    };
    assert!(rejected(&changed("\\\"classes\\\":", b'4')));
    let foreign = safetensors::serialize(Vec::<(&str, TensorView<'_>)>::new(), None).unwrap();
    assert!(rejected(&foreign));
    let other = changed("\"format_version\":\"", b'9');
    let message = Checkpoint::from_bytes(&other).unwrap_err().to_string();
    assert!(message.contains("expected format version 3 or older, found 9"), "{message}");
}
