//! Tests of tables as they come: columns of all types, alone and in pairs, in several text formats.

use crate::support::{folder, notes};
use std::ops::ControlFlow;
use supergat_core::{Architecture, Features, Labels, Prepared, TrainConfig, Trainer};
use supergat_cpu::Cpu;
use supergat_data::options::Expected;
use supergat_data::schema::{ColumnType, Missing};
use supergat_data::tables::read;
use supergat_data::{Dataset, TableOptions};

const ROWS: usize = 40;

/// A column with one trait, and what it must become.
struct Trait {
    column: &'static str,
    value: fn(usize) -> String,
    kind: ColumnType,
    features: usize,
}

/// Returns the value of row `k` that depends on the row in a way that is not monotonic.
fn mixed(k: usize) -> usize {
    k * 7 % 11
}

fn date(k: usize) -> (usize, usize) {
    (1 + mixed(k) * 2, 1 + k % 12)
}

const fn of(column: &'static str, value: fn(usize) -> String, kind: ColumnType, features: usize) -> Trait {
    Trait { column, value, kind, features }
}

const TRAITS: [Trait; 20] = [
    of("small", |k| format!("0.{}", mixed(k)), ColumnType::Number, 1),
    of("large", |k| (1000 * mixed(k)).to_string(), ColumnType::Number, 1),
    of("zip", |k| format!("0{}", 1200 + k % 4), ColumnType::Category, 4),
    of("comma", |k| format!("{},{}", mixed(k), k % 10), ColumnType::Number, 1),
    of("dollars", |k| format!("${},{:03}.50", 1 + mixed(k), k), ColumnType::Number, 1),
    of("euros", |k| format!("{}.{:03},25 EUR", 1 + mixed(k), k), ColumnType::Number, 1),
    of("percent", |k| format!("{} %", mixed(k)), ColumnType::Number, 1),
    of("units", |k| format!("{}{}", if k % 2 == 0 { "$" } else { "€" }, k % 3), ColumnType::Category, 6),
    of("active", |k| (if k % 3 == 0 { "True" } else { "false" }).to_owned(), ColumnType::Boolean, 1),
    of("answer", |k| (if k % 3 == 0 { "yes" } else { "no" }).to_owned(), ColumnType::Boolean, 1),
    of("iso", |k| format!("2024-{:02}-{:02}", date(k).1, date(k).0), ColumnType::Date, 1),
    of("time", |k| format!("2024-03-{:02}T{:02}:30:00Z", date(k).0, k % 24), ColumnType::Date, 1),
    of("german", |k| format!("{:02}.{:02}.2024", date(k).0, date(k).1), ColumnType::Date, 1),
    of("american", |k| format!("{:02}/{:02}/2024", date(k).1, date(k).0), ColumnType::Date, 1),
    of("ambiguous", |k| format!("0{}/0{}/2024", 1 + k % 2, 1 + k % 3), ColumnType::Category, 6),
    of("essay", |k| format!("the {} book about {}", WORDS[k % 5], WORDS[5 + mixed(k) % 5]), ColumnType::Text, 11),
    of("name", |k| format!("Person {k}"), ColumnType::Id, 0),
    of("row", |k| (ROWS - k).to_string(), ColumnType::Id, 0),
    of("gaps", |k| if k % 5 == 0 { "NA".to_owned() } else { mixed(k).to_string() }, ColumnType::Number, 2),
    of("town", |k| ["Rye", "Bath", "None"][k % 3].to_owned(), ColumnType::Category, 3),
];

const WORDS: [&str; 10] = ["red", "green", "old", "new", "long", "ships", "trees", "birds", "stones", "rivers"];

/// Writes nodes with the columns of the traits, besides `base`, and links along a ring.
fn tables(traits: &[&Trait], delimiter: u8, end: csv::Terminator, order: &[usize]) -> Vec<(&'static str, Vec<u8>)> {
    let writer = || csv::WriterBuilder::new().delimiter(delimiter).terminator(end).from_writer(Vec::new());
    let (mut nodes, mut edges) = (writer(), writer());
    let names = ["id", "label", "base"].into_iter().chain(traits.iter().map(|t| t.column));
    nodes.write_record(names).unwrap();
    edges.write_record(["source", "target"]).unwrap();
    for &k in order {
        let fixed = [format!("n{k}"), ["x", "y"][k % 2].to_owned(), format!("{}.5", k % 4)];
        nodes.write_record(fixed.into_iter().chain(traits.iter().map(|t| (t.value)(k)))).unwrap();
        edges.write_record([format!("n{k}"), format!("n{}", (k + 1) % ROWS)]).unwrap();
    }
    vec![("nodes.csv", nodes.into_inner().unwrap()), ("edges.csv", edges.into_inner().unwrap())]
}

