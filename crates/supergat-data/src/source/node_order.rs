//! Choice of the order of the nodes inside the engine.
//!
//! Layers read the rows of all neighbours of a node. In a large graph with communities, an order that keeps
//! neighbours close lets most of these rows come from the caches. The order is found once per graph and stored in
//! the user's cache, and in converted files. Outside of the engine, nodes keep their numbers.

use crate::cache;
use crate::dataset::Dataset;
use crate::options::{LoadOptions, NodeOrderChoice};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;
use supergat_core::{Example, Graph, NodeOrder};
use supergat_numerics::locality::{HAS_METIS, local_order, share_within_blocks};

/// Smallest number of nodes of a graph that is ordered automatically. The rows of a layer (64 numbers) then take
/// 4 MiB. docs/studies/performance.md has the measurements.
const MANY_NODES: usize = 1 << 14;
/// Smallest average number of neighbours of such a graph.
const MEAN_DEGREE: usize = 2;
/// Number of nodes whose rows fit into the caches of a core.
const BLOCK: usize = 1 << 12;
/// Smallest additional share of edges within a block for which an order is used automatically.
const GAIN: f64 = 0.2;
/// Time after which a search is reported.
const LONG: Duration = Duration::from_secs(1);

static REPORT: OnceLock<fn(&str)> = OnceLock::new();

/// Reports searches for orders that take longer than a second by calls of `report`, from any thread of this process.
/// Only the first call of this function has an effect.
///
/// ```
/// supergat_data::node_order::report_to(|text| eprintln!("{text}"));
/// ```
pub fn report_to(report: fn(&str)) {
    let _ = REPORT.set(report);
}

impl Dataset {
    /// Chooses the order of the nodes inside the engine for every graph, by [`LoadOptions::node_order`]. All functions
    /// that load or build a dataset call it.
    pub fn order_nodes(&mut self, options: &LoadOptions) {
        for example in &mut self.examples {
            example.order = order(example, &self.name, options);
        }
    }

    /// Returns the name of the order of the nodes inside the engine: `parts` if the dataset is divided into parts,
    /// `local` if a graph has an order that keeps neighbours close, otherwise `given`.
    pub fn node_order(&self) -> &'static str {
        let orders = self.examples.iter().filter_map(|example| example.order.as_ref());
        match orders.filter(|order| order.parts() > 1 || !order.is_identity()).map(|order| order.parts()).max() {
            None => "given",
            Some(1) => "local",
            Some(_) => "parts",
        }
    }
}

/// Returns the order of an example's nodes inside the engine; `None` for the given one.
fn order(example: &Example<f32>, name: &str, options: &LoadOptions) -> Option<Arc<NodeOrder>> {
    let graph = &*example.graph;
    match (options.node_order, &example.order) {
        (_, Some(order)) if order.parts() > 1 => Some(Arc::clone(order)),
        (NodeOrderChoice::Given, _) => None,
        (_, Some(order)) => Some(Arc::clone(order)),
        (NodeOrderChoice::Auto, None) if is_small(graph) || !HAS_METIS => None,
        (choice, None) => {
            let find = || reporting(graph, name, REPORT.get(), || local_order(graph));
            let order = cache::order(name, graph, &options.cache, find);
            (choice == NodeOrderChoice::Local || gains(graph, &order)).then(|| Arc::new(order))
        }
    }
}

fn is_small(graph: &Graph) -> bool {
    graph.nodes() < MANY_NODES || graph.edges() - graph.nodes() < MEAN_DEGREE * graph.nodes()
}

/// Returns whether many more neighbours are close in an order than in the given one.
fn gains(graph: &Graph, order: &NodeOrder) -> bool {
    let given = NodeOrder::identity(graph.nodes()).expect("as many nodes as the graph has");
    let share = |order: &NodeOrder| share_within_blocks(graph, order, BLOCK);
    share(order) >= share(&given) + GAIN
}

