//! Graphs from tables: training, and predictions on a graph that was not used for training.

use crate::support::{Workspace, published, table};

/// Writes tables of people in two groups with links mostly within a group; ids start at `first`.
fn people(workspace: &Workspace, folder: &str, first: usize, count: usize, labels: bool) {
    let mut nodes = String::from(if labels { "person,team,age,town\n" } else { "person,age,town\n" });
    let mut edges = String::from("who;knows\n");
    for k in first..first + count {
        let red = k % 2 == 0;
        let label = match (labels, red) {
            (false, _) => "",
            (true, true) => "red,",
            (true, false) => "blue,",
        };
        let town = if red == (k % 5 != 0) { "Rye" } else { "Bath" };
        nodes += &format!("p{k},{label}{},{town}\n", 30 + k % 7);
        for step in [2, 4, 7] {
            let other = first + (k - first + step) % count;
            edges += &format!("p{k};p{other}\n");
        }
    }
    workspace.write(&format!("{folder}/nodes.csv"), nodes);
    workspace.write(&format!("{folder}/edges.csv"), edges);
}

/// Published settings belong to published datasets. Tables in a folder with the name of one are the user's.
#[test]
fn tables_in_a_folder_with_a_known_name_have_no_published_settings() {
    let workspace = Workspace::new();
    for name in ["photo", "cs", "cora", "random-partition"] {
        people(&workspace, name, 0, 60, true);
        let folder = format!("./{name}");
        let train = ["train", folder.as_str(), "--model", "gat-go", "--max-epochs", "2", "--out"];
        let done = workspace.good(&[&train[..], &[&format!("run-{name}")], &ROLES].concat());
        assert!(done.stderr.contains("settings: the defaults on new graphs; --max-epochs 2"), "{}", done.stderr);
        let config = workspace.good(&[&["train", &folder, "--print-config"][..], &ROLES].concat());
        assert!(config.stderr.contains("no model is named: comparing networks"), "{}", config.stderr);
    }
}

const ROLES: [&str; 4] = ["--label-column", "team", "--id-column", "person"];

/// A GraphML file is trained on like a folder of tables.
#[test]
fn trains_on_a_graphml_file() {
    let workspace = Workspace::new();
    let class = |node: usize| ["even", "odd"][node % 2];
    let node = |node: usize| {
        let (class, size) = (class(node), node % 2 * 3 + node % 3);
        format!("<node id='n{node}'><data key='c'>{class}</data><data key='s'>{size}</data></node>")
    };
    let nodes: String = (0..40).map(node).collect();
    let edges: String = (2..40).map(|node| format!("<edge source='n{node}' target='n{}'/>", node - 2)).collect();
    let keys = "<key id='c' for='node' attr.name='class'/><key id='s' for='node' attr.name='size'/>";
    workspace
        .write("g.graphml", format!("<graphml>{keys}<graph edgedefault='undirected'>{nodes}{edges}</graph></graphml>"));
    let trained =
        workspace.good(&["train", "g.graphml", "--model", "gat-go", "--max-epochs", "5", "--json", "--out", "run"]);
    assert_eq!(trained.json()["dataset"], "g");
    let evaluated = workspace.good(&["evaluate", "run", "--json"]).json();
    assert_eq!(evaluated["test"]["metric"], trained.json()["test"]["values"][0]);
    let predicted = workspace.good(&["predict", "run", "--data", "g.graphml"]).stdout;
    assert!(predicted.starts_with("node,split,label,predicted,p_even,p_odd\nn0,"), "{predicted}");
    workspace.write("links.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n");
    let done = workspace.run(&["train", "links.mtx"]);
    assert!(done.code == 2 && done.stderr.contains("a .mtx file contains only links"), "{done:?}");
}

