//! Weights and features of the edges of a graph.

use crate::error::{Error, Result};
use crate::graph::{Direction, Graph};
use crate::order::NodeOrder;
use crate::real::Real;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Rule for edges that are listed several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// Weights are added, features are averaged.
    #[default]
    Sum,
    /// The largest weight, and the largest value of each feature.
    Max,
    /// The first link counts.
    First,
    /// An error.
    Error,
}

impl std::str::FromStr for Duplicates {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        match name {
            "sum" => Ok(Self::Sum),
            "max" => Ok(Self::Max),
            "first" => Ok(Self::First),
            "error" => Ok(Self::Error),
            _ => Err("must be sum, max, first or error".to_owned()),
        }
    }
}

/// Weights and features of all edges of a graph. A self-loop has weight 1 and the mean of the features of its node's
/// incoming edges, or zeros if there are none.
///
/// ```
/// use supergat_core::{Duplicates, EdgeAttributes};
/// use supergat_core::{Direction, Graph};
/// let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], Direction::Undirected)?;
/// let attributes = EdgeAttributes::of_links(&graph, Some(&[2.0, 0.5]), 1, &[1.0f32, 3.0], Duplicates::Sum)?;
/// let edge = graph.position(1, 0).unwrap();
/// assert_eq!((attributes.weights()[edge], attributes.features_of(edge)), (2.0, &[1.0][..]));
/// // The self-loop of node 1, which has two neighbours.
/// let edge = graph.position(1, 1).unwrap();
/// assert_eq!((attributes.weights()[edge], attributes.features_of(edge)), (1.0, &[2.0][..]));
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeAttributes<T> {
    weights: Vec<T>,
    features: Vec<T>,
    width: usize,
}

impl<T: Real> EdgeAttributes<T> {
    /// Takes weights and `width` features of each link that the graph was built from. Links of an undirected graph
    /// have them in both directions. Fails if a weight is not positive and finite, a feature is not finite, or lists
    /// have other lengths; and for duplicate links with [`Duplicates::Error`].
    pub fn of_links(
        graph: &Graph,
        weights: Option<&[f64]>,
        width: usize,
        features: &[T],
        duplicates: Duplicates,
    ) -> Result<Self> {
        Self::merged(graph, weights, width, features, duplicates, false)
    }

    /// As [`Self::of_links`], with features that depend on the direction of a link: edges have `2 * width` features,
    /// those of the links in their direction, followed by those of the links against it.
    ///
    /// ```
    /// use supergat_core::{Duplicates, EdgeAttributes};
    /// use supergat_core::{Direction, Graph};
    /// let graph = Graph::from_edges(2, &[(0, 1)], Direction::Undirected)?;
    /// let attributes = EdgeAttributes::of_two_way_links(&graph, None, 1, &[3.0f32], Duplicates::Sum)?;
    /// assert_eq!(attributes.features_of(graph.position(0, 1).unwrap()), [3.0, 0.0]);
    /// assert_eq!(attributes.features_of(graph.position(1, 0).unwrap()), [0.0, 3.0]);
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn of_two_way_links(
        graph: &Graph,
        weights: Option<&[f64]>,
        width: usize,
        features: &[T],
        duplicates: Duplicates,
    ) -> Result<Self> {
        Self::merged(graph, weights, width, features, duplicates, true)
    }

