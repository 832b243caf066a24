//! Attention, its gradient, the edge loss and the margin losses against the CPU. Without a GPU these tests pass without
//! checking anything.

mod support;

use supergat_core::contrast::compare_classes;
use supergat_core::device::prelude::*;
use supergat_core::device::{
    Attention, AttentionGradient, AttentionLoss, LayerWidth, Mask, Place, ProjectedGradient, Random, Readings, STATE,
    Supervision,
};
use supergat_core::memory::Arena;
use supergat_core::random::{Purpose, Stream};
use supergat_core::sampling::SampleSizes;
use supergat_core::{
    Architecture, Boundary, Contrast, Direction, Dropout, Example, Features, Form, Graph, HeadLayout, Labels, ModelKind,
};
use supergat_cpu::kernels::{
    DropoutMask as _, EdgeLoss, Margin, NodeScores, OutgoingEdges, Parts, Pool, RivalDraws, ScoreGradient, draw_rivals,
    group_by_rival, sum_parts, vector_sums,
};
use supergat_cpu::sampling::{EdgeSamples, NegativeSampler};
use supergat_cpu::{Primitives, kernels};
use supergat_cuda::{Bits, Clock, Cuda, Problem, Scratch};
use support::{close, fetch, gpu, upload};

const SLOPE: f32 = 0.2;
const SEED: u64 = 17;
const STEP: u32 = 3;
const LAYER: u16 = 1;
const LAMBDA: f64 = 4.0;

fn stream(purpose: Purpose) -> Stream {
    Stream::new(SEED, STEP, LAYER, purpose)
}

/// A graph whose node 0 has edges with `hub` nodes.
fn example(nodes: usize, hub: u32, direction: Direction) -> Example<f32> {
    let random = Stream::new(3, 0, 0, Purpose::SyntheticEdges);
    let mut edges: Vec<(u32, u32)> = (0..3 * nodes as u64)
        .map(|k| (random.below(2 * k, nodes as u64) as u32, random.below(2 * k + 1, nodes as u64) as u32))
        .collect();
    edges.extend((1..=hub).map(|k| (k, 0)));
    // In a directed graph, node 1 is a hub of outgoing edges.
    edges.extend((2..=hub).map(|k| (1, k)));
    let graph = Graph::from_edges(nodes, &edges, direction).unwrap();
    let labels = Labels::Single { classes: 3, of: (0..nodes as u32).map(|k| k % 3).collect() };
    let features = Features::dense(nodes, 1, vec![0.5; nodes]).unwrap();
    let train = (0..nodes as u32).filter(|k| k % 4 != 0).collect();
    Example::new(graph, features, labels, [train, vec![0], vec![4]]).unwrap()
}

/// Returns rows with random numbers in [-1, 1) and zeros as padding.
fn rows(layout: HeadLayout, count: usize, salt: u16) -> Vec<f32> {
    let random = Stream::new(5, 0, salt, Purpose::Weights);
    let (stride, per_row) = (layout.stride(), layout.heads * layout.features);
    let mut all = vec![0.0; count * stride];
    for row in 0..count {
        for (k, place) in layout.canonical().enumerate() {
            all[row * stride + place] = (2.0 * random.uniform((row * per_row + k) as u64) - 1.0) as f32;
        }
    }
    all
}

#[track_caller]
fn same(what: &str, a: &[f32], b: &[f32]) {
    assert!(a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()), "{what} differs between runs");
}

/// Writes `g_i . out_i` of every head to the last slot of the state.
fn fill_shared(layout: HeadLayout, gradient: &[f32], out: &[f32], state: &mut [f32]) {
    let (stride, width) = (layout.stride(), layout.head_stride());
    for (i, state) in state.chunks_exact_mut(STATE * width).enumerate() {
        let part = width / layout.groups;
        for head in 0..layout.heads {
            let sum: f32 = (0..layout.features)
                .map(|f| i * stride + layout.index(head, f))
                .map(|place| gradient[place] * out[place])
                .sum();
            let group = head / part * part;
            (head % part..part).step_by(layout.lane_heads).for_each(|lane| state[3 * width + group + lane] = sum);
        }
    }
}

