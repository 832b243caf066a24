use super::*;
use std::ops::ControlFlow;
use supergat_core::Score;
use supergat_figure::sheet::{csv, markdown};
use supergat_select::sweep::{Record, ResultsFile, run_sweep};
use supergat_train::task::{Status, Task};

const SOURCE: &str = "random-partition:classes=2,nodes=170,degree=4,homophily=0.9";

/// Returns a small plan: graphs that differ by their seed.
fn plan(graphs: u64, families: &[&str]) -> DefaultsPlan {
    let graph = |seed| StudyGraph::new(&format!("{SOURCE},seed={seed}"), "40/30/30", false);
    let families = families.iter().map(|&name| name.to_owned()).collect();
    DefaultsPlan { families, seconds: 1, ..DefaultsPlan::new((0..graphs).map(graph).collect(), 4) }
}

/// Returns a results file with these validation and test metrics of graph, family, candidate and split.
fn forged(
    plan: &DefaultsPlan,
    metrics: impl Fn(usize, &str, usize, u64) -> [f64; 2],
) -> (tempfile::TempDir, ResultsFile) {
    let folder = tempfile::tempdir().unwrap();
    let mut results = ResultsFile::open(&folder.path().join("results.jsonl")).unwrap();
    for (number, graph) in plan.graphs.iter().enumerate() {
        let traits = Traits::of(&supergat_data::load(&graph.source).unwrap());
        for name in &plan.families {
            for candidate in 0..plan.candidates_of(name).len() {
                for split in 0..plan.splits {
                    let settings = plan.settings(graph, name, candidate).unwrap();
                    let job = supergat_select::sweep::Job {
                        source: graph.source.clone(),
                        split: graph.split(split),
                        settings,
                        seed: split,
                    };
                    let [validation, test] = metrics(number, name, candidate, split);
                    let line = crate::records::line_of(&job, Score { loss: 0.5, metric: validation }, test);
                    let record: Record = serde_json::from_str(&line).unwrap();
                    let Status::Ok { metric, train, validation, test, epochs, best_epoch, .. } = record.status else {
                        unreachable!()
                    };
                    let measured = serde_json::to_value(Traits { degree: number as f64, ..traits }).unwrap();
                    let status = Status::Ok { metric, train, validation, test, epochs, best_epoch, measured };
                    let task = DefaultsTask::NAME.to_owned();
                    results.append(Record { task, dataset: graph.source.clone(), status, ..record }).unwrap();
                }
            }
        }
    }
    (folder, results)
}

#[test]
fn usual_graphs_are_many_and_distinct() {
    let graphs = StudyGraph::all();
    let mut names: Vec<String> = graphs.iter().map(StudyGraph::name).collect();
    assert!(names.len() >= 30 && names.contains(&"photo (nodes=2500, noise=1), 10 %".to_owned()), "{names:?}");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), graphs.len());
    for graph in &graphs {
        let original = graph.source.rsplit("of=").next().unwrap();
        assert!(supergat_data::registry::entry(original).is_some(), "{original} is no known dataset");
        assert!(graph.split(3).to_string().starts_with("random:") && graph.split(3) != graph.split(4));
    }
}

#[test]
fn candidates_are_valid_for_all_families() {
    let dataset = supergat_data::load(SOURCE).unwrap();
    let plan = DefaultsPlan::new(vec![StudyGraph::new(SOURCE, "40/30/30", true)], 1);
    for name in &plan.families {
        for candidate in 0..plan.candidates_of(name).len() {
            let settings = plan.settings(&plan.graphs[0], name, candidate).unwrap();
            settings.check(&dataset).unwrap();
            assert!(settings.select.is_some());
            assert_eq!(settings.correct_and_smooth.is_some(), name == "mlp-correct-and-smooth");
        }
    }
    assert_eq!(plan.jobs().len(), plan.families.iter().map(|name| plan.candidates_of(name).len()).sum::<usize>());
}

