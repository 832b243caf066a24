//! A model as a file: safetensors, with the architecture in its metadata. Matrices are stored in the shape and order that other software
//! uses (head after head), so that they can be loaded elsewhere.

use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::model::Model;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::HashMap;

const FORMAT: &str = "supergat";
const VERSION: &str = "1";

/// Writes a model and further entries of metadata (class names, say) as the bytes of a safetensors file.
pub fn to_bytes(model: &Model<f32>, extra: &HashMap<String, String>) -> Vec<u8> {
    let mut metadata = extra.clone();
    metadata.insert("format".into(), FORMAT.into());
    metadata.insert("format_version".into(), VERSION.into());
    let architecture = serde_json::to_string(model.architecture()).expect("plain numbers and names");
    metadata.insert("architecture".into(), architecture);
    let tensors: Vec<(String, [usize; 2], Vec<u8>)> = model
        .parameters()
        .map(|p| (p.name.clone(), p.shape, p.to_rows().iter().flat_map(|v| v.to_le_bytes()).collect()))
        .collect();
    let views = tensors.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, shape.to_vec(), bytes).expect("bytes of that shape");
        (name.as_str(), view)
    });
    sorted(&safetensors::serialize(views, Some(metadata)).expect("names are distinct"))
}

/// The same file with the entries of its header in order: they come out of a hash map, and equal models must give equal files.
fn sorted(bytes: &[u8]) -> Vec<u8> {
    let (length, rest) = bytes.split_first_chunk().expect("a file begins with the length of its header");
    let (header, weights) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let header: serde_json::Value = serde_json::from_slice(header).expect("the header is JSON");
    let mut header = header.to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    [&(header.len() as u64).to_le_bytes()[..], &header, weights].concat()
}

/// Reads a model and the metadata from the bytes of a safetensors file.
pub fn from_bytes(bytes: &[u8]) -> Result<(Model<f32>, HashMap<String, String>)> {
    let refuse = |reason: String| Error::Checkpoint { reason };
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| refuse(format!("no safetensors file ({e})")))?;
    let metadata = header.metadata().clone().unwrap_or_default();
    match (metadata.get("format").map(String::as_str), metadata.get("format_version").map(String::as_str)) {
        (Some(FORMAT), Some(VERSION)) => {}
        (Some(FORMAT), version) => {
            let found = version.unwrap_or("none");
            return Err(refuse(format!("expected format version {VERSION}, found {found}")));
        }
        _ => return Err(refuse("it was not written by supergat (no `format` in its metadata)".into())),
    }
    let architecture: Architecture =
        metadata.get("architecture").ok_or_else(|| refuse("its metadata has no architecture".into())).and_then(
            |text| serde_json::from_str(text).map_err(|e| refuse(format!("its architecture is unreadable: {e}"))),
        )?;
    let file = SafeTensors::deserialize(bytes).map_err(|e| refuse(format!("damaged safetensors file ({e})")))?;
    // The declared shapes must be in the file before memory is made for them.
    let stored: usize = file.tensors().iter().map(|(_, t)| t.data().len() / 4).sum();
    if architecture.input_features.saturating_mul(architecture.hidden.max(architecture.classes)) > stored.max(1) * 64 {
        return Err(refuse("its architecture asks for far more weights than it holds".into()));
    }
    let mut model = Model::zeros(architecture)?;
    let mut result = Ok(());
    model.for_each_parameter(|parameter| {
        let read = || -> Result<Vec<f32>> {
            let tensor =
                file.tensor(&parameter.name).map_err(|_| refuse(format!("it holds no `{}`", parameter.name)))?;
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
            Ok(numbers.iter().map(|b| f32::from_le_bytes(*b)).collect())
        };
        match read() {
            Ok(elements) => parameter.set_rows(&elements),
            Err(error) => result = Err(error),
        }
    });
    result.map(|()| (model, metadata))
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
        };
        Model::new(architecture, 4).unwrap()
    }

    #[test]
    fn a_model_survives_its_file() {
        let extra = HashMap::from([("classes".to_owned(), "a,b,c".to_owned())]);
        let (read, metadata) = from_bytes(&to_bytes(&model(), &extra)).unwrap();
        assert_eq!(metadata["classes"], "a,b,c");
        assert_eq!(read.architecture(), model().architecture());
        for (a, b) in read.parameters().zip(model().parameters()) {
            assert_eq!((&a.name, a.shape, a.to_rows()), (&b.name, b.shape, b.to_rows()));
        }
    }

    #[test]
    fn equal_models_give_equal_files() {
        let extra: HashMap<String, String> = (0..9).map(|k| (format!("key{k}"), k.to_string())).collect();
        let first = to_bytes(&model(), &extra);
        // Every hash map has its own order, so a few tries would show one that was left.
        assert!((0..4).all(|_| to_bytes(&model(), &extra.clone().into_iter().collect()) == first));
    }

    #[test]
    fn damaged_files_are_refused() {
        let bytes = to_bytes(&model(), &HashMap::new());
        for cut in [0, 7, 8, 50, bytes.len() - 1] {
            assert!(matches!(from_bytes(&bytes[..cut]), Err(Error::Checkpoint { .. })), "cut at {cut}");
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let at = text.find("\\\"classes\\\":3").expect("the architecture is in the header");
        let mut other = bytes.clone();
        other[at + 12] = b'4';
        assert!(matches!(from_bytes(&other), Err(Error::Checkpoint { .. })));
        let foreign = safetensors::serialize(Vec::<(&str, TensorView<'_>)>::new(), None).unwrap();
        assert!(matches!(from_bytes(&foreign), Err(Error::Checkpoint { .. })));
    }
}
