//! Options, configuration files and presets.

use crate::support::{SMALL, Workspace, published};

fn printed(workspace: &Workspace, args: &[&str]) -> toml::Table {
    let done = workspace.good(&[&["train", "--print-config"][..], args].concat());
    assert_eq!(done.stderr, "");
    done.stdout.parse().unwrap()
}

#[test]
fn printed_configuration_reproduces_the_run() {
    let workspace = Workspace::new();
    let args =
        ["--max-epochs", "12", "--lr", "0.003", "--lambda-e", "1e-5", "--p-e", "0.7", "--seed", "3", "--seeds", "2"];
    let text =
        workspace.good(&[&["train", SMALL, "--model", "supergat-sd", "--print-config"][..], &args].concat()).stdout;
    workspace.write("printed.toml", &text);
    assert_eq!(workspace.list("."), ["printed.toml"], "--print-config must not train");
    workspace.good(&[&["train", SMALL, "--model", "supergat-sd", "--out", "a"][..], &args].concat());
    let done = workspace.good(&["train", "--config", "printed.toml", "--out", "b"]);
    assert!(done.stderr.starts_with("settings: all from printed.toml\n"), "{}", done.stderr);
    assert!(workspace.bytes("a/metrics.jsonl") == workspace.bytes("b/metrics.jsonl"));
    assert_eq!(workspace.read("a/metrics.jsonl").lines().count(), 24);
    assert_eq!(workspace.read("a/config.toml"), text);
    assert_eq!(workspace.read("b/config.toml"), text);
}

#[test]
fn printed_configuration_explains_each_value() {
    let workspace = Workspace::new();
    let text = workspace.good(&["train", SMALL, "--print-config"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    let values: Vec<usize> =
        (0..lines.len()).filter(|&k| lines[k].contains(" = ") && !lines[k].starts_with('#')).collect();
    assert!(values.len() > 30, "{text}");
    assert!(values.iter().all(|&k| lines[k - 1].starts_with("# ")), "{text}");
}

#[test]
fn options_override_the_file_and_the_file_overrides_presets() {
    let workspace = Workspace::new();
    workspace.write("run.toml", format!("dataset = '{SMALL}'\nmodel = 'gat-go'\nlr = 0.5\nhidden = 4\nseeds = 7\n"));
    let paper = printed(&workspace, &[SMALL]);
    assert_eq!(paper["lr"].as_float(), Some(0.01));
    assert_eq!(paper["early_stop_window"].as_integer(), Some(20), "the preset of the paper, not the general default");
    assert_eq!(paper["model"].as_str(), Some("supergat-mx"));
    let file = printed(&workspace, &["--config", "run.toml"]);
    assert_eq!((file["lr"].as_float(), file["hidden"].as_integer()), (Some(0.5), Some(4)));
    assert_eq!((file["model"].as_str(), file["dataset"].as_str()), (Some("gat-go"), Some(SMALL)));
    assert_eq!(file["early_stop_window"].as_integer(), Some(20));
    let other = "random-partition:classes=2,nodes=170";
    let both =
        printed(&workspace, &[other, "--config", "run.toml", "--lr", "0.25", "--model", "mlp", "--no-early-stop"]);
    assert_eq!((both["lr"].as_float(), both["hidden"].as_integer()), (Some(0.25), Some(4)));
    assert_eq!((both["model"].as_str(), both["dataset"].as_str()), (Some("mlp"), Some(other)));
    assert_eq!((both["early_stop"].as_bool(), both["seeds"].as_integer()), (Some(false), Some(7)));
    assert_eq!(both["early_stop_window"].as_integer(), Some(100), "the paper has no preset for mlp");
}

#[test]
fn reports_the_origin_of_the_settings() {
    let workspace = Workspace::new();
    workspace.write("run.toml", "dropout = 0.1\n");
    let done = workspace.train("run", &["--config", "run.toml", "--lr", "0.02", "--no-early-stop", "--model", "mlp"]);
    let expected = "settings: general ones (the paper has none for random-partition and mlp); dropout from run.toml; \
                    --lr 0.02 --max-epochs 20 --no-early-stop\n";
    assert!(done.stderr.starts_with(expected), "{}", done.stderr);
}

#[test]
fn known_datasets_are_found_and_use_presets() {
    let Some(folder) = published("cora") else { return };
    let workspace = Workspace::new();
    let mut command = workspace.command(&["train", "cora", "--print-config"]);
    let output = crate::running::output(command.env("SUPERGAT_DATA", folder.parent().unwrap()));
    let config: toml::Table = String::from_utf8(output.stdout).unwrap().parse().unwrap();
    assert_eq!(config["dataset"].as_str(), Some("cora"));
    assert_eq!(config["lambda_e"].as_float(), Some(11.346574532931719));
}
