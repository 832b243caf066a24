//! Feeds every file of the fuzzing corpus to its target once, without instrumentation.

use crate::targets::TARGETS;
use std::path::Path;

#[test]
fn targets_read_their_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut read = 0;
    for (name, target) in TARGETS {
        for entry in std::fs::read_dir(corpus.join(name)).unwrap() {
            target(&std::fs::read(entry.unwrap().path()).unwrap());
            read += 1;
        }
    }
    let folders = std::fs::read_dir(&corpus).unwrap().count();
    assert!(folders == TARGETS.len() && read >= 2 * folders, "{folders} folders, {read} files");
}