/// Losses on attention under test.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Loss {
    None,
    /// All edges and given non-edges.
    Set,
    /// Samples drawn on the device.
    Drawn,
}

#[derive(Debug)]
struct Case {
    form: Form,
    heads: usize,
    features: usize,
    direction: Direction,
    dropout: f64,
    loss: Loss,
}

/// Sets or draws the samples of the edge loss on the GPU, and returns those of the CPU.
fn samples_of(
    cuda: &Cuda,
    loss: Loss,
    graph: &Graph,
    problem: &Problem,
    clock: &Clock,
    scratch: &mut Scratch,
) -> EdgeSamples {
    let mut samples = EdgeSamples::default();
    let sampler = NegativeSampler::new(graph);
    match loss {
        Loss::None => {}
        Loss::Set => {
            let mut negatives = vec![[0; 2]; 500];
            sampler.sample(graph, stream(Purpose::NegativePairs), &mut negatives);
            samples.set(graph, &negatives);
            cuda.set_samples(problem, &negatives, scratch).unwrap();
        }
        Loss::Drawn => {
            let streams = [Purpose::PositiveEdges, Purpose::NegativePairs].map(stream);
            samples.draw(graph, &sampler, SampleSizes::new(graph, 0.8, 0.5).unwrap(), streams);
            cuda.draw_samples(problem, clock, LAYER, scratch).unwrap();
        }
    }
    samples
}

