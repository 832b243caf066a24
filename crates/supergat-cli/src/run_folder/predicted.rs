//! Predictions of the model of a run, by one process or by several together.

use crate::config::Values;
use crate::error::{CliError, Result};
use crate::process::processes;
use crate::run_folder::open;
use std::path::Path;
use std::sync::Arc;
use supergat::{Classifier, Dataset, DeviceChoice, Predictions, SplitChoice};
use supergat_cluster::peers::Peers;
use supergat_train::Divided;

/// Model, dataset and device of a prediction.
#[derive(Debug)]
pub struct Request<'a> {
    /// Run folder or model file.
    pub run: &'a Path,
    /// Dataset, or `None` for the training data.
    pub source: Option<&'a str>,
    /// Split of the dataset.
    pub split: Option<SplitChoice>,
    /// Options of tables.
    pub tables: &'a Values,
    /// Device that predicts.
    pub device: DeviceChoice,
}

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

impl Request<'_> {
    /// Predicts. Returns `None` in all processes but the first.
    pub fn predict(&self, peers: Arc<dyn Peers>) -> Result<Option<Predicted>> {
        if peers.count() == 1 {
            let (model, dataset) = open(self.run, self.source, self.split, self.tables)?;
            let model = model.on(self.device)?;
            let predictions = model.predict(&dataset)?;
            return Ok(Some(Predicted { model, dataset, predictions }));
        }
        if self.device != DeviceChoice::Cpu {
            return Err(CliError::usage("several processes cannot predict together with --device: leave it out"));
        }
        let model = Classifier::load(self.run)?;
        let recorded = model.card().origin.as_ref().map(|origin| origin.source.as_str());
        let source = self.source.or(recorded).ok_or_else(|| {
            CliError::usage("the model does not name its training data: name the file that is divided into parts")
        })?;
        let file = processes::open_parts(source, &*peers)?;
        processes::agree(&*peers, &file)?;
        let predictions = model.predict_divided(&Divided::read(&file, Arc::clone(&peers))?)?;
        if peers.rank() > 0 {
            return Ok(None);
        }
        let (model, dataset) = open(self.run, self.source, self.split, self.tables)?;
        Ok(Some(Predicted { model, dataset, predictions }))
    }
}
