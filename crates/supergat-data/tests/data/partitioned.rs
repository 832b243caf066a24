//! Converted files with an order of their nodes: the whole file is the same dataset as without an order, and parts
//! are slices of the renumbered dataset.

use crate::convert::{all, assert_same};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use supergat_core::{Example, Features, Labels, NodeOrder};
use supergat_data::converted::{self, PartitionedFile};
use supergat_data::{Dataset, convert, load};

/// Returns a dataset with an order of every graph, in three parts, one of which is empty.
fn ordered(mut dataset: Dataset) -> Dataset {
    for example in &mut dataset.examples {
        let nodes = example.graph.nodes() as u32;
        let outer = (0..nodes).map(|node| (3 * node + 2) % nodes);
        // Multiples of three are no permutation of three nodes or six.
        let outer: Vec<u32> = if nodes.is_multiple_of(3) { (0..nodes).rev().collect() } else { outer.collect() };
        example.order = Some(Arc::new(NodeOrder::new(outer, vec![0, 2, 2, nodes]).unwrap()));
    }
    dataset
}

fn written(dataset: &Dataset) -> Vec<u8> {
    let mut bytes = Vec::new();
    converted::write(dataset, &mut bytes).unwrap();
    bytes
}

fn name() -> &'static Path {
    Path::new("parts.safetensors")
}

#[test]
fn file_with_parts_is_the_same_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("parts.supergat.safetensors");
    for plain in all() {
        let dataset = ordered(plain);
        convert(&dataset, &path).unwrap();
        let again = load(path.to_str().unwrap()).unwrap();
        assert_same(&dataset, &again);
        for (found, expected) in again.examples.iter().zip(&dataset.examples) {
            let (found, expected) = (found.order.as_ref().unwrap(), expected.order.as_ref().unwrap());
            assert_eq!((found.outer(), found.bounds()), (expected.outer(), expected.bounds()));
        }
        // The schema of these datasets does not fit their features and is not read.
        let again = Dataset { schema: dataset.schema.clone(), ..again };
        assert!(written(&again) == written(&dataset), "equal datasets give equal files");
    }
}

#[test]
fn given_order_may_have_parts() {
    for mut dataset in all() {
        for example in &mut dataset.examples {
            let nodes = example.graph.nodes() as u32;
            example.order = Some(Arc::new(NodeOrder::new((0..nodes).collect(), vec![0, 1, nodes]).unwrap()));
        }
        let bytes = written(&dataset);
        assert_same(&dataset, &converted::parse(name(), &bytes).unwrap());
        let file = PartitionedFile::from_bytes(name(), bytes).unwrap();
        assert_eq!(file.graph(0).splits(0..1).unwrap(), [vec![0], vec![0], vec![]]);
    }
}

#[test]
fn random_splits_do_not_depend_on_parts() {
    let plain = load("random-partition:classes=3,nodes=180").unwrap();
    let parts = converted::parse(name(), &written(&ordered(plain.clone()))).unwrap();
    assert_same(&plain.redrawn(7).unwrap(), &parts.redrawn(7).unwrap());
    assert!(parts.redrawn(7).unwrap().examples[0].order.is_some());
}

fn assert_slice(file: &PartitionedFile, k: usize, internal: &Example<f32>, order: &NodeOrder, nodes: Range<usize>) {
    let graph = file.graph(k);
    assert_eq!(graph.order(nodes.clone()).unwrap(), order.outer()[nodes.clone()]);
    let (incoming, outgoing) = (graph.incoming(nodes.clone()).unwrap(), graph.outgoing(nodes.clone()).unwrap());
    assert_eq!(incoming.first_edge, internal.graph.incoming().offsets[nodes.start]);
    assert_eq!(outgoing.first_edge, internal.graph.outgoing().offsets[nodes.start]);
    for (at, node) in nodes.clone().enumerate() {
        assert_eq!(incoming.lists.of(at), internal.graph.incoming().of(node));
        assert_eq!(outgoing.lists.of(at), internal.graph.outgoing().of(node));
        let range = internal.graph.incoming().range(node);
        assert_eq!(graph.incoming_range(node as u32).unwrap(), range.start as u64..range.end as u64);
    }
    let edges = internal.graph.outgoing().offsets[nodes.start] as usize..;
    let places = graph.place_at_target(nodes.clone()).unwrap();
    assert_eq!(places, internal.graph.place_at_target()[edges][..places.len()]);
    assert_eq!(places.len(), outgoing.lists.neighbours.len());
    let features = graph.features(nodes.clone()).unwrap();
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    match (&features, &*internal.features) {
        (Features::Dense { values, columns, .. }, Features::Dense { values: all, .. }) => {
            assert_eq!(bits(values), bits(&all[nodes.start * columns..nodes.end * columns]));
        }
        (Features::Sparse(found), Features::Sparse(all)) => {
            assert_eq!(found.rows(), nodes.len());
            for (at, node) in nodes.clone().enumerate() {
                assert_eq!(found.row(at).0, all.row(node).0);
                assert_eq!(bits(found.row(at).1), bits(all.row(node).1));
            }
        }
        _ => panic!("dense became sparse, or the other way round"),
    }
    match (graph.labels(nodes.clone()).unwrap(), &internal.labels) {
        (Labels::Single { of, .. }, Labels::Single { of: all, .. }) => assert_eq!(of, all[nodes.clone()]),
        (Labels::Multi { of, classes }, Labels::Multi { of: all, .. }) => {
            assert_eq!(of, all[nodes.start * classes..nodes.end * classes]);
        }
        _ => panic!("other labels"),
    }
    let within =
        |list: &[u32]| -> Vec<u32> { list.iter().copied().filter(|n| nodes.contains(&(*n as usize))).collect() };
    let expected = [&internal.train, &internal.validation, &internal.test].map(|list| within(list));
    assert_eq!(graph.splits(nodes).unwrap(), expected);
}

