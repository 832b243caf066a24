//! Homophily from the features of the unlabelled neighbours of labelled nodes, scored by a classifier that
//! does not use links.
//!
//! Let g_a(x) be the score for class a, always computed without the labelled node in question. Three weighted
//! means are known; a labelled node has weight w_i, and each of its links w_i divided by its degree:
//!
//! | mean | of |
//! |---|---|
//! | s | g_y(x_j), where j is an unlabelled neighbour of a labelled node of class y |
//! | p | g_y(x_i) of labelled nodes: the score of a neighbour of the same class |
//! | q | g_a(x_i) of labelled nodes of other classes than a: the score of a neighbour of another class |
//!
//! If scores depended on the class alone, s = h p + (1 - h) q, so h = (s - q) / (p - q). But linked nodes are
//! similar beyond their classes: a neighbour of another class may resemble the node it is linked with, which
//! makes h too large. With r_i = g(x_i) - (mean of g in the class of i), the share of a node's deviation that
//! its neighbours have in common with it is
//!
//! b = cov(r_i, g(x_j) given the class of i) / var(r_i).
//!
//! If all of it is due to links between classes, h is too large by b; if none is, h is correct. So h is taken
//! as uniformly distributed over the interval of length b below (s - q) / (p - q): b / 2 is subtracted, and
//! b^2 / 12 added to the variance. The rest of the variance is the sum of the squared contributions of the
//! labelled nodes to the estimate, to first order.

use super::fitted::FittedClassifier;
use super::labelled::LabelledNodes;
use super::partial_estimate::{NORMAL_REACH, PartialEstimate};

/// Smallest difference between p and q, in standard errors, at which features are used.
const CLEAR: f64 = 2.0;

/// Homophily from the features of unlabelled neighbours.
#[derive(Debug, Clone, Copy)]
pub(super) struct FeatureEvidence {
    /// The estimate (s - q) / (p - q).
    raw: f64,
    variance: f64,
    /// The share b.
    shared: f64,
}

/// Contribution of one labelled node to the three means: its weight and its weighted score.
struct Contribution {
    /// Contribution to s.
    links: [f64; 2],
    /// Contribution to p.
    own: [f64; 2],
    /// Contribution to q.
    others: [f64; 2],
}

impl FeatureEvidence {
    /// Computes the estimate; `None` if no labelled node has an unlabelled neighbour, or if features do not
    /// separate the classes.
    pub(super) fn of(sample: &LabelledNodes<'_>, classifier: &FittedClassifier<'_>, weights: &[f64]) -> Option<Self> {
        let own: Vec<Vec<f64>> = (0..weights.len()).map(|i| classifier.own_scores(sample, i)).collect();
        let links = unlabelled_links(sample, classifier, weights, MAX_SCORES);
        let contributions = contributions(sample, weights, &own, &links);
        let mean = |of: fn(&Contribution) -> [f64; 2]| {
            let [weight, sum] =
                contributions.iter().map(of).fold([0.0, 0.0], |[w, x], [weight, sum]| [w + weight, x + sum]);
            (weight > 0.0).then(|| (weight, sum / weight))
        };
        let (s_weight, s) = mean(|c| c.links)?;
        let ((p_weight, p), (q_weight, q)) = (mean(|c| c.own)?, mean(|c| c.others)?);
        let deviation = |[weight, sum]: [f64; 2], mean: f64, total: f64| (sum - mean * weight) / total;
        let parts = contributions.iter().map(|c| {
            [deviation(c.links, s, s_weight), deviation(c.own, p, p_weight), deviation(c.others, q, q_weight)]
        });
        let parts: Vec<[f64; 3]> = parts.collect();
        let gap = p - q;
        let gap_error = parts.iter().map(|[_, p, q]| (p - q).powi(2)).sum::<f64>().sqrt();
        if gap <= CLEAR * gap_error {
            return None;
        }
        let raw = (s - q) / gap;
        let (shared, of_shared) = shared(sample, weights, &own, &links);
        let squares = parts.iter().zip(of_shared).map(|([s, p, q], of_shared)| {
            let of_raw = (s - raw * p - (1.0 - raw) * q) / gap;
            (of_raw - of_shared / 2.0).powi(2)
        });
        let n = weights.len() as f64;
        let variance = squares.sum::<f64>() * n / (n - sample.classes as f64).max(1.0);
        Some(Self { raw, variance, shared })
    }

    /// Returns the estimate corrected for b, with its variance.
    pub(super) fn estimate(&self) -> PartialEstimate {
        PartialEstimate {
            value: self.raw - self.shared / 2.0,
            variance: self.variance + self.shared * self.shared / 12.0,
            reach: NORMAL_REACH,
        }
    }
}

/// A link from a labelled node to an unlabelled one: index of the labelled node, weight of the link, and
/// scores of the unlabelled node.
type UnlabelledLink = (usize, f64, Vec<f64>);

/// Maximum number of scores of neighbours kept in memory. If there are more, only every k-th labelled node is
/// used.
const MAX_SCORES: usize = 1 << 23;

