//! Models that are trained in rounds: Graph Agreement Models and LDS.

use crate::support::{SMALL, Workspace};

const GAM: [&str; 6] = ["--max-epochs", "10", "--rounds", "2", "--agreement-steps", "20"];
const LDS: [&str; 4] = ["--max-epochs", "2", "--inner-steps", "20"];

fn train(model: &str) -> Vec<&str> {
    let options = if model == "lds" { &LDS[..] } else { &GAM };
    [&["train", SMALL, "--model", model][..], options].concat()
}

#[test]
fn are_trained_evaluated_and_compared_like_networks() {
    for (model, setting, epochs) in [("gcn-gam", "lambda_lu = 100", 20), ("lds", "edge_lr = 1", 2)] {
        let workspace = Workspace::new();
        let run = workspace.good(&[&train(model)[..], &["--seeds", "2", "--json", "--out", "run"]].concat()).json();
        assert_eq!(workspace.read("run/metrics.jsonl").lines().count(), 2 * epochs, "{model}");
        let config = workspace.read("run/config.toml");
        assert!(config.contains(setting) && !config.contains("early_stop_window"), "{config}");

        let evaluated = workspace.good(&["evaluate", "run", "--json"]).json();
        let values = run["test"]["values"].as_array().unwrap();
        assert!(values.contains(&evaluated["test"]["metric"]), "{evaluated} {run}");
        assert_eq!(workspace.good(&["predict", "run"]).stdout, workspace.read("run/predictions.csv"));
        let other = workspace.run(&["predict", "run", &SMALL.replace("degree=6", "degree=7")]);
        assert_eq!(other.code == 0, model != "lds", "{other:?}");
        workspace.good(&["report", "run"]);

        workspace.good(&["train", "--config", "run/config.toml", "--threads", "3", "--out", "again"]);
        assert_eq!(workspace.bytes("run/model.safetensors"), workspace.bytes("again/model.safetensors"));
        workspace.good(&["train", SMALL, "--model", "gcn", "--max-epochs", "9", "--seeds", "2", "--out", "gcn"]);
        assert!(workspace.good(&["compare", "run", "gcn"]).stdout.contains(model));
        let estimated = workspace.good(&[&train(model)[..], &["--estimate", "--json"]].concat()).json();
        assert!(["workspace", "parameters"].iter().all(|part| estimated[*part].as_u64() > Some(0)), "{estimated}");
    }
}

#[test]
fn refuse_what_they_cannot_do() {
    let workspace = Workspace::new();
    for (model, args, part) in [
        ("lds", &["--layers", "3"][..], "layers = 3: lds has 2 layers; use another model"),
        ("lds", &["--graph-samples", "0"], "graph_samples = 0: must be a whole number from 1"),
        ("gcn-gam", &["--self-label-certainty", "2"], "self_label_certainty = 2: must lie in [0, 1]"),
    ] {
        let done = workspace.run(&[&train(model)[..], args].concat());
        assert!(done.code == 2 && done.stderr.contains(part), "{done:?}");
    }
    let large = "random-graph:nodes=9000,degree=2,features=4,classes=2";
    let done = workspace.run(&["train", large, "--model", "lds"]);
    assert!(done.code == 2 && done.stderr.contains("9000 nodes would need 0.2 GB"), "{done:?}");
}

#[test]
fn are_tuned() {
    for (model, searched, options) in [("gcn-gam", "lambda_lu", &GAM[..]), ("lds", "edge_lr", &LDS)] {
        let given = ["--trials", "3", "--seeds", "1", "--json"];
        let tuned = Workspace::new().good(&[&["tune", SMALL, "--model", model][..], options, &given].concat());
        assert!(tuned.stdout.contains(searched), "{}", tuned.stdout);
    }
}
