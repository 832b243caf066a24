//! Tests of data frames in memory: they must become the same datasets as the same tables in files.

use crate::support::folder;
use supergat_core::Features;
use supergat_data::frames::{Frame, FrameColumn, Strings};
use supergat_data::schema::{ColumnType, Missing};
use supergat_data::{Dataset, FeatureChoice, LoadOptions, SplitChoice, TableOptions, load_with, read_frames};

const ROWS: usize = 60;

type Columns = Vec<(&'static str, FrameColumn)>;

fn words(value: impl Fn(usize) -> Option<String>) -> FrameColumn {
    (0..ROWS).map(value).collect::<Strings>().into()
}

fn numbers(value: impl Fn(usize) -> f64) -> FrameColumn {
    (0..ROWS).map(value).collect::<Vec<f64>>().into()
}

fn integers(value: impl Fn(usize) -> i64) -> FrameColumn {
    (0..ROWS).map(value).collect::<Vec<i64>>().into()
}

fn booleans(value: impl Fn(usize) -> bool) -> FrameColumn {
    (0..ROWS).map(value).collect::<Vec<bool>>().into()
}

/// Returns a value of row `k` that is not monotonic.
fn mixed(k: usize) -> usize {
    k * 7 % 11
}

/// Columns of all types, with and without missing values.
fn traits() -> Columns {
    let third = |k: usize| !k.is_multiple_of(3);
    let known = || Some((0..ROWS).map(third).collect::<Vec<bool>>());
    vec![
        ("small", numbers(|k| mixed(k) as f64 / 10.0)),
        ("large", numbers(|k| 1e6 / (1.0 + mixed(k) as f64))),
        ("gaps", numbers(|k| if third(k) { mixed(k) as f64 + 0.1 } else { f64::NAN })),
        (
            "single",
            FrameColumn::Float32((0..ROWS).map(|k| if third(k) { 0.5 * mixed(k) as f32 } else { f32::NAN }).collect()),
        ),
        ("count", integers(|k| mixed(k) as i64 - 3)),
        ("huge", integers(|k| i64::MAX - 1_000_000_007 * k as i64)),
        ("visits", FrameColumn::Integers { values: (0..ROWS as i64).collect(), known: known() }),
        ("active", booleans(|k| k % 4 == 1)),
        ("maybe", FrameColumn::Booleans { values: (0..ROWS).map(|k| k % 4 == 1).collect(), known: known() }),
        ("always", booleans(|_| true)),
        ("row", integers(|k| (ROWS - k) as i64)),
        ("almost_row", integers(|k| (k as i64).min(ROWS as i64 - 2))),
        ("customer_id", integers(|k| 1000 + 17 * k as i64)),
        ("empty", numbers(|_| f64::NAN)),
        ("nothing", words(|_| None)),
        ("zip", words(|k| Some(format!("0{}", 1200 + k % 4)))),
        ("digits", words(|k| Some(mixed(k).to_string()))),
        ("colour", words(|k| third(k).then(|| ["red", " blue ", "green"][k % 2].to_owned()))),
        ("iso", words(|k| Some(format!("2024-{:02}-{:02}", 1 + k % 12, 1 + 2 * mixed(k))))),
        ("german", words(|k| third(k).then(|| format!("{:02}.{:02}.2024", 1 + 2 * mixed(k), 1 + k % 12)))),
        ("price", words(|k| Some(format!("${},{:03}.50", 1 + mixed(k), k)))),
        ("answer", words(|k| Some((if k % 3 == 0 { "Yes" } else { "no" }).to_owned()))),
        ("essay", words(|k| Some(format!("the old book about number {k}, and ships")))),
        ("name", words(|k| Some(format!("Person {k}")))),
    ]
}

/// Returns the text of a value in a file.
fn field(column: &FrameColumn, row: usize) -> String {
    let known = |known: &Option<Vec<bool>>| known.as_ref().is_none_or(|known| known[row]);
    match column {
        FrameColumn::Numbers(values) if values[row].is_nan() => String::new(),
        FrameColumn::Float32(values) if values[row].is_nan() => String::new(),
        FrameColumn::Numbers(values) => format!("{:?}", values[row]),
        FrameColumn::Float32(values) => format!("{:?}", values[row]),
        FrameColumn::Integers { values, known: marks } if known(marks) => values[row].to_string(),
        FrameColumn::Booleans { values, known: marks } if known(marks) => values[row].to_string(),
        FrameColumn::Integers { .. } | FrameColumn::Booleans { .. } => String::new(),
        FrameColumn::Text(strings) | FrameColumn::Categories(strings) => strings.get(row).unwrap_or("").to_owned(),
    }
}

fn csv(columns: &Columns) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.iter().map(|(name, _)| name)).unwrap();
    for row in 0..columns[0].1.len() {
        writer.write_record(columns.iter().map(|(_, column)| field(column, row))).unwrap();
    }
    writer.into_inner().unwrap()
}

