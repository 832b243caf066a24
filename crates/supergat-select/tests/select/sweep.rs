//! Sweeps: every job is run once, also after interruptions and failures.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use supergat_data::SplitChoice;
use supergat_select::sweep::{Event, Job, Record, ResultsFile, SweepOutcome, run_sweep};
use supergat_train::task::{NodeClassification, Status};
use supergat_train::{DeviceChoice, DeviceKind, Resources, Settings};

const GRAPHS: [&str; 2] =
    ["random-partition:classes=3,nodes=180,degree=6", "random-partition:classes=3,nodes=180,degree=6,seed=1"];

/// Jobs for two generated graphs, two models and three seeds.
fn jobs() -> Vec<Job> {
    let mut jobs = Vec::new();
    for source in GRAPHS {
        for model in ["supergat-mx", "gcn"] {
            let settings = Settings::general(model.parse().unwrap()).with(|s| s.training.max_epochs = 12);
            jobs.extend((0..3).map(|seed| Job {
                source: source.into(),
                split: SplitChoice::Published,
                settings,
                seed,
            }));
        }
    }
    jobs
}

fn results_path() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.jsonl");
    (folder, path)
}

fn sweep(jobs: Vec<Job>, path: &Path, threads: usize) -> SweepOutcome {
    run_sweep(&NodeClassification, jobs, &mut ResultsFile::open(path).unwrap(), threads, |_, _| {
        ControlFlow::Continue(())
    })
    .unwrap()
}

/// Reads the records of a results file by key, without their times.
fn records(path: &Path) -> BTreeMap<String, Record> {
    let results = ResultsFile::read(path).unwrap();
    assert_eq!(results.damaged(), []);
    results.records().map(|record| (format!("{:?}", record.key()), Record { seconds: 0.0, ..record.clone() })).collect()
}

#[test]
fn runs_every_job_once_with_any_number_of_threads() {
    let (_folder, path) = results_path();
    let (_other, alone) = results_path();
    let report = sweep(jobs(), &path, 3);
    assert_eq!((report.ran, report.found, report.failed), (12, 0, 0));
    assert_eq!(sweep([jobs(), jobs()].concat(), &alone, 1).ran, 12, "duplicate jobs are run once");
    assert_eq!(records(&path), records(&alone));
    let again = sweep(jobs(), &path, 2);
    assert_eq!((again.ran, again.found, again.interrupted), (0, 12, false));
    let record = records(&path).into_values().find(|record| record.model == "gcn" && record.seed == 2).unwrap();
    assert!(GRAPHS.contains(&record.dataset.as_str()) && record.split == "published" && record.task == "node");
    let Status::Ok { metric, train, epochs, .. } = record.status else { panic!("{record:?}") };
    assert!(metric == "accuracy" && train.metric > 0.4 && epochs == 12);
}

#[test]
fn gives_the_same_result_as_run_seeds() {
    let (_folder, path) = results_path();
    sweep(jobs(), &path, 2);
    let dataset = supergat_data::load(GRAPHS[1]).unwrap();
    let settings = jobs()[0].settings;
    let runs = supergat_train::run_seeds(&dataset, &settings, &[1], 1, |_| ControlFlow::Continue(())).unwrap();
    let all = records(&path);
    let same = |record: &&Record| record.dataset == GRAPHS[1] && record.settings == settings && record.seed == 1;
    assert_eq!(all.values().find(same).unwrap().test(), Some(runs.runs[0].outcome.test));
}

#[test]
fn does_not_take_runs_of_a_gpu_for_those_of_the_cpu() {
    let (_folder, path) = results_path();
    let (_other, alone) = results_path();
    sweep(jobs(), &alone, 2);
    let mut results = ResultsFile::open(&path).unwrap();
    for record in records(&alone).into_values() {
        results.append(Record { device: DeviceKind::Cuda, ..record }).unwrap();
    }
    drop(results);
    assert_eq!((sweep(jobs(), &path, 2).found, sweep(jobs(), &path, 2).found), (0, 12));
    assert_eq!(records(&path), records(&alone));
}

#[test]
fn ends_if_the_gpu_cannot_be_opened() {
    if supergat_train::gpu::devices().is_ok_and(|devices| !devices.is_empty()) {
        println!("skipped: this machine has a GPU");
        return;
    }
    let (_folder, path) = results_path();
    let resources = Resources { device: DeviceChoice::Cuda(0), ..Resources::from(2) };
    let mut results = ResultsFile::open(&path).unwrap();
    let error =
        run_sweep(&NodeClassification, jobs(), &mut results, resources, |_, _| ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().starts_with("no NVIDIA "), "{error}");
    assert_eq!(results.all_records().count(), 0);
}

#[test]
fn resumes_after_interruption() {
    let (_folder, path) = results_path();
    let (_other, whole) = results_path();
    let mut rounds = 0;
    loop {
        let ended = AtomicUsize::new(0);
        let report = run_sweep(&NodeClassification, jobs(), &mut ResultsFile::open(&path).unwrap(), 2, |event, _| {
            // Stops while other runs are in progress, after the third.
            let enough = matches!(event, Event::Done(_)) && ended.fetch_add(1, Ordering::Relaxed) == 2;
            if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
        rounds += 1;
        if !report.interrupted {
            break;
        }
    }
    assert!((4..=5).contains(&rounds), "{rounds}");
    sweep(jobs(), &whole, 1);
    assert_eq!(records(&path), records(&whole));
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 12, "a job was run twice");
}

#[test]
fn records_failures_and_retries_them() {
    let (_folder, path) = results_path();
    let mut jobs = jobs();
    jobs.truncate(4);
    jobs[1].settings.training.lr = 1e30;
    jobs[2].settings.edge_loss.p_n = 1e9;
    let report = sweep(jobs.clone(), &path, 2);
    assert_eq!((report.ran, report.failed), (2, 2));
    let reasons: Vec<String> = records(&path)
        .into_values()
        .filter_map(|record| if let Status::Failed { reason } = record.status { Some(reason) } else { None })
        .collect();
    assert!(reasons.iter().any(|reason| reason.starts_with("the loss became")), "{reasons:?}");
    assert!(reasons.iter().any(|reason| reason.starts_with("self-supervision asks for")), "{reasons:?}");
    let again = sweep(jobs, &path, 2);
    assert_eq!((again.found, again.failed), (2, 2));
}

#[test]
fn skips_unavailable_datasets() {
    let (_folder, path) = results_path();
    let mut jobs = jobs();
    for job in &mut jobs[..6] {
        job.source = "no/such/folder".into();
    }
    let settled = AtomicUsize::new(0);
    let report = run_sweep(&NodeClassification, jobs, &mut ResultsFile::open(&path).unwrap(), 2, |event, tally| {
        assert!(tally.jobs == 12 && tally.settled <= 12);
        assert!(tally.left.is_some() || !matches!(event, Event::Done(_)));
        settled.fetch_max(tally.settled, Ordering::Relaxed);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!((report.ran, report.failed, report.unavailable.len()), (6, 0, 1));
    assert_eq!(settled.into_inner(), 12);
    assert_eq!(report.unavailable[0].0, "no/such/folder");
}
