//! Tests of whole measurements on generated graphs.

use super::candidates::Candidate;
use super::setup::is_large;
use super::*;
use crate::recommend::map::{Known, MapAnswer};
use std::time::Instant;

fn dataset(homophily: f64) -> Dataset {
    let mut dataset =
        supergat_data::load(&format!("random-partition:classes=3,nodes=180,degree=8,homophily={homophily}")).unwrap();
    dataset.preset = None;
    dataset
}

fn ask(dataset: &Dataset, seconds: f64) -> QuickAnswer {
    let question = QuickQuestion { seconds: Some(seconds), ..QuickQuestion::default() };
    recommend(dataset, &question, 2, |_| ControlFlow::Continue(())).unwrap()
}

fn by_size(dataset: &Dataset, threads: usize) -> QuickAnswer {
    let question = QuickQuestion { seconds: None, networks_only: true, ..QuickQuestion::default() };
    recommend(dataset, &question, threads, |_| ControlFlow::Continue(())).unwrap()
}

/// Links of these graphs say more than the features.
#[test]
fn measures_what_the_map_cannot_know() {
    let found = ask(&dataset(0.9), 12.0);
    let measured = found.measured.as_ref().unwrap();
    let names: Vec<&str> = measured.families.iter().map(|family| family.family.name).collect();
    assert!(["label-propagation", "mlp", "gcn", "sage", "gat-go"].iter().all(|name| names.contains(name)), "{names:?}");
    let total: f64 = measured.families.iter().map(|family| family.chance).sum();
    assert!((total - 1.0).abs() < 1e-9);
    assert_ne!(found.family.map(|family| family.name), Some("mlp"));
    let over = |name: &str| measured.gains.iter().find(|gain| gain.over == name).unwrap();
    assert!(over("majority").low > 0.0, "{:?}", measured.gains);
    assert!(found.answer.starts_with(&format!("Use {}: with ", found.model_in_words())), "{}", found.answer);
    assert!(found.answer.contains(&format!("of the {} compared families", names.len())), "{}", found.answer);
    assert!(found.notes[0].contains("No test node was used"), "{:?}", found.notes);
    let is_best =
        |family: &&MeasuredFamily| family.settings.model == found.recommendation && Some(family.family) == found.family;
    let best = measured.families.iter().find(is_best).unwrap();
    assert_eq!(found.confidence, Some(best.chance));
}

#[test]
fn zero_seconds_consult_the_map_alone() {
    let dataset = dataset(0.9);
    let found = ask(&dataset, 0.0);
    let map = consult(&dataset, Known::TrainingAndValidation);
    assert!(found.measured.is_none() && found.map == map && found.recommendation == map.recommendation);
    // The answer claims no probability, since the map knows nothing of other models.
    let start =
        "Nothing was measured: no time was given. The paper's map of forms of attention alone suggests supergat-";
    assert!(found.answer.starts_with(start) && found.answer.contains("; its votes are SuperGAT-"), "{}", found.answer);
    assert!(found.confidence.is_none() && !found.answer.contains("probability"));
    let question = QuickQuestion { seconds: Some(-1.0), ..QuickQuestion::default() };
    assert!(recommend(&dataset, &question, 1, |_| ControlFlow::Continue(())).is_err());
}

/// The plan depends on the size of the graph alone, and the scores on the plan.
#[test]
fn answers_by_size_have_the_same_bits_with_any_number_of_threads() {
    let dataset = dataset(0.5);
    let [one, three] = [1, 3].map(|threads| by_size(&dataset, threads));
    assert_eq!(one, three);
    let measured = one.measured.unwrap();
    assert!(measured.plan.seconds.is_none() && measured.plan.left_out.is_empty());
    assert!(one.recommendation.is_network());
    assert!(measured.families.iter().any(|family| family.family.name == "label-propagation"));
}

fn map_of(dataset: &Dataset) -> MapAnswer {
    consult(dataset, Known::TrainingAndValidation)
}

