//! The graphs of the study.

use serde::Serialize;
use supergat_core::Select;
use supergat_data::SplitChoice;
use supergat_select::recommend::MetricChoice;
use supergat_select::sweep::dataset_name;

/// A graph of the study: a dataset, or a variant of one, with shares of its nodes for training, validation and testing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StudyGraph {
    /// Dataset: any source that `supergat_data::load` accepts.
    pub source: String,
    /// Name of the dataset in results.
    pub(super) dataset: String,
    /// Shares of training, validation and test nodes, in per cent.
    pub shares: String,
    /// Whether models are selected and judged by AUROC instead of accuracy.
    pub auroc: bool,
}

const MANY: &str = "60/20/20";
const SOME: &str = "10/20/70";
const FEW: &str = "3/7/90";

/// The usual graphs: real ones with many and few labels, parts of large ones, noisy links, noisy features, and other
/// labels. The third value says whether AUROC is the metric.
pub const GRAPHS: [(&str, &str, bool); 36] = [
    ("cora", MANY, false),
    ("cora", FEW, false),
    ("citeseer", MANY, false),
    ("citeseer", FEW, false),
    ("variant:nodes=4000,of=pubmed", MANY, false),
    ("variant:nodes=4000,of=pubmed", FEW, false),
    ("cora-ml", MANY, false),
    ("cora-ml", FEW, false),
    ("variant:nodes=4000,of=dblp", MANY, false),
    ("variant:nodes=4000,of=dblp", FEW, false),
    ("four-univ", MANY, false),
    ("four-univ", SOME, false),
    ("chameleon", MANY, false),
    ("chameleon", SOME, false),
    ("chameleon-filtered", MANY, false),
    ("variant:nodes=3000,of=crocodile", MANY, false),
    ("variant:nodes=2500,of=photo", MANY, false),
    ("variant:nodes=2500,of=photo", FEW, false),
    ("variant:nodes=2500,of=computers", MANY, false),
    ("variant:nodes=3000,of=cs", MANY, false),
    ("variant:nodes=3000,of=cs", FEW, false),
    ("variant:nodes=3000,of=physics", MANY, false),
    ("variant:nodes=3000,of=physics", FEW, false),
    ("variant:loss=0.5,of=cora-ml", SOME, false),
    ("variant:nodes=3000,noise=1,of=physics", SOME, false),
    ("variant:nodes=3000,of=crocodile", SOME, false),
    ("variant:nodes=2500,of=computers", FEW, false),
    ("variant:nodes=4000,of=minesweeper", MANY, true),
    ("variant:nodes=4000,of=minesweeper", SOME, true),
    ("variant:noise=1,of=cora", SOME, false),
    ("variant:nodes=2500,noise=1,of=photo", SOME, false),
    ("variant:feature-noise=0.7,of=cora", SOME, false),
    ("variant:feature-noise=1,of=citeseer", SOME, false),
    ("variant:nodes=3000,labels=merged,classes=2,of=cs", SOME, false),
    ("variant:labels=degree,classes=4,of=cora-ml", MANY, false),
    ("variant:labels=degree,classes=4,of=chameleon-filtered", SOME, false),
];

impl StudyGraph {
    /// Returns the usual graphs.
    pub fn all() -> Vec<Self> {
        GRAPHS.into_iter().map(|(source, shares, auroc)| Self::new(source, shares, auroc)).collect()
    }

    /// Describes a graph that is known by its name or generated.
    pub(super) fn new(source: &str, shares: &str, auroc: bool) -> Self {
        Self { source: source.to_owned(), dataset: source.to_owned(), shares: shares.to_owned(), auroc }
    }

    /// Describes any graph, such as one in a folder. It is judged by AUROC if one of two classes is rare.
    pub fn read(source: &str, shares: &str) -> supergat_data::Result<Self> {
        let dataset = supergat_data::load(source)?;
        let usual = MetricChoice::new(&dataset, None).ok();
        let auroc = usual.is_some_and(|(metric, _)| metric.select == Some(Select::Auroc));
        Ok(Self { dataset: dataset_name(source, &dataset), ..Self::new(source, shares, auroc) })
    }

    /// Returns the dataset that the graph is derived from. Graphs of one original are left out together.
    pub(super) fn original(&self) -> &str {
        match self.source.rsplit("of=").next().unwrap_or_default() {
            "cora-ml" => "cora",
            "chameleon-filtered" => "chameleon",
            other => other,
        }
    }

    /// Returns the name in tables: the source and the share of training nodes.
    pub fn name(&self) -> String {
        let train = self.shares.split('/').next().unwrap_or_default();
        let source = self.source.strip_prefix("variant:").map_or_else(
            || self.source.clone(),
            |variant| match variant.split_once("of=") {
                Some((changes, of)) => format!("{of} ({})", changes.trim_end_matches(',').replace(',', ", ")),
                None => variant.to_owned(),
            },
        );
        format!("{source}, {train} %")
    }

    /// Returns the k-th split.
    pub(super) fn split(&self, k: u64) -> SplitChoice {
        SplitChoice::Shares { shares: self.shares.parse().expect("three shares"), seed: k }
    }

    /// Returns the score that selects epochs; `None` for accuracy.
    pub(super) fn select(&self) -> Option<Select> {
        self.auroc.then_some(Select::Auroc)
    }
}
