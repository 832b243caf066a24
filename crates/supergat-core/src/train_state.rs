//! State of a training after an epoch, in memory and as a safetensors file.
//!
//! The best epoch and the state of early stopping follow from the scores of all epochs, so the file contains the
//! scores only, and a resumed training counts them again.

use crate::architecture::Architecture;
use crate::config::{Select, TrainConfig};
use crate::error::{Error, Result};
use crate::model::StepLoss;
use crate::sealed::{CHECKSUM, DAMAGED, is_sealed, sealed};
use crate::train::{Epoch, Score};
use safetensors::tensor::{Dtype, SafeTensors};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;

const FORMAT: &str = "supergat-training";
const VERSION: &str = "1";
/// Name of the tensor with the losses and scores of all epochs. Names of parameters contain a dot.
const HISTORY: &str = "history";
/// Number of losses and scores of an epoch.
const COLUMNS: usize = 7;
/// Number of matrices per parameter: elements, two moments, elements of the best epoch.
const PARTS: usize = 4;
/// Keys of the metadata that are not the caller's.
const KEYS: [&str; 7] = ["format", "format_version", "architecture", "config", "seed", "steps", CHECKSUM];

/// State of a training after an epoch: everything that the following epochs depend on, and the history.
///
/// ```
/// use std::ops::ControlFlow;
/// use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
/// use supergat_core::{Prepared, TrainConfig, TrainState, Trainer};
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]])?;
/// let architecture = Architecture::new("supergat-mx".parse().unwrap(), &example);
/// let config = TrainConfig { max_epochs: 20, ..TrainConfig::default() };
/// let prepared = Prepared::new(&[example], architecture, config)?;
/// let whole = Trainer::new(&prepared, 0)?.run(|_| ControlFlow::Continue(()))?;
///
/// let mut trainer = Trainer::new(&prepared, 0)?;
/// let mut history = Vec::new();
/// for _ in 0..8 {
///     history.extend(trainer.next_epoch()?);
/// }
/// let bytes = trainer.state(&history)?.to_bytes();
/// drop(trainer);
///
/// let state = TrainState::from_bytes(&bytes)?;
/// assert_eq!(state.history, history);
/// let resumed = Trainer::resume(&prepared, &state)?.run(|_| ControlFlow::Continue(()))?;
/// assert_eq!((resumed.outcome, resumed.logits), (whole.outcome, whole.logits));
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TrainState<T> {
    /// Architecture of the network.
    pub architecture: Architecture,
    /// Training configuration.
    pub config: TrainConfig,
    /// Seed of the run.
    pub seed: u64,
    /// Number of training steps so far.
    pub steps: u32,
    /// Losses and scores of all epochs so far.
    pub history: Vec<Epoch>,
    /// Elements of all parameters, with the optimiser's moments and the elements of the best epoch.
    pub(crate) parameters: Vec<ParameterState<T>>,
    /// Further metadata of the caller, such as a hash of the dataset.
    pub metadata: HashMap<String, String>,
}

/// Elements, first moments, second moments and elements of the best epoch of a parameter, in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParameterState<T> {
    pub(crate) name: String,
    pub(crate) shape: [usize; 2],
    pub(crate) parts: [Vec<T>; PARTS],
}

/// Returns the error for a state that cannot be used.
pub(crate) fn refused(reason: String) -> Error {
    Error::Resume { reason }
}

impl<T> TrainState<T> {
    /// Checks that the state belongs to this architecture and configuration. The error names the first difference.
    pub fn check(&self, architecture: &Architecture, config: &TrainConfig) -> Result<()> {
        same(&self.architecture, architecture)?;
        same(&self.config, config)
    }
}

/// Checks that two objects are equal. The error names the first field that differs.
fn same<S: Serialize + PartialEq>(saved: &S, wanted: &S) -> Result<()> {
    if saved == wanted {
        return Ok(());
    }
    let fields = |object: &S| serde_json::to_value(object).expect("plain numbers and names");
    let (saved, wanted) = (fields(saved), fields(wanted));
    let names = [&saved, &wanted].into_iter().filter_map(|fields| fields.as_object()).flat_map(|fields| fields.keys());
    let name = names.into_iter().find(|name| saved.get(name.as_str()) != wanted.get(name.as_str()));
    let name = name.map_or("settings", String::as_str);
    let shown = |fields: &serde_json::Value| fields.get(name).map_or("none".into(), ToString::to_string);
    Err(refused(format!("it has {name} = {}, but this training has {}", shown(&saved), shown(&wanted))))
}

