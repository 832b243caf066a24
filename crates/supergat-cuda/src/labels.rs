//! Losses of node labels, their gradients, and the counts behind accuracy and micro-F1.

use crate::compile::Source;
use crate::launch::{Cuda, grid, launch};
use crate::memory::{Numbers, address};
use crate::problem::Problem;
use crate::scratch::Scratch;
use cudarc::driver::LaunchConfig;
use supergat_core::Result;
use supergat_core::device::{LabelLoss, LabelLosses, Place};
use supergat_core::example::hidden_weight;

pub(crate) const LABELS: Source = Source { name: "labels", text: include_str!("../kernels/labels.cu") };

impl LabelLosses for Cuda {
    fn label_loss_backward(
        &self,
        problem: &Problem,
        logits: &Numbers,
        LabelLoss { settings, shown }: LabelLoss<'_, Self>,
        gradient: &mut Numbers,
        scratch: &mut Scratch,
        place: Place<'_, Self>,
    ) -> Result<()> {
        let labels = &problem.labels;
        let [single, multi] = labels.addresses();
        let (lanes, blocks) = labels.division(problem.nodes);
        let (nodes, classes) = (problem.nodes as u32, labels.classes as u32);
        let total = hidden_weight(labels.total, labels.train, shown.map_or(0, |(_, count)| count));
        let shown = shown.map_or(0, |(nodes, _)| address(&nodes.0));
        let class_weights = labels.class_weights.as_ref().map_or(0, address);
        let record = place.record.address(place.example, 0);
        launch!(
            self,
            &LABELS,
            &[],
            "label_loss_backward",
            grid(blocks, 256),
            &nodes,
            &classes,
            &lanes,
            &single,
            &multi,
            &labels.chosen,
            &shown,
            &class_weights,
            &total,
            &settings.focal_gamma,
            &logits.0,
            &mut gradient.0,
            &scratch.losses,
            &scratch.tickets,
            &record
        )
    }

    fn evaluate(&self, problem: &Problem, logits: &Numbers, place: Place<'_, Self>) -> Result<()> {
        let labels = &problem.labels;
        let [single, multi] = labels.addresses();
        let (lanes, blocks) = labels.division(labels.counts[0].max(labels.counts[1]));
        let [validation, test, classes] = [labels.counts[0], labels.counts[1], labels.classes].map(|n| n as u32);
        let record = place.record.address(place.example, 0);
        let config = LaunchConfig { grid_dim: (blocks as u32, 2, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
        launch!(
            self,
            &LABELS,
            &[],
            "evaluate",
            config,
            &labels.validation,
            &labels.test,
            &validation,
            &test,
            &classes,
            &lanes,
            &single,
            &multi,
            &logits.0,
            &labels.partial,
            &labels.tickets,
            &record
        )
    }
}
