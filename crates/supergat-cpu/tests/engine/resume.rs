//! Resumed trainings: the same bits as without interruption, for every kind of model.

use crate::common::{ALL_FORMS, FORMS, Recipe, architecture};
use std::ops::ControlFlow;
use supergat_core::hyperparameters::{ClassConstraintSettings, ConstraintSettings, EarlyStoppingSettings};
use supergat_core::{
    Contrast, Convolution, Epoch, ModelKind, Outcome, Prepared, TrainConfig, TrainState, Trained, Trainer,
};
use supergat_cpu::Cpu;

/// Returns every kind of model.
fn kinds() -> impl Iterator<Item = ModelKind> {
    let forms = ALL_FORMS
        .into_iter()
        .flat_map(|form| [true, false].map(|self_supervised| ModelKind::Attention { form, self_supervised }));
    let convolutions = [Convolution::Gcn, Convolution::GcnIncoming, Convolution::Sage, Convolution::SageRoot];
    let constrained = [true, false].map(|by_classes| ModelKind::Constrained { by_classes });
    forms.chain(constrained).chain(convolutions.map(ModelKind::Convolution)).chain([ModelKind::Mlp])
}

fn config(kind: ModelKind, max_epochs: usize, early_stop: Option<EarlyStoppingSettings>) -> TrainConfig {
    let contrast = match kind {
        ModelKind::Constrained { by_classes } => Some(Contrast {
            constraints: ConstraintSettings { top_k: 3, negatives_per_edge: 4, lambda_g: 1.5, margin_g: 0.5 },
            boundary: by_classes.then_some(ClassConstraintSettings { lambda_b: 0.5, margin_b: 0.1 }),
        }),
        _ => None,
    };
    TrainConfig::default().with(|c| {
        c.training.lr = 0.05;
        c.training.lambda_2 = 1e-3;
        c.edge_loss.p_e = 0.8;
        c.edge_loss.p_n = 0.5;
        c.contrast = contrast;
        c.training.max_epochs = max_epochs;
        c.early_stopping = early_stop.unwrap_or(c.early_stopping);
    })
}

/// Two training graphs and one of validation and test nodes. Three heads of three features have padding.
fn prepared(kind: ModelKind, max_epochs: usize, early_stop: Option<EarlyStoppingSettings>) -> Prepared<Cpu<f32>> {
    let recipe = Recipe { nodes: 60, edges: 200, features: 6, ..Recipe::default() };
    let mut examples = [0, 1, 2].map(|seed| Recipe { seed, sparse: seed == 1, ..recipe }.build::<f32>());
    examples[2].train.clear();
    let shape = architecture(&examples[0], FORMS[0], true);
    let shape = shape.with(|a| {
        a.model = kind;
        a.network.dropout = 0.4;
        a.network.heads = 3;
        a.network.layers = 3;
        a.network.output_heads = 2;
    });
    Prepared::on(&Cpu::default(), &examples, shape, config(kind, max_epochs, early_stop)).unwrap()
}

/// Outcome, bits of the weights and of the logits, and history of a training.
type Result = (Outcome, Vec<u32>, Vec<u32>, Vec<Epoch>);

fn result(trained: Trained<Cpu<f32>>, history: Vec<Epoch>) -> Result {
    let device = Cpu::default();
    let weights = trained.model.parameters().flat_map(|p| p.to_rows(&device).unwrap()).map(f32::to_bits).collect();
    let logits = trained.logits.iter().flatten().map(|logit| logit.to_bits()).collect();
    (trained.outcome, weights, logits, history)
}

/// Trains to the end, and returns the files of the states after all epochs.
fn whole(prepared: &Prepared<Cpu<f32>>) -> (Result, Vec<Vec<u8>>) {
    let (mut history, mut files) = (Vec::new(), Vec::new());
    let trained = Trainer::new(prepared, 5).unwrap().run_observed(|trainer, epoch| {
        history.push(*epoch);
        files.push(trainer.state(&history)?.to_bytes());
        Ok(ControlFlow::Continue(()))
    });
    (result(trained.unwrap(), history), files)
}

fn resumed(prepared: &Prepared<Cpu<f32>>, file: &[u8]) -> Result {
    let state = TrainState::from_bytes(file).unwrap();
    let mut history = state.history.clone();
    let trained = Trainer::resume(prepared, &state).unwrap().run(|epoch| {
        history.push(*epoch);
        ControlFlow::Continue(())
    });
    result(trained.unwrap(), history)
}

fn on<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn every_model_resumes_from_every_epoch_with_the_same_bits() {
    for kind in kinds() {
        let (expected, files) = on(1, || whole(&prepared(kind, 6, None)));
        assert_eq!(files.len(), 6);
        for (epoch, file) in files.iter().enumerate() {
            let found = on(1 + epoch % 3, || resumed(&prepared(kind, 6, None), file));
            assert!(found == expected, "{kind}, resumed after epoch {epoch}");
        }
    }
}

/// A training that is saved and resumed after every epoch ends as one without interruption.
#[test]
fn resumes_after_every_epoch() {
    let kind = ModelKind::Attention { form: FORMS[3], self_supervised: true };
    let prepared = prepared(kind, 6, None);
    let (expected, files) = whole(&prepared);
    let mut file = files[0].clone();
    for expected_file in &files[1..] {
        let state = TrainState::from_bytes(&file).unwrap();
        let mut trainer = Trainer::resume(&prepared, &state).unwrap();
        let mut history = state.history;
        history.extend(trainer.next_epoch().unwrap());
        file = trainer.state(&history).unwrap().to_bytes();
        assert!(file == *expected_file, "after epoch {}", history.len());
    }
    assert!(resumed(&prepared, &file) == expected);
}

#[test]
fn early_stopping_continues_where_it_was() {
    let stop = EarlyStoppingSettings {
        early_stop: true,
        early_stop_after: 8,
        early_stop_window: 4,
        early_stop_loss_change: 0.005,
        early_stop_metric_change: 0.0,
        ..EarlyStoppingSettings::default()
    };
    let kind = ModelKind::Attention { form: FORMS[3], self_supervised: true };
    let prepared = prepared(kind, 200, Some(stop));
    let (expected, files) = whole(&prepared);
    assert!((12..100).contains(&files.len()), "stopped after {} epochs", files.len());
    for (epoch, file) in files.iter().enumerate() {
        assert!(resumed(&prepared, file) == expected, "resumed after epoch {epoch}");
    }
}
