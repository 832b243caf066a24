//! Launchers of several processes, which are recognised by the environment variables that they set.

use super::failed;
use supergat_core::Error;
use supergat_core::words::count;

/// Setting that switches off the search for a launcher.
const SWITCH: &str = "SUPERGAT_MPI";

/// Launchers, and the variables in which they tell the number of processes.
///
/// `SLURM_NTASKS` is not among them: `sbatch` sets it also for the batch script, which is one process.
const SIZES: [(&str, &str); 4] = [
    ("mpirun", "OMPI_COMM_WORLD_SIZE"), // Open MPI
    ("mpirun", "PMI_SIZE"),             // MPICH and Intel MPI (Hydra)
    ("mpirun", "MV2_COMM_WORLD_SIZE"),  // MVAPICH
    ("srun", "SLURM_STEP_NUM_TASKS"),   // Slurm
];
/// Variable of other launchers with PMIx: the number of this process, from 0.
const RANK: &str = "PMIX_RANK";

/// Several processes that a launcher has started, of which this is one.
///
/// ```
/// match supergat_cluster::mpi::launched() {
///     Some(launch) => println!("{} started {} processes", launch.launcher, launch.processes),
///     None => println!("one process"),
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Command that started the processes, such as `mpirun`.
    pub launcher: &'static str,
    /// Number of processes, at least 2. A launcher that only numbers processes gives a lower bound.
    pub processes: usize,
}

/// Returns the launch that this process belongs to, if a launcher such as `mpirun` or `srun` started more than
/// one process. `SUPERGAT_MPI=off` makes every process work on its own: the result is then `None`.
pub fn launched() -> Option<Launch> {
    launched_in(|name| std::env::var(name).ok())
}

fn launched_in(variable: impl Fn(&str) -> Option<String>) -> Option<Launch> {
    if variable(SWITCH).as_deref() == Some("off") {
        return None;
    }
    let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
    let of_size = SIZES.into_iter().find_map(|(launcher, name)| Some((launcher, number(name)?)));
    let (launcher, processes) = of_size.or_else(|| Some(("the launcher", number(RANK)?.saturating_add(1))))?;
    (processes > 1).then_some(Launch { launcher, processes })
}

impl Launch {
    /// Returns the error of a program without MPI.
    #[cfg(any(not(feature = "mpi"), test))]
    pub(crate) fn without_mpi(&self) -> Error {
        let Self { launcher, processes } = self;
        failed(format!(
            "{launcher} started {}, but this build has no MPI: build supergat with `--features mpi`, or set {SWITCH}=off to \
             run every process on its own",
            count(*processes, "process")
        ))
    }

    /// Validates the number of processes that MPI connects.
    #[cfg(any(feature = "mpi", test))]
    pub(crate) fn check_count(&self, connected: usize) -> Result<(), Error> {
        let Self { launcher, processes } = self;
        if connected >= *processes {
            return Ok(());
        }
        Err(failed(format!(
            "{launcher} started {}, but MPI connects {connected} of them: use the launcher of the MPI library that \
             supergat was built with, under Slurm `srun --mpi=pmix`",
            count(*processes, "process")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched_with(variables: &[(&str, &str)]) -> Option<(&'static str, usize)> {
        let variable =
            |name: &str| variables.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).into());
        launched_in(variable).map(|launch| (launch.launcher, launch.processes))
    }

    #[test]
    fn recognises_launchers_of_several_processes() {
        assert_eq!(launched_with(&[("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "1")]), Some(("mpirun", 4)));
        assert_eq!(launched_with(&[("PMI_SIZE", "2")]), Some(("mpirun", 2)));
        assert_eq!(launched_with(&[("MV2_COMM_WORLD_SIZE", "3")]), Some(("mpirun", 3)));
        assert_eq!(launched_with(&[("SLURM_STEP_NUM_TASKS", "8"), ("PMIX_RANK", "0")]), Some(("srun", 8)));
        assert_eq!(launched_with(&[("PMIX_RANK", "2")]), Some(("the launcher", 3)));
    }

    #[test]
    fn a_single_process_is_no_launch() {
        assert_eq!(launched_with(&[]), None);
        assert_eq!(launched_with(&[("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")]), None);
        // A batch script of Slurm, with an mpirun of one process in it.
        assert_eq!(launched_with(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")]), None);
        assert_eq!(launched_with(&[("SLURM_STEP_NUM_TASKS", "8"), ("OMPI_COMM_WORLD_SIZE", "1")]), None);
        assert_eq!(launched_with(&[("PMI_SIZE", "many")]), None);
    }

    #[test]
    fn the_search_can_be_switched_off() {
        assert_eq!(launched_with(&[("PMI_SIZE", "2"), ("SUPERGAT_MPI", "off")]), None);
        assert_eq!(launched_with(&[("PMI_SIZE", "2"), ("SUPERGAT_MPI", "on")]), Some(("mpirun", 2)));
    }

    #[test]
    fn errors_name_the_remedy() {
        let launch = Launch { launcher: "srun", processes: 4 };
        let error = launch.without_mpi().to_string();
        assert!(error.contains("srun started 4 processes, but this build has no MPI: build supergat with"), "{error}");
        let error = launch.check_count(1).unwrap_err().to_string();
        assert!(error.contains("MPI connects 1 of them") && error.contains("srun --mpi=pmix"), "{error}");
        assert_eq!(launch.check_count(4), Ok(()));
    }
}