    fn merged(
        graph: &Graph,
        weights: Option<&[f64]>,
        given: usize,
        features: &[T],
        duplicates: Duplicates,
        two_way: bool,
    ) -> Result<Self> {
        let width = if two_way { 2 * given } else { given };
        let links = graph.position_of_input();
        let mismatch = |what, expected, found| Err(Error::SizeMismatch { what, expected, found });
        if let Some(weights) = weights.filter(|weights| weights.len() != links.len()) {
            return mismatch("weights of links (one per link)", links.len(), weights.len());
        }
        if features.len() != links.len() * given {
            return mismatch("features of links (one row per link)", links.len() * given, features.len());
        }
        let outside = |what, position, expected: &str, found: f64| {
            Err(Error::OutOfRange { what, position, expected: expected.into(), found: found.to_string() })
        };
        let bad = weights.and_then(|weights| weights.iter().position(|w| !w.is_finite() || *w <= 0.0));
        if let (Some(position), Some(weights)) = (bad, weights) {
            return outside("weight of a link", position, "a positive number", weights[position]);
        }
        if let Some(position) = features.iter().position(|f| !f.to_f64().is_finite()) {
            return outside("feature of a link", position / given, "a finite number", features[position].to_f64());
        }
        // Positions of a link: also the reverse on an undirected graph.
        let targets = targets_of(graph);
        let positions = |position: u64| {
            let position = position as usize;
            let (source, target) = (graph.incoming().neighbours[position], targets[position]);
            let reverse = (graph.direction() == Direction::Undirected && source != target)
                .then(|| graph.position(target, source).expect("an undirected graph has every edge's reverse"));
            let forward = (source != target).then_some((position, false));
            forward.into_iter().chain(reverse.map(|reverse| (reverse, two_way)))
        };
        let mut links_of = vec![0u32; graph.edges()];
        let mut sums = vec![if weights.is_some() { 0.0 } else { 1.0 }; graph.edges()];
        let mut values = vec![0.0; graph.edges() * width];
        for (link, &position) in links.iter().enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[link]);
            for (position, against) in positions(position) {
                let (count, sum) = (&mut links_of[position], &mut sums[position]);
                let own = &mut values[position * width..(position + 1) * width];
                let row = features[link * given..(link + 1) * given].iter().map(|f| f.to_f64());
                let zeros = |count: usize| std::iter::repeat_n(0.0, count);
                let (before, after) = if against { (given, 0) } else { (0, width - given) };
                let given = zeros(before).chain(row).chain(zeros(after));
                *count += 1;
                match duplicates {
                    _ if *count == 1 => {
                        *sum = weight;
                        own.iter_mut().zip(given).for_each(|(own, given)| *own = given);
                    }
                    Duplicates::First => {}
                    Duplicates::Error => {
                        let (from, to) = (graph.incoming().neighbours[position], targets[position]);
                        return Err(Error::DuplicateLink { link, from, to });
                    }
                    Duplicates::Max => {
                        *sum = sum.max(weight);
                        own.iter_mut().zip(given).for_each(|(own, given)| *own = own.max(given));
                    }
                    Duplicates::Sum => {
                        *sum += if weights.is_some() { weight } else { 0.0 };
                        let share = 1.0 / f64::from(*count);
                        own.iter_mut().zip(given).for_each(|(own, given)| *own += (given - *own) * share);
                    }
                }
            }
        }
        for node in 0..graph.nodes() {
            let own = graph.position(node as u32, node as u32).expect("every node has a self-loop");
            sums[own] = 1.0;
            let edges: Vec<usize> = graph.incoming().range(node).filter(|e| *e != own).collect();
            for k in 0..width {
                let sum: f64 = edges.iter().map(|e| values[e * width + k]).sum();
                values[own * width + k] = sum / edges.len().max(1) as f64;
            }
        }
        let weights = if sums.iter().all(|w| *w == 1.0) { Vec::new() } else { sums };
        let cast = |list: Vec<f64>| list.into_iter().map(T::from_f64).collect();
        Ok(Self { weights: cast(weights), features: cast(values), width })
    }

    /// Creates attributes of the edges of a graph, by position. `weights` is empty if all weights are 1.
    pub fn from_parts(graph: &Graph, weights: Vec<T>, width: usize, features: Vec<T>) -> Result<Self> {
        Self::of_edges(graph.edges(), weights, width, features)
    }

    /// Like [`Self::from_parts`], for consecutive edges of a graph. `weights` is empty if all weights of the graph are 1.
    ///
    /// ```
    /// use supergat_core::EdgeAttributes;
    /// let attributes = EdgeAttributes::of_edges(2, vec![1.0f32, 0.5], 1, vec![3.0, 4.0])?;
    /// assert_eq!((attributes.weights(), attributes.features_of(1)), (&[1.0, 0.5][..], &[4.0][..]));
    /// assert!(EdgeAttributes::of_edges(3, vec![1.0f32, 0.5], 0, vec![]).is_err());
    /// # Ok::<(), supergat_core::Error>(())
    /// ```
    pub fn of_edges(edges: usize, weights: Vec<T>, width: usize, features: Vec<T>) -> Result<Self> {
        for (what, expected, found) in [
            ("weights of edges (one per edge, or none)", if weights.is_empty() { 0 } else { edges }, weights.len()),
            ("features of edges (one row per edge)", edges * width, features.len()),
        ] {
            if expected != found {
                return Err(Error::SizeMismatch { what, expected, found });
            }
        }
        let bad = |(value, positive): (f64, bool)| !value.is_finite() || (positive && value <= 0.0);
        let all = weights.iter().map(|w| (w.to_f64(), true)).chain(features.iter().map(|f| (f.to_f64(), false)));
        if let Some((position, (value, _))) = all.enumerate().find(|(_, value)| bad(*value)) {
            return Err(Error::OutOfRange {
                what: "weight or feature of an edge",
                position,
                expected: "a finite number, above 0 for weights".into(),
                found: value.to_string(),
            });
        }
        Ok(Self { weights, features, width })
    }

    /// Fails unless these are attributes of this number of edges.
    pub(crate) fn check(&self, edges: usize) -> Result<()> {
        let (what, expected) = ("edges with attributes (all edges of the graph)", edges);
        let found = self.features.len().checked_div(self.width).unwrap_or(self.weights.len());
        let is_empty = self.width == 0 && self.weights.is_empty();
        if found == edges || is_empty { Ok(()) } else { Err(Error::SizeMismatch { what, expected, found }) }
    }

    /// Returns the weight of each edge, in the order of the incoming lists; nothing if all weights are 1.
    pub fn weights(&self) -> &[T] {
        &self.weights
    }

    /// Returns the features of all edges, row after row.
    pub fn features(&self) -> &[T] {
        &self.features
    }

    /// Returns the number of features per edge.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the features of one edge.
    pub fn features_of(&self, edge: usize) -> &[T] {
        &self.features[edge * self.width..(edge + 1) * self.width]
    }

    /// Returns the attributes of consecutive edges.
    pub fn slice(&self, edges: Range<usize>) -> Self {
        let weights = if self.weights.is_empty() { &[][..] } else { &self.weights[edges.clone()] };
        let features = &self.features[edges.start * self.width..edges.end * self.width];
        Self { weights: weights.to_vec(), features: features.to_vec(), width: self.width }
    }

    /// Returns the number of bytes in memory.
    pub fn bytes(&self) -> u64 {
        (size_of_val(&self.weights[..]) + size_of_val(&self.features[..])) as u64
    }

    /// Converts the numbers to another precision.
    pub fn cast<U: Real>(&self) -> EdgeAttributes<U> {
        let cast = |list: &[T]| list.iter().map(|x| U::from_f64(x.to_f64())).collect();
        EdgeAttributes { weights: cast(&self.weights), features: cast(&self.features), width: self.width }
    }

    /// Returns the attributes by the positions of edges after the nodes of `graph` have got the numbers of an order.
    pub fn renumbered(&self, graph: &Graph, order: &NodeOrder) -> Self {
        let positions = order.edge_positions(graph);
        let moved = |list: &[T], width: usize| {
            let mut moved = vec![T::ZERO; list.len()];
            if width > 0 {
                for (row, &position) in list.chunks_exact(width).zip(&positions) {
                    moved[position as usize * width..][..width].copy_from_slice(row);
                }
            }
            moved
        };
        Self { weights: moved(&self.weights, 1), features: moved(&self.features, self.width), width: self.width }
    }
}

