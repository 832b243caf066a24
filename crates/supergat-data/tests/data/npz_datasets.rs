//! Tests of datasets in one `.npz` file: the gnn-benchmark and the heterophilous benchmark.

use crate::arrays::{floats, ints, longs, npy, npz};
use crate::formats::{Folder, dense, single, splits};
use supergat_core::Features;
use supergat_data::{LoadOptions, SplitChoice, load, load_splits};

/// Nodes 0 -> 1 (twice, as two entries), 2 -> 1, a self-loop on 2; features of which one is negative.
pub fn benchmark() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("adj_data", floats(&[4], &[1.0; 4])),
        ("adj_indices", ints(&[1, 1, 1, 2])),
        ("adj_indptr", ints(&[0, 2, 2, 4])),
        ("adj_shape", longs(&[2], &[3, 3])),
        ("attr_data", floats(&[4], &[0.5, 3.0, -1.0, 2.0])),
        ("attr_indices", ints(&[0, 1, 0, 1])),
        ("attr_indptr", ints(&[0, 2, 3, 4])),
        ("attr_shape", longs(&[2], &[3, 2])),
        ("labels", longs(&[3], &[0, 1, 1])),
        ("node_names", npy("|O", false, &[1], b"a pickle that is never read")),
    ]
}

#[test]
fn reads_gnn_benchmark() {
    let folder = Folder::new("some", vec![("x.npz", npz(&benchmark()))]);
    let dataset = folder.load().unwrap();
    assert_eq!((dataset.name.as_str(), dataset.nodes(), dataset.classes(), dataset.listed_links), ("some", 3, 2, 2));
    let Features::Sparse(features) = &*dataset.examples[0].features else { panic!("sparse") };
    assert_eq!((features.offsets(), features.column_of()), (&[0, 2, 3, 4][..], &[0, 1, 0, 1][..]));
    assert_eq!(features.values(), [0.5, 3.0, -1.0, 2.0]);
    assert_eq!(dataset.examples[0].graph.incoming().of(1), [0, 1, 2]);
    assert!(dataset.examples[0].graph.is_symmetric());
    for note in ["features: values kept as in the file", "1 link from a node to itself: replaced"] {
        assert!(dataset.notes.iter().any(|found| found.starts_with(note)), "{:?}", dataset.notes);
    }

    // The same features, dense, and labels from 1.
    let mut arrays: Vec<_> =
        benchmark().into_iter().filter(|(name, _)| !name.starts_with("attr_") && *name != "labels").collect();
    arrays.push(("attr_matrix", floats(&[3, 2], &[0.5, 3.0, -1.0, 0.0, 0.0, 2.0])));
    arrays.push(("labels", longs(&[3], &[1, 2, 2])));
    folder.write("x.npz", &npz(&arrays));
    let dataset = folder.load().unwrap();
    assert_eq!(self::dense(&dataset), [0.5, 3.0, -1.0, 0.0, 0.0, 2.0]);
    assert_eq!((single(&dataset), &dataset.class_names[..]), (&[0, 1, 1][..], &["1".to_owned(), "2".to_owned()][..]));
    assert!(dataset.notes[0].starts_with("labels: 2 classes, named by the numbers"), "{:?}", dataset.notes);
}

/// A file with as many nodes and features as Cora-ML is Cora-ML, whatever its name.
#[test]
fn prepares_published_gnn_benchmark_as_published() {
    const NODES: usize = 2995;
    let offsets: Vec<i32> = (0..=NODES as i32).map(|row| 2 * row.min(2)).collect();
    let labels: Vec<i64> = (0..NODES as i64).map(|node| node % 7).collect();
    let folder = Folder::new("some", vec![]);
    for (columns, name, values) in [(2879, "cora-ml", [1.0, 1.0].as_slice()), (2878, "x", &[0.5, -2.0, 3.0])] {
        let arrays = [
            ("adj_data", floats(&[0], &[])),
            ("adj_indices", ints(&[])),
            ("adj_indptr", ints(&[0; NODES + 1])),
            ("adj_shape", longs(&[2], &[NODES as i64; 2])),
            ("attr_data", floats(&[4], &[0.5, -2.0, 3.0, 0.0])),
            ("attr_indices", ints(&[0, 1, 0, 1])),
            ("attr_indptr", ints(&offsets)),
            ("attr_shape", longs(&[2], &[NODES as i64, columns])),
            ("labels", longs(&[NODES], &labels)),
        ];
        folder.write("x.npz", &npz(&arrays));
        let dataset = load(folder.path().join("x.npz").to_str().unwrap()).unwrap();
        assert_eq!((dataset.name.as_str(), dataset.examples[0].features.values()), (name, values));
    }
}

/// Four nodes in a row, a self-loop, and two splits.
pub fn heterophilous() -> Vec<(&'static str, Vec<u8>)> {
    let masks = |rows: [[u8; 4]; 2]| npy("|b1", false, &[2, 4], &rows.concat());
    vec![
        ("node_features", floats(&[4, 2], &[1.5, -2.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0])),
        ("node_labels", longs(&[4], &[0, 1, 0, 1])),
        ("edges", longs(&[4, 2], &[0, 1, 1, 2, 2, 3, 3, 3])),
        ("train_masks", masks([[1, 0, 0, 0], [0, 1, 0, 0]])),
        ("val_masks", masks([[0, 1, 0, 0], [1, 0, 0, 0]])),
        ("test_masks", masks([[0, 0, 1, 1], [0, 0, 1, 0]])),
    ]
}

