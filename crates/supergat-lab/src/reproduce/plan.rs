//! Which runs a table needs.

use crate::reproduce::paper::{PaperRow, PaperTable};
use crate::settings::Settings;
use crate::sweep::Job;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use supergat_core::ModelKind;
use supergat_data::{SplitChoice, registry};

/// Graphs of more nodes than this are run with fewer seeds, as in the paper.
const MANY_NODES: usize = 50_000;
const SEEDS_OF_MANY_NODES: u64 = 30;

/// Splits of wiki-cs, which the paper's seeds share.
const WIKI_CS: (&str, u64) = ("wiki-cs", 20);

/// Which split each seed trains on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Splits {
    /// All on the one that the paper's table was made with.
    #[default]
    Published,
    /// All on this random one.
    Random {
        /// Its seed.
        seed: u64,
    },
    /// Seed s on random split s.
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

/// The part of a table that is to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The table, with the rows and columns that are wanted.
    pub table: PaperTable,
    /// Which splits.
    pub splits: Splits,
    /// Which seeds: 0, 1, ...; `None`: as many as the paper has.
    pub seeds: Option<u64>,
    /// The split that the table was made with.
    published: SplitChoice,
}

impl Plan {
    /// Of a whole table.
    pub fn new(table: PaperTable, splits: Splits, seeds: Option<u64>) -> supergat_data::Result<Self> {
        let published = table.split.parse()?;
        Ok(Self { table, splits, seeds, published })
    }

    /// Keeps these columns. Those that the table has not are left out.
    pub fn keep_datasets(&mut self, names: &[String]) {
        self.table.datasets.retain(|name| names.contains(name));
    }

    /// Keeps the rows of these models and those that are only reprinted; a model that the table has not gets a row without printed numbers.
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

    /// The runs behind a number.
    pub fn cell(&self, row: &PaperRow, dataset: &str) -> Vec<Job> {
        let Some(settings) = row.model.as_deref().and_then(|model| self.settings(dataset, model)) else {
            return Vec::new();
        };
        let job = |seed| Job { source: dataset.to_owned(), split: self.split(dataset, seed), settings, seed };
        (0..self.seeds_of(dataset)).map(job).collect()
    }

    /// All runs, those of a dataset together.
    pub fn jobs(&self) -> Vec<Job> {
        let cells = self.table.datasets.iter().flat_map(|name| self.table.rows.iter().map(move |row| (row, name)));
        cells.flat_map(|(row, dataset)| self.cell(row, dataset)).collect()
    }

    /// The paper's settings of a model on a dataset, else general ones; `None` where this program has no such model.
    fn settings(&self, dataset: &str, model: &str) -> Option<Settings> {
        let model = model.parse().ok()?;
        let full = if self.published == SplitChoice::FullSupervised { fully_supervised(dataset, model) } else { None };
        Some(full.or_else(|| Settings::published(dataset, model)).unwrap_or_else(|| Settings::general(model)))
    }

    fn seeds_of(&self, dataset: &str) -> u64 {
        let large = registry::entry(dataset).is_some_and(|entry| entry.nodes > MANY_NODES);
        let published = if large { self.table.seeds.min(SEEDS_OF_MANY_NODES) } else { self.table.seeds };
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

/// The paper has settings for full supervision of CGAT only; attention without constraints takes what it shares with it.
fn fully_supervised(dataset: &str, model: ModelKind) -> Option<Settings> {
    let cgat = Settings::published(dataset, ModelKind::Constrained { by_classes: true })?;
    matches!(model, ModelKind::Attention { .. }).then_some(Settings {
        layers: cgat.layers,
        hidden: cgat.hidden,
        heads: cgat.heads,
        output_heads: cgat.output_heads,
        dropout: cgat.dropout,
        lr: cgat.lr,
        lambda_2: cgat.lambda_2,
        max_epochs: cgat.max_epochs,
        early_stop: cgat.early_stop,
        ..Settings::general(model)
    })
}
