//! `supergat tune`

use crate::support::{Place, SMALL, table};

const SEARCH: [&str; 8] = ["tune", SMALL, "--max-epochs", "6", "--trials", "10", "--out", "search"];

#[test]
fn a_search_leaves_settings_to_train_with() {
    let place = Place::new();
    let done = place.good(&[&SEARCH[..], &["--also", "dropout", "--json"]].concat());
    let summary = done.json();
    assert_eq!(place.list("search"), ["best.toml", "history.csv", "results.jsonl", "search.svg"]);
    let (header, rows) = table(&place.read("search/history.csv"));
    assert_eq!(header.join(","), "trial,lambda_2,lambda_e,p_n,p_e,dropout,validation,seeds,state");
    assert_eq!((rows.len(), &summary["trials"]), (10, &10.into()));
    let best: Vec<_> = rows.iter().filter(|row| row[8] == "best").collect();
    assert_eq!((best.len(), best[0][7].as_str()), (1, "8"));
    assert_eq!(summary["best"]["validation"].as_f64(), best[0][6].parse().ok());
    let settings: toml::Table = place.read("search/best.toml").parse().unwrap();
    assert_eq!(settings["lambda_e"].as_float(), best[0][2].parse().ok());
    assert!(place.read("search/search.svg").ends_with("</svg>\n"));
    place.good(&["train", "--config", "search/best.toml", "--out", "run"]);

    // Again: nothing is left to be run, and nothing changes.
    let runs = place.read("search/results.jsonl");
    let again = place.good(&[&SEARCH[..], &["--also", "dropout", "--json", "--threads", "1"]].concat());
    assert_eq!(again.stdout, done.stdout);
    assert_eq!(place.read("search/results.jsonl"), runs);
}

#[test]
fn a_search_never_speaks_of_test_nodes() {
    let place = Place::new();
    let done = place.good(&SEARCH);
    let words = done.stdout + &done.stderr + &place.read("search/history.csv") + &place.read("search/search.svg");
    assert!(words.contains("validation accuracy") && !words.contains("test"), "{words}");
}

#[test]
fn wrong_usage_is_refused() {
    let place = Place::new();
    for (more, expected) in [
        (&["--also", "dropuot"][..], "--also dropuot: expected some of dropout, lr"),
        (&["--minutes", "-1"], "-1"),
        (&["--minutes", "0"], "must be positive"),
        (&["--trials", "0"], "--trials"),
        (&["--delimiter", ";"], "tune does not read delimiter"),
        (&["--lr", "0"], "lr"),
    ] {
        let done = place.run(&[&["tune", SMALL][..], more].concat());
        assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{more:?}: {done:?}");
        assert!(done.stderr.contains(expected), "{done:?}");
        assert!(place.list(".").is_empty(), "{more:?} left something");
    }
}
