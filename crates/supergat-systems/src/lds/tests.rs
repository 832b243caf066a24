//! Derivatives of LDS against finite differences of a plain implementation, and whole trainings.

use super::gcn::{Gcn, Pair, Shape, Targets};
use super::hypergradient::{Factors, Reverse, Step};
use super::sampled::{EdgeProbabilities, SampledGraph, stream};
use super::*;
use crate::learned::Learned;
use supergat_core::memory::Buffer;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Architecture, Direction, Example, Features, Graph, Labels, TrainConfig};
use supergat_cpu::kernels::Adam;

type Matrix = Vec<Vec<f64>>;

const NODES: usize = 9;
const HIDDEN: usize = 3;
const CLASSES: usize = 3;
const COLUMNS: usize = 4;
const LAMBDA: f64 = 0.03;
const LR: f64 = 0.05;

fn random(count: usize, salt: u16) -> Vec<f64> {
    let stream = Stream::new(5, 0, salt, Purpose::SyntheticFeatures);
    (0..count as u64).map(|k| 2.0 * stream.uniform(k) - 1.0).collect()
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    a.iter().map(|row| (0..b[0].len()).map(|c| row.iter().zip(b).map(|(x, b)| x * b[c]).sum()).collect()).collect()
}

fn transposed(a: &Matrix) -> Matrix {
    (0..a[0].len()).map(|c| a.iter().map(|row| row[c]).collect()).collect()
}

fn rows(values: &[f64], width: usize) -> Matrix {
    values.chunks(width).map(<[f64]>::to_vec).collect()
}

/// Returns loss, logits and gradients of a dense adjacency without self-loops.
fn plain(
    x: &Matrix,
    adjacency: &Matrix,
    w: &[Matrix; 2],
    nodes: &[u32],
    classes: &[u32],
    lambda: f64,
) -> (f64, [Matrix; 2]) {
    let degree: Vec<f64> = adjacency.iter().map(|row| 1.0 + row.iter().sum::<f64>()).collect();
    let a: Matrix = (0..NODES)
        .map(|i| {
            let own = |j| adjacency[i][j] + f64::from(u8::from(i == j));
            (0..NODES).map(|j| own(j) / (degree[i] * degree[j]).sqrt()).collect()
        })
        .collect();
    let s = product(&a, &product(x, &w[0]));
    let h: Matrix = s.iter().map(|row| row.iter().map(|v| v.max(0.0)).collect()).collect();
    let logits = product(&a, &product(&h, &w[1]));
    let (mut loss, mut g) = (0.0, vec![vec![0.0; CLASSES]; NODES]);
    for &node in nodes {
        let (node, class) = (node as usize, classes[node as usize] as usize);
        let sum: f64 = logits[node].iter().map(|v| v.exp()).sum();
        loss += (sum.ln() - logits[node][class]) / nodes.len() as f64;
        for k in 0..CLASSES {
            let truth = f64::from(u8::from(k == class));
            g[node][k] = (logits[node][k].exp() / sum - truth) / nodes.len() as f64;
        }
    }
    let dz = product(&transposed(&a), &g);
    let mut ds = product(&dz, &transposed(&w[1]));
    ds.iter_mut().flatten().zip(s.iter().flatten()).for_each(|(d, s)| *d *= f64::from(u8::from(*s > 0.0)));
    let mut first = product(&transposed(x), &product(&transposed(&a), &ds));
    first.iter_mut().flatten().zip(w[0].iter().flatten()).for_each(|(g, w)| *g += lambda * w);
    (loss, [first, product(&transposed(&h), &dz)])
}

fn adjacency(graph: &SampledGraph<f64>) -> Matrix {
    let mut matrix = vec![vec![0.0; NODES]; NODES];
    for [i, j] in graph.links() {
        matrix[i as usize][j as usize] = 1.0;
        matrix[j as usize][i as usize] = 1.0;
    }
    matrix
}

fn features() -> Features<f64> {
    Features::dense(NODES, COLUMNS, random(NODES * COLUMNS, 0)).unwrap()
}

