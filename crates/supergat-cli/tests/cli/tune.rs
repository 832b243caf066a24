//! `supergat tune`

use crate::support::{SMALL, Workspace, table};

const SEARCH: [&str; 8] = ["tune", SMALL, "--max-epochs", "6", "--trials", "10", "--out", "search"];

#[test]
fn writes_settings_for_training_and_resumes() {
    let workspace = Workspace::new();
    let done = workspace.good(&[&SEARCH[..], &["--also", "dropout", "--json"]].concat());
    let summary = done.json();
    assert_eq!(workspace.list("search"), ["best.toml", "history.csv", "results.jsonl", "search.svg"]);
    let (header, rows) = table(&workspace.read("search/history.csv"));
    assert_eq!(header.join(","), "trial,lambda_2,lambda_e,p_n,p_e,dropout,validation,seeds,state");
    assert_eq!((rows.len(), &summary["trials"]), (10, &10.into()));
    let best: Vec<_> = rows.iter().filter(|row| row[8] == "best").collect();
    assert_eq!((best.len(), best[0][7].as_str()), (1, "8"));
    assert_eq!(summary["best"]["validation"].as_f64(), best[0][6].parse().ok());
    let settings: toml::Table = workspace.read("search/best.toml").parse().unwrap();
    assert_eq!(settings["lambda_e"].as_float(), best[0][2].parse().ok());
    assert!(workspace.read("search/search.svg").ends_with("</svg>\n"));
    workspace.good(&["train", "--config", "search/best.toml", "--out", "run"]);

    // A finished search runs nothing and gives the same result.
    let runs = workspace.read("search/results.jsonl");
    let again = workspace.good(&[&SEARCH[..], &["--also", "dropout", "--json", "--threads", "1"]].concat());
    assert_eq!(again.stdout, done.stdout);
    assert_eq!(workspace.read("search/results.jsonl"), runs);
}

#[test]
fn output_contains_no_test_results() {
    let workspace = Workspace::new();
    let done = workspace.good(&SEARCH);
    let words =
        done.stdout + &done.stderr + &workspace.read("search/history.csv") + &workspace.read("search/search.svg");
    assert!(words.contains("validation accuracy") && !words.contains("test"), "{words}");
}

#[test]
fn rejects_invalid_options() {
    let workspace = Workspace::new();
    for (more, expected) in [
        (&["--also", "dropuot"][..], "--also dropuot: expected some of dropout, lr"),
        (&["--minutes", "-1"], "-1"),
        (&["--minutes", "0"], "must be positive"),
        (&["--trials", "0"], "--trials"),
        (&["--delimiter", ";"], "tune does not read delimiter"),
        (&["--lr", "0"], "lr"),
    ] {
        let done = workspace.run(&[&["tune", SMALL][..], more].concat());
        assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{more:?}: {done:?}");
        assert!(done.stderr.contains(expected), "{done:?}");
        assert!(workspace.list(".").is_empty(), "{more:?} left files behind");
    }
}
