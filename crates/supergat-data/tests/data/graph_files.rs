//! Tests of graphs in a single file: GraphML and Matrix Market.

use crate::arrays::gzip;
use crate::formats::{Folder, dense, single, splits};
use supergat_core::Direction;
use supergat_data::{Dataset, Error, LoadOptions, Result, SplitChoice, TableOptions, load, load_with};

const GRAPHML: &str = include_str!("../../../../fuzz/corpus/graphml/small");

fn has_note(dataset: &Dataset, start: &str) -> bool {
    dataset.notes.iter().any(|note| note.starts_with(start))
}

#[test]
fn reads_graphml() {
    let folder = Folder::new("friends", vec![("people.graphml", GRAPHML.into())]);
    let dataset = folder.load().unwrap();
    assert_eq!((dataset.name.as_str(), dataset.nodes(), dataset.listed_links), ("friends", 4, 2));
    assert_eq!(
        (&dataset.class_names[..], single(&dataset)),
        (&["p & q".to_owned(), "r".to_owned()][..], &[0, 1, 0, 1][..])
    );
    // Ages 41, 30, 30 and 30, standardised.
    assert_eq!(dense(&dataset), [1.7320508, -0.57735026, -0.57735026, -0.57735026]);
    assert_eq!((dataset.node_id(0, 2), dataset.examples[0].graph.direction()), ("c".into(), Direction::Undirected));
    assert!(has_note(&dataset, "people.graphml, nodes: first row names the columns; id is `id`, label is `label`"));
    assert!(has_note(&dataset, "people.graphml, edges: weights of links in `weight`"), "{:?}", dataset.notes);
    let edges = dataset.examples[0].edges.as_ref().unwrap();
    let weight = |from, to| edges.weights()[dataset.examples[0].graph.position(from, to).unwrap()];
    assert_eq!((weight(0, 1), weight(3, 2)), (2.0, 0.5));

    // The options of tables apply, also to a path to the file.
    let file = folder.path().join("people.graphml");
    let tables = TableOptions { label_column: Some("age".into()), keep_rare: true, ..Default::default() };
    let other = load_with(
        file.to_str().unwrap(),
        &LoadOptions { tables, split: SplitChoice::Random { seed: 1 }, ..Default::default() },
    )
    .unwrap();
    assert_eq!((other.name.as_str(), &other.class_names[..]), ("people", &["30".to_owned(), "41".to_owned()][..]));
    folder.write("people.graphml", GRAPHML.replace("\"undirected\"", "\"directed\"").as_bytes());
    assert_eq!(folder.load().unwrap().examples[0].graph.direction(), Direction::Directed);
    // A folder of tables remains one.
    folder.write("nodes.csv", b"id,label,x\na,p,1\nb,q,2\n");
    assert!(folder.load().unwrap_err().to_string().contains("edges.csv not found"));
}

/// An attribute may be called id, and text may look like a comment, a quotation or a row of its own.
#[test]
fn graphml_texts_survive_the_tables() {
    let text = r##"<graphml><key id="k" attr.name="id"/><key id="l" attr.name="class"/><key id="v"/><graph>
        <node id="#1"><data key="k">1</data><data key="l"><![CDATA["a",
b]]></data></node><node id="#2"><data key="k">2</data><data key="l">c&#x64;</data><data key="v"><x/></data></node>
        <node id="#3"><data key="k">3</data><data key="l">cd</data></node><node id="#4"><data key="k">4</data>
        <data key="l">"a", b</data></node><edge source="#1" target="#2"/></graph></graphml>"##;
    let folder = Folder::new("odd", vec![("x.graphml", text.into())]);
    let dataset = folder.load().unwrap();
    assert_eq!((dataset.listed_links, dataset.node_id(0, 0)), (1, "#1".into()));
    assert_eq!(
        (&dataset.class_names[..], dense(&dataset)),
        (&["\"a\", b".to_owned(), "cd".to_owned()][..], &[1.0, 2.0, 3.0, 4.0][..])
    );
}

