//! Models as safetensors files, with the architecture in the metadata. Matrices are stored in the usual shape
//! and order (head after head), so that other software can load them.

use crate::architecture::Architecture;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::model::Network;
use crate::sealed::{CHECKSUM, DAMAGED, is_sealed, sealed, split};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::{BTreeMap, HashMap};

const FORMAT: &str = "supergat";
/// Version of files with one model. Files of version 1, which have no lists, can still be read.
const VERSION: &str = "2";
const READABLE: [&str; 2] = ["1", VERSION];
/// Version of files with several models, which earlier programs would take for one.
const VERSION_OF_SEVERAL: &str = "3";
/// Entries of the metadata.
const ARCHITECTURE: &str = "architecture";
const MEMBERS: &str = "members";
/// Beginning of the names of all models but the first, before their number.
const PREFIX: &str = "member";

/// A matrix of learned weights.
///
/// [`Checkpoint`] contains those of models that are not networks.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights<T> {
    /// Name within the model, such as `layer1.w`.
    pub name: String,
    /// Number of rows and columns.
    pub shape: [usize; 2],
    /// Elements, row after row.
    pub elements: Vec<T>,
}

/// A model with the metadata and lists that its file also stores.
///
/// ```
/// use std::collections::HashMap;
/// use supergat_cpu::Checkpoint;
/// use supergat_core::hyperparameters::NetworkSettings;
/// use supergat_core::{Architecture, ModelKind};
/// use supergat_cpu::Model;
/// let architecture = Architecture {
///     model: ModelKind::Mlp,
///     input_features: 3,
///     classes: 2,
///     multi_label: false,
///     edge_features: 0,
///     network: NetworkSettings { layers: 1, heads: 1, hidden: 1, ..NetworkSettings::default() },
/// };
/// let metadata = HashMap::from([("classes".to_owned(), "cat,dog".to_owned())]);
/// let lists = HashMap::from([("split.train".to_owned(), vec![3, 1])]);
/// let bytes = Checkpoint::of(Model::new(architecture, 0)?, metadata, lists).to_bytes();
/// let read = Checkpoint::from_bytes(&bytes)?;
/// assert_eq!((read.architecture.classes, read.metadata["classes"].as_str()), (2, "cat,dog"));
/// assert_eq!(read.network.unwrap().parameter_count(), 3 * 2 + 2);
/// assert_eq!(read.lists["split.train"], [3, 1]);
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Checkpoint<D: Device> {
    /// Kind and shape of the model.
    pub architecture: Architecture,
    /// Network with its weights; `None` if the model is not a network. Matrices, metadata and lists then contain all of
    /// it.
    pub network: Option<Network<D>>,
    /// Weights of a model that is not a network, in the order of their names.
    pub weights: Vec<Weights<f32>>,
    /// Further metadata, such as the names of the classes.
    pub metadata: HashMap<String, String>,
    /// Lists of numbers by name, such as the nodes of a split. Names must differ from those of parameters.
    pub lists: HashMap<String, Vec<u32>>,
}

impl<D: Device<Number = f32>> Checkpoint<D> {
    /// Creates the checkpoint of a network.
    pub fn of(network: Network<D>, metadata: HashMap<String, String>, lists: HashMap<String, Vec<u32>>) -> Self {
        Self { architecture: *network.architecture(), network: Some(network), weights: Vec::new(), metadata, lists }
    }

    /// Returns the bytes of a safetensors file. Equal checkpoints give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        Self::join(std::slice::from_ref(self))
    }

    /// Returns the bytes of a file of several models, which predict together. Names of tensors and metadata of all but
    /// the first have a prefix, such as `member1.layer1.w`.
    ///
    /// See [`Checkpoint::members`].
    pub fn join(members: &[Self]) -> Vec<u8> {
        let (mut metadata, mut tensors) = (HashMap::new(), Vec::new());
        for (number, member) in members.iter().enumerate() {
            let prefix = prefix(number);
            let named = |key: &str| format!("{prefix}{key}");
            metadata.extend(member.metadata.iter().map(|(key, value)| (named(key), value.clone())));
            let architecture = serde_json::to_string(&member.architecture).expect("plain numbers and names");
            metadata.insert(named(ARCHITECTURE), architecture);
            tensors.extend(member.tensors().map(|(name, dtype, shape, bytes)| (named(&name), dtype, shape, bytes)));
        }
        let is_one = members.len() == 1;
        metadata.insert("format".into(), FORMAT.into());
        metadata.insert("format_version".into(), if is_one { VERSION } else { VERSION_OF_SEVERAL }.into());
        if !is_one {
            metadata.insert(MEMBERS.into(), members.len().to_string());
        }
        let views = tensors.iter().map(|(name, dtype, shape, bytes)| {
            (name.as_str(), TensorView::new(*dtype, shape.clone(), bytes).expect("bytes of that shape"))
        });
        let file = safetensors::serialize(views, Some(metadata)).expect("names are distinct");
        let (header, data) = split(&file).expect("a safetensors file has a header");
        sealed(header, data.len(), |file| file.extend(data))
    }

    /// Returns name, type, shape and bytes of all tensors.
    fn tensors(&self) -> impl Iterator<Item = (String, Dtype, Vec<usize>, Vec<u8>)> {
        let weights = self.network.iter().flat_map(|network| {
            network.parameters().map(|p| {
                let rows = p.to_rows(network.device()).expect("weights were read or written before");
                let bytes: Vec<u8> = rows.iter().flat_map(|v| v.to_le_bytes()).collect();
                (p.name.clone(), Dtype::F32, p.shape.to_vec(), bytes)
            })
        });
        let matrices = self.weights.iter().map(|Weights { name, shape, elements }| {
            let bytes: Vec<u8> = elements.iter().flat_map(|v| v.to_le_bytes()).collect();
            (name.clone(), Dtype::F32, shape.to_vec(), bytes)
        });
        let mut lists: Vec<_> = self.lists.iter().collect();
        lists.sort_unstable();
        let lists = lists.into_iter().map(|(name, list)| {
            let bytes = list.iter().flat_map(|v| v.to_le_bytes()).collect();
            (name.clone(), Dtype::U32, vec![list.len()], bytes)
        });
        weights.chain(matrices).chain(lists)
    }
}

