use super::*;
use crate::Fitted;
use supergat_core::{Features, ModelKind};

fn settings() -> Settings {
    Settings::general(ModelKind::Trees).with(|s| {
        s.set("tree_count", 30).unwrap();
    })
}

fn dataset() -> Dataset {
    supergat_data::load("random-partition:classes=3,nodes=200,degree=4,homophily=0.4,seed=1").unwrap()
}

/// A stored model of three columns: the trees of two classes are one stump.
fn stored() -> Checkpoint {
    use supergat_numerics::boosted_trees::TreeNode;
    let mut trees = BoostedTrees::new(0.0);
    trees.push(&[
        TreeNode::Split { column: 12, threshold: 1.5, missing_left: true, left: 1 },
        TreeNode::Leaf { value: -1.0 },
        TreeNode::Leaf { value: 2.0 },
    ]);
    let example = Example::new(
        supergat_core::Graph::from_edges(3, &[(0, 1), (1, 2)], supergat_core::Direction::Undirected).unwrap(),
        Features::dense(3, 3, vec![0.0f32; 9]).unwrap(),
        supergat_core::Labels::Single { classes: 2, of: vec![0, 1, 0] },
        [vec![0], vec![1], vec![2]],
    );
    let architecture = Architecture::new(ModelKind::Trees, &example.unwrap());
    let model = Trees { architecture, directions: None, scores: vec![trees] };
    Fitted::Baseline(super::super::Baseline::Trees(model)).checkpoint(HashMap::new(), HashMap::new())
}

/// Needs no feature: only growing trees does.
#[test]
fn stored_trees_are_read_and_predict() {
    let bytes = stored().to_bytes();
    let model = Fitted::read(&mut Checkpoint::from_bytes(&bytes).unwrap()).unwrap();
    let mut dataset = dataset();
    let error = model.logits(&dataset).unwrap_err().to_string();
    assert!(error.starts_with("features per node: expected 3, found "), "{error}");
    let graph = supergat_core::Graph::from_edges(3, &[(0, 1), (1, 2)], supergat_core::Direction::Undirected).unwrap();
    let labels = supergat_core::Labels::Single { classes: 2, of: vec![0; 3] };
    let features = Features::dense(3, 3, vec![0.0f32; 9]).unwrap();
    dataset.examples = vec![Example::new(graph, features, labels, [vec![], vec![], vec![]]).unwrap()];
    // The last column is the number of neighbours.
    assert_eq!(model.logits(&dataset).unwrap(), [[0.0, -1.0, 0.0, 2.0, 0.0, -1.0]]);
}

#[test]
fn hostile_files_are_refused() {
    let refused = |change: &dyn Fn(&mut Checkpoint)| {
        let mut checkpoint = stored();
        change(&mut checkpoint);
        let error = Fitted::read(&mut Checkpoint::from_bytes(&checkpoint.to_bytes()).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "the saved model cannot be used: its trees are damaged");
    };
    refused(&|of| drop(of.lists.remove("trees.0")));
    refused(&|of| of.lists.get_mut("trees.0").unwrap().clear());
    refused(&|of| of.lists.get_mut("trees.0").unwrap()[5] = 0xffff_fffe);
    refused(&|of| of.architecture.input_features = 2);
    refused(&|of| of.architecture.input_features = usize::MAX);
    for classes in [0, usize::MAX] {
        let mut checkpoint = stored();
        checkpoint.architecture.classes = classes;
        let error = Checkpoint::from_bytes(&checkpoint.to_bytes()).unwrap_err().to_string();
        assert_eq!(error, format!("classes = {classes}: must lie between 1 and 1048576"));
    }
    refused(&|of| drop(of.lists.insert(DIRECTIONS.into(), vec![0; 4])));
    for (values, used) in
        [(vec![0; 4], vec![0]), (vec![0; 2], vec![1, 0]), (vec![u32::MAX; 2], vec![0, 1]), (vec![], vec![])]
    {
        refused(&|of| {
            of.lists.insert(DIRECTIONS.into(), values.clone());
            of.lists.insert(DIRECTION_COLUMNS.into(), used.clone());
        });
    }
}

#[cfg(not(feature = "trees"))]
#[test]
fn is_refused_without_the_feature() {
    let error =
        crate::run_seeds(&dataset(), &settings(), &[0], 1, |_| std::ops::ControlFlow::Continue(())).unwrap_err();
    let expected = "model = trees: this build does not train it; build supergat with the feature `trees`";
    assert_eq!(error.to_string(), expected);
    assert_eq!(settings().check(&dataset()).unwrap_err().to_string(), expected);
}

