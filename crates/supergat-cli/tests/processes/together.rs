//! One network, trained by all processes together.

use crate::mpirun::{FILES, assert_same, divided, errors, good, run, turn};
use crate::support::Workspace;
use supergat::Dataset;
use supergat_core::{Duplicates, EdgeAttributes};

/// Early stopping after a few epochs.
const STOPS: [&str; 8] =
    ["--early-stop-after", "4", "--early-stop-window", "2", "--early-stop-loss-change", "1", "--max-epochs", "60"];

fn train<'a>(data: &'a str, model: &'a str, out: &'a str) -> Vec<&'a str> {
    let shape = ["--hidden", "3", "--heads", "2", "--threads", "1", "--quiet"];
    [&["train", data, "--model", model, "--out", out], &shape[..], &STOPS].concat()
}

/// Trains in different numbers of processes and compares all files with those of one process.
fn assert_same_in_any_number(workspace: &Workspace, data: &str, model: &str, counts: &[usize], files: &[&str]) {
    assert_same_with(workspace, data, model, &[], counts, files);
}

/// Like [`assert_same_in_any_number`], with further options. Returns the folder of the run of one process.
fn assert_same_with(
    workspace: &Workspace,
    data: &str,
    model: &str,
    options: &[&str],
    counts: &[usize],
    files: &[&str],
) -> String {
    let name = |count: usize| format!("{model}{}-{count}", options.concat().replace('/', ""));
    workspace.good(&[&train(data, model, &name(1))[..], options].concat());
    let epochs = workspace.read(&format!("{}/metrics.jsonl", name(1))).lines().count();
    assert!((5..60).contains(&epochs), "{epochs} epochs of {model} {options:?}");
    for &count in counts {
        good(workspace, count, &[&train(data, model, &name(count))[..], options].concat());
        assert_same(workspace, &name(1), &name(count), files);
    }
    name(1)
}

#[test]
fn a_training_has_the_same_bytes_in_any_number_of_processes() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    divided(&workspace, "graph.safetensors", "random-partition:classes=2,nodes=170,degree=5");
    let files = [&FILES[..], &["attention.csv"]].concat();
    assert_same_in_any_number(&workspace, "graph.safetensors", "supergat-mx", &[2, 3, 4, 8], &files);
}

#[test]
fn all_models_train_together() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    divided(&workspace, "graph.safetensors", "random-partition:classes=2,nodes=170,degree=4");
    for (model, count) in [
        ("supergat-sd", 3),
        ("gat-go", 2),
        ("gcn", 8),
        ("mlp", 4),
        ("sage", 3),
        ("cgat", 3),
        ("cgat-full-supervised", 4),
    ] {
        assert_same_in_any_number(&workspace, "graph.safetensors", model, &[count], &FILES);
    }
}

/// Writes a dataset of several graphs: one or more for training, validation and testing.
fn many_graphs(workspace: &Workspace) {
    let graph =
        |seed: usize| supergat::load(&format!("random-partition:classes=2,nodes=170,degree=3,seed={seed}")).unwrap();
    let mut all: Dataset = graph(0);
    all.examples = (0..5).map(|seed| graph(seed).examples.remove(0)).collect();
    for (k, example) in all.examples.iter_mut().enumerate() {
        let nodes: Vec<u32> = (0..example.graph.nodes() as u32).collect();
        let list = |is_here: bool| if is_here { nodes.clone() } else { Vec::new() };
        (example.train, example.validation, example.test) = (list(k < 3), list(k == 3), list(k == 4));
    }
    supergat_data::convert(&all, &workspace.path("many.safetensors")).unwrap();
    divided(workspace, "graph.safetensors", "many.safetensors");
}

#[test]
fn many_graphs_are_trained_together() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    many_graphs(&workspace);
    assert_same_in_any_number(&workspace, "graph.safetensors", "supergat-mx", &[2, 3], &FILES);
}

#[test]
fn predictions_and_scores_are_those_of_one_process() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    divided(&workspace, "graph.safetensors", "random-partition:classes=2,nodes=170,degree=5");
    divided(&workspace, "other.safetensors", "random-partition:classes=2,nodes=170,degree=5,seed=7");
    workspace.good(&train("graph.safetensors", "supergat-sd", "run"));
    for data in [&[][..], &["other.safetensors"]] {
        for (command, options) in [("predict", &[][..]), ("evaluate", &["--json"])] {
            let args = [&[command, "run"], data, options].concat();
            let alone = good(&workspace, 1, &args).stdout;
            for count in [2, 8] {
                assert_eq!(good(&workspace, count, &args).stdout, alone, "{count} processes: {args:?}");
            }
        }
    }
    good(&workspace, 3, &["predict", "run", "--out", "p.csv"]);
    assert_eq!(workspace.bytes("p.csv"), workspace.bytes("run/predictions.csv"));
}

