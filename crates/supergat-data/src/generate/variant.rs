//! Variants of a dataset: a part of its nodes, other links, other features, other labels.
//!
//! They show how results depend on the noise of links, on features and on labels, with everything else as in the
//! original.

use super::spec::{key_values, require};
use crate::dataset::rows::feature_rows;
use crate::dataset::{Dataset, numbered};
use crate::error::{Error, Result};
use crate::words::count;
use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Direction, Example, Graph, Labels};

/// Prefix of the specifications of variants.
pub const NAME: &str = "variant";

/// Key of the original, which is the last one, because its value may contain commas.
const ORIGINAL: &str = "of=";
/// Keys in the order of the text.
const KEYS: &str = "nodes, loss, noise, feature-noise, labels, classes, seed or of, which is the last";
/// Shares of training, validation and test nodes of a variant for which no split is chosen.
const SHARES: &str = "60/20/20";

/// Where the labels of a variant come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VariantLabels {
    /// The labels of the original.
    #[default]
    Given,
    /// The classes of the original, in random order, in groups of about equal numbers of classes.
    Merged,
    /// Classes of about equal size by the number of neighbours.
    Degree,
}

/// A variant of another dataset.
///
/// As text: `variant:nodes=3000,noise=0.5,of=cora`. Every `key=value` but `of` is optional, and `of` is the last one.
///
/// ```
/// let original = "random-partition:classes=3,nodes=200,degree=6";
/// let noisy = supergat_data::load(&format!("variant:nodes=300,noise=1,of={original}"))?;
/// assert_eq!((noisy.nodes(), noisy.classes()), (300, 3));
/// # Ok::<(), supergat_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Number of nodes that are kept, with the links between them: a random node and those around it, nearest first.
    /// `None` keeps all.
    pub nodes: Option<usize>,
    /// Share of the links that are removed, from 0 to 1.
    pub loss: f64,
    /// Number of random links that are added, as a share of the links that are left.
    pub noise: f64,
    /// Share of the nodes that get the features of another random node, from 0 to 1.
    pub feature_noise: f64,
    /// Where the labels come from.
    pub labels: VariantLabels,
    /// Number of classes of labels that are not the given ones.
    pub classes: usize,
    /// Seed of all choices.
    pub seed: u64,
    /// The original dataset, in the form that [`crate::load`] accepts.
    pub of: String,
}

impl Variant {
    /// Derives the variant from its original. Its split is drawn anew: 60 % of the nodes for training, 20 % for validation
    /// and 20 % for testing.
    pub(crate) fn derive(&self, original: &Dataset) -> Result<Dataset> {
        let [example] = &original.examples[..] else { return Err(self.refused("one graph", "several graphs")) };
        let Labels::Single { classes, of } = &example.labels else {
            return Err(self.refused("one class per node", "several classes per node"));
        };
        if example.edges.is_some() {
            return Err(self.refused("links without weights and features", "links with them"));
        }
        let graph = &*example.graph;
        let kept = self.kept(graph);
        let mut number = vec![u32::MAX; graph.nodes()];
        kept.iter().zip(0u32..).for_each(|(&node, place)| number[node as usize] = place);
        let links = self.links(graph, &number, kept.len());
        let direction = graph.direction();
        let path = self.to_string();
        let path = Path::new(&path);
        let core = Error::core(path);
        let graph = Graph::from_edges(kept.len(), &links, direction).map_err(core)?;
        let features = feature_rows(&example.features, &self.shuffled(&kept)).map_err(core)?;
        let given: Vec<u32> = kept.iter().map(|&node| of[node as usize]).collect();
        let (of, class_names) = match self.labels {
            VariantLabels::Given => (given, original.class_names.clone()),
            VariantLabels::Merged => (self.merged(given, *classes)?, numbered(self.classes)),
            VariantLabels::Degree => (self.by_degree(&graph), numbered(self.classes)),
        };
        let labels = Labels::Single { classes: class_names.len(), of };
        let listed_links = links.len() as u64;
        let example = Example::new(graph, features, labels, [const { Vec::new() }; 3]).map_err(core)?;
        let mut dataset = Dataset {
            name: format!("{}-variant", original.name),
            examples: vec![example],
            class_names,
            listed_links,
            notes: vec![format!("a variant of {}: {}", original.name, self.description())],
            ..Dataset::default()
        };
        dataset.draw_by_shares(path, SHARES.parse()?, self.seed)?;
        Ok(dataset)
    }

