//! Tests of every reader on a small folder of the published layout, and on faulty files.

use crate::arrays::{deflated_zeros, floats, gzip, gzip_of, ints, longs, npy, npz, zip};
use crate::npz_datasets::{benchmark, heterophilous};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use supergat_core::{Direction, Features, Labels};
use supergat_data::{Dataset, Error, FeatureChoice, LoadOptions, Result, SplitChoice, load, load_with};

/// A temporary folder of files.
pub struct Folder {
    root: tempfile::TempDir,
    name: &'static str,
}

impl Folder {
    pub fn new(name: &'static str, files: Vec<(&str, Vec<u8>)>) -> Self {
        let folder = Self { root: tempfile::tempdir().unwrap(), name };
        files.into_iter().for_each(|(file, bytes)| folder.write(file, &bytes));
        folder
    }

    pub fn path(&self) -> PathBuf {
        self.root.path().join(self.name)
    }

    pub fn write(&self, file: &str, bytes: &[u8]) {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub fn load(&self) -> Result<Dataset> {
        load(self.path().to_str().unwrap())
    }

    pub fn load_split(&self, split: SplitChoice) -> Result<Dataset> {
        load_with(self.path().to_str().unwrap(), &LoadOptions { split, ..Default::default() })
    }

    /// Returns the message for a replaced file, without the name of the folder.
    pub fn refusal(&self, file: &str, bytes: &[u8]) -> String {
        let before = std::fs::read(self.path().join(file)).unwrap();
        self.write(file, bytes);
        let message = self.load().unwrap_err().to_string();
        self.write(file, &before);
        message.replace(&format!("{}/", self.path().display()), "")
    }
}

pub fn splits(dataset: &Dataset) -> [&[u32]; 3] {
    let example = &dataset.examples[0];
    [&example.train, &example.validation, &example.test]
}

pub fn single(dataset: &Dataset) -> &[u32] {
    let Labels::Single { of, .. } = &dataset.examples[0].labels else { panic!("one class per node") };
    of
}

pub fn dense(dataset: &Dataset) -> &[f32] {
    let Features::Dense { values, .. } = &*dataset.examples[0].features else { panic!("dense features") };
    values
}

/// A path to a file of a dataset is read as that dataset, whatever else is in its folder.
#[test]
fn loads_single_files() {
    let folder = Folder::new(
        "wikics",
        vec![
            ("mine.npz", npz(&benchmark())),
            ("cora_ml.npz", npz(&benchmark())),
            ("broken.npz", b"".to_vec()),
            ("data.json", WIKI.into()),
            ("webkb.tar.gz", tar(&PAGES)),
            ("nodes.csv", b"id,label,x\n0,a,1\n1,b,2\n2,a,3\n3,b,4\n".to_vec()),
            ("edges.csv", b"0,1\n".to_vec()),
            ("notes.md", b"".to_vec()),
        ],
    );
    let loaded = |file: &str| load(folder.path().join(file).to_str().unwrap());
    for (file, name, nodes) in [
        ("mine.npz", "mine", 3),
        ("cora_ml.npz", "cora-ml", 3),
        ("data.json", "wiki-cs", 3),
        ("webkb.tar.gz", "wiki-cs", 5),
        ("edges.csv", "wikics", 4),
        ("nodes.csv", "wikics", 4),
    ] {
        let dataset = loaded(file).unwrap();
        assert_eq!((dataset.name.as_str(), dataset.nodes()), (name, nodes), "{file}");
    }
    assert!(loaded("broken.npz").unwrap_err().to_string().contains("broken.npz: cannot be unpacked"));
    assert!(
        loaded("notes.md").unwrap_err().to_string().contains("notes.md not found: it is no file of a known format")
    );
}

fn musae() -> Folder {
    Folder::new(
        "pages",
        vec![
            ("chameleon_edges.csv", b"id1,id2\n0,1\n1,0\n1,1\n2,0\n".to_vec()),
            ("chameleon_target.csv", b"id,target\n0,316\n2,100000\n1,1000\n".to_vec()),
            ("chameleon.json", br#"{"0": [3, 1], "2": [], "1": [1, 1]}"#.to_vec()),
        ],
    )
}

#[test]
fn reads_musae() {
    let dataset = musae().load().unwrap();
    assert_eq!(
        (dataset.name.as_str(), dataset.classes(), dataset.features(), dataset.listed_links),
        ("chameleon", 6, 4, 4)
    );
    // log10 is 2.4997, 3 and 5: none, two and five of the bin edges 2.5, 3, 3.5, 4, 4.5.
    assert_eq!(single(&dataset), [0, 2, 5]);
    let graph = &dataset.examples[0].graph;
    assert_eq!(
        (graph.direction(), graph.self_loops(), graph.incoming().of(0)),
        (Direction::Directed, 1, &[0, 1, 2][..])
    );
    let Features::Sparse(words) = &*dataset.examples[0].features else { panic!("sparse") };
    assert_eq!(
        (words.offsets(), words.column_of(), words.values()),
        (&[0, 2, 3, 3][..], &[1, 3, 1][..], &[1.0; 3][..])
    );
}

#[test]
fn explains_faults_of_musae() {
    for (file, text, part) in [
        ("chameleon_edges.csv", "id1,id2\n0,1\n0;1\n", "chameleon_edges.csv, line 3: expected 2 numbers"),
        ("chameleon_edges.csv", "id1,id2\n0,3\n", "3"),
        (
            "chameleon_target.csv",
            "id,target\n0,1\n0,2\n1,3\n",
            "chameleon_target.csv, line 3: expected another id from 0 to 2",
        ),
        ("chameleon_target.csv", "id,target\n0,1\n1,-2\n2,3\n", "line 3: expected traffic that is not negative"),
        ("chameleon_target.csv", "id,target\n0,1\n-1,2\n2,3\n", "line 3: expected another id"),
        ("chameleon.json", "{\"0\": [1], \"7\": [2]}", "chameleon.json: page: expected a number below 3"),
        ("chameleon.json", "{\"0\": [4294967295]}", "rows or columns of a matrix"),
        ("chameleon.json", "{\"0\": [-1]}", "chameleon.json, line 1: expected an object from each page"),
        ("chameleon.json", "[[[[", "chameleon.json, line 1"),
    ] {
        let message = musae().refusal(file, text.as_bytes());
        assert!(message.contains(part), "{message}");
    }
    let folder = musae();
    std::fs::remove_file(folder.path().join("chameleon.json")).unwrap();
    assert!(folder.load().unwrap_err().to_string().contains("chameleon.json not found"));
}

fn ogb() -> Folder {
    Folder::new(
        "ogbn_arxiv",
        vec![
            ("raw/edge.csv.gz", gzip(b"0,1\n2,1\n2,1\n")),
            ("raw/node-feat.csv.gz", gzip(b"0.5,-1.25e-1\n1,2\n3,4\n")),
            ("raw/node-label.csv.gz", gzip(b"1\n0\n1\n")),
            ("raw/num-node-list.csv.gz", gzip(b"3\n")),
            ("raw/num-edge-list.csv.gz", gzip(b"3\n")),
            ("split/time/train.csv.gz", gzip(b"2\n")),
            ("split/time/valid.csv.gz", gzip(b"1\n")),
            ("split/time/test.csv.gz", gzip(b"0\n")),
        ],
    )
}

#[test]
fn reads_open_graph_benchmark() {
    let dataset = ogb().load().unwrap();
    assert_eq!((dataset.name.as_str(), dataset.listed_links, dataset.classes()), ("ogbn-arxiv", 3, 2));
    assert_eq!(dense(&dataset), [0.5, -0.125, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!((single(&dataset), splits(&dataset)), (&[1, 0, 1][..], [&[2][..], &[1], &[0]]));
    let graph = &dataset.examples[0].graph;
    assert_eq!((graph.incoming().of(1), graph.duplicates()), (&[0, 1, 2][..], 1));
    assert!(ogb().load_split(SplitChoice::Numbered(1)).is_err());
}

#[test]
fn explains_faults_of_open_graph_benchmark() {
    let bomb = gzip_of(&deflated_zeros(50).0);
    for (file, bytes, part) in [
        ("raw/edge.csv.gz", gzip(b"0,3\n"), "raw/edge.csv.gz: "),
        ("raw/edge.csv.gz", gzip(b"0\n"), "raw/edge.csv.gz, line 1: expected 2 numbers with commas between, found `0`"),
        ("raw/edge.csv.gz", b"0,1\n".to_vec(), "raw/edge.csv.gz: cannot be unpacked"),
        ("raw/edge.csv.gz", bomb, "decompressed bytes: expected at most"),
        ("raw/node-feat.csv.gz", gzip(b"1,2\n3,4\n"), "rows: expected 3, as node-label.csv.gz has, found 2"),
        ("raw/node-feat.csv.gz", gzip(b"1,2\nnan,4\n5,6\n"), "finite"),
        ("raw/num-node-list.csv.gz", gzip(b"4\n"), "rows: expected [4], as num-node-list.csv.gz says, found 3"),
        ("split/time/test.csv.gz", gzip(b"9\n"), "node of a split"),
        ("split/time/valid.csv.gz", gzip(b"1"[..0].as_ref()), "line 1: expected 1 number"),
    ] {
        let message = ogb().refusal(file, &bytes);
        assert!(message.contains(part), "{message}");
    }
    let folder = ogb();
    std::fs::create_dir(folder.path().join("split/again")).unwrap();
    assert!(
        folder
            .load()
            .unwrap_err()
            .to_string()
            .contains("split: folders: expected one, such as `time`, found again, time")
    );
}

const WIKI: &str = r#"{"features": [[1, 2.5], [3, 4], [5, 6]], "labels": [0, 2, 1], "links": [[1, 1], [], [0]],
    "train_masks": [[true, false, false], [false, true, false]], "val_masks": [[false, true, false], [true, false, false]],
    "stopping_masks": [[], []], "test_mask": [false, false, true], "node_labels": ["a", "b"]}"#;

#[test]
fn reads_wiki_cs() {
    let folder = Folder::new("wikics", vec![("data.json", WIKI.into())]);
    let dataset = folder.load().unwrap();
    assert_eq!((dataset.name.as_str(), dataset.listed_links, dataset.classes()), ("wiki-cs", 3, 3));
    assert_eq!(dense(&dataset), [1.0, 2.5, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(splits(&dataset), [&[0][..], &[1], &[2]]);
    assert!(dataset.notes.iter().any(|note| note == "split 0 of the 2 in the files"));
    assert_eq!(dataset.examples[0].graph.incoming().of(1), [0, 1]);
    assert_eq!(splits(&folder.load_split(SplitChoice::Numbered(1)).unwrap()), [&[1][..], &[0], &[2]]);
    let error = folder.load_split(SplitChoice::Numbered(2)).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "split: expected published, random, or a number from 0 to 1, since the files hold 2 splits, found 2"
        ),
        "{error}"
    );
    for (from, to, part) in [
        ("[5, 6]", "[5]", "features of node 2: expected 2, found 1"),
        ("[[1, 1], [], [0]]", "[[1, 1], []]", "lists of links, one per label: expected 3, found 2"),
        ("[[1, 1], [], [0]]", "[[1, 3], [], []]", "3"),
        ("[0, 2, 1]", "[0, -7, 1]", "class of node 1"),
        ("[false, false, true]", "[true]", "values of a mask, one per label: expected 3, found 1"),
        ("\"labels\"", "\"label\"", "data.json, line 3: expected an object with features"),
        ("2.5", "1e400", "data.json, line 1"),
    ] {
        let message = folder.refusal("data.json", WIKI.replacen(from, to, 1).as_bytes());
        assert!(message.contains(part), "{message}");
    }
}

fn saint() -> Folder {
    let adjacency = npz(&[
        ("format", npy("|S3", false, &[], b"csr")),
        ("shape", longs(&[2], &[3, 3])),
        ("data", npy("|b1", false, &[4], &[1; 4])),
        ("indices", ints(&[1, 0, 2, 1])),
        ("indptr", ints(&[0, 1, 3, 4])),
    ]);
    let feats: Vec<u8> = [0.5f64, 1.5, 2.5].iter().flat_map(|v| v.to_le_bytes()).collect();
    Folder::new(
        "Flickr",
        vec![
            ("adj_full.npz", adjacency),
            ("feats.npy", npy("<f8", false, &[3, 1], &feats)),
            ("class_map.json", br#"{"0": 1, "1": 0, "2": 1}"#.to_vec()),
            ("role.json", br#"{"tr": [0], "va": [1], "te": [2]}"#.to_vec()),
        ],
    )
}

#[test]
fn reads_graph_saint() {
    let dataset = saint().load().unwrap();
    assert_eq!((dataset.name.as_str(), dataset.listed_links, dataset.classes()), ("flickr", 2, 2));
    assert_eq!((dense(&dataset), single(&dataset)), (&[0.5, 1.5, 2.5][..], &[1, 0, 1][..]));
    assert_eq!(splits(&dataset), [&[0][..], &[1], &[2]]);
    assert_eq!(dataset.examples[0].graph.incoming().of(1), [0, 1, 2]);
    let several = saint();
    several.write("class_map.json", br#"{"0": [1, 0], "1": [1, 1], "2": [0, 0]}"#);
    let labels = several.load().unwrap().examples[0].labels.clone();
    assert_eq!(labels, Labels::Multi { classes: 2, of: vec![1, 0, 1, 1, 0, 0] });
    for (file, text, part) in [
        ("class_map.json", r#"{"0": 1, "1": 0}"#, "class_map.json: nodes: expected 3, as adj_full.npz has, found 2"),
        ("class_map.json", r#"{"0": 1, "1": 0, "3": 1}"#, "node 2: expected a class, found nothing"),
        ("class_map.json", r#"{"0": 1, "1": [0], "2": 1}"#, "class of node 1"),
        ("class_map.json", r#"{"0": [1, 0], "1": [1], "2": [0, 1]}"#, "class of node 1"),
        ("class_map.json", r#"{"0": [1], "1": [7], "2": [0]}"#, "class of node 1: expected 0 or 1, found 7"),
        ("role.json", r#"{"tr": [0]}"#, "role.json, line 1: expected an object with the lists tr, va and te"),
        ("role.json", r#"{"tr": [8], "va": [], "te": []}"#, "node of a split"),
        ("feats.npy", "no array", "feats.npy, byte 0: expected a numpy array"),
    ] {
        let message = saint().refusal(file, text.as_bytes());
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn files_of_features_may_be_missing_if_features_are_computed() {
    for (folder, file) in [(saint(), "feats.npy"), (ogb(), "raw/node-feat.csv.gz")] {
        std::fs::remove_file(folder.path().join(file)).unwrap();
        let error = folder.load().unwrap_err().to_string();
        assert!(error.ends_with("compute features from the graph with parameter `features=structural`"), "{error}");
        let features = FeatureChoice::replace("structural").unwrap();
        let options = LoadOptions { features, ..Default::default() };
        assert_eq!(load_with(folder.path().to_str().unwrap(), &options).unwrap().features(), 9);
    }
}

/// Two graphs of two nodes for training, one each for validation and testing.
fn ppi() -> Vec<(String, Vec<u8>)> {
    let part = |name: &str, graphs: &[i64], links: &str| {
        let nodes = graphs.len();
        let features: Vec<f32> = (0..nodes).map(|node| node as f32).collect();
        let labels: Vec<i64> = (0..2 * nodes).map(|at| i64::from(at % 3 == 0)).collect();
        let json = format!(r#"{{"directed": false, "graph": {{}}, "nodes": [{{"id": 0}}], "links": [{links}]}}"#);
        [
            ("feats.npy", floats(&[nodes, 1], &features)),
            ("labels.npy", longs(&[nodes, 2], &labels)),
            ("graph_id.npy", longs(&[nodes], graphs)),
            ("graph.json", json.into_bytes()),
        ]
        .map(|(end, bytes)| (format!("{name}_{end}"), bytes))
        .to_vec()
    };
    let links = r#"{"source": 0, "target": 2}, {"source": 1, "target": 1}, {"source": 3, "target": 1}"#;
    let mut files = part("train", &[1, 2, 1, 2], links);
    files.push(("train_label_known.npy".into(), npy("|b1", false, &[4], &[1, 0, 1, 1])));
    files.extend(part("valid", &[3, 3], ""));
    files.extend(part("test", &[4], r#"{"source": 0, "target": 0}"#));
    files
}

fn zipped(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    zip(&files.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect::<Vec<_>>())
}

#[test]
fn reads_ppi() {
    let archive = Folder::new("ppi", vec![("ppi.zip", zipped(&ppi()))]);
    let files = ppi();
    let folder = Folder::new("ppi", files.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect());
    for dataset in [archive.load().unwrap(), folder.load().unwrap()] {
        assert_eq!((dataset.name.as_str(), dataset.examples.len(), dataset.listed_links), ("ppi", 4, 4));
        assert!(dataset.is_multi_label());
        // The second graph contains the nodes 1 and 3.
        let second = &dataset.examples[1];
        assert_eq!(second.features.values(), [1.0, 3.0]);
        assert_eq!(second.labels, Labels::Multi { classes: 2, of: vec![0, 1, 1, 0] });
        assert_eq!((second.graph.incoming().of(0), second.graph.self_loops()), (&[0, 1][..], 0));
        let sizes = dataset.examples.iter().map(|e| [e.train.len(), e.validation.len(), e.test.len()]);
        assert_eq!(sizes.collect::<Vec<_>>(), [[2, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 1]]);
        assert!(dataset.notes.iter().any(|note| note == "train: the labels of 1 node are not known and count as none"));
    }
    let error = archive.load_split(SplitChoice::Random { seed: 1 }).unwrap_err().to_string();
    assert!(error.contains("expected published, since whole graphs"), "{error}");
    for (file, bytes, part) in [
        (
            "valid_labels.npy",
            longs(&[1, 2], &[0, 1]),
            "valid_labels.npy: rows: expected 2, as valid_feats.npy has, found 1",
        ),
        ("valid_labels.npy", longs(&[2, 2], &[0, 1, 2, 0]), "row 1: expected 0 or 1, found 2"),
        ("valid_labels.npy", longs(&[2, 3], &[0; 6]), "features and classes of valid: expected 1 and 2"),
        (
            "train_graph.json",
            br#"{"links": [{"source": 0, "target": 1}]}"#.to_vec(),
            "link 0: expected two nodes below 4 of the same graph",
        ),
        ("train_graph.json", br#"{"links": [{"source": 9, "target": 9}]}"#.to_vec(), "found 9 and 9"),
        ("train_graph.json", b"{}".to_vec(), "train_graph.json, line 1: expected node-link data"),
        ("test_feats.npy", floats(&[1], &[0.0]), "an array of two axes"),
    ] {
        let mut files = ppi();
        files.iter_mut().find(|(name, _)| name == file).unwrap().1 = bytes;
        let message = archive.refusal("ppi.zip", &zipped(&files));
        assert!(message.contains(part) && message.starts_with("ppi.zip"), "{message}");
    }
}

fn tar(pages: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, content) in pages {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, path, *content).unwrap();
    }
    gzip(&tar.into_inner().unwrap())
}

const PAGES: [(&str, &[u8]); 7] = [
    (
        "webkb/student/texas/http_^^cs.edu^~ann",
        b"<title>Ann</title><A HREF='http://cs.edu/course/'>graphs</a> <a href=\"http://cs.edu/course/\">again</a>\n\
          <!-- <a href=http://cs.edu/~ann>hidden</a> --><script>var cornell = 1</script><a href=course/>relative</a>",
    ),
    (
        "webkb/course/texas/http_^^cs.edu^course^",
        b"<h1>Graphs</h1> <!-- never closed> <a href=http://cs.edu/~ann>ann</a>",
    ),
    ("webkb/staff/texas/http_^^cs.edu^broken", b"\xff\xff<a href=http://cs.edu/~ann>"),
    ("webkb/faculty/cornell/http_^^cs.edu^~ann", b"\xb1\xb3\xbc\xf6 graphs"),
    ("webkb/project/washington/http_^^w^", b"graphs"),
    ("webkb/other/texas/http_^^cs.edu^other", b"other pages are not nodes"),
    ("webkb/README", b"neither is this"),
];

#[test]
fn reads_webkb() {
    let folder = Folder::new("four-univ", vec![("webkb.tar.gz", tar(&PAGES))]);
    let dataset = folder.load().unwrap();
    assert_eq!(
        (dataset.name.as_str(), dataset.examples.len(), dataset.nodes(), dataset.listed_links),
        ("four-univ", 5, 5, 3)
    );
    // Washington, Wisconsin, the others, Cornell, Texas.
    let texas = &dataset.examples[4];
    assert_eq!(texas.labels, Labels::Single { classes: 6, of: vec![0, 2, 4] });
    assert_eq!((texas.graph.incoming().of(0), texas.graph.incoming().of(2)), (&[0, 2][..], &[0, 2][..]));
    assert_eq!((texas.test.len(), dataset.examples[3].validation.len(), dataset.examples[0].train.len()), (3, 1, 1));
    assert_eq!(dataset.node_id(4, 0), "http://cs.edu/~ann");
    // ann, graphs, relative and one Korean word; `again` is too common, the page that cannot be decoded has no text.
    assert_eq!(dataset.features(), 4);
    let Features::Sparse(features) = &*texas.features else { panic!("sparse") };
    assert_eq!(features.column_of(), [0, 1, 2, 0, 1]);
    assert!(dataset.notes.iter().any(|note| note.starts_with("1 pages cannot be decoded")), "{:?}", dataset.notes);
    assert!(folder.load_split(SplitChoice::Random { seed: 1 }).is_err());

    for (bytes, part) in [
        (gzip(b"no archive of pages"), "cannot read webkb.tar.gz"),
        (b"not packed".to_vec(), "webkb.tar.gz: cannot be unpacked"),
        (tar(&PAGES[5..]), "webkb.tar.gz: pages of the archive: expected webkb/CLASS/UNIVERSITY/PAGE"),
        (tar(&[("webkb/student/texas/large", &vec![b'a'; 17 << 20])]), "bytes of a page: expected at most 16777216"),
    ] {
        let message = folder.refusal("webkb.tar.gz", &bytes);
        assert!(message.contains(part), "{message}");
    }
}

/// Replaces bytes of a valid file and loads it, which must neither panic nor take much memory.
/// Returns a small folder of every published format but Planetoid.
pub fn every_format() -> [Folder; 7] {
    [
        Folder::new("a", vec![("x.npz", npz(&benchmark()))]),
        Folder::new("a", vec![("ppi.zip", zipped(&ppi()))]),
        Folder::new("a", vec![("webkb.tar.gz", tar(&PAGES))]),
        Folder::new("a", vec![("data.json", WIKI.into())]),
        musae(),
        saint(),
        ogb(),
    ]
}

fn load_changed(folder: &Folder, file: &str, changes: &[(prop::sample::Index, u8)]) -> std::result::Result<(), Error> {
    let mut bytes = std::fs::read(folder.path().join(file)).unwrap();
    for (position, value) in changes {
        let at = position.index(bytes.len());
        bytes[at] = *value;
    }
    folder.write(file, &bytes);
    folder.load().map(drop)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn survives_damaged_files(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5)) {
        let _ = load_changed(&Folder::new("a", vec![("x.npz", npz(&benchmark()))]), "x.npz", &changes);
        let _ = load_changed(&Folder::new("a", vec![("x.npz", npz(&heterophilous()))]), "x.npz", &changes);
        let _ = load_changed(&Folder::new("a", vec![("ppi.zip", zipped(&ppi()))]), "ppi.zip", &changes);
        let _ = load_changed(&Folder::new("a", vec![("webkb.tar.gz", tar(&PAGES))]), "webkb.tar.gz", &changes);
        let _ = load_changed(&Folder::new("a", vec![("data.json", WIKI.into())]), "data.json", &changes);
        for file in ["chameleon_edges.csv", "chameleon_target.csv", "chameleon.json"] {
            let _ = load_changed(&musae(), file, &changes);
        }
        for file in ["adj_full.npz", "feats.npy", "class_map.json", "role.json"] {
            let _ = load_changed(&saint(), file, &changes);
        }
        for file in ["raw/edge.csv.gz", "raw/node-feat.csv.gz", "split/time/train.csv.gz"] {
            let _ = load_changed(&ogb(), file, &changes);
        }
    }
}

#[test]
fn rejects_empty_and_missing_files() {
    for folder in [ogb(), saint(), musae()] {
        let mut files: Vec<PathBuf> = Vec::new();
        let mut folders = vec![folder.path()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        for file in files.iter().filter(|file| !file.ends_with("num-edge-list.csv.gz")) {
            let good = std::fs::read(file).unwrap();
            std::fs::write(file, b"").unwrap();
            assert!(folder.load().is_err(), "{file:?} empty");
            std::fs::remove_file(file).unwrap();
            let error = folder.load().unwrap_err().to_string();
            assert!(
                error.contains(Path::new(file.file_name().unwrap()).to_str().unwrap())
                    || error.contains("no recognised dataset files"),
                "{error}"
            );
            std::fs::write(file, good).unwrap();
        }
    }
}