fn unlabelled_links(
    sample: &LabelledNodes<'_>,
    classifier: &FittedClassifier<'_>,
    weights: &[f64],
    most: usize,
) -> Vec<UnlabelledLink> {
    let all: usize = sample.around.iter().map(|(list, _)| list.len() * sample.classes).sum();
    let mut links = Vec::new();
    for (i, (list, share)) in sample.around.iter().enumerate().step_by(all.div_ceil(most).max(1)) {
        let graph = sample.nodes[i].0;
        for &other in list.iter().filter(|other| sample.index[graph][**other as usize].is_none()) {
            links.push((i, weights[i] * share, classifier.scores_without((graph, other as usize), i)));
        }
    }
    links
}

fn contributions(
    sample: &LabelledNodes<'_>,
    weights: &[f64],
    own: &[Vec<f64>],
    links: &[UnlabelledLink],
) -> Vec<Contribution> {
    let mut shares = vec![0.0; sample.classes];
    sample.class_of.iter().zip(weights).for_each(|(class, weight)| shares[*class] += weight);
    let of = |i: usize| {
        let (class, weight) = (sample.class_of[i], weights[i]);
        let foreign = (0..sample.classes).filter(|a| *a != class && shares[*a] < 1.0);
        let others = foreign.map(|a| (weight * shares[a] / (1.0 - shares[a]), own[i][a]));
        let others = others.fold([0.0, 0.0], |[w, x], (weight, score)| [w + weight, x + weight * score]);
        Contribution { links: [0.0, 0.0], own: [weight, weight * own[i][class]], others }
    };
    let mut all: Vec<Contribution> = (0..weights.len()).map(of).collect();
    for (i, weight, scores) in links {
        let into = &mut all[*i].links;
        *into = [into[0] + weight, into[1] + weight * scores[sample.class_of[*i]]];
    }
    all
}

/// Returns the share b, from 0 to 1, and the contribution of each labelled node to its error.
fn shared(sample: &LabelledNodes<'_>, weights: &[f64], own: &[Vec<f64>], links: &[UnlabelledLink]) -> (f64, Vec<f64>) {
    let of_nodes = (0..weights.len()).map(|i| (sample.class_of[i], weights[i], &own[i][..]));
    let of_links = links.iter().map(|(i, weight, scores)| (sample.class_of[*i], *weight, &scores[..]));
    let node_means = class_means(sample.classes, of_nodes);
    let link_means = class_means(sample.classes, of_links);
    let residual = |i: usize, k: usize| own[i][k] - node_means[sample.class_of[i]][k];
    let classes = 0..sample.classes;
    let variances =
        (0..weights.len()).map(|i| weights[i] * classes.clone().map(|k| residual(i, k).powi(2)).sum::<f64>());
    let variances: Vec<f64> = variances.collect();
    let total: f64 = links.iter().map(|(_, weight, _)| weight).sum();
    let mut covariances = vec![0.0; weights.len()];
    for (i, weight, scores) in links {
        let mean = &link_means[sample.class_of[*i]];
        let product: f64 = classes.clone().map(|k| residual(*i, k) * (scores[k] - mean[k])).sum();
        covariances[*i] += weight / total * product;
    }
    let variance: f64 = variances.iter().sum();
    if variance <= 0.0 {
        return (0.0, vec![0.0; weights.len()]);
    }
    let b = covariances.iter().sum::<f64>() / variance;
    let errors = covariances.iter().zip(variances).map(|(c, v)| (c - b * v) / variance).collect();
    (b.clamp(0.0, 1.0), errors)
}

/// Returns the weighted mean of the scores in each class.
fn class_means<'a>(classes: usize, scores: impl Iterator<Item = (usize, f64, &'a [f64])>) -> Vec<Vec<f64>> {
    let (mut sums, mut totals) = (vec![vec![0.0; classes]; classes], vec![0.0; classes]);
    for (class, weight, scores) in scores {
        totals[class] += weight;
        sums[class].iter_mut().zip(scores).for_each(|(sum, score)| *sum += weight * score);
    }
    for (sums, total) in sums.iter_mut().zip(totals).filter(|(_, total)| *total > 0.0) {
        sums.iter_mut().for_each(|sum| *sum /= total);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::labelled::Known;
    use super::*;

    /// With memory for half of the scores, every second labelled node is used and the mean s is nearly the
    /// same.
    #[test]
    fn thins_labelled_nodes_if_there_are_too_many_scores() {
        let dataset = supergat_data::load("random-partition:classes=5,nodes=180,degree=10,homophily=0.6").unwrap();
        let sample = LabelledNodes::of(&dataset, Known::Training).unwrap();
        let classifier = FittedClassifier::new(&sample);
        let weights = classifier.weights(&sample);
        let scores: usize = sample.around.iter().map(|(list, _)| list.len() * sample.classes).sum();
        let [all, half] =
            [scores, scores.div_ceil(2)].map(|most| unlabelled_links(&sample, &classifier, &weights, most));
        assert!(half.iter().all(|(i, ..)| i % 2 == 0) && half.len() * 3 > all.len() && half.len() * 5 < all.len() * 3);
        let mean = |links: &[UnlabelledLink]| {
            let sum: f64 = links.iter().map(|(i, weight, scores)| weight * scores[sample.class_of[*i]]).sum();
            sum / links.iter().map(|(_, weight, _)| weight).sum::<f64>()
        };
        assert!((mean(&all) - mean(&half)).abs() < 0.1, "{} {}", mean(&all), mean(&half));
    }
}
