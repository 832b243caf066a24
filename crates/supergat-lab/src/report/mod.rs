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

use supergat::{Example, Labels, Model, Result};
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
        let report = classes::add(report, run);
        let report = bins::add(report, run);
        let report = attention::add(report, run)?;
        let report = place::add(report, run);
        neighbours::add(report, run)
    }

    /// The figures: a name without ending, and an SVG.
    pub fn figures(&self) -> &[(String, String)] {
        &self.figures
    }

    /// The page, with the configuration and the command that runs it again.
    pub fn html(&self, again: &str, config: &str) -> String {
        let page = self.page.clone().section("To run it again").code(again);
        page.text("The configuration, which is also in config.toml:").code(config).html()
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
