//! Tests of the Planetoid reader on a small folder, and on the published files if they are available.

use crate::pickles::{Writer, little, one_hot};
use std::path::{Path, PathBuf};
use supergat_core::{Features, Labels};
use supergat_data::formats::planetoid;
use supergat_data::{Dataset, Error, LoadOptions, Result, load};

/// Nodes 0 to 3 are in `allx`, 0 and 1 of them for training; test nodes are 6 and 4, in this order; 5 has no
/// row.
struct Small {
    folder: tempfile::TempDir,
}

impl Small {
    fn new() -> Self {
        let small = Self { folder: tempfile::tempdir().unwrap() };
        let csr = |shape, indptr: &[i32], indices: &[i32], data: &[f32]| {
            Writer::default().csr(shape, indptr, indices, data).file()
        };
        small.write("x", &csr([2, 3], &[0, 1, 2], &[0, 1], &[1.0, 1.0]));
        // Row 2 is not sorted, contains a zero, and has two entries in column 0.
        let allx = csr([4, 3], &[0, 1, 2, 6, 6], &[0, 1, 2, 0, 1, 0], &[1.0, 1.0, 0.5, 2.0, 0.0, 3.0]);
        small.write("allx", &allx);
        small.write("tx", &csr([2, 3], &[0, 1, 2], &[2, 0], &[6.0, 4.0]));
        small.write("y", &one_hot(2, &[0, 1]));
        small.write("ally", &one_hot(2, &[0, 1, 1, 0]));
        small.write("ty", &one_hot(2, &[1, 0]));
        small.write("test.index", b"6\n4\n");
        let lists: [(i64, &[i64]); 7] =
            [(0, &[2, 1, 2]), (1, &[0]), (2, &[0, 0, 6]), (3, &[3, 3]), (4, &[]), (5, &[]), (6, &[2])];
        small.write("graph", &Writer::default().graph(&lists).file());
        small
    }

    fn write(&self, part: &str, bytes: &[u8]) {
        std::fs::write(self.path(part), bytes).unwrap();
    }

    fn path(&self, part: &str) -> PathBuf {
        self.folder.path().join(format!("ind.small.{part}"))
    }

    fn read(&self) -> Result<Dataset> {
        planetoid::read(self.folder.path(), &LoadOptions::default())
    }

    /// Returns the message for a replaced file, without the name of the folder.
    fn refusal(part: &str, bytes: &[u8]) -> String {
        let small = Self::new();
        small.write(part, bytes);
        let folder = format!("{}/", small.folder.path().display());
        small.read().unwrap_err().to_string().replace(&folder, "")
    }
}

#[test]
fn reads_a_small_dataset() {
    let small = Small::new();
    let dataset = load(small.folder.path().to_str().unwrap()).unwrap();
    assert_eq!((dataset.name.as_str(), dataset.nodes(), dataset.features()), ("small", 7, 3));
    assert_eq!(dataset.class_names, ["0", "1"]);
    assert_eq!(dataset.listed_links, 5);
    let example = &dataset.examples[0];
    assert_eq!(example.labels, Labels::Single { classes: 2, of: vec![0, 1, 1, 0, 0, Labels::UNKNOWN, 1] });
    assert_eq!(
        (&example.train[..], &example.validation[..], &example.test[..]),
        (&[0, 1][..], &[2, 3][..], &[6, 4][..])
    );

    let Features::Sparse(features) = &*example.features else { panic!("sparse features") };
    assert_eq!(features.offsets(), [0, 1, 2, 4, 4, 5, 5, 6]);
    assert_eq!(features.column_of(), [0, 1, 0, 2, 0, 2]);
    assert_eq!(features.values(), [1.0, 1.0, 5.0, 0.5, 4.0, 6.0]);

    // Links 0-2, 0-1, 2-6 and the self-loop of 3, each once.
    let graph = &example.graph;
    assert_eq!((graph.position_of_input().len(), graph.self_loops(), graph.edges()), (4, 1, 7 + 6));
    assert_eq!(graph.incoming().of(2), [0, 2, 6]);
    assert!(graph.position(0, 2) == Some(graph.position_of_input()[0] as usize));
}

