//! Processes with a time limit: a test that waits for one fails with its output instead of waiting forever.

use std::io;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time after which a process is taken to hang. Busy machines need minutes for the longest ones.
const LIMIT: Duration = Duration::from_secs(15 * 60);
/// Time between the request to end and the kill.
const GRACE: Duration = Duration::from_secs(10);

/// Process that is killed after [`LIMIT`], and when it is dropped.
pub struct Running {
    child: Option<Child>,
    words: String,
    watch: Option<(Sender<()>, JoinHandle<bool>)>,
}

impl Running {
    /// Starts a process.
    pub fn start(command: &mut Command) -> Self {
        Self::with_limit(command, LIMIT)
    }

    /// Starts a process with another time limit.
    pub fn with_limit(command: &mut Command, limit: Duration) -> Self {
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (stop, stopped) = channel();
        let pid = child.id().to_string();
        let watch = move || {
            if stopped.recv_timeout(limit) != Err(RecvTimeoutError::Timeout) {
                return false;
            }
            // `mpirun` ends its processes if it is asked to end.
            send("-TERM", &pid);
            if stopped.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
                send("-KILL", &pid);
            }
            true
        };
        let watch = Some((stop, std::thread::spawn(watch)));
        Self { child: Some(child), words: format!("{command:?}"), watch }
    }

    /// Returns the process.
    pub fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("taken at the end only")
    }

    /// Returns the number of the process.
    pub fn id(&self) -> u32 {
        self.child.as_ref().expect("taken at the end only").id()
    }

    /// Kills the process.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child().kill()
    }

    /// Returns the result of the process if it has ended.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.child().try_wait()?;
        if status.is_some() {
            self.ended("");
        }
        Ok(status)
    }

    /// Waits for the end of the process.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child().wait()?;
        self.ended("");
        Ok(status)
    }

    /// Waits for the end of the process and returns its output.
    pub fn wait_with_output(mut self) -> io::Result<Output> {
        let output = self.child.take().expect("taken at the end only").wait_with_output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.ended(&format!("{}{}", text(&output.stdout), text(&output.stderr)));
        Ok(output)
    }

    /// Stops the watch after the end of the process. Fails if the time limit was exceeded.
    fn ended(&mut self, output: &str) {
        let Some((stop, watch)) = self.watch.take() else { return };
        let _ = stop.send(());
        assert!(!watch.join().unwrap(), "{} was killed, because it did not end in time: {output}", self.words);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        if let Some((stop, _)) = self.watch.take() {
            let _ = stop.send(());
        }
    }
}

/// Runs a command and returns its output, with the time limit.
pub fn output(command: &mut Command) -> Output {
    Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped())).wait_with_output().unwrap()
}

fn send(signal: &str, pid: &str) {
    let _ = Command::new("kill").args([signal, pid]).status();
}
