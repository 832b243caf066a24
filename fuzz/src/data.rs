//! Targets of datasets: one function per reader, which must return for any bytes. The tests of supergat-data include this
//! file.
//!
//! For readers of several files, the bytes are split at the separator `\n==\n`; missing files are empty.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::Path;
use supergat_data::LoadOptions;
use supergat_data::containers::pickle::{Limits, Pickle, Value};
use supergat_data::containers::{matrix_market, npy, npz};
use supergat_data::converted::PartitionedFile;
use supergat_data::formats::{graphml, graphsaint, musae, npz_dataset, ppi, webkb, wiki_cs};

/// Separator of the files of a dataset.
pub const SEPARATOR: &[u8] = b"\n==\n";

/// A reader under test. Returns whether it accepts the bytes.
pub type Target = fn(&[u8]) -> bool;

/// All targets of datasets by the name of their folder in the corpus.
pub const TARGETS: [(&str, Target); 14] = [
    ("npy", npy_file),
    ("npz", npz_file),
    ("gnn_benchmark", gnn_benchmark_file),
    ("musae", musae_files),
    ("webkb", webkb_file),
    ("ppi", ppi_file),
    ("wiki_cs", wiki_cs_file),
    ("graphsaint", graphsaint_files),
    ("pickle", pickle_file),
    ("folder", folder_files),
    ("tables", table_files),
    ("converted", converted_file),
    ("graphml", graphml_file),
    ("matrix_market", matrix_market_file),
];

fn here() -> &'static Path {
    Path::new("fuzz")
}

/// Splits the bytes into `N` files.
fn split_files<const N: usize>(bytes: &[u8]) -> [&[u8]; N] {
    let mut rest = bytes;
    std::array::from_fn(|_| {
        let end = rest.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
        let (file, after) = end.map_or((rest, &rest[rest.len()..]), |at| (&rest[..at], &rest[at + SEPARATOR.len()..]));
        rest = after;
        file
    })
}

/// Reads a numpy array.
pub fn npy_file(bytes: &[u8]) -> bool {
    let array = npy::Array::parse(here(), bytes.to_vec());
    array.is_ok_and(|array| array.numbers().is_ok() | array.integers().is_ok() | array.texts().is_ok())
}

/// Reads a scipy matrix.
pub fn npz_file(bytes: &[u8]) -> bool {
    npz::Npz::parse(here(), bytes.to_vec()).is_ok_and(|npz| npz::sparse_matrix(&npz).is_ok())
}

/// Reads a dataset in one npz file.
pub fn gnn_benchmark_file(bytes: &[u8]) -> bool {
    let npz = npz::Npz::parse(here(), bytes.to_vec());
    npz.is_ok_and(|npz| npz_dataset::parse(&npz, "fuzz".into(), &LoadOptions::default()).is_ok())
}

/// Reads a GraphML file.
pub fn graphml_file(bytes: &[u8]) -> bool {
    graphml::parse(here(), bytes.to_vec(), "fuzz".into(), &LoadOptions::default()).is_ok()
}

/// Reads a Matrix Market file.
pub fn matrix_market_file(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| matrix_market::as_table(here(), text, false).is_ok())
}

/// Reads pages of Wikipedia or users of Twitch: links, classes, features.
pub fn musae_files(bytes: &[u8]) -> bool {
    let files = musae::Files { edges: "edges".into(), target: "target".into(), words: "words".into() };
    files.parse(split_files(bytes), "chameleon", &LoadOptions::default()).is_ok()
}

/// Reads an archive of web pages.
pub fn webkb_file(bytes: &[u8]) -> bool {
    webkb::parse(here(), bytes, "fuzz".into(), &LoadOptions::default()).is_ok()
}

/// Reads an archive of protein interactions.
pub fn ppi_file(bytes: &[u8]) -> bool {
    ppi::parse(here(), bytes.to_vec(), "fuzz".into(), &LoadOptions::default()).is_ok()
}

/// Reads articles on computer science.
pub fn wiki_cs_file(bytes: &[u8]) -> bool {
    wiki_cs::parse(here(), bytes, "fuzz".into(), &LoadOptions::default()).is_ok()
}

