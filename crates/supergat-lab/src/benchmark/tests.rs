//! Tests of whole benchmarks on generated graphs.

use super::*;
use crate::device::Resources;
use crate::sweep::ResultsFile;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use supergat_core::Select;
use supergat_data::Dataset;

fn dataset() -> Dataset {
    supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap()
}

fn request(names: &[&str]) -> Request {
    Request { families: names.iter().map(|name| name.parse().unwrap()).collect(), ..Request::default() }
}

/// Returns a plan with four trials, eight epochs and three splits.
fn small_plan(dataset: &Dataset, names: &[&str]) -> Plan {
    let mut plan = plan(dataset, &request(names), 1.into(), Limit::minutes(10.0)).unwrap();
    plan.rungs = [(4, 2), (2, 4), (1, 8)].map(|(trials, epochs)| RungPlan { trials, epochs }).to_vec();
    plan.splits.truncate(3);
    // No time for more trials.
    plan.seconds = 0.0;
    plan
}

fn results() -> (tempfile::TempDir, ResultsFile) {
    let folder = tempfile::tempdir().unwrap();
    let results = ResultsFile::open(&folder.path().join("results.jsonl")).unwrap();
    (folder, results)
}

fn execute(
    dataset: &Dataset,
    plan: &mut Plan,
    results: &mut ResultsFile,
    threads: usize,
    limit: Option<Limit>,
) -> BenchmarkOutcome {
    let dataset = Arc::new(dataset.clone());
    run(&dataset, plan, results, threads.into(), limit, |_| Ok(()), |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn every_trial_of_every_family_is_valid() {
    let (dataset, mut count) = (dataset(), 0);
    for family in FAMILIES {
        let Ok(kind) = family.kind() else { continue };
        let choice = MetricChoice { select: Some(Select::MacroF1), positive: None };
        let context = families::TrialContext { dataset: "cora", metric: choice, seed: 3, class_weights: true };
        let trials: Vec<Trial> = (0..40).map(|number| family.trial(kind, number, 50, &context)).collect();
        for trial in &trials {
            trial.settings.check(&dataset).unwrap();
            assert_eq!(trial.settings.select, Some(Select::MacroF1));
            assert!(!kind.is_network() || (trial.settings.max_epochs == 50 && !trial.settings.early_stop));
            count += 1;
        }
        assert!(!trials[1].balanced);
        assert_eq!(trials.iter().filter(|trial| trial.balanced).count(), if kind.is_network() { 20 } else { 0 });
        let depths: Vec<usize> = trials.iter().map(|trial| trial.settings.layers).collect();
        assert!(
            !kind.is_network() || ([0, 1, 3].map(|number| depths[number]) == [2, 2, 8] && depths.contains(&12)),
            "{depths:?}"
        );
    }
    assert!(count >= 400);
    // Families share the random numbers of what both search.
    let context = |seed| families::TrialContext {
        dataset: "x",
        metric: MetricChoice { select: None, positive: None },
        seed,
        class_weights: false,
    };
    let deep = |name: &str, seed| {
        let family = Family::named(name).unwrap();
        family.trial(family.kind().unwrap(), 5, 9, &context(seed)).settings
    };
    let (gcn, supergat) = (deep("gcn", 1), deep("supergat-mx", 1));
    assert_eq!((gcn.lr, gcn.layers, gcn.norm), (supergat.lr, supergat.layers, supergat.norm));
    assert_ne!(gcn.lr, deep("gcn", 2).lr);
}

#[test]
fn result_depends_on_plan_and_seed_only() {
    let dataset = dataset();
    let mut plan = small_plan(&dataset, &["label-propagation", "mlp", "gcn", "supergat-mx"]);
    assert_eq!(Plan::from_json(&plan.to_json()).unwrap(), plan);
    let (_folder, mut at_once) = results();
    let before = plan.clone();
    let outcome = execute(&dataset, &mut plan, &mut at_once, 2, None);
    assert!(!outcome.interrupted && outcome.ran > 20 && plan == Plan { splits_kept: Some(3), ..before.clone() });
    let expected = Benchmark::new(&plan, &at_once);
    assert_eq!((expected.families.len(), expected.splits, expected.comparisons.len()), (4, 3, 3));
    assert!(
        expected.recommended.is_some() && expected.notes.iter().any(|note| note.starts_with("The budget was small"))
    );
    // Interrupted after every few runs, with another number of threads.
    let (_folder, mut piecewise) = results();
    let mut plan = before;
    let shared = Arc::new(dataset.clone());
    for round in 0.. {
        let left = AtomicUsize::new(5);
        let outcome = run(
            &shared,
            &mut plan,
            &mut piecewise,
            1.into(),
            None,
            |_| Ok(()),
            |event| match event {
                BenchmarkEvent::Run(..) if left.fetch_sub(1, Ordering::Relaxed) <= 1 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            },
        );
        if !outcome.unwrap().interrupted {
            assert!(round > 3);
            break;
        }
    }
    assert_eq!(Benchmark::new(&plan, &piecewise), expected);
    assert_eq!(execute(&dataset, &mut plan, &mut piecewise, 1, None).ran, 0);
    let sheets = [sheet::families(&expected), sheet::comparisons(&expected)];
    assert!(crate::sheet::markdown(&sheets).contains("supergat-mx") && sheets[0].csv_rows.len() == 4);
}

#[test]
fn late_benchmarks_leave_out_the_same_for_all() {
    let dataset = dataset();
    let mut plan = small_plan(&dataset, &["mlp", "gcn"]);
    // No time at all: only the first trial of the simplest family runs.
    let (_folder, mut file) = results();
    execute(&dataset, &mut plan, &mut file, 1, Some(Limit::minutes(0.0)));
    let cut = plan.search_cut.clone().unwrap();
    assert_eq!((cut.rung, &cut.places[..], plan.splits_kept), (0, &[0][..], Some(1)), "{cut:?}");
    let late = Benchmark::new(&plan, &file);
    assert!(late.answer.starts_with("Only mlp with 2 layers ran"), "{}", late.answer);
    assert!(late.notes[0].starts_with("Not compared: gcn (there was no time for a trial)"), "{:?}", late.notes);
    // The plan remembers what was left out: the result does not change with more time.
    execute(&dataset, &mut plan, &mut file, 1, None);
    assert_eq!(plan.search_cut, Some(cut));

    // Late after the search: later splits are left out for all families.
    let mut plan = small_plan(&dataset, &["mlp", "gcn"]);
    plan.splits_kept = Some(2);
    execute(&dataset, &mut plan, &mut file, 1, None);
    let found = Benchmark::new(&plan, &file);
    assert_eq!((found.splits, found.families.len()), (2, 2));
    assert!(found.notes.iter().any(|note| note.contains("on 2 of 3 redrawn splits")), "{:?}", found.notes);
}

#[test]
fn plans_fit_the_time_and_the_dataset() {
    let dataset = dataset();
    let of = |minutes| {
        plan(&dataset, &request(&["mlp", "gcn", "gat-go"]), Resources::from(2), Limit::minutes(minutes)).unwrap()
    };
    let (short, long) = (of(0.01), of(100.0));
    assert!(short.rungs[0].trials < long.rungs[0].trials && short.seconds < long.seconds);
    assert_eq!((long.rungs.len(), long.splits.len()), (3, 10));
    assert!(long.check(&dataset).is_ok());
    let other = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.7").unwrap();
    assert!(long.check(&other).unwrap_err().to_string().contains("another dataset"));
    // No time: families are left out by name, and one remains.
    let none = of(0.0);
    assert!(none.families.len() + none.left_out.len() == 3, "{none:?}");
    let missing = plan(&dataset, &request(&["trees", "mlp"]), Resources::from(1), Limit::minutes(1.0)).unwrap();
    assert_eq!(missing.families.len() + missing.left_out.len(), 2);
    for wrong in ["{}", "", "[1]"] {
        assert!(Plan::from_json(wrong).is_err());
    }
}

/// Long trials leave time for fewer splits, and the clock does not matter.
#[test]
fn selected_trials_decide_the_number_of_splits() {
    let dataset = dataset();
    let mut plan = plan(&dataset, &request(&["mlp", "gcn"]), 1.into(), Limit::minutes(10.0)).unwrap();
    let cost = cost::Cost { fixed: 0.0, epoch: [0.01, 0.02] };
    plan.families.iter_mut().for_each(|of| of.cost = cost);
    plan.rungs = vec![RungPlan { trials: 1, epochs: 100 }];
    // The search takes 2 s: two layers take 1 s, blocks 2 s, and eight blocks about five times as long as two.
    plan.seconds = 26.0;
    let splits =
        |number: usize| plan.splits_for(&[plan.families[0].family, plan.families[1].family].map(|of| (of, number)));
    assert_eq!([0, 1, 3].map(splits), [10, 6, 3]);
    assert_eq!(plan.splits_for(&[]), 10);
    // Time that is left besides the final runs on all splits is for more trials.
    let selected = [plan.families[0].family, plan.families[1].family].map(|of| (of, 0));
    assert!(!plan.clone().extend(&selected));
    let mut longer = Plan { seconds: 200.0, ..plan };
    assert!(longer.extend(&selected) && longer.rungs.len() == 3 && longer.rungs[0].trials > 1);
    assert_eq!(longer.rungs[2].epochs, 100);
    assert!(!longer.clone().extend(&selected) && longer.splits_for(&selected) == 10);
}

#[test]
fn splits_are_like_the_given_one() {
    let dataset = dataset();
    let split = |dataset: &Dataset, keep_split| {
        let request = Request { keep_split, ..request(&["mlp"]) };
        plan(dataset, &request, 1.into(), Limit::minutes(100.0)).unwrap()
    };
    let half = dataset.drawn_by_shares("50/25/25".parse().unwrap(), 7).unwrap();
    let plan = split(&half, false);
    assert_eq!((plan.splits.len(), plan.splits[3].split.as_str(), plan.splits[3].seed), (10, "random:50/25/25:3", 3));
    assert_ne!(plan.splits[0].hash, plan.splits[1].hash);
    let kept = split(&half, true);
    assert!(kept.splits.iter().all(|split| split.split == "published" && split.hash == kept.splits[0].hash));
    assert!(kept.notes[0].contains("same split"));
    let mut empty = half;
    empty.examples[0].test.clear();
    let error = super::plan(&empty, &request(&["mlp"]), 1.into(), Limit::minutes(1.0)).unwrap_err().to_string();
    assert!(error.contains("0 nodes for training, validation and testing"), "{error}");
}

#[test]
fn rare_classes_choose_metric_and_weights() {
    let mut dataset = supergat_data::load("random-partition:classes=2,nodes=250,degree=6,homophily=0.8").unwrap();
    let (balanced, notes) = MetricChoice::new(&dataset, None).unwrap();
    assert!(balanced.select.is_none() && notes.is_empty());
    assert!(MetricChoice::new(&dataset, Some("speed")).unwrap_err().contains("expected one of accuracy"));
    assert!(MetricChoice::new(&dataset, Some("micro-f1")).unwrap_err().contains("use accuracy"));
    // The first class becomes rare.
    let example = &mut dataset.examples[0];
    let supergat_core::Labels::Single { of, .. } = &example.labels else { panic!() };
    let mut rare = 0;
    let of = of.clone();
    for list in [&mut example.train, &mut example.validation, &mut example.test] {
        list.retain(|&node| {
            let is_rare = of[node as usize] == 0;
            rare += usize::from(is_rare);
            !is_rare || rare.is_multiple_of(8)
        });
    }
    let plan = plan(&dataset, &request(&["mlp", "gcn"]), 1.into(), Limit::minutes(10.0)).unwrap();
    assert!(plan.metric == "auroc" && plan.class_weights, "{plan:?}");
    assert!(plan.notes[0].contains("have the class 0; --metric average-precision"), "{:?}", plan.notes);
    let (named, _) = MetricChoice::new(&dataset, Some("average-precision")).unwrap();
    assert_eq!(named.positive, Some(0));
}
