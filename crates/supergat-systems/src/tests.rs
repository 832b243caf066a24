//! Gradients of all systems against differences, equal bits at any number of threads, and models that are read back.

use super::*;
use supergat_core::device::Draw;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Direction, EdgeAttributes, Features, Graph, Labels, NodeOrder, StepLoss, TrainConfig};

/// Options of every system, small.
fn all_options() -> Vec<Options> {
    let glcn = GlcnOptions {
        graph_hidden: 5,
        graph_lr: 0.02,
        lambda_graph: 0.3,
        gamma_graph: 0.7,
        graph_from_labels: true,
        lr_decay: 0.9,
    };
    let sparse = NeuralSparseOptions {
        sampled_neighbours: 2,
        sampler_hidden: 9,
        temperature: 0.9,
        temperature_decay: 0.05,
        least_temperature: 0.05,
    };
    vec![
        Options::Glcn(glcn),
        Options::Glcn(GlcnOptions { graph_from_labels: false, ..glcn }),
        Options::NeuralSparse(sparse),
    ]
}

/// Returns a random graph with features and three classes; `attributes` adds weights and features of edges.
fn example<T: Primitives>(nodes: u32, links: u64, direction: Direction, attributes: bool) -> Example<T> {
    let stream = Stream::new(7, 0, 0, Purpose::SyntheticEdges);
    let end = |k: u64| stream.below(k, u64::from(nodes)) as u32;
    let edges: Vec<(u32, u32)> = (0..links).map(|k| (end(2 * k), end(2 * k + 1))).collect();
    let graph = Graph::from_edges(nodes as usize, &edges, direction).unwrap();
    let values = (0..u64::from(nodes) * 4).map(|k| T::from_f64(stream.normal_pair(k + 100_000)[0])).collect();
    let features = Features::dense(nodes as usize, 4, values).unwrap();
    let labels = Labels::Single { classes: 3, of: (0..nodes).map(|node| (node * 7 + 1) % 3).collect() };
    let list = |from: u32| (from..nodes).step_by(3).collect();
    let attributes = attributes.then(|| {
        let number = |k: u64| T::from_f64(0.5 + stream.uniform(k + 500_000));
        let edges = graph.edges() as u64;
        let features = (0..2 * edges).map(|k| number(k + edges)).collect();
        EdgeAttributes::from_parts(&graph, (0..edges).map(number).collect(), 2, features).unwrap()
    });
    let example = Example::new(graph, features, labels, [list(0), list(1), list(2)]).unwrap();
    match attributes {
        Some(attributes) => example.with_edges(attributes).unwrap(),
        None => example,
    }
}

fn prepared<T: Primitives>(example: Example<T>, options: &Options, dropout: f64) -> Prepared<Cpu<T>> {
    let plain = Architecture::new(ModelKind::System(options.system()), &example);
    let config = TrainConfig::default().with(|c| c.training.max_epochs = 12);
    Prepared::on(
        &Cpu::default(),
        &[example],
        plain.with(|a| {
            a.network.hidden = 6;
            a.network.dropout = dropout;
            a.network.layers = 3;
        }),
        config,
    )
    .unwrap()
}

/// Returns the objective of the weights with number `changed`: the graph of GLCN may not learn from labels.
fn objective(options: &Options, changed: usize, loss: StepLoss) -> f64 {
    match options {
        Options::Glcn(GlcnOptions { graph_from_labels: false, .. }) if changed < 2 => loss.edge,
        _ => loss.total,
    }
}

