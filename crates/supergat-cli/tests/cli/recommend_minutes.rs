//! `supergat recommend --minutes`

use crate::running::Running;
use crate::support::{SMALL, Workspace, table};
use std::process::Stdio;
use std::time::{Duration, Instant};

const FILES: [&str; 7] =
    ["best.toml", "comparisons.csv", "differences.svg", "families.csv", "families.svg", "report.html", "table.md"];

fn outputs(workspace: &Workspace, folder: &str) -> Vec<Vec<u8>> {
    FILES.map(|name| workspace.bytes(&format!("{folder}/{name}"))).to_vec()
}

/// Writes a small plan: that of a short comparison of two families, with other numbers of trials, epochs and splits.
fn write_plan(workspace: &Workspace, dataset: &str, families: &str) {
    // Enough time to measure the families on a busy machine.
    workspace.good(&["recommend", dataset, "--minutes", "0.1", "--families", families, "--out", "first", "--quiet"]);
    let mut plan = workspace.json("first/plan.json");
    plan["rungs"] =
        serde_json::json!([{ "trials": 4, "epochs": 5, "splits": 1 }, { "trials": 2, "epochs": 20, "splits": 2 }]);
    let cost = serde_json::json!({ "fixed": 0.0, "epoch": [0.0, 0.0] });
    let family = |name| serde_json::json!({ "family": name, "cost": cost, "is_stopped": false });
    plan["families"] = families.split(',').map(family).collect();
    plan["left_out"] = serde_json::json!([]);
    plan["search_cut"] = serde_json::Value::Null;
    plan["splits_kept"] = serde_json::Value::Null;
    plan["spent"] = serde_json::json!(0.0);
    plan["splits"].as_array_mut().unwrap().truncate(2);
    workspace.write("plan.json", plan.to_string());
}

/// More time, or another choice of splits, would otherwise change nothing without a word.
#[test]
fn folders_of_other_comparisons_are_refused() {
    let workspace = Workspace::new();
    let args = |more: &[&'static str]| {
        let usual = ["recommend", SMALL, "--families", "label-propagation,mlp", "--out", "b", "--quiet"];
        [&usual[..], more].concat()
    };
    workspace.good(&args(&["--minutes", "0.05"]));
    workspace.good(&args(&["--minutes", "0.05"]));
    let done = workspace.run(&args(&["--minutes", "0.06"]));
    assert!(done.code == 2 && done.stderr.contains("another time, 0.05 minutes"), "{done:?}");
    let done = workspace.run(&args(&["--minutes", "0.05", "--keep-split"]));
    assert!(done.code == 2 && done.stderr.contains("another choice of splits"), "{done:?}");
}

