//! Types of links and rare classes on generated graphs, where the right answer is known.

use supergat::{ClassWeight, Classifier, Dataset, ThresholdRule};

/// A generator of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn uniform(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// A nearly normal number with mean 0 and deviation 1.
    fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.uniform()).sum::<f32>() - 6.0
    }
}

/// Two classes and as many links within as between them: 8 friends of a node have its class, 8 strangers the other one.
/// Features tell the class of a node in two of three cases. Only the type tells a friend from a stranger.
fn friends_and_strangers(with_types: bool) -> Dataset {
    let (nodes, mut random) = (600, Random(7));
    let (mut edges, mut types) = (Vec::new(), Vec::new());
    for node in 0..nodes {
        for friend in [true, false] {
            for _ in 0..4 {
                // Even and odd nodes are the classes.
                let other = 2 * random.below(nodes / 2) + if friend { node % 2 } else { 1 - node % 2 };
                if other != node {
                    edges.push((node as u32, other as u32));
                    types.extend(if friend { [1.0, 0.0] } else { [0.0, 1.0] });
                }
            }
        }
    }
    let features: Vec<f32> = (0..nodes).map(|node| random.normal() + if node % 2 == 0 { 0.4 } else { -0.4 }).collect();
    let labels: Vec<Option<u32>> = (0..nodes).map(|node| Some(node as u32 % 2)).collect();
    let builder = Dataset::builder(nodes).edges(&edges).dense_features(&features, 1).labels(&labels);
    let builder = if with_types { builder.edge_features(&types, 2) } else { builder };
    builder.build().unwrap()
}

#[test]
fn attention_uses_the_types_of_links() {
    let accuracy = |model: &str, with_types: bool| {
        let builder = Classifier::builder().model(model).max_epochs(200).lr(0.05).dropout(0.0).seeds([0, 1]);
        let builder = builder.set("early_stop", false);
        builder.train(&friends_and_strangers(with_types)).unwrap().test().mean
    };
    for model in ["gat-go", "supergat-mx", "supergat-sd"] {
        let (with, without) = (accuracy(model, true), accuracy(model, false));
        assert!(with >= 0.95 && without < 0.7, "{model}: {with:.3} with types, {without:.3} without");
    }
}

/// One account in a hundred is fraudulent. Accounts of fraud share devices with each other, and their features differ a
/// little from those of others.
fn accounts() -> Dataset {
    let (nodes, mut random) = (6000, Random(3));
    let is_fraud = |node: usize| node.is_multiple_of(100);
    let mut edges = Vec::new();
    for node in 0..nodes {
        for _ in 0..3 {
            edges.push((node as u32, random.below(nodes) as u32));
        }
        if is_fraud(node) {
            for _ in 0..2 {
                edges.push((node as u32, 100 * random.below(nodes / 100) as u32));
            }
        }
    }
    let mut features = Vec::new();
    for node in 0..nodes {
        let shift = if is_fraud(node) { 1.6 } else { 0.0 };
        features.extend([random.normal() + shift, random.normal() + shift, random.normal()]);
    }
    let labels: Vec<Option<u32>> = (0..nodes).map(|node| Some(u32::from(is_fraud(node)))).collect();
    let builder = Dataset::builder(nodes).edges(&edges).dense_features(&features, 3).labels(&labels);
    builder.class_names(["honest", "fraud"]).build().unwrap()
}

#[test]
fn balanced_weights_and_a_threshold_find_rare_classes() {
    let rare_f1 = |dataset: &Dataset, rule: Option<ThresholdRule>| {
        let mut builder = Classifier::builder().model("supergat-mx").max_epochs(100).lr(0.02).seeds([0, 1]);
        if let Some(rule) = rule {
            builder = builder.threshold(rule);
        }
        let predictions = builder.train(dataset).unwrap().predictions;
        let (mut found, mut all, mut right) = (0, 0, 0);
        for &node in &dataset.examples[0].test {
            let (predicted, fraud) = (predictions.classes()[node as usize] == 1, node.is_multiple_of(100));
            (found, all, right) =
                (found + i32::from(predicted), all + i32::from(fraud), right + i32::from(predicted && fraud));
        }
        f64::from(2 * right) / f64::from(found + all)
    };
    let mut dataset = accounts();
    let plain = rare_f1(&dataset, None);
    dataset.weigh_classes(&ClassWeight::Balanced).unwrap();
    let found = rare_f1(&dataset, Some(ThresholdRule::F1));
    assert!(found >= 2.0 * plain && found > 0.25, "{plain:.3} before, {found:.3} with weights and a threshold");
}