/// Weights of the edges of a graph in the order of its incoming and of its outgoing lists, as graph convolutions read
/// them.
///
/// ```
/// use supergat_core::{Duplicates, EdgeAttributes, EdgeWeights};
/// use supergat_core::{Direction, Graph};
/// let graph = Graph::from_edges(2, &[(0, 1)], Direction::Directed)?;
/// let attributes = EdgeAttributes::<f32>::of_links(&graph, Some(&[3.0]), 0, &[], Duplicates::Sum)?;
/// let weights = EdgeWeights::new(&graph, Some(&attributes));
/// // Node 0 has its self-loop, node 1 also the edge from node 0.
/// assert_eq!(weights.by_incoming, [1.0, 3.0, 1.0]);
/// assert_eq!(weights.by_outgoing, [1.0, 3.0, 1.0]);
/// assert_eq!((weights.degrees(&graph, 0), weights.degrees(&graph, 1)), ([1.0, 4.0], [4.0, 1.0]));
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeWeights<T> {
    /// Weights in the order of the incoming lists; empty if all are 1.
    pub by_incoming: Vec<T>,
    /// Weights in the order of the outgoing lists; empty if all are 1.
    pub by_outgoing: Vec<T>,
}

impl<T: Real> EdgeWeights<T> {
    /// Takes the weights of the attributes of a graph's edges.
    pub fn new(graph: &Graph, attributes: Option<&EdgeAttributes<T>>) -> Self {
        let weights = attributes.map_or(&[][..], |attributes| &attributes.weights);
        let places = graph.outgoing().neighbours.iter().zip(graph.place_at_target());
        let position = |(target, place): (&u32, &u32)| graph.incoming().range(*target as usize).start + *place as usize;
        let by_outgoing =
            if weights.is_empty() { Vec::new() } else { places.map(|edge| weights[position(edge)]).collect() };
        Self { by_incoming: weights.to_vec(), by_outgoing }
    }

