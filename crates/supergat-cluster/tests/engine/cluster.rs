//! Training over several processes: equal bits for any number of processes, and the results of one process.

use crate::common::{FORMS, Recipe, architecture};
use bytemuck::Pod;
use std::ops::ControlFlow;
use std::sync::Arc;
use supergat_cluster::peers::ThreadPeers;
use supergat_cluster::{Cluster, Partition, Share};
use supergat_core::hyperparameters::EarlyStoppingSettings;
use supergat_core::{Architecture, Convolution, Epoch, Example, ModelKind, Outcome, Prepared, TrainConfig, Trainer};
use supergat_cpu::{Cpu, Primitives};

/// Everything that a training returns.
#[derive(Debug, PartialEq)]
pub struct Results<T> {
    outcome: Outcome,
    history: Vec<Epoch>,
    weights: Vec<Vec<T>>,
    logits: Vec<Vec<T>>,
}

const PARTS: usize = 8;

/// Trains with several processes, which are threads here. Each has as many threads of its own as given, or shares those
/// of all tests.
pub fn by_processes<T: Primitives + Pod>(
    examples: &[Example<T>],
    architecture: Architecture,
    config: TrainConfig,
    groups: usize,
    processes: usize,
    threads: Option<usize>,
) -> Results<T> {
    let train_here = |process: usize, peers: ThreadPeers| {
        let share = |example: &Example<T>| {
            let partition = Partition::even(example.graph.nodes(), PARTS, groups, processes).unwrap();
            Share::of(example, &Arc::new(partition), process).unwrap()
        };
        let shares: Vec<Share<T>> = examples.iter().map(share).collect();
        let prepared = Prepared::on(&Cluster::new(peers), &shares, architecture, config).unwrap();
        results(Trainer::new(&prepared, 3).unwrap())
    };
    let train = |process: usize, peers: ThreadPeers| match threads {
        Some(threads) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| train_here(process, peers))
        }
        None => train_here(process, peers),
    };
    let mut all: Vec<Results<T>> = std::thread::scope(|scope| {
        let start = |(process, peers)| scope.spawn(move || train(process, peers));
        let threads: Vec<_> = ThreadPeers::new(processes).into_iter().enumerate().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut first = all.remove(0);
    for other in all {
        assert_eq!((&other.outcome, &other.history, &other.weights), (&first.outcome, &first.history, &first.weights));
        for (all, own) in first.logits.iter_mut().zip(&other.logits) {
            all.extend_from_slice(own);
        }
    }
    first
}

fn results<D: supergat_core::Device>(trainer: Trainer<'_, D>) -> Results<D::Number> {
    let mut history = Vec::new();
    let trained = trainer
        .run(|epoch| {
            history.push(*epoch);
            ControlFlow::Continue(())
        })
        .unwrap();
    let device = trained.model.device();
    let weights = trained.model.parameters().map(|parameter| parameter.to_rows(device).unwrap()).collect();
    Results { outcome: trained.outcome, history, weights, logits: trained.logits }
}

/// Models of every kind, with shapes that need padding and several groups of heads.
pub fn models<T: Primitives>(example: &Example<T>) -> Vec<Architecture> {
    let mut all = Vec::new();
    for form in FORMS {
        for self_supervised in [false, true] {
            all.push(architecture(example, form, self_supervised).with(|a| a.network.dropout = 0.3));
        }
    }
    let plain = all[0];
    all.push(all[7].with(|a| (a.network.heads, a.network.output_heads) = (10, 9)));
    all.push(all[1].with(|a| {
        a.network.layers = 3;
        a.network.heads = 8;
        a.network.hidden = 2;
    }));
    let convolutions = [Convolution::Gcn, Convolution::GcnIncoming, Convolution::Sage, Convolution::SageRoot];
    all.extend(convolutions.map(|kind| Architecture { model: ModelKind::Convolution(kind), ..plain }));
    all.push(Architecture { model: ModelKind::Mlp, ..plain });
    all
}

pub fn recipes() -> [Recipe; 4] {
    let plain = Recipe { nodes: 90, edges: 260, features: 7, ..Recipe::default() };
    [
        plain,
        Recipe { directed: false, sparse: true, seed: 1, ..plain },
        // More edges than non-edges, so that non-edges are listed.
        Recipe { nodes: 25, edges: 500, multi: true, seed: 2, ..plain },
        Recipe { directed: false, multi: true, sparse: true, nodes: 41, edges: 60, seed: 3, ..plain },
    ]
}

pub fn config() -> TrainConfig {
    TrainConfig::default().with(|c| (c.training.max_epochs, c.edge_loss.lambda_e) = (4, 2.0))
}

/// Compares the bits of one process and of several, for numbers of groups and of processes.
pub fn assert_same_bits(
    example: &Example<f32>,
    architecture: Architecture,
    config: TrainConfig,
    groups: &[(usize, &[usize])],
) {
    let examples = std::slice::from_ref(example);
    for &(groups, counts) in groups {
        let one = by_processes(examples, architecture, config, groups, 1, None);
        for &processes in counts {
            let many = by_processes(examples, architecture, config, groups, processes, None);
            assert_eq!(one, many, "{architecture:?}, {groups} groups, {processes} processes");
        }
    }
}

/// Compares a training of several processes with one of the CPU.
pub fn assert_agrees_with_cpu(example: &Example<f64>, architecture: Architecture, config: TrainConfig) {
    let examples = std::slice::from_ref(example);
    let prepared = Prepared::on(&Cpu::default(), examples, architecture, config).unwrap();
    let expected = results(Trainer::new(&prepared, 3).unwrap());
    let found = by_processes(examples, architecture, config, 3, 4, None);
    let all = |results: &Results<f64>| [results.weights.concat(), results.logits.concat()].concat();
    let assert_near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()), "{a} and {b}: {architecture:?}");
    all(&expected).iter().zip(all(&found)).for_each(|(a, b)| assert_near(*a, b));
    for (a, b) in expected.history.iter().zip(&found.history) {
        assert_near(a.train.label, b.train.label);
        assert_near(a.train.edge, b.train.edge);
        assert_near(a.test.loss, b.test.loss);
    }
    assert_eq!(expected.outcome.best_epoch, found.outcome.best_epoch);
}

