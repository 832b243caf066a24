//! Probabilities of edges, and graphs sampled from them.
//!
//! Every pair of nodes i < j has a probability. A sampled graph has an edge in both directions for each pair that is
//! drawn, and a self-loop per node.

use supergat_core::graph::Neighbours;
use supergat_core::memory::Buffer;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Error, Features, Graph, Result};
use supergat_cpu::kernels::{Aggregation, Parts, Primitives};

/// Largest number of nodes: the time of an update grows with the square of it.
pub const MOST_NODES: usize = 8000;
/// Number of rows of a part in which pairs are drawn.
const ROWS: usize = 32;

/// Probabilities of all pairs of nodes i < j, row after row.
#[derive(Debug, Clone)]
pub(super) struct EdgeProbabilities<T> {
    nodes: usize,
    /// Start of each row, and the end of the last.
    pub(super) offsets: Vec<u64>,
    pub(super) values: Buffer<T>,
}

impl<T: Primitives> EdgeProbabilities<T> {
    /// Fails if there are too many nodes.
    pub(super) fn check(nodes: usize) -> Result<()> {
        if nodes > MOST_NODES {
            let bytes = Self::bytes(nodes);
            return Err(Error::Hyperparameter {
                name: "model",
                value: "lds".into(),
                reason: format!(
                    "learns a probability for every pair of nodes, at most {MOST_NODES} nodes; {nodes} nodes would need \
                     {:.1} GB for the probabilities alone; choose another model",
                    bytes as f64 / 1e9
                ),
            });
        }
        Ok(())
    }

    /// Creates probabilities of zero. Fails if there are too many nodes.
    pub(super) fn zeros(nodes: usize) -> Result<Self> {
        Self::check(nodes)?;
        let offsets: Vec<u64> = (0..=nodes).map(|i| (i * nodes - i * (i + 1) / 2) as u64).collect();
        let values = Buffer::zeros(*offsets.last().expect("one more than nodes") as usize);
        Ok(Self { nodes, offsets, values })
    }

    /// Returns the number of bytes of the probabilities of a graph.
    pub(super) fn bytes(nodes: usize) -> u64 {
        let nodes = nodes as u64;
        nodes * nodes.saturating_sub(1) / 2 * size_of::<T>() as u64
    }

    /// Creates probabilities of one for the links of a graph, and of zero for other pairs.
    pub(super) fn of_graph(graph: &Graph) -> Result<Self> {
        let mut edges = Self::zeros(graph.nodes())?;
        for i in 0..graph.nodes() {
            for &j in graph.incoming().of(i) {
                edges.set(i, j as usize, T::ONE);
            }
        }
        Ok(edges)
    }

    /// Creates probabilities of one for each node and the `count` nodes with the most similar features, by the cosine.
    /// Ties go to the smaller node.
    pub(super) fn of_neighbours(features: &Features<T>, count: usize) -> Result<Self> {
        let nodes = features.rows();
        let mut edges = Self::zeros(nodes)?;
        let columns = features.columns();
        // Entries by column, so that a row is multiplied with rows that share columns only.
        let mut by_column = vec![Vec::new(); columns];
        let mut lengths = vec![0.0; nodes];
        let for_entries = |row: usize, f: &mut dyn FnMut(usize, f64)| match features {
            Features::Dense { columns, values, .. } => {
                values[row * columns..][..*columns].iter().enumerate().for_each(|(c, v)| f(c, v.to_f64()));
            }
            Features::Sparse(m) => {
                let (index, values) = m.row(row);
                index.iter().zip(values).for_each(|(c, v)| f(*c as usize, v.to_f64()));
            }
        };
        for (row, length) in lengths.iter_mut().enumerate() {
            for_entries(row, &mut |column, value| {
                if value != 0.0 {
                    by_column[column].push((row as u32, value));
                    *length += value * value;
                }
            });
        }
        let mut similar: Vec<(f64, u32)> = Vec::with_capacity(nodes);
        let mut products = vec![0.0; nodes];
        for row in 0..nodes {
            products.fill(0.0);
            for_entries(row, &mut |column, value| {
                for &(other, factor) in &by_column[column] {
                    products[other as usize] += value * factor;
                }
            });
            similar.clear();
            let others = (0..nodes).filter(|&other| other != row && products[other] > 0.0);
            similar.extend(others.map(|other| (products[other] / lengths[other].sqrt(), other as u32)));
            similar.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            for &(_, other) in similar.iter().take(count) {
                edges.set(row, other as usize, T::ONE);
            }
        }
        Ok(edges)
    }

