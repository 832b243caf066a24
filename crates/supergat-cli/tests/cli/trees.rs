//! Boosted trees, and the linear classifier.

use crate::support::{SMALL, Workspace};

const TREES: [&str; 6] = ["train", SMALL, "--model", "trees", "--tree-count", "20"];

#[test]
fn trees_are_trained_evaluated_and_compared_like_a_network() {
    let workspace = Workspace::new();
    let run = workspace.good(&[&TREES[..], &["--seeds", "2", "--json", "--out", "trees"]].concat()).json();
    assert!(run["test"]["mean"].as_f64().unwrap() > 0.4, "{run}");
    let config = workspace.read("trees/config.toml");
    assert!(config.contains("tree_count = 20") && config.contains("tree_depth = 6"), "{config}");
    assert!(!config.contains("dropout =") && !config.contains("\nlr ="), "{config}");

    let evaluated = workspace.good(&["evaluate", "trees", "--json"]).json();
    let values = run["test"]["values"].as_array().unwrap();
    assert!(values.contains(&evaluated["test"]["metric"]), "{evaluated} {run}");
    assert_eq!(workspace.good(&["predict", "trees"]).stdout, workspace.read("trees/predictions.csv"));
    workspace.good(&["predict", "trees", &SMALL.replace("degree=6", "degree=7")]);
    workspace.good(&["report", "trees"]);
    workspace.good(&["train", "--config", "trees/config.toml", "--threads", "1", "--out", "again"]);
    assert_eq!(workspace.bytes("trees/model.safetensors"), workspace.bytes("again/model.safetensors"));
    workspace.good(&["train", SMALL, "--model", "mlp", "--max-epochs", "9", "--seeds", "2", "--out", "mlp"]);
    assert!(workspace.good(&["compare", "trees", "mlp"]).stdout.contains("trees"));
    let estimated = workspace.good(&[&TREES[..], &["--estimate", "--json"]].concat()).json();
    assert!(estimated["workspace"].as_u64().unwrap() > 0 && estimated["parameters"] == 0, "{estimated}");
    let done = workspace.run(&[&TREES[..], &["--tree-depth", "0"]].concat());
    assert!(done.code == 2 && done.stderr.contains("tree_depth = 0: must be a whole number from 1 to 64"), "{done:?}");
}

#[test]
fn tunes_trees() {
    let tuned = Workspace::new().good(&[
        "tune",
        SMALL,
        "--model",
        "trees",
        "--tree-count",
        "5",
        "--trials",
        "4",
        "--seeds",
        "1",
        "--json",
    ]);
    assert!(tuned.stdout.contains("tree_depth"), "{}", tuned.stdout);
}

/// The linear baseline of Correct and Smooth.
#[test]
fn one_layer_is_corrected_and_smoothed() {
    let workspace = Workspace::new();
    let linear = ["train", SMALL, "--model", "mlp", "--layers", "1", "--dropout", "0", "--max-epochs", "20", "--json"];
    let run = workspace.good(&[&linear[..], &["--correct-and-smooth"]].concat()).json();
    assert!(run["test"]["mean"].is_number(), "{run}");
    let estimated = workspace.good(&[&linear[..], &["--estimate"]].concat()).json();
    assert!(estimated["parameters"].as_u64().unwrap() > 0, "{estimated}");
}
