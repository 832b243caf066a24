//! Model files: weights and architecture as a checkpoint, the card in its metadata, splits as lists.

use crate::classifier::{Card, Classifier};
use crate::error::{Error, Result};
use crate::members::Member;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;
use supergat_core::Architecture;
use supergat_cpu::Checkpoint;
use supergat_data::options::Origin;
use supergat_data::schema::Schema;
use supergat_data::{FeatureChoice, NodeOrderChoice, SplitChoice, TableOptions, atomic};
use supergat_numerics::metrics::{COLDEST, HOTTEST};
use supergat_train::{Corrector, Decision, Fitted};

/// Name of the model file in a run folder, which [`Classifier::load`] opens.
pub const MODEL_FILE: &str = "model.safetensors";

const NAME: &str = "dataset";
const SOURCE: &str = "dataset_source";
const SPLIT: &str = "split";
const CLASS_NAMES: &str = "class_names";
const COMPUTED_FEATURES: &str = "computed_features";
const TABLE_OPTIONS: &str = "table_options";
const NODE_ORDER: &str = "node_order";
const FEATURE_COLUMNS: &str = "feature_columns";
const LINK_COLUMNS: &str = "link_columns";
const SETTINGS: &str = "settings";
const SEED: &str = "seed";
const BEST_EPOCH: &str = "best_epoch";
const DECISION: &str = "decision";
const SUPERGAT_VERSION: &str = "supergat_version";
/// Entry of each member of an ensemble.
const MEMBER: &str = "member";
const LISTS: [&str; 3] = ["train", "validation", "test"];

/// Run of a member of an ensemble. A single model has these values in its card.
#[derive(Debug, Serialize, Deserialize)]
struct MemberEntry {
    seed: Option<u64>,
    best_epoch: Option<usize>,
    decision: Decision,
}

impl Classifier {
    /// Opens the model of a run folder, or a model file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let given = path.as_ref();
        let advice = "give the folder of a finished run, or a .safetensors file from one";
        let file = if given.is_dir() { given.join(MODEL_FILE) } else { given.to_owned() };
        let refuse = |path: &Path, reason: String| Error::Open { path: path.to_owned(), reason };
        if !given.exists() {
            return Err(refuse(given, format!("not found: {advice}")));
        }
        if !file.exists() {
            return Err(refuse(given, format!("has no {MODEL_FILE}: {advice}")));
        }
        let bytes = std::fs::read(&file).map_err(|error| refuse(&file, format!("cannot be read: {error}")))?;
        Self::from_bytes(&bytes).map_err(|error| refuse(&file, error.to_string()))
    }

    /// Reads the bytes of a model file of this or an older version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        from_bytes(bytes)
    }

    /// Writes the model to a file, atomically.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("model.safetensors");
    /// let dataset = supergat::load("random-partition:classes=2,nodes=170,degree=4")?;
    /// supergat::Classifier::builder().model("gcn").max_epochs(2).fit(&dataset)?.save(&path)?;
    /// let model = supergat::Classifier::load(&path)?;
    /// assert_eq!(model.predict(&dataset)?.nodes(), 340);
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, bytes) = (path.as_ref(), self.to_bytes());
        atomic::replace(path, |out| out.write_all(&bytes))
            .map_err(|source| Error::Write { path: path.to_owned(), source })
    }

    /// Returns the bytes of a model file (safetensors). Equal models give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(self)
    }
}

/// Returns the name of the list of nodes of a graph and split.
fn list_name(graph: usize, list: &str) -> String {
    format!("split.{graph}.{list}")
}

fn to_bytes(classifier: &Classifier) -> Vec<u8> {
    let Classifier { members, card, splits } = classifier;
    let mut metadata = HashMap::from([
        (NAME, card.dataset.clone()),
        (CLASS_NAMES, json(&card.class_names)),
        (SUPERGAT_VERSION, card.version.clone()),
    ]);
    if let Some(Origin { source, split, features, tables, node_order }) = &card.origin {
        // A relative path must be found again from any folder.
        let absolute = Path::new(source).exists().then(|| std::path::absolute(source).ok()).flatten();
        let source = absolute.map_or_else(|| source.clone(), |path| path.display().to_string());
        metadata.extend([(SOURCE, source), (SPLIT, split.to_string()), (TABLE_OPTIONS, json(tables))]);
        metadata.extend((*features != FeatureChoice::default()).then(|| (COMPUTED_FEATURES, json(features))));
        metadata.extend((*node_order != NodeOrderChoice::Auto).then(|| (NODE_ORDER, node_order.to_string())));
    }
    metadata.extend(card.columns.as_ref().map(|columns| (FEATURE_COLUMNS, json(columns))));
    metadata.extend(card.link_columns.as_ref().map(|columns| (LINK_COLUMNS, json(columns))));
    metadata.extend(card.settings.as_ref().map(|settings| (SETTINGS, json(settings))));
    metadata.extend(card.seed.map(|seed| (SEED, seed.to_string())));
    metadata.extend(card.best_epoch.map(|epoch| (BEST_EPOCH, epoch.to_string())));
    metadata.extend((card.decision != Decision::default()).then(|| (DECISION, json(&card.decision))));
    let lists = splits.iter().enumerate().flat_map(|(graph, lists)| {
        LISTS.iter().zip(lists).map(move |(name, nodes)| (list_name(graph, name), nodes.clone()))
    });
    let mut lists: HashMap<String, Vec<u32>> = lists.collect();
    let mut metadata: HashMap<String, String> =
        metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let checkpoint = |member: &Member| {
        // The first member has the entries that all share.
        let (mut metadata, mut lists) = (std::mem::take(&mut metadata), std::mem::take(&mut lists));
        if members.len() > 1 {
            let Member { seed, best_epoch, ref decision, .. } = *member;
            let entry = MemberEntry { seed, best_epoch, decision: decision.clone() };
            metadata.insert(MEMBER.into(), json(&entry));
        }
        if let Some(corrector) = &member.corrector {
            corrector.store(&mut metadata, &mut lists);
        }
        member.model.checkpoint(metadata, lists)
    };
    Checkpoint::join(&members.iter().map(checkpoint).collect::<Vec<_>>())
}

