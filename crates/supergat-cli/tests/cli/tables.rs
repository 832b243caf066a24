//! A person's own graph: from two tables to predictions on a graph that training never saw.

use crate::support::{Place, published, table};

/// Two groups of people who mostly know their own; ids from `first`.
fn people(place: &Place, folder: &str, first: usize, count: usize, labels: bool) {
    let mut nodes = String::from(if labels { "person,team,age,town\n" } else { "person,age,town\n" });
    let mut edges = String::from("who;knows\n");
    for k in first..first + count {
        let red = k % 2 == 0;
        let label = match (labels, red) {
            (false, _) => "",
            (true, true) => "red,",
            (true, false) => "blue,",
        };
        let town = if red == (k % 5 != 0) { "Rye" } else { "Bath" };
        nodes += &format!("p{k},{label}{},{town}\n", 30 + k % 7);
        for step in [2, 4, 7] {
            let other = first + (k - first + step) % count;
            edges += &format!("p{k};p{other}\n");
        }
    }
    place.write(&format!("{folder}/nodes.csv"), nodes);
    place.write(&format!("{folder}/edges.csv"), edges);
}

const ROLES: [&str; 4] = ["--label-column", "team", "--id-column", "person"];

#[test]
fn from_two_tables_to_predictions_on_another_graph() {
    let place = Place::new();
    people(&place, "club", 0, 60, true);
    let text = place.good(&[&["inspect", "club"][..], &ROLES].concat()).stdout;
    for said in [
        "nodes.csv: first row names the columns; id is `person`, label is `team`",
        "3 features from 1 columns of numbers and 1 of words: `town` (2)",
        "60 of 60 nodes have a label; 2 classes: `blue` (30), `red` (30)",
        "edges.csv: 180 links from `who` to `knows`",
    ] {
        assert!(text.contains(said), "{said} is not in {text}");
    }
    let done =
        place.good(&[&["train", "club", "--max-epochs", "60", "--out", "run", "--standardise"][..], &ROLES].concat());
    assert!(done.stderr.contains("note: no split column: 60 % of every class"), "{}", done.stderr);
    let config = place.read("run/config.toml");
    assert!(config.contains("label_column = \"team\"") && config.contains("standardise = true"), "{config}");
    // The options are remembered, by the configuration and by the model.
    place.good(&["train", "--config", "run/config.toml", "--out", "again", "--quiet"]);
    assert!(place.bytes("run/metrics.jsonl") == place.bytes("again/metrics.jsonl"));
    assert!(place.good(&["predict", "run"]).stdout == place.read("run/predictions.csv"));
    assert_eq!(place.good(&["evaluate", "run", "--json"]).json()["test"]["nodes"], 12);

    people(&place, "new", 100, 24, false);
    let nodes = place.read("new/nodes.csv").replacen("Rye", "Ely", 2);
    place.write("new/nodes.csv", nodes);
    let done = place.good(&["predict", "run", "--data", "new", "--out", "new.csv", "--picture", "new.svg"]);
    assert!(
        done.stderr.contains("2 values that training did not see, read as unknown: `Ely` in `town`"),
        "{}",
        done.stderr
    );
    let (header, rows) = table(&place.read("new.csv"));
    assert_eq!(header, ["node", "split", "label", "predicted", "p_blue", "p_red"]);
    assert_eq!(rows.len(), 24);
    assert!(rows.iter().all(|row| row[1].is_empty() && row[2].is_empty()));
    assert_eq!(place.read("new.svg").matches("<title>p1").count(), 24);

    let done = place.run(&["evaluate", "run", "new"]);
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("no node of new has a label to compare with"), "{}", done.stderr);

    people(&place, "labelled", 200, 20, true);
    let object = place.good(&["evaluate", "run", "labelled", "--json"]).json();
    assert_eq!((&object["train"], &object["test"]["nodes"]), (&serde_json::Value::Null, &20.into()));
    let done = place.run(&["predict", "run", "--data", "club/missing"]);
    assert_eq!(done.code, 2);
}

#[test]
fn faults_are_one_line() {
    let place = Place::new();
    people(&place, "club", 0, 20, true);
    let done = place.run(&["train", "club"]);
    assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{done:?}");
    assert!(done.stderr.contains("name it with --label-column"), "{}", done.stderr);
    let done = place.run(&["inspect", "club", "--delimiter", "|"]);
    assert!(done.code == 2 && done.stderr.contains("say with --delimiter"), "{done:?}");
}

#[test]
fn converted_datasets_train_to_the_same_bits() {
    let place = Place::new();
    place.good(&["convert", crate::support::SMALL, "small.supergat.safetensors"]);
    place.good(&["convert", "small.supergat.safetensors", "small"]);
    place.train("a", &[]);
    for (source, out) in [("small", "b"), ("small.supergat.safetensors", "c")] {
        place.good(&["train", source, "--max-epochs", "20", "--out", out, "--quiet"]);
        for file in ["metrics.jsonl", "predictions.csv", "attention.csv"] {
            assert!(place.bytes(&format!("a/{file}")) == place.bytes(&format!("{out}/{file}")), "{source} {file}");
        }
    }
    let done = place.run(&["convert", "small", "small"]);
    assert_eq!(done.code, 2);
    let done = place.run(&["convert", "small", "no/where.safetensors"]);
    assert!(done.code == 1 && done.stderr.starts_with("error: cannot write no/where.safetensors"), "{done:?}");
}

#[test]
fn cora_as_tables_trains_to_the_same_bits() {
    let Some(folder) = published("cora") else { return };
    let place = Place::new();
    let cora = folder.to_str().unwrap();
    place.good(&["convert", cora, "tables"]);
    for (source, out) in [(cora, "a"), ("tables", "b")] {
        place.good(&["train", source, "--max-epochs", "3", "--out", out, "--quiet"]);
    }
    for file in ["metrics.jsonl", "predictions.csv", "attention.csv"] {
        assert!(place.bytes(&format!("a/{file}")) == place.bytes(&format!("b/{file}")), "{file}");
    }
}

#[test]
fn published_datasets_are_listed_and_only_those_fetched() {
    let place = Place::new();
    place.write("data/cora/ind.cora.x", "");
    let object = place.good(&["datasets", "--json"]).json();
    let datasets = object["datasets"].as_array().unwrap();
    assert_eq!(
        (datasets.len(), &datasets[0]["name"], &datasets[0]["place"]),
        (17, &"cora".into(), &"data/cora".into())
    );
    assert!(place.good(&["datasets"]).stdout.lines().count() == 19);
    let done = place.run(&["download", "coraa"]);
    assert!(
        done.code == 2 && done.stderr.starts_with("error: unknown dataset `coraa`: expected one of cora, "),
        "{done:?}"
    );
    let mut command = place.command(&["download", "citeseer", "--from", "http://127.0.0.1:9"]);
    command.env("SUPERGAT_DATA", place.path("cache"));
    let done = crate::support::Done::of(command);
    assert!(done.code == 1 && done.stderr.contains("error: cannot fetch http://127.0.0.1:9/citeseer/"), "{done:?}");
    assert!(!place.path("cache/citeseer").exists());
}
