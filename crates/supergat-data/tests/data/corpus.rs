//! Feeds every file of the fuzzing corpus to its target once, without instrumentation.

use crate::targets::TARGETS;
use std::path::Path;

/// Every folder has a file that its reader accepts: otherwise fuzzing would reach the first check only.
#[test]
fn targets_read_their_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, target) in TARGETS {
        let files = std::fs::read_dir(corpus.join(name)).unwrap();
        let accepted = files.filter(|entry| target(&std::fs::read(entry.as_ref().unwrap().path()).unwrap())).count();
        assert!(accepted > 0, "{name}");
    }
}
