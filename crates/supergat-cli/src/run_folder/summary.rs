//! Result of a training: the object in `summary.json` and of `train --json`, also formatted as a table.

use crate::config::keys::nearest_first;
use crate::error::CliError;
use crate::output::{self, BOLD, count};
use crate::run_folder::{SUMMARY, read};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::path::Path;
use supergat::{
    ClassMetric, ClassSummary, CorrectAndSmooth, Metric, Metrics, NamedMetric, Score, SeedCorrection, SeedMetrics,
    SeedRun, Training,
};
use supergat_data::Dataset;
use supergat_numerics::statistics::Summary;
use supergat_train::class_summaries;
use supergat_train::measure::{MetricSummaries, metric_summaries};

/// Width of the list with the values of all seeds, in characters.
const LIST_WIDTH: usize = 60;

/// Result of a training.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunSummary {
    /// Version of the object: [`RunSummary::SCHEMA`].
    pub schema: u32,
    /// Name of the dataset.
    pub dataset: String,
    /// Dataset as given by the user: a name, path or specification.
    pub source: String,
    /// Name of the model.
    pub model: String,
    /// Name of the metric: accuracy, micro-f1, or the one by which the best epoch was chosen.
    pub metric: String,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// Number of the split of each run, if every run has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<usize>,
    /// Test metric of each seed, at its best validation epoch; `None` without test nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Summary>,
    /// Validation metric of each seed, at its best validation epoch.
    pub validation: Summary,
    /// Seed with the best validation metric; the run folder contains its model.
    pub best_seed: u64,
    /// Number of epochs of each seed.
    pub epochs: Vec<usize>,
    /// Best validation epoch of each seed, counted from 0.
    pub best_epochs: Vec<usize>,
    /// Order of the nodes inside the engine: given, local or parts.
    #[serde(default = "given")]
    pub node_order: String,
    /// Duration of the whole training, in seconds.
    pub seconds: f64,
    /// Whether the training was interrupted.
    pub interrupted: bool,
    /// Path of the run folder.
    pub run_dir: String,
    /// Sentences about useless models and unreliable thresholds, and what to try.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Notes of the reader of the dataset: what it recognised, counted and skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// All metrics over the seeds, with the temperature and the threshold of each.
    #[serde(default)]
    pub metrics: SplitMetrics,
    /// Correct and Smooth, with the metrics before it, if the runs have it. All other metrics are those after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correct_and_smooth: Option<CorrectionSummary>,
    /// Calibration of the probabilities, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Threshold of the second of two classes, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Thresholds>,
    /// All metrics of the mean probabilities of all seeds, if predictions.csv has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ensemble: Option<SplitMetrics>,
}

/// Metrics over the seeds, by name.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SplitMetrics {
    /// Metrics of the validation nodes.
    pub validation: MetricSummaries,
    /// Metrics of the test nodes.
    pub test: MetricSummaries,
    /// Precision, recall and F1 of every class.
    #[serde(default)]
    pub classes: SplitClasses,
}

/// Metrics of every class over the seeds. Files of earlier versions have no classes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SplitClasses {
    /// Metrics of the validation nodes.
    pub validation: Vec<ClassSummary>,
    /// Metrics of the test nodes.
    pub test: Vec<ClassSummary>,
}

impl SplitMetrics {
    /// Summarises the metrics of all seeds.
    pub fn of(seeds: &[SeedMetrics], class_names: &[String]) -> Self {
        let validation = || seeds.iter().map(|seed| seed.validation.as_ref());
        let test = || seeds.iter().map(|seed| seed.test.as_ref());
        Self {
            validation: metric_summaries(validation()),
            test: metric_summaries(test()),
            classes: SplitClasses {
                validation: class_summaries(class_names, validation()),
                test: class_summaries(class_names, test()),
            },
        }
    }

