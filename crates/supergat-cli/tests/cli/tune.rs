//! `supergat tune`

use crate::support::{SMALL, Workspace, table};

const SEARCH: [&str; 8] = ["tune", SMALL, "--max-epochs", "6", "--trials", "10", "--out", "search"];

#[test]
fn writes_settings_for_training_and_resumes() {
    let workspace = Workspace::new();
    let done = workspace.good(&[&SEARCH[..], &["--also", "dropout", "--json"]].concat());
    let summary = done.json();
    assert_eq!(workspace.list("search"), ["best.toml", "history.csv", "results.jsonl", "search.svg"]);
    let (header, rows) = table(&workspace.read("search/history.csv"));
    assert_eq!(header.join(","), "trial,lambda_2,lambda_e,p_n,p_e,dropout,validation,seeds,state");
    assert_eq!((rows.len(), &summary["trials"]), (10, &10.into()));
    let best: Vec<_> = rows.iter().filter(|row| row[8] == "best").collect();
    assert_eq!((best.len(), best[0][7].as_str()), (1, "8"));
    assert_eq!(summary["best"]["validation"].as_f64(), best[0][6].parse().ok());
    let settings: toml::Table = workspace.read("search/best.toml").parse().unwrap();
    assert_eq!(settings["lambda_e"].as_float(), best[0][2].parse().ok());
    assert!(workspace.read("search/search.svg").ends_with("</svg>\n"));
    workspace.good(&["train", "--config", "search/best.toml", "--out", "run"]);

    // A finished search runs nothing and gives the same result.
    let runs = workspace.read("search/results.jsonl");
    let again = workspace.good(&[&SEARCH[..], &["--also", "dropout", "--json", "--threads", "1"]].concat());
    assert_eq!(again.stdout, done.stdout);
    assert_eq!(workspace.read("search/results.jsonl"), runs);
}

#[test]
fn output_contains_no_test_results() {
    let workspace = Workspace::new();
    let done = workspace.good(&SEARCH);
    let words =
        done.stdout + &done.stderr + &workspace.read("search/history.csv") + &workspace.read("search/search.svg");
    assert!(words.contains("validation accuracy") && !words.contains("test"), "{words}");
}

#[test]
fn rejects_invalid_options() {
    let workspace = Workspace::new();
    for (more, expected) in [
        (&["--also", "dropuot"][..], "--also dropuot: expected some of dropout, "),
        (&["--search", "layers"], "--search layers: expected NAME=VALUES, such as layers=2..8"),
        (&["--search", "layers=8..2"], "layers = 8..2: the first end must be below the second"),
        (&["--search", "norm=group"], "norm = group: must be one of none, layer, batch"),
        (&["--search", "lyers=1..2"], "layers"),
        (&["--search", "max-epochs=10,20"], "max_epochs = 10,20: is not searched; set it for all trials"),
        (&["--minutes", "-1"], "-1"),
        (&["--minutes", "0"], "must be positive"),
        (&["--trials", "0"], "--trials"),
        (&["--delimiter", ";"], "tune does not read delimiter"),
        (&["--lr", "0"], "lr"),
    ] {
        let done = workspace.run(&[&["tune", SMALL][..], more].concat());
        assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{more:?}: {done:?}");
        assert!(done.stderr.contains(expected), "{done:?}");
        assert!(workspace.list(".").is_empty(), "{more:?} left files behind");
    }
}

#[test]
fn searches_deep_networks() {
    let workspace = Workspace::new();
    let search = |threads: &str| {
        let mut args =
            vec!["tune", SMALL, "--model", "gat-go", "--max-epochs", "16", "--trials", "16", "--out", "deep"];
        args.extend(["--prune", "--also", "residual,output_layer", "--seeds", "2", "--json", "--threads", threads]);
        args.extend(["--search", "layers=1..3", "--search", "model=gat-go,supergat-mx", "--search", "norm=batch,none"]);
        workspace.good(&args)
    };
    let done = search("2");
    let summary = done.json();
    let (header, rows) = table(&workspace.read("deep/history.csv"));
    let expected = "trial,model,lambda_2,lambda_e,p_n,p_e,layers,norm,residual,output_layer,validation,seeds,state";
    assert_eq!(header.join(","), expected);
    let pruned = rows.iter().filter(|row| row[12] == "pruned").count();
    assert!(pruned > 0, "{rows:?}");
    assert_eq!(summary["pruned"], pruned);
    for row in &rows {
        assert_eq!(row[1] == "gat-go", row[3].is_empty(), "lambda_e is for self-supervised models: {row:?}");
        assert!(["1", "2", "3"].contains(&row[6].as_str()) && ["true", "false"].contains(&row[9].as_str()));
    }
    assert!(summary["best"]["values"]["layers"].is_u64() && summary["best"]["values"]["norm"].is_string());
    let best: toml::Table = workspace.read("deep/best.toml").parse().unwrap();
    assert_eq!(best["model"].as_str(), summary["best"]["values"]["model"].as_str());
    workspace.good(&["train", "--config", "deep/best.toml", "--out", "run"]);
    assert_eq!(search("1").stdout, done.stdout);
}

#[test]
fn starts_from_the_first_model_of_the_list() {
    let workspace = Workspace::new();
    let search = |folder: &str, more: &[&str]| {
        let args = ["tune", SMALL, "--max-epochs", "3", "--trials", "3", "--seeds", "1", "--out", folder];
        let done = workspace.good(&[&args[..], &["--search", "model=gcn,mlp"], more].concat());
        assert!(done.stdout.starts_with("search for "), "{done:?}");
        table(&workspace.read(&format!("{folder}/history.csv"))).1.into_iter().map(|row| row[1].clone()).collect()
    };
    let models: Vec<String> = search("list", &[]);
    assert!(models[0] == "gcn" && models.iter().all(|model| ["gcn", "mlp"].contains(&model.as_str())), "{models:?}");
    let models: Vec<String> = search("named", &["--model", "mlp"]);
    assert_eq!(models[0], "mlp");
    let done = workspace.run(&["tune", SMALL, "--max-epochs", "3", "--search", "model=gnc,mlp"]);
    assert!(done.code == 2 && done.stderr.contains("unknown model `gnc`"), "{done:?}");
}
