//! Options of deep networks.

use crate::support::{SMALL, Workspace};

const DEEP: [&str; 14] = [
    "--layers",
    "3",
    "--hidden",
    "4",
    "--heads",
    "2",
    "--residual",
    "identity",
    "--norm",
    "batch",
    "--activation",
    "relu",
    "--input-layer",
    "--output-layer",
];

#[test]
fn options_reach_the_model_and_its_file() {
    let workspace = Workspace::new();
    let options = [&DEEP[..], &["--no-self-loops", "--no-attention-dropout"]].concat();
    let done = workspace.train("run", &options);
    assert!(
        done.stderr.contains("--residual identity --norm batch --activation relu --input-layer"),
        "{}",
        done.stderr
    );
    let settings: toml::Table = workspace.read("run/config.toml").parse().unwrap();
    for (name, value) in [("residual", "identity"), ("norm", "batch"), ("activation", "relu")] {
        assert_eq!(settings[name].as_str(), Some(value));
    }
    let switches =
        ["input_layer", "output_layer", "self_loops", "attention_dropout"].map(|name| settings[name].as_bool());
    assert_eq!(switches, [Some(true), Some(true), Some(false), Some(false)]);
    // Running statistics are in the file: prediction repeats that of the run, and so does a training by the
    // configuration of the run.
    let expected = workspace.read("run/predictions.csv");
    assert!(workspace.good(&["predict", "run"]).stdout == expected);
    workspace.good(&["train", "--config", "run/config.toml", "--out", "again"]);
    assert!(workspace.read("again/predictions.csv") == expected);
}

#[test]
fn rejects_unknown_choices_and_impossible_combinations() {
    let workspace = Workspace::new();
    let error = |args: &[&str]| workspace.run(&[&["train", SMALL], args].concat()).stderr;
    assert!(error(&["--norm", "group"]).contains("[possible values: none, layer, batch]"));
    let expected = "residual = identity: features have another width than hidden layers; use input_layer";
    let found = error(&["--residual", "identity"]);
    assert!(found.contains(expected), "{found}");
    workspace.write("run.toml", "norm = \"group\"\n");
    let found = error(&["--config", "run.toml"]);
    assert!(found.contains("run.toml, line 1") && found.contains("must be one of none, layer, batch"), "{found}");
    workspace.write("run.toml", "norm = 1\n");
    let found = error(&["--config", "run.toml"]);
    assert!(found.contains("norm = 1: must be one of none, layer, batch"), "{found}");
}
