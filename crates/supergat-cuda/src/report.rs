//! Attention as a result: coefficients and edge logits of all edges, and the logits of pairs of nodes.

use crate::compile::{Source, Variant};
use crate::edges::{Terms, with_edges};
use crate::launch::{Cuda, grid, launch};
use crate::memory::{Numbers, address_of};
use crate::problem::Problem;
use crate::teams::{self, THREADS};
use supergat_core::Result;
use supergat_core::device::Attention;

const REPORT: Source = Source {
    name: "attention_report",
    text: concat!(
        include_str!("../kernels/rows.cuh"),
        include_str!("../kernels/edges.cuh"),
        include_str!("../kernels/attention_report.cu")
    ),
};

/// Computes the coefficient and the edge logit of every edge and head.
pub(crate) fn edge_values(
    cuda: &Cuda,
    problem: &Problem,
    input: Attention<'_, Cuda>,
    state: &Numbers,
) -> Result<[Vec<f32>; 2]> {
    let (nodes, layout, slope) = (problem.nodes as u32, input.layout, input.slope as f32);
    let vectors = address_of(input.vectors);
    let len = problem.edges * layout.heads;
    let mut values = [vec![0.0; len], vec![0.0; len]];
    if nodes == 0 {
        return Ok(values);
    }
    let [mut coefficients, mut logits] = [cuda.zeros::<f32>(len)?, cuda.zeros::<f32>(len)?];
    let terms = Terms::new(problem, input.edge_vectors, false).and_then(|terms| terms.launches(layout, true).next());
    let (of_edges, edges) = terms.unzip();
    let defines = [teams::defines(problem, &input), of_edges.unwrap_or_default()].concat();
    launch!(
        cuda,
        &REPORT,
        &defines,
        "edge_values",
        grid(problem.nodes.div_ceil(teams::teams_per_block(layout, input.precision)), THREADS),
        &nodes,
        &problem.incoming.offsets,
        &problem.incoming.nodes,
        &input.z.0,
        &input.source_score.0,
        &vectors,
        &state.0,
        &slope,
        &mut coefficients,
        &mut logits;
        edges.as_ref()
    )?;
    cuda.fetch(&coefficients, &mut values[0])?;
    cuda.fetch(&logits, &mut values[1])?;
    Ok(match &problem.no_loops {
        Some(lists) => values.map(|values| lists.scattered(&values, layout.heads)),
        None => values,
    })
}

/// Computes the edge logit, averaged over heads, of pairs `[source, target]`.
pub(crate) fn pair_logits(
    cuda: &Cuda,
    problem: &Problem,
    input: Attention<'_, Cuda>,
    state: &Numbers,
    pairs: &[[u32; 2]],
) -> Result<Vec<f32>> {
    let (count, layout, slope) = (pairs.len() as u32, input.layout, input.slope as f32);
    let vectors = address_of(input.vectors);
    let mut logits = vec![0.0; pairs.len()];
    if pairs.is_empty() {
        return Ok(logits);
    }
    let (on_device, mut out) = (cuda.uploaded(pairs.as_flattened())?, cuda.zeros::<f32>(pairs.len())?);
    launch!(
        cuda,
        &REPORT,
        &teams::defines(problem, &input),
        "pair_logits",
        grid(pairs.len().div_ceil(teams::teams_per_block(layout, input.precision)), THREADS),
        &count,
        &on_device,
        &input.z.0,
        &input.source_score.0,
        &vectors,
        &state.0,
        &slope,
        &mut out
    )?;
    cuda.fetch(&out, &mut logits)?;
    Ok(logits)
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    let all = teams::representative_defines().into_iter().chain(teams::representative_v2_defines());
    all.flat_map(|defines| with_edges(&REPORT, defines)).collect()
}
