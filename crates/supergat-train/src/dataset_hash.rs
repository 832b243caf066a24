//! Hashes that identify a dataset: by its split, and by everything that training depends on.

use supergat_core::hash::Fnv;
use supergat_core::{Features, Labels};
use supergat_data::Dataset;

/// Returns a hash of a dataset's split: 16 hexadecimal digits computed from the sizes of the graphs, the
/// labels and the three lists of nodes.
pub fn split_hash(dataset: &Dataset) -> String {
    let mut hash = Fnv::default();
    for example in &dataset.examples {
        let (graph, features) = (&example.graph, &example.features);
        [graph.nodes(), graph.edges(), features.columns()]
            .iter()
            .for_each(|&size| hash.add(&(size as u64).to_le_bytes()));
        match &example.labels {
            Labels::Single { of, .. } => of.iter().for_each(|class| hash.add(&class.to_le_bytes())),
            Labels::Multi { of, .. } => hash.add(of),
        }
        for list in [&example.train, &example.validation, &example.test] {
            hash.add(&(list.len() as u64).to_le_bytes());
            list.iter().for_each(|node| hash.add(&node.to_le_bytes()));
        }
    }
    hash.digits()
}

/// Returns a hash of everything in a dataset that training and its results depend on: 16 hexadecimal digits.
pub fn dataset_hash(dataset: &Dataset) -> String {
    let mut hash = Fnv::default();
    hash.add(split_hash(dataset).as_bytes());
    for example in &dataset.examples {
        let incoming = example.graph.incoming();
        for node in 0..example.graph.nodes() {
            hash.add_numbers(incoming.of(node));
            hash.add(b"\n");
        }
        hash.add_numbers(example.graph.position_of_input());
        if let Some(order) = &example.order {
            hash.add(b"order");
            hash.add_numbers(order.outer());
        }
        if let Some(edges) = &example.edges {
            hash.add(b"edges");
            hash.add_numbers(edges.weights());
            hash.add_numbers(edges.features());
        }
        if let Some(weights) = &example.class_weights {
            hash.add(b"classes");
            hash.add_numbers(weights);
        }
        match &*example.features {
            Features::Dense { values, .. } => hash.add_numbers(values),
            Features::Sparse(matrix) => {
                hash.add_numbers(matrix.offsets());
                hash.add_numbers(matrix.column_of());
                hash.add_numbers(matrix.values());
            }
        }
    }
    for name in dataset.class_names.iter().chain(dataset.node_ids.iter().flatten().flatten()) {
        hash.add(name.as_bytes());
        hash.add(b"\n");
    }
    hash.digits()
}
#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::{Example, Graph, NodeOrder};

    #[test]
    fn hash_depends_on_features_links_order_and_names() {
        let load = |text: &str| supergat_data::load(text).unwrap();
        let dataset = load("random-partition:classes=3,nodes=180,degree=6,homophily=0.8");
        let hash = dataset_hash(&dataset);
        assert_eq!(hash, dataset_hash(&dataset.clone()));
        assert_ne!(hash, dataset_hash(&dataset.redrawn(1).unwrap()));

        let changed = |change: fn(&mut Example<f32>)| {
            let mut other = dataset.clone();
            change(&mut other.examples[0]);
            dataset_hash(&other)
        };
        let features = |example: &mut Example<f32>| {
            let mut features = (*example.features).clone();
            let Features::Dense { values, .. } = &mut features else { panic!("generated features are dense") };
            values[7] += 0.25;
            example.features = features.into();
        };
        assert_ne!(hash, changed(features));
        let links = |example: &mut Example<f32>| {
            // As many links, between other nodes.
            let nodes = example.graph.nodes() as u32;
            let direction = example.graph.direction();
            let lists =
                (0..nodes).flat_map(|to| example.graph.incoming().of(to as usize).iter().map(move |&from| (from, to)));
            let moved: Vec<_> = lists.map(|(from, to)| ((from + 1) % nodes, (to + 1) % nodes)).collect();
            example.graph = Graph::from_edges(nodes as usize, &moved, direction).unwrap().into();
        };
        assert_ne!(hash, changed(links));
        let order = |example: &mut Example<f32>| {
            let nodes = example.graph.nodes() as u32;
            example.order = Some(NodeOrder::new((0..nodes).rev().collect(), vec![0, nodes]).unwrap().into());
        };
        assert_ne!(hash, changed(order));
        let mut other = dataset.clone();
        other.class_names[1] = "b".into();
        assert_ne!(hash, dataset_hash(&other));
    }

    #[test]
    fn different_splits_have_different_hashes() {
        let dataset = supergat_data::load("random-partition:classes=2,nodes=400,seed=1").unwrap();
        let hash = split_hash(&dataset);
        assert_eq!(hash, split_hash(&dataset.clone()));
        assert!(hash.len() == 16 && hash != split_hash(&dataset.redrawn(0).unwrap()));
        assert_ne!(split_hash(&dataset.redrawn(0).unwrap()), split_hash(&dataset.redrawn(1).unwrap()));
    }
}
