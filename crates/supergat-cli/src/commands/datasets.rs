//! Implementation of `supergat datasets`.

use crate::args::DatasetsArgs;
use crate::error::Result;
use crate::output::{self, BOLD, SCHEMA};
use serde::Serialize;
use std::process::ExitCode;
use supergat_data::registry::{self, Entry};

/// List of datasets printed by `--json`.
#[derive(Debug, Serialize)]
struct DatasetsOutput {
    schema: u32,
    datasets: Vec<DatasetInfo>,
}

/// Published dataset, and its folder on this machine.
#[derive(Debug, Serialize)]
struct DatasetInfo {
    name: &'static str,
    nodes: usize,
    edges: usize,
    features: usize,
    classes: usize,
    licence: &'static str,
    home: &'static str,
    files: Vec<&'static str>,
    /// Folder on this machine, if there is one.
    place: Option<String>,
}

/// Lists the published datasets.
pub fn run(args: &DatasetsArgs) -> Result<ExitCode> {
    let list = DatasetsOutput { schema: SCHEMA, datasets: registry::all().map(dataset_info).collect() };
    output::print_result(args.json, &list, || table(&list.datasets))
}

fn dataset_info(entry: &Entry) -> DatasetInfo {
    let &Entry { name, nodes, edges, features, classes, licence, home, files } = entry;
    let place = registry::local_folder(name).map(|place| place.display().to_string());
    DatasetInfo {
        name,
        nodes,
        edges,
        features,
        classes,
        licence,
        home,
        files: files.iter().map(|file| file.url).collect(),
        place,
    }
}

fn table(datasets: &[DatasetInfo]) -> String {
    let mut text = format!(
        "{BOLD}{:<20}{:>8}{:>9}{:>10}{:>9}  {:<11} on this machine{BOLD:#}\n",
        "name", "nodes", "links", "features", "classes", "licence"
    );
    for DatasetInfo { name, nodes, edges, features, classes, licence, place, .. } in datasets {
        let place = place.as_deref().unwrap_or("no");
        text += &format!("{name:<20}{nodes:>8}{edges:>9}{features:>10}{classes:>9}  {licence:<11} {place}\n");
    }
    text + "`supergat download NAME` downloads a dataset.\n"
}
