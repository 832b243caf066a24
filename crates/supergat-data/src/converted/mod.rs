//! Datasets stored as one safetensors file.
//!
//! The file contains the finished graph, so loading neither sorts nor searches.
//!
//! The metadata has one entry, `supergat_dataset`: a JSON object (`Header`). Arrays of graph k are named
//! `k.name`:
//!
//! | name | contents |
//! |---|---|
//! | `incoming.offsets`, `incoming.neighbours` | sources grouped by target; every node has a self-loop |
//! | `outgoing.offsets`, `outgoing.neighbours` | targets grouped by source; absent if symmetric |
//! | `place_at_target` | for each outgoing edge its index in its target's list |
//! | `links` | for each link, in input order, the position of its edge |
//! | `features` | dense matrix, nodes x features |
//! | `features.offsets`, `features.columns`, `features.values` | sparse matrix (CSR), instead of `features` |
//! | `edges.weights` | weight of each incoming edge; absent if all are 1 |
//! | `edges.features` | features of each incoming edge, edges x features; absent if there are none |
//! | `labels` | class of each node (`u32::MAX`: unknown), or a 0/1 matrix, nodes x classes |
//! | `train`, `validation`, `test` | nodes of each split |
//! | `ids.ends`, `ids.text` | concatenated node ids and where each ends; absent if the ids are 0, 1, ... |
//!
//! Graphs with an order of their nodes ([`supergat_core::NodeOrder`]) are stored in that order: all arrays above
//! have internal numbers and are sorted by them, except for `ids.ends` and `ids.text`, which are in the order of
//! the outer numbers. Such files have version 2 and additional arrays:
//!
//! | name | contents |
//! |---|---|
//! | `order` | outer number of each internal node |
//! | `parts` | first internal node of each part, followed by the number of nodes |
//! | `train.places`, ... | place of each node in the given list of its split; absent if that list is ascending |
//!
//! [`read()`] returns the outer numbers, with the order in [`supergat_core::Example::order`]. The nodes of a part are
//! consecutive in every array, so [`PartitionedFile`] reads single parts.

mod index;
mod partitioned;
mod read;
mod write;

pub use partitioned::{NodeLists, PartitionedFile, PartitionedGraph};
pub(crate) use read::parse_part;
pub use read::{parse, read};
pub use write::write;

use crate::schema::{LinkSchema, Schema};
use serde::{Deserialize, Serialize};

/// Key of the metadata entry.
const METADATA_KEY: &str = "supergat_dataset";
/// Version of files in the given order of nodes.
const VERSION: u32 = 1;
/// Version of files with an order of nodes.
const PARTITIONED: u32 = 2;
/// Names of the splits.
const LISTS: [&str; 3] = ["train", "validation", "test"];

/// Names of the arrays of edges.
const EDGE_WEIGHTS: &str = "edges.weights";
const EDGE_FEATURES: &str = "edges.features";

/// File extension of this format.
pub const ENDING: &str = "safetensors";

/// Returns the name of the array with the places of the nodes of a split.
fn places_of(list: &str) -> String {
    format!("{list}.places")
}

/// Everything except the arrays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Header {
    version: u32,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preset: Option<String>,
    class_names: Vec<String>,
    several_labels: bool,
    listed_links: u64,
    notes: Vec<String>,
    schema: Option<Schema>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link_schema: Option<LinkSchema>,
    features: usize,
    #[serde(default, skip_serializing_if = "is_zero")]
    edge_features: usize,
    /// Whether each graph is directed.
    directed: Vec<bool>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}
