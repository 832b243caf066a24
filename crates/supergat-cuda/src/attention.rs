//! Graph attention: `out_i = sum_j alpha_ij z_j`, `alpha_i = softmax_j(LeakyReLU(e_ij))`. GATv2 has two rows of `z` per
//! node, `s` and `t`: `out_i = sum_j alpha_ij s_j`, `alpha_i = softmax_j(a . LeakyReLU(t_i + s_j))`.
//!
//! Kernels are compiled for the layout of a layer. A team of lanes has a row in registers; 16 or 32 lanes share a
//! node, and nodes with many edges have a block each.

use crate::compile::{Source, Variant};
use crate::edges::{self, Terms};
use crate::launch::{Cuda, grid, launch};
use crate::memory::{Bits, Numbers, address, address_of, keep};
use crate::problem::Problem;
use crate::teams::{
    Defines, THREADS, defines, layout_defines, light_blocks, representative_defines, representative_v2_defines,
    teams_per_block,
};
use supergat_core::device::{Attention, AttentionV2, Mask};
use supergat_core::{Form, HeadLayout, Result};

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
