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
//! | `labels` | class of each node (`u32::MAX`: unknown), or a 0/1 matrix, nodes x classes |
//! | `train`, `validation`, `test` | nodes of each split |
//! | `ids.ends`, `ids.text` | concatenated node ids and where each ends; absent if the ids are 0, 1, ... |

mod read;
mod write;

pub use read::{parse, read};
pub use write::write;

use crate::schema::Schema;
use serde::{Deserialize, Serialize};

/// Key of the metadata entry.
const METADATA_KEY: &str = "supergat_dataset";
const VERSION: u32 = 1;

/// File extension of this format.
pub const ENDING: &str = "safetensors";

/// Everything except the arrays.
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
    /// Whether each graph is directed.
    directed: Vec<bool>,
}
