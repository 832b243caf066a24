//! Tests of weights and features of links in tables and arrays.

use crate::support::folder;
use supergat_core::{Duplicates, EdgeAttributes};
use supergat_data::frames::{Frame, FrameColumn, Strings};
use supergat_data::options::Expected;
use supergat_data::tables::read;
use supergat_data::{Dataset, LoadOptions, TableOptions, convert, read_frames};

const NODES: &str = "id,label,age\nann,x,30\nbob,y,41.5\ncat,x,22\ndan,y,50\n";
const EDGES: &str = "from,to,weight,kind,amount,note\n\
    ann,bob,0.5,friend,3,a\nbob,cat,1,work,4,b\ncat,dan,2,friend,5,c\n";

fn load(edges: &str, options: &TableOptions) -> supergat_data::Result<Dataset> {
    let folder = folder(&[("nodes.csv", NODES), ("edges.csv", edges)]);
    read(folder.path(), options)
}

fn plain(edges: &str) -> Dataset {
    load(edges, &TableOptions::default()).unwrap()
}

fn refused(edges: &str, options: &TableOptions) -> String {
    let error = load(edges, options).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    error.rsplit('/').next().unwrap().to_owned()
}

fn attributes(dataset: &Dataset) -> &EdgeAttributes<f32> {
    dataset.examples[0].edges.as_ref().unwrap()
}

/// Weight and features of the edge from one node to another.
fn edge(dataset: &Dataset, from: u32, to: u32) -> (f32, &[f32]) {
    let at = dataset.examples[0].graph.position(from, to).unwrap();
    (attributes(dataset).weights().get(at).copied().unwrap_or(1.0), attributes(dataset).features_of(at))
}

#[test]
fn columns_of_links_become_weights_and_features() {
    let dataset = plain(EDGES);
    // friend, work, amount, and three notes.
    assert_eq!(dataset.edge_features(), 6);
    let names = dataset.link_schema.as_ref().unwrap().feature_names();
    assert_eq!(names, ["kind=friend", "kind=work", "amount", "note=a", "note=b", "note=c"]);
    assert_eq!(edge(&dataset, 0, 1), (0.5, &[1.0, 0.0, 3.0, 1.0, 0.0, 0.0][..]));
    assert_eq!(edge(&dataset, 1, 0), edge(&dataset, 0, 1));
    assert_eq!(edge(&dataset, 3, 2), (2.0, &[1.0, 0.0, 5.0, 0.0, 0.0, 1.0][..]));
    // A self-loop has weight 1 and the mean of the features of incoming edges.
    assert_eq!(edge(&dataset, 1, 1), (1.0, &[0.5, 0.5, 3.5, 0.5, 0.5, 0.0][..]));
    let kinds: Vec<_> = dataset.link_schema.unwrap().columns.decisions.into_iter().map(|one| one.kind.name()).collect();
    assert_eq!(kinds, ["role", "role", "role", "category", "number", "category"]);
}

#[test]
fn links_without_further_columns_have_no_attributes() {
    for edges in ["from,to\nann,bob\nbob,cat\n", "ann,bob\nbob,cat\n", "from,to,weight\nann,bob,1\nbob,cat,1\n"] {
        let dataset = plain(edges);
        assert!(dataset.examples[0].edges.as_ref().is_none_or(|edges| edges.weights().is_empty()), "{edges}");
        assert_eq!(dataset.edge_features(), 0);
    }
    let ignored = TableOptions { ignore_columns: Some("weight,kind,amount,note".into()), ..TableOptions::default() };
    assert!(load(EDGES, &ignored).unwrap().examples[0].edges.is_none());
}

#[test]
fn the_column_of_weights_can_be_named() {
    let options = TableOptions { edge_weight: Some("amount".into()), ..TableOptions::default() };
    let dataset = load("from,to,amount\nann,bob,3\nbob,cat,4\n", &options).unwrap();
    assert_eq!((edge(&dataset, 0, 1).0, edge(&dataset, 2, 1).0, dataset.edge_features()), (3.0, 4.0, 0));
}

#[test]
fn a_weight_of_zero_removes_the_link() {
    let dataset = plain("from,to,weight,kind\nann,bob,0,friend\nbob,cat,2,work\ncat,dan,0.0,friend\n");
    let graph = &dataset.examples[0].graph;
    assert_eq!((graph.edges(), graph.position(0, 1)), (2 + 4, None));
    assert_eq!(edge(&dataset, 1, 2), (2.0, &[0.0, 1.0][..]));
    assert!(dataset.notes.iter().any(|note| note == "edges.csv: 2 links of weight 0 left out"), "{:?}", dataset.notes);
}

