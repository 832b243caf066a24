//! Memory limits, measured in child processes: compressed files that expand too far, and too little memory.

use crate::arrays::{deflated_zeros, floats, gzip_of, ints, longs, npz, zip_of};
use crate::running::output;
use std::path::Path;
use std::process::Command;
use supergat_data::{Dataset, convert, load};

/// Environment variable with the source that the child process loads.
const SOURCE: &str = "SUPERGAT_TEST_SOURCE";

const MIB: u64 = 1 << 20;

/// Output of a child process.
#[derive(Debug)]
struct Child {
    code: Option<i32>,
    /// The error of loading, or `loaded`.
    answer: String,
    /// Virtual memory before loading, in bytes.
    size: u64,
    /// Largest resident memory, in bytes.
    peak: u64,
}

/// Loads the source that the environment names and prints the result. Does nothing in an ordinary test run.
#[test]
fn child() {
    let Some(source) = std::env::var_os(SOURCE) else { return };
    // The threads of the pool take memory once.
    rayon::broadcast(|_| ());
    println!("size: {}", status("VmSize:"));
    match source.to_str().unwrap() {
        "" => println!("answer: nothing to load"),
        source => match load(source) {
            Ok(_) => println!("answer: loaded"),
            Err(error) => println!("answer: {error}"),
        },
    }
    println!("peak: {}", status("VmHWM:"));
}

/// Returns a number of bytes from the status of this process.
fn status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Loads a source in a child process, with at most `limit` bytes of virtual memory.
fn load_in_child(source: &Path, limit: Option<u64>) -> Child {
    let limit = limit.map_or("unlimited".into(), |bytes| (bytes / 1024).to_string());
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -v \"$0\" && exec \"$@\"", &limit])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "limits::child", "--nocapture", "--test-threads=1"])
        .env(SOURCE, source);
    let output = output(&mut command);
    let text = String::from_utf8_lossy(&output.stdout);
    let value =
        |key: &str| text.lines().find_map(|line| line.split_once(key)).map_or("", |(_, value)| value).to_owned();
    Child {
        code: output.status.code(),
        answer: value("answer: "),
        size: value("size: ").parse().unwrap_or(0),
        peak: value("peak: ").parse().unwrap_or(0),
    }
}

#[test]
#[cfg(target_os = "linux")]
fn refuses_files_that_expand_a_thousandfold_early() {
    let root = tempfile::tempdir().unwrap();
    let write = |folder: &str, file: &str, bytes: &[u8]| {
        let path = root.path().join(folder).join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    // Almost 4 GiB of zeros in 4 MiB.
    let (zeros, size) = deflated_zeros(1023);
    write("declared", "a.npz", &zip_of("adj_shape.npy", &zeros, size));
    write("undeclared", "a.npz", &zip_of("adj_shape.npy", &zeros, 60 << 20));
    write("tar", "webkb.tar.gz", &gzip_of(&zeros));
    write("text", "raw/node-label.csv.gz", &gzip_of(&zeros));
    write("text", "split/time/train.csv.gz", b"");
    for (folder, part) in [
        ("declared", "a.npz: decompressed bytes: expected at most "),
        ("undeclared", "a.npz/adj_shape.npy: cannot be unpacked ("),
        ("tar", "webkb.tar.gz: decompressed bytes: expected at most "),
        ("text", "node-label.csv.gz: decompressed bytes: expected at most "),
    ] {
        let child = load_in_child(&root.path().join(folder), None);
        assert!(child.code == Some(0) && child.answer.contains(part), "{folder}: {child:?}");
        assert!((1..200 * MIB).contains(&child.peak), "{folder}: {child:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn reports_too_little_memory() {
    const COLUMNS: usize = 4 << 20;
    let root = tempfile::tempdir().unwrap();
    // 48 MiB of features each.
    let archive = npz(&[
        ("adj_data", floats(&[1], &[1.0])),
        ("adj_indices", ints(&[1])),
        ("adj_indptr", ints(&[0, 1, 1, 1])),
        ("adj_shape", longs(&[2], &[3, 3])),
        ("attr_matrix", floats(&[3, COLUMNS], &vec![0.0; 3 * COLUMNS])),
        ("labels", longs(&[3], &[0, 1, 1])),
    ]);
    let (npz, converted) = (root.path().join("big.npz"), root.path().join("big.safetensors"));
    std::fs::write(&npz, archive).unwrap();
    let dataset = Dataset::builder(3).dense_features(&vec![1.0; 3 * COLUMNS], COLUMNS).class_names(["a"]);
    convert(&dataset.build().unwrap(), &converted).unwrap();
    for path in [npz, converted] {
        let start = load_in_child(Path::new(""), None).size;
        let mut refused = 0;
        for more in [4, 16, 104, 400] {
            let child = load_in_child(&path, Some(start + more * MIB));
            assert_eq!(child.code, Some(0), "{more} MiB: {child:?}");
            match child.answer.as_str() {
                // The allocator may have reserved memory before.
                "loaded" => assert!(more > 16, "{more} MiB: {child:?}"),
                answer => {
                    let sentence = "bytes could not be allocated; free memory or raise the memory limit of the process";
                    assert!(
                        answer.contains("not enough memory to read it: ") && answer.ends_with(sentence),
                        "{answer}"
                    );
                    assert!(more < 400, "{more} MiB: {child:?}");
                    refused += 1;
                }
            }
        }
        assert!(refused >= 2, "{}: {refused}", path.display());
    }
}
