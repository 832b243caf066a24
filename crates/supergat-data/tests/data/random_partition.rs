//! Tests of random partition graphs: properties of the generated graphs, and errors of specifications.

use supergat_core::Labels;
use supergat_data::random_partition::NAME;
use supergat_data::{Dataset, Error, RandomPartition};

/// Returns the mean degree, and the mean share of neighbours of the same class over nodes with neighbours.
fn degree_and_homophily(dataset: &Dataset) -> (f64, f64) {
    let example = &dataset.examples[0];
    let Labels::Single { of, .. } = &example.labels else { panic!("one class per node") };
    let shares: Vec<f64> = (0..dataset.nodes())
        .filter(|&node| example.graph.degree(node) > 0)
        .map(|node| {
            let same = |&&other: &&u32| other as usize != node && of[other as usize] == of[node];
            let count = example.graph.incoming().of(node).iter().filter(same).count();
            count as f64 / example.graph.degree(node) as f64
        })
        .collect();
    let degrees: usize = (0..dataset.nodes()).map(|node| example.graph.degree(node)).sum();
    (degrees as f64 / dataset.nodes() as f64, shares.iter().sum::<f64>() / shares.len() as f64)
}

#[test]
fn graphs_have_the_requested_degree_and_homophily() {
    for (degree, homophily) in [(2.5, 0.1), (10.0, 0.5), (50.0, 0.9)] {
        for seed in 0..3 {
            let made = RandomPartition { degree, homophily, seed, ..Default::default() };
            let dataset = made.generate().unwrap();
            let (found_degree, found_homophily) = degree_and_homophily(&dataset);
            assert!((found_degree / degree - 1.0).abs() < 0.04, "{made}: degree {found_degree}");
            assert!((found_homophily - homophily).abs() < 0.02, "{made}: homophily {found_homophily}");
            let graph = &dataset.examples[0].graph;
            assert_eq!((graph.self_loops(), graph.duplicates()), (0, 0));
            assert_eq!(dataset.listed_links as usize * 2, graph.edges() - graph.nodes());
        }
    }
}

#[test]
fn features_have_mean_zero_and_deviation_one() {
    let dataset = RandomPartition::default().generate().unwrap();
    let values = dataset.examples[0].features.values();
    let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / values.len() as f64;
    assert!(mean.abs() < 1e-6 && (variance - 1.0).abs() < 1e-6, "{mean} {variance}");
}

#[test]
fn splits_are_exact_per_class_and_disjoint() {
    let dataset = RandomPartition::default().generate().unwrap();
    let example = &dataset.examples[0];
    for (split, count) in [(&example.train, 20), (&example.validation, 50), (&example.test, 100)] {
        for class in 0..10u32 {
            assert_eq!(split.iter().filter(|&&node| node / 500 == class).count(), count);
        }
    }
    let mut all = [&example.train[..], &example.validation, &example.test].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 1700);
}

#[test]
fn parses_and_displays_specifications() {
    let full = "random-partition:homophily=0.5,degree=10,classes=10,nodes=500,seed=0";
    assert_eq!(RandomPartition::default().to_string(), full);
    assert_eq!(full.parse::<RandomPartition>().unwrap(), RandomPartition::default());
    assert_eq!("random-partition".parse::<RandomPartition>().unwrap(), RandomPartition::default());
    let some: RandomPartition = "random-partition:degree=2.5,seed=7".parse().unwrap();
    assert_eq!(some, RandomPartition { degree: 2.5, seed: 7, ..Default::default() });
    assert_eq!(some.to_string().parse::<RandomPartition>().unwrap(), some);
}

#[test]
fn explains_invalid_specifications() {
    for (rest, expected) in [
        (":homophly=1", "expected homophily, degree, classes, nodes (per class) or seed, found `homophly`"),
        (":", "expected settings such as homophily=0.5, found ``"),
        (":homophily=0.5,", "expected settings such as homophily=0.5, found ``"),
        ("-graph", "expected `:` after random-partition, found `-graph`"),
        (":seed=-1", "expected a whole number for seed, found `-1`"),
        (":degree=ten", "expected a number for degree, found `ten`"),
        (":seed=1,seed=2", "expected seed once, found `seed=2`"),
    ] {
        let spec = format!("{NAME}{rest}");
        assert_eq!(spec.parse::<RandomPartition>().unwrap_err().to_string(), format!("`{spec}`: {expected}"));
    }
    for rest in [
        "homophily=1.1",
        "homophily=-0.1",
        "homophily=NaN",
        "degree=-1",
        "degree=inf",
        "degree=NaN",
        "degree=501,homophily=1",
        "degree=4999,homophily=0",
        "classes=1",
        "classes=0",
        "classes=18446744073709551615,nodes=18446744073709551615",
        "nodes=169",
        "nodes=100000000",
    ] {
        let error = format!("{NAME}:{rest}").parse::<RandomPartition>().unwrap_err();
        assert!(matches!(error, Error::Spec { .. }), "{rest}: {error}");
    }
}
