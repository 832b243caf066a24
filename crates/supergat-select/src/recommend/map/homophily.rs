//! Estimates the paper's homophily of a graph from the available labels, with a 95 % interval.
//!
//! h is the mean over nodes of the share of neighbours with the node's own class. With few labels there are
//! two sources of evidence, which are combined (`partial_estimate.rs`):
//!
//! - **Links between two labelled nodes** (`links.rs`): the share that agrees. This needs no assumption, but
//!   there may be few such links.
//! - **Features of the unlabelled neighbours of labelled nodes** (`features.rs`), scored by a classifier that
//!   does not use links.
//!
//! A labelled node i of class y represents its class with weight w_i = pi_y / n_y. n_y is the number of
//! labelled nodes of the class and pi_y the share of the class among all nodes, estimated from the
//! classifier's predictions and corrected for its errors. If most nodes are labelled, all weights are equal
//! and features are not used; nor are they if there are more classes than training nodes of the classifier.
//!
//! In directed graphs a node may be its own neighbour. The mean share o of self-loops among the neighbours of
//! a node is known without labels. With g the estimate for different nodes, h = o + (1 - o) g.
//!
//! If nodes have several classes, only links between labelled nodes are used, with the paper's share of
//! shared labels.

use super::density::Point;
use super::features::FeatureEvidence;
use super::fitted::{FittedClassifier, MAX_TRAINING_NODES};
use super::labelled::{Known, LabelledNodes, Unknown};
use super::links::LinkEvidence;
use super::partial_estimate::PartialEstimate;
use serde::Serialize;
use supergat_data::Dataset;
use supergat_numerics::homophily::agreement;

/// Evidence behind an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Links between labelled nodes.
    Links,
    /// Links between labelled nodes, and features of unlabelled neighbours.
    LinksAndFeatures,
    /// Features of unlabelled neighbours; no link joins two labelled nodes.
    Features,
}

/// Estimate of the homophily.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HomophilyEstimate {
    /// Estimated homophily.
    pub estimate: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// Standard error.
    pub error: f64,
    /// Evidence behind the estimate.
    pub from: Source,
    /// Number of labelled nodes.
    pub labelled: usize,
    /// Number of links between two labelled nodes.
    pub links: usize,
}

/// Returns log10 of the degree and the homophily of every labelled node, if most nodes are labelled and each
/// has one class. Leaves that are linked to another class are skipped, as in [`super::density`].
pub(super) fn points(dataset: &Dataset, known: Known) -> Option<Vec<Point>> {
    let sample = LabelledNodes::of(dataset, known).ok().filter(LabelledNodes::are_most_nodes)?;
    let of = |(i, (list, _)): (usize, &(Vec<u32>, f64))| {
        let (graph, node) = sample.nodes[i];
        let known = list.iter().filter(|other| sample.index[graph][**other as usize].is_some());
        let labels = &sample.examples[graph].labels;
        let agreements: Vec<f64> = known.filter_map(|other| agreement(labels, node, *other as usize)).collect();
        let (neighbours, same) = (agreements.len() as f64, agreements.iter().sum::<f64>());
        (neighbours > 1.0 || same > 0.0).then(|| [neighbours.log10(), same / neighbours])
    };
    (!dataset.is_multi_label()).then(|| sample.around.iter().enumerate().filter_map(of).collect())
}

