//! `supergat compare`

use crate::support::{Place, SMALL};

#[test]
fn folders_with_the_same_seeds_are_compared_in_pairs() {
    let place = Place::new();
    place.train("go", &["--model", "gat-go", "--seeds", "4"]);
    place.train("mx", &["--model", "supergat-mx", "--seeds", "4"]);
    place.train("few", &["--model", "supergat-mx", "--seeds", "2"]);
    let pairs = place.good(&["compare", "go", "mx", "--json"]).json();
    assert_eq!((&pairs["paired"], &pairs["splits"]), (&true.into(), &1.into()));
    assert_eq!(pairs["a"]["mean"], place.json("go/summary.json")["test"]["mean"]);
    assert!(pairs["paired_t"]["p"].as_f64().is_some_and(|p| (0.0..=1.0).contains(&p)), "{pairs}");
    let table = place.good(&["compare", "go", "mx"]).stdout;
    assert!(table.contains("gat-go") && table.contains("paired t-test") && table.contains("Wilcoxon"), "{table}");
    assert_eq!(table.lines().last(), pairs["conclusion"].as_str());
    let unpaired = place.good(&["compare", "go", "few", "--json"]).json();
    assert_eq!((&unpaired["paired"], unpaired.get("wilcoxon")), (&false.into(), Some(&serde_json::Value::Null)));
    let same = place.good(&["compare", "mx", "mx"]).stdout;
    assert!(same.contains("are the same on") && !same.contains("NaN"), "{same}");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let place = Place::new();
    place.train("one", &[]);
    place.good(&["train", "random-partition:classes=2,nodes=170", "--max-epochs", "3", "--out", "other"]);
    place.write("empty.jsonl", "");
    for (a, b, expected) in [
        ("one", "other", "only runs on the same dataset can be compared"),
        ("one", "nowhere", "expected a run folder"),
        ("one", "empty.jsonl:cora/gat-go", "holds no finished run"),
    ] {
        let done = place.run(&["compare", a, b]);
        assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{done:?}");
        assert!(done.stderr.contains(expected), "{done:?}");
    }
    let alone = place.good(&["compare", "one", "one"]).stdout;
    assert!(alone.contains("too few values"), "{alone}");
}

#[test]
fn parts_of_a_results_file_are_taken() {
    let place = Place::new();
    place.good(&["tune", SMALL, "--max-epochs", "5", "--trials", "2", "--seeds", "2", "--out", "search", "-q"]);
    let file = "search/results.jsonl";
    let done = place.run(&["compare", file, file]);
    assert!(
        done.code == 2
            && done.stderr.contains(&format!("expected runs such as {file}:{SMALL}/supergat-mx, found no filter")),
        "{done:?}"
    );
    place.write("torn.jsonl", "{\"half");
    let done = place.run(&["compare", "torn.jsonl:x/y", "torn.jsonl:x/y"]);
    assert!(done.code == 2 && done.stderr.contains("torn.jsonl, line 1 is skipped: "), "{done:?}");
    let all = format!("{file}:{SMALL}/supergat-mx");
    let done = place.run(&["compare", &all, &all]);
    assert!(done.code == 2 && done.stderr.contains("has runs that differ in lambda_2, lambda_e"), "{done:?}");
    // The example that it gives is a part.
    let part = done.stderr.split("as in ").nth(1).unwrap().trim();
    let config = place.read("search/best.toml");
    place.write("start.toml", config.replace("max_epochs = 5", "max_epochs = 6"));
    place.good(&["train", "--config", "start.toml", "--seeds", "7", "--out", "run"]);
    let comparison = place.good(&["compare", part, "run", "--json"]).json();
    assert_eq!((&comparison["b"]["runs"], &comparison["dataset"]), (&7.into(), &SMALL.into()));
}
