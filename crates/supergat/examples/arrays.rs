//! Trains on arrays in memory and prints the class of every node.

use supergat::{Classifier, Dataset};

fn main() -> supergat::Result<()> {
    let edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)];
    let features = [1.0, 0.1, 0.8, 0.0, 0.9, 0.3, 0.1, 1.0, 0.0, 0.7, 0.2, 0.9];
    let labels = [Some(0), Some(0), None, None, Some(1), Some(1)];
    let graph =
        Dataset::builder(6).edges(&edges).dense_features(&features, 2).labels(&labels).split(&[0, 5], &[1, 4], &[]);
    let dataset = graph.build()?;
    let model = Classifier::builder().model("supergat-mx").seed(1).fit(&dataset)?;
    println!("{:?}", model.predict(&dataset)?.classes());
    Ok(())
}
