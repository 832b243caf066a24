//! The report of a run, and what a browser thinks of it.

use crate::support::{Done, Place, SMALL};
use std::path::Path;
use std::process::Command;

/// What the script of the browser ends with where there is none.
const NO_BROWSER: i32 = 77;

#[test]
fn a_report_is_made_again_to_the_byte() {
    let place = Place::new();
    place.train("run", &["--seeds", "2"]);
    let figures = ["attention.svg", "classes.svg", "curves.svg", "degree-and-homophily.svg", "recipe.svg"];
    assert_eq!(place.list("run/figures"), figures);
    let page = place.read("run/report.html");
    assert!(page.contains("supergat train --config run/config.toml"), "{page}");
    assert!(page.contains("lambda_e = ") && page.contains("the best of 2 seeds"), "{page}");
    let curves = place.read("run/figures/curves.svg");
    assert!(page.contains(&curves));
    std::fs::remove_dir_all(place.path("run/figures")).unwrap();
    place.write("run/report.html", "old");
    let done = place.good(&["report", "run", "--json"]);
    assert_eq!((place.read("run/report.html"), place.read("run/figures/curves.svg")), (page, curves));
    assert_eq!(done.json()["report"], "run/report.html");
    assert_eq!(done.json()["figures"].as_array().unwrap().len(), 5);
    assert!(place.good(&["report", "run"]).stdout.contains("run/report.html"));
}

#[test]
fn what_is_missing_is_named() {
    let place = Place::new();
    place.train("run", &["--model", "mlp"]);
    let page = place.read("run/report.html");
    let refused = |expected: &str| {
        let done = place.run(&["report", "run"]);
        assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{done:?}");
        assert!(done.stderr.contains(expected), "{expected}: {done:?}");
        assert_eq!(place.read("run/report.html"), page, "the old page stays");
    };
    let metrics = place.read("run/metrics.jsonl");
    place.write("run/metrics.jsonl", format!("{metrics}{{\"seed\":0"));
    refused("run/metrics.jsonl, line 21: ");
    place.write("run/metrics.jsonl", "");
    refused("run/metrics.jsonl has no epoch of seed 0");
    std::fs::remove_file(place.path("run/metrics.jsonl")).unwrap();
    refused("run holds no metrics.jsonl: give the folder of a finished run, or train again");
    place.write("run/metrics.jsonl", metrics);
    let summary = place.read("run/summary.json");
    for (changed, expected) in [
        (summary.replace("\"schema\": 1", "\"schema\": 2"), "run/summary.json: its schema is 2 instead of 1"),
        (summary.replace("best_seed", "finest_seed"), "missing field `best_seed`"),
        (summary.replace("\"best_seed\": 0", "\"best_seed\": 7"), "has no epoch of seed 7"),
        ("{".to_owned(), "run/summary.json: EOF"),
        ("{}".to_owned(), "it has no schema"),
    ] {
        place.write("run/summary.json", changed);
        refused(expected);
    }
    place.write("run/summary.json", summary);
    std::fs::remove_file(place.path("run/config.toml")).unwrap();
    refused("run holds no config.toml");
    let done = place.run(&["report", "nowhere"]);
    assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{done:?}");
    assert!(done.stderr.contains("nowhere is no folder"), "{done:?}");
}

/// Runs the script over a page; `None` where there is no browser.
fn browser(place: &Place, page: &str) -> Option<Done> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/browser-test.mjs");
    let mut command = Command::new("node");
    command.arg(script).arg(place.path(page));
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
fn browsers_show_reports_as_they_should() {
    let place = Place::new();
    place.train("run", &["--seeds", "3"]);
    place.good(&["tune", SMALL, "--max-epochs", "3", "--trials", "5", "--out", "search", "--model", "gat-go"]);
    let picture = place.read("search/search.svg");
    place.write(
        "search.html",
        format!("<!doctype html><meta name=viewport content=\"width=device-width\"><body>{picture}"),
    );
    for page in ["run/report.html", "search.html"] {
        let Some(done) = browser(&place, page) else { return };
        assert_eq!(done.code, 0, "{}", done.stderr);
    }
    // The same test finds what is wrong.
    place.write(
        "bad.html",
        "<!doctype html><meta name=viewport content=\"width=device-width\"><script>throw new Error('broken')</script>\
         <p style=\"color:#eee;background:#fff\">pale<div style=\"width:2000px\">wide</div><svg class=sgf width=9 height=9></svg>",
    );
    let Some(done) = browser(&place, "bad.html") else { return };
    assert_eq!(done.code, 1);
    for expected in ["broken", "scrolls sideways", "contrast of", "9 x 9 pixels"] {
        assert!(done.stderr.contains(expected), "{expected}: {}", done.stderr);
    }
}
