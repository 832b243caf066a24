//! Ctrl-C.

use crate::support::{Place, SMALL};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};

/// Starts what would never end, and waits for its first epoch.
fn started(place: &Place, dataset: &str) -> (Child, BufReader<ChildStderr>) {
    let args = ["train", dataset, "--max-epochs", "10000000", "--no-early-stop", "--json", "--out", "run"];
    let mut child = place.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("settings: "), "{line}");
    (child, stderr)
}

fn press(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn once_writes_what_there_is() {
    let place = Place::new();
    let (child, mut stderr) = started(&place, SMALL);
    press(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let summary = place.json("run/summary.json");
    assert_eq!(summary["interrupted"], true);
    assert_eq!(summary, serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap());
    let epochs = summary["epochs"][0].as_u64().unwrap() as usize;
    assert!((1..10_000_000).contains(&epochs));
    assert_eq!(place.read("run/metrics.jsonl").lines().count(), epochs);
    assert_eq!(place.list("."), ["run"]);
    assert_eq!(place.list("run").len(), 8);
    assert!(place.good(&["predict", "run"]).stdout == place.read("run/predictions.csv"));
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(said.lines().filter(|line| line.starts_with("stopping after this epoch")).count(), 1, "{said}");
}

#[test]
fn twice_quits_and_leaves_nothing_half_written() {
    let place = Place::new();
    // Its attention has almost a million rows, so that there is time to press while they are written.
    let (mut child, _stderr) = started(&place, "random-partition");
    press(&child);
    while place.list(".").is_empty() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before anything was written");
    }
    assert!(place.list(".")[0].starts_with(".supergat-"), "{:?}", place.list("."));
    press(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(place.list(".").is_empty(), "{:?} was left behind", place.list("."));
}
