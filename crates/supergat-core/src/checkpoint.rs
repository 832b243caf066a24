//! Models as safetensors files, with the architecture in the metadata. Matrices are stored in the usual shape
//! and order (head after head), so that other software can load them.

use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::systems::Weights;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::HashMap;

const FORMAT: &str = "supergat";
/// Version of written files. Files of version 1, which have no lists, can still be read.
const VERSION: &str = "2";
const READABLE: [&str; 2] = ["1", VERSION];

/// A model with the metadata and lists that its file also stores.
///
/// ```
/// use std::collections::HashMap;
/// use supergat_core::checkpoint::Checkpoint;
/// use supergat_core::{Architecture, Model, ModelKind};
/// let architecture = Architecture {
///     model: ModelKind::Mlp,
///     input_features: 3,
///     classes: 2,
///     multi_label: false,
///     layers: 1,
///     hidden: 1,
///     heads: 1,
///     output_heads: 1,
///     dropout: 0.0,
///     negative_slope: 0.2,
///     edge_features: 0,
///     edge_messages: false,
///     label_input: 0.0,
///     label_reuse: 0,
///     blocks: Default::default(),
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
pub struct Checkpoint {
    /// Kind and shape of the model.
    pub architecture: Architecture,
    /// Network with its weights; `None` if the model is not a network. Matrices, metadata and lists then contain all of
    /// it.
    pub network: Option<Model<f32>>,
    /// Weights of a model that is not a network, in the order of their names.
    pub weights: Vec<Weights<f32>>,
    /// Further metadata, such as the names of the classes.
    pub metadata: HashMap<String, String>,
    /// Lists of numbers by name, such as the nodes of a split. Names must differ from those of parameters.
    pub lists: HashMap<String, Vec<u32>>,
}

impl Checkpoint {
    /// Creates the checkpoint of a network.
    pub fn of(network: Model<f32>, metadata: HashMap<String, String>, lists: HashMap<String, Vec<u32>>) -> Self {
        Self { architecture: *network.architecture(), network: Some(network), weights: Vec::new(), metadata, lists }
    }

    /// Returns the bytes of a safetensors file. Equal checkpoints give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut metadata = self.metadata.clone();
        metadata.insert("format".into(), FORMAT.into());
        metadata.insert("format_version".into(), VERSION.into());
        let architecture = serde_json::to_string(&self.architecture).expect("plain numbers and names");
        metadata.insert("architecture".into(), architecture);
        let weights = self.network.iter().flat_map(|network| {
            network.parameters().map(|p| {
                let rows = p.to_rows(network.device()).expect("the CPU can read its memory");
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
        let tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = weights.chain(matrices).chain(lists).collect();
        let views = tensors.iter().map(|(name, dtype, shape, bytes)| {
            (name.as_str(), TensorView::new(*dtype, shape.clone(), bytes).expect("bytes of that shape"))
        });
        sorted(&safetensors::serialize(views, Some(metadata)).expect("names are distinct"))
    }

    /// Reads the bytes of a safetensors file of this or an older version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let refuse = |reason: String| Error::Checkpoint { reason };
        let (_, header) =
            SafeTensors::read_metadata(bytes).map_err(|e| refuse(format!("no safetensors file ({e})")))?;
        let metadata = header.metadata().clone().unwrap_or_default();
        match (metadata.get("format").map(String::as_str), metadata.get("format_version").map(String::as_str)) {
            (Some(FORMAT), Some(version)) if READABLE.contains(&version) => {}
            (Some(FORMAT), version) => {
                return Err(refuse(format!(
                    "expected format version {}, found {}: use the version of supergat that wrote it, or a newer one",
                    READABLE.join(" or "),
                    version.unwrap_or("none")
                )));
            }
            _ => return Err(refuse("it was not written by supergat (no `format` in its metadata)".into())),
        }
        let architecture: Architecture =
            metadata.get("architecture").ok_or_else(|| refuse("its metadata has no architecture".into())).and_then(
                |text| serde_json::from_str(text).map_err(|e| refuse(format!("its architecture is unreadable: {e}"))),
            )?;
        let file = SafeTensors::deserialize(bytes).map_err(|e| refuse(format!("damaged safetensors file ({e})")))?;
        let network = architecture.model.is_network().then(|| read_network(architecture, &file)).transpose()?;
        let weights = if network.is_none() { read_weights(&file) } else { Vec::new() };
        let lists = file.tensors().into_iter().filter(|(_, tensor)| tensor.dtype() == Dtype::U32);
        let lists = lists.map(|(name, tensor)| {
            let (numbers, _) = tensor.data().as_chunks::<4>();
            (name, numbers.iter().map(|b| u32::from_le_bytes(*b)).collect())
        });
        let lists = lists.collect();
        Ok(Self { architecture, network, weights, metadata, lists })
    }
}

/// Reads all matrices of numbers, in the order of their names.
fn read_weights(file: &SafeTensors<'_>) -> Vec<Weights<f32>> {
    let tensors = file.tensors().into_iter().filter(|(_, tensor)| tensor.dtype() == Dtype::F32);
    let matrix = |(name, tensor): (String, TensorView<'_>)| {
        let shape = tensor.shape().try_into().ok()?;
        let (numbers, _) = tensor.data().as_chunks::<4>();
        Some(Weights { name, shape, elements: numbers.iter().map(|b| f32::from_le_bytes(*b)).collect() })
    };
    let mut weights: Vec<_> = tensors.filter_map(matrix).collect();
    weights.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    weights
}

/// Reads the weights of a network. Those of the declared shapes must be in the file before memory is allocated for them.
fn read_network(architecture: Architecture, file: &SafeTensors<'_>) -> Result<Model<f32>> {
    let refuse = |reason: String| Error::Checkpoint { reason };
    let stored: usize = file.tensors().iter().map(|(_, t)| t.data().len() / 4).sum();
    let widest = architecture.hidden.max(architecture.classes);
    if architecture.input_features.saturating_mul(widest) > stored.max(1) * 64 {
        return Err(refuse("its architecture has far more weights than the file".into()));
    }
    let mut model = Model::zeros(architecture)?;
    let device = *model.device();
    model.for_each_parameter(|parameter| {
        let tensor = file.tensor(&parameter.name).map_err(|_| refuse(format!("it has no `{}`", parameter.name)))?;
        if tensor.dtype() != Dtype::F32 || tensor.shape() != parameter.shape {
            return Err(refuse(format!(
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

/// Sorts the entries of a file's header, whose order is otherwise random, so that equal models give equal
/// files.
fn sorted(bytes: &[u8]) -> Vec<u8> {
    let (length, rest) = bytes.split_first_chunk().expect("a file begins with the length of its header");
    let (header, weights) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let header: serde_json::Value = serde_json::from_slice(header).expect("the header is JSON");
    let mut header = header.to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    [&(header.len() as u64).to_le_bytes()[..], &header, weights].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Form;
    use crate::model_kind::ModelKind;

    fn model() -> Model<f32> {
        let architecture = Architecture {
            model: ModelKind::Attention { form: Form::Mx, self_supervised: true },
            input_features: 5,
            classes: 3,
            multi_label: false,
            layers: 3,
            hidden: 3,
            heads: 3,
            output_heads: 2,
            dropout: 0.5,
            negative_slope: 0.2,
            edge_features: 0,
            edge_messages: false,
            label_input: 0.0,
            label_reuse: 0,
            blocks: Default::default(),
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
            let device = crate::Cpu::default();
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
        assert!(message.contains("expected format version 1 or 2, found 9"), "{message}");
    }
}