impl TrainState<f32> {
    /// Returns the bytes of a safetensors file. Equal states give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut metadata = self.metadata.clone();
        let json = |object: serde_json::Result<String>| object.expect("plain numbers and names");
        let values = [
            FORMAT.into(),
            VERSION.into(),
            json(serde_json::to_string(&self.architecture)),
            json(serde_json::to_string(&self.config)),
            self.seed.to_string(),
            self.steps.to_string(),
        ];
        metadata.extend(KEYS.map(str::to_owned).into_iter().zip(values));
        let mut header = serde_json::Map::from_iter([("__metadata__".to_owned(), serde_json::json!(metadata))]);
        let mut length = 0;
        let mut add = |name: &str, dtype: &str, shape: &[usize], bytes: usize| {
            let offsets = [length, length + shape.iter().product::<usize>() * bytes];
            length = offsets[1];
            let tensor = serde_json::json!({ "dtype": dtype, "shape": shape, "data_offsets": offsets });
            header.insert(name.to_owned(), tensor);
        };
        add(HISTORY, "F64", &[self.history.len(), COLUMNS], size_of::<f64>());
        for ParameterState { name, shape, .. } in &self.parameters {
            add(name, "F32", &[PARTS, shape[0], shape[1]], size_of::<f32>());
        }
        // A large state is copied once, into the file.
        sealed(header.into(), length, |file| {
            self.history.iter().flat_map(columns).for_each(|number| file.extend(number.to_le_bytes()));
            let parts = self.parameters.iter().flat_map(|parameter| &parameter.parts);
            parts.flatten().for_each(|number| file.extend(number.to_le_bytes()));
        })
    }

    /// Reads the bytes of a safetensors file. Incomplete and changed files are refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (_, header) = SafeTensors::read_metadata(bytes)
            .map_err(|error| refused(format!("it is incomplete or no checkpoint ({error})")))?;
        let mut metadata = header.metadata().clone().unwrap_or_default();
        match (metadata.get("format").map(String::as_str), metadata.get("format_version").map(String::as_str)) {
            (Some(FORMAT), Some(VERSION)) => {}
            (Some(FORMAT), version) => {
                return Err(refused(format!(
                    "expected format version {VERSION}, found {}: resume with the version of supergat that wrote it",
                    version.unwrap_or("none")
                )));
            }
            _ => return Err(refused("it is no checkpoint of a training".into())),
        }
        if !is_sealed(bytes) {
            return Err(refused(DAMAGED.into()));
        }
        let file = SafeTensors::deserialize(bytes).map_err(|error| refused(format!("it is damaged ({error})")))?;
        let config: TrainConfig = field(&metadata, "config")?;
        let mut parameters = Vec::new();
        let mut history = None;
        let mut tensors = file.tensors();
        // Parameters have the order of the network.
        tensors.sort_by_key(|(_, tensor)| tensor.data().as_ptr());
        for (name, tensor) in tensors {
            match (tensor.dtype(), tensor.shape()) {
                (Dtype::F64, [_, COLUMNS]) if name == HISTORY => history = Some(epochs(tensor.data(), config.select)?),
                (Dtype::F32, &[PARTS, rows, columns]) => {
                    let (numbers, _) = tensor.data().as_chunks::<4>();
                    let part = |k: usize| &numbers[k * rows * columns..][..rows * columns];
                    let read = |k: usize| part(k).iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
                    let parts: [Vec<f32>; PARTS] = std::array::from_fn(read);
                    if parts.iter().flatten().any(|number| !number.is_finite()) {
                        return Err(refused(format!("`{name}` has numbers that are not finite")));
                    }
                    parameters.push(ParameterState { name, shape: [rows, columns], parts });
                }
                (dtype, shape) => return Err(refused(format!("`{name}`: found {dtype:?} {shape:?}"))),
            }
        }
        let state = Self {
            architecture: field(&metadata, "architecture")?,
            config,
            seed: field(&metadata, "seed")?,
            steps: field(&metadata, "steps")?,
            history: history.ok_or_else(|| refused("it has no history".into()))?,
            parameters,
            metadata: HashMap::new(),
        };
        metadata.retain(|key, _| !KEYS.contains(&key.as_str()));
        Ok(Self { metadata, ..state })
    }
}