    fn place(&self, i: usize, j: usize) -> Option<usize> {
        let (low, high) = (i.min(j), i.max(j));
        (low < high).then(|| self.offsets[low] as usize + high - low - 1)
    }

    /// Sets the probability of a pair; one of a node with itself is ignored.
    pub(super) fn set(&mut self, i: usize, j: usize, value: T) {
        if let Some(place) = self.place(i, j) {
            self.values[place] = value;
        }
    }

    /// Returns the probability of a pair; zero for a node with itself.
    #[cfg(test)]
    pub(super) fn of(&self, i: usize, j: usize) -> T {
        self.place(i, j).map_or(T::ZERO, |place| self.values[place])
    }

    /// Draws a graph. Pair k depends on number k of the stream only.
    pub(super) fn sample(&self, stream: Stream, graph: &mut SampledGraph<T>) {
        let drawn = &mut graph.drawn;
        supergat_cpu::kernels::for_each_part(drawn, &|part, links: &mut Vec<[u32; 2]>| {
            links.clear();
            for i in part * ROWS..((part + 1) * ROWS).min(self.nodes) {
                let (mut block, mut number) = ([0; 4], u64::MAX);
                let range = self.offsets[i] as usize..self.offsets[i + 1] as usize;
                for (k, value) in self.values[range.clone()].iter().enumerate().filter(|(_, value)| **value > T::ZERO) {
                    let place = (range.start + k) as u64;
                    if place / 4 != number {
                        number = place / 4;
                        block = stream.block(number);
                    }
                    let uniform = f64::from(block[(place % 4) as usize]) / (1u64 << 32) as f64;
                    if uniform < value.to_f64() {
                        links.push([i as u32, (i + 1 + k) as u32]);
                    }
                }
            }
        });
        graph.link();
    }
}

/// A sampled graph: neighbours with self-loops, and the factors of a GCN.
#[derive(Debug, Clone)]
pub(super) struct SampledGraph<T> {
    pub(super) offsets: Vec<u64>,
    pub(super) neighbours: Vec<u32>,
    /// One divided by the root of the number of neighbours, self-loop included.
    pub(super) scale: Vec<T>,
    /// Links by part of the rows.
    drawn: Vec<Vec<[u32; 2]>>,
    cursor: Vec<[u64; 2]>,
    parts: Parts,
}

impl<T: Primitives> SampledGraph<T> {
    /// Allocates a graph without links.
    pub(super) fn new(nodes: usize) -> Self {
        let mut graph = Self {
            offsets: vec![0; nodes + 1],
            neighbours: Vec::new(),
            scale: vec![T::ONE; nodes],
            drawn: vec![Vec::new(); nodes.div_ceil(ROWS)],
            cursor: vec![[0; 2]; nodes],
            parts: Parts::even(0..nodes, 64),
        };
        graph.link();
        graph
    }

    /// Creates a graph from its links `[i, j]` with i < j, in ascending order. Fails if a link is not of that form.
    pub(super) fn from_links(nodes: usize, links: &[[u32; 2]]) -> Result<Self> {
        let ascend = links.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascend || links.iter().any(|&[i, j]| i >= j || j as usize >= nodes) {
            return Err(Error::Checkpoint { reason: "the links of a sampled graph are unreadable".into() });
        }
        let mut graph = Self::new(nodes);
        if let Some(first) = graph.drawn.first_mut() {
            first.extend_from_slice(links);
        }
        graph.link();
        Ok(graph)
    }

    /// Returns the links `[i, j]` with i < j, in ascending order.
    pub(super) fn links(&self) -> Vec<[u32; 2]> {
        self.drawn.concat()
    }

