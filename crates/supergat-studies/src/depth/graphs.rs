//! Graphs of the study: their splits, the published deep networks, and the search spaces around these.

use crate::grid::GAT;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::str::FromStr;
use supergat_core::{Activation, ModelKind, Norm, Residual, Select};
use supergat_data::SplitChoice;
use supergat_numerics::metrics::Metric;
use supergat_select::sweep::dataset_name;
use supergat_select::tune::Space;
use supergat_train::selection::metric_of;
use supergat_train::settings::Settings;

/// Datasets of the study.
pub const DATASETS: [&str; 6] = ["minesweeper", "chameleon-filtered", "photo", "computers", "cs", "physics"];

/// Shares of training, validation and test nodes of random splits, in per cent.
const SHARES: &str = "60/20/20";
/// Weight of the edge loss in the first trial of deep networks.
const LAMBDA_E: f64 = 0.1;
/// Epochs of networks of two layers.
const PUBLISHED_EPOCHS: usize = 500;

/// Depth of a network of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// The published settings of the paper, or the general ones: two layers.
    Published,
    /// Hidden blocks with norms, residuals and a linear output layer.
    Deep,
}

impl Depth {
    /// Both depths.
    pub const ALL: [Self; 2] = [Self::Published, Self::Deep];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Deep => "deep",
        }
    }
}

impl FromStr for Depth {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|depth| depth.name() == name);
        found.ok_or_else(|| format!("unknown depth `{name}`: expected published or deep"))
    }
}

/// A published deep network and the search space around it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct DeepNetwork {
    layers: usize,
    hidden: usize,
    norm: Norm,
    residual: Residual,
    dropout: f64,
    lr: f64,
    lambda_2: f64,
    max_epochs: usize,
    /// Numbers of layers and widths that are searched.
    searched: [&'static str; 2],
}

/// Returns the deep network of a dataset: that of Luo et al. (2024) where they have one.
fn deep_network(dataset: &str) -> DeepNetwork {
    let deep = |layers, hidden, norm, residual, training: (f64, f64, f64), max_epochs, searched| {
        let (dropout, lr, lambda_2) = training;
        DeepNetwork { layers, hidden, norm, residual, dropout, lr, lambda_2, max_epochs, searched }
    };
    use Norm::{Batch, Layer};
    use Residual::{Linear, None};
    match dataset {
        "minesweeper" => deep(15, 64, Batch, Linear, (0.2, 0.01, 0.0), 2000, ["4,8,12,15", "32,64"]),
        "chameleon-filtered" => deep(2, 256, Batch, Linear, (0.7, 0.01, 0.001), 200, ["2..5", "64,128,256"]),
        "photo" => deep(3, 64, Layer, Linear, (0.5, 0.001, 5e-5), 1000, ["2..5", "32,64,128"]),
        "computers" => deep(2, 64, Layer, None, (0.5, 0.001, 5e-5), 1000, ["2..5", "32,64,128"]),
        "cs" => deep(1, 256, Layer, Linear, (0.3, 0.001, 5e-4), 1500, ["1..3", "64,128,256"]),
        "physics" => deep(2, 256, Batch, Linear, (0.7, 0.001, 5e-4), 1500, ["2..4", "64,128,256"]),
        _ => deep(4, 64, Layer, Linear, (0.5, 0.005, 5e-4), 500, ["2..8", "32,64,128"]),
    }
}

/// A graph of the study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DepthGraph {
    /// Dataset: any source that `supergat_data::load` accepts.
    pub source: String,
    /// Name of the dataset in results.
    pub dataset: String,
    /// Metric by which epochs and settings are selected, and which is tested.
    pub metric: String,
    /// Whether the features of each node are divided by their sum.
    pub row_normalise: bool,
    /// Name by which published settings are found.
    #[serde(skip)]
    name: String,
    /// Whether the files have ten splits, which are used.
    #[serde(skip)]
    has_splits: bool,
}

