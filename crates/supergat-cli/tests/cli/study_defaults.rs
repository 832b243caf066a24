//! `supergat study defaults`

use crate::support::{SMALL, Workspace, table};

#[test]
fn trains_all_candidates_and_judges_rules() {
    let workspace = Workspace::new();
    let args = ["study", "defaults", "--datasets", SMALL, "--families", "mlp,gcn", "--splits", "2", "--seconds", "1"];
    let done = workspace.good(&args);
    assert!(done.stdout.contains("always gcn") && done.stdout.contains("layer-2"), "{}", done.stdout);
    let files = [
        "costs.csv",
        "defaults.csv",
        "gains.csv",
        "gains.svg",
        "graphs.csv",
        "recipe.txt",
        "regrets.svg",
        "report.html",
        "results.jsonl",
        "rules.csv",
        "table.md",
    ];
    assert_eq!(workspace.list("studies/defaults"), files);
    let (header, rows) = table(&workspace.read("studies/defaults/rules.csv"));
    assert_eq!((header[0].as_str(), rows.len()), ("rule", 6), "three rules and three families");
    let page = workspace.read("studies/defaults/report.html");
    assert!(page.matches("<figure>").count() == 2 && page.contains("supergat study defaults --splits 2"));

    let before = workspace.read("studies/defaults/table.md");
    let again = workspace.good(&[&args[..], &["--table-only", "--json", "--quiet"]].concat());
    assert!(again.stderr.is_empty() && workspace.read("studies/defaults/table.md") == before);
    let json = again.json();
    assert_eq!((json["graphs"].as_array().unwrap().len(), json["interrupted"].as_bool()), (1, Some(false)));
    assert_eq!(json["rules"].as_array().unwrap().len(), 6);
    let test = json["graphs"][0]["families"][1][0]["test"]["mean"].as_f64().unwrap();
    assert!(json["schema"] == 2 && (0.0..=1.0).contains(&test), "metrics are no per cent: {test}");
}

#[test]
fn refuses_unknown_families_and_graphs() {
    let workspace = Workspace::new();
    for (option, expected) in
        [("--families", "expected some of label-propagation, mlp"), ("--only", "no graph of the study")]
    {
        let done = workspace.run(&["study", "defaults", option, "nothing"]);
        assert!(done.code == 2 && done.stderr.contains(expected), "{done:?}");
    }
    assert_eq!(workspace.run(&["study", "defaults", "--shares", "60/20/20"]).code, 2);
}
