//! Fuzzing targets: one function per reader, which must return for any bytes.

pub mod data;
pub mod models;

/// Returns the target with the name of its folder in the corpus, or the names of all targets.
pub fn target(name: &str) -> Result<fn(&[u8]) -> bool, String> {
    let targets = || data::TARGETS.into_iter().chain(models::TARGETS);
    let found = targets().find(|(known, _)| *known == name).map(|(_, target)| target);
    found.ok_or_else(|| targets().map(|(known, _)| known).collect::<Vec<_>>().join(", "))
}