impl DepthGraph {
    /// Describes a graph. Graphs other than [`DATASETS`] are loaded to obtain their name.
    ///
    /// Minesweeper and chameleon-filtered have the ten splits of their files. All others have random splits, 60 % of the
    /// nodes for training, 20 % for validation and 20 % for testing.
    pub fn new(source: &str) -> supergat_data::Result<Self> {
        let (name, dataset, metric) = match DATASETS.contains(&source) && !Path::new(source).exists() {
            true => {
                let metric = select(source).map_or_else(|| Metric::Accuracy.to_string(), |select| select.to_string());
                (source.to_owned(), source.to_owned(), metric)
            }
            false => {
                let dataset = supergat_data::load(source)?;
                let name = dataset.preset.clone().unwrap_or_default();
                let settings = Settings { select: select(&name), ..Settings::general(GAT) };
                let metric = metric_of(&dataset, &settings).to_string();
                (name, dataset_name(source, &dataset), metric)
            }
        };
        Ok(Self {
            source: source.to_owned(),
            dataset,
            metric,
            row_normalise: ["photo", "computers", "cs", "physics"].contains(&name.as_str()),
            has_splits: ["minesweeper", "chameleon-filtered"].contains(&name.as_str()),
            name,
        })
    }

    /// Returns the k-th split.
    pub(super) fn split(&self, k: u64) -> SplitChoice {
        match self.has_splits {
            true => SplitChoice::Numbered(k as usize),
            false => SplitChoice::Shares { shares: SHARES.parse().expect("three shares"), seed: k },
        }
    }

    /// Returns the settings of a model at a depth, around which a search looks.
    pub(super) fn settings(&self, depth: Depth, model: ModelKind) -> Settings {
        match depth {
            Depth::Published => self.published(model),
            Depth::Deep => self.deep(model),
        }
    }

    /// Returns the settings of two layers: the published ones of the model, else those of GAT on this dataset, else the
    /// general ones.
    ///
    /// All models train for the same epochs without early stopping. The published rules for stopping were tuned for each
    /// model, so they would be compared instead of the models.
    fn published(&self, model: ModelKind) -> Settings {
        let of = |model| Settings::published(&self.name, model);
        let settings = of(model).or_else(|| of(GAT).map(|gat| gat.with_model(model)));
        let settings = settings.unwrap_or_else(|| Settings::general(model));
        settings.with(|s| {
            s.early_stopping.early_stop = false;
            s.training.max_epochs = PUBLISHED_EPOCHS;
            s.select = select(&self.name);
        })
    }

    /// Returns the settings of the published deep network.
    fn deep(&self, model: ModelKind) -> Settings {
        let DeepNetwork { layers, hidden, norm, residual, dropout, lr, lambda_2, max_epochs, .. } =
            deep_network(&self.name);
        Settings::general(model).with(|s| {
            s.network.layers = layers;
            s.network.hidden = hidden;
            s.network.heads = 1;
            s.network.output_heads = 1;
            s.network.norm = norm;
            s.network.residual = residual;
            s.network.activation = Activation::Relu;
            s.network.output_layer = true;
            s.network.attention_dropout = false;
            s.network.dropout = dropout;
            s.training.lr = lr;
            s.training.lambda_2 = lambda_2;
            s.edge_loss.lambda_e = LAMBDA_E;
            s.training.max_epochs = max_epochs;
            s.early_stopping.early_stop = false;
            s.select = select(&self.name);
        })
    }

    /// Returns the search space at a depth: for two layers the paper's hyperparameters, learning rate and dropout; for deep
    /// blocks, the surroundings of the published deep network.
    pub(super) fn space(&self, depth: Depth, model: ModelKind) -> Space {
        if depth == Depth::Published {
            return Space::new(model, &["lr", "dropout"].map(str::to_owned));
        }
        let [layers, hidden] = deep_network(&self.name).searched;
        let mut given = vec![
            ("layers", layers),
            ("hidden", hidden),
            ("heads", "1,2,4"),
            ("norm", "layer,batch"),
            ("residual", "none,linear"),
            ("dropout", "0.2,0.3,0.5,0.7"),
            ("lr", "0.0005..0.02"),
            ("lambda_2", "0,0.00005,0.0005,0.001"),
        ];
        if model.is_self_supervised() {
            given.push(("lambda_e", "0.001..10"));
        }
        let given: Vec<(String, String)> =
            given.into_iter().map(|(name, values)| (name.to_owned(), values.to_owned())).collect();
        Space::with(model, &[], &given).expect("the values are valid for all attention models")
    }
}

/// Returns the score that selects epochs and settings on a dataset; `None` for accuracy.
fn select(dataset: &str) -> Option<Select> {
    (dataset == "minesweeper").then_some(Select::Auroc)
}

#[cfg(test)]
impl DepthGraph {
    /// Gives the graph the settings of another dataset.
    pub(super) fn rename(&mut self, name: &str) {
        name.clone_into(&mut self.name);
        self.has_splits = ["minesweeper", "chameleon-filtered"].contains(&name);
    }
}