fn check(cuda: &Cuda, case: &Case) {
    let what = |name: &str| format!("{name} of {case:?}");
    let example = example(300, 200, case.direction);
    let graph = &*example.graph;
    let (nodes, edges) = (graph.nodes(), graph.edges());
    let layout = HeadLayout::new(case.heads, case.features);
    let (stride, width) = (layout.stride(), layout.head_stride());
    let z = rows(layout, nodes, 0);
    let vectors = rows(layout, 2, 1);
    let gradient = rows(layout, nodes, 2);
    let has_vectors = case.form.has_vector();

    // The CPU's forward pass.
    let offsets: Vec<u64> =
        graph.incoming().offsets.iter().zip(&graph.outgoing().offsets).map(|(a, b)| a + b).collect();
    let parts = Parts::by_offsets(&offsets);
    let (mut state, mut source_score) = (vec![0.0; nodes * STATE * width], vec![0.0; nodes * width]);
    if has_vectors {
        let (a_target, a_source) = vectors.split_at(stride);
        f32::attention_scores(&parts, layout, &z, a_target, a_source, &mut state, &mut source_score);
    }
    let dropout = Dropout::new(case.dropout);
    let mut keep = vec![0; edges * layout.groups];
    dropout.fill_heads(stream(Purpose::AttentionDropout), layout.lane_heads, &mut keep);
    let drops = !dropout.is_none();
    let input = kernels::Attention {
        form: case.form,
        layout,
        slope: SLOPE,
        z: &z,
        source_score: &source_score,
        others: kernels::Others { z: &z, source_score: &source_score },
        incoming: graph.incoming().lists(),
        keep: drops.then(|| kernels::Mask { keep: &keep, scale: dropout.scale() }),
        chosen: None,
        edges: None,
    };
    let mut out = vec![0.0; nodes * stride];
    f32::attention_forward(&parts, &[input], &mut state, &mut out, &mut []);

    // The GPU's forward pass.
    let mut arena = Arena::allocating();
    let model = ModelKind::Attention { form: case.form, self_supervised: true };
    let architecture = Architecture::new(model, &example);
    let loss = AttentionLoss::Edges { p_e: 0.8, p_n: 0.5 };
    let problem = cuda.place(&example, &architecture, loss).unwrap();
    let device_z = upload(cuda, &z);
    let device_vectors = upload(cuda, &vectors);
    let mut device_state = cuda.numbers(state.len(), &mut arena).unwrap();
    let mut device_source = cuda.numbers(source_score.len(), &mut arena).unwrap();
    let mut device_out = cuda.numbers(out.len(), &mut arena).unwrap();
    let mut clock = cuda.clock(SEED).unwrap();
    cuda.set_step(&mut clock, STEP).unwrap();
    let mut device_keep = cuda.bits(keep.len(), &mut arena).unwrap();
    let random = Random { clock: &clock, layer: LAYER, purpose: Purpose::AttentionDropout };
    cuda.draw_head_mask(&problem, random, dropout, layout, &mut device_keep).unwrap();
    let mut bits = vec![0; keep.len()];
    cuda.download_bits(&device_keep, &mut bits).unwrap();
    assert_eq!(bits, keep, "{}", what("mask"));
    if has_vectors {
        cuda.attention_scores(&problem, layout, &device_z, &device_vectors, &mut device_state, &mut device_source)
            .unwrap();
        close(&what("source scores"), &fetch(cuda, &device_source, source_score.len()), &source_score);
    }
    let attention = Attention {
        form: case.form,
        layout,
        slope: f64::from(SLOPE),
        z: &device_z,
        source_score: &device_source,
        vectors: has_vectors.then_some(&device_vectors),
        keep: drops.then_some(Mask { keep: &device_keep, dropout }),
        chosen: None,
        edge_vectors: None,
    };
    cuda.attention_forward(&problem, attention, &mut device_state, &mut device_out, None).unwrap();
    let found = fetch(cuda, &device_out, out.len());
    close(&what("sums"), &found, &out);
    close(&what("state"), &fetch(cuda, &device_state, state.len()), &state);
    cuda.attention_forward(&problem, attention, &mut device_state, &mut device_out, None).unwrap();
    same(&what("sums"), &found, &fetch(cuda, &device_out, out.len()));

    // Attention as a result.
    let [mut coefficients, mut logits] = [vec![0.0; edges * case.heads], vec![0.0; edges * case.heads]];
    f32::edge_values(input, &state, &mut coefficients, &mut logits);
    let values = cuda.edge_values(&problem, attention, &device_state).unwrap();
    close(&what("coefficients"), &values[0], &coefficients);
    close(&what("logits"), &values[1], &logits);
    let pairs: Vec<[u32; 2]> = (0..77).map(|k| [k, (k * k) % 300]).collect();
    let mut expected = vec![0.0; pairs.len()];
    f32::pair_logits(input, &state, &pairs, &mut expected);
    close(&what("pair logits"), &cuda.pair_logits(&problem, attention, &device_state, &pairs).unwrap(), &expected);

    // Samples.
    fill_shared(layout, &gradient, &out, &mut state);
    cuda.upload(&state, &mut device_state).unwrap();
    let layers = [LayerWidth { stride, heads: 8, weight: stride, sums: 2 * stride }; 2];
    let problems = [problem];
    let mut scratch = cuda.scratch(&problems, &layers, true, &mut arena).unwrap();
    let problem = &problems[0];
    let samples = samples_of(cuda, case.loss, graph, problem, &clock, &mut scratch);

    // The CPU's backward pass.
    let supervised = case.loss != Loss::None;
    let active = vec![true; nodes];
    let (a_target, a_source) = vectors.split_at(stride);
    let from = kernels::Gradient {
        state: &state,
        out: &gradient,
        active: &active,
        others: kernels::OtherGradients { state: &state, out: &gradient, active: &active, messages: &[] },
        vectors: [a_target, a_source],
        outgoing: graph.outgoing().lists(),
        place_at_target: graph.place_at_target(),
        symmetric: graph.is_symmetric(),
        edge_loss: supervised.then(|| EdgeLoss {
            positives: &samples.positives,
            negatives_by_target: samples.by_target.lists(),
            negatives_by_source: samples.by_source.lists(),
            weight: LAMBDA / samples.count() as f64,
        }),
        messages: &[],
    };
    let mut d_z = vec![0.0; nodes * stride];
    let (mut sums, mut losses) = (vec![0.0; parts.len() * vector_sums(layout, 0)], vec![0.0; parts.len()]);
    f32::attention_backward(&parts, &[(input, from)], &mut d_z, &mut [], &mut sums, &mut losses);
    let mut d_vectors = vec![0.0; 2 * stride];
    sum_parts(parts.len(), &sums, &mut d_vectors);
    let loss = losses.iter().sum::<f64>() / samples.count().max(1) as f64;

    // The GPU's backward pass, twice.
    let device_gradient = upload(cuda, &gradient);
    let supervision = if supervised { Supervision::Edges { lambda_e: LAMBDA } } else { Supervision::None };
    let mut runs = Vec::new();
    for _ in 0..2 {
        let mut device_d_z = upload(cuda, &vec![9.0; nodes * stride]);
        let mut device_d_vectors = upload(cuda, &vec![9.0; 2 * stride]);
        let mut record = cuda.record(2).unwrap();
        let from = AttentionGradient { state: &device_state, sums: &device_gradient, messages: None };
        let to = ProjectedGradient {
            z: &mut device_d_z,
            vectors: has_vectors.then_some(&mut device_d_vectors),
            edge_vectors: None,
            messages: None,
        };
        let place = Place { record: &mut record, example: 1 };
        cuda.attention_backward(problem, attention, supervision, from, &mut scratch, to, place).unwrap();
        let mut readings = Readings::default();
        cuda.read(&record, &mut readings).unwrap();
        assert_eq!(readings.losses[0], [0.0; 2]);
        runs.push((
            fetch(cuda, &device_d_z, nodes * stride),
            fetch(cuda, &device_d_vectors, 2 * stride),
            readings.losses[1][1],
        ));
    }
    close(&what("gradient of z"), &runs[0].0, &d_z);
    if has_vectors {
        close(&what("gradient of the vectors"), &runs[0].1, &d_vectors);
    }
    assert!((runs[0].2 - loss).abs() <= 1e-5 * loss.max(1e-9), "{}: {} and {loss}", what("loss"), runs[0].2);
    same(&what("gradient of z"), &runs[0].0, &runs[1].0);
    same(&what("gradient of the vectors"), &runs[0].1, &runs[1].1);
    assert_eq!(runs[0].2.to_bits(), runs[1].2.to_bits(), "{}", what("loss"));
}

