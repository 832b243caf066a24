//! Products, outputs, losses, Adam, convolutions and recordings against the CPU or plain loops. Without a GPU these
//! tests pass without checking anything.

mod support;

use supergat_core::device::prelude::*;
use supergat_core::device::{
    Adam, AttentionLoss, FromAbove, Input, Join, LabelInput, LabelLoss, LayerWidth, Mask, Output, OutputGradient,
    ParameterMemory, Place, Random, Readings, STATE, SumsGradient,
};
use supergat_core::hyperparameters::TrainingSettings;
use supergat_core::memory::Arena;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{
    Architecture, Convolution, Direction, Dropout, EdgeAttributes, Example, Features, Graph, HeadLayout, Labels,
    ModelKind, Precision, SingleDevice, SparseMatrix,
};
use supergat_cpu::kernels::{Compressed, Dense, LabelTerms, Parts, Products as _, sum_parts};
use supergat_cpu::{Cpu, Primitives, kernels};
use supergat_cuda::{Bits, Cuda, Problem, Recording};
use support::{close, fetch, gpu, upload};

/// Returns deterministic numbers in [-1, 1).
fn numbers(len: usize, salt: u16) -> Vec<f32> {
    let stream = Stream::new(5, 0, salt, Purpose::Weights);
    (0..len as u64).map(|k| (2.0 * stream.uniform(k) - 1.0) as f32).collect()
}

const CLASSES: usize = 5;

/// A graph with a hub, features, labels and a split.
fn example(nodes: usize, features: Features<f32>, multi: bool, direction: Direction) -> Example<f32> {
    let stream = Stream::new(3, 0, 0, Purpose::Weights);
    let mut edges: Vec<(u32, u32)> = (0..3 * nodes as u64)
        .map(|k| (stream.below(2 * k, nodes as u64) as u32, stream.below(2 * k + 1, nodes as u64) as u32))
        .collect();
    edges.extend((1..nodes as u32 / 2).map(|k| (k, 0)));
    let graph = Graph::from_edges(nodes, &edges, direction).unwrap();
    let labels = if multi {
        Labels::Multi { classes: CLASSES, of: (0..nodes * CLASSES).map(|k| (k * k % 7 % 2) as u8).collect() }
    } else {
        Labels::Single { classes: CLASSES, of: (0..nodes).map(|k| (k * k % CLASSES) as u32).collect() }
    };
    let split = |part| (0..nodes as u32).filter(|k| k % 3 == part).collect();
    Example::new(graph, features, labels, [split(0), split(1), split(2)]).unwrap()
}

fn dense_features(nodes: usize, columns: usize) -> Features<f32> {
    Features::dense(nodes, columns, numbers(nodes * columns, 9)).unwrap()
}

/// Sparse features; every row has an entry in column 0, which is a long column.
fn sparse_features(nodes: usize, columns: usize) -> SparseMatrix<f32> {
    let stream = Stream::new(4, 0, 0, Purpose::Weights);
    let (mut offsets, mut index) = (vec![0u64], vec![]);
    for i in 0..nodes {
        index.push(0);
        index.extend((1..columns as u32).filter(|&k| stream.below((i * columns) as u64 + u64::from(k), 9) == 0));
        offsets.push(index.len() as u64);
    }
    let values = numbers(index.len(), 8);
    SparseMatrix::new(columns, offsets, index, values).unwrap()
}

fn placed(cuda: &Cuda, example: &Example<f32>, model: &str) -> (Problem, supergat_cuda::Scratch) {
    let mut architecture = Architecture::new(model.parse().unwrap(), example);
    // Wide enough for the widest hidden input of these tests.
    architecture.network.heads = 8;
    architecture.network.hidden = 75;
    architecture.network.dropout = 0.6;
    let problem = cuda.place(example, &architecture, AttentionLoss::None).unwrap();
    let problems = [problem];
    let layers = [LayerWidth { stride: 2048, heads: 8, precision: Precision::F32, weight: 1, sums: 1 }];
    let scratch = cuda.scratch(&problems, &layers, true, &mut Arena::allocating()).unwrap();
    let [problem] = problems;
    (problem, scratch)
}

