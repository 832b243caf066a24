//! Tests of the reader of tables: recognised columns, notes and errors.

use crate::support::folder;
use supergat_core::{Direction, Features, Labels};
use supergat_data::options::Expected;
use supergat_data::schema::Column;
use supergat_data::tables::read;
use supergat_data::{Dataset, LoadOptions, TableOptions, load_with};

const NODES: &str = "id,label,age,colour\n\
    ann,x,30,red\nbob,y,41.5,blue\ncat,x,22,red\ndan,,50,green\neve,y,1e1,blue\nfay,x,33,red\n";
const EDGES: &str = "from,to,weight\nann,bob,0.5\nbob,cat,1\ncat,ann,2\neve,fay,1\n";

fn people() -> tempfile::TempDir {
    folder(&[("nodes.csv", NODES), ("edges.csv", EDGES)])
}

fn load(folder: &tempfile::TempDir) -> Dataset {
    read(folder.path(), &TableOptions::default()).unwrap()
}

fn dense(dataset: &Dataset) -> &[f32] {
    match &*dataset.examples[0].features {
        Features::Dense { values, .. } => values,
        Features::Sparse(_) => panic!("sparse"),
    }
}

fn classes(dataset: &Dataset) -> &[u32] {
    match &dataset.examples[0].labels {
        Labels::Single { of, .. } => of,
        Labels::Multi { .. } => panic!("several"),
    }
}

/// Returns the error message for the files.
fn refused(files: &[(&str, &str)], options: &TableOptions) -> String {
    let folder = folder(files);
    let error = read(folder.path(), options).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    error.replace(&format!("{}/", folder.path().display()), "")
}

fn with_nodes(nodes: &str) -> String {
    refused(&[("nodes.csv", nodes), ("edges.csv", EDGES)], &TableOptions::default())
}

fn with_edges(edges: &str) -> String {
    refused(&[("nodes.csv", NODES), ("edges.csv", edges)], &TableOptions::default())
}

#[test]
fn reads_nodes_and_edges() {
    let dataset = load(&people());
    let example = &dataset.examples[0];
    assert_eq!((dataset.nodes(), dataset.features(), dataset.listed_links), (6, 4, 4));
    assert_eq!(dataset.class_names, ["x", "y"]);
    assert_eq!(classes(&dataset), [0, 1, 0, Labels::UNKNOWN, 1, 0]);
    assert_eq!(dataset.node_id(0, 3), "dan");
    // age, standardised, then colour as blue, green, red
    let ages: Vec<f32> = dense(&dataset).iter().step_by(4).copied().collect();
    assert!(ages.iter().sum::<f32>().abs() < 1e-5 && ages[1] > 0.0 && ages[0] < 0.0);
    assert_eq!((&dense(&dataset)[1..4], &dense(&dataset)[5..8]), (&[0.0, 0.0, 1.0][..], &[1.0, 0.0, 0.0][..]));
    assert_eq!((example.graph.edges() - 6, example.graph.direction()), (8, Direction::Undirected));
    assert_eq!(example.graph.incoming().of(0), [0, 1, 2]);
    // x has three nodes: one for each; y has two: training and validation.
    assert_eq!([&example.train, &example.validation, &example.test].map(Vec::len), [2, 2, 1]);
    let notes = dataset.notes.join("\n");
    for said in [
        "nodes.csv: first row names the columns; id is `id`, label is `label`",
        "4 features from 1 column of numbers and 1 of words: `colour` (3)",
        "scaled to mean 0 and standard deviation 1, since the values are large or dates: `age` (parameter `standardise=false`",
        "5 of 6 nodes have a label; 2 classes: `x` (3), `y` (2)",
        "no split column: 60 % of every class for training",
        "metrics are unreliable; at least one node of each is used for training: `x` (3), `y` (2)",
        "4 links from `from` to `to`, read in both directions",
        "weights of links in `weight`",
        "1 node without a link",
    ] {
        assert!(notes.contains(said), "{said} is not in {notes}");
    }
}

