//! Graph attention: `out_i = sum_j alpha_ij z_j`, `alpha_i = softmax_j(LeakyReLU(e_ij))`. GATv2 has two rows of `z` per
//! node, `s` and `t`: `out_i = sum_j alpha_ij s_j`, `alpha_i = softmax_j(a . LeakyReLU(t_i + s_j))`.
//!
//! Kernels are compiled for the layout of a layer. A team of lanes has a row in registers; 16 or 32 lanes share a
//! node, and nodes with many edges have a block each.

use crate::compile::{Source, Variant};
use crate::edges::{self, Terms};
use crate::launch::{Cuda, grid, launch};
use crate::memory::{Bits, Numbers};
use crate::problem::Problem;
use crate::samples::LayerSamples;
use crate::sparse::{address, keep};
use cudarc::driver::CudaSlice;
use supergat_core::Result;
use supergat_core::device::{Attention, AttentionV2, LayerWidth, Lists, Mask};
use supergat_core::graph::Adjacency;
use supergat_core::kernels::{Form, HeadLayout};
use supergat_core::memory::Arena;

const SCORES: Source = Source {
    name: "attention_scores",
    text: concat!(include_str!("../kernels/rows.cuh"), include_str!("../kernels/attention_scores.cu")),
};
const FORWARD: Source = Source {
    name: "attention_forward",
    text: concat!(
        include_str!("../kernels/rows.cuh"),
        include_str!("../kernels/edges.cuh"),
        include_str!("../kernels/attention_forward.cu")
    ),
};
/// Threads of a block in the kernels of attention.
pub(crate) const THREADS: u32 = 256;

/// Inputs of attention of any form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub(crate) form: Form,
    pub(crate) layout: HeadLayout,
    pub(crate) slope: f64,
    /// Projected features; GATv2 has a row per node as source, followed by its row as target.
    pub(crate) z: &'a Numbers,
    /// `a_source . z_j` of each node; `None` for GATv2.
    pub(crate) source_score: Option<&'a Numbers>,
    /// The vectors `a` of GATv2, of which its scores are made; `None` for other forms.
    pub(crate) vectors: Option<&'a Numbers>,
    pub(crate) keep: Option<Mask<'a, Cuda>>,
    pub(crate) chosen: Option<&'a Bits>,
    pub(crate) edge_vectors: Option<&'a Numbers>,
}

impl<'a> From<Attention<'a, Cuda>> for Inputs<'a> {
    fn from(attention: Attention<'a, Cuda>) -> Self {
        let Attention { form, layout, slope, z, source_score, keep, chosen, edge_vectors } = attention;
        let source_score = Some(source_score);
        Self { form, layout, slope, z, source_score, vectors: None, keep, chosen, edge_vectors }
    }
}

impl<'a> From<AttentionV2<'a, Cuda>> for Inputs<'a> {
    fn from(attention: AttentionV2<'a, Cuda>) -> Self {
        let AttentionV2 { layout, slope, z, vectors, keep, edge_vectors } = attention;
        let vectors = Some(vectors);
        Self { form: Form::V2, layout, slope, z, source_score: None, vectors, keep, chosen: None, edge_vectors }
    }
}

/// Returns the address of numbers, or zero if there are none.
pub(crate) fn address_of(numbers: Option<&Numbers>) -> u64 {
    numbers.map_or(0, |numbers| address(&numbers.0))
}

/// Definitions of a variant of a source.
pub(crate) type Defines = Vec<(&'static str, i64)>;

/// Division of the work of attention on a graph.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Position of each outgoing edge among the incoming edges.
    pub(crate) positions: CudaSlice<u32>,
    /// Nodes with more incoming edges than light nodes have, the heaviest first.
    heavy_targets: Heavy,
    /// Nodes with more incoming or outgoing edges than light nodes have; `None` if they are the same, in a symmetric
    /// graph.
    heavy: Option<Heavy>,
    /// Largest number of edges of a light node.
    pub(crate) most_edges: u32,
    /// Lanes that share a light node.
    lanes: i64,
}

/// Nodes that have a block each.
#[derive(Debug)]
pub(crate) struct Heavy {
    pub(crate) nodes: CudaSlice<u32>,
    pub(crate) count: usize,
}

