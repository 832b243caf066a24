//! Tests of whole comparisons on generated graphs.

use super::trials::Trial;
use super::*;
use crate::recommend::families::Family;
use crate::recommend::metric::MetricChoice;
use crate::sweep::ResultsFile;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use supergat_core::Select;
use supergat_data::Dataset;
use supergat_train::Resources;

fn dataset() -> Dataset {
    supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8").unwrap()
}

fn question(names: &[&str]) -> ThoroughQuestion {
    ThoroughQuestion {
        families: names.iter().map(|name| name.parse().unwrap()).collect(),
        ..ThoroughQuestion::default()
    }
}

/// Returns a plan with four trials, eight epochs and three splits. It has time for all families on any machine.
fn small_plan(dataset: &Dataset, names: &[&str]) -> ThoroughPlan {
    let mut plan = plan(dataset, &question(names), 1.into(), Limit::minutes(1000.0)).unwrap();
    let rung = |(trials, epochs, splits)| RungPlan { trials, epochs, splits };
    plan.rungs = [(4, 2, 1), (3, 4, 1), (2, 8, 2)].map(rung).to_vec();
    plan.splits.truncate(3);
    plan.spent = Some(0.0);
    plan
}

fn results() -> (tempfile::TempDir, ResultsFile) {
    let folder = tempfile::tempdir().unwrap();
    let results = ResultsFile::open(&folder.path().join("results.jsonl")).unwrap();
    (folder, results)
}

fn execute(
    dataset: &Dataset,
    plan: &mut ThoroughPlan,
    results: &mut ResultsFile,
    threads: usize,
    limit: Option<Limit>,
) -> ThoroughOutcome {
    let dataset = Arc::new(dataset.clone());
    run(&dataset, plan, results, threads.into(), limit, |_| Ok(()), |_| ControlFlow::Continue(())).unwrap()
}

/// Interrupts a comparison after every fifth run; returns the number of interruptions. The plan is read from its file each time.
fn execute_in_parts(
    dataset: &Dataset,
    plan: &mut ThoroughPlan,
    results: &mut ResultsFile,
    limit: Option<Limit>,
) -> usize {
    let dataset = Arc::new(dataset.clone());
    for count in 0.. {
        let left = AtomicUsize::new(5);
        let observe = |event: ThoroughEvent<'_>| match event {
            ThoroughEvent::Run(..) if left.fetch_sub(1, Ordering::Relaxed) <= 1 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let outcome = run(&dataset, plan, results, 1.into(), limit, |_| Ok(()), observe).unwrap();
        if !outcome.interrupted {
            return count;
        }
        *plan = ThoroughPlan::from_json(&plan.to_json()).unwrap();
    }
    unreachable!("a comparison ends")
}

#[test]
fn every_trial_of_every_family_is_valid() {
    let (dataset, mut count) = (dataset(), 0);
    for family in Family::within_minutes() {
        let Ok(kind) = family.kind() else { continue };
        let choice = MetricChoice { select: Some(Select::MacroF1), positive: None };
        let context = trials::TrialContext { preset: Some("cora"), metric: choice, seed: 3, class_weights: true };
        let trials: Vec<Trial> = (0..40).map(|number| family.trial(kind, number, 50, &context)).collect();
        for trial in &trials {
            trial.settings.check(&dataset).unwrap();
            assert_eq!(trial.settings.select, Some(Select::MacroF1));
            assert!(
                !kind.is_network()
                    || (trial.settings.training.max_epochs == 50 && !trial.settings.early_stopping.early_stop)
            );
            count += 1;
        }
        assert!(!trials[1].balanced);
        assert_eq!(trials.iter().filter(|trial| trial.balanced).count(), if kind.is_network() { 20 } else { 0 });
        let depths: Vec<usize> = trials.iter().map(|trial| trial.settings.network.layers).collect();
        assert!(
            !kind.is_network() || ([0, 1, 3].map(|number| depths[number]) == [2, 2, 8] && depths.contains(&12)),
            "{depths:?}"
        );
    }
    assert!(count >= 400);
    // Families share the random numbers of what both search.
    let context = |seed| trials::TrialContext {
        preset: None,
        metric: MetricChoice { select: None, positive: None },
        seed,
        class_weights: false,
    };
    let deep = |name: &str, seed| {
        let family = Family::named(name).unwrap();
        family.trial(family.kind().unwrap(), 5, 9, &context(seed)).settings
    };
    let (gcn, supergat) = (deep("gcn", 1), deep("supergat-mx", 1));
    assert_eq!(
        (gcn.training.lr, gcn.network.layers, gcn.network.norm),
        (supergat.training.lr, supergat.network.layers, supergat.network.norm)
    );
    assert_ne!(gcn.training.lr, deep("gcn", 2).training.lr);
}

