//! `supergat recommend`, and training with the recommended model.

use crate::support::{Done, SMALL, Workspace, keys, published};

/// Writes tables of a ring of 60 nodes with chords. Nodes of a class are adjacent; `label` returns a node's label.
fn tables(workspace: &Workspace, linked: bool, label: impl Fn(usize) -> &'static str) {
    let row = |i: usize| format!("n{i},{},{},{}\n", label(i), i % 7, if i < 30 { 1 } else { -1 });
    workspace.write("mine/nodes.csv", "id,label,noise,side\n".to_owned() + &(0..60).map(row).collect::<String>());
    let link = |i: usize| format!("n{i},n{}\nn{i},n{}\n", (i + 1) % 60, (i + 2) % 60);
    let links = (0..60).map(link).collect::<String>();
    workspace.write("mine/edges.csv", "source,target\n".to_owned() + if linked { &links } else { "" });
}

fn halves(i: usize) -> &'static str {
    if i < 30 { "a" } else { "b" }
}

#[test]
fn json_contains_the_documented_fields() {
    let workspace = Workspace::new();
    let object = workspace.good(&["recommend", SMALL, "--json"]).json();
    let documented = [
        "alternatives",
        "close_call",
        "confidence",
        "dataset",
        "degree",
        "forms",
        "homophily",
        "labels",
        "reasons",
        "recommendation",
        "schema",
    ];
    assert_eq!(keys(&object), documented);
    assert_eq!(keys(&object["homophily"]), ["error", "estimate", "from", "high", "labelled", "links", "low"]);
    assert_eq!(
        (object["homophily"]["labelled"].as_u64(), object["labels"].as_str()),
        (Some(210), Some("training-and-validation"))
    );
    let fewer = workspace.good(&["recommend", SMALL, "--training-labels", "--json"]).json();
    assert_eq!((fewer["homophily"]["labelled"].as_u64(), fewer["labels"].as_str()), (Some(60), Some("training")));
    let width = |object: &serde_json::Value| {
        object["homophily"]["high"].as_f64().unwrap() - object["homophily"]["low"].as_f64().unwrap()
    };
    assert!(width(&object) < width(&fewer));
}

#[test]
fn writes_text_map_and_page() {
    let workspace = Workspace::new();
    let done = workspace.good(&["recommend", SMALL, "--out", "recipe"]);
    assert!(done.stdout.contains("recommendation") && done.stdout.contains("why\n"), "{}", done.stdout);
    assert_eq!(workspace.list("recipe"), ["map.svg", "report.html"]);
    assert!(workspace.read("recipe/map.svg").contains("SuperGAT-Any"));
    assert!(workspace.read("recipe/report.html").contains("random-partition"));
    workspace.write("taken", "");
    let done = workspace.run(&["recommend", SMALL, "--out", "taken"]);
    assert!(done.code == 1 && done.stderr.contains("cannot write taken"), "{done:?}");
}

#[test]
fn graph_without_preset_is_trained_with_the_recommended_model() {
    let workspace = Workspace::new();
    tables(&workspace, true, halves);
    let done = workspace.good(&["recommend", "mine", "--standardise", "--ignore-columns", "noise"]);
    assert!(done.stdout.contains("supergat train mine --ignore-columns noise --standardise --model "), "{done:?}");
    let named = workspace.good(&["recommend", "mine", "--json"]).json()["recommendation"].as_str().unwrap().to_owned();
    let model = |done: &Done| done.stdout.parse::<toml::Table>().unwrap()["model"].as_str().unwrap().to_owned();
    assert_eq!(model(&workspace.good(&["train", "mine", "--print-config"])), named);
    assert_eq!(model(&workspace.good(&["train", "mine", "--model", "mlp", "--print-config"])), "mlp");
    assert_eq!(model(&workspace.good(&["train", SMALL, "--print-config"])), "supergat-mx", "a preset of the paper");
    let done = workspace.good(&["train", "mine", "--max-epochs", "3", "--out", "run"]);
    assert!(done.stderr.starts_with(&format!("model: {named}, chosen for degree 4.0 and homophily ")), "{done:?}");
    assert!(workspace.read("run/config.toml").contains(&format!("model = \"{named}\"")));
    workspace.write("auto.toml", "model = 'auto'\nmax_epochs = 3\n");
    let done = workspace.good(&["train", SMALL, "--config", "auto.toml", "--out", "again"]);
    assert!(done.stderr.starts_with("model: "), "{done:?}");
}

/// Missing labels are reported and lower the confidence.
#[test]
fn reports_missing_labels_and_links() {
    let workspace = Workspace::new();
    tables(&workspace, true, halves);
    let full = workspace.good(&["recommend", "mine", "--json"]).json();
    for (label, part) in [
        ((|_| "") as fn(usize) -> &'static str, "no node has a label"),
        (|i| if i < 30 { "a" } else { "" }, "all labelled nodes have the same class"),
    ] {
        tables(&workspace, true, label);
        let object = workspace.good(&["recommend", "mine", "--json"]).json();
        assert!(object["homophily"].is_null() && object["reasons"][0].as_str().unwrap().contains(part), "{object}");
        assert!(object["confidence"].as_f64() < full["confidence"].as_f64() && object["degree"] == full["degree"]);
        let done = workspace.run(&["train", "mine"]);
        assert!(done.code == 2 && done.stderr.lines().count() == 1, "{done:?}");
    }
    tables(&workspace, false, halves);
    assert_eq!(workspace.good(&["recommend", "mine", "--json"]).json()["recommendation"].as_str(), Some("mlp"));
    let lonely = workspace.good(&["recommend", "random-partition:classes=2,nodes=170,degree=0", "--json"]).json();
    assert_eq!((lonely["recommendation"].as_str(), lonely["degree"].as_f64()), (Some("mlp"), Some(0.0)));
    let done = workspace.run(&["recommend", "nowhere"]);
    assert!(done.code == 2 && done.stderr.starts_with("error: "), "{done:?}");
}

#[test]
fn recommends_the_best_model_of_the_paper_for_cora() {
    let Some(folder) = published("cora") else { return };
    let text = Workspace::new().good(&["recommend", folder.to_str().unwrap(), "--training-labels"]).stdout;
    assert!(text.contains("recommendation      supergat-mx"), "{text}");
}
