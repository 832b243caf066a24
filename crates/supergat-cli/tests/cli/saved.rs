//! `supergat evaluate` and `supergat predict`: a trained model gives the same again.

use crate::support::{Place, SMALL, keys};

#[test]
fn predictions_are_those_of_the_run() {
    let place = Place::new();
    place.train("run", &["--seeds", "2"]);
    let expected = place.read("run/predictions.csv");
    assert!(place.good(&["predict", "run"]).stdout == expected);
    assert!(place.good(&["predict", "run/model.safetensors", SMALL]).stdout == expected);
    let done = place.good(&["predict", "run", "--out", "p.csv", "--json"]);
    assert!(place.read("p.csv") == expected);
    let object = done.json();
    assert_eq!(keys(&object), ["classes", "dataset", "file", "graphs", "model", "nodes", "schema"]);
    assert_eq!((&object["file"], &object["nodes"], &object["classes"]), (&"p.csv".into(), &540.into(), &3.into()));
    // An older file is replaced, and nothing else stays.
    place.write("p.csv", "old");
    place.good(&["predict", "run", "--out", "p.csv"]);
    assert!(place.read("p.csv") == expected);
    assert_eq!(place.list("."), ["p.csv", "run"]);
    let other = format!("{SMALL},seed=1");
    assert!(place.good(&["predict", "run", &other]).stdout != expected, "another graph, other predictions");
}

#[test]
fn evaluation_repeats_the_summary() {
    let place = Place::new();
    place.train("run", &["--seeds", "3"]);
    let summary = place.json("run/summary.json");
    let best = summary["seeds"].as_array().unwrap().iter().position(|seed| *seed == summary["best_seed"]).unwrap();
    let object = place.good(&["evaluate", "run", "--json"]).json();
    assert_eq!(keys(&object), ["dataset", "metric", "model", "schema", "test", "train", "validation"]);
    assert_eq!(object["test"]["metric"], summary["test"]["values"][best]);
    assert_eq!(object["validation"]["metric"], summary["validation"]["values"][best]);
    assert_eq!(keys(&object["test"]), ["loss", "metric", "nodes"]);
    let nodes = ["train", "validation", "test"].map(|split| object[split]["nodes"].as_u64().unwrap());
    assert_eq!(nodes, [60, 150, 300]);
    // The loss, too, is the one that training saw in its best epoch.
    let line = place.read("run/metrics.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).find(
        |line: &serde_json::Value| {
            line["seed"] == summary["best_seed"] && line["epoch"] == summary["best_epochs"][best]
        },
    );
    let (seen, found) = (&line.unwrap()["validation_loss"], &object["validation"]["loss"]);
    assert!((seen.as_f64().unwrap() - found.as_f64().unwrap()).abs() < 1e-9);

    let text = place.good(&["evaluate", "run"]).stdout;
    let test = format!("{:.2} %", object["test"]["metric"].as_f64().unwrap());
    assert!(text.lines().last().is_some_and(|line| line.starts_with("  test") && line.contains(&test)), "{text}");
}

#[test]
fn a_model_remembers_its_dataset_from_anywhere() {
    let Some(folder) = crate::support::published("cora") else { return };
    let place = Place::new();
    std::fs::create_dir(place.path("elsewhere")).unwrap();
    let cora = folder.to_str().unwrap();
    place.good(&["train", cora, "--model", "gat-go", "--max-epochs", "2", "--out", "run"]);
    let mut command = place.command(&["predict", "../run"]);
    let output = command.current_dir(place.path("elsewhere")).output().unwrap();
    assert!(output.stdout == place.bytes("run/predictions.csv"));
}
