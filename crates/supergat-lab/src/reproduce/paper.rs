//! The numbers that the paper prints.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All tables.
const PAPER: &str = include_str!("paper.json");

/// A table of the paper.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PaperTable {
    /// What it is called on the command line.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The split behind it.
    pub split: String,
    /// Seeds behind each number; 30 for graphs of more than 50,000 nodes.
    pub seeds: u64,
    /// Its columns.
    pub datasets: Vec<String>,
    /// Its rows.
    pub rows: Vec<PaperRow>,
}

/// A row of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PaperRow {
    /// What the paper calls the model.
    pub name: String,
    /// What this program calls it; `None`: it is not part of this program.
    #[serde(default)]
    pub model: Option<String>,
    /// Whether the paper copied the numbers from another paper.
    #[serde(default)]
    pub reprinted: bool,
    /// The numbers by dataset.
    pub cells: BTreeMap<String, Figure>,
}

/// A printed number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Mean over the seeds.
    pub mean: f64,
    /// Standard deviation, where it is printed.
    #[serde(default)]
    pub std: Option<f64>,
}

#[derive(Deserialize)]
struct Paper {
    tables: Vec<PaperTable>,
    wall_clock: PaperTable,
}

fn paper() -> Paper {
    serde_json::from_str(PAPER).expect("checked by a test")
}

/// The tables of accuracies and F1 scores.
pub fn tables() -> Vec<PaperTable> {
    paper().tables
}

/// The table of training times, in seconds on the authors' graphics card.
pub fn wall_clock() -> PaperTable {
    paper().wall_clock
}

/// What the paper's tables call a model of this program; one that is in none keeps its name.
pub fn printed_name(model: &str) -> String {
    let mut rows = tables().into_iter().flat_map(|table| table.rows);
    rows.find(|row| row.model.as_deref() == Some(model)).map_or_else(|| model.to_owned(), |row| row.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_sound() {
        let all = tables();
        assert_eq!(
            all.iter().map(|t| t.id.as_str()).collect::<Vec<_>>(),
            ["planetoid", "real-world", "ppi", "full-supervised"]
        );
        for table in all.iter().chain([&wall_clock()]) {
            assert!(table.datasets.iter().all(|name| supergat_data::KNOWN.contains(&name.as_str())), "{}", table.id);
            for row in &table.rows {
                assert!(row.cells.keys().all(|name| table.datasets.contains(name)), "{} {}", table.id, row.name);
                assert!(row.cells.values().all(|figure| figure.mean > 0.0 && figure.std.is_none_or(|std| std > 0.0)));
            }
            assert!(table.rows.iter().any(|row| row.model.as_deref() == Some("gat-go")), "{}", table.id);
        }
        let columns: usize = all.iter().take(3).map(|table| table.datasets.len()).sum();
        assert_eq!(columns, supergat_data::KNOWN.len(), "every dataset of the paper once");
    }

    #[test]
    fn some_numbers_as_printed() {
        let planetoid = &tables()[0];
        let row = planetoid.rows.iter().find(|row| row.name == "SuperGAT-MX").unwrap();
        assert_eq!(row.cells["cora"], Figure { mean: 84.3, std: Some(0.6) });
        let lds = planetoid.rows.iter().find(|row| row.name == "LDS").unwrap();
        let names = ["supergat-sd", "sage", "mlp"].map(printed_name);
        assert_eq!(names, ["SuperGAT-SD", "GraphSAGE", "mlp"]);
        assert!(lds.reprinted && lds.model.is_none() && !lds.cells.contains_key("pubmed"));
    }
}
