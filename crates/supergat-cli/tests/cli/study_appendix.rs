//! `supergat study`: studies of the appendix.

use crate::support::{Done, SMALL, Workspace, table};

const TINY: &str = "random-partition:classes=2,nodes=170,degree=3";

/// Checks that the folder of a study contains the common files and the given figures.
fn check_files(workspace: &Workspace, folder: &str, figures: &[&str]) {
    let names = workspace.list(folder);
    for name in ["report.html", "table.csv", "table.md"].iter().chain(figures) {
        assert!(names.iter().any(|found| found == name), "{name} is missing among {names:?}");
    }
    assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
    let page = workspace.read(&format!("{folder}/report.html"));
    assert!(page.contains("<svg") && page.ends_with("</html>\n"), "{}", &page[..200]);
    assert!(!page.contains("http:") || !page.contains("src="), "the page must not load other files");
}

fn refused(done: &Done, code: i32, words: &str) {
    assert_eq!(done.code, code, "{done:?}");
    assert!(done.stderr.contains(words) && done.stderr.lines().count() == 1, "{}", done.stderr);
}

#[test]
fn density_study_finds_the_mode_of_a_generated_graph() {
    let workspace = Workspace::new();
    let done = workspace.good(&["study", "density", SMALL, "--json"]);
    check_files(&workspace, "studies/density", &["density.svg", "marginals.svg"]);
    let json = done.json();
    let entry = &json["datasets"][0];
    assert_eq!((entry["dataset"].as_str(), entry["mixture"].as_bool()), (Some("random-partition"), Some(false)));
    let mode = &entry["modes"][0];
    // Nodes have about six neighbours, half of them of the same class.
    let near = |value: f64, low: f64, high: f64| assert!((low..high).contains(&value), "{entry}");
    near(mode["degree"].as_f64().unwrap(), 4.0, 9.0);
    near(mode["homophily"].as_f64().unwrap(), 0.3, 0.7);
    let (header, rows) = table(&workspace.read("studies/density/table.csv"));
    assert_eq!((header[0].as_str(), rows.len()), ("dataset", entry["modes"].as_array().unwrap().len()));
}

#[test]
fn synthetic_study_draws_graphs_of_the_requested_homophily() {
    let workspace = Workspace::new();
    let done = workspace.good(&["study", "synthetic", "--seed", "4"]);
    check_files(&workspace, "studies/synthetic", &["synthetic.svg"]);
    assert_eq!(done.stdout, workspace.read("studies/synthetic/table.md"));
    let (_, rows) = table(&workspace.read("studies/synthetic/table.csv"));
    assert_eq!(rows.len(), 6);
    for row in rows {
        let number = |column: usize| row[column].parse::<f64>().unwrap();
        assert!((number(2) - number(3)).abs() < 0.15 * number(2), "{row:?}");
        assert!((number(4) - number(5)).abs() < 0.1, "{row:?}");
    }
}

#[test]
fn variance_study_reports_simulation_and_networks() {
    let workspace = Workspace::new();
    let done = workspace.good(&["study", "variance", TINY, "--trials", "100", "--seeds", "1", "--json", "-q"]);
    assert!(done.stderr.is_empty(), "{}", done.stderr);
    check_files(&workspace, "studies/variance", &["variance-formula.svg", "variance-layers.svg", "layers.csv"]);
    let json = done.json();
    assert_eq!(json["simulation"].as_array().unwrap().len(), 9 + 6 + 6);
    let network = &json["network"];
    assert_eq!((network[0]["model"].as_str(), network[1]["model"].as_str()), (Some("gat-go"), Some("gat-dp")));
    assert_eq!(network[0]["runs"][0]["after"].as_array().unwrap().len(), 4);
}

#[test]
fn sensitivity_study_skips_finished_runs() {
    let workspace = Workspace::new();
    let args = ["study", "sensitivity", TINY, "--seeds", "1", "--out", "s"];
    let done = workspace.good(&args);
    assert!(done.stderr.contains("17 new, 0 already done"), "{}", done.stderr);
    let figure = "sensitivity-random-partition-classes-2-nodes-170-degree-3.svg";
    check_files(&workspace, "s", &[figure, "results.jsonl"]);
    let (header, rows) = table(&workspace.read("s/table.csv"));
    assert_eq!((header[3].as_str(), rows.len()), ("varied", 8 + 5 + 6));
    assert!(rows.iter().all(|row| (0.0..=1.0).contains(&row[6].parse().unwrap())), "metrics are no per cent: {rows:?}");
    let tables = workspace.read("s/table.md");
    let again = workspace.good(&args);
    assert!(again.stderr.contains("0 new, 17 already done"), "{}", again.stderr);
    assert_eq!(workspace.read("s/table.md"), tables);
}

#[test]
fn rejects_invalid_input_with_one_line() {
    let workspace = Workspace::new();
    refused(&workspace.run(&["study", "density", "nowhere"]), 2, "nowhere");
    refused(&workspace.run(&["study", "density"]), 2, "required");
    let unlinked = "random-partition:classes=2,nodes=170,degree=0";
    refused(&workspace.run(&["study", "density", unlinked]), 2, "no node has a labelled neighbour");
    let model = workspace.run(&["study", "sensitivity", SMALL, "--model", "gat-go"]);
    refused(&model, 2, "--model gat-go: it has no self-supervision to vary");
    refused(&workspace.run(&["study", "sensitivity", SMALL, "--model", "gat-og"]), 2, "unknown model `gat-og`");
    refused(&workspace.run(&["study", "variance", "nowhere"]), 2, "nowhere");
    refused(&workspace.run(&["study", "variance", SMALL, "--trials", "3"]), 2, "--trials");
    refused(&workspace.run(&["study", "varianse"]), 2, "variance");
    workspace.write("file", "");
    refused(&workspace.run(&["study", "synthetic", "--out", "file/below"]), 1, "cannot write file/below");
}
