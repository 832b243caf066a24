//! `supergat study label-agreement` and `supergat study link-prediction`.

use crate::support::{Workspace, table};

/// Graph with enough links to hold some out.
const LINKED: &str = "random-partition:classes=2,nodes=170,degree=3";
const FILES: [&str; 4] = ["label-agreement.svg", "report.html", "table.csv", "table.md"];

#[test]
fn measures_label_agreement_of_a_run() {
    let workspace = Workspace::new();
    workspace.train("run", &["--model", "gat-go"]);
    let done = workspace.good(&["study", "label-agreement", "run", "--json"]);
    let json = done.json();
    assert_eq!(
        (json["model"].as_str(), json["nodes"].as_u64(), json["left_out"].as_u64()),
        (Some("gat-go"), Some(540), Some(0))
    );
    let layers = json["profile"]["layers"].as_array().unwrap();
    assert_eq!((layers.len(), layers[1]["divergence"]["count"].as_u64()), (2, Some(540 * 8)));
    assert_eq!(workspace.list("studies/label-agreement"), FILES);
    let (header, rows) = table(&workspace.read("studies/label-agreement/table.csv"));
    assert_eq!((header[0].as_str(), rows.len()), ("dataset", 3 * 4));
    let mean: f64 = rows[4][6].parse().unwrap();
    assert_eq!(rows[4][2..5], ["2", "2", "kld-attention-agreement"]);
    assert_eq!(Some(mean), layers[1]["divergence"]["mean"].as_f64());
    assert!(workspace.read("studies/label-agreement/report.html").contains("<svg"));
    assert!(workspace.good(&["study", "label-agreement", "run", "-q"]).stdout.contains("| uniform"));
}

#[test]
fn measures_label_agreement_of_the_networks_of_the_paper() {
    let workspace = Workspace::new();
    let small = "random-partition:classes=2,nodes=180,degree=3";
    let args = ["study", "label-agreement", "--datasets", small, "--out", "la", "--json"];
    let first = workspace.good(&args);
    assert_eq!(first.json()["networks"].as_array().unwrap().len(), 4);
    assert!(workspace.read("la/table.md").contains("GO nearer in"));
    let again = workspace.good(&args);
    assert!(again.stderr.contains("0 new, 4 already done") && again.stdout == first.stdout, "{again:?}");
}

#[test]
fn link_prediction_runs_only_new_seeds() {
    let workspace = Workspace::new();
    let args =
        ["study", "link-prediction", "--datasets", LINKED, "--forms", "go,dp", "--lambda-e", "0.1,10", "--out", "lp"];
    let one = workspace.good(&[&args[..], &["--seeds", "1", "--json"]].concat());
    let points = one.json()["points"].as_array().unwrap().clone();
    let auc = |k: usize| points[k]["auc"]["mean"].as_f64().unwrap();
    assert!(points.len() == 4 && (0..4).all(|k| (0.3..=1.0).contains(&auc(k))), "{points:?}");
    let two = workspace.good(&[&args[..], &["--seeds", "2"]].concat());
    assert!(two.stderr.contains("4 new, 4 already done"), "{two:?}");
    assert!(two.stdout.contains("DP - GO") && two.stdout.contains("supergat-dp"));
    assert_eq!(workspace.list("lp"), ["link-prediction.svg", "report.html", "results.jsonl", "table.csv", "table.md"]);
    let (_, rows) = table(&workspace.read("lp/table.csv"));
    assert!(rows.len() == 4 && rows.iter().all(|row| row[9] == "2"));
    assert!(rows.iter().all(|row| (0.0..=1.0).contains(&row[7].parse().unwrap())), "metrics are no per cent: {rows:?}");
}

#[test]
fn rejects_invalid_input_with_one_line() {
    let workspace = Workspace::new();
    workspace.train("mlp", &["--model", "mlp"]);
    workspace.write("empty/readme", "");
    for (args, expected) in [
        (&["label-agreement"][..], "name a run folder, or --datasets"),
        (&["label-agreement", "mlp"], "mlp has no attention"),
        (&["label-agreement", "nowhere"], "nowhere: not found"),
        (&["label-agreement", "empty"], "empty: has no model.safetensors"),
        (&["label-agreement", "mlp", "--datasets", "cora"], "cannot be used with"),
        (&["label-agreement", "--datasets", "karate"], "karate"),
        (&["link-prediction", "--forms", "gcn"], "expected go, dp, sd or mx"),
        (&["link-prediction", "--lambda-e", "2..5"], "expected powers of ten"),
        (&["link-prediction", "--datasets", "karate"], "karate"),
        (&["link-prediction", "--seeds", "0"], "0 is not in 1..=1000000"),
    ] {
        let done = workspace.run(&[&["study"], args].concat());
        assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{args:?}: {done:?}");
        assert!(done.stderr.contains(expected), "{args:?}: {done:?}");
    }
    let done = workspace.run(&["study", "label-agreement", "mlp", "--out", "empty/readme"]);
    assert_ne!(done.code, 0);
    assert!(!workspace.path("studies").exists());
}