#[test]
fn wrong_weights_are_refused_with_their_place() {
    let options = TableOptions::default();
    for (weight, found) in [("", "nothing"), ("-1", "`-1`"), ("much", "`much`"), ("inf", "`inf`"), ("NaN", "`NaN`")] {
        let message = refused(&format!("from,to,weight\nann,bob,1\nbob,cat,{weight}\n"), &options);
        let expected = format!(
            "edges.csv, line 3, column `weight`: expected the weight of a link, a number that is not negative, found {found}"
        );
        assert!(message.starts_with(&expected), "{message}");
        assert!(
            message.contains("parameter `edge_weight`") && message.contains("parameter `ignore_columns=weight`"),
            "{message}"
        );
    }
    let unknown = TableOptions { edge_weight: Some("mass".into()), ..TableOptions::default() };
    assert!(refused(EDGES, &unknown).contains("a column `mass` with the weight of a link"));
    let misspelt = TableOptions { categorical: Some("kin".into()), ..TableOptions::default() };
    assert!(refused(EDGES, &misspelt).contains("did you mean `kind`?"));
}

#[test]
fn repeated_links_are_merged_as_chosen() {
    let edges = "from,to,weight,amount\nann,bob,1,2\nbob,ann,3,6\nbob,cat,1,1\n";
    for (duplicates, weight, amount) in
        [(Duplicates::Sum, 4.0, 4.0), (Duplicates::Max, 3.0, 6.0), (Duplicates::First, 1.0, 2.0)]
    {
        let dataset = load(edges, &TableOptions { duplicates, ..TableOptions::default() }).unwrap();
        assert_eq!(edge(&dataset, 0, 1), (weight, &[amount][..]));
        assert_eq!(edge(&dataset, 1, 0), (weight, &[amount][..]));
    }
    let options = TableOptions { duplicates: Duplicates::Error, ..TableOptions::default() };
    for edges in [edges, "from,to\nann,bob\nbob,ann\n"] {
        let message = refused(edges, &options);
        assert!(message.contains("expected every link once, found `bob` to `ann` again"), "{message}");
    }
    // Without weights, repeated links count once, as they always did.
    assert!(plain("from,to\nann,bob\nbob,ann\n").examples[0].edges.is_none());
}

