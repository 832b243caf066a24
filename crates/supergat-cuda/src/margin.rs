//! Margin losses of attention scores (CGAT): sum over triples (i, j, k) and heads of relu(s_ik + margin - s_ij), where
//! j -> i is an edge and k a rival of j at i.
//!
//! Rivals are drawn where they are needed: their random numbers depend on the edge and the number of the rival only.

use crate::clock::Clock;
use crate::compile::{Source, Variant};
use crate::dropout::tag;
use crate::launch::{Cuda, grid, launch};
use crate::memory::address;
use crate::problem::margin::MarginPlan;
use crate::problem::{Lists, Problem};
use crate::scratch::AttentionScratch;
use crate::teams::{self, THREADS};
use supergat_core::Result;
use supergat_core::device::{Attention, AttentionGradient, ProjectedGradient};
use supergat_core::hyperparameters::ConstraintSettings;
use supergat_core::random::Purpose;

const MARGIN: Source =
    Source { name: "margin", text: concat!(include_str!("../kernels/rows.cuh"), include_str!("../kernels/margin.cu")) };

/// One of the two losses.
struct Loss<'a> {
    purpose: Purpose,
    pool: Option<&'a Lists>,
    triples: usize,
    lambda: f64,
    margin: f64,
}

/// Adds the gradients of the margin losses to those of attention, and the losses to the place in the record.
#[allow(clippy::too_many_arguments)]
pub(crate) fn margin_backward(
    cuda: &Cuda,
    problem: &Problem,
    plan: &MarginPlan,
    attention: Attention<'_, Cuda>,
    (clock, layer): (&Clock, u16),
    from: AttentionGradient<'_, Cuda>,
    scratch: &AttentionScratch,
    to: &mut ProjectedGradient<'_, Cuda>,
    place: u64,
) -> Result<()> {
    let (Some(vectors), Some(d_vectors)) = (attention.vectors, to.vectors.as_mut()) else { return Ok(()) };
    let ConstraintSettings { negatives_per_edge, lambda_g, margin_g, .. } = plan.contrast.constraints;
    let structure = Loss {
        purpose: Purpose::ContrastRivals,
        pool: None,
        triples: plan.triples,
        lambda: lambda_g,
        margin: margin_g,
    };
    let boundary = plan.contrast.boundary.zip(plan.classes.as_ref()).map(|(settings, classes)| Loss {
        purpose: Purpose::BoundaryRivals,
        pool: Some(&classes.unlike),
        triples: classes.triples,
        lambda: settings.lambda_b,
        margin: settings.margin_b,
    });
    let among = plan.classes.as_ref().map_or(0, |classes| address(&classes.alike));
    let layout = attention.layout;
    let defines = teams::defines(problem, &attention);
    let (nodes, per_edge, slope) = (problem.nodes as u32, negatives_per_edge as u32, attention.slope as f32);
    let most = teams::light_summing_blocks(cuda, problem, (layout, attention.precision), teams::FEW_BLOCKS);
    // A warp has a node while terms are counted, a team while gradients are added.
    let count_blocks = problem.nodes.div_ceil(THREADS as usize / 32).min(most);
    let add_blocks = problem.nodes.div_ceil(teams::teams_per_block(layout, attention.precision)).min(most);
    for loss in [Some(structure), boundary].into_iter().flatten() {
        let weight = loss.lambda / (loss.triples.max(1) * layout.heads) as f64;
        let (factor, margin, tag) = (weight as f32, loss.margin as f32, tag(layer, loss.purpose));
        let [pool_offsets, pool] = loss.pool.map_or([0, 0], |lists| [address(&lists.offsets), address(&lists.nodes)]);
        for group in 0..layout.groups as u32 {
            launch!(
                cuda,
                &MARGIN,
                &defines,
                "count_margin",
                grid(count_blocks, THREADS),
                &clock.data,
                &tag,
                &nodes,
                &problem.incoming.offsets,
                &problem.incoming.nodes,
                &pool_offsets,
                &pool,
                &among,
                &per_edge,
                &from.state.0,
                &attention.source_score.0,
                &slope,
                &margin,
                &group,
                &scratch.counts,
                &scratch.losses
            )?;
            let loss_blocks = count_blocks as u32;
            launch!(
                cuda,
                &MARGIN,
                &defines,
                "add_margin",
                grid(add_blocks, THREADS),
                &nodes,
                &attention.z.0,
                &vectors.0,
                &slope,
                &factor,
                &weight,
                &group,
                &scratch.counts,
                &scratch.losses,
                &loss_blocks,
                &to.z.0,
                &scratch.partial,
                &scratch.counter,
                &d_vectors.0,
                &place
            )?;
        }
    }
    Ok(())
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    teams::representative_defines()
        .into_iter()
        .filter(|defines| defines[0].1 == 3)
        .map(|mut defines| -> Variant {
            // Margins constrain GO only.
            defines[0].1 = 0;
            (&MARGIN, defines)
        })
        .collect()
}