/// Draws a mask on the GPU and reads it.
fn mask(cuda: &Cuda, dropout: Dropout, bytes: usize) -> (Bits, Vec<u8>) {
    let mut keep = cuda.bits(bytes, &mut Arena::allocating()).unwrap();
    let clock = cuda.clock(11).unwrap();
    cuda.draw_mask(Random { clock: &clock, layer: 0, purpose: Purpose::InputDropout }, dropout, bytes, &mut keep)
        .unwrap();
    let mut host = vec![0; bytes];
    cuda.download_bits(&keep, &mut host).unwrap();
    (keep, host)
}

#[test]
fn dense_products_agree_with_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for (nodes, columns, stride) in
        [(1, 1, 8), (70, 13, 8), (1000, 64, 64), (3000, 129, 24), (513, 304, 136), (200, 600, 16), (60000, 40, 32)]
    {
        let example = example(nodes, dense_features(nodes, columns), false, Direction::Undirected);
        let (problem, _) = placed(&cuda, &example, "mlp");
        let layers =
            [LayerWidth { stride, heads: 8, precision: Precision::F32, weight: columns * stride, sums: 2 * stride }];
        let problems = [problem];
        let mut scratch = cuda.scratch(&problems, &layers, true, &mut Arena::allocating()).unwrap();
        let [problem] = problems;
        let x = numbers(nodes * columns, 9);
        let (w, g) = (numbers(columns * stride, 1), numbers(nodes * stride, 2));
        for p in [0.0, 0.6] {
            let dropout = Dropout::new(p);
            let (keep, host) = mask(&cuda, dropout, nodes * columns.div_ceil(8));
            let on_gpu = (p > 0.0).then_some(Mask { keep: &keep, dropout });
            let on_cpu = (p > 0.0).then_some(kernels::Mask { keep: &host, scale: dropout.scale() });
            let dense = Dense { values: &x, columns };
            let parts = Parts::even(0..nodes, 1);
            let mut expected = vec![0.0; nodes * stride];
            f32::dense_product(&parts, dense, on_cpu, &w, stride, &mut expected);
            let copies = Parts::for_copies(0..nodes, |row| (row * columns) as u64, 1);
            let mut room = vec![0.0; copies.len() * columns * stride];
            let mut expected_gradient = vec![0.0; columns * stride];
            f32::dense_transposed_product(&copies, dense, on_cpu, &g, stride, &mut room, &mut expected_gradient);

            let (weight, gradient) = (upload(&cuda, &w), upload(&cuda, &g));
            let hidden = upload(&cuda, &x);
            // A hidden input has a width that is a multiple of eight.
            let inputs =
                [Some(Input::Features), (columns % 8 == 0).then_some(Input::Hidden { rows: &hidden, width: columns })];
            for input in inputs.into_iter().flatten() {
                let mut out = upload(&cuda, &vec![9.0; nodes * stride]);
                let mut d_w = upload(&cuda, &vec![9.0; columns * stride]);
                let mut runs = vec![];
                for _ in 0..3 {
                    cuda.product(&problem, input, on_gpu, &weight, stride, &mut out).unwrap();
                    cuda.weight_gradient(&problem, input, on_gpu, &gradient, stride, &mut scratch, &mut d_w).unwrap();
                    runs.push((fetch(&cuda, &out, nodes * stride), fetch(&cuda, &d_w, columns * stride)));
                }
                close("product", &runs[0].0, &expected);
                close("gradient of the weights", &runs[0].1, &expected_gradient);
                assert!(runs[0] == runs[1] && runs[0] == runs[2], "the same bits");
            }
            // G W^T, where W has `columns` rows.
            let mut transposed = vec![0.0; w.len()];
            kernels::transpose(&w, columns, stride, &mut transposed);
            if columns % 8 == 0 {
                let mut expected = vec![0.0; nodes * columns];
                let g = Dense { values: &g, columns: stride };
                f32::dense_product(&parts, g, None, &transposed, columns, &mut expected);
                let mut out = upload(&cuda, &vec![9.0; nodes * columns]);
                cuda.input_gradient(&problem, &gradient, stride, &weight, columns, &mut scratch, &mut out).unwrap();
                close("gradient of the input", &fetch(&cuda, &out, nodes * columns), &expected);
                cuda.add_input_gradient(&problem, &gradient, stride, &weight, columns, &mut scratch, &mut out).unwrap();
                expected.iter_mut().for_each(|expected| *expected *= 2.0);
                close("added gradient of the input", &fetch(&cuda, &out, nodes * columns), &expected);
            }
        }
    }
}

