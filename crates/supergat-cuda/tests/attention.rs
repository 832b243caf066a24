//! Attention, its gradient, the edge loss and the margin losses against the CPU. Without a GPU these tests pass without
//! checking anything.

mod support;

use supergat_core::device::{
    Attention, AttentionGradient, AttentionLoss, FromAbove, Join, LayerWidth, Mask, Output, OutputGradient, Place,
    ProjectedGradient, Random, Readings, STATE, SumsGradient, Supervision,
};
use supergat_core::hyperparameters::{ClassConstraintSettings, ConstraintSettings};
use supergat_core::memory::Arena;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{
    Architecture, Contrast, Direction, Dropout, Example, Features, Form, Graph, HeadLayout, Labels, ModelKind,
    Precision, SingleDevice,
};
use supergat_cpu::Cpu;
use supergat_cpu::sampling::NegativeSampler;
use supergat_cuda::Cuda;
use support::{close, fetch, gpu, upload};

const SEED: u64 = 17;
const STEP: u32 = 3;
const LAYER: u16 = 1;

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

/// Returns rows with random numbers in [-1, 1) and zeros as padding. The numbers have 16 bits, so rounded rows are the same.
fn rows(layout: HeadLayout, count: usize, salt: u16) -> Vec<f32> {
    let random = Stream::new(5, 0, salt, Purpose::Weights);
    let (stride, per_row) = (layout.stride(), layout.heads * layout.features);
    let mut all = vec![0.0; count * stride];
    for row in 0..count {
        for (k, place) in layout.canonical().enumerate() {
            let number = (2.0 * random.uniform((row * per_row + k) as u64) - 1.0) as f32;
            all[row * stride + place] = f32::from_bits(number.to_bits() & 0xFFFF_0000);
        }
    }
    all
}

#[track_caller]
fn same(what: &str, a: &[f32], b: &[f32]) {
    assert!(a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()), "{what} differs between runs");
}

/// Losses on attention under test.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Loss {
    None,
    /// All edges and given non-edges.
    Set,
    /// Samples drawn on the device.
    Drawn,
    /// Margins of CGAT.
    Margins {
        by_classes: bool,
    },
}

#[derive(Debug)]
struct Case {
    form: Form,
    heads: usize,
    features: usize,
    direction: Direction,
    dropout: f64,
    loss: Loss,
    precision: Precision,
}

