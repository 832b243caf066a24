//! Tests that a converted dataset is identical when read again, and that damaged files are refused.

use std::path::Path;
use supergat_core::{Direction, Example, Features, Graph, Labels, SparseMatrix};
use supergat_data::schema::Schema;
use supergat_data::{Dataset, Error, convert, converted, load};

fn sparse(rows: usize) -> Features<f32> {
    // A row without entries, an entry of zero, and a last column without entries.
    let offsets = (0..=rows as u64).map(|row| 2 * row.min(rows as u64 - 1)).collect();
    let columns = (0..rows - 1).flat_map(|row| [row as u32 % 3, 5]).collect();
    let values = (0..2 * rows - 2).map(|k| if k == 1 { 0.0 } else { 1.0 / (k as f32 + 1.0) }).collect();
    Features::Sparse(SparseMatrix::new(9, offsets, columns, values).unwrap())
}

fn dense(rows: usize) -> Features<f32> {
    let odd = [f32::MIN_POSITIVE, -0.0, 1.0e-45, f32::MAX, 0.1, 1.0 / 3.0, -123_456.79];
    Features::dense(rows, 9, (0..9 * rows).map(|k| odd[k % odd.len()]).collect()).unwrap()
}

/// Returns a dataset with unusual content.
fn odd(direction: Direction, features: fn(usize) -> Features<f32>, several: bool, graphs: usize) -> Dataset {
    let examples = (0..graphs).map(|k| {
        let nodes = 4 + k;
        let edges = [(2, 0), (1, 1), (0, 1), (2, 0), (1, 0), (3, 2)];
        let labels = if several {
            Labels::Multi { classes: 3, of: (0..3 * nodes).map(|k| u8::from(k % 4 == 1)).collect() }
        } else {
            let of = (0..nodes as u32).map(|node| if node == 1 { Labels::UNKNOWN } else { node % 2 * 2 }).collect();
            Labels::Single { classes: 3, of }
        };
        let splits = [vec![3, 0], vec![2, 0], vec![2]];
        Example::new(Graph::from_edges(nodes, &edges, direction).unwrap(), features(nodes), labels, splits).unwrap()
    });
    let examples: Vec<Example<f32>> = examples.collect();
    let ids = |example: &Example<f32>| (0..example.graph.nodes()).map(|n| format!("#{n}, \"é\"")).collect();
    Dataset {
        name: "odd".into(),
        node_ids: Some(examples.iter().map(ids).collect()),
        examples,
        class_names: vec!["b".into(), "a,\nb".into(), "10".into()],
        listed_links: 77,
        notes: vec!["a note".into()],
        schema: Some(Schema::default()),
        link_schema: None,
        splits: Vec::new(),
        origin: None,
        preset: None,
    }
}

pub fn all() -> Vec<Dataset> {
    let mut all = Vec::new();
    for direction in [Direction::Directed, Direction::Undirected] {
        for features in [sparse, dense] {
            for (several, graphs) in [(false, 1), (true, 1), (false, 3), (true, 3)] {
                all.push(odd(direction, features, several, graphs));
            }
        }
    }
    all
}

/// Compares everything that training and the order of results depend on.
pub fn assert_same(a: &Dataset, b: &Dataset) {
    assert_eq!((&a.name, &a.class_names, a.listed_links), (&b.name, &b.class_names, b.listed_links));
    assert_eq!((&a.node_ids, a.examples.len()), (&b.node_ids, b.examples.len()));
    for (a, b) in a.examples.iter().zip(&b.examples) {
        assert_eq!((a.graph.incoming(), a.graph.outgoing()), (b.graph.incoming(), b.graph.outgoing()));
        assert_eq!(a.graph.place_at_target(), b.graph.place_at_target());
        assert_eq!(a.graph.position_of_input(), b.graph.position_of_input());
        assert_eq!((a.graph.duplicates(), a.graph.self_loops()), (b.graph.duplicates(), b.graph.self_loops()));
        assert_eq!(a.graph.direction(), b.graph.direction());
        assert_eq!(a.labels, b.labels);
        assert_eq!((&a.train, &a.validation, &a.test), (&b.train, &b.validation, &b.test));
        let bits = |features: &Features<f32>| features.values().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&a.features), bits(&b.features));
        match (&*a.features, &*b.features) {
            (Features::Sparse(a), Features::Sparse(b)) => {
                assert_eq!((a.offsets(), a.column_of()), (b.offsets(), b.column_of()));
            }
            (Features::Dense { .. }, Features::Dense { .. }) => {}
            _ => panic!("dense became sparse, or the other way round"),
        }
        assert_eq!(a.features.columns(), b.features.columns());
    }
}