#[test]
fn bits_do_not_depend_on_the_number_of_processes() {
    for recipe in recipes() {
        let example = recipe.build();
        for architecture in models(&example) {
            assert_same_bits(&example, architecture, config(), &[(1, &[2, 8]), (3, &[3, 4])]);
        }
    }
}

#[test]
fn results_agree_with_those_of_one_process() {
    for recipe in recipes() {
        let example = recipe.build();
        models(&example).into_iter().for_each(|architecture| assert_agrees_with_cpu(&example, architecture, config()));
    }
}

#[test]
fn several_graphs_and_early_stopping() {
    let plain = Recipe { nodes: 60, edges: 150, features: 7, multi: true, ..Recipe::default() };
    let examples: Vec<Example<f32>> = (0..4)
        .map(|seed| {
            let example = Recipe { seed, nodes: 60 + 13 * seed as usize, directed: seed % 2 == 0, ..plain }.build();
            let all = (0..example.graph.nodes() as u32).collect();
            let none = Vec::new;
            match seed {
                2 => Example { train: none(), validation: all, test: none(), ..example },
                3 => Example { train: none(), validation: none(), test: all, ..example },
                _ => Example { train: all, validation: none(), test: none(), ..example },
            }
        })
        .collect();
    let architecture = models(&examples[0])[7];
    let early_stop = EarlyStoppingSettings {
        early_stop: true,
        early_stop_after: 3,
        early_stop_window: 4,
        early_stop_loss_change: 0.05,
        early_stop_metric_change: 0.05,
        ..EarlyStoppingSettings::default()
    };
    let config = config().with(|c| (c.training.max_epochs, c.early_stopping) = (60, early_stop));
    let one = by_processes(&examples, architecture, config, 2, 1, None);
    assert!(one.history.len() < 60, "the run stops early");
    for processes in [2, 3, 8] {
        assert_eq!(one, by_processes(&examples, architecture, config, 2, processes, None));
    }
}
