//! Counts behind accuracy and micro-F1.

use crate::real::Real;

/// Counts behind accuracy and micro-F1; counts of several graphs can be added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// True positives: nodes with the right class, or pairs of a node and a class.
    pub hits: u64,
    /// False positives: classes predicted but not true.
    pub false_alarms: u64,
    /// False negatives: classes true but not predicted.
    pub misses: u64,
}

impl Counts {
    /// Returns 2 hits / (2 hits + false alarms + misses), 0 without any. With single labels each wrong node
    /// is a false alarm and a miss, so this is the accuracy.
    pub fn micro_f1(&self) -> f64 {
        let denominator = 2 * self.hits + self.false_alarms + self.misses;
        if denominator == 0 { 0.0 } else { 2.0 * self.hits as f64 / denominator as f64 }
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.hits += other.hits;
        self.false_alarms += other.false_alarms;
        self.misses += other.misses;
    }
}

/// Returns the index of the largest number, the first one of several.
pub fn argmax<T: Real>(values: &[T]) -> usize {
    let mut best = 0;
    for (k, v) in values.iter().enumerate() {
        if *v > values[best] {
            best = k;
        }
    }
    best
}
