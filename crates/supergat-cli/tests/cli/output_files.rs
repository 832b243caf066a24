//! Destinations of `predict --out` and `predict --picture`: symbolic links, FIFOs and devices.

use crate::running::Running;
use crate::support::Workspace;
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::{Command, Stdio};

/// Trains a run; returns its workspace, the predictions and the picture.
fn trained() -> (Workspace, String, String) {
    let workspace = Workspace::new();
    workspace.train("run", &["--quiet"]);
    workspace.good(&["predict", "run", "--picture", "expected.svg", "--out", "expected.csv"]);
    let (table, picture) = (workspace.read("expected.csv"), workspace.read("expected.svg"));
    assert!(table == workspace.read("run/predictions.csv") && picture.ends_with("</svg>\n"));
    fs::remove_file(workspace.path("expected.csv")).unwrap();
    fs::remove_file(workspace.path("expected.svg")).unwrap();
    (workspace, table, picture)
}

#[test]
fn writes_into_fifos() {
    let (workspace, table, picture) = trained();
    for (option, name, expected) in [("--out", "table", table), ("--picture", "picture", picture)] {
        let fifo = workspace.path(name);
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let mut child = Running::start(workspace.command(&["predict", "run", option, name]).stdout(Stdio::null()));
        let path = fifo.clone();
        let reader = std::thread::spawn(move || fs::read_to_string(path).unwrap());
        assert!(child.wait().unwrap().success(), "{option}");
        assert!(fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo(), "{option} replaced the FIFO");
        assert!(reader.join().unwrap() == expected, "{option}");
    }
    assert_eq!(workspace.list("."), ["picture", "run", "table"]);
}

#[test]
fn replaces_the_target_of_a_link() {
    let (workspace, table, picture) = trained();
    workspace.write("folder/target.csv", "old");
    symlink("folder/target.csv", workspace.path("link.csv")).unwrap();
    symlink("folder/target.svg", workspace.path("link.svg")).unwrap();
    workspace.good(&["predict", "run", "--out", "link.csv", "--picture", "link.svg"]);
    assert!(workspace.path("link.csv").is_symlink() && workspace.path("link.svg").is_symlink());
    assert!(workspace.read("folder/target.csv") == table && workspace.read("folder/target.svg") == picture);
    assert_eq!(workspace.list("folder"), ["target.csv", "target.svg"]);
    assert_eq!(workspace.list("."), ["folder", "link.csv", "link.svg", "run"]);
}

/// Creates a null device in the workspace, or a link to it. Root gets a device of its own, because a faulty writer
/// run by root could replace /dev/null. Returns whether the device can be used.
fn null_device(workspace: &Workspace) -> bool {
    let path = workspace.path("null");
    if Command::new("id").arg("-u").output().unwrap().stdout != b"0\n" {
        symlink("/dev/null", path).unwrap();
        return true;
    }
    let created = Command::new("mknod").arg(&path).args(["c", "1", "3"]).stderr(Stdio::null()).status().unwrap();
    created.success() && File::options().write(true).open(&path).is_ok()
}

#[test]
fn writes_devices_in_place() {
    let (workspace, _, _) = trained();
    if !null_device(&workspace) {
        println!("skipped: devices cannot be created here");
        return;
    }
    workspace.good(&["predict", "run", "--out", "null", "--picture", "null"]);
    assert!(fs::metadata(workspace.path("null")).unwrap().file_type().is_char_device());
    assert_eq!(workspace.list("."), ["null", "run"]);
}

#[test]
fn writes_to_standard_output_without_replacing_the_redirected_file() {
    let (workspace, table, _) = trained();
    workspace.write("log", "before\n");
    let log = File::options().append(true).open(workspace.path("log")).unwrap();
    let mut command = workspace.command(&["predict", "run", "--out", "/dev/stdout"]);
    let status = Running::start(command.stdout(log)).wait().unwrap();
    assert!(status.success());
    let text = workspace.read("log");
    let rest = text.strip_prefix("before\n").and_then(|text| text.strip_prefix(table.as_str()));
    assert!(rest.is_some_and(|rest| rest.starts_with("/dev/stdout: predictions of ")), "{text}");
}
