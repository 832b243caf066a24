//! Pairs of labelled nodes that an agreement model learns from.

use supergat_core::random::{Purpose, Stream};

/// Two nodes, and whether they have the same class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LabelledPair {
    /// Both nodes.
    pub(super) nodes: [u32; 2],
    /// Whether they have the same class.
    pub(super) agrees: bool,
}

/// Pairs of labelled nodes. Every tenth pair, chosen by a hash, is held out of training.
#[derive(Debug)]
pub(super) struct Pairs {
    nodes: Vec<u32>,
    class_of: Vec<u32>,
    by_class: Vec<Vec<u32>>,
    seed: u64,
}

/// One pair in this number is held out.
const HELD_OUT: u64 = 10;
/// Number of draws after which a pair of the wanted kind is given up.
const TRIES: usize = 200;

impl Pairs {
    /// Creates the pairs of the listed nodes; `class_of` has the class of each node of the graph.
    pub(super) fn new(nodes: &[u32], class_of: &[u32], classes: usize, seed: u64) -> Self {
        let mut by_class = vec![Vec::new(); classes];
        nodes.iter().for_each(|&node| by_class[class_of[node as usize] as usize].push(node));
        Self { nodes: nodes.to_vec(), class_of: class_of.to_vec(), by_class, seed }
    }

    /// Draws `count` pairs that are not held out, half of which agree. Pairs that cannot be found are left out. `drawn`
    /// counts the random numbers of the stream.
    pub(super) fn draw(&self, stream: Stream, drawn: &mut u64, count: usize, to: &mut Vec<LabelledPair>) {
        for k in 0..count {
            to.extend(self.find(&stream, drawn, k % 2 == 0, false));
        }
    }

    /// Returns up to `most` held-out pairs, half of which agree.
    pub(super) fn held_out(&self, most: usize) -> Vec<LabelledPair> {
        let (stream, mut drawn) = (Stream::new(self.seed, 1, 0, Purpose::AgreementHoldout), 0);
        (0..most).filter_map(|k| self.find(&stream, &mut drawn, k % 2 == 0, true)).collect()
    }

    /// Finds a pair that agrees or not, and is held out or not.
    fn find(&self, stream: &Stream, drawn: &mut u64, agrees: bool, held_out: bool) -> Option<LabelledPair> {
        let mut choose = |list: &[u32]| {
            *drawn += 1;
            list[stream.below(*drawn, list.len() as u64) as usize]
        };
        if self.nodes.is_empty() {
            return None;
        }
        for _ in 0..TRIES {
            let first = choose(&self.nodes);
            let class = self.class_of[first as usize];
            let second = choose(if agrees { &self.by_class[class as usize] } else { &self.nodes });
            let fits = first != second && (self.class_of[second as usize] == class) == agrees;
            if fits && self.is_held_out(first, second) == held_out {
                return Some(LabelledPair { nodes: [first, second], agrees });
            }
        }
        None
    }

    fn is_held_out(&self, first: u32, second: u32) -> bool {
        let pair = u64::from(first.min(second)) << 32 | u64::from(first.max(second));
        Stream::new(self.seed, 0, 0, Purpose::AgreementHoldout).below(pair, HELD_OUT) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_pairs_agree_and_none_is_held_out() {
        let classes = [0, 0, 1, 1, 2, 2];
        let pairs = Pairs::new(&[0, 1, 2, 3, 4, 5], &classes, 3, 7);
        let (mut drawn, mut batch) = (0, Vec::new());
        pairs.draw(Stream::new(7, 0, 0, Purpose::AgreementPairs), &mut drawn, 10, &mut batch);
        assert_eq!(batch.iter().filter(|pair| pair.agrees).count(), 5);
        let agrees = |pair: &LabelledPair| classes[pair.nodes[0] as usize] == classes[pair.nodes[1] as usize];
        assert!(batch.iter().all(|pair| pair.agrees == agrees(pair)));
        assert!(pairs.held_out(100).iter().all(|pair| !batch.contains(pair)));
    }
}
