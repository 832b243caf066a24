//! `supergat study grid`

use crate::support::{Done, Workspace, table};

/// One graph, two models and the coarse search.
const SMALL: [&str; 11] =
    ["study", "grid", "--quick", "--homophilies", "0.5", "--degrees", "1", "--models", "gat-go,gcn", "--seeds", "1"];
const FILES: [&str; 5] = ["gains.svg", "recipe.svg", "report.html", "table.csv", "table.md"];

fn outputs(workspace: &Workspace) -> [Vec<u8>; 5] {
    FILES.map(|name| workspace.bytes(&format!("studies/grid/{name}")))
}

fn runs(workspace: &Workspace) -> usize {
    std::fs::read_to_string(workspace.path("studies/grid/results.jsonl")).unwrap_or_default().lines().count()
}

#[test]
fn writes_tables_and_figures_and_skips_finished_runs() {
    let workspace = Workspace::new();
    let done = workspace.good(&SMALL);
    assert!(done.stderr.contains("2 new, 0 already done"), "{}", done.stderr);
    assert!(done.stdout.contains("This grid is coarse") && done.stdout.contains("1 of 1 graphs are complete"));
    assert_eq!(
        workspace.list("studies/grid"),
        ["gains.svg", "recipe.svg", "report.html", "results.jsonl", "table.csv", "table.md"]
    );
    let (header, rows) = table(&workspace.read("studies/grid/table.csv"));
    assert_eq!((header.len(), rows.len()), (15, 2));
    let gat = rows.iter().find(|row| row[2] == "gat-go").unwrap();
    assert_eq!((gat[5].as_str(), gat[7].as_str(), gat[10].as_str()), ("1", "0.43", "0.00001"));
    let page = workspace.read("studies/grid/report.html");
    assert!(page.contains("a coarse search") && page.matches("<figure>").count() == 2 && !page.contains("src="));

    let before = outputs(&workspace);
    let json = workspace.good(&[&SMALL[..], &["--table-only", "--json", "--quiet"]].concat());
    assert!(json.stderr.is_empty() && outputs(&workspace) == before && runs(&workspace) == 2);
    let json = json.json();
    assert_eq!((json["coarse"].as_bool(), json["lines"][0]["model"].as_str()), (Some(true), Some("gcn")));
    assert!((json["lines"][1]["ours"]["mean"].as_f64().unwrap() - gat[3].parse::<f64>().unwrap()).abs() < 1e-9);

    // With more seeds, only the new seeds are run.
    let more = workspace.good(&[&SMALL[..8], &["gcn", "--seeds", "2"]].concat());
    assert!(more.stderr.contains("1 new, 1 already done"), "{}", more.stderr);
}

fn refused(workspace: &Workspace, code: i32, args: &[&str]) -> String {
    let Done { code: found, stdout, stderr } = workspace.run(&[&["study", "grid"], args].concat());
    assert!(found == code && stdout.is_empty() && stderr.lines().count() == 1, "{args:?}: {found} {stdout} {stderr}");
    stderr
}

#[test]
fn rejects_invalid_input_before_any_run() {
    let workspace = Workspace::new();
    let error = refused(&workspace, 2, &["--homophilies", "0.1,1.5"]);
    assert!(error.contains("homophily from 0 to 1") && error.contains("1.5"), "{error}");
    let error = refused(&workspace, 2, &["--degrees", "-1"]);
    assert!(error.contains("-1"), "{error}");
    let error = refused(&workspace, 2, &["--degrees", "600"]);
    assert!(error.contains("probabilities of at most 1"), "{error}");
    let error = refused(&workspace, 2, &["--models", "gat-mx"]);
    assert!(error.contains("--models gat-mx: expected some of gat-go, "), "{error}");
    assert!(workspace.list(".").is_empty(), "files were left behind");
    let error = refused(&workspace, 1, &["--table-only"]);
    assert!(error.starts_with("error: cannot read studies/grid/results.jsonl"), "{error}");
    workspace.write("file", "");
    let error = refused(&workspace, 1, &["--out", "file/grid"]);
    assert!(error.starts_with("error: cannot write file/grid"), "{error}");
}