/// Runs a search, and calls `report` while it runs if it takes long.
fn reporting<R>(graph: &Graph, name: &str, report: Option<&fn(&str)>, search: impl FnOnce() -> R) -> R {
    let Some(&report) = report else { return search() };
    let edges = graph.edges() - graph.nodes();
    let text = format!("{name}: looking for an order of the nodes that suits the caches ({edges} edges)");
    std::thread::scope(|scope| {
        let (done, waiting) = mpsc::channel::<()>();
        scope.spawn(move || {
            if waiting.recv_timeout(LONG) == Err(mpsc::RecvTimeoutError::Timeout) {
                report(&text);
            }
        });
        let found = search();
        drop(done);
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, CacheChoice};
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn with(node_order: NodeOrderChoice, cache: CacheChoice) -> LoadOptions {
        LoadOptions { node_order, cache, ..LoadOptions::default() }
    }

    fn large(communities: usize) -> String {
        format!("random-graph:nodes=20000,degree=14,features=1,classes=2,communities={communities}")
    }

    fn outer(dataset: &Dataset) -> Option<&[u32]> {
        dataset.examples[0].order.as_ref().map(|order| order.outer())
    }

    #[test]
    fn large_graphs_with_communities_are_ordered() {
        let mut dataset = crate::load_with(&large(200), &with(NodeOrderChoice::Auto, CacheChoice::Off)).unwrap();
        assert_eq!(dataset.node_order(), "local");
        // Another split has the same order.
        let other = dataset.redrawn(3).unwrap();
        assert!(Arc::ptr_eq(other.examples[0].order.as_ref().unwrap(), dataset.examples[0].order.as_ref().unwrap()));
        dataset.order_nodes(&with(NodeOrderChoice::Given, CacheChoice::Off));
        assert_eq!((dataset.node_order(), outer(&dataset)), ("given", None));
    }

    #[test]
    fn other_graphs_keep_their_order() {
        // Large without communities, and small with communities.
        for source in [&large(1)[..], "random-graph:nodes=16000,degree=6,features=1,classes=2,communities=160"] {
            let mut dataset = crate::load_with(source, &with(NodeOrderChoice::Auto, CacheChoice::Off)).unwrap();
            assert_eq!(dataset.node_order(), "given", "{source}");
            dataset.order_nodes(&with(NodeOrderChoice::Local, CacheChoice::Off));
            assert_eq!(dataset.node_order(), "local");
        }
    }

    #[test]
    fn orders_are_read_from_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { slow: Duration::ZERO, ..Cache::new(folder.path()) };
        let load = |cache: CacheChoice| {
            let options = with(NodeOrderChoice::Local, cache);
            crate::load_with("random-graph:nodes=600,degree=6,communities=12", &options).unwrap()
        };
        let cached = || outer(&load(CacheChoice::In(cache.clone()))).unwrap().to_vec();
        let found = outer(&load(CacheChoice::Off)).unwrap().to_vec();
        assert!(cache.entries().is_empty());
        assert_eq!(cached(), found);
        let file = cache.entries()[0].path.clone();
        let good = std::fs::read(&file).unwrap();
        // The stored order is used: another one with the right key and checksum is taken from the file.
        let key = &good[good.len() - 36..good.len() - 4];
        let stored = |order: &[u32]| {
            let mut bytes: Vec<u8> = order.iter().flat_map(|node| node.to_le_bytes()).collect();
            bytes.extend_from_slice(key);
            let mut crc = flate2::Crc::new();
            crc.update(&bytes);
            bytes.extend_from_slice(&crc.sum().to_le_bytes());
            std::fs::write(&file, bytes).unwrap();
        };
        let reversed: Vec<u32> = (0..600).rev().collect();
        stored(&reversed);
        assert_eq!(cached(), reversed);
        // Orders that are none are found again, and so are those of damaged files and of other graphs.
        let twice: Vec<u32> = (0..600).map(|node| node / 2).collect();
        let beyond: Vec<u32> = (1..601).collect();
        for hostile in [&reversed[1..], &twice, &beyond, &[]] {
            stored(hostile);
            assert_eq!(cached(), found);
            assert!(std::fs::read(&file).unwrap() == good);
        }
        for damaged in [&good[..good.len() - 5], &[&good[..9], &[good[9] ^ 1], &good[10..]].concat(), &good[..30]] {
            std::fs::write(&file, damaged).unwrap();
            assert_eq!(cached(), found);
            assert!(std::fs::read(&file).unwrap() == good);
        }
        let entries = cache.entries();
        assert_eq!((entries.len(), &entries[0].name[..]), (1, "random-graph (order of nodes)"));
        assert_eq!(cache.clear().unwrap().len(), 1);
        assert!(!file.exists());
    }

    #[test]
    fn order_of_a_file_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ordered.safetensors");
        let mut dataset = crate::load("random-graph:nodes=30").unwrap();
        let reversed: Vec<u32> = (0..30).rev().collect();
        for (bounds, name, choices) in [
            (vec![0, 30], "local", &[NodeOrderChoice::Auto, NodeOrderChoice::Local][..]),
            (vec![0, 10, 30], "parts", &[NodeOrderChoice::Auto, NodeOrderChoice::Local, NodeOrderChoice::Given]),
        ] {
            dataset.examples[0].order = Some(Arc::new(NodeOrder::new(reversed.clone(), bounds).unwrap()));
            crate::convert(&dataset, &path).unwrap();
            let load = |choice| crate::load_with(path.to_str().unwrap(), &with(choice, CacheChoice::Off)).unwrap();
            for &choice in choices {
                let found = load(choice);
                assert_eq!((found.node_order(), outer(&found)), (name, Some(&reversed[..])), "{choice}");
            }
            if name == "local" {
                assert_eq!(outer(&load(NodeOrderChoice::Given)), None);
            }
        }
    }

    #[test]
    fn long_searches_are_reported() {
        static REPORTS: AtomicUsize = AtomicUsize::new(0);
        let graph = Graph::from_edges(2, &[(0, 1)], supergat_core::Direction::Undirected).unwrap();
        let report: fn(&str) = |text| {
            assert_eq!(text, "mine: looking for an order of the nodes that suits the caches (2 edges)");
            REPORTS.fetch_add(1, Ordering::Relaxed);
        };
        assert_eq!(reporting(&graph, "mine", Some(&report), || 7), 7);
        assert_eq!(REPORTS.load(Ordering::Relaxed), 0);
        reporting(&graph, "mine", Some(&report), || std::thread::sleep(LONG + LONG / 2));
        assert_eq!(REPORTS.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn names_parse_back() {
        for choice in [NodeOrderChoice::Auto, NodeOrderChoice::Given, NodeOrderChoice::Local] {
            assert_eq!(choice.to_string().parse::<NodeOrderChoice>().unwrap(), choice);
        }
        let error = "metis".parse::<NodeOrderChoice>().unwrap_err().to_string();
        assert!(error.contains("expected auto, given or local"), "{error}");
    }
}
