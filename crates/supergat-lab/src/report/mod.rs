//! The report of a run: one page that a browser shows without anything else, and its figures.
//!
//! | file | what it shows |
//! |---|---|
//! | `curves.rs` | losses and metrics over the epochs |
//! | `classes.rs` | which classes are taken for which; with several labels per node, F1 of each |
//! | `bins.rs` | the metric by degree and by homophily of a node |
//! | `attention.rs` | entropy of attention and its divergence from label agreement, by layer and head |
//! | `place.rs` | where the graph lies on the paper's map of degree and homophily |
//! | `neighbours.rs` | whom some nodes trust most and least |
//!
//! Everything is about the model of the best seed and the test nodes, unless it says otherwise. Sizes are bounded: tables, curves and classes are cut to what
//! a person reads, and attention of very large graphs is left out with a sentence.

mod attention;
mod bins;
mod classes;
mod curves;
mod neighbours;
mod place;

pub use curves::EpochLine;

use supergat_core::{Example, Labels, Model, Result};
use supergat_data::Dataset;
use supergat_figure::Page;

/// What a report is about.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The dataset.
    pub dataset: &'a Dataset,
    /// The model of the best seed.
    pub model: &'a Model<f32>,
    /// Its logits, one list per graph.
    pub logits: &'a [Vec<f32>],
    /// The epochs of all seeds.
    pub lines: &'a [EpochLine],
    /// The best seed.
    pub seed: u64,
    /// Its best epoch.
    pub epoch: usize,
    /// What is measured, such as accuracy.
    pub metric: &'a str,
}

/// A page in the making, and its figures by name.
#[derive(Debug, Clone)]
pub struct Report {
    page: Page,
    figures: Vec<(String, String)>,
}

impl Report {
    /// The report of a run, which begins with the given facts.
    pub fn of(run: &Run<'_>, facts: &[(String, String)]) -> Result<Self> {
        let title = format!("{} on {}", run.model.architecture().model, run.dataset.name);
        let page = Page::new(title, "Report of a training run").facts(facts);
        let report = Self { page, figures: Vec::new() };
        let report = curves::add(report, run);
        let report = match run.tested().next() {
            Some(_) => bins::add(classes::add(report, run), run),
            None => {
                report.section("Test nodes").text("No node is for testing, so classes and degrees have no accuracy.")
            }
        };
        let report = attention::add(report, run)?;
        let report = place::add(report, run);
        neighbours::add(report, run)
    }

    /// The figures: a name without ending, and an SVG.
    pub fn figures(&self) -> &[(String, String)] {
        &self.figures
    }

    /// The page, with the configuration, less its comments, and the command that runs it again.
    pub fn html(&self, again: &str, config: &str) -> String {
        let plain = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let config: Vec<&str> = config.lines().filter(plain).collect();
        let page = self.page.clone().section("To run it again").code(again);
        page.text("The configuration, which config.toml explains:").code(&config.join("\n")).html()
    }

    fn section(self, heading: &str) -> Self {
        Self { page: self.page.section(heading), ..self }
    }

    fn text(self, paragraph: &str) -> Self {
        Self { page: self.page.text(paragraph), ..self }
    }

    fn table(self, header: &[&str], rows: &[Vec<String>]) -> Self {
        Self { page: self.page.table(header, rows), ..self }
    }

    fn figure(mut self, name: &str, svg: String, caption: &str) -> Self {
        self.page = self.page.figure(&svg, caption);
        self.figures.push((name.to_owned(), svg));
        self
    }
}

impl Run<'_> {
    /// The graphs that have test nodes, with their numbers and logits.
    fn tested(&self) -> impl Iterator<Item = (usize, &Example<f32>, &[f32])> {
        let all = self.dataset.examples.iter().zip(self.logits).enumerate();
        all.filter(|(_, (example, _))| !example.test.is_empty())
            .map(|(k, (example, logits))| (k, example, logits.as_slice()))
    }

    /// The logits of one node.
    fn row<'a>(&self, logits: &'a [f32], node: usize) -> &'a [f32] {
        let classes = self.dataset.classes();
        &logits[node * classes..][..classes]
    }

    /// What a person calls a node; with several graphs its graph comes first.
    fn node_name(&self, example: usize, node: usize) -> String {
        let name = self.dataset.node_id(example, node);
        if self.dataset.examples.len() > 1 { format!("{example}: {name}") } else { name.into_owned() }
    }

    /// The label of a node in words: of many labels the first few.
    fn label(&self, labels: &Labels, node: usize) -> String {
        match labels {
            Labels::Single { of, .. } => {
                self.dataset.class_names.get(of[node] as usize).cloned().unwrap_or_else(|| "unknown".into())
            }
            Labels::Multi { classes, of } => self.listed(of[node * classes..][..*classes].iter().map(|has| *has == 1)),
        }
    }

    /// The classes that a node has, in words.
    fn listed(&self, has: impl Iterator<Item = bool>) -> String {
        let names: Vec<&str> =
            has.zip(&self.dataset.class_names).filter(|(has, _)| *has).map(|(_, name)| name.as_str()).collect();
        match names.len() {
            0 => "none".into(),
            1..=3 => names.join(", "),
            many => format!("{}, ... ({many})", names[..2].join(", ")),
        }
    }
}