fn setup<'a>(dataset: &'a Dataset, map: &'a MapAnswer) -> Setup<'a> {
    Setup::new(dataset, &QuickQuestion::default(), map).unwrap().unwrap_or_else(|_| panic!("labels are enough"))
}

/// Returns the answer to three repetitions in which some families have these scores, and the others did not run.
fn answer_of(scores_of: impl Fn(&str) -> Option<Vec<f64>>) -> QuickAnswer {
    let dataset = dataset(0.9);
    let map = map_of(&dataset);
    let setup = setup(&dataset, &map);
    let mut plan = plan::by_size(&setup, &QuickQuestion::default(), Workers::of(setup.dataset, 1.into())).unwrap();
    plan.repetitions = 3;
    let found = setup.candidates.iter().filter_map(|one| Some((*one, scores_of(one.family.name)?)));
    let scores = run::Scores { families: found.collect(), majority: vec![0.33; 3], failed: Vec::new() };
    let measured = posterior::measured(&setup, plan, scores);
    words::of_measurement(setup, measured, true)
}

/// In two rounds, the best networks of the first are trained again for longer.
#[test]
fn two_rounds_train_the_best_networks_again() {
    let dataset = dataset(0.9);
    let map = map_of(&dataset);
    let setup = setup(&dataset, &map);
    let mut plan = plan::by_size(&setup, &QuickQuestion::default(), Workers::of(setup.dataset, 1.into())).unwrap();
    (plan.first_epochs, plan.epochs, plan.repetitions) = (Some(4), 60, 1);
    let run_with = |threads| {
        let mut plan = plan.clone();
        let workers = Workers::of(&dataset, Resources::from(threads));
        let scores = run::run(&setup, &mut plan, workers, &|_| ControlFlow::Continue(()));
        let of = |(one, values): &(Candidate, Vec<f64>)| {
            (one.settings.training.max_epochs, one.settings.training.lr, values.clone())
        };
        (plan, scores.families.iter().map(of).collect::<Vec<_>>())
    };
    let (after, families) = run_with(1);
    assert_eq!((after, families.clone()), run_with(3));
    let trained_for = |epochs| families.iter().filter(|(of, ..)| *of == epochs).count();
    let networks = setup.candidates.iter().filter(|one| one.settings.model.is_network()).count();
    assert_eq!((trained_for(60), trained_for(4)), (plan::KEPT, networks - plan::KEPT));
    // Short trainings have a higher learning rate.
    assert!(families.iter().all(|(epochs, lr, _)| (*epochs != 4 || *lr == 0.02) && (*epochs != 60 || *lr < 0.02)));
    // A second round that does not end changes nothing.
    let stop = |event: QuickEvent<'_>| match event {
        QuickEvent::Run(done, all) if done > all - plan::KEPT => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let mut cut = plan.clone();
    let scores = run::run(&setup, &mut cut, Workers::of(&dataset, Resources::from(1)), &stop);
    assert_eq!((cut.first_epochs, cut.epochs, scores.families.len()), (None, 4, families.len()));
    assert!(
        scores
            .families
            .iter()
            .all(|(one, _)| !one.settings.model.is_network() || one.settings.training.max_epochs == 4)
    );
}

/// Large graphs are compared in two rounds.
#[test]
fn plans_of_large_graphs_have_two_rounds() {
    let large = supergat_data::load("random-partition:classes=3,nodes=6000,degree=10,homophily=0.8").unwrap();
    let plan = plan::by_size(&setup(&large, &map_of(&large)), &QuickQuestion::default(), Workers::of(&large, 1.into()))
        .unwrap();
    let names: Vec<&str> = plan.families.iter().map(|family| family.name).collect();
    assert!(plan.first_epochs.is_some_and(|first| first < plan.epochs) && plan.repetitions == 1, "{plan:?}");
    assert!(["mlp", "gcn", "sage", "supergat-mx"].iter().all(|name| names.contains(name)), "{names:?}");
}