/// One candidate is best on all graphs but one; that graph must not choose its own.
#[test]
fn defaults_are_judged_on_graphs_that_did_not_choose_them() {
    let plan = plan(6, &["label-propagation", "mlp"]);
    let (_folder, results) = forged(&plan, |graph, name, candidate, split| {
        let good = if graph == 5 { 3 } else { 2 };
        let metric = if name == "mlp" { 0.6 + 0.1 * f64::from(candidate == good) } else { 0.5 };
        [metric, metric + 0.001 * split as f64]
    });
    let study = DefaultsStudy::new(&plan, &results);
    let mlp = &study.defaults[1];
    assert_eq!((mlp.chosen, mlp.changes), (CANDIDATES[2].name, 0));
    assert!((mlp.held_out - 0.1 / 6.0).abs() < 1e-9 && (mlp.worst.0 - 0.1).abs() < 1e-9, "{mlp:?}");
    assert!(mlp.worst.1.contains("seed=5"));
    assert!((mlp.regrets[0] - 0.1).abs() < 1e-9 && (mlp.regrets[2] - 0.1 / 6.0).abs() < 1e-9);
    let costs = sheet::costs(&study);
    let leads: Vec<f64> = costs.csv_rows.iter().map(|row| row[1].parse().unwrap()).collect();
    assert!((leads[0] - 0.1).abs() < 1e-9 && (leads[5] + 0.1).abs() < 1e-9, "{leads:?}");
    assert_eq!([0, 5].map(|graph| costs.rows[graph].1[1].as_str()), ["+10.0", "-10.0"]);
    for sheet in [sheet::rules, sheet::defaults, sheet::costs, sheet::graphs, sheet::gains].map(|of| of(&study)) {
        let columns = sheet.csv_header.split(',').count();
        assert!(sheet.csv_rows.iter().all(|row| row.len() == columns), "{}", csv(&sheet));
    }
    let text = markdown(&[sheet::defaults(&study), sheet::graphs(&study), sheet::rules(&study), sheet::gains(&study)]);
    assert!(text.contains("layer-2") && !text.contains("NaN"), "{text}");
    assert!(csv(&sheet::rules(&study)).lines().count() == 5);
}

/// Label propagation is best on graphs of small degree, gcn on the others; validation says so on most splits.
#[test]
fn rules_are_compared_with_the_best_family() {
    let plan = plan(12, &["label-propagation", "mlp", "gcn"]);
    let (_folder, results) = forged(&plan, |graph, name, _, split| {
        let good = if graph < 6 { "label-propagation" } else { "gcn" };
        let test = if name == good { 0.8 } else { 0.7 } + 0.001 * ((graph as u64 + 3 * split) % 7) as f64;
        let misled = graph == 0 && split == 1 && name == "mlp";
        [if misled { 0.9 } else { test }, test]
    });
    let study = DefaultsStudy::new(&plan, &results);
    assert_eq!((study.best[0].as_str(), study.best[11].as_str()), ("label-propagation", "gcn"));
    let rule = |wanted: &Rule| study.rules.iter().find(|found| found.rule == *wanted).unwrap();
    let measured = rule(&Rule::Measured);
    assert!(
        (measured.regrets[0] - 0.025).abs() < 0.002 && measured.regrets[1..].iter().all(|regret| regret.abs() < 1e-9)
    );
    assert_eq!((measured.not_worse(), measured.median()), (12, 0.0));
    let always = rule(&Rule::Always("gcn".into()));
    assert_eq!(always.not_worse(), 6, "ten points on every split are significant on six graphs");
    let recipe = rule(&Rule::Recipe);
    assert!(recipe.not_worse() >= 10, "{recipe:?}");
    let text = sheet::recipe(&study);
    assert!(
        text.contains("degree up to 5.50:\n  label-propagation (6 graphs)\ndegree above 5.50:\n  gcn (6 graphs)"),
        "{text}"
    );
}