#[test]
fn sparse_products_agree_with_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for (nodes, columns, stride) in [(1, 1, 8), (70, 40, 8), (9000, 50, 64), (300, 1433, 24), (500, 30, 264)] {
        let matrix = sparse_features(nodes, columns);
        let x = Compressed { offsets: matrix.offsets(), index: matrix.column_of(), values: matrix.values() };
        let example = example(nodes, Features::Sparse(matrix.clone()), false, Direction::Undirected);
        let (problem, _) = placed(&cuda, &example, "mlp");
        let layers =
            [LayerWidth { stride, heads: 8, precision: Precision::F32, weight: columns * stride, sums: 2 * stride }];
        let problems = [problem];
        let mut scratch = cuda.scratch(&problems, &layers, true, &mut Arena::allocating()).unwrap();
        let [problem] = problems;
        let (w, g) = (numbers(columns * stride, 1), numbers(nodes * stride, 2));
        for p in [0.0, 0.6] {
            let dropout = Dropout::new(p);
            let (keep, host) = mask(&cuda, dropout, matrix.values().len().div_ceil(8));
            let on_gpu = (p > 0.0).then_some(Mask { keep: &keep, dropout });
            let on_cpu = (p > 0.0).then_some(kernels::Mask { keep: &host, scale: dropout.scale() });
            let mut expected = vec![0.0; nodes * stride];
            f32::sparse_product(&Parts::by_offsets(x.offsets), x, on_cpu, &w, stride, &mut expected);
            let copies = Parts::for_copies(0..nodes, |row| (row * columns) as u64, 1);
            let mut room = vec![0.0; copies.len() * columns * stride];
            let mut expected_gradient = vec![0.0; columns * stride];
            f32::sparse_transposed_product(&copies, x, on_cpu, &g, stride, &mut room, &mut expected_gradient);

            let (weight, gradient) = (upload(&cuda, &w), upload(&cuda, &g));
            let mut out = upload(&cuda, &vec![9.0; nodes * stride]);
            let mut d_w = upload(&cuda, &vec![9.0; columns * stride]);
            let mut runs = vec![];
            for _ in 0..3 {
                cuda.product(&problem, Input::Features, on_gpu, &weight, stride, &mut out).unwrap();
                cuda.weight_gradient(&problem, Input::Features, on_gpu, &gradient, stride, &mut scratch, &mut d_w)
                    .unwrap();
                runs.push((fetch(&cuda, &out, nodes * stride), fetch(&cuda, &d_w, columns * stride)));
            }
            close("product", &runs[0].0, &expected);
            close("gradient of the weights", &runs[0].1, &expected_gradient);
            assert!(runs[0] == runs[1] && runs[0] == runs[2], "the same bits");
        }
    }
}

/// Returns the shared terms of all nodes and heads from the state of the GPU, which has four numbers per head.
fn shared_on_gpu(layout: HeadLayout, state: &[f32]) -> Vec<f32> {
    let heads = layout.groups * layout.lane_heads;
    let nodes = state.len() / (STATE * layout.head_stride());
    state[..nodes * heads * STATE].chunks(STATE).map(|slots| slots[2]).collect()
}

/// Returns them from the state of the CPU, which has rows of heads.
fn shared_on_cpu(layout: HeadLayout, state: &[f32]) -> Vec<f32> {
    let rows = state.chunks(STATE * layout.head_stride()).map(|slots| &slots[3 * layout.head_stride()..]);
    let used = |lane: &usize| lane % 8 < layout.lane_heads;
    rows.flat_map(|row| (0..layout.head_stride()).filter(used).map(|lane| row[lane]).collect::<Vec<_>>()).collect()
}

