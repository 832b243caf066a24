//! Runs that are divided among processes, of which threads take the place.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use supergat_cluster::peers::ThreadPeers;
use supergat_core::Error;
use supergat_data::{Dataset, SplitChoice};
use supergat_select::sweep::{Event, Job, Record, ResultsFile, SweepError, run_sweep};
use supergat_select::tune::{Budget, FINALISTS, Space, Tuning, tune};
use supergat_studies::link_prediction::LinkPrediction;
use supergat_studies::task_named;
use supergat_train::processes::Processes;
use supergat_train::task::NodeClassification;
use supergat_train::{
    Checkpoints, Interval, Observation, Resources, Runs, Settings, resume_seeds, run_seeds, run_splits, serve,
};

const GRAPH: &str = "random-partition:classes=3,nodes=180,degree=6,homophily=0.8";

/// Calls `work` in the first of several processes with two threads each; the others train for it.
fn with_processes<T>(count: usize, work: impl FnOnce(Resources) -> T) -> T {
    let mut peers = ThreadPeers::new(count).into_iter();
    let first = Arc::new(peers.next().unwrap());
    let others: Vec<_> =
        peers.map(|peer| std::thread::spawn(|| serve(Arc::new(peer), task_named, |_| Ok(2)))).collect();
    let processes: &Processes = Box::leak(Box::new(Processes::start(first, None, 2).unwrap()));
    assert_eq!(processes.count(), count);
    let done = work(Resources { processes: Some(processes), ..Resources::from(2) });
    processes.finish().unwrap();
    others.into_iter().for_each(|other| other.join().unwrap().unwrap());
    done
}

fn dataset() -> Dataset {
    supergat_data::load(GRAPH).unwrap()
}

fn settings() -> Settings {
    Settings::general("supergat-mx".parse().unwrap()).with(|s| {
        s.training.max_epochs = 12;
        s.network.hidden = 3;
        s.network.heads = 2;
    })
}

fn go_on(_: Observation<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Everything of a result but its times.
fn facts(runs: &Runs) -> impl PartialEq + std::fmt::Debug + use<> {
    let seeds: Vec<_> = runs.runs.iter().map(|run| (run.seed, run.outcome, run.history.clone())).collect();
    let bits: Vec<u32> = runs.logits.iter().flatten().map(|logit| logit.to_bits()).collect();
    (seeds, runs.best, bits, runs.interrupted)
}

#[test]
fn seeds_have_the_same_results_in_any_number_of_processes() {
    let seeds = [3, 1, 7, 8, 2];
    let train = |resources| run_seeds(&dataset(), &settings(), &seeds, resources, go_on).unwrap();
    let alone = facts(&train(Resources::from(1)));
    for count in [2, 3, 8] {
        assert!(facts(&with_processes(count, train)) == alone, "{count} processes");
    }
}

#[test]
fn splits_have_the_same_results_in_any_number_of_processes() {
    let splits: Vec<Dataset> = (0..4).map(|seed| dataset().redrawn(seed).unwrap()).collect();
    let train = |resources| run_splits(&splits, &settings(), 4, resources, None, go_on).unwrap();
    assert!(facts(&with_processes(3, train)) == facts(&train(Resources::from(1))));
}

#[test]
fn weights_of_classes_have_the_same_results_in_any_number_of_processes() {
    let mut weighed = dataset();
    weighed.weigh_classes(&"0=7,2=0.3".parse().unwrap()).unwrap();
    let train = |resources| run_seeds(&weighed, &settings(), &[3, 1, 7, 8], resources, go_on).unwrap();
    let alone = facts(&train(Resources::from(1)));
    assert!(facts(&with_processes(3, train)) == alone);
    assert!(facts(&run_seeds(&dataset(), &settings(), &[3, 1, 7, 8], 2, go_on).unwrap()) != alone);
    // Balanced weights differ between splits.
    let mut splits: Vec<Dataset> = (0..4).map(|seed| dataset().redrawn(seed).unwrap()).collect();
    splits.iter_mut().for_each(|split| split.weigh_classes(&"balanced".parse().unwrap()).unwrap());
    let train = |resources| run_splits(&splits, &settings(), 4, resources, None, go_on).unwrap();
    assert!(facts(&with_processes(3, train)) == facts(&train(Resources::from(1))));
}

#[test]
fn searches_have_the_same_results_in_any_number_of_processes() {
    let folder = tempfile::tempdir().unwrap();
    let search = |name: &str, resources: Resources| {
        let tuning = Tuning {
            source: GRAPH.into(),
            split: SplitChoice::Published,
            class_weight: "1=9".parse().unwrap(),
            base: settings(),
            space: Space::new(settings().model, &[]),
            seed: 2,
            seeds: 2,
            budget: Budget::Trials(12),
            pruning: true,
            finalists: FINALISTS,
            row_normalise: false,
            resources,
        };
        let mut results = ResultsFile::open(&folder.path().join(name)).unwrap();
        tune(&tuning, &mut results, |_| ControlFlow::Continue(())).unwrap().trials
    };
    let alone = search("one", Resources::from(1));
    assert!(alone.iter().any(|trial| trial.pruned.is_some()), "no trial was pruned");
    assert_eq!(with_processes(3, |resources| search("three", resources)), alone);
}

/// Other processes cannot load a graph that was made in memory.
#[test]
fn graphs_in_memory_are_trained_by_the_first_process() {
    let mut graph = dataset();
    graph.origin = None;
    graph.examples[0].train.pop();
    let train = |resources| run_seeds(&graph, &settings(), &[0, 1, 2], resources, go_on).unwrap();
    assert!(facts(&with_processes(2, train)) == facts(&train(Resources::from(1))));
}

#[test]
fn other_processes_send_their_checkpoints_and_resume_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.checkpoint");
    let seeds = [4, 5, 9, 6];
    let alone = facts(&run_seeds(&dataset(), &settings(), &seeds, 1, go_on).unwrap());
    let train = |stop_after: usize| {
        let epochs = AtomicUsize::new(0);
        let checkpoints = Checkpoints::in_folder(&path, Interval::Epochs(2));
        checkpoints.found().unwrap();
        let runs = with_processes(2, |resources| {
            resume_seeds(&dataset(), &settings(), &seeds, resources, Some(&checkpoints), |event| match event {
                Observation::Epoch(..) if epochs.fetch_add(1, Ordering::Relaxed) >= stop_after => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            })
        });
        (runs.unwrap(), epochs.into_inner())
    };
    let (interrupted, _) = train(5);
    assert!(interrupted.interrupted);
    let files = || Checkpoints::in_folder(&path, Interval::Never).found().unwrap();
    let saved: usize = files().iter().map(|seed| seed.epochs).sum();
    assert!(saved >= 5, "{:?}", files());
    let (resumed, epochs) = train(usize::MAX);
    assert!(facts(&resumed) == alone);
    assert_eq!(epochs, seeds.len() * 12 - saved, "saved epochs are not repeated");
    assert_eq!(files().len(), seeds.len());
}

