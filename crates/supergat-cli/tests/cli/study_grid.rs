//! `supergat study grid`

use crate::support::{Done, Place, table};
use std::process::Stdio;
use std::time::Instant;

/// One graph, two of the models, the coarse search.
const SMALL: [&str; 11] =
    ["study", "grid", "--quick", "--homophilies", "0.5", "--degrees", "1", "--models", "gat-go,gcn", "--seeds", "2"];
const FILES: [&str; 5] = ["gains.svg", "recipe.svg", "report.html", "table.csv", "table.md"];

fn outputs(place: &Place) -> [Vec<u8>; 5] {
    FILES.map(|name| place.bytes(&format!("studies/grid/{name}")))
}

fn runs(place: &Place) -> usize {
    std::fs::read_to_string(place.path("studies/grid/results.jsonl")).unwrap_or_default().lines().count()
}

#[test]
fn tables_and_figures_are_made_and_nothing_is_run_twice() {
    let place = Place::new();
    let done = place.good(&SMALL);
    assert!(done.stderr.contains("4 new, 0 known before"), "{}", done.stderr);
    assert!(done.stdout.contains("This grid is coarse") && done.stdout.contains("1 of 1 graphs are complete"));
    assert_eq!(
        place.list("studies/grid"),
        ["gains.svg", "recipe.svg", "report.html", "results.jsonl", "table.csv", "table.md"]
    );
    let (header, rows) = table(&place.read("studies/grid/table.csv"));
    assert_eq!((header.len(), rows.len()), (15, 2));
    let gat = rows.iter().find(|row| row[2] == "gat-go").unwrap();
    assert_eq!((gat[5].as_str(), gat[7].as_str(), gat[10].as_str()), ("2", "43", "0.00001"));
    let page = place.read("studies/grid/report.html");
    assert!(page.contains("a coarse search") && page.matches("<figure>").count() == 2 && !page.contains("src="));

    let before = outputs(&place);
    let json = place.good(&[&SMALL[..], &["--table-only", "--json", "--quiet"]].concat());
    assert!(json.stderr.is_empty() && outputs(&place) == before && runs(&place) == 4);
    let json = json.json();
    assert_eq!((json["coarse"].as_bool(), json["lines"][0]["model"].as_str()), (Some(true), Some("gcn")));
    assert!((json["lines"][1]["ours"]["mean"].as_f64().unwrap() - gat[3].parse::<f64>().unwrap()).abs() < 1e-9);

    // More seeds need only the new ones.
    let more = place.good(&[&SMALL[..10], &["3"]].concat());
    assert!(more.stderr.contains("2 new, 4 known before"), "{}", more.stderr);
}

/// Killed at any moment, it comes to the same files, byte for byte.
#[test]
fn a_killed_study_goes_on() {
    let (whole, killed) = (Place::new(), Place::new());
    let started = Instant::now();
    whole.good(&SMALL);
    let step = started.elapsed() / 4;
    for round in 1..=3 {
        let mut child = killed.command(&SMALL).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(step.mul_f64(0.8 + 0.2 * f64::from(round)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    killed.good(&SMALL);
    assert!(outputs(&killed) == outputs(&whole));
    assert!(runs(&killed) <= 4 + 3, "at most one line is torn each time, and no run is made twice");
}

fn refused(place: &Place, code: i32, args: &[&str]) -> String {
    let Done { code: found, stdout, stderr } = place.run(&[&["study", "grid"], args].concat());
    assert!(found == code && stdout.is_empty() && stderr.lines().count() == 1, "{args:?}: {found} {stdout} {stderr}");
    stderr
}

#[test]
fn wrong_input_is_refused_before_anything_runs() {
    let place = Place::new();
    let error = refused(&place, 2, &["--homophilies", "0.1,1.5"]);
    assert!(error.contains("homophily from 0 to 1") && error.contains("1.5"), "{error}");
    let error = refused(&place, 2, &["--degrees", "-1"]);
    assert!(error.contains("-1"), "{error}");
    let error = refused(&place, 2, &["--degrees", "600"]);
    assert!(error.contains("probabilities of at most 1"), "{error}");
    let error = refused(&place, 2, &["--models", "gat-mx"]);
    assert!(error.contains("--models gat-mx: expected some of gat-go, "), "{error}");
    assert!(place.list(".").is_empty(), "nothing is left behind");
    let error = refused(&place, 1, &["--table-only"]);
    assert!(error.starts_with("error: cannot read studies/grid/results.jsonl"), "{error}");
    place.write("file", "");
    let error = refused(&place, 1, &["--out", "file/grid"]);
    assert!(error.starts_with("error: cannot write file/grid"), "{error}");
}