#[cfg(feature = "trees")]
mod grown {
    use super::*;
    use crate::{Resources, Runs, estimate, run_seeds};
    use std::ops::ControlFlow;
    use std::sync::Arc;
    use supergat_core::Labels;

    fn run(dataset: &Dataset, settings: &Settings, seeds: &[u64], threads: usize) -> Runs {
        run_seeds(dataset, settings, seeds, threads, |_| ControlFlow::Continue(())).unwrap()
    }

    fn read(runs: &Runs) -> Fitted {
        let bytes = runs.model.checkpoint(HashMap::new(), HashMap::new()).to_bytes();
        Fitted::read(&mut Checkpoint::from_bytes(&bytes).unwrap()).unwrap()
    }

    /// Replaces the features of a dataset by some of its classes: the first column is the class of the node, with noise,
    /// and the others are noise.
    fn with_columns(dataset: &Dataset, columns: usize) -> Dataset {
        let mut dataset = dataset.clone();
        let example = &mut dataset.examples[0];
        let stream = supergat_core::random::Stream::new(3, 0, 0, supergat_core::random::Purpose::SyntheticFeatures);
        let Labels::Single { of, .. } = &example.labels else { panic!("one class per node") };
        let value = |i: usize| {
            let class = if i.is_multiple_of(columns) { of[i / columns] as f64 } else { 0.0 };
            (class + 0.5 * stream.uniform(i as u64)) as f32
        };
        let values = (0..of.len() * columns).map(value).collect();
        example.features = Arc::new(Features::dense(of.len(), columns, values).unwrap());
        dataset
    }

    #[test]
    fn learns_from_informative_columns() {
        for classes in [2, 3] {
            let spec = format!("random-partition:classes={classes},nodes=200,degree=4,homophily=0.4");
            let dataset = with_columns(&supergat_data::load(&spec).unwrap(), 4);
            let outcome = run(&dataset, &settings(), &[0], 2).runs[0].outcome;
            assert!(outcome.test.metric > 0.95 && outcome.test.loss < 0.5, "{classes}: {outcome:?}");
        }
    }

    /// The classes of neighbours are known only from their columns.
    #[test]
    fn learns_from_columns_of_neighbours() {
        let dataset = supergat_data::load("random-partition:classes=2,nodes=400,degree=10,homophily=0.95").unwrap();
        let mut dataset = with_columns(&dataset, 1);
        let example = &mut dataset.examples[0];
        let Features::Dense { values, rows, .. } = &*example.features else { panic!("dense") };
        let hides = |node: &usize| example.train.contains(&(*node as u32)) || example.test.contains(&(*node as u32));
        let values = (0..*rows).map(|node| if hides(&node) && node % 2 == 0 { 0.75 } else { values[node] }).collect();
        example.features = Arc::new(Features::dense(*rows, 1, values).unwrap());
        let outcome = run(&dataset, &settings(), &[0], 2).runs[0].outcome;
        assert!(outcome.test.metric > 0.9, "{outcome:?}");
    }

    #[test]
    fn threads_do_not_change_bits_but_seeds_do() {
        for settings in [
            settings(),
            settings().with(|s| {
                s.set("tree_components", 3).unwrap();
            }),
        ] {
            let dataset = with_columns(&dataset(), 6);
            let one = run(&dataset, &settings, &[5], 1);
            let three = run(&dataset, &settings, &[5], 3);
            assert_eq!(one.logits, three.logits);
            assert_ne!(one.logits, run(&dataset, &settings, &[6], 1).logits);
            let whole = settings.with(|s| {
                s.set("tree_node_share", 1.0).unwrap();
                s.set("tree_column_share", 1.0).unwrap();
            });
            assert_eq!(run(&dataset, &whole, &[5], 1).logits, run(&dataset, &whole, &[6], 1).logits);
        }
    }

    /// With all columns and with principal components; the other graph has other nodes, links and labels.
    #[test]
    fn model_files_keep_bits_and_predict_other_graphs() {
        let other = with_columns(
            &supergat_data::load("random-partition:classes=3,nodes=250,degree=6,homophily=0.6,seed=2").unwrap(),
            6,
        );
        for settings in [
            settings(),
            settings().with(|s| {
                s.set("tree_components", 2).unwrap();
            }),
        ] {
            let dataset = with_columns(&dataset(), 6);
            let runs = run(&dataset, &settings, &[3], 2);
            let model = read(&runs);
            let Fitted::Baseline(crate::Baseline::Trees(trees)) = &model else { panic!("trees") };
            assert_eq!(trees.directions.is_some(), settings.trees().tree_components == 2);
            assert_eq!(model.logits(&dataset).unwrap(), runs.logits);
            let expected = runs.model.logits(&other).unwrap();
            assert_eq!(model.logits(&other).unwrap(), expected);
            assert_eq!(expected[0].len(), other.nodes() * 3);
        }
    }