#[test]
fn loads_a_folder_of_tables() {
    let folder = people();
    let options = LoadOptions { tables: TableOptions { directed: true, ..Default::default() }, ..Default::default() };
    let dataset = load_with(folder.path().to_str().unwrap(), &options).unwrap();
    assert_eq!(dataset.examples[0].graph.edges() - 6, 4);
    assert_eq!(Some(dataset.name.as_str()), folder.path().file_name().and_then(|name| name.to_str()));
}

#[test]
fn options_name_the_columns() {
    let folder = folder(&[
        ("nodes.csv", "class;who;part;extra\n7;a;train;z\n8;b;val;z\n7;c;test;z\n8;d;;z\n"),
        ("edges.csv", "b;w;a\nb;1;a\nc;1;d\n"),
    ]);
    let options = TableOptions {
        id_column: Some("who".into()),
        label_column: Some("1".into()),
        split_column: Some("part".into()),
        source_column: Some("b".into()),
        target_column: Some("3".into()),
        ..Default::default()
    };
    let dataset = read(folder.path(), &options).unwrap();
    assert_eq!(dataset.class_names, ["7", "8"]);
    let example = &dataset.examples[0];
    assert_eq!((&example.train[..], &example.validation[..], &example.test[..]), (&[0][..], &[1][..], &[2][..]));
    assert!(example.graph.position(1, 0).is_some() && example.graph.position(2, 3).is_some());
    assert!(dataset.notes.iter().any(|note| note.contains("weights of links in `w`")), "{:?}", dataset.notes);
    assert_eq!(dataset.features(), 1);
}

#[test]
fn reads_separate_features_and_labels() {
    let edges = "# a comment\n0 1\n1   2\n2 3\n3 0\n";
    let by_row =
        folder(&[("edges.txt", edges), ("features.csv", "1,0\n0.5,0\n0,1\n2,2\n"), ("labels.csv", "a\nb\na\nb\n")]);
    let dataset = load(&by_row);
    assert_eq!(dense(&dataset), [1.0, 0.0, 0.5, 0.0, 0.0, 1.0, 2.0, 2.0]);
    assert_eq!((classes(&dataset), &dataset.node_ids), (&[0, 1, 0, 1][..], &None));
    let by_id = folder(&[
        ("edges.csv", "p,q\nq,r\n"),
        ("features.csv", "id,f,g\np,1,2\nq,3,4\nr,5,6\ns,7,8\n"),
        ("labels.csv", "s,2\nq,2\nr,10\np,10\n"),
    ]);
    let dataset = load(&by_id);
    assert_eq!((classes(&dataset), dataset.class_names.join(" ")), (&[1, 0, 1, 0][..], "2 10".to_owned()));
    assert_eq!(dense(&dataset)[2..4], [3.0, 4.0]);
    assert!(dataset.notes.iter().any(|note| note == "edges.csv: no header: the first row is a link"));
}

#[test]
fn reads_entries_as_sparse_features() {
    let nodes = "id,label\na,0\nb,1\nc,0\nd,1\n";
    let entries = "id,feature,value\nb,3,0.5\na,7,1\na,2,1\nd,0,2\n";
    let folder = folder(&[("nodes.csv", nodes), ("features.csv", entries), ("edges.csv", "a,b\nc,d\n")]);
    let dataset = load(&folder);
    let Features::Sparse(matrix) = &*dataset.examples[0].features else { panic!("dense") };
    assert_eq!((matrix.offsets(), matrix.column_of()), (&[0, 2, 3, 3, 4][..], &[2, 7, 3, 0][..]));
    assert_eq!((dataset.features(), &dataset.schema), (8, &None));
    std::fs::write(folder.path().join("features.csv"), entries.replace(",7,", ",word,")).unwrap();
    let named = load(&folder);
    assert_eq!(named.schema.unwrap().feature_names(), ["0", "2", "3", "word"]);
}

