//! Errors: one line on standard error, the documented exit code, and no files left behind.

use crate::support::{SMALL, Workspace, published};

/// Runs a command that must fail and returns its message.
pub fn refused(workspace: &Workspace, code: i32, args: &[&str]) -> String {
    let before = workspace.list(".");
    let done = workspace.run(args);
    assert_eq!(done.code, code, "{args:?}: {done:?}");
    assert_eq!(done.stdout, "", "{args:?}");
    assert_eq!(done.stderr.lines().count(), 1, "{args:?}: {}", done.stderr);
    assert_eq!(workspace.list("."), before, "{args:?} left something behind");
    done.stderr.strip_prefix("error: ").unwrap_or_else(|| panic!("{}", done.stderr)).trim_end().to_owned()
}

#[test]
fn unknown_model_lists_the_nearest_names_first() {
    let error = refused(&Workspace::new(), 2, &["train", SMALL, "--model", "supergatmx"]);
    assert!(error.starts_with("unknown model `supergatmx`: expected one of supergat-mx, "), "{error}");
    assert!(supergat_core::ModelKind::ALL.iter().all(|model| error.contains(&model.to_string())), "{error}");
}

#[test]
fn rejects_invalid_command_lines() {
    let workspace = Workspace::new();
    for (args, expected) in [
        (
            &["train", "--sedes", "3"][..],
            "unexpected argument '--sedes' found; tip: a similar argument exists: '--seeds'",
        ),
        (&["train", SMALL, SMALL], "unexpected argument"),
        (&["train", "--lr"], "a value is required for '--lr <X>' but none was supplied"),
        (&["train", "--lr", "fast"], "invalid value 'fast' for '--lr <X>': invalid float literal"),
        (&["train", "--threads", "0"], "invalid value '0' for '--threads <N>'"),
        (&["train", "--seeds", "0"], "seeds = 0: must be a whole number from 1 to 1000000"),
        (&["train", "--seed", "-1"], "seed = -1: must be a whole number from 0 to "),
        (&["train", "--early-stop-window", "999999999999"], "early_stop_window = 999999999999: must be"),
        (&["inspect"], "the following required arguments were not provided: <DATASET>"),
        (&["predict", "run", "--json"], "the following required arguments were not provided: --out <FILE>"),
        (&["tarin"], "unrecognized subcommand 'tarin'; tip: a similar subcommand exists: 'train'"),
    ] {
        let error = refused(&workspace, 2, args);
        assert!(error.starts_with(expected), "{args:?}: {error}");
    }
}

#[test]
fn rejects_missing_datasets() {
    let workspace = Workspace::new();
    for (source, expected) in [
        ("corra", "unknown dataset `corra` (did you mean cora?)"),
        ("cora", "cora not found: looked for data/cora"),
        ("some/where", "some/where not found"),
        (".", ". has no recognised dataset files (found "),
        (
            "random-partition:nodes=3",
            "`random-partition:homophily=0.5,degree=10,classes=10,nodes=3,seed=0`: expected at least",
        ),
        ("random-partition:colour=3", "`random-partition:colour=3`: expected homophily, degree, classes, nodes"),
    ] {
        for command in ["train", "inspect"] {
            let error = refused(&workspace, 2, &[command, source]);
            assert!(error.starts_with(expected), "{source}: {error}");
        }
    }
}

#[test]
fn names_truncated_file() {
    let workspace = Workspace::new();
    for part in ["x", "tx", "allx", "y", "ty", "ally", "graph"] {
        workspace.write(&format!("tiny/ind.tiny.{part}"), b"\x80\x02}q\x01(K");
    }
    workspace.write("tiny/ind.tiny.test.index", "0\n");
    let error = refused(&workspace, 2, &["train", "tiny"]);
    assert!(error.starts_with("tiny/ind.tiny.") && error.contains("truncated"), "{error}");
}

#[test]
fn names_truncated_file_of_a_published_dataset() {
    let Some(folder) = published("cora") else { return };
    let workspace = Workspace::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let name = path.file_name().unwrap().to_str().unwrap();
            let mut bytes = std::fs::read(&path).unwrap();
            if name == "ind.cora.allx" {
                bytes.truncate(bytes.len() / 2);
            }
            workspace.write(&format!("cora/{name}"), bytes);
        }
    }
    let error = refused(&workspace, 2, &["train", "cora", "--max-epochs", "1"]);
    assert!(error.starts_with("cora/ind.cora.allx, byte ") && error.contains("truncated"), "{error}");
}

