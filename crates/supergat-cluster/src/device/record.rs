//! Losses and scores of an epoch by part, and their sums over all processes.

use crate::peers::{Peers, gather};
use supergat_core::device::Readings;
use supergat_core::{Counts, Error, Result};

/// Sums of one part.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PartSums {
    /// Loss of the labels, and losses on attention of all layers.
    pub(super) losses: [f64; 2],
    /// Losses and counts of the validation and the test nodes.
    pub(super) scores: [(f64, Counts); 2],
}

/// Words of the sums of a part in a message.
const WORDS: usize = 10;

impl PartSums {
    fn add_to(self, losses: &mut [f64; 2], scores: &mut [(f64, Counts); 2]) {
        for k in 0..2 {
            losses[k] += self.losses[k];
            scores[k].0 += self.scores[k].0;
            scores[k].1 += self.scores[k].1;
        }
    }

    fn to_words(self) -> [u64; WORDS] {
        let score = |(loss, counts): (f64, Counts)| [loss.to_bits(), counts.hits, counts.false_alarms, counts.misses];
        let ([a, b, c, d], [e, f, g, h]) = (score(self.scores[0]), score(self.scores[1]));
        [self.losses[0].to_bits(), self.losses[1].to_bits(), a, b, c, d, e, f, g, h]
    }

    fn from_words([x, y, a, b, c, d, e, f, g, h]: [u64; WORDS]) -> Self {
        let score = |[loss, hits, false_alarms, misses]: [u64; 4]| {
            (f64::from_bits(loss), Counts { hits, false_alarms, misses })
        };
        Self { losses: [x, y].map(f64::from_bits), scores: [[a, b, c, d], [e, f, g, h]].map(score) }
    }
}

/// Sums of the parts of this process, by example.
#[derive(Debug)]
pub struct ClusterRecord(pub(super) Vec<Vec<PartSums>>);

impl ClusterRecord {
    /// Adds the sums of all processes in the order of parts.
    pub(super) fn read(&self, peers: &dyn Peers, to: &mut Readings) -> Result<()> {
        let places = to.losses.iter_mut().zip(&mut to.scores);
        if peers.count() == 1 {
            for ((losses, scores), sums) in places.zip(&self.0) {
                (*losses, *scores) = ([0.0; 2], Default::default());
                sums.iter().for_each(|part| part.add_to(losses, scores));
            }
            return Ok(());
        }
        // A message has, for each example, the number of parts and their sums.
        let mut message = Vec::new();
        for sums in &self.0 {
            message.push(sums.len() as u64);
            sums.iter().for_each(|part| message.extend(part.to_words()));
        }
        let messages = gather(peers, &message)?;
        let mut rest: Vec<&[u64]> = messages.iter().map(Vec::as_slice).collect();
        for (losses, scores) in places {
            (*losses, *scores) = ([0.0; 2], Default::default());
            for message in &mut rest {
                next_example(message)?.iter().for_each(|part| PartSums::from_words(*part).add_to(losses, scores));
            }
        }
        Ok(())
    }
}

/// Takes the sums of the next example from a message.
fn next_example<'a>(message: &mut &'a [u64]) -> Result<&'a [[u64; WORDS]]> {
    let other = || Error::Peers { reason: "a process has other graphs than this one".into() };
    let (&parts, rest) = message.split_first().ok_or_else(other)?;
    let (sums, rest) = rest.split_at_checked(parts as usize * WORDS).ok_or_else(other)?;
    *message = rest;
    Ok(sums.as_chunks().0)
}