fn frame(name: &str, columns: Columns) -> Frame {
    Frame::new(name, columns).unwrap()
}

fn from_files(nodes: &Columns, edges: &Columns, options: &LoadOptions) -> supergat_data::Result<Dataset> {
    let folder = folder(&[("nodes.csv", csv(nodes)), ("edges.csv", csv(edges))]);
    load_with(folder.path().to_str().unwrap(), options)
}

fn bits(dataset: &Dataset) -> Vec<(usize, Vec<u32>)> {
    let values = |features: &Features<f32>| features.values().iter().map(|value| value.to_bits()).collect();
    dataset.examples.iter().map(|example| (example.features.columns(), values(&example.features))).collect()
}

/// Asserts that frames and files become the same dataset, and returns it.
fn same(nodes: Columns, edges: Columns, options: &LoadOptions) -> Dataset {
    let files = from_files(&nodes, &edges, options).unwrap();
    let frames = read_frames(frame("nodes", nodes), frame("edges", edges), options).unwrap();
    let notes = |dataset: &Dataset| {
        let name = |note: &String| note.replace("nodes.csv", "nodes").replace("edges.csv", "edges");
        dataset.notes.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(notes(&frames), notes(&files));
    assert_eq!(frames.schema, files.schema);
    assert_eq!(bits(&frames), bits(&files));
    assert_eq!((&frames.class_names, &frames.node_ids), (&files.class_names, &files.node_ids));
    assert_eq!(frames.listed_links, files.listed_links);
    for (a, b) in frames.examples.iter().zip(&files.examples) {
        assert_eq!((&a.train, &a.validation, &a.test), (&b.train, &b.validation, &b.test));
        assert_eq!(a.labels, b.labels);
        assert_eq!(a.graph.incoming(), b.graph.incoming());
        assert_eq!(a.graph.position_of_input(), b.graph.position_of_input());
    }
    assert_eq!((frames.name.as_str(), frames.origin.is_none()), ("frames", true));
    frames
}

/// Ids and labels of nodes, before the given columns.
fn nodes(columns: Columns) -> Columns {
    let fixed = vec![("id", integers(|k| 100 + k as i64)), ("label", words(|k| Some(["x", "y"][k % 2].into())))];
    fixed.into_iter().chain(columns).collect()
}

fn ring() -> Columns {
    vec![("source", integers(|k| 100 + k as i64)), ("target", integers(|k| 100 + (k as i64 + 1) % ROWS as i64))]
}

fn with(tables: TableOptions) -> LoadOptions {
    LoadOptions { tables, ..LoadOptions::default() }
}

fn message(nodes: Columns, edges: Columns, tables: TableOptions) -> String {
    read_frames(frame("nodes", nodes), frame("edges", edges), &with(tables)).unwrap_err().to_string()
}

#[test]
fn columns_of_all_types_equal_those_of_files() {
    let all = traits();
    for (name, column) in &all {
        let base = ("base", numbers(|k| (k % 4) as f64 + 0.5));
        same(nodes(vec![base, (*name, column.clone())]), ring(), &LoadOptions::default());
    }
    let dataset = same(nodes(all), ring(), &LoadOptions::default());
    let kind = |name: &str| dataset.schema.as_ref().unwrap().decisions.iter().find(|d| d.name == name).unwrap().kind;
    for (name, expected) in [
        ("gaps", ColumnType::Number),
        ("huge", ColumnType::Number),
        ("active", ColumnType::Boolean),
        ("maybe", ColumnType::Boolean),
        ("always", ColumnType::Category),
        ("row", ColumnType::Id),
        ("almost_row", ColumnType::Number),
        ("customer_id", ColumnType::Id),
        ("empty", ColumnType::Empty),
        ("zip", ColumnType::Category),
        ("iso", ColumnType::Date),
        ("essay", ColumnType::Text),
    ] {
        assert_eq!(kind(name), expected, "{name}");
    }
}

#[test]
fn options_apply_as_for_files() {
    for missing in [Missing::Mean, Missing::Zero, Missing::Propagate] {
        for standardise in [None, Some(true), Some(false)] {
            let tables = TableOptions { missing, standardise, directed: true, ..Default::default() };
            same(nodes(traits()), ring(), &with(tables));
        }
    }
    let lists = TableOptions {
        numeric: Some("row,zip,customer_id".into()),
        categorical: Some("count,active,single,visits".into()),
        text: Some("colour".into()),
        date: Some("iso".into()),
        ignore_columns: Some("name,large".into()),
        ..Default::default()
    };
    same(nodes(traits()), ring(), &with(lists));
    let words = TableOptions { missing_words: Some("red,3,1.5,-0.5".into()), ..Default::default() };
    let marked = same(nodes(traits()), ring(), &with(words));
    let usual = same(nodes(traits()), ring(), &LoadOptions::default());
    assert!(marked.features() != usual.features(), "some values are missing");
    let named = TableOptions {
        id_column: Some("customer_id".into()),
        label_column: Some("answer".into()),
        source_column: Some("to".into()),
        target_column: Some("2".into()),
        ..Default::default()
    };
    let edges = vec![("to", integers(|k| 1000 + 17 * k as i64)), ("w", integers(|_| 1000))];
    same(nodes(traits()), edges, &with(named));
    let split = LoadOptions { split: SplitChoice::Random { seed: 3 }, ..Default::default() };
    same(nodes(traits()), ring(), &split);
    let computed = LoadOptions { features: FeatureChoice::add("structural").unwrap(), ..Default::default() };
    same(nodes(traits()), ring(), &computed);
    same(nodes(vec![]), ring(), &LoadOptions { features: FeatureChoice::replace("structural").unwrap(), ..computed });
}

#[test]
fn categorical_columns_are_no_numbers_and_no_dates() {
    let categories =
        |value: &dyn Fn(usize) -> String| FrameColumn::Categories((0..ROWS).map(|k| Some(value(k))).collect());
    let columns = || {
        vec![
            ("code", categories(&|k| mixed(k).to_string())),
            ("day", categories(&|k| format!("2024-01-{:02}", 1 + mixed(k)))),
            ("answer", categories(&|k| ["no", "yes"][k % 2].to_owned())),
            ("name", categories(&|k| (1000 + k).to_string())),
        ]
    };
    let options = LoadOptions::default();
    let training = read_frames(frame("nodes", nodes(columns())), frame("edges", ring()), &options).unwrap();
    let schema = training.schema.clone().unwrap();
    let kinds: Vec<ColumnType> = schema.decisions[2..].iter().map(|decision| decision.kind).collect();
    assert_eq!(kinds, [ColumnType::Category, ColumnType::Category, ColumnType::Boolean, ColumnType::Id]);
    assert!(!training.notes.iter().any(|note| note.contains("read as categories")), "{:?}", training.notes);
    // The model reads numbers and texts in the same way.
    let plain = vec![
        ("code", integers(|k| mixed(k) as i64)),
        ("day", words(|k| Some(format!("2024-01-{:02}", 1 + mixed(k))))),
        ("answer", booleans(|k| k % 2 == 1)),
    ];
    let reading = with(TableOptions { schema: Some(schema), ..Default::default() });
    let found = read_frames(frame("nodes", nodes(plain)), frame("edges", ring()), &reading).unwrap();
    assert_eq!(bits(&found), bits(&training));
}

#[test]
fn sparse_features_equal_those_of_files() {
    let names: Vec<String> = (0..80).map(|column| format!("c{column}")).collect();
    let names: Vec<&'static str> = names.into_iter().map(|name| &*name.leak()).collect();
    let value = |column: usize, k: usize| if (column + k).is_multiple_of(9) { (k % 5) as f64 } else { 0.0 };
    let mut columns: Columns = names.iter().enumerate().map(|(c, name)| (*name, numbers(|k| value(c, k)))).collect();
    columns.push(("gaps", numbers(|k| if k == 5 { f64::NAN } else { 0.0 })));
    columns.push(("flag", booleans(|k| k == 3)));
    let dataset = same(nodes(columns), ring(), &LoadOptions::default());
    assert!(matches!(*dataset.examples[0].features, Features::Sparse(_)));
}

#[test]
fn ids_of_all_types_are_looked_up_as_in_files() {
    let base = || ("base", numbers(|k| (k % 4) as f64 + 0.5));
    let label = || ("label", integers(|k| (k % 3) as i64 - 1));
    let next = |k: usize| (k as i64 + 1) % ROWS as i64;
    let spread = |k: i64| 1_000_000_007 * (k - 7);
    let texts = |value: &dyn Fn(i64) -> String| (words(|k| Some(value(k as i64))), words(|k| Some(value(next(k)))));
    let sets: Vec<(FrameColumn, (FrameColumn, FrameColumn))> = vec![
        (integers(|k| k as i64), (integers(|k| k as i64), integers(next))),
        (integers(|k| spread(k as i64)), (integers(|k| spread(k as i64)), integers(|k| spread(next(k))))),
        (integers(|k| k as i64), texts(&|k| k.to_string())),
        (integers(|k| k as i64), (numbers(|k| k as f64), numbers(|k| next(k) as f64))),
        (words(|k| Some(format!("00{k}"))), (integers(|k| k as i64), integers(next))),
        (words(|k| Some(k.to_string())), (integers(|k| k as i64), integers(next))),
        (words(|k| Some(format!("n{k}"))), texts(&|k| format!(" n{k} "))),
        (numbers(|k| k as f64), (integers(|k| k as i64), integers(next))),
    ];
    for (ids, (source, target)) in sets {
        let nodes = vec![("id", ids), label(), base()];
        let edges =
            vec![("source", source), ("target", target), ("weight", numbers(|k| k as f64)), ("x", booleans(|_| true))];
        same(nodes, edges, &LoadOptions::default());
    }
    // An index column as data frame libraries write it, and a graph of several.
    let index = || ("", integers(|k| (ROWS - 1 - k) as i64));
    let with_index = [index()].into_iter().chain(nodes(vec![base()])).collect();
    same(with_index, [index()].into_iter().chain(ring()).collect(), &LoadOptions::default());
    let graph = || ("graph", integers(|k| k as i64 / 30));
    let id = || integers(|k| k as i64 % 30);
    let several = vec![graph(), ("id", id()), label(), base()];
    let edges = vec![graph(), ("source", id()), ("target", integers(|k| (k as i64 + 1) % 30))];
    assert_eq!(same(several, edges, &LoadOptions::default()).examples.len(), 2);
}

#[test]
fn labels_and_splits_equal_those_of_files() {
    let base = || ("base", numbers(|k| (k % 4) as f64 + 0.5));
    let id = || ("id", integers(|k| 100 + k as i64));
    let masks = || {
        vec![
            ("train_mask", booleans(|k| k % 3 == 0)),
            ("val_mask", integers(|k| i64::from(k % 3 == 1))),
            ("test_mask", numbers(|k| if k % 3 == 2 { 1.0 } else { f64::NAN })),
        ]
    };
    let labels = [
        integers(|k| (k % 12) as i64),
        numbers(|k| if k % 5 == 0 { f64::NAN } else { (k % 2) as f64 }),
        booleans(|k| k % 2 == 0),
        words(|k| (k % 5 != 0).then(|| ["a", "b|c", "a|c"][k % 3].to_owned())),
    ];
    for label in labels {
        let columns = || vec![id(), ("label", label.clone()), base()];
        same(columns(), ring(), &LoadOptions::default());
        same(columns().into_iter().chain(masks()).collect(), ring(), &LoadOptions::default());
        let split = ("split", words(|k| ["train", "val", "Test"].get(k % 4).map(|name| (*name).to_owned())));
        same(columns().into_iter().chain([split]).collect(), ring(), &LoadOptions::default());
        let fold = ("fold", integers(|k| (k % 5) as i64));
        same(columns().into_iter().chain(masks()).chain([fold]).collect(), ring(), &LoadOptions::default());
    }
}

#[test]
fn a_schema_of_training_applies_to_frames() {
    let options = LoadOptions::default();
    let trained = same(nodes(traits()), ring(), &options);
    let expected = supergat_data::options::Expected {
        features: trained.features(),
        schema: trained.schema.clone(),
        links: Default::default(),
        classes: trained.class_names.clone(),
        several: false,
    };
    let tables = TableOptions { expected: Some(expected), ..Default::default() };
    let mut changed = nodes(traits());
    changed.retain(|(name, _)| *name != "label");
    for (name, column) in &mut changed {
        match *name {
            "count" => *column = numbers(|k| if k == 7 { f64::NAN } else { k as f64 }),
            "colour" => *column = integers(|k| k as i64),
            "digits" => *column = integers(|k| k as i64),
            _ => {}
        }
    }
    same(changed, ring(), &with(tables));
}

#[test]
fn errors_name_the_frame_the_row_and_the_column() {
    let base = || ("base", numbers(|k| (k % 4) as f64 + 0.5));
    let good = || nodes(vec![base()]);
    let default = TableOptions::default;
    let few = |values: Vec<i64>| FrameColumn::from(values);
    let message_of = |nodes: Columns| message(nodes, ring(), default());
    let unknown = || vec![("source", few(vec![100, 101])), ("target", few(vec![101, 7]))];
    assert_eq!(
        message(good(), unknown(), default()),
        "edges, row 2, column `target`: expected the id of a node, found `7`; add the node, remove the link, or leave such links out with parameter `skip_unknown=true`"
    );
    let dataset = same(good(), unknown(), &with(TableOptions { skip_unknown: true, ..default() }));
    assert_eq!(dataset.listed_links, 1);
    assert_eq!(
        message(good(), ring(), TableOptions { label_column: Some("klass".into()), ..default() }),
        "nodes: expected a column `klass` with the class of a node, found 3 columns (id, label, base); give parameter `label_column` another name or number, or check parameter `delimiter`"
    );
    assert_eq!(
        message(good(), ring(), TableOptions { numeric: Some("bse".into()), ..default() }),
        "nodes: expected a column `bse`, which parameter `numeric` names, found 3 columns (id, label, base); did you mean `base`?"
    );
    let again = |ids: FrameColumn| vec![("id", ids), ("label", integers(|k| k as i64 % 2)), base()];
    for ids in [integers(|k| k as i64 % 50), words(|k| Some((k % 50).to_string()))] {
        assert_eq!(
            message_of(again(ids)),
            "nodes, row 51, column `id`: expected an id that occurs once, found `0` again, first in row 1; remove one of the rows, or name the right column with parameter `id_column`"
        );
    }
    let missing =
        FrameColumn::Integers { values: (0..ROWS as i64).collect(), known: Some((0..ROWS).map(|k| k != 3).collect()) };
    assert_eq!(
        message_of(again(missing)),
        "nodes, row 4, column `id`: expected an id, found nothing; give the node an id, or name the right column with parameter `id_column`"
    );
    let infinite = nodes(vec![base(), ("x", numbers(|k| if k == 8 { f64::INFINITY } else { 0.5 }))]);
    assert_eq!(
        message_of(infinite),
        "nodes, row 9, column `x`: expected a finite number, found `inf`; fix the value, leave it empty if it is not known, or leave the column out with parameter `ignore_columns`"
    );
    let gaps = nodes(vec![("x", numbers(|k| if k == 8 { f64::NAN } else { 0.5 }))]);
    assert_eq!(
        message(gaps, ring(), TableOptions { missing: Missing::Error, ..default() }),
        "nodes, row 9, column `x`: expected a value, since parameter `missing=error` refuses missing ones, found none; fill in the value, or choose another treatment with parameter `missing`"
    );
    assert_eq!(
        message_of(nodes(vec![base(), ("base ", integers(|_| 1))])),
        "nodes, column `base`: expected columns with distinct names, found the same name twice; rename one of them"
    );
    let no_label = vec![("id", integers(|k| k as i64)), base()];
    assert_eq!(
        message_of(no_label),
        "nodes: expected a column with the classes of the nodes, called label or class, found 2 columns (id, base); name it with parameter `label_column`, or add labels.csv"
    );
    let quantity = vec![("id", integers(|k| k as i64)), base(), ("label", numbers(|k| k as f64 / 8.0))];
    assert!(message_of(quantity).starts_with(
        "nodes, column `label`: expected the classes of the nodes, found 52 different numbers such as `0.125`"
    ));
    let number = words(|k| Some(if k == 9 { "x".into() } else { k.to_string() }));
    assert!(message_of(nodes(vec![("n", number)])).starts_with(
        "nodes, row 10, column `n`: expected a number, found `x` (the only one of 60 values that is not a number);"
    ));
}

#[test]
fn rejects_empty_and_unequal_frames() {
    let none = || FrameColumn::from(Vec::<i64>::new());
    let base = ("base", numbers(|k| (k % 4) as f64 + 0.5));
    let empty = vec![("id", none()), ("label", none()), ("x", none())];
    assert_eq!(
        message(empty, ring(), TableOptions::default()),
        "nodes: expected nodes, found only a header; add a row for every node"
    );
    assert_eq!(
        message(vec![], ring(), TableOptions::default()),
        "nodes: expected columns, found none; add the columns of the table"
    );
    let one = vec![("source", integers(|_| 100))];
    assert_eq!(
        message(nodes(vec![base.clone()]), one, TableOptions::default()),
        "edges: expected two columns with the ids of a link's ends, found 1 column (source); say with parameter `delimiter` which character separates the fields, or name the columns with parameter `source_column` and parameter `target_column`"
    );
    let no_links = same(nodes(vec![base]), vec![("source", none()), ("target", none())], &LoadOptions::default());
    assert_eq!(no_links.listed_links, 0);
    let error = Frame::new("nodes", [("id", integers(|_| 1)), ("x", vec![0.5].into())]).unwrap_err().to_string();
    assert_eq!(error, "rows of column `x` of nodes: expected 60, as in column `id`, found 1");
    let marks = FrameColumn::Booleans { values: vec![true; 3], known: Some(vec![true; 2]) };
    let error = Frame::new("nodes", [("x", marks)]).unwrap_err().to_string();
    assert_eq!(error, "marks of known values of column `x` of nodes: expected 3, one per row, found 2");
}