/// Reads a value of the metadata.
fn field<V: DeserializeOwned>(metadata: &HashMap<String, String>, key: &str) -> Result<V> {
    let text = metadata.get(key).ok_or_else(|| refused(format!("it has no {key}")))?;
    serde_json::from_str(text).map_err(|error| refused(format!("its {key} is unreadable: {error}")))
}

fn columns(epoch: &Epoch) -> [f64; COLUMNS] {
    let Epoch { train, validation, test, .. } = epoch;
    [train.label, train.edge, train.total, validation.loss, validation.metric, test.loss, test.metric]
}

/// Reads the losses and scores of all epochs.
fn epochs(bytes: &[u8], select: Option<Select>) -> Result<Vec<Epoch>> {
    let (numbers, _) = bytes.as_chunks::<8>();
    let numbers: Vec<f64> = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    if numbers.iter().any(|number| !number.is_finite()) {
        return Err(refused("its history has numbers that are not finite".into()));
    }
    let (rows, _) = numbers.as_chunks::<COLUMNS>();
    let mut highest = f64::NEG_INFINITY;
    let epochs = rows.iter().enumerate().map(|(epoch, row)| {
        let &[label, edge, total, loss, metric, test_loss, test_metric] = row;
        let score = if select == Some(Select::Loss) { -loss } else { metric };
        let best = score >= highest;
        highest = highest.max(score);
        Epoch {
            epoch,
            train: StepLoss { label, edge, total },
            validation: Score { loss, metric },
            test: Score { loss: test_loss, metric: test_metric },
            best,
        }
    });
    Ok(epochs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::Example;
    use crate::features::Features;
    use crate::graph::{Direction, Graph};
    use crate::labels::Labels;
    use crate::prepared::Prepared;
    use crate::sealed::split;
    use crate::train::Trainer;
    use crate::{Cpu, EarlyStop};

    fn prepared(config: TrainConfig) -> Prepared<Cpu<f32>> {
        let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected).unwrap();
        let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0]).unwrap();
        let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
        let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]]).unwrap();
        let architecture = Architecture::new("supergat-mx".parse().unwrap(), &example);
        Prepared::new(&[example], Architecture { hidden: 1, heads: 1, ..architecture }, config).unwrap()
    }

    fn config() -> TrainConfig {
        TrainConfig { max_epochs: 9, ..TrainConfig::default() }
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
        let without_history = forged(|header| header[HISTORY]["shape"] = serde_json::json!([7, 3]));
        assert_eq!(reason(TrainState::from_bytes(&without_history)), "`history`: found F64 [7, 3]");
    }

    #[test]
    fn rejects_states_of_other_trainings() {
        let state = state();
        let resume = |state: &TrainState<f32>, config| reason(Trainer::resume(&prepared(config), state));
        let other = TrainConfig { lr: 0.5, ..config() };
        assert_eq!(resume(&state, other), "it has lr = 0.01, but this training has 0.5");
        let stop = EarlyStop { patience: 3, window: 2, loss_change: 0.0, metric_change: 0.0 };
        let other = TrainConfig { early_stop: Some(stop), ..config() };
        assert!(resume(&state, other).starts_with("it has early_stop = null, but this training has {"));
        let mut other = state.clone();
        other.architecture.hidden = 2;
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
        for part in 0..PARTS {
            let mut other = state();
            other.parameters[1].parts[part][0] = f32::NAN;
            let name = &other.parameters[1].name;
            assert_eq!(read(&other), format!("`{name}` has numbers that are not finite"));
        }
    }
}
