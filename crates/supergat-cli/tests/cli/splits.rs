//! `--split NUMBER` and `supergat train --splits all`, on a dataset whose file contains several splits.

use crate::support::{SMALL, Workspace};
use serde_json::json;

const NODES: usize = 60;
const SPLITS: usize = 3;

/// Writes a graph of two classes in a row, with three splits, in the format of Wiki-CS.
fn workspace() -> Workspace {
    let mask = |selected: &dyn Fn(usize) -> bool| (0..NODES).map(selected).collect::<Vec<bool>>();
    let masks = |part: usize| (0..SPLITS).map(|split| mask(&|node| node % 9 == part + 2 * split)).collect::<Vec<_>>();
    let content = json!({
        "features": (0..NODES).map(|node| [(node % 2) as f32, (node % 7) as f32]).collect::<Vec<_>>(),
        "labels": (0..NODES).map(|node| node % 2).collect::<Vec<_>>(),
        "links": (0..NODES).map(|node| vec![(node + 1) % NODES]).collect::<Vec<_>>(),
        "train_masks": masks(0),
        "val_masks": masks(1),
        "test_mask": mask(&|node| node % 9 >= 6),
    });
    let workspace = Workspace::new();
    workspace.write("graph/data.json", content.to_string());
    workspace
}

const TRAIN: [&str; 6] = ["train", "graph", "--model", "mlp", "--max-epochs", "8"];

#[test]
fn trains_every_split() {
    let workspace = workspace();
    let train = |more: &[&str]| workspace.good(&[&TRAIN, more].concat());
    let all = train(&["--splits", "all", "--json", "--out", "all"]);
    assert!(all.stderr.contains("split 2: test accuracy"), "{}", all.stderr);
    let all = all.json();
    assert_eq!((&all["splits"], &all["seeds"]), (&json!([0, 1, 2]), &json!([0, 1, 2])));
    let values = all["test"]["values"].as_array().unwrap();
    assert!(values.len() == SPLITS && all["test"]["std"].is_number(), "{all}");
    for split in ["0", "1", "2"] {
        let alone = train(&["--split", split, "--seed", split, "--json", "--out", split]).json();
        assert_eq!(alone["test"]["values"][0], values[split.parse::<usize>().unwrap()]);
        assert!(alone.get("splits").is_none(), "{alone}");
    }
    // The folder contains the model of the best split, and repeats the run.
    let best = all["best_seed"].as_u64().unwrap();
    let evaluated = workspace.good(&["evaluate", "all", "--json"]).json();
    assert_eq!(evaluated["test"]["metric"], values[best as usize]);
    let text = workspace.good(&["train", "--config", "all/config.toml", "--out", "again"]).stdout;
    assert!(text.contains("3 splits") && text.contains("of each split"), "{text}");
    assert_eq!(workspace.json("again/summary.json")["test"], all["test"]);
    workspace.good(&["report", "all"]);
    assert!(workspace.read("all/report.html").contains("splits"));
    let compared = workspace.good(&["compare", "all", "again"]).stdout;
    assert!(compared.contains("same splits and seeds"), "{compared}");
}

#[test]
fn rejects_splits_that_do_not_exist() {
    let workspace = workspace();
    for (args, part) in [
        (&["inspect", "graph", "--split", "7"][..], "a number from 0 to 2, since the files hold 3 splits, found 7"),
        (&["train", "graph", "--split", "3"], "a number from 0 to 2, since the files hold 3 splits, found 3"),
        (&["train", SMALL, "--splits", "all"], "splits: expected files with several splits"),
        (&["train", "graph", "--splits", "some"], "splits = \"some\": must be all"),
        (&["train", "graph", "--splits", "all", "--seeds", "2"], "leave out --seeds"),
        (&["train", "graph", "--splits", "all", "--split", "1"], "leave out --split"),
        (&["tune", "graph", "--splits", "all"], "--splits is an option of train"),
    ] {
        let done = workspace.run(args);
        assert!(done.code == 2 && done.stderr.contains(part), "{done:?}");
    }
}

