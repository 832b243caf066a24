//! Graph attention: `out_i = sum_j alpha_ij z_j`, `alpha_i = softmax_j(LeakyReLU(e_ij))`. GATv2 has two rows of `z` per
//! node, `s` and `t`: `out_i = sum_j alpha_ij s_j`, `alpha_i = softmax_j(a . LeakyReLU(t_i + s_j))`.
//!
//! Kernels are compiled for the layout of a layer. A team of lanes has a row in registers; 16 or 32 lanes share a
//! node, and nodes with many edges have a block each.

use crate::compile::{Source, Variant};
use crate::edges::{self, Terms};
use crate::launch::{Cuda, grid, launch_in};
use crate::memory::{Bits, Numbers, address, address_of, keep};
use crate::problem::Problem;
use crate::scratch::Scratch;
use crate::teams::{
    Defines, THREADS, above, defines, grid_with_ring, keeps_above, layout_defines, light_blocks,
    representative_defines, representative_v2_defines, ring, teams_per_block,
};
use crate::{backward, report, top_k};
use cudarc::driver::CudaSlice;
use supergat_core::device::{Attention, AttentionGradient, AttentionPasses, Place, ProjectedGradient, Supervision};
use supergat_core::{Form, HeadLayout, Precision, Result};

const SCORES: Source = Source {
    name: "attention_scores",
    text: concat!(include_str!("../kernels/rows.cuh"), include_str!("../kernels/attention_scores.cu")),
};
const ROUND: Source = Source { name: "round", text: include_str!("../kernels/round.cu") };
const FORWARD: Source = Source {
    name: "attention_forward",
    text: concat!(
        include_str!("../kernels/rows.cuh"),
        include_str!("../kernels/edges.cuh"),
        include_str!("../kernels/ring.cuh"),
        include_str!("../kernels/attention_forward.cu")
    ),
};
impl AttentionPasses for Cuda {
    fn kept_by_attention(&self, form: Form, layout: HeadLayout) -> usize {
        if form == Form::Go { above(layout) } else { 0 }
    }

    fn attention_scores(
        &self,
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
        let stream = self.stream_beside(&[address(&state.0), address(&source_score.0)])?;
        launch_in!(
            self,
            stream,
            &SCORES,
            &layout_defines(layout, Form::Go, 32),
            "attention_scores",
            grid(problem.nodes.div_ceil(teams_per_block(layout, Precision::F32)), THREADS),
            &nodes,
            &z.0,
            &vectors.0,
            &mut state.0,
            &mut source_score.0
        )
    }

    fn round_rows(&self, problem: &Problem, stride: usize, rows: &Numbers, rounded: &mut Numbers) -> Result<()> {
        round_rows(self, problem, stride, &rows.0, &mut rounded.0)
    }

    fn attention_forward(
        &self,
        problem: &Problem,
        attention: Attention<'_, Self>,
        state: &mut Numbers,
        sums: &mut Numbers,
        messages: Option<(&Numbers, &mut Numbers)>,
    ) -> Result<()> {
        let nodes = problem.nodes as u32;
        if nodes == 0 {
            return Ok(());
        }
        let layout = attention.layout;
        let mut defines = defines(problem, &attention);
        defines.extend([("DROPS", attention.keep.is_some().into()), ("CHOOSES", attention.chosen.is_some().into())]);
        let per_head = if attention.form.has_vector() { size_of::<f32>() } else { 0 };
        let ring = ring(self, problem, &attention, (1, per_head), 3);
        defines.extend([("ABOVE", keeps_above(problem, &attention, state).into()), ("RING", ring.into())]);
        let (keep, keep_scale) = keep(attention.keep);
        let chosen = attention.chosen.map_or(0, |chosen| address(&chosen.0));
        let vectors = address_of(attention.vectors);
        let slope = attention.slope as f32;
        let heavy = &problem.attention.heavy_targets;
        let (heavy_count, heavy_blocks) = (heavy.count as u32, heavy.blocks(self));
        let blocks = heavy_blocks as usize + light_blocks(problem, layout, attention.precision);
        let stream = self.stream_beside(&[address(&state.0), address(&sums.0), keep])?;
        let mut pass = |defines: &Defines, edges: Option<&edges::Arguments>| {
            launch_in!(
                self,
                stream,
                &FORWARD,
                defines,
                "attention_forward",
                grid_with_ring(blocks, ring),
                &nodes,
                &problem.incoming.offsets,
                &problem.incoming.nodes,
                &heavy.nodes,
                &heavy_count,
                &heavy_blocks,
                &problem.attention.most_edges,
                &attention.z.0,
                &attention.source_score.0,
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

    fn choose_top_k(
        &self,
        problem: &Problem,
        attention: Attention<'_, Self>,
        state: &Numbers,
        chosen: &mut Bits,
    ) -> Result<()> {
        top_k::choose_top_k(self, problem, attention, state, chosen)
    }

    fn attention_backward(
        &self,
        problem: &Problem,
        attention: Attention<'_, Self>,
        supervision: Supervision<'_, Self>,
        from: AttentionGradient<'_, Self>,
        scratch: &mut Scratch,
        to: ProjectedGradient<'_, Self>,
        record: Place<'_, Self>,
    ) -> Result<()> {
        backward::attention_backward(self, problem, attention, supervision, from, scratch, to, record)
    }

    fn edge_values(&self, problem: &Problem, attention: Attention<'_, Self>, state: &Numbers) -> Result<[Vec<f32>; 2]> {
        report::edge_values(self, problem, attention, state)
    }

    fn pair_logits(
        &self,
        problem: &Problem,
        attention: Attention<'_, Self>,
        state: &Numbers,
        pairs: &[[u32; 2]],
    ) -> Result<Vec<f32>> {
        report::pair_logits(self, problem, attention, state, pairs)
    }
}

/// Rounds rows of `stride` numbers to 16 bits.
pub(crate) fn round_rows(
    cuda: &Cuda,
    problem: &Problem,
    stride: usize,
    rows: &CudaSlice<f32>,
    rounded: &mut CudaSlice<f32>,
) -> Result<()> {
    let quads = problem.nodes * stride / 4;
    assert!(rows.len() >= 4 * quads && rounded.len() >= 2 * quads, "memory for the rounded rows");
    let (numbers, config) = (quads as u64, cuda.places(quads));
    let stream = cuda.stream_beside(&[address(rounded)])?;
    launch_in!(cuda, stream, &ROUND, &[], "round_rows", config, &numbers, rows, rounded)
}

/// Sources for the test of compilation.
pub(crate) fn variants() -> Vec<Variant> {
    let mut all: Vec<Variant> = vec![(&ROUND, Vec::new())];
    let scores = representative_defines().into_iter().map(|defines| (true, defines));
    let v2 = representative_v2_defines().into_iter().map(|defines| (false, defines));
    for (k, (has_scores, defines)) in scores.chain(v2).enumerate() {
        if has_scores {
            all.push((&SCORES, defines.clone()));
        }
        let flags = [
            ("DROPS", (k % 3 != 0).into()),
            ("CHOOSES", (has_scores && k % 3 == 0).into()),
            ("ABOVE", i64::from(k == 0)),
            ("RING", if k % 2 == 0 { 144 } else { 0 }),
        ];
        let defines: Defines = defines.into_iter().chain(flags).collect();
        if has_scores {
            all.push((&FORWARD, [defines.clone(), vec![("HALF", 1)]].concat()));
        }
        all.extend(edges::with_edges(&FORWARD, defines));
    }
    all
}
