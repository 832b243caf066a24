//! Epochs allocate no memory.

#[path = "../../supergat-cpu/tests/engine/common.rs"]
mod common;

use common::{ALL_FORMS, FORMS, Recipe, architecture, with_blocks, with_edges};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use supergat_cluster::peers::Alone;
use supergat_cluster::{Cluster, Partition, Share};
use supergat_core::hyperparameters::{
    ClassConstraintSettings, ConstraintSettings, EarlyStoppingSettings, GamOptions, GlcnOptions, LdsOptions,
    NetworkSettings, NeuralSparseOptions,
};
use supergat_core::{
    Activation, Architecture, Contrast, Device, Example, Form, ModelKind, Norm, Prepared, Residual, TrainConfig,
    Trainer,
};
use supergat_cpu::Cpu;
use supergat_systems::{Options, train};

/// Allocator that counts allocations.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed to the system allocator unchanged; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller fulfils the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller fulfils the contract of `dealloc`, and the memory came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the smallest number of allocations in six epochs, over three attempts.
///
/// A thread of the pool allocates its queue and its caches when it first gets work. On a busy machine, that can be
/// after the first epochs. What an epoch itself allocates is counted in every attempt.
fn allocations_in_six(mut next_epoch: impl FnMut()) -> usize {
    (0..4).for_each(|_| next_epoch());
    let mut attempt = || {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        (0..6).for_each(|_| next_epoch());
        ALLOCATIONS.load(Ordering::Relaxed) - before
    };
    (0..3).map(|_| attempt()).min().unwrap()
}

fn allocations<D: Device>(prepared: &Prepared<D>) -> usize {
    let mut trainer = Trainer::new(prepared, 0).unwrap();
    allocations_in_six(|| {
        trainer.next_epoch().unwrap().unwrap();
    })
}

/// Returns for each epoch of a system whether it is the best so far, and its number of allocations.
fn allocations_of_epochs(prepared: &Prepared<Cpu<f32>>, options: Options) -> Vec<(bool, usize)> {
    let (mut before, mut epochs) = (0, Vec::with_capacity(100));
    let trained = train(prepared, options, 0, &mut |epoch| {
        epochs.push((epoch.best, ALLOCATIONS.load(Ordering::Relaxed) - before));
        before = ALLOCATIONS.load(Ordering::Relaxed);
        ControlFlow::Continue(())
    });
    assert_eq!(trained.unwrap().outcome.epochs, epochs.len());
    epochs
}

fn systems_allocate_nothing(sparse: bool) {
    let glcn = GlcnOptions {
        graph_hidden: 10,
        graph_lr: 0.01,
        lambda_graph: 0.01,
        gamma_graph: 0.01,
        graph_from_labels: true,
        lr_decay: 0.9,
    };
    let chosen = NeuralSparseOptions {
        sampled_neighbours: 3,
        sampler_hidden: 10,
        temperature: 1.0,
        temperature_decay: 0.01,
        least_temperature: 0.1,
    };
    let recipe = Recipe { nodes: 600, edges: 4000, features: 30, sparse, ..Recipe::default() };
    for options in [Options::Glcn(glcn), Options::NeuralSparse(chosen)] {
        let (example, model) = (recipe.build::<f32>(), ModelKind::System(options.system()));
        let shape = Architecture::new(model, &example);
        let config = TrainConfig::default().with(|c| c.training.max_epochs = 22);
        let prepared = Prepared::on(&Cpu::default(), &[example], shape, config).unwrap();
        // As in `allocations_in_six`.
        let epochs = &allocations_of_epochs(&prepared, options)[4..];
        let allocated = epochs.chunks(6).map(|six| six.iter().map(|(_, count)| count).sum::<usize>()).min();
        assert_eq!(allocated, Some(0), "{model}: allocations in six epochs");
    }
}

/// Steps of LDS allocate nothing: an epoch of more steps allocates as often as one of a few. An epoch itself returns its graphs,
/// and one that is the best so far copies its weights.
fn lds_steps_allocate_nothing(sparse: bool) {
    let example = Recipe { nodes: 200, edges: 800, features: 30, sparse, ..Recipe::default() }.build::<f32>();
    let shape =
        Architecture::new("lds".parse().unwrap(), &example).with(|a| (a.network.hidden, a.network.dropout) = (8, 0.5));
    let config = TrainConfig::default().with(|c| {
        c.training.lr = 0.01;
        c.training.lambda_2 = 0.001;
        c.training.max_epochs = 8;
    });
    let prepared = Prepared::on(&Cpu::default(), &[example], shape, config).unwrap();
    let allocations = |max_steps| {
        let options = LdsOptions {
            similar_neighbours: 0,
            // Lists of a sampled graph grow with it, so the probabilities of links hardly change here.
            edge_lr: 1e-9,
            edge_steps: 5,
            inner_steps: max_steps,
            inner_patience: max_steps,
            graph_samples: 3,
            outer_patience: 8,
        };
        let of_epoch = allocations_of_epochs(&prepared, Options::Lds(options));
        assert_eq!(of_epoch.len(), 8);
        // The first epochs fill caches of the threads.
        [false, true].map(|best| of_epoch[2..].iter().filter(|epoch| epoch.0 == best).map(|epoch| epoch.1).min())
    };
    let (few, many) = (allocations(10), allocations(60));
    let compared: Vec<_> = few.into_iter().zip(many).filter_map(|(few, many)| few.zip(many)).collect();
    assert!(!compared.is_empty() && compared.iter().all(|(few, many)| few == many), "{few:?} {many:?}");
}

