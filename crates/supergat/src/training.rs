//! A finished training: its best model, runs and metrics.

use crate::choice::Choice;
use crate::classifier::Classifier;
use crate::error::Result;
use crate::members::Member;
use crate::predictions::Predictions;
use std::collections::BTreeMap;
use supergat_data::Dataset;
use supergat_numerics::metrics::Metric;
use supergat_numerics::statistics::Summary;
use supergat_train::measure::metric_summary;
use supergat_train::{
    ClassSummary, DecisionOptions, Ensemble, Fitted, Runs, SeedMetrics, SeedRun, class_summaries, metric_of,
};

/// A finished training: the best model, and what happened with every seed. See [`crate::ClassifierBuilder`] for an example.
#[derive(Debug)]
pub struct Training {
    /// Model of the seed with the best validation metric; with an ensemble, the models of all seeds, which predict the
    /// mean of their probabilities.
    pub classifier: Classifier,
    /// Result of every seed, in the order of the seeds.
    pub runs: Vec<SeedRun>,
    /// Metric of the runs, by which the best epoch and seed were chosen; with `Select::Loss`, only reported.
    pub metric: Metric,
    /// All metrics of every seed, in the order of the seeds.
    pub metrics: Vec<SeedMetrics>,
    /// Index into `runs` of the best seed; the earlier seed wins a tie.
    pub best: usize,
    /// Predictions of the model of the best seed for the training dataset.
    pub predictions: Predictions,
    /// Predictions with the mean probabilities of all seeds, and their metrics, if they were wanted.
    pub ensemble: Option<(Predictions, SeedMetrics)>,
    /// Whether classes have weights in the loss.
    pub has_class_weights: bool,
    /// Recommendation that named the model, if it was chosen automatically.
    pub recommendation: Option<supergat_select::recommend::quick::QuickAnswer>,
    /// Whether the observer stopped the training. Seeds may then be missing, and the last ones have fewer epochs.
    pub interrupted: bool,
}

impl Training {
    /// Builds the result of a training from its runs and their metrics. `dataset` is the one of the best run.
    pub fn of(dataset: &Dataset, choice: Choice, runs: Runs, metrics: Vec<SeedMetrics>) -> Result<Self> {
        let Choice { settings, recommendation, .. } = choice;
        let decision = metrics[runs.best].decision.clone();
        let names = dataset.class_names.clone();
        let predictions = Predictions::new(runs.model.architecture(), names, runs.logits, &decision)?;
        let best = Member::of(&runs.runs[runs.best], runs.model, decision, dataset)?;
        let classifier = Classifier::trained(best, settings, dataset);
        let (runs, best, interrupted) = (runs.runs, runs.best, runs.interrupted);
        let metric = metric_of(dataset, &settings);
        let has_class_weights = dataset.examples.iter().any(|example| example.class_weights.is_some());
        Ok(Self {
            classifier,
            runs,
            metric,
            metrics,
            best,
            predictions,
            ensemble: None,
            has_class_weights,
            recommendation,
            interrupted,
        })
    }

    /// Adds predictions with the mean probabilities of all seeds, whose probabilities are in the ensemble. The classifier
    /// then has all of their `models`, by seed.
    pub fn with_ensemble(
        mut self,
        dataset: &Dataset,
        ensemble: Ensemble,
        models: &BTreeMap<u64, Fitted>,
        options: &DecisionOptions,
    ) -> Result<Self> {
        let Some(settings) = self.classifier.card.settings else { return Ok(self) };
        if let [metrics] = &self.metrics[..] {
            // The mean of one is the model itself.
            self.ensemble = Some((self.predictions.clone(), metrics.clone()));
        } else if let Some((logits, metrics)) = ensemble.measured(dataset, &settings, options)? {
            let (architecture, names) = (self.classifier.architecture(), dataset.class_names.clone());
            let predictions = Predictions::new(architecture, names, logits, &metrics.decision)?;
            let member = |(run, metrics): (&SeedRun, &SeedMetrics)| {
                Ok(Member::of(run, models[&run.seed].clone(), metrics.decision.clone(), dataset)?)
            };
            self.classifier.members = self.runs.iter().zip(&self.metrics).map(member).collect::<Result<_>>()?;
            self.classifier.card.decision = metrics.decision.clone();
            self.ensemble = Some((predictions, metrics));
        }
        Ok(self)
    }

