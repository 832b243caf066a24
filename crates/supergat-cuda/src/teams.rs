//! Division of the kernels of attention: a team of lanes has a row in registers.

use crate::launch::{Cuda, MOST_SHARED, grid};
use crate::memory::Numbers;
use crate::problem::{LARGE_GRAPH, Problem};
use cudarc::driver::LaunchConfig;
use supergat_core::device::{Attention, STATE};
use supergat_core::{Form, HeadLayout, Precision};

/// Threads of a block in the kernels of attention.
pub(crate) const THREADS: u32 = 256;

/// Blocks per multiprocessor for light nodes, if blocks sum over nodes: of kernels that need many registers, and the largest
/// number.
pub(crate) const FEW_BLOCKS: usize = 2;
pub(crate) const MOST_BLOCKS: usize = 3;

/// Definitions of a variant of a source.
pub(crate) type Defines = Vec<(&'static str, i64)>;

/// Returns the largest number of blocks that sum over the nodes of a problem. A block has at least eight nodes.
pub(crate) fn most_blocks(cuda: &Cuda, problem: &Problem) -> usize {
    problem.nodes.div_ceil(8).min(MOST_BLOCKS * cuda.multiprocessors())
        + problem.attention.heavy().blocks(cuda) as usize
}

/// Returns the number of lanes of a team, as the kernels compute it for rows in a precision.
fn team(layout: HeadLayout, precision: Precision) -> usize {
    let quads = 2 * layout.vectors;
    if quads <= 8 {
        return quads.next_power_of_two();
    }
    let mut lanes = 4;
    while lanes < 32 && lanes < quads && layout.groups * quads.div_ceil(lanes) > most_held(precision) {
        lanes *= 2;
    }
    lanes
}

/// Returns the quads of a row that a lane has at most, if possible, as in the kernels.
fn most_held(precision: Precision) -> usize {
    if precision.is_half() { 4 } else { 3 }
}

/// Returns the number of heads that a lane owns in all groups together, as the kernels compute it.
pub(crate) fn owned_heads(layout: HeadLayout, precision: Precision) -> usize {
    layout.groups * layout.lane_heads / team(layout, precision).min(layout.lane_heads)
}

/// Returns the number of quads of a row that a lane has, as the kernels compute it.
pub(crate) fn quads_per_lane(layout: HeadLayout, precision: Precision) -> usize {
    layout.groups * (2 * layout.vectors).div_ceil(team(layout, precision))
}

/// Returns the numbers of a slot of a node's state.
fn node_heads(layout: HeadLayout) -> usize {
    layout.groups * layout.lane_heads
}

/// Returns the numbers per node of the sums over edges with scores above zero, behind the state.
pub(crate) fn above(layout: HeadLayout) -> usize {
    layout.stride() + node_heads(layout)
}

/// Returns whether the passes of attention keep and use the sums over edges with scores above zero: those of GO, in the
/// memory of a training.
pub(crate) fn keeps_above(problem: &Problem, attention: &Attention<'_, Cuda>, state: &Numbers) -> bool {
    let layout = attention.layout;
    attention.form == Form::Go
        && problem.edge_memory.is_none()
        && state.0.len() >= problem.nodes * (STATE * node_heads(layout) + above(layout))
}

/// Most bytes per thread in shared memory for rows that are on their way.
const MOST_BYTES: usize = 240;

/// Returns the bytes per thread in shared memory for the rows of `depth` edges that are on their way, of which each needs
/// `rows` rows, and `per_head` bytes per head. On small graphs, launches that divide the memory of a multiprocessor anew would
/// take longer than they gain; sums of edge features need the memory for themselves.
pub(crate) fn ring(
    cuda: &Cuda,
    problem: &Problem,
    attention: &Attention<'_, Cuda>,
    (rows, per_head): (usize, usize),
    depth: usize,
) -> u32 {
    let has_features = problem.edge_memory.as_ref().is_some_and(|memory| memory.width > 0);
    if problem.nodes < LARGE_GRAPH || has_features || cuda.shared_memory() < MOST_SHARED {
        return 0;
    }
    let (layout, precision) = (attention.layout, attention.precision);
    let quad = if precision.is_half() { 8 } else { 16 };
    let bytes = rows * quads_per_lane(layout, precision) * quad + owned_heads(layout, precision) * per_head;
    (bytes * depth.min(MOST_BYTES / bytes)) as u32
}

/// Returns the launch of blocks with this shared memory.
pub(crate) fn grid_with_ring(blocks: usize, ring: u32) -> LaunchConfig {
    LaunchConfig { shared_mem_bytes: THREADS * ring, ..grid(blocks, THREADS) }
}

/// Returns the definitions of kernels that read rows of a layer.
pub(crate) fn defines(problem: &Problem, attention: &Attention<'_, Cuda>) -> Defines {
    let mut defines = layout_defines(attention.layout, attention.form, problem.attention.lanes);
    if attention.precision.is_half() {
        defines.push(("HALF", 1));
    }
    defines
}

pub(crate) fn layout_defines(layout: HeadLayout, form: Form, lanes: i64) -> Defines {
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
pub(crate) fn teams_per_block(layout: HeadLayout, precision: Precision) -> usize {
    THREADS as usize / team(layout, precision)
}

/// Returns the number of blocks for all light nodes.
pub(crate) fn light_blocks(problem: &Problem, layout: HeadLayout, precision: Precision) -> usize {
    let lanes = team(layout, precision).max(problem.attention.lanes as usize);
    problem.nodes.div_ceil(THREADS as usize / lanes)
}

/// Returns the number of blocks for all light nodes if blocks sum over nodes: at most `of_each` per multiprocessor.
pub(crate) fn light_summing_blocks(
    cuda: &Cuda,
    problem: &Problem,
    (layout, precision): (HeadLayout, Precision),
    of_each: usize,
) -> usize {
    light_blocks(problem, layout, precision).min(of_each * cuda.multiprocessors())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn teams_hold_at_most_three_quads_per_lane_if_possible() {
        let of = |heads, features| team(HeadLayout::new(heads, features), Precision::F32);
        assert_eq!([of(1, 7), of(2, 3), of(8, 2), of(8, 8), of(8, 16), of(1, 40)], [2, 2, 4, 8, 16, 4]);
        assert_eq!([of(12, 8), of(64, 1), of(8, 256)], [16, 2, 32]);
    }

    #[test]
    fn lanes_own_all_heads_of_a_row_together() {
        let owned = |heads, features| owned_heads(HeadLayout::new(heads, features), Precision::F32);
        assert_eq!(
            [owned(1, 7), owned(8, 8), owned(8, 1), owned(8, 2), owned(64, 1), owned(12, 8)],
            [1, 1, 4, 2, 32, 2]
        );
        let quads = |heads, features| quads_per_lane(HeadLayout::new(heads, features), Precision::F32);
        assert_eq!([quads(1, 7), quads(8, 8), quads(12, 8), quads(8, 256), quads(64, 1)], [1, 2, 2, 16, 8]);
    }
}