/// How well a share is known from so many nodes; a sentence for captions.
const INTERVAL: &str = "Lines show 95 % intervals (Wilson's).";

/// `1 node`, `2 nodes`.
fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, run_seeds};
    use std::ops::ControlFlow;

    /// The report of a short training, made twice.
    fn report(dataset: &Dataset, model: &str) -> Report {
        let settings = Settings { max_epochs: 3, ..Settings::general(model.parse().unwrap()) };
        let runs = run_seeds(dataset, &settings, &[0, 1], 1, |_| ControlFlow::Continue(())).unwrap();
        let lines: Vec<EpochLine> =
            runs.runs.iter().flat_map(|run| run.history.iter().map(|epoch| EpochLine::new(run.seed, epoch))).collect();
        let best = &runs.runs[runs.best];
        let run = Run {
            dataset,
            model: &runs.model,
            logits: &runs.logits,
            lines: &lines,
            seed: best.seed,
            epoch: best.outcome.best_epoch,
            metric: "accuracy",
        };
        let made = || Report::of(&run, &[("fact".into(), "1".into())]).unwrap();
        assert_eq!(made().html("again", "config"), made().html("again", "config"));
        made()
    }

    fn dataset() -> Dataset {
        let mut dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.6").unwrap();
        dataset.class_names[1] = "<b>".into();
        dataset
    }

    fn names(report: &Report) -> Vec<&str> {
        report.figures().iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn a_report_shows_all_that_there_is() {
        let report = report(&dataset(), "supergat-mx");
        assert_eq!(names(&report), ["curves", "classes", "degree-and-homophily", "attention", "recipe"]);
        let page = report.html("supergat train", "# why\n\nlr = 1\n");
        for words in [
            "Loss of the edges",
            "most frequent mistakes",
            "Most and least trusted",
            "times uniform",
            "lr = 1",
            "&lt;b&gt;",
        ] {
            assert!(page.contains(words), "{words}");
        }
        assert!(
            !page.contains("NaN") && !page.contains("why") && !page.contains("<b>") && !page.contains("no data"),
            "{page}"
        );
    }

    #[test]
    fn models_without_attention_say_so() {
        let report = report(&dataset(), "mlp");
        let page = report.html("", "");
        assert_eq!(names(&report), ["curves", "classes", "degree-and-homophily", "recipe"]);
        assert!(
            page.contains("This model has no attention.")
                && !page.contains("trusted")
                && !page.contains("Loss of the edges")
        );
    }

    #[test]
    fn entropy_needs_no_labels() {
        let mut dataset = dataset();
        let example = &mut dataset.examples[0];
        for nodes in [&mut example.train, &mut example.validation, &mut example.test] {
            nodes.retain(|node| node % 2 == 1);
        }
        if let Labels::Single { of, .. } = &mut example.labels {
            of.iter_mut().step_by(2).for_each(|label| *label = Labels::UNKNOWN);
        }
        let page = report(&dataset, "gat-go").html("", "");
        assert!(page.contains("540 values") && !page.contains("for the 540 nodes"), "{page}");
    }

    #[test]
    fn without_test_nodes_there_is_a_sentence() {
        let mut dataset = dataset();
        dataset.examples[0].test.clear();
        let report = report(&dataset, "gat-go");
        assert_eq!(names(&report), ["curves", "attention", "recipe"]);
        assert!(report.html("", "").contains("No node is for testing"));
    }

    /// Two graphs of nodes with several labels: the first for training and validation, the second for testing.
    #[test]
    fn several_labels_have_their_own_measures() {
        let mut dataset = dataset();
        let first = &mut dataset.examples[0];
        let has = (0..first.graph.nodes()).flat_map(|node| [node % 2, 1, usize::from(node % 3 == 0)]);
        first.labels = Labels::Multi { classes: 3, of: has.map(|has| has as u8).collect() };
        let mut second = first.clone();
        (first.test, second.train, second.validation) = (Vec::new(), Vec::new(), Vec::new());
        dataset.examples.push(second);
        let report = report(&dataset, "gat-go");
        assert_eq!(names(&report), ["curves", "labels", "degree-and-homophily", "attention", "recipe"]);
        let page = report.html("", "");
        assert!(page.contains("F1 of each label") && page.contains("1: ") && !page.contains("Wilson"), "{page}");
    }
}
