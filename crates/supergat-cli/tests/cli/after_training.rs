//! Label propagation, Correct and Smooth, and labels as input.

use crate::support::{SMALL, Workspace, published};

const PROPAGATION: [&str; 4] = ["train", SMALL, "--model", "label-propagation"];

#[test]
fn label_propagation_is_trained_evaluated_and_compared_like_a_network() {
    let workspace = Workspace::new();
    let run = workspace.good(&[&PROPAGATION[..], &["--seeds", "2", "--json", "--out", "lp"]].concat()).json();
    assert_eq!(run["test"]["values"][0], run["test"]["values"][1]);
    assert!(run["test"]["mean"].as_f64().unwrap() > 0.4, "{run}");
    for metric in ["macro_f1", "auroc", "accuracy"] {
        assert!(run["metrics"]["test"][metric]["mean"].is_number(), "{run}");
    }
    let config = workspace.read("lp/config.toml");
    assert!(config.contains("propagation_alpha = 0.9") && config.contains("propagation_iterations = 50"), "{config}");
    assert!(!config.contains("dropout =") && !config.contains("lr ="), "{config}");
    assert!(!workspace.list("lp").contains(&"attention.csv".to_owned()));

    let evaluated = workspace.good(&["evaluate", "lp", "--json"]).json();
    assert_eq!(evaluated["test"]["metric"], run["test"]["values"][0]);
    let predicted = workspace.good(&["predict", "lp"]).stdout;
    assert_eq!(predicted, workspace.read("lp/predictions.csv"));
    workspace.good(&["report", "lp"]);
    assert!(workspace.read("lp/report.html").contains("label-propagation on random-partition"));

    workspace.good(&["train", "--config", "lp/config.toml", "--out", "again"]);
    assert_eq!(workspace.bytes("lp/model.safetensors"), workspace.bytes("again/model.safetensors"));
    workspace.good(&["train", SMALL, "--model", "mlp", "--max-epochs", "9", "--seeds", "2", "--out", "mlp"]);
    let compared = workspace.good(&["compare", "lp", "mlp"]).stdout;
    assert!(compared.contains("label-propagation") && compared.contains("same splits and seeds"), "{compared}");
}

#[test]
fn label_propagation_has_hyperparameters_of_its_own() {
    let workspace = Workspace::new();
    let test = |more: &[&str], out: &str| {
        let done = workspace.good(&[&PROPAGATION[..], &["--json", "--out", out], more].concat());
        (done.json()["metrics"]["test"]["log_loss"]["mean"].clone(), done.stderr)
    };
    let (plain, _) = test(&[], "a");
    let (few, _) = test(&["--propagation-iterations", "2"], "b");
    let (weak, _) = test(&["--propagation-alpha", "0.3"], "c");
    assert!(plain != few && plain != weak && plain.is_number(), "{plain} {few} {weak}");
    let (same, notes) = test(&["--lr", "0.5"], "d");
    assert!(same == plain && notes.contains("label-propagation does not use lr"), "{notes}");
    for (args, part) in [
        (&["--propagation-alpha", "1"][..], "propagation_alpha = 1: must lie in [0, 1)"),
        (&["--propagation-iterations", "0"], "propagation_iterations = 0: must be a whole number from 1"),
    ] {
        let done = workspace.run(&[&PROPAGATION[..], args].concat());
        assert!(done.code == 2 && done.stderr.contains(part), "{done:?}");
    }
    let estimated = workspace.good(&[&PROPAGATION[..], &["--estimate", "--json"]].concat()).json();
    assert!(estimated["workspace"].as_u64().unwrap() > 0 && estimated["parameters"] == 0, "{estimated}");
    let other = SMALL.replace("degree=6", "degree=7");
    let done = workspace.run(&["predict", "a", &other]);
    assert!(done.code == 2 && done.stderr.contains("this is another graph: train a model on it"), "{done:?}");
    let done = workspace.run(&["profile", SMALL, "--model", "label-propagation"]);
    assert!(done.code == 2 && done.stderr.contains("is not a network"), "{done:?}");
}

#[test]
fn tunes_label_propagation() {
    let workspace = Workspace::new();
    let tuned =
        workspace.good(&["tune", SMALL, "--model", "label-propagation", "--trials", "4", "--seeds", "1", "--json"]);
    assert!(tuned.stdout.contains("propagation_alpha"), "{}", tuned.stdout);
}

/// Graph whose links tell more about classes than a network learns in one epoch.
const HOMOPHILOUS: &str = "random-partition:classes=3,nodes=180,degree=6,homophily=0.8";
const MLP: [&str; 8] = ["train", HOMOPHILOUS, "--model", "mlp", "--max-epochs", "1", "--seeds", "2"];

