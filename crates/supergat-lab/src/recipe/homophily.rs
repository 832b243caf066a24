//! The paper's homophily of a graph, estimated from the labels there are, with a 95 % interval.
//!
//! h is the mean over nodes of the share of neighbours with the node's own class. With few labels two things speak of it, and both are combined (`part.rs`):
//!
//! - **Links between two labelled nodes** (`links.rs`): the share that agrees. Nothing is assumed, but there may be hardly any.
//! - **Features of the unlabelled neighbours of labelled nodes** (`features.rs`), seen through a classifier that does not look at links.
//!
//! A labelled node i of class y stands for its class: it weighs w_i = pi_y / n_y, where n_y nodes of the class are labelled and pi_y is its share among all nodes,
//! which the classifier's predictions tell after its errors are taken out. Where most nodes are labelled each stands for itself, and features are not asked; nor are they where
//! there are more classes than nodes may teach the classifier.
//!
//! Where links have a direction a node may be its own neighbour. How often is known without labels: with o the mean share of a node's neighbours that is the node itself,
//! and g what was found between different nodes, h = o + (1 - o) g.
//!
//! Where a node may have several classes, only links between labelled nodes are counted, by the paper's share of shared labels.

use super::features::FeatureEvidence;
use super::links::LinkEvidence;
use super::part::Part;
use super::sample::{Known, Sample, Unknown};
use super::taught::{TAUGHT, Taught};
use crate::density::Point;
use crate::graph_statistics::agreement;
use serde::Serialize;
use supergat_data::Dataset;

/// What an estimate comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Links between labelled nodes.
    Links,
    /// These, and features of neighbours.
    LinksAndFeatures,
    /// Features of neighbours; no link joins two labelled nodes.
    Features,
}

/// An estimate of the homophily.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HomophilyEstimate {
    /// The estimate.
    pub estimate: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Its standard error.
    pub error: f64,
    /// What it comes from.
    pub from: Source,
    /// Labelled nodes.
    pub labelled: usize,
    /// Links between two of them.
    pub links: usize,
}

/// Log10 of the degree and homophily of every labelled node, where most nodes are labelled and each has one class; without leaves that are linked to another class, as in
/// [`crate::density`].
pub(super) fn points(dataset: &Dataset, known: Known) -> Option<Vec<Point>> {
    let sample = Sample::of(dataset, known).ok().filter(Sample::speaks_for_itself)?;
    let of = |(i, (list, _)): (usize, &(Vec<u32>, f64))| {
        let (graph, node) = sample.places[i];
        let known = list.iter().filter(|other| sample.number[graph][**other as usize].is_some());
        let labels = &sample.examples[graph].labels;
        let agreements: Vec<f64> = known.filter_map(|other| agreement(labels, node, *other as usize)).collect();
        let (neighbours, same) = (agreements.len() as f64, agreements.iter().sum::<f64>());
        (neighbours > 1.0 || same > 0.0).then(|| [neighbours.log10(), same / neighbours])
    };
    (!dataset.is_multi_label()).then(|| sample.around.iter().enumerate().filter_map(of).collect())
}

