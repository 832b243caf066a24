//! Recursive bisection of weighted graphs by METIS.

use super::weighted::Weighted;

/// Whether this program contains METIS (feature `metis`). Other programs neither divide graphs nor search for orders of
/// their nodes by default.
pub const HAS_METIS: bool = cfg!(feature = "metis");

/// Error of dividing a graph into parts.
///
/// ```
/// use supergat_core::{Direction, Graph};
/// use supergat_numerics::locality::partition;
/// let graph = Graph::from_edges(3, &[(0, 1)], Direction::Undirected)?;
/// let error = partition(&graph, 9).unwrap_err();
/// assert_eq!(error.to_string(), "cannot divide 3 nodes into 9 parts: expected from 1 to 3 parts");
/// # Ok::<(), supergat_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartitionError {
    /// More parts than nodes, or none.
    #[error("cannot divide {nodes} nodes into {parts} parts: expected from 1 to {} parts", .nodes.max(&1))]
    Parts {
        /// Requested number of parts.
        parts: usize,
        /// Number of nodes of the graph.
        nodes: usize,
    },
    /// METIS could not divide the graph.
    #[error("METIS cannot divide the graph: {message}")]
    Metis {
        /// Message of METIS.
        message: String,
    },
}

/// Quantities that all parts have about as much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Balance {
    /// Number of nodes.
    Sizes,
    /// Number of nodes, and number of links with the self-loop of every node.
    SizesAndLinks,
}

/// Divides a graph into parts by recursive bisection; returns the part of each node. Consecutive parts are those of
/// the same side, so groups of them have few links between them as well.
pub(super) fn bisect(graph: &Weighted<'_>, parts: usize, balance: Balance) -> Result<Vec<u32>, PartitionError> {
    if parts <= 1 || graph.nodes() <= 1 {
        return Ok(vec![0; graph.nodes()]);
    }
    #[cfg(feature = "metis")]
    return calls::bisect(graph, parts, balance);
    #[cfg(not(feature = "metis"))]
    {
        let _ = balance;
        Err(PartitionError::Metis { message: "this program was built without the feature `metis`".into() })
    }
}

/// Calls of METIS.
#[cfg(feature = "metis")]
mod calls {
    use super::{Balance, PartitionError, Weighted};
    use std::sync::{Mutex, PoisonError};

    /// Seed of METIS.
    const SEED: metis::Idx = 1;
    /// Largest sum of weights that METIS can count.
    const MOST: u64 = 1 << 30;

    /// METIS has one random generator and one set of signal handlers per process.
    static METIS: Mutex<()> = Mutex::new(());

    /// Divides a graph of at least two nodes into at least two parts.
    pub fn bisect(graph: &Weighted<'_>, parts: usize, balance: Balance) -> Result<Vec<u32>, PartitionError> {
        let nodes = graph.nodes();
        let failed = |message: String| PartitionError::Metis { message };
        let too_large = |_| failed("it has more than 2^31 links".into());
        let mut offsets = Vec::with_capacity(nodes + 1);
        offsets.push(0);
        let (mut neighbours, mut weights) = (Vec::new(), Vec::new());
        for node in 0..nodes {
            for (other, weight) in graph.links_of(node) {
                neighbours.push(metis::Idx::try_from(other).map_err(too_large)?);
                weights.push(metis::Idx::try_from(weight).map_err(too_large)?);
            }
            offsets.push(metis::Idx::try_from(neighbours.len()).map_err(too_large)?);
        }
        let sizes = (0..nodes).map(|node| u64::from(graph.size(node)));
        let sizes = scaled(sizes);
        let weights_of_nodes = match balance {
            Balance::Sizes => sizes,
            Balance::SizesAndLinks => {
                let links = scaled((0..nodes).map(|node| graph.links_in(node)));
                sizes.into_iter().zip(links).flat_map(|(size, links)| [size, links]).collect()
            }
        };
        let constraints = if balance == Balance::Sizes { 1 } else { 2 };
        let parts = metis::Idx::try_from(parts).map_err(too_large)?;
        let graph =
            metis::Graph::new(constraints, parts, &offsets, &neighbours).map_err(|error| failed(error.to_string()))?;
        let graph = graph.set_vwgt(&weights_of_nodes).set_adjwgt(&weights).set_option(metis::option::Seed(SEED));
        let mut part_of = vec![0; nodes];
        let only = METIS.lock().unwrap_or_else(PoisonError::into_inner);
        graph.part_recursive(&mut part_of).map_err(|error| failed(error.to_string()))?;
        drop(only);
        Ok(part_of.into_iter().map(|part| part as u32).collect())
    }

    /// Divides numbers by a common factor so that METIS can count their sum. None becomes 0.
    fn scaled(numbers: impl Iterator<Item = u64> + Clone) -> Vec<metis::Idx> {
        let factor = numbers.clone().sum::<u64>() / MOST + 1;
        numbers.map(|number| (number / factor).max(1) as metis::Idx).collect()
    }
}
