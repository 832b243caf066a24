//! `supergat train`: what it prints and what it leaves.

use crate::support::{Done, Place, SMALL, keys, table};
use std::collections::BTreeMap;
use std::process::Stdio;

#[test]
fn a_run_folder_is_complete() {
    let place = Place::new();
    let done = place.train("run", &[]);
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
    assert_eq!(place.list("run"), files);
    assert_eq!(place.list("."), ["run"], "nothing else is left");
    assert!(done.stdout.starts_with("supergat-mx on random-partition\n"), "{}", done.stdout);
    assert!(done.stdout.contains("run folder          run\n"), "{}", done.stdout);
    assert!(done.stderr.starts_with("settings: the paper's for random-partition and supergat-mx; --max-epochs 20\n"));

    let summary = place.json("run/summary.json");
    let metrics: Vec<serde_json::Value> =
        place.read("run/metrics.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
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
    // The reported test value is that of the best validation epoch, the later one winning a tie.
    let metric = |k: usize, name: &str| metrics[k][name].as_f64().unwrap();
    let best =
        (0..20).max_by(|&a, &b| metric(a, "validation_metric").total_cmp(&metric(b, "validation_metric"))).unwrap();
    assert_eq!(summary["best_epochs"], serde_json::json!([best]));
    assert_eq!(summary["test"]["values"], serde_json::json!([100.0 * metric(best, "test_metric")]));

    let (header, rows) = table(&place.read("run/predictions.csv"));
    assert_eq!(header, ["node", "split", "label", "predicted", "p_0", "p_1", "p_2"]);
    assert_eq!(rows.len(), 540);
    let of_split = |split: &str| rows.iter().filter(|row| row[1] == split).collect::<Vec<_>>();
    assert_eq!(["train", "validation", "test", ""].map(|split| of_split(split).len()), [60, 150, 300, 30]);
    let right = of_split("test").iter().filter(|row| row[2] == row[3]).count();
    assert_eq!(summary["test"]["mean"].as_f64().unwrap(), 100.0 * (right as f64 / 300.0));
    for row in &rows {
        let p: Vec<f32> = row[4..].iter().map(|p| p.parse().unwrap()).collect();
        assert!((p.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!(p[row[3].parse::<usize>().unwrap()] >= p.iter().copied().fold(0.0, f32::max));
    }
}

#[test]
fn attention_sums_to_one_per_target_layer_and_head() {
    let place = Place::new();
    place.train("run", &["--heads", "3", "--output-heads", "2", "--layers", "3"]);
    let (header, rows) = table(&place.read("run/attention.csv"));
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
    // A link is followed by its reverse, and the self-loops come last.
    let first = (rows[0][0].clone(), rows[0][1].clone());
    assert_eq!((&rows[8][0], &rows[8][1]), (&first.1, &first.0));
    let loops = rows.iter().position(|row| row[6] == "true").unwrap();
    assert!(rows[loops..].iter().all(|row| row[6] == "true") && rows.len() - loops == 540 * 8);
}

#[test]
fn json_is_one_object_with_the_promised_fields() {
    let place = Place::new();
    let done = place.train("run", &["--seed", "5", "--seeds", "2", "--json"]);
    let object = done.json();
    assert_eq!(
        keys(&object),
        [
            "best_epochs",
            "best_seed",
            "dataset",
            "epochs",
            "interrupted",
            "metric",
            "model",
            "run_dir",
            "schema",
            "seconds",
            "seeds",
            "source",
            "test",
            "validation"
        ]
    );
    assert_eq!(object, place.json("run/summary.json"));
    assert_eq!((&object["schema"], &object["interrupted"]), (&1.into(), &false.into()));
    assert_eq!((object["dataset"].as_str(), object["source"].as_str()), (Some("random-partition"), Some(SMALL)));
    assert_eq!((object["model"].as_str(), object["metric"].as_str()), (Some("supergat-mx"), Some("accuracy")));
    assert_eq!(object["run_dir"], "run");
    assert_eq!(object["seeds"], serde_json::json!([5, 6]));
    assert!(object["seconds"].as_f64().unwrap() > 0.0);
    for name in ["test", "validation"] {
        assert_eq!(keys(&object[name]), ["mean", "std", "values"]);
        let values: Vec<f64> = object[name]["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        assert_eq!(values.len(), 2);
        assert!(values.iter().all(|value| (1.0..=100.0).contains(value)), "in percent");
        assert_eq!(object[name]["mean"].as_f64().unwrap(), (values[0] + values[1]) / 2.0);
    }
    assert!([5, 6].contains(&object["best_seed"].as_u64().unwrap()));
}

#[test]
fn results_do_not_depend_on_the_threads() {
    let place = Place::new();
    let one = place.train("one", &["--seeds", "3", "--threads", "1", "--json"]).json();
    let two = place.train("two", &["--seeds", "3", "--threads", "2", "--json"]).json();
    assert_eq!(one["test"]["values"].as_array().unwrap().len(), 3);
    assert_eq!(one["test"], two["test"]);
    for file in ["predictions.csv", "metrics.jsonl", "model.safetensors", "attention.csv", "config.toml"] {
        assert!(place.bytes(&format!("one/{file}")) == place.bytes(&format!("two/{file}")), "{file} differs");
    }
    let other = place.train("other", &["--seed", "1", "--json"]).json();
    assert_eq!(other["test"]["values"][0], one["test"]["values"][1], "a seed stands for itself");
    assert_ne!(place.bytes("other/metrics.jsonl"), place.bytes("one/metrics.jsonl"));
}

#[test]
fn default_folders_are_numbered() {
    let place = Place::new();
    for expected in ["", "-2", "-3"] {
        let done = place.good(&["train", SMALL, "--model", "mlp", "--max-epochs", "2", "--json"]);
        assert_eq!(done.json()["run_dir"], format!("runs/random-partition-mlp{expected}"));
    }
    assert_eq!(place.list("runs"), ["random-partition-mlp", "random-partition-mlp-2", "random-partition-mlp-3"]);
    assert_eq!(place.list("."), ["runs"]);
    // Without a dataset there is a generated one.
    let done = place.good(&["train", "--model", "mlp", "--max-epochs", "2", "--json"]);
    assert_eq!(
        (&done.json()["source"], &done.json()["dataset"]),
        (&"random-partition".into(), &"random-partition".into())
    );
    // No attention, no file.
    assert!(!place.list("runs/random-partition-mlp").contains(&"attention.csv".to_owned()));
}

#[test]
fn an_empty_folder_may_be_named() {
    let place = Place::new();
    std::fs::create_dir(place.path("run")).unwrap();
    place.train("run", &[]);
    assert_eq!(place.list("run").len(), 8);
}

#[test]
fn large_attention_is_written_on_demand_only() {
    let place = Place::new();
    // 540 nodes, about 32 neighbours and 64 heads in each of two layers: more than a million rows.
    let dense = ["train", "random-partition:classes=3,nodes=180,degree=32", "--model", "gat-go", "--max-epochs", "1"];
    let heads = ["--hidden", "1", "--heads", "32", "--output-heads", "32", "--out"];
    let done = place.good(&[&dense[..], &heads, &["a"]].concat());
    assert!(done.stderr.contains("note: no attention.csv, since it would have 11"), "{}", done.stderr);
    assert!(!place.path("a/attention.csv").exists());
    let done = place.good(&[&dense[..], &heads, &["b", "--attention", "--quiet"]].concat());
    assert_eq!(done.stderr, "");
    assert!(place.read("b/attention.csv").lines().count() > 1_000_000);
}

#[test]
fn progress_is_quiet_on_demand_and_never_on_standard_output() {
    let place = Place::new();
    let done = place.train("loud", &["--seeds", "2"]);
    let seeds: Vec<&str> = done.stderr.lines().filter(|line| line.starts_with("seed ")).collect();
    assert_eq!(seeds.len(), 2, "{}", done.stderr);
    assert!(!done.stdout.contains("seed 0:"));
    assert!(!done.stderr.contains('\r') && !done.stderr.contains('\x1b'));
    assert_eq!(place.train("quiet", &["--quiet"]).stderr, "");
}

#[test]
fn colour_is_for_those_who_want_it() {
    let place = Place::new();
    let with = |variables: &[&str]| {
        let mut command = place.command(&["inspect", SMALL]);
        command.envs(variables.iter().map(|name| (*name, "1")));
        Done::of(command).stdout
    };
    assert!(!with(&[]).contains('\x1b'), "no terminal, no colour");
    assert!(with(&["CLICOLOR_FORCE"]).contains("\x1b[1m"));
    assert!(!with(&["CLICOLOR_FORCE", "NO_COLOR"]).contains('\x1b'));
}

/// The reader closes the pipe before anything is written, as `| head -0` would.
#[test]
fn a_closed_pipe_is_no_error() {
    let place = Place::new();
    place.train("run", &[]);
    for args in
        [&["predict", "run"][..], &["inspect", SMALL], &["train", "--help"], &["train", SMALL, "--print-config"]]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = place.command(args);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{args:?}");
    }
}

#[test]
fn a_setting_that_is_not_read_is_mentioned() {
    let place = Place::new();
    let done = place.train("run", &["--model", "gat-dp", "--lambda-e", "3", "--top-k", "2"]);
    assert!(done.stderr.contains("note: gat-dp does not read lambda_e, top_k\n"), "{}", done.stderr);
}

/// On Linux, where a process knows its peak: the prediction is within 20 % of what the finished training used.
#[test]
#[cfg(target_os = "linux")]
fn the_estimate_comes_true() {
    let place = Place::new();
    let graph = "random-graph:nodes=60000,degree=12,features=24,classes=5";
    for model in ["supergat-mx", "gat-go", "gcn"] {
        let options = ["--model", model, "--max-epochs", "2", "--hidden", "16", "--threads", "2"];
        let estimate = place.good(&[&["train", graph, "--estimate", "--json"], &options[..]].concat()).json();
        let run = place.good(&[&["bench", graph, "--json", "--epochs", "2"], &options[..2], &options[4..]].concat());
        let (predicted, used) = (estimate["peak"].as_f64().unwrap(), run.json()["peak_rss_mib"].as_f64().unwrap());
        let ratio = predicted / 1024.0 / 1024.0 / used;
        assert!((0.8..1.2).contains(&ratio), "{model}: predicted {predicted}, used {used} MiB");
        assert_eq!(estimate["fits"], true);
    }
}

#[test]
fn what_does_not_fit_is_refused_with_the_numbers() {
    let place = Place::new();
    let done = place.run(&["train", "random-graph:nodes=5000,degree=12,features=24,classes=5", "--max-memory", "9MiB"]);
    assert_eq!(done.code, 1);
    assert!(done.stderr.starts_with("error: this training would need "), "{}", done.stderr);
    assert!(done.stderr.contains("but may use 9.0 MiB (--max-memory)"), "{}", done.stderr);
    assert!(!place.path("runs").exists());
    let done = place.run(&["train", "--max-memory", "much"]);
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("expected a size such as 8GiB"), "{}", done.stderr);
}
