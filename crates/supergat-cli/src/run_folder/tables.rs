//! Predictions and attention as CSV.

use std::borrow::Cow;
use std::io::{self, Write};
use supergat::{Classifier, Dataset, Predictions};
use supergat_core::{Architecture, Example, Labels};
use supergat_data::files::csv;

/// How texts of the user, such as ids and names of classes, are written to CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// As they are.
    Exact,
    /// With `'` in front of texts that a spreadsheet would run as a formula (`--safe-csv`).
    Safe,
}

impl Texts {
    /// Returns the way that `--safe-csv` chooses.
    pub fn of(safe_csv: bool) -> Self {
        if safe_csv { Self::Safe } else { Self::Exact }
    }

    /// Returns a text of the user as it is written.
    fn field(self, text: &str) -> Cow<'_, str> {
        match self == Self::Safe && text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
            true => format!("'{text}").into(),
            false => text.into(),
        }
    }
}

/// Writes a table as CSV, one field after another.
pub(super) struct Table<'w> {
    csv: csv::Table<'w>,
    texts: Texts,
}

impl<'w> Table<'w> {
    pub(super) fn new(out: &'w mut dyn Write, texts: Texts) -> Self {
        Self { csv: csv::Table::new(out), texts }
    }

    /// Writes a text of the user.
    pub(super) fn text(&mut self, text: &str) {
        self.csv.text(&self.texts.field(text));
    }

    /// Writes a word that this program chose.
    pub(super) fn word(&mut self, word: &str) {
        self.csv.text(word);
    }

    /// Writes a whole number.
    pub(super) fn whole(&mut self, number: usize) {
        self.csv.whole(number);
    }

    /// Writes a number as the shortest text that parses to the same number.
    pub(super) fn number(&mut self, number: f32) {
        self.csv.number(number);
    }

    /// Ends a row.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.csv.end()
    }

    /// Writes what is buffered.
    pub(super) fn finish(self) -> io::Result<()> {
        self.csv.finish()
    }
}

/// Separator of several classes of a node.
const SEPARATOR: &str = "|";

/// Writes a row per node: graph (if there are several), node, split, label, predicted class, probabilities.
pub fn predictions(out: &mut dyn Write, dataset: &Dataset, predictions: &Predictions, texts: Texts) -> io::Result<()> {
    let mut table = Table::new(out, texts);
    let several = dataset.examples.len() > 1;
    let names = predictions.class_names();
    for column in several.then_some("graph").into_iter().chain(["node", "split", "label", "predicted"]) {
        table.word(column);
    }
    for name in names {
        table.word(&format!("p_{name}"));
    }
    table.end()?;
    // Nodes of several graphs are numbered one after another in the predictions.
    let mut row = 0;
    for (k, example) in dataset.examples.iter().enumerate() {
        for (node, split) in splits(example).into_iter().enumerate() {
            let predicted: Vec<&str> = predictions.labels(row).into_iter().map(|class| names[class].as_str()).collect();
            if several {
                table.whole(k);
            }
            table.text(&dataset.node_id(k, node));
            table.word(split);
            table.text(&label(dataset, &example.labels, node));
            table.text(&predicted.join(SEPARATOR));
            for &probability in predictions.probabilities_of(row) {
                table.number(probability);
            }
            table.end()?;
            row += 1;
        }
    }
    table.finish()
}

/// Returns the number of rows that [`attention`] writes for a dataset with `edges` edges.
pub fn attention_rows(edges: usize, a: &Architecture) -> usize {
    edges * a.weights_per_edge()
}

/// Writes a row per edge, layer and head: the links in the order of the dataset, then the self-loops.
pub fn attention(out: &mut dyn Write, dataset: &Dataset, model: &Classifier, texts: Texts) -> io::Result<()> {
    let mut table = Table::new(out, texts);
    let several = dataset.examples.len() > 1;
    let columns = ["source", "target", "layer", "head", "coefficient", "edge_logit", "self_loop"];
    for column in several.then_some("graph").into_iter().chain(columns) {
        table.word(column);
    }
    table.end()?;
    for (k, example) in dataset.examples.iter().enumerate() {
        let ids: Vec<_> = (0..example.graph.nodes()).map(|node| dataset.node_id(k, node)).collect();
        for edge in model.attention(dataset, k).map_err(io::Error::other)?.edges() {
            if several {
                table.whole(k);
            }
            table.text(&ids[edge.source]);
            table.text(&ids[edge.target]);
            table.whole(edge.layer + 1);
            table.whole(edge.head + 1);
            table.number(edge.coefficient);
            table.number(edge.logit);
            table.word(if edge.is_self_loop() { "true" } else { "false" });
            table.end()?;
        }
    }
    table.finish()
}

