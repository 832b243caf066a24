//! Hostile names in data, and accidents during a training.

use crate::interrupt::{in_shell, send, started};
use crate::support::{Done, SMALL, Workspace};
use std::io::Read;
use std::process::{Command, Stdio};

/// Writes a graph whose ids, classes, columns and folder contain escape codes, marks of direction and formulas.
fn hostile(workspace: &Workspace) -> &'static str {
    let folder = "da\u{1b}[31mta\u{202e}";
    let nodes: String = (0..60)
        .map(|node| {
            format!("\"=n{node}\u{1b}[2J\",{},{}\n", ["\"+a\u{1b}]0;x\u{7}\"", "b\u{200f}"][node % 2], node % 5)
        })
        .collect();
    let edges: String = (0..60).map(|n| format!("\"=n{n}\u{1b}[2J\",\"=n{}\u{1b}[2J\"\n", (n * 13 + 1) % 60)).collect();
    workspace.write(&format!("{folder}/nodes.csv"), format!("id,label,x\u{1b}[31m\u{202e}\n{nodes}"));
    workspace.write(&format!("{folder}/edges.csv"), format!("source,target\n{edges}"));
    folder
}

fn assert_visible(done: &Done) {
    for text in [&done.stdout, &done.stderr] {
        let obeyed = text.chars().find(|&c| c.is_control() && c != '\n' || "\u{202e}\u{200f}".contains(c));
        assert_eq!(obeyed, None, "{done:?}");
    }
}

#[test]
fn names_in_data_do_not_control_the_terminal() {
    let workspace = Workspace::new();
    let data = hostile(&workspace);
    for args in [
        &["inspect", data][..],
        &["inspect", data, "--json"],
        &["train", data, "--model", "gat-go", "--max-epochs", "3", "--out", "run"],
        &["evaluate", "run"],
        &["evaluate", "run", "--json"],
        &["predict", "run", "--out", "p\u{1b}[31m.csv"],
        &["predict", "run", data, "--out", "p.csv", "--json"],
        &["report", "run"],
    ] {
        let done = workspace.good(args);
        assert_visible(&done);
        assert!(args[0] != "inspect" || done.stdout.contains("\\u001b[31m"), "{done:?}");
    }
    for args in [&["inspect", "no\u{1b}[31mfile"][..], &["predict", "run", "--top", "3", "--class", "\u{202e}c"]] {
        let done = workspace.run(args);
        assert_eq!(done.code, 2);
        assert_visible(&done);
    }
    // Files and pipes contain the data as it is.
    let piped = workspace.good(&["predict", "run"]).stdout;
    assert!(piped.contains("=n0\u{1b}[2J") && piped == workspace.read("run/predictions.csv"));
}

#[test]
fn predictions_on_a_terminal_are_visible() {
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("skipped: no program that opens terminals");
        return;
    }
    let workspace = Workspace::new();
    let data = hostile(&workspace);
    workspace.good(&["train", data, "--model", "mlp", "--max-epochs", "2", "--out", "run", "--quiet"]);
    let command = workspace.command(&["predict", "run"]);
    let line = format!("{} predict run", command.get_program().to_str().unwrap());
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]).current_dir(workspace.path("."));
    let done = Done::of(terminal);
    assert!(done.stdout.contains("=n0\\u001b[2J") && !done.stdout.contains('\u{1b}'), "{done:?}");
}

#[test]
fn safe_csv_writes_no_formulas() {
    let workspace = Workspace::new();
    let data = hostile(&workspace);
    let args = ["train", data, "--model", "gat-go", "--max-epochs", "2", "--quiet"];
    workspace.good(&[&args[..], &["--out", "exact"]].concat());
    workspace.good(&[&args[..], &["--out", "safe", "--safe-csv"]].concat());
    let safe = |text: String| {
        let lines = text.lines().map(|line| {
            let line = if line.starts_with('=') { format!("'{line}") } else { line.to_owned() };
            line.replace(",=", ",'=").replace(",+", ",'+")
        });
        lines.map(|line| line + "\n").collect::<String>()
    };
    for name in ["predictions.csv", "attention.csv"] {
        let (exact, written) = (workspace.read(&format!("exact/{name}")), workspace.read(&format!("safe/{name}")));
        assert!(exact != written && safe(exact) == written, "{name}: {written}");
    }
    let predicted = workspace.good(&["predict", "exact", "--safe-csv"]).stdout;
    assert!(predicted == workspace.read("safe/predictions.csv"));
    let top = workspace.good(&["predict", "exact", "--safe-csv", "--top", "3", "--class", "b\u{200f}"]).stdout;
    assert!(top.contains("1,'=n"), "{top}");
}

