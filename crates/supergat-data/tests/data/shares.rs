//! Tests of random splits by shares and of row-normalised features, over all readers.

use crate::formats::every_format;
use crate::planetoid::real_folder;
use std::fs;
use std::time::Duration;
use supergat_core::Features;
use supergat_data::options::Expected;
use supergat_data::{
    Cache, CacheChoice, Dataset, FeatureChoice, LoadOptions, Result, SplitChoice, TableOptions, convert, load_with,
};

fn split(text: &str) -> LoadOptions {
    LoadOptions { split: text.parse().unwrap(), ..Default::default() }
}

fn sizes(dataset: &Dataset) -> [usize; 3] {
    let sum =
        |list: fn(&supergat_core::Example<f32>) -> &Vec<u32>| dataset.examples.iter().map(|e| list(e).len()).sum();
    [sum(|example| &example.train), sum(|example| &example.validation), sum(|example| &example.test)]
}

fn lists(dataset: &Dataset) -> Vec<[Vec<u32>; 3]> {
    let lists =
        |example: &supergat_core::Example<f32>| [&example.train, &example.validation, &example.test].map(Vec::clone);
    dataset.examples.iter().map(lists).collect()
}

#[test]
fn every_format_is_split_by_shares() {
    for folder in every_format() {
        let source = folder.path();
        let source = source.to_str().unwrap();
        let dataset = load_with(source, &split("random:34/33/33:2")).unwrap();
        let [train, validation, test] = sizes(&dataset);
        assert!(train > 0 && validation > 0 && test > 0, "{:?}", dataset.notes);
        assert!(dataset.notes.iter().any(|note| note.starts_with("a split drawn with seed 2: 34 % of the labelled")));
        assert_eq!(dataset.origin.as_ref().unwrap().split, "random:34/33/33:2".parse().unwrap());
        assert_eq!(lists(&dataset), lists(&load_with(source, &split("random:34/33/33:2")).unwrap()));
    }
}

#[test]
fn generated_and_converted_graphs_are_split_by_shares() {
    let source = "random-partition:classes=2,nodes=200,degree=3";
    let generated = load_with(source, &split("random:60/20/20")).unwrap();
    assert_eq!(sizes(&generated), [240, 80, 80]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.safetensors");
    convert(&supergat_data::load(source).unwrap(), &path).unwrap();
    let converted = load_with(path.to_str().unwrap(), &split("random:60/20/20")).unwrap();
    assert_eq!(lists(&converted), lists(&generated));
    let redrawn = generated.drawn_by_shares("50/25/25".parse().unwrap(), 9).unwrap();
    assert_eq!(redrawn.origin.unwrap().split.to_string(), "random:50/25/25:9");
    let error = load_with(source, &split("random:99.9/0.05/0.05")).unwrap_err().to_string();
    assert!(error.contains("at least one node each"), "{error}");
}

const NODES: &str = "id,label,red,blue\nann,x,3,1\nbob,y,0,0\ncat,x,2,2\ndan,y,0,5\neve,y,1,0\n";
const EDGES: &str = "source,target\nann,bob\nbob,cat\ncat,ann\neve,dan\n";
const DIVIDED: [f32; 10] = [0.75, 0.25, 0.0, 0.0, 0.5, 0.5, 0.0, 1.0, 1.0, 0.0];

struct Tables(tempfile::TempDir);

impl Tables {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("nodes.csv"), NODES).unwrap();
        fs::write(folder.path().join("edges.csv"), EDGES).unwrap();
        Self(folder)
    }

    fn load(&self, options: &LoadOptions) -> Result<Dataset> {
        load_with(self.0.path().to_str().unwrap(), options)
    }
}

fn divided() -> LoadOptions {
    LoadOptions { features: FeatureChoice::default().row_normalise(true), ..Default::default() }
}

#[test]
fn one_cached_file_serves_all_splits_by_shares() {
    let tables = Tables::new();
    let cache = Cache { slow: Duration::ZERO, ..Cache::new(tables.0.path().join(".cache")) };
    let load = |text: &str| tables.load(&LoadOptions { cache: CacheChoice::In(cache.clone()), ..split(text) }).unwrap();
    let first = load("random:40/40/20:1");
    assert_eq!(lists(&load("random:40/40/20:1")), lists(&first));
    assert_ne!(lists(&load("random:40/20/40:8")), lists(&first));
    assert_eq!(cache.entries().len(), 1);
    load("random:1");
    assert_eq!(cache.entries().len(), 2);
}

