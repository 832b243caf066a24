//! Models that learn or choose the edges of the graph.

use crate::support::{SMALL, Workspace};

const MODELS: [(&str, &str); 2] = [("glcn", "graph_hidden = 70"), ("neuralsparse", "sampled_neighbours = 5")];

fn train(model: &str) -> Vec<&str> {
    vec!["train", SMALL, "--model", model, "--max-epochs", "12"]
}

#[test]
fn systems_are_trained_evaluated_and_compared_like_networks() {
    for (model, setting) in MODELS {
        let workspace = Workspace::new();
        let more = ["--seeds", "2", "--attention", "--json", "--out", "run"];
        let run = workspace.good(&[&train(model)[..], &more].concat()).json();
        assert_ne!(run["test"]["values"][0], run["test"]["values"][1]);
        assert_eq!(workspace.read("run/metrics.jsonl").lines().count(), 2 * 12);
        let config = workspace.read("run/config.toml");
        assert!(config.contains(setting) && config.contains("dropout = "), "{config}");
        let attention = workspace.read("run/attention.csv");
        assert!(attention.starts_with("source,target,layer,head,coefficient,edge_logit,self_loop"), "{attention}");

        let evaluated = workspace.good(&["evaluate", "run", "--json"]).json();
        let values = run["test"]["values"].as_array().unwrap();
        assert!(values.contains(&evaluated["test"]["metric"]), "{evaluated} {run}");
        assert_eq!(workspace.good(&["predict", "run"]).stdout, workspace.read("run/predictions.csv"));
        workspace.good(&["predict", "run", &SMALL.replace("degree=6", "degree=7")]);
        workspace.good(&["report", "run"]);
        assert!(workspace.read("run/report.html").contains("Entropy of attention"));

        workspace.good(&["train", "--config", "run/config.toml", "--threads", "3", "--out", "again"]);
        assert_eq!(workspace.bytes("run/model.safetensors"), workspace.bytes("again/model.safetensors"));
        workspace.good(&["train", SMALL, "--model", "gcn", "--max-epochs", "9", "--seeds", "2", "--out", "gcn"]);
        assert!(workspace.good(&["compare", "run", "gcn"]).stdout.contains(model));
        let estimated = workspace.good(&[&train(model)[..], &["--estimate", "--json"]].concat()).json();
        for part in ["workspace", "parameters"] {
            assert!(estimated[part].as_u64().unwrap() > 0, "{estimated}");
        }
    }
}

/// A kept neighbour of a node has the same weight as all others, and no node keeps more than it may.
#[test]
fn neuralsparse_keeps_few_neighbours() {
    let workspace = Workspace::new();
    let more = ["--sampled-neighbours", "2", "--attention", "--out", "run"];
    workspace.good(&[&train("neuralsparse")[..], &more].concat());
    let attention = workspace.read("run/attention.csv");
    let mut kept = std::collections::HashMap::<&str, usize>::new();
    for row in attention.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let coefficient: f64 = fields[4].parse().unwrap();
        *kept.entry(fields[1]).or_default() += usize::from(coefficient > 0.0);
        assert!([0.0, 1.0, 1.0 / 2.0, 1.0 / 3.0].iter().any(|one| (one - coefficient).abs() < 1e-6), "{row}");
    }
    assert!(kept.values().all(|count| *count <= 3) && kept.values().any(|count| *count == 3));
}

#[test]
fn options_that_systems_do_not_have_are_refused() {
    let workspace = Workspace::new();
    for (model, args, part) in [
        ("glcn", &["--norm", "batch"][..], "norm = batch: glcn has no such option; use another model"),
        ("glcn", &["--label-input", "0.5"], "label_input = 0.5: glcn has no such option"),
        ("glcn", &["--activation", "relu"], "activation = relu: glcn has no such option"),
        ("glcn", &["--output-heads", "2"], "output_heads = 2: glcn has no such option"),
        ("glcn", &["--negative-slope", "0.1"], "negative_slope = 0.1: glcn has no such option"),
        ("lds", &["--separate-ego"], "separate_ego = true: lds has no such option"),
        ("neuralsparse", &["--no-self-loops"], "self_loops = false: neuralsparse has no such option"),
        ("neuralsparse", &["--no-attention-dropout"], "attention_dropout = false: neuralsparse has no such option"),
        ("gcn-gam", &["--label-input", "0.5"], "model = gcn-gam: labels nodes itself; set label_input to 0"),
        ("glcn", &["--graph-hidden", "0"], "graph_hidden = 0: must be a whole number from 1"),
        ("neuralsparse", &["--temperature", "0"], "temperature = 0: must be positive"),
    ] {
        let done = workspace.run(&[&train(model)[..], args].concat());
        assert!(done.code == 2 && done.stderr.contains(part), "{done:?}");
    }
    let done = workspace.run(&[&train("gcn-gam")[..], &["--checkpoint-every", "5e"]].concat());
    assert!(done.code == 2 && done.stderr.contains("--checkpoint-every 5e: gcn-gam has no checkpoints"), "{done:?}");
    workspace.good(&[&train("glcn")[..], &["--checkpoint-every", "none"]].concat());
    for command in ["train", "tune"] {
        let done = workspace.run(&[command, SMALL, "--model", "glcn", "--device", "cuda"]);
        let part = "glcn runs on the CPU only: use --device cpu, or another model";
        assert!(done.code != 0 && done.stderr.contains(part), "{done:?}");
    }
    let done = workspace.run(&["profile", SMALL, "--model", "glcn"]);
    assert!(done.code == 2 && done.stderr.contains("is not a network of layers"), "{done:?}");
}

#[test]
fn tunes_systems() {
    for (model, searched) in [("glcn", "lambda_graph"), ("neuralsparse", "sampled_neighbours")] {
        let given = ["--max-epochs", "5", "--trials", "4", "--seeds", "1", "--json"];
        let tuned = Workspace::new().good(&[&["tune", SMALL, "--model", model][..], &given].concat());
        assert!(tuned.stdout.contains(searched), "{}", tuned.stdout);
    }
}