impl Heavy {
    fn new(cuda: &Cuda, nodes: usize, most_edges: usize, degree: impl Fn(usize) -> usize) -> Result<Self> {
        let mut heavy: Vec<u32> = (0..nodes as u32).filter(|&i| degree(i as usize) > most_edges).collect();
        heavy.sort_by_key(|&i| (std::cmp::Reverse(degree(i as usize)), i));
        Ok(Self { nodes: cuda.uploaded(&heavy)?, count: heavy.len() })
    }

    /// Returns the number of blocks for these nodes.
    pub(crate) fn blocks(&self, cuda: &Cuda) -> u32 {
        self.count.min(HEAVY_BLOCKS * cuda.multiprocessors()) as u32
    }
}

/// Largest number of blocks per multiprocessor for heavy and for light nodes.
const HEAVY_BLOCKS: usize = 4;
const LIGHT_BLOCKS: usize = 2;

/// Number of nodes from which on a graph alone keeps a GPU busy, so that only much larger nodes need a block.
const LARGE_GRAPH: usize = 100_000;

impl Plan {
    /// Divides the work on the edges of a graph.
    pub(crate) fn new(cuda: &Cuda, lists: Lists<'_>) -> Result<Self> {
        let Lists { incoming, outgoing, edges, .. } = lists;
        let nodes = incoming.offsets.len() - 1;
        let most_edges = if nodes < LARGE_GRAPH { 32 } else { 256 };
        let degree = |lists: &Adjacency, i: usize| lists.range(i).len();
        let heavy_targets = Heavy::new(cuda, nodes, most_edges, |i| degree(incoming, i))?;
        let heavy = match lists.symmetric {
            true => None,
            false => Some(Heavy::new(cuda, nodes, most_edges, |i| degree(incoming, i).max(degree(outgoing, i)))?),
        };
        let positions: Vec<u32> = outgoing
            .neighbours
            .iter()
            .zip(lists.place_at_target)
            .map(|(&target, &place)| incoming.offsets[target as usize] as u32 + place)
            .collect();
        // Few nodes leave lanes idle unless many lanes share each of them.
        let is_small = nodes * 16 < cuda.multiprocessors() * 1024;
        let lanes = if is_small || edges >= 16 * nodes { 32 } else { 16 };
        Ok(Self { positions: cuda.uploaded(&positions)?, heavy_targets, heavy, most_edges: most_edges as u32, lanes })
    }

    /// Returns the nodes that have a block each in the backward pass.
    pub(crate) fn heavy(&self) -> &Heavy {
        self.heavy.as_ref().unwrap_or(&self.heavy_targets)
    }
}

/// Memory of the backward pass of attention.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// Samples of the edge loss, by layer.
    pub(crate) samples: LayerSamples,
    /// Gradients of the vectors, per block.
    pub(crate) partial: CudaSlice<f32>,
    /// Gradients of the vectors and the matrix of edge features, per block.
    pub(crate) edge_partial: CudaSlice<f32>,
    /// Losses per block.
    pub(crate) losses: CudaSlice<f64>,
    /// Number of blocks that are done, by part of the features of edges; zero between kernels.
    pub(crate) counter: CudaSlice<u32>,
    /// Counts of the terms of a margin loss; zero between losses.
    pub(crate) counts: CudaSlice<i32>,
}

impl Scratch {
    /// Allocates memory for any of the problems.
    pub(crate) fn new(
        cuda: &Cuda,
        problems: &[Problem],
        layers: &[LayerWidth],
        training: bool,
        arena: &mut Arena,
    ) -> Result<Self> {
        let problems = if training { problems } else { &[] };
        let most = |of: &dyn Fn(&Problem) -> usize| problems.iter().map(of).max().unwrap_or(0);
        let blocks = most(&|problem| most_blocks(cuda, problem));
        let stride = layers.iter().map(|layer| layer.stride).max().unwrap_or(0);
        let edge_sums = most(&|problem| most_blocks(cuda, problem) * edges::scratch_len(problem, layers).0);
        let counters = most(&|problem| edges::scratch_len(problem, layers).1);
        let counts = most(&|problem| problem.supervision.margins().map_or(0, |_| problem.nodes * COUNTS));
        Ok(Self {
            samples: LayerSamples::new(cuda, problems, layers.len(), arena)?,
            partial: cuda.zeros_in(blocks * 2 * stride, arena)?,
            edge_partial: cuda.zeros_in(edge_sums, arena)?,
            losses: cuda.zeros_in(blocks, arena)?,
            counter: cuda.zeros_in(counters.max(1), arena)?,
            counts: cuda.zeros_in(counts, arena)?,
        })
    }
}

