//! Runs that a table needs.

use crate::reproduce::paper::{PaperRow, PaperTable};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use supergat_core::{ModelKind, System};
use supergat_data::{SplitChoice, registry};
use supergat_select::sweep::Job;
use supergat_systems::MOST_NODES_OF_LDS;
use supergat_train::settings::Settings;

/// Number of nodes above which the paper uses fewer seeds.
const LARGE_GRAPH_NODES: usize = 50_000;
const LARGE_GRAPH_SEEDS: u64 = 30;
/// Largest number of seeds of systems that train a network many times, unless the user chooses another one.
const SLOW_SYSTEM_SEEDS: u64 = 10;

/// Number of published splits of wiki-cs. Seed s of the paper uses split s modulo this number.
const WIKI_CS: (&str, u64) = ("wiki-cs", 20);

/// Choice of the split that each seed trains on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Splits {
    /// All seeds on the split of the paper's table.
    #[default]
    Published,
    /// All seeds on one random split.
    Random {
        /// Seed of the split.
        seed: u64,
    },
    /// A different random split for each seed: seed s on random split s.
    Redrawn,
}

impl FromStr for Splits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("redrawn", _) => Ok(Self::Redrawn),
            (_, Ok(SplitChoice::Published)) => Ok(Self::Published),
            (_, Ok(SplitChoice::Random { seed })) => Ok(Self::Random { seed }),
            _ => Err("expected published, random, random:SEED or redrawn".into()),
        }
    }
}

impl fmt::Display for Splits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published => f.write_str("published"),
            Self::Random { seed } => write!(f, "random:{seed}"),
            Self::Redrawn => f.write_str("redrawn"),
        }
    }
}

/// The requested part of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TablePlan {
    /// The table, with the requested rows and columns.
    pub table: PaperTable,
    /// Splits to train on.
    pub splits: Splits,
    /// Number of seeds, counted from 0; `None` for the paper's number.
    pub seeds: Option<u64>,
    /// Split of the paper's table.
    published: SplitChoice,
}

impl TablePlan {
    /// Creates a plan for a whole table.
    pub fn new(table: PaperTable, splits: Splits, seeds: Option<u64>) -> supergat_data::Result<Self> {
        let published = table.split.parse()?;
        Ok(Self { table, splits, seeds, published })
    }

    /// Keeps only the columns of `names`. Names that are not in the table are ignored.
    pub fn keep_datasets(&mut self, names: &[String]) {
        self.table.datasets.retain(|name| names.contains(name));
    }

    /// Keeps only the rows of `models` and the reprinted rows without a model of this program. Models that
    /// are not in the table get a row without printed numbers.
    pub fn keep_models(&mut self, models: &[String]) {
        let rows = &mut self.table.rows;
        rows.retain(|row| row.model.as_ref().map_or(row.reprinted, |model| models.contains(model)));
        for model in models {
            if !rows.iter().any(|row| row.model.as_ref() == Some(model)) {
                let (name, model, cells) = (model.clone(), Some(model.clone()), BTreeMap::new());
                rows.push(PaperRow { name, model, reprinted: false, cells });
            }
        }
    }

    /// Returns the runs behind the number of a model on a dataset: none of LDS on graphs that are too large for it.
    pub fn cell(&self, row: &PaperRow, dataset: &str) -> Vec<Job> {
        let Some(settings) = row.model.as_deref().and_then(|model| self.settings(dataset, model)) else {
            return Vec::new();
        };
        let system = settings.model.system();
        if system == Some(System::Lds) && registry::entry(dataset).is_some_and(|entry| entry.nodes > MOST_NODES_OF_LDS)
        {
            return Vec::new();
        }
        let job = |seed| Job { source: dataset.to_owned(), split: self.split(dataset, seed), settings, seed };
        let mut seeds = self.seeds_for(dataset);
        if self.seeds.is_none() && system.is_some_and(System::has_rounds) {
            seeds = seeds.min(SLOW_SYSTEM_SEEDS);
        }
        (0..seeds).map(job).collect()
    }

    /// Returns all runs, grouped by dataset.
    pub fn jobs(&self) -> Vec<Job> {
        let cells = self.table.datasets.iter().flat_map(|name| self.table.rows.iter().map(move |row| (row, name)));
        cells.flat_map(|(row, dataset)| self.cell(row, dataset)).collect()
    }

    /// Returns the paper's settings of a model on a dataset, or the general settings if there are none;
    /// `None` if this program does not have the model.
    fn settings(&self, dataset: &str, model: &str) -> Option<Settings> {
        let model = model.parse().ok()?;
        let full = if self.published == SplitChoice::FullSupervised { fully_supervised(dataset, model) } else { None };
        Some(full.unwrap_or_else(|| Settings::usual(Some(dataset), model)))
    }

    fn seeds_for(&self, dataset: &str) -> u64 {
        let large = registry::entry(dataset).is_some_and(|entry| entry.nodes > LARGE_GRAPH_NODES);
        let published = if large { self.table.seeds.min(LARGE_GRAPH_SEEDS) } else { self.table.seeds };
        self.seeds.unwrap_or(published)
    }

    fn split(&self, dataset: &str, seed: u64) -> SplitChoice {
        match self.splits {
            Splits::Published if dataset == WIKI_CS.0 && self.published == SplitChoice::Published => {
                SplitChoice::Numbered((seed % WIKI_CS.1) as usize)
            }
            Splits::Published => self.published,
            Splits::Random { seed } => SplitChoice::Random { seed },
            Splits::Redrawn => SplitChoice::Random { seed },
        }
    }
}

/// Returns settings for full supervision. The paper has them for CGAT only; attention models without
/// constraints use the values that they share with CGAT.
fn fully_supervised(dataset: &str, model: ModelKind) -> Option<Settings> {
    let cgat = Settings::published(dataset, ModelKind::Constrained { by_classes: true })?;
    matches!(model, ModelKind::Attention { .. }).then_some(Settings::general(model).with(|s| {
        s.network.layers = cgat.network.layers;
        s.network.hidden = cgat.network.hidden;
        s.network.heads = cgat.network.heads;
        s.network.output_heads = cgat.network.output_heads;
        s.network.dropout = cgat.network.dropout;
        s.training.lr = cgat.training.lr;
        s.training.lambda_2 = cgat.training.lambda_2;
        s.training.max_epochs = cgat.training.max_epochs;
        s.early_stopping.early_stop = cgat.early_stopping.early_stop;
    }))
}
