//! `supergat reproduce`

use crate::running::Running;
use crate::support::{Done, Workspace, published, table};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Writes tables of a small graph called cora, so that the presets of the paper apply.
fn data(workspace: &Workspace) {
    let mut nodes = String::from("id,label,a,b\n");
    let mut edges = String::from("source,target\n");
    for node in 0..100_u32 {
        let class = node % 2;
        nodes += &format!("{node},c{class},{},{}\n", class + node % 3, node % 5);
        edges += &format!("{node},{}\n{node},{}\n", (node + 2) % 100, (node * 7 + 5) % 100);
    }
    workspace.write("data/cora/nodes.csv", nodes);
    workspace.write("data/cora/edges.csv", edges);
}

const SMALL: [&str; 8] =
    ["reproduce", "planetoid", "--datasets", "cora", "--models", "gat-go,supergat-mx,gcn", "--seeds", "3"];

fn lines(workspace: &Workspace) -> Vec<String> {
    std::fs::read_to_string(workspace.path("reproduction/results.jsonl"))
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Returns the rows of a CSV file as maps from column name to value.
fn named_rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let (header, rows) = table(text);
    rows.into_iter().map(|row| header.iter().cloned().zip(row).collect()).collect()
}

fn outputs(workspace: &Workspace) -> [Vec<u8>; 3] {
    ["md", "csv", "html"].map(|ending| workspace.bytes(&format!("reproduction/planetoid.{ending}")))
}

#[test]
fn writes_tables_and_skips_finished_runs() {
    let workspace = Workspace::new();
    data(&workspace);
    let done = workspace.good(&SMALL);
    assert_eq!(workspace.list("reproduction"), ["planetoid.csv", "planetoid.html", "planetoid.md", "results.jsonl"]);
    assert_eq!(done.stdout, workspace.read("reproduction/planetoid.md"));
    assert!(done.stderr.contains("9 new, 0 already done"), "{}", done.stderr);
    let rows = named_rows(&workspace.read("reproduction/planetoid.csv"));
    let mx = rows.iter().find(|row| row["model"] == "supergat-mx").unwrap();
    let of_mx = lines(&workspace).into_iter().map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap());
    let of_mx: Vec<f64> =
        of_mx.filter(|run| run["model"] == "supergat-mx").map(|run| run["test"]["metric"].as_f64().unwrap()).collect();
    let mean = of_mx.iter().sum::<f64>() / 3.0;
    assert!(of_mx.len() == 3 && (mx["mean"].parse::<f64>().unwrap() - mean).abs() < 1e-9, "{mx:?}");
    assert_eq!((mx["n"].as_str(), mx["paper_mean"].as_str()), ("3", "0.843"));
    let [low, mean, high, std] = ["low", "mean", "high", "std"].map(|name| mx[name].parse::<f64>().unwrap());
    let [below, above] = [mean - low, high - mean];
    assert!((below > 0.0) == (std > 0.0) && (above > 0.0) == (std > 0.0) && below >= 0.0 && above >= 0.0, "{mx:?}");
    assert_eq!(rows.len(), 3, "rows of the chosen models only: {rows:?}");

    let (before, tables) = (lines(&workspace), outputs(&workspace));
    let again = workspace.good(&SMALL);
    assert!(again.stderr.contains("0 new, 9 already done"), "{}", again.stderr);
    assert!(lines(&workspace) == before && outputs(&workspace) == tables);

    // A truncated line is reported and its run repeated. Tables do not depend on the order of lines.
    let mut shuffled = before.clone();
    shuffled.reverse();
    let torn = shuffled[8].len() / 2;
    shuffled[8].truncate(torn);
    workspace.write("reproduction/results.jsonl", shuffled.join("\n"));
    let repaired = workspace.good(&SMALL);
    assert!(repaired.stderr.contains("line 9 is skipped"), "{}", repaired.stderr);
    assert!(repaired.stderr.contains("1 new, 8 already done"), "{}", repaired.stderr);
    assert!(lines(&workspace)[..9] == shuffled && outputs(&workspace) == tables);
    let only = workspace.good(&[&SMALL[..], &["--table-only", "--quiet"]].concat());
    assert!(only.stderr.is_empty() && outputs(&workspace) == tables && lines(&workspace).len() == 10);
    let json = workspace.good(&[&SMALL[..], &["--table-only", "--quiet", "--json"]].concat()).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let found = json["tables"]["planetoid"]["rows"].as_array().unwrap();
    let found = found.iter().find(|row| row["model"] == "supergat-mx").unwrap();
    assert_eq!(found["mean"].as_f64().unwrap().to_string(), mx["mean"]);
}

