//! Same seed, same bits, at any number of threads: whole training runs of every form, and another seed gives another run.

mod common;

use common::{FORMS, Recipe, architecture};
use std::ops::ControlFlow;
use supergat::train::plans;
use supergat::{Architecture, Model, Outcome, TrainConfig, Trainer};

fn run(form: supergat::Form, seed: u64, threads: usize, sparse: bool) -> (Outcome, Vec<u32>, Vec<u64>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let recipe = Recipe {
            nodes: 3000,
            edges: 12_000,
            features: 40,
            classes: 4,
            directed: false,
            sparse,
            ..Recipe::default()
        };
        let examples = [recipe.build::<f32>()];
        let config = TrainConfig {
            lr: 0.01,
            lambda_2: 1e-3,
            lambda_e: 2.0,
            p_e: 0.8,
            p_n: 0.5,
            max_epochs: 6,
            early_stop: None,
        };
        let shape = architecture(&examples[0], form, true);
        let shape = Architecture { dropout: 0.6, heads: 8, hidden: 8, output_heads: 8, ..shape };
        let plans = plans(&examples, true, &config).unwrap();
        let mut model = Model::new(shape, seed).unwrap();
        let mut losses = vec![];
        let outcome = Trainer::new(&mut model, &examples, &plans, config, seed)
            .unwrap()
            .run(|epoch| {
                losses.extend([epoch.train.label, epoch.train.edge, epoch.validation.loss].map(f64::to_bits));
                ControlFlow::Continue(())
            })
            .unwrap();
        (outcome, model.parameters().flat_map(|p| p.to_rows()).map(f32::to_bits).collect(), losses)
    })
}

#[test]
fn same_bits_at_any_number_of_threads() {
    for (k, form) in FORMS.into_iter().enumerate() {
        let one = run(form, 1, 1, k % 2 == 0);
        for threads in [2, 8] {
            assert!(one == run(form, 1, threads, k % 2 == 0), "{form:?} differs at {threads} threads");
        }
        assert!(one != run(form, 2, 1, k % 2 == 0), "{form:?} does not depend on the seed");
    }
}

#[test]
fn also_on_lesser_instruction_sets() {
    common::again_with_lesser_instruction_sets();
}