/// The recommendation is asked for on one graph, and forged on another, where it names a model outside the study.
#[test]
fn recommendations_are_judged_like_rules() {
    let plan = DefaultsPlan { splits: 2, ..plan(2, &["label-propagation", "mlp", "gcn"]) };
    let (_folder, mut results) = forged(&plan, |_, name, _, split| {
        let metric = if name == "mlp" { 0.6 } else { 0.7 } + 0.001 * split as f64;
        [metric, metric]
    });
    assert!(DefaultsStudy::new(&plan, &results).rules.iter().all(|found| found.rule != Rule::Recommended));
    let [task, by_auroc] = RecommendTask::of(&plan);
    assert!(by_auroc.jobs(&plan).is_empty() && task.jobs(&DefaultsPlan { seconds: 0, ..plan.clone() }).is_empty());
    let jobs = task.jobs(&plan);
    let (asked, forged): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.source == plan.graphs[0].source);
    assert_eq!((asked.len(), forged.len()), (2, 2));
    run_sweep(&task, asked, &mut results, 2, |_, _| ControlFlow::Continue(())).unwrap();
    for job in forged {
        let line = crate::records::line_of(&job, Score { loss: 0.5, metric: 0.5 }, 0.5);
        let record: Record = serde_json::from_str(&line).unwrap();
        let Status::Ok { metric, train, validation, test, epochs, best_epoch, .. } = record.status else {
            unreachable!()
        };
        let measured = serde_json::Value::from("supergat-dp");
        let status = Status::Ok { metric, train, validation, test, epochs, best_epoch, measured };
        let (task, dataset) = (task.name().to_owned(), job.source.clone());
        results.append(Record { task, dataset, status, ..record }).unwrap();
    }
    let study = DefaultsStudy::new(&plan, &results);
    let answers = &study.graphs[0].recommended;
    assert!(answers.len() == 2 && answers.iter().all(|name| name.parse::<supergat_core::ModelKind>().is_ok()));
    let rule = study.rules.iter().find(|found| found.rule == Rule::Recommended).unwrap();
    assert!((rule.regrets[1] - 0.1).abs() < 1e-9 && rule.worse[1], "{rule:?}");
    assert!(csv(&sheet::rules(&study)).contains("answer of recommend"));
}

#[test]
fn gains_are_those_of_the_same_attention() {
    let plan = plan(10, &["label-propagation", "gat-mx", "supergat-mx"]);
    let (_folder, results) = forged(&plan, |graph, name, _, split| {
        let gain = if graph < 5 { 0.02 } else { -0.03 };
        let metric = 0.7 + 0.001 * split as f64 + f64::from(name == "supergat-mx") * (gain + 0.0001 * split as f64);
        [metric, metric]
    });
    let study = DefaultsStudy::new(&plan, &results);
    assert!((study.gains[0].difference - 0.02).abs() < 0.001 && (study.gains[9].difference + 0.03).abs() < 0.001);
    assert!(study.gains[0].p.is_some_and(|p| p < 1e-3) && study.gain_hits >= 8, "{}", study.gain_hits);
    assert!(sheet::recipe(&study).contains("self-supervision helps (5 graphs)"), "{}", sheet::recipe(&study));
}

#[test]
fn runs_and_leaves_incomplete_graphs_out() {
    let folder = tempfile::tempdir().unwrap();
    let plan = DefaultsPlan { splits: 2, ..plan(2, &["label-propagation", "mlp"]) };
    let mut results = ResultsFile::open(&folder.path().join("results.jsonl")).unwrap();
    let go_on = |_: supergat_select::sweep::Event<'_>, _: supergat_select::sweep::Tally| ControlFlow::Continue(());
    let first: Vec<_> = plan.jobs().into_iter().filter(|job| job.source == plan.graphs[0].source).collect();
    run_sweep(&DefaultsTask, first, &mut results, 2, go_on).unwrap();
    let study = DefaultsStudy::new(&plan, &results);
    assert_eq!((study.graphs.len(), study.defaults.len(), DefaultsTask.name()), (1, 2, "defaults"));
    let traits = &study.graphs[0].traits;
    assert_eq!((traits[0], traits.len()), (340.0, TRAITS.len()));
    assert!(traits[2] > 0.7 && traits[10] > 0.2, "homophily and signal of links: {traits:?}");
    assert!(DefaultsStudy::new(&DefaultsPlan { splits: 3, ..plan }, &results).graphs.is_empty());
}
