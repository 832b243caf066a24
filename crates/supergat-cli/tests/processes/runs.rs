//! Commands with many runs, of which every process trains some.

use crate::mpirun::{FILES, assert_same, errors, good, run, turn};
use crate::support::{SMALL, Workspace};

#[test]
fn seeds_have_the_same_bytes_in_any_number_of_processes() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    let shape = ["--hidden", "2", "--heads", "2", "--max-epochs", "30", "--threads", "1"];
    let train = |out: &'static str| [&["train", SMALL, "--seeds", "5", "--out", out], &shape[..]].concat();
    workspace.good(&train("1"));
    for (count, out) in [(2, "2"), (3, "3"), (8, "8")] {
        let done = good(&workspace, count, &train(out));
        assert!(done.stderr.contains(&format!("\n{count} processes train runs of their own\n")), "{done:?}");
        assert_eq!(done.stderr.matches(": test accuracy ").count(), 5, "the first process reports all runs: {done:?}");
        assert_same(&workspace, "1", out, &[&FILES[..], &["attention.csv"]].concat());
    }
    assert_eq!(workspace.list("."), ["1", "2", "3", "8"]);
}

#[test]
fn searches_and_studies_have_the_same_bytes_in_any_number_of_processes() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    let tune = |out: &'static str| {
        let search = ["tune", SMALL, "--model", "gcn", "--trials", "3", "--seeds", "2", "--max-epochs", "10"];
        [&search[..], &["--threads", "1", "--quiet", "--out", out]].concat()
    };
    let study = |out: &'static str| {
        ["study", "sensitivity", "random-partition:classes=2,nodes=170,degree=3", "--seeds", "1"]
            .into_iter()
            .chain(["--threads", "1", "--quiet", "--out", out])
            .collect::<Vec<_>>()
    };
    good(&workspace, 1, &tune("tune-1"));
    good(&workspace, 3, &tune("tune-3"));
    assert_same(&workspace, "tune-1", "tune-3", &["best.toml", "history.csv", "search.svg"]);
    let lines = |name: &str| workspace.read(&format!("{name}/results.jsonl")).lines().count();
    assert_eq!(lines("tune-1"), lines("tune-3"));
    good(&workspace, 1, &study("study-1"));
    good(&workspace, 2, &study("study-2"));
    assert_same(&workspace, "study-1", "study-2", &["table.csv", "table.md", "report.html"]);
    assert_eq!(lines("study-1"), lines("study-2"));
}

#[test]
fn commands_for_one_process_say_so() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    for (args, name) in [
        (&["inspect", SMALL][..], "inspect"),
        (&["convert", SMALL, "x.safetensors"], "convert"),
        (&["reproduce", "all"], "the table wall-clock of reproduce"),
        (&["study", "variance", SMALL], "study variance"),
    ] {
        let done = run(&workspace, 2, args);
        let expected = format!(
            "error: process 0 of 2: {name} needs one process, but 2 were started: start it without a launcher, or set \
             SUPERGAT_MPI=off"
        );
        assert_eq!((done.code, done.stdout.as_str(), errors(&done)), (2, "", vec![expected.as_str()]), "{args:?}");
    }
    for (args, expected) in [
        (&["train", SMALL][..], "is not divided into parts, so several processes cannot train one network on it: "),
        (&["train", SMALL, "--seeds", "2", "--device", "cuda"], "several processes cannot train with --device: "),
        (&["train", SMALL, "--sedes", "2"], "unexpected argument '--sedes' found"),
        (&["predict", "run"], "run: not found: "),
    ] {
        let done = run(&workspace, 2, args);
        assert_eq!((done.code, errors(&done).len()), (2, 1), "{args:?}: {done:?}");
        assert!(errors(&done)[0].contains(expected), "{args:?}: {done:?}");
    }
    assert!(workspace.list(".").is_empty(), "{:?}", workspace.list("."));
    let done = run(&workspace, 2, &["--version"]);
    assert_eq!((done.code, done.stdout.lines().count()), (0, 1), "{done:?}");
}