fn graphs(count: u32) -> Vec<SampledGraph<f64>> {
    let mut edges = EdgeProbabilities::zeros(NODES).unwrap();
    (0..NODES).flat_map(|i| (0..i).map(move |j| (i, j))).for_each(|(i, j)| edges.set(i, j, 0.3));
    let draw = |step| {
        let mut graph = SampledGraph::new(NODES);
        edges.sample(stream(3, step), &mut graph);
        graph
    };
    (0..count).map(draw).collect()
}

const TRAIN: [u32; 3] = [0, 4, 7];
const OUTER: [u32; 3] = [1, 5, 8];
const CLASS_OF: [u32; NODES] = [0, 1, 2, 0, 1, 2, 0, 1, 2];

#[test]
fn hypergradient_matches_finite_differences() {
    const STEPS: usize = 3;
    let features = features();
    let mut gcn = Gcn::new(&features, HIDDEN, CLASSES, LAMBDA, 0.0);
    let shape = gcn.shape;
    let graphs = graphs(STEPS as u32 + 1);
    let initial = [random(COLUMNS * HIDDEN, 1), random(HIDDEN * CLASSES, 2)];
    let [train, outer] = [&TRAIN, &OUTER].map(|nodes| Targets { nodes, class_of: &CLASS_OF });

    // The steps as training runs them.
    let pair = || -> Pair<f64> { shape.weights().map(Buffer::zeros) };
    let mut learned = shape.weights().map(Learned::<f64>::zeros);
    let padded = model::padded(shape, initial.each_ref().map(|list| &list[..]));
    learned.iter_mut().zip(&padded).for_each(|(learned, value)| learned.value.copy_from_slice(value));
    let mut steps = Vec::new();
    for (number, graph) in graphs[..STEPS].iter().enumerate() {
        let weights: Pair<f64> = [learned[0].value.clone(), learned[1].value.clone()];
        let mut gradient = pair();
        gcn.forward(graph, &weights);
        gcn.backward(graph, &weights, train, true, &mut gradient);
        for (learned, gradient) in learned.iter_mut().zip(&gradient) {
            learned.gradient.copy_from_slice(gradient);
            learned.step(Adam { lr: LR, lambda_2: 0.0, step: number as u64 + 1 });
        }
        let moments = [0, 1].map(|m| [0, 1].map(|k: usize| learned[k].moments[m].clone()));
        let (number, adam_step) = (number as u32, number as u64 + 1);
        steps.push(Step { number, adam_step, graph: graph.clone(), weights, gradient, moments });
    }
    let last: Pair<f64> = [learned[0].value.clone(), learned[1].value.clone()];
    let mut factors = Factors::new(shape, STEPS);
    let at = (&graphs[STEPS], &last);
    let loss = Reverse::new(shape).run(&mut gcn, 0, LR, &steps, at, [train, outer], &mut factors);
    let mut gradients = EdgeProbabilities::<f64>::zeros(NODES).unwrap();
    factors.for_each_pair(&gradients.offsets, &mut gradients.values, |to, gradient| *to = gradient);

    // The same with dense matrices, whose edges may have any weight.
    let x = rows(features.values(), COLUMNS);
    let outer_loss = |pair: Option<(usize, usize, f64)>| {
        let shifted = |graph: &SampledGraph<f64>| {
            let mut matrix = adjacency(graph);
            if let Some((i, j, shift)) = pair {
                matrix[i][j] += shift;
                matrix[j][i] += shift;
            }
            matrix
        };
        let widths = [HIDDEN, CLASSES];
        let mut w = initial.clone();
        let mut moments = [0, 1].map(|k: usize| [vec![0.0; w[k].len()], vec![0.0; w[k].len()]]);
        for (number, graph) in graphs[..STEPS].iter().enumerate() {
            let now = [rows(&w[0], HIDDEN), rows(&w[1], CLASSES)];
            let (_, gradient) = plain(&x, &shifted(graph), &now, &TRAIN, &CLASS_OF, LAMBDA);
            for k in 0..2 {
                let [first, second] = &mut moments[k];
                let adam = Adam { lr: LR, lambda_2: 0.0, step: number as u64 + 1 };
                <f64 as supergat_cpu::Primitives>::adam(adam, &mut w[k], &gradient[k].concat(), first, second);
            }
        }
        let now = [0, 1].map(|k: usize| rows(&w[k], widths[k]));
        plain(&x, &shifted(&graphs[STEPS]), &now, &OUTER, &CLASS_OF, 0.0).0
    };
    assert!((outer_loss(None) - loss).abs() < 1e-12);
    for i in 0..NODES {
        for j in i + 1..NODES {
            let numeric = (outer_loss(Some((i, j, 2e-7))) - outer_loss(Some((i, j, -2e-7)))) / 4e-7;
            let exact = gradients.of(i, j);
            assert!((numeric - exact).abs() < 1e-7 * (1.0 + exact.abs()), "{i} {j}: {numeric} {exact}");
        }
    }
}

