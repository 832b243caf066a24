//! Features and labels of some of the nodes.

use supergat_core::{Features, Labels, SparseMatrix};

/// Returns the nodes of each graph, and the index of each node in its graph.
pub(crate) fn divided(graph_of: &[u32], graphs: usize) -> (Vec<Vec<u32>>, Vec<u32>) {
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); graphs];
    let mut index_in_graph = Vec::with_capacity(graph_of.len());
    for (node, &graph) in (0..).zip(graph_of) {
        index_in_graph.push(members[graph as usize].len() as u32);
        members[graph as usize].push(node);
    }
    (members, index_in_graph)
}

/// Returns the feature rows of the given nodes.
pub(crate) fn feature_rows(features: &Features<f32>, members: &[u32]) -> supergat_core::Result<Features<f32>> {
    match features {
        Features::Dense { columns, values, .. } => {
            let row = |node: &u32| &values[*node as usize * columns..][..*columns];
            Features::dense(members.len(), *columns, members.iter().flat_map(row).copied().collect())
        }
        Features::Sparse(matrix) => {
            let rows = members.iter().map(|node| matrix.entries(*node as usize));
            SparseMatrix::from_rows(matrix.columns(), rows).map(Features::Sparse)
        }
    }
}

/// Returns the labels of the given nodes.
pub(crate) fn label_rows(labels: &Labels, members: &[u32]) -> Labels {
    match labels {
        Labels::Single { classes, of } => {
            Labels::Single { classes: *classes, of: members.iter().map(|node| of[*node as usize]).collect() }
        }
        Labels::Multi { classes, of } => {
            let row = |node: &u32| &of[*node as usize * classes..][..*classes];
            Labels::Multi { classes: *classes, of: members.iter().flat_map(row).copied().collect() }
        }
    }
}