/// Results of both passes of attention on a device.
struct Passes {
    /// Dropout mask, and chosen edges of CGAT.
    bits: [Vec<u8>; 2],
    /// Named results.
    numbers: Vec<(&'static str, Vec<f32>)>,
    loss: f64,
}

/// Computes both passes twice, and checks that both runs have the same bits.
fn passes<D: SingleDevice<Number = f32>>(device: &D, case: &Case) -> Passes {
    let Case { form, heads, features, direction, dropout, loss, precision } = *case;
    let example = example(300, 200, direction);
    let (graph, mut arena) = (&*example.graph, Arena::allocating());
    let (nodes, layout) = (graph.nodes(), HeadLayout::new(heads, features));
    let (stride, width, per_edge) = (layout.stride(), layout.head_stride(), graph.edges() * layout.groups);
    // Rows of z per node, and rows of vectors.
    let [sides, vector_rows] = if form == Form::V2 { [2, 1] } else { [1, 2] };
    let has_vectors = form.has_vector() || form == Form::V2;
    let (model, attention_loss) = match loss {
        Loss::Margins { by_classes } => {
            let boundary = by_classes.then_some(ClassConstraintSettings { lambda_b: 0.7, margin_b: 0.1 });
            let contrast = Contrast {
                constraints: ConstraintSettings { top_k: 4, negatives_per_edge: 3, lambda_g: 1.5, margin_g: 0.3 },
                boundary,
            };
            (ModelKind::Constrained { by_classes }, AttentionLoss::Margins(contrast))
        }
        _ => (ModelKind::Attention { form, self_supervised: true }, AttentionLoss::Edges { p_e: 0.8, p_n: 0.5 }),
    };
    let problems = [device.place(&example, &Architecture::new(model, &example), attention_loss).unwrap()];
    let problem = &problems[0];
    let row = sides * stride;
    let layers = [LayerWidth { stride: row, heads: width, precision, weight: row, sums: 2 * row }; 2];
    let mut scratch = device.scratch(&problems, &layers, true, &mut arena).unwrap();
    let mut clock = device.clock(SEED).unwrap();
    device.set_step(&mut clock, STEP).unwrap();

    // The forward pass.
    let z = upload(device, &rows(layout, sides * nodes, 0));
    let z_len = nodes * row;
    let vectors = upload(device, &rows(layout, vector_rows, 1));
    let state_len = nodes * (STATE * width + device.kept_by_attention(form, layout));
    let mut state = upload(device, &vec![0.0; state_len]);
    let mut source_score = upload(device, &vec![0.0; nodes * width]);
    if form.has_vector() {
        device.attention_scores(problem, layout, &z, &vectors, &mut state, &mut source_score).unwrap();
    }
    let z = if precision.is_half() {
        let mut rounded = upload(device, &vec![0.0; precision.stored(z_len)]);
        device.round_rows(problem, stride, &z, &mut rounded).unwrap();
        rounded
    } else {
        z
    };
    let mut bits = [0, 1].map(|_| device.bits(per_edge, &mut arena).unwrap());
    let [keep, chosen] = &mut bits;
    let random = Random { clock: &clock, layer: LAYER, purpose: Purpose::AttentionDropout };
    let dropout = Dropout::new(dropout);
    device.draw_head_mask(problem, random, dropout, layout, keep).unwrap();
    let mut attention = Attention {
        form,
        layout,
        slope: 0.2,
        z: &z,
        precision,
        source_score: &source_score,
        vectors: has_vectors.then_some(&vectors),
        keep: (!dropout.is_none()).then_some(Mask { keep, dropout }),
        chosen: None,
        edge_vectors: None,
    };
    let constrained = matches!(loss, Loss::Margins { .. });
    if constrained {
        device.choose_top_k(problem, attention, &state, chosen).unwrap();
        attention.chosen = Some(chosen);
    }
    let mut sums = upload(device, &vec![0.0; nodes * stride]);
    let runs = [9.0, 7.0].map(|before| {
        device.upload(&vec![before; nodes * stride], &mut sums).unwrap();
        device.attention_forward(problem, attention, &mut state, &mut sums, None).unwrap();
        fetch(device, &sums, nodes * stride)
    });
    same("sums", &runs[0], &runs[1]);
    let [found, _] = runs;
    let mut numbers = vec![("sums", found)];

    // Attention as a result.
    if !constrained {
        let [coefficients, logits] = device.edge_values(problem, attention, &state).unwrap();
        let pairs: Vec<[u32; 2]> = (0..77).map(|k| [k, (k * k) % 300]).collect();
        let of_pairs = device.pair_logits(problem, attention, &state, &pairs).unwrap();
        numbers.extend([("coefficients", coefficients), ("logits", logits), ("pair logits", of_pairs)]);
    }

    // The backward pass. That of the output writes the last slot of the state.
    let mut gradient = upload(device, &rows(layout, nodes, 2));
    let mut bias = upload(device, &vec![0.0; stride]);
    let from = OutputGradient { above: FromAbove::Concat(None), sums: &sums, output: &sums };
    let to = SumsGradient { sums: &mut gradient, state: Some(&mut state), bias: &mut bias };
    device.output_backward(problem, Output { layout, join: Join::Concat }, from, &mut scratch, to).unwrap();
    match loss {
        Loss::Set => {
            let mut negatives = vec![[0; 2]; 500];
            let stream = Stream::new(SEED, STEP, LAYER, Purpose::NegativePairs);
            NegativeSampler::new(graph).sample(graph, stream, &mut negatives);
            device.set_samples(problem, &negatives, &mut scratch).unwrap();
        }
        Loss::Drawn => device.draw_samples(problem, &clock, LAYER, &mut scratch).unwrap(),
        Loss::None | Loss::Margins { .. } => {}
    }
    let supervision = match loss {
        Loss::None => Supervision::None,
        Loss::Set | Loss::Drawn => Supervision::Edges { lambda_e: 4.0 },
        Loss::Margins { .. } => Supervision::Margins { clock: &clock, layer: LAYER },
    };
    let of_vectors = vector_rows * stride;
    let runs = [9.0, 7.0].map(|before| {
        let mut d_z = upload(device, &vec![before; nodes * row]);
        let mut d_vectors = upload(device, &vec![before; of_vectors]);
        let mut record = device.record(2).unwrap();
        let from = AttentionGradient { state: &state, sums: &gradient, messages: None };
        let to = ProjectedGradient {
            z: &mut d_z,
            vectors: has_vectors.then_some(&mut d_vectors),
            edge_vectors: None,
            messages: None,
        };
        let place = Place { record: &mut record, example: 1 };
        device.attention_backward(problem, attention, supervision, from, &mut scratch, to, place).unwrap();
        let mut readings = Readings::new(2);
        device.read(&record, &mut readings).unwrap();
        assert_eq!(readings.losses[0], [0.0; 2]);
        let d_vectors = if has_vectors { fetch(device, &d_vectors, of_vectors) } else { Vec::new() };
        (fetch(device, &d_z, nodes * row), d_vectors, readings.losses[1][1])
    });
    same("gradient of z", &runs[0].0, &runs[1].0);
    same("gradient of the vectors", &runs[0].1, &runs[1].1);
    let [(d_z, d_vectors, loss), (.., again)] = runs;
    assert_eq!(loss.to_bits(), again.to_bits(), "the loss differs between runs");
    numbers.extend([("gradient of z", d_z), ("gradient of the vectors", d_vectors)]);
    let bits = bits.map(|bits| {
        let mut host = vec![0; per_edge];
        device.download_bits(&bits, &mut host).unwrap();
        host
    });
    Passes { bits, numbers, loss }
}

/// Compares both passes with those of the CPU.
fn check(cuda: &Cuda, case: &Case) {
    let (found, expected) = (passes(cuda, case), passes(&Cpu::default(), case));
    assert_eq!(found.bits, expected.bits, "masks of {case:?}");
    for ((name, found), (_, expected)) in found.numbers.iter().zip(&expected.numbers) {
        close(&format!("{name} of {case:?}"), found, expected);
    }
    let (found, expected) = (found.loss, expected.loss);
    assert!((found - expected).abs() <= 1e-5 * expected.max(1e-9), "loss of {case:?}: {found} and {expected}");
}

const F32: Precision = Precision::F32;

#[test]
fn gatv2_matches_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for direction in [Direction::Undirected, Direction::Directed] {
        for (dropout, loss) in [(0.0, Loss::None), (0.6, Loss::Drawn), (0.0, Loss::Set), (0.3, Loss::None)] {
            check(&cuda, &Case { form: Form::V2, heads: 8, features: 8, direction, dropout, loss, precision: F32 });
        }
    }
    for (k, (heads, features)) in SHAPES.into_iter().chain([(1, 512), (8, 64)]).enumerate() {
        let direction = if k % 2 == 0 { Direction::Directed } else { Direction::Undirected };
        check(
            &cuda,
            &Case { form: Form::V2, heads, features, direction, dropout: 0.3, loss: Loss::Drawn, precision: F32 },
        );
        check(
            &cuda,
            &Case { form: Form::V2, heads, features, direction, dropout: 0.0, loss: Loss::Set, precision: F32 },
        );
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
                check(&cuda, &Case { form, heads: 8, features: 8, direction, dropout, loss, precision: F32 });
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
            check(&cuda, &Case { form, heads, features, direction, dropout: 0.3, loss: Loss::Drawn, precision: F32 });
        }
        check(
            &cuda,
            &Case { form: Form::Sd, heads, features, direction, dropout: 0.0, loss: Loss::Set, precision: F32 },
        );
    }
}