/// GATv2: attention, its gradient, the edge loss and attention as a result.
fn check_v2(cuda: &Cuda, case: &Case) {
    let what = |name: &str| format!("{name} of {case:?}");
    let example = example(300, 200, case.direction);
    let graph = &*example.graph;
    let (nodes, edges) = (graph.nodes(), graph.edges());
    let layout = HeadLayout::new(case.heads, case.features);
    let (stride, width) = (layout.stride(), layout.head_stride());
    let (z, vectors, gradient) = (rows(layout, 2 * nodes, 0), rows(layout, 1, 1), rows(layout, nodes, 2));

    // The CPU's forward pass.
    let offsets: Vec<u64> =
        graph.incoming().offsets.iter().zip(&graph.outgoing().offsets).map(|(a, b)| a + b).collect();
    let parts = Parts::by_offsets(&offsets);
    let dropout = Dropout::new(case.dropout);
    let mut keep = vec![0; edges * layout.groups];
    dropout.fill_heads(stream(Purpose::AttentionDropout), layout.lane_heads, &mut keep);
    let drops = !dropout.is_none();
    let input = kernels::AttentionV2 {
        layout,
        slope: SLOPE,
        z: &z,
        vectors: &vectors,
        incoming: graph.incoming().lists(),
        keep: drops.then(|| kernels::Mask { keep: &keep, scale: dropout.scale() }),
        edges: None,
    };
    let (mut state, mut out) = (vec![0.0; nodes * STATE * width], vec![0.0; nodes * stride]);
    f32::attention_v2_forward(&parts, input, &mut state, &mut out, &mut []);

    // The GPU's forward pass, twice.
    let mut arena = Arena::allocating();
    let architecture = Architecture::new(ModelKind::Attention { form: Form::V2, self_supervised: true }, &example);
    let problems = [cuda.place(&example, &architecture, AttentionLoss::Edges { p_e: 0.8, p_n: 0.5 }).unwrap()];
    let problem = &problems[0];
    let (device_z, device_vectors) = (upload(cuda, &z), upload(cuda, &vectors));
    let mut device_state = cuda.numbers(state.len(), &mut arena).unwrap();
    let mut clock = cuda.clock(SEED).unwrap();
    cuda.set_step(&mut clock, STEP).unwrap();
    let mut device_keep = cuda.bits(keep.len(), &mut arena).unwrap();
    let random = Random { clock: &clock, layer: LAYER, purpose: Purpose::AttentionDropout };
    cuda.draw_head_mask(problem, random, dropout, layout, &mut device_keep).unwrap();
    let attention = Attention {
        form: Form::V2,
        layout,
        slope: f64::from(SLOPE),
        z: &device_z,
        source_score: &upload(cuda, &[]),
        vectors: Some(&device_vectors),
        keep: drops.then_some(Mask { keep: &device_keep, dropout }),
        chosen: None,
        edge_vectors: None,
    };
    let runs = [9.0, 7.0].map(|before| {
        let mut device_out = upload(cuda, &vec![before; out.len()]);
        cuda.attention_forward(problem, attention, &mut device_state, &mut device_out, None).unwrap();
        fetch(cuda, &device_out, out.len())
    });
    close(&what("sums"), &runs[0], &out);
    close(&what("state"), &fetch(cuda, &device_state, state.len()), &state);
    same(&what("sums"), &runs[0], &runs[1]);

    // Attention as a result.
    let [mut coefficients, mut logits] = [vec![0.0; edges * case.heads], vec![0.0; edges * case.heads]];
    f32::v2_edge_values(input, &state, &mut coefficients, &mut logits);
    let values = cuda.edge_values(problem, attention, &device_state).unwrap();
    close(&what("coefficients"), &values[0], &coefficients);
    close(&what("logits"), &values[1], &logits);
    let pairs: Vec<[u32; 2]> = (0..77).map(|k| [k, (k * k) % 300]).collect();
    let mut expected = vec![0.0; pairs.len()];
    f32::v2_pair_logits(input, &pairs, &mut expected);
    close(&what("pair logits"), &cuda.pair_logits(problem, attention, &device_state, &pairs).unwrap(), &expected);

    // The CPU's backward pass.
    fill_shared(layout, &gradient, &out, &mut state);
    cuda.upload(&state, &mut device_state).unwrap();
    let layers = [LayerWidth { stride: 2 * stride, heads: 8, weight: 2 * stride, sums: 2 * stride }; 2];
    let mut scratch = cuda.scratch(&problems, &layers, true, &mut arena).unwrap();
    let samples = samples_of(cuda, case.loss, graph, problem, &clock, &mut scratch);
    let supervised = case.loss != Loss::None;
    let active = vec![true; nodes];
    let from = kernels::GradientV2 {
        state: &state,
        out: &gradient,
        active: &active,
        outgoing: graph.outgoing().lists(),
        place_at_target: graph.place_at_target(),
        symmetric: graph.is_symmetric(),
        edge_loss: supervised.then(|| EdgeLoss {
            positives: &samples.positives,
            negatives_by_target: samples.by_target.lists(),
            negatives_by_source: samples.by_source.lists(),
            weight: LAMBDA / samples.count() as f64,
        }),
        messages: &[],
    };
    let mut d_z = vec![0.0; 2 * nodes * stride];
    let (mut sums, mut losses) = (vec![0.0; parts.len() * vector_sums(layout, 0)], vec![0.0; parts.len()]);
    f32::attention_v2_backward(&parts, input, from, &mut d_z, &mut sums, &mut losses);
    let mut d_vectors = vec![0.0; 2 * stride];
    sum_parts(parts.len(), &sums, &mut d_vectors);
    let loss = losses.iter().sum::<f64>() / samples.count().max(1) as f64;

    // The GPU's backward pass, twice.
    let device_gradient = upload(cuda, &gradient);
    let supervision = if supervised { Supervision::Edges { lambda_e: LAMBDA } } else { Supervision::None };
    let runs = [9.0, 7.0].map(|before| {
        let mut device_d_z = upload(cuda, &vec![before; d_z.len()]);
        let mut device_d_vectors = upload(cuda, &vec![before; stride]);
        let mut record = cuda.record(2).unwrap();
        let from = AttentionGradient { state: &device_state, sums: &device_gradient, messages: None };
        let vectors = Some(&mut device_d_vectors);
        let to = ProjectedGradient { z: &mut device_d_z, vectors, edge_vectors: None, messages: None };
        let place = Place { record: &mut record, example: 1 };
        cuda.attention_backward(problem, attention, supervision, from, &mut scratch, to, place).unwrap();
        let mut readings = Readings::default();
        cuda.read(&record, &mut readings).unwrap();
        assert_eq!(readings.losses[0], [0.0; 2]);
        (fetch(cuda, &device_d_z, d_z.len()), fetch(cuda, &device_d_vectors, stride), readings.losses[1][1])
    });
    close(&what("gradient of z"), &runs[0].0, &d_z);
    close(&what("gradient of the vectors"), &runs[0].1, &d_vectors[..stride]);
    assert!((runs[0].2 - loss).abs() <= 1e-5 * loss.max(1e-9), "{}: {} and {loss}", what("loss"), runs[0].2);
    same(&what("gradient of z"), &runs[0].0, &runs[1].0);
    same(&what("gradient of the vectors"), &runs[0].1, &runs[1].1);
    assert_eq!(runs[0].2.to_bits(), runs[1].2.to_bits(), "{}", what("loss"));
}

