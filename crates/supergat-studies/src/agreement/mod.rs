//! Agreement of attention with labels: whether a node attends to the neighbours that share its label.
//!
//! The neighbourhood of node k is the set over which its softmax is computed: the sources of its incoming
//! edges and k itself. With n nodes in it, and attention alpha_kj over them in one head of one layer:
//!
//! ```text
//! agree_kj   = labels that k and j share (1 or 0 where a node has one label), 0 taken as 1e-11
//! ell_kj     = agree_kj / sum over the neighbourhood; 1 / n for all if k has no labels
//! divergence = KLD(alpha, ell) = sum over j of alpha_kj ln(alpha_kj / ell_kj)      the paper's formula
//! reverse    = KLD(ell, alpha) = sum over j of ell_kj ln(ell_kj / alpha_kj)        alpha at least 1e-43
//! entropy    = -sum over j of alpha_kj ln(alpha_kj),  relative entropy = entropy / ln n, 1 where n is 1
//! ```
//!
//! The authors' code computes both divergences, with their names exchanged, so that the paper's figures may
//! show either. The constants 1e-11 and 1e-43 are from that code. It also includes the node itself, but
//! averages the heads of a node; here every head counts separately.
//!
//! The baseline is uniform attention, 1 / n for every neighbour. Nodes with an unknown label, or with a
//! neighbour of unknown label, are skipped.

mod study;

pub use study::{LabelAgreement, Network, Profile, Spreads, networks, plan};

use serde::{Deserialize, Serialize};
use supergat_core::{EdgeValues, Example, Labels, Result};
use supergat_data::Dataset;
use supergat_numerics::homophily::shared_labels;
use supergat_train::fitted::Fitted;

/// Value used for an agreement of zero, so that divergences stay finite.
const NO_AGREEMENT: f64 = 1e-11;
/// Smallest probability in a denominator.
const MIN_PROBABILITY: f64 = 1e-43;

/// Measures of one attention layer: a value of each for every node and head, with the heads of a node next to each
/// other, or another summary of these values.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Measures<T = Vec<f64>> {
    /// KLD(alpha, ell).
    pub divergence: T,
    /// KLD(ell, alpha).
    pub reverse: T,
    /// Entropy of attention, in nats.
    pub entropy: T,
    /// Entropy of attention as a fraction of its maximum, ln n.
    pub relative_entropy: T,
}

/// Comparison of a model's attention with the agreement of labels, over all graphs of a dataset.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Agreement {
    /// Measures of the attention layers, from first to last; empty for models without attention.
    pub layers: Vec<Measures>,
    /// Measures of uniform attention, one value for every node.
    pub uniform: Measures,
    /// Number of measured nodes.
    pub nodes: usize,
    /// Number of nodes skipped because a label is unknown.
    pub left_out: usize,
}

impl Agreement {
    /// Measures a model on all graphs of a dataset, without dropout.
    pub fn of(model: &Fitted, dataset: &Dataset) -> Result<Self> {
        let mut agreement = Self::default();
        for (graph, example) in dataset.examples.iter().enumerate() {
            agreement.add(example, &model.attention(graph, example)?);
        }
        Ok(agreement)
    }

    /// Adds the measures of one graph.
    pub(crate) fn add(&mut self, example: &Example<f32>, layers: &[EdgeValues<f32>]) {
        self.layers.resize(layers.len(), Measures::default());
        let incoming = example.graph.incoming();
        for node in 0..example.graph.nodes() {
            let Some(agreement) = label_agreement(&example.labels, node, incoming.of(node)) else {
                self.left_out += 1;
                continue;
            };
            self.nodes += 1;
            self.uniform.push(&vec![1.0; agreement.len()], &agreement);
            for (measures, layer) in self.layers.iter_mut().zip(layers) {
                for head in 0..layer.heads {
                    let value = |edge: usize| f64::from(layer.coefficients[edge * layer.heads + head]);
                    let attention: Vec<f64> = incoming.range(node).map(value).collect();
                    measures.push(&attention, &agreement);
                }
            }
        }
    }
}

impl Measures {
    /// Adds the measures of one neighbourhood. Normalises attention, since rounding may have changed its sum.
    fn push(&mut self, attention: &[f64], agreement: &[f64]) {
        let sum: f64 = attention.iter().sum();
        let attention: Vec<f64> = attention.iter().map(|alpha| alpha / sum).collect();
        self.divergence.push(divergence(&attention, agreement));
        self.reverse.push(divergence(agreement, &attention));
        self.entropy.push(entropy(&attention));
        self.relative_entropy.push(relative_entropy(&attention));
    }
}