/// Shares are drawn for any dataset; the run folder records them, and the model is evaluated on the same nodes.
#[test]
fn trains_on_a_split_by_shares() {
    let workspace = workspace();
    let args = ["--split", "random:50/20/30:4", "--row-normalise", "--json", "--out", "run"];
    let run = workspace.good(&[&TRAIN, &args[..]].concat());
    assert!(run.stderr.contains("50 % of the labelled nodes for training, 20 % for validation, 30 % for testing"));
    assert!(run.stderr.contains("features of each node divided by their sum"), "{}", run.stderr);
    let config = workspace.read("run/config.toml");
    assert!(config.contains("split = \"random:50/20/30:4\"") && config.contains("row_normalise = true"), "{config}");
    let evaluated = workspace.good(&["evaluate", "run", "--json"]).json();
    let parts = ["train", "validation", "test"].map(|part| evaluated[part]["nodes"].as_u64().unwrap());
    assert_eq!(parts, [30, 12, 18]);
    assert_eq!(evaluated["test"]["metric"], run.json()["test"]["values"][0]);
    workspace.good(&["train", "--config", "run/config.toml", "--out", "again"]);
    assert_eq!(workspace.bytes("run/model.safetensors"), workspace.bytes("again/model.safetensors"));
    let inspected = workspace.good(&["inspect", SMALL, "--split", "random:2.5/2.5/95"]).stdout;
    assert!(inspected.contains("14") && inspected.contains("513"), "{inspected}");
    for (split, part) in [
        ("random:60/20/30", "with the sum 100 instead of 110, found `60/20/30`"),
        ("random:60/40", "expected three shares in per cent such as 60/20/20"),
        ("random:60/20/20:x", "expected random:60/20/20 or random:60/20/20:SEED with a whole number, found `x`"),
        ("random:99/0.5/0.5", "expected at least one node each for training, validation and testing"),
    ] {
        let done = workspace.run(&["train", "graph", "--split", split]);
        assert!(done.code == 2 && done.stderr.contains(part), "{done:?}");
    }
    let done = workspace.run(&["train", "graph", "--features", "structural", "--row-normalise"]);
    assert!(done.code == 2 && done.stderr.contains("expected given features"), "{done:?}");
}

#[test]
fn reports_no_test_metric_without_test_nodes() {
    let workspace = Workspace::new();
    let split = |node: usize| if node < 40 { "train" } else { "validation" };
    let node =
        |node: usize| format!("n{node},{},{},{}\n", ["no", "yes"][node % 2], node % 3 + 2 * (node % 2), split(node));
    let nodes: String = (0..80).map(node).collect();
    let edges: String = (2..80).map(|node| format!("n{node},n{}\n", node - 2)).collect();
    workspace.write("g/nodes.csv", format!("id,label,size,split\n{nodes}"));
    workspace.write("g/edges.csv", format!("source,target\n{edges}"));
    for (name, more) in [("one", &["--seeds", "1"][..]), ("two", &["--seeds", "2", "--correct-and-smooth"])] {
        let train = ["train", "g", "--model", "gcn", "--max-epochs", "5", "--out", name];
        let done = workspace.good(&[&train[..], more].concat());
        let words = done.stdout + &done.stderr;
        assert!(!words.contains("test accuracy") && !words.contains("test before"), "{words}");
        assert!(words.contains("validation accuracy") && words.contains("there are no test nodes"), "{words}");
        let summary = workspace.json(&format!("{name}/summary.json"));
        assert!(summary.get("test").is_none() && summary["validation"]["mean"].is_f64(), "{summary}");
        assert!(summary.pointer("/correct_and_smooth/test_before").is_none(), "{summary}");
        assert!(!workspace.read(&format!("{name}/metrics.jsonl")).contains("test_metric"));
        workspace.good(&["report", name]);
        let page = workspace.read(&format!("{name}/report.html"));
        assert!(page.contains("There are no test nodes") && !page.contains("test accuracy"), "{page}");
        assert!(!workspace.read(&format!("{name}/figures/curves.svg")).contains(">test<"));
        assert!(!workspace.good(&["evaluate", name]).stdout.contains("test"));
    }
    let done = workspace.run(&["compare", "one", "two"]);
    assert!(done.code == 2 && done.stderr.contains("one: the dataset has no test nodes"), "{done:?}");
}
