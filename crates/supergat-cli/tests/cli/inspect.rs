//! `supergat inspect`

use crate::support::{SMALL, Workspace, keys, published};

#[test]
fn json_contains_the_documented_fields() {
    let workspace = Workspace::new();
    let object = workspace.good(&["inspect", SMALL, "--json"]).json();
    let documented = [
        "classes",
        "columns",
        "dataset",
        "degree",
        "directed_edges",
        "edges",
        "feature_density",
        "features",
        "graphs",
        "homophily",
        "isolated",
        "link_columns",
        "multi_label",
        "nodes",
        "notes",
        "schema",
        "self_loops",
        "test",
        "train",
        "unlabelled",
        "validation",
    ];
    assert_eq!(keys(&object), documented);
    assert_eq!((&object["schema"], &object["nodes"], &object["classes"]), (&1.into(), &540.into(), &3.into()));
    assert_eq!(keys(&object["degree"]), ["mean", "std"]);
    assert_eq!(keys(&object["homophily"]), ["adjusted", "class_insensitive", "edge", "node"]);
    assert_eq!(object["directed_edges"].as_u64(), object["edges"].as_u64().map(|edges| 2 * edges));
}

#[test]
fn undefined_measures_are_null() {
    let workspace = Workspace::new();
    let unlinked = "random-partition:classes=2,nodes=170,degree=0";
    let object = workspace.good(&["inspect", unlinked, "--json"]).json();
    assert!(object["homophily"].as_object().unwrap().values().all(serde_json::Value::is_null));
    let text = workspace.good(&["inspect", unlinked]).stdout;
    assert!(text.lines().any(|line| line.split_whitespace().take(2).eq(["homophily", "-"])), "{text}");
}

/// The requested split is used and recorded with the model; a split that does not exist is rejected.
#[test]
fn split_option_selects_the_split() {
    let Some(folder) = published("cora-ml") else { return };
    let (workspace, folder) = (Workspace::new(), folder.to_str().unwrap().to_owned());
    let sizes = |args: &[&str]| {
        let object = workspace.good(&[&["inspect", &folder, "--json"], args].concat()).json();
        (object["train"].clone(), object["validation"].clone(), object["notes"].to_string())
    };
    let (train, validation, notes) = sizes(&[]);
    assert_eq!((train, validation), (140.into(), 210.into()));
    assert!(notes.contains("the split that the paper's results were made with"), "{notes}");
    let (train, _, notes) = sizes(&["--split", "random:7"]);
    assert!(train == 140 && notes.contains("drawn with seed 7"), "{notes}");
    workspace.good(&["train", &folder, "--model", "mlp", "--split", "random:7", "--max-epochs", "2", "--out", "run"]);
    assert!(workspace.read("run/config.toml").contains("split = \"random:7\""));
    let again = workspace.good(&["evaluate", "run", "--json"]).json();
    let other = workspace.good(&["evaluate", "run", "--split", "published", "--json"]).json();
    let test = |object: &serde_json::Value| object["test"].clone();
    assert_ne!(test(&again), test(&other));
    for (args, part) in [
        (["inspect", folder.as_str(), "--split", "3"], "published or random, since the files hold no splits, found 3"),
        (["inspect", folder.as_str(), "--split", "randon"], "expected published, random, random:SEED"),
        (["inspect", SMALL, "--split", "random"], "generated graphs come with their own split"),
    ] {
        let done = workspace.run(&args);
        assert!(done.code == 2 && done.stderr.contains(part), "{done:?}");
    }
}

#[test]
fn cora_has_the_published_measures() {
    let Some(folder) = published("cora") else { return };
    let text = Workspace::new().good(&["inspect", folder.to_str().unwrap()]).stdout;
    let value = |name: &str| {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(name));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).split("  ").filter(|part| !part.is_empty()).nth(1)
    };
    for (name, expected) in
        [("nodes", "2708"), ("edges", "5429"), ("degree", "3.90 ± 5.23"), ("homophily", "0.83"), ("classes", "7")]
    {
        assert_eq!(value(name).map(str::trim), Some(expected), "{text}");
    }
}