impl<D: Device<Number = f32> + Default> Checkpoint<D> {
    /// Reads the bytes of a safetensors file of this or an older version, as [`Checkpoint::members`] does. Fails if it
    /// has several models.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut members = Self::members(bytes)?;
        match members.pop().filter(|_| members.is_empty()) {
            Some(member) => Ok(member),
            None => Err(refused("it has several models".into())),
        }
    }

    /// Reads all models of a safetensors file of this or an older version. Fails if its checksum is wrong, which older
    /// files do not have, if a weight is not finite, or if there are fewer weights than an architecture needs.
    ///
    /// ```
    /// # use std::collections::HashMap;
    /// # use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels};
    /// # use supergat_cpu::Model;
    /// # use supergat_cpu::Checkpoint;
    /// # let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
    /// # let labels = Labels::Single { classes: 2, of: vec![0, 1] };
    /// # let example = Example::new(graph, Features::dense(2, 1, vec![1.0f32, 2.0])?, labels, [vec![0], vec![1], vec![]])?;
    /// let architecture = Architecture::new("gcn".parse().unwrap(), &example);
    /// let member = |seed| -> supergat_core::Result<_> {
    ///     Ok(Checkpoint::of(Model::new(architecture, seed)?, HashMap::new(), HashMap::new()))
    /// };
    /// let members = Checkpoint::members(&Checkpoint::join(&[member(0)?, member(1)?]))?;
    /// let predicted = members[1].network.as_ref().unwrap().predict(&example)?;
    /// assert_eq!(predicted, Model::new(architecture, 1)?.predict(&example)?);
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn members(bytes: &[u8]) -> Result<Vec<Self>> {
        let (_, header) =
            SafeTensors::read_metadata(bytes).map_err(|e| refused(format!("no safetensors file ({e})")))?;
        let metadata = header.metadata().clone().unwrap_or_default();
        let count = match (metadata.get("format").map(String::as_str), metadata.get("format_version")) {
            (Some(FORMAT), Some(version)) if READABLE.contains(&version.as_str()) => 1,
            (Some(FORMAT), Some(version)) if version == VERSION_OF_SEVERAL => metadata
                .get(MEMBERS)
                .and_then(|count| count.parse().ok())
                .filter(|&count| count > 1)
                .ok_or_else(|| refused("its number of models is unreadable".into()))?,
            (Some(FORMAT), version) => {
                return Err(refused(format!(
                    "expected format version {VERSION_OF_SEVERAL} or older, found {}: use the version of supergat that \
                     wrote it, or a newer one",
                    version.map_or("none", String::as_str)
                )));
            }
            _ => return Err(refused("it was not written by supergat (no `format` in its metadata)".into())),
        };
        if metadata.contains_key(CHECKSUM) && !is_sealed(bytes) {
            return Err(refused(format!("{DAMAGED}; restore it, or train the model again")));
        }
        let file = SafeTensors::deserialize(bytes).map_err(|e| refused(format!("damaged safetensors file ({e})")))?;
        let mut parts: BTreeMap<usize, Part<'_>> = BTreeMap::new();
        for (key, value) in metadata {
            let (member, key) = unprefixed(&key, count);
            parts.entry(member).or_default().metadata.insert(key.to_owned(), value);
        }
        for (name, tensor) in file.tensors() {
            check_finite(&name, &tensor)?;
            let (member, name) = unprefixed(&name, count);
            parts.entry(member).or_default().tensors.insert(name.to_owned(), tensor);
        }
        if parts.len() != count {
            return Err(refused(format!("expected {}, found {}", crate::words::count(count, "model"), parts.len())));
        }
        parts.into_values().map(Self::of_part).collect()
    }

    /// Reads one model of a file.
    fn of_part(part: Part<'_>) -> Result<Self> {
        let text = part.metadata.get(ARCHITECTURE).ok_or_else(|| refused("its metadata has no architecture".into()))?;
        let architecture: Architecture =
            serde_json::from_str(text).map_err(|e| refused(format!("its architecture is unreadable: {e}")))?;
        architecture.check_classes()?;
        let network = architecture.model.is_network().then(|| read_network(architecture, &part.tensors)).transpose()?;
        let weights = if network.is_none() { read_weights(&part.tensors) } else { Vec::new() };
        let lists = part.tensors.iter().filter(|(_, tensor)| tensor.dtype() == Dtype::U32);
        let lists = lists.map(|(name, tensor)| {
            let (numbers, _) = tensor.data().as_chunks::<4>();
            (name.clone(), numbers.iter().map(|b| u32::from_le_bytes(*b)).collect())
        });
        let lists = lists.collect();
        Ok(Self { architecture, network, weights, metadata: part.metadata, lists })
    }
}

