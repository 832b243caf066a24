//! Numbers printed in the paper.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use supergat_numerics::statistics::{from_percent, to_percent};

/// All tables, as JSON. Metrics are in per cent.
const PAPER: &str = include_str!("paper.json");

/// A table of the paper.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PaperTable {
    /// Name on the command line.
    pub id: String,
    /// Title.
    pub title: String,
    /// Train/validation/test split of its runs.
    pub split: String,
    /// Number of seeds behind each number; at most 30 for graphs of more than 50,000 nodes.
    pub seeds: u64,
    /// Datasets, which are the columns.
    pub datasets: Vec<String>,
    /// Rows, one per model.
    pub rows: Vec<PaperRow>,
}

/// A row of a table of the paper: one model on all datasets.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PaperRow {
    /// Model name in the paper.
    pub name: String,
    /// Model name in this program; `None` if this program does not have the model.
    #[serde(default)]
    pub model: Option<String>,
    /// Whether the paper copied the numbers from another paper.
    #[serde(default)]
    pub reprinted: bool,
    /// Printed numbers by dataset.
    pub cells: BTreeMap<String, PrintedNumber>,
}

/// A number printed in the paper: a metric from 0 to 1, or seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PrintedNumber {
    /// Mean over seeds.
    pub mean: f64,
    /// Standard deviation, if printed.
    #[serde(default)]
    pub std: Option<f64>,
}

impl PrintedNumber {
    /// Returns a metric in per cent, as printed.
    pub(crate) fn in_percent(self) -> Self {
        Self { mean: to_percent(self.mean), std: self.std.map(to_percent) }
    }
}

impl fmt::Display for PrintedNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.std {
            Some(std) => write!(f, "{:.1} ± {std:.1}", self.mean),
            None => write!(f, "{:.1}", self.mean),
        }
    }
}

#[derive(Deserialize)]
struct Paper {
    tables: Vec<PaperTable>,
    wall_clock: PaperTable,
}

fn paper() -> Paper {
    serde_json::from_str(PAPER).expect("checked by a test")
}

/// Returns the paper's tables of accuracies and F1 scores, from 0 to 1.
pub fn tables() -> Vec<PaperTable> {
    let mut tables = paper().tables;
    for cell in tables.iter_mut().flat_map(|table| &mut table.rows).flat_map(|row| row.cells.values_mut()) {
        *cell = PrintedNumber { mean: from_percent(cell.mean), std: cell.std.map(from_percent) };
    }
    tables
}

/// Returns the paper's table of training times, in seconds on the authors' GPU.
pub fn wall_clock() -> PaperTable {
    paper().wall_clock
}

/// Returns the paper's name of a model. A model that is in none of its tables keeps its name.
pub fn printed_name(model: &str) -> String {
    let mut rows = tables().into_iter().flat_map(|table| table.rows);
    rows.find(|row| row.model.as_deref() == Some(model)).map_or_else(|| model.to_owned(), |row| row.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_consistent() {
        let all = tables();
        assert_eq!(
            all.iter().map(|t| t.id.as_str()).collect::<Vec<_>>(),
            ["planetoid", "real-world", "ppi", "full-supervised"]
        );
        for table in all.iter().chain([&wall_clock()]) {
            assert!(table.datasets.iter().all(|name| supergat_data::KNOWN.contains(&name.as_str())), "{}", table.id);
            for row in &table.rows {
                assert!(row.cells.keys().all(|name| table.datasets.contains(name)), "{} {}", table.id, row.name);
                assert!(row.cells.values().all(|cell| cell.mean > 0.0 && cell.std.is_none_or(|std| std > 0.0)));
            }
            assert!(table.rows.iter().any(|row| row.model.as_deref() == Some("gat-go")), "{}", table.id);
        }
        let columns: usize = all.iter().take(3).map(|table| table.datasets.len()).sum();
        assert_eq!(columns, supergat_data::KNOWN.len(), "each dataset of the paper is in one table");
    }

    #[test]
    fn sample_numbers_equal_the_paper() {
        let planetoid = &tables()[0];
        let row = planetoid.rows.iter().find(|row| row.name == "SuperGAT-MX").unwrap();
        assert_eq!(row.cells["cora"], PrintedNumber { mean: 0.843, std: Some(0.006) });
        let lds = planetoid.rows.iter().find(|row| row.name == "LDS").unwrap();
        let names = ["supergat-sd", "sage", "mlp"].map(printed_name);
        assert_eq!(names, ["SuperGAT-SD", "GraphSAGE", "mlp"]);
        assert!(lds.reprinted && lds.model.as_deref() == Some("lds") && !lds.cells.contains_key("pubmed"));
    }
}