    /// Returns the neighbours of a node, in ascending order, with itself.
    pub(super) fn neighbours(&self, node: usize) -> &[u32] {
        &self.neighbours[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// Builds the lists of neighbours from the drawn links.
    fn link(&mut self) {
        let Self { offsets, neighbours, scale, drawn, cursor, .. } = self;
        cursor.fill([0; 2]);
        for &[i, j] in drawn.iter().flatten() {
            cursor[i as usize][1] += 1;
            cursor[j as usize][0] += 1;
        }
        let mut end = 0;
        for (node, [lower, upper]) in cursor.iter_mut().enumerate() {
            let count = *lower + *upper + 1;
            scale[node] = T::from_f64(1.0 / (count as f64).sqrt());
            (*lower, *upper) = (end, end + *lower + 1);
            end += count;
            offsets[node + 1] = end;
        }
        neighbours.resize(end as usize, 0);
        for (node, [_, upper]) in cursor.iter().enumerate() {
            neighbours[*upper as usize - 1] = node as u32;
        }
        for &[i, j] in drawn.iter().flatten() {
            let (lower, upper) = (cursor[j as usize][0], cursor[i as usize][1]);
            neighbours[lower as usize] = i;
            neighbours[upper as usize] = j;
            cursor[j as usize][0] += 1;
            cursor[i as usize][1] += 1;
        }
    }

    /// Computes `out = D^-1/2 (A + I) D^-1/2 Z` for rows of `stride` numbers.
    pub(super) fn convolve(&self, z: &[T], stride: usize, out: &mut [T]) {
        let lists = Neighbours::new(&self.offsets, &self.neighbours);
        let aggregation = Aggregation { lists, outer: &self.scale, inner: &self.scale, weights: &[], own: true };
        T::aggregate(&self.parts, aggregation, stride, z, stride, None, out, stride);
    }
}

/// Returns the stream of the graph that a step samples.
pub(super) fn stream(seed: u64, step: u32) -> Stream {
    Stream::new(seed, step, 0, Purpose::GraphSample)
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Direction;

    #[test]
    fn samples_have_the_probabilities() {
        let mut edges = EdgeProbabilities::<f32>::zeros(70).unwrap();
        edges.set(3, 60, 0.3);
        edges.set(10, 11, 1.0);
        edges.set(69, 0, 0.7);
        let mut graph = SampledGraph::new(70);
        let mut found = [0; 3];
        for step in 0..2000 {
            edges.sample(stream(1, step), &mut graph);
            for (k, [i, j]) in [[3, 60], [10, 11], [0, 69]].into_iter().enumerate() {
                found[k] += u32::from(graph.links().contains(&[i, j]));
                assert_eq!(graph.neighbours(j as usize).contains(&i), graph.neighbours(i as usize).contains(&j));
            }
        }
        assert!((540..660).contains(&found[0]) && found[1] == 2000 && (1340..1460).contains(&found[2]), "{found:?}");
        assert_eq!(SampledGraph::<f32>::from_links(70, &graph.links()).unwrap().neighbours, graph.neighbours);
    }

    #[test]
    fn links_of_a_graph_are_certain() {
        let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], Direction::Undirected).unwrap();
        let edges = EdgeProbabilities::<f32>::of_graph(&graph).unwrap();
        assert_eq!((edges.of(0, 1), edges.of(2, 0), edges.of(2, 1)), (1.0, 0.0, 1.0));
        let mut sampled = SampledGraph::new(3);
        edges.sample(stream(0, 0), &mut sampled);
        assert_eq!((sampled.neighbours(1), sampled.links()), (&[0, 1, 2][..], vec![[0, 1], [1, 2]]));
    }

    #[test]
    fn links_the_most_similar_nodes() {
        let features = Features::dense(4, 2, vec![1.0f32, 0.0, 2.0, 0.1, 0.0, 1.0, 0.1, 3.0]).unwrap();
        let edges = EdgeProbabilities::of_neighbours(&features, 1).unwrap();
        assert_eq!((edges.of(0, 1), edges.of(2, 3), edges.values.iter().sum::<f32>()), (1.0, 1.0, 2.0));
    }

    #[test]
    fn rejects_large_graphs_and_unreadable_links() {
        let error = EdgeProbabilities::<f32>::zeros(100_000).unwrap_err().to_string();
        assert_eq!(
            error,
            "model = lds: learns a probability for every pair of nodes, at most 8000 nodes; 100000 nodes would need \
             20.0 GB for the probabilities alone; choose another model"
        );
        for links in [&[[1, 1]][..], &[[0, 9]], &[[1, 2], [0, 1]]] {
            assert!(SampledGraph::<f32>::from_links(3, links).is_err());
        }
    }
}