/// Estimates the homophily of a dataset from the labels that may be looked at.
pub fn estimate(dataset: &Dataset, known: Known) -> Result<HomophilyEstimate, Unknown> {
    let sample = Sample::of(dataset, known)?;
    let alone = dataset.is_multi_label() || sample.speaks_for_itself() || sample.classes > TAUGHT;
    let classifier = (!alone).then(|| Taught::new(&sample));
    let weights = match &classifier {
        Some(taught) => taught.weights(&sample),
        None => vec![1.0 / sample.places.len() as f64; sample.places.len()],
    };
    let links = LinkEvidence::of(&sample, &weights);
    let features = classifier.and_then(|taught| FeatureEvidence::of(&sample, &taught, &weights));
    let (from, part) = match (links.map(|links| links.part), features.map(|features| features.part())) {
        (Some(links), Some(features)) => (Source::LinksAndFeatures, links.and(features)),
        (Some(links), None) => (Source::Links, links),
        (None, Some(features)) => (Source::Features, features),
        (None, None) => return Err(Unknown::NoEvidence),
    };
    let Part { value, variance, reach } = part;
    // Links of nodes with themselves agree by nature.
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
        labelled: sample.places.len(),
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

    /// Of 240 random partition graphs with twenty labels per class, at least nine in ten intervals hold the homophily of all labels.
    #[test]
    fn intervals_hold_the_truth() {
        let (mut held, mut all, mut width) = (0, 0, 0.0);
        for homophily in [0.1, 0.3, 0.5, 0.7, 0.9] {
            for degree in [2.5, 10.0, 40.0] {
                for _ in 0..16 {
                    // Every graph has a seed of its own: with the same one, features and labelled nodes would be the same.
                    let spec = format!("classes=5,nodes=180,degree={degree},homophily={homophily},seed={all}");
                    let dataset = generated(&spec);
                    let truth = crate::graph_statistics::homophily(&dataset.examples).node.unwrap();
                    let estimate = estimate(&dataset, Known::Training).unwrap();
                    assert!(estimate.labelled == 100 && estimate.low < estimate.high);
                    held += u32::from(estimate.low <= truth && truth <= estimate.high);
                    all += 1;
                    width += estimate.high - estimate.low;
                }
            }
        }
        let width = width / f64::from(all);
        assert!(held * 10 >= all * 9, "{held} of {all}");
        assert!(width < 0.2, "{width}");
    }

    #[test]
    fn what_cannot_be_known_is_not_invented() {
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
        let mut lonely = dataset.clone();
        lonely.examples[0].graph =
            supergat_core::Graph::from_edges(720, &[], supergat_core::Direction::Undirected).unwrap().into();
        assert_eq!(estimate(&lonely, Known::Training), Err(Unknown::NoNeighbours));
    }

    /// Four hundred of a thousand nodes are labelled; a link joins each with the next one.
    #[test]
    fn more_classes_than_can_be_taught_leave_links() {
        let mut dataset = generated("classes=5,nodes=200,degree=5,homophily=0.5");
        let links: Vec<(u32, u32)> = (0..999).map(|i| (i, i + 1)).collect();
        let example = &mut dataset.examples[0];
        example.graph =
            supergat_core::Graph::from_edges(1000, &links, supergat_core::Direction::Undirected).unwrap().into();
        example.train = (0..400).collect();
        let from = |dataset: &Dataset| estimate(dataset, Known::Training).unwrap().from;
        assert_eq!(from(&dataset), Source::LinksAndFeatures);
        let classes = TAUGHT + 1;
        let of = (0..1000).map(|i| (i / 2 % classes) as u32).collect();
        (dataset.examples[0].labels, dataset.class_names) =
            (Labels::Single { classes, of }, vec![String::new(); classes]);
        assert_eq!(from(&dataset), Source::Links);
    }

    /// Links of nodes with themselves count as the paper counts them, in graphs with directions.
    #[test]
    fn loops_agree_by_nature() {
        let mut dataset = generated("classes=4,nodes=180,degree=6,homophily=0.3");
        let links = (0..720u32).flat_map(|i| [(i, i), (i, (i + 180) % 720), (i, (i + 7) % 720)]);
        let links: Vec<(u32, u32)> = links.collect();
        dataset.examples[0].graph =
            supergat_core::Graph::from_edges(720, &links, supergat_core::Direction::Directed).unwrap().into();
        dataset.examples[0].train = (0..720).collect();
        let truth = crate::graph_statistics::homophily(&dataset.examples).node.unwrap();
        let found = estimate(&dataset, Known::Training).unwrap();
        assert!(truth > 0.5 && (found.estimate - truth).abs() < 0.003, "{truth} {found:?}");
    }

    /// Where all nodes are labelled the estimate is the homophily itself.
    #[test]
    fn with_all_labels_it_is_the_homophily() {
        let mut dataset = generated("classes=4,nodes=180,degree=6,homophily=0.6");
        dataset.examples[0].train = (0..720).collect();
        let truth = crate::graph_statistics::homophily(&dataset.examples).node.unwrap();
        let found = estimate(&dataset, Known::Training).unwrap();
        assert_eq!(found.from, Source::Links);
        assert!((found.estimate - truth).abs() < 0.003 && found.high - found.low < 0.12, "{found:?}");
    }
}
