//! `supergat profile`

use crate::support::{Workspace, keys};

#[test]
fn json_contains_the_documented_fields() {
    let workspace = Workspace::new();
    let object =
        workspace.good(&["profile", "--random", "400,6,5,3", "--epochs", "3", "--threads", "2", "--json"]).json();
    let documented = [
        "best_val",
        "data",
        "device",
        "edges",
        "epochs",
        "eval_ms",
        "form",
        "kernels",
        "load_ms",
        "model",
        "node_order",
        "nodes",
        "peak_rss_mib",
        "peer",
        "processes",
        "schema",
        "sent_bytes",
        "test_at_best_val",
        "threads",
        "train_ms",
    ];
    assert_eq!(keys(&object), documented);
    assert_eq!((&object["nodes"], &object["form"], &object["threads"]), (&400.into(), &"mx".into(), &2.into()));
    for pass in ["train_ms", "eval_ms"] {
        assert_eq!(keys(&object[pass]), ["median", "min"]);
        assert!(object[pass]["min"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn rejects_random_graph_of_three_numbers() {
    let done = Workspace::new().run(&["profile", "--random", "400,6,5"]);
    assert_eq!(done.code, 2);
    assert!(done.stderr.starts_with("error: --random 400,6,5: expected"), "{}", done.stderr);
}
