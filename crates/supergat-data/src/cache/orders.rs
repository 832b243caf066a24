//! Orders of nodes in the cache.
//!
//! A file contains the outer number of each internal node. Its key is a hash of the graph, so an order serves every dataset
//! with that graph, whatever its features and splits.

use super::chosen;
use super::files::ORDERS;
use super::key::{self, Key};
use crate::files::encoded;
use crate::files::read_at::ReadAt;
use crate::options::CacheChoice;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::time::Instant;
use supergat_core::{Graph, NodeOrder};

/// Version of the search for orders. Increase it when another order is found for the same graph.
const VERSION: u32 = 1;

/// Takes the order of a graph from the cache, or finds it and stores it if that took long. Errors of files are
/// ignored: the order can be found again.
pub(crate) fn order(name: &str, graph: &Graph, choice: &CacheChoice, find: impl FnOnce() -> NodeOrder) -> NodeOrder {
    let Ok(Some(cache)) = chosen(choice) else { return find() };
    let key = key_of(graph);
    let path = cache.path(&key::plain(name), &key, ORDERS);
    if let Some(order) = cache.read(&path, &key, |file, length| parse(file, length, graph.nodes())) {
        return order;
    }
    let started = Instant::now();
    let order = find();
    if started.elapsed() >= cache.slow {
        let mut numbers = encoded(order.outer(), |node| node.to_le_bytes());
        let _ = cache.write(&path, &key, |out| numbers.try_for_each(|block| out.write_all(&block)));
    }
    order
}

/// Hashes the edges of a graph.
fn key_of(graph: &Graph) -> Key {
    let mut hash = Sha256::new();
    hash.update(format!("order {VERSION}, {} nodes, {} edges", graph.nodes(), graph.edges()));
    let incoming = graph.incoming();
    encoded(&incoming.offsets, |offset| offset.to_le_bytes()).for_each(|block| hash.update(block));
    encoded(&incoming.neighbours, |node| node.to_le_bytes()).for_each(|block| hash.update(block));
    hash.finalize().into()
}

/// Reads an order of `nodes` nodes.
fn parse(file: &File, length: u64, nodes: usize) -> Option<NodeOrder> {
    if length != 4 * nodes as u64 {
        return None;
    }
    let mut bytes = vec![0; 4 * nodes];
    file.read_at(&mut bytes, 0).ok()?;
    let outer = bytes.as_chunks().0.iter().map(|number| u32::from_le_bytes(*number)).collect();
    NodeOrder::new(outer, vec![0, nodes as u32]).ok()
}