#[test]
fn result_depends_on_plan_and_seed_only() {
    let dataset = dataset();
    let mut plan = small_plan(&dataset, &["label-propagation", "mlp", "gcn", "supergat-mx"]);
    assert_eq!(ThoroughPlan::from_json(&plan.to_json()).unwrap(), plan);
    let (_folder, mut at_once) = results();
    let before = plan.clone();
    let outcome = execute(&dataset, &mut plan, &mut at_once, 2, None);
    assert!(!outcome.interrupted && outcome.ran > 20 && plan.splits_kept == Some(3));
    assert_eq!(ThoroughPlan { splits_kept: None, ..plan.clone() }, before);
    let expected = ThoroughAnswer::new(&plan, &at_once);
    assert_eq!((expected.families.len(), expected.splits, expected.comparisons.len()), (4, 3, 3));
    assert!(expected.family.is_some() && expected.notes.iter().any(|note| note.starts_with("The budget was small")));
    // Interrupted after every few runs, with another number of threads.
    let (_folder, mut piecewise) = results();
    let mut plan = before;
    assert!(execute_in_parts(&dataset, &mut plan, &mut piecewise, None) > 3);
    assert_eq!(ThoroughAnswer::new(&plan, &piecewise), expected);
    assert_eq!(execute(&dataset, &mut plan, &mut piecewise, 1, None).ran, 0);
    let sheets = [sheet::families(&expected), sheet::comparisons(&expected)];
    assert!(supergat_figure::sheet::markdown(&sheets).contains("supergat-mx") && sheets[0].csv_rows.len() == 4);
}

#[test]
fn late_comparisons_leave_out_the_same_for_all() {
    let dataset = dataset();
    let mut plan = small_plan(&dataset, &["mlp", "gcn"]);
    // No time at all: only the first trial of the simplest family runs.
    let (_folder, mut file) = results();
    execute(&dataset, &mut plan, &mut file, 1, Some(Limit::minutes(0.0)));
    let cut = plan.search_cut.clone().unwrap();
    assert_eq!((cut.rung, &cut.places[..], plan.splits_kept), (0, &[0][..], Some(1)), "{cut:?}");
    let late = ThoroughAnswer::new(&plan, &file);
    assert!(late.answer.starts_with("Only mlp with 2 layers ran"), "{}", late.answer);
    assert!(late.notes[0].starts_with("Not compared: gcn (there was no time for a trial)"), "{:?}", late.notes);
    // The plan remembers what was left out: the result does not change with more time.
    execute(&dataset, &mut plan, &mut file, 1, None);
    assert_eq!(plan.search_cut, Some(cut));

    // Late after the search, which has finished two splits: the third is left out for all families.
    let mut plan = small_plan(&dataset, &["mlp", "gcn"]);
    plan.splits_kept = Some(2);
    execute(&dataset, &mut plan, &mut file, 1, None);
    plan.splits_kept = None;
    execute(&dataset, &mut plan, &mut file, 1, Some(Limit::minutes(0.0)));
    let found = ThoroughAnswer::new(&plan, &file);
    assert_eq!((plan.splits_kept, found.splits, found.families.len()), (Some(2), 2, 2));
    assert!(found.notes.iter().any(|note| note.contains("on 2 of 3 resampled splits")), "{:?}", found.notes);
}