#[test]
fn trains_on_tables_and_predicts_on_another_graph() {
    let workspace = Workspace::new();
    people(&workspace, "club", 0, 60, true);
    let text = workspace.good(&[&["inspect", "club"][..], &ROLES].concat()).stdout;
    for expected in [
        "nodes.csv: first row names the columns; id is `person`, label is `team`",
        "3 features from 1 column of numbers and 1 of words: `town` (2)",
        "60 of 60 nodes have a label; 2 classes: `blue` (30), `red` (30)",
        "edges.csv: 180 links from `who` to `knows`",
    ] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
    let done = workspace
        .good(&[&["train", "club", "--max-epochs", "60", "--out", "run", "--standardise"][..], &ROLES].concat());
    assert!(done.stderr.contains("note: no split column: 60 % of every class"), "{}", done.stderr);
    let config = workspace.read("run/config.toml");
    assert!(config.contains("label_column = \"team\"") && config.contains("standardise = true"), "{config}");
    // The configuration and the model record the options.
    workspace.good(&["train", "--config", "run/config.toml", "--out", "again", "--quiet"]);
    assert!(workspace.bytes("run/metrics.jsonl") == workspace.bytes("again/metrics.jsonl"));
    assert!(workspace.good(&["predict", "run"]).stdout == workspace.read("run/predictions.csv"));
    assert_eq!(workspace.good(&["evaluate", "run", "--json"]).json()["test"]["nodes"], 12);

    people(&workspace, "new", 100, 24, false);
    let nodes = workspace.read("new/nodes.csv").replacen("Rye", "Ely", 2);
    workspace.write("new/nodes.csv", nodes);
    let done = workspace.good(&["predict", "run", "--data", "new", "--out", "new.csv", "--picture", "new.svg"]);
    assert!(
        done.stderr.contains("2 values that training did not see, read as unknown: `Ely` in `town`"),
        "{}",
        done.stderr
    );
    let (header, rows) = table(&workspace.read("new.csv"));
    assert_eq!(header, ["node", "split", "label", "predicted", "p_blue", "p_red"]);
    assert_eq!(rows.len(), 24);
    assert!(rows.iter().all(|row| row[1].is_empty() && row[2].is_empty()));
    assert_eq!(workspace.read("new.svg").matches("<title>p1").count(), 24);

    let done = workspace.run(&["evaluate", "run", "new"]);
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("no node of new has a label to compare with"), "{}", done.stderr);

    people(&workspace, "labelled", 200, 20, true);
    let object = workspace.good(&["evaluate", "run", "labelled", "--json"]).json();
    assert_eq!((&object["train"], &object["test"]["nodes"]), (&serde_json::Value::Null, &20.into()));
    let done = workspace.run(&["predict", "run", "--data", "club/missing"]);
    assert_eq!(done.code, 2);
}