fn gam_allocates_between_rounds_only() {
    let options = GamOptions {
        agreement_hidden: 10,
        agreement_lr: 0.01,
        agreement_steps: 20,
        agreement_edges: 20,
        lambda_ll: 1.0,
        lambda_lu: 1.0,
        lambda_uu: 1.0,
        self_labels: 20,
        self_label_certainty: 0.0,
        keep_class_shares: true,
        rounds: 2,
        round_patience: 10,
    };
    let example = Recipe { nodes: 600, edges: 4000, features: 30, ..Recipe::default() }.build::<f32>();
    let shape = Architecture::new("gcn-gam".parse().unwrap(), &example);
    let training = TrainConfig::default().with(|c| c.training.max_epochs = 10);
    let prepared = Prepared::on(&Cpu::default(), &[example], shape, training).unwrap();
    let allocated: Vec<usize> =
        allocations_of_epochs(&prepared, Options::Gam(options)).into_iter().map(|(_, count)| count).collect();
    assert_eq!(allocated.len(), 20);
    // The first epochs of a round fill caches of the threads.
    assert_eq!([&allocated[4..10], &allocated[14..]].concat(), [0; 12]);
}

#[test]
fn epochs_allocate_nothing() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        let plain = NetworkSettings::default();
        let forms = ALL_FORMS.map(|form| (ModelKind::Attention { form, self_supervised: true }, plain));
        let deep = [Norm::None, Norm::Layer, Norm::Batch].map(|norm| {
            let residual = if norm == Norm::Layer { Residual::Identity } else { Residual::Linear };
            let deep = NetworkSettings { residual, norm, activation: Activation::Relu, input_layer: true, ..plain };
            (forms[3].0, NetworkSettings { output_layer: norm == Norm::Batch, self_loops: norm != Norm::Batch, ..deep })
        });
        let constrained = [(ModelKind::Constrained { by_classes: true }, plain)];
        for (kind, blocks) in forms.into_iter().chain(constrained).chain(deep) {
            for sparse in [false, true] {
                let recipe = Recipe { nodes: 600, edges: 2000, features: 30, sparse, ..Recipe::default() };
                // Attention reads weights and features of edges, and messages carry them.
                let recipes = [recipe, Recipe { nodes: 300, seed: 1, ..recipe }];
                let examples = recipes.map(|recipe| match kind.reads_edge_features() && sparse {
                    true => with_edges::<f32>(recipe, true, 3),
                    false => recipe.build(),
                });
                let stop = EarlyStoppingSettings {
                    early_stop: true,
                    early_stop_after: 100,
                    early_stop_window: 5,
                    early_stop_loss_change: 0.0,
                    early_stop_metric_change: 0.0,
                    ..EarlyStoppingSettings::default()
                };
                let config = TrainConfig::default().with(|c| {
                    c.training.lr = 0.01;
                    c.training.lambda_2 = 0.0;
                    c.edge_loss.lambda_e = 1.0;
                    c.edge_loss.p_e = 0.8;
                    c.edge_loss.p_n = 0.5;
                    c.contrast = (!kind.is_self_supervised()).then_some(Contrast {
                        constraints: ConstraintSettings {
                            top_k: 3,
                            negatives_per_edge: 4,
                            lambda_g: 1.5,
                            margin_g: 0.5,
                        },
                        boundary: Some(ClassConstraintSettings { lambda_b: 0.5, margin_b: 0.1 }),
                    });
                    c.training.focal_gamma = 0.0;
                    c.training.checkpointing = blocks.has_steps() && sparse;
                    c.training.max_epochs = 30;
                    c.early_stopping = stop;
                    c.early_stopping.patience = 0;
                    c.select = None;
                });
                let shape = architecture(&examples[0], FORMS[0], true);
                let edge_messages = shape.edge_features > 0;
                let shape = with_blocks(shape, blocks).with(|a| {
                    a.model = kind;
                    a.network.dropout = 0.5;
                    a.network.layers = 3;
                    a.network.edge_messages = edge_messages;
                });
                let labelled = shape.with(|a| (a.network.label_input, a.network.label_reuse) = (0.5, 1));
                let prepared = Prepared::on(&Cpu::default(), &examples, labelled, config).unwrap();
                assert_eq!(allocations(&prepared), 0, "{kind}, labels as input: allocations in six epochs");
                let what = format!("{kind}, sparse {sparse}, {blocks:?}");
                let prepared = Prepared::on(&Cpu::default(), &examples, shape, config).unwrap();
                assert_eq!(allocations(&prepared), 0, "{what}: allocations in six epochs");
                // Divided graphs have no GATv2.
                if kind.form() == Some(Form::V2) {
                    continue;
                }
                // One process on divided graphs. Lists of non-edges by part grow if a sample is larger than all before.
                let share = |example: &Example<f32>| {
                    let partition = Partition::even(example.graph.nodes(), 8, 2, 1).unwrap();
                    Share::of(example, &Arc::new(partition), 0).unwrap()
                };
                let shares = examples.map(|example| share(&example));
                let prepared = Prepared::on(&Cluster::new(Alone), &shares, shape, config).unwrap();
                let grown = if kind.is_self_supervised() { 20 } else { 0 };
                let allocated = allocations(&prepared);
                assert!(allocated <= grown, "{what}, divided graphs: {allocated} allocations in six epochs");
            }
        }
    });
    pool.install(|| {
        for sparse in [false, true] {
            systems_allocate_nothing(sparse);
            lds_steps_allocate_nothing(sparse);
        }
        gam_allocates_between_rounds_only();
    });
    // A separate test would run at the same time, and its allocations would be counted.
    common::repeat_on_lesser_instruction_sets(None);
}