    #[test]
    fn nodes_may_have_several_classes() {
        let mut dataset = with_columns(&dataset(), 3);
        let Labels::Single { of, .. } = &dataset.examples[0].labels else { panic!("one class per node") };
        let bits = of.iter().flat_map(|&class| [u8::from(class > 0), u8::from(class > 1), 0]).collect();
        dataset.examples[0].labels = Labels::Multi { classes: 3, of: bits };
        let runs = run(&dataset, &settings(), &[0], 2);
        assert!(runs.runs[0].outcome.test.metric > 0.95, "{:?}", runs.runs[0].outcome);
        assert!(runs.logits[0].chunks_exact(3).all(|row| row[2] < -10.0), "no node has the third class");
        assert_eq!(read(&runs).logits(&dataset).unwrap(), runs.logits);
    }

    #[test]
    fn early_stopping_and_hyperparameters_have_effects() {
        let dataset = dataset();
        let counts = |settings: &Settings| {
            let runs = run(&dataset, settings, &[0], 2);
            let Fitted::Baseline(crate::Baseline::Trees(trees)) = &runs.model else { panic!("trees") };
            trees.counts()
        };
        let many = settings().with(|s| {
            s.set("tree_count", 400).unwrap();
            s.set("tree_lr", 0.5).unwrap();
            s.set("tree_patience", 3).unwrap();
        });
        let found = counts(&many);
        assert!(found.len() == 3 && found.iter().all(|&count| (1..400).contains(&count)), "{found:?}");
        let plain = run(&dataset, &settings(), &[0], 2).logits;
        for changed in [
            settings().with(|s| {
                s.set("tree_count", 2).unwrap();
            }),
            settings().with(|s| {
                s.set("tree_lr", 0.05).unwrap();
            }),
            settings().with(|s| {
                s.set("tree_depth", 1).unwrap();
            }),
            settings().with(|s| {
                s.set("tree_l2", 50.0).unwrap();
            }),
            settings().with(|s| {
                s.set("tree_node_share", 0.5).unwrap();
            }),
            settings().with(|s| {
                s.set("tree_column_share", 0.1).unwrap();
            }),
        ] {
            assert_ne!(run(&dataset, &changed, &[0], 2).logits, plain, "{changed:?}");
        }
    }

    #[test]
    fn class_weights_move_predictions() {
        let dataset = dataset();
        let mut weighted = dataset.clone();
        weighted.examples[0] = dataset.examples[0].clone().with_class_weights(vec![20.0, 1.0, 1.0]).unwrap();
        let predicted = |dataset: &Dataset| {
            let logits = run(dataset, &settings(), &[0], 2).logits;
            logits[0].chunks_exact(3).filter(|row| row[0] > row[1] && row[0] > row[2]).count()
        };
        assert!(predicted(&weighted) > predicted(&dataset));
    }

    /// Nodes without neighbours, a class without training nodes, and shares that leave few nodes.
    #[test]
    fn degenerate_data_is_harmless() {
        let mut dataset = dataset();
        let example = &mut dataset.examples[0];
        let Labels::Single { of, .. } = &example.labels else { panic!("one class per node") };
        example.train.retain(|&node| of[node as usize] != 2);
        example.train.truncate(6);
        let graph =
            supergat_core::Graph::from_edges(example.graph.nodes(), &[(0, 1)], supergat_core::Direction::Directed);
        example.graph = graph.unwrap().into();
        let hard = settings().with(|s| {
            s.set("tree_node_share", 0.01).unwrap();
            s.set("tree_l2", 0.0).unwrap();
            s.set("tree_depth", 64).unwrap();
        });
        for settings in [settings(), hard] {
            let logits = run(&dataset, &settings, &[0], 2).logits;
            assert!(logits[0].iter().all(|logit| logit.is_finite()));
        }
    }

    #[test]
    fn estimates_grow_with_columns_and_depth() {
        let dataset = with_columns(&dataset(), 6);
        let workspace = |settings| estimate(&dataset, &settings, 1, Resources::from(1), 0, (0, 0)).unwrap().workspace;
        let plain = workspace(settings());
        assert!(
            plain
                > workspace(settings().with(|s| {
                    s.set("tree_components", 2).unwrap();
                }))
        );
        assert!(
            plain
                > workspace(settings().with(|s| {
                    s.set("tree_depth", 2).unwrap();
                }))
        );
    }
}
