//! Starting the command in several processes.

use crate::running::Running;
use crate::support::{Done, Workspace};
use std::fs;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files of a run folder that contain no times.
pub const FILES: [&str; 4] = ["model.safetensors", "predictions.csv", "metrics.jsonl", "config.toml"];

/// Allows one job at a time, since a few processes already use all cores. Returns `None` if there is no `mpirun`.
pub fn turn() -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    if !Command::new("mpirun").arg("--version").output().is_ok_and(|done| done.status.success()) {
        println!("skipped: mpirun is not installed");
        return None;
    }
    Some(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Returns a command in some processes, each of which is started by the program `wrapper` if it is given.
pub fn wrapped(workspace: &Workspace, processes: usize, wrapper: &[&str], args: &[&str]) -> Command {
    let alone = workspace.command(args);
    let mut command = Command::new("mpirun");
    command.args(["-n", &processes.to_string()]).args(wrapper).arg(alone.get_program()).args(alone.get_args());
    command.current_dir(workspace.path(".")).stdin(Stdio::null());
    for (name, value) in alone.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    // Open MPI: allow root, and more processes than cores.
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    command.envs([("OMPI_MCA_rmaps_base_oversubscribe", "1"), ("OMPI_MCA_hwloc_base_binding_policy", "none")]);
    command.envs([("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")]);
    command
}

/// Returns a command in some processes.
pub fn command(workspace: &Workspace, processes: usize, args: &[&str]) -> Command {
    wrapped(workspace, processes, &[], args)
}

/// Runs a command in some processes, or without `mpirun` in one.
pub fn run(workspace: &Workspace, processes: usize, args: &[&str]) -> Done {
    Done::of(if processes == 1 { workspace.command(args) } else { command(workspace, processes, args) })
}

/// Runs a command that must succeed.
pub fn good(workspace: &Workspace, processes: usize, args: &[&str]) -> Done {
    let done = run(workspace, processes, args);
    assert_eq!(done.code, 0, "{processes} processes: {args:?}: {done:?}");
    done
}

/// Returns the errors that a command has printed, without the lines of Open MPI. An error of several processes is
/// returned once, as the first of them reports it: on a busy machine, others also report it before they are ended.
pub fn errors(done: &Done) -> Vec<&str> {
    let mut lines: Vec<&str> = done.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    lines.sort();
    lines.dedup_by_key(|line| {
        let message = line.strip_prefix("error: process ").and_then(|line| line.split_once(": "));
        message.map_or(*line, |(_, message)| message)
    });
    lines
}

/// Writes a generated graph, divided into eight parts.
pub fn divided(workspace: &Workspace, name: &str, source: &str) {
    workspace.good(&["partition", source, "--parts", "8", "--out", name]);
}

pub fn assert_same(workspace: &Workspace, a: &str, b: &str, files: &[&str]) {
    for file in files {
        let same = workspace.bytes(&format!("{a}/{file}")) == workspace.bytes(&format!("{b}/{file}"));
        assert!(same, "{file} of {a} and {b} differs");
    }
}

/// Returns the processes that `mpirun` has started, in the order of their numbers.
pub fn ranks(mpirun: &Running) -> Vec<u32> {
    let parent = |pid: u32| -> Option<u32> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name of the program, in brackets, may contain anything.
        text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let rank = |pid: u32| -> Option<usize> {
        let variables = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let text = String::from_utf8_lossy(&variables).into_owned();
        text.split('\0').find_map(|variable| variable.strip_prefix("OMPI_COMM_WORLD_RANK="))?.parse().ok()
    };
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<(usize, u32)> =
        pids.filter(|&pid| parent(pid) == Some(mpirun.id())).filter_map(|pid| Some((rank(pid)?, pid))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, pid)| pid).collect()
}

pub fn send(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status().unwrap().success());
}
