//! Every example runs. `cargo test` builds them beside the tests.

use crate::running::output;
use std::process::Command;

fn run(name: &str) -> String {
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().unwrap().with_file_name("examples").join(name);
    assert!(example.exists(), "{}: `cargo test -p supergat` builds the examples", example.display());
    let done = output(&mut Command::new(&example));
    assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn all_examples_run() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["arrays", "attention", "progress", "saved_model", "several_seeds", "tables"]);
    for name in names {
        assert!(!run(&name).is_empty(), "{name} prints nothing");
    }
}

#[test]
fn arrays_are_classified() {
    assert_eq!(run("arrays"), "[0, 0, 0, 1, 1, 1]\n");
}

#[test]
fn new_tables_are_classified_by_a_saved_model() {
    let text = run("saved_model");
    assert_eq!(text.lines().count(), 8);
    assert!(text.starts_with("n0: cat [0."), "{text}");
}

/// Counts the lines of `main` up to `end`, without blank ones and the closing `Ok(())`.
fn statements(source: &str, end: &str) -> usize {
    let body = source.split_once("fn main() -> supergat::Result<()> {\n").unwrap().1.split_once(end).unwrap().0;
    body.lines().filter(|line| !["", "Ok(())"].contains(&line.trim())).count()
}

#[test]
fn from_arrays_to_predictions_takes_at_most_twelve_lines() {
    let lines = statements(include_str!("../../examples/arrays.rs"), "\n}\n");
    assert!(lines <= 12, "{lines}");
}

#[test]
fn from_a_saved_model_to_predictions_takes_at_most_five_lines() {
    let lines = statements(include_str!("../../examples/saved_model.rs"), "    for node in");
    assert!(lines <= 5, "{lines}");
}