#[test]
fn converted_file_is_the_same_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.supergat.safetensors");
    for dataset in all() {
        convert(&dataset, &path).unwrap();
        let again = load(path.to_str().unwrap()).unwrap();
        assert_same(&dataset, &again);
        assert_eq!(again.notes, dataset.notes);
        let first = std::fs::read(&path).unwrap();
        convert(&dataset, &path).unwrap();
        assert!(std::fs::read(&path).unwrap() == first, "equal datasets give equal files");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no other file remains");
}

#[test]
fn converted_tables_are_the_same_dataset() {
    let folder = tempfile::tempdir().unwrap();
    for (k, dataset) in all().into_iter().enumerate() {
        let place = folder.path().join(format!("tables{k}"));
        convert(&dataset, &place).unwrap();
        assert_same(&dataset, &load(place.to_str().unwrap()).unwrap());
        assert!(
            matches!(convert(&dataset, &place), Err(Error::Mismatch { .. })),
            "an existing folder is not overwritten"
        );
    }
    let mut same = odd(Direction::Directed, dense, false, 1);
    same.node_ids = Some(vec![vec!["a".into(); 4]]);
    convert(&same, &folder.path().join("same")).unwrap();
    let again = load(folder.path().join("same").to_str().unwrap()).unwrap();
    same.node_ids = None;
    assert_same(&same, &again);
    std::fs::remove_dir_all(folder.path().join("same")).unwrap();
    let mut names = odd(Direction::Directed, dense, true, 1);
    names.class_names[0] = "a|b".into();
    assert!(matches!(convert(&names, &folder.path().join("x")), Err(Error::Write { .. })));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 16, "no incomplete folder remains");
}

#[test]
fn converts_generated_graphs() {
    let folder = tempfile::tempdir().unwrap();
    for spec in ["random-partition:classes=3,nodes=180", "random-graph:nodes=500,features=3"] {
        let dataset = load(spec).unwrap();
        for name in ["x.safetensors", "x"] {
            let place = folder.path().join(name);
            convert(&dataset, &place).unwrap();
            assert_same(&dataset, &load(place.to_str().unwrap()).unwrap());
        }
        std::fs::remove_dir_all(folder.path().join("x")).unwrap();
    }
}

#[test]
fn survives_damaged_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.safetensors");
    for dataset in [odd(Direction::Directed, sparse, false, 2), odd(Direction::Undirected, dense, true, 1)] {
        convert(&dataset, &path).unwrap();
        let good = std::fs::read(&path).unwrap();
        let name = Path::new("odd.safetensors");
        assert!(converted::parse(name, &good).is_ok());
        for length in 0..good.len() {
            assert!(converted::parse(name, &good[..length]).is_err(), "cut at {length}");
        }
        // Most changed bytes cause an error, some only change a number; none may cause a panic.
        for at in 0..good.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = good.clone();
                bytes[at] ^= flip;
                if let Ok(read) = converted::parse(name, &bytes) {
                    assert_eq!(read.examples.len(), dataset.examples.len());
                }
            }
        }
    }
}

#[test]
fn explains_foreign_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let foreign = safetensors::serialize(Vec::<(&str, safetensors::tensor::TensorView<'_>)>::new(), None).unwrap();
    std::fs::write(&path, foreign).unwrap();
    let error = load(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains("expected a dataset that `supergat convert` wrote, found another file"), "{error}");
    std::fs::write(&path, b"").unwrap();
    assert!(load(path.to_str().unwrap()).is_err());
    let place = folder.path().join("no/where/x.safetensors");
    let error = convert(&load("random-graph:nodes=9").unwrap(), &place).unwrap_err().to_string();
    assert!(error.starts_with("cannot write "), "{error}");
}
