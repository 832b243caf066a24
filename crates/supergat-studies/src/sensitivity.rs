//! Sensitivity of results to the three hyperparameters of self-supervision: the weight of the edge loss
//! (lambda_E), the negatives per edge (p_n) and the share of sampled edges (p_e).
//!
//! Each one is varied alone, over the values of the paper's figures and the published value. All other
//! settings stay as published. A point of a curve is the mean test metric over seeds, with Student's 95 %
//! confidence interval. The summary of a curve is the range of its means.

use crate::SeededRuns;
use serde::Serialize;
use supergat_core::ModelKind;
use supergat_numerics::statistics::{Interval, Summary};
use supergat_select::sweep::ResultsFile;
use supergat_train::settings::Settings;
use supergat_train::task::NODE;

/// A hyperparameter of self-supervision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hyperparameter {
    /// Weight of the edge loss.
    LambdaE,
    /// Number of negatives per sampled edge.
    PN,
    /// Share of the edges sampled in each step.
    PE,
}

impl Hyperparameter {
    /// All three, in the order of the paper's figures.
    pub const ALL: [Self; 3] = [Self::LambdaE, Self::PN, Self::PE];

    /// Returns the name in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::LambdaE => "lambda_e",
            Self::PN => "p_n",
            Self::PE => "p_e",
        }
    }

    /// Returns the values in the paper's figures.
    pub fn values(self) -> &'static [f64] {
        match self {
            Self::LambdaE => &[1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3],
            Self::PN => &[0.1, 0.5, 1.0, 2.5, 5.0],
            Self::PE => &[0.1, 0.3, 0.5, 0.7, 0.9],
        }
    }

    /// Returns the values of the paper and that of `settings`, ascending.
    fn values_around(self, settings: &Settings) -> Vec<f64> {
        let mut values = self.values().to_vec();
        values.push(self.get(settings));
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// Returns the value in `settings`.
    pub fn get(self, settings: &Settings) -> f64 {
        match self {
            Self::LambdaE => settings.edge_loss.lambda_e,
            Self::PN => settings.edge_loss.p_n,
            Self::PE => settings.edge_loss.p_e,
        }
    }

    /// Returns a copy of `settings` with another value.
    fn with(self, settings: Settings, value: f64) -> Settings {
        match self {
            Self::LambdaE => settings.with(|s| s.edge_loss.lambda_e = value),
            Self::PN => settings.with(|s| s.edge_loss.p_n = value),
            Self::PE => settings.with(|s| s.edge_loss.p_e = value),
        }
    }
}

/// Returns the model in the paper's figures for a dataset, which is its best one.
pub fn best_model(dataset: &str) -> ModelKind {
    let name = if dataset == "ppi" { "supergat-sd" } else { "supergat-mx" };
    name.parse().expect("a known model")
}

/// Runs of the study on one dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct SensitivityPlan {
    /// All runs. The published settings occur once.
    pub runs: SeededRuns,
    centre: Settings,
}

impl SensitivityPlan {
    /// Plans variations of the published settings of a dataset and model, or of the general ones if there are
    /// none. Loads the dataset to recognise it.
    pub fn new(source: &str, model: Option<ModelKind>, seeds: u64) -> supergat_data::Result<Self> {
        let dataset = supergat_data::load(source)?;
        let preset = dataset.preset.as_deref().unwrap_or_default();
        let model = model.unwrap_or_else(|| best_model(preset));
        let centre = Settings::published(preset, model).unwrap_or_else(|| Settings::general(model));
        Ok(Self { runs: SeededRuns::new(source, &dataset, around(centre), seeds), centre })
    }

    /// Returns the curves of all hyperparameters from the results in a file.
    pub fn curves(&self, results: &ResultsFile) -> Vec<Curve> {
        Hyperparameter::ALL.into_iter().map(|hyperparameter| self.curve(hyperparameter, results)).collect()
    }

    fn curve(&self, hyperparameter: Hyperparameter, results: &ResultsFile) -> Curve {
        let point = |value| {
            let records = self.runs.records(NODE, &hyperparameter.with(self.centre, value), results);
            let tests = records.into_iter().filter_map(|record| Some(record.test()?.metric));
            let test = Some(tests.collect()).filter(|tests: &Vec<f64>| !tests.is_empty()).map(Summary::of)?;
            Some(SensitivityPoint { value, interval: test.interval().ok(), test })
        };
        Curve {
            dataset: self.runs.dataset.clone(),
            model: self.centre.model.to_string(),
            metric: self.runs.metric,
            hyperparameter,
            published: hyperparameter.get(&self.centre),
            points: hyperparameter.values_around(&self.centre).into_iter().filter_map(point).collect(),
        }
    }
}

/// Returns settings with each hyperparameter varied alone, each once.
fn around(centre: Settings) -> Vec<Settings> {
    let mut all: Vec<Settings> = Vec::new();
    for hyperparameter in Hyperparameter::ALL {
        for value in hyperparameter.values_around(&centre) {
            let settings = hyperparameter.with(centre, value);
            if !all.contains(&settings) {
                all.push(settings);
            }
        }
    }
    all
}

