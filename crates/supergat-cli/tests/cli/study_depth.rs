//! `supergat study depth`

use crate::support::{SMALL, Workspace, table};

fn study<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["study", "depth", "--datasets", SMALL, "--models", "gat-go,supergat-go", "--trials", "2"];
    args.extend(["--splits", "2", "--max-epochs", "2"]);
    args.extend(more);
    args
}

const FILES: [&str; 6] = ["cells.csv", "comparisons.csv", "depth.svg", "gains.svg", "report.html", "table.md"];

fn outputs(workspace: &Workspace) -> [Vec<u8>; 6] {
    FILES.map(|name| workspace.bytes(&format!("studies/depth/{name}")))
}

#[test]
fn tunes_every_cell_and_compares_them() {
    let workspace = Workspace::new();
    // In two parts, as a long study would be.
    let part = workspace.good(&study(&["--depths", "published"]));
    assert!(part.stderr.contains("2 new cells, 0 already done"), "{}", part.stderr);
    let done = workspace.good(&study(&["--threads", "1"]));
    assert!(done.stderr.contains("2 new cells, 2 already done"), "{}", done.stderr);
    assert!(done.stdout.contains("4 of 4 cells are complete"), "{}", done.stdout);
    let mut files = FILES.to_vec();
    files.insert(5, "results.jsonl");
    assert_eq!(workspace.list("studies/depth"), files);

    let (header, rows) = table(&workspace.read("studies/depth/cells.csv"));
    assert_eq!((header[0].as_str(), header.len(), rows.len()), ("dataset", 20, 4));
    assert!(rows.iter().all(|row| row[8] == "2" && row[3] == "accuracy"), "{rows:?}");
    assert!(rows.iter().all(|row| (0.0..=1.0).contains(&row[4].parse().unwrap())), "metrics are no per cent: {rows:?}");
    assert_eq!(rows.iter().map(|row| row[1].as_str()).collect::<Vec<_>>(), ["published", "published", "deep", "deep"]);
    let (_, comparisons) = table(&workspace.read("studies/depth/comparisons.csv"));
    let questions: Vec<&str> = comparisons.iter().map(|row| row[0].as_str()).collect();
    let expected = ["self-supervision", "self-supervision", "over-gat", "over-gat", "depth", "depth", "change"];
    assert_eq!(questions, expected);
    let page = workspace.read("studies/depth/report.html");
    assert!(page.matches("<figure>").count() == 2 && page.contains("--trials 2 --splits 2 --max-epochs 2"));

    let before = outputs(&workspace);
    let lines = workspace.read("studies/depth/results.jsonl");
    let json = workspace.good(&study(&["--table-only", "--json", "--quiet"]));
    assert!(json.stderr.is_empty() && outputs(&workspace) == before);
    assert_eq!(workspace.read("studies/depth/results.jsonl"), lines);
    let json = json.json();
    assert_eq!((json["cells"].as_array().unwrap().len(), json["interrupted"].as_bool()), (4, Some(false)));
    assert!(json["comparisons"][0]["question"] == "self-supervision" && json["plan"]["trials"] == 2);
}

#[test]
fn stops_when_the_time_is_over() {
    let workspace = Workspace::new();
    let done = workspace.good(&study(&["--minutes", "0.00001"]));
    assert!(done.stderr.contains("the time is over; the same command resumes"), "{}", done.stderr);
    assert!(done.stdout.contains("0 of 4 cells are complete"), "{}", done.stdout);
}

#[test]
fn rejects_invalid_options() {
    let workspace = Workspace::new();
    for (more, expected) in [
        (&["--models", "gcn"][..], "--models gcn: expected gat and supergat models"),
        (&["--models", "gat-xy"], "unknown model"),
        (&["--depths", "deeper"], "unknown depth `deeper`: expected published or deep"),
        (&["--trials", "0"], "--trials"),
        (&["--splits", "11"], "--splits"),
        (&["--minutes", "0"], "must be positive"),
        (&["--datasets", "no-such-graph"], "no-such-graph"),
        (&["--table-only"], "results.jsonl"),
        (&["--datasets", "minesweeper"], "minesweeper not found"),
    ] {
        let done = workspace.run(&[&["study", "depth"][..], more].concat());
        assert!(done.code != 0 && done.stderr.contains(expected), "{more:?}: {done:?}");
    }
}