/// Numbers per node that count the terms of a margin loss in a group of heads.
const COUNTS: usize = 32;

/// Returns the largest number of blocks that sum over the nodes of a problem. A block has at least eight nodes.
fn most_blocks(cuda: &Cuda, problem: &Problem) -> usize {
    problem.nodes.div_ceil(8).min(LIGHT_BLOCKS * cuda.multiprocessors())
        + problem.attention.heavy().blocks(cuda) as usize
}

/// Returns the number of lanes of a team, as the kernels compute it.
fn team(layout: HeadLayout) -> usize {
    let quads = 2 * layout.vectors;
    let mut lanes = quads.next_power_of_two().min(8);
    while lanes < 32 && lanes < quads && layout.groups * quads.div_ceil(lanes) > 2 {
        lanes *= 2;
    }
    lanes
}

/// Returns the number of heads that a lane owns in all groups together, as the kernels compute it.
pub(crate) fn owned_heads(layout: HeadLayout) -> usize {
    layout.groups * layout.lane_heads / team(layout).min(layout.lane_heads)
}

/// Returns the number of quads of a row that a lane has, as the kernels compute it.
pub(crate) fn quads_per_lane(layout: HeadLayout) -> usize {
    layout.groups * (2 * layout.vectors).div_ceil(team(layout))
}

/// Returns the definitions of a layout.
pub(crate) fn defines(problem: &Problem, layout: HeadLayout, form: Form) -> Defines {
    layout_defines(layout, form, problem.attention.lanes)
}

fn layout_defines(layout: HeadLayout, form: Form, lanes: i64) -> Defines {
    let number = match form {
        Form::Go => 0,
        Form::Dp => 1,
        Form::Sd => 2,
        Form::Mx => 3,
        Form::V2 => 4,
    };
    vec![
        ("FORM", number),
        ("GROUPS", layout.groups as i64),
        ("VECTORS", layout.vectors as i64),
        ("LANE_HEADS", layout.lane_heads as i64),
        ("FEATURES", layout.features as i64),
        ("HEADS", layout.heads as i64),
        ("NODE_LANES", lanes),
    ]
}

/// Returns how many nodes a block has at once if a team has a node.
pub(crate) fn teams_per_block(layout: HeadLayout) -> usize {
    THREADS as usize / team(layout)
}

/// Returns the number of blocks for all light nodes.
pub(crate) fn light_blocks(problem: &Problem, layout: HeadLayout) -> usize {
    let lanes = team(layout).max(problem.attention.lanes as usize);
    problem.nodes.div_ceil(THREADS as usize / lanes)
}

/// Returns the number of blocks for all light nodes if blocks sum over nodes.
pub(crate) fn light_summing_blocks(cuda: &Cuda, problem: &Problem, layout: HeadLayout) -> usize {
    light_blocks(problem, layout).min(LIGHT_BLOCKS * cuda.multiprocessors())
}

/// Writes `a_target . z_i` to the state and `a_source . z_i` to `source_score`.
pub(crate) fn attention_scores(
    cuda: &Cuda,
    problem: &Problem,
    layout: HeadLayout,
    z: &Numbers,
    vectors: &Numbers,
    state: &mut Numbers,
    source_score: &mut Numbers,
) -> Result<()> {
    let nodes = problem.nodes as u32;
    if nodes == 0 {
        return Ok(());
    }
    launch!(
        cuda,
        &SCORES,
        &layout_defines(layout, Form::Go, 32),
        "attention_scores",
        grid(problem.nodes.div_ceil(teams_per_block(layout)), THREADS),
        &nodes,
        &z.0,
        &vectors.0,
        &mut state.0,
        &mut source_score.0
    )
}

