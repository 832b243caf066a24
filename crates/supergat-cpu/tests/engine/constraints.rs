//! CGAT compared with a naive computation of its definition, on a graph where every draw has one candidate
//! only.

use supergat_core::hyperparameters::{ClassConstraintSettings, ConstraintSettings, NetworkSettings};
use supergat_core::{
    Architecture, Contrast, Direction, Example, Features, Graph, Labels, ModelKind, Prepared, Session, TrainConfig,
};
use supergat_cpu::{Cpu, Model};

const NODES: usize = 6;
const FEATURES: usize = 4;
const HEADS: usize = 3;
const CLASSES: usize = 2;
const SLOPE: f64 = 0.2;

/// Returns the only node that a node is not linked with.
fn opposite(node: usize) -> usize {
    (node + 3) % NODES
}

/// Builds the example. Training nodes are 0 and 1 of class 0 and 3 of class 1. Of these, 1 and 3 have one
/// training neighbour of the other class, 0 has none.
fn example() -> Example<f64> {
    let pairs = (0..NODES).flat_map(|a| (0..a).map(move |b| (a, b))).filter(|&(a, b)| opposite(a) != b);
    let edges: Vec<(u32, u32)> = pairs.map(|(a, b)| (a as u32, b as u32)).collect();
    let graph = Graph::from_edges(NODES, &edges, Direction::Undirected).unwrap();
    let values = (0..NODES * FEATURES).map(|k| ((k * k * 7 + k) % 23) as f64 / 9.0 - 1.2).collect();
    let labels = Labels::Single { classes: CLASSES, of: vec![0, 0, 1, 1, 0, 1] };
    let features = Features::dense(NODES, FEATURES, values).unwrap();
    Example::new(graph, features, labels, [vec![0, 1, 3], vec![2], vec![4, 5]]).unwrap()
}

/// Projected features and attention vectors of the model, in the usual order.
struct Naive {
    z: Vec<Vec<Vec<f64>>>,
    a: Vec<f64>,
}

impl Naive {
    fn new(model: &Model<f64>, example: &Example<f64>) -> Self {
        let parameters: Vec<Vec<f64>> = model.parameters().map(|p| p.to_rows(model.device()).unwrap()).collect();
        let (w, x) = (&parameters[0], example.features.values());
        let z = |i: usize, h: usize, c: usize| {
            (0..FEATURES).map(|f| x[i * FEATURES + f] * w[f * HEADS * CLASSES + h * CLASSES + c]).sum()
        };
        let z = (0..NODES).map(|i| (0..HEADS).map(|h| (0..CLASSES).map(|c| z(i, h, c)).collect()).collect()).collect();
        Self { z, a: parameters[1].clone() }
    }

    fn score(&self, h: usize, target: usize, source: usize) -> f64 {
        let a = &self.a[h * 2 * CLASSES..(h + 1) * 2 * CLASSES];
        let e: f64 = (0..CLASSES).map(|c| a[c] * self.z[target][h][c] + a[CLASSES + c] * self.z[source][h][c]).sum();
        if e > 0.0 { e } else { SLOPE * e }
    }

    /// Returns the logits of a node when every head attends to its `k` neighbours with the highest scores.
    fn logits(&self, i: usize, k: usize) -> Vec<f64> {
        let mut out = vec![0.0; CLASSES];
        for h in 0..HEADS {
            let mut best: Vec<(f64, usize)> =
                (0..NODES).filter(|&j| opposite(i) != j).map(|j| (self.score(h, i, j), j)).collect();
            best.sort_by(|a, b| b.0.total_cmp(&a.0));
            best.truncate(k);
            let sum: f64 = best.iter().map(|(score, _)| score.exp()).sum();
            for (score, j) in best {
                (0..CLASSES).for_each(|c| out[c] += score.exp() / sum * self.z[j][h][c] / HEADS as f64);
            }
        }
        out
    }

    fn margin_loss(&self, triples: &[[usize; 3]], margin: f64) -> f64 {
        let terms = triples.iter().flat_map(|&[i, j, k]| {
            (0..HEADS).map(move |h| (self.score(h, i, k) + margin - self.score(h, i, j)).max(0.0))
        });
        terms.sum::<f64>() / (triples.len() * HEADS) as f64
    }
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "found {found}, expected {expected}");
}

