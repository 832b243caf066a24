//! Gradient of attention, of the edge loss and of the margin losses.

use crate::attention::round_rows;
use crate::beside::Start;
use crate::compile::{Source, Variant};
use crate::edges::{self, Terms};
use crate::launch::{Cuda, launch_in};
use crate::memory::{address, address_of, keep};
use crate::problem::Problem;
use crate::scratch::Scratch;
use crate::teams::{self, Defines, FEW_BLOCKS, MOST_BLOCKS};
use crate::{margin, product, record};
use supergat_core::device::{Attention, AttentionGradient, Place, ProjectedGradient, Supervision};
use supergat_core::{Form, Precision, Result};

const BACKWARD: Source = Source {
    name: "attention_backward",
    text: concat!(
        include_str!("../kernels/rows.cuh"),
        include_str!("../kernels/edges.cuh"),
        include_str!("../kernels/ring.cuh"),
        include_str!("../kernels/gradient.cuh"),
        include_str!("../kernels/attention_edge.cuh"),
        include_str!("../kernels/attention_backward.cu")
    ),
};
const V2_BACKWARD: Source = Source {
    name: "attention_v2_backward",
    text: concat!(
        include_str!("../kernels/rows.cuh"),
        include_str!("../kernels/edges.cuh"),
        include_str!("../kernels/gradient.cuh"),
        include_str!("../kernels/attention_v2_backward.cu")
    ),
};

/// Computes the gradients of the projected features and of the vectors, and adds the loss on attention to the record.
#[allow(clippy::too_many_arguments)]
pub(crate) fn attention_backward(
    cuda: &Cuda,
    problem: &Problem,
    attention: Attention<'_, Cuda>,
    supervision: Supervision<'_, Cuda>,
    from: AttentionGradient<'_, Cuda>,
    scratch: &mut Scratch,
    mut to: ProjectedGradient<'_, Cuda>,
    record: Place<'_, Cuda>,
) -> Result<()> {
    let place = place(&record);
    backward(cuda, problem, attention, supervision, from, scratch, &mut to, place)?;
    match (supervision, problem.supervision.margins()) {
        (Supervision::Margins { clock, layer }, Some(plan)) if problem.nodes > 0 => {
            let (clock, memory) = ((clock, layer), &scratch.attention);
            margin::margin_backward(cuda, problem, plan, attention, clock, from, memory, &mut to, place)
        }
        _ => Ok(()),
    }
}

/// Returns the address of the loss on attention of an example.
fn place(record: &Place<'_, Cuda>) -> u64 {
    record.record.address(record.example, record::ATTENTION_LOSS)
}