#[test]
fn outputs_agree_with_the_cpu() {
    let Some(cuda) = gpu() else { return };
    let nodes = 2111;
    let example = example(nodes, dense_features(nodes, 8), false, Direction::Undirected);
    let (problem, mut scratch) = placed(&cuda, &example, "gat-go");
    for (heads, features) in [(8, 8), (1, 7), (2, 5), (4, 33), (12, 3), (16, 4), (1, 1500), (64, 7), (3, 2)] {
        let layout = HeadLayout::new(heads, features);
        let (stride, states) = (layout.stride(), STATE * layout.head_stride());
        let mut sums = vec![0.0; nodes * stride];
        let drawn = numbers(nodes * heads * features, 3);
        for i in 0..nodes {
            for (k, place) in layout.canonical().enumerate() {
                sums[i * stride + place] = drawn[i * heads * features + k];
            }
        }
        let parts = Parts::even(0..nodes, stride);
        for join in [Join::ConcatElu, Join::Concat, Join::Mean] {
            for p in [0.0, 0.4] {
                let width = if join == Join::Mean { features } else { stride };
                let (bias, above) = (numbers(width, 4), numbers(nodes * width, 5));
                let dropout = Dropout::new(p);
                let (keep, host) = mask(&cuda, dropout, nodes * stride / 8);
                let mut expected = vec![0.0; nodes * width];
                let mut gradient = if join == Join::Mean { vec![9.0; nodes * stride] } else { above.clone() };
                let (mut state, mut active) = (vec![7.0; nodes * states], vec![false; nodes]);
                let (mut partial, mut d_bias) = (vec![0.0; parts.len() * width], vec![0.0; width]);
                if join == Join::Mean {
                    f32::mean_forward(&parts, layout, &bias, &sums, &mut expected);
                } else {
                    f32::concat_forward(&parts, join == Join::ConcatElu, &bias, &sums, &mut expected);
                }
                let to = kernels::OutputGradient {
                    sums: &mut gradient,
                    active: &mut active,
                    state: Some(&mut state),
                    bias: &mut partial,
                };
                if join == Join::Mean {
                    f32::mean_backward(&parts, layout, &above, &sums, to);
                } else {
                    let mask = (p > 0.0).then_some(kernels::Mask { keep: &host, scale: dropout.scale() });
                    f32::concat_backward(&parts, layout, join == Join::ConcatElu, mask, &expected, &sums, to);
                }
                sum_parts(parts.len(), &partial, &mut d_bias);

                let output = Output { layout, join };
                let (on_gpu, sums_gpu) = (upload(&cuda, &bias), upload(&cuda, &sums));
                let mut out = upload(&cuda, &vec![9.0; nodes * width]);
                cuda.output_forward(&problem, output, &on_gpu, &sums_gpu, &mut out).unwrap();
                close("output", &fetch(&cuda, &out, nodes * width), &expected);
                let mut runs = vec![];
                for _ in 0..2 {
                    let from_above = upload(&cuda, &above);
                    let start = if join == Join::Mean { vec![9.0; nodes * stride] } else { above.clone() };
                    let mut d_sums = upload(&cuda, &start);
                    let mut d_bias = upload(&cuda, &vec![9.0; width]);
                    let mut state = upload(&cuda, &vec![7.0; nodes * states]);
                    let above = if join == Join::Mean {
                        FromAbove::Mean(&from_above)
                    } else {
                        FromAbove::Concat((p > 0.0).then_some(Mask { keep: &keep, dropout }))
                    };
                    let from = OutputGradient { above, sums: &sums_gpu, output: &out };
                    let to = SumsGradient { sums: &mut d_sums, state: Some(&mut state), bias: &mut d_bias };
                    cuda.output_backward(&problem, output, from, &mut scratch, to).unwrap();
                    runs.push([
                        fetch(&cuda, &d_sums, nodes * stride),
                        fetch(&cuda, &d_bias, width),
                        fetch(&cuda, &state, nodes * states),
                    ]);
                }
                let what = format!("{heads} heads of {features}, {join:?}, dropout {p}");
                close(&format!("gradient of the sums, {what}"), &runs[0][0], &gradient);
                close(&format!("gradient of the bias, {what}"), &runs[0][1], &d_bias);
                let shared = [shared_on_gpu(layout, &runs[0][2]), shared_on_cpu(layout, &state)];
                close(&format!("shared term, {what}"), &shared[0], &shared[1]);
                assert!(runs[0] == runs[1], "the same bits: {what}");
            }
        }
    }
}