/// The run folder, its parent and the checkpoints are removed while the training runs.
#[test]
fn result_is_written_although_its_folders_were_removed() {
    let workspace = Workspace::new();
    let args = ["train", SMALL, "--model", "mlp", "--max-epochs", "10000000", "--no-early-stop", "--checkpoint-every"];
    for (interval, out) in [("5e", "parent/run"), ("none", "other/run")] {
        let (child, mut stderr) = started(workspace.command(&[&args[..], &[interval, "--out", out]].concat()));
        let parent = out.split('/').next().unwrap();
        if interval != "none" {
            wait_for(&workspace, &format!("{out}.checkpoint/run.json"));
        }
        let _ = std::fs::remove_dir_all(workspace.path(parent));
        send("TERM", &child);
        let output = child.wait_with_output().unwrap();
        let mut text = String::new();
        stderr.read_to_string(&mut text).unwrap();
        assert_eq!(output.status.code(), Some(130), "{text}");
        assert_eq!(workspace.json(&format!("{out}/summary.json"))["interrupted"], true);
        assert_eq!(workspace.good(&["predict", out]).stdout, workspace.read(&format!("{out}/predictions.csv")));
        // The checkpoint is written again, so the advice to resume is true.
        if text.contains("to continue this training") {
            let files = workspace.list(&format!("{out}.checkpoint"));
            assert!(files.contains(&"run.json".to_owned()) && files.contains(&"seed-0.safetensors".to_owned()));
        }
    }
}

/// A training in a folder that is removed as a whole, and cannot be created again.
#[test]
fn result_is_written_elsewhere_if_its_place_is_lost() {
    let workspace = Workspace::new();
    for name in ["inner", "spare"] {
        std::fs::create_dir(workspace.path(name)).unwrap();
    }
    let args = ["train", SMALL, "--model", "mlp", "--max-epochs", "10000000", "--no-early-stop"];
    let mut command = workspace.command(&[&args[..], &["--checkpoint-every", "none", "--out", "inner/run"]].concat());
    command.env("TMPDIR", workspace.path("spare"));
    let (child, mut stderr) = started(command);
    std::fs::remove_dir(workspace.path("inner")).unwrap();
    workspace.write("inner", "a file");
    send("TERM", &child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1));
    let mut text = String::new();
    stderr.read_to_string(&mut text).unwrap();
    assert!(text.contains("error: cannot write inner/run: ") && text.contains("spare/run instead"), "{text}");
    assert_eq!(workspace.json("spare/run/summary.json")["interrupted"], true);
}

fn wait_for(workspace: &Workspace, name: &str) {
    let started = std::time::Instant::now();
    while !workspace.path(name).exists() {
        assert!(started.elapsed() < std::time::Duration::from_secs(300), "{name} does not appear");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn limits_of_ulimit_are_seen_before_training() {
    let workspace = Workspace::new();
    let large = ["train", SMALL, "--model", "gat-go", "--hidden", "1024", "--heads", "8", "--layers", "4"];
    for (setup, name) in [("ulimit -v 600000; exec", "ulimit -v"), ("ulimit -d 600000; exec", "ulimit -d")] {
        let done = Done::of(in_shell(&workspace, setup, &large));
        assert_eq!((done.code, done.stderr.lines().count()), (1, 1), "{done:?}");
        assert!(done.stderr.contains("this training would need") && done.stderr.contains(name), "{done:?}");
    }
    let more = [&large[..], &["--max-memory", "900GiB"]].concat();
    let done = Done::of(in_shell(&workspace, "ulimit -v 600000; exec", &more));
    assert!(done.code == 1 && done.stderr.contains("ulimit -v"), "{done:?}");
    let done = Done::of(in_shell(&workspace, "ulimit -v 600000; exec", &["profile", "--random", "20000000,10,20,2"]));
    assert_eq!((done.code, done.stderr.lines().count()), (1, 1), "{done:?}");
    assert!(done.stderr.contains("would need at least") && done.stderr.contains("ulimit -v"), "{done:?}");
}

#[test]
fn instruction_sets_that_do_not_exist_are_refused() {
    let workspace = Workspace::new();
    let mut command = workspace.command(&["inspect", SMALL]);
    command.env("SUPERGAT_SIMD", "bogus");
    let done = Done::of(command);
    assert_eq!(done.code, 2, "{done:?}");
    assert_eq!(done.stderr, "error: SUPERGAT_SIMD = bogus: must be one of portable, avx2, avx512\n");
}

#[test]
fn advice_about_a_diverged_loss_names_what_the_model_reads() {
    let workspace = Workspace::new();
    for (model, names) in [("gat-go", "lower lr, or"), ("supergat-mx", "lower lr or lambda_e, or")] {
        let args = ["train", SMALL, "--model", model, "--lr", "1e30", "--norm", "none", "--out", "run"];
        let done = workspace.run(&args);
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.stderr.contains(names), "{done:?}");
    }
    let done = workspace.run(&["train", SMALL, "--model", "gat-go", "--lr", "inf"]);
    assert!(done.code == 2 && done.stderr.contains("must be a finite number"), "{done:?}");
    let done = workspace.run(&["tune", SMALL, "--minutes", "-3"]);
    assert!(done.code == 2 && done.stderr.contains("--minutes -3: must be positive"), "{done:?}");
}
