//! Searches for hyperparameters: repeatable, resumable, and blind to the test nodes.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use supergat_lab::Settings;
use supergat_lab::sweep::{ResultsFile, Status};
use supergat_lab::tune::{Budget, Space, Trial, TuneEvent, Tuned, Tuning, tune};

fn tuning(trials: usize, threads: usize) -> Tuning {
    let base = Settings { max_epochs: 8, ..Settings::general("supergat-mx".parse().unwrap()) };
    Tuning {
        source: "random-partition:classes=3,nodes=180,degree=6,homophily=0.7".into(),
        split: supergat_data::SplitChoice::Published,
        space: Space::new(base.model, &["lr".to_owned()]),
        base,
        seed: 3,
        seeds: 3,
        budget: Budget::Trials(trials),
        threads,
    }
}

fn search(path: &Path, tuning: &Tuning) -> Tuned {
    tune(tuning, &mut ResultsFile::open(path).unwrap(), |_| ControlFlow::Continue(())).unwrap()
}

/// Whatever a search looks at, and where it ends.
fn course(tuned: &Tuned) -> (&[Trial], Option<usize>) {
    (&tuned.trials, tuned.best)
}

#[test]
fn threads_and_interruptions_do_not_change_a_search() {
    let folder = tempfile::tempdir().unwrap();
    let whole = search(&folder.path().join("a"), &tuning(14, 3));
    assert_eq!(whole.trials.len(), 14);
    let best = &whole.trials[whole.best.unwrap()];
    assert_eq!((best.scores.len(), best.finals.len()), (3, 5));
    assert!(whole.trials.iter().any(|trial| trial.scores.len() == 1), "no trial was hopeless");
    let finalists = || whole.trials.iter().filter(|trial| !trial.finals.is_empty());
    assert_eq!(finalists().count(), 5);
    assert!(finalists().all(|trial| trial.mean_of_all() <= best.mean_of_all()));

    let path = folder.path().join("b");
    for stop_after in [1, 7, 3] {
        let runs = AtomicUsize::new(0);
        let mut results = ResultsFile::open(&path).unwrap();
        let part = tune(&tuning(14, 1), &mut results, |event| match event {
            TuneEvent::Run(_) if runs.fetch_add(1, Ordering::Relaxed) + 1 >= stop_after => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert!(part.unwrap().interrupted);
    }
    assert_eq!(ResultsFile::read(&path).unwrap().records().count(), 11, "what was finished is kept");
    assert_eq!(course(&search(&path, &tuning(14, 1))), course(&whole));
    let other = search(&folder.path().join("c"), &Tuning { seed: 6, ..tuning(4, 2) });
    assert!(other.trials[1].settings != whole.trials[1].settings);
}

/// A search goes on in the same way, and ends with the same settings, whatever the test metrics say.
#[test]
fn test_nodes_are_never_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let (honest, forged) = (folder.path().join("honest"), folder.path().join("forged"));
    search(&honest, &tuning(8, 2));
    let mut results = ResultsFile::open(&forged).unwrap();
    let mut changed = 0;
    for mut record in ResultsFile::read(&honest).unwrap().records().cloned().collect::<Vec<_>>() {
        if let Status::Ok { test, .. } = &mut record.status {
            test.metric = 1.0 - test.metric;
            test.loss = -test.loss;
            changed += 1;
        }
        results.append(record).unwrap();
    }
    drop(results);
    assert!(changed >= 8);
    assert_eq!(course(&search(&forged, &tuning(16, 2))), course(&search(&honest, &tuning(16, 2))));
    // The same with the validation metrics leads elsewhere, so that the comparison above can fail.
    let mut results = ResultsFile::open(&folder.path().join("other")).unwrap();
    for mut record in ResultsFile::read(&honest).unwrap().records().cloned().collect::<Vec<_>>() {
        if let Status::Ok { validation, .. } = &mut record.status {
            validation.metric = 1.0 - validation.metric;
        }
        results.append(record).unwrap();
    }
    drop(results);
    let misled = search(&folder.path().join("other"), &tuning(16, 2));
    assert_ne!(course(&misled), course(&search(&honest, &tuning(16, 2))));
}

#[test]
fn settings_that_fail_are_the_worst() {
    let folder = tempfile::tempdir().unwrap();
    // More unlinked pairs than there are, for the first trial.
    let base = Settings { p_n: 1e6, ..tuning(4, 1).base };
    let tuned = search(&folder.path().join("a"), &Tuning { base, ..tuning(4, 2) });
    assert_eq!(tuned.trials[0].mean(), 0.0);
    assert!(tuned.best.is_some_and(|best| best != 0));
}

#[test]
fn time_ends_a_search() {
    let folder = tempfile::tempdir().unwrap();
    let started = std::time::Instant::now();
    let budget = Budget::Time(std::time::Duration::from_millis(1500));
    let tuned = search(&folder.path().join("a"), &Tuning { budget, ..tuning(0, 2) });
    assert!(!tuned.interrupted && started.elapsed() < std::time::Duration::from_secs(30));
}