/// A family that cannot be chosen does not change the order of the others, however good it is.
#[test]
fn networks_are_chosen_among_networks() {
    let found = answer_of(|name| match name {
        "label-propagation" => Some(vec![0.950, 0.953, 0.949]),
        "gcn" => Some(vec![0.800, 0.804, 0.798]),
        // The larger error makes it more likely than gcn to be better than label propagation.
        "mlp" => Some(vec![0.79, 0.84, 0.74]),
        _ => None,
    });
    assert_eq!(found.recommendation.to_string(), "gcn", "{}", found.answer);
    assert!(found.answer.contains("of the 2 compared networks") && !found.answer.contains("about as likely"));
    assert!(found.confidence.is_some_and(|chance| chance > 0.5), "{:?}", found.confidence);
    assert!(found.notes.iter().any(|note| note.starts_with("label-propagation was better")), "{:?}", found.notes);
}

/// A deep network is recommended with its settings.
#[test]
fn deep_networks_are_recommended_with_their_settings() {
    let found = answer_of(|name| match name {
        "sage" => Some(vec![0.800, 0.804, 0.798]),
        "sage-deep" => Some(vec![0.900, 0.904, 0.898]),
        _ => None,
    });
    assert!(found.answer.starts_with("Use sage-root with 8 layers and batch norm: with "), "{}", found.answer);
    let settings = found.settings.unwrap();
    assert_eq!((settings.model, settings.network.layers), (found.recommendation, 8));
    assert_eq!((settings.training.max_epochs, settings.select), (500, None));
    assert!(found.alternatives.is_empty());
    let names: Vec<String> = found.measured.unwrap().families.iter().map(MeasuredFamily::model_in_words).collect();
    assert_eq!(names, ["sage-root", "sage-root, 8 layers"]);
}

/// Families have names of their own, which are no models.
#[test]
fn sentences_name_models_instead_of_families() {
    let found = answer_of(|name| match name {
        "sage" => Some(vec![0.8000, 0.8040, 0.7980]),
        "sage-deep" => Some(vec![0.8004, 0.8044, 0.7984]),
        _ => None,
    });
    assert!(found.answer.starts_with("Use sage-root: with "), "{}", found.answer);
    let other = "; sage-root with 8 layers and batch norm (";
    assert!(found.answer.contains(other) && !found.answer.contains("sage-deep"), "{}", found.answer);
}

/// Labels of test nodes change nothing.
#[test]
fn test_labels_are_not_read() {
    let dataset = dataset(0.8);
    let mut changed = dataset.clone();
    let example = &mut changed.examples[0];
    let supergat_core::Labels::Single { of, .. } = &mut example.labels else { panic!("one class per node") };
    example.test.iter().for_each(|&node| of[node as usize] = (of[node as usize] + 1) % 3);
    let [before, after] = [&dataset, &changed].map(|dataset| by_size(dataset, 2));
    assert_eq!(before, after);
}

#[test]
fn answers_where_little_can_be_compared() {
    let mut bare = dataset(0.9);
    // Five labelled nodes.
    let train = bare.examples[0].train.clone();
    bare.examples[0].validation.clear();
    bare.examples[0].train = vec![train[0], train[1], train[20], train[21], train[40]];
    let found = ask(&bare, 10.0);
    assert!(found.answer.contains("this means little"), "{}", found.answer);
    // One class.
    bare.examples[0].train = train[..5].to_vec();
    let found = ask(&bare, 10.0);
    assert!(found.measured.is_none() && found.answer.contains("same class"), "{}", found.answer);
    // No links.
    let mut lonely = dataset(0.9);
    lonely.examples[0].graph =
        supergat_core::Graph::from_edges(540, &[], supergat_core::Direction::Undirected).unwrap().into();
    let found = ask(&lonely, 10.0);
    assert_eq!(found.recommendation.to_string(), "mlp", "{}", found.answer);
    assert!(found.notes.iter().any(|note| note.contains("gcn (there are no links)")), "{:?}", found.notes);
    // No time.
    let found = ask(&dataset(0.9), 1e-6);
    assert!(found.measured.is_none() && found.answer.contains("no time"), "{}", found.answer);
}

