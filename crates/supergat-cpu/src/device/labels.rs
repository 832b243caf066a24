//! Labels as input, and losses and scores of labels.

use super::{Cpu, CpuProblem, CpuScratch};
use crate::kernels::{LabelChoice, LabelDropout, LabelTerms, Primitives};
use supergat_core::Result;
use supergat_core::device::{LabelInput, LabelInputs, LabelLoss, LabelLosses, Place};
use supergat_core::example::hidden_weight;
use supergat_core::memory::Buffer;
use supergat_core::random::{Purpose, Stream};

/// Returns the random numbers of labels as input; `None` in evaluation.
fn label_stream<T: Primitives>(input: LabelInput<'_, Cpu<T>>, purpose: Purpose) -> Option<Stream> {
    input.clock.map(|clock| Stream::new(clock.seed, clock.step, 0, purpose))
}

/// Returns the dropout of labels as input, if there is any.
fn label_dropout<T: Primitives>(input: LabelInput<'_, Cpu<T>>) -> Option<LabelDropout> {
    let stream = label_stream(input, Purpose::LabelDropout).filter(|_| !input.dropout.is_none())?;
    Some(LabelDropout { stream, dropout: input.dropout })
}

impl<T: Primitives> LabelInputs for Cpu<T> {
    fn show_labels(
        &self,
        problem: &CpuProblem<T>,
        input: LabelInput<'_, Self>,
        shown: &mut Vec<u8>,
        rows: &mut Buffer<T>,
    ) -> Result<()> {
        let (nodes, example) = (problem.nodes(), &problem.example);
        let choice = label_stream(input, Purpose::LabelChoice).filter(|_| !example.train.is_empty()).map(|stream| {
            LabelChoice { permutation: stream.permutation(example.train.len() as u64), shown: input.shown as u64 }
        });
        let (shown, rows) = (&mut shown[..nodes], &mut rows[..nodes * example.labels.classes()]);
        let (parts, dropout) = (&problem.input.rows, label_dropout(input));
        T::show_labels(parts, &example.labels, &problem.places, choice, dropout, shown, rows);
        Ok(())
    }

    fn reuse_labels(
        &self,
        problem: &CpuProblem<T>,
        input: LabelInput<'_, Self>,
        logits: &Buffer<T>,
        shown: &Vec<u8>,
        rows: &mut Buffer<T>,
    ) -> Result<()> {
        let (labels, dropout) = (&problem.example.labels, label_dropout(input));
        let rows = &mut rows[..problem.nodes() * labels.classes()];
        T::reuse_labels(&problem.input.rows, labels, shown, dropout, logits, rows);
        Ok(())
    }
}

impl<T: Primitives> LabelLosses for Cpu<T> {
    fn label_loss_backward(
        &self,
        problem: &CpuProblem<T>,
        logits: &Buffer<T>,
        LabelLoss { settings, shown }: LabelLoss<'_, Self>,
        gradient: &mut Buffer<T>,
        scratch: &mut CpuScratch<T>,
        place: Place<'_, Self>,
    ) -> Result<()> {
        let example = &problem.example;
        let length = problem.nodes() * example.labels.classes();
        let label = T::label_loss_backward(
            &problem.input.rows,
            &example.labels,
            &problem.chosen,
            LabelTerms {
                class_weights: example.class_weights.as_deref().unwrap_or(&[]),
                total: hidden_weight(
                    example.training_weight(),
                    example.train.len(),
                    shown.map_or(0, |(_, count)| count),
                ),
                shown: shown.map_or(&[], |(nodes, _)| nodes),
                settings,
            },
            &logits[..length],
            &mut gradient[..length],
            &mut scratch.losses,
        );
        place.record.losses[place.example] = [label, 0.0];
        Ok(())
    }

    fn evaluate(&self, problem: &CpuProblem<T>, logits: &Buffer<T>, place: Place<'_, Self>) -> Result<()> {
        let example = &problem.example;
        let logits = &logits[..problem.nodes() * example.labels.classes()];
        let lists = [&example.validation, &example.test];
        place.record.scores[place.example] = lists.map(|list| T::evaluate(&example.labels, list, logits));
        Ok(())
    }
}
