//! Files of trainings that can be resumed.

use std::collections::HashMap;
use supergat_core::hyperparameters::EarlyStoppingSettings;
use supergat_core::sealed::{sealed, split};
use supergat_core::{
    Architecture, Direction, Epoch, Error, Example, Features, Graph, Labels, Prepared, Result, TrainConfig, TrainState,
    Trainer,
};
use supergat_cpu::Cpu;

fn prepared(config: TrainConfig) -> Prepared<Cpu<f32>> {
    let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected).unwrap();
    let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0]).unwrap();
    let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
    let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]]).unwrap();
    let architecture = Architecture::new("supergat-mx".parse().unwrap(), &example);
    Prepared::on(
        &Cpu::default(),
        &[example],
        architecture.with(|a| (a.network.hidden, a.network.heads) = (1, 1)),
        config,
    )
    .unwrap()
}

fn config() -> TrainConfig {
    TrainConfig::default().with(|c| c.training.max_epochs = 9)
}

/// State after three epochs.
fn state() -> TrainState<f32> {
    let prepared = prepared(config());
    let mut trainer = Trainer::new(&prepared, 7).unwrap();
    let history: Vec<Epoch> = (0..3).map(|_| trainer.next_epoch().unwrap().unwrap()).collect();
    let metadata = HashMap::from([("dataset".to_owned(), "abc".to_owned()), ("a".to_owned(), "b".to_owned())]);
    TrainState { metadata, ..trainer.state(&history).unwrap() }
}

fn reason(result: Result<impl Sized>) -> String {
    match result.map(drop).unwrap_err() {
        Error::Resume { reason } => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn reads_written_file() {
    let state = state();
    let bytes = state.to_bytes();
    let read = TrainState::from_bytes(&bytes).unwrap();
    assert_eq!((read.seed, read.steps, read.history.len()), (7, 3, 3));
    assert_eq!(read, state);
    assert!(read.to_bytes() == bytes && state.clone().to_bytes() == bytes);
}

#[test]
fn rejects_every_cut_and_every_changed_byte() {
    let bytes = state().to_bytes();
    for k in 0..bytes.len() {
        assert!(TrainState::from_bytes(&bytes[..k]).is_err(), "cut at {k}");
        for change in [1, 0x20, 0x80] {
            let mut other = bytes.clone();
            other[k] ^= change;
            assert!(TrainState::from_bytes(&other).is_err(), "byte {k} changed by {change}");
        }
    }
    assert!(TrainState::from_bytes(&[&bytes[..], b"x"].concat()).is_err());
}

/// Returns a file with another header, whose checksum is right.
fn forged(change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
    let bytes = state().to_bytes();
    let (mut header, data) = split(&bytes).unwrap();
    change(&mut header);
    sealed(header, data.len(), |file| file.extend(data))
}

#[test]
fn rejects_files_of_other_formats_and_versions() {
    let read = |key: &str, value: &str| {
        reason(TrainState::from_bytes(&forged(|header| header["__metadata__"][key] = value.into())))
    };
    assert_eq!(read("format", "supergat"), "it is no checkpoint of a training");
    assert!(read("format_version", "9").starts_with("expected format version 1, found 9: "));
    assert!(read("architecture", "{}").starts_with("its architecture is unreadable: "));
    assert!(read("seed", "-1").starts_with("its seed is unreadable: "));
    assert!(reason(TrainState::from_bytes(b"")).starts_with("it is incomplete or no checkpoint"));
    let without_history = forged(|header| header["history"]["shape"] = serde_json::json!([7, 3]));
    assert_eq!(reason(TrainState::from_bytes(&without_history)), "`history`: found F64 [7, 3]");
}

#[test]
fn rejects_states_of_other_trainings() {
    let state = state();
    let resume = |state: &TrainState<f32>, config| reason(Trainer::resume(&prepared(config), state));
    let other = config().with(|c| c.training.lr = 0.5);
    assert_eq!(resume(&state, other), "it has lr = 0.01, but this training has 0.5");
    let stop = EarlyStoppingSettings {
        early_stop: true,
        early_stop_after: 3,
        early_stop_window: 2,
        early_stop_loss_change: 0.0,
        early_stop_metric_change: 0.0,
        ..EarlyStoppingSettings::default()
    };
    let other = config().with(|c| c.early_stopping = stop);
    assert!(resume(&state, other).starts_with("it has early_stop = null, but this training has {"));
    let mut other = state.clone();
    other.architecture.network.hidden = 2;
    assert_eq!(resume(&other, config()), "it has hidden = 2, but this training has 1");
    other = state.clone();
    other.steps = 4;
    let expected = "expected 3 steps in 3 epochs of 1 training graphs, found 4";
    assert_eq!(resume(&other, config()), expected);
    other = state.clone();
    other.history.extend([state.history[0]; 7]);
    other.steps = 10;
    assert_eq!(resume(&other, config()), "it has epochs after the end of the training");
    other = state.clone();
    other.parameters[0].shape = [9, 9];
    assert!(resume(&other, config()).contains("of this shape"));
    other = state.clone();
    other.parameters.pop();
    assert!(resume(&other, config()).starts_with("it has no `"));
}

#[test]
fn rejects_numbers_that_are_not_finite() {
    let mut other = state();
    other.history[1].validation.loss = f64::NAN;
    let read = |state: &TrainState<f32>| reason(TrainState::from_bytes(&state.to_bytes()));
    assert_eq!(read(&other), "its history has numbers that are not finite");
    for part in 0..4 {
        let mut other = state();
        other.parameters[1].parts[part][0] = f32::NAN;
        let name = &other.parameters[1].name;
        assert_eq!(read(&other), format!("`{name}` has numbers that are not finite"));
    }
}