#[test]
fn an_observer_stops_and_finished_repetitions_count() {
    let dataset = dataset(0.9);
    let started = Instant::now();
    let question = QuickQuestion { seconds: Some(1000.0), ..QuickQuestion::default() };
    let stop_at = |most: usize| {
        recommend(&dataset, &question, 1, |event| match event {
            QuickEvent::Run(done, _) if done >= most => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
        .unwrap()
    };
    let found = stop_at(2);
    assert!(found.answer.contains("of the 2 compared families"), "{}", found.answer);
    assert!(found.notes.iter().any(|note| note.contains("gcn (it has not finished in time)")), "{:?}", found.notes);
    let found = stop_at(8);
    let measured = found.measured.unwrap();
    assert_eq!(measured.plan.repetitions, 1);
    assert!(found.notes.iter().any(|note| note.starts_with("Errors are rough (1 repetition)")), "{:?}", found.notes);
    assert!(started.elapsed().as_secs() < 900);
}

#[test]
fn rare_classes_choose_the_metric() {
    let mut dataset = supergat_data::load("random-partition:classes=2,nodes=250,degree=6,homophily=0.8").unwrap();
    let example = &mut dataset.examples[0];
    let of = match &example.labels {
        supergat_core::Labels::Single { of, .. } => of.clone(),
        supergat_core::Labels::Multi { .. } => panic!("one class per node"),
    };
    let mut rare = 0;
    for list in [&mut example.train, &mut example.validation] {
        list.retain(|&node| {
            rare += usize::from(of[node as usize] == 0);
            of[node as usize] != 0 || rare % 5 == 0
        });
    }
    let found = ask(&dataset, 1.0);
    assert_eq!(found.measured.as_ref().unwrap().metric, "auroc");
    assert!((found.measured.unwrap().majority - 0.5).abs() < 1e-9);
    assert!(found.notes.iter().any(|note| note.starts_with("The metric is auroc")), "{:?}", found.notes);
    let question = QuickQuestion { metric: Some("speed".into()), ..QuickQuestion::default() };
    assert!(recommend(&dataset, &question, 1, |_| ControlFlow::Continue(())).unwrap_err().contains("expected one of"));
}

#[test]
fn without_memory_the_map_answers_and_says_so() {
    for seconds in [None, Some(5.0)] {
        let question = QuickQuestion { seconds, memory: Some(1 << 10), ..QuickQuestion::default() };
        let found = recommend(&dataset(0.9), &question, 1, |_| ControlFlow::Continue(())).unwrap();
        let start = "Nothing was measured: there is too little memory for any family.";
        assert!(found.measured.is_none() && found.answer.starts_with(start), "{}", found.answer);
    }
}

/// On a large graph, a plan without a time costs no more than a training, and still compares networks of every kind.
#[test]
fn a_plan_by_size_costs_no_more_than_a_training() {
    let mut dataset = supergat_data::load("random-partition:classes=3,nodes=20000,degree=8,homophily=0.8").unwrap();
    dataset.preset = None;
    assert!(is_large(&dataset));
    let question = QuickQuestion { seconds: None, networks_only: true, ..QuickQuestion::default() };
    let map = consult(&dataset, question.known);
    let setup = Setup::new(&dataset, &question, &map).unwrap();
    let Ok(setup) = setup else { panic!("can be measured") };
    let plan = plan::by_size(&setup, &question, Workers::of(setup.dataset, 1.into())).unwrap();
    let names: Vec<&str> = plan.families.iter().map(|family| family.name).collect();
    assert!(["mlp", "gcn", "sage", "gat-go"].iter().all(|name| names.contains(name)), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("supergat-")), "{names:?}");
    // A training of 300 epochs of the network in the middle.
    let mut epochs: Vec<f64> = plan.costs.iter().map(|cost| cost.epoch).filter(|epoch| *epoch > 0.0).collect();
    epochs.sort_by(f64::total_cmp);
    assert!(plan.work() <= 300.0 * epochs[epochs.len() / 2] * 1.1, "{plan:?}");
}
