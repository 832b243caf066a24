//! Hyperparameter searches: reproducible, resumable, and independent of the test nodes.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use supergat_data::ClassWeight;
use supergat_select::sweep::ResultsFile;
use supergat_select::tune::{Budget, FINALISTS, Space, Trial, TuneEvent, Tuned, Tuning, tune};
use supergat_train::Settings;
use supergat_train::task::Status;

fn tuning(trials: usize, threads: usize) -> Tuning {
    let base = Settings::general("supergat-mx".parse().unwrap()).with(|s| s.training.max_epochs = 4);
    Tuning {
        source: "random-partition:classes=3,nodes=180,degree=6,homophily=0.7".into(),
        split: supergat_data::SplitChoice::Published,
        class_weight: ClassWeight::None,
        space: Space::new(base.model, &["lr".to_owned()]),
        base,
        seed: 3,
        seeds: 3,
        budget: Budget::Trials(trials),
        pruning: false,
        finalists: FINALISTS,
        row_normalise: false,
        resources: threads.into(),
    }
}

fn search(path: &Path, tuning: &Tuning) -> Tuned {
    tune(tuning, &mut ResultsFile::open(path).unwrap(), |_| ControlFlow::Continue(())).unwrap()
}

/// Returns the trials of a search and its result.
fn course(tuned: &Tuned) -> (&[Trial], Option<usize>) {
    (&tuned.trials, tuned.best)
}