/// With dropout, the derivative of the gradients along a direction is their finite difference.
#[test]
fn second_derivatives_match_finite_differences_with_dropout() {
    let features = features();
    let mut gcn = Gcn::new(&features, HIDDEN, CLASSES, LAMBDA, 0.4);
    let graph = &graphs(1)[0];
    let shape = gcn.shape;
    let weights = [random(COLUMNS * HIDDEN, 1), random(HIDDEN * CLASSES, 2)];
    let direction = [random(COLUMNS * HIDDEN, 3), random(HIDDEN * CLASSES, 4)];
    let train = Targets { nodes: &TRAIN, class_of: &CLASS_OF };
    let gradients = |gcn: &mut Gcn<'_, f64>, shift: f64| {
        let sum = |k: usize| weights[k].iter().zip(&direction[k]).map(|(w, d)| w + shift * d).collect::<Vec<_>>();
        let moved = model::padded(shape, [&sum(0), &sum(1)]);
        let mut to = shape.weights().map(Buffer::zeros);
        gcn.draw_dropout(Some((1, 7)));
        gcn.forward(graph, &moved);
        gcn.backward(graph, &moved, train, true, &mut to);
        to
    };
    let [above, below] = [1e-6, -1e-6].map(|shift| gradients(&mut gcn, shift));
    gradients(&mut gcn, 0.0);
    let mut product = shape.weights().map(Buffer::zeros);
    let [padded, along] = [&weights, &direction].map(|[first, second]| model::padded(shape, [first, second]));
    gcn.differentiate(graph, &padded, &along, train, &mut product);
    let mut checked = 0;
    let all = |pair: &Pair<f64>| pair.iter().flat_map(|list| list.to_vec()).collect::<Vec<f64>>();
    for ((exact, above), below) in all(&product).into_iter().zip(all(&above)).zip(all(&below)) {
        let numeric = (above - below) / 2e-6;
        assert!((numeric - exact).abs() < 1e-8, "{numeric} {exact}");
        checked += usize::from(exact != 0.0);
    }
    assert!(checked > 12, "{checked}");
}

#[test]
fn padding_of_shapes_is_removed() {
    let shape = Shape { nodes: 2, columns: 2, hidden: 3, classes: 2 };
    let weights = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let saved = model::saved(shape, &model::padded(shape, [&weights, &weights]));
    assert!(saved.iter().all(|saved| saved.elements == weights));
    assert_eq!([saved[0].shape, saved[1].shape], [[2, 3], [3, 2]]);
}

/// A graph of three classes whose links are half noise.
fn example() -> Example<f32> {
    let (nodes, draws) = (150u32, Stream::new(2, 0, 0, Purpose::SyntheticEdges));
    let link = |k: u64| {
        let [i, step] = [draws.below(3 * k, u64::from(nodes)), draws.below(3 * k + 1, 49)].map(|v| v as u32);
        (i, (i + 3 * step + if draws.uniform(3 * k + 2) < 0.5 { 1 } else { 0 }) % nodes)
    };
    let links: Vec<(u32, u32)> = (0..300).map(link).collect();
    let graph = Graph::from_edges(nodes as usize, &links, Direction::Undirected).unwrap();
    let noise = Stream::new(2, 1, 0, Purpose::SyntheticFeatures);
    let value = |k: u32| {
        let [a, _] = noise.normal_pair(u64::from(k));
        (if k % 6 == k / 6 % 3 { 1.0 } else { 0.0 } + 0.7 * a) as f32
    };
    let features = Features::dense(nodes as usize, 6, (0..6 * nodes).map(value).collect()).unwrap();
    let labels = Labels::Single { classes: 3, of: (0..nodes).map(|node| node % 3).collect() };
    Example::new(graph, features, labels, [(0..15).collect(), (15..75).collect(), (75..nodes).collect()]).unwrap()
}

