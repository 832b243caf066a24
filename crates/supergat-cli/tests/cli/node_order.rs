//! `--node-order`

use crate::support::{Done, SMALL, Workspace};

#[test]
fn training_records_the_order_and_repeats_it() {
    let workspace = Workspace::new();
    let done = workspace.train("local", &["--node-order", "local"]);
    assert!(done.stderr.contains("note: the engine computes with the nodes in an order that keeps"), "{}", done.stderr);
    assert_eq!(workspace.json("local/summary.json")["node_order"], "local");
    let config = workspace.read("local/config.toml");
    assert!(config.contains("\nnode_order = \"local\"\n"), "{config}");
    workspace.good(&["train", "--config", "local/config.toml", "--out", "again"]);
    assert_eq!(workspace.bytes("again/model.safetensors"), workspace.bytes("local/model.safetensors"));
    // The model file names the choice, so predictions have the same bits.
    let predicted = workspace.good(&["predict", "local"]).stdout;
    assert_eq!(predicted, workspace.read("local/predictions.csv"));

    let plain = workspace.train("plain", &[]);
    assert!(!plain.stderr.contains("the engine computes"), "{}", plain.stderr);
    assert_eq!(workspace.json("plain/summary.json")["node_order"], "given");
    workspace.train("given", &["--node-order", "given"]);
    assert_eq!(workspace.bytes("given/predictions.csv"), workspace.bytes("plain/predictions.csv"));
    assert_ne!(workspace.bytes("local/predictions.csv"), workspace.bytes("plain/predictions.csv"));
}

#[test]
fn converted_files_store_the_order() {
    let workspace = Workspace::new();
    let convert = |file: &str, more: &[&str]| {
        let args = ["convert", SMALL, file, "--json"];
        workspace.good(&[&args[..], more].concat()).json()["node_order"].clone()
    };
    assert_eq!(convert("plain.safetensors", &[]), "given");
    assert_eq!(convert("local.safetensors", &["--node-order", "local"]), "local");
    assert_eq!(convert("tables", &["--node-order", "local"]), "given");
    assert_eq!(convert("parts.safetensors", &["--node-order", "local", "--parts", "3"]), "parts");
    let order = |file: &str, more: &[&str]| {
        let args = ["profile", file, "--epochs", "1", "--json"];
        workspace.good(&[&args[..], more].concat()).json()["node_order"].clone()
    };
    assert_eq!(order("plain.safetensors", &[]), "given");
    assert_eq!(order("local.safetensors", &[]), "local");
    assert_eq!(order("local.safetensors", &["--node-order", "given"]), "given");
    assert_eq!(order("parts.safetensors", &["--node-order", "given"]), "parts");
}

#[test]
fn order_is_stored_in_the_cache() {
    let workspace = Workspace::new();
    let profile = |more: &[&str]| {
        let mut command = workspace.command(&["profile", SMALL, "--node-order", "local", "--epochs", "1", "--json"]);
        let done = Done::of({
            command.args(more).env("SUPERGAT_CACHE_SECONDS", "0");
            command
        });
        assert_eq!(done.json()["node_order"], "local", "{done:?}");
    };
    let names = || {
        let list = workspace.good(&["cache", "--json"]).json();
        list["datasets"].as_array().unwrap().iter().map(|entry| entry["dataset"].clone()).collect::<Vec<_>>()
    };
    profile(&["--no-cache"]);
    assert!(names().is_empty());
    profile(&[]);
    profile(&[]);
    assert_eq!(names(), ["random-partition (order of nodes)"]);
}

#[test]
fn searches_use_the_order() {
    let workspace = Workspace::new();
    let tune = |out: &str, order: &str| {
        let args = ["tune", SMALL, "--model", "supergat-mx", "--max-epochs", "5", "--seeds", "1", "--trials", "2"];
        workspace.good(&[&args[..], &["--node-order", order, "--out", out]].concat());
        let lines = workspace.read(&format!("{out}/results.jsonl"));
        let loss = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["test"]["loss"].to_string();
        let mut losses: Vec<String> = lines.lines().map(loss).collect();
        // Parallel runs end in any order.
        losses.sort();
        losses
    };
    let given = tune("given", "given");
    assert_eq!(given, tune("auto", "auto"));
    assert_ne!(given, tune("local", "local"));
}

#[test]
fn rejects_unknown_orders() {
    let workspace = Workspace::new();
    let done = workspace.run(&["train", SMALL, "--node-order", "metis"]);
    assert!(done.code == 2 && done.stderr.contains("auto, given, local"), "{done:?}");
    workspace.write("wrong.toml", "node_order = \"metis\"\n");
    let done = workspace.run(&["train", SMALL, "--config", "wrong.toml"]);
    assert!(done.code == 2 && done.stderr.contains("wrong.toml, line 1"), "{done:?}");
    assert!(done.stderr.contains("expected auto, given or local"), "{done:?}");
}
