//! Tests of features that are computed from the graph, for tables, published formats and arrays.

use std::path::Path;
use supergat_core::Features;
use supergat_data::options::Expected;
use supergat_data::{Dataset, FeatureChoice, LoadOptions, Result, TableOptions, convert, load, load_with};

/// A triangle of a, b and c, a tail from c to d, and a node without links.
const NODES: &str = "id,label\na,x\nb,x\nc,y\nd,y\ne,y\n";
const EDGES: &str = "a,b\nb,c\nc,a\nc,d\n";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
    folder
}

fn read(folder: &Path, features: FeatureChoice) -> Result<Dataset> {
    load_with(folder.to_str().unwrap(), &LoadOptions { features, ..Default::default() })
}

fn values(dataset: &Dataset) -> &[f32] {
    let Features::Dense { values, .. } = &*dataset.examples[0].features else { panic!("dense features") };
    values
}

#[test]
fn tables_without_features_need_computed_ones() {
    let folder = folder(&[("nodes.csv", NODES), ("edges.csv", EDGES)]);
    let error = load(folder.path().to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains("expected columns of features, found 2 columns (id, label)"), "{error}");
    assert!(error.ends_with("or compute features from the graph with parameter `features=structural`"), "{error}");

    let dataset = read(folder.path(), FeatureChoice::replace("structural").unwrap()).unwrap();
    let rows: Vec<&[f32]> = values(&dataset).chunks_exact(9).collect();
    // Degrees 2, 2, 3, 1 and 0.
    let logs = [3f64, 3.0, 4.0, 2.0, 1.0].map(f64::ln);
    let mean = logs.iter().sum::<f64>() / 5.0;
    let deviation = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 5.0).sqrt();
    for (row, log) in rows.iter().zip(logs) {
        assert!((f64::from(row[0]) - (log - mean) / deviation).abs() < 1e-6, "{row:?}");
    }
    assert!(rows.iter().all(|row| row.iter().all(|value| value.is_finite())));
    let note = "9 structural features computed from the graph: degree, clustering, return probabilities of 2 to 8 steps (exact)";
    assert!(dataset.notes.iter().any(|found| found == note), "{:?}", dataset.notes);

    let spectral = read(folder.path(), FeatureChoice::add("structural,spectral:7").unwrap()).unwrap();
    assert_eq!(spectral.features(), 16);
    let row = |node: usize| &values(&spectral)[16 * node..16 * (node + 1)];
    assert_eq!((&row(0)[..9], &row(4)[9..]), (rows[0], &[0.0; 7][..]));
}

/// Only a table of labels, and only ids for prediction.
#[test]
fn features_may_be_missing_altogether() {
    let labels = folder(&[("labels.csv", "a,x\nb,x\nc,y\nd,y\n"), ("edges.csv", EDGES)]);
    let error = load(labels.path().to_str().unwrap()).unwrap_err().to_string();
    assert!(error.ends_with("or compute features from the graph with parameter `features=structural`"), "{error}");
    for features in [FeatureChoice::replace("structural"), FeatureChoice::add("structural")] {
        assert_eq!(read(labels.path(), features.unwrap()).unwrap().features(), 9);
    }
    let ids = folder(&[("nodes.csv", "id\na\nb\nc\nd\n"), ("edges.csv", EDGES)]);
    let expected = Expected {
        features: 0,
        schema: None,
        links: Default::default(),
        classes: vec!["x".into(), "y".into()],
        several: false,
    };
    let tables = TableOptions { expected: Some(expected), ..Default::default() };
    let options = LoadOptions { tables, features: FeatureChoice::replace("structural").unwrap(), ..Default::default() };
    assert_eq!(load_with(ids.path().to_str().unwrap(), &options).unwrap().nodes(), 4);
}

#[test]
fn given_features_are_replaced_or_kept() {
    let nodes = "id,label,age,note\na,x,1,word\nb,x,2,7\nc,y,3,8\nd,y,4,9\n";
    let folder = folder(&[("nodes.csv", nodes), ("edges.csv", EDGES)]);
    // The last column cannot be read, which does not matter if it is not used.
    let error = load(folder.path().to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains("column `note`"), "{error}");
    let dataset = read(folder.path(), FeatureChoice::replace("structural").unwrap()).unwrap();
    assert_eq!((dataset.features(), &dataset.schema), (9, &None));
    assert!(dataset.notes.iter().any(|note| note == "nodes.csv: columns of features not used"), "{:?}", dataset.notes);

    let tables = TableOptions { ignore_columns: Some("note".into()), ..Default::default() };
    let features = FeatureChoice::add("spectral:2").unwrap();
    let options = LoadOptions { tables, features, ..Default::default() };
    let dataset = load_with(folder.path().to_str().unwrap(), &options).unwrap();
    assert_eq!(dataset.features(), 3);
    let ages: Vec<f32> = values(&dataset).iter().step_by(3).copied().collect();
    assert_eq!(ages, [1.0, 2.0, 3.0, 4.0]);
}

