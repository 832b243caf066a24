//! Feeds every file of the fuzzing corpus to its target once, without instrumentation. The tests of supergat include this
//! file.

use crate::targets::TARGETS;
use std::path::Path;

/// Files that must be accepted, so that fuzzing gets past the first checks. In other folders one file is enough.
const ACCEPTED: [(&str, &str); 3] = [
    ("model", "corrected deep ensemble gcn-gam glcn label-input label-propagation lds neuralsparse supergat-mx trees"),
    ("train_state", "plain"),
    ("plan", "run"),
];

#[test]
fn targets_read_their_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, target) in TARGETS {
        let mut accepted = Vec::new();
        for entry in std::fs::read_dir(corpus.join(name)).unwrap().map(Result::unwrap) {
            if target(&std::fs::read(entry.path()).unwrap()) {
                accepted.push(entry.file_name().into_string().unwrap());
            }
        }
        assert!(!accepted.is_empty(), "{name}");
        let expected = ACCEPTED.iter().filter(|(folder, _)| *folder == name);
        for file in expected.flat_map(|(_, files)| files.split(' ')) {
            assert!(accepted.iter().any(|found| found == file), "{name}: {file} is not among {accepted:?}");
        }
    }
}
