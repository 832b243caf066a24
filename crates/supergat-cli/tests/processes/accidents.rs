//! Signals, lost processes, full disks, and processes that do not fit together.

use crate::killed::{wait_for_checkpoints, writes_checkpoints};
use crate::mpirun::{command, divided, errors, good, ranks, run, send, turn, wrapped};
use crate::running::Running;
use crate::support::{Done, SMALL, Workspace};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const GRAPH: &str = "random-partition:classes=2,nodes=170,degree=5";
const ENDLESS: [&str; 12] = [
    "--model",
    "gat-go",
    "--hidden",
    "2",
    "--heads",
    "2",
    "--max-epochs",
    "10000000",
    "--no-early-stop",
    "--threads",
    "1",
    "--json",
];

/// Trainings that do not end by themselves: together, and by runs.
fn endless() -> [Vec<&'static str>; 2] {
    let rest = [&ENDLESS[..], &["--out", "run", "--checkpoint-every", "2e"]].concat();
    [[&["train", "graph.safetensors"], &rest[..]].concat(), [&["train", SMALL, "--seeds", "4"], &rest[..]].concat()]
}

/// Starts a command in three processes and waits for its first checkpoints.
fn started(workspace: &Workspace, mut command: Command) -> Running {
    let mut child = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    wait_for_checkpoints(workspace, &mut child, 1);
    child
}