#[test]
fn weights_of_classes_and_the_focal_loss_train_together() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    divided(&workspace, "graph.safetensors", "random-partition:classes=2,nodes=170,degree=5");
    let plain = assert_same_with(&workspace, "graph.safetensors", "gcn", &[], &[], &FILES);
    for weights in ["balanced", "1=4"] {
        let options = ["--class-weight", weights, "--focal-gamma", "1.5"];
        let weighed = assert_same_with(&workspace, "graph.safetensors", "gcn", &options, &[2, 3], &FILES);
        let history = |run: &str| workspace.bytes(&format!("{run}/metrics.jsonl"));
        assert_ne!(history(&plain), history(&weighed), "{weights}");
    }
    let args = [&train("graph.safetensors", "gcn", "x")[..], &["--class-weight", "fraud=3"]].concat();
    let done = run(&workspace, 2, &args);
    assert_eq!((done.code, errors(&done).len()), (2, 1), "{done:?}");
    assert!(errors(&done)[0].contains("expected one of the classes 0, 1, found `fraud`"), "{done:?}");
}

/// Writes a dataset whose links have weights, three features, or both.
fn with_attributes(workspace: &Workspace, name: &str, weighted: bool, width: usize) {
    let mut dataset = supergat::load("random-partition:classes=2,nodes=170,degree=5").unwrap();
    let example = dataset.examples.remove(0);
    let links = example.graph.position_of_input().len();
    let weights: Vec<f64> = (0..links).map(|k| 0.2 + (k * 7 % 13) as f64 / 4.0).collect();
    let features: Vec<f32> = (0..links * width).map(|k| (k * 31 % 17) as f32 / 8.0 - 1.0).collect();
    let weights = weighted.then_some(&weights[..]);
    let edges = EdgeAttributes::of_links(&example.graph, weights, width, &features, Duplicates::Sum).unwrap();
    dataset.examples.push(example.with_edges(edges).unwrap());
    supergat_data::convert(&dataset, &workspace.path("attributes.safetensors")).unwrap();
    divided(workspace, name, "attributes.safetensors");
}

#[test]
fn weights_and_features_of_links_train_together() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    with_attributes(&workspace, "both.safetensors", true, 3);
    with_attributes(&workspace, "weights.safetensors", true, 0);
    let files = [&FILES[..], &["attention.csv"]].concat();
    let messages = ["--edge-messages"];
    let run = assert_same_with(&workspace, "both.safetensors", "supergat-mx", &messages, &[2, 3, 4], &files);
    assert_same_with(&workspace, "weights.safetensors", "gcn", &[], &[3], &FILES);
    good(&workspace, 3, &["predict", &run, "--out", "p.csv"]);
    assert_eq!(workspace.bytes("p.csv"), workspace.bytes(&format!("{run}/predictions.csv")));
}

#[test]
fn deep_networks_train_together() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    divided(&workspace, "graph.safetensors", "random-partition:classes=2,nodes=170,degree=5");
    let layers = ["--layers", "3", "--input-layer", "--output-layer"];
    let batch = [&layers[..], &["--norm", "batch", "--residual", "linear", "--activation", "relu"]].concat();
    let layer = [&layers[..], &["--norm", "layer", "--residual", "identity", "--no-self-loops"]].concat();
    let run = assert_same_with(&workspace, "graph.safetensors", "supergat-sd", &batch, &[2, 3, 8], &FILES);
    let files = [&FILES[..], &["attention.csv"]].concat();
    assert_same_with(&workspace, "graph.safetensors", "supergat-mx", &layer, &[4], &files);
    good(&workspace, 3, &["predict", &run, "--out", "p.csv"]);
    assert_eq!(workspace.bytes("p.csv"), workspace.bytes(&format!("{run}/predictions.csv")));
}

#[test]
fn refuses_several_splits_of_a_divided_file() {
    let Some(_turn) = turn() else { return };
    let workspace = Workspace::new();
    divided(&workspace, "graph.safetensors", "random-partition:classes=2,nodes=170,degree=3");
    let done = run(&workspace, 2, &["train", "graph.safetensors", "--model", "gcn", "--splits", "all"]);
    let expected = "error: process 0 of 2: several processes cannot train together with --splits all: a divided file has \
                    one split; convert the dataset once for each split";
    assert_eq!((done.code, errors(&done)), (2, vec![expected]), "{done:?}");
}
