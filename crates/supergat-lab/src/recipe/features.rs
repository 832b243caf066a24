//! Homophily from the features of the unlabelled neighbours of labelled nodes, seen through a classifier that does not look at links.
//!
//! Let g_a(x) be its score for class a, always as if the labelled node in question had not taught it. Weighed as the homophily wants it (each labelled node by w_i, each of its
//! links by one over its degree), three means are known:
//!
//! | mean | of |
//! |---|---|
//! | s | g_y(x_j), where j is an unlabelled neighbour of a labelled node of class y |
//! | p | g_y(x_i) of labelled nodes: what a neighbour of the same class scores |
//! | q | g_a(x_i) of labelled nodes of other classes than a: what a neighbour of another class scores |
//!
//! If scores depended on the class alone, s = h p + (1 - h) q, so h = (s - q) / (p - q). But neighbours are alike beyond their classes, and a neighbour of another class
//! may look like the node it is linked with, which makes h too large. By how much at most can be seen: with r_i = g(x_i) - (mean of g in the class of i),
//!
//! b = cov(r_i, g(x_j) given the class of i) / var(r_i)
//!
//! is how much of a node's deviation its neighbours share. If all of that sits on links between classes, these look like links within, and h is too large by b; if none does, h is right. So
//! h is taken as evenly spread over the b below (s - q) / (p - q): b / 2 is subtracted, and b^2 / 12 added to the variance. The rest of the variance
//! comes from the labelled nodes: the sum of the squares of what each of them adds to the estimate, to first order.

use super::part::{NORMAL_REACH, Part};
use super::sample::Sample;
use super::taught::Taught;

/// The scores must tell classes apart by so many standard errors.
const CLEAR: f64 = 2.0;

/// What features of neighbours say.
#[derive(Debug, Clone, Copy)]
pub(super) struct FeatureEvidence {
    /// (s - q) / (p - q).
    raw: f64,
    variance: f64,
    /// b.
    shared: f64,
}

/// What one labelled node contributes.
struct Contribution {
    /// Its part of the weights of s, and of s itself.
    links: [f64; 2],
    /// The same of p.
    own: [f64; 2],
    /// The same of q.
    others: [f64; 2],
}

impl FeatureEvidence {
    /// `None` where no labelled node has an unlabelled neighbour, or where features do not tell the classes apart.
    pub(super) fn of(sample: &Sample<'_>, taught: &Taught<'_>, weights: &[f64]) -> Option<Self> {
        let own: Vec<Vec<f64>> = (0..weights.len()).map(|i| taught.own(sample, i)).collect();
        let links = outward(sample, taught, weights, MOST_SCORES);
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

    /// As an estimate with its variance.
    pub(super) fn part(&self) -> Part {
        Part {
            value: self.raw - self.shared / 2.0,
            variance: self.variance + self.shared * self.shared / 12.0,
            reach: NORMAL_REACH,
        }
    }
}

/// A link from a labelled node to an unlabelled one: the labelled node, its weight, and the scores of the other.
type Outward = (usize, f64, Vec<f64>);

/// The most scores of neighbours that are kept; where there are more, only every so many labelled nodes are asked for theirs.
const MOST_SCORES: usize = 1 << 23;

fn outward(sample: &Sample<'_>, taught: &Taught<'_>, weights: &[f64], most: usize) -> Vec<Outward> {
    let all: usize = sample.around.iter().map(|(list, _)| list.len() * sample.classes).sum();
    let mut links = Vec::new();
    for (i, (list, share)) in sample.around.iter().enumerate().step_by(all.div_ceil(most).max(1)) {
        let graph = sample.places[i].0;
        for &other in list.iter().filter(|other| sample.number[graph][**other as usize].is_none()) {
            links.push((i, weights[i] * share, taught.without((graph, other as usize), i)));
        }
    }
    links
}

fn contributions(sample: &Sample<'_>, weights: &[f64], own: &[Vec<f64>], links: &[Outward]) -> Vec<Contribution> {
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

/// b above, between 0 and 1, and what each labelled node adds to its error.
fn shared(sample: &Sample<'_>, weights: &[f64], own: &[Vec<f64>], links: &[Outward]) -> (f64, Vec<f64>) {
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

/// Weighed mean of scores in each class.
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
    use super::*;
    use crate::recipe::Known;

    /// With room for half of the scores every second labelled node is asked for those of its neighbours, and the mean of s hardly moves.
    #[test]
    fn of_too_many_scores_an_even_part_is_kept() {
        let dataset = supergat_data::load("random-partition:classes=5,nodes=180,degree=10,homophily=0.6").unwrap();
        let sample = Sample::of(&dataset, Known::Training).unwrap();
        let taught = Taught::new(&sample);
        let weights = taught.weights(&sample);
        let scores: usize = sample.around.iter().map(|(list, _)| list.len() * sample.classes).sum();
        let [all, half] = [scores, scores.div_ceil(2)].map(|most| outward(&sample, &taught, &weights, most));
        assert!(half.iter().all(|(i, ..)| i % 2 == 0) && half.len() * 3 > all.len() && half.len() * 5 < all.len() * 3);
        let mean = |links: &[Outward]| {
            let sum: f64 = links.iter().map(|(i, weight, scores)| weight * scores[sample.class_of[*i]]).sum();
            sum / links.iter().map(|(_, weight, _)| weight).sum::<f64>()
        };
        assert!((mean(&all) - mean(&half)).abs() < 0.1, "{} {}", mean(&all), mean(&half));
    }
}
