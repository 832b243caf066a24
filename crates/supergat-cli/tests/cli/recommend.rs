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

const MAP: [&str; 2] = ["--seconds", "0"];

#[test]
fn json_contains_the_documented_fields() {
    let workspace = Workspace::new();
    let object = workspace.good(&["recommend", SMALL, "--seconds", "1", "--json"]).json();
    let documented = [
        "alternatives",
        "answer",
        "close_call",
        "confidence",
        "dataset",
        "family",
        "labels",
        "left_out",
        "map",
        "measured",
        "next",
        "notes",
        "recommendation",
        "schema",
        "settings",
    ];
    assert_eq!(keys(&object), documented);
    let of_map =
        ["alternatives", "close_call", "confidence", "degree", "forms", "homophily", "reasons", "recommendation"];
    assert_eq!(keys(&object["map"]), of_map);
    let measured = ["families", "gains", "majority", "metric", "parts", "plan", "scored"];
    assert_eq!(keys(&object["measured"]), measured);
    assert_eq!(object["schema"], 2);
    for family in object["measured"]["families"].as_array().unwrap() {
        assert!((0.0..=1.0).contains(&family["mean"].as_f64().unwrap()), "metrics are no per cent: {family}");
    }
    let plan = ["epochs", "families", "first_epochs", "keeps_training", "left_out", "repetitions", "seconds", "seed"];
    assert_eq!(keys(&object["measured"]["plan"]), plan);
    let homophily = |object: &serde_json::Value| object["map"]["homophily"].clone();
    assert_eq!(keys(&homophily(&object)), ["error", "estimate", "from", "high", "labelled", "links", "low"]);
    assert_eq!(
        (homophily(&object)["labelled"].as_u64(), object["labels"].as_str()),
        (Some(210), Some("training-and-validation"))
    );
    let fewer = workspace.good(&["recommend", SMALL, "--training-labels", "--seconds", "0", "--json"]).json();
    assert_eq!((homophily(&fewer)["labelled"].as_u64(), fewer["labels"].as_str()), (Some(60), Some("training")));
    assert!(fewer["measured"].is_null() && fewer["recommendation"] == fewer["map"]["recommendation"]);
    let width = |object: &serde_json::Value| {
        homophily(object)["high"].as_f64().unwrap() - homophily(object)["low"].as_f64().unwrap()
    };
    assert!(width(&object) < width(&fewer));
}

#[test]
fn writes_text_map_and_page() {
    let workspace = Workspace::new();
    let done = workspace.good(&["recommend", SMALL, "--out", "map", "--seconds", "1"]);
    assert!(done.stdout.contains("recommendation") && done.stdout.contains("limits\n"), "{}", done.stdout);
    assert!(done.stdout.contains("Next: supergat train ") && done.stdout.contains("No test node was used"));
    assert_eq!(workspace.list("map"), ["map.svg", "report.html"]);
    assert!(workspace.read("map/map.svg").contains("SuperGAT-Any"));
    assert!(workspace.read("map/report.html").contains("random-partition"));
    workspace.write("taken", "");
    let done = workspace.run(&["recommend", SMALL, "--out", "taken", "--seconds", "0"]);
    assert!(done.code == 1 && done.stderr.contains("cannot write taken"), "{done:?}");
}

#[test]
fn the_time_and_the_metric_are_checked() {
    let workspace = Workspace::new();
    let done = workspace.run(&["recommend", SMALL, "--seconds", "-1"]);
    assert!(done.code == 2 && done.stderr.contains("seconds = -1: must be 0 or more"), "{done:?}");
    let done = workspace.run(&["recommend", SMALL, "--metric", "micro-f1"]);
    assert!(done.code == 2 && done.stderr.contains("use accuracy"), "{done:?}");
    let object = workspace.good(&["recommend", SMALL, "--metric", "macro-f1", "--seconds", "1", "--json"]).json();
    assert_eq!(object["measured"]["metric"].as_str(), Some("macro-f1"));
    assert!(object["next"][0].as_str().unwrap().ends_with(" --select macro-f1"), "{object}");
}

#[test]
fn graph_without_preset_is_trained_with_the_best_network() {
    let workspace = Workspace::new();
    tables(&workspace, true, halves);
    let done = workspace.good(&["recommend", "mine", "--standardise", "--ignore-columns", "noise", "--seconds", "1"]);
    assert!(done.stdout.contains("supergat train mine --ignore-columns noise --standardise --model "), "{done:?}");
    let model = |done: &Done| done.stdout.parse::<toml::Table>().unwrap()["model"].as_str().unwrap().to_owned();
    let named = model(&workspace.good(&["train", "mine", "--print-config"]));
    assert_eq!(model(&workspace.good(&["train", "mine", "--print-config", "--threads", "1"])), named);
    assert_eq!(model(&workspace.good(&["train", "mine", "--model", "mlp", "--print-config"])), "mlp");
    assert_eq!(model(&workspace.good(&["train", SMALL, "--print-config"])), "supergat-mx", "a preset of the paper");
    let done = workspace.good(&["train", "mine", "--max-epochs", "3", "--out", "run"]);
    // A slow machine also prints how many runs are done.
    let mut lines = done.stderr.lines().filter(|line| !line.starts_with("run "));
    assert!(lines.next().unwrap().starts_with("no model is named: comparing networks on held-out"), "{done:?}");
    assert!(lines.next().unwrap().starts_with("comparing label-propagation, mlp, "), "{done:?}");
    let chosen = format!("model: {named}, chosen among ");
    assert!(lines.next().unwrap().starts_with(&chosen), "{done:?}");
    assert!(workspace.read("run/config.toml").contains(&format!("model = \"{named}\"")));
    // The map alone chooses for a graph of the paper.
    workspace.write("auto.toml", "model = 'auto'\nmax_epochs = 3\n");
    let done = workspace.good(&["train", SMALL, "--config", "auto.toml", "--out", "again"]);
    assert!(done.stderr.starts_with("model: ") && done.stderr.contains("not measured, chosen for degree"), "{done:?}");
    assert!(done.stderr.contains("; votes of the paper's map: "), "{done:?}");
}