/// Dates, amounts, booleans, texts, codes and gaps are listed, trained on, and read alike for prediction.
#[test]
fn trains_on_columns_of_all_types() {
    let workspace = Workspace::new();
    let mut nodes = String::from("id,label,since,paid,member,zip,note,score,name\n");
    let mut edges = String::from("source,target\n");
    for k in 0..48 {
        let score = match k % 8 {
            1 => "\\N".to_owned(),
            5 => "unknown".to_owned(),
            _ => format!("0.{}", k % 10),
        };
        let label = ["x", "y"][k % 2];
        let (date, paid) =
            (format!("2024-{:02}-{:02}", 1 + k % 12, 1 + k % 28), format!("\"${},{:03}.5\"", 1 + k % 3, k));
        let (member, zip, note) = (k % 3 == 0, 1200 + k % 4, ["old red ships", "new green trees"][k % 2]);
        nodes += &format!("n{k},{label},{date},{paid},{member},0{zip},{note} number {k},{score},Person {k}\n");
        edges += &format!("n{k},n{}\nn{k},n{}\n", (k + 2) % 48, (k + 4) % 48);
    }
    workspace.write("club/nodes.csv", nodes.clone());
    workspace.write("club/edges.csv", edges.clone());
    let done = workspace.run(&["inspect", "club"]);
    assert!(done.code == 2 && done.stderr.contains("or name it in --missing-words if it is not known"), "{done:?}");
    let text = workspace.good(&["inspect", "club", "--missing-words", "unknown"]).stdout;
    for expected in [
        "since  date          1  all values are dates with the year",
        "zip    category      4  leading 0 in 48 values, as in codes",
        "member  boolean",
        "name   id            -  holds 48 different",
    ] {
        let words: Vec<&str> = expected.split_whitespace().collect();
        let listed = text.lines().any(|line| line.split_whitespace().take(words.len()).eq(words.iter().copied()));
        assert!(listed, "{expected} is not in {text}");
    }
    let object =
        workspace.good(&["inspect", "club", "--json", "--missing", "propagate", "--missing-words", "unknown"]).json();
    let types: Vec<&str> =
        object["columns"].as_array().unwrap().iter().map(|column| column["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["role", "role", "date", "number", "boolean", "category", "text", "number", "id"]);
    for (missing, out) in [("mean", "a"), ("propagate", "b")] {
        let train = ["train", "club", "--model", "gcn", "--max-epochs", "10", "--missing", missing, "--out", out];
        let done = workspace.good(&[&train[..], &["--missing-words", "unknown,-999"]].concat());
        assert!(done.stderr.contains("missing values in `score` (12)"), "{}", done.stderr);
        assert!(workspace.good(&["predict", out]).stdout == workspace.read(&format!("{out}/predictions.csv")));
        // New tables give the same features as the training tables, so the probabilities are the same.
        workspace.write("copy/nodes.csv", nodes.clone());
        workspace.write("copy/edges.csv", edges.clone());
        let probabilities = |text: String| table(&text).1.iter().map(|row| row[3..].join(",")).collect::<Vec<_>>();
        let copy = workspace.good(&["predict", out, "--data", "copy"]).stdout;
        assert_eq!(probabilities(copy), probabilities(workspace.read(&format!("{out}/predictions.csv"))));
    }
    let config = workspace.read("b/config.toml");
    assert!(
        config.contains("missing = \"propagate\"") && config.contains("missing_words = \"unknown,-999\""),
        "{config}"
    );
    let done = workspace.run(&["inspect", "club", "--ignore-columns", "nmae"]);
    assert!(done.code == 2 && done.stderr.contains("did you mean `name`?"), "{done:?}");
    let done = workspace.run(&["inspect", "club", "--missing", "error", "--missing-words", "unknown"]);
    assert!(done.code == 2 && done.stderr.contains("nodes.csv, line 3, column `score`"), "{done:?}");
    let given = ["--missing-words", "unknown", "--no-standardise"];
    let done = workspace.good(&[&["recommend", "club", "--seconds", "1"], &given[..]].concat());
    assert!(done.stdout.contains("supergat train club --missing-words unknown --no-standardise --model "), "{done:?}");
}

#[test]
fn errors_in_tables_are_one_line() {
    let workspace = Workspace::new();
    people(&workspace, "club", 0, 20, true);
    let done = workspace.run(&["train", "club"]);
    assert_eq!((done.code, done.stderr.lines().count()), (2, 1), "{done:?}");
    assert!(done.stderr.contains("name it with --label-column"), "{}", done.stderr);
    let done = workspace.run(&["inspect", "club", "--delimiter", "|"]);
    assert!(done.code == 2 && done.stderr.contains("say with --delimiter"), "{done:?}");
}

#[test]
fn converted_datasets_give_identical_training() {
    let workspace = Workspace::new();
    workspace.good(&["convert", crate::support::SMALL, "small.supergat.safetensors"]);
    workspace.good(&["convert", "small.supergat.safetensors", "small"]);
    workspace.train("a", &[]);
    for (source, out) in [("small", "b"), ("small.supergat.safetensors", "c")] {
        // Tables have no published settings.
        workspace.good(&["train", source, "--config", "a/config.toml", "--out", out, "--quiet"]);
        for file in ["metrics.jsonl", "predictions.csv", "attention.csv"] {
            assert!(
                workspace.bytes(&format!("a/{file}")) == workspace.bytes(&format!("{out}/{file}")),
                "{source} {file}"
            );
        }
    }
    let done = workspace.run(&["convert", "small", "small"]);
    assert_eq!(done.code, 2);
    let done = workspace.run(&["convert", "small", "no/where.safetensors"]);
    assert!(done.code == 1 && done.stderr.starts_with("error: cannot write no/where.safetensors"), "{done:?}");
}

#[test]
fn cora_as_tables_gives_identical_training() {
    let Some(folder) = published("cora") else { return };
    let workspace = Workspace::new();
    let cora = folder.to_str().unwrap();
    workspace.good(&["convert", cora, "tables"]);
    for (source, out) in [(cora, "a"), ("tables", "b")] {
        workspace.good(&["train", source, "--max-epochs", "3", "--out", out, "--quiet"]);
    }
    for file in ["metrics.jsonl", "predictions.csv", "attention.csv"] {
        assert!(workspace.bytes(&format!("a/{file}")) == workspace.bytes(&format!("b/{file}")), "{file}");
    }
}

#[test]
fn lists_published_datasets_and_downloads_no_others() {
    let workspace = Workspace::new();
    workspace.write("data/cora/ind.cora.x", "");
    let object = workspace.good(&["datasets", "--json"]).json();
    let datasets = object["datasets"].as_array().unwrap();
    assert_eq!(
        (datasets.len(), &datasets[0]["name"], &datasets[0]["place"]),
        (19, &"cora".into(), &"data/cora".into())
    );
    assert!(workspace.good(&["datasets"]).stdout.lines().count() == 21);
    let done = workspace.run(&["download", "coraa"]);
    assert!(
        done.code == 2 && done.stderr.starts_with("error: unknown dataset `coraa`: expected one of cora, "),
        "{done:?}"
    );
    let mut command = workspace.command(&["download", "citeseer", "--from", "http://127.0.0.1:9"]);
    command.env("SUPERGAT_DATA", workspace.path("cache"));
    let done = crate::support::Done::of(command);
    assert!(done.code == 1 && done.stderr.contains("error: cannot fetch http://127.0.0.1:9/citeseer/"), "{done:?}");
    assert!(!workspace.path("cache/citeseer").exists());
}

/// Links with weights and types reach the network, and the first nodes are listed with the neighbours they attend to.
#[test]
fn lists_the_first_nodes_with_reasons() {
    let workspace = Workspace::new();
    people(&workspace, "people", 0, 60, true);
    let typed = |line: &str| match line {
        "who;knows" => "who;knows;weight;kind".to_owned(),
        line => format!("{line};{};{}", 1 + line.len() % 3, if line.len() % 2 == 0 { "work" } else { "family" }),
    };
    let edges: Vec<String> = workspace.read("people/edges.csv").lines().map(typed).collect();
    workspace.write("people/edges.csv", edges.join("\n"));
    let train = ["train", "people", "--model", "gat-go", "--max-epochs", "5", "--edge-messages", "--out", "run"];
    workspace.good(&[&train[..], &ROLES, &["--positive", "red"]].concat());
    let list = workspace.good(&["predict", "run", "--top", "5"]).stdout;
    let rows: Vec<&str> = list.lines().collect();
    assert_eq!((rows[0], rows.len()), ("rank,node,split,label,p_red,attends to", 6));
    let probability = |row: &&str| row.split(',').nth(4).unwrap().parse::<f32>().unwrap();
    let probabilities: Vec<f32> = rows[1..].iter().map(probability).collect();
    assert!(probabilities.is_sorted_by(|a, b| a >= b), "{list}");
    assert!(rows[1..].iter().all(|row| row.contains(",test,")), "{list}");
    assert!(list.contains("kind=family") && list.contains("labelled red") && list.contains(" %"), "{list}");
    let blue = workspace.good(&["predict", "run", "--top", "2", "--class", "blue"]).stdout;
    assert!(blue.starts_with("rank,node,split,label,p_blue,") && blue.lines().count() == 3, "{blue}");
    let refused = workspace.run(&["predict", "run", "--top", "2", "--class", "green"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--class green: expected one of blue, red"), "{}", refused.stderr);
}