fn gradients_match_differences(direction: Direction, attributes: bool, dropout: f64) {
    for options in all_options() {
        let prepared = prepared(example::<f64>(14, 40, direction, attributes), &options, dropout);
        let mut learner = options.learner(&prepared, true, &mut Arena::allocating()).unwrap();
        learner.initialise(3).unwrap();
        let (device, clock) = (Cpu::default(), Draw { seed: 5, step: 4 });
        learner.differentiate(&clock).unwrap();
        let (mut values, mut gradients) = (Vec::new(), Vec::new());
        let mut read = |parameter: &mut Parameter<Cpu<f64>>| {
            values.push(parameter.to_rows(&device)?);
            gradients.push((parameter.name.clone(), parameter.gradient_to_rows(&device)?));
            Ok(())
        };
        learner.for_each_parameter(&mut read).unwrap();
        for (number, (name, gradient)) in gradients.iter().enumerate() {
            assert!(gradient.iter().any(|slope| slope.abs() > 1e-4), "{options:?}: {name} has a gradient");
            for (element, found) in gradient.iter().enumerate() {
                let mut loss = |shift: f64| {
                    let mut index = 0;
                    let mut set = |parameter: &mut Parameter<Cpu<f64>>| {
                        let mut moved = values[index].clone();
                        if index == number {
                            moved[element] += shift;
                        }
                        index += 1;
                        parameter.set_rows(&device, &moved)
                    };
                    learner.for_each_parameter(&mut set).unwrap();
                    objective(&options, number, learner.differentiate(&clock).unwrap())
                };
                let expected = (loss(1e-6) - loss(-1e-6)) / 2e-6;
                let error = (found - expected).abs() / (1.0 + expected.abs());
                assert!(error < 1e-7, "{options:?} {name}[{element}]: found {found}, central difference {expected}");
            }
        }
    }
}

#[test]
fn gradients_of_every_weight_match_differences() {
    gradients_match_differences(Direction::Undirected, false, 0.0);
    gradients_match_differences(Direction::Directed, true, 0.4);
}

fn trained(options: &Options, threads: usize) -> (Vec<Epoch>, TrainedSystem) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let prepared = prepared(example::<f32>(3000, 12_000, Direction::Undirected, false), options, 0.5);
        let mut history = Vec::new();
        let trained = train(&prepared, *options, 9, &mut |epoch| {
            history.push(*epoch);
            ControlFlow::Continue(())
        });
        (history, trained.unwrap())
    })
}

#[test]
fn same_bits_at_any_number_of_threads() {
    for options in all_options() {
        let ((one, a), (three, b)) = (trained(&options, 1), trained(&options, 3));
        assert_eq!((one, a.outcome, a.model), (three, b.outcome, b.model));
        assert_eq!(a.logits, b.logits);
    }
}

/// Another order of the nodes inside the engine changes rounding only.
#[test]
fn orders_of_nodes_change_nothing() {
    for options in all_options() {
        let plain = example::<f32>(30, 80, Direction::Directed, true);
        let order = NodeOrder::new((0..30).map(|node| (node * 7 + 3) % 30).collect(), vec![0, 30]).unwrap();
        let ordered = plain.clone().with_order(order).unwrap();
        let prepared = prepared(plain.clone(), &options, 0.5);
        let model = train(&prepared, options, 2, &mut |_| ControlFlow::Continue(())).unwrap().model;
        let close = |a: &[f32], b: &[f32]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(close(&model.predict(&plain).unwrap(), &model.predict(&ordered).unwrap()));
        let [a, b] = [&plain, &ordered].map(|example| model.edges(example).unwrap().remove(0));
        assert!(close(&a.coefficients, &b.coefficients) && close(&a.logits, &b.logits));
    }
}

#[test]
fn refuses_several_graphs_and_other_weights() {
    let options = all_options()[0];
    let one = example::<f32>(10, 20, Direction::Undirected, false);
    let architecture = Architecture::new(ModelKind::System(options.system()), &one);
    let two = Prepared::on(&Cpu::default(), &[one.clone(), one.clone()], architecture, TrainConfig::default()).unwrap();
    let message = train(&two, options, 0, &mut |_| ControlFlow::Break(())).unwrap_err().to_string();
    assert_eq!(message, "model = glcn: is trained on one graph, but there are 2; use another model");
    let prepared = prepared(one.clone(), &options, 0.0);
    let trained = train(&prepared, options, 0, &mut |_| ControlFlow::Break(())).unwrap();
    let mut model = trained.model;
    assert_eq!(model.predict(&one).unwrap(), trained.logits);
    model.weights.pop();
    assert!(matches!(model.predict(&one), Err(Error::Checkpoint { .. })));
}
