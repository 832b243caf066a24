//! Real processes, started by `mpirun`. Tests print "skipped" where it is not installed.
//!
//! A test starts this program again in several processes, each of which runs one function of `work` or `failures`.

mod failures;
#[allow(dead_code, reason = "tests of the command use all of it")]
#[path = "../../../supergat-cli/tests/cli/running.rs"]
mod running;
mod work;

use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Variable with the name of the function that a started process runs.
const CASE: &str = "SUPERGAT_MPI_TEST_CASE";

/// Result of a job.
#[derive(Debug)]
struct Job {
    code: Option<i32>,
    output: String,
    time: Duration,
}

/// Runs a case in some processes. Returns `None` if there is no `mpirun`.
fn mpirun(processes: usize, case: &str, variables: &[(&str, &str)]) -> Option<Job> {
    // One job at a time: a few processes already use all cores.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if !Command::new("mpirun").arg("--version").output().is_ok_and(|done| done.status.success()) {
        println!("skipped: mpirun is not installed");
        return None;
    }
    let mut command = Command::new("mpirun");
    command.args(["-n", &processes.to_string()]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]);
    command.env(CASE, case).envs(variables.iter().copied());
    // Open MPI: allow root, and more processes than cores.
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    command.envs([("OMPI_MCA_rmaps_base_oversubscribe", "1"), ("OMPI_MCA_hwloc_base_binding_policy", "none")]);
    command.envs([("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")]);
    let start = Instant::now();
    let done = running::output(&mut command);
    let output = [done.stdout, done.stderr].concat();
    let output = String::from_utf8_lossy(&output).into_owned();
    Some(Job { code: done.status.code(), output, time: start.elapsed() })
}

/// Entry of the started processes.
#[test]
#[ignore = "started by the other tests"]
fn child() {
    let case = std::env::var(CASE).expect("set by the test");
    let work = match case.as_str() {
        "everything" => work::everything,
        "large" => work::large_message,
        "abort" => failures::abort,
        "panic" => failures::panic,
        "kill" => failures::kill,
        "exit" => failures::exit,
        "stop" => failures::stop,
        "many_pieces" => failures::many_pieces,
        "slow" => failures::slow,
        "lonely" => failures::lonely,
        case => panic!("unknown case {case}"),
    };
    if let Err(error) = work() {
        supergat_cluster::mpi::abort_with(&error.to_string(), 1);
    }
}

#[test]
fn processes_exchange_messages() {
    for processes in [1, 2, 3, 4, 8] {
        let Some(job) = mpirun(processes, "everything", &[]) else { return };
        assert_eq!(job.code, Some(0), "{processes} processes: {job:?}");
        assert_eq!(job.output.matches("all checks passed").count(), processes, "{job:?}");
    }
}

#[test]
#[ignore = "needs 10 GB of memory"]
fn divides_messages_above_2_gib() {
    let Some(job) = mpirun(2, "large", &[]) else { return };
    assert_eq!((job.code, job.output.matches("all checks passed").count()), (Some(0), 2), "{job:?}");
}

/// Runs a case that must end all processes at once, with an exit code and a message.
fn ends_all(processes: usize, case: &str, code: i32, message: &str, variables: &[(&str, &str)]) {
    let Some(job) = mpirun(processes, case, variables) else { return };
    assert_eq!(job.code, Some(code), "{case}: {job:?}");
    assert!(job.output.contains(message), "{case}: {job:?}");
    assert!(job.time < Duration::from_secs(60), "{case}: {job:?}");
}

#[test]
fn an_error_of_one_process_ends_all() {
    ends_all(3, "abort", 3, "error: process 1 of 3: nodes.csv, line 7: no number\n", &[]);
}

#[test]
fn a_panic_of_one_process_ends_all() {
    ends_all(2, "panic", 101, "error: process 1 of 2: a thread panicked\n", &[]);
}

#[test]
fn a_killed_process_ends_all() {
    ends_all(2, "kill", 137, "", &[]);
}

#[test]
fn a_process_that_leaves_early_ends_all() {
    let Some(job) = mpirun(2, "exit", &[]) else { return };
    assert_ne!(job.code, Some(0), "{job:?}");
}

#[test]
fn a_stopped_process_ends_all_after_a_time() {
    let message = "error: process 0 of 2: no message was exchanged with process 1 in 2 s: ";
    ends_all(2, "stop", 1, message, &[("SUPERGAT_MPI_TIMEOUT", "2")]);
}

#[test]
fn a_message_with_too_many_pieces_is_an_error() {
    let message = "process 1 sent a longer message than the 8388608 bytes expected\n";
    ends_all(2, "many_pieces", 1, message, &[]);
}

#[test]
fn computing_is_not_waiting() {
    let Some(job) = mpirun(2, "slow", &[("SUPERGAT_MPI_TIMEOUT", "1")]) else { return };
    assert_eq!(job.code, Some(0), "{job:?}");
}

#[test]
fn refuses_an_invalid_timeout() {
    let message = "SUPERGAT_MPI_TIMEOUT = soon: must be a whole number of seconds, at least 1";
    ends_all(2, "exit", 1, message, &[("SUPERGAT_MPI_TIMEOUT", "soon")]);
}

#[test]
fn refuses_processes_that_another_launcher_started() {
    let message = "mpirun started 2 processes, but MPI connects 1 of them: ";
    ends_all(1, "lonely", 1, message, &[]);
}
