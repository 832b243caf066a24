//! Programs that a launcher such as `mpirun` starts several times, in a build without MPI.

use crate::support::{Done, SMALL, Workspace};

/// Commands that train, and others, which would repeat their work in every process.
const COMMANDS: [&[&str]; 11] = [
    &["inspect", SMALL],
    &["convert", SMALL, "x.safetensors"],
    &["train", SMALL],
    &["evaluate", "run"],
    &["predict", "run"],
    &["profile", SMALL],
    &["tune", SMALL],
    &["reproduce", "planetoid"],
    &["study", "grid", "--quick"],
    &["study", "sensitivity", SMALL],
    &["study", "variance", SMALL],
];

fn run(workspace: &Workspace, args: &[&str], variables: &[(&str, &str)]) -> Done {
    let mut command = workspace.command(args);
    command.envs(variables.iter().copied());
    Done::of(command)
}

#[test]
#[cfg_attr(feature = "mpi", ignore = "this build has MPI")]
fn refuses_several_processes_without_mpi() {
    let workspace = Workspace::new();
    for (variable, launcher) in [("OMPI_COMM_WORLD_SIZE", "mpirun"), ("SLURM_STEP_NUM_TASKS", "srun")] {
        for command in COMMANDS {
            let done = run(&workspace, command, &[(variable, "4")]);
            let expected = format!(
                "error: training with several processes failed: {launcher} started 4 processes, but this build has no \
                 MPI: build supergat with `--features mpi`, or set SUPERGAT_MPI=off to run every process on its own\n"
            );
            assert_eq!((done.code, done.stdout.as_str(), done.stderr), (1, "", expected), "{command:?}");
        }
    }
    assert!(workspace.list(".").is_empty(), "{:?}", workspace.list("."));
}

#[test]
fn a_process_may_run_on_its_own() {
    let workspace = Workspace::new();
    let train = ["train", SMALL, "--max-epochs", "2", "--quiet", "--out"];
    for (name, variables) in [
        ("single", &[("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")][..]),
        ("off", &[("OMPI_COMM_WORLD_SIZE", "4"), ("SUPERGAT_MPI", "off")]),
        ("batch", &[("SLURM_NTASKS", "4")]),
    ] {
        let done = run(&workspace, &[&train[..], &[name]].concat(), variables);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{name}");
    }
}
