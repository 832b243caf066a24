//! Training on graphs without features: `--features` and `--add-features`.

use crate::support::Workspace;

/// Writes a graph of cliques (red) and of rings (blue) with `count` groups of four nodes, chained by single links.
fn shapes(workspace: &Workspace, folder: &str, count: usize, labels: bool) {
    let mut nodes = String::from(if labels { "id,label\n" } else { "id\n" });
    let mut edges = String::new();
    for group in 0..count {
        let clique = group % 2 == 0;
        let node = |k: usize| 4 * group + k;
        for k in 0..4 {
            let label = if clique { ",red" } else { ",blue" };
            nodes += &format!("n{}{}\n", node(k), if labels { label } else { "" });
            edges += &format!("n{},n{}\n", node(k), node((k + 1) % 4));
        }
        if clique {
            edges += &format!("n{},n{}\nn{},n{}\n", node(0), node(2), node(1), node(3));
        }
        if group > 0 {
            edges += &format!("n{},n{}\n", node(0), 4 * group - 1);
        }
    }
    workspace.write(&format!("{folder}/nodes.csv"), nodes);
    workspace.write(&format!("{folder}/edges.csv"), edges);
}

#[test]
fn trains_on_tables_without_features_and_predicts_on_another_graph() {
    let workspace = Workspace::new();
    shapes(&workspace, "shapes", 30, true);
    let done = workspace.run(&["train", "shapes"]);
    assert!(done.code == 2 && done.stderr.contains("--features structural"), "{}", done.stderr);

    let settings = ["--model", "gcn", "--max-epochs", "60", "--features", "structural", "--out", "run", "--json"];
    let done = workspace.good(&[&["train", "shapes"][..], &settings].concat());
    assert!(done.stderr.contains("note: 9 structural features computed from the graph"), "{}", done.stderr);
    let config = workspace.read("run/config.toml");
    assert!(config.contains("features = \"structural\""), "{config}");
    let evaluation = workspace.good(&["evaluate", "run", "--json"]).json();
    assert!(evaluation["test"]["metric"].as_f64().unwrap() > 0.85, "{evaluation}");
    workspace.good(&["train", "--config", "run/config.toml", "--out", "again", "--quiet"]);
    assert!(workspace.bytes("run/metrics.jsonl") == workspace.bytes("again/metrics.jsonl"));
    assert!(workspace.good(&["predict", "run"]).stdout == workspace.read("run/predictions.csv"));

    shapes(&workspace, "labelled", 9, true);
    let evaluation = workspace.good(&["evaluate", "run", "labelled", "--json"]).json();
    assert_eq!(evaluation["test"]["nodes"], 36);
    assert!(evaluation["test"]["metric"].as_f64().unwrap() > 0.85, "{evaluation}");
    shapes(&workspace, "new", 5, false);
    assert_eq!(workspace.good(&["predict", "run", "new"]).stdout.lines().count(), 21);
}

#[test]
fn spectral_models_are_bound_to_their_graph() {
    let workspace = Workspace::new();
    shapes(&workspace, "shapes", 12, true);
    let settings = ["--model", "gat-go", "--max-epochs", "3", "--features", "spectral:8", "--out", "run"];
    workspace.good(&[&["train", "shapes"][..], &settings].concat());
    assert!(workspace.good(&["predict", "run", "shapes"]).stdout == workspace.read("run/predictions.csv"));
    shapes(&workspace, "other", 8, true);
    let done = workspace.run(&["evaluate", "run", "other"]);
    assert_eq!(done.code, 2);
    let expected = "other: the model was trained with spectral features, which have no meaning on another graph";
    assert!(done.stderr.contains(expected), "{}", done.stderr);
}

#[test]
fn every_command_that_reads_a_dataset_computes_features() {
    let workspace = Workspace::new();
    shapes(&workspace, "shapes", 12, true);
    let features = ["--features", "structural,spectral:3"];
    let inspected = workspace.good(&[&["inspect", "shapes", "--json"][..], &features].concat()).json();
    assert_eq!(inspected["features"], 12, "{inspected}");
    workspace.good(&[&["recommend", "shapes", "--seconds", "1"][..], &features].concat());
    workspace.good(&[&["profile", "shapes", "--epochs", "1", "--model", "gcn"][..], &features].concat());
    workspace.good(&[&["convert", "shapes", "shapes.safetensors"][..], &features].concat());
    assert_eq!(workspace.good(&["inspect", "shapes.safetensors", "--json"]).json()["features"], 12);
    let added = ["inspect", "shapes.safetensors", "--json", "--add-features", "structural"];
    assert_eq!(workspace.good(&added).json()["features"], 21);
    let done = workspace.run(&[&["tune", "shapes"][..], &features].concat());
    assert!(done.code == 2 && done.stderr.contains("tune does not read features: convert the dataset"), "{done:?}");
    let done = workspace.run(&[&["inspect", "shapes", "--add-features", "structural"][..], &features].concat());
    assert!(done.code == 2 && done.stderr.contains("exclude each other"), "{done:?}");
    let done = workspace.run(&["inspect", "shapes", "--features", "degrees"]);
    assert!(done.code == 2 && done.stderr.contains("expected structural, spectral:COUNT"), "{done:?}");
}