#[test]
fn reads_labels_in_other_layouts() {
    let expected = Small::new().read().unwrap();
    // The rows 0, 1, 1, 0 column after column, in other element types and byte orders.
    let columns = [1, 0, 0, 1, 0, 1, 1, 0];
    let files = [
        ("<f4", little(&columns.map(|v| v as f32), f32::to_le_bytes)),
        (">f8", little(&columns.map(f64::from), f64::to_be_bytes)),
        (">i4", little(&columns, i32::to_be_bytes)),
        ("<i8", little(&columns.map(i64::from), i64::to_le_bytes)),
        ("|u1", little(&columns.map(|v| v as u8), u8::to_le_bytes)),
        ("|i1", little(&columns.map(|v| v as i8), i8::to_le_bytes)),
        ("|b1", little(&columns.map(|v| v as u8), u8::to_le_bytes)),
    ];
    for (code, data) in files {
        let small = Small::new();
        small.write("ally", &Writer::default().array(&[4, 2], code, true, &data).file());
        assert_eq!(small.read().unwrap().examples[0].labels, expected.examples[0].labels, "{code}");
    }
}

#[test]
fn reads_graphs_in_other_protocols() {
    let expected = Small::new().read().unwrap();
    // Protocol 0 of a plain dict, and protocol 4 of Python 3.
    let text = b"(dp0\nI0\n(lp1\nI2\naI1\naI2\nasI1\n(lp2\nI0\nasI2\n(lp3\nL0L\naI0\naI6\nasI3\n(lp4\nI3\naI3\nasI4\n(lp5\nsI5\n(lp6\nsI6\n(lp7\nI2\nas.";
    let framed = b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00\x8c\x0bcollections\x94\x8c\x0bdefaultdict\x94\x93\x94\x8c\x08builtins\x94\x8c\x04list\x94\x93\x94\x85\x94R\x94(K\x00]\x94(K\x02K\x01K\x02eK\x01]\x94K\x00aK\x02]\x94(K\x00K\x00K\x06eK\x03]\x94(K\x03K\x03eK\x04]\x94K\x05]\x94K\x06]\x94K\x02au.";
    for file in [&text[..], framed] {
        let small = Small::new();
        small.write("graph", file);
        let found = small.read().unwrap();
        assert_eq!(found.examples[0].graph.incoming(), expected.examples[0].graph.incoming());
        assert_eq!(found.listed_links, 5);
    }
}

#[test]
fn names_a_missing_file() {
    let small = Small::new();
    std::fs::remove_file(small.path("ty")).unwrap();
    let error = small.read().unwrap_err();
    let expected = "ind.small.ty not found: the folder must contain ind.small.x, .tx, .allx, .y, .ty, .ally, .graph and .test.index";
    assert!(matches!(error, Error::NotFound { .. }) && error.to_string().ends_with(expected), "{error}");
}

#[test]
fn rejects_two_datasets_in_one_folder() {
    let small = Small::new();
    std::fs::write(small.folder.path().join("ind.other.x"), b"").unwrap();
    let error = small.read().unwrap_err().to_string();
    assert!(error.contains("expected one") && error.ends_with("found other, small"), "{error}");
}