/// The time of a comparison can be set, and a named model needs none.
#[test]
fn the_time_for_choosing_a_model_is_an_option() {
    let workspace = Workspace::new();
    tables(&workspace, true, halves);
    let train =
        |more: &[&str]| workspace.run(&[&["train", "mine", "--max-epochs", "3", "--out", "run"], more].concat());
    let done = train(&["--choose-seconds", "0", "--estimate"]);
    assert!(done.code == 0 && !done.stderr.contains("comparing label-propagation"), "{done:?}");
    let done = train(&["--choose-seconds", "1"]);
    assert!(done.code == 0 && done.stderr.contains("comparing networks on held-out labelled nodes, 1 s"), "{done:?}");
    assert!(done.stderr.contains("comparing label-propagation, ") && !done.stderr.contains("trees"), "{done:?}");
    let done = workspace.run(&["train", "mine", "--max-epochs", "3", "--model", "mlp", "--choose-seconds", "9"]);
    assert!(done.stderr.contains("--choose-seconds has no effect"), "{done:?}");
    let done = train(&["--choose-seconds", "1"]);
    assert!(
        done.code == 2 && done.stderr.starts_with("error: --out run: it exists"),
        "before models are compared: {done:?}"
    );
    let done = workspace.run(&["train", "mine", "--choose-seconds=nan"]);
    assert!(done.code == 2 && done.stderr.contains("choose_seconds = NaN: must be 0 or more"), "{done:?}");
}

/// Networks are compared on the device. Without a GPU, the reason is the error.
#[test]
fn the_device_is_an_option() {
    let workspace = Workspace::new();
    workspace.good(&["recommend", SMALL, "--device", "cpu", "--seconds", "0"]);
    let done = workspace.run(&["recommend", SMALL, "--device", "cuda:99", "--seconds", "1"]);
    assert!(done.code != 0 && done.stderr.starts_with("error: "), "{done:?}");
    assert!(done.stderr.contains("GPU") || done.stderr.contains("cuda:99"), "{done:?}");
}

/// Missing labels and links are reported, and the answer says how little was compared.
#[test]
fn answers_where_little_is_known() {
    let workspace = Workspace::new();
    tables(&workspace, true, halves);
    let recommend = |more: [&str; 2]| {
        let arguments = ["recommend", "mine", "--json"].into_iter().chain(more);
        workspace.good(&arguments.collect::<Vec<_>>()).json()
    };
    let full = recommend(MAP);
    for (label, part) in [
        ((|_| "") as fn(usize) -> &'static str, "no node has a label"),
        (|i| if i < 30 { "a" } else { "" }, "all labelled nodes have the same class"),
    ] {
        tables(&workspace, true, label);
        let object = recommend(["--seconds", "1"]);
        assert!(object["measured"].is_null() && object["answer"].as_str().unwrap().contains(part), "{object}");
        assert!(object["answer"].as_str().unwrap().starts_with("Nothing was measured: "), "{object}");
        assert_eq!(object["next"][0].as_str(), Some("supergat recommend mine"));
        let map = &object["map"];
        assert!(map["homophily"].is_null() && map["reasons"][0].as_str().unwrap().contains(part), "{object}");
        assert!(map["confidence"].as_f64() < full["map"]["confidence"].as_f64());
        assert_eq!(map["degree"], full["map"]["degree"]);
        let done = workspace.run(&["train", "mine"]);
        assert!(done.code == 2 && done.stderr.trim_end().lines().count() <= 2, "{done:?}");
    }
    // Five labelled nodes.
    tables(&workspace, true, |i| match i {
        0..3 => "a",
        30..32 => "b",
        _ => "",
    });
    let object = recommend(["--seconds", "1"]);
    let answer = object["answer"].as_str().unwrap();
    assert!(answer.contains("this means little") || answer.contains("too few"), "{object}");
    // No links.
    tables(&workspace, false, halves);
    assert_eq!(recommend(MAP)["recommendation"].as_str(), Some("mlp"));
    let object = recommend(["--seconds", "1"]);
    assert!(object["notes"].to_string().contains("gcn (there are no links)"), "{object}");
    let lonely = ["recommend", "random-partition:classes=2,nodes=170,degree=0", "--json", "--seconds", "0"];
    let lonely = workspace.good(&lonely).json();
    assert_eq!((lonely["recommendation"].as_str(), lonely["map"]["degree"].as_f64()), (Some("mlp"), Some(0.0)));
    // No features.
    workspace.write("bare/nodes.csv", "id,label\n0,a\n1,b\n");
    workspace.write("bare/edges.csv", "source,target\n0,1\n");
    let done = workspace.run(&["recommend", "bare"]);
    assert!(done.code == 2 && done.stderr.contains("--features structural"), "{done:?}");
    let done = workspace.run(&["recommend", "nowhere"]);
    assert!(done.code == 2 && done.stderr.starts_with("error: "), "{done:?}");
}

#[test]
fn the_map_names_the_best_model_of_the_paper_for_cora() {
    let Some(folder) = published("cora") else { return };
    let arguments = ["recommend", folder.to_str().unwrap(), "--training-labels", "--seconds", "0"];
    let text = Workspace::new().good(&arguments).stdout;
    assert!(text.contains("recommendation      supergat-mx"), "{text}");
}
