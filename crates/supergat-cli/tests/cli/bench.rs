//! `supergat bench`

use crate::support::{Place, keys};

#[test]
fn the_object_holds_the_promised_fields() {
    let place = Place::new();
    let object = place.good(&["bench", "--random", "400,6,5,3", "--epochs", "3", "--threads", "2", "--json"]).json();
    let promised = [
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
        "nodes",
        "peak_rss_mib",
        "peer",
        "schema",
        "test_at_best_val",
        "threads",
        "train_ms",
    ];
    assert_eq!(keys(&object), promised);
    assert_eq!((&object["nodes"], &object["form"], &object["threads"]), (&400.into(), &"mx".into(), &2.into()));
    for pass in ["train_ms", "eval_ms"] {
        assert_eq!(keys(&object[pass]), ["median", "min"]);
        assert!(object[pass]["min"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn a_graph_of_three_numbers_is_refused() {
    let done = Place::new().run(&["bench", "--random", "400,6,5"]);
    assert_eq!(done.code, 2);
    assert!(done.stderr.starts_with("error: --random 400,6,5: expected"), "{}", done.stderr);
}
