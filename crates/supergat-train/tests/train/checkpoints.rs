//! Checkpoints of runs: resuming, finished seeds, failed writes, files of other runs.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use supergat_core::{Features, TrainState};
use supergat_data::Dataset;
use supergat_train::checkpoints::FoundSeed;
use supergat_train::{
    Checkpoints, DeviceChoice, Interval, Observation, Resources, Runs, Saving, Settings, resume_seeds, run_seeds,
    run_splits,
};

const SEEDS: [u64; 3] = [4, 5, 9];
const EPOCHS: usize = 12;

fn dataset() -> Dataset {
    supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap()
}

fn settings() -> Settings {
    Settings::general("supergat-mx".parse().unwrap()).with(|s| {
        s.training.max_epochs = EPOCHS;
        s.network.heads = 2;
        s.network.hidden = 3;
        s.network.dropout = 0.5;
    })
}

fn go_on(_: Observation<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Trains all seeds one after another with checkpoints, and returns the number of epochs that were run.
fn resume(checkpoints: &Checkpoints<'_>) -> (Runs, usize) {
    let epochs = AtomicUsize::new(0);
    let runs = resume_seeds(&dataset(), &settings(), &SEEDS, 1, Some(checkpoints), |event| {
        if let Observation::Epoch(..) = event {
            epochs.fetch_add(1, Ordering::Relaxed);
        }
        ControlFlow::Continue(())
    });
    (runs.unwrap(), epochs.into_inner())
}

/// Everything of a result but its times.
fn facts(runs: &Runs) -> impl PartialEq + use<> {
    let seeds: Vec<_> = runs.runs.iter().map(|run| (run.seed, run.outcome, run.history.clone())).collect();
    let bits: Vec<u32> = runs.logits.iter().flatten().map(|logit| logit.to_bits()).collect();
    (seeds, runs.best, bits, runs.interrupted)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Copies a folder whenever a checkpoint was written to it: each copy is what a killed process leaves behind.
fn copies_of_a_run(base: &Path, every: Interval) -> usize {
    let copies = AtomicUsize::new(0);
    let checkpoints = Checkpoints::in_folder(&base.join("run"), every).report_to(|saving| {
        let Saving::Saved(folder) = saving else { panic!("{saving:?}") };
        let copy = base.join(copies.fetch_add(1, Ordering::Relaxed).to_string());
        fs::create_dir(&copy).unwrap();
        for name in names(folder) {
            fs::copy(folder.join(&name), copy.join(&name)).unwrap();
        }
    });
    resume(&checkpoints);
    drop(checkpoints);
    copies.into_inner()
}

#[test]
fn resumes_running_seeds_and_does_not_train_finished_ones_again() {
    let base = tempfile::tempdir().unwrap();
    let whole = run_seeds(&dataset(), &settings(), &SEEDS, 2, go_on).unwrap();
    let copies = copies_of_a_run(base.path(), Interval::Epochs(5));
    // Each seed is saved after 5 and 10 epochs; its last 2 epochs are saved with the next checkpoint.
    assert_eq!(copies, 6);
    for (copy, remaining) in [31, 26, 19, 14, 7, 2].into_iter().enumerate() {
        let folder = base.path().join(copy.to_string());
        let (resumed, epochs) = resume(&Checkpoints::in_folder(&folder, Interval::Epochs(5)));
        assert_eq!(epochs, remaining, "epochs after checkpoint {copy}");
        assert!(facts(&resumed) == facts(&whole), "resumed from checkpoint {copy}");
    }
}

#[test]
fn short_runs_write_nothing_until_they_are_flushed() {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("run");
    let checkpoints = Checkpoints::in_folder(&folder, Interval::default());
    let (whole, _) = resume(&checkpoints);
    assert!(!folder.exists() && checkpoints.folder().is_none());
    checkpoints.flush();
    assert_eq!(names(&folder), ["seed-4.safetensors", "seed-5.safetensors", "seed-9.safetensors"]);
    let again = Checkpoints::in_folder(&folder, Interval::default());
    let found = again.found().unwrap();
    assert_eq!(found.iter().map(|found| found.seed).collect::<Vec<_>>(), SEEDS);
    assert!(found.iter().all(|FoundSeed { epochs, is_finished, .. }| *epochs == EPOCHS && *is_finished));
    assert!(again.seconds() >= found[2].elapsed && found[2].elapsed > 0.0);
    let (resumed, epochs) = resume(&again);
    assert_eq!(epochs, 0);
    assert!(facts(&resumed) == facts(&whole));
    // The duration of a seed includes the time before it was resumed.
    assert!(resumed.runs.iter().zip(&whole.runs).all(|(resumed, whole)| resumed.seconds > 0.5 * whole.seconds));

    fs::write(folder.join("notes.txt"), "mine").unwrap();
    again.remove().unwrap();
    assert_eq!(names(&folder), ["notes.txt"]);
    fs::remove_file(folder.join("notes.txt")).unwrap();
    again.remove().unwrap();
    assert!(!folder.exists());
}

#[test]
fn time_intervals_write_finished_and_running_seeds() {
    let base = tempfile::tempdir().unwrap();
    let copies = copies_of_a_run(base.path(), Interval::Time(Duration::from_nanos(1)));
    assert_eq!(copies, SEEDS.len() * EPOCHS, "every epoch");
}

#[test]
fn an_interrupted_run_is_saved_and_resumed() {
    let base = tempfile::tempdir().unwrap();
    let whole = run_seeds(&dataset(), &settings(), &SEEDS, 1, go_on).unwrap();
    for (seed, epoch) in [(4, 0), (5, 6), (9, EPOCHS - 1)] {
        let folder = base.path().join(seed.to_string());
        let checkpoints = Checkpoints::in_folder(&folder, Interval::default());
        let stop = |event: Observation<'_>| match event {
            Observation::Epoch(s, e) if (s, e.epoch) == (seed, epoch) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let runs = resume_seeds(&dataset(), &settings(), &SEEDS, 1, Some(&checkpoints), stop).unwrap();
        assert!(runs.interrupted);
        let found = checkpoints.found().unwrap();
        assert_eq!(found.last().map(|last| (last.seed, last.epochs)), Some((seed, epoch + 1)));
        assert!(found.iter().rev().skip(1).all(|found| found.is_finished));
        let (resumed, _) = resume(&Checkpoints::in_folder(&folder, Interval::Never));
        assert!(facts(&resumed) == facts(&whole), "interrupted in seed {seed}, epoch {epoch}");
    }
}

/// The run is stopped between two seeds, when nothing is being trained.
#[test]
fn finished_seeds_are_saved_by_an_interruption() {
    let base = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::in_folder(&base.path().join("run"), Interval::default());
    let stop = |event: Observation<'_>| match event {
        Observation::Done(..) => ControlFlow::Break(()),
        Observation::Epoch(..) => ControlFlow::Continue(()),
    };
    resume_seeds(&dataset(), &settings(), &SEEDS, 1, Some(&checkpoints), stop).unwrap();
    assert_eq!(checkpoints.found().unwrap().len(), 1);
    let (_, epochs) = resume(&checkpoints);
    assert_eq!(epochs, 2 * EPOCHS);
}

#[test]
fn training_continues_if_checkpoints_cannot_be_written() {
    let whole = run_seeds(&dataset(), &settings(), &SEEDS, 1, go_on).unwrap();
    let failures = Mutex::new(Vec::new());
    let full = || Err(io::ErrorKind::StorageFull.into());
    let checkpoints = Checkpoints::created_by(Interval::Epochs(6), full).report_to(|saving| match saving {
        Saving::Failed(error) => failures.lock().unwrap().push(error.kind()),
        Saving::Saved(folder) => panic!("{folder:?}"),
    });
    let (runs, _) = resume(&checkpoints);
    assert!(facts(&runs) == facts(&whole));
    drop(checkpoints);
    assert_eq!(failures.into_inner().unwrap(), [io::ErrorKind::StorageFull; 6]);
}

#[test]
fn a_failed_write_keeps_the_previous_checkpoint() {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("run");
    let saved = AtomicUsize::new(0);
    let checkpoints = Checkpoints::in_folder(&folder, Interval::Epochs(4)).report_to(|saving| match saving {
        // A link to nothing takes the place of the folder after the first checkpoint, so that further ones fail.
        Saving::Saved(folder) => {
            saved.fetch_add(1, Ordering::Relaxed);
            fs::rename(folder, folder.with_extension("moved")).unwrap();
            std::os::unix::fs::symlink("nothing", folder).unwrap();
        }
        Saving::Failed(error) => assert_eq!(error.kind(), io::ErrorKind::AlreadyExists),
    });
    resume(&checkpoints);
    drop(checkpoints);
    assert_eq!(saved.into_inner(), 1);
    let found = Checkpoints::in_folder(&folder.with_extension("moved"), Interval::Never).found().unwrap();
    assert_eq!(found.iter().map(|found| (found.seed, found.epochs)).collect::<Vec<_>>(), [(4, 4)]);
}

#[test]
fn splits_are_resumed() {
    let base = tempfile::tempdir().unwrap();
    let splits: Vec<Dataset> = (0..3).map(|seed| dataset().redrawn(seed).unwrap()).collect();
    let whole = run_splits(&splits, &settings(), 5, 2, None, go_on).unwrap();
    let checkpoints = Checkpoints::in_folder(base.path(), Interval::default());
    let stop = |event: Observation<'_>| match event {
        Observation::Epoch(6, epoch) if epoch.epoch == 7 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    assert!(run_splits(&splits, &settings(), 5, 1, Some(&checkpoints), stop).unwrap().interrupted);
    let resumed = run_splits(&splits, &settings(), 5, 2, Some(&checkpoints), go_on).unwrap();
    assert!(facts(&resumed) == facts(&whole));
    let mut swapped = splits;
    swapped.swap(0, 1);
    let error = run_splits(&swapped, &settings(), 5, 1, Some(&checkpoints), go_on).unwrap_err().to_string();
    assert!(error.contains("the dataset or the order of its nodes has changed"), "{error}");
}

#[test]
fn rejects_checkpoints_of_other_runs_before_training() {
    let base = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::in_folder(&base.path().join("run"), Interval::default());
    resume(&checkpoints);
    checkpoints.flush();
    let path = base.path().join("run/seed-9.safetensors");
    let bytes = fs::read(&path).unwrap();
    let error = |dataset: &Dataset, settings: &Settings, resources: Resources| {
        let nothing = |event: Observation<'_>| panic!("{event:?}");
        let error = resume_seeds(dataset, settings, &SEEDS, resources, Some(&checkpoints), nothing).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("the training cannot be resumed: ") && message.contains("run/seed-"), "{message}");
        message
    };
    let cpu = Resources::from(1);
    let of_file = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        error(&dataset(), &settings(), cpu)
    };

    let other = settings().with(|s| s.network.dropout = 0.1);
    assert!(error(&dataset(), &other, cpu).ends_with("it has dropout = 0.5, but this training has 0.1"));
    let other = settings().with(|s| s.training.max_epochs = 99);
    assert!(error(&dataset(), &other, cpu).ends_with("it has max_epochs = 12, but this training has 99"));
    let other = Settings { positive: Some(0), ..settings() };
    assert!(error(&dataset(), &other, cpu).contains("it has another positive class"));
    let mut other = dataset();
    let mut features = (*other.examples[0].features).clone();
    if let Features::Dense { values, .. } = &mut features {
        values[0] += 1.0;
    }
    other.examples[0].features = Arc::new(features);
    assert!(
        error(&other, &settings(), cpu)
            .contains("the dataset or the order of its nodes has changed since it was written")
    );
    let gpu = Resources { device: DeviceChoice::Cuda(0), ..cpu };
    assert!(error(&dataset(), &settings(), gpu).contains("it was written on the device cpu"));

    assert!(of_file(&bytes[..bytes.len() / 2]).ends_with("without this file, seed 9 is trained from the beginning"));
    assert!(of_file(b"").contains("it is incomplete or no checkpoint"));
    let mut state = TrainState::from_bytes(&bytes).unwrap();
    state.metadata.insert("program".into(), "0.0.1".into());
    assert!(of_file(&state.to_bytes()).contains("it was written by supergat 0.0.1, but this is "));
    let mut state = TrainState::from_bytes(&bytes).unwrap();
    state.seed = 5;
    assert!(of_file(&state.to_bytes()).ends_with("it has seed 5"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(error(&dataset(), &settings(), cpu).contains("it is no checkpoint of a training"));
    fs::remove_dir(&path).unwrap();
    assert_eq!(resume(&checkpoints).1, EPOCHS, "only the seed without a file is trained");
}