#[test]
fn killed_comparisons_give_the_same_bytes() {
    let workspace = Workspace::new();
    write_plan(&workspace, SMALL, "mlp,gcn");
    let args = |out| ["recommend", SMALL, "--plan", "plan.json", "--out", out];
    let done = workspace.good(&args("whole"));
    let mut names = FILES.to_vec();
    names.extend(["plan.json", "results.jsonl"]);
    names.sort_unstable();
    assert_eq!(workspace.list("whole"), names);
    let (header, rows) = table(&workspace.read("whole/families.csv"));
    assert_eq!((header[0].as_str(), rows.len()), ("family", 2));
    assert!(rows.iter().all(|row| row[8] == "2" && row[7] == "4"), "{rows:?}");
    assert!(rows.iter().all(|row| (0.0..=1.0).contains(&row[2].parse().unwrap())), "metrics are no per cent: {rows:?}");
    let answer = workspace.read("whole/table.md").lines().next().unwrap().to_owned();
    assert!(done.stdout.contains(&answer) && workspace.read("whole/report.html").contains("Which model for"));
    assert!(done.stdout.contains("The budget was small (4 trials per family, 20 epochs, 2 splits)"), "{}", done.stdout);
    workspace.good(&["train", "--config", "whole/best.toml", "--out", "run", "--quiet"]);

    // Killed again and again: a kill leaves complete lines and at most one incomplete one.
    let lines = || std::fs::read_to_string(workspace.path("parts/results.jsonl")).unwrap_or_default().lines().count();
    let mut kills = 0;
    for _ in 0..3 {
        let before = lines();
        let mut command = workspace.command(&[&args("parts")[..], &["--threads", "1"]].concat());
        let mut child = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        let started = Instant::now();
        while lines() < before + 3
            && child.try_wait().unwrap().is_none()
            && started.elapsed() < Duration::from_secs(600)
        {
            std::thread::sleep(Duration::from_millis(2));
        }
        kills += usize::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert!(kills > 0, "the comparison ended before it was killed");
    let resumed = workspace.good(&[&args("parts")[..], &["--threads", "2"]].concat());
    assert_eq!(outputs(&workspace, "parts"), outputs(&workspace, "whole"));
    assert_eq!(resumed.stdout.replace("parts/", "whole/"), done.stdout);
    // Complete comparisons run nothing.
    let json = workspace.good(&["recommend", SMALL, "--plan", "plan.json", "--out", "parts", "--json", "--quiet"]);
    assert!(json.stderr.is_empty() && outputs(&workspace, "parts") == outputs(&workspace, "whole"));
    let json = json.json();
    assert_eq!((json["answer"].as_str(), json["families"].as_array().unwrap().len()), (Some(answer.as_str()), 2));
    assert!(json["plan"]["rungs"][0]["trials"] == 4 && json["config"] == "parts/best.toml");
}

#[test]
fn little_time_gives_an_answer_and_its_limits() {
    let workspace = Workspace::new();
    let started = Instant::now();
    let done = workspace.good(&["recommend", SMALL, "--minutes", "0.02", "--json"]).json();
    assert!(started.elapsed() < Duration::from_secs(600), "{:?}", started.elapsed());
    assert!(!done["answer"].as_str().unwrap().is_empty());
    let (compared, left_out) = (done["families"].as_array().unwrap(), done["left_out"].as_array().unwrap());
    assert_eq!(compared.len() + left_out.len(), 11);
    let notes = done["notes"].to_string();
    assert!(notes.contains("Not compared: "), "{notes}");
    assert_eq!(done["metric"], "accuracy");
    assert!(workspace.list("recommendations").len() == 1);
}

/// Writes a table with some labels, features and links.
fn write_tables(
    workspace: &Workspace,
    name: &str,
    labels: impl Fn(usize) -> &'static str,
    features: bool,
    links: bool,
) {
    let mut nodes = if features { "id,label,x,y\n" } else { "id,label\n" }.to_owned();
    let mut edges = "source,target\n".to_owned();
    for k in 0..60 {
        let label = labels(k);
        nodes += &match features {
            true => format!("{k},{label},{},{}\n", (k * 7) % 11, if k % 2 == 0 { 1 } else { -1 }),
            false => format!("{k},{label}\n"),
        };
        if links {
            edges += &format!("{k},{}\n{k},{}\n", (k + 2) % 60, (k + 7) % 60);
        }
    }
    workspace.write(&format!("{name}/nodes.csv"), nodes);
    workspace.write(&format!("{name}/edges.csv"), edges);
}

#[test]
fn odd_graphs_give_an_answer_or_one_clear_sentence() {
    let workspace = Workspace::new();
    let parity = |k: usize| if k.is_multiple_of(2) { "even" } else { "odd" };
    write_tables(&workspace, "five", |k| if k < 5 { parity(k) } else { "" }, true, true);
    write_tables(&workspace, "one-class", |_| "even", true, true);
    write_tables(&workspace, "no-features", parity, false, true);
    write_tables(&workspace, "no-links", parity, true, false);
    write_tables(&workspace, "rare", |k| if k % 6 == 0 { "fraud" } else { "usual" }, true, true);
    for name in ["five", "one-class", "no-features", "no-links", "rare"] {
        let families = "label-propagation,mlp,mlp-correct-and-smooth,gcn";
        let done = workspace.run(&[
            "recommend",
            name,
            "--minutes",
            "0.1",
            "--families",
            families,
            "--out",
            &format!("out-{name}"),
        ]);
        assert!(
            !done.stderr.contains("panicked") && !done.stderr.contains("a bug in this program"),
            "{name}: {done:?}"
        );
        match done.code {
            0 => {
                assert!(
                    done.stdout.lines().next().unwrap().ends_with(", this means little."),
                    "{name}: {}",
                    done.stdout
                );
                assert!(done.stdout.contains("so the test metric is mostly chance"), "{name}: {}", done.stdout);
                let config = format!("out-{name}/best.toml");
                workspace.good(&[
                    "train",
                    "--config",
                    &config,
                    "--max-epochs",
                    "2",
                    "--out",
                    &format!("run-{name}"),
                    "--quiet",
                ]);
            }
            2 => assert!(["five", "one-class", "no-features"].contains(&name), "{name}: {done:?}"),
            code => panic!("{name}: {code}: {done:?}"),
        }
    }
    let text = workspace.read("out-rare/table.md");
    assert!(text.contains("The metric is auroc, because only") && text.contains("balanced class weights"), "{text}");
    assert!(workspace.read("out-rare/best.toml").contains("threshold = \"f1\""));
}

#[test]
fn rejects_invalid_options_and_other_plans() {
    let workspace = Workspace::new();
    let minutes = ["--minutes", "0.1"];
    for (more, expected) in [
        (&["--minutes", "1", "--families", "gnn"][..], "unknown family `gnn`: expected one of label-propagation, mlp"),
        (&["--minutes", "1", "--families", "sage-deep"], "unknown family `sage-deep`"),
        (&["--minutes", "1", "--metric", "speed"], "possible values: accuracy"),
        (&["--minutes", "0"], "must be positive"),
        (&["--minutes", "-1"], "-1"),
        (&["--plan", "missing.json"], "cannot read missing.json"),
        (&["--minutes", "1", "--metric", "micro-f1"], "use accuracy"),
        (&["--families", "mlp"], "--families is for the comparison within minutes: add --minutes"),
        (&["--keep-split", "--seconds", "3"], "--keep-split is for the comparison within minutes: add --minutes"),
        (&["--minutes", "1", "--seconds", "3"], "--seconds is for the comparison within seconds: leave out --minutes"),
        (&["--plan", "p.json", "--training-labels"], "--training-labels is for the comparison within seconds"),
    ] {
        let done = workspace.run(&[&["recommend", SMALL][..], more].concat());
        assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{more:?}: {done:?}");
        assert!(done.stderr.contains(expected), "{more:?}: {done:?}");
        assert!(workspace.list(".").is_empty(), "{more:?} left files behind");
    }
    write_plan(&workspace, SMALL, "mlp,gcn");
    let other = "random-partition:classes=3,nodes=180,degree=5";
    for (dataset, more, expected) in [
        (other, &["--out", "first"][..], "the plan is for another dataset"),
        (other, &["--plan", "plan.json"], "the plan is for another dataset"),
        (SMALL, &["--out", "first", "--metric", "macro-f1"], "another metric"),
        (SMALL, &["--out", "first", "--seed", "4"], "another seed"),
        (SMALL, &["--out", "first", "--families", "mlp"], "another list of families: name another folder"),
        (SMALL, &["--plan", "plan.json", "--families", "mlp"], "plan.json has another list of families: leave out"),
    ] {
        let time = if more.contains(&"--plan") { &[][..] } else { &minutes[..] };
        let done = workspace.run(&[&["recommend", dataset][..], time, more].concat());
        assert!(done.code == 2 && done.stderr.contains(expected), "{more:?}: {done:?}");
    }
    workspace.write("broken.json", "{}");
    let done = workspace.run(&["recommend", SMALL, "--plan", "broken.json"]);
    assert!(done.code == 2 && done.stderr.contains("broken.json"), "{done:?}");
    let help = workspace.good(&["recommend", "--help"]).stdout;
    assert!(help.contains("Which model for my graph?") && help.contains("--keep-split"), "{help}");
}
