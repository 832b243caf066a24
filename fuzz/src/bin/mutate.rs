//! Shakes every reader with changed files of the corpus, for some seconds each, without a special compiler.
//!
//! `cargo run --release --bin mutate -- SECONDS [TARGET...]`; a panic ends it, after the bytes were written to `crash-TARGET`.

use std::path::Path;
use std::time::{Duration, Instant};
use supergat::random::{Purpose, Stream};
use supergat_fuzz::TARGETS;

fn main() {
    let mut args = std::env::args().skip(1);
    let seconds: u64 = args.next().and_then(|text| text.parse().ok()).expect("usage: mutate SECONDS [TARGET...]");
    let wanted: Vec<String> = args.collect();
    for (number, (name, target)) in TARGETS.into_iter().enumerate() {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        let seeds = seeds(name);
        assert!(!seeds.is_empty(), "fuzz/corpus/{name} holds no file");
        let (started, mut runs) = (Instant::now(), 0u64);
        while started.elapsed() < Duration::from_secs(seconds) {
            let stream = Stream::new(runs, number as u32, 0, Purpose::Split);
            let bytes = mutated(&seeds, &stream);
            if std::panic::catch_unwind(|| target(&bytes)).is_err() {
                std::fs::write(format!("crash-{name}"), &bytes).expect("a place for the crash");
                panic!("{name} panicked in run {runs}; the bytes are in crash-{name}");
            }
            runs += 1;
        }
        println!("{name}: {runs} runs in {:.0} s", started.elapsed().as_secs_f64());
    }
}

/// The files of a target's corpus, by name.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut paths: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("readable")).collect()
}

/// A seed with a few changes: bytes replaced, interesting numbers written, pieces removed, doubled or taken from another seed.
fn mutated(seeds: &[Vec<u8>], stream: &Stream) -> Vec<u8> {
    const NUMBERS: [u64; 8] = [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX];
    let mut index = 0;
    let mut below = |n: usize| {
        index += 1;
        stream.below(index, n.max(1) as u64) as usize
    };
    let mut bytes = seeds[below(seeds.len())].clone();
    for _ in 0..=below(6) {
        let at = below(bytes.len() + 1);
        let length = below(16).min(bytes.len() - at);
        match below(6) {
            0 | 1 if at < bytes.len() => bytes[at] = below(256) as u8,
            2 => {
                let number = NUMBERS[below(NUMBERS.len())].to_le_bytes();
                let width = [1, 2, 4, 8][below(4)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&number[..width]);
            }
            3 => drop(bytes.drain(at..at + length)),
            4 => {
                let piece = bytes[at..at + length].to_vec();
                let to = below(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            _ => {
                let other = &seeds[below(seeds.len())];
                let from = below(other.len() + 1);
                let piece = other[from..(from + below(64)).min(other.len())].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}