    /// Returns the kept nodes in ascending order: breadth first from random nodes.
    fn kept(&self, graph: &Graph) -> Vec<u32> {
        let count = self.nodes.unwrap_or(usize::MAX).min(graph.nodes());
        if count == graph.nodes() {
            return (0..count as u32).collect();
        }
        let starts = self.stream(0, Purpose::SyntheticLabels).permutation(graph.nodes() as u64);
        let (mut kept, mut is_found, mut queue) =
            (Vec::with_capacity(count), vec![false; graph.nodes()], VecDeque::new());
        for start in (0..graph.nodes() as u64).map(|place| starts.apply(place) as u32) {
            if !std::mem::replace(&mut is_found[start as usize], true) {
                queue.push_back(start);
            }
            while let Some(node) = queue.pop_front().filter(|_| kept.len() < count) {
                kept.push(node);
                for &other in graph.incoming().of(node as usize) {
                    if !std::mem::replace(&mut is_found[other as usize], true) {
                        queue.push_back(other);
                    }
                }
            }
            if kept.len() == count {
                break;
            }
        }
        kept.sort_unstable();
        kept
    }

    /// Returns the links between kept nodes, some removed and random ones added. `number` is the new number of a node.
    fn links(&self, graph: &Graph, number: &[u32], nodes: usize) -> Vec<(u32, u32)> {
        let is_undirected = graph.direction() == Direction::Undirected;
        let mut links = Vec::new();
        for target in (0..graph.nodes()).filter(|&node| number[node] != u32::MAX) {
            let sources = graph.incoming().of(target).iter().filter(|&&source| source as usize != target);
            let sources = sources.filter(|&&source| !is_undirected || (source as usize) < target);
            let new = sources.map(|&source| (number[source as usize], number[target]));
            links.extend(new.filter(|&(source, _)| source != u32::MAX));
        }
        let chance = self.stream(0, Purpose::SyntheticEdges);
        if self.loss > 0.0 {
            let mut place = 0..;
            links.retain(|_| place.next().is_some_and(|link| chance.uniform(link) >= self.loss));
        }
        let ends = self.stream(1, Purpose::SyntheticEdges);
        let added = (self.noise * links.len() as f64).round() as u64;
        let end = |draw: u64| ends.below(draw, nodes as u64) as u32;
        let pairs = (0..added).map(|link| (end(2 * link), end(2 * link + 1)));
        links.extend(pairs.filter(|(source, target)| source != target));
        links
    }

    /// Returns the node of the original whose features each kept node has.
    fn shuffled(&self, kept: &[u32]) -> Vec<u32> {
        let chance = self.stream(0, Purpose::SyntheticFeatures);
        let other = self.stream(1, Purpose::SyntheticFeatures);
        let of = |(place, &node): (u64, &u32)| match chance.uniform(place) < self.feature_noise {
            true => kept[other.below(place, kept.len() as u64) as usize],
            false => node,
        };
        (0..).zip(kept).map(of).collect()
    }

    /// Returns the labels with classes in random groups.
    fn merged(&self, of: Vec<u32>, classes: usize) -> Result<Vec<u32>> {
        if self.classes > classes {
            return Err(
                self.refused(&format!("at most the {classes} classes of the original"), &self.classes.to_string())
            );
        }
        let order = self.stream(1, Purpose::SyntheticLabels).permutation(classes as u64);
        let group = |class: u32| match class {
            Labels::UNKNOWN => class,
            _ => (order.apply(u64::from(class)) * self.classes as u64 / classes as u64) as u32,
        };
        Ok(of.into_iter().map(group).collect())
    }

    /// Returns labels by the number of neighbours. Nodes with equal numbers are divided in the order of nodes.
    fn by_degree(&self, graph: &Graph) -> Vec<u32> {
        let mut order: Vec<usize> = (0..graph.nodes()).collect();
        order.sort_by_key(|&node| graph.degree(node));
        let mut of = vec![0; order.len()];
        for (place, &node) in order.iter().enumerate() {
            of[node] = (place * self.classes / order.len()) as u32;
        }
        of
    }

    fn stream(&self, step: u32, purpose: Purpose) -> Stream {
        // Layers above 0 are not used by generated graphs.
        Stream::new(self.seed, step, 1, purpose)
    }

    fn refused(&self, expected: &str, found: &str) -> Error {
        Error::spec(self.to_string(), expected, found)
    }

    fn check(&self) -> Result<()> {
        let is_share = |value: f64| (0.0..=1.0).contains(&value);
        let is_variant = self.of.strip_prefix(NAME).is_some_and(|rest| rest.starts_with(':'));
        let shares = [self.loss, self.feature_noise];
        require(self, self.nodes.is_none_or(|nodes| nodes >= 3), "at least 3 nodes", "fewer")?;
        require(self, shares.into_iter().all(is_share), "loss and feature-noise from 0 to 1", "another number")?;
        require(self, (0.0..=100.0).contains(&self.noise), "noise from 0 to 100", self.noise)?;
        require(self, (2..=1 << 16).contains(&self.classes), "from 2 to 65536 classes", self.classes)?;
        require(self, !is_variant, "an original that is no variant itself", &self.of)?;
        require(self, !self.of.is_empty(), "a dataset, as in of=cora", "none")
    }