const OPTIONS: LdsOptions = LdsOptions {
    similar_neighbours: 0,
    edge_lr: 0.2,
    edge_steps: 4,
    inner_steps: 60,
    inner_patience: 20,
    graph_samples: 4,
    outer_patience: 4,
};

fn prepared(example: Example<f32>, max_epochs: usize) -> Prepared<Cpu<f32>> {
    let shape =
        Architecture::new("lds".parse().unwrap(), &example).with(|a| (a.network.hidden, a.network.dropout) = (8, 0.3));
    let config = TrainConfig::default().with(|c| {
        c.training.lr = 0.02;
        c.training.lambda_2 = 5e-4;
        c.training.max_epochs = max_epochs;
    });
    Prepared::on(&Cpu::default(), &[example], shape, config).unwrap()
}

fn run(max_epochs: usize, options: LdsOptions) -> (Vec<Epoch>, TrainedSystem) {
    let mut history = Vec::new();
    let trained = train(&prepared(example(), max_epochs), options, 3, &mut |epoch| {
        history.push(*epoch);
        ControlFlow::Continue(())
    });
    (history, trained.unwrap())
}

#[test]
fn learned_edges_lower_the_outer_loss() {
    let (history, trained) = run(4, OPTIONS);
    let (still, alone) = run(4, LdsOptions { edge_lr: 0.0, ..OPTIONS });
    let last = |history: &[Epoch]| history.last().unwrap().train.edge;
    assert!(last(&history) < last(&still), "{} {}", last(&history), last(&still));
    assert!(trained.outcome.test.metric > alone.outcome.test.metric - 0.1, "{:?} {:?}", trained.outcome, alone.outcome);
    assert_eq!(trained.outcome.epochs, history.len());
}

#[test]
fn results_do_not_depend_on_threads() {
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(4, OPTIONS))
    };
    let ((history, one), (again, three)) = (with(1), with(3));
    assert!(history == again && one.logits == three.logits && one.model == three.model);
}

#[test]
fn models_predict_the_same_logits_again() {
    let (_, TrainedSystem { mut model, logits, .. }) = run(1, OPTIONS);
    assert_eq!(model.predict(&example()).unwrap(), logits);
    model.graphs.as_mut().unwrap().nodes = 149;
    assert!(model.predict(&example()).unwrap_err().to_string().contains("this is another one"));
    model.weights.pop();
    model.graphs.as_mut().unwrap().nodes = 150;
    assert!(model.predict(&example()).unwrap_err().to_string().contains("its weights are missing"));
    model.graphs.as_mut().unwrap().links.clear();
    assert!(model.predict(&example()).unwrap_err().to_string().contains("it has no graphs"));
}

#[test]
fn neighbours_by_features_replace_the_given_graph() {
    let (_, trained) = run(1, LdsOptions { similar_neighbours: 5, ..OPTIONS });
    let (_, given) = run(1, OPTIONS);
    assert_ne!(trained.model.graphs, given.model.graphs);
}

#[test]
fn rejects_what_it_cannot_train() {
    let few = Example { validation: vec![20], ..example() };
    let error = LdsTrainer::new(&prepared(few, 1), OPTIONS, 0).unwrap_err().to_string();
    assert!(error.contains("needs two validation nodes"), "{error}");
    let multi = Example { labels: Labels::Multi { classes: 3, of: vec![0; 450] }, ..example() };
    assert!(LdsTrainer::new(&prepared(multi, 1), OPTIONS, 0).unwrap_err().to_string().contains("one class each"));
}