fn start(workspace: &Workspace) -> Running {
    Running::start(workspace.command(&SMALL).stdout(Stdio::null()).stderr(Stdio::null()))
}

/// A sweep that is killed several times ends with identical tables.
#[test]
fn resumes_after_sigkill() {
    let (whole, killed) = (Workspace::new(), Workspace::new());
    data(&whole);
    data(&killed);
    let started = Instant::now();
    whole.good(&SMALL);
    let step = started.elapsed() / 5;
    for round in 1..=4 {
        let mut child = start(&killed);
        std::thread::sleep(step.mul_f64(0.7 + 0.2 * f64::from(round)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    killed.good(&SMALL);
    assert!(outputs(&killed) == outputs(&whole));
    let runs: BTreeSet<String> = lines(&killed)
        .iter()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .map(|run| format!("{} {}", run["model"], run["seed"]))
        .collect();
    assert_eq!(runs.len(), 9);
    assert!(lines(&killed).len() <= 9 + 4, "at most one truncated line per kill, and no run is repeated");
}

#[test]
fn ctrl_c_keeps_finished_runs() {
    let workspace = Workspace::new();
    data(&workspace);
    let mut child = start(&workspace);
    let started = Instant::now();
    while lines(&workspace).is_empty() {
        assert!(started.elapsed() < Duration::from_secs(600));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let code = child.wait().unwrap().code();
    // The sweep may have finished before the signal arrived.
    assert!(code == Some(130) || code == Some(0) && lines(&workspace).len() == 9, "{code:?}");
    let known = lines(&workspace).len();
    let done = workspace.good(&SMALL);
    assert!(done.stderr.contains(&format!("{} new, {known} already done", 9 - known)), "{}", done.stderr);
}

#[test]
fn redrawn_splits_differ_from_seed_to_seed() {
    let workspace = Workspace::new();
    data(&workspace);
    let two = [&SMALL[..5], &["gat-go,supergat-mx"], &SMALL[6..], &["--quiet"]].concat();
    workspace.good(&[&two[..], &["--split", "redrawn"]].concat());
    let runs: Vec<serde_json::Value> =
        lines(&workspace).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| runs.iter().map(|run| run[name].to_string()).collect::<BTreeSet<_>>();
    assert_eq!(of("split"), ["\"random:0\"", "\"random:1\"", "\"random:2\""].map(String::from).into());
    assert_eq!(of("split_hash").len(), 3);
    let part = |model: &str| format!("reproduction/results.jsonl:cora/{model},split=redrawn");
    let pairs = workspace.good(&["compare", &part("gat-go"), &part("supergat-mx"), "--json"]).json();
    assert_eq!((&pairs["paired"], &pairs["splits"]), (&true.into(), &3.into()));

    let published = part("gat-go").replace("redrawn", "published");
    let error = refused(&workspace, 2, &["compare", &published, &published]);
    assert!(error.contains(&format!("expected runs such as {} or ", part("gat-go"))), "{error}");
    workspace.good(&two);
    workspace.good(&["compare", &published, &part("gat-go")]);
    let both = part("gat-go").replace(",split=redrawn", "");
    let error = refused(&workspace, 2, &["compare", &both, &both]);
    assert!(error.contains(&format!("has runs that differ in split: say which, as in {both},split=")), "{error}");
}

fn refused(workspace: &Workspace, code: i32, args: &[&str]) -> String {
    let Done { code: found, stdout, stderr } = workspace.run(args);
    assert!(found == code && stdout.is_empty() && stderr.lines().count() == 1, "{args:?}: {found} {stdout} {stderr}");
    stderr
}

#[test]
fn rejects_invalid_input_before_any_run() {
    let workspace = Workspace::new();
    let error = refused(&workspace, 2, &["reproduce", "planetoid", "--datasets", "corra"]);
    assert!(error.starts_with("error: unknown dataset `corra`: expected some of cora, "), "{error}");
    let error = refused(&workspace, 2, &["reproduce", "planetoid", "--models", "gatgo"]);
    assert!(error.starts_with("error: unknown model `gatgo`: expected some of gat-go, "), "{error}");
    let error = refused(&workspace, 2, &["reproduce", "planetoid", "--datasets", "ppi"]);
    assert!(error.contains("the table planetoid has no dataset ppi"), "{error}");
    let error = refused(&workspace, 2, &["reproduce", "wall-clock", "--datasets", "ppi"]);
    assert!(error.contains("the table wall-clock has no dataset ppi"), "{error}");
    let error = refused(&workspace, 2, &["reproduce", "planetoid", "--split", "redraw"]);
    assert!(error.contains("expected published, random, random:SEED or redrawn"), "{error}");
    let error = refused(&workspace, 2, &["reproduce", "planets"]);
    assert!(error.contains("planetoid"), "{error}");
    assert!(workspace.list(".").is_empty(), "files were left behind");
    workspace.write("file", "");
    let error = refused(&workspace, 1, &["reproduce", "planetoid", "--out", "file/tables"]);
    assert!(error.starts_with("error: cannot write file/tables"), "{error}");
    let error = refused(&workspace, 1, &["reproduce", "planetoid", "--table-only"]);
    assert!(error.starts_with("error: cannot read reproduction/results.jsonl"), "{error}");
}

#[test]
fn skips_and_reports_missing_datasets() {
    let workspace = Workspace::new();
    data(&workspace);
    let args = ["reproduce", "planetoid", "--datasets", "cora,pubmed", "--models", "gcn", "--seeds", "1"];
    let done = workspace.good(&args);
    assert!(done.stderr.contains("skipped: pubmed not found") && done.stderr.contains("supergat download pubmed"));
    assert!(done.stdout.contains("pubmed is not on this machine: `supergat download pubmed` fetches it."));
    let rows = named_rows(&workspace.read("reproduction/planetoid.csv"));
    let verdict = |dataset: &str| {
        rows.iter().find(|row| row["dataset"] == dataset && row["model"] == "gcn").unwrap()["n"].clone()
    };
    assert_eq!((verdict("cora"), verdict("pubmed")), ("1".into(), "0".into()));
}

#[test]
fn rejects_a_second_writer_of_a_results_file() {
    let workspace = Workspace::new();
    data(&workspace);
    std::fs::create_dir(workspace.path("reproduction")).unwrap();
    let file = std::fs::File::create(workspace.path("reproduction/results.jsonl")).unwrap();
    file.try_lock().unwrap();
    let error = refused(&workspace, 1, &SMALL);
    assert!(error.contains("results.jsonl is being written by another process"), "{error}");
}

#[test]
fn timings_are_never_cached() {
    let workspace = Workspace::new();
    data(&workspace);
    let args = ["reproduce", "wall-clock", "--datasets", "cora", "--models", "gat-go,gcn", "--seeds", "1", "--quiet"];
    workspace.good(&args);
    assert_eq!(workspace.list("reproduction"), ["wall-clock.csv", "wall-clock.html", "wall-clock.md"]);
    let (header, rows) = table(&workspace.read("reproduction/wall-clock.csv"));
    assert_eq!((header[6].as_str(), rows[0][6].as_str(), rows.len()), ("ratio", "1", 2));
    assert!(rows[1][2].parse::<f64>().unwrap() > 0.0 && rows[0][7] == "11.3");
    let error = refused(&workspace, 2, &[&args[..], &["--table-only"]].concat());
    assert!(error.contains("not stored in a results file"), "{error}");
}

#[test]
fn cora_matches_the_paper() {
    let Some(folder) = published("cora") else { return };
    let workspace = Workspace::new();
    let mut command =
        workspace.command(&["reproduce", "planetoid", "--datasets", "cora", "--models", "supergat-mx", "--seeds", "2"]);
    command.env("SUPERGAT_DATA", folder.parent().unwrap_or(Path::new(".")));
    let done = Done::of(command);
    assert_eq!(done.code, 0, "{done:?}");
    let rows = named_rows(&workspace.read("reproduction/planetoid.csv"));
    let mx = rows.iter().find(|row| row["model"] == "supergat-mx").unwrap();
    assert!(mx["verdict"].starts_with("within"), "{mx:?}");
}
