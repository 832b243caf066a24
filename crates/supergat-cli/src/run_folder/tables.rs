//! Tables of a run folder: predictions and attention as CSV.

use std::borrow::Cow;
use std::io::{self, Write};
use supergat_core::kernels::argmax;
use supergat_core::{Architecture, Direction, Example, Graph, Labels, Model, probabilities};
use supergat_data::Dataset;

/// Separator between several classes of a node.
const SEPARATOR: &str = "|";

/// Writes a row per node: graph (when there are several), node, split, label, predicted class, probabilities.
pub fn predictions(out: &mut dyn Write, dataset: &Dataset, logits: &[Vec<f32>]) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    let several = dataset.examples.len() > 1;
    let columns = several.then_some("graph").into_iter().chain(["node", "split", "label", "predicted"]);
    let columns = columns.map(Cow::from).chain(dataset.class_names.iter().map(|name| format!("p_{name}").into()));
    record(&mut table, columns)?;
    let classes = dataset.classes();
    let mut row = vec![0.0; classes];
    for (k, (example, logits)) in dataset.examples.iter().zip(logits).enumerate() {
        let splits = splits(example);
        for (node, logits) in logits.chunks_exact(classes).enumerate() {
            probabilities(&example.labels, logits, &mut row);
            let predicted = match &example.labels {
                Labels::Single { .. } => Cow::from(dataset.class_names[argmax(logits)].as_str()),
                Labels::Multi { .. } => names(dataset, row.iter().map(|p| *p > 0.5)),
            };
            let graph = several.then(|| Cow::from(k.to_string()));
            let described =
                [dataset.node_id(k, node), splits[node].into(), label(dataset, &example.labels, node), predicted];
            record(&mut table, graph.into_iter().chain(described).chain(row.iter().map(|p| exact(*p))))?;
        }
    }
    table.flush()
}

/// Returns the number of rows that [`attention`] writes.
pub fn attention_rows(dataset: &Dataset, a: &Architecture) -> usize {
    if a.model.form().is_none() {
        return 0;
    }
    let heads = (a.layers - 1) * a.heads + a.output_heads;
    dataset.examples.iter().map(|example| example.graph.edges() * heads).sum()
}

/// Writes a row per edge, layer and head: the edges in the order of the dataset, then the self-loop of each node.
pub fn attention(out: &mut dyn Write, dataset: &Dataset, model: &Model<f32>) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    let several = dataset.examples.len() > 1;
    let columns = ["source", "target", "layer", "head", "coefficient", "edge_logit", "self_loop"];
    record(&mut table, several.then_some("graph").into_iter().chain(columns).map(Cow::from))?;
    for (k, example) in dataset.examples.iter().enumerate() {
        let layers = model.attention(example).map_err(io::Error::other)?;
        for position in in_listed_order(&example.graph) {
            let (source, target) = ends(&example.graph, position);
            for (layer, values) in layers.iter().enumerate() {
                for head in 0..values.heads {
                    let at = position * values.heads + head;
                    let row = [
                        dataset.node_id(k, source),
                        dataset.node_id(k, target),
                        (layer + 1).to_string().into(),
                        (head + 1).to_string().into(),
                        exact(values.coefficients[at]),
                        exact(values.logits[at]),
                        if source == target { "true" } else { "false" }.into(),
                    ];
                    record(&mut table, several.then(|| Cow::from(k.to_string())).into_iter().chain(row))?;
                }
            }
        }
    }
    table.flush()
}

/// Returns the positions of all edges, each once: edges in the order of the input, each link of an undirected graph
/// followed by its reverse, then the self-loops.
fn in_listed_order(graph: &Graph) -> Vec<usize> {
    let mut order = Vec::with_capacity(graph.edges());
    let mut seen = vec![false; graph.edges()];
    let loop_of = |node: usize| graph.position(node as u32, node as u32).expect("every node has a self-loop");
    let loops: Vec<usize> = (0..graph.nodes()).map(loop_of).collect();
    // Self-loops of the input are listed with the added ones, at the end.
    loops.iter().for_each(|&position| seen[position] = true);
    let mut add = |position: usize| {
        if !std::mem::replace(&mut seen[position], true) {
            order.push(position);
        }
    };
    for &position in graph.position_of_input() {
        add(position as usize);
        if graph.direction() == Direction::Undirected {
            let (source, target) = ends(graph, position as usize);
            add(graph.position(target as u32, source as u32).expect("both directions were inserted"));
        }
    }
    order.extend(loops);
    order
}

/// Returns source and target of the edge at a position.
fn ends(graph: &Graph, position: usize) -> (usize, usize) {
    let incoming = graph.incoming();
    let target = incoming.offsets.partition_point(|&offset| offset <= position as u64) - 1;
    (incoming.neighbours[position] as usize, target)
}

fn splits(example: &Example<f32>) -> Vec<&'static str> {
    let mut splits = vec![""; example.graph.nodes()];
    // A training node that is also in another split is reported as a training node, so these come last.
    for (name, list) in [("test", &example.test), ("validation", &example.validation), ("train", &example.train)] {
        list.iter().for_each(|&node| splits[node as usize] = name);
    }
    splits
}

