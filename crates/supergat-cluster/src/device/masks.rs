//! Dropout masks. Their bits are those of the masks of the whole graph.

use super::{Cluster, ClusterProblem};
use bytemuck::Pod;
use supergat_core::device::Input;
use supergat_core::random::Stream;
use supergat_core::{Dropout, Features, HeadLayout};
use supergat_cpu::kernels::{DropoutMask, Primitives};

impl<T: Primitives + Pod> ClusterProblem<T> {
    /// Draws the mask of the rows of own nodes of a layer's input.
    pub(super) fn fill_input_mask(&self, x: Input<'_, Cluster<T>>, stream: Stream, dropout: Dropout, keep: &mut [u8]) {
        let rows = self.share.rows();
        let dense = |width: usize| u64::from(self.edges().global().start) * Dropout::mask_bytes(width) as u64;
        let first = match (x, &rows.features) {
            (Input::Hidden { width, .. }, _) => dense(width),
            (_, Features::Dense { columns, .. }) => dense(*columns),
            (_, Features::Sparse(_)) => rows.first_feature / 8,
        };
        dropout.fill_from(stream, first, keep);
    }

    /// Draws the mask of attention: of the edges to own nodes, and of those from own nodes to others.
    pub(super) fn fill_head_mask(&self, stream: Stream, dropout: Dropout, layout: HeadLayout, keep: &mut [u8]) {
        let edges = self.attended();
        let (groups, heads, ghosts) = (layout.groups, layout.lane_heads, &self.blocks.ghosts.positions);
        let (own, others) = keep.split_at_mut(edges.first_ghost() * groups);
        let own = &mut own[..edges.incoming.neighbours.len() * groups];
        dropout.fill_heads_from(stream, heads, edges.first_edge * groups as u64, own);
        dropout.fill_heads_at(stream, heads, groups, ghosts, &mut others[..ghosts.len() * groups]);
    }
}
