//! The report of a run: a self-contained HTML page and its figures.
//!
//! | file | contents |
//! |---|---|
//! | `curves.rs` | losses and metrics over the epochs |
//! | `classes.rs` | confusion matrix and metrics of each class; with several labels per node, F1 of each label |
//! | `probabilities.rs` | ROC and precision-recall curves, reliability, gain of the first nodes |
//! | `bins.rs` | metric by degree and by homophily of a node |
//! | `attention.rs` | entropy of attention and its divergence from label agreement, by layer and head |
//! | `edge_types.rs` | attention that each type of link receives |
//! | `place.rs` | position of the graph on the paper's map of degree and homophily |
//! | `neighbours.rs` | which neighbours receive most and least attention |
//!
//! All sections describe the model of the best seed on the test nodes, unless stated otherwise. Sizes are
//! limited: tables, curves and classes are shortened, and attention of very large graphs is skipped with a
//! sentence.

mod attention;
mod bins;
mod classes;
mod curves;
mod edge_types;
mod neighbours;
mod place;
mod probabilities;

pub use curves::EpochLine;

use supergat_core::{Example, Labels, Result};
use supergat_data::Dataset;
use supergat_figure::Page;
use supergat_train::Decision;
use supergat_train::fitted::Fitted;

/// Contents of a report.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The dataset.
    pub dataset: &'a Dataset,
    /// The model of the best seed.
    pub model: &'a Fitted,
    /// Logits of the model, one list per graph.
    pub logits: &'a [Vec<f32>],
    /// Temperature and threshold of its predictions.
    pub decision: &'a Decision,
    /// Epochs of all seeds.
    pub lines: &'a [EpochLine],
    /// The best seed.
    pub seed: u64,
    /// Best epoch of the best seed, counted from 0.
    pub epoch: usize,
    /// Name of the metric, such as accuracy.
    pub metric: &'a str,
}

/// A report page and its figures.
#[derive(Debug, Clone)]
pub struct Report {
    page: Page,
    figures: Vec<(String, String)>,
}

impl Report {
    /// Creates the report of a run, which begins with the given facts.
    pub fn of(run: &Run<'_>, facts: &[(String, String)]) -> Result<Self> {
        let title = format!("{} on {}", run.model.architecture().model, run.dataset.name);
        let page = Page::new(title, "Report of a training run").facts(facts);
        let report = Self { page, figures: Vec::new() };
        let report = curves::add(report, run);
        let report = match run.tested().next() {
            Some(_) => bins::add(probabilities::add(classes::add(report, run)?, run)?, run),
            None => report
                .section("Test nodes")
                .text("There are no test nodes, so results by class, degree and homophily are not available."),
        };
        let report = edge_types::add(attention::add(report, run)?, run)?;
        let report = place::add(report, run);
        neighbours::add(report, run)
    }

    /// Figures: name without extension, and SVG.
    pub fn figures(&self) -> &[(String, String)] {
        &self.figures
    }

    /// Returns the page, with the command that reproduces the run and its configuration without comments.
    pub fn html(&self, again: &str, config: &str) -> String {
        let is_setting = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let config: Vec<&str> = config.lines().filter(is_setting).collect();
        let page = self.page.clone().section("Reproduce this run").code(again);
        page.text("Configuration (explained in config.toml):").code(&config.join("\n")).html()
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
    /// Number of epochs that the best seed ran. Other seeds may have run more or fewer.
    pub fn epochs(&self) -> usize {
        self.lines.iter().filter(|line| line.seed == self.seed).count()
    }

    /// Returns the graphs with test nodes, with their indices and logits.
    fn tested(&self) -> impl Iterator<Item = (usize, &Example<f32>, &[f32])> {
        let all = self.dataset.examples.iter().zip(self.logits).enumerate();
        all.filter(|(_, (example, _))| !example.test.is_empty())
            .map(|(k, (example, logits))| (k, example, logits.as_slice()))
    }

    /// Returns the probabilities of all nodes, one list per graph.
    fn probabilities_of(&self, decision: &Decision) -> Result<Vec<Vec<f32>>> {
        self.logits.iter().map(|logits| decision.probabilities(self.model.architecture(), logits)).collect()
    }

    /// Returns the predicted class of a node with one label, from its logits.
    fn class(&self, logits: &[f32]) -> usize {
        let probabilities = self.decision.probabilities(self.model.architecture(), logits);
        self.decision.class(logits, &probabilities.expect("one number per class"))
    }

    /// Returns the logits of one node.
    fn row<'a>(&self, logits: &'a [f32], node: usize) -> &'a [f32] {
        let classes = self.dataset.classes();
        &logits[node * classes..][..classes]
    }

    /// Returns the name of a node; with several graphs the index of the graph comes first.
    fn node_name(&self, example: usize, node: usize) -> String {
        let name = self.dataset.node_id(example, node);
        if self.dataset.examples.len() > 1 { format!("{example}: {name}") } else { name.into_owned() }
    }

    /// Returns the label of a node as text, or the first few of many labels.
    fn label(&self, labels: &Labels, node: usize) -> String {
        match labels {
            Labels::Single { of, .. } => {
                self.dataset.class_names.get(of[node] as usize).cloned().unwrap_or_else(|| "unknown".into())
            }
            Labels::Multi { classes, of } => self.listed(of[node * classes..][..*classes].iter().map(|has| *has == 1)),
        }
    }

    /// Returns the classes of a node as text.
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

/// Sentence for captions on the intervals of shares.
const INTERVAL: &str = "Lines show 95 % Wilson intervals.";