fn label<'a>(dataset: &'a Dataset, labels: &Labels, node: usize) -> Cow<'a, str> {
    match labels {
        Labels::Single { of, .. } => dataset.class_names.get(of[node] as usize).map_or("", String::as_str).into(),
        Labels::Multi { classes, of } => names(dataset, of[node * classes..][..*classes].iter().map(|has| *has == 1)),
    }
}

fn names(dataset: &Dataset, has: impl Iterator<Item = bool>) -> Cow<'_, str> {
    let names = dataset.class_names.iter().zip(has).filter(|(_, has)| *has).map(|(name, _)| name.as_str());
    names.collect::<Vec<_>>().join(SEPARATOR).into()
}

/// Formats a number as the shortest text that parses to the same number.
fn exact(number: f32) -> Cow<'static, str> {
    format!("{number:?}").into()
}

fn record<'a, W: Write>(table: &mut csv::Writer<W>, fields: impl Iterator<Item = Cow<'a, str>>) -> io::Result<()> {
    let write = || {
        for field in fields {
            table.write_field(field.as_bytes())?;
        }
        table.write_record(None::<&[u8]>)
    };
    // The standard conversion of this error would lose the kind of a closed pipe.
    write().map_err(|error| match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use supergat_core::{Architecture, Features};

    fn dataset(direction: Direction, labels: Labels, graphs: usize) -> Dataset {
        // A duplicate, a self-loop and, read as undirected, a reversed duplicate.
        let edges = [(2, 0), (1, 1), (0, 1), (2, 0), (1, 0)];
        let example = Example::new(
            Graph::from_edges(3, &edges, direction).unwrap(),
            Features::dense(3, 1, vec![1.0f32, -1.0, 0.5]).unwrap(),
            labels,
            [vec![0], vec![], vec![]],
        );
        Dataset {
            name: "tiny".into(),
            examples: vec![example.unwrap(); graphs],
            class_names: vec!["a,b".into(), "c".into()],
            node_ids: Some(vec![vec!["x".into(), "y".into(), "z".into()]; graphs]),
            listed_links: 5,
            notes: Vec::new(),
            schema: None,
            origin: None,
        }
    }

    fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn lists_each_edge_once_in_input_order() {
        let edges = |direction| {
            let graph = &dataset(direction, Labels::Single { classes: 2, of: vec![0; 3] }, 1).examples[0].graph;
            in_listed_order(graph).iter().map(|&position| ends(graph, position)).collect::<Vec<_>>()
        };
        assert_eq!(edges(Direction::Directed), [(2, 0), (0, 1), (1, 0), (0, 0), (1, 1), (2, 2)]);
        assert_eq!(edges(Direction::Undirected), [(2, 0), (0, 2), (0, 1), (1, 0), (0, 0), (1, 1), (2, 2)]);
    }

    #[test]
    fn predictions_match_values_computed_by_hand() {
        let dataset = dataset(Direction::Directed, Labels::Single { classes: 2, of: vec![0, 1, Labels::UNKNOWN] }, 1);
        let logits = vec![vec![0.0, 0.0, -2.0, 2.0, 30.0, 0.0]];
        let text = text(|out| predictions(out, &dataset, &logits));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "node,split,label,predicted,\"p_a,b\",p_c");
        assert_eq!(lines[1], "x,train,\"a,b\",\"a,b\",0.5,0.5");
        assert!(lines[2].starts_with("y,,c,c,0.017986"), "{}", lines[2]);
        assert!(lines[3].starts_with("z,,,\"a,b\",1.0,9.35762"), "{}", lines[3]);
    }

    #[test]
    fn predictions_of_multi_label_data_with_several_graphs() {
        let dataset = dataset(Direction::Directed, Labels::Multi { classes: 2, of: vec![1, 1, 0, 0, 0, 1] }, 2);
        let logits = vec![vec![5.0, 5.0, -5.0, 0.0, -5.0, 5.0]; 2];
        let text = text(|out| predictions(out, &dataset, &logits));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "graph,node,split,label,predicted,\"p_a,b\",p_c");
        assert!(lines[1].starts_with("0,x,train,\"a,b|c\",\"a,b|c\",0.9933"), "{}", lines[1]);
        assert!(lines[5].starts_with("1,y,,,,0.006692"), "{}", lines[5]);
    }

    #[test]
    fn attention_rows_match_the_written_table() {
        let dataset = dataset(Direction::Undirected, Labels::Single { classes: 2, of: vec![0; 3] }, 2);
        for (model, layers, rows) in [("supergat-mx", 3, 2 * 7 * 8), ("gat-go", 1, 2 * 7 * 2), ("mlp", 2, 0)] {
            let architecture = Architecture {
                model: model.parse().unwrap(),
                input_features: 1,
                classes: 2,
                multi_label: false,
                layers,
                hidden: 2,
                heads: 3,
                output_heads: 2,
                dropout: 0.0,
                negative_slope: 0.2,
            };
            let model = Model::new(architecture, 0).unwrap();
            assert_eq!(attention_rows(&dataset, model.architecture()), rows);
            assert_eq!(text(|out| attention(out, &dataset, &model)).lines().count(), rows + 1);
        }
    }
}