pub(super) fn splits(example: &Example<f32>) -> Vec<&'static str> {
    let mut splits = vec![""; example.graph.nodes()];
    // A training node that is also in another split is reported as a training node, so these come last.
    for (name, list) in [("test", &example.test), ("validation", &example.validation), ("train", &example.train)] {
        list.iter().for_each(|&node| splits[node as usize] = name);
    }
    splits
}

pub(super) fn label<'a>(dataset: &'a Dataset, labels: &Labels, node: usize) -> Cow<'a, str> {
    match labels {
        Labels::Single { of, .. } => dataset.class_names.get(of[node] as usize).map_or("", String::as_str).into(),
        Labels::Multi { classes, of } => names(dataset, of[node * classes..][..*classes].iter().map(|has| *has == 1)),
    }
}

fn names(dataset: &Dataset, has: impl Iterator<Item = bool>) -> Cow<'_, str> {
    let names = dataset.class_names.iter().zip(has).filter(|(_, has)| *has).map(|(name, _)| name.as_str());
    names.collect::<Vec<_>>().join(SEPARATOR).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two graphs of three nodes with two classes, and a model that is trained on them for one epoch.
    fn trained(model: &str) -> (Dataset, Classifier) {
        let labels = [Some(0), Some(1), None];
        // A duplicate, a self-loop and a reversed duplicate.
        let edges = [(2, 0), (1, 1), (0, 1), (2, 0), (1, 0)];
        let graph = Dataset::builder(3).edges(&edges).dense_features(&[1.0, -1.0, 0.5], 1).labels(&labels);
        let graph = graph.class_names(["a,b", "c"]).node_ids(["x", "y", "z"]).split(&[0], &[1], &[]);
        let mut dataset = graph.build().unwrap();
        dataset.examples.push(dataset.examples[0].clone());
        dataset.node_ids.as_mut().unwrap().push(["x", "y", "z"].map(str::to_owned).to_vec());
        let builder = Classifier::builder().model(model).layers(3).hidden(2).heads(3).output_heads(2).max_epochs(1);
        let classifier = builder.fit(&dataset).unwrap();
        (dataset, classifier)
    }

    fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn writes_a_row_per_node_of_every_graph() {
        let (dataset, model) = trained("gat-go");
        let found = model.predict(&dataset).unwrap();
        let text = text(|out| predictions(out, &dataset, &found, Texts::Exact));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 6);
        assert_eq!(lines[0], "graph,node,split,label,predicted,\"p_a,b\",p_c");
        assert!(lines[1].starts_with("0,x,train,\"a,b\","), "{}", lines[1]);
        assert!(lines[5].starts_with("1,y,validation,c,"), "{}", lines[5]);
        assert!(lines[6].starts_with("1,z,,,"), "{}", lines[6]);
        let probability: f32 = lines[6].rsplit(',').next().unwrap().parse().unwrap();
        assert_eq!(probability, found.probabilities_of(5)[1]);
    }

    #[test]
    fn safe_texts_are_no_formulas_and_numbers_are_not_changed() {
        for formula in ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1"] {
            assert_eq!(Texts::Safe.field(formula), format!("'{formula}"));
            assert_eq!(Texts::Exact.field(formula), formula);
        }
        assert_eq!(Texts::Safe.field("a=1"), "a=1");
        let (mut dataset, model) = trained("supergat-mx");
        dataset.node_ids.as_mut().unwrap()[0][0] = "=HYPERLINK(1)".into();
        let found = model.predict(&dataset).unwrap();
        let (exact, safe) = (
            text(|out| predictions(out, &dataset, &found, Texts::Exact)),
            text(|out| predictions(out, &dataset, &found, Texts::Safe)),
        );
        assert_eq!(safe, exact.replace("=HYPERLINK", "'=HYPERLINK"));
        let (exact, safe) = (
            text(|out| attention(out, &dataset, &model, Texts::Exact)),
            text(|out| attention(out, &dataset, &model, Texts::Safe)),
        );
        assert!(exact.contains(",-"), "some logit is negative");
        assert_eq!(safe, exact.replace("=HYPERLINK", "'=HYPERLINK"));
    }

    #[test]
    fn counts_the_rows_of_attention() {
        for (name, rows) in [("supergat-mx", 2 * 7 * 9), ("mlp", 0)] {
            let (dataset, model) = trained(name);
            let edges = dataset.examples.iter().map(|example| example.graph.edges()).sum();
            assert_eq!(attention_rows(edges, model.architecture()), rows);
            if rows > 0 {
                assert_eq!(text(|out| attention(out, &dataset, &model, Texts::Exact)).lines().count(), rows + 1);
            }
        }
    }
}
