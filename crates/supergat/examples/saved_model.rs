//! Predicts the nodes of new tables with a saved model.
//! Usage: saved_model [RUN FOLDER OR FILE] [FOLDER OF TABLES]

use supergat::Classifier;

fn main() -> supergat::Result<()> {
    let [run, tables] = arguments();
    let model = Classifier::load(run)?;
    let graph = model.read(&tables)?;
    let predictions = model.predict(&graph)?;
    for node in 0..predictions.nodes() {
        println!(
            "{}: {} {:?}",
            graph.node_id(0, node),
            predictions.class_name(node),
            predictions.probabilities_of(node)
        );
    }
    Ok(())
}

fn arguments() -> [String; 2] {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/");
    let mut given = std::env::args().skip(1).filter(|word| !word.starts_with('-'));
    ["saved/version-2.safetensors", "tables/new"].map(|default| given.next().unwrap_or(format!("{folder}{default}")))
}
