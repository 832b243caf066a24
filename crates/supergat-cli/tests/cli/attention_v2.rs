//! The models `gatv2` and `supergat-v2` in the commands.

use crate::support::{SMALL, Workspace, table};

#[test]
fn trains_predicts_and_compares() {
    let workspace = Workspace::new();
    for model in ["gatv2", "supergat-v2"] {
        workspace.train(model, &["--model", model, "--seeds", "3"]);
        let settings: toml::Table = workspace.read(&format!("{model}/config.toml")).parse().unwrap();
        assert_eq!(settings["model"].as_str(), Some(model));
        let expected = workspace.read(&format!("{model}/predictions.csv"));
        assert!(workspace.good(&["predict", model]).stdout == expected, "{model}");
        let (header, rows) = table(&workspace.read(&format!("{model}/attention.csv")));
        assert!(header.contains(&"edge_logit".to_owned()) && !rows.is_empty(), "{header:?}");
        assert!(workspace.read(&format!("{model}/report.html")).contains(model));
    }
    assert_ne!(workspace.read("gatv2/predictions.csv"), workspace.read("supergat-v2/predictions.csv"));
    let found = workspace.good(&["compare", "gatv2", "supergat-v2"]).stdout;
    assert!(found.contains("gatv2") && found.contains("supergat-v2"), "{found}");
}

#[test]
fn has_the_options_of_other_forms() {
    let workspace = Workspace::new();
    let options = ["--norm", "layer", "--residual", "linear", "--no-self-loops", "--layers", "3", "--hidden", "4"];
    workspace.train("deep", &[&["--model", "supergat-v2", "--lambda-e", "0.5"], &options[..]].concat());
    let settings: toml::Table = workspace.read("deep/config.toml").parse().unwrap();
    assert_eq!((settings["lambda_e"].as_float(), settings["self_loops"].as_bool()), (Some(0.5), Some(false)));
    let expected = workspace.read("deep/predictions.csv");
    workspace.good(&["train", "--config", "deep/config.toml", "--threads", "1", "--out", "again"]);
    assert!(workspace.read("again/predictions.csv") == expected);
    // Without self-supervision there is no edge loss.
    let done = workspace.train("plain", &["--model", "gatv2", "--lambda-e", "2"]);
    assert!(done.stderr.contains("note: gatv2 does not use lambda_e"), "{done:?}");
}

#[test]
fn is_measured_and_tuned() {
    let workspace = Workspace::new();
    let profile = ["profile", "--random", "300,6,5,3", "--epochs", "2", "--model", "gatv2", "--json"];
    let measured = workspace.good(&profile).json();
    assert_eq!((measured["model"].as_str(), measured["form"].as_str()), (Some("gatv2"), Some("v2")));
    let search = ["tune", SMALL, "--model", "supergat-v2", "--max-epochs", "3", "--trials", "4", "--out", "search"];
    workspace.good(&search);
    let (header, rows) = table(&workspace.read("search/history.csv"));
    assert_eq!(header.join(","), "trial,lambda_2,lambda_e,p_n,p_e,validation,seeds,state");
    assert_eq!(rows.len(), 4);
}

#[test]
fn unknown_names_are_answered_with_the_list() {
    let done = Workspace::new().run(&["train", SMALL, "--model", "gat-v2"]);
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("gatv2") && done.stderr.contains("supergat-v2"), "{}", done.stderr);
}
