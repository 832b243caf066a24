//! Labels as input: the rows that follow the features of nodes, and their product with the weights of labels.

use crate::compile::Source;
use crate::dropout::{tag, threshold};
use crate::launch::{Cuda, grid, launch};
use crate::memory::{Bits, Numbers, address};
use crate::problem::Problem;
use crate::samples::permutation_grid;
use supergat_core::Result;
use supergat_core::device::{LabelInput, LabelInputs};
use supergat_core::random::Purpose;

pub(crate) const LABEL_INPUT: Source = Source { name: "label_input", text: include_str!("../kernels/label_input.cu") };

const THREADS: u32 = 256;

/// Numbers of the dropout of labels, as kernels read them: clock (zero in evaluation), tag, threshold and factor.
fn dropout(input: &LabelInput<'_, Cuda>) -> (u64, u32, u32, f32) {
    let clock = input.clock.map_or(0, |clock| address(&clock.data));
    (clock, tag(0, Purpose::LabelDropout), threshold(input.dropout), input.dropout.scale())
}

impl LabelInputs for Cuda {
    fn show_labels(
        &self,
        problem: &Problem,
        input: LabelInput<'_, Self>,
        shown: &mut Bits,
        rows: &mut Numbers,
    ) -> Result<()> {
        let labels = &problem.labels;
        let [single, multi] = labels.addresses();
        let (clock, dropout_tag, threshold, scale) = dropout(&input);
        let choice_tag = tag(0, Purpose::LabelChoice);
        let (nodes, classes, train) = (problem.nodes as u32, labels.classes as u32, labels.train as u64);
        let ([grid_rows, grid_columns], count) = (permutation_grid(train), input.shown as u64);
        let threads = problem.nodes * labels.classes.div_ceil(8);
        launch!(
            self,
            &LABEL_INPUT,
            &[],
            "show_labels",
            grid(threads.div_ceil(THREADS as usize), THREADS),
            &nodes,
            &classes,
            &single,
            &multi,
            &labels.places,
            &clock,
            &choice_tag,
            &dropout_tag,
            &threshold,
            &scale,
            &train,
            &grid_rows,
            &grid_columns,
            &count,
            &mut shown.0,
            &mut rows.0
        )
    }

    fn reuse_labels(
        &self,
        problem: &Problem,
        input: LabelInput<'_, Self>,
        logits: &Numbers,
        shown: &Bits,
        rows: &mut Numbers,
    ) -> Result<()> {
        let (clock, tag, threshold, scale) = dropout(&input);
        let [_, multi] = problem.labels.addresses();
        let (nodes, classes, is_multi) = (problem.nodes as u32, problem.labels.classes as u32, u32::from(multi != 0));
        launch!(
            self,
            &LABEL_INPUT,
            &[],
            "reuse_labels",
            grid((32 * problem.nodes).div_ceil(THREADS as usize), THREADS),
            &nodes,
            &classes,
            &is_multi,
            &shown.0,
            &clock,
            &tag,
            &threshold,
            &scale,
            &logits.0,
            &mut rows.0
        )
    }
}
