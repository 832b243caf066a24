//! Determinism of whole training runs: the same seed gives the same bits with any number of threads, another
//! seed gives other results.

use crate::common::{ALL_FORMS, FORMS, Recipe, architecture};
use std::ops::ControlFlow;
use supergat_core::hyperparameters::{ClassConstraintSettings, ConstraintSettings};
use supergat_core::{Contrast, ModelKind, Outcome, Precision, Prepared, TrainConfig, Trainer};
use supergat_cpu::Cpu;

/// Trains with a seed and a number of threads; returns scores, weights, and losses of all epochs.
fn run(
    kind: ModelKind,
    precision: Precision,
    seed: u64,
    threads: usize,
    sparse: bool,
    label_input: f64,
) -> (Outcome, Vec<u32>, Vec<u64>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let recipe =
            Recipe { nodes: 2000, edges: 8000, features: 40, classes: 4, directed: false, sparse, ..Recipe::default() };
        let examples = [recipe.build::<f32>()];
        let config = TrainConfig::default().with(|c| {
            c.training.lr = 0.01;
            c.training.lambda_2 = 1e-3;
            c.edge_loss.lambda_e = 2.0;
            c.edge_loss.p_e = 0.8;
            c.edge_loss.p_n = 0.5;
            c.contrast = matches!(kind, ModelKind::Constrained { .. }).then_some(Contrast {
                constraints: ConstraintSettings { top_k: 3, negatives_per_edge: 4, lambda_g: 1.5, margin_g: 0.5 },
                boundary: Some(ClassConstraintSettings { lambda_b: 0.5, margin_b: 0.1 }),
            });
            c.training.checkpointing = false;
            c.training.focal_gamma = 0.0;
            c.training.max_epochs = 4;
            c.early_stopping.early_stop = false;
            c.early_stopping.patience = 0;
            c.select = None;
        });
        let shape = architecture(&examples[0], FORMS[0], true);
        let label_reuse = usize::from(label_input > 0.0);
        let shape = shape.with(|a| (a.network.label_input, a.network.label_reuse) = (label_input, label_reuse));
        let shape = shape.with(|a| {
            a.model = kind;
            a.network.dropout = 0.6;
            a.network.heads = 8;
            a.network.hidden = 8;
            a.network.output_heads = 8;
            a.network.precision = precision;
        });
        let prepared = Prepared::on(&Cpu::default(), &examples, shape, config).unwrap();
        let mut losses = vec![];
        let trained = Trainer::new(&prepared, seed)
            .unwrap()
            .run(|epoch| {
                losses.extend([epoch.train.label, epoch.train.edge, epoch.validation.loss].map(f64::to_bits));
                ControlFlow::Continue(())
            })
            .unwrap();
        let device = trained.model.device();
        let weights = trained.model.parameters().flat_map(|p| p.to_rows(device).unwrap()).map(f32::to_bits).collect();
        (trained.outcome, weights, losses)
    })
}

#[test]
fn results_are_identical_for_any_number_of_threads() {
    let model = |form| ModelKind::Attention { form, self_supervised: true };
    let full = ALL_FORMS.map(model).into_iter().chain([ModelKind::Constrained { by_classes: true }]);
    let half = FORMS.map(|form| (model(form), Precision::Bf16));
    for (k, (kind, precision)) in full.map(|kind| (kind, Precision::F32)).chain(half).enumerate() {
        let label_input = if k % 3 == 1 { 0.5 } else { 0.0 };
        let run = |seed, threads| run(kind, precision, seed, threads, k % 2 == 0, label_input);
        let one = run(1, 1);
        for threads in [2, 3, 8] {
            assert!(one == run(1, threads), "{kind} in {} differs with {threads} threads", precision.name());
        }
        assert!(one != run(2, 1), "{kind} in {} does not depend on the seed", precision.name());
    }
}