#[test]
fn gives_the_same_search_with_any_threads_and_interruptions() {
    let folder = tempfile::tempdir().unwrap();
    let whole = search(&folder.path().join("a"), &tuning(14, 3));
    assert_eq!(whole.trials.len(), 14);
    let best = &whole.trials[whole.best.unwrap()];
    assert_eq!((best.scores.len(), best.finals.len()), (3, 5));
    assert!(whole.trials.iter().any(|trial| trial.scores.len() == 1), "no trial was stopped after its first seed");
    let finalists = || whole.trials.iter().filter(|trial| !trial.finals.is_empty());
    assert_eq!(finalists().count(), 5);
    assert!(finalists().all(|trial| trial.mean_of_all() <= best.mean_of_all()));

    let path = folder.path().join("b");
    for stop_after in [1, 7, 3] {
        let runs = AtomicUsize::new(0);
        let mut results = ResultsFile::open(&path).unwrap();
        let part = tune(&tuning(14, 1), &mut results, |event| match event {
            TuneEvent::Run if runs.fetch_add(1, Ordering::Relaxed) + 1 >= stop_after => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert!(part.unwrap().interrupted);
    }
    assert_eq!(ResultsFile::read(&path).unwrap().records().count(), 11, "finished runs were lost");
    assert_eq!(course(&search(&path, &tuning(14, 1))), course(&whole));
    let other = search(&folder.path().join("c"), &Tuning { seed: 6, ..tuning(4, 2) });
    assert!(other.trials[1].settings != whole.trials[1].settings);
}

/// A search with forged test metrics has the same trials and the same result.
#[test]
fn never_uses_test_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let (original, forged) = (folder.path().join("original"), folder.path().join("forged"));
    search(&original, &tuning(8, 2));
    let mut results = ResultsFile::open(&forged).unwrap();
    let mut changed = 0;
    for mut record in ResultsFile::read(&original).unwrap().records().cloned().collect::<Vec<_>>() {
        if let Status::Ok { test, .. } = &mut record.status {
            test.metric = 1.0 - test.metric;
            test.loss = -test.loss;
            changed += 1;
        }
        results.append(record).unwrap();
    }
    drop(results);
    assert!(changed >= 8);
    assert_eq!(course(&search(&forged, &tuning(16, 2))), course(&search(&original, &tuning(16, 2))));
    // Forged validation metrics change the search, so the comparison above can fail.
    let mut results = ResultsFile::open(&folder.path().join("other")).unwrap();
    for mut record in ResultsFile::read(&original).unwrap().records().cloned().collect::<Vec<_>>() {
        if let Status::Ok { validation, .. } = &mut record.status {
            validation.metric = 1.0 - validation.metric;
        }
        results.append(record).unwrap();
    }
    drop(results);
    let misled = search(&folder.path().join("other"), &tuning(16, 2));
    assert_ne!(course(&misled), course(&search(&original, &tuning(16, 2))));
}

/// One results file has the runs with and without weights; they are different runs.
#[test]
fn weights_of_classes_change_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let weighed = |text: &str| Tuning { class_weight: text.parse().unwrap(), ..tuning(4, 2) };
    let plain = search(&path, &tuning(4, 2));
    let heavy = search(&path, &weighed("0=50"));
    assert_ne!(plain.trials[0].scores, heavy.trials[0].scores);
    assert_eq!(course(&search(&path, &weighed("0=50"))), course(&heavy));
    let tasks: std::collections::BTreeSet<String> =
        ResultsFile::read(&path).unwrap().records().map(|record| record.task.clone()).collect();
    assert_eq!(Vec::from_iter(tasks), ["class-weight:0=50", "node"]);
    let mut results = ResultsFile::open(&folder.path().join("b")).unwrap();
    let error = tune(&weighed("fraud=2"), &mut results, |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert_eq!(error, "parameter `class_weight`: expected one of the classes 0, 1, 2, found `fraud`");
    assert_eq!(results.records().count(), 0);
}

#[test]
fn failed_settings_score_lowest() {
    let folder = tempfile::tempdir().unwrap();
    // The first trial asks for more unlinked pairs than the graph has.
    let base = tuning(4, 1).base.with(|s| s.edge_loss.p_n = 1e6);
    let tuned = search(&folder.path().join("a"), &Tuning { base, ..tuning(4, 2) });
    assert_eq!(tuned.trials[0].mean(), 0.0);
    assert!(tuned.best.is_some_and(|best| best != 0));
}

#[test]
fn stops_when_the_time_is_spent() {
    let folder = tempfile::tempdir().unwrap();
    let started = std::time::Instant::now();
    let budget = Budget::Time(std::time::Duration::from_millis(1500));
    let tuned = search(&folder.path().join("a"), &Tuning { budget, ..tuning(0, 2) });
    assert!(!tuned.interrupted && started.elapsed() < std::time::Duration::from_secs(600));
}

/// A search over models, depth and blocks, with pruning.
fn deep(trials: usize, threads: usize) -> Tuning {
    let given = |name: &str, values: &str| (name.to_owned(), values.to_owned());
    let base = tuning(trials, threads).base.with(|s| s.training.max_epochs = 16);
    let ranges = [
        given("model", "gat-go,gatv2,supergat-mx"),
        given("layers", "1..4"),
        given("hidden", "4,8"),
        given("heads", "1,2"),
        given("norm", "none,batch"),
        given("lr", "0.0001..0.1"),
    ];
    let also = ["residual", "output_layer", "self_loops"].map(str::to_owned);
    Tuning { base, space: Space::with(base.model, &also, &ranges).unwrap(), pruning: true, ..tuning(trials, threads) }
}

#[test]
fn searches_deep_networks_and_prunes_hopeless_trials() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let whole = search(&path, &deep(24, 2));
    assert_eq!(whole.trials[0].settings, deep(1, 1).base);
    let pruned: Vec<&Trial> = whole.trials.iter().filter(|trial| trial.pruned.is_some()).collect();
    assert!(!pruned.is_empty(), "no trial was pruned");
    for trial in &pruned {
        assert!((trial.scores.len(), trial.finals.len()) == (1, 0) && trial.pruned.is_some_and(|epochs| epochs < 16));
    }
    assert!(whole.trials[..4].iter().all(|trial| trial.pruned.is_none()), "the first batch has no earlier trials");
    let best = &whole.trials[whole.best.unwrap()];
    assert!(best.is_complete(3) && best.finals.len() == 5);
    let models: std::collections::HashSet<String> =
        whole.trials.iter().map(|trial| trial.settings.model.to_string()).collect();
    assert!(models.len() == 3 && whole.trials.iter().any(|trial| trial.settings.network.layers > 2));
    // A pruned run is recorded with the epochs that it ran.
    let results = ResultsFile::read(&path).unwrap();
    let epochs = |record: &supergat_select::sweep::Record| match record.status {
        Status::Ok { epochs, .. } => epochs,
        Status::Failed { .. } => 0,
    };
    let short = results.records().filter(|record| epochs(record) < 16).count();
    assert_eq!(short, pruned.len());

    // Interruptions and threads change nothing, and a finished search runs nothing again.
    let path = folder.path().join("b");
    for stop_after in [3, 9] {
        let runs = AtomicUsize::new(0);
        let mut results = ResultsFile::open(&path).unwrap();
        let part = tune(&deep(24, 1), &mut results, |event| match event {
            TuneEvent::Run if runs.fetch_add(1, Ordering::Relaxed) + 1 >= stop_after => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert!(part.unwrap().interrupted);
    }
    assert_eq!(course(&search(&path, &deep(24, 1))), course(&whole));
    let lines = ResultsFile::read(&path).unwrap().records().count();
    let mut results = ResultsFile::open(&path).unwrap();
    let again = tune(&deep(24, 3), &mut results, |event| {
        assert!(!matches!(event, TuneEvent::Run), "a finished search ran again");
        ControlFlow::Continue(())
    });
    assert_eq!(course(&again.unwrap()), course(&whole));
    assert_eq!(results.records().count(), lines);
}