    /// Returns the sums of the weights of a node's incoming and outgoing edges, self-loop included.
    pub fn degrees(&self, graph: &Graph, node: usize) -> [f64; 2] {
        let sides = [(graph.incoming(), &self.by_incoming), (graph.outgoing(), &self.by_outgoing)];
        sides.map(|(lists, weights)| match weights.is_empty() {
            true => lists.range(node).len() as f64,
            false => weights[lists.range(node)].iter().map(|weight| weight.to_f64()).sum(),
        })
    }
}

/// Returns the target of every edge.
fn targets_of(graph: &Graph) -> Vec<u32> {
    (0..graph.nodes()).flat_map(|node| graph.incoming().range(node).map(move |_| node as u32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(duplicates: Duplicates) -> Result<(Graph, EdgeAttributes<f64>)> {
        let graph = Graph::from_edges(3, &[(0, 1), (2, 2), (1, 0)], Direction::Undirected)?;
        let attributes = EdgeAttributes::of_links(&graph, Some(&[2.0, 9.0, 3.0]), 1, &[1.0, 5.0, -1.0], duplicates)?;
        Ok((graph, attributes))
    }

    #[test]
    fn duplicate_links_are_merged_as_chosen() {
        for (duplicates, weight, feature) in
            [(Duplicates::Sum, 5.0, 0.0), (Duplicates::Max, 3.0, 1.0), (Duplicates::First, 2.0, 1.0)]
        {
            let (graph, attributes) = attributes(duplicates).unwrap();
            for (source, target) in [(0, 1), (1, 0)] {
                let edge = graph.position(source, target).unwrap();
                assert_eq!((attributes.weights()[edge], attributes.features_of(edge)[0]), (weight, feature));
            }
            // A listed self-loop has no attributes of its own.
            let own = graph.position(2, 2).unwrap();
            assert_eq!((attributes.weights()[own], attributes.features_of(own)[0]), (1.0, 0.0));
        }
        let error = attributes(Duplicates::Error).unwrap_err();
        assert_eq!(error.to_string(), "link 2 joins nodes 1 and 0, as an earlier one does");
    }

    #[test]
    fn weights_of_one_are_no_weights() {
        let graph = Graph::from_edges(2, &[(0, 1)], Direction::Directed).unwrap();
        let attributes = EdgeAttributes::<f32>::of_links(&graph, Some(&[1.0]), 0, &[], Duplicates::Sum).unwrap();
        assert!(attributes.weights().is_empty());
        for weights in [[0.0], [-1.0], [f64::NAN], [f64::INFINITY]] {
            assert!(EdgeAttributes::<f32>::of_links(&graph, Some(&weights), 0, &[], Duplicates::Sum).is_err());
        }
        assert!(EdgeAttributes::<f32>::of_links(&graph, Some(&[1.0, 2.0]), 0, &[], Duplicates::Sum).is_err());
        assert!(EdgeAttributes::of_links(&graph, None, 1, &[f32::NAN], Duplicates::Sum).is_err());
    }

    #[test]
    fn renumbering_moves_attributes_with_their_edges() {
        let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (3, 0)], Direction::Directed).unwrap();
        let attributes =
            EdgeAttributes::of_links(&graph, Some(&[2.0, 3.0, 4.0]), 1, &[0.1, 0.2, 0.3], Duplicates::Sum).unwrap();
        let order = NodeOrder::new(vec![2, 0, 3, 1], vec![0, 4]).unwrap();
        let (moved, renumbered) = (attributes.renumbered(&graph, &order), graph.renumbered(&order));
        for (source, target) in [(0, 1), (1, 2), (3, 0), (2, 2)] {
            let edge = graph.position(source, target).unwrap();
            let internal = renumbered.position(order.to_internal(source), order.to_internal(target)).unwrap();
            assert_eq!(moved.weights()[internal], attributes.weights()[edge]);
            assert_eq!(moved.features_of(internal), attributes.features_of(edge));
        }
    }
}