/// Computes the gradients of attention of any form and of the edge loss, whose place is `place`.
#[allow(clippy::too_many_arguments)]
fn backward(
    cuda: &Cuda,
    problem: &Problem,
    attention: Attention<'_, Cuda>,
    supervision: Supervision<'_, Cuda>,
    from: AttentionGradient<'_, Cuda>,
    scratch: &mut Scratch,
    to: &mut ProjectedGradient<'_, Cuda>,
    place: u64,
) -> Result<()> {
    let nodes = problem.nodes as u32;
    if nodes == 0 {
        return Ok(());
    }
    let layout = attention.layout;
    let memory = &mut scratch.attention;
    let gradient = match attention.precision {
        Precision::F32 | Precision::Auto => &from.sums.0,
        Precision::Bf16 => {
            round_rows(cuda, problem, layout.stride(), &from.sums.0, &mut memory.gathered)?;
            &memory.gathered
        }
    };
    let samples = memory.samples.current();
    let count = samples.count();
    let lambda_e = match supervision {
        Supervision::Edges { lambda_e } if count > 0 => Some(lambda_e),
        _ => None,
    };
    let pair_weight = lambda_e.map_or(0.0, |lambda_e| lambda_e / count as f64 / layout.heads as f64) as f32;
    let inverse_count = 1.0 / count.max(1) as f64;
    let mut defines = teams::defines(problem, &attention);
    let (mut ring, mut above) = (0, false);
    defines.push(("DROPS", attention.keep.is_some().into()));
    let (source, kernel) = match attention.form {
        Form::V2 => (&V2_BACKWARD, "attention_v2_backward"),
        _ => {
            above = teams::keeps_above(problem, &attention, from.state);
            ring = teams::ring(cuda, problem, &attention, (if above { 1 } else { 2 }, 16), 2);
            defines.push(("RING", ring.into()));
            let flags = [attention.chosen.is_some(), problem.outgoing.is_none(), above].map(i64::from);
            defines.extend(["CHOOSES", "SYMMETRIC", "ABOVE"].into_iter().zip(flags));
            (&BACKWARD, "attention_backward")
        }
    };
    let (keep, keep_scale) = keep(attention.keep);
    let chosen = attention.chosen.map_or(0, |chosen| address(&chosen.0));
    let slope = attention.slope as f32;
    let vectors = address_of(attention.vectors);
    let heavy = problem.attention.heavy();
    let (heavy_count, heavy_blocks) = (heavy.count as u32, heavy.blocks(cuda));
    // As in the kernel's launch bounds.
    let held = teams::quads_per_lane(layout, attention.precision);
    let of_each = if above && layout.groups == 1 && held <= 2 { MOST_BLOCKS } else { FEW_BLOCKS };
    let blocks =
        heavy_blocks as usize + teams::light_summing_blocks(cuda, problem, (layout, attention.precision), of_each);
    let outgoing = problem.outgoing();
    let stream = cuda.stream_beside(&[address(&to.z.0), keep, address(&memory.partial)])?;
    let pass = |supervised: bool, of_edges: Defines, edges: Option<&edges::Arguments>| {
        let supervised = vec![("SUPERVISED", supervised.into())];
        launch_in!(
            cuda,
            stream,
            source,
            &[defines.clone(), supervised, of_edges].concat(),
            kernel,
            teams::grid_with_ring(blocks, ring),
            &nodes,
            &problem.incoming.offsets,
            &problem.incoming.nodes,
            &outgoing.offsets,
            &outgoing.nodes,
            &problem.attention.positions,
            &heavy.nodes,
            &heavy_count,
            &heavy_blocks,
            &problem.attention.most_edges,
            &attention.z.0,
            &attention.source_score.0,
            &from.state.0,
            gradient,
            &keep,
            &keep_scale,
            &chosen,
            &slope,
            &vectors,
            &samples.marks,
            &samples.by_target.offsets,
            &samples.by_target.nodes,
            &samples.by_source.offsets,
            &samples.by_source.nodes,
            &pair_weight,
            &inverse_count,
            &samples.error,
            &to.z.0,
            &memory.partial,
            &memory.losses,
            &memory.counter,
            &place;
            edges
        )
    };
    match Terms::new(problem, attention.edge_vectors, from.messages.is_some()) {
        None => pass(lambda_e.is_some(), Defines::new(), None)?,
        Some(mut terms) => {
            terms.arguments.partial = address(&memory.edge_partial);
            terms.arguments.d_vectors = address_of(to.edge_vectors.as_deref());
            if let (Some(messages), Some(to)) = (from.messages, &mut to.messages) {
                edges::messages_backward(cuda, problem, layout, messages, from.sums, memory, to)?;
                terms.arguments.sums = address(&to.sums.0);
            }
            // Launches for further features compute nothing but the gradients of their vectors.
            for (k, (of_edges, arguments)) in terms.launches(layout, false).enumerate() {
                pass(lambda_e.is_some() && k == 0, of_edges, Some(&arguments))?;
            }
        }
    }
    if let Some(d_vectors) = &to.vectors {
        // The kernels leave the sum of a row per block, or of a row of targets and one of sources.
        let len = layout.stride() * if attention.form == Form::V2 { 1 } else { 2 };
        let (partial, to) = (&memory.partial, address(&d_vectors.0));
        cuda.beside([address(partial), to, 0], Start::Now, |beside| {
            product::add_parts(cuda, &beside.stream, blocks, len, partial, to)
        })?;
    }
    Ok(())
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    let flags = [[0, 0, 1, 0], [1, 0, 1, 1], [1, 0, 0, 1], [0, 1, 1, 0]];
    let with_flags = |(k, defines): (usize, Defines)| -> Vec<Variant> {
        let flags = ["DROPS", "CHOOSES", "SYMMETRIC", "SUPERVISED"].into_iter().zip(flags[k % flags.len()]);
        let flags = flags.chain([("ABOVE", i64::from(k == 0)), ("RING", if k % 2 == 0 { 240 } else { 0 })]);
        let defines: Defines = defines.into_iter().chain(flags).collect();
        let half: Variant = (&BACKWARD, [defines.clone(), vec![("HALF", 1)]].concat());
        edges::with_edges(&BACKWARD, defines).into_iter().chain([half]).collect()
    };
    let v2_flags = [[0, 0], [1, 1], [1, 0], [0, 1]];
    let with_v2_flags = |(k, defines): (usize, Defines)| -> Vec<Variant> {
        let flags = ["DROPS", "SUPERVISED"].into_iter().zip(v2_flags[k % v2_flags.len()]);
        let defines: Defines = defines.into_iter().chain(flags).collect();
        edges::with_edges(&V2_BACKWARD, defines)
    };
    let scores = teams::representative_defines().into_iter().enumerate().flat_map(with_flags);
    let v2 = teams::representative_v2_defines().into_iter().enumerate().flat_map(with_v2_flags);
    scores.chain(v2).collect()
}
