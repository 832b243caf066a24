//! Epochs allocate no memory.

#[path = "engine/common.rs"]
mod common;

use common::{FORMS, Recipe, architecture};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use supergat_core::layers::{Boundary, Contrast};
use supergat_core::{Architecture, EarlyStop, ModelKind, Prepared, TrainConfig, Trainer};

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

#[test]
fn epochs_allocate_nothing() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        let forms = FORMS.map(|form| ModelKind::Attention { form, self_supervised: true });
        for kind in forms.into_iter().chain([ModelKind::Constrained { by_classes: true }]) {
            for sparse in [false, true] {
                let recipe = Recipe { nodes: 600, edges: 2000, features: 30, sparse, ..Recipe::default() };
                let examples = [recipe.build::<f32>(), Recipe { nodes: 300, seed: 1, ..recipe }.build()];
                let stop = EarlyStop { patience: 100, window: 5, loss_change: 0.0, metric_change: 0.0 };
                let config = TrainConfig {
                    lr: 0.01,
                    lambda_2: 0.0,
                    lambda_e: 1.0,
                    p_e: 0.8,
                    p_n: 0.5,
                    contrast: (!kind.is_self_supervised()).then_some(Contrast {
                        top_k: 3,
                        negatives_per_edge: 4,
                        lambda_g: 1.5,
                        margin_g: 0.5,
                        boundary: Some(Boundary { lambda_b: 0.5, margin_b: 0.1 }),
                    }),
                    max_epochs: 30,
                    early_stop: Some(stop),
                };
                let shape =
                    Architecture { model: kind, dropout: 0.5, layers: 3, ..architecture(&examples[0], FORMS[0], true) };
                let prepared = Prepared::new(&examples, shape, config).unwrap();
                let mut trainer = Trainer::new(&prepared, 0).unwrap();
                // In the first epochs, the thread pool may allocate its queues.
                for _ in 0..4 {
                    trainer.next_epoch().unwrap().unwrap();
                }
                let before = ALLOCATIONS.load(Ordering::Relaxed);
                for _ in 0..6 {
                    trainer.next_epoch().unwrap().unwrap();
                }
                let allocated = ALLOCATIONS.load(Ordering::Relaxed) - before;
                assert_eq!(allocated, 0, "{kind}, sparse {sparse}: allocations in six epochs");
            }
        }
    });
    // A separate test would run at the same time, and its allocations would be counted.
    common::repeat_on_lesser_instruction_sets(None);
}
