//! Names of metrics: of all nodes together, and of one class.

use super::{ClassMetrics, Metrics};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Name of a metric.
///
/// ```
/// use supergat_numerics::metrics::Metric;
/// assert_eq!("macro-f1".parse(), Ok(Metric::MacroF1));
/// assert_eq!(Metric::LogLoss.to_string(), "log-loss");
/// assert!(Metric::Auroc.is_higher_better() && !Metric::LogLoss.is_share());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Metric {
    /// Share of right predictions. Undefined where a node may have several labels.
    Accuracy,
    /// Mean recall of the classes. Undefined where a node may have several labels.
    BalancedAccuracy,
    /// Mean F1 of the classes.
    MacroF1,
    /// F1 of all classes together; with one label per node, the accuracy.
    MicroF1,
    /// Mean F1 of the classes, weighted by their nodes.
    WeightedF1,
    /// Area under the ROC curve: of the positive class if there are two, otherwise the mean of each class against the rest.
    Auroc,
    /// Average precision: of the positive class if there are two, otherwise the mean of each class against the rest.
    AveragePrecision,
    /// Share of the positive class among the 10 nodes with its highest probabilities.
    PrecisionAt10,
    /// Share of the positive class among the 100 nodes with its highest probabilities.
    PrecisionAt100,
    /// Share of the positive class among the 1000 nodes with its highest probabilities.
    PrecisionAt1000,
    /// Log loss, also called cross-entropy.
    LogLoss,
    /// Brier score.
    Brier,
    /// Expected calibration error.
    CalibrationError,
}

impl Metric {
    /// All metrics, in the order of tables.
    pub const ALL: [Self; 13] = [
        Self::Accuracy,
        Self::BalancedAccuracy,
        Self::MacroF1,
        Self::MicroF1,
        Self::WeightedF1,
        Self::Auroc,
        Self::AveragePrecision,
        Self::PrecisionAt10,
        Self::PrecisionAt100,
        Self::PrecisionAt1000,
        Self::LogLoss,
        Self::Brier,
        Self::CalibrationError,
    ];

    /// Returns the name, as options and tables have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::BalancedAccuracy => "balanced-accuracy",
            Self::MacroF1 => "macro-f1",
            Self::MicroF1 => "micro-f1",
            Self::WeightedF1 => "weighted-f1",
            Self::Auroc => "auroc",
            Self::AveragePrecision => "average-precision",
            Self::PrecisionAt10 => "precision-at-10",
            Self::PrecisionAt100 => "precision-at-100",
            Self::PrecisionAt1000 => "precision-at-1000",
            Self::LogLoss => "log-loss",
            Self::Brier => "brier",
            Self::CalibrationError => "calibration-error",
        }
    }

    /// Returns the name as a key in files, such as `macro_f1`.
    pub fn key(self) -> String {
        self.name().replace('-', "_")
    }

    /// Returns whether larger values are better.
    pub fn is_higher_better(self) -> bool {
        !matches!(self, Self::LogLoss | Self::Brier | Self::CalibrationError)
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Returns whether the metric is a share, from 0 to 1, which tables show in percent. The two losses are not.
    pub fn is_share(self) -> bool {
        !matches!(self, Self::LogLoss | Self::Brier)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|metric| metric.name() == text).ok_or_else(|| match of_first_nodes(text) {
            true => format!("{FIRST_NODES}, found `{text}`"),
            false => format!("expected one of {}, found `{text}`", Self::names()),
        })
    }
}

/// Says which numbers of first nodes there are.
const FIRST_NODES: &str = "the precision among the first nodes is measured for 10, 100 and 1000 nodes: expected \
                           precision-at-10, precision-at-100 or precision-at-1000";

/// Returns whether a text looks like the name of a precision among the first nodes.
fn of_first_nodes(text: &str) -> bool {
    ["precision-at", "precision_at", "precision@", "p@"].iter().any(|start| text.starts_with(start))
}

impl From<Metric> for String {
    fn from(metric: Metric) -> Self {
        metric.name().to_owned()
    }
}

impl TryFrom<String> for Metric {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Name of a metric of one class.
///
/// ```
/// use supergat_numerics::metrics::{ClassMetric, ClassMetrics};
/// let of = ClassMetrics { nodes: 4, predictions: 0, precision: None, recall: Some(0.0), f1: Some(0.0) };
/// assert_eq!((ClassMetric::Precision.of(&of), ClassMetric::F1.of(&of)), (None, Some(0.0)));
/// assert_eq!("recall".parse(), Ok(ClassMetric::Recall));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClassMetric {
    /// Share of right predictions of the class. Undefined if it was never predicted.
    Precision,
    /// Share of the nodes of the class for which it was predicted. Undefined if the class has no nodes.
    Recall,
    /// Harmonic mean of precision and recall. Undefined if the class has no nodes and was never predicted.
    F1,
}