    /// Returns the changes as words.
    fn description(&self) -> String {
        let mut words = Vec::new();
        if let Some(nodes) = self.nodes {
            words.push(format!("at most {}", count(nodes, "node")));
        }
        for (share, what) in [
            (self.loss, "of the links removed"),
            (self.noise, "as many random links added"),
            (self.feature_noise, "of the nodes with the features of others"),
        ] {
            if share > 0.0 {
                words.push(format!("{:.0} % {what}", 100.0 * share));
            }
        }
        match self.labels {
            VariantLabels::Given => {}
            VariantLabels::Merged => words.push(format!("classes merged to {}", self.classes)),
            VariantLabels::Degree => {
                words.push(format!("{} by the number of neighbours", count(self.classes, "class")))
            }
        }
        if words.is_empty() { "no change".to_owned() } else { words.join(", ") }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nodes, loss, noise, feature_noise, labels, classes, seed, of } = self;
        write!(f, "{NAME}:")?;
        if let Some(nodes) = nodes {
            write!(f, "nodes={nodes},")?;
        }
        for (key, share) in [("loss", loss), ("noise", noise), ("feature-noise", feature_noise)] {
            if *share != 0.0 {
                write!(f, "{key}={share},")?;
            }
        }
        match labels {
            VariantLabels::Given => {}
            VariantLabels::Merged => write!(f, "labels=merged,classes={classes},")?,
            VariantLabels::Degree => write!(f, "labels=degree,classes={classes},")?,
        }
        if *seed != 0 {
            write!(f, "seed={seed},")?;
        }
        write!(f, "{ORIGINAL}{of}")
    }
}

impl FromStr for Variant {
    type Err = Error;