#[test]
fn types_can_depend_on_the_direction() {
    let options = TableOptions { two_way: true, ..TableOptions::default() };
    let dataset = load("from,to,kind\nann,bob,follows\nbob,cat,blocks\n", &options).unwrap();
    let names = dataset.link_schema.as_ref().unwrap().feature_names();
    assert_eq!(names, ["kind=blocks", "kind=follows", "kind=blocks (reverse)", "kind=follows (reverse)"]);
    assert_eq!(edge(&dataset, 0, 1).1, [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(edge(&dataset, 1, 0).1, [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(edge(&dataset, 2, 1).1, [0.0, 0.0, 1.0, 0.0]);
    // A directed graph may list both directions with types of their own.
    let options = TableOptions { directed: true, ..TableOptions::default() };
    let dataset = load("from,to,kind\nann,bob,follows\nbob,ann,followed by\n", &options).unwrap();
    assert_eq!((edge(&dataset, 0, 1).1, edge(&dataset, 1, 0).1), (&[0.0, 1.0][..], &[1.0, 0.0][..]));
}

#[test]
fn links_to_unknown_nodes_take_their_columns_along() {
    let options = TableOptions { skip_unknown: true, ..TableOptions::default() };
    let dataset = load("from,to,weight,amount\nann,zoe,9,9\nann,bob,2,3\nbob,cat,4,5\n", &options).unwrap();
    assert_eq!(edge(&dataset, 0, 1), (2.0, &[3.0][..]));
    assert_eq!(edge(&dataset, 1, 2), (4.0, &[5.0][..]));
}

#[test]
fn a_trained_model_reads_the_columns_that_it_knows() {
    let trained = plain(EDGES);
    let links = trained.link_schema.clone().unwrap();
    let expected =
        Expected { features: 1, schema: trained.schema, links, classes: trained.class_names, several: false };
    let options = TableOptions { expected: Some(expected.clone()), labels_optional: true, ..TableOptions::default() };
    let found = load("from,to,note,amount,kind,weight,new\nann,bob,a,7,enemy,2,1\nbob,cat,b,,work,1,1\n", &options);
    let found = found.unwrap();
    // An unseen type is none of the known ones; a missing amount becomes the mean of training.
    assert_eq!(edge(&found, 0, 1), (2.0, &[0.0, 0.0, 7.0, 1.0, 0.0, 0.0][..]));
    assert_eq!(edge(&found, 1, 2), (1.0, &[0.0, 1.0, 4.0, 0.0, 1.0, 0.0][..]));
    let has = |words: &str| found.notes.iter().any(|note| note.contains(words));
    assert!(has("1 value that training did not see, read as unknown: `enemy` in `kind`"), "{:?}", found.notes);
    assert!(has("the model does not know `new`, not used"), "{:?}", found.notes);
    for (edges, column) in [("from,to,weight,kind,amount\n", "note"), ("from,to,kind,amount,note\n", "weight")] {
        let message = refused(&(edges.to_owned() + "ann,bob,1,2,3\n"), &options);
        assert!(message.contains(&format!("expected a column `{column}`")), "{message}");
    }
    // A model that was trained without attributes of links ignores them.
    let expected = Expected { links: Default::default(), ..expected };
    let options = TableOptions { expected: Some(expected), ..options };
    assert!(load(EDGES, &options).unwrap().examples[0].edges.is_none());
}

#[test]
fn wide_columns_of_links_are_used_on_request_only() {
    let mut edges = "from,to,code\n".to_owned();
    for k in 0..200 {
        edges += &format!("ann,bob,c{}\n", k % 70);
    }
    assert_eq!(plain(&edges).edge_features(), 0);
    let options = TableOptions { categorical: Some("code".into()), ..TableOptions::default() };
    assert_eq!(load(&edges, &options).unwrap().edge_features(), 70);
}

#[test]
fn attributes_survive_files_tables_and_frames() {
    let dataset = plain(EDGES);
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("graph.supergat.safetensors");
    convert(&dataset, &path).unwrap();
    let again = supergat_data::converted::read(&path).unwrap();
    assert_eq!((attributes(&again), &again.link_schema), (attributes(&dataset), &dataset.link_schema));
    let tables = place.path().join("tables");
    convert(&dataset, &tables).unwrap();
    let again = read(&tables, &TableOptions::default()).unwrap();
    assert_eq!(attributes(&again), attributes(&dataset));
    let words = |list: &[&'static str]| FrameColumn::from(list.iter().map(|word| Some(*word)).collect::<Strings>());
    let nodes = Frame::new(
        "nodes",
        [
            ("id", words(&["ann", "bob", "cat", "dan"])),
            ("label", words(&["x", "y", "x", "y"])),
            ("age", vec![30.0, 41.5, 22.0, 50.0].into()),
        ],
    );
    let edges = Frame::new(
        "edges",
        [
            ("from", words(&["ann", "bob", "cat"])),
            ("to", words(&["bob", "cat", "dan"])),
            ("weight", vec![0.5, 1.0, 2.0].into()),
            ("kind", words(&["friend", "work", "friend"])),
            ("amount", FrameColumn::from(vec![3i64, 4, 5])),
            ("note", words(&["a", "b", "c"])),
        ],
    );
    let frames = read_frames(nodes.unwrap(), edges.unwrap(), &LoadOptions::default()).unwrap();
    assert_eq!((attributes(&frames), &frames.link_schema), (attributes(&dataset), &dataset.link_schema));
    let bad = Frame::new(
        "edges",
        [("from", words(&["ann", "bob"])), ("to", words(&["bob", "cat"])), ("weight", vec![0.5, f64::NAN].into())],
    );
    let nodes = Frame::new("nodes", [("id", words(&["ann", "bob", "cat"])), ("age", vec![1.0, 2.0, 3.5].into())]);
    let options = TableOptions { labels_optional: true, ..TableOptions::default() };
    let options = LoadOptions { tables: options, ..LoadOptions::default() };
    let message = read_frames(nodes.unwrap(), bad.unwrap(), &options).unwrap_err().to_string();
    assert!(message.starts_with("edges, row 2, column `weight`: expected the weight of a link"), "{message}");
}

#[test]
fn several_graphs_have_their_own_attributes() {
    let folder = folder(&[
        ("nodes.csv", "graph,id,label,age\n1,a,x,1\n1,b,y,2\n2,a,x,3\n2,b,y,4\n"),
        ("edges.csv", "graph,source,target,weight,kind\n2,a,b,7,u\n1,b,a,5,v\n"),
    ]);
    let dataset = read(folder.path(), &TableOptions::default()).unwrap();
    let found = dataset.examples.iter().map(|example| {
        let edges = example.edges.as_ref().unwrap();
        let at = example.graph.position(0, 1).unwrap();
        (edges.weights()[at], edges.features_of(at).to_vec())
    });
    assert_eq!(found.collect::<Vec<_>>(), [(5.0, vec![0.0, 1.0]), (7.0, vec![1.0, 0.0])]);
}

#[test]
fn arrays_of_links_are_checked() {
    let builder =
        || Dataset::builder(3).edges(&[(0, 1), (1, 2)]).dense_features(&[1.0, 2.0, 3.0], 1).class_names(["x", "y"]);
    let message = |builder: supergat_data::DatasetBuilder| builder.build().unwrap_err().to_string();
    assert_eq!(message(builder().edge_weights(&[1.0])), "weights of links: expected 2, one per link, found 1");
    assert_eq!(
        message(builder().edge_weights(&[1.0, -2.0])),
        "weight of link 1: expected a number that is not negative, found -2"
    );
    assert_eq!(
        message(builder().edge_features(&[1.0, 2.0, 3.0], 2)),
        "features of links: expected 2 for each of 2 links, found 3"
    );
    assert!(message(builder().edge_features(&[1.0, f32::NAN], 1)).contains("feature of a link"));
}
