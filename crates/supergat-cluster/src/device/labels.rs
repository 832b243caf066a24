//! Loss and scores of node labels.

use super::record::PartSums;
use super::sums::by_part;
use super::{Cluster, ClusterProblem, ClusterScratch};
use bytemuck::Pod;
use supergat_core::Result;
use supergat_core::device::{LabelLoss, LabelLosses, Place};
use supergat_core::memory::Buffer;
use supergat_cpu::kernels::{LabelTerms, Primitives};

impl<T: Primitives + Pod> LabelLosses for Cluster<T> {
    fn label_loss_backward(
        &self,
        problem: &ClusterProblem<T>,
        logits: &Buffer<T>,
        loss: LabelLoss<'_, Self>,
        gradient: &mut Buffer<T>,
        scratch: &mut ClusterScratch<T>,
        place: Place<'_, Self>,
    ) -> Result<()> {
        let rows = problem.share.rows();
        let length = problem.nodes() * rows.labels.classes();
        let (logits, gradient, losses) = (&logits[..length], &mut gradient[..length], &mut scratch.losses);
        let (class_weights, total) = (problem.share.class_weights().unwrap_or(&[]), problem.training_weight);
        let terms = LabelTerms { class_weights, total, shown: &[], settings: loss.settings };
        T::label_loss_backward(&problem.rows, &rows.labels, &problem.chosen, terms, logits, gradient, losses);
        let sums = by_part(losses, problem.inputs.iter().map(|input| input.rows.len()));
        let record = problem.sums(place);
        for (record, sum) in record.iter_mut().zip(sums) {
            record.losses = [sum / total, 0.0];
        }
        Ok(())
    }

    fn evaluate(&self, problem: &ClusterProblem<T>, logits: &Buffer<T>, place: Place<'_, Self>) -> Result<()> {
        let (edges, rows) = (problem.edges(), problem.share.rows());
        let logits = &logits[..problem.nodes() * rows.labels.classes()];
        let first = edges.partition.parts_of_process(edges.process).start;
        for (k, record) in problem.sums(place).iter_mut().enumerate() {
            let range = edges.rows_of_parts(first + k..first + k + 1);
            for (side, list) in rows.splits[1..].iter().enumerate() {
                let bound = |row: usize| list.partition_point(|&node| (node as usize) < row);
                let list = &list[bound(range.start)..bound(range.end)];
                record.scores[side] = T::evaluate(&rows.labels, list, logits);
            }
        }
        Ok(())
    }
}

impl<T: Primitives + Pod> ClusterProblem<T> {
    /// Returns the sums of the parts of this process in a record.
    fn sums<'r>(&self, place: Place<'r, Cluster<T>>) -> &'r mut Vec<PartSums> {
        let sums = &mut place.record.0[place.example];
        sums.resize(self.inputs.len(), PartSums::default());
        sums
    }
}