    fn from_str(spec: &str) -> Result<Self> {
        let missing = || Error::spec(spec, "the original as the last setting, as in variant:noise=0.5,of=cora", spec);
        let (changes, of) = [":of=", ",of="]
            .iter()
            .filter_map(|mark| spec.find(mark).map(|place| (place, mark.len())))
            .min()
            .map(|(place, length)| (&spec[..place], &spec[place + length..]))
            .ok_or_else(missing)?;
        let mut variant = Self {
            nodes: None,
            loss: 0.0,
            noise: 0.0,
            feature_noise: 0.0,
            labels: VariantLabels::Given,
            classes: 2,
            seed: 0,
            of: of.to_owned(),
        };
        for setting in key_values(changes, NAME, "noise=0.5")? {
            match setting.key {
                "nodes" => variant.nodes = Some(setting.whole()?),
                "loss" => variant.loss = setting.number()?,
                "noise" => variant.noise = setting.number()?,
                "feature-noise" => variant.feature_noise = setting.number()?,
                "labels" => {
                    variant.labels = match setting.text() {
                        "given" => VariantLabels::Given,
                        "merged" => VariantLabels::Merged,
                        "degree" => VariantLabels::Degree,
                        _ => return Err(setting.wrong("given, merged or degree")),
                    }
                }
                "classes" => variant.classes = setting.whole()?,
                "seed" => variant.seed = setting.whole()?,
                _ => return Err(setting.unknown(KEYS)),
            }
        }
        variant.check()?;
        Ok(variant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;

    const ORIGINAL: &str = "random-partition:classes=4,nodes=200,degree=6,homophily=0.8";

    fn variant(changes: &str) -> Dataset {
        load(&format!("variant:{changes},of={ORIGINAL}")).unwrap()
    }

    fn edges(dataset: &Dataset) -> usize {
        dataset.examples[0].graph.edges() - dataset.nodes()
    }

    #[test]
    fn without_changes_only_the_split_differs() {
        let (same, original) = (load(&format!("variant:of={ORIGINAL}")).unwrap(), load(ORIGINAL).unwrap());
        let [a, b] = [&same, &original].map(|dataset| &dataset.examples[0]);
        assert_eq!((a.graph.incoming(), a.features.values()), (b.graph.incoming(), b.features.values()));
        assert_eq!(format!("{:?}", a.labels), format!("{:?}", b.labels));
        assert_eq!([&a.train, &a.validation, &a.test].map(Vec::len), [480, 160, 160]);
        assert_eq!(same.name, "random-partition-variant");
    }

    /// Links in both directions of a graph that is read as directed are different links.
    #[test]
    fn directed_links_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let nodes: String = (0..20).map(|k| format!("{k},{},{}\n", k % 2, k % 3)).collect();
        std::fs::write(folder.path().join("nodes.csv"), format!("id,label,x\n{nodes}")).unwrap();
        let links: String = (0..19).map(|k| format!("{k},{}\n{},{k}\n", k + 1, k + 1)).collect();
        std::fs::write(folder.path().join("edges.csv"), format!("source,target\n{links}")).unwrap();
        let tables = crate::TableOptions { directed: true, ..Default::default() };
        let options = crate::LoadOptions { tables, ..Default::default() };
        let read = |source: &str| crate::load_with(source, &options).unwrap();
        let path = folder.path().display();
        assert_eq!(edges(&read(&format!("variant:of={path}"))), edges(&read(&path.to_string())));
    }

    #[test]
    fn a_part_is_an_induced_connected_subgraph() {
        let (part, original) = (variant("nodes=150,seed=3"), load(ORIGINAL).unwrap());
        assert_eq!(part.nodes(), 150);
        // Breadth first, nearly all links of the first nodes are kept; a random choice would keep 150 / 800 of them.
        let kept = edges(&part) as f64 / 150.0;
        let all = edges(&original) as f64 / 800.0;
        assert!(kept > 0.35 * all, "{kept} of {all}");
        assert_eq!(edges(&variant("nodes=150,seed=3")), edges(&part));
        assert_ne!(variant("nodes=150,seed=4").examples[0].graph.incoming(), part.examples[0].graph.incoming());
        assert_eq!(variant("nodes=5000").nodes(), 800);
    }

    #[test]
    fn links_are_removed_and_added() {
        let all = edges(&load(ORIGINAL).unwrap()) as f64;
        let share = |changes: &str| edges(&variant(changes)) as f64 / all;
        assert!((share("loss=0.5") - 0.5).abs() < 0.05 && (share("noise=1") - 2.0).abs() < 0.05);
        assert_eq!(share("loss=1"), 0.0);
        let homophily = |dataset: &Dataset| {
            let example = &dataset.examples[0];
            let Labels::Single { of, .. } = &example.labels else { unreachable!() };
            let neighbours = (0..of.len()).flat_map(|node| {
                let others = example.graph.incoming().of(node).iter().filter(move |&&other| other as usize != node);
                others.map(move |&other| f64::from(of[other as usize] == of[node]))
            });
            neighbours.sum::<f64>() / edges(dataset) as f64
        };
        let (pure, noisy) = (homophily(&variant("seed=1")), homophily(&variant("noise=1,seed=1")));
        assert!(pure > 0.75 && noisy < 0.6, "{pure} {noisy}");
    }

    #[test]
    fn features_are_exchanged() {
        let (original, noisy) = (load(ORIGINAL).unwrap(), variant("feature-noise=0.3"));
        let [a, b] = [&original, &noisy].map(|dataset| dataset.examples[0].features.values().to_vec());
        let changed = a.chunks(2).zip(b.chunks(2)).filter(|(a, b)| a != b).count() as f64 / 800.0;
        assert!((changed - 0.3).abs() < 0.05, "{changed}");
    }

    #[test]
    fn labels_are_merged_or_degrees() {
        let merged = variant("labels=merged,classes=2");
        let Labels::Single { of, classes: 2 } = &merged.examples[0].labels else { panic!() };
        assert_eq!(of.iter().filter(|&&class| class == 1).count(), 400);
        let degree = variant("labels=degree,classes=5");
        let example = &degree.examples[0];
        let Labels::Single { of, classes: 5 } = &example.labels else { panic!() };
        let mean = |class: u32| {
            let nodes: Vec<usize> = (0..800).filter(|&node| of[node] == class).collect();
            assert_eq!(nodes.len(), 160);
            nodes.iter().map(|&node| example.graph.degree(node)).sum::<usize>() as f64 / 160.0
        };
        assert!((1..5).all(|class| mean(class) > mean(class - 1)));
        assert!(load(&format!("variant:labels=merged,classes=5,of={ORIGINAL}")).is_err());
    }

    #[test]
    fn parses_valid_and_rejects_invalid_specifications() {
        for text in ["variant:of=cora", "variant:nodes=30,noise=0.5,labels=degree,classes=3,seed=2,of=a:b=1,c=2"] {
            assert_eq!(text.parse::<Variant>().unwrap().to_string(), text);
        }
        for bad in [
            "variant",
            "variant:noise=1",
            "variant:of=",
            "variant:nodes=1,of=cora",
            "variant:loss=2,of=cora",
            "variant:noise=-1,of=cora",
            "variant:labels=colour,of=cora",
            "variant:classes=1,of=cora",
            "variant:size=1,of=cora",
            "variant:of=variant:of=cora",
        ] {
            assert!(matches!(bad.parse::<Variant>(), Err(Error::Spec { .. })), "{bad}");
        }
        let error = load("variant:noise=1,of=corra").unwrap_err().to_string();
        assert!(error.contains("cora"), "{error}");
    }
}
