//! Masks and samples have the same bits as those of the CPU. Without a GPU these tests pass without checking anything.

mod support;

use supergat_core::device::prelude::*;
use supergat_core::device::{AttentionLoss, LayerWidth, Random};
use supergat_core::memory::Arena;
use supergat_core::random::{Purpose, Stream};
use supergat_core::sampling::SampleSizes;
use supergat_core::{
    Architecture, Direction, Dropout, Example, Features, Graph, HeadLayout, Labels, ModelKind, Precision,
};
use supergat_cpu::kernels::DropoutMask as _;
use supergat_cpu::sampling::{EdgeSamples, NegativeSampler};
use support::gpu;

/// A graph in which every pair is joined with a probability.
fn example(nodes: usize, edges: usize, direction: Direction) -> Example<f32> {
    let random = Stream::new(3, 0, 0, Purpose::SyntheticEdges);
    let edges: Vec<(u32, u32)> = (0..edges as u64)
        .map(|k| (random.below(2 * k, nodes as u64) as u32, random.below(2 * k + 1, nodes as u64) as u32))
        .collect();
    let graph = Graph::from_edges(nodes, &edges, direction).unwrap();
    let labels = Labels::Single { classes: 2, of: vec![0; nodes] };
    let features = Features::dense(nodes, 1, vec![0.5; nodes]).unwrap();
    Example::new(graph, features, labels, [vec![0], vec![1], vec![2]]).unwrap()
}

#[test]
fn masks_match_the_cpu() {
    let Some(cuda) = gpu() else { return };
    let mut clock = cuda.clock(0xFEED_1234_5678).unwrap();
    for (step, probability, bytes) in [(0, 0.6, 10_001), (7, 0.1, 1), (8, 0.999, 4096)] {
        cuda.set_step(&mut clock, step).unwrap();
        let dropout = Dropout::new(probability);
        let mut keep = cuda.bits(bytes, &mut Arena::allocating()).unwrap();
        let random = Random { clock: &clock, layer: 2, purpose: Purpose::InputDropout };
        cuda.draw_mask(random, dropout, bytes, &mut keep).unwrap();
        let (mut found, mut expected) = (vec![0; bytes], vec![0; bytes]);
        cuda.download_bits(&keep, &mut found).unwrap();
        dropout.fill(Stream::new(0xFEED_1234_5678, step, 2, Purpose::InputDropout), &mut expected);
        assert_eq!(found, expected);
    }
}

#[test]
fn head_masks_match_the_cpu() {
    let Some(cuda) = gpu() else { return };
    let example = example(50, 200, Direction::Directed);
    let architecture = Architecture::new(ModelKind::ALL[0], &example);
    let problem = cuda.place(&example, &architecture, AttentionLoss::None).unwrap();
    let mut clock = cuda.clock(5).unwrap();
    cuda.advance(&mut clock).unwrap();
    for heads in [1, 2, 3, 8, 12] {
        let layout = HeadLayout::new(heads, 4);
        let bytes = example.graph.edges() * layout.groups;
        let mut keep = cuda.bits(bytes, &mut Arena::allocating()).unwrap();
        let random = Random { clock: &clock, layer: 1, purpose: Purpose::AttentionDropout };
        cuda.draw_head_mask(&problem, random, Dropout::new(0.5), layout, &mut keep).unwrap();
        let (mut found, mut expected) = (vec![0; bytes], vec![0; bytes]);
        cuda.download_bits(&keep, &mut found).unwrap();
        let stream = Stream::new(5, 1, 1, Purpose::AttentionDropout);
        Dropout::new(0.5).fill_heads(stream, layout.lane_heads, &mut expected);
        assert_eq!(found, expected, "{heads} heads");
    }
}

/// Sparse, dense, tiny and large graphs, in several steps and layers that share memory.
#[test]
fn samples_match_the_cpu() {
    let Some(cuda) = gpu() else { return };
    let sizes = [
        (3000, 10_000, 0.8, 0.5),
        (100, 9000, 0.5, 0.2),
        (6, 9, 1.0, 0.4),
        (300_000, 2_000_000, 0.7, 1.5),
        (40, 60, 0.3, 9.0),
    ];
    for (nodes, edges, p_e, p_n) in sizes {
        for direction in [Direction::Undirected, Direction::Directed] {
            let example = example(nodes, edges, direction);
            let graph = &*example.graph;
            let model = ModelKind::Attention { form: supergat_core::Form::Mx, self_supervised: true };
            let architecture = Architecture::new(model, &example);
            let problems = [cuda.place(&example, &architecture, AttentionLoss::Edges { p_e, p_n }).unwrap()];
            let layers = [LayerWidth { stride: 8, heads: 8, precision: Precision::F32, weight: 8, sums: 16 }; 2];
            let mut scratch = cuda.scratch(&problems, &layers, true, &mut Arena::allocating()).unwrap();
            let mut clock = cuda.clock(11).unwrap();
            let sampler = NegativeSampler::new(graph);
            let sizes = SampleSizes::new(graph, p_e, p_n).unwrap();
            let mut expected = EdgeSamples::default();
            for (step, layer) in [(0, 0), (0, 1), (1, 0), (2, 1)] {
                cuda.set_step(&mut clock, step).unwrap();
                cuda.draw_samples(&problems[0], &clock, layer, &mut scratch).unwrap();
                let (marks, pairs) = cuda.samples(&problems[0], &scratch).unwrap();
                let streams = [Purpose::PositiveEdges, Purpose::NegativePairs].map(|p| Stream::new(11, step, layer, p));
                expected.draw(graph.edges(), graph, &sampler, sizes, streams);
                assert_eq!(marks, expected.positives, "edges of {nodes} nodes");
                assert_eq!(pairs, expected.negatives, "non-edges of {nodes} nodes");
            }
            let given = [[1, 0], [2, 1], [1, 0]];
            cuda.set_samples(&problems[0], &given, &mut scratch).unwrap();
            let (marks, pairs) = cuda.samples(&problems[0], &scratch).unwrap();
            assert_eq!((marks, pairs), (vec![0xFF; graph.edges().div_ceil(8)], given.to_vec()));
        }
    }
}
