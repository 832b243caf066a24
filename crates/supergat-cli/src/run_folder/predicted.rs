//! Predictions of the model of a run, by one process or by several together.

use crate::args::ModelArgs;
use crate::config::table_options;
use crate::error::{CliError, Result};
use crate::process::processes;
use std::sync::Arc;
use supergat::{Classifier, Dataset, DeviceChoice, Predictions};
use supergat_cluster::peers::Peers;
use supergat_train::Divided;

/// A model with its predictions for a dataset.
#[derive(Debug)]
pub struct Predicted {
    /// The model.
    pub model: Classifier,
    /// The dataset.
    pub dataset: Dataset,
    /// Predictions for all nodes of the dataset.
    pub predictions: Predictions,
}

impl Predicted {
    /// Predicts `source`, or else the training data. Returns `None` in all processes but the first.
    pub fn by(args: &ModelArgs, source: Option<&str>, peers: Arc<dyn Peers>) -> Result<Option<Self>> {
        let open = || open(args, source);
        if peers.count() == 1 {
            let (model, dataset) = open()?;
            let model = model.on(args.device)?;
            let predictions = model.predict(&dataset)?;
            return Ok(Some(Self { model, dataset, predictions }));
        }
        if args.device != DeviceChoice::Cpu {
            return Err(CliError::usage("several processes cannot predict together with --device: leave it out"));
        }
        let model = Classifier::load(&args.run)?;
        let recorded = model.card().origin.as_ref().map(|origin| origin.source.as_str());
        let file = source.or(recorded).ok_or_else(|| {
            CliError::usage("the model does not name its training data: name the file that is divided into parts")
        })?;
        let file = processes::open_parts(file, &*peers)?;
        processes::agree(&*peers, &file)?;
        let predictions = model.predict_divided(&Divided::read(&file, Arc::clone(&peers))?)?;
        if peers.rank() > 0 {
            return Ok(None);
        }
        let (model, dataset) = open()?;
        Ok(Some(Self { model, dataset, predictions }))
    }
}

/// Opens the model of a run and reads `source`, or else the training data. Given options for tables replace the recorded
/// ones.
fn open(args: &ModelArgs, source: Option<&str>) -> Result<(Classifier, Dataset)> {
    let model = Classifier::load(&args.run)?;
    let tables = table_options(model.table_options(), &args.tables.0)?;
    let dataset = model.read_with(source, args.split, Some(tables))?;
    Ok((model, dataset))
}