    /// Predictions of the classifier for the training dataset: those of the best seed, or of the ensemble.
    pub fn predicted(&self) -> &Predictions {
        self.ensemble.as_ref().map_or(&self.predictions, |(mean, _)| mean)
    }

    /// Summarises the test metric of all seeds. Without test nodes, its values are 0, and [`Training::test_metric`]
    /// returns `None`.
    pub fn test(&self) -> Summary {
        Summary::of(self.runs.iter().map(|run| run.outcome.test.metric).collect())
    }

    /// Summarises the validation metric of all seeds.
    pub fn validation(&self) -> Summary {
        Summary::of(self.runs.iter().map(|run| run.outcome.validation.metric).collect())
    }

    /// Summarises any metric of the test nodes over all seeds; `None` unless it is defined for all.
    ///
    /// ```
    /// use supergat::Metric;
    /// let dataset = supergat::load("random-partition:classes=3,nodes=180,degree=8,homophily=0.9")?;
    /// let training = supergat::Classifier::builder().model("gcn").max_epochs(20).seeds(0..2).train(&dataset)?;
    /// assert_eq!(training.test_metric(Metric::Accuracy), Some(training.test()));
    /// assert!(training.test_metric(Metric::Auroc).unwrap().mean > 0.5);
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn test_metric(&self, metric: Metric) -> Option<Summary> {
        metric_summary(self.metrics.iter().map(|seed| seed.test.as_ref()), metric)
    }

    /// Summarises any metric of the validation nodes over all seeds, as [`Training::test_metric`] does.
    pub fn validation_metric(&self, metric: Metric) -> Option<Summary> {
        metric_summary(self.metrics.iter().map(|seed| seed.validation.as_ref()), metric)
    }

    /// Summarises precision, recall and F1 of every class over all seeds, for the test nodes, in the order of the
    /// classes. Empty without test nodes. The values of each seed are in [`Training::metrics`].
    ///
    /// ```
    /// let dataset = supergat::load("random-partition:classes=3,nodes=180,degree=8,homophily=0.9")?;
    /// let training = supergat::Classifier::builder().model("gcn").max_epochs(20).seeds(0..2).train(&dataset)?;
    /// let classes = training.test_classes();
    /// assert_eq!((classes.len(), classes[2].class.as_str(), classes[2].recall.values.len()), (3, "2", 2));
    /// let first = training.metrics[0].test.as_ref().unwrap();
    /// assert_eq!(classes[2].recall.values[0], first.classes[2].recall);
    /// # Ok::<(), supergat::Error>(())
    /// ```
    pub fn test_classes(&self) -> Vec<ClassSummary> {
        class_summaries(self.classifier.class_names(), self.metrics.iter().map(|seed| seed.test.as_ref()))
    }

    /// Summarises precision, recall and F1 of every class for the validation nodes, as [`Training::test_classes`] does.
    pub fn validation_classes(&self) -> Vec<ClassSummary> {
        class_summaries(self.classifier.class_names(), self.metrics.iter().map(|seed| seed.validation.as_ref()))
    }

    /// Returns sentences about useless models, such as those that predict one class for all nodes. The last one recommends
    /// what to try, except for options that are already set.
    pub fn warnings(&self) -> Vec<String> {
        let names = self.classifier.class_names();
        supergat_train::measure::warnings(&self.metrics, names, self.metric, self.has_class_weights)
    }
}
