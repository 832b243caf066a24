//! Signals: Ctrl-C, SIGTERM, SIGHUP and the file size limit.

use crate::running::Running;
use crate::support::{Done, SMALL, Workspace};
use nix::sys::signal::{SigHandler, Signal, signal};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, Command, Stdio};

const ENDLESS: [&str; 8] =
    ["--model", "supergat-mx", "--max-epochs", "10000000", "--no-early-stop", "--json", "--out", "run"];

/// Starts a training and waits for its first epoch. Signals have their usual effect on it: tests that are started with
/// `nohup` ignore SIGHUP, and their processes would inherit that.
pub fn started(mut command: Command) -> (Running, BufReader<ChildStderr>) {
    let restore = || {
        for kind in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            // SAFETY: the default action is no function of this program.
            unsafe { signal(kind, SigHandler::SigDfl) }?;
        }
        Ok(())
    };
    // SAFETY: the closure only calls `signal`, which is allowed between fork and exec.
    unsafe { command.pre_exec(restore) };
    let mut child = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let mut stderr = BufReader::new(child.child().stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("settings: "), "{line}");
    (child, stderr)
}

/// Starts a training that does not end by itself.
fn training(workspace: &Workspace, dataset: &str) -> (Running, BufReader<ChildStderr>) {
    started(workspace.command(&[&["train", dataset], &ENDLESS[..]].concat()))
}

pub fn send(signal: &str, child: &Running) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn one_signal_stops_training_and_writes_the_run() {
    for signal in ["INT", "TERM", "HUP"] {
        let workspace = Workspace::new();
        let (child, mut stderr) = training(&workspace, SMALL);
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{signal}");
        let summary = workspace.json("run/summary.json");
        assert_eq!(summary["interrupted"], true);
        assert_eq!(summary, serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap());
        let epochs = summary["epochs"][0].as_u64().unwrap() as usize;
        assert!((1..10_000_000).contains(&epochs));
        assert_eq!(workspace.read("run/metrics.jsonl").lines().count(), epochs);
        assert_eq!(workspace.list("."), ["run", "run.checkpoint"]);
        assert_eq!(workspace.list("run").len(), 8);
        assert!(workspace.good(&["predict", "run"]).stdout == workspace.read("run/predictions.csv"));
        let mut text = String::new();
        stderr.read_to_string(&mut text).unwrap();
        assert_eq!(text.lines().filter(|line| line.starts_with("stopping after this epoch")).count(), 1, "{text}");
        assert!(text.ends_with("to continue this training: supergat train --resume run\n"), "{text}");
    }
}

#[test]
fn second_signal_quits_and_removes_the_unfinished_folder() {
    let workspace = Workspace::new();
    // The attention of this graph has almost a million rows, so the signal arrives while they are written.
    let (mut child, _stderr) = training(&workspace, "random-partition");
    send("INT", &child);
    // The checkpoint comes first, and then the run folder under a temporary name in the folder of the checkpoint.
    let is_folder = |name: &String| workspace.path("run.checkpoint").join(name).is_dir();
    while !(workspace.path("run.checkpoint").is_dir() && workspace.list("run.checkpoint").iter().any(is_folder)) {
        assert_eq!(child.try_wait().unwrap(), None, "the process ended before it wrote anything");
    }
    send("TERM", &child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(workspace.list("."), ["run.checkpoint"], "the run folder was left behind");
    let files = ["config.toml", "lock", "run.json", "seed-0.safetensors"];
    assert_eq!(workspace.list("run.checkpoint"), files, "the run folder was left behind");
}

/// Returns a shell command that runs `setup` followed by the command under test.
pub fn in_shell(workspace: &Workspace, setup: &str, args: &[&str]) -> Command {
    let command = workspace.command(args);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{setup} \"$0\" \"$@\"")]).arg(command.get_program()).args(command.get_args());
    for (variable, _) in command.get_envs() {
        shell.env_remove(variable);
    }
    shell.current_dir(workspace.path(".")).stdin(Stdio::null());
    shell
}

/// The hangup of a closed terminal does not stop a command that was started with `nohup`.
#[test]
#[cfg(target_os = "linux")]
fn nohup_ignores_hangup() {
    let workspace = Workspace::new();
    let args = [&["train", SMALL], &ENDLESS[..]].concat();
    let (mut child, mut stderr) = started(in_shell(&workspace, "trap '' HUP; exec", &args));
    send("HUP", &child);
    send("HUP", &child);
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(child.try_wait().unwrap(), None);
    send("TERM", &child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut text = String::new();
    stderr.read_to_string(&mut text).unwrap();
    assert_eq!(workspace.list("."), ["run", "run.checkpoint"], "{text}");
}

#[test]
fn file_size_limit_is_an_error_and_leaves_nothing_behind() {
    let workspace = Workspace::new();
    let args = ["train", SMALL, "--max-epochs", "2", "--quiet", "--out", "run"];
    let done = Done::of(in_shell(&workspace, "ulimit -f 1; exec", &args));
    assert_eq!((done.code, done.stderr.lines().count()), (1, 1), "{done:?}");
    assert!(done.stderr.starts_with("error: cannot write run: "), "{done:?}");
    assert!(workspace.list(".").is_empty(), "{:?} was left behind", workspace.list("."));

    workspace.train("run", &["--quiet"]);
    let done = Done::of(in_shell(&workspace, "ulimit -f 1; exec", &["predict", "run", "--out", "p.csv"]));
    assert_eq!((done.code, done.stderr.lines().count()), (1, 1), "{done:?}");
    assert!(done.stderr.starts_with("error: cannot write p.csv: "), "{done:?}");
    assert_eq!(workspace.list("."), ["run"]);
}
