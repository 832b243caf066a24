//! `supergat report`, and reports in a browser.

use crate::support::{Done, SMALL, Workspace};
use std::path::Path;
use std::process::Command;

/// Exit code of the browser script if there is no browser.
const NO_BROWSER: i32 = 77;

#[test]
fn regenerates_an_identical_report() {
    let workspace = Workspace::new();
    workspace.train("run", &["--seeds", "2"]);
    let figures =
        ["attention.svg", "classes.svg", "curves.svg", "degree-and-homophily.svg", "probabilities.svg", "recipe.svg"];
    assert_eq!(workspace.list("run/figures"), figures);
    let page = workspace.read("run/report.html");
    assert!(page.contains("supergat train --config run/config.toml"), "{page}");
    assert!(page.contains("lambda_e = ") && page.contains("the best of 2 seeds"), "{page}");
    let curves = workspace.read("run/figures/curves.svg");
    assert!(page.contains(&curves));
    std::fs::remove_dir_all(workspace.path("run/figures")).unwrap();
    workspace.write("run/report.html", "old");
    let done = workspace.good(&["report", "run", "--json"]);
    assert_eq!((workspace.read("run/report.html"), workspace.read("run/figures/curves.svg")), (page, curves));
    assert_eq!(done.json()["report"], "run/report.html");
    assert_eq!(done.json()["figures"].as_array().unwrap().len(), 6);
    assert!(workspace.good(&["report", "run"]).stdout.contains("run/report.html"));
}

#[test]
#[cfg(unix)]
fn replaces_links_in_the_run_folder_and_keeps_their_targets() {
    use std::os::unix::fs::symlink;
    let workspace = Workspace::new();
    workspace.train("run", &["--model", "mlp"]);
    for name in ["report.html", "figures/curves.svg"] {
        workspace.write("mine", "my own file");
        std::fs::remove_file(workspace.path("run").join(name)).unwrap();
        symlink(workspace.path("mine"), workspace.path("run").join(name)).unwrap();
        workspace.good(&["report", "run"]);
        assert_eq!(workspace.read("mine"), "my own file", "{name}");
        assert!(workspace.read(&format!("run/{name}")).len() > 100, "{name}");
    }
    std::fs::remove_dir_all(workspace.path("run/figures")).unwrap();
    std::fs::create_dir(workspace.path("elsewhere")).unwrap();
    symlink(workspace.path("elsewhere"), workspace.path("run/figures")).unwrap();
    let done = workspace.run(&["report", "run"]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stderr.contains("cannot write run/figures: it is a symbolic link"), "{done:?}");
    assert!(workspace.list("elsewhere").is_empty());
}

#[test]
fn names_missing_and_damaged_files() {
    let workspace = Workspace::new();
    workspace.train("run", &["--model", "mlp"]);
    let page = workspace.read("run/report.html");
    let refused = |expected: &str| {
        let done = workspace.run(&["report", "run"]);
        assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{done:?}");
        assert!(done.stderr.contains(expected), "{expected}: {done:?}");
        assert_eq!(workspace.read("run/report.html"), page, "the old page must remain");
    };
    let metrics = workspace.read("run/metrics.jsonl");
    workspace.write("run/metrics.jsonl", format!("{metrics}{{\"seed\":0"));
    refused("run/metrics.jsonl, line 21: ");
    workspace.write("run/metrics.jsonl", "");
    refused("run/metrics.jsonl has no epoch of seed 0");
    std::fs::remove_file(workspace.path("run/metrics.jsonl")).unwrap();
    refused("run contains no metrics.jsonl: give the folder of a finished run, or train again");
    workspace.write("run/metrics.jsonl", metrics);
    let summary = workspace.read("run/summary.json");
    for (changed, expected) in [
        (summary.replace("\"schema\": 2", "\"schema\": 3"), "run/summary.json: its schema is 3 instead of 2"),
        (summary.replace("best_seed", "finest_seed"), "missing field `best_seed`"),
        (summary.replace("\"best_seed\": 0", "\"best_seed\": 7"), "has no epoch of seed 7"),
        ("{".to_owned(), "run/summary.json: EOF"),
        ("{}".to_owned(), "it has no schema"),
    ] {
        workspace.write("run/summary.json", changed);
        refused(expected);
    }
    workspace.write("run/summary.json", summary);
    std::fs::remove_file(workspace.path("run/config.toml")).unwrap();
    refused("run contains no config.toml");
    let done = workspace.run(&["report", "nowhere"]);
    assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{done:?}");
    assert!(done.stderr.contains("nowhere is not a folder"), "{done:?}");
}

/// Checks a page in a browser; `None` if there is no browser.
fn browser(workspace: &Workspace, page: &str) -> Option<Done> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/browser-test.mjs");
    let mut command = Command::new("node");
    command.arg(script).arg(workspace.path(page));
    if Command::new("node").arg("--version").output().is_err() {
        println!("skipped: no node");
        return None;
    }
    let done = Done::of(command);
    if done.code == NO_BROWSER {
        println!("skipped: {}", done.stderr);
        return None;
    }
    Some(done)
}

#[test]
fn reports_pass_the_browser_checks() {
    let workspace = Workspace::new();
    workspace.train("run", &["--seeds", "3"]);
    workspace.good(&["tune", SMALL, "--max-epochs", "3", "--trials", "5", "--out", "search", "--model", "gat-go"]);
    let picture = workspace.read("search/search.svg");
    workspace.write(
        "search.html",
        format!("<!doctype html><meta name=viewport content=\"width=device-width\"><body>{picture}"),
    );
    for page in ["run/report.html", "search.html"] {
        let Some(done) = browser(&workspace, page) else { return };
        assert_eq!(done.code, 0, "{}", done.stderr);
    }
    // The checks detect the defects of a bad page.
    workspace.write(
        "bad.html",
        "<!doctype html><meta name=viewport content=\"width=device-width\"><script>throw new Error('broken')</script>\
         <p style=\"color:#eee;background:#fff\">pale<div style=\"width:2000px\">wide</div><svg class=sgf width=9 height=9></svg>",
    );
    let Some(done) = browser(&workspace, "bad.html") else { return };
    assert_eq!(done.code, 1);
    for expected in ["broken", "scrolls sideways", "contrast of", "9 x 9 pixels"] {
        assert!(done.stderr.contains(expected), "{expected}: {}", done.stderr);
    }
}
