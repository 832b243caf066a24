//! `supergat compare`

use crate::support::{SMALL, Workspace};

#[test]
fn pairs_runs_with_the_same_seeds() {
    let workspace = Workspace::new();
    workspace.train("go", &["--model", "gat-go", "--seeds", "4"]);
    workspace.train("mx", &["--model", "supergat-mx", "--seeds", "4"]);
    workspace.train("few", &["--model", "supergat-mx", "--seeds", "2"]);
    let pairs = workspace.good(&["compare", "go", "mx", "--json"]).json();
    assert_eq!((&pairs["paired"], &pairs["splits"]), (&true.into(), &1.into()));
    assert_eq!(pairs["a"]["mean"], workspace.json("go/summary.json")["test"]["mean"]);
    assert!(pairs["paired_t"]["p"].as_f64().is_some_and(|p| (0.0..=1.0).contains(&p)), "{pairs}");
    let table = workspace.good(&["compare", "go", "mx"]).stdout;
    assert!(table.contains("gat-go") && table.contains("paired t-test") && table.contains("Wilcoxon"), "{table}");
    assert_eq!(table.lines().last(), pairs["conclusion"].as_str());
    let unpaired = workspace.good(&["compare", "go", "few", "--json"]).json();
    assert_eq!((&unpaired["paired"], unpaired.get("wilcoxon")), (&false.into(), Some(&serde_json::Value::Null)));
    let same = workspace.good(&["compare", "mx", "mx"]).stdout;
    assert!(same.contains("are the same on") && !same.contains("NaN"), "{same}");
}

#[test]
fn rejects_runs_that_cannot_be_compared() {
    let workspace = Workspace::new();
    workspace.train("one", &[]);
    workspace.good(&["train", "random-partition:classes=2,nodes=170", "--max-epochs", "3", "--out", "other"]);
    workspace.write("empty.jsonl", "");
    for (a, b, expected) in [
        ("one", "other", "only runs on the same dataset can be compared"),
        ("one", "nowhere", "expected a run folder"),
        ("one", "empty.jsonl:cora/gat-go", "contains no finished run"),
    ] {
        let done = workspace.run(&["compare", a, b]);
        assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{done:?}");
        assert!(done.stderr.contains(expected), "{done:?}");
    }
    let alone = workspace.good(&["compare", "one", "one"]).stdout;
    assert!(alone.contains("too few values"), "{alone}");
}

#[test]
fn selects_runs_of_a_results_file() {
    let workspace = Workspace::new();
    workspace.good(&["tune", SMALL, "--max-epochs", "5", "--trials", "2", "--seeds", "2", "--out", "search", "-q"]);
    let file = "search/results.jsonl";
    let done = workspace.run(&["compare", file, file]);
    assert!(
        done.code == 2
            && done.stderr.contains(&format!("expected runs such as {file}:{SMALL}/supergat-mx, found no filter")),
        "{done:?}"
    );
    workspace.write("torn.jsonl", "{\"half");
    let done = workspace.run(&["compare", "torn.jsonl:x/y", "torn.jsonl:x/y"]);
    assert!(done.code == 2 && done.stderr.contains("torn.jsonl, line 1 is skipped: "), "{done:?}");
    let all = format!("{file}:{SMALL}/supergat-mx");
    let done = workspace.run(&["compare", &all, &all]);
    assert!(done.code == 2 && done.stderr.contains("has runs that differ in lambda_2, lambda_e"), "{done:?}");
    // The example in the message is a valid selection.
    let part = done.stderr.split("as in ").nth(1).unwrap().trim();
    let config = workspace.read("search/best.toml");
    workspace.write("start.toml", config.replace("max_epochs = 5", "max_epochs = 6"));
    workspace.good(&["train", "--config", "start.toml", "--seeds", "7", "--out", "run"]);
    let comparison = workspace.good(&["compare", part, "run", "--json"]).json();
    assert_eq!((&comparison["b"]["runs"], &comparison["dataset"]), (&7.into(), &SMALL.into()));
}
