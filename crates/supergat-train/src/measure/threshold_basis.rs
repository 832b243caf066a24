//! Number of validation nodes that the choice of a threshold rests on.

use supergat_core::Labels;
use supergat_numerics::metrics::ThresholdRule;
use supergat_numerics::statistics::{Interval, wilson};

/// Validation nodes that the choice of a threshold rests on, and the metric of its rule on them.
///
/// The interval is Wilson's for recall and precision, which are shares of nodes. F1 is `2 s / (1 + s)` with `s` the share
/// of hits among the nodes that have or get the positive class, so its interval follows from that of the share. The
/// threshold was chosen on the same nodes, so the metric is likely to be lower on others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThresholdBasis {
    /// Rule of the choice.
    pub rule: ThresholdRule,
    /// Number of nodes of the positive class, or for a precision, of nodes that get it.
    pub nodes: usize,
    /// Metric of the rule on the validation nodes.
    pub value: f64,
    /// Confidence interval of the metric at 95 %.
    pub interval: Interval,
}

impl ThresholdBasis {
    /// Counts the nodes with their labels and predicted classes; returns `None` for a probability that the user chose,
    /// and without such nodes.
    pub(crate) fn of(rule: ThresholdRule, labels: &Labels, predicted: &Labels, positive: usize) -> Option<Self> {
        let (Labels::Single { of, .. }, Labels::Single { of: predicted, .. }) = (labels, predicted) else {
            return None;
        };
        let is = |class: &u32| *class as usize == positive;
        let count = |test: &dyn Fn(&u32, &u32) -> bool| of.iter().zip(predicted).filter(|(a, b)| test(a, b)).count();
        let hits = count(&|label, class| is(label) && is(class));
        let nodes = match rule {
            ThresholdRule::Recall(_) | ThresholdRule::F1 => count(&|label, _| is(label)),
            ThresholdRule::Precision(_) => count(&|_, class| is(class)),
            ThresholdRule::Value(_) => return None,
        };
        let all = if rule == ThresholdRule::F1 { count(&|label, class| is(label) || is(class)) } else { nodes };
        let Interval { low, high } = wilson(hits, all).ok()?;
        let metric = |share: f64| if rule == ThresholdRule::F1 { 2.0 * share / (1.0 + share) } else { share };
        let interval = Interval { low: metric(low), high: metric(high) };
        Some(Self { rule, nodes, value: metric(hits as f64 / all as f64), interval })
    }

    /// Returns a warning that the nodes are few. `of_seeds` says how many seeds it is about.
    pub(crate) fn warning(&self, class: &str, of_seeds: &str) -> String {
        let Self { rule, nodes, value, interval: Interval { low, high } } = self;
        let (metric, nodes_of) = match rule {
            ThresholdRule::Recall(_) => ("recall", "of the class"),
            ThresholdRule::Precision(_) => ("precision", "that get the class"),
            ThresholdRule::F1 | ThresholdRule::Value(_) => ("F1", "of the class"),
        };
        format!(
            "the threshold{of_seeds} for {rule} rests on {nodes} validation nodes {nodes_of} `{class}`: the {metric} of \
             {:.1} % on them has a 95 % interval from {:.1} to {:.1} %, and is likely to be lower on other nodes; use more \
             validation nodes of this class",
            100.0 * value,
            100.0 * low,
            100.0 * high
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_nodes_of_each_rule() {
        let labels = |of: &[u32]| Labels::Single { classes: 2, of: of.to_vec() };
        // Four hits, one miss, two false alarms.
        let (of, predicted) = (labels(&[1, 1, 1, 1, 1, 0, 0, 0]), labels(&[1, 1, 1, 1, 0, 1, 1, 0]));
        let basis = |rule: &str| ThresholdBasis::of(rule.parse().unwrap(), &of, &predicted, 1);
        let found = |rule: &str| basis(rule).map(|basis| (basis.nodes, basis.value));
        assert_eq!(found("recall=0.8"), Some((5, 0.8)));
        assert_eq!(found("precision=0.5"), Some((6, 4.0 / 6.0)));
        let (nodes, f1) = found("f1").unwrap();
        assert!(nodes == 5 && (f1 - 8.0 / 11.0).abs() < 1e-12);
        assert_eq!(found("0.5"), None);
        assert_eq!(basis("recall=0.8").unwrap().interval, wilson(4, 5).unwrap());
        assert_eq!(ThresholdBasis::of(ThresholdRule::Recall(0.8), &labels(&[0]), &labels(&[0]), 1), None);
    }
}