#[test]
fn keeps_wide_tables_of_zeros_sparse() {
    let words: Vec<String> = (0..80).map(|word| format!("w{word:02}")).collect();
    let rows: String = (0..240).map(|node| format!("{node},{},{}\n", node % 2, words[node % 80])).collect();
    let folder = folder(&[("nodes.csv", format!("id,label,word\n{rows}").as_str()), ("edges.csv", "0 1\n")]);
    let dataset = load(&folder);
    assert!(matches!(&*dataset.examples[0].features, Features::Sparse(matrix) if matrix.values().len() == 240));
    assert_eq!(dataset.features(), 80);
}

#[test]
fn notes_count_unusual_rows() {
    let edges = format!("{EDGES}bob,bob,1\nbob,ann,1\nann,bob,1\n");
    let dataset = load(&folder(&[("nodes.csv", NODES), ("edges.csv", &edges)]));
    let notes = dataset.notes.join("\n");
    assert!(notes.contains("1 link from a node to itself") && notes.contains("2 links repeated from an earlier row"));
    let nodes = "id,label,a,b,name\n".to_owned()
        + &(0..60).map(|k| format!("n{k},{},,{k},person {k}\n", k % 2 * 2 - 1)).collect::<String>();
    let nodes = nodes.replace(",1,,0,", ",0,,0,").replacen(",7,", ",NA,", 1);
    let dataset = load(&folder(&[
        ("nodes.csv", nodes.replace(",1,,", ",0,,").replacen(",0,,", ",3,,", 9).as_str()),
        ("edges.csv", "n0 n1\n"),
    ]));
    let notes = dataset.notes.join("\n");
    for said in [
        "column `a` is empty: not used",
        "1 missing value in `b` (1), replaced by the mean, and marked by one more feature per column",
        "column `name` holds 60 different texts, not categories: not used",
        "30 labels `-1`, read as not known",
    ] {
        assert!(notes.contains(said), "{said} is not in {notes}");
    }
}

#[test]
fn standardises_numbers() {
    let options = TableOptions { standardise: Some(true), ..Default::default() };
    let dataset = read(people().path(), &options).unwrap();
    let ages: Vec<f32> = dense(&dataset).iter().step_by(4).copied().collect();
    assert!(ages.iter().sum::<f32>().abs() < 1e-5);
    assert!((ages.iter().map(|age| age * age).sum::<f32>() / 6.0 - 1.0).abs() < 1e-5);
    let schema = dataset.schema.unwrap();
    assert!(matches!(schema.columns[0], Column::Number { mean, .. } if (mean - 31.083334).abs() < 1e-4));
}

#[test]
fn encodes_new_tables_for_a_model() {
    let trained = read(people().path(), &TableOptions { standardise: Some(false), ..Default::default() }).unwrap();
    let expected = Expected {
        features: 4,
        schema: trained.schema,
        links: Default::default(),
        classes: trained.class_names,
        several: false,
    };
    let options = TableOptions { expected: Some(expected), ..Default::default() };
    let new =
        [("nodes.csv", "colour,id,height,age\nred,u,1.8,20\npink,v,1.7,\nblue,w,1.6,9\n"), ("edges.csv", "u v\n")];
    let dataset = read(folder(&new).path(), &options).unwrap();
    assert_eq!(dataset.class_names, ["x", "y"]);
    assert_eq!(classes(&dataset), [Labels::UNKNOWN; 3]);
    assert_eq!(dense(&dataset)[..8], [20.0, 0.0, 0.0, 1.0, 31.083334, 0.0, 0.0, 0.0]);
    let notes = dataset.notes.join("\n");
    assert!(notes.contains("the model does not know `height`, not used"), "{notes}");
    assert!(notes.contains("1 value that training did not see, read as unknown: `pink` in `colour`"), "{notes}");
    let error = refused(&[("nodes.csv", "id,age\nu,1\n"), ("edges.csv", "u u\n")], &options);
    assert_eq!(
        error,
        "nodes.csv, line 1: expected a column `colour`, which the model was trained with, found 2 columns (id, age); \
         add the column; its values may be left empty"
    );
    let labelled = [("nodes.csv", "id,age,colour,label\nu,1,red,y\nv,2,red,z\n"), ("edges.csv", "u v\n")];
    let dataset = read(folder(&labelled).path(), &options).unwrap();
    assert_eq!((classes(&dataset), &dataset.examples[0].test[..]), (&[1, Labels::UNKNOWN][..], &[0][..]));
}

