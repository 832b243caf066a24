//! Trainings that are killed and resumed.

use crate::mpirun::{FILES, assert_same, command, divided, good, ranks, send, turn};
use crate::running::Running;
use crate::support::{SMALL, Workspace};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

const KILLS: usize = 5;

/// Waits until `count` checkpoint files have been replaced.
pub fn wait_for_checkpoints(workspace: &Workspace, child: &mut Running, count: usize) {
    assert!(writes_checkpoints(workspace, child, count), "the training ended too early");
}

/// Waits until `count` checkpoint files have been replaced; `false` if the training ends before.
pub fn writes_checkpoints(workspace: &Workspace, child: &mut Running, count: usize) -> bool {
    let folder = workspace.path("run.checkpoint");
    let files = || -> BTreeSet<(u64, i64, i64)> {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let seeds = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("seed-"));
        seeds.filter_map(|entry| entry.metadata().ok()).map(|m| (m.ino(), m.mtime(), m.mtime_nsec())).collect()
    };
    let (mut seen, started) = (files(), Instant::now());
    let before = seen.len();
    while seen.len() < before + count {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(started.elapsed() < Duration::from_secs(600), "no checkpoints");
        std::thread::sleep(Duration::from_millis(1));
        seen.extend(files());
    }
    true
}

/// Kills a training several times, each time in another number of processes: one process of them, or all at once. The
/// resumed training has the bytes of one that was not disturbed.
fn survives_kills(workspace: &Workspace, args: &[&str], seed: u64) {
    let whole = [args, &["--out", "whole", "--quiet"]].concat();
    workspace.good(&whole);
    // Moments of a linear congruential generator: the same in every run of the test.
    let mut state = seed;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % limit
    };
    let first = [args, &["--out", "run", "--checkpoint-every", "3e"]].concat();
    for kill in 0..KILLS {
        let count = [2, 3, 1, 4][kill % 4];
        let resume = ["train", "--resume", "run"];
        let args = if kill == 0 { &first[..] } else { &resume };
        let mut child = if count == 1 { workspace.command(args) } else { command(workspace, count, args) };
        let mut child = Running::start(child.stdout(Stdio::null()).stderr(Stdio::null()));
        wait_for_checkpoints(workspace, &mut child, 1 + below(3) as usize);
        std::thread::sleep(Duration::from_millis(below(30)));
        assert_eq!(child.try_wait().unwrap(), None, "the training ended before it was killed");
        match count {
            1 => child.kill().unwrap(),
            _ => {
                let started = ranks(&child);
                assert_eq!(started.len(), count);
                let one = below(count as u64) as usize;
                let victims = if kill % 2 == 0 { &started[..] } else { &started[one..=one] };
                victims.iter().for_each(|&pid| send("KILL", pid));
            }
        }
        assert!(!child.wait().unwrap().success());
    }
    let done = good(workspace, 3, &["train", "--resume", "run"]);
    assert!(done.stderr.contains("resuming from run.checkpoint"), "{done:?}");
    assert_same(workspace, "whole", "run", &FILES);
    assert!(workspace.list(".").iter().all(|name| !name.starts_with(".supergat") && name != "run.checkpoint"));
}

#[test]
fn resumes_a_network_after_kills_with_the_same_bytes() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    divided(&workspace, "graph.safetensors", "random-partition:classes=2,nodes=170,degree=5");
    let shape = ["--model", "supergat-mx", "--hidden", "2", "--heads", "2", "--threads", "1"];
    let args = [&["train", "graph.safetensors", "--no-early-stop", "--max-epochs", "100"], &shape[..]].concat();
    survives_kills(&workspace, &args, 7);
}

#[test]
fn resumes_runs_after_kills_with_the_same_bytes() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    let shape = ["--model", "supergat-mx", "--hidden", "2", "--heads", "2", "--threads", "1"];
    let args = [&["train", SMALL, "--seeds", "6", "--no-early-stop", "--max-epochs", "150"], &shape[..]].concat();
    survives_kills(&workspace, &args, 11);
}
