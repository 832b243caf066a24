//! The loss of a classifier on edges whose nodes should agree, and its gradient by the logits.
//!
//! ```text
//! p = softmax(logits)
//! labelled-labelled     lambda_ll [y_i = y_j] |1_{y_i} - p_j|^2
//! labelled-unlabelled   lambda_lu g_ij        |1_{y_i} - p_j|^2      i has a label
//! unlabelled-unlabelled lambda_uu g_ij        |p_i - p_j|^2
//!
//! R = mean over the sampled edges of all three kinds
//! dR/dp_j = 2 w (p_j - left) / edges = -dR/dp_i        dR/dlogit = p (dR/dp - sum_k p_k dR/dp_k)
//! ```

use supergat_core::Graph;
use supergat_core::hyperparameters::GamOptions;
use supergat_core::random::{Purpose, Stream};
use supergat_cpu::kernels::Primitives;

/// Edges of a graph by the number of labelled ends, with the weight of each.
#[derive(Debug)]
pub(super) struct Regulariser<T> {
    /// Edges of the three kinds; the first node has a label, unless none has.
    edges: [Vec<WeightedEdge<T>>; 3],
}

#[derive(Debug, Clone, Copy)]
struct WeightedEdge<T> {
    nodes: [u32; 2],
    /// Class of the first node, if it has a label.
    class: Option<u32>,
    weight: T,
}

impl<T: Primitives> Regulariser<T> {
    /// Collects the edges. `agreement` returns the probability that both nodes of a pair have the same class; it is asked
    /// only for edges that count. Edges with weight zero are left out.
    pub(super) fn new(
        graph: &Graph,
        labels: &[Option<u32>],
        options: &GamOptions,
        agreement: impl FnOnce(&[[u32; 2]]) -> Vec<T>,
    ) -> Self {
        let mut edges: [Vec<WeightedEdge<T>>; 3] = Default::default();
        for i in 0..graph.nodes() as u32 {
            // Each link counts once, in whatever direction it is stored.
            let links = graph.incoming().of(i as usize).iter().copied();
            for j in links.filter(|&j| j < i || (j > i && graph.position(i, j).is_none())) {
                let of = |node: u32| labels[node as usize];
                let nodes = if of(j).is_some() || of(i).is_none() { [j, i] } else { [i, j] };
                let (kind, weight) = match (of(nodes[0]), of(nodes[1])) {
                    (Some(a), Some(b)) => (0, if a == b { options.lambda_ll } else { 0.0 }),
                    (Some(_), None) => (1, options.lambda_lu),
                    _ => (2, options.lambda_uu),
                };
                if weight > 0.0 {
                    edges[kind].push(WeightedEdge { nodes, class: of(nodes[0]), weight: T::from_f64(weight) });
                }
            }
        }
        let asked: Vec<[u32; 2]> = edges[1..].iter().flatten().map(|edge| edge.nodes).collect();
        let agreement = agreement(&asked);
        edges[1..].iter_mut().flatten().zip(agreement).for_each(|(edge, g)| edge.weight *= g);
        Self { edges }
    }

