//! Lists of nodes, such as the test nodes, with their labels and values.

use supergat_core::{Example, Labels};
use supergat_data::Dataset;

/// List of nodes of an example, such as its test nodes.
pub type NodeList = fn(&Example<f32>) -> &[u32];

/// Returns the labels of the listed nodes of all graphs, and their values, a row of classes per node.
pub fn gathered(dataset: &Dataset, values: &[Vec<f32>], list: NodeList) -> (Labels, Vec<f64>) {
    let classes = dataset.classes();
    let mut rows = Vec::new();
    let mut found = match dataset.examples.first().map(|example| &example.labels) {
        Some(Labels::Multi { .. }) => Labels::Multi { classes, of: Vec::new() },
        _ => Labels::Single { classes, of: Vec::new() },
    };
    for (example, values) in dataset.examples.iter().zip(values) {
        for node in list(example).iter().map(|&node| node as usize) {
            match (&mut found, &example.labels) {
                (Labels::Single { of, .. }, Labels::Single { of: all, .. }) => of.push(all[node]),
                (Labels::Multi { of, .. }, Labels::Multi { of: all, .. }) => {
                    of.extend(&all[node * classes..][..classes]);
                }
                _ => unreachable!("all graphs of a dataset have labels of one kind"),
            }
            rows.extend(values[node * classes..][..classes].iter().map(|&value| f64::from(value)));
        }
    }
    (found, rows)
}
