//! `supergat train --checkpoint-every` and `--resume`: killed, interrupted and failed trainings, and bad input.

use crate::interrupt::{in_shell, send, started};
use crate::running::Running;
use crate::support::{Done, SMALL, Workspace};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Files of a run folder that contain no times.
const FILES: [&str; 5] = ["model.safetensors", "predictions.csv", "metrics.jsonl", "attention.csv", "config.toml"];
const SHAPE: [&str; 5] = ["--hidden", "2", "--heads", "2", "--no-early-stop"];

/// Returns the arguments of a training on the small graph.
fn train<'a>(out: &'a str, epochs: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["train", SMALL, "--out", out, "--max-epochs", epochs], &SHAPE[..], more].concat()
}

fn assert_same(workspace: &Workspace, a: &str, b: &str) {
    for file in FILES {
        assert!(workspace.bytes(&format!("{a}/{file}")) == workspace.bytes(&format!("{b}/{file}")), "{file} differs");
    }
}

/// Waits until `count` checkpoint files have been replaced.
fn wait_for_checkpoints(workspace: &Workspace, child: &mut Running, count: usize) {
    let folder = workspace.path("run.checkpoint");
    let files = || -> BTreeSet<(u64, i64, i64)> {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let seeds = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("seed-"));
        seeds.filter_map(|entry| entry.metadata().ok()).map(|m| (m.ino(), m.mtime(), m.mtime_nsec())).collect()
    };
    let (mut seen, started) = (files(), Instant::now());
    let before = seen.len();
    while seen.len() < before + count {
        assert_eq!(child.try_wait().unwrap(), None, "the training ended before it was killed");
        assert!(started.elapsed() < Duration::from_secs(600), "no checkpoints");
        std::thread::sleep(Duration::from_millis(1));
        seen.extend(files());
    }
}

#[test]
fn resumes_after_ten_kills_with_the_same_bytes() {
    let workspace = Workspace::new();
    workspace.good(&train("whole", "300", &["--seeds", "2", "--quiet"]));
    // Moments of a linear congruential generator: the same in every run of the test.
    let mut state = 7u64;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % limit
    };
    let first = train("run", "300", &["--seeds", "2", "--checkpoint-every", "5e"]);
    for kill in 0..10 {
        let threads = ["1", "2"][kill % 2];
        let resume = ["train", "--resume", ["run", "run.checkpoint"][kill % 2], "--threads", threads];
        let mut command = workspace.command(if kill == 0 { &first } else { &resume });
        let mut child = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        wait_for_checkpoints(&workspace, &mut child, 1 + below(5) as usize);
        std::thread::sleep(Duration::from_millis(below(9)));
        assert_eq!(child.try_wait().unwrap(), None, "the training ended before it was killed");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let done = workspace.good(&["train", "--resume", "run"]);
    assert!(done.stderr.starts_with("settings: all from run.checkpoint/config.toml\nresuming from run.checkpoint: "));
    assert_same(&workspace, "whole", "run");
    assert_eq!(workspace.list("."), ["run", "whole"]);
}

#[test]
fn resumes_an_interrupted_run_and_replaces_its_folder() {
    let workspace = Workspace::new();
    workspace.good(&train("whole", "400", &["--quiet"]));
    let (child, _stderr) = started(workspace.command(&train("run", "400", &["--json"])));
    send("INT", &child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(workspace.json("run/summary.json")["interrupted"], true);
    assert_eq!(workspace.list("run.checkpoint"), ["config.toml", "lock", "run.json", "seed-0.safetensors"]);
    let first = workspace.json("run/summary.json")["seconds"].as_f64().unwrap();

    workspace.write("run/notes.txt", "mine");
    let done = workspace.good(&["train", "--resume", "run", "--json"]);
    assert_same(&workspace, "whole", "run");
    assert_eq!(done.json(), workspace.json("run/summary.json"));
    assert_eq!((&done.json()["interrupted"], &done.json()["run_dir"]), (&false.into(), &"run".into()));
    assert!(done.json()["seconds"].as_f64().unwrap() > first, "the time before the interruption counts");
    assert_eq!(workspace.read("run/notes.txt"), "mine");
    assert_eq!(workspace.list("."), ["run", "whole"], "the checkpoint is removed");

    let done = workspace.run(&["train", "--resume", "run"]);
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (2, "error: --resume run: this run is finished, so there is nothing to resume\n")
    );
}