#[test]
fn reads_heterophilous_benchmark() {
    let folder =
        Folder::new("mine", vec![("minesweeper.npz", npz(&heterophilous())), ("LICENCE.txt", b"MIT".to_vec())]);
    let dataset = folder.load().unwrap();
    assert_eq!((dataset.name.as_str(), dataset.nodes(), dataset.listed_links), ("mine", 4, 3));
    assert_eq!(dense(&dataset), [1.5, -2.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(dataset.examples[0].graph.incoming().of(1), [0, 1, 2]);
    assert_eq!(splits(&dataset), [&[0][..], &[1], &[2, 3]]);
    let second = folder.load_split(SplitChoice::Numbered(1)).unwrap();
    assert_eq!(splits(&second), [&[1][..], &[0], &[2]]);
    let file = folder.path().join("minesweeper.npz");
    assert_eq!(load(file.to_str().unwrap()).unwrap().name, "minesweeper");

    let error = folder.load_split(SplitChoice::Numbered(2)).unwrap_err().to_string();
    assert!(
        error.ends_with("expected published, random, or a number from 0 to 1, since the files hold 2 splits, found 2")
    );
    let all = load_splits(file.to_str().unwrap(), &LoadOptions::default()).unwrap();
    assert_eq!((all.len(), splits(&all[1])), (2, splits(&second)));
    assert_eq!(all[1].notes.last().unwrap(), "all 2 splits in the files, one run for each");
    assert_eq!(all[1].origin.as_ref().unwrap().split, SplitChoice::Numbered(1));
    folder.write("minesweeper.npz", &npz(&heterophilous()[..3]));
    assert!(folder.load().unwrap().notes.iter().any(|note| note.starts_with("no published split is known")));
    let error = load_splits(file.to_str().unwrap(), &LoadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("splits: expected files with several splits"), "{error}");
}

#[test]
fn explains_faults_of_heterophilous_benchmark() {
    let folder = Folder::new("mine", vec![("x.npz", npz(&heterophilous()))]);
    for (array, bytes, part) in [
        (
            "node_features",
            floats(&[1, 2], &[1.0, f32::INFINITY]),
            "node_features, row 0, column 1: expected a finite number",
        ),
        ("node_labels", longs(&[3], &[0, 1, 1]), "node_labels: expected 4, one per row of node_features, found 3"),
        ("edges", longs(&[1, 2], &[0, 4]), "edges, row 0: expected a node below 4, found 4"),
        ("edges", longs(&[1, 3], &[0, 1, 2]), "edges: expected two columns, the nodes of each link, found 3 columns"),
        (
            "val_masks",
            npy("|b1", false, &[1, 4], &[0; 4]),
            "val_masks: expected 2 rows, as in train_masks, found 1 row",
        ),
        ("val_masks", npy("|b1", false, &[2, 3], &[0; 6]), "val_masks: expected rows of 4 values, one per node"),
        (
            "val_masks",
            npy("|b1", false, &[2, 4], &[1; 8]),
            "row 0 of the masks: expected every node in at most one mask",
        ),
    ] {
        let mut arrays = heterophilous();
        arrays.iter_mut().find(|(name, _)| *name == array).unwrap().1 = bytes;
        let message = folder.refusal("x.npz", &npz(&arrays));
        assert!(message.contains(part) && message.starts_with("x.npz"), "{message}");
    }
    let message = folder.refusal("x.npz", &npz(&[("a", ints(&[1])), ("b", ints(&[1]))]));
    assert!(
        message.starts_with("x.npz: arrays: expected adj_data, attr_data and labels, or node_features"),
        "{message}"
    );
    assert!(message.ends_with("found a, b"), "{message}");
}

#[test]
fn explains_faults_of_gnn_benchmark() {
    let folder = Folder::new("mine", vec![("x.npz", npz(&benchmark()))]);
    assert_eq!(folder.load().unwrap().name, "mine");
    for (array, bytes, part) in [
        ("labels", longs(&[2], &[0, 1]), "labels (one row per node)"),
        ("labels", longs(&[3], &[0, 1, 1 << 40]), "class of node 2: expected a number below 100000"),
        ("labels", npy("|O", false, &[3], b""), "Python objects would have to be executed"),
        ("adj_indices", ints(&[1, 1, 1, 3]), "expected a number below 3, found 3"),
        ("adj_shape", longs(&[2], &[3, 1 << 50]), "rows or columns of a matrix"),
        ("attr_shape", longs(&[3], &[3, 2, 1]), "attr_shape: expected rows and columns of a matrix"),
        ("attr_data", floats(&[4], &[1.0, 1.0, f32::NAN, 1.0]), "attr_data, row 1, column 0: expected a finite number"),
        ("attr_data", floats(&[4], &[1.0, f32::INFINITY, 1.0, 1.0]), "column 1: expected a finite number"),
    ] {
        let mut arrays = benchmark();
        arrays.iter_mut().find(|(name, _)| *name == array).unwrap().1 = bytes;
        let message = folder.refusal("x.npz", &npz(&arrays));
        assert!(message.contains(part) && message.starts_with("x.npz"), "{message}");
    }
}