#[test]
fn errors_of_nodes_name_the_position() {
    for (nodes, expected) in [
        (
            "id,label,a\nann,x,1\nbob,y\n",
            "nodes.csv, line 3: expected 3 fields, as in the first row, found 2; fix the row, or say with parameter `delimiter`",
        ),
        (
            "id,label,a\nann,x,1\nbob,y,2\ncat,x,three\n",
            "nodes.csv, line 4, column `a`: expected a number, found `three` (the only one of 3 values that is not a number); fix the value, leave it empty or name it in parameter `missing_words` if it is not known, or leave the column out with parameter `ignore_columns`",
        ),
        (
            "id,label,a\nann,x,1\nbob,y,2\nann,x,3\n",
            "nodes.csv, line 4, column `id`: expected an id that occurs once, found `ann` again, first in line 2; remove one of the rows, or name the right column with parameter `id_column`",
        ),
        ("id,label,a\nann,x,1\n,y,2\n", "nodes.csv, line 3, column `id`: expected an id, found nothing; "),
        (
            "id,label,a\nann,x,1\nbob,x,2\ncat,z,3\n",
            "nodes.csv, line 4, column `label`: expected classes that have at least two nodes, found `z` once; fix the label",
        ),
        (
            "id,label,a\nann,,1\nbob,NA,2\n",
            "nodes.csv, column `label`: expected labels, found none at all; fill in the classes of some nodes, or name another column with parameter `label_column`",
        ),
        (
            "id,label,a\nann,x,1\nbob,x,2\n",
            "nodes.csv, column `label`: expected at least two classes, found only `x`; ",
        ),
        (
            "id,a\nann,1\nbob,2\n",
            "nodes.csv, line 1: expected a column with the classes of the nodes, called label or class, found 2 columns (id, a); name it with parameter `label_column`",
        ),
        (
            "id,label,split,a\nann,x,train,1\nbob,x,tset,2\ncat,y,,1\ndan,y,,1\n",
            "nodes.csv, line 3, column `split`: expected train, validation, test or nothing, found `tset`; fix it, or name another column with parameter `split_column`",
        ),
        (
            "id,label,a\nann,x,1\nbob,x,inf\ncat,y,1\ncat2,y,1\n",
            "nodes.csv, line 3, column `a`: expected a finite number, found `inf`; ",
        ),
        ("", "nodes.csv: expected rows, found an empty file; "),
        (
            "PK\u{3}\u{4}xl/worksheets",
            "nodes.csv: expected a table as text, found a packed file, such as a workbook of a spreadsheet program; save the sheet as CSV",
        ),
        (
            "id,label,a\nann,x,1\n\"bob,x,2\ncat,y,1\n",
            "nodes.csv, line 3: expected 3 fields, as in the first row, found 1, with a quoted field that continues in the next lines; close its quotation mark, or remove it",
        ),
        ("id,label,a\n", "nodes.csv: expected nodes, found only a header; "),
        (
            "id,label,a,a\nann,x,1,1\n",
            "nodes.csv, line 1, column `a`: expected columns with distinct names, found the same name twice; ",
        ),
        ("1,2,3\n4,5,6\n", "nodes.csv, line 1: expected a first row that names the columns"),
        (
            "id,label\nann,x\nbob,x\ncat,y\ndan,y\n",
            "nodes.csv, line 1: expected columns of features, found 2 columns (id, label); add a column",
        ),
    ] {
        let error = with_nodes(nodes);
        assert!(error.starts_with(expected), "{nodes:?} gave\n{error}\nexpected\n{expected}");
    }
}