/// Means and deviations of the first graph are applied to the second.
#[test]
fn recorded_scales_are_used_again() {
    let first = folder(&[("nodes.csv", NODES), ("edges.csv", EDGES)]);
    let features = read(first.path(), FeatureChoice::replace("structural").unwrap()).unwrap();
    let recorded = features.origin.as_ref().unwrap().features.clone();
    let again = read(first.path(), recorded.clone()).unwrap();
    assert_eq!(values(&again), values(&features));
    let second = folder(&[("nodes.csv", NODES), ("edges.csv", "a,b\nb,c\nc,a\na,d\nd,e\n")]);
    let second = read(second.path(), recorded).unwrap();
    // Nodes of degree 2 have the same value in both graphs.
    assert_eq!(values(&second)[9], values(&features)[9]);
}

#[test]
fn spectral_features_need_one_graph() {
    let nodes = "graph,id,label,split\ng,1,x,train\ng,2,y,train\nh,1,y,test\nh,2,x,test\n";
    let folder = folder(&[("nodes.csv", nodes), ("edges.csv", "graph,source,target\ng,1,2\nh,1,2\n")]);
    let error = read(folder.path(), FeatureChoice::replace("spectral:2").unwrap()).unwrap_err().to_string();
    assert!(error.contains("graphs: expected one, because spectral features of several graphs"), "{error}");
    let dataset = read(folder.path(), FeatureChoice::replace("structural").unwrap()).unwrap();
    assert_eq!((dataset.examples.len(), dataset.features()), (2, 9));
}

const AGES: &str = "id,label,age\na,x,1\nb,x,2\nc,y,3\nd,y,4\ne,y,9\n";

/// Node d has the neighbour c, and c has a, b and d. Node e has none.
#[test]
fn columns_of_neighbours_are_added() {
    let folder = folder(&[("nodes.csv", AGES), ("edges.csv", EDGES)]);
    let dataset = read(folder.path(), FeatureChoice::add("pagerank,means:2,extremes:2").unwrap()).unwrap();
    assert_eq!(dataset.features(), 1 + 1 + 2 + 4);
    let rows: Vec<&[f32]> = values(&dataset).chunks_exact(8).collect();
    // Means of one and two steps, then minima, then maxima.
    let (of_c, of_d) = ((1.0 + 2.0 + 4.0) / 3.0, 3.0);
    let of_a = (2.0 + 3.0) / 2.0;
    let of_b = (1.0 + 3.0) / 2.0;
    assert_eq!(rows[3][2..], [of_d, of_c, 3.0, 1.0, 3.0, 4.0]);
    assert_eq!(rows[2][2..], [of_c, (of_a + of_b + of_d) / 3.0, 1.0, 1.0, 4.0, 3.0]);
    assert_eq!((rows[4][0], &rows[4][2..]), (9.0, &[0.0; 6][..]));
    assert!(rows[2][1] > rows[3][1] && rows[2][1] > 0.0, "node c has the most links");
    let note = "4 features computed from neighbours: minima and maxima of 1 given ones, up to 2 steps";
    assert!(dataset.notes.iter().any(|found| found == note), "{:?}", dataset.notes);
}

#[test]
fn columns_of_neighbours_are_weighted_and_of_given_features_only() {
    let folder = folder(&[("nodes.csv", AGES), ("edges.csv", "source,target,weight\na,b,1\na,c,3\n")]);
    let dataset = read(folder.path(), FeatureChoice::add("structural,means:1").unwrap()).unwrap();
    assert_eq!(dataset.features(), 1 + 9 + 1);
    assert_eq!(values(&dataset)[10], (2.0 + 3.0 * 3.0) / 4.0);
}

#[test]
fn columns_of_neighbours_need_given_features() {
    let tables = folder(&[("nodes.csv", NODES), ("edges.csv", EDGES)]);
    let error = read(tables.path(), FeatureChoice::add("structural,means:1").unwrap()).unwrap_err().to_string();
    assert!(error.contains("columns for the computed features means:1, found 0"), "{error}");
}

#[test]
fn computed_features_are_converted() {
    let folder = folder(&[("nodes.csv", NODES), ("edges.csv", EDGES)]);
    let dataset = read(folder.path(), FeatureChoice::replace("structural,spectral:2").unwrap()).unwrap();
    let file = folder.path().join("graph.safetensors");
    convert(&dataset, &file).unwrap();
    assert_eq!(values(&load(file.to_str().unwrap()).unwrap()), values(&dataset));
    let tables = folder.path().join("tables");
    convert(&dataset, &tables).unwrap();
    assert_eq!(values(&load(tables.to_str().unwrap()).unwrap()), values(&dataset));
}

#[test]
fn arrays_may_have_computed_features() {
    let arrays =
        || Dataset::builder(4).edges(&[(0, 1), (1, 2), (2, 0), (2, 3)]).labels(&[Some(0), Some(1), None, None]);
    let dataset = arrays().compute_features(FeatureChoice::add("structural").unwrap()).build().unwrap();
    assert_eq!(dataset.features(), 9);
    let with = arrays().dense_features(&[1.0; 4], 1).compute_features(FeatureChoice::add("structural").unwrap());
    assert_eq!(with.build().unwrap().features(), 10);
    let error = arrays().build().unwrap_err().to_string();
    assert!(error.contains("or compute_features"), "{error}");
}