#[test]
fn losses_and_scores_agree_with_the_cpu() {
    let Some(cuda) = gpu() else { return };
    let cases = [(7, false), (5000, false), (7, true), (5000, true)];
    for ((nodes, multi), (weighted, focal_gamma)) in cases
        .into_iter()
        .flat_map(|case| [(false, 0.0), (true, 0.0), (false, 2.0), (true, 0.5)].map(|terms| (case, terms)))
        .filter(|((_, multi), (weighted, _))| !(*multi && *weighted))
    {
        let settings = TrainingSettings { focal_gamma, ..TrainingSettings::default() };
        let mut example = example(nodes, dense_features(nodes, 3), multi, Direction::Undirected);
        if weighted {
            let weights: Vec<f64> = (0..CLASSES).map(|class| 0.5 + class as f64).collect();
            example = example.with_class_weights(weights).unwrap();
        }
        let (problem, mut scratch) = placed(&cuda, &example, "mlp");
        let logits: Vec<f32> = numbers(nodes * CLASSES, 6).iter().map(|x| 4.0 * x).collect();
        let parts = Parts::even(0..nodes, 1);
        let mut chosen = vec![false; nodes];
        example.train.iter().for_each(|&node| chosen[node as usize] = true);
        let mut expected = vec![9.0; nodes * CLASSES];
        let loss = f32::label_loss_backward(
            &parts,
            &example.labels,
            &chosen,
            LabelTerms {
                class_weights: example.class_weights.as_deref().unwrap_or(&[]),
                total: example.training_weight(),
                shown: &[],
                settings: &settings,
            },
            &logits,
            &mut expected,
            &mut vec![0.0; parts.len()],
        );
        let on_gpu = upload(&cuda, &logits);
        let mut gradient = upload(&cuda, &vec![9.0; nodes * CLASSES]);
        let mut record = cuda.record(3).unwrap();
        let mut readings = [Readings::default(), Readings::default()];
        for readings in &mut readings {
            let to = Place { record: &mut record, example: 1 };
            cuda.label_loss_backward(
                &problem,
                &on_gpu,
                LabelLoss { settings: &settings, shown: None },
                &mut gradient,
                &mut scratch,
                to,
            )
            .unwrap();
            cuda.evaluate(&problem, &on_gpu, Place { record: &mut record, example: 1 }).unwrap();
            cuda.read(&record, readings).unwrap();
        }
        close("gradient of the logits", &fetch(&cuda, &gradient, nodes * CLASSES), &expected);
        let [a, b] = &readings;
        assert!(a.losses == b.losses && a.scores == b.scores, "the same bits");
        assert_eq!((a.losses.len(), a.losses[0], a.losses[2]), (3, [0.0; 2], [0.0; 2]));
        assert!((a.losses[1][0] - loss).abs() < 1e-5 * loss && a.losses[1][1] == 0.0, "{:?} and {loss}", a.losses);
        for (k, list) in [&example.validation, &example.test].into_iter().enumerate() {
            let (sum, counts) = f32::evaluate(&example.labels, list, &logits);
            assert_eq!(a.scores[1][k].1, counts);
            assert!((a.scores[1][k].0 - sum).abs() < 1e-5 * sum);
        }
    }
}