fn ended(child: Running) -> Done {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Done { code: output.status.code().expect("not killed"), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Checks that a training has left a checkpoint from which it can be resumed, and no unfinished folder.
fn assert_can_be_resumed(workspace: &Workspace) {
    let files = workspace.list("run.checkpoint");
    assert!(files.iter().any(|name| name.starts_with("seed-")), "{files:?}");
    assert!(workspace.list(".").iter().all(|name| !name.starts_with(".supergat")), "{:?}", workspace.list("."));
    if workspace.path("run").exists() {
        assert_eq!(workspace.json("run/summary.json")["interrupted"], true);
        assert_eq!(workspace.list("run").len(), 8);
    }
    let config = workspace.read("run.checkpoint/config.toml");
    assert!(config.contains("max_epochs = 10000000"), "{config}");
    // The resumed training reads the checkpoint and does not end by itself either. `mpirun` may end before its
    // processes, which lock the checkpoint until they end.
    let started = Instant::now();
    let done = loop {
        let mut command = workspace.command(&["train", "--resume", "run", "--json"]);
        let mut child = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        if writes_checkpoints(workspace, &mut child, 1) {
            send("TERM", child.id());
        }
        let done = ended(child);
        if !done.stderr.contains("another process is working on") || started.elapsed() > Duration::from_secs(20) {
            break done;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(done.code, 130, "{done:?}");
    assert!(done.stderr.contains("resuming from run.checkpoint"), "{done:?}");
}

/// `mpirun` passes the end on to all processes, and kills them if they need long.
#[test]
fn ctrl_c_leaves_a_checkpoint() {
    let Some(_turn) = turn() else { return };
    for (args, signal) in endless().into_iter().zip(["INT", "TERM"]) {
        let workspace = Workspace::new();
        divided(&workspace, "graph.safetensors", GRAPH);
        let child = started(&workspace, command(&workspace, 3, &args));
        send(signal, child.id());
        let done = ended(child);
        assert_ne!(done.code, 0, "{signal}: {done:?}");
        assert_can_be_resumed(&workspace);
    }
}

/// A signal to the first process stops the training, and `mpirun` kills nothing.
#[test]
fn a_signal_to_the_first_process_stops_all() {
    let Some(_turn) = turn() else { return };
    for args in endless() {
        let workspace = Workspace::new();
        divided(&workspace, "graph.safetensors", GRAPH);
        let child = started(&workspace, command(&workspace, 3, &args));
        send("TERM", ranks(&child)[0]);
        let done = ended(child);
        assert_eq!((done.code, errors(&done)), (130, vec![]), "{done:?}");
        assert_eq!(workspace.json("run/summary.json"), done.json());
        assert!(done.stderr.contains("to continue this training: supergat train --resume run\n"), "{done:?}");
        assert_can_be_resumed(&workspace);
    }
}

#[test]
fn a_killed_process_ends_all() {
    let Some(_turn) = turn() else { return };
    for args in endless() {
        let workspace = Workspace::new();
        divided(&workspace, "graph.safetensors", GRAPH);
        let child = started(&workspace, command(&workspace, 3, &args));
        send("KILL", ranks(&child)[1]);
        let done = ended(child);
        assert_eq!(done.code, 137, "{done:?}");
        assert!(done.stderr.contains("signal 9"), "{done:?}");
        assert_can_be_resumed(&workspace);
    }
}

#[test]
fn a_stopped_process_ends_all_after_a_time() {
    let Some(_turn) = turn() else { return };
    for args in endless() {
        let workspace = Workspace::new();
        divided(&workspace, "graph.safetensors", GRAPH);
        let mut command = command(&workspace, 3, &args);
        command.env("SUPERGAT_MPI_TIMEOUT", "2");
        let child = started(&workspace, command);
        send("STOP", ranks(&child)[1]);
        let done = ended(child);
        let expected = "error: process 0 of 3: no message was exchanged with process 1";
        assert!(done.code == 1 && done.stderr.contains(expected), "{done:?}");
        assert_can_be_resumed(&workspace);
    }
}

/// A file size limit fails like a full disk: checkpoints grow with the number of epochs.
#[test]
fn a_full_disk_leaves_the_last_checkpoint() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    divided(&workspace, "graph.safetensors", GRAPH);
    workspace.write("limited.sh", "ulimit -f 20\nexec \"$@\"\n");
    let small = ["--model", "mlp", "--hidden", "1", "--heads", "1", "--no-early-stop", "--threads", "1"];
    for (data, epochs) in [(&["graph.safetensors"][..], "250"), (&[SMALL, "--seeds", "2"], "400")] {
        let train = |out: &'static str| [&["train"], data, &small, &["--max-epochs", epochs, "--out", out]].concat();
        workspace.good(&train("whole"));
        let args = [&train("run")[..], &["--checkpoint-every", "20e"]].concat();
        let done = Done::of(wrapped(&workspace, 2, &["sh", "limited.sh"], &args));
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.stderr.contains("note: no checkpoint could be written (File too large"), "{done:?}");
        assert!(matches!(errors(&done)[..], [line] if line.contains("cannot write run: ")), "{done:?}");
        assert!(!workspace.path("run").exists() && workspace.path("run.checkpoint").exists());
        let done = good(&workspace, 3, &["train", "--resume", "run"]);
        assert!(done.stderr.contains("resuming from run.checkpoint"), "{done:?}");
        for file in ["model.safetensors", "predictions.csv", "metrics.jsonl"] {
            assert!(workspace.bytes(&format!("whole/{file}")) == workspace.bytes(&format!("run/{file}")), "{file}");
        }
        ["whole", "run"].iter().for_each(|name| std::fs::remove_dir_all(workspace.path(name)).unwrap());
    }
}

#[test]
fn processes_that_do_not_fit_together_say_why() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    divided(&workspace, "graph.safetensors", GRAPH);
    let tables = |name: &str, last: &str| {
        let node = |n: usize| format!("{n},{},{}\n", ["a", "b"][n % 2], n * 7 % 5);
        let nodes: String = (0..59).map(node).collect();
        let edges: String = (0..60).map(|n| format!("{n},{}\n", (n * 13 + 1) % 60)).collect();
        workspace.write(&format!("{name}/nodes.csv"), format!("id,label,x\n{nodes}59,b,{last}\n"));
        workspace.write(&format!("{name}/edges.csv"), format!("source,target\n{edges}"));
    };
    tables("tables", "1");
    tables("other/tables", "2");
    divided(&workspace, "other/graph.safetensors", &format!("{GRAPH},seed=1"));
    std::fs::create_dir(workspace.path("empty")).unwrap();
    // Process 1 is in another folder, or has other settings.
    workspace.write("elsewhere.sh", "[ $OMPI_COMM_WORLD_RANK != 1 ] || cd $0\nexec \"$@\"\n");
    workspace.write("faster.sh", "[ $OMPI_COMM_WORLD_RANK != 1 ] || set -- \"$@\" --lr 0.5\nexec \"$@\"\n");
    let short = ["--model", "gcn", "--max-epochs", "5", "--threads", "1", "--quiet", "--out", "run"];
    let together = [&["train", "graph.safetensors"], &short[..]].concat();
    let by_runs = [&["train", "tables", "--seeds", "3"], &short[..]].concat();
    let study = ["study", "sensitivity", "tables", "--seeds", "1", "--threads", "1", "--quiet", "--out", "run"];
    let in_folder = |folder: &'static str| vec!["sh", "-c", ". ./elsewhere.sh", folder];
    let error = |wrapper: &[&str], args: &[&str]| {
        let done = Done::of(wrapped(&workspace, 3, wrapper, args));
        assert!([1, 2].contains(&done.code) && errors(&done).len() == 1, "{args:?}: {done:?}");
        assert!(!workspace.path("run/summary.json").exists());
        errors(&done)[0].to_owned()
    };
    let found = error(&in_folder("empty"), &together);
    let expected = "error: process 1 of 3: graph.safetensors is not on the machine of this process: ";
    assert!(found.starts_with(expected), "{found}");
    let found = error(&in_folder("other"), &together);
    assert!(found.contains("process 1 has another dataset file than the other processes: `"), "{found}");
    let found = error(&in_folder("empty"), &by_runs);
    assert!(found.contains("process 1: unknown dataset `tables`"), "{found}");
    let found = error(&in_folder("other"), &by_runs);
    assert!(found.contains("process 1: tables differs from tables of process 0: copy the same files"), "{found}");
    let found = error(&in_folder("other"), &study);
    assert!(found.contains("process 1: tables differs from tables of process 0: copy the same files"), "{found}");
    let found = error(&["sh", "-c", ". ./faster.sh", "sh"], &together);
    assert!(found.contains("process 1 has another command line than the other processes: "), "{found}");

    let done = run(&workspace, 9, &together);
    let expected = "9 processes cannot divide the 8 parts of the graph: start at most 8 processes, or divide";
    assert!(done.code == 2 && errors(&done).len() == 1 && done.stderr.contains(expected), "{done:?}");
}