/// The name of a default folder belongs to the training that has a checkpoint there.
#[test]
fn default_folders_are_reserved_by_checkpoints() {
    let workspace = Workspace::new();
    let args =
        ["train", SMALL, "--model", "mlp", "--max-epochs", "100000", "--no-early-stop", "--checkpoint-every", "9e"];
    let (mut child, mut stderr) = started(workspace.command(&args));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
    let name = "runs/random-partition-mlp";
    assert_eq!(line, format!("checkpoint: {name}.checkpoint; after an interruption: supergat train --resume {name}\n"));
    let done = workspace.run(&["train", "--resume", name]);
    assert_eq!((done.code, done.stderr.contains("another process is working on runs/")), (2, true), "{done:?}");
    child.kill().unwrap();
    child.wait().unwrap();

    let short = ["train", SMALL, "--model", "mlp", "--max-epochs", "2"];
    let done = workspace.good(&short);
    let note = format!(
        "note: {name}.checkpoint has an unfinished training; continue it with supergat train --resume {name}\n"
    );
    assert!(done.stderr.contains(&note), "{}", done.stderr);
    assert_eq!(workspace.list("runs"), ["random-partition-mlp-2", "random-partition-mlp.checkpoint"]);
    let done = workspace.run(&[&short[..], &["--out", name]].concat());
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("has an unfinished training; continue it with supergat train --resume"), "{done:?}");
}

/// A file size limit fails like a full disk: checkpoints grow with the number of epochs.
#[test]
fn failed_checkpoints_do_not_end_the_training() {
    let workspace = Workspace::new();
    let small = ["--model", "mlp", "--hidden", "1", "--heads", "1", "--no-early-stop", "--max-epochs", "400"];
    workspace.good(&[&["train", SMALL, "--out", "whole", "--quiet"], &small[..]].concat());
    let limited = [&["train", SMALL, "--out", "run", "--checkpoint-every", "20e"], &small[..]].concat();
    let done = Done::of(in_shell(&workspace, "ulimit -f 20; exec", &limited));
    assert_eq!(done.code, 1, "{done:?}");
    let lines: Vec<&str> = done.stderr.lines().collect();
    let note = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!(note("checkpoint: run.checkpoint; after an interruption: "), 1, "{lines:?}");
    assert_eq!(note("note: no checkpoint could be written (File too large"), 1, "{lines:?}");
    assert_eq!(note("seed 0: test accuracy"), 1, "training continues: {lines:?}");
    assert_eq!(note("note: the checkpoint is kept; to continue this training: supergat train --resume run"), 1);
    assert!(lines.last().unwrap().starts_with("error: cannot write run: "), "{lines:?}");
    assert_eq!(workspace.list("."), ["run.checkpoint", "whole"]);

    let done = workspace.good(&["train", "--resume", "run"]);
    assert!(done.stderr.contains("resuming from run.checkpoint, after "), "{}", done.stderr);
    for file in ["model.safetensors", "predictions.csv", "metrics.jsonl"] {
        assert!(workspace.bytes(&format!("whole/{file}")) == workspace.bytes(&format!("run/{file}")), "{file}");
    }
}

