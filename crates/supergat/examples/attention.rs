//! Prints which neighbours a node attends to.

use supergat::{Classifier, Dataset};

fn main() -> supergat::Result<()> {
    let dataset = Dataset::builder(5)
        .edges(&[(0, 1), (0, 2), (0, 3), (3, 4)])
        .dense_features(&[1.0, 0.9, 0.8, -1.0, -0.9], 1)
        .labels(&[Some(0), Some(0), Some(0), Some(1), Some(1)])
        .split(&[1, 4], &[0, 3], &[2])
        .build()?;
    let model = Classifier::builder().model("supergat-mx").heads(2).output_heads(1).fit(&dataset)?;
    for edge in model.attention(&dataset, 0)?.of(0) {
        println!(
            "layer {} head {}: {} attends to {} with {:.2}",
            edge.layer, edge.head, edge.target, edge.source, edge.coefficient
        );
    }
    Ok(())
}
