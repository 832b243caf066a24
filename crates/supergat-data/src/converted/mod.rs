//! A dataset as one file: safetensors with the finished graph, so that nothing is sorted or searched when it is loaded.
//!
//! The metadata has one entry, `supergat_dataset`, a JSON object (`Header`). The arrays of graph k are called `k.name`:
//!
//! | name | holds |
//! |---|---|
//! | `incoming.offsets`, `incoming.neighbours` | sources by target, every node among its own |
//! | `outgoing.offsets`, `outgoing.neighbours` | targets by source, unless the graph is symmetric |
//! | `place_at_target` | for each outgoing edge its place in its target's list |
//! | `links` | for each link as it was listed the position of its edge |
//! | `features` | nodes x features; or `features.offsets`, `features.columns`, `features.values` |
//! | `labels` | the class of each node (`u32::MAX`: not known), or nodes x classes of 0 and 1 |
//! | `train`, `validation`, `test` | nodes |
//! | `ids.ends`, `ids.text` | the ids of the nodes, one after another, where they are not 0, 1, ... |

mod read;
mod write;

pub use read::{parse, read};
pub use write::write;

use crate::schema::Schema;
use serde::{Deserialize, Serialize};

/// The entry of the metadata.
const ENTRY: &str = "supergat_dataset";
const VERSION: u32 = 1;

/// How files of this format end.
pub const ENDING: &str = "safetensors";

/// Everything that is no array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Header {
    version: u32,
    name: String,
    class_names: Vec<String>,
    several_labels: bool,
    listed_links: u64,
    notes: Vec<String>,
    schema: Option<Schema>,
    features: usize,
    /// For each graph whether its links have a direction.
    directed: Vec<bool>,
}