/// Shown labels of a step or an evaluation, then their reuse, products with weights, and the loss of the other nodes.
fn label_input<D: SingleDevice<Number = f32>>(
    device: &D,
    example: &Example<f32>,
    shape: Architecture,
    training: bool,
) -> (Vec<u8>, Vec<Vec<f32>>) {
    let (nodes, stride, mut arena) = (example.graph.nodes(), 16, Arena::allocating());
    let rows = shape.input_width();
    let layers = [LayerWidth { stride, heads: 8, precision: Precision::F32, weight: rows * stride, sums: 1 }];
    let problems = [device.place(example, &shape, AttentionLoss::None).unwrap()];
    let mut scratch = device.scratch(&problems, &layers, true, &mut arena).unwrap();
    let [problem] = &problems;
    let mut clock = device.clock(11).unwrap();
    device.set_step(&mut clock, 5).unwrap();
    let (count, dropout) = (shape.shown_labels(example.train.len()), Dropout::new(shape.network.dropout));
    let input = LabelInput { clock: training.then_some(&clock), shown: count, dropout };
    let mut memory = |from: &[f32]| {
        let mut to = device.numbers(from.len(), &mut arena).unwrap();
        device.upload(from, &mut to).unwrap();
        to
    };
    let logits: Vec<f32> = numbers(nodes * CLASSES, 6).iter().map(|x| 4.0 * x).collect();
    let [mut labels, mut gradient] = [0, 1].map(|_| memory(&vec![9.0; nodes * CLASSES]));
    let [logits, weight, g] =
        [&logits, &numbers(rows * stride, 1), &numbers(nodes * stride, 2)].map(|from| memory(from));
    let [mut out, mut d_w] = [nodes, rows].map(|rows| memory(&vec![9.0; rows * stride]));
    let mut shown = device.bits(nodes, &mut arena).unwrap();
    let fetch = |from: &D::Numbers, length: usize| {
        let mut to = vec![0.0; length];
        device.download(from, &mut to).unwrap();
        to
    };
    let mut found = Vec::new();
    device.show_labels(problem, input, &mut shown, &mut labels).unwrap();
    for is_reused in [false, true] {
        if is_reused {
            device.reuse_labels(problem, input, &logits, &shown, &mut labels).unwrap();
        }
        let x = Input::Labelled { rows: &labels, classes: CLASSES };
        device.product(problem, x, None, &weight, stride, &mut out).unwrap();
        device.weight_gradient(problem, x, None, &g, stride, &mut scratch, &mut d_w).unwrap();
        found.push(fetch(&labels, nodes * CLASSES));
        found.extend([fetch(&out, nodes * stride), fetch(&d_w, rows * stride)]);
    }
    let mut record = device.record(1).unwrap();
    let settings = TrainingSettings::default();
    let loss = LabelLoss { settings: &settings, shown: training.then_some((&shown, count)) };
    let place = Place { record: &mut record, example: 0 };
    device.label_loss_backward(problem, &logits, loss, &mut gradient, &mut scratch, place).unwrap();
    let mut readings = Readings::new(1);
    device.read(&record, &mut readings).unwrap();
    found.extend([fetch(&gradient, nodes * CLASSES), vec![readings.losses[0][0] as f32]]);
    let mut bytes = vec![0; nodes];
    device.download_bits(&shown, &mut bytes).unwrap();
    (bytes, found)
}

#[test]
fn labels_as_input_agree_with_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for (nodes, multi, sparse, dropout) in
        [(7, false, false, 0.0), (3000, false, true, 0.4), (3000, true, false, 0.4), (70, true, true, 0.3)]
    {
        let features = if sparse { Features::Sparse(sparse_features(nodes, 12)) } else { dense_features(nodes, 12) };
        let example = example(nodes, features, multi, Direction::Undirected);
        let plain = Architecture::new("mlp".parse().unwrap(), &example);
        let shape = plain.with(|a| (a.network.label_input, a.network.dropout) = (0.5, dropout));
        for training in [false, true] {
            let what = format!("{nodes} nodes, multi {multi}, training {training}");
            let [first, again] = [0, 1].map(|_| label_input(&cuda, &example, shape, training));
            assert!(first == again, "the same bits: {what}");
            let expected = label_input(&Cpu::default(), &example, shape, training);
            assert!(first.0 == expected.0 && first.1[0] == expected.1[0], "choice and dropout: {what}");
            let shown = first.0.iter().map(|&shown| usize::from(shown)).sum::<usize>();
            let train = example.train.len();
            assert_eq!(shown, if training { shape.shown_labels(train) } else { train }, "{what}");
            let names = ["rows", "product", "gradient", "reused rows", "product", "gradient", "d logits", "loss"];
            for ((name, found), expected) in names.iter().zip(&first.1).zip(&expected.1) {
                close(&format!("{name}, {what}"), found, expected);
            }
        }
    }
}

/// Three steps of a replayed recording of Adam and of the clock: one run directly, one recorded, one replayed.
#[test]
fn recorded_steps_of_adam_agree_with_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for len in [1, 7, 8, 100_000] {
        let (mut w, g) = (numbers(len, 1), numbers(len, 2));
        let (mut m, mut v) = (vec![0.0; len], vec![0.0; len]);
        let (mut value, gradient) = (upload(&cuda, &w), upload(&cuda, &g));
        let mut moments = [upload(&cuda, &m), upload(&cuda, &v)];
        let mut clock = cuda.clock(1).unwrap();
        cuda.set_step(&mut clock, 0).unwrap();
        let mut recording = Recording::default();
        for step in 1..=5 {
            f32::adam(kernels::Adam { lr: 0.01, lambda_2: 5e-4, step }, &mut w, &g, &mut m, &mut v);
            cuda.replay(&mut recording, &mut || {
                let memory = ParameterMemory { value: &mut value, gradient: &gradient, moments: &mut moments, len };
                cuda.adam(Adam { lr: 0.01, lambda_2: 5e-4 }, &clock, std::iter::once(memory))?;
                cuda.advance(&mut clock)
            })
            .unwrap();
            close("weights", &fetch(&cuda, &value, len), &w);
            close("first moments", &fetch(&cuda, &moments[0], len), &m);
            close("second moments", &fetch(&cuda, &moments[1], len), &v);
        }
    }
}

