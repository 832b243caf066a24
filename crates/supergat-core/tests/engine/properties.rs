//! Properties for any graph: attention is a distribution, and predictions do not depend on the numbering of
//! nodes.

use crate::common::{FORMS, Recipe, architecture};
use proptest::prelude::*;
use supergat_core::{Direction, Example, Features, Graph, Labels, Model};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn attention_sums_to_one(seed: u64, nodes in 1usize..40, edges in 0usize..400, directed: bool, form in 0usize..4) {
        let recipe = Recipe { nodes: nodes.max(3), edges, directed, seed, ..Recipe::default() };
        let example = recipe.build::<f32>();
        let model = Model::new(architecture(&example, FORMS[form], true), seed).unwrap();
        for layer in model.attention(&example).unwrap() {
            for i in 0..example.graph.nodes() {
                for head in 0..layer.heads {
                    let sum: f32 =
                        example.graph.incoming().range(i).map(|e| layer.coefficients[e * layer.heads + head]).sum();
                    prop_assert!((sum - 1.0).abs() < 1e-5, "node {} head {}: {}", i, head, sum);
                }
            }
        }
    }

    #[test]
    fn pair_logits_of_edges_equal_attention_logits(seed: u64, directed: bool, form in 0usize..4) {
        let example = Recipe { nodes: 20, edges: 60, directed, seed, ..Recipe::default() }.build::<f64>();
        let model = Model::new(architecture(&example, FORMS[form], true), seed).unwrap();
        let incoming = example.graph.incoming();
        let pairs: Vec<[u32; 2]> =
            (0..20).flat_map(|i| incoming.of(i as usize).iter().map(move |&j| [j, i])).collect();
        let found = model.pair_logits(&example, &pairs).unwrap().unwrap();
        let last = model.attention(&example).unwrap().pop().unwrap();
        for (found, heads) in found.iter().zip(last.logits.chunks(last.heads)) {
            let mean = heads.iter().sum::<f64>() / last.heads as f64;
            prop_assert!((found - mean).abs() < 1e-12 * mean.abs().max(1.0), "{} instead of {}", found, mean);
        }
        prop_assert!(model.pair_logits(&example, &[[0, 20]]).is_err(), "there is no node 20");
    }

    #[test]
    fn predictions_do_not_depend_on_node_numbers(seed: u64, directed: bool, form in 0usize..4) {
        let recipe = Recipe { nodes: 20, edges: 60, directed, seed, ..Recipe::default() };
        let example = recipe.build::<f64>();
        let model = Model::new(architecture(&example, FORMS[form], true), seed).unwrap();
        let before = model.predict(&example).unwrap();

        let mut name: Vec<u32> = (0..20).collect();
        supergat_core::random::Stream::new(seed, 0, 0, supergat_core::random::Purpose::Split).shuffle(&mut name);
        let edges: Vec<(u32, u32)> =
            recipe.edge_list().iter().map(|&(a, b)| (name[a as usize], name[b as usize])).collect();
        let mut values = vec![0.0; 20 * recipe.features];
        for (old, row) in recipe.feature_values().chunks(recipe.features).enumerate() {
            values[name[old] as usize * recipe.features..][..recipe.features].copy_from_slice(row);
        }
        let direction = if directed { Direction::Directed } else { Direction::Undirected };
        let renamed = Example::new(
            Graph::from_edges(20, &edges, direction).unwrap(),
            Features::dense(20, recipe.features, values).unwrap(),
            Labels::Single { classes: 3, of: vec![0; 20] },
            [vec![], vec![], vec![]],
        ).unwrap();
        let after = model.predict(&renamed).unwrap();
        for (old, row) in before.chunks(3).enumerate() {
            for (a, b) in row.iter().zip(&after[name[old] as usize * 3..]) {
                prop_assert!((a - b).abs() < 1e-10, "{} and {}", a, b);
            }
        }
    }
}

/// The hub has more neighbours than a block of edges, and its scores are far apart.
#[test]
fn attention_sums_to_one_for_hubs_and_large_scores() {
    let nodes = 1500;
    let edges: Vec<(u32, u32)> = (1..nodes as u32).map(|j| (j, 0)).collect();
    let graph = Graph::from_edges(nodes, &edges, Direction::Undirected).unwrap();
    let values: Vec<f32> =
        (0..nodes).flat_map(|k| [(k as f32 * 0.37).sin() * 60.0, (k as f32 * 0.11).cos() * 60.0]).collect();
    let labels = Labels::Single { classes: 3, of: vec![0; nodes] };
    let features = Features::dense(nodes, 2, values).unwrap();
    let example = Example::new(graph, features, labels, [vec![], vec![], vec![]]).unwrap();
    for form in FORMS {
        let model = Model::new(architecture(&example, form, false), 1).unwrap();
        let layer = &model.attention(&example).unwrap()[0];
        for head in 0..layer.heads {
            let sum: f32 = example.graph.incoming().range(0).map(|e| layer.coefficients[e * layer.heads + head]).sum();
            assert!((sum - 1.0).abs() < 1e-4, "{form:?} head {head}: {sum}");
        }
        // Compare with double precision, where rounding cannot hide errors of the rescaling between blocks.
        let exact = Model::<f64>::new(architecture(&example, form, false), 1).unwrap();
        let (a, b) = (model.predict(&example).unwrap(), exact.predict(&example.cast()).unwrap());
        assert!(a.iter().zip(&b).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-3 * b.abs().max(1.0)), "{form:?}");
    }
}
