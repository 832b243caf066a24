//! Loss and scores of node labels.

use super::record::PartSums;
use super::sums::by_part;
use super::{Cluster, ClusterProblem, ClusterScratch};
use bytemuck::Pod;
use supergat_core::device::Place;
use supergat_cpu::kernels::{LabelTerms, Primitives};

impl<T: Primitives + Pod> ClusterProblem<T> {
    /// Computes the gradient of the loss of the training nodes by the logits. Records the loss of each part.
    pub(super) fn label_loss_backward(
        &self,
        logits: &[T],
        focal_gamma: f64,
        gradient: &mut [T],
        scratch: &mut ClusterScratch<T>,
        place: Place<'_, Cluster<T>>,
    ) {
        let rows = self.share.rows();
        let length = self.nodes() * rows.labels.classes();
        let (logits, gradient, losses) = (&logits[..length], &mut gradient[..length], &mut scratch.losses);
        let (class_weights, total) = (self.share.class_weights().unwrap_or(&[]), self.training_weight);
        let terms = LabelTerms { class_weights, total, shown: &[], focal_gamma };
        T::label_loss_backward(&self.rows, &rows.labels, &self.chosen, terms, logits, gradient, losses);
        let sums = by_part(losses, self.inputs.iter().map(|input| input.rows.len()));
        let record = self.sums(place);
        for (record, sum) in record.iter_mut().zip(sums) {
            record.losses = [sum / total, 0.0];
        }
    }

    /// Records the losses and counts of the validation and the test nodes of each part.
    pub(super) fn evaluate(&self, logits: &[T], place: Place<'_, Cluster<T>>) {
        let (edges, rows) = (self.edges(), self.share.rows());
        let logits = &logits[..self.nodes() * rows.labels.classes()];
        let first = edges.partition.parts_of_process(edges.process).start;
        for (k, record) in self.sums(place).iter_mut().enumerate() {
            let range = edges.rows_of_parts(first + k..first + k + 1);
            for (side, list) in rows.splits[1..].iter().enumerate() {
                let bound = |row: usize| list.partition_point(|&node| (node as usize) < row);
                let list = &list[bound(range.start)..bound(range.end)];
                record.scores[side] = T::evaluate(&rows.labels, list, logits);
            }
        }
    }

    /// Returns the sums of the parts of this process in a record.
    fn sums<'r>(&self, place: Place<'r, Cluster<T>>) -> &'r mut Vec<PartSums> {
        let sums = &mut place.record.0[place.example];
        sums.resize(self.inputs.len(), PartSums::default());
        sums
    }
}