#[test]
fn gatv2_matches_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for direction in [Direction::Undirected, Direction::Directed] {
        for (dropout, loss) in [(0.0, Loss::None), (0.6, Loss::Drawn), (0.0, Loss::Set), (0.3, Loss::None)] {
            check_v2(&cuda, &Case { form: Form::V2, heads: 8, features: 8, direction, dropout, loss });
        }
    }
    for (k, (heads, features)) in SHAPES.into_iter().chain([(1, 512), (8, 64)]).enumerate() {
        let direction = if k % 2 == 0 { Direction::Directed } else { Direction::Undirected };
        check_v2(&cuda, &Case { form: Form::V2, heads, features, direction, dropout: 0.3, loss: Loss::Drawn });
        check_v2(&cuda, &Case { form: Form::V2, heads, features, direction, dropout: 0.0, loss: Loss::Set });
    }
}

const FORMS: [Form; 4] = [Form::Go, Form::Dp, Form::Sd, Form::Mx];

/// Heads and features of layouts.
const SHAPES: [(usize, usize); 15] = [
    (1, 7),
    (1, 1),
    (1, 40),
    (2, 3),
    (2, 16),
    (3, 5),
    (4, 8),
    (5, 2),
    (8, 1),
    (8, 7),
    (8, 32),
    (12, 3),
    (12, 8),
    (20, 20),
    (1, 300),
];

