//! `supergat evaluate` and `supergat predict` with a saved model.

use crate::support::{SMALL, Workspace, keys};

#[test]
fn predict_reproduces_the_predictions_of_the_run() {
    let workspace = Workspace::new();
    workspace.train("run", &["--seeds", "2"]);
    let expected = workspace.read("run/predictions.csv");
    assert!(workspace.good(&["predict", "run"]).stdout == expected);
    assert!(workspace.good(&["predict", "run/model.safetensors", SMALL]).stdout == expected);
    let done = workspace.good(&["predict", "run", "--out", "p.csv", "--json"]);
    assert!(workspace.read("p.csv") == expected);
    let object = done.json();
    assert_eq!(keys(&object), ["classes", "dataset", "file", "graphs", "model", "nodes", "schema"]);
    assert_eq!((&object["file"], &object["nodes"], &object["classes"]), (&"p.csv".into(), &540.into(), &3.into()));
    // An existing file is replaced, and no temporary file remains.
    workspace.write("p.csv", "old");
    workspace.good(&["predict", "run", "--out", "p.csv"]);
    assert!(workspace.read("p.csv") == expected);
    assert_eq!(workspace.list("."), ["p.csv", "run"]);
    let other = format!("{SMALL},seed=1");
    assert!(
        workspace.good(&["predict", "run", &other]).stdout != expected,
        "another graph must have other predictions"
    );
}

#[test]
fn evaluate_reproduces_the_summary() {
    let workspace = Workspace::new();
    workspace.train("run", &["--seeds", "3"]);
    let summary = workspace.json("run/summary.json");
    let best = summary["seeds"].as_array().unwrap().iter().position(|seed| *seed == summary["best_seed"]).unwrap();
    let object = workspace.good(&["evaluate", "run", "--json"]).json();
    assert_eq!(keys(&object), ["dataset", "metric", "model", "schema", "test", "train", "validation"]);
    assert_eq!(object["test"]["metric"], summary["test"]["values"][best]);
    assert_eq!(object["validation"]["metric"], summary["validation"]["values"][best]);
    assert_eq!(keys(&object["test"]), ["classes", "loss", "metric", "metrics", "nodes"]);
    let nodes = ["train", "validation", "test"].map(|split| object[split]["nodes"].as_u64().unwrap());
    assert_eq!(nodes, [60, 150, 300]);
    // The loss is that of the best epoch.
    let line = workspace.read("run/metrics.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).find(
        |line: &serde_json::Value| {
            line["seed"] == summary["best_seed"] && line["epoch"] == summary["best_epochs"][best]
        },
    );
    let (seen, found) = (&line.unwrap()["validation_loss"], &object["validation"]["loss"]);
    assert!((seen.as_f64().unwrap() - found.as_f64().unwrap()).abs() < 1e-9);

    let text = workspace.good(&["evaluate", "run"]).stdout;
    let test = format!("{:.2} %", 100.0 * object["test"]["metric"].as_f64().unwrap());
    assert!(text.lines().any(|line| line.starts_with("  test") && line.contains(&test)), "{text}");
}

#[test]
fn finds_the_dataset_from_another_working_directory() {
    let Some(folder) = crate::support::published("cora") else { return };
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("elsewhere")).unwrap();
    let cora = folder.to_str().unwrap();
    workspace.good(&["train", cora, "--model", "gat-go", "--max-epochs", "2", "--out", "run"]);
    let mut command = workspace.command(&["predict", "../run"]);
    let output = crate::running::output(command.current_dir(workspace.path("elsewhere")));
    assert!(output.stdout == workspace.bytes("run/predictions.csv"));
}
