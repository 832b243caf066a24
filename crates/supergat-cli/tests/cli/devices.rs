//! `--device` and `--tf32`: wrong values, machines without a GPU, and options without effect.

use crate::errors::refused;
use crate::support::{SMALL, Workspace, keys};

/// Commands with a choice of device.
const COMMANDS: [&[&str]; 9] = [
    &["train", SMALL],
    &["profile", SMALL],
    &["tune", SMALL],
    &["reproduce", "planetoid"],
    &["study", "grid", "--quick"],
    &["study", "sensitivity", SMALL],
    &["study", "link-prediction", "--datasets", SMALL],
    &["study", "label-agreement", "--datasets", SMALL],
    &["study", "variance", SMALL],
];

/// Returns whether this machine has a GPU, and says that the test is skipped.
fn has_gpu() -> bool {
    let found = supergat::devices().is_ok_and(|devices| !devices.is_empty());
    if found {
        println!("skipped: this machine has a GPU");
    }
    found
}

#[test]
fn rejects_unknown_devices() {
    let workspace = Workspace::new();
    let with_models: [&[&str]; 2] = [&["predict", "run"], &["evaluate", "run"]];
    for command in COMMANDS.iter().chain(&with_models) {
        for device in ["gpu", "cuda:x", "cuda:-1", ""] {
            let error = refused(&workspace, 2, &[command, &["--device", device][..]].concat());
            let expected = format!("expected cpu, cuda, cuda:1 or auto, found {device}");
            let is_expected = if device.is_empty() { error.contains("--device") } else { error.ends_with(&expected) };
            assert!(is_expected && error.contains("'--device <DEVICE>'"), "{command:?}: {error}");
        }
    }
}

#[test]
fn refuses_cuda_without_a_gpu() {
    if has_gpu() {
        return;
    }
    let workspace = Workspace::new();
    for command in COMMANDS {
        let error = refused(&workspace, 1, &[command, &["--device", "cuda"]].concat());
        assert!(error.starts_with("no NVIDIA ") && error.contains("train on the CPU"), "{command:?}: {error}");
    }
    let error = refused(&workspace, 1, &["train", SMALL, "--device", "cuda:3", "--estimate", "--json"]);
    assert!(error.starts_with("no NVIDIA "), "{error}");
    workspace.train("run", &["--quiet"]);
    for command in ["predict", "evaluate"] {
        let error = refused(&workspace, 1, &[command, "run", "--device", "cuda"]);
        assert!(error.starts_with("no NVIDIA "), "{command}: {error}");
    }
}

#[test]
fn auto_is_the_cpu_without_a_gpu() {
    if has_gpu() {
        return;
    }
    let workspace = Workspace::new();
    workspace.train("cpu", &["--quiet"]);
    workspace.train("auto", &["--quiet", "--device", "auto"]);
    assert_eq!(workspace.bytes("auto/model.safetensors"), workspace.bytes("cpu/model.safetensors"));
    let predict = |device| workspace.good(&["predict", "cpu", "--device", device]).stdout;
    assert_eq!(predict("auto"), predict("cpu"));
    let estimate = workspace.good(&["train", SMALL, "--estimate", "--json", "--device", "auto"]).json();
    assert!(!keys(&estimate).iter().any(|key| key.starts_with("gpu")), "{estimate}");
}

#[test]
fn notes_that_tf32_has_no_effect_on_the_cpu() {
    const NOTE: &str = "note: --tf32 has no effect on the CPU";
    let workspace = Workspace::new();
    let lines = |stderr: &str| stderr.lines().filter(|line| *line == NOTE).count();
    assert_eq!(lines(&workspace.train("a", &["--tf32"]).stderr), 1);
    assert_eq!(lines(&workspace.train("b", &["--tf32", "--device", "cpu"]).stderr), 1);
    assert_eq!(workspace.train("c", &["--tf32", "--quiet"]).stderr, "");
    assert_eq!(lines(&workspace.train("d", &[]).stderr), 0);
    assert_eq!(workspace.bytes("a/model.safetensors"), workspace.bytes("d/model.safetensors"));
    let tune = ["tune", SMALL, "--trials", "1", "--seeds", "1", "--max-epochs", "2", "--tf32"];
    assert_eq!(lines(&workspace.good(&tune).stderr), 1);
}

/// Runs of a GPU with the same settings and seeds are neither compared nor mixed with those of the CPU.
#[test]
fn runs_of_a_gpu_are_kept_apart() {
    let workspace = Workspace::new();
    let tune = ["tune", SMALL, "--model", "gat-go", "--trials", "1", "--seeds", "2", "--max-epochs", "3"];
    let tune = [&tune[..], &["--out", "search", "--quiet", "--json"]].concat();
    let first = workspace.good(&tune).json();
    let cpu = workspace.read("search/results.jsonl");
    assert!(!cpu.contains("device"), "{cpu}");
    let gpu = cpu.replace(r#""status":"ok""#, r#""device":"cuda","status":"ok""#);
    workspace.write("search/results.jsonl", &gpu);
    assert_eq!(workspace.good(&tune).json()["best"], first["best"]);
    let both = workspace.read("search/results.jsonl");
    assert!(both.starts_with(&gpu) && both.lines().count() == 2 * cpu.lines().count(), "{both}");
    let runs = format!("search/results.jsonl:{SMALL}/gat-go");
    let error = refused(&workspace, 2, &["compare", &runs, &runs]);
    assert!(error.contains("has runs that differ in device: say which, as in "), "{error}");
    let (a, b) = (format!("{runs},device=cpu"), format!("{runs},device=cuda"));
    assert_eq!(workspace.good(&["compare", &a, &b, "--json"]).json()["a"]["runs"], 2);
}