#[test]
fn explains_sizes_that_disagree() {
    let csr = |rows: i64, columns| Writer::default().csr([rows, columns], &vec![0; rows as usize + 1], &[], &[]).file();
    for (part, bytes, expected) in [
        ("y", one_hot(2, &[0]), "ind.small.y: rows: expected 2, as ind.small.x has, found 1"),
        ("ally", one_hot(2, &[0]), "ind.small.ally: rows: expected 4, as ind.small.allx has, found 1"),
        ("ty", one_hot(2, &[0]), "ind.small.ty: rows: expected 2, as ind.small.tx has, found 1"),
        ("tx", csr(2, 4), "ind.small.tx: columns: expected 3, as ind.small.allx has, found 4"),
        ("x", csr(2, 4), "ind.small.x: columns: expected 3, as ind.small.allx has, found 4"),
        ("ty", one_hot(3, &[0, 0]), "ind.small.ty: columns: expected 2, as ind.small.ally has, found 3"),
        ("test.index", b"4\n".to_vec(), "ind.small.test.index: lines: expected 2, as ind.small.tx has, found 1"),
        (
            "test.index",
            b"4\n4000000000\n".to_vec(),
            "ind.small.test.index: ids: expected ids that leave out no more nodes than the 7 of the graph, found 3999999995 left out",
        ),
        (
            "y",
            Writer::default().array(&[2], "|u1", false, &[0, 1]).file(),
            "ind.small.y: axes: expected 2 (nodes and classes), found 1",
        ),
        (
            "y",
            Writer::default().array(&[0, 1 << 30], "|u1", false, &[]).file(),
            "ind.small.y: shape: expected at least one node and one class, found 0 x 1073741824",
        ),
        (
            "ally",
            Writer::default().array(&[4, 2], "|u1", false, &[1, 0, 1, 1, 1, 0, 1, 0]).file(),
            "ind.small.ally: row 1: expected a single 1 for the class, or only zeros if it is unknown, found 1 in column 1",
        ),
    ] {
        assert_eq!(Small::refusal(part, &bytes), expected);
    }
    let small = Small::new();
    small.write("x", &csr(5, 3));
    small.write("y", &one_hot(2, &[0; 5]));
    let error = small.read().unwrap_err().to_string();
    assert!(error.ends_with("ind.small.y: rows: expected at most 4, as ally has, found 5"), "{error}");
}

#[test]
fn names_invalid_lines_of_the_test_index() {
    let expected = "the id of another test node, a number from 4 on (those before are in allx)";
    for (bytes, line, found) in
        [(&b"6\nfour\n"[..], 2, "four"), (b"3\n4\n", 1, "3"), (b"6\n6\n", 2, "6"), (b"6\n\n4\n", 2, ""), (b"", 1, "")]
    {
        let message = format!("ind.small.test.index, line {line}: expected {expected}, found `{found}`");
        assert_eq!(Small::refusal("test.index", bytes), message);
    }
    let small = Small::new();
    small.write("test.index", b"6\r\n4\r\n\r\n");
    small.read().unwrap();
}

#[test]
fn explains_invalid_graphs() {
    let graph = |lists: &[(i64, &[i64])]| Small::refusal("graph", &Writer::default().graph(lists).file());
    assert!(graph(&[(0, &[7])]).ends_with("expected a node id from 0 to 6, found the number 7"));
    assert!(graph(&[(-1, &[0])]).ends_with("expected a node id from 0 to 6, found the number -1"));
    assert!(graph(&[(0, &[1]), (0, &[2])]).ends_with("lists of node 0: expected 1, found another"));
    let list = Small::refusal("graph", b"\x80\x02].");
    let expected = "byte 2: expected a dict from each node to the list of its neighbours, found a list of 0";
    assert!(list.ends_with(expected), "{list}");
    assert!(
        Small::refusal("graph", b"\x80\x02}K\x00K\x01s.").ends_with("the neighbours of node 0, found the number 1")
    );
    assert!(Small::refusal("graph", b"\x80\x02cos\nsystem\n.").contains("refuses to load `os.system`"));
    assert!(Small::refusal("x", b"\x80\x02}.").ends_with("expected a scipy csr_matrix, found a dict of 0"));
    assert!(Small::refusal("y", b"").contains("ind.small.y, byte 0: the file ends within an instruction"));
}

