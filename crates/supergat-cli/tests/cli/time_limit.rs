//! The time limit of tests that wait for processes.

use crate::running::Running;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
#[cfg(unix)]
fn a_process_that_hangs_is_killed_and_its_output_shown() {
    let mut command = Command::new("sh");
    command.args(["-c", "echo before; exec sleep 600"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let hung = Running::with_limit(&mut command, Duration::from_millis(300));
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| hung.wait_with_output())).unwrap_err();
    let message = failed.downcast_ref::<String>().unwrap();
    assert!(message.contains("did not end in time: before"), "{message}");
}