/// Estimates the homophily of a dataset, using the labels in `known` only.
pub fn estimate(dataset: &Dataset, known: Known) -> Result<HomophilyEstimate, Unknown> {
    let sample = LabelledNodes::of(dataset, known)?;
    let links_only = dataset.is_multi_label() || sample.are_most_nodes() || sample.classes > MAX_TRAINING_NODES;
    let classifier = (!links_only).then(|| FittedClassifier::new(&sample));
    let weights = match &classifier {
        Some(classifier) => classifier.weights(&sample),
        None => vec![1.0 / sample.nodes.len() as f64; sample.nodes.len()],
    };
    let links = LinkEvidence::of(&sample, &weights);
    let features = classifier.and_then(|classifier| FeatureEvidence::of(&sample, &classifier, &weights));
    let (from, combined) = match (links.map(|links| links.estimate), features.map(|features| features.estimate())) {
        (Some(links), Some(features)) => (Source::LinksAndFeatures, links.combined_with(features)),
        (Some(links), None) => (Source::Links, links),
        (None, Some(features)) => (Source::Features, features),
        (None, None) => return Err(Unknown::NoEvidence),
    };
    let PartialEstimate { value, variance, reach } = combined;
    // Self-loops always agree.
    let rest = 1.0 - sample.loops;
    let value = sample.loops * sample.agreement_with_itself() + rest * value;
    let error = rest * variance.sqrt();
    let end = |sign: f64| (value + sign * reach * error).clamp(0.0, 1.0);
    Ok(HomophilyEstimate {
        estimate: value.clamp(0.0, 1.0),
        low: end(-1.0),
        high: end(1.0),
        error,
        from,
        labelled: sample.nodes.len(),
        links: links.map_or(0, |links| links.pairs),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Labels;

    fn generated(spec: &str) -> Dataset {
        supergat_data::load(&format!("random-partition:{spec}")).unwrap()
    }

    /// At least 90 % of the intervals of 240 graphs with twenty labels per class contain the homophily of all
    /// labels.
    #[test]
    fn intervals_contain_the_true_homophily() {
        let (mut contained, mut all, mut width) = (0, 0, 0.0);
        for homophily in [0.1, 0.3, 0.5, 0.7, 0.9] {
            for degree in [2.5, 10.0, 40.0] {
                for _ in 0..16 {
                    // Different seeds give different features and labelled nodes.
                    let spec = format!("classes=5,nodes=180,degree={degree},homophily={homophily},seed={all}");
                    let dataset = generated(&spec);
                    let truth = supergat_numerics::homophily::homophily(&dataset.examples).node.unwrap();
                    let estimate = estimate(&dataset, Known::Training).unwrap();
                    assert!(estimate.labelled == 100 && estimate.low < estimate.high);
                    contained += u32::from(estimate.low <= truth && truth <= estimate.high);
                    all += 1;
                    width += estimate.high - estimate.low;
                }
            }
        }
        let width = width / f64::from(all);
        assert!(contained * 10 >= all * 9, "{contained} of {all}");
        assert!(width < 0.2, "{width}");
    }

    #[test]
    fn returns_the_reason_without_evidence() {
        let dataset = generated("classes=4,nodes=180,degree=5,homophily=0.5");
        let with = |train: Vec<u32>| {
            let mut dataset = dataset.clone();
            (dataset.examples[0].train, dataset.examples[0].validation) = (train, Vec::new());
            estimate(&dataset, Known::TrainingAndValidation)
        };
        let Labels::Single { of, .. } = &dataset.examples[0].labels else { unreachable!("one class per node") };
        let of_class = |class: u32| (0..720u32).filter(move |i| of[*i as usize] == class);
        assert_eq!(with(Vec::new()), Err(Unknown::NoLabels));
        assert_eq!(with(of_class(2).take(9).collect()), Err(Unknown::OneClass));
        let three = [0, 1, 2].map(|class| of_class(class).next().unwrap());
        assert_eq!(with(three.to_vec()), Err(Unknown::TooFew { labelled: 3, classes: 4 }));
        let mut unlinked = dataset.clone();
        unlinked.examples[0].graph =
            supergat_core::Graph::from_edges(720, &[], supergat_core::Direction::Undirected).unwrap().into();
        assert_eq!(estimate(&unlinked, Known::Training), Err(Unknown::NoNeighbours));
    }

    /// 400 of 1000 nodes are labelled; the graph is a path.
    #[test]
    fn uses_links_only_with_too_many_classes() {
        let mut dataset = generated("classes=5,nodes=200,degree=5,homophily=0.5");
        let links: Vec<(u32, u32)> = (0..999).map(|i| (i, i + 1)).collect();
        let example = &mut dataset.examples[0];
        example.graph =
            supergat_core::Graph::from_edges(1000, &links, supergat_core::Direction::Undirected).unwrap().into();
        example.train = (0..400).collect();
        let from = |dataset: &Dataset| estimate(dataset, Known::Training).unwrap().from;
        assert_eq!(from(&dataset), Source::LinksAndFeatures);
        let classes = MAX_TRAINING_NODES + 1;
        let of = (0..1000).map(|i| (i / 2 % classes) as u32).collect();
        (dataset.examples[0].labels, dataset.class_names) =
            (Labels::Single { classes, of }, vec![String::new(); classes]);
        assert_eq!(from(&dataset), Source::Links);
    }

    /// Self-loops of directed graphs are neighbours, as in the paper.
    #[test]
    fn counts_self_loops_as_agreeing() {
        let mut dataset = generated("classes=4,nodes=180,degree=6,homophily=0.3");
        let links = (0..720u32).flat_map(|i| [(i, i), (i, (i + 180) % 720), (i, (i + 7) % 720)]);
        let links: Vec<(u32, u32)> = links.collect();
        dataset.examples[0].graph =
            supergat_core::Graph::from_edges(720, &links, supergat_core::Direction::Directed).unwrap().into();
        dataset.examples[0].train = (0..720).collect();
        let truth = supergat_numerics::homophily::homophily(&dataset.examples).node.unwrap();
        let found = estimate(&dataset, Known::Training).unwrap();
        assert!(truth > 0.5 && (found.estimate - truth).abs() < 0.003, "{truth} {found:?}");
    }

    #[test]
    fn equals_the_homophily_if_all_nodes_are_labelled() {
        let mut dataset = generated("classes=4,nodes=180,degree=6,homophily=0.6");
        dataset.examples[0].train = (0..720).collect();
        let truth = supergat_numerics::homophily::homophily(&dataset.examples).node.unwrap();
        let found = estimate(&dataset, Known::Training).unwrap();
        assert_eq!(found.from, Source::Links);
        assert!((found.estimate - truth).abs() < 0.003 && found.high - found.low < 0.12, "{found:?}");
    }
}
