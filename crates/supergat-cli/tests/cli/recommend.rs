//! `supergat recommend`, and training with what it names.

use crate::support::{Done, Place, SMALL, keys, published};

/// A ring of 60 nodes with chords, as a person's own tables. Nodes of a class stand side by side; `label` says what is in the column of the class.
fn tables(place: &Place, linked: bool, label: impl Fn(usize) -> &'static str) {
    let row = |i: usize| format!("n{i},{},{},{}\n", label(i), i % 7, if i < 30 { 1 } else { -1 });
    place.write("mine/nodes.csv", "id,label,noise,side\n".to_owned() + &(0..60).map(row).collect::<String>());
    let link = |i: usize| format!("n{i},n{}\nn{i},n{}\n", (i + 1) % 60, (i + 2) % 60);
    let links = (0..60).map(link).collect::<String>();
    place.write("mine/edges.csv", "source,target\n".to_owned() + if linked { &links } else { "" });
}

fn halves(i: usize) -> &'static str {
    if i < 30 { "a" } else { "b" }
}

#[test]
fn the_object_holds_the_promised_fields() {
    let place = Place::new();
    let object = place.good(&["recommend", SMALL, "--json"]).json();
    let promised = [
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
    assert_eq!(keys(&object), promised);
    assert_eq!(keys(&object["homophily"]), ["error", "estimate", "from", "high", "labelled", "links", "low"]);
    assert_eq!(
        (object["homophily"]["labelled"].as_u64(), object["labels"].as_str()),
        (Some(210), Some("training-and-validation"))
    );
    let fewer = place.good(&["recommend", SMALL, "--training-labels", "--json"]).json();
    assert_eq!((fewer["homophily"]["labelled"].as_u64(), fewer["labels"].as_str()), (Some(60), Some("training")));
    let width = |object: &serde_json::Value| {
        object["homophily"]["high"].as_f64().unwrap() - object["homophily"]["low"].as_f64().unwrap()
    };
    assert!(width(&object) < width(&fewer));
}

#[test]
fn words_map_and_page() {
    let place = Place::new();
    let done = place.good(&["recommend", SMALL, "--out", "recipe"]);
    assert!(done.stdout.contains("recommendation") && done.stdout.contains("why\n"), "{}", done.stdout);
    assert_eq!(place.list("recipe"), ["map.svg", "report.html"]);
    assert!(place.read("recipe/map.svg").contains("SuperGAT-Any"));
    assert!(place.read("recipe/report.html").contains("random-partition"));
    place.write("taken", "");
    let done = place.run(&["recommend", SMALL, "--out", "taken"]);
    assert!(done.code == 1 && done.stderr.contains("cannot write taken"), "{done:?}");
}

/// A person's own graph is trained with what the recipe names, and the configuration holds its name.
#[test]
fn a_graph_without_preset_gets_the_recommended_model() {
    let place = Place::new();
    tables(&place, true, halves);
    let done = place.good(&["recommend", "mine", "--standardise", "--ignore-columns", "noise"]);
    assert!(done.stdout.contains("supergat train mine --ignore-columns noise --standardise --model "), "{done:?}");
    let named = place.good(&["recommend", "mine", "--json"]).json()["recommendation"].as_str().unwrap().to_owned();
    let model = |done: &Done| done.stdout.parse::<toml::Table>().unwrap()["model"].as_str().unwrap().to_owned();
    assert_eq!(model(&place.good(&["train", "mine", "--print-config"])), named);
    assert_eq!(model(&place.good(&["train", "mine", "--model", "mlp", "--print-config"])), "mlp");
    assert_eq!(model(&place.good(&["train", SMALL, "--print-config"])), "supergat-mx", "a preset of the paper");
    let done = place.good(&["train", "mine", "--max-epochs", "3", "--out", "run"]);
    assert!(done.stderr.starts_with(&format!("model: {named}, chosen for degree 4.0 and homophily ")), "{done:?}");
    assert!(place.read("run/config.toml").contains(&format!("model = \"{named}\"")));
    place.write("auto.toml", "model = 'auto'\nmax_epochs = 3\n");
    let done = place.good(&["train", SMALL, "--config", "auto.toml", "--out", "again"]);
    assert!(done.stderr.starts_with("model: "), "{done:?}");
}

/// What is not known is said, and the answer is the less sure for it.
#[test]
fn what_is_missing_is_said() {
    let place = Place::new();
    tables(&place, true, halves);
    let full = place.good(&["recommend", "mine", "--json"]).json();
    for (label, part) in [
        ((|_| "") as fn(usize) -> &'static str, "no node has a label"),
        (|i| if i < 30 { "a" } else { "" }, "all labelled nodes have the same class"),
    ] {
        tables(&place, true, label);
        let object = place.good(&["recommend", "mine", "--json"]).json();
        assert!(object["homophily"].is_null() && object["reasons"][0].as_str().unwrap().contains(part), "{object}");
        assert!(object["confidence"].as_f64() < full["confidence"].as_f64() && object["degree"] == full["degree"]);
        let done = place.run(&["train", "mine"]);
        assert!(done.code == 2 && done.stderr.lines().count() == 1, "{done:?}");
    }
    tables(&place, false, halves);
    assert_eq!(place.good(&["recommend", "mine", "--json"]).json()["recommendation"].as_str(), Some("mlp"));
    let lonely = place.good(&["recommend", "random-partition:classes=2,nodes=170,degree=0", "--json"]).json();
    assert_eq!((lonely["recommendation"].as_str(), lonely["degree"].as_f64()), (Some("mlp"), Some(0.0)));
    let done = place.run(&["recommend", "nowhere"]);
    assert!(done.code == 2 && done.stderr.starts_with("error: "), "{done:?}");
}

#[test]
fn cora_gets_what_the_paper_found_best() {
    let Some(folder) = published("cora") else { return };
    let text = Place::new().good(&["recommend", folder.to_str().unwrap(), "--training-labels"]).stdout;
    assert!(text.contains("recommendation      supergat-mx"), "{text}");
}
