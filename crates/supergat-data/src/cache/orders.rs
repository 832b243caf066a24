//! Orders of nodes in the cache.
//!
//! `NAME-HASH.order` contains the outer number of each internal node, followed by the key (32 bytes) and the CRC-32 of
//! both. The key is a hash of the graph, so an order serves every dataset with that graph, whatever its features and
//! splits.

use super::chosen;
use super::files::{Checked, DIGITS, ORDERS, remove, touch};
use super::key::{self, Key};
use crate::files::{self, atomic};
use crate::options::{Cache, CacheChoice};
use flate2::Crc;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use supergat_core::{Graph, NodeOrder};

/// Version of the search for orders. Increase it when another order is found for the same graph.
const VERSION: u32 = 1;
/// Number of values that are hashed at once.
const CHUNK: usize = 1 << 15;

/// Takes the order of a graph from the cache, or finds it and stores it if that took long. Errors of files are
/// ignored: the order can be found again.
pub(crate) fn order(name: &str, graph: &Graph, choice: &CacheChoice, find: impl FnOnce() -> NodeOrder) -> NodeOrder {
    let Ok(Some(cache)) = chosen(choice) else { return find() };
    let key = key_of(graph);
    let path = cache.order_path(name, &key);
    if let Some(order) = read(&path, &key, graph.nodes()) {
        touch(&path);
        return order;
    }
    let started = Instant::now();
    let order = find();
    if started.elapsed() >= cache.slow {
        let _ = cache.write_order(&path, &key, &order);
    }
    order
}

impl Cache {
    fn order_path(&self, name: &str, key: &Key) -> PathBuf {
        let digits: String = key.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{}-{digits}{ORDERS}", key::plain(name)))
    }

    fn write_order(&self, path: &Path, key: &Key, order: &NodeOrder) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        atomic::replace_entry(path, |out| {
            let mut out = Checked::new(out, self.limit);
            for chunk in order.outer().chunks(CHUNK) {
                out.write_all(chunk.iter().map(|node| node.to_le_bytes()).collect::<Vec<_>>().as_flattened())?;
            }
            out.write_all(key)?;
            let crc = out.sum();
            out.write_all(&crc.to_le_bytes())
        })?;
        self.shrink(path);
        Ok(())
    }
}

/// Hashes the edges of a graph.
fn key_of(graph: &Graph) -> Key {
    let mut hash = Sha256::new();
    hash.update(format!("order {VERSION}, {} nodes, {} edges", graph.nodes(), graph.edges()));
    for chunk in graph.incoming().offsets.chunks(CHUNK) {
        hash.update(chunk.iter().map(|offset| offset.to_le_bytes()).collect::<Vec<_>>().as_flattened());
    }
    for chunk in graph.incoming().neighbours.chunks(CHUNK) {
        hash.update(chunk.iter().map(|node| node.to_le_bytes()).collect::<Vec<_>>().as_flattened());
    }
    hash.finalize().into()
}

/// Reads an order. A damaged or foreign file is removed.
fn read(path: &Path, key: &Key, nodes: usize) -> Option<NodeOrder> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let order = parse(path, key, nodes);
    if order.is_none() {
        let _ = remove(path);
    }
    order
}

fn parse(path: &Path, key: &Key, nodes: usize) -> Option<NodeOrder> {
    let bytes = files::read(path, files::MAX_BYTES).ok()?;
    let (bytes, crc) = bytes.split_last_chunk()?;
    let (content, found) = bytes.split_last_chunk()?;
    let mut expected = Crc::new();
    expected.update(bytes);
    let (numbers, rest) = content.as_chunks::<4>();
    let is_intact = found == key && u32::from_le_bytes(*crc) == expected.sum();
    if !is_intact || !rest.is_empty() || numbers.len() != nodes {
        return None;
    }
    let outer = numbers.iter().map(|number| u32::from_le_bytes(*number)).collect();
    NodeOrder::new(outer, vec![0, nodes as u32]).ok()
}
