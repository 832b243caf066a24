//! `supergat inspect`

use crate::support::{Place, SMALL, keys, published};

#[test]
fn the_object_holds_the_promised_fields() {
    let place = Place::new();
    let object = place.good(&["inspect", SMALL, "--json"]).json();
    let promised = [
        "classes",
        "dataset",
        "degree",
        "directed_edges",
        "edges",
        "feature_density",
        "features",
        "graphs",
        "homophily",
        "isolated",
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
    assert_eq!(keys(&object), promised);
    assert_eq!((&object["schema"], &object["nodes"], &object["classes"]), (&1.into(), &540.into(), &3.into()));
    assert_eq!(keys(&object["degree"]), ["mean", "std"]);
    assert_eq!(keys(&object["homophily"]), ["adjusted", "class_insensitive", "edge", "node"]);
    assert_eq!(object["directed_edges"].as_u64(), object["edges"].as_u64().map(|edges| 2 * edges));
}

#[test]
fn what_is_not_defined_is_null() {
    let place = Place::new();
    let unlinked = "random-partition:classes=2,nodes=170,degree=0";
    let object = place.good(&["inspect", unlinked, "--json"]).json();
    assert!(object["homophily"].as_object().unwrap().values().all(serde_json::Value::is_null));
    let text = place.good(&["inspect", unlinked]).stdout;
    assert!(text.lines().any(|line| line.split_whitespace().take(2).eq(["homophily", "-"])), "{text}");
}

#[test]
fn cora_is_as_published() {
    let Some(folder) = published("cora") else { return };
    let text = Place::new().good(&["inspect", folder.to_str().unwrap()]).stdout;
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