    /// Adds the gradient of the loss of `samples` edges of each kind to that of the logits, and returns the loss.
    /// `probabilities` is memory for a row per node, whose content is replaced.
    pub(super) fn add_gradient(
        &self,
        [seed, step]: [u64; 2],
        samples: usize,
        logits: &[T],
        classes: usize,
        probabilities: &mut [T],
        gradient: &mut [T],
    ) -> f64 {
        let kinds = self.edges.iter().filter(|edges| !edges.is_empty()).count();
        if kinds == 0 || samples == 0 {
            return 0.0;
        }
        softmax(logits, classes, probabilities);
        let p = |node: u32| &probabilities[node as usize * classes..][..classes];
        let share = 1.0 / (kinds * samples) as f64;
        let mut loss = 0.0;
        for (kind, edges) in self.edges.iter().enumerate().filter(|(_, edges)| !edges.is_empty()) {
            let stream = Stream::new(seed, step as u32, kind as u16, Purpose::AgreementEdges);
            for k in 0..samples {
                let WeightedEdge { nodes: [i, j], class, weight } =
                    edges[stream.below(k as u64, edges.len() as u64) as usize];
                let left = |c: usize| match class {
                    Some(class) => T::from_f64(f64::from(u8::from(class as usize == c))),
                    None => p(i)[c],
                };
                let factor = T::from_f64(share) * weight;
                let distance = |c: usize| p(j)[c] - left(c);
                loss += (0..classes).map(|c| (factor * distance(c) * distance(c)).to_f64()).sum::<f64>();
                let ends: [(u32, T); 2] = [(j, factor + factor), (i, -(factor + factor))];
                for (node, factor) in ends.into_iter().take(if class.is_some() { 1 } else { 2 }) {
                    let mean: T = (0..classes).map(|c| p(node)[c] * factor * distance(c)).sum();
                    let row = &mut gradient[node as usize * classes..][..classes];
                    for (c, g) in row.iter_mut().enumerate() {
                        *g += p(node)[c] * (factor * distance(c) - mean);
                    }
                }
            }
        }
        loss
    }
}

/// Writes the softmax of every row.
pub(crate) fn softmax<T: Primitives>(logits: &[T], classes: usize, out: &mut [T]) {
    for (row, out) in logits.chunks_exact(classes).zip(out.chunks_exact_mut(classes)) {
        let largest = row.iter().copied().fold(T::NEG_INFINITY, T::max);
        let mut sum = T::ZERO;
        for (o, x) in out.iter_mut().zip(row) {
            *o = (*x - largest).exp();
            sum += *o;
        }
        out.iter_mut().for_each(|o| *o = *o / sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::Direction;

    /// Returns the number of edges of each kind.
    fn sizes<T>(edges: &Regulariser<T>) -> [usize; 3] {
        edges.edges.each_ref().map(Vec::len)
    }

    #[test]
    fn gradients_match_finite_differences() {
        let links = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)];
        let graph = Graph::from_edges(5, &links, Direction::Undirected).unwrap();
        let labels = [Some(0), Some(0), None, None, Some(2)];
        let options = GamOptions { lambda_ll: 0.7, lambda_lu: 1.5, lambda_uu: 0.9, ..GamOptions::default() };
        let agreement = |pairs: &[[u32; 2]]| pairs.iter().map(|[i, j]| 0.1 + 0.1 * f64::from(i + j)).collect();
        let edges = Regulariser::new(&graph, &labels, &options, agreement);
        assert_eq!(sizes(&edges), [1, 3, 1], "classes of nodes 0 and 4 differ");
        let stream = Stream::new(5, 0, 0, Purpose::SyntheticFeatures);
        let mut logits: Vec<f64> = (0..15).map(|k| 2.0 * stream.uniform(k) - 1.0).collect();
        let (mut memory, mut gradient) = (vec![0.0; 15], vec![0.0; 15]);
        edges.add_gradient([0, 3], 8, &logits, 3, &mut memory, &mut gradient);
        assert!(gradient[..3].iter().all(|g| *g == 0.0) && gradient[3..12].iter().all(|g| *g != 0.0));
        for (k, exact) in gradient.into_iter().enumerate() {
            let value = logits[k];
            let mut at = |shift: f64| {
                logits[k] = value + shift;
                edges.add_gradient([0, 3], 8, &logits, 3, &mut memory, &mut [0.0; 15])
            };
            let numeric = (at(1e-5) - at(-1e-5)) / 2e-5;
            logits[k] = value;
            assert!((numeric - exact).abs() < 1e-9, "{k}: {numeric} {exact}");
        }
    }

    #[test]
    fn directed_links_count_once() {
        let graph = Graph::from_edges(3, &[(0, 1), (1, 0), (2, 1)], Direction::Directed).unwrap();
        let options = GamOptions { lambda_uu: 1.0, ..GamOptions::default() };
        let edges = Regulariser::new(&graph, &[None; 3], &options, |pairs| vec![1.0f32; pairs.len()]);
        assert_eq!(sizes(&edges), [0, 0, 2]);
    }
}
