//! Metrics, calibration, thresholds, ensembles and selection, as `train`, `evaluate` and `compare` report them.

use crate::support::{SMALL, Workspace, table};
use serde_json::{Value, json};

/// Two classes with 250 nodes each.
const TWO: &str = "random-partition:classes=2,nodes=250,degree=4,homophily=0.7";

fn train(workspace: &Workspace, out: &str, dataset: &str, options: &[&str]) -> Value {
    let args = ["train", dataset, "--model", "gcn", "--max-epochs", "20", "--out", out, "--json", "-q"];
    workspace.good(&[&args[..], options].concat()).json()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Returns predicted class and probability of the second class of all nodes.
fn predicted(workspace: &Workspace, run: &str) -> Vec<(String, f64)> {
    predicted_with(workspace, run, "p_1")
}

/// Returns predicted class and probability of a class of all nodes.
fn predicted_with(workspace: &Workspace, run: &str, column: &str) -> Vec<(String, f64)> {
    let (header, rows) = table(&workspace.read(&format!("{run}/predictions.csv")));
    let at = |name: &str| header.iter().position(|column| column == name).unwrap();
    let (class, probability) = (at("predicted"), at(column));
    rows.iter().map(|row| (row[class].clone(), row[probability].parse().unwrap())).collect()
}

#[test]
fn summary_has_all_metrics_of_every_seed() {
    let workspace = Workspace::new();
    let summary = train(&workspace, "run", SMALL, &["--seeds", "2"]);
    for split in ["validation", "test"] {
        let metrics = &summary["metrics"][split];
        assert_eq!(metrics.as_object().unwrap().len(), 10);
        assert_eq!(metrics["accuracy"], summary[split], "accuracy is the metric of the run");
        assert!(number(&metrics["auroc"]["mean"]) > 0.5 && number(&metrics["log_loss"]["mean"]) < 1.1);
    }
    assert_eq!(summary, workspace.json("run/summary.json"));
    let evaluated = workspace.good(&["evaluate", "run", "--json"]).json();
    let best = summary["seeds"].as_array().unwrap().iter().position(|seed| *seed == summary["best_seed"]).unwrap();
    for name in ["accuracy", "macro_f1", "auroc", "log_loss", "brier", "calibration_error"] {
        assert_eq!(evaluated["test"]["metrics"][name], summary["metrics"]["test"][name]["values"][best], "{name}");
    }
    let text = workspace.good(&["evaluate", "run"]).stdout;
    assert!(text.contains("balanced-accuracy") && text.contains("calibration-error"), "{text}");
}

/// Returns label, predicted class and probability of a class of the test nodes, from predictions.csv.
fn test_nodes(workspace: &Workspace, run: &str, column: &str) -> Vec<(String, String, f64)> {
    let (header, rows) = table(&workspace.read(&format!("{run}/predictions.csv")));
    let at = |name: &str| header.iter().position(|column| column == name).unwrap();
    let [split, label, predicted, probability] = ["split", "label", "predicted", column].map(at);
    let of = |row: &Vec<String>| (row[label].clone(), row[predicted].clone(), row[probability].parse().unwrap());
    rows.iter().filter(|row| row[split] == "test").map(of).collect()
}

#[test]
fn every_class_has_precision_recall_and_f1() {
    let workspace = Workspace::new();
    let summary = train(&workspace, "run", SMALL, &["--seeds", "2"]);
    let best = summary["seeds"].as_array().unwrap().iter().position(|seed| *seed == summary["best_seed"]).unwrap();
    let evaluated = workspace.good(&["evaluate", "run", "--json"]).json();
    let nodes = test_nodes(&workspace, "run", "p_0");
    let classes = summary["metrics"]["classes"]["test"].as_array().unwrap();
    assert_eq!(classes.len(), 3);
    for (k, class) in classes.iter().enumerate() {
        let name = k.to_string();
        let has = |text: &str| text == name;
        let count = |of: &dyn Fn(&(String, String, f64)) -> bool| nodes.iter().filter(|node| of(node)).count() as f64;
        let (of_class, predicted) = (count(&|node| has(&node.0)), count(&|node| has(&node.1)));
        let right = count(&|node| has(&node.0) && has(&node.1));
        let expected = [of_class, predicted, right / predicted, right / of_class, 2.0 * right / (of_class + predicted)];
        assert_eq!((&class["class"], &evaluated["test"]["classes"][k]["class"]), (&json!(name), &json!(name)));
        for (key, expected) in ["nodes", "predictions", "precision", "recall", "f1"].into_iter().zip(expected) {
            let values = class[key]["values"].as_array().unwrap();
            assert_eq!(values.len(), 2);
            assert!((number(&values[best]) - expected).abs() < 1e-9, "{key} {values:?} {expected}");
            assert!((number(&class[key]["mean"]) - (number(&values[0]) + number(&values[1])) / 2.0).abs() < 1e-9);
            let found = number(&evaluated["test"]["classes"][k][key]);
            assert!((found - expected).abs() < 1e-9, "{key} {found} {expected}");
        }
    }
    assert_eq!(summary["metrics"]["classes"]["validation"].as_array().unwrap().len(), 3);
    let text = workspace.good(&["evaluate", "run"]).stdout;
    let row = text.lines().skip_while(|line| !line.contains("test nodes by class")).nth(2).unwrap();
    let f1 = format!("{:.2} %", 100.0 * number(&evaluated["test"]["classes"][1]["f1"]));
    assert!(row.starts_with("  1 ") && row.ends_with(&f1), "{text}");
    assert!(!text.contains("precision-at"), "three classes have no positive one: {text}");
}

#[test]
fn two_classes_have_precisions_of_the_first_nodes() {
    let workspace = Workspace::new();
    let summary = train(&workspace, "run", TWO, &["--positive", "0", "--ensemble"]);
    // A stable sort keeps the order of nodes with equal probabilities.
    let mut nodes = test_nodes(&workspace, "run", "p_0");
    nodes.sort_by(|a, b| b.2.total_cmp(&a.2));
    let evaluated = workspace.good(&["evaluate", "run", "--json"]).json();
    for k in [10, 100] {
        assert!(nodes.len() >= k);
        let hits = nodes[..k].iter().filter(|node| node.0 == "0").count();
        let expected = hits as f64 / k as f64;
        let key = format!("precision_at_{k}");
        for found in [
            &evaluated["test"]["metrics"][&key],
            &summary["metrics"]["test"][&key]["mean"],
            &summary["ensemble"]["test"][&key]["mean"],
        ] {
            assert!((number(found) - expected).abs() < 1e-9, "{key} {found} {expected}");
        }
    }
    assert_eq!(summary["ensemble"]["classes"]["test"][0]["f1"], summary["metrics"]["classes"]["test"][0]["f1"]);
    assert!(evaluated["test"]["metrics"]["precision_at_1000"].is_null() && nodes.len() < 1000);
    assert!(summary["metrics"]["test"].get("precision_at_1000").is_none());
    let text = workspace.good(&["evaluate", "run"]).stdout;
    assert!(text.contains("\n  precision-at-100 ") && !text.contains("precision-at-1000"), "{text}");
}

#[test]
fn compares_metrics_of_a_class_and_of_the_first_nodes() {
    let workspace = Workspace::new();
    let plain = train(&workspace, "plain", TWO, &["--seeds", "3"]);
    train(&workspace, "heavy", TWO, &["--seeds", "3", "--class-weight", "1=3"]);
    let compare = |metric: &str| workspace.run(&["compare", "plain", "heavy", "--metric", metric, "--json"]);
    for (metric, place) in [("precision:1", "precision"), ("recall:1", "recall"), ("f1:1", "f1")] {
        let found = compare(metric).json();
        assert_eq!((&found["metric"], &found["paired"]), (&json!(metric), &json!(true)));
        assert_eq!(found["a"]["mean"], plain["metrics"]["classes"]["test"][1][place]["mean"]);
    }
    let found = compare("precision-at-100").json();
    assert_eq!(found["a"]["mean"], plain["metrics"]["test"]["precision_at_100"]["mean"]);
    let text = workspace.good(&["compare", "plain", "heavy", "--metric", "recall:1"]).stdout;
    assert!(text.starts_with("test recall:1 on") && text.contains("heavy is better than plain"), "{text}");

    let refused = |metric: &str, part: &str| {
        let done = compare(metric);
        assert!(done.code == 2 && done.stderr.contains(part), "{done:?}");
    };
    refused("f1:fraud", "--metric f1:fraud: plain has no class `fraud`; name one such as 0 or 1");
    refused("f1:", "such as f1:CLASS");
    refused(
        "precision-at-50",
        "expected precision-at-10, precision-at-100 or precision-at-1000, found `precision-at-50`",
    );
    refused("precision-at-1000", " test nodes, and precision-at-1000 needs 1000; compare precision-at-100");
    train(&workspace, "three", SMALL, &[]);
    let done = workspace.run(&["compare", "three", "three", "--metric", "precision-at-10"]);
    let expected = "three does not have it, because precision-at-10 needs two classes, one class per node; compare the \
                    precision of a class, such as precision:0";
    assert!(done.code == 2 && done.stderr.contains(expected), "{done:?}");
    train(&workspace, "never", TWO, &["--seeds", "3", "--threshold", "1"]);
    let done = workspace.run(&["compare", "never", "plain", "--metric", "precision:1"]);
    let expected =
        "never has 3 runs in which `1` is never predicted, so its precision is undefined; compare recall or f1";
    assert!(done.code == 2 && done.stderr.contains(expected), "{done:?}");
    assert!(workspace.json("never/summary.json")["metrics"]["classes"]["test"][1]["precision"]["mean"].is_null());
    let text = workspace.good(&["evaluate", "never"]).stdout;
    let row = text.lines().last().unwrap();
    assert!(row.split_whitespace().collect::<Vec<_>>()[2..] == ["0", "-", "0.00", "%", "0.00", "%"], "{text}");
}

#[test]
fn reads_summaries_without_metrics_of_classes() {
    let workspace = Workspace::new();
    train(&workspace, "run", TWO, &["--seeds", "2"]);
    let mut summary = workspace.json("run/summary.json");
    let metrics = summary["metrics"].as_object_mut().unwrap();
    metrics.remove("classes").unwrap();
    metrics["test"].as_object_mut().unwrap().retain(|name, _| !name.starts_with("precision_at"));
    workspace.write("run/summary.json", summary.to_string());
    workspace.good(&["compare", "run", "run", "--metric", "macro-f1"]);
    workspace.good(&["report", "run"]);
    for metric in ["f1:1", "precision-at-10"] {
        let done = workspace.run(&["compare", "run", "run", "--metric", metric]);
        let expected =
            format!("--metric {metric}: run has no such metric of its test nodes; train again with this version");
        assert!(done.code == 2 && done.stderr.contains(&expected), "{done:?}");
    }
}

#[test]
fn calibration_changes_probabilities_only() {
    let workspace = Workspace::new();
    let calibrated = train(&workspace, "calibrated", TWO, &[]);
    let plain = train(&workspace, "plain", TWO, &["--calibrate", "none"]);
    assert_eq!(
        (calibrated["test"].clone(), calibrated["epochs"].clone()),
        (plain["test"].clone(), plain["epochs"].clone())
    );
    assert_eq!(workspace.bytes("calibrated/metrics.jsonl"), workspace.bytes("plain/metrics.jsonl"));
    let (a, b) = (predicted(&workspace, "calibrated"), predicted(&workspace, "plain"));
    assert!(a.iter().zip(&b).all(|(a, b)| a.0 == b.0) && a.iter().zip(&b).any(|(a, b)| a.1 != b.1));
    let calibration = &calibrated["calibration"];
    assert_eq!(calibration["method"], "temperature");
    assert_eq!(calibration["test"]["before"], plain["metrics"]["test"]["calibration_error"]);
    assert_eq!(calibration["test"]["after"], calibrated["metrics"]["test"]["calibration_error"]);
    let loss = |summary: &Value| number(&summary["metrics"]["validation"]["log_loss"]["mean"]);
    assert!(loss(&calibrated) < loss(&plain) && plain.get("calibration").is_none());
    // The model contains its temperature.
    assert_eq!(workspace.good(&["predict", "calibrated"]).stdout, workspace.read("calibrated/predictions.csv"));
    assert!(workspace.read("plain/config.toml").contains("\ncalibrate = \"none\"\n"));
}

#[test]
fn threshold_is_chosen_and_stored() {
    let workspace = Workspace::new();
    let summary = train(&workspace, "run", TWO, &["--threshold", "recall=0.95"]);
    let threshold = number(&summary["threshold"]["values"][0]);
    assert!(predicted(&workspace, "run").iter().all(|(class, p)| (class == "1") == (*p >= threshold)));
    assert_eq!(workspace.good(&["predict", "run"]).stdout, workspace.read("run/predictions.csv"));
    let given = train(&workspace, "given", TWO, &["--threshold", "0.125"]);
    assert_eq!(given["threshold"], json!({ "values": [0.125] }));
    let done = workspace.run(&["train", TWO, "--threshold", "recall=2"]);
    assert!(done.code == 2 && done.stderr.contains("expected f1, precision=0.9, recall=0.8"), "{done:?}");
    let three = train(&workspace, "three", SMALL, &["--threshold", "f1"]);
    assert!(three.get("threshold").is_none(), "a threshold needs two classes");
}

#[test]
fn positive_class_is_chosen_and_stored() {
    let workspace = Workspace::new();
    let options = ["--positive", "0", "--threshold", "recall=0.95", "--select", "average-precision"];
    let first = train(&workspace, "first", TWO, &options);
    let second = train(&workspace, "second", TWO, &options[2..]);
    let threshold = number(&first["threshold"]["values"][0]);
    assert!(predicted_with(&workspace, "first", "p_0").iter().all(|(class, p)| (class == "0") == (*p >= threshold)));
    assert_ne!(first["validation"], second["validation"], "the metric is about another class");
    assert_eq!(workspace.good(&["predict", "first"]).stdout, workspace.read("first/predictions.csv"));
    let evaluated = workspace.good(&["evaluate", "first", "--json"]).json();
    let name = "average_precision";
    assert_eq!(evaluated["test"]["metrics"][name], first["metrics"]["test"][name]["values"][0]);
    assert!(workspace.read("first/report.html").contains("Curves are of the class 0."));
    // The second class is positive without a choice.
    train(&workspace, "named", TWO, &[&["--positive", "1"], &options[2..]].concat());
    assert_eq!(workspace.bytes("named/model.safetensors"), workspace.bytes("second/model.safetensors"));
    assert!(workspace.read("first/config.toml").contains("\npositive = \"0\"\n"));
    workspace.good(&["train", "--config", "first/config.toml", "--out", "again", "-q"]);
    assert_eq!(workspace.bytes("again/model.safetensors"), workspace.bytes("first/model.safetensors"));
    let done = workspace.run(&["train", TWO, "--positive", "fraud"]);
    assert!(done.code == 2 && done.stderr.contains("found `fraud`; name 0 or 1"), "{done:?}");
    let done = workspace.run(&["train", SMALL, "--positive", "0"]);
    assert!(done.code == 2 && done.stderr.contains("the data has 3 classes, so leave it out"), "{done:?}");
}

#[test]
fn tune_uses_weights_of_classes() {
    let workspace = Workspace::new();
    let tune = |out: &str, options: &[&str]| {
        let args =
            ["tune", TWO, "--model", "gcn", "--trials", "2", "--seeds", "1", "--max-epochs", "5", "--out", out, "-q"];
        workspace.good(&[&args[..], options].concat());
        let lines = workspace.read(&format!("{out}/results.jsonl"));
        let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(records.len() >= 2);
        records.iter().map(|record| (record["task"].clone(), record["validation"].clone())).collect::<Vec<_>>()
    };
    let (plain, heavy) = (tune("plain", &[]), tune("heavy", &["--class-weight", "1=30"]));
    assert!(plain.iter().all(|(task, _)| task == "node"));
    assert!(heavy.iter().all(|(task, _)| task == "class-weight:1=30"));
    assert!(plain.iter().zip(&heavy).any(|(plain, heavy)| plain.1 != heavy.1));
}

#[test]
fn ensemble_has_the_mean_probabilities() {
    let workspace = Workspace::new();
    let summary = train(&workspace, "all", TWO, &["--seeds", "3", "--ensemble"]);
    assert!(number(&summary["ensemble"]["test"]["accuracy"]["mean"]) > 0.5);
    let seeds = ["0", "1", "2"].map(|seed| {
        train(&workspace, seed, TWO, &["--seed", seed]);
        predicted(&workspace, seed)
    });
    for (node, (class, p)) in predicted(&workspace, "all").iter().enumerate() {
        let mean = seeds.iter().map(|seed| seed[node].1).sum::<f64>() / 3.0;
        assert!((p - mean).abs() < 1e-6 && ((mean - 0.5).abs() < 1e-6 || (class == "1") == (mean > 0.5)), "{p} {mean}");
    }
    // The saved model contains all networks.
    assert!(workspace.good(&["predict", "all"]).stdout == workspace.read("all/predictions.csv"));
    let evaluated = workspace.good(&["evaluate", "all", "--json"]).json();
    for metric in ["accuracy", "log_loss", "auroc"] {
        let (found, expected) = (&evaluated["test"]["metrics"][metric], &summary["ensemble"]["test"][metric]["mean"]);
        assert!((number(found) - number(expected)).abs() < 1e-9, "{metric}: {found} {expected}");
    }
}

#[test]
fn selects_by_another_metric_and_compares_it() {
    let workspace = Workspace::new();
    let summary = train(&workspace, "auroc", TWO, &["--seeds", "3", "--select", "auroc"]);
    assert_eq!(summary["metric"], "auroc");
    assert!((number(&summary["test"]["mean"]) - number(&summary["metrics"]["test"]["auroc"]["mean"])).abs() < 0.1);
    assert!(workspace.read("auroc/config.toml").contains("\nselect = \"auroc\"\n"));
    let by_loss = train(&workspace, "loss", TWO, &["--seeds", "3", "--select", "loss"]);
    assert_eq!(by_loss["metric"], "accuracy");
    let done = workspace.run(&["compare", "auroc", "loss"]);
    assert!(done.code == 2 && done.stderr.contains("only runs with the same metric"), "{done:?}");
    let both = workspace.good(&["compare", "auroc", "loss", "--metric", "log-loss", "--json"]).json();
    assert_eq!(both["a"]["mean"], summary["metrics"]["test"]["log_loss"]["mean"]);
    let text = workspace.good(&["compare", "auroc", "loss", "--metric", "log-loss"]).stdout;
    assert!(text.starts_with("test log-loss on") && !text.contains("points"), "{text}");
    let done = workspace.run(&["train", TWO, "--select", "auc"]);
    assert!(done.code == 2 && done.stderr.contains("expected accuracy, loss, balanced-accuracy"), "{done:?}");
}

/// A tenth of the nodes has the second class, and features are noise.
#[test]
fn warns_about_useless_models_first() {
    let workspace = Workspace::new();
    let mut nodes = String::from("id,label,x\n");
    let mut edges = String::from("source,target\n");
    for k in 0..300 {
        nodes += &format!("{k},{},{}\n", if k % 10 == 0 { "rare" } else { "common" }, (k * 7919) % 101);
        edges += &format!("{k},{}\n", (k * 31 + 7) % 300);
    }
    workspace.write("data/nodes.csv", nodes);
    workspace.write("data/edges.csv", edges);
    let done = workspace.good(&["train", "data", "--model", "gcn", "--max-epochs", "30", "--out", "run", "-q"]);
    assert!(done.stdout.starts_with("warning: the model predicts `common` for every test node\n"), "{}", done.stdout);
    assert!(done.stdout.contains("try class weights, another metric for selection"), "{}", done.stdout);
    let summary = workspace.json("run/summary.json");
    assert_eq!(summary["warnings"].as_array().unwrap().len(), 2);
    assert!(workspace.read("run/report.html").contains("for every test node"));
    assert!(summary["notes"].as_array().unwrap().iter().any(|note| note.as_str().unwrap().contains("have a label")));

    let few =
        ["train", "data", "--model", "gcn", "--max-epochs", "30", "--threshold", "recall=0.8", "--out", "few", "-q"];
    let text = workspace.good(&[&few[..], &["--positive", "rare"]].concat()).stdout;
    let warning = "the threshold for recall=0.8 rests on 6 validation nodes of the class `rare`: the recall of ";
    assert!(text.contains(&format!("warning: {warning}")), "{text}");
    assert!(workspace.json("few/summary.json")["warnings"].to_string().contains(warning));
    assert!(workspace.read("few/report.html").contains("rests on 6 validation nodes"));
}
