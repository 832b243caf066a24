//! The recipe: which form of attention suits a graph, by its average degree and homophily.
//!
//! | file | what it is |
//! |---|---|
//! | `map.rs` | the plane of degree and homophily, and the best form at each of its synthetic graphs |

pub mod map;

pub use map::{Cell, Form, Map};
