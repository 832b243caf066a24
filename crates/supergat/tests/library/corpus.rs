//! Feeds every file of the fuzzing corpus of models to its target once, without instrumentation.

use crate::targets::TARGETS;
use std::path::Path;

#[test]
fn targets_read_their_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, target) in TARGETS {
        let mut read = 0;
        for entry in std::fs::read_dir(corpus.join(name)).unwrap() {
            target(&std::fs::read(entry.unwrap().path()).unwrap());
            read += 1;
        }
        assert!(read > 0, "{name}");
    }
}