#[test]
fn all_forms_match_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for form in FORMS {
        for direction in [Direction::Undirected, Direction::Directed] {
            for (dropout, loss) in [(0.0, Loss::None), (0.6, Loss::Drawn), (0.0, Loss::Set)] {
                check(&cuda, &Case { form, heads: 8, features: 8, direction, dropout, loss });
            }
        }
    }
}

#[test]
fn all_layouts_match_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for (k, (heads, features)) in SHAPES.into_iter().enumerate() {
        let direction = if k % 2 == 0 { Direction::Undirected } else { Direction::Directed };
        for form in [Form::Go, Form::Mx] {
            check(&cuda, &Case { form, heads, features, direction, dropout: 0.3, loss: Loss::Drawn });
        }
        check(&cuda, &Case { form: Form::Sd, heads, features, direction, dropout: 0.0, loss: Loss::Set });
    }
}

/// CGAT: the chosen edges are the same; the gradients and the loss agree.
#[test]
fn margins_match_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for (heads, features, by_classes) in [(8, 8, false), (3, 4, true), (12, 2, true), (1, 5, false)] {
        let what = |name: &str| format!("{name} with {heads} heads of {features} features");
        let example = example(200, 150, Direction::Undirected);
        let graph = &*example.graph;
        let (nodes, edges) = (graph.nodes(), graph.edges());
        let layout = HeadLayout::new(heads, features);
        let (stride, width) = (layout.stride(), layout.head_stride());
        let boundary = by_classes.then_some(Boundary { lambda_b: 0.7, margin_b: 0.1 });
        let contrast = Contrast { top_k: 4, negatives_per_edge: 3, lambda_g: 1.5, margin_g: 0.3, boundary };
        let z = rows(layout, nodes, 0);
        let vectors = rows(layout, 2, 1);
        let gradient = rows(layout, nodes, 2);
        let (a_target, a_source) = vectors.split_at(stride);
        let parts = Parts::by_offsets(&graph.incoming().offsets);
        let (mut state, mut source_score) = (vec![0.0; nodes * STATE * width], vec![0.0; nodes * width]);
        f32::attention_scores(&parts, layout, &z, a_target, a_source, &mut state, &mut source_score);
        let mut input = kernels::Attention {
            form: Form::Go,
            layout,
            slope: SLOPE,
            z: &z,
            source_score: &source_score,
            others: kernels::Others { z: &z, source_score: &source_score },
            incoming: graph.incoming().lists(),
            keep: None,
            chosen: None,
            edges: None,
        };
        let mut chosen = vec![0; edges * layout.groups];
        f32::choose_top_k(&parts, input, &state, contrast.top_k, &mut chosen);
        let before = state.clone();
        input.chosen = Some(&chosen);
        let mut out = vec![0.0; nodes * stride];
        f32::attention_forward(&parts, &[input], &mut state, &mut out, &mut []);

        let mut arena = Arena::allocating();
        let architecture = Architecture::new(ModelKind::Constrained { by_classes }, &example);
        let problems = [cuda.place(&example, &architecture, AttentionLoss::Margins(contrast)).unwrap()];
        let layers = [LayerWidth { stride, heads: 8, weight: stride, sums: 2 * stride }; 2];
        let mut scratch = cuda.scratch(&problems, &layers, true, &mut arena).unwrap();
        let problem = &problems[0];
        let mut clock = cuda.clock(SEED).unwrap();
        cuda.set_step(&mut clock, STEP).unwrap();
        let (device_z, device_vectors) = (upload(&cuda, &z), upload(&cuda, &vectors));
        let (mut device_state, device_source) = (upload(&cuda, &before), upload(&cuda, &source_score));
        let mut device_chosen: Bits = cuda.bits(chosen.len(), &mut arena).unwrap();
        let mut attention = Attention {
            form: Form::Go,
            layout,
            slope: f64::from(SLOPE),
            z: &device_z,
            source_score: &device_source,
            vectors: Some(&device_vectors),
            keep: None,
            chosen: None,
            edge_vectors: None,
        };
        cuda.choose_top_k(problem, attention, &device_state, &mut device_chosen).unwrap();
        let mut bits = vec![0; chosen.len()];
        cuda.download_bits(&device_chosen, &mut bits).unwrap();
        assert_eq!(bits, chosen, "{}", what("chosen edges"));
        attention.chosen = Some(&device_chosen);
        let mut device_out = cuda.numbers(out.len(), &mut arena).unwrap();
        cuda.attention_forward(problem, attention, &mut device_state, &mut device_out, None).unwrap();
        close(&what("sums"), &fetch(&cuda, &device_out, out.len()), &out);

        // The CPU's backward pass.
        fill_shared(layout, &gradient, &out, &mut state);
        cuda.upload(&state, &mut device_state).unwrap();
        let active = vec![true; nodes];
        let from = kernels::Gradient {
            state: &state,
            out: &gradient,
            active: &active,
            others: kernels::OtherGradients { state: &state, out: &gradient, active: &active, messages: &[] },
            vectors: [a_target, a_source],
            outgoing: graph.outgoing().lists(),
            place_at_target: graph.place_at_target(),
            symmetric: graph.is_symmetric(),
            edge_loss: None,
            messages: &[],
        };
        let mut d_z = vec![0.0; nodes * stride];
        let (mut sums, mut losses) = (vec![0.0; parts.len() * vector_sums(layout, 0)], vec![0.0; parts.len()]);
        f32::attention_backward(&parts, &[(input, from)], &mut d_z, &mut [], &mut sums, &mut losses);
        let Labels::Single { of, .. } = &example.labels else { unreachable!() };
        let mut class = vec![Labels::UNKNOWN; nodes];
        example.train.iter().for_each(|&node| class[node as usize] = of[node as usize]);
        let incoming = graph.incoming().lists();
        let (alike, offsets, unlike) = compare_classes(incoming, 0, &class, Labels::UNKNOWN);
        let among = by_classes.then_some(&alike[..]);
        let listed = Pool::Listed(supergat_core::graph::Neighbours::new(&offsets, &unlike));
        let outside = Pool::Outside(incoming, nodes);
        let mut terms = vec![(outside, Purpose::ContrastRivals, contrast.lambda_g, contrast.margin_g)];
        if let Some(Boundary { lambda_b, margin_b }) = boundary {
            terms.push((listed, Purpose::BoundaryRivals, lambda_b, margin_b));
        }
        let mut loss = 0.0;
        for (pool, purpose, lambda, margin) in terms {
            let per_edge = contrast.negatives_per_edge;
            let mut rivals = vec![0; edges * per_edge];
            let draws = RivalDraws { stream: stream(purpose), first_edge: 0, per_edge };
            draw_rivals(&parts, incoming, pool, among, draws, &mut rivals);
            let (mut offsets, mut triples) = (vec![], vec![]);
            group_by_rival(incoming, &rivals, per_edge, &mut offsets, &mut triples);
            let weight = lambda / (triples.len().max(1) * heads) as f64;
            let margin = Margin { rivals: &rivals, per_edge, offsets: &offsets, triples: &triples, margin, weight };
            let (lists, places) = (graph.outgoing().lists(), graph.place_at_target());
            let outgoing = OutgoingEdges { lists, places, first_edges: incoming.offsets };
            let sources = input.source_score;
            let scores = NodeScores { targets: &state, target_rows: STATE, sources, first_node: 0 };
            let to = ScoreGradient { z: &mut d_z, vectors: &mut sums, losses: &mut losses };
            f32::margin_backward(&parts, input, scores, margin, outgoing, [a_target, a_source], to);
            loss += weight * losses.iter().sum::<f64>();
        }
        let mut d_vectors = vec![0.0; 2 * stride];
        sum_parts(parts.len(), &sums, &mut d_vectors);

        // The GPU's backward pass, twice.
        let device_gradient = upload(&cuda, &gradient);
        let mut runs = Vec::new();
        for _ in 0..2 {
            let mut device_d_z = cuda.numbers(d_z.len(), &mut arena).unwrap();
            let mut device_d_vectors = cuda.numbers(2 * stride, &mut arena).unwrap();
            let mut record = cuda.record(1).unwrap();
            let from = AttentionGradient { state: &device_state, sums: &device_gradient, messages: None };
            let to = ProjectedGradient {
                z: &mut device_d_z,
                vectors: Some(&mut device_d_vectors),
                edge_vectors: None,
                messages: None,
            };
            let supervision = Supervision::Margins { clock: &clock, layer: LAYER };
            let place = Place { record: &mut record, example: 0 };
            cuda.attention_backward(problem, attention, supervision, from, &mut scratch, to, place).unwrap();
            let mut readings = Readings::default();
            cuda.read(&record, &mut readings).unwrap();
            let found = readings.losses[0][1];
            assert!((found - loss).abs() <= 1e-5 * loss, "{}: {found} and {loss}", what("loss"));
            runs.push((fetch(&cuda, &device_d_z, d_z.len()), fetch(&cuda, &device_d_vectors, 2 * stride)));
        }
        close(&what("gradient of z"), &runs[0].0, &d_z);
        close(&what("gradient of the vectors"), &runs[0].1, &d_vectors);
        same(&what("gradient of z"), &runs[0].0, &runs[1].0);
        same(&what("gradient of the vectors"), &runs[0].1, &runs[1].1);
    }
}