/// Rows that are rounded without a change give the results of rows of 32 bits, for all forms, shapes and losses.
#[test]
fn rows_of_16_bits_match_full_rows() {
    let Some(cuda) = gpu() else { return };
    let both = |form, (heads, features), direction, dropout, loss| {
        let [full, half] = [F32, Precision::Bf16]
            .map(|precision| passes(&cuda, &Case { form, heads, features, direction, dropout, loss, precision }));
        assert!((full.loss - half.loss).abs() <= 1e-5 * full.loss.max(1e-9), "loss of {form:?}");
        for ((name, full), (_, half)) in full.numbers.iter().zip(&half.numbers) {
            close(&format!("{name} of {form:?} with rows of 16 bits"), half, full);
        }
    };
    for form in FORMS {
        for direction in [Direction::Undirected, Direction::Directed] {
            both(form, (8, 8), direction, 0.0, Loss::None);
            both(form, (8, 8), direction, 0.6, Loss::Drawn);
        }
    }
    for (k, shape) in SHAPES.into_iter().enumerate() {
        let direction = if k % 2 == 0 { Direction::Undirected } else { Direction::Directed };
        both(Form::Go, shape, direction, 0.3, Loss::Set);
        both(Form::Mx, shape, direction, 0.3, Loss::Drawn);
    }
    both(Form::Go, (12, 2), Direction::Undirected, 0.0, Loss::Margins { by_classes: true });
}

/// CGAT: the chosen edges are the same; the gradients and the loss agree.
#[test]
fn margins_match_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for (heads, features, by_classes) in [(8, 8, false), (3, 4, true), (12, 2, true), (1, 5, false)] {
        let (loss, direction) = (Loss::Margins { by_classes }, Direction::Undirected);
        check(&cuda, &Case { form: Form::Go, heads, features, direction, dropout: 0.0, loss, precision: F32 });
    }
}