/// Returns about `most` elements of a longer list at equal distances, and always both ends.
fn thinned<T>(all: &[T], most: usize) -> impl Iterator<Item = &T> {
    let stride = all.len().div_ceil(most).max(1);
    all.iter().enumerate().filter(move |(k, _)| k % stride == 0 || k + 1 == all.len()).map(|(_, element)| element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;
    use supergat_train::{Settings, run_seeds};

    /// Creates the report of a short training, and checks that it is reproducible.
    fn report(dataset: &Dataset, model: &str) -> Report {
        let settings = Settings::general(model.parse().unwrap()).with(|s| s.training.max_epochs = 3);
        let runs = run_seeds(dataset, &settings, &[0, 1], 1, |_| ControlFlow::Continue(())).unwrap();
        let lines: Vec<EpochLine> =
            runs.runs.iter().flat_map(|run| run.history.iter().map(|epoch| EpochLine::new(run.seed, epoch))).collect();
        let best = &runs.runs[runs.best];
        let decision = Decision { temperature: Some(0.5), ..Decision::default() };
        let run = Run {
            dataset,
            model: &runs.model,
            logits: &runs.logits,
            decision: &decision,
            lines: &lines,
            seed: best.seed,
            epoch: best.outcome.best_epoch,
            metric: "accuracy",
        };
        let create = || Report::of(&run, &[("fact".into(), "1".into())]).unwrap();
        assert_eq!(create().html("again", "config"), create().html("again", "config"));
        create()
    }

    fn dataset() -> Dataset {
        let mut dataset = supergat_data::load("random-partition:classes=3,nodes=180,degree=6,homophily=0.6").unwrap();
        dataset.class_names[1] = "<b>".into();
        dataset
    }

    #[test]
    fn thins_curves_and_keeps_both_ends() {
        let all: Vec<usize> = (0..1002).collect();
        let kept: Vec<usize> = thinned(&all, 400).copied().collect();
        assert!(kept.len() <= 401 && kept[0] == 0 && kept[kept.len() - 1] == 1001, "{kept:?}");
        assert_eq!(thinned(&all[..3], 400).count(), 3);
    }

    fn names(report: &Report) -> Vec<&str> {
        report.figures().iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The best seed stopped early, another one ran longer.
    #[test]
    fn counts_the_epochs_of_the_best_seed() {
        let dataset = dataset();
        let settings = Settings::general("mlp".parse().unwrap()).with(|s| s.training.max_epochs = 2);
        let runs = run_seeds(&dataset, &settings, &[0], 1, |_| ControlFlow::Continue(())).unwrap();
        let line = |seed, epoch| EpochLine { epoch, ..EpochLine::new(seed, &runs.runs[0].history[0]) };
        let lines: Vec<EpochLine> = (0..3).map(|k| line(7, k)).chain((0..5).map(|k| line(8, k))).collect();
        let (model, logits) = (&runs.model, &runs.logits[..]);
        let decision = &Decision::default();
        let run =
            Run { dataset: &dataset, model, logits, decision, lines: &lines, seed: 7, epoch: 1, metric: "accuracy" };
        assert_eq!(run.epochs(), 3);
        let page = Report::of(&run, &[("fact", "1")].map(|(a, b)| (a.into(), b.into()))).unwrap().html("", "");
        assert!(page.contains("epoch 1 (counted from 0) of 3"), "{page}");
    }

    #[test]
    fn contains_all_sections() {
        let report = report(&dataset(), "supergat-mx");
        assert_eq!(
            names(&report),
            ["curves", "classes", "probabilities", "degree-and-homophily", "attention", "recipe"]
        );
        let page = report.html("supergat train", "# why\n\nlr = 1\n");
        for words in [
            "Edge loss",
            "most frequent mistakes",
            "average precision (%)",
            "before calibration",
            "Reliability",
            "Neighbours with most and least attention",
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
    fn reports_models_without_attention() {
        let report = report(&dataset(), "mlp");
        let page = report.html("", "");
        assert_eq!(names(&report), ["curves", "classes", "probabilities", "degree-and-homophily", "recipe"]);
        assert!(
            page.contains("This model has no attention.")
                && !page.contains("least attention")
                && !page.contains("Edge loss")
        );
    }

    #[test]
    fn shows_entropy_without_labels() {
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
    fn reports_missing_test_nodes() {
        let mut dataset = dataset();
        dataset.examples[0].test.clear();
        let report = report(&dataset, "gat-go");
        assert_eq!(names(&report), ["curves", "attention", "recipe"]);
        assert!(report.html("", "").contains("There are no test nodes"));
    }

    /// Two graphs of nodes with several labels: training and validation nodes in the first, test nodes in the
    /// second.
    #[test]
    fn shows_f1_of_each_label() {
        let mut dataset = dataset();
        let first = &mut dataset.examples[0];
        let has = (0..first.graph.nodes()).flat_map(|node| [node % 2, 1, usize::from(node % 3 == 0)]);
        first.labels = Labels::Multi { classes: 3, of: has.map(|has| has as u8).collect() };
        let mut second = first.clone();
        (first.test, second.train, second.validation) = (Vec::new(), Vec::new(), Vec::new());
        dataset.examples.push(second);
        let report = report(&dataset, "gat-go");
        assert_eq!(
            names(&report),
            ["curves", "labels", "probabilities", "degree-and-homophily", "attention", "recipe"]
        );
        let page = report.html("", "");
        assert!(page.contains("F1 of each label") && page.contains("1: ") && !page.contains("Wilson"), "{page}");
    }
}