    /// Returns a metric of the test nodes over the seeds, or the reason why there is none, as the end of a sentence
    /// about the run.
    pub fn test(&self, metric: &NamedMetric) -> Result<Summary, String> {
        let missing = "has no such metric of its test nodes; train again with this version, or compare another one";
        let (metric, class) = match metric {
            NamedMetric::All(metric) => {
                let found = self.test.get(&metric.key()).cloned();
                return found.ok_or_else(|| self.too_few(*metric).unwrap_or_else(|| missing.into()));
            }
            NamedMetric::Class(..) if self.classes.test.is_empty() => return Err(missing.into()),
            NamedMetric::Class(metric, class) => (*metric, class),
        };
        let Some(found) = self.classes.test.iter().find(|other| other.class == *class) else {
            let names = nearest_first(class, self.classes.test.iter().map(|other| other.class.clone()).collect());
            return Err(format!(
                "has no class `{class}`; name one such as {}",
                names[..names.len().min(3)].join(" or ")
            ));
        };
        found.get(metric).complete().ok_or_else(|| {
            let seeds = found.get(metric).values.iter().filter(|value| value.is_none()).count();
            let (reason, other) = match metric {
                ClassMetric::Precision => ("never predicted", "recall or f1"),
                ClassMetric::Recall => ("not a class of any test node", "precision"),
                ClassMetric::F1 => ("neither predicted nor a class of any test node", "another class"),
            };
            let seeds = count(seeds, "run");
            format!("has {seeds} in which `{class}` is {reason}, so its {metric} is undefined; compare {other}")
        })
    }

    /// Returns why the test nodes have no precision among the first nodes, as the end of a sentence about the run.
    /// Returns `None` for other metrics, and if the reason cannot be told from the file.
    fn too_few(&self, metric: Metric) -> Option<String> {
        let first = match metric {
            Metric::PrecisionAt10 => 10,
            Metric::PrecisionAt100 => 100,
            Metric::PrecisionAt1000 => 1000,
            _ => return None,
        };
        let classes = &self.classes.test;
        let name = &classes.first()?.class;
        if classes.len() != 2 || !self.test.contains_key(&Metric::Accuracy.key()) {
            return Some(format!(
                "does not have it, because {metric} needs two classes, one class per node; compare the precision of a \
                 class, such as precision:{name}"
            ));
        }
        // Runs with different splits may have different numbers of test nodes.
        let runs = classes[0].nodes.values.iter().zip(&classes[1].nodes.values);
        let nodes = runs.map(|(first, second)| (first + second) as usize).min()?;
        let known = |metric: &&Metric| self.test.contains_key(&metric.key());
        let other = [Metric::PrecisionAt100, Metric::PrecisionAt10, Metric::AveragePrecision];
        let other = other.iter().find(known).unwrap_or(&Metric::Accuracy);
        (nodes < first)
            .then(|| format!("has {}, and {metric} needs {first}; compare {other}", count(nodes, "test node")))
    }
}

/// Correct and Smooth of every seed.
#[derive(Debug, Serialize, Deserialize)]
pub struct CorrectionSummary {
    /// Method of each seed, with its numbers.
    pub methods: Vec<CorrectAndSmooth>,
    /// Whether labels of validation nodes are inputs of the predictions of other nodes.
    pub uses_validation_labels: bool,
    /// Test metric of each seed before; `None` without test nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_before: Option<Summary>,
    /// Validation metric of each seed before.
    pub validation_before: Summary,
}

impl CorrectionSummary {
    /// Summarises the runs, with test metrics if there are test nodes; `None` unless all runs have it.
    fn of(runs: &[SeedRun], has_test_nodes: bool) -> Option<Self> {
        let all: Option<Vec<_>> = runs.iter().map(|run| run.correction.as_ref()).collect();
        let all = all.filter(|all| !all.is_empty())?;
        let summary = |score: fn(&SeedCorrection) -> Score| {
            Summary::of(all.iter().map(|correction| score(correction).metric).collect())
        };
        Some(Self {
            uses_validation_labels: all[0].method.validation,
            methods: all.iter().map(|correction| correction.method).collect(),
            test_before: has_test_nodes.then(|| summary(|correction| correction.test)),
            validation_before: summary(|correction| correction.validation),
        })
    }
}

/// Calibration of the probabilities of every seed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Calibration {
    /// Method: `temperature`.
    pub method: String,
    /// Temperature of each seed.
    pub temperatures: Vec<f64>,
    /// Expected calibration error of the validation nodes.
    pub validation: BeforeAfter,
    /// Expected calibration error of the test nodes; `None` without any.
    pub test: Option<BeforeAfter>,
}

/// Expected calibration error over the seeds.
#[derive(Debug, Serialize, Deserialize)]
pub struct BeforeAfter {
    /// Error before calibration.
    pub before: Summary,
    /// Error after calibration.
    pub after: Summary,
}

impl BeforeAfter {
    fn of<'a>(errors: impl Iterator<Item = (Option<f64>, Option<&'a Metrics>)>) -> Option<Self> {
        let both: Option<Vec<[f64; 2]>> =
            errors.map(|(before, after)| Some([before?, after?.calibration_error?])).collect();
        let both = both.filter(|both| !both.is_empty())?;
        let summary = |k: usize| Summary::of(both.iter().map(|pair| pair[k]).collect());
        Some(Self { before: summary(0), after: summary(1) })
    }
}