/// Results of one value of a hyperparameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SensitivityPoint {
    /// Value of the hyperparameter.
    pub value: f64,
    /// Test metrics.
    pub test: Summary,
    /// 95 % confidence interval of the mean; `None` for a single seed.
    pub interval: Option<Interval>,
}

/// The test metric against one hyperparameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// Dataset.
    pub dataset: String,
    /// Model.
    pub model: String,
    /// Metric: `accuracy` or `micro-f1`.
    pub metric: &'static str,
    /// Varied hyperparameter.
    #[serde(rename = "knob")]
    pub hyperparameter: Hyperparameter,
    /// Published value of the hyperparameter.
    pub published: f64,
    /// Points in ascending order of values. Values without a result are omitted.
    pub points: Vec<SensitivityPoint>,
}

impl Curve {
    /// Returns the points with the lowest and the highest mean.
    pub fn extremes(&self) -> Option<[&SensitivityPoint; 2]> {
        let mean = |point: &SensitivityPoint| point.test.in_percent().mean;
        let by_mean = |a: &&SensitivityPoint, b: &&SensitivityPoint| mean(a).total_cmp(&mean(b));
        Some([self.points.iter().min_by(by_mean)?, self.points.iter().max_by(by_mean)?])
    }

    /// Returns the difference between the highest and the lowest mean.
    pub fn range(&self) -> Option<f64> {
        self.extremes().map(|[lowest, highest]| highest.test.mean - lowest.test.mean)
    }

    /// Returns the point of the published value.
    pub fn at_published(&self) -> Option<&SensitivityPoint> {
        self.points.iter().find(|point| point.value == self.published)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;
    use supergat_select::sweep::run_sweep;
    use supergat_train::task::NodeClassification;

    const SOURCE: &str = "random-partition:classes=2,nodes=200,degree=4,homophily=0.9";

    /// Returns a plan with very short runs.
    fn plan(seeds: u64) -> SensitivityPlan {
        let mut plan = SensitivityPlan::new(SOURCE, None, seeds).unwrap();
        plan.centre = plan.centre.with(|s| {
            s.training.max_epochs = 2;
            s.network.hidden = 2;
            s.network.heads = 1;
            s.network.output_heads = 1;
        });
        plan.runs.settings = around(plan.centre);
        plan
    }

    #[test]
    fn varies_each_hyperparameter_alone() {
        let plan = plan(3);
        let jobs = plan.runs.jobs();
        let centre = plan.centre;
        // The paper has 8 + 5 + 5 values. The published 1 and 0.5 are among them, 0.8 is not; the centre is
        // run once.
        assert_eq!(jobs.len(), 3 * (8 + 4 + 5));
        for job in &jobs {
            let differs = Hyperparameter::ALL
                .map(|hyperparameter| hyperparameter.get(&job.settings) != hyperparameter.get(&centre));
            assert!(differs.iter().filter(|differs| **differs).count() <= 1, "{:?}", job.settings);
        }
        assert_eq!(jobs.iter().filter(|job| job.settings == centre).count(), 3);
        assert_eq!(Hyperparameter::PE.values_around(&centre), [0.1, 0.3, 0.5, 0.7, 0.8, 0.9]);
    }

    #[test]
    fn builds_curves_from_sweep_results() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = ResultsFile::open(&folder.path().join("results.jsonl")).unwrap();
        let plan = plan(2);
        assert!(plan.curves(&results).iter().all(|curve| curve.points.is_empty() && curve.range().is_none()));
        run_sweep(&NodeClassification, plan.runs.jobs(), &mut results, 2, |_, _| ControlFlow::Continue(())).unwrap();
        let curves = plan.curves(&results);
        let [lambda, p_n, p_e] = &curves[..] else { panic!("three curves") };
        assert_eq!([lambda, p_n, p_e].map(|curve| curve.points.len()), [8, 5, 6]);
        // All three curves contain the published settings.
        let centre = lambda.at_published().unwrap().test.clone();
        assert!(centre.values.len() == 2 && (0.0..=1.0).contains(&centre.mean));
        assert!([p_n, p_e].iter().all(|curve| curve.at_published().unwrap().test == centre));
        let means = lambda.points.iter().map(|point| point.test.mean);
        let (least, most) = means.fold((f64::MAX, f64::MIN), |(least, most), mean| (least.min(mean), most.max(mean)));
        assert_eq!(lambda.range(), Some(most - least));
        let contains_mean = |point: &SensitivityPoint| {
            point.interval.is_some_and(|i| i.low <= point.test.mean && point.test.mean <= i.high)
        };
        assert!(lambda.points.iter().all(contains_mean));
        // A plan with fewer seeds uses the first ones; a single seed has no interval.
        let mut fewer = plan;
        fewer.runs.seeds = 1;
        let one = &fewer.curves(&results)[0].points[0];
        assert!(one.test.values == lambda.points[0].test.values[..1] && one.interval.is_none());
    }

    #[test]
    fn best_model_is_that_of_the_paper() {
        assert_eq!(["cora", "ppi"].map(|name| best_model(name).to_string()), ["supergat-mx", "supergat-sd"]);
    }
}