fn load(files: &[(&'static str, Vec<u8>)], options: &TableOptions) -> Dataset {
    read(folder(files).path(), options).unwrap()
}

fn plain(traits: &[&Trait]) -> Vec<(&'static str, Vec<u8>)> {
    tables(traits, b',', csv::Terminator::Any(b'\n'), &(0..ROWS).collect::<Vec<_>>())
}

/// Returns the features of each node, ordered by id.
fn rows_by_id(dataset: &Dataset) -> Vec<(String, Vec<f32>)> {
    let features = &dataset.examples[0].features;
    let row = |node: usize| {
        let mut row = vec![0.0; features.columns()];
        match &**features {
            Features::Dense { columns, values, .. } => row.copy_from_slice(&values[node * columns..][..*columns]),
            Features::Sparse(matrix) => {
                let (columns, values) = matrix.row(node);
                columns.iter().zip(values).for_each(|(column, value)| row[*column as usize] = *value);
            }
        }
        (dataset.node_id(0, node).into_owned(), row)
    };
    let mut rows: Vec<_> = (0..dataset.nodes()).map(row).collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

fn assert_same_rows(found: &Dataset, expected: &Dataset, what: &str) {
    assert_eq!(found.nodes(), expected.nodes(), "{what}");
    for ((id, found), (other, expected)) in rows_by_id(found).iter().zip(&rows_by_id(expected)) {
        assert_eq!((id, found.len()), (other, expected.len()), "{what}");
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{what}: {id} {found:?} {expected:?}");
    }
}

/// Every trait alone and every pair: types are recognised, every column has a decision, reading the tables
/// again with the stored schema gives equal features, and a network can be trained.
#[test]
fn recognises_every_trait_alone_and_in_pairs() {
    for first in 0..TRAITS.len() {
        for second in first..TRAITS.len() {
            let traits: Vec<&Trait> = TRAITS[first..=second].iter().step_by((second - first).max(1)).collect();
            let files = plain(&traits);
            let dataset = load(&files, &TableOptions::default());
            let schema = dataset.schema.clone().unwrap();
            assert_eq!(schema.decisions.len(), 3 + traits.len());
            for expected in &traits {
                let decision = schema.decisions.iter().find(|decision| decision.name == expected.column).unwrap();
                assert_eq!((decision.kind, decision.features), (expected.kind, expected.features), "{decision:?}");
                let noted = dataset.notes.iter().any(|note| note.contains(&format!("`{}`", expected.column)));
                assert!(expected.features > 0 || noted, "{:?}", dataset.notes);
            }
            assert_eq!(dataset.features(), 1 + traits.iter().map(|t| t.features).sum::<usize>());
            let rows = rows_by_id(&dataset);
            assert!(rows.iter().all(|(_, row)| row.iter().all(|value| value.is_finite() && value.abs() < 11.0)));
            let expected = Expected {
                features: dataset.features(),
                schema: Some(schema),
                links: Default::default(),
                classes: dataset.class_names.clone(),
                several: false,
            };
            let again = load(&files, &TableOptions { expected: Some(expected), ..Default::default() });
            assert!(rows_by_id(&again) == rows);
            assert_trains(&dataset);
        }
    }
}

/// Trains for two epochs; the loss must be finite.
fn assert_trains(dataset: &Dataset) {
    let architecture = Architecture::new("supergat-mx".parse().unwrap(), &dataset.examples[0]);
    let config = TrainConfig::default().with(|c| c.training.max_epochs = 2);
    let prepared = Prepared::on(&Cpu::default(), &dataset.examples, architecture, config).unwrap();
    let trained = Trainer::new(&prepared, 0).unwrap().run(|_| ControlFlow::Continue(())).unwrap();
    assert!(trained.outcome.validation.loss.is_finite());
}

fn utf_16(text: &[u8], bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = std::str::from_utf8(text).unwrap();
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
}

type Change = fn(&[u8]) -> Vec<u8>;

const ENCODINGS: [(&str, Change); 4] = [
    ("byte order mark", |text| [b"\xef\xbb\xbf", text].concat()),
    ("UTF-16, little endian", |text| utf_16(text, u16::to_le_bytes)),
    ("UTF-16, big endian", |text| utf_16(text, u16::to_be_bytes)),
    ("Windows-1252", |text| encoding_rs::WINDOWS_1252.encode(std::str::from_utf8(text).unwrap()).0.into_owned()),
];

const COMPRESSIONS: [([&str; 2], Change); 2] = [
    (["nodes.csv.gz", "edges.csv.gz"], crate::arrays::gzip),
    (["nodes.csv.zst", "edges.csv.zst"], crate::compressed_tables::zstd),
];

/// A table in Windows-1252 is noted, because its encoding is a guess.
#[test]
fn guessed_encodings_are_noted() {
    let all: Vec<&Trait> = TRAITS.iter().collect();
    let encoded = |(name, text)| {
        let text = String::from_utf8(text).unwrap().replace(",x,", ",émigré,");
        (name, encoding_rs::WINDOWS_1252.encode(&text).0.into_owned())
    };
    let dataset = load(&plain(&all).into_iter().map(encoded).collect::<Vec<_>>(), &TableOptions::default());
    assert!(dataset.class_names.contains(&"émigré".to_owned()), "{:?}", dataset.class_names);
    let noted = |file: &str| dataset.notes.iter().any(|note| note.starts_with(&format!("{file}: not UTF-8")));
    assert!(noted("nodes.csv") && !noted("edges.csv"), "{:?}", dataset.notes);
}

#[test]
fn text_format_and_row_order_do_not_matter() {
    let all: Vec<&Trait> = TRAITS.iter().collect();
    let expected = load(&plain(&all), &TableOptions::default());
    let names = expected.schema.as_ref().unwrap().feature_names();
    let order: Vec<usize> = (0..ROWS).collect();
    let shuffled: Vec<usize> = (0..ROWS).map(|k| k * 17 % ROWS).collect();
    let line = csv::Terminator::Any(b'\n');
    for (what, files) in [
        ("semicolons", tables(&all, b';', line, &order)),
        ("tabs", tables(&all, b'\t', line, &order)),
        ("bars", tables(&all, b'|', line, &order)),
        ("line ends", tables(&all, b',', csv::Terminator::CRLF, &order)),
        ("row order", tables(&all, b',', line, &shuffled)),
    ] {
        let found = load(&files, &TableOptions::default());
        assert_eq!(found.schema.as_ref().unwrap().feature_names(), names, "{what}");
        assert_same_rows(&found, &expected, what);
    }
    for (what, encode) in ENCODINGS {
        let files: Vec<_> = plain(&all).into_iter().map(|(name, text)| (name, encode(&text))).collect();
        assert_same_rows(&load(&files, &TableOptions::default()), &expected, what);
    }
    for (names, compress) in COMPRESSIONS {
        let files: Vec<_> =
            plain(&all).into_iter().zip(names).map(|((_, text), name)| (name, compress(&text))).collect();
        assert_same_rows(&load(&files, &TableOptions::default()), &expected, names[0]);
    }
}

#[test]
fn types_can_be_requested() {
    let traits: Vec<&Trait> = TRAITS.iter().filter(|t| ["zip", "row", "name", "iso"].contains(&t.column)).collect();
    let options = TableOptions {
        numeric: Some("row, zip".into()),
        categorical: Some("iso".into()),
        text: Some("name".into()),
        ..Default::default()
    };
    let dataset = load(&plain(&traits), &options);
    let kind = |name: &str| dataset.schema.as_ref().unwrap().decisions.iter().find(|d| d.name == name).unwrap().kind;
    assert_eq!(
        [kind("zip"), kind("row"), kind("name"), kind("iso")],
        [ColumnType::Number, ColumnType::Number, ColumnType::Text, ColumnType::Category]
    );
    for (options, expected) in [
        (
            TableOptions { numeric: Some("rwo".into()), ..Default::default() },
            "nodes.csv, line 1: expected a column `rwo`, which parameter `numeric` names, found 7 columns (id, label, base, zip, \
             iso, name, row); did you mean `row`?",
        ),
        (
            TableOptions { ignore_columns: Some("ziip".into()), ..Default::default() },
            "nodes.csv, line 1: expected a column `ziip`, which parameter `ignore_columns` names, found 7 columns (id, label, \
             base, zip, iso, name, row); did you mean `zip`?",
        ),
        (
            TableOptions { numeric: Some("name".into()), ..Default::default() },
            "nodes.csv, line 2, column `name`: expected a number, found `Person 0` (no value of the column is a number); fix the value, \
             leave it empty or name it in parameter `missing_words` if it is not known, or do not name the column in parameter `numeric`",
        ),
        (
            TableOptions { date: Some("name".into()), ..Default::default() },
            "nodes.csv, line 2, column `name`: expected a date, found `Person 0` (no value of the column is a date); ",
        ),
        (
            TableOptions { text: Some("name".into()), categorical: Some("name".into()), ..Default::default() },
            "nodes.csv, column `name`: expected one type per column, found two types requested; ",
        ),
        (
            TableOptions { missing: Missing::Error, ..Default::default() },
            "nodes.csv, line 2, column `gaps`: expected a value, since parameter `missing=error` refuses missing ones, found none; ",
        ),
    ] {
        let gaps = TRAITS.iter().filter(|t| t.column == "gaps" && options.missing == Missing::Error);
        let files = plain(&traits.iter().copied().chain(gaps).collect::<Vec<_>>());
        let folder = folder(&files);
        let error = read(folder.path(), &options).unwrap_err().to_string();
        let error = error.replace(&format!("{}/", folder.path().display()), "");
        assert!(error.starts_with(expected) && error.lines().count() == 1, "{error}\nexpected\n{expected}");
    }
}

/// Columns that are almost dates or amounts are kept as categories, and a note says why.
#[test]
fn notes_say_why_a_column_is_not_what_it_seems() {
    let value = |k: usize| if k == 3 { "soon".to_owned() } else { format!("2024-03-0{}", 1 + k % 3) };
    let row = |k: usize| format!("n{k},{},{},0120{},0{}/0{}/2024\n", k % 2, value(k), k % 2, 1 + k % 2, 1 + k % 3);
    let nodes = format!("id,label,due,zip,when\n{}", (0..30).map(row).collect::<String>());
    let dataset =
        load(&[("nodes.csv", nodes.into_bytes()), ("edges.csv", b"n0 n1\n".to_vec())], &TableOptions::default());
    for said in [
        "column `due` is read as categories: 29 of 30 values are dates, but not `soon` in line 5",
        "column `zip` is read as categories: leading 0 in 30 values, as in codes (parameter `numeric` reads numbers)",
        "column `when` is read as categories: dates in which day and month cannot be told apart",
    ] {
        assert!(notes(&dataset).contains(said), "{said} is not in {}", notes(&dataset));
    }
}

/// A path a - b - c with a missing number in the middle.
#[test]
fn treatments_of_missing_values() {
    let nodes = "id,label,f,c\na,x,1,u\nb,y,,\nc,x,5,v\nd,y,2,u\n";
    let files = [("nodes.csv", nodes.as_bytes().to_vec()), ("edges.csv", b"a b\nb c\n".to_vec())];
    let row = |missing: Missing| {
        let dataset = load(&files, &TableOptions { missing, ..Default::default() });
        (rows_by_id(&dataset)[1].1.clone(), dataset)
    };
    // f, whether f is missing, c=u, c=v, whether c is missing
    let (mean, dataset) = row(Missing::Mean);
    assert_eq!(mean, [8.0 / 3.0, 1.0, 0.0, 0.0, 1.0]);
    assert!(notes(&dataset).contains("nodes.csv: 2 missing values in `f` (1), `c` (1), replaced by the mean"));
    assert_eq!(row(Missing::Zero).0, [0.0; 3]);
    let expected = [6.0 / 2f32.sqrt(), 1.0 / 2f32.sqrt(), 1.0 / 2f32.sqrt()];
    let (propagated, dataset) = row(Missing::Propagate);
    assert!(propagated.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{propagated:?}");
    assert!(notes(&dataset).contains("computed from the values of neighbours"));
    assert_eq!(rows_by_id(&dataset)[3].1, [2.0, 1.0, 0.0], "known values are kept");
}

#[test]
fn words_for_missing_values_are_not_classes() {
    let nodes = "id,label,f\na,x,1\nb,None,2\nc,y,1\nd,NaN,2\ne,x,3\nf,y,1\ng,N/A,1\nh,?,1\ni,None,1\n";
    let dataset = load(&[("nodes.csv", nodes.into()), ("edges.csv", b"a b\n".to_vec())], &TableOptions::default());
    assert_eq!(dataset.class_names, ["x", "y"]);
    assert!(notes(&dataset).contains("2 labels `None`, read as not known"), "{}", notes(&dataset));
    assert!(notes(&dataset).contains("4 of 9 nodes have a label"));
}

/// Exports of databases write `\N`; other words are given as options, and a trained model remembers them.
#[test]
fn words_for_missing_values_can_be_added() {
    let nodes = "id,label,age,town\na,x,30,Ulm\nb,y,\\N,\\N\nc,x,-999,Bonn\nd,y,20,unknown\ne,unknown,-999.0,Ulm\n";
    let edges = b"source,target,kind\na,b,calls\nb,c,Unknown\nc,a,visits\n";
    let files = [("nodes.csv", nodes.as_bytes().to_vec()), ("edges.csv", edges.to_vec())];
    let options = TableOptions { missing_words: Some("unknown, -999".into()), ..Default::default() };
    let dataset = load(&files, &options);
    assert!(notes(&dataset).contains("5 missing values in `age` (3), `town` (2)"), "{}", notes(&dataset));
    assert_eq!((&dataset.class_names[..], dataset.features()), (&["x".to_owned(), "y".to_owned()][..], 5));
    // age and whether it is missing, Bonn, Ulm, and whether the town is missing
    assert_eq!(rows_by_id(&dataset)[1].1[1..], [1.0, 0.0, 0.0, 1.0]);
    let links = dataset.link_schema.clone().unwrap();
    assert_eq!(links.feature_names(), ["kind=calls", "kind=visits", "kind is missing"]);
    let usual = load(&files, &TableOptions { keep_rare: true, ..Default::default() });
    assert_eq!(usual.schema.unwrap().columns.len(), 2, "`\\N` is no number, and the column is one");

    let expected = Expected {
        features: dataset.features(),
        schema: dataset.schema.clone(),
        links,
        classes: dataset.class_names.clone(),
        several: false,
    };
    let trained = TableOptions { expected: Some(expected), ..Default::default() };
    let again = load(&files, &trained);
    assert_eq!(rows_by_id(&again), rows_by_id(&dataset));
    assert_eq!(again.examples[0].edges, dataset.examples[0].edges);
    assert_eq!(again.examples[0].labels, dataset.examples[0].labels);
}

/// A model that was trained before `\N` was a missing value may have it among its categories.
#[test]
fn a_category_of_a_model_stays_one() {
    let trained = "id,label,town\na,x,Ulm\nb,y,u\nc,x,Ulm\nd,y,u\n";
    let files = |text: &str| [("nodes.csv", text.as_bytes().to_vec()), ("edges.csv", b"a b\n".to_vec())];
    let dataset = load(&files(trained), &TableOptions::default());
    let schema = serde_json::to_string(&dataset.schema).unwrap().replace(r#"["Ulm","u"]"#, r#"["Ulm","\\N"]"#);
    let expected = Expected {
        features: 2,
        schema: serde_json::from_str(&schema).unwrap(),
        links: Default::default(),
        classes: dataset.class_names,
        several: false,
    };
    let options = TableOptions { expected: Some(expected), ..Default::default() };
    let again = load(&files(&trained.replace(",u", ",\\N")), &options);
    assert_eq!(rows_by_id(&again)[1].1, [0.0, 1.0]);
}

/// Labels that are a quantity are refused; a few fractions, and whole numbers, are classes.
#[test]
fn numbers_to_predict_are_not_classes() {
    let read_labels = |label: &dyn Fn(usize) -> String| {
        let row = |k: usize| format!("n{k},{},{}\n", label(k), k % 7);
        let nodes = format!("id,label,f\n{}", (0..300).map(row).collect::<String>());
        let folder = folder(&[("nodes.csv", nodes.into_bytes()), ("edges.csv", b"n0 n1\n".to_vec())]);
        // As frames are read.
        let options = TableOptions { keep_rare: true, labels_optional: true, ..Default::default() };
        let found = read(folder.path(), &options).map(|dataset| dataset.classes());
        found.map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
    };
    let quantity = |k: usize| format!("{}.5", k % 150);
    assert_eq!(
        read_labels(&quantity).unwrap_err(),
        "nodes.csv, column `label`: expected the classes of the nodes, found 150 different numbers such as `0.5`, which \
         look like a quantity to predict, as in regression; only classes can be predicted: replace the numbers by a few \
         ranges, such as low and high; write them as words if they are names of classes; or name another column with parameter `label_column`"
    );
    // A few other words do not make the numbers classes, nor does it help if few nodes are labelled.
    assert!(read_labels(&|k| if k < 9 { "other".into() } else { quantity(k) }).is_err());
    assert!(read_labels(&|k| if k < 9 { quantity(k) } else { String::new() }).is_err());
    let stars = |k: usize| format!("{:.1}", 0.5 * (k % 10) as f64);
    assert_eq!(read_labels(&stars), Ok(10));
    assert_eq!(read_labels(&|k| format!("{}.0", k % 60)), Ok(60));
    assert_eq!(read_labels(&|k| format!("v{}.5", k % 60)), Ok(60));
}

#[test]
fn masks_and_folds_are_splits() {
    let split = |columns: &str, rows: [&str; 5]| {
        let row = |(k, split): (usize, &&str)| format!("n{k},{},{}.5,{split}\n", ["x", "y"][k % 2], k % 3);
        let nodes = format!("id,label,f,{columns}\n{}", rows.iter().enumerate().map(row).collect::<String>());
        let folder = folder(&[("nodes.csv", nodes.into_bytes()), ("edges.csv", b"n0 n1\n".to_vec())]);
        read(folder.path(), &TableOptions::default()).map(|dataset| {
            let example = &dataset.examples[0];
            assert_eq!(dataset.features(), 1, "{:?}", dataset.notes);
            (example.train.clone(), example.validation.clone(), example.test.clone(), notes(&dataset))
        })
    };
    let masks = ["True,False,False", "1,0,0", "false,TRUE,false", "False,False,True", "False,,False"];
    let (train, validation, test, _) = split("train_mask,val_mask,test_mask", masks).unwrap();
    assert_eq!((train, validation, test), (vec![0, 1], vec![2], vec![3]));
    let (train, validation, test, notes) = split("fold", ["2", "1", "0", "3", "2"]).unwrap();
    assert_eq!((train, validation, test), (vec![0, 3, 4], vec![1], vec![2]));
    assert!(notes.contains("fold 0 is the test set, fold 1 the validation set"), "{notes}");
    let both = ["train,1", "val,0", "test,0", "train,0", "train,1"];
    let (train, _, _, notes) = split("split,train_mask", both).unwrap();
    assert_eq!(train, [0, 3, 4]);
    assert!(notes.contains("`train_mask` not used, since there is another split column"), "{notes}");
    let error = |columns: &str, rows| split(columns, rows).unwrap_err().to_string();
    let twice = error("train_mask,test_mask", ["1,1", "1,0", "0,1", "0,0", "0,0"]);
    assert!(twice.contains("line 2, column `test_mask`: expected nodes that are in one split"), "{twice}");
    assert!(error("fold", ["0", "1", "0", "1", "0"]).contains("column `fold`: expected at least three folds, found 2"));
}

#[test]
fn rows_may_begin_with_a_hash_under_a_header() {
    let nodes = "id,label,f\n#a,x,1\nb,y,2\n#c,x,3\nd,y,1\n";
    let links = |edges: &str| {
        let files = [("nodes.csv", nodes.into()), ("edges.csv", edges.as_bytes().to_vec())];
        let folder = folder(&files);
        read(folder.path(), &TableOptions::default()).map(|dataset| (dataset.listed_links, notes(&dataset)))
    };
    let (count, notes) = links("# made by hand\nsource,target\n#a,b\n# the others\nb,#c\n#c,d\n").unwrap();
    assert_eq!(count, 3);
    assert!(notes.contains("edges.csv: 2 comments skipped (lines that begin with `#`)"), "{notes}");
    assert_eq!(links("source target\n#a b\nb #c\n").unwrap().0, 2);
    let (count, notes) = links("#a,b\nb,d\n").unwrap();
    assert!(count == 1 && notes.contains("1 comment skipped (lines that begin with `#`)"), "{notes}");
    let error = links("#a,b\n#c,d\n").unwrap_err().to_string();
    assert!(error.contains("found only lines that begin with `#`, which are comments; add a first row"), "{error}");
}

#[test]
fn index_columns_are_not_used() {
    for name in ["", "Unnamed: 0"] {
        let nodes = format!("{name},id,label,f\n0,a,x,1\n1,b,y,2\n2,c,x,3\n3,d,y,1\n");
        let edges = format!("{name},payer,payee\n0,a,b\n1,b,c\n2,c,d\n");
        let files = [("nodes.csv", nodes.into_bytes()), ("edges.csv", edges.into_bytes())];
        let dataset = load(&files, &TableOptions::default());
        assert_eq!((dataset.features(), dataset.listed_links, dataset.node_id(0, 3)), (1, 3, "d".into()));
        assert_eq!(notes(&dataset).matches("numbers the rows: not used").count(), 2, "{}", notes(&dataset));
        assert!(notes(&dataset).contains("3 links from `payer` to `payee`"));
    }
    let features = ",f,g\n0,1,2\n1,3,4\n2,5,6\n3,7,8\n".as_bytes().to_vec();
    let files = [("features.csv", features), ("labels.csv", "x\ny\nx\ny\n".into()), ("edges.csv", "0 1\n".into())];
    assert_eq!(load(&files, &TableOptions::default()).features(), 2);
    let nodes = ",label,f\n0,x,1\n1,y,2\n2,x,3\n3,y,1\n".as_bytes().to_vec();
    let dataset = load(&[("nodes.csv", nodes), ("edges.csv", "0 3\n".into())], &TableOptions::default());
    assert!(dataset.examples[0].graph.position(0, 3).is_some() && dataset.features() == 1);
}

#[test]
fn ids_are_matched_as_whole_numbers() {
    let nodes = "id,label,f\n0,x,1\n1,y,2\n2,x,3\n10,y,1\n".as_bytes().to_vec();
    let files = [("nodes.csv", nodes), ("edges.csv", b"source,target\n0.0,1.0\n2.0,10\n".to_vec())];
    let dataset = load(&files, &TableOptions::default());
    assert!(dataset.examples[0].graph.position(2, 3).is_some());
    assert!(notes(&dataset).contains("edges.csv: matched as whole numbers: 3 ids, such as `0.0`"));
    let nodes = "id,label,f\n01,x,1\n1,y,2\n2,x,3\n3,y,1\n".as_bytes().to_vec();
    let files = [("nodes.csv", nodes), ("edges.csv", b"1 2\n1.0 2\n".to_vec())];
    let error = read(folder(&files).path(), &TableOptions::default()).unwrap_err().to_string();
    assert!(error.contains("line 2, column `1`: expected the id of a node, found `1.0`"), "{error}");
}

/// Tables of earlier versions of `supergat convert` are finished features, even if their numbers are large.
#[test]
fn prepared_tables_are_used_as_they_are() {
    let nodes: String = (0..40).map(|k| format!("n{k},{},{k},{}\n", k % 2, 1000 * k)).collect();
    let files = |sidecar: &str| {
        [
            ("nodes.csv", format!("id,label,row,large\n{nodes}").into_bytes()),
            ("edges.csv", b"n0 n1\n".to_vec()),
            ("dataset.toml", sidecar.as_bytes().to_vec()),
        ]
    };
    for sidecar in ["prepared = true\n", "features = 2\nsparse = false\n"] {
        let dataset = load(&files(sidecar), &TableOptions::default());
        assert_eq!(dataset.examples[0].features.values()[2..6], [1.0, 1000.0, 2.0, 2000.0]);
    }
    assert_eq!(load(&files(""), &TableOptions::default()).features(), 1);
    assert!(matches!(load(&files(""), &TableOptions::default()).examples[0].labels, Labels::Single { .. }));
}