/// Computes attention and completes the state. With `messages`, a matrix and the place of the weighted sums of edge
/// features, adds the product of both.
pub(crate) fn attention_forward(
    cuda: &Cuda,
    problem: &Problem,
    attention: Inputs<'_>,
    state: &mut Numbers,
    sums: &mut Numbers,
    messages: Option<(&Numbers, &mut Numbers)>,
) -> Result<()> {
    let nodes = problem.nodes as u32;
    if nodes == 0 {
        return Ok(());
    }
    let layout = attention.layout;
    let mut defines = defines(problem, layout, attention.form);
    defines.extend([("DROPS", attention.keep.is_some().into()), ("CHOOSES", attention.chosen.is_some().into())]);
    let (keep, keep_scale) = keep(attention.keep.map(|mask| (mask.keep, mask.dropout.scale())));
    let chosen = attention.chosen.map_or(0, |chosen| address(&chosen.0));
    let (source_score, vectors) = (address_of(attention.source_score), address_of(attention.vectors));
    let slope = attention.slope as f32;
    let heavy = &problem.attention.heavy_targets;
    let (heavy_count, heavy_blocks) = (heavy.count as u32, heavy.blocks(cuda));
    let blocks = heavy_blocks as usize + light_blocks(problem, layout);
    let mut pass = |defines: &Defines, edges: Option<&edges::Arguments>| {
        launch!(
            cuda,
            &FORWARD,
            defines,
            "attention_forward",
            grid(blocks, THREADS),
            &nodes,
            &problem.incoming.offsets,
            &problem.incoming.nodes,
            &heavy.nodes,
            &heavy_count,
            &heavy_blocks,
            &problem.attention.most_edges,
            &attention.z.0,
            &source_score,
            &vectors,
            &keep,
            &keep_scale,
            &chosen,
            &slope,
            &mut state.0,
            &mut sums.0;
            edges
        )
    };
    let Some(mut terms) = Terms::new(problem, attention.edge_vectors, messages.is_some()) else {
        return pass(&defines, None);
    };
    if let Some((matrix, feature_sums)) = &messages {
        (terms.arguments.matrix, terms.arguments.sums) = (address(&matrix.0), address(&feature_sums.0));
    }
    for (of_edges, arguments) in terms.launches(layout, messages.is_none()) {
        pass(&[defines.clone(), of_edges].concat(), Some(&arguments))?;
    }
    Ok(())
}

/// Returns layouts and forms for the test of compilation, with all forms of one layout.
pub(crate) fn representative_defines() -> Vec<Defines> {
    let forms = [Form::Go, Form::Dp, Form::Sd, Form::Mx].map(|form| (8, 8, form, 32));
    let shapes = [(1, 7, Form::Mx, 16), (3, 5, Form::Mx, 32), (12, 8, Form::Mx, 16), (8, 32, Form::Mx, 32)];
    forms.into_iter().chain(shapes).map(defines_of).collect()
}

/// Returns layouts of GATv2 for the test of compilation, with one wide head.
pub(crate) fn representative_v2_defines() -> Vec<Defines> {
    let shapes = [(8, 8, 32), (1, 7, 16), (3, 5, 32), (12, 8, 16), (8, 32, 32), (1, 512, 32)];
    shapes.map(|(heads, features, lanes)| defines_of((heads, features, Form::V2, lanes))).into()
}

fn defines_of((heads, features, form, lanes): (usize, usize, Form, i64)) -> Defines {
    layout_defines(HeadLayout::new(heads, features), form, lanes)
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    let mut all: Vec<Variant> = Vec::new();
    let scores = representative_defines().into_iter().map(|defines| (true, defines));
    let v2 = representative_v2_defines().into_iter().map(|defines| (false, defines));
    for (k, (has_scores, defines)) in scores.chain(v2).enumerate() {
        if has_scores {
            all.push((&SCORES, defines.clone()));
        }
        let flags = [("DROPS", (k % 3 != 0).into()), ("CHOOSES", (has_scores && k % 3 == 0).into())];
        let defines: Defines = defines.into_iter().chain(flags).collect();
        all.extend(edges::representative_defines().map(|edges| (&FORWARD, [defines.clone(), edges].concat())));
        all.push((&FORWARD, defines));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn teams_hold_two_quads_per_lane_if_possible() {
        let of = |heads, features| team(HeadLayout::new(heads, features));
        assert_eq!([of(1, 7), of(2, 3), of(8, 2), of(8, 8), of(8, 16)], [2, 2, 4, 8, 16]);
        assert_eq!([of(12, 8), of(64, 1), of(8, 256)], [16, 2, 32]);
    }

    #[test]
    fn lanes_own_all_heads_of_a_row_together() {
        let owned = |heads, features| owned_heads(HeadLayout::new(heads, features));
        assert_eq!(
            [owned(1, 7), owned(8, 8), owned(8, 1), owned(8, 2), owned(64, 1), owned(12, 8)],
            [1, 1, 4, 2, 32, 2]
        );
        let quads = |heads, features| quads_per_lane(HeadLayout::new(heads, features));
        assert_eq!([quads(1, 7), quads(8, 8), quads(12, 8), quads(8, 256), quads(64, 1)], [1, 2, 2, 16, 8]);
    }
}