impl Calibration {
    /// Summarises the calibration of all seeds; `None` unless all have a temperature.
    fn of(seeds: &[SeedMetrics]) -> Option<Self> {
        let temperatures: Option<Vec<f64>> = seeds.iter().map(|seed| seed.decision.temperature).collect();
        Some(Self {
            method: "temperature".to_owned(),
            temperatures: temperatures?,
            validation: BeforeAfter::of(seeds.iter().map(|seed| (seed.uncalibrated[0], seed.validation.as_ref())))?,
            test: BeforeAfter::of(seeds.iter().map(|seed| (seed.uncalibrated[1], seed.test.as_ref()))),
        })
    }
}

/// Threshold of every seed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Thresholds {
    /// Threshold of each seed: the probability of the positive class from which on it is predicted.
    pub values: Vec<f64>,
    /// Why the rule could not be followed, for each seed in which it could not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Thresholds {
    fn of(seeds: &[SeedMetrics]) -> Option<Self> {
        let all: Option<Vec<_>> = seeds.iter().map(|seed| seed.decision.threshold.as_ref()).collect();
        let all = all?;
        let notes = all.iter().filter_map(|threshold| threshold.note.clone()).collect();
        Some(Self { values: all.iter().map(|threshold| threshold.value).collect(), notes })
    }
}

/// Order of the nodes in runs before it was recorded.
fn given() -> String {
    "given".into()
}

/// Formats the mean and, for several values, the standard deviation in percent.
pub fn percent(summary: &Summary) -> String {
    match summary.values.len() {
        1 => format!("{:.2} %", 100.0 * summary.mean),
        _ => format!("{:.2} ± {:.2} %", 100.0 * summary.mean, 100.0 * summary.std),
    }
}

impl RunSummary {
    /// Current version of the object. Metrics of version 1 were in percent; they are from 0 to 1.
    pub const SCHEMA: u32 = 2;

    /// Summarises the runs. The path of the run folder is set later.
    pub fn of(dataset: &Dataset, source: &str, training: &Training, seconds: f64) -> Self {
        let (class_names, ensemble) = (training.classifier.class_names(), training.ensemble.as_ref());
        let has_test_nodes = training.metrics.iter().all(|seed| seed.test.is_some());
        Self {
            schema: Self::SCHEMA,
            dataset: dataset.name.clone(),
            source: source.to_owned(),
            model: training.classifier.model_name(),
            metric: training.metric.to_string(),
            seeds: training.runs.iter().map(|run| run.seed).collect(),
            splits: Vec::new(),
            test: has_test_nodes.then(|| training.test()),
            validation: training.validation(),
            best_seed: training.runs[training.best].seed,
            epochs: training.runs.iter().map(|run| run.outcome.epochs).collect(),
            best_epochs: training.runs.iter().map(|run| run.outcome.best_epoch).collect(),
            node_order: dataset.node_order().to_owned(),
            seconds,
            interrupted: training.interrupted,
            run_dir: String::new(),
            warnings: training.warnings().iter().map(|warning| output::in_options(warning)).collect(),
            notes: dataset.notes.iter().map(|note| output::in_options(note)).collect(),
            metrics: SplitMetrics::of(&training.metrics, class_names),
            correct_and_smooth: CorrectionSummary::of(&training.runs, has_test_nodes),
            calibration: Calibration::of(&training.metrics),
            threshold: Thresholds::of(&training.metrics),
            ensemble: ensemble.map(|(_, metrics)| SplitMetrics::of(std::slice::from_ref(metrics), class_names)),
        }
    }

    /// Reads the summary of a run folder. Fails if another version of the program wrote it.
    pub fn read(folder: &Path) -> crate::error::Result<Self> {
        let text = read(folder, SUMMARY)?;
        let unreadable = |reason: &dyn Display| {
            CliError::usage(format!(
                "{}: {reason}, so this version of supergat cannot read it: train again, or use the version that wrote it",
                folder.join(SUMMARY).display()
            ))
        };
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
        match value.get("schema").and_then(serde_json::Value::as_u64) {
            Some(schema) if schema == u64::from(Self::SCHEMA) => {
                serde_json::from_value(value).map_err(|error| unreadable(&error))
            }
            Some(schema) => Err(unreadable(&format!("its schema is {schema} instead of {}", Self::SCHEMA))),
            None => Err(unreadable(&"it has no schema")),
        }
    }

