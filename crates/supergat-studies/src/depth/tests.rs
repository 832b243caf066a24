use super::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use supergat_core::{ModelKind, Residual, Score};
use supergat_figure::sheet::{csv, markdown};
use supergat_select::sweep::{Record, ResultsFile};
use supergat_train::settings::Settings;
use supergat_train::task::Task;

const SOURCE: &str = "random-partition:classes=2,nodes=170,degree=4,homophily=0.9";

fn kind(name: &str) -> ModelKind {
    name.parse().unwrap()
}

fn plan(models: &[&str], trials: usize) -> DepthPlan {
    DepthPlan {
        graphs: vec![DepthGraph::new(SOURCE).unwrap()],
        depths: Depth::ALL.to_vec(),
        models: models.iter().map(|name| kind(name)).collect(),
        trials,
        splits: 3,
        max_epochs: Some(2),
    }
}

fn go_on(_: DepthEvent<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Returns a graph of the study, as if its files were there.
fn graph(name: &str) -> DepthGraph {
    let mut graph = DepthGraph::new(SOURCE).unwrap();
    graph.rename(name);
    graph
}

#[test]
fn deep_networks_start_from_the_published_ones() {
    let deep = graph("minesweeper").settings(Depth::Deep, kind("supergat-mx"));
    assert_eq!(
        (deep.network.layers, deep.network.hidden, deep.training.max_epochs, deep.network.residual),
        (15, 64, 2000, Residual::Linear)
    );
    assert!(
        deep.network.output_layer
            && !deep.network.attention_dropout
            && !deep.early_stopping.early_stop
            && deep.select.is_some()
    );
    assert_eq!((deep.network.heads, deep.network.output_heads, deep.edge_loss.lambda_e), (1, 1, 0.1));
    for name in DATASETS {
        for model in MODELS {
            let (graph, cell) = (graph(name), kind("gat-go"));
            let space = graph.space(Depth::Deep, model);
            let names: Vec<&str> = space.dimensions().iter().map(|dimension| dimension.name).collect();
            assert_eq!(names.contains(&"lambda_e"), model.is_self_supervised());
            assert!(["layers", "hidden", "heads", "norm", "residual"].iter().all(|name| names.contains(name)));
            // The published network is a point of the space.
            let base = graph.settings(Depth::Deep, cell).with_model(model);
            for dimension in space.dimensions() {
                assert!(dimension.of(&base).is_some(), "{name}: {}", dimension.name);
            }
            assert_eq!(graph.settings(Depth::Published, model).network.layers, 2, "{name}: {model}");
        }
    }
    let shares = graph("photo").split(3).to_string();
    assert_eq!((shares.as_str(), graph("minesweeper").split(3).to_string().as_str()), ("random:60/20/20:3", "3"));
}

#[test]
fn models_without_published_settings_have_those_of_gat() {
    let photo = graph("photo");
    let published = |model: &str| {
        let settings = Settings::published("photo", kind(model)).unwrap();
        settings.with(|s| {
            s.early_stopping.early_stop = false;
            s.training.max_epochs = 500;
        })
    };
    assert_eq!(photo.settings(Depth::Published, kind("gat-mx")), published("gat-go").with_model(kind("gat-mx")));
    assert_eq!(photo.settings(Depth::Published, kind("supergat-mx")), published("supergat-mx"));
}

/// Models differ by chance only where the search follows their results.
#[test]
fn random_trials_have_the_same_values_in_all_models() {
    let folder = tempfile::tempdir().unwrap();
    let plan = DepthPlan { max_epochs: Some(1), ..plan(&["gat-go", "supergat-go"], 4) };
    let [of_gat, of_supergat] = [0, 1].map(|k| {
        let cell = plan.cells()[k];
        let mut results = ResultsFile::open(&folder.path().join(k.to_string())).unwrap();
        supergat_select::tune::tune(&plan.search(cell, 1.into()), &mut results, |_| ControlFlow::Continue(()))
            .unwrap()
            .trials
    });
    for (gat, supergat) in of_gat.iter().zip(&of_supergat).skip(1) {
        let edge_loss = gat.settings.edge_loss;
        let without = Settings { edge_loss, ..supergat.settings.with_model(kind("gat-go")) };
        assert_eq!(without, gat.settings);
    }
    assert!(of_supergat[1].settings.edge_loss.lambda_e != of_supergat[2].settings.edge_loss.lambda_e);
}

#[test]
fn runs_all_cells_and_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let plan = DepthPlan { splits: 2, ..plan(&["gat-go", "supergat-go"], 3) };
    let mut results = ResultsFile::open(&folder.path().join("a")).unwrap();
    let outcome = run_depth(&plan, &mut results, 2, go_on).unwrap();
    assert_eq!((outcome.ran, outcome.found, outcome.failed, outcome.interrupted), (4, 0, 0, false));
    let study = DepthStudy::new(&plan, &results);
    assert!(study.cells.iter().all(|cell| cell.splits == [0, 1] && cell.test.values.len() == 2));
    // Per depth: one model against its twin, which is GAT; depth of two models; one change of a gain.
    assert_eq!(Question::ALL.map(|question| study.of(question).count()), [2, 2, 2, 1]);
    let published = &study.cells[0].settings;
    assert!(
        published.network.layers == 2
            && !published.network.output_layer
            && study.cells[2].settings.network.output_layer
    );

    let path = folder.path().join("b");
    for stop_after in [2, 4, 7] {
        let runs = AtomicUsize::new(0);
        let part = run_depth(&plan, &mut ResultsFile::open(&path).unwrap(), 1, |event| match event {
            DepthEvent::Run if runs.fetch_add(1, Ordering::Relaxed) + 1 >= stop_after => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert!(part.unwrap().interrupted);
    }
    let mut resumed = ResultsFile::open(&path).unwrap();
    run_depth(&plan, &mut resumed, 2, go_on).unwrap();
    assert_eq!(DepthStudy::new(&plan, &resumed), study);
    let again = run_depth(&plan, &mut resumed, 2, |_| panic!("a complete study runs nothing")).unwrap();
    assert_eq!((again.found, again.ran), (4, 0));
    // Other numbers of trials are another study.
    let other = DepthPlan { trials: 2, ..plan };
    assert!(DepthStudy::new(&other, &resumed).cells.is_empty());
}

/// Returns a results file with final runs of these test metrics.
fn forged(plan: &DepthPlan, test: impl Fn(Cell<'_>, u64) -> f64) -> (tempfile::TempDir, ResultsFile) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.jsonl");
    let mut results = ResultsFile::open(&path).unwrap();
    for cell in plan.cells() {
        for job in plan.final_runs(cell, plan.base(cell)) {
            let metric = test(cell, job.seed);
            let line = crate::records::line_of(&job, Score { loss: 0.5, metric }, metric);
            let record: Record = serde_json::from_str(&line).unwrap();
            let task = Task::name(&plan.task(cell)).to_owned();
            let record = Record { task, dataset: cell.graph.dataset.clone(), ..record };
            results.append(record).unwrap();
        }
    }
    (folder, results)
}

#[test]
fn tests_gains_over_splits() {
    let plan = DepthPlan { splits: 10, ..plan(&["gat-go", "gat-mx", "supergat-mx"], 5) };
    // Self-supervision gains two points at the published depth only; deep blocks gain ten.
    let test = |cell: Cell<'_>, split: u64| {
        let is_deep = f64::from(cell.depth == Depth::Deep);
        let noise = 0.001 * ((7 * split) % 10) as f64 + 0.0005 * ((3 * split + 1) % 7) as f64 * is_deep;
        let gain = f64::from(cell.model.is_self_supervised() && cell.depth == Depth::Published);
        let own = 0.0003 * ((split * split) % 5) as f64 * (1.0 + is_deep);
        let own = own * f64::from(cell.model.is_self_supervised());
        0.7 + noise + own + 0.02 * gain + 0.1 * is_deep
    };
    let (_folder, results) = forged(&plan, test);
    let study = DepthStudy::new(&plan, &results);
    let found = |question, depth| study.of(question).find(|found| found.depth == depth).unwrap();
    let gain = found(Question::SelfSupervision, Some(Depth::Published));
    assert_eq!((gain.a.as_str(), gain.b.as_str(), gain.pairs), ("supergat-mx", "gat-mx", 10));
    assert!((gain.difference - 0.02).abs() < 0.001 && gain.verdict == Verdict::Better);
    assert!(gain.interval.is_some_and(|interval| interval.low > 0.019) && gain.effect.is_some_and(|d| d > 1.0));
    // Two tests of the question: Holm's correction doubles the smaller p-value.
    let deep = found(Question::SelfSupervision, Some(Depth::Deep));
    let (p, other) = (gain.p.unwrap(), deep.p.unwrap());
    assert!(p < other && gain.holm == Some(2.0 * p) && deep.holm == Some(other.max(2.0 * p)));
    assert!(study.of(Question::Depth).all(|found| found.verdict == Verdict::Better && found.depth.is_none()));
    let change = study.of(Question::Change).next().unwrap();
    assert!((change.difference + 0.02).abs() < 0.001 && change.verdict == Verdict::Worse);
    let sheets = [sheet::summary(&study), sheet::comparisons(&study), sheet::cells(&study)];
    let text = markdown(&sheets);
    assert!(text.contains("6 of 6 cells are complete") && text.contains("supergat-mx, deep"), "{text}");
    for sheet in &sheets {
        let columns = sheet.csv_header.split(',').count();
        assert!(sheet.csv_rows.iter().all(|row| row.len() == columns) && csv(sheet).lines().count() > 1);
    }
}

#[test]
fn equal_results_are_not_tested() {
    let plan = plan(&["gat-mx", "supergat-mx"], 5);
    let (_folder, results) = forged(&plan, |_, _| 0.5);
    let study = DepthStudy::new(&plan, &results);
    assert!(
        study.of(Question::SelfSupervision).all(|found| found.verdict == Verdict::Untested && found.holm.is_none())
    );
    assert_eq!(study.of(Question::OverGat).count(), 0, "GAT is not among the models");
    assert!(!markdown(&[sheet::comparisons(&study)]).contains("NaN"));
}