#[test]
fn losses_and_attention_match_definition() {
    let example = example();
    let all: Vec<[usize; 3]> = (0..NODES)
        .flat_map(|i| (0..NODES).filter(move |&j| opposite(i) != j).map(move |j| [i, j, opposite(i)]))
        .collect();
    let alike = [[0, 0, 3], [0, 1, 3], [1, 0, 4], [1, 1, 4], [3, 3, 0]];
    let boundary = [[1, 0, 3], [1, 1, 3], [3, 3, 1]];
    for by_classes in [false, true] {
        let contrast = Contrast {
            constraints: ConstraintSettings { top_k: 2, negatives_per_edge: 3, lambda_g: 0.7, margin_g: 0.4 },
            boundary: by_classes.then_some(ClassConstraintSettings { lambda_b: 1.9, margin_b: 0.2 }),
        };
        let architecture = Architecture {
            model: ModelKind::Constrained { by_classes },
            input_features: FEATURES,
            classes: CLASSES,
            multi_label: false,
            edge_features: 0,
            network: NetworkSettings {
                layers: 1,
                hidden: 1,
                heads: 1,
                output_heads: HEADS,
                dropout: 0.0,
                negative_slope: SLOPE,
                edge_messages: false,
                label_input: 0.0,
                label_reuse: 0,
                ..NetworkSettings::default()
            },
        };
        let config = TrainConfig { contrast: Some(contrast), ..TrainConfig::default() };
        let prepared = Prepared::on(&Cpu::default(), std::slice::from_ref(&example), architecture, config).unwrap();
        let model = Model::new(architecture, 4).unwrap();
        let naive = Naive::new(&model, &example);
        let evaluated = model.predict(&example).unwrap();

        let mut session = Session::new(&prepared, model, 1, true).unwrap();
        session.set_step(2).unwrap();
        session.forward(0, true).unwrap();
        let trained = session.logits(0).unwrap();
        session.backward(0, true, None).unwrap();
        let loss = session.loss(0, None).unwrap();
        for i in 0..NODES {
            for c in 0..CLASSES {
                close(trained[i * CLASSES + c], naive.logits(i, 2)[c]);
                close(evaluated[i * CLASSES + c], naive.logits(i, NODES)[c]);
            }
        }
        let expected = if by_classes {
            0.7 * naive.margin_loss(&alike, 0.4) + 1.9 * naive.margin_loss(&boundary, 0.2)
        } else {
            0.7 * naive.margin_loss(&all, 0.4)
        };
        assert!(expected > 0.1, "all margins are satisfied: {expected}");
        close(loss.edge, expected);
        close(loss.total, loss.label + expected);
    }
}

#[test]
fn rejects_invalid_constraints() {
    let good = Contrast {
        constraints: ConstraintSettings { top_k: 4, negatives_per_edge: 5, lambda_g: 1.0, margin_g: 0.5 },
        boundary: None,
    };
    assert!(good.check().is_ok());
    for bad in [
        Contrast { constraints: ConstraintSettings { top_k: 0, ..good.constraints }, ..good },
        Contrast { constraints: ConstraintSettings { top_k: 65, ..good.constraints }, ..good },
        Contrast { constraints: ConstraintSettings { negatives_per_edge: 0, ..good.constraints }, ..good },
        Contrast { constraints: ConstraintSettings { lambda_g: f64::NAN, ..good.constraints }, ..good },
        Contrast { constraints: ConstraintSettings { margin_g: -0.1, ..good.constraints }, ..good },
        Contrast { boundary: Some(ClassConstraintSettings { lambda_b: f64::INFINITY, margin_b: 0.0 }), ..good },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
    let multi = Example { labels: Labels::Multi { classes: 1, of: vec![1; NODES] }, ..example() };
    let by_classes = Contrast { boundary: Some(ClassConstraintSettings { lambda_b: 1.0, margin_b: 0.1 }), ..good };
    let prepared = |contrast, by_classes| {
        let shape = Architecture::new(ModelKind::Constrained { by_classes }, &multi);
        let config = TrainConfig { contrast: Some(contrast), ..TrainConfig::default() };
        Prepared::on(&Cpu::default(), std::slice::from_ref(&multi), shape, config)
    };
    assert!(prepared(good, false).is_ok());
    let error = prepared(by_classes, true).unwrap_err().to_string();
    assert!(error.contains("use the model cgat"), "{error}");
}
