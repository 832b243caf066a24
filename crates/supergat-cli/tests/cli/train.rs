//! `supergat train`: output and run folder.

use crate::running::Running;
use crate::support::{Done, SMALL, Workspace, keys, table};
use std::collections::BTreeMap;
use std::process::Stdio;

#[test]
fn run_folder_is_complete() {
    let workspace = Workspace::new();
    let done = workspace.train("run", &[]);
    let files = [
        "attention.csv",
        "config.toml",
        "figures",
        "metrics.jsonl",
        "model.safetensors",
        "predictions.csv",
        "report.html",
        "summary.json",
    ];
    assert_eq!(workspace.list("run"), files);
    assert_eq!(workspace.list("."), ["run"], "other files were left");
    assert!(done.stdout.starts_with("supergat-mx on random-partition\n"), "{}", done.stdout);
    assert!(done.stdout.contains("run folder          run\n"), "{}", done.stdout);
    assert!(done.stderr.starts_with("settings: the paper's for random-partition and supergat-mx; --max-epochs 20\n"));

    let summary = workspace.json("run/summary.json");
    let metrics: Vec<serde_json::Value> =
        workspace.read("run/metrics.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(metrics.len(), 20);
    assert_eq!(summary["epochs"], serde_json::json!([20]));
    for (k, line) in metrics.iter().enumerate() {
        assert_eq!(
            keys(line),
            [
                "edge_loss",
                "epoch",
                "label_loss",
                "seed",
                "test_metric",
                "train_loss",
                "validation_loss",
                "validation_metric"
            ]
        );
        assert_eq!(line["epoch"], k);
    }
    // The reported test metric is that of the best validation epoch, the latest one in a tie.
    let metric = |k: usize, name: &str| metrics[k][name].as_f64().unwrap();
    let best =
        (0..20).max_by(|&a, &b| metric(a, "validation_metric").total_cmp(&metric(b, "validation_metric"))).unwrap();
    assert_eq!(summary["best_epochs"], serde_json::json!([best]));
    assert_eq!(summary["test"]["values"], serde_json::json!([metric(best, "test_metric")]));

    let (header, rows) = table(&workspace.read("run/predictions.csv"));
    assert_eq!(header, ["node", "split", "label", "predicted", "p_0", "p_1", "p_2"]);
    assert_eq!(rows.len(), 540);
    let of_split = |split: &str| rows.iter().filter(|row| row[1] == split).collect::<Vec<_>>();
    assert_eq!(["train", "validation", "test", ""].map(|split| of_split(split).len()), [60, 150, 300, 30]);
    let right = of_split("test").iter().filter(|row| row[2] == row[3]).count();
    assert_eq!(summary["test"]["mean"].as_f64().unwrap(), right as f64 / 300.0);
    for row in &rows {
        let p: Vec<f32> = row[4..].iter().map(|p| p.parse().unwrap()).collect();
        assert!((p.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!(p[row[3].parse::<usize>().unwrap()] >= p.iter().copied().fold(0.0, f32::max));
    }
}

#[test]
fn attention_sums_to_one_per_target_layer_and_head() {
    let workspace = Workspace::new();
    workspace.train("run", &["--heads", "3", "--output-heads", "2", "--layers", "3"]);
    let (header, rows) = table(&workspace.read("run/attention.csv"));
    assert_eq!(header, ["source", "target", "layer", "head", "coefficient", "edge_logit", "self_loop"]);
    let mut sums: BTreeMap<(&str, &str, &str), f64> = BTreeMap::new();
    let mut edges = std::collections::BTreeSet::new();
    for row in &rows {
        let [source, target, layer, head, coefficient, logit, self_loop] = std::array::from_fn(|k| row[k].as_str());
        *sums.entry((target, layer, head)).or_default() += coefficient.parse::<f64>().unwrap();
        assert!(logit.parse::<f32>().unwrap().is_finite());
        assert_eq!(self_loop, if source == target { "true" } else { "false" });
        assert!(edges.insert((source, target, layer, head)), "{source} -> {target} is listed twice");
    }
    assert_eq!(sums.len(), 540 * (3 + 3 + 2));
    assert!(sums.values().all(|sum| (sum - 1.0).abs() < 1e-5));
    // Each link is followed by its reverse; self-loops come last.
    let first = (rows[0][0].clone(), rows[0][1].clone());
    assert_eq!((&rows[8][0], &rows[8][1]), (&first.1, &first.0));
    let loops = rows.iter().position(|row| row[6] == "true").unwrap();
    assert!(rows[loops..].iter().all(|row| row[6] == "true") && rows.len() - loops == 540 * 8);
}

#[test]
fn json_contains_the_documented_fields() {
    let workspace = Workspace::new();
    let done = workspace.train("run", &["--seed", "5", "--seeds", "2", "--json"]);
    let object = done.json();
    assert_eq!(
        keys(&object),
        [
            "best_epochs",
            "best_seed",
            "calibration",
            "dataset",
            "epochs",
            "interrupted",
            "metric",
            "metrics",
            "model",
            "node_order",
            "run_dir",
            "schema",
            "seconds",
            "seeds",
            "source",
            "test",
            "validation"
        ]
    );
    assert_eq!(object, workspace.json("run/summary.json"));
    assert_eq!((&object["schema"], &object["interrupted"]), (&2.into(), &false.into()));
    assert_eq!((object["dataset"].as_str(), object["source"].as_str()), (Some("random-partition"), Some(SMALL)));
    assert_eq!((object["model"].as_str(), object["metric"].as_str()), (Some("supergat-mx"), Some("accuracy")));
    assert_eq!(object["run_dir"], "run");
    assert_eq!(object["seeds"], serde_json::json!([5, 6]));
    assert!(object["seconds"].as_f64().unwrap() > 0.0);
    for name in ["test", "validation"] {
        assert_eq!(keys(&object[name]), ["mean", "std", "values"]);
        let values: Vec<f64> = object[name]["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        assert_eq!(values.len(), 2);
        assert!(values.iter().all(|value| (0.0..=1.0).contains(value)), "{values:?}");
        assert_eq!(object[name]["mean"].as_f64().unwrap(), (values[0] + values[1]) / 2.0);
    }
    assert!([5, 6].contains(&object["best_seed"].as_u64().unwrap()));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let workspace = Workspace::new();
    let one = workspace.train("one", &["--seeds", "3", "--threads", "1", "--json"]).json();
    let two = workspace.train("two", &["--seeds", "3", "--threads", "2", "--json"]).json();
    assert_eq!(one["test"]["values"].as_array().unwrap().len(), 3);
    assert_eq!(one["test"], two["test"]);
    for file in ["predictions.csv", "metrics.jsonl", "model.safetensors", "attention.csv", "config.toml"] {
        assert!(workspace.bytes(&format!("one/{file}")) == workspace.bytes(&format!("two/{file}")), "{file} differs");
    }
    let other = workspace.train("other", &["--seed", "1", "--json"]).json();
    assert_eq!(
        other["test"]["values"][0], one["test"]["values"][1],
        "the result of a seed must not depend on other seeds"
    );
    assert_ne!(workspace.bytes("other/metrics.jsonl"), workspace.bytes("one/metrics.jsonl"));
}

#[test]
fn numbers_default_folders() {
    let workspace = Workspace::new();
    for expected in ["", "-2", "-3"] {
        let done = workspace.good(&["train", SMALL, "--model", "mlp", "--max-epochs", "2", "--json"]);
        assert_eq!(done.json()["run_dir"], format!("runs/random-partition-mlp{expected}"));
    }
    assert_eq!(workspace.list("runs"), ["random-partition-mlp", "random-partition-mlp-2", "random-partition-mlp-3"]);
    assert_eq!(workspace.list("."), ["runs"]);
    // The default dataset is a generated graph.
    let done = workspace.good(&["train", "--model", "mlp", "--max-epochs", "2", "--json"]);
    assert_eq!(
        (&done.json()["source"], &done.json()["dataset"]),
        (&"random-partition".into(), &"random-partition".into())
    );
    // Models without attention write no attention.csv.
    assert!(!workspace.list("runs/random-partition-mlp").contains(&"attention.csv".to_owned()));
}

#[test]
fn accepts_an_empty_folder() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("run")).unwrap();
    workspace.train("run", &[]);
    assert_eq!(workspace.list("run").len(), 8);
}

#[test]
fn writes_large_attention_only_on_request() {
    let workspace = Workspace::new();
    // 540 nodes, about 32 neighbours and 64 heads in each of two layers: more than a million rows.
    let dense = ["train", "random-partition:classes=3,nodes=180,degree=32", "--model", "gat-go", "--max-epochs", "1"];
    let heads = ["--hidden", "1", "--heads", "32", "--output-heads", "32", "--out"];
    let done = workspace.good(&[&dense[..], &heads, &["a"]].concat());
    assert!(done.stderr.contains("note: attention.csv is not written, because it would have 11"), "{}", done.stderr);
    assert!(!workspace.path("a/attention.csv").exists());
    let done = workspace.good(&[&dense[..], &heads, &["b", "--attention", "--quiet"]].concat());
    assert_eq!(done.stderr, "");
    assert!(workspace.read("b/attention.csv").lines().count() > 1_000_000);
}

#[test]
fn progress_goes_to_standard_error_unless_quiet() {
    let workspace = Workspace::new();
    let done = workspace.train("loud", &["--seeds", "2"]);
    let seeds: Vec<&str> = done.stderr.lines().filter(|line| line.starts_with("seed ")).collect();
    assert_eq!(seeds.len(), 2, "{}", done.stderr);
    assert!(!done.stdout.contains("seed 0:"));
    assert!(!done.stderr.contains('\r') && !done.stderr.contains('\x1b'));
    assert_eq!(workspace.train("quiet", &["--quiet"]).stderr, "");
}

#[test]
fn colour_follows_terminal_and_environment() {
    let workspace = Workspace::new();
    let with = |variables: &[&str]| {
        let mut command = workspace.command(&["inspect", SMALL]);
        command.envs(variables.iter().map(|name| (*name, "1")));
        Done::of(command).stdout
    };
    assert!(!with(&[]).contains('\x1b'), "no colour without a terminal");
    assert!(with(&["CLICOLOR_FORCE"]).contains("\x1b[1m"));
    assert!(!with(&["CLICOLOR_FORCE", "NO_COLOR"]).contains('\x1b'));
}

/// The reader closes the pipe before the first write, like `| head -0`.
#[test]
fn closed_pipe_is_not_an_error() {
    let workspace = Workspace::new();
    workspace.train("run", &[]);
    for args in
        [&["predict", "run"][..], &["inspect", SMALL], &["train", "--help"], &["train", SMALL, "--print-config"]]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = workspace.command(args);
        let output = Running::start(command.stdout(writer).stderr(Stdio::piped())).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{args:?}");
    }
}

#[test]
fn reports_settings_that_the_model_does_not_use() {
    let workspace = Workspace::new();
    let done = workspace.train("run", &["--model", "gat-dp", "--lambda-e", "3", "--top-k", "2"]);
    assert!(done.stderr.contains("note: gat-dp does not use lambda_e, top_k\n"), "{}", done.stderr);
}

/// The estimate is within 20 % of the measured peak, which only Linux reports.
#[test]
#[cfg(target_os = "linux")]
fn memory_estimate_matches_the_peak() {
    let workspace = Workspace::new();
    let graph = "random-graph:nodes=30000,degree=12,features=24,classes=5";
    for model in ["supergat-mx", "gat-go", "gcn"] {
        let options = ["--model", model, "--max-epochs", "2", "--hidden", "16", "--threads", "2"];
        let estimate = workspace.good(&[&["train", graph, "--estimate", "--json"], &options[..]].concat()).json();
        let run =
            workspace.good(&[&["profile", graph, "--json", "--epochs", "2"], &options[..2], &options[4..]].concat());
        let (predicted, used) = (estimate["peak"].as_f64().unwrap(), run.json()["peak_rss_mib"].as_f64().unwrap());
        let ratio = predicted / 1024.0 / 1024.0 / used;
        assert!((0.8..1.2).contains(&ratio), "{model}: predicted {predicted}, used {used} MiB");
        assert_eq!(estimate["fits"], true);
    }
}

#[test]
fn rejects_training_that_exceeds_the_memory_limit() {
    let workspace = Workspace::new();
    let graph = "random-graph:nodes=5000,degree=12,features=24,classes=5";
    let done = workspace.run(&["train", graph, "--model", "supergat-mx", "--max-memory", "9MiB"]);
    assert_eq!(done.code, 1);
    assert!(done.stderr.starts_with("error: this training would need "), "{}", done.stderr);
    assert!(done.stderr.contains("but may use 9.0 MiB (--max-memory)"), "{}", done.stderr);
    assert!(!workspace.path("runs").exists());
    let done = workspace.run(&["train", "--max-memory", "much"]);
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("expected a size such as 8GiB"), "{}", done.stderr);
}