impl ClassMetric {
    /// All metrics of a class, in the order of tables.
    pub const ALL: [Self; 3] = [Self::Precision, Self::Recall, Self::F1];

    /// Returns the name, as options and files have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Precision => "precision",
            Self::Recall => "recall",
            Self::F1 => "f1",
        }
    }

    /// Returns the value of the metric for a class; `None` if it is undefined.
    pub fn of(self, class: &ClassMetrics) -> Option<f64> {
        match self {
            Self::Precision => class.precision,
            Self::Recall => class.recall,
            Self::F1 => class.f1,
        }
    }
}

impl fmt::Display for ClassMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ClassMetric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|metric| metric.name() == text)
            .ok_or_else(|| format!("expected precision, recall or f1, found `{text}`"))
    }
}

/// Metric that an option names: one of all nodes together, such as `macro-f1`, or one of a class, such as `f1:fraud`.
///
/// The name of a class may contain colons.
///
/// ```
/// use supergat_numerics::metrics::{ClassMetric, Metric, NamedMetric};
/// assert_eq!("auroc".parse(), Ok(NamedMetric::All(Metric::Auroc)));
/// let fraud: NamedMetric = "f1:fraud".parse().unwrap();
/// assert_eq!(fraud, NamedMetric::Class(ClassMetric::F1, "fraud".to_owned()));
/// assert_eq!(fraud.to_string(), "f1:fraud");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NamedMetric {
    /// A metric of all nodes together.
    All(Metric),
    /// A metric of the class with this name.
    Class(ClassMetric, String),
}

impl NamedMetric {
    /// Returns the value of the metric, given the names of the classes; `None` if it is undefined or if there is no
    /// such class.
    ///
    /// ```
    /// use supergat_core::Labels;
    /// use supergat_numerics::metrics::{Metrics, NamedMetric, POSITIVE};
    /// let labels = Labels::Single { classes: 2, of: vec![0, 1, 1] };
    /// let metrics = Metrics::of(&labels, &labels, &[0.9, 0.1, 0.2, 0.8, 0.4, 0.6], POSITIVE);
    /// let names = ["genuine".to_owned(), "fraud".to_owned()];
    /// assert_eq!("recall:fraud".parse::<NamedMetric>().unwrap().of(&metrics, &names), Some(1.0));
    /// assert_eq!("recall:theft".parse::<NamedMetric>().unwrap().of(&metrics, &names), None);
    /// ```
    pub fn of(&self, metrics: &Metrics, class_names: &[String]) -> Option<f64> {
        match self {
            Self::All(metric) => metrics.get(*metric),
            Self::Class(metric, class) => {
                let place = class_names.iter().position(|name| name == class)?;
                metric.of(metrics.classes.get(place)?)
            }
        }
    }
}

impl fmt::Display for NamedMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(metric) => metric.fmt(f),
            Self::Class(metric, class) => f.pad(&format!("{metric}:{class}")),
        }
    }
}

impl FromStr for NamedMetric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = match text.split_once(':') {
            Some((_, "")) => None,
            Some((metric, class)) => metric.parse().ok().map(|metric| Self::Class(metric, class.to_owned())),
            None => text.parse().ok().map(Self::All),
        };
        let expected = "or precision, recall or f1 of a class, such as f1:CLASS";
        found.ok_or_else(|| match of_first_nodes(text) {
            true => format!("{FIRST_NODES}, found `{text}`"),
            false => format!("expected one of {}, {expected}; found `{text}`", Metric::names()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_name_of_its_own() {
        for metric in Metric::ALL {
            assert_eq!(metric.name().parse(), Ok(metric));
            assert_eq!(metric.name().parse(), Ok(NamedMetric::All(metric)));
        }
        assert!("auc".parse::<Metric>().unwrap_err().contains("auroc"));
        for wrong in ["precision-at-50", "precision@10", "precision-at-k"] {
            let errors = [wrong.parse::<Metric>().unwrap_err(), wrong.parse::<NamedMetric>().unwrap_err()];
            let expected = format!("expected precision-at-10, precision-at-100 or precision-at-1000, found `{wrong}`");
            assert!(errors.iter().all(|error| error.ends_with(&expected)), "{errors:?}");
        }
        assert_eq!(Metric::PrecisionAt100.key(), "precision_at_100");
    }

    #[test]
    fn names_of_classes_may_have_colons() {
        for text in ["precision:fraud", "recall:a:b", "f1: ", "f1::"] {
            assert_eq!(text.parse::<NamedMetric>().unwrap().to_string(), text);
        }
        assert_eq!("recall:a:b".parse(), Ok(NamedMetric::Class(ClassMetric::Recall, "a:b".into())));
        for text in ["f1", "f1:", "macro-f1:fraud", ":fraud", ""] {
            let error = text.parse::<NamedMetric>().unwrap_err();
            assert!(error.contains("precision-at-100") && error.contains("such as f1:CLASS"), "{error}");
        }
    }
}
