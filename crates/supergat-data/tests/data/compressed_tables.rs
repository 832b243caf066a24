//! Tests of compressed tables.

use crate::arrays::{deflated_zeros, gzip, gzip_of};
use crate::formats::{Folder, splits};
use supergat_data::Error;

pub fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

const EDGES: &str = "# links\na,b\nb,c\nc,d\n";
const FEATURES: &str = "id\tx\na\t1\nb\t2\nc\t3\nd\t4\n";
const LABELS: &str = "id,label\na,p\nb,q\nc,p\nd,q\n";
const SPLITS: &str = "split id\ntrain a\ntrain b\nvalidation c\ntest d\n";

/// Every table of a folder, with every compression.
#[test]
fn reads_compressed_tables() {
    let folder = Folder::new(
        "small",
        vec![
            ("edges.csv.gz", gzip(EDGES.as_bytes())),
            ("features.tsv.zst", zstd(FEATURES.as_bytes())),
            ("labels.csv.gz", gzip(LABELS.as_bytes())),
            ("splits.txt.zst", zstd(SPLITS.as_bytes())),
        ],
    );
    let dataset = folder.load().unwrap();
    assert_eq!((dataset.nodes(), dataset.listed_links, dataset.features(), dataset.classes()), (4, 3, 1, 2));
    assert_eq!(splits(&dataset), [&[0, 1][..], &[2], &[3]]);
    assert!(dataset.notes.iter().any(|note| note.starts_with("edges.csv.gz: 3 links")), "{:?}", dataset.notes);

    // A table of nodes, and a plain table before a compressed one.
    folder.write("nodes.csv.zst", &zstd(b"id,label,x\na,p,1\nb,q,2\nc,p,3\nd,q,4\n"));
    folder.write("edges.csv", b"a,b\n");
    assert_eq!(folder.load().unwrap().listed_links, 1);
    for name in ["features.tsv.zst", "labels.csv.gz"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    folder.write("nodes.csv.zst", &zstd(b"id,label,x\na,p,1\nb,q,2\nc,p,3\nd,q\n"));
    let error = folder.load().unwrap_err().to_string();
    assert!(error.contains("nodes.csv.zst, line 5: expected 3 fields"), "{error}");
}

#[test]
fn rejects_damaged_and_excessive_tables() {
    let folder = Folder::new("small", vec![("nodes.csv", b"id,label,x\na,p,1\nb,q,2\n".to_vec())]);
    folder.write("edges.csv.gz", b"a,b\n");
    assert!(folder.load().unwrap_err().to_string().contains("edges.csv.gz: cannot be unpacked"));
    folder.write("edges.csv.gz", &gzip_of(&deflated_zeros(50).0));
    assert!(matches!(folder.load(), Err(Error::TooLarge { what: "decompressed bytes", .. })));
    std::fs::remove_file(folder.path().join("edges.csv.gz")).unwrap();
    folder.write("edges.csv.zst", b"a,b\n");
    assert!(folder.load().unwrap_err().to_string().contains("edges.csv.zst: cannot be unpacked"));
}