#[test]
fn rejects_invalid_hyperparameters() {
    let workspace = Workspace::new();
    for (option, value, expected) in [
        ("--p-n", "100000", "self-supervision asks for "),
        ("--p-e", "0", "p_e = 0: must lie in (0, 1]"),
        ("--lr", "nan", "lr = NaN: must be a finite number"),
        ("--lr", "inf", "lr = inf: must be a finite number"),
        ("--lr", "-1", "lr = -1: must be positive"),
        ("--dropout", "1", "dropout = 1: must lie in [0, 1)"),
        ("--layers", "0", "layers = 0: must be a whole number from 1 to 1000"),
        ("--heads", "65", "heads = 65: must be a whole number from 1 to 64"),
        ("--max-epochs", "0", "max_epochs = 0: must be a whole number from 1 to "),
        ("--early-stop-window", "0", "early_stop_window = 0: must be a whole number from 1 to "),
    ] {
        let error = refused(&workspace, 2, &["train", SMALL, option, value]);
        assert!(error.starts_with(expected), "{option} {value}: {error}");
    }
}

#[test]
fn diverging_run_fails_without_a_folder() {
    let workspace = Workspace::new();
    for out in [&["--out", "run"][..], &[]] {
        let error = refused(&workspace, 1, &[&["train", SMALL, "--lr", "1e30"][..], out].concat());
        assert!(error.starts_with("the loss became "), "{error}");
    }
    assert!(workspace.list(".").is_empty());
}

#[test]
fn errors_in_a_configuration_file_name_the_line() {
    let workspace = Workspace::new();
    workspace.write("unknown.toml", "lr = 1.0\n# a comment\nlerning_rate = 2.0\n");
    let error = refused(&workspace, 2, &["train", SMALL, "--config", "unknown.toml"]);
    assert!(error.starts_with("unknown.toml, line 3: unknown key `lerning_rate`: expected one of "), "{error}");
    assert!(["lr", "lambda_e", "dataset", "early_stop_metric_change"].iter().all(|key| error.contains(key)), "{error}");
    workspace.write("kind.toml", "layers = 'two'\n");
    let error = refused(&workspace, 2, &["train", SMALL, "--config", "kind.toml"]);
    assert!(error.starts_with("kind.toml, line 1: layers = \"two\": must be a whole number"), "{error}");
    workspace.write("model.toml", "\nmodel = 'gatgo'\n");
    let error = refused(&workspace, 2, &["train", SMALL, "--config", "model.toml"]);
    assert!(error.starts_with("model.toml, line 2: unknown model `gatgo`: expected one of gat-go, "), "{error}");
    workspace.write("syntax.toml", "lr = 1.0\nlr 2\n");
    let error = refused(&workspace, 2, &["train", SMALL, "--config", "syntax.toml"]);
    assert!(error.starts_with("syntax.toml, line 2: "), "{error}");
    let error = refused(&workspace, 2, &["train", SMALL, "--config", "missing.toml"]);
    assert!(error.starts_with("cannot read missing.toml: "), "{error}");
}

#[test]
fn never_overwrites_existing_results() {
    let workspace = Workspace::new();
    workspace.write("run/notes.txt", "mine");
    let error = refused(&workspace, 2, &["train", SMALL, "--out", "run"]);
    assert_eq!(error, "--out run: it exists and is not empty; name another folder or remove it");
    assert_eq!(workspace.list("run"), ["notes.txt"]);
    workspace.write("file", "mine");
    let error = refused(&workspace, 2, &["train", SMALL, "--out", "file"]);
    assert!(error.starts_with("--out file: it exists"), "{error}");
    let error = refused(&workspace, 2, &["train", SMALL, "--out", ".."]);
    assert!(error.starts_with("--out ..: must name a new folder"), "{error}");
    let error = refused(&workspace, 1, &["train", SMALL, "--out", "file/run"]);
    assert!(error.starts_with("cannot write file/run: "), "{error}");
}

#[test]
fn rejects_missing_and_damaged_models() {
    let workspace = Workspace::new();
    for command in ["evaluate", "predict"] {
        let error = refused(&workspace, 2, &[command, "nothing"]);
        assert!(error.starts_with("nothing: not found: give the folder of a finished run"), "{error}");
        workspace.write("empty/config.toml", "");
        let error = refused(&workspace, 2, &[command, "empty"]);
        assert!(error.starts_with("empty: has no model.safetensors"), "{error}");
        workspace.write("damaged/model.safetensors", "no model");
        let error = refused(&workspace, 2, &[command, "damaged"]);
        assert!(error.starts_with("damaged/model.safetensors: the saved model cannot be used"), "{error}");
    }
}

#[test]
fn rejects_dataset_that_does_not_fit_the_model() {
    let workspace = Workspace::new();
    workspace.train("run", &["--quiet"]);
    let four = "random-partition:classes=4,nodes=170,degree=4";
    for command in ["evaluate", "predict"] {
        let error = refused(&workspace, 2, &[command, "run", four]);
        assert_eq!(error, format!("{four}: the model expects classes = 3, but the data has 4"));
    }
    workspace.write("folder/x", "");
    let error = refused(&workspace, 1, &["predict", "run", "--out", "folder"]);
    assert!(error.starts_with("cannot write folder: "), "{error}");
    let error = refused(&workspace, 1, &["predict", "run", "--out", "no/where.csv"]);
    assert!(error.starts_with("cannot write no/where.csv: "), "{error}");
}