#[test]
fn convolutions_agree_with_plain_loops() {
    let Some(cuda) = gpu() else { return };
    for direction in [Direction::Directed, Direction::Undirected] {
        let nodes = 1500;
        let unweighted = example(nodes, dense_features(nodes, 3), false, direction);
        let graph = &unweighted.graph;
        // An edge and its reverse have different weights; those of self-loops are 1.
        let mut edge_weights = numbers(graph.edges(), 4);
        edge_weights.iter_mut().for_each(|weight| *weight = weight.exp());
        (0..nodes as u32).for_each(|i| edge_weights[graph.position(i, i).unwrap()] = 1.0);
        let attributes = EdgeAttributes::from_parts(graph, edge_weights.clone(), 0, vec![]).unwrap();
        let weighted = unweighted.clone().with_edges(attributes).unwrap();
        for (kind, is_weighted) in ModelKind::ALL.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
            let ModelKind::Convolution(convolution) = kind else { continue };
            let example = if is_weighted { &weighted } else { &unweighted };
            let (problem, _) = placed(&cuda, example, &kind.to_string());
            // Sums of the weights of incoming and outgoing edges.
            let edge_weight = |e: usize| if is_weighted { f64::from(edge_weights[e]) } else { 1.0 };
            let (mut incoming, mut outgoing) = (vec![0.0; nodes], vec![0.0; nodes]);
            for (i, e) in (0..nodes).flat_map(|i| graph.incoming().range(i).map(move |e| (i, e))) {
                incoming[i] += edge_weight(e);
                outgoing[graph.incoming().neighbours[e] as usize] += edge_weight(e);
            }
            for width in [8, 24, 64, 264] {
                let stride = convolution.halves() * width;
                let weight = |j: usize, i: usize| -> f64 {
                    let inverse = |sum: f64| if sum == 0.0 { 0.0 } else { 1.0 / sum };
                    let factor = match convolution {
                        Convolution::Gcn => (inverse(outgoing[i]) * inverse(outgoing[j])).sqrt(),
                        Convolution::GcnIncoming => (inverse(incoming[i]) * inverse(incoming[j])).sqrt(),
                        Convolution::Sage => inverse(incoming[i]),
                        Convolution::SageRoot if i == j => 0.0,
                        Convolution::SageRoot => inverse(incoming[i] - 1.0),
                    };
                    factor * edge_weight(graph.position(j as u32, i as u32).unwrap())
                };
                let (z, g) = (numbers(nodes * stride, 1), numbers(nodes * width, 2));
                let (mut sums, mut d_z) = (vec![0.0f32; nodes * width], vec![0.0f32; nodes * stride]);
                for i in 0..nodes {
                    for &j in graph.incoming().of(i) {
                        let (j, f) = (j as usize, weight(j as usize, i) as f32);
                        for c in 0..width {
                            sums[i * width + c] += f * z[j * stride + c];
                            d_z[j * stride + c] += f * g[i * width + c];
                        }
                    }
                    for c in width..stride {
                        sums[i * width + c - width] += z[i * stride + c];
                        d_z[i * stride + c] = g[i * width + c - width];
                    }
                }
                let (z, g) = (upload(&cuda, &z), upload(&cuda, &g));
                let mut out = upload(&cuda, &vec![9.0; nodes * width]);
                let mut back = upload(&cuda, &vec![9.0; nodes * stride]);
                let mut runs = vec![];
                for _ in 0..3 {
                    cuda.convolve(&problem, convolution, width, &z, &mut out).unwrap();
                    cuda.convolve_backward(&problem, convolution, width, &g, &mut back).unwrap();
                    runs.push((fetch(&cuda, &out, nodes * width), fetch(&cuda, &back, nodes * stride)));
                }
                close("sums", &runs[0].0, &sums);
                close("gradient", &runs[0].1, &d_z);
                assert!(runs[0] == runs[1] && runs[0] == runs[2], "the same bits");
            }
        }
    }
}
