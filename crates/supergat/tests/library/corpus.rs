//! Feeds every file of the fuzzing corpus of models to its target once, without instrumentation.

use crate::targets::TARGETS;
use std::path::Path;

/// Files that must be accepted, so that fuzzing gets past the first checks.
const ACCEPTED: [(&str, &[&str]); 3] = [
    (
        "model",
        &[
            "corrected",
            "deep",
            "ensemble",
            "gcn-gam",
            "glcn",
            "label-input",
            "label-propagation",
            "lds",
            "neuralsparse",
            "supergat-mx",
        ],
    ),
    ("train_state", &["plain"]),
    ("plan", &["run"]),
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
        let (_, expected) = ACCEPTED.iter().find(|(known, _)| *known == name).expect("listed");
        for file in *expected {
            assert!(accepted.iter().any(|found| found == file), "{name}: {file} is not among {accepted:?}");
        }
    }
}
