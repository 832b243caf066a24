//! Random splits by shares of the labelled nodes.

use super::Dataset;
use crate::error::{Error, Result};
use crate::options::{Shares, SplitChoice};
use std::path::Path;
use supergat_core::Labels;
use supergat_core::random::{Purpose, Stream};

/// Layer of the random numbers, which splits by class do not use.
const LAYER: u16 = 1;

impl Shares {
    /// Draws training, validation and test nodes from the labelled nodes of each graph, uniformly over all of them.
    /// Returns an error if a list would be empty.
    pub(crate) fn draw(self, path: &Path, labels: &[&Labels], seed: u64) -> Result<Vec<[Vec<u32>; 3]>> {
        let mut nodes: Vec<(u32, u32)> = Vec::new();
        for (graph, labels) in (0..).zip(labels) {
            let known = (0..labels.nodes() as u32).filter(|node| labels.is_known(*node as usize));
            nodes.extend(known.map(|node| (graph, node)));
        }
        let sizes = self.sizes(nodes.len());
        if sizes.contains(&0) {
            let expected = "at least one node each for training, validation and testing; choose other shares";
            let sizes = sizes.map(|size| size.to_string()).join(", ");
            let found = format!("{sizes} of the {} labelled nodes", nodes.len());
            return Err(Error::mismatch(path, format!("split random:{self}"), expected, found));
        }
        Stream::new(seed, 0, LAYER, Purpose::Split).shuffle(&mut nodes);
        let mut splits = vec![[const { Vec::new() }; 3]; labels.len()];
        let mut rest = &nodes[..];
        for (list, size) in sizes.into_iter().enumerate() {
            let (drawn, others) = rest.split_at(size);
            drawn.iter().for_each(|&(graph, node)| splits[graph as usize][list].push(node));
            rest = others;
        }
        splits.iter_mut().flatten().for_each(|list| list.sort_unstable());
        Ok(splits)
    }
}

impl Dataset {
    /// Returns a copy with a random split by shares of the labelled nodes of all graphs. Fails if a part would be
    /// empty.
    ///
    /// ```
    /// let dataset = supergat_data::load("random-partition:classes=2,nodes=200,degree=4")?;
    /// let half = dataset.drawn_by_shares("50/25/25".parse()?, 7)?;
    /// assert_eq!((half.examples[0].train.len(), half.examples[0].test.len()), (200, 100));
    /// # Ok::<(), supergat_data::Error>(())
    /// ```
    pub fn drawn_by_shares(&self, shares: Shares, seed: u64) -> Result<Self> {
        let mut dataset = self.clone();
        dataset.draw_by_shares(Path::new(&self.name), shares, seed)?;
        if let Some(origin) = &mut dataset.origin {
            origin.split = SplitChoice::Shares { shares, seed };
        }
        Ok(dataset)
    }

    /// Replaces the split by a random one. Errors name the dataset by `path`.
    pub(crate) fn draw_by_shares(&mut self, path: &Path, shares: Shares, seed: u64) -> Result<()> {
        let labels: Vec<&Labels> = self.examples.iter().map(|example| &example.labels).collect();
        let splits = shares.draw(path, &labels, seed)?;
        for (example, split) in self.examples.iter_mut().zip(splits) {
            [example.train, example.validation, example.test] = split;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(shares: &str, labels: &[&Labels], seed: u64) -> Result<Vec<[Vec<u32>; 3]>> {
        shares.parse::<Shares>()?.draw(Path::new("here"), labels, seed)
    }

    #[test]
    fn draws_every_labelled_node_once() {
        let of = (0..101).map(|node| if node == 50 { Labels::UNKNOWN } else { node % 3 }).collect();
        let single = Labels::Single { classes: 3, of };
        let [split] = &drawn("60/20/20", &[&single], 4).unwrap()[..] else { panic!("one graph") };
        assert_eq!([0, 1, 2].map(|list| split[list].len()), [60, 20, 20]);
        let mut all = split.concat();
        all.sort_unstable();
        assert_eq!(all, (0..101).filter(|&node| node != 50).collect::<Vec<_>>());
        assert!(split.iter().all(|list| list.is_sorted()));
        assert_eq!(drawn("60/20/20", &[&single], 4).unwrap()[0], *split);
        assert_ne!(drawn("60/20/20", &[&single], 5).unwrap()[0], *split);
    }

    #[test]
    fn draws_from_all_graphs_together() {
        let graph = Labels::Multi { classes: 2, of: vec![0; 2 * 50] };
        let splits = drawn("10/10/80", &[&graph, &graph], 0).unwrap();
        let sizes = |list: usize| splits.iter().map(|split| split[list].len()).sum::<usize>();
        assert_eq!([0, 1, 2].map(sizes), [10, 10, 80]);
        assert_ne!(splits[0], splits[1]);
    }

    /// The share of training nodes of each of ten equal ranges is close to 30 %.
    #[test]
    fn draws_uniformly() {
        let labels = Labels::Single { classes: 1, of: vec![0; 10_000] };
        let split = &drawn("30/30/40", &[&labels], 11).unwrap()[0];
        for range in 0..10 {
            let count = split[0].iter().filter(|&&node| node / 1000 == range).count();
            assert!((240..360).contains(&count), "{count} of 1000, four standard deviations from 300");
        }
    }

    #[test]
    fn refuses_empty_parts() {
        let labels = Labels::Single { classes: 1, of: vec![0, 0, 0, Labels::UNKNOWN] };
        assert!(drawn("34/33/33", &[&labels], 0).is_ok());
        let error = drawn("80/10/10", &[&labels], 0).unwrap_err().to_string();
        assert_eq!(
            error,
            "here: split random:80/10/10: expected at least one node each for training, validation and testing; choose \
             other shares, found 2, 1, 0 of the 3 labelled nodes"
        );
    }
}