#[test]
fn parts_are_slices_of_the_renumbered_dataset() {
    for plain in all() {
        let dataset = ordered(plain);
        let file = PartitionedFile::from_bytes(name(), written(&dataset)).unwrap();
        assert_eq!((file.graphs(), file.features()), (dataset.examples.len(), 9));
        for (k, example) in dataset.examples.iter().enumerate() {
            let order = example.order.as_ref().unwrap();
            let (graph, internal) = (file.graph(k), example.renumbered(order));
            assert_eq!((graph.nodes(), graph.edges()), (internal.graph.nodes(), internal.graph.edges()));
            assert_eq!((graph.bounds(), graph.parts(), graph.part(1)), (order.bounds(), 3, 2..2));
            assert_eq!(graph.is_symmetric(), internal.graph.is_symmetric());
            assert_eq!(graph.direction(), internal.graph.direction());
            for start in 0..=graph.nodes() {
                for end in start..=graph.nodes() {
                    assert_slice(&file, k, &internal, order, start..end);
                }
            }
            assert!(graph.features(0..graph.nodes() + 1).is_err() && graph.labels(9..9).is_err());
        }
    }
}

#[test]
fn explains_files_without_parts() {
    let plain = written(&load("random-graph:nodes=20").unwrap());
    let error = PartitionedFile::from_bytes(name(), plain).unwrap_err().to_string();
    assert!(error.contains("expected a dataset with parts, as `supergat partition` writes it"), "{error}");
    assert!(PartitionedFile::open(Path::new("no/such.safetensors")).is_err());
}

/// Reads everything that can be read; returns whether all of it is valid.
fn reads_all(bytes: &[u8]) -> bool {
    let Ok(file) = PartitionedFile::from_bytes(name(), bytes.to_vec()) else { return false };
    let of_graph = |k: usize| {
        let graph = file.graph(k);
        (0..graph.parts()).map(|part| graph.part(part)).all(|nodes| {
            graph.order(nodes.clone()).is_ok()
                && graph.place_at_target(nodes.clone()).is_ok()
                && graph.features(nodes.clone()).is_ok()
                && graph.splits(nodes).is_ok()
        })
    };
    (0..file.graphs()).all(of_graph)
}

#[test]
fn survives_damaged_files() {
    for plain in [0, 7].map(|k| all().remove(k)) {
        let good = written(&ordered(plain));
        assert!(reads_all(&good) && converted::parse(name(), &good).is_ok());
        for length in 0..good.len() {
            assert!(!reads_all(&good[..length]) && converted::parse(name(), &good[..length]).is_err());
        }
        // No change may cause a panic.
        let mut rejected = 0;
        for at in 0..good.len() {
            for flip in [0x01, 0xff] {
                let mut bytes = good.clone();
                bytes[at] ^= flip;
                rejected += usize::from(!reads_all(&bytes));
                let _ = converted::parse(name(), &bytes);
            }
        }
        assert!(2 * rejected > good.len(), "{rejected} of {} changes were found", 2 * good.len());
    }
}

#[test]
fn file_that_is_shortened_while_it_is_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("parts.supergat.safetensors");
    let dataset = ordered(load("random-graph:nodes=5000,degree=8,features=20,classes=2").unwrap());
    convert(&dataset, &path).unwrap();
    let file = PartitionedFile::open(&path).unwrap();
    let last = file.graph(0).part(2);
    assert!(file.graph(0).features(last.clone()).is_ok());
    std::fs::File::options().write(true).open(&path).unwrap().set_len(8192).unwrap();
    let error = file.graph(0).features(last).unwrap_err().to_string();
    assert!(error.contains("parts.supergat.safetensors") && error.contains("shortened"), "{error}");
}