    /// Returns the name of what differs between the runs: seed or split.
    pub fn unit(&self) -> &'static str {
        if self.splits.is_empty() { "seed" } else { "split" }
    }

    /// Formats the result as a table.
    pub fn table(&self) -> String {
        let Self { dataset, model, metric, .. } = self;
        let several = self.seeds.len() > 1;
        let warning = |warning: &String| format!("{BOLD}warning:{BOLD:#} {}\n", output::visible(warning));
        let mut text: String = self.warnings.iter().map(warning).collect();
        text += &format!("{BOLD}{model} on {dataset}{BOLD:#}");
        text += if self.interrupted { ", interrupted\n" } else { "\n" };
        let mut row = |name: &str, value: &str, explanation: &str| text += &output::row(name, value, explanation);
        let unit = self.unit();
        let seeds = if several { format!(", {}", count(self.seeds.len(), unit)) } else { String::new() };
        let (nodes, first, no_test) = match &self.test {
            Some(test) => ("test", test, ""),
            None => ("validation", &self.validation, "; there are no test nodes"),
        };
        let explanation = format!("(at the best validation epoch{seeds}{no_test})");
        row(&format!("{nodes} {metric}"), &percent(first), &explanation);
        if several {
            for (k, line) in wrapped(&first.values).iter().enumerate() {
                row(&if k == 0 { format!("  of each {unit}") } else { String::new() }, line, "");
            }
        }
        if self.test.is_some() {
            row(&format!("validation {metric}"), &percent(&self.validation), "");
        }
        if let Some(CorrectionSummary { test_before, validation_before, uses_validation_labels, .. }) =
            &self.correct_and_smooth
        {
            match test_before {
                Some(test) => {
                    row("test before C&S", &percent(test), &format!("(validation: {})", percent(validation_before)))
                }
                None => row("before C&S", &percent(validation_before), "(validation)"),
            }
            if *uses_validation_labels {
                row("validation labels", "used", "(by Correct and Smooth, for the predictions of other nodes)");
            }
        }
        for other in [Metric::MacroF1, Metric::Auroc].into_iter().filter(|other| other.name() != metric) {
            let found = self.metrics.test.get(&other.key());
            found.into_iter().for_each(|found| row(&format!("test {other}"), &percent(found), ""));
        }
        if let Some(error) = self.calibration.as_ref().map(|found| found.test.as_ref().unwrap_or(&found.validation)) {
            let before = format!("(before calibration: {})", percent(&error.before));
            row("calibration error", &percent(&error.after), &before);
        }
        if let Some(Thresholds { values, notes }) = &self.threshold {
            let list: Vec<String> = values.iter().map(|value| format!("{value:.4}")).collect();
            row("threshold", &list.join(" "), &notes.first().map_or(String::new(), |note| format!("({note})")));
        }
        if let Some(found) = self.ensemble.as_ref().and_then(|metrics| metrics.test.get(&metric.replace('-', "_"))) {
            row("test, mean of seeds", &percent(found), "(predictions.csv)");
        }
        let (epochs, best) = (&self.epochs, self.best_epochs[0]);
        let (least, most) = (epochs.iter().min().unwrap_or(&0), epochs.iter().max().unwrap_or(&0));
        match several {
            false => row("epochs", &most.to_string(), &format!("(best: {best}, counted from 0)")),
            true if least == most => row("epochs", &most.to_string(), "each"),
            true => row("epochs", &format!("{least} to {most}"), ""),
        }
        row("seconds", &format!("{:.1}", self.seconds), "");
        row("run folder", &self.run_dir, "");
        text
    }
}

/// Formats values in percent, as lines of limited width.
fn wrapped(values: &[f64]) -> Vec<String> {
    let mut lines = vec![String::new()];
    for value in values {
        let word = format!("{:.2}", 100.0 * value);
        if lines.last().is_some_and(|line| line.len() + 1 + word.len() > LIST_WIDTH) {
            lines.push(String::new());
        }
        let line = lines.last_mut().expect("never empty");
        if !line.is_empty() {
            line.push(' ');
        }
        *line += &word;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_long_lists() {
        let values: Vec<f64> = (0..25).map(|k| 0.8 + f64::from(k) / 10_000.0).collect();
        let lines = wrapped(&values);
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() <= LIST_WIDTH));
        assert_eq!(lines.join(" ").split(' ').count(), 25);
        assert!(lines[0].starts_with("80.00 80.01 ") && lines[2].ends_with("80.24"));
    }

    #[test]
    fn omits_deviation_of_a_single_value() {
        assert_eq!(percent(&Summary::of(vec![0.8125])), "81.25 %");
        assert_eq!(percent(&Summary::of(vec![0.8, 0.82])), "81.00 ± 1.41 %");
    }
}