/// Every node has the same list of all nodes: n values that name n * n links.
#[test]
fn rejects_shared_lists_of_neighbours() {
    let mut graph = b"](K\x00K\x01K\x02K\x03K\x04K\x05K\x06eq\x00}(".to_vec();
    (0..7).for_each(|node| graph.extend([b'K', node, b'h', 0]));
    graph.extend(b"u.");
    let refusal = Small::refusal("graph", &graph);
    assert_eq!(refusal, "ind.small.graph: neighbours listed by the values of the file: expected at most 16, found 21");
}

/// Returns the folder of a published dataset, if it is available.
pub fn real_folder(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("SUPERGAT_TEST_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from)
        .join(name);
    if !folder.is_dir() {
        println!("skipped: no data folder");
        return None;
    }
    Some(folder)
}

fn real(name: &str) -> Option<Dataset> {
    Some(load(real_folder(name)?.to_str().unwrap()).unwrap())
}

/// Sizes in the paper's table of datasets, and properties of the files.
struct Published {
    name: &'static str,
    nodes: usize,
    links: u64,
    features: usize,
    classes: usize,
    train: usize,
    directed_edges: usize,
    self_loops: u64,
    nonzeros: usize,
    homophily: f64,
    unlabelled: usize,
}

fn check(published: &Published) {
    let Some(dataset) = real(published.name) else { return };
    let example = &dataset.examples[0];
    assert_eq!(dataset.name, published.name);
    assert_eq!((dataset.nodes(), dataset.listed_links), (published.nodes, published.links));
    assert_eq!((dataset.features(), dataset.classes()), (published.features, published.classes));
    let splits = [example.train.len(), example.validation.len(), example.test.len()];
    assert_eq!(splits, [published.train, 500, 1000]);
    assert_eq!(example.graph.edges() - example.graph.nodes(), published.directed_edges);
    assert_eq!(example.graph.self_loops(), published.self_loops);
    assert!(example.graph.is_symmetric());
    assert_eq!(example.features.stored(), published.nonzeros);

    let Labels::Single { of, .. } = &example.labels else { panic!("one class per node") };
    assert_eq!(of.iter().filter(|&&class| class == Labels::UNKNOWN).count(), published.unlabelled);
    for class in 0..published.classes as u32 {
        assert_eq!(example.train.iter().filter(|&&node| of[node as usize] == class).count(), 20, "class {class}");
    }
    // The homophily is only right if rows, labels and links belong to the same nodes.
    let shares: Vec<f64> = (0..dataset.nodes())
        .filter(|&node| example.graph.degree(node) > 0)
        .map(|node| {
            let same = |&&other: &&u32| other as usize != node && of[other as usize] == of[node];
            let count = example.graph.incoming().of(node).iter().filter(same).count();
            count as f64 / example.graph.degree(node) as f64
        })
        .collect();
    let homophily = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!((homophily - published.homophily).abs() < 0.005, "{homophily}");
}

#[test]
fn cora_is_as_published() {
    check(&Published {
        name: "cora",
        nodes: 2708,
        links: 5429,
        features: 1433,
        classes: 7,
        train: 140,
        directed_edges: 10556,
        self_loops: 0,
        nonzeros: 49216,
        homophily: 0.83,
        unlabelled: 0,
    });
}

#[test]
fn citeseer_is_as_published() {
    check(&Published {
        name: "citeseer",
        nodes: 3327,
        links: 4732,
        features: 3703,
        classes: 6,
        train: 120,
        directed_edges: 9104,
        self_loops: 124,
        nonzeros: 105165,
        homophily: 0.72,
        unlabelled: 15,
    });
}

#[test]
fn pubmed_is_as_published() {
    check(&Published {
        name: "pubmed",
        nodes: 19717,
        links: 44338,
        features: 500,
        classes: 3,
        train: 60,
        directed_edges: 88648,
        self_loops: 3,
        nonzeros: 988031,
        homophily: 0.79,
        unlabelled: 0,
    });
}