#[test]
fn explains_faults_of_graphml() {
    let folder = Folder::new("mine", vec![("x.graphml", GRAPHML.into())]);
    for (from, to, part) in [
        (">41<", ">forty<", "x.graphml, line 7, column `age`: expected a number"),
        ("target=\"d\"", "target=\"e\"", "x.graphml, line 12, column `target`: expected the id of a node, found `e`"),
        (
            "<node id=\"b\">",
            "<node id=\"a\">",
            "x.graphml, line 8, column `id`: expected an id that occurs once, found `a` again, first in line 7;",
        ),
        (">0.5<", "><", "x.graphml, line 12, column `weight`: expected the weight of a link"),
        ("<node id=\"b\">", "<node>", "x.graphml, line 8: expected an attribute id, found `<node> without it`"),
        ("<edge source=\"c\"", "<edge sourc=\"c\"", "line 12: expected an attribute source"),
        ("key=\"d1\">41", "key=\"d9\">41", "line 7: expected the id of a <key> above, found `d9`"),
        ("</graphml>", "", "expected the end of every element (the file is truncated)"),
        ("</graph>", "</graphs>", "line 13: expected well-formed XML"),
        ("&amp;", "&lol;", "line 7: expected a reference such as &amp; or &#228;, found `lol`"),
        ("<edge source=\"c\" target=\"d\">", "<graph/><edge>", "line 12: expected one graph"),
        ("<edge source=\"c\" target=\"d\">", "<hyperedge/><edge>", "line 12: expected links with two ends"),
    ] {
        let message = folder.refusal("x.graphml", GRAPHML.replacen(from, to, 1).as_bytes());
        assert!(message.contains(part), "{message}");
    }
    for (text, part) in [
        ("", "line 1: expected an element <graph>"),
        (
            "<graphml><graph><node id=\"1\"/></graph></graphml>",
            "attributes of nodes: expected the class and the features",
        ),
    ] {
        let message = folder.refusal("x.graphml", text.as_bytes());
        assert!(message.contains(part), "{message}");
    }
    assert!(folder.refusal("x.graphml", b"\xff\xfe<\0").contains("expected text in UTF-8"));
}

/// A default value of 64 KiB for each of 1500 nodes.
#[test]
fn limits_the_growth_of_default_values() {
    let nodes: String = (0..1500).map(|node| format!("<node id='{node}'/>")).collect();
    let default = "x".repeat(1 << 16);
    let text = format!(
        "<graphml><key id='k' attr.name='a'><default>{default}</default></key><graph>{nodes}</graph></graphml>"
    );
    let folder = Folder::new("mine", vec![("x.graphml", text.into())]);
    assert!(matches!(folder.load(), Err(Error::TooLarge { .. })));
}

const MATRIX: &str = include_str!("../../../../fuzz/corpus/matrix_market/pattern");
const NODES: &[u8] = b"id;label;x\n1;a;5\n2;b;6\n3;a;7\n4;b;8\n";

#[test]
fn reads_matrix_market() {
    let folder = Folder::new("grid", vec![("any.mtx", MATRIX.into()), ("nodes.csv", NODES.to_vec())]);
    folder.write("splits.csv", b"split,id\ntrain,1\ntrain,2\nvalidation,3\ntest,4\n");
    let check = |dataset: Dataset| {
        assert_eq!((dataset.nodes(), dataset.listed_links, dense(&dataset)), (4, 3, &[5.0, 6.0, 7.0, 8.0][..]));
        assert_eq!((dataset.examples[0].graph.incoming().of(1), splits(&dataset)[0]), (&[0, 1, 2][..], &[0, 1][..]));
    };
    check(folder.load().unwrap());
    check(load(folder.path().join("any.mtx").to_str().unwrap()).unwrap());
    std::fs::remove_file(folder.path().join("any.mtx")).unwrap();
    folder.write("any.mtx.gz", &gzip(MATRIX.as_bytes()));
    check(folder.load().unwrap());
    // A table of links comes first, and weights are noted.
    folder.write("edges.csv", b"1,2\n");
    assert_eq!(folder.load().unwrap().listed_links, 1);
    std::fs::remove_file(folder.path().join("edges.csv")).unwrap();
    std::fs::remove_file(folder.path().join("any.mtx.gz")).unwrap();
    folder.write("any.mtx", b"%%MatrixMarket matrix coordinate real general\n4 4 1\n1 2 0.5\n");
    assert!(has_note(&folder.load().unwrap(), "any.mtx: weights of links in `weight`"));
}

#[test]
fn explains_what_a_matrix_lacks() {
    let folder = Folder::new("grid", vec![("any.mtx", MATRIX.into())]);
    let message = |result: Result<Dataset>| result.unwrap_err().to_string();
    let error = message(folder.load());
    assert!(
        error.ends_with(
            "grid/nodes.csv not found: a .mtx file contains only links, so this table must list the nodes: id (from 1), label and features"
        ),
        "{error}"
    );
    folder.write("nodes.csv", b"id,label,x\n0,a,5\n1,b,6\n2,a,7\n3,b,8\n");
    assert!(message(folder.load()).contains("any.mtx: expected nodes that are counted from 1, as in this file"));
    folder.write("nodes.csv", NODES);
    folder.write("any.mtx", MATRIX.replace("\n4 3\n", "\n5 3\n").as_bytes());
    assert!(message(folder.load()).contains("any.mtx, line 6, column `source`: expected the id of a node, found `5`"));
    folder.write("any.mtx", MATRIX.replace("\n4 3\n", "\n4\n").as_bytes());
    assert!(message(folder.load()).contains("any.mtx, line 6: expected 2 fields"));
}