#[test]
fn plans_fit_the_time_and_the_dataset() {
    let dataset = dataset();
    let of = |minutes| {
        plan(&dataset, &question(&["mlp", "gcn", "gat-go"]), Resources::from(2), Limit::minutes(minutes)).unwrap()
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
    let missing = plan(&dataset, &question(&["trees", "mlp"]), Resources::from(1), Limit::minutes(1.0)).unwrap();
    assert_eq!(missing.families.len() + missing.left_out.len(), 2);
    for wrong in ["{}", "", "[1]"] {
        assert!(ThoroughPlan::from_json(wrong).is_err());
    }
    let rung = long.rungs[0];
    let rungs = [
        vec![],
        vec![rung; 100],
        vec![RungPlan { trials: usize::MAX, ..rung }],
        vec![RungPlan { epochs: 0, ..rung }],
        vec![RungPlan { splits: 11, ..rung }],
    ];
    let mut wrong: Vec<ThoroughPlan> = rungs.map(|rungs| ThoroughPlan { rungs, ..long.clone() }).to_vec();
    wrong.push(ThoroughPlan { search_cut: Some(SearchCut { rung: 3, places: vec![] }), ..long.clone() });
    wrong.push(ThoroughPlan { splits: vec![], ..long.clone() });
    wrong.push(ThoroughPlan { seconds: 1e300, ..long.clone() });
    assert!(ThoroughPlan::from_json(&long.to_json()).is_ok());
    for plan in wrong {
        assert!(ThoroughPlan::from_json(&plan.to_json()).is_err(), "{plan:?}");
    }
    // Larger searches have only trials that fit into memory.
    let mut limited = long.clone();
    limited.limit_trials(|settings| settings.network.layers < 8);
    assert_eq!((long.most_trials, limited.most_trials), (64, 3), "the fourth trial has eight layers");
}

/// Returns a plan of two families with known times: 0.01 s per epoch of two layers, 0.02 s of blocks.
fn timed_plan(rungs: Vec<RungPlan>, seconds: f64) -> (ThoroughPlan, [Family; 2]) {
    let mut plan = plan(&dataset(), &question(&["mlp", "gcn"]), 1.into(), Limit::minutes(10.0)).unwrap();
    plan.families.iter_mut().for_each(|of| of.cost = cost::Cost { fixed: 0.0, epoch: [0.01, 0.02] });
    let families = [plan.families[0].family, plan.families[1].family];
    (ThoroughPlan { rungs, seconds, ..plan }, families)
}

/// Long trials leave time for fewer splits, and the clock does not matter.
#[test]
fn selected_trials_decide_the_number_of_splits() {
    // The search takes 2 s: two layers take 1 s, blocks 2 s, and eight blocks about five times as long as two.
    let (plan, families) = timed_plan(vec![RungPlan { trials: 1, epochs: 100, splits: 1 }], 26.0);
    let splits = |number: usize| plan.splits_for(&families.map(|of| (of, vec![number])), None);
    assert_eq!([0, 1, 3].map(splits), [10, 6, 3]);
    assert_eq!(plan.splits_for(&[], None), 10);
    // Known times count instead: 23.4 s are for the runs.
    assert_eq!(plan.splits_for(&[], Some((9.4, vec![1.0, 2.0]))), 5);
    // Of many threads, most have nothing to do.
    let plan = ThoroughPlan { threads: 9, ..plan };
    assert_eq!([0.5, 2.0].map(|longest| plan.splits_for(&[], Some((9.4, vec![3.0 - longest, longest])))), [3, 3]);
    assert_eq!(plan.splits_for(&[], Some((1.4, vec![0.5; 6]))), 8);
}

/// Returns families whose first trial is the best one.
fn ranked<const N: usize>(scores: [(Family, f64); N]) -> [size::Ranked; N] {
    scores.map(|(family, score)| size::Ranked { family, numbers: vec![0, 2, 1, 3], score })
}

/// A rung takes as long as its longest run, however many threads there are.
#[test]
fn many_threads_do_not_shorten_runs() {
    let (plan, _) = timed_plan(Vec::new(), 400.0);
    let [few, many] = [1, 64].map(|threads| {
        let mut plan = ThoroughPlan { threads, ..plan.clone() };
        plan.choose();
        plan.rungs[0]
    });
    assert!(few.epochs >= 100 && many.epochs < 100, "{few:?} {many:?}");
}

/// The times of the first rung decide the size of the search.
#[test]
fn quick_searches_become_larger() {
    let rung = |(trials, epochs, splits)| RungPlan { trials, epochs, splits };
    let rungs = [(4, 100, 1), (1, 200, 1)].map(rung).to_vec();
    let (plan, families) = timed_plan(rungs.clone(), 60.0);
    let selected = families.map(|of| (of, vec![0]));
    let ranked = ranked(families.map(|of| (of, 0.8)));
    // All runs took `factor` times as long as estimated.
    let settled = |factor: f64| {
        let runs = families.map(|family| size::FirstRun { family, number: 0, seconds: factor });
        let mut plan = plan.clone();
        let is_other = plan.settle(&runs, &ranked);
        assert_eq!(is_other, plan.rungs[0] != rungs[0]);
        assert!((plan.families[0].cost.epoch[1] - 0.02 * factor).abs() < 1e-12);
        plan
    };
    let [slow, usual, quick, quicker] = [4.0, 1.0, 0.5, 0.1].map(settled);
    assert_eq!((&slow.rungs[..], slow.spent, slow.splits_for(&selected, None)), (&rungs[..1], Some(0.0), 3));
    assert_eq!((&usual.rungs[0], usual.rungs[1].epochs), (&rungs[0], 200));
    let size = |plan: &ThoroughPlan| (plan.rungs[0].trials, plan.rungs[plan.rungs.len() - 1].epochs);
    assert!(size(&quick) > (4, 200) && size(&quicker) > size(&quick), "{quick:?}");
    // Runs of the last rung are final ones too. Those of the first one are lost if the new one has other epochs.
    assert_eq!((quicker.rungs[2].splits, quicker.splits_for(&selected, None)), (3, 10));
    for plan in [quick, quicker] {
        let is_found = plan.rungs[0].epochs == 100;
        assert_eq!(plan.spent.unwrap() == 0.0, is_found, "{plan:?}");
    }
    // Memory limits trials.
    let mut limited = ThoroughPlan { most_trials: 4, ..plan.clone() };
    limited.settle(&families.map(|family| size::FirstRun { family, number: 0, seconds: 0.01 }), &ranked);
    assert_eq!(limited.rungs[0], rungs[0]);
    // A slow search becomes smaller before families are left out.
    let (mut plan, _) = timed_plan([(8, 100, 1), (4, 200, 1), (2, 400, 3)].map(rung).to_vec(), 110.0);
    assert!(!plan.settle(&[], &ranked));
    assert_eq!(plan.rungs, [(8, 100, 1), (1, 200, 1)].map(rung).to_vec());
    assert!(plan.left_out.is_empty() && plan.splits_for(&selected, None) >= 3);
}

/// The size of a search is settled once, also if it is interrupted before and after.
#[test]
fn settled_searches_are_resumed() {
    let dataset = dataset();
    let mut planned = plan(&dataset, &question(&["label-propagation", "mlp"]), 1.into(), Limit::minutes(10.0)).unwrap();
    planned.rungs = vec![RungPlan { trials: 2, epochs: 25, splits: 1 }, RungPlan { trials: 1, epochs: 50, splits: 1 }];
    planned.splits.truncate(5);
    (planned.most_trials, planned.seconds) = (4, 1e6);
    let limit = Some(Limit::minutes(1e4));
    let (_folder, mut at_once) = results();
    let mut whole = planned.clone();
    execute(&dataset, &mut whole, &mut at_once, 2, limit);
    let sizes: Vec<_> = whole.rungs.iter().map(|rung| (rung.trials, rung.epochs, rung.splits)).collect();
    assert_eq!((sizes, whole.splits_kept), (vec![(4, 100, 1), (2, 200, 3)], Some(5)));
    let (_folder, mut piecewise) = results();
    let mut parts = planned.clone();
    assert!(execute_in_parts(&dataset, &mut parts, &mut piecewise, limit) > 3);
    assert_eq!((&parts.rungs, parts.splits_kept), (&whole.rungs, whole.splits_kept));
    assert_eq!(ThoroughAnswer::new(&parts, &piecewise), ThoroughAnswer::new(&whole, &at_once));
    // Without a limit, times do not matter.
    let (_folder, mut file) = results();
    let mut given = planned.clone();
    given.families.iter_mut().for_each(|of| of.cost = of.cost.times(1e9));
    execute(&dataset, &mut given, &mut file, 1, None);
    assert_eq!((given.rungs, given.spent, given.splits_kept), (planned.rungs, Some(0.0), Some(3)));
}

/// If there is no time for all families, those that were worse in the first rung are left out.
#[test]
fn bad_families_are_left_out_of_late_searches() {
    let mut plan = plan(
        &dataset(),
        &question(&["label-propagation", "mlp", "gcn", "sage", "gat-go"]),
        1.into(),
        Limit::minutes(10.0),
    )
    .unwrap();
    let family = |name: &str| Family::named(name).unwrap();
    for of in &mut plan.families {
        let epoch = if of.family.name == "label-propagation" { 0.0 } else { 0.01 };
        of.cost = cost::Cost { fixed: 0.001, epoch: [epoch; 2] };
    }
    plan.rungs = vec![RungPlan { trials: 1, epochs: 50, splits: 1 }, RungPlan { trials: 1, epochs: 100, splits: 1 }];
    let scores = |mlp| {
        let scores = [("gcn", 0.8), ("gat-go", 0.7), ("sage", 0.7), ("mlp", mlp), ("label-propagation", 0.5)];
        ranked(scores.map(|(name, score)| (family(name), score)))
    };
    let names = |plan: &ThoroughPlan| plan.families.iter().map(|of| of.family.name).collect::<Vec<_>>();
    // Three splits take 3.5 s for each of four families. One of them is too much, and its first rung takes 0.5 s.
    plan.seconds = 13.0;
    let mut settled = plan.clone();
    assert!(!settled.settle(&[], &scores(0.65)));
    assert_eq!((names(&settled), settled.left_out.len()), (vec!["label-propagation", "gcn", "sage", "gat-go"], 1));
    let expected = "there was no time for more than the first rung, in which gcn was better: 80.0 against 65.0";
    assert_eq!(settled.left_out[0].reason, expected);
    assert!((settled.spent.unwrap() - 0.501).abs() < 1e-9 && settled.search_share < 1.0, "{settled:?}");
    // Far behind: it is compared, but its final runs are short.
    plan.seconds = 14.0;
    assert!(!plan.settle(&[], &scores(0.55)));
    assert!(plan.left_out.is_empty() && plan.is_stopped(family("mlp")) && !plan.is_stopped(family("sage")));
    assert_eq!([plan.final_epochs(family("mlp")), plan.final_epochs(family("gcn"))], [50, 100]);
}

/// Searches with many trials have fewer splits and finalists before families are left out.
#[test]
fn large_searches_shrink() {
    let names = ["mlp", "gcn", "sage", "gat-go", "gatv2", "supergat-mx"];
    // Enough time on the slowest machine: no family is left out before its cost is replaced.
    let mut plan = plan(&dataset(), &question(&names), 1.into(), Limit::minutes(1000.0)).unwrap();
    plan.minutes = 10.0;
    plan.families.iter_mut().for_each(|of| of.cost = cost::Cost { fixed: 0.0, epoch: [0.01; 2] });
    let rung = |(trials, epochs, splits)| RungPlan { trials, epochs, splits };
    plan.rungs = [(12, 100, 1), (3, 200, 3)].map(rung).to_vec();
    plan.most_trials = 12;
    let scores = ranked(names.map(|name| (Family::named(name).unwrap(), 0.8)));
    let splits = |seconds: f64| {
        let mut plan = ThoroughPlan { seconds, ..plan.clone() };
        assert!(!plan.settle(&[], &scores) && plan.left_out.is_empty(), "{plan:?}");
        (plan.rungs[1], plan.splits_for(&names.map(|name| (Family::named(name).unwrap(), vec![0])), None))
    };
    let [all, fewer, fewest] = [600.0, 400.0, 280.0].map(splits);
    assert_eq!((all, fewer.0), ((rung((3, 200, 3)), 10), all.0));
    assert!(fewer.1 < 10 && fewest == (rung((2, 200, 1)), 4), "{fewer:?} {fewest:?}");
}

/// Families that are far behind have results with the epochs of the first rung.
#[test]
fn stopped_families_are_compared() {
    let dataset = dataset();
    let mut plan = small_plan(&dataset, &["label-propagation", "mlp", "gcn"]);
    plan.families[1].is_stopped = true;
    let (_folder, mut file) = results();
    execute(&dataset, &mut plan, &mut file, 2, None);
    let found = ThoroughAnswer::new(&plan, &file);
    let epochs = |name: &str| found.of(Family::named(name).unwrap()).unwrap().settings.training.max_epochs;
    assert_eq!((found.families.len(), found.splits, epochs("mlp"), epochs("gcn")), (3, 3, 2, 8));
    let note = "Far behind after 2 epochs, by more than 20 points on validation nodes, and not trained longer: mlp.";
    assert!(found.notes.iter().any(|found| found == note), "{:?}", found.notes);
    let (_folder, mut piecewise) = results();
    let mut parts = ThoroughPlan { splits_kept: None, ..plan.clone() };
    assert!(execute_in_parts(&dataset, &mut parts, &mut piecewise, None) > 2);
    assert_eq!(ThoroughAnswer::new(&parts, &piecewise), found);
}

#[test]
fn splits_are_like_the_given_one() {
    let dataset = dataset();
    let split = |dataset: &Dataset, keep_split| {
        let question = ThoroughQuestion { keep_split, ..question(&["mlp"]) };
        plan(dataset, &question, 1.into(), Limit::minutes(100.0)).unwrap()
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
    let error = super::plan(&empty, &question(&["mlp"]), 1.into(), Limit::minutes(1.0)).unwrap_err().to_string();
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
    let plan = plan(&dataset, &question(&["mlp", "gcn"]), 1.into(), Limit::minutes(10.0)).unwrap();
    assert!(plan.metric == "auroc" && plan.class_weights, "{plan:?}");
    assert!(plan.notes[0].contains("have the class 0; average-precision"), "{:?}", plan.notes);
    let (named, _) = MetricChoice::new(&dataset, Some("average-precision")).unwrap();
    assert_eq!(named.positive, Some(0));
    // A split whose test nodes lack the rare class is not used: the metric is undefined there.
    let published = dataset.examples[0].clone();
    let test: Vec<u32> = published.test.iter().copied().filter(|&node| of[node as usize] != 0).collect();
    dataset.splits = [published.test.clone(), published.test.clone(), test]
        .map(|test| [published.train.clone(), published.validation.clone(), test])
        .to_vec();
    let splits = super::plan(&dataset, &question(&["mlp"]), 1.into(), Limit::minutes(1.0)).unwrap();
    assert_eq!(splits.splits.len(), 2);
    assert!(splits.notes.iter().any(|note| note.starts_with("1 of 3 splits are not used")), "{:?}", splits.notes);
}