/// Reads the four files of GraphSAINT.
pub fn graphsaint_files(bytes: &[u8]) -> bool {
    let [adjacency, features, classes, roles] = split_files::<4>(bytes).map(<[u8]>::to_vec);
    let files = [adjacency, classes, roles];
    graphsaint::parse(here(), files, Some(features), "fuzz".into(), &LoadOptions::default()).is_ok()
}

/// Reads a pickle and its arrays.
pub fn pickle_file(bytes: &[u8]) -> bool {
    let Ok(pickle) = Pickle::parse(here(), bytes, Limits::default()) else { return false };
    match pickle.value(pickle.root()) {
        Value::Csr(_) => pickle.csr(pickle.root()).is_ok(),
        _ => pickle.array(pickle.root()).map(|array| array.values().count()).is_ok(),
    }
}

/// Reads a dataset from a folder; the first line names the format, the rest are the files.
pub fn folder_files(bytes: &[u8]) -> bool {
    const OGB: [&str; 7] = [
        "raw/edge.csv",
        "raw/node-feat.csv",
        "raw/node-label.csv",
        "raw/num-node-list.csv",
        "split/time/train.csv",
        "split/time/valid.csv",
        "split/time/test.csv",
    ];
    const PLANETOID: [&str; 8] = ["x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"];
    let [kind, rest] = {
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
        [&bytes[..end], bytes.get(end + 1..).unwrap_or_default()]
    };
    let files: Vec<(String, Vec<u8>)> = if kind == b"planetoid" {
        let files = PLANETOID.iter().zip(split_files::<8>(rest));
        files.map(|(part, bytes)| (format!("ind.fuzz.{part}"), bytes.to_vec())).collect()
    } else {
        OGB.iter().zip(split_files::<7>(rest)).map(|(name, bytes)| (format!("{name}.gz"), stored(bytes))).collect()
    };
    load_folder("folder", files)
}

/// Reads a folder of tables; empty files are not written.
pub fn table_files(bytes: &[u8]) -> bool {
    const NAMES: [&str; 6] = ["nodes.csv", "edges.csv", "features.csv", "labels.csv", "splits.csv", "dataset.toml"];
    let files = NAMES.iter().zip(split_files::<6>(bytes)).filter(|(_, bytes)| !bytes.is_empty());
    load_folder("tables", files.map(|(name, bytes)| (name.to_string(), bytes.to_vec())))
}

/// Loads a temporary folder with these files. Returns whether they are a dataset.
fn load_folder(kind: &str, files: impl IntoIterator<Item = (String, Vec<u8>)>) -> bool {
    let root = std::env::temp_dir().join(format!("supergat-fuzz-{kind}-{}", std::process::id()));
    std::fs::create_dir_all(&root).expect("a temporary folder");
    for (name, bytes) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("within the folder")).expect("a temporary folder");
        std::fs::write(path, bytes).expect("a temporary file");
    }
    let is_read = supergat_data::load(root.to_str().expect("a plain path")).is_ok();
    std::fs::remove_dir_all(root).expect("the folder was just made");
    is_read
}

/// Reads a converted dataset, and its parts if it has any.
pub fn converted_file(bytes: &[u8]) -> bool {
    let is_read = supergat_data::converted::parse(here(), bytes).is_ok();
    let Ok(file) = PartitionedFile::from_bytes(here(), bytes.to_vec()) else { return is_read };
    for graph in (0..file.graphs()).map(|k| file.graph(k)) {
        for nodes in (0..graph.parts()).map(|part| graph.part(part)) {
            let _ = (graph.order(nodes.clone()), graph.place_at_target(nodes.clone()));
            let _ = (graph.features(nodes.clone()), graph.splits(nodes));
        }
    }
    is_read
}

/// Returns a gzip file of the bytes without compression.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut file = GzEncoder::new(Vec::new(), Compression::none());
    file.write_all(bytes).expect("a file in memory");
    file.finish().expect("a file in memory")
}
