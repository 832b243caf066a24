//! `supergat datasets`

use crate::args::DatasetsArgs;
use crate::error::Result;
use crate::output::{self, BOLD, SCHEMA};
use serde::Serialize;
use std::process::ExitCode;
use supergat_data::registry::{self, Entry};

/// The list.
#[derive(Debug, Serialize)]
struct Listing {
    schema: u32,
    datasets: Vec<Listed>,
}

/// A published dataset.
#[derive(Debug, Serialize)]
struct Listed {
    name: &'static str,
    nodes: usize,
    edges: usize,
    features: usize,
    classes: usize,
    licence: &'static str,
    home: &'static str,
    files: Vec<&'static str>,
    /// The folder on this machine.
    place: Option<String>,
}

/// Lists the published datasets.
pub fn run(args: &DatasetsArgs) -> Result<ExitCode> {
    let listing = Listing { schema: SCHEMA, datasets: registry::ENTRIES.iter().map(listed).collect() };
    if args.json {
        output::print_json(&listing)?;
    } else {
        output::print(&table(&listing.datasets))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(entry: &Entry) -> Listed {
    let &Entry { name, nodes, edges, features, classes, licence, home, files } = entry;
    let place = registry::local_folder(name).map(|place| place.display().to_string());
    Listed {
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

fn table(datasets: &[Listed]) -> String {
    let mut text = format!(
        "{BOLD}{:<12}{:>8}{:>9}{:>10}{:>9}  {:<11} on this machine{BOLD:#}\n",
        "name", "nodes", "links", "features", "classes", "licence"
    );
    for Listed { name, nodes, edges, features, classes, licence, place, .. } in datasets {
        let place = place.as_deref().unwrap_or("no");
        text += &format!("{name:<12}{nodes:>8}{edges:>9}{features:>10}{classes:>9}  {licence:<11} {place}\n");
    }
    text + "`supergat download NAME` fetches one.\n"
}
