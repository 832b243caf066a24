//! `supergat study`: studies of the appendix.

use crate::support::{Done, Place, SMALL, table};

/// The files that every study writes besides its figures.
fn has_the_usual_files(place: &Place, folder: &str, figures: &[&str]) {
    let names = place.list(folder);
    for name in ["report.html", "table.csv", "table.md"].iter().chain(figures) {
        assert!(names.iter().any(|found| found == name), "{name} is missing among {names:?}");
    }
    assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
    let page = place.read(&format!("{folder}/report.html"));
    assert!(page.contains("<svg") && page.ends_with("</html>\n"), "{}", &page[..200]);
    assert!(!page.contains("http:") || !page.contains("src="), "a page needs nothing else");
}

fn refused(done: &Done, code: i32, words: &str) {
    assert_eq!(done.code, code, "{done:?}");
    assert!(done.stderr.contains(words) && done.stderr.lines().count() == 1, "{}", done.stderr);
}

#[test]
fn densities_and_their_modes() {
    let place = Place::new();
    let done = place.good(&["study", "density", SMALL, "--json"]);
    has_the_usual_files(&place, "studies/density", &["density.svg", "marginals.svg"]);
    let json = done.json();
    let looked = &json["datasets"][0];
    assert_eq!((looked["dataset"].as_str(), looked["mixture"].as_bool()), (Some("random-partition"), Some(false)));
    let mode = &looked["modes"][0];
    // About six neighbours, half of them of the node's own class.
    let near = |value: f64, low: f64, high: f64| assert!((low..high).contains(&value), "{looked}");
    near(mode["degree"].as_f64().unwrap(), 4.0, 9.0);
    near(mode["homophily"].as_f64().unwrap(), 0.3, 0.7);
    let (header, rows) = table(&place.read("studies/density/table.csv"));
    assert_eq!((header[0].as_str(), rows.len()), ("dataset", looked["modes"].as_array().unwrap().len()));
}

#[test]
fn pictures_of_synthetic_graphs() {
    let place = Place::new();
    let done = place.good(&["study", "synthetic", "--seed", "4"]);
    has_the_usual_files(&place, "studies/synthetic", &["synthetic.svg"]);
    assert_eq!(done.stdout, place.read("studies/synthetic/table.md"));
    let (_, rows) = table(&place.read("studies/synthetic/table.csv"));
    assert_eq!(rows.len(), 6);
    for row in rows {
        let number = |column: usize| row[column].parse::<f64>().unwrap();
        assert!((number(2) - number(3)).abs() < 0.15 * number(2), "{row:?}");
        assert!((number(4) - number(5)).abs() < 0.1, "{row:?}");
    }
}

#[test]
fn the_variance_of_attention() {
    let place = Place::new();
    let done = place.good(&["study", "variance", SMALL, "--trials", "500", "--seeds", "1", "--json", "-q"]);
    assert!(done.stderr.is_empty(), "{}", done.stderr);
    has_the_usual_files(&place, "studies/variance", &["variance-formula.svg", "variance-layers.svg", "layers.csv"]);
    let json = done.json();
    assert_eq!(json["simulation"].as_array().unwrap().len(), 9 + 6 + 6);
    let network = &json["network"];
    assert_eq!((network[0]["model"].as_str(), network[1]["model"].as_str()), (Some("gat-go"), Some("gat-dp")));
    assert_eq!(network[0]["runs"][0]["after"].as_array().unwrap().len(), 4);
}

#[test]
fn sensitivity_goes_on_where_it_stopped() {
    let place = Place::new();
    let args = ["study", "sensitivity", "random-partition:classes=2,nodes=170,degree=3", "--seeds", "1", "--out", "s"];
    let done = place.good(&args);
    assert!(done.stderr.contains("17 new, 0 known before"), "{}", done.stderr);
    let figure = "sensitivity-random-partition-classes-2-nodes-170-degree-3.svg";
    has_the_usual_files(&place, "s", &[figure, "results.jsonl"]);
    let (header, rows) = table(&place.read("s/table.csv"));
    assert_eq!((header[3].as_str(), rows.len()), ("varied", 8 + 5 + 6));
    let tables = place.read("s/table.md");
    let again = place.good(&args);
    assert!(again.stderr.contains("0 new, 17 known before"), "{}", again.stderr);
    assert_eq!(place.read("s/table.md"), tables);
}

#[test]
fn wrong_input_is_explained_in_one_sentence() {
    let place = Place::new();
    refused(&place.run(&["study", "density", "nowhere"]), 2, "nowhere");
    refused(&place.run(&["study", "density"]), 2, "required");
    let unlinked = "random-partition:classes=2,nodes=170,degree=0";
    refused(&place.run(&["study", "density", unlinked]), 2, "no node has a labelled neighbour");
    let model = place.run(&["study", "sensitivity", SMALL, "--model", "gat-go"]);
    refused(&model, 2, "--model gat-go: it has no self-supervision to vary");
    refused(&place.run(&["study", "sensitivity", SMALL, "--model", "gat-og"]), 2, "unknown model `gat-og`");
    refused(&place.run(&["study", "variance", "nowhere"]), 2, "nowhere");
    refused(&place.run(&["study", "variance", SMALL, "--trials", "3"]), 2, "--trials");
    refused(&place.run(&["study", "varianse"]), 2, "variance");
    place.write("file", "");
    refused(&place.run(&["study", "synthetic", "--out", "file/below"]), 1, "cannot write file/below");
}