#[test]
fn errors_of_links_name_the_position() {
    for (edges, expected) in [
        (
            "from,to\nann,bob\nann,zed\n",
            "edges.csv, line 3, column `to`: expected the id of a node, found `zed`; add the node, remove the link, or leave such links out with parameter `skip_unknown=true`",
        ),
        ("ann,zed\nann,bob\n", "edges.csv, line 1, column `2`: expected the id of a node, found `zed`; "),
        (
            "from,to\nann,bob\nann,\n",
            "edges.csv, line 3, column `to`: expected the id of a node, found nothing; fill in the id, remove the link, or leave such links out with parameter `skip_unknown=true`",
        ),
        ("from,to\nann,bob\nann\n", "edges.csv, line 3: expected 2 fields, as in the first row, found 1; "),
        (
            "from\nann\n",
            "edges.csv, line 1: expected two columns with the ids of a link's ends, found 1 column (from); say with parameter `delimiter`",
        ),
        ("", "edges.csv: expected rows, found an empty file; "),
    ] {
        let error = with_edges(edges);
        assert!(error.starts_with(expected), "{edges:?} gave\n{error}");
    }
    let options = TableOptions { skip_unknown: true, ..Default::default() };
    let folder = folder(&[("nodes.csv", NODES), ("edges.csv", "from,to\nann,bob\nann,zed\n")]);
    let dataset = read(folder.path(), &options).unwrap();
    assert!(dataset.notes.iter().any(|note| note == "edges.csv: 1 link to unknown nodes left out"));
}

#[test]
fn errors_of_options_name_the_option() {
    let files = [("nodes.csv", NODES), ("edges.csv", EDGES)];
    let error = refused(&files, &TableOptions { label_column: Some("klass".into()), ..Default::default() });
    assert_eq!(
        error,
        "nodes.csv, line 1: expected a column `klass` with the class of a node, found 4 columns (id, label, age, colour); \
         give parameter `label_column` another name or number, or check parameter `delimiter`"
    );
    let error = refused(&files, &TableOptions { delimiter: Some(";".into()), ..Default::default() });
    assert_eq!(
        error,
        "nodes.csv, line 1: expected several columns, found 1 column (id,label,age,colour); \
         say with parameter `delimiter` which character separates the fields"
    );
    let error = refused(&files, &TableOptions { source_column: Some("9".into()), ..Default::default() });
    assert!(error.contains("give parameter `source_column` another name or number"), "{error}");
    let rare = [("nodes.csv", "id,label,a\nann,x,1\nbob,x,2\ncat,z,3\n"), ("edges.csv", "ann bob\n")];
    let kept = read(folder(&rare).path(), &TableOptions { keep_rare: true, ..Default::default() }).unwrap();
    assert_eq!(kept.class_names, ["x", "z"]);
}