#[test]
fn row_normalised_tables_are_prepared_alike_everywhere() {
    let tables = Tables::new();
    let values = |dataset: &Dataset| dataset.examples[0].features.values().to_vec();
    let dataset = tables.load(&divided()).unwrap();
    assert_eq!(values(&dataset), DIVIDED);
    assert_eq!(values(&tables.load(&LoadOptions::default()).unwrap())[..2], [3.0, 1.0]);
    assert!(dataset.notes.contains(&"features of each node divided by their sum".to_owned()), "{:?}", dataset.notes);

    // A converted file records it, so a model that was trained on it prepares new tables alike.
    let path = tables.0.path().join("converted.safetensors");
    convert(&dataset, &path).unwrap();
    let converted = load_with(path.to_str().unwrap(), &LoadOptions::default()).unwrap();
    assert_eq!((values(&converted), &converted.schema), (DIVIDED.to_vec(), &dataset.schema));
    assert_eq!(values(&load_with(path.to_str().unwrap(), &divided()).unwrap()), DIVIDED);
    let expected = Expected {
        features: 2,
        schema: converted.schema.clone(),
        links: Default::default(),
        classes: dataset.class_names.clone(),
        several: false,
    };
    let new = TableOptions { expected: Some(expected), ..Default::default() };
    for features in [FeatureChoice::default(), FeatureChoice::default().row_normalise(true)] {
        let options = LoadOptions { tables: new.clone(), features, ..Default::default() };
        assert_eq!(values(&tables.load(&options).unwrap()), DIVIDED);
    }
    let again = TableOptions { schema: dataset.schema.clone(), ..Default::default() };
    assert_eq!(values(&tables.load(&LoadOptions { tables: again, ..divided() }).unwrap()), DIVIDED);
}

#[test]
fn row_normalisation_comes_before_computed_features() {
    let tables = Tables::new();
    let features = FeatureChoice::add("structural").unwrap().row_normalise(true);
    let dataset = tables.load(&LoadOptions { features, ..Default::default() }).unwrap();
    let values = dataset.examples[0].features.values();
    assert_eq!(values.chunks(11).flat_map(|row| &row[..2]).copied().collect::<Vec<_>>(), DIVIDED);
    let features = FeatureChoice::replace("structural").unwrap().row_normalise(true);
    let error = tables.load(&LoadOptions { features, ..Default::default() }).unwrap_err().to_string();
    assert_eq!(
        error,
        "`row_normalise`: expected given features (use parameter `add_features` to keep them), found `features`"
    );
    let standardised = TableOptions { standardise: Some(true), ..Default::default() };
    let error = tables.load(&LoadOptions { tables: standardised, ..divided() }).unwrap_err().to_string();
    assert!(error.contains("expected no numbers below 0"), "{error}");
}

/// The published datasets of the usual 60/20/20 protocol have all words, each row with the sum 1.
#[test]
fn published_datasets_have_normalised_words() {
    for (name, nodes, words, train) in [("photo", 7650, 745, 4590), ("cs", 18333, 6805, 11000)] {
        let Some(folder) = real_folder(name) else { continue };
        let options = LoadOptions { cache: CacheChoice::Off, ..divided() };
        let split: SplitChoice = "random:60/20/20:3".parse().unwrap();
        let dataset = load_with(folder.to_str().unwrap(), &LoadOptions { split, ..options }).unwrap();
        assert_eq!((dataset.nodes(), dataset.features()), (nodes, words));
        assert_eq!((sizes(&dataset)[0], sizes(&dataset).iter().sum::<usize>()), (train, nodes));
        let Features::Sparse(matrix) = &*dataset.examples[0].features else { panic!("sparse") };
        for row in 0..nodes {
            let sum: f64 = matrix.row(row).1.iter().map(|value| f64::from(*value)).sum();
            assert!(matrix.row(row).0.is_empty() || (sum - 1.0).abs() < 1e-4, "{name}, node {row}: {sum}");
        }
    }
}
