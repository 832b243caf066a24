//! Trains on nodes.csv and edges.csv with the model recommended for the graph, and saves the classifier.
//! Usage: tables [FOLDER]

use supergat::Classifier;

fn main() -> supergat::Result<()> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tables/train");
    let folder = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or(default.to_owned());
    let dataset = supergat::load(&folder)?;
    dataset.notes.iter().for_each(|note| println!("note: {note}"));

    let training = Classifier::builder().model("auto").train(&dataset)?;
    println!("{}: test accuracy {:.1} %", training.classifier.model_name(), training.test().mean);
    training.classifier.save(std::env::temp_dir().join("supergat-example.safetensors"))
}