#[test]
fn correct_and_smooth_is_stored_with_the_run() {
    let workspace = Workspace::new();
    let plain = workspace.good(&[&MLP[..], &["--json", "--out", "plain"]].concat()).json();
    let run = workspace.good(&[&MLP[..], &["--correct-and-smooth", "--json", "--out", "run"]].concat()).json();
    let correction = &run["correct_and_smooth"];
    assert_eq!((&correction["test_before"], &correction["validation_before"]), (&plain["test"], &plain["validation"]));
    assert!(plain.get("correct_and_smooth").is_none());
    assert_eq!(
        (&correction["uses_validation_labels"], &correction["methods"][1]["scale"]),
        (&false.into(), &().into())
    );
    assert!(run["test"]["mean"].as_f64() > plain["test"]["mean"].as_f64(), "{run}");
    assert_eq!(run["metrics"]["test"]["accuracy"], run["test"]);
    let table = workspace.good(&["train", "--config", "run/config.toml", "--out", "again"]).stdout;
    assert!(table.contains("test before C&S") && !table.contains("validation labels"), "{table}");
    assert_eq!(workspace.bytes("run/model.safetensors"), workspace.bytes("again/model.safetensors"));
    assert!(workspace.read("run/report.html").contains("before Correct and Smooth"));

    // The saved model predicts with the same bits, in both commands.
    assert_eq!(workspace.good(&["predict", "run"]).stdout, workspace.read("run/predictions.csv"));
    let best = run["seeds"].as_array().unwrap().iter().position(|seed| *seed == run["best_seed"]).unwrap();
    let evaluated = workspace.good(&["evaluate", "run", "--json"]).json();
    assert_eq!(evaluated["test"]["metric"], run["test"]["values"][best]);
    let other = HOMOPHILOUS.replace("degree=6", "degree=7");
    let done = workspace.run(&["predict", "run", &other]);
    assert!(done.code == 2 && done.stderr.contains("Correct and Smooth uses the labels of its training"), "{done:?}");
}

#[test]
fn correct_and_smooth_says_that_it_uses_validation_labels() {
    let workspace = Workspace::new();
    let args = ["--correct-and-smooth-validation", "--correct-scale", "1", "--out", "run"];
    let done = workspace.good(&[&MLP[..], &args].concat());
    assert!(done.stdout.contains("validation labels   used"), "{}", done.stdout);
    let summary = workspace.json("run/summary.json");
    assert_eq!(summary["correct_and_smooth"]["uses_validation_labels"], true);
    assert_eq!(summary["correct_and_smooth"]["methods"][0]["scale"], 1.0);
    assert!(workspace.read("run/report.html").contains("used by Correct and Smooth"));
    assert_eq!(workspace.good(&["predict", "run"]).stdout, workspace.read("run/predictions.csv"));
    let off = workspace.good(&[&MLP[..], &["--print-config"]].concat()).stdout;
    assert!(!off.contains("smooth"), "{off}");
    let done = workspace.run(&[&MLP[..], &["--smooth-alpha", "1.5"]].concat());
    assert!(done.code == 2 && done.stderr.contains("smooth_alpha = 1.5: must lie in [0, 1]"), "{done:?}");
}

#[test]
fn labels_as_input_are_stored_with_the_run() {
    let workspace = Workspace::new();
    let train = ["train", HOMOPHILOUS, "--model", "gcn", "--max-epochs", "20", "--label-input", "0.5"];
    let run = workspace.good(&[&train[..], &["--label-reuse", "1", "--json", "--out", "run"]].concat()).json();
    assert!(run["test"]["mean"].as_f64().unwrap() > 0.4, "{run}");
    let config = workspace.read("run/config.toml");
    assert!(config.contains("label_input = 0.5") && config.contains("label_reuse = 1"), "{config}");
    workspace.good(&["train", "--config", "run/config.toml", "--out", "again"]);
    assert_eq!(workspace.bytes("run/model.safetensors"), workspace.bytes("again/model.safetensors"));
    assert_eq!(workspace.good(&["predict", "run"]).stdout, workspace.read("run/predictions.csv"));
    // Another split of the same graph shows no other label: all columns but `split` are the same.
    let other = workspace.good(&["predict", "run", "--split", "random:60/20/20:7"]).stdout;
    let without_split = |text: &str| -> Vec<String> {
        let columns =
            |line: &str| line.split(',').enumerate().filter(|(k, _)| *k != 1).map(|(_, v)| v.to_owned()).collect();
        text.lines().map(columns).map(|columns: Vec<String>| columns.join(",")).collect()
    };
    assert_ne!(other, workspace.read("run/predictions.csv"));
    assert_eq!(without_split(&other), without_split(&workspace.read("run/predictions.csv")));
    let evaluated = workspace.good(&["evaluate", "run", "--json"]).json();
    assert_eq!(evaluated["test"]["metric"], run["test"]["values"][0]);
    let done = workspace.run(&["predict", "run", &HOMOPHILOUS.replace("degree=6", "degree=7")]);
    assert!(done.code == 2 && done.stderr.contains("this is another graph: train a model on it"), "{done:?}");
    let done = workspace.run(&["train", HOMOPHILOUS, "--label-reuse", "1"]);
    assert!(done.code == 2 && done.stderr.contains("label_reuse = 1: needs labels as input"), "{done:?}");

    let estimate = |more: &[&str]| {
        let args = [&["train", HOMOPHILOUS, "--model", "gcn", "--estimate", "--json"], more].concat();
        let found = workspace.good(&args).json();
        ["parameters", "workspace"].map(|name| found[name].as_u64().unwrap())
    };
    let ([parameters, space], [more_parameters, more_space]) = (estimate(&[]), estimate(&["--label-input", "0.5"]));
    // A row of 64 weights per class, and a number per node and class.
    assert_eq!(more_parameters - parameters, 3 * 64 * 24);
    assert!(more_space - space >= 540 * (3 * 4 + 1), "{space} {more_space}");
}

/// On Cora, links tell much that the words of a paper do not.
#[test]
fn correct_and_smooth_is_more_accurate_than_the_mlp_on_cora() {
    let Some(cora) = published("cora") else { return };
    let workspace = Workspace::new();
    let args = ["train", cora.to_str().unwrap(), "--model", "mlp", "--max-epochs", "100", "--correct-and-smooth"];
    let run = workspace.good(&[&args[..], &["--json", "--out", "run"]].concat()).json();
    let [before, after] = [&run["correct_and_smooth"]["test_before"], &run["test"]].map(|found| found["mean"].as_f64());
    assert!(after.unwrap() > before.unwrap() + 0.1, "{before:?} {after:?}");
}