#[test]
fn errors_of_other_processes_end_the_training() {
    // Two jobs: the second process gets one of them, and its labels differ.
    let mut changed = dataset();
    changed.examples[0].train.pop();
    let error = with_processes(2, |resources| run_seeds(&changed, &settings(), &[0, 1, 2], resources, go_on));
    let error = error.unwrap_err().to_string();
    let expected =
        format!("training with several processes failed: process 1: {GRAPH} differs from {GRAPH} of process 0: ");
    assert!(error.starts_with(&expected), "{error}");

    let diverging = settings().with(|s| {
        s.training.lr = 1e30;
        s.training.max_epochs = 50;
    });
    let error = with_processes(3, |resources| run_seeds(&dataset(), &diverging, &[0, 1, 2], resources, go_on));
    assert!(matches!(error, Err(Error::Diverged { .. })), "{error:?}");
}

fn jobs() -> Vec<Job> {
    let source = |seed| format!("random-partition:classes=3,nodes=180,degree=6,seed={seed}");
    let all = ["supergat-mx", "gcn"]
        .map(|model| Settings::general(model.parse().unwrap()).with(|s| s.training.max_epochs = 8));
    (0..2).flat_map(|graph| Job::for_seeds(&source(graph), &all, 3)).collect()
}

/// Reads the records of a results file, without their times, in the order of their keys.
fn records(path: &Path) -> Vec<Record> {
    let results = ResultsFile::read(path).unwrap();
    let mut records: Vec<Record> = results.records().map(|r| Record { seconds: 0.0, ..r.clone() }).collect();
    records.sort_by_key(Record::key);
    records
}

#[test]
fn sweeps_have_the_same_records_in_any_number_of_processes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |count: usize| folder.path().join(format!("{count}.jsonl"));
    let sweep = |resources: Resources, count: usize| {
        let mut results = ResultsFile::open(&path(count)).unwrap();
        run_sweep(&NodeClassification, jobs(), &mut results, resources, |_, _| ControlFlow::Continue(())).unwrap()
    };
    assert_eq!(sweep(Resources::from(1), 1).ran, 12);
    for count in [2, 4] {
        let outcome = with_processes(count, |resources| sweep(resources, count));
        assert_eq!((outcome.ran, outcome.failed, outcome.interrupted), (12, 0, false));
        assert_eq!(records(&path(count)), records(&path(1)), "{count} processes");
        assert_eq!(with_processes(count, |resources| sweep(resources, count)).found, 12);
    }
}

#[test]
fn tasks_measure_in_other_processes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let run = |resources: Resources, name: &str| {
        let mut results = ResultsFile::open(&path(name)).unwrap();
        let jobs = Job::for_seeds(GRAPH, &[settings()], 4);
        run_sweep(&LinkPrediction, jobs, &mut results, resources, |_, _| ControlFlow::Continue(())).unwrap()
    };
    run(Resources::from(1), "1");
    with_processes(3, |resources| run(resources, "3"));
    let all = |name: &str| {
        let mut lines: Vec<Record> = ResultsFile::read(&path(name)).unwrap().all_records().cloned().collect();
        lines.iter_mut().for_each(|record| record.seconds = 0.0);
        lines.sort_by_key(Record::key);
        lines
    };
    assert_eq!((all("1").len(), all("1")), (4, all("3")));
    assert!(all("3").iter().all(|record| record.measured::<serde_json::Value>().is_some()));
}

#[test]
fn an_observer_stops_the_runs_of_all_processes() {
    let folder = tempfile::tempdir().unwrap();
    let endless = settings().with(|s| {
        s.training.max_epochs = 10_000_000;
        s.early_stopping.early_stop = false;
    });
    let mut results = ResultsFile::open(&folder.path().join("results.jsonl")).unwrap();
    let epochs = AtomicUsize::new(0);
    let outcome = with_processes(3, |resources| {
        run_sweep(&NodeClassification, Job::for_seeds(GRAPH, &[endless], 9), &mut results, resources, |event, _| {
            match event {
                Event::Epoch if epochs.fetch_add(1, Ordering::Relaxed) > 50 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        })
    });
    let outcome = outcome.unwrap_or_else(|error: SweepError| panic!("{error}"));
    assert!(outcome.interrupted && outcome.ran == 0 && results.records().count() == 0, "{outcome:?}");
}