#[test]
fn explains_missing_and_foreign_files() {
    let none = TableOptions::default();
    assert!(refused(&[("nodes.csv", NODES)], &none).starts_with("edges.csv not found: it must list the links"));
    assert!(refused(&[("edges.csv", EDGES)], &none).starts_with("nodes.csv not found: "));
    let error = refused(&[("edges.csv", "a,b\n"), ("labels.csv", "a,1\nb,1\nc,2\nd,2\n")], &none);
    assert!(error.starts_with("features.csv not found: add features.csv, features.npz"), "{error}");
    let error =
        refused(&[("nodes.csv", NODES), ("edges.csv", EDGES), ("dataset.toml", "name = 'x'\ncolour = 3\n")], &none);
    assert!(error.starts_with("dataset.toml, line 2: expected name, directed"), "{error}");
    if cfg!(not(feature = "parquet")) {
        let error = refused(&[("nodes.parquet", "PAR1"), ("edges.csv", EDGES)], &none);
        assert!(
            error.contains("install supergat with `cargo install --path crates/supergat-cli --features parquet`"),
            "{error}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("nodes.csv"), b"id,label\n1,\xc3\xa9 caf\xe9\n").unwrap();
    std::fs::write(folder.path().join("edges.csv"), "1 1\n").unwrap();
    let error = read(folder.path(), &none).unwrap_err().to_string();
    assert!(error.contains("nodes.csv, line 2: expected text in UTF-8, found byte 0xe9 at position 9"), "{error}");
}

#[test]
fn reads_several_graphs_and_classes() {
    let folder = folder(&[
        (
            "nodes.csv",
            "graph,id,label,split,a\ng,1,x|y,train,1\ng,2,,train,2\nh,1,y,test,3\nh,3,x,test,4\nh,2,y,test,5\n",
        ),
        ("edges.csv", "graph,source,target\ng,1,2\nh,3,1\n"),
    ]);
    let dataset = load(&folder);
    assert_eq!(dataset.examples.len(), 2);
    let second = &dataset.examples[1];
    assert_eq!(second.labels, Labels::Multi { classes: 2, of: vec![0, 1, 1, 0, 0, 1] });
    assert!(second.graph.position(1, 0).is_some() && second.graph.edges() == 5);
    assert_eq!((dataset.examples[0].train.len(), second.test.len()), (2, 3));
    assert_eq!(dataset.node_id(1, 1), "3");
}

#[test]
fn reads_features_from_a_scipy_matrix() {
    let folder = folder(&[("edges.txt", "0 1\n1 2\n"), ("labels.csv", "label\n0\n1\n1\n0\n")]);
    let matrix = |rows: &[i32]| {
        crate::arrays::npz(&[
            ("format", crate::arrays::npy("|S3", false, &[], b"csr")),
            ("shape", crate::arrays::longs(&[2], &[rows.len() as i64 - 1, 3])),
            ("data", crate::arrays::floats(&[3], &[1.0, 2.0, 3.0])),
            ("indices", crate::arrays::ints(&[0, 2, 1])),
            ("indptr", crate::arrays::ints(rows)),
        ])
    };
    std::fs::write(folder.path().join("features.npz"), matrix(&[0, 2, 2, 3, 3])).unwrap();
    let dataset = load(&folder);
    assert_eq!((dataset.nodes(), dataset.features(), classes(&dataset)), (4, 3, &[0, 1, 1, 0][..]));
    assert!(matches!(&*dataset.examples[0].features, Features::Sparse(matrix) if matrix.column_of() == [0, 2, 1]));
    // One of several sources of features is used, and notes name the others.
    std::fs::write(folder.path().join("nodes.csv"), "id,age,town\n0,1,x\n1,2,y\n2,3,x\n3,4,y\n").unwrap();
    let notes = load(&folder).notes;
    let expected = "nodes.csv: not used, since features.npz has the features: `age`, `town`; move them there";
    assert!(notes.iter().any(|note| note == expected), "{notes:?}");
    std::fs::write(folder.path().join("features.csv"), "1\n2\n3\n4\n").unwrap();
    let notes = load(&folder).notes;
    let expected = [
        "nodes.csv: not used, since features.csv has the features: `age`, `town`; move them there",
        "features.npz: not used, since features.csv has the features",
    ];
    assert!(expected.iter().all(|expected| notes.iter().any(|note| note == expected)), "{notes:?}");
    for file in ["nodes.csv", "features.csv"] {
        std::fs::remove_file(folder.path().join(file)).unwrap();
    }
    std::fs::write(folder.path().join("features.npz"), matrix(&[0, 2, 3])).unwrap();
    let error = read(folder.path(), &TableOptions::default()).unwrap_err().to_string();
    assert!(error.contains("labels.csv, line 4: expected 2 rows, one per node"), "{error}");
}
