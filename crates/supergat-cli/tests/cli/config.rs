//! Options, configuration files and presets.

use crate::support::{Place, SMALL, published};

fn printed(place: &Place, args: &[&str]) -> toml::Table {
    let done = place.good(&[&["train", "--print-config"][..], args].concat());
    assert_eq!(done.stderr, "");
    done.stdout.parse().unwrap()
}

#[test]
fn a_printed_configuration_repeats_the_run() {
    let place = Place::new();
    let args =
        ["--max-epochs", "12", "--lr", "0.003", "--lambda-e", "1e-5", "--p-e", "0.7", "--seed", "3", "--seeds", "2"];
    let text = place.good(&[&["train", SMALL, "--model", "supergat-sd", "--print-config"][..], &args].concat()).stdout;
    place.write("printed.toml", &text);
    assert_eq!(place.list("."), ["printed.toml"], "printing trains nothing");
    place.good(&[&["train", SMALL, "--model", "supergat-sd", "--out", "a"][..], &args].concat());
    let done = place.good(&["train", "--config", "printed.toml", "--out", "b"]);
    assert!(done.stderr.starts_with("settings: all from printed.toml\n"), "{}", done.stderr);
    assert!(place.bytes("a/metrics.jsonl") == place.bytes("b/metrics.jsonl"));
    assert_eq!(place.read("a/metrics.jsonl").lines().count(), 24);
    assert_eq!(place.read("a/config.toml"), text);
    assert_eq!(place.read("b/config.toml"), text);
}

#[test]
fn every_line_of_a_printed_configuration_is_explained() {
    let place = Place::new();
    let text = place.good(&["train", SMALL, "--print-config"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    let values: Vec<usize> =
        (0..lines.len()).filter(|&k| lines[k].contains(" = ") && !lines[k].starts_with('#')).collect();
    assert_eq!(values.len(), 22);
    assert!(values.iter().all(|&k| lines[k - 1].starts_with("# ")), "{text}");
}

#[test]
fn options_win_over_the_file_and_the_file_over_the_paper() {
    let place = Place::new();
    place.write("run.toml", format!("dataset = '{SMALL}'\nmodel = 'gat-go'\nlr = 0.5\nhidden = 4\nseeds = 7\n"));
    let paper = printed(&place, &[SMALL]);
    assert_eq!(paper["lr"].as_float(), Some(0.01));
    assert_eq!(paper["early_stop_window"].as_integer(), Some(20), "the paper's, not the general one");
    assert_eq!(paper["model"].as_str(), Some("supergat-mx"));
    let file = printed(&place, &["--config", "run.toml"]);
    assert_eq!((file["lr"].as_float(), file["hidden"].as_integer()), (Some(0.5), Some(4)));
    assert_eq!((file["model"].as_str(), file["dataset"].as_str()), (Some("gat-go"), Some(SMALL)));
    assert_eq!(file["early_stop_window"].as_integer(), Some(20));
    let other = "random-partition:classes=2,nodes=170";
    let both = printed(&place, &[other, "--config", "run.toml", "--lr", "0.25", "--model", "mlp", "--no-early-stop"]);
    assert_eq!((both["lr"].as_float(), both["hidden"].as_integer()), (Some(0.25), Some(4)));
    assert_eq!((both["model"].as_str(), both["dataset"].as_str()), (Some("mlp"), Some(other)));
    assert_eq!((both["early_stop"].as_bool(), both["seeds"].as_integer()), (Some(false), Some(7)));
    assert_eq!(both["early_stop_window"].as_integer(), Some(100), "the paper has no mlp");
}

#[test]
fn the_origin_of_the_settings_is_told() {
    let place = Place::new();
    place.write("run.toml", "dropout = 0.1\n");
    let done = place.train("run", &["--config", "run.toml", "--lr", "0.02", "--no-early-stop", "--model", "mlp"]);
    let expected = "settings: general ones (the paper has none for random-partition and mlp); dropout from run.toml; \
                    --lr 0.02 --max-epochs 20 --no-early-stop\n";
    assert!(done.stderr.starts_with(expected), "{}", done.stderr);
}

#[test]
fn known_names_are_found_and_get_the_papers_settings() {
    let Some(folder) = published("cora") else { return };
    let place = Place::new();
    let mut command = place.command(&["train", "cora", "--print-config"]);
    let output = command.env("SUPERGAT_DATA", folder.parent().unwrap()).output().unwrap();
    let config: toml::Table = String::from_utf8(output.stdout).unwrap().parse().unwrap();
    assert_eq!(config["dataset"].as_str(), Some("cora"));
    assert_eq!(config["lambda_e"].as_float(), Some(11.346574532931719));
}