/// Interrupts a training so that it leaves a checkpoint.
fn interrupted(workspace: &Workspace, args: &[&str]) {
    let (child, _stderr) = started(workspace.command(args));
    send("TERM", &child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
}

#[test]
fn rejects_trainings_that_cannot_be_resumed() {
    let workspace = Workspace::new();
    let error = |args: &[&str]| {
        let done = workspace.run(&[&["train", "--resume"], args].concat());
        assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{args:?}: {done:?}");
        done.stderr
    };
    assert!(
        error(&["nothing"]).starts_with("error: --resume nothing: nothing to resume: there is no nothing.checkpoint")
    );
    interrupted(&workspace, &train("none", "1000000", &["--checkpoint-every", "none"]));
    assert_eq!(workspace.list("."), ["none"]);
    let expected = "error: --resume none: this run was interrupted without a checkpoint: repeat it with supergat train \
                    --config none/config.toml\n";
    assert_eq!(error(&["none"]), expected);

    interrupted(&workspace, &train("run", "1000000", &["--seed", "3"]));
    for (args, part) in [
        (&["run", "--lr", "0.5"][..], "--lr 0.5 contradicts this training, which has lr = 0.01: leave it out"),
        (&["run", "cora"], "the dataset cora contradicts this training, which has dataset = "),
        (&["run", "--seed", "4"], "--seed 4 contradicts this training, which has seed = 3"),
        (&["run", "--directed"], "--directed contradicts this training, which has no directed"),
        (&["run", "--out", "other"], "--out other contradicts this training, which has --out run"),
        (&["run", "--device", "cuda"], "--device cuda:0 contradicts this training, which has the device cpu"),
        (&["run", "--checkpoint-every", "5"], "expected a time such as 10m or 30s, a number of epochs"),
    ] {
        assert!(error(args).contains(part), "{args:?}: {}", error(args));
    }

    let state = workspace.bytes("run.checkpoint/seed-3.safetensors");
    workspace.write("run.checkpoint/seed-3.safetensors", &state[..state.len() - 9]);
    assert!(error(&["run"]).contains("run.checkpoint/seed-3.safetensors: it is incomplete"), "{}", error(&["run"]));
    let mut flipped = state.clone();
    *flipped.last_mut().unwrap() ^= 1;
    workspace.write("run.checkpoint/seed-3.safetensors", &flipped);
    let expected = "error: the training cannot be resumed: run.checkpoint/seed-3.safetensors: it is damaged: its checksum \
                    is wrong; without this file, seed 3 is trained from the beginning\n";
    assert_eq!(error(&["run"]), expected);
    workspace.write("run.checkpoint/seed-3.safetensors", &state);

    let config = workspace.read("run.checkpoint/config.toml");
    for folder in ["run", "run.checkpoint"] {
        workspace.write(&format!("{folder}/config.toml"), config.replace("\ndropout = ", "\ndropout = 0.125 #"));
    }
    assert!(error(&["run"]).contains("but this training has 0.125"), "{}", error(&["run"]));
    workspace.write("run/config.toml", &config);
    assert!(error(&["run"]).contains("run exists, but is not this run"));
    workspace.write("run.checkpoint/config.toml", &config);

    let manifest = workspace.read("run.checkpoint/run.json");
    workspace.write("run.checkpoint/run.json", manifest.replace("\"schema\": 1", "\"schema\": 9"));
    assert!(error(&["run"]).contains("expected version 1 of run.json, found 9"));
    workspace.write("run.checkpoint/run.json", &manifest[..20]);
    assert!(error(&["run"]).contains("run.checkpoint/run.json: EOF while parsing"));
    fs::remove_file(workspace.path("run.checkpoint/run.json")).unwrap();
    assert!(error(&["run"]).contains("run.checkpoint/run.json: No such file"));
}

#[test]
fn rejects_a_dataset_that_has_changed() {
    let workspace = Workspace::new();
    let nodes: String = (0..60).map(|node| format!("{node},{},{}\n", ["a", "b"][node % 2], node * 7 % 5)).collect();
    let edges: String = (0..60).map(|node| format!("{node},{}\n", (node * 13 + 1) % 60)).collect();
    workspace.write("data/nodes.csv", format!("id,label,x\n{nodes}"));
    workspace.write("data/edges.csv", format!("source,target\n{edges}"));
    let args = ["train", "data", "--model", "gat-go", "--out", "run", "--max-epochs", "1000000", "--no-early-stop"];
    let mut child = workspace.command(&[&args[..], &["--checkpoint-every", "5e"]].concat());
    let mut child = Running::start(child.stdout(Stdio::null()).stderr(Stdio::null()));
    wait_for_checkpoints(&workspace, &mut child, 2);
    child.kill().unwrap();
    child.wait().unwrap();

    workspace.write("data/nodes.csv", format!("id,label,x\n{}", nodes.replace("7,b,4", "7,b,3")));
    let done = workspace.run(&["train", "--resume", "run"]);
    assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{done:?}");
    assert!(done.stderr.contains("the dataset or the order of its nodes has changed since it was written"), "{done:?}");
    // A relative path of a dataset starts where the training did.
    fs::create_dir(workspace.path("elsewhere")).unwrap();
    let mut command = workspace.command(&["train", "--resume", "../run"]);
    let done = Done::of({
        command.current_dir(workspace.path("elsewhere"));
        command
    });
    assert!(done.code == 2 && done.stderr.contains("; the training was started in "), "{done:?}");
}