fn from_bytes(bytes: &[u8]) -> Result<Classifier> {
    let mut checkpoints = Checkpoint::members(bytes)?;
    let (architecture, count) = (checkpoints[0].architecture, checkpoints.len());
    if checkpoints.iter().any(|checkpoint| checkpoint.architecture != architecture) {
        return Err(damaged("its models have different architectures".into()));
    }
    let metadata = checkpoints[0].metadata.clone();
    let text = |key: &str| metadata.get(key).map(String::as_str);
    // A file of version 1 lacks some entries, and has a network.
    let class_names: Option<Vec<String>> = parsed(text(CLASS_NAMES))?;
    let numbered = || (0..architecture.classes).map(|class| class.to_string()).collect();
    let class_names = class_names.or_else(|| architecture.model.is_network().then(numbered)).unwrap_or_default();
    if class_names.len() != architecture.classes {
        let (expected, found) = (architecture.classes, class_names.len());
        return Err(damaged(format!("expected the names of {expected} classes, found {found}")));
    }
    let origin = match text(SOURCE) {
        Some(source) => Some(Origin {
            source: source.to_owned(),
            split: text(SPLIT).and_then(|split| split.parse::<SplitChoice>().ok()).unwrap_or_default(),
            features: parsed::<FeatureChoice>(text(COMPUTED_FEATURES))?.unwrap_or_default(),
            tables: parsed::<TableOptions>(text(TABLE_OPTIONS))?.unwrap_or_default(),
            node_order: text(NODE_ORDER).and_then(|order| order.parse().ok()).unwrap_or_default(),
        }),
        None => None,
    };
    let card = Card {
        dataset: text(NAME).unwrap_or_default().to_owned(),
        origin,
        class_names,
        columns: parsed(text(FEATURE_COLUMNS))?,
        link_columns: parsed(text(LINK_COLUMNS))?,
        settings: parsed(text(SETTINGS))?,
        seed: text(SEED).and_then(|seed| seed.parse().ok()),
        best_epoch: text(BEST_EPOCH).and_then(|epoch| epoch.parse().ok()),
        decision: checked(parsed::<Decision>(text(DECISION))?.unwrap_or_default(), &architecture)?,
        version: text(SUPERGAT_VERSION).unwrap_or("unknown").to_owned(),
    };
    let schemas = [card.columns.as_ref(), card.link_columns.as_ref().map(|links| &links.columns)];
    if let Some(name) = schemas.into_iter().flatten().find_map(Schema::damaged_column) {
        return Err(damaged(format!("the numbers of its column `{name}` are not usable")));
    }
    let mut splits = Vec::new();
    let lists = &mut checkpoints[0].lists;
    while lists.contains_key(&list_name(splits.len(), LISTS[0])) {
        splits.push(LISTS.map(|list| lists.remove(&list_name(splits.len(), list)).unwrap_or_default()));
    }
    let member = |mut checkpoint: Checkpoint| {
        let model = Fitted::read(&mut checkpoint)?;
        let Checkpoint { metadata, mut lists, .. } = checkpoint;
        let corrector = Corrector::restore(&metadata, &mut lists, &splits, architecture.classes)?;
        let entry = match parsed::<MemberEntry>(metadata.get(MEMBER).map(String::as_str))?.filter(|_| count > 1) {
            Some(entry) => MemberEntry { decision: checked(entry.decision, &architecture)?, ..entry },
            None if count > 1 => return Err(damaged("one of its models has no seed".into())),
            None => MemberEntry { seed: card.seed, best_epoch: card.best_epoch, decision: card.decision.clone() },
        };
        Ok(Member::new(model, corrector, entry.seed, entry.best_epoch, entry.decision))
    };
    let members = checkpoints.into_iter().map(member).collect::<Result<_>>()?;
    Ok(Classifier { members, card, splits })
}

fn damaged(reason: String) -> Error {
    supergat_core::Error::Checkpoint { reason }.into()
}

/// Checks that a decision of a file can be used with the model.
fn checked(decision: Decision, architecture: &Architecture) -> Result<Decision> {
    let is_usable = |temperature: f64| (COLDEST..=HOTTEST).contains(&temperature);
    let is_binary = architecture.classes == 2 && !architecture.multi_label;
    let is_of_two = decision.threshold.is_none() && decision.positive.is_none() || is_binary;
    if !decision.temperature.is_none_or(is_usable) || !is_of_two || decision.positive_class() > 1 {
        return Err(damaged(format!(
            "its temperature is not between {COLDEST} and {HOTTEST}, or its threshold or positive class is not of two \
             classes"
        )));
    }
    Ok(decision)
}

/// Parses an entry of the metadata, where it is present.
fn parsed<T: serde::de::DeserializeOwned>(text: Option<&str>) -> Result<Option<T>> {
    let read = |text: &str| {
        serde_json::from_str(text).map_err(|error| damaged(format!("an entry of its metadata is unreadable ({error})")))
    };
    text.map(read).transpose()
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("names and plain values")
}
