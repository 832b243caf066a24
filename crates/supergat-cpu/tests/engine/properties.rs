//! Properties for any graph and device: attention is a distribution, and predictions do not depend on the
//! numbering of nodes.

use crate::common::{ALL_FORMS, Recipe, architecture};
use proptest::prelude::*;
use supergat_core::random::{Purpose, Stream};
use supergat_core::{Direction, Example, Features, Form, Graph, Labels, Network, Real, SingleDevice};
use supergat_cpu::{Cpu, Model};

/// Asserts that the coefficients of every node and head sum to one.
pub fn attention_sums_to_one<D: SingleDevice>(device: &D, recipe: Recipe, form: Form) {
    let example = recipe.build::<D::Number>();
    let network = Network::on(device, architecture(&example, form, true), recipe.seed).unwrap();
    for layer in network.attention(&example).unwrap() {
        for i in 0..example.graph.nodes() {
            for head in 0..layer.heads {
                let edges = example.graph.incoming().range(i);
                let sum: f64 = edges.map(|e| layer.coefficients[e * layer.heads + head].to_f64()).sum();
                assert!((sum - 1.0).abs() < 1e-5, "node {i} head {head}: {sum}");
            }
        }
    }
}

/// Asserts that the logits of pairs are those of attention where the pairs are edges.
pub fn pair_logits_of_edges_equal_attention_logits<D: SingleDevice>(
    device: &D,
    recipe: Recipe,
    form: Form,
    tolerance: f64,
) {
    let example = recipe.build::<D::Number>();
    let nodes = recipe.nodes as u32;
    let network = Network::on(device, architecture(&example, form, true), recipe.seed).unwrap();
    let incoming = example.graph.incoming();
    let pairs: Vec<[u32; 2]> = (0..nodes).flat_map(|i| incoming.of(i as usize).iter().map(move |&j| [j, i])).collect();
    let found = network.pair_logits(&example, &pairs).unwrap().unwrap();
    let last = network.attention(&example).unwrap().pop().unwrap();
    for (found, heads) in found.iter().zip(last.logits.chunks(last.heads)) {
        let mean = heads.iter().map(|v| v.to_f64()).sum::<f64>() / last.heads as f64;
        assert!((found.to_f64() - mean).abs() < tolerance * mean.abs().max(1.0), "{found} instead of {mean}");
    }
    assert!(network.pair_logits(&example, &[[0, nodes]]).is_err(), "there is no node {nodes}");
}

/// Asserts that predictions follow the nodes when these get other numbers.
pub fn predictions_do_not_depend_on_node_numbers<D: SingleDevice>(
    device: &D,
    recipe: Recipe,
    form: Form,
    tolerance: f64,
) {
    let (nodes, classes) = (recipe.nodes, recipe.classes);
    let example = recipe.build::<D::Number>();
    let network = Network::on(device, architecture(&example, form, true), recipe.seed).unwrap();
    let before = network.predict(&example).unwrap();

    let mut name: Vec<u32> = (0..nodes as u32).collect();
    Stream::new(recipe.seed, 0, 0, Purpose::Split).shuffle(&mut name);
    let edges: Vec<(u32, u32)> =
        recipe.edge_list().iter().map(|&(a, b)| (name[a as usize], name[b as usize])).collect();
    let mut values = vec![D::Number::ZERO; nodes * recipe.features];
    for (old, row) in recipe.feature_values().chunks(recipe.features).enumerate() {
        let to = &mut values[name[old] as usize * recipe.features..][..recipe.features];
        to.iter_mut().zip(row).for_each(|(to, &value)| *to = D::Number::from_f64(value));
    }
    let direction = if recipe.directed { Direction::Directed } else { Direction::Undirected };
    let renamed = Example::new(
        Graph::from_edges(nodes, &edges, direction).unwrap(),
        Features::dense(nodes, recipe.features, values).unwrap(),
        Labels::Single { classes, of: vec![0; nodes] },
        [vec![], vec![], vec![]],
    );
    let after = network.predict(&renamed.unwrap()).unwrap();
    for (old, row) in before.chunks(classes).enumerate() {
        for (a, b) in row.iter().zip(&after[name[old] as usize * classes..]) {
            assert!((a.to_f64() - b.to_f64()).abs() < tolerance, "{a} and {b}");
        }
    }
}

/// Asserts that attention is exact on a hub with more neighbours than a block of edges, whose scores are far apart.
pub fn attention_is_exact_for_hubs_and_large_scores<D: SingleDevice<Number = f32>>(device: &D) {
    let nodes = 1500;
    let edges: Vec<(u32, u32)> = (1..nodes as u32).map(|j| (j, 0)).collect();
    let graph = Graph::from_edges(nodes, &edges, Direction::Undirected).unwrap();
    let values: Vec<f32> =
        (0..nodes).flat_map(|k| [(k as f32 * 0.37).sin() * 60.0, (k as f32 * 0.11).cos() * 60.0]).collect();
    let labels = Labels::Single { classes: 3, of: vec![0; nodes] };
    let features = Features::dense(nodes, 2, values).unwrap();
    let example = Example::new(graph, features, labels, [vec![], vec![], vec![]]).unwrap();
    for form in ALL_FORMS {
        let network = Network::on(device, architecture(&example, form, false), 1).unwrap();
        let layer = &network.attention(&example).unwrap()[0];
        for head in 0..layer.heads {
            let sum: f32 = example.graph.incoming().range(0).map(|e| layer.coefficients[e * layer.heads + head]).sum();
            assert!((sum - 1.0).abs() < 1e-4, "{form:?} head {head}: {sum}");
        }
        // Compare with double precision, where rounding cannot hide errors of the rescaling between blocks.
        let exact = Model::<f64>::new(architecture(&example, form, false), 1).unwrap();
        let (a, b) = (network.predict(&example).unwrap(), exact.predict(&example.cast()).unwrap());
        assert!(a.iter().zip(&b).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-3 * b.abs().max(1.0)), "{form:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn attention_is_a_distribution(seed: u64, nodes in 3usize..40, edges in 0usize..400, directed: bool, form in 0usize..5) {
        let recipe = Recipe { nodes, edges, directed, seed, ..Recipe::default() };
        attention_sums_to_one(&Cpu::<f32>::default(), recipe, ALL_FORMS[form]);
    }

    #[test]
    fn logits_of_pairs_are_those_of_edges(seed: u64, directed: bool, form in 0usize..5) {
        let recipe = Recipe { nodes: 20, edges: 60, directed, seed, ..Recipe::default() };
        pair_logits_of_edges_equal_attention_logits(&Cpu::<f64>::default(), recipe, ALL_FORMS[form], 1e-12);
    }

    #[test]
    fn predictions_follow_renumbered_nodes(seed: u64, directed: bool, form in 0usize..5) {
        let recipe = Recipe { nodes: 20, edges: 60, directed, seed, ..Recipe::default() };
        predictions_do_not_depend_on_node_numbers(&Cpu::<f64>::default(), recipe, ALL_FORMS[form], 1e-10);
    }
}

#[test]
fn attention_of_hubs_is_exact() {
    attention_is_exact_for_hubs_and_large_scores(&Cpu::<f32>::default());
}