/// Returns the distribution `ell` over a neighbourhood; `None` if a label is unknown.
fn label_agreement(labels: &Labels, node: usize, neighbourhood: &[u32]) -> Option<Vec<f64>> {
    let shared = |&other: &u32| shared_labels(labels, node, other as usize).map(|count| count as f64);
    let mut agreement: Vec<f64> = neighbourhood.iter().map(shared).collect::<Option<_>>()?;
    agreement.iter_mut().filter(|share| **share == 0.0).for_each(|share| *share = NO_AGREEMENT);
    let sum: f64 = agreement.iter().sum();
    agreement.iter_mut().for_each(|share| *share /= sum);
    Some(agreement)
}

/// Returns the Kullback-Leibler divergence, sum of p ln(p / q). Negative rounding errors are clamped to zero.
fn divergence(p: &[f64], q: &[f64]) -> f64 {
    let term = |(p, q): (&f64, &f64)| if *p > 0.0 { p * (p / q.max(MIN_PROBABILITY)).ln() } else { 0.0 };
    p.iter().zip(q).map(term).sum::<f64>().max(0.0)
}

/// Returns the entropy in nats.
fn entropy(p: &[f64]) -> f64 {
    p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum::<f64>().max(0.0)
}

/// Returns the entropy as a fraction of its maximum; 1 for a single outcome.
pub(crate) fn relative_entropy(p: &[f64]) -> f64 {
    if p.len() > 1 { entropy(p) / (p.len() as f64).ln() } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::{Direction, Features, Graph};
    use supergat_cpu::Model;
    use supergat_train::Settings;

    const LN_2: f64 = std::f64::consts::LN_2;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} instead of {expected}");
    }

    /// Returns a star of node 0 with neighbours 1, 2 and 3, and an isolated node 4.
    fn star(labels: Labels) -> Example<f32> {
        let graph = Graph::from_edges(5, &[(1, 0), (2, 0), (3, 0)], Direction::Undirected).unwrap();
        let features = Features::dense(5, 1, vec![1.0; 5]).unwrap();
        Example::new(graph, features, labels, [vec![0], vec![1], vec![2]]).unwrap()
    }

    fn single(of: [u32; 5]) -> Labels {
        Labels::Single { classes: 3, of: of.to_vec() }
    }

    /// Measures a layer with one head. The order of edges is 0 <- 0 1 2 3, 1 <- 0 1, 2 <- 0 2, 3 <- 0 3, 4 <-
    /// 4.
    fn measured(labels: Labels, of_node_0: [f32; 4]) -> Agreement {
        let mut coefficients = of_node_0.to_vec();
        coefficients.extend([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0]);
        let layer = EdgeValues { heads: 1, logits: vec![0.0; coefficients.len()], coefficients };
        let mut agreement = Agreement::default();
        agreement.add(&star(labels), &[layer]);
        agreement
    }

    #[test]
    fn equals_values_computed_by_hand() {
        // Node 0 agrees with itself and node 1: ell = 1/2, 1/2, 0, 0.
        let all = measured(single([0, 0, 1, 2, 0]), [0.5, 0.25, 0.25, 0.0]);
        let layer = &all.layers[0];
        // 1/2 ln 1 + 1/4 ln(1/2) + 1/4 ln(1/4 / (1e-11 / 2)), the sum of ell being 2 + 2e-11.
        close(layer.divergence[0], -0.25 * LN_2 + 0.25 * 0.5e11f64.ln());
        // 1/2 ln 1 + 1/2 ln 2; the neighbours that do not agree have no weight in ell.
        close(layer.reverse[0], 0.5 * LN_2);
        close(layer.entropy[0], 1.5 * LN_2);
        close(layer.relative_entropy[0], 0.75);
        // Uniform attention gives half of its weight to nodes that do not agree: 1/2 ln(1/2) + 1/2 ln(1/4 /
        // (1e-11 / 2)).
        close(all.uniform.divergence[0], 0.5 * -LN_2 + 0.5 * 0.5e11f64.ln());
        close(all.uniform.reverse[0], LN_2);
        close(all.uniform.entropy[0], 2.0 * LN_2);
        assert_eq!((all.nodes, all.left_out, layer.divergence.len()), (5, 0, 5));
        // Node 1 agrees with its only neighbour, so ell is uniform; node 4 has no neighbour.
        assert_eq!([layer.divergence[1], layer.reverse[1]], [0.0; 2]);
        assert_eq!([layer.divergence[4], layer.entropy[4], layer.relative_entropy[4]], [0.0, 0.0, 1.0]);
    }

    #[test]
    fn counts_shared_labels() {
        // Labels A B C of nodes 0 to 4. Node 0 shares three with itself, two with node 1, one with node 2,
        // none with node 3.
        let of = vec![1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let all = measured(Labels::Multi { classes: 3, of }, [0.25; 4]);
        let ell = [3.0, 2.0, 1.0, 1e-11].map(|count: f64| count / 6.0);
        close(all.layers[0].divergence[0], ell.iter().map(|ell| 0.25 * (0.25 / ell).ln()).sum());
        // Node 3 has no labels, so its agreement is uniform, like its attention.
        assert_eq!([all.layers[0].divergence[3], all.layers[0].reverse[3]], [0.0; 2]);
    }

    #[test]
    fn divergence_is_zero_if_attention_equals_agreement() {
        let all = measured(single([0, 0, 0, 1, 0]), [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0]);
        assert!(all.layers[0].divergence[0] < 1e-9 && all.layers[0].reverse[0] < 1e-8, "{:?}", all.layers[0]);
    }

    #[test]
    fn divergence_is_finite_for_zero_coefficients() {
        let all = measured(single([0, 0, 1, 1, 0]), [1.0, 0.0, 0.0, 0.0]);
        close(all.layers[0].reverse[0], 0.5 * 0.5f64.ln() + 0.5 * 0.5e43f64.ln());
    }

    #[test]
    fn skips_nodes_with_unknown_neighbours() {
        let all = measured(single([0, 0, 1, Labels::UNKNOWN, 0]), [0.25; 4]);
        assert_eq!((all.nodes, all.left_out), (3, 2)); // node 3 and its neighbour 0 are skipped
    }

    fn dataset() -> Dataset {
        supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.6").unwrap()
    }

    fn model(dataset: &Dataset, name: &str) -> Fitted {
        let settings = Settings::general(name.parse().unwrap()).with(|s| s.network.layers = 3);
        Fitted::Network(Model::new(settings.architecture(dataset), 1).unwrap(), None)
    }

    /// A network with zero weights has uniform attention.
    #[test]
    fn uniform_attention_equals_the_baseline_in_every_head() {
        let dataset = dataset();
        let zeros = Fitted::Network(Model::zeros(*model(&dataset, "gat-go").architecture()).unwrap(), None);
        let all = Agreement::of(&zeros, &dataset).unwrap();
        assert_eq!((all.layers.len(), all.nodes), (3, dataset.nodes()));
        for layer in &all.layers {
            for (found, baseline) in
                [(&layer.divergence, &all.uniform.divergence), (&layer.reverse, &all.uniform.reverse)]
            {
                assert_eq!(found.len(), 8 * baseline.len());
                found.iter().enumerate().for_each(|(k, found)| close(*found, baseline[k / 8]));
            }
            assert!(layer.relative_entropy.iter().all(|share| (share - 1.0).abs() < 1e-9));
        }
    }

    #[test]
    fn measures_are_nonnegative_and_invariant_to_class_order() {
        let mut dataset = dataset();
        for name in ["gat-go", "gat-dp", "supergat-mx"] {
            let model = model(&dataset, name);
            let before = Agreement::of(&model, &dataset).unwrap();
            let measures = before.layers.iter().chain([&before.uniform]);
            for values in measures.flat_map(|m| [&m.divergence, &m.reverse, &m.entropy, &m.relative_entropy]) {
                assert!(values.iter().all(|value| *value >= 0.0 && value.is_finite()));
            }
            let Labels::Single { of, .. } = &mut dataset.examples[0].labels else { unreachable!() };
            of.iter_mut().for_each(|class| *class = (*class + 1) % 3);
            assert_eq!(Agreement::of(&model, &dataset).unwrap(), before);
        }
    }

    #[test]
    fn models_without_attention_have_no_layers() {
        let dataset = dataset();
        assert!(Agreement::of(&model(&dataset, "gcn"), &dataset).unwrap().layers.is_empty());
    }
}
