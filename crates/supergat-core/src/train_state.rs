//! State of a training after an epoch, in memory and as a safetensors file.
//!
//! The best epoch and the state of early stopping follow from the scores of all epochs, so the file contains the
//! scores only, and a resumed training counts them again.

use crate::architecture::Architecture;
use crate::config::{Select, TrainConfig};
use crate::error::{Error, Result};
use crate::model::StepLoss;
use crate::sealed::{CHECKSUM, DAMAGED, is_sealed, sealed};
use crate::selection::{Epoch, Score};
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
/// use supergat_cpu::Cpu;
/// let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)], Direction::Undirected)?;
/// let features = Features::dense(4, 1, vec![1.0f32, 0.9, -0.9, -1.0])?;
/// let labels = Labels::Single { classes: 2, of: vec![0, 0, 1, 1] };
/// let example = Example::new(graph, features, labels, [vec![0, 3], vec![1], vec![2]])?;
/// let architecture = Architecture::new("supergat-mx".parse().unwrap(), &example);
/// let config = TrainConfig::default().with(|config| config.training.max_epochs = 20);
/// let prepared = Prepared::on(&Cpu::default(), &[example], architecture, config)?;
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
    pub parameters: Vec<ParameterState<T>>,
    /// Further metadata of the caller, such as a hash of the dataset.
    pub metadata: HashMap<String, String>,
}

/// Elements, first moments, second moments and elements of the best epoch of a parameter, in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterState<T> {
    /// Name within the network.
    pub name: String,
    /// Number of rows and columns.
    pub shape: [usize; 2],
    /// The four lists.
    pub parts: [Vec<T>; PARTS],
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

/// Checks that two objects are equal in files, which contain no hyperparameters without an effect. The error names the
/// first field that differs.
fn same<S: Serialize>(saved: &S, wanted: &S) -> Result<()> {
    let fields = |object: &S| serde_json::to_value(object).expect("plain numbers and names");
    let (saved, wanted) = (fields(saved), fields(wanted));
    if saved == wanted {
        return Ok(());
    }
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
