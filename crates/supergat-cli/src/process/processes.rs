//! Processes that a launcher such as `mpirun` started together.
//!
//! They work together in one of two ways. A file that is divided into parts is trained by all processes together: each
//! of them runs the command with its own parts. Everything else is divided by runs: the first process runs the command,
//! and the others train whole runs for it.

use crate::config::Choices;
use crate::error::{CliError, Result};
use crate::output;
use crate::process::interrupt::Interrupt;
use crate::process::threads;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use supergat::SplitChoice;
use supergat_cluster::peers::{self, Peers, gather};
use supergat_core::Error;
use supergat_data::converted::PartitionedFile;
use supergat_train::processes::Processes;
use supergat_train::{Resources, serve};

/// Returns the processes that were started together, after a check that all run the same command.
pub fn connect() -> Result<Arc<dyn Peers>> {
    let peers = supergat_train::mpi::connect()?;
    let values = [
        ("program", env!("CARGO_PKG_VERSION").to_owned()),
        ("command line", std::env::args().skip(1).collect::<Vec<_>>().join(" ")),
    ];
    peers::agree(&*peers, &values)?;
    Ok(peers)
}

/// Way in which processes train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// All processes train one network, on a file that is divided into parts.
    Together,
    /// Every process trains whole runs.
    Runs,
}

impl Mode {
    /// Decides how a dataset is trained: together if it is divided into parts.
    pub fn of(dataset: &str) -> Self {
        let path = Path::new(dataset);
        let file = path.is_file().then(|| PartitionedFile::open(path).ok()).flatten();
        match file {
            Some(file) if (0..file.graphs()).all(|k| file.graph(k).parts() > 1) => Self::Together,
            _ => Self::Runs,
        }
    }

    /// Sends the mode to all other processes.
    pub fn send(self, peers: &dyn Peers) -> Result<()> {
        gather(peers, &[u8::from(self == Self::Together)])?;
        Ok(())
    }

    /// Waits for the mode from the first process.
    pub fn receive(peers: &dyn Peers) -> Result<Self> {
        let received = gather::<u8>(peers, &[])?;
        Ok(if received[0] == [1] { Self::Together } else { Self::Runs })
    }
}

/// Processes that wait for runs of this one.
#[derive(Debug)]
struct Others {
    peers: Arc<dyn Peers>,
    started: OnceLock<Processes>,
}

static OTHERS: OnceLock<Others> = OnceLock::new();

/// Lets other processes, which call [`help`], train runs of this command.
pub fn share_runs(peers: Arc<dyn Peers>) {
    OTHERS.get_or_init(|| Others { peers, started: OnceLock::new() });
}

/// Starts the processes that train runs for this one, if there are any. This process has `own` threads, and the user
/// has asked for `wanted` threads in every process. Later calls return the same processes.
pub fn start(wanted: Option<u16>, own: usize) -> Result<Option<&'static Processes>> {
    let Some(others) = OTHERS.get() else { return Ok(None) };
    if let Some(started) = others.started.get() {
        return Ok(Some(started));
    }
    let started = Processes::start(Arc::clone(&others.peers), wanted.map(usize::from), own)?;
    Ok(Some(others.started.get_or_init(|| started)))
}

/// Ends the processes that train runs for this one.
pub fn finish() -> Result<()> {
    match OTHERS.get() {
        Some(Others { peers, started }) => match started.get() {
            Some(processes) => Ok(processes.finish()?),
            None => Ok(Processes::dismiss(&**peers)?),
        },
        None => Ok(()),
    }
}

/// Time in which the first process can report an error that all processes have.
const FIRST_REPORTS: Duration = Duration::from_millis(300);

/// Reports an error. Ends all processes, which would otherwise wait for this one.
pub fn fail(error: &CliError) -> ExitCode {
    if supergat_train::mpi::launched().is_none() || cfg!(not(feature = "mpi")) {
        return output::failed(error);
    }
    if supergat_train::mpi::connect().is_ok_and(|peers| peers.rank() > 0) {
        std::thread::sleep(FIRST_REPORTS);
    }
    supergat_train::mpi::abort_with(&output::visible(&output::one_line(&error.message)), error.code)
}

/// Trains runs for the first process, until its command ends. A first signal does not end this process: the first
/// process decides what is saved.
pub fn help(peers: Arc<dyn Peers>) -> Result<ExitCode> {
    let _interrupt = Interrupt::listen()?;
    serve(peers, supergat_studies::task_named, |wanted| {
        let wanted = wanted.and_then(|threads| u16::try_from(threads).ok());
        threads(wanted).map_err(|error| Error::Peers { reason: error.message })
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Opens a dataset that is divided into parts.
pub fn open_parts(dataset: &str, peers: &dyn Peers) -> Result<PartitionedFile> {
    let path = Path::new(dataset);
    if !path.is_file() && peers.rank() > 0 {
        // The first process reports that no process has the file.
        return Err(CliError::usage(format!(
            "{dataset} is not on the machine of this process: copy it to all machines, or use a common folder"
        )));
    }
    if !path.is_file() {
        return Err(CliError::usage(format!(
            "several processes need a file that is divided into parts, and {dataset} is no file: write one with \
             `supergat partition {dataset} --out FILE`"
        )));
    }
    Ok(PartitionedFile::open(path)?)
}

/// Refuses an option of a command that several processes carry out together.
pub fn refused(command: &str, what: &str, instead: &str) -> CliError {
    CliError::usage(format!("several processes cannot {command} together with {what}: {instead}"))
}

/// Refuses choices that need one process or the whole dataset.
pub fn refuse_other_options(command: &str, choices: &Choices, resources: &Resources) -> Result<()> {
    if !resources.kind().is_cpu() {
        return Err(refused(command, "--device", "leave it out, or start one process"));
    }
    if choices.all_splits()? {
        let instead = "a divided file has one split; convert the dataset once for each split";
        return Err(refused(command, "--splits all", instead));
    }
    if choices.load_options()?.split != SplitChoice::Published {
        let instead = "the split of the file is used; convert the dataset with the split that you want";
        return Err(refused(command, "--split", instead));
    }
    Ok(())
}

/// Checks that all processes have the same file.
pub fn agree(peers: &dyn Peers, file: &PartitionedFile) -> Result<()> {
    Ok(peers::agree(peers, &[("dataset file", describe(file))])?)
}

/// Describes the content of a file, as far as processes can compare it without reading all of it.
fn describe(file: &PartitionedFile) -> String {
    let graphs = (0..file.graphs()).map(|k| {
        let graph = file.graph(k);
        format!("{} nodes, {} edges, {} parts", graph.nodes(), graph.edges(), graph.parts())
    });
    let bytes = std::fs::metadata(file.path()).map_or(0, |metadata| metadata.len());
    format!("{} with {bytes} bytes: {}", file.name(), graphs.collect::<Vec<_>>().join("; "))
}
