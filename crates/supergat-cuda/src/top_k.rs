//! Top-k softmax: selects the edges of each node and head with the k largest scores.

use crate::compile::{Source, Variant};
use crate::launch::{Cuda, grid, launch};
use crate::memory::{Bits, Numbers};
use crate::problem::Problem;
use supergat_core::Result;
use supergat_core::device::Attention;

const TOP_K: Source = Source { name: "top_k", text: include_str!("../kernels/top_k.cu") };

const THREADS: u32 = 256;

/// Chooses the edges with the k largest scores of each node and head.
pub(crate) fn choose_top_k(
    cuda: &Cuda,
    problem: &Problem,
    attention: Attention<'_, Cuda>,
    state: &Numbers,
    chosen: &mut Bits,
) -> Result<()> {
    let Some(plan) = problem.supervision.margins() else { return Ok(()) };
    let layout = attention.layout;
    let warps = problem.nodes * layout.groups;
    let (nodes, k, slope) = (problem.nodes as u32, plan.contrast.constraints.top_k as u32, attention.slope as f32);
    launch!(
        cuda,
        &TOP_K,
        &[("GROUPS", layout.groups as i64), ("LANE_HEADS", layout.lane_heads as i64)],
        "choose_top_k",
        grid(warps.div_ceil(THREADS as usize / 32), THREADS),
        &nodes,
        &problem.incoming.offsets,
        &problem.incoming.nodes,
        &state.0,
        &attention.source_score.0,
        &slope,
        &k,
        &mut chosen.0
    )
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    [[1, 1], [1, 2], [1, 4], [1, 8], [2, 8]]
        .map(|[groups, lane_heads]| -> Variant { (&TOP_K, vec![("GROUPS", groups), ("LANE_HEADS", lane_heads)]) })
        .into()
}