/// Metadata and tensors of one model of a file.
#[derive(Default)]
struct Part<'f> {
    metadata: HashMap<String, String>,
    tensors: Tensors<'f>,
}

/// Tensors of a model by name.
type Tensors<'f> = HashMap<String, TensorView<'f>>;

fn refused(reason: String) -> Error {
    Error::Checkpoint { reason }
}

/// Returns the beginning of the names of a model in the file of several.
fn prefix(member: usize) -> String {
    if member == 0 { String::new() } else { format!("{PREFIX}{member}.") }
}

/// Returns the number of the model that a name belongs to, out of `count`, and the name without prefix.
fn unprefixed(name: &str, count: usize) -> (usize, &str) {
    let found = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('.'));
    let number = |(member, rest): (&str, _)| member.parse().ok().map(|member: usize| (member, rest));
    found.and_then(number).filter(|(member, _)| (1..count).contains(member)).unwrap_or((0, name))
}

/// Reads all matrices of numbers, in the order of their names.
fn read_weights(tensors: &Tensors<'_>) -> Vec<Weights<f32>> {
    let tensors = tensors.iter().filter(|(_, tensor)| tensor.dtype() == Dtype::F32);
    let matrix = |(name, tensor): (&String, &TensorView<'_>)| {
        let shape = tensor.shape().try_into().ok()?;
        let (numbers, _) = tensor.data().as_chunks::<4>();
        let elements = numbers.iter().map(|b| f32::from_le_bytes(*b)).collect();
        Some(Weights { name: name.clone(), shape, elements })
    };
    let mut weights: Vec<_> = tensors.filter_map(matrix).collect();
    weights.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    weights
}

/// Checks that the numbers of a tensor of weights are finite.
fn check_finite(name: &str, tensor: &TensorView<'_>) -> Result<()> {
    let is_finite = |bytes: &[u8; 4]| f32::from_le_bytes(*bytes).is_finite();
    if tensor.dtype() != Dtype::F32 || tensor.data().as_chunks().0.iter().all(is_finite) {
        return Ok(());
    }
    Err(refused(format!("`{name}` has numbers that are not finite")))
}

/// Fails if an architecture has more weights than the file of a model, or sizes that are out of range.
pub fn check_size(architecture: &Architecture, further: u64, stored: usize) -> Result<()> {
    architecture.check()?;
    let least = architecture.least_weights().saturating_add(further);
    if least > stored as u64 {
        return Err(refused(format!("its architecture needs at least {least} weights, and the file has {stored}")));
    }
    Ok(())
}

/// Reads the weights of a network. There must be as many in the file before memory is allocated for them.
fn read_network<D: Device<Number = f32> + Default>(
    architecture: Architecture,
    tensors: &Tensors<'_>,
) -> Result<Network<D>> {
    let weights = tensors.values().filter(|tensor| tensor.dtype() == Dtype::F32);
    check_size(&architecture, 0, weights.map(|tensor| tensor.data().len() / size_of::<f32>()).sum())?;
    let device = D::default();
    let mut model = Network::zeros_on(&device, architecture)?;
    model.for_each_parameter(|parameter| {
        let tensor = tensors.get(&parameter.name).ok_or_else(|| refused(format!("it has no `{}`", parameter.name)))?;
        if tensor.dtype() != Dtype::F32 || tensor.shape() != parameter.shape {
            return Err(refused(format!(
                "`{}`: expected f32 {:?}, found {:?} {:?}",
                parameter.name,
                parameter.shape,
                tensor.dtype(),
                tensor.shape()
            )));
        }
        let (numbers, _) = tensor.data().as_chunks::<4>();
        let elements: Vec<f32> = numbers.iter().map(|b| f32::from_le_bytes(*b)).collect();
        parameter.set_rows(&device, &elements)
    })?;
    Ok(model)
}
