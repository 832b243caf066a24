//! Dropout masks. Their bits are those of the masks of the whole graph.

use super::{Cluster, ClusterProblem};
use bytemuck::Pod;
use supergat_core::device::{Input, Masks, Random};
use supergat_core::{Dropout, Features, HeadLayout, Result};
use supergat_cpu::kernels::{DropoutMask, Primitives};

impl<T: Primitives + Pod> Masks for Cluster<T> {
    fn draw_mask(&self, random: Random<'_, Self>, dropout: Dropout, bytes: usize, keep: &mut Vec<u8>) -> Result<()> {
        dropout.fill(random.stream(), &mut keep[..bytes]);
        Ok(())
    }

    fn draw_input_mask(
        &self,
        problem: &ClusterProblem<T>,
        x: Input<'_, Self>,
        random: Random<'_, Self>,
        dropout: Dropout,
        bytes: usize,
        keep: &mut Vec<u8>,
    ) -> Result<()> {
        let rows = problem.share.rows();
        let dense = |width: usize| u64::from(problem.edges().global().start) * Dropout::mask_bytes(width) as u64;
        let first = match (x, &rows.features) {
            (Input::Hidden { width, .. }, _) => dense(width),
            (_, Features::Dense { columns, .. }) => dense(*columns),
            (_, Features::Sparse(_)) => rows.first_feature / 8,
        };
        dropout.fill_from(random.stream(), first, &mut keep[..bytes]);
        Ok(())
    }

    fn draw_head_mask(
        &self,
        problem: &ClusterProblem<T>,
        random: Random<'_, Self>,
        dropout: Dropout,
        layout: HeadLayout,
        keep: &mut Vec<u8>,
    ) -> Result<()> {
        let (stream, edges) = (random.stream(), problem.attended());
        let (groups, heads, ghosts) = (layout.groups, layout.lane_heads, &problem.blocks.ghosts.positions);
        // The edges to own nodes, and those from own nodes to others.
        let (own, others) = keep.split_at_mut(edges.first_ghost() * groups);
        let own = &mut own[..edges.incoming.neighbours.len() * groups];
        dropout.fill_heads_from(stream, heads, edges.first_edge * groups as u64, own);
        dropout.fill_heads_at(stream, heads, groups, ghosts, &mut others[..ghosts.len() * groups]);
        Ok(())
    }
}
