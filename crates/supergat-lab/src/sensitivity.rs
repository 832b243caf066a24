//! How much results depend on the three hyperparameters of self-supervision: the weight of the edge loss lambda_E, the negatives per
//! edge p_n and the share of sampled edges p_e.
//!
//! Each one is varied alone, over the values of the paper's figures and the published value itself; all other settings stay as published.
//! A point is the mean test metric over seeds, with Student's 95 % interval; what is said of a curve is how far its means lie apart.

use crate::settings::Settings;
use crate::statistics::{Interval, Summary};
use crate::sweep::{Job, ResultsFile, dataset_name};
use serde::Serialize;
use supergat_core::ModelKind;
use supergat_data::SplitChoice;

/// A hyperparameter of self-supervision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Knob {
    /// Weight of the edge losses.
    LambdaE,
    /// Negatives per sampled edge.
    PN,
    /// Share of the edges sampled each step.
    PE,
}

impl Knob {
    /// All of them, in the order of the paper's figures.
    pub const ALL: [Self; 3] = [Self::LambdaE, Self::PN, Self::PE];

    /// Its name in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::LambdaE => "lambda_e",
            Self::PN => "p_n",
            Self::PE => "p_e",
        }
    }

    /// The values of the paper's figures.
    pub fn values(self) -> &'static [f64] {
        match self {
            Self::LambdaE => &[1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3],
            Self::PN => &[0.1, 0.5, 1.0, 2.5, 5.0],
            Self::PE => &[0.1, 0.3, 0.5, 0.7, 0.9],
        }
    }

    /// Its value in some settings.
    pub fn of(self, settings: &Settings) -> f64 {
        match self {
            Self::LambdaE => settings.lambda_e,
            Self::PN => settings.p_n,
            Self::PE => settings.p_e,
        }
    }

    /// The same settings with another value.
    fn with(self, settings: Settings, value: f64) -> Settings {
        match self {
            Self::LambdaE => Settings { lambda_e: value, ..settings },
            Self::PN => Settings { p_n: value, ..settings },
            Self::PE => Settings { p_e: value, ..settings },
        }
    }
}

/// The model that the paper's figures show for a dataset: its best one.
pub fn best_model(dataset: &str) -> ModelKind {
    let name = if dataset == "ppi" { "supergat-sd" } else { "supergat-mx" };
    name.parse().expect("a known model")
}

/// What is varied on one dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    source: String,
    /// What the dataset is called in results.
    pub dataset: String,
    /// What the runs are measured by.
    pub metric: &'static str,
    centre: Settings,
    seeds: u64,
}

impl Plan {
    /// Around the published settings of a dataset and model, or the general ones where none are published. The dataset is read once to
    /// learn its name.
    pub fn new(source: &str, model: Option<ModelKind>, seeds: u64) -> supergat_data::Result<Self> {
        let dataset = supergat_data::load(source)?;
        let model = model.unwrap_or_else(|| best_model(&dataset.name));
        let centre = Settings::published(&dataset.name, model).unwrap_or_else(|| Settings::general(model));
        let metric = if dataset.is_multi_label() { "micro-f1" } else { "accuracy" };
        Ok(Self { source: source.to_owned(), dataset: dataset_name(source, &dataset), metric, centre, seeds })
    }

    /// The model.
    pub fn model(&self) -> ModelKind {
        self.centre.model
    }

    /// The values of a hyperparameter, ascending, the published one among them.
    fn values(&self, knob: Knob) -> Vec<f64> {
        let mut values = knob.values().to_vec();
        values.push(knob.of(&self.centre));
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// All runs, the published settings once.
    pub fn jobs(&self) -> Vec<Job> {
        let mut all: Vec<Settings> = Vec::new();
        for knob in Knob::ALL {
            for settings in self.values(knob).into_iter().map(|value| knob.with(self.centre, value)) {
                if !all.contains(&settings) {
                    all.push(settings);
                }
            }
        }
        Job::of_seeds(&self.source, &all, self.seeds)
    }

    /// What came out, from what a results file holds.
    pub fn curves(&self, results: &ResultsFile) -> Vec<Curve> {
        Knob::ALL.into_iter().map(|knob| self.curve(knob, results)).collect()
    }

    fn curve(&self, knob: Knob, results: &ResultsFile) -> Curve {
        let point = |value| {
            let settings = knob.with(self.centre, value);
            let tests = self.tests(&settings, results);
            (!tests.is_empty()).then(|| Point::new(value, Summary::of(tests)))
        };
        Curve {
            dataset: self.dataset.clone(),
            model: self.centre.model.to_string(),
            metric: self.metric,
            knob,
            published: knob.of(&self.centre),
            points: self.values(knob).into_iter().filter_map(point).collect(),
        }
    }

    /// Test metrics in percent, in the order of the seeds.
    fn tests(&self, settings: &Settings, results: &ResultsFile) -> Vec<f64> {
        let split = SplitChoice::Published.to_string();
        let alike = results.records().filter(|record| {
            record.dataset == self.dataset
                && record.split == split
                && record.settings == *settings
                && record.seed < self.seeds
        });
        let mut tests: Vec<(u64, f64)> =
            alike.filter_map(|record| Some((record.seed, record.test()?.metric))).collect();
        tests.sort_by_key(|(seed, _)| *seed);
        tests.into_iter().map(|(_, metric)| 100.0 * metric).collect()
    }
}

/// A value of a hyperparameter and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The value.
    pub value: f64,
    /// Test metrics in percent.
    pub test: Summary,
    /// The 95 % interval of their mean, from two seeds on.
    pub interval: Option<Interval>,
}

impl Point {
    fn new(value: f64, test: Summary) -> Self {
        let interval = test.interval().ok();
        Self { value, test, interval }
    }
}

/// The test metric against one hyperparameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// The dataset.
    pub dataset: String,
    /// The model.
    pub model: String,
    /// `accuracy` or `micro-f1`.
    pub metric: &'static str,
    /// What is varied.
    pub knob: Knob,
    /// Its published value.
    pub published: f64,
    /// By ascending value; values without a finished run are missing.
    pub points: Vec<Point>,
}

impl Curve {
    /// The points with the lowest and the highest mean.
    pub fn extremes(&self) -> Option<[&Point; 2]> {
        let by_mean = |a: &&Point, b: &&Point| a.test.mean.total_cmp(&b.test.mean);
        Some([self.points.iter().min_by(by_mean)?, self.points.iter().max_by(by_mean)?])
    }

    /// How far the means lie apart, in percentage points.
    pub fn range(&self) -> Option<f64> {
        self.extremes().map(|[lowest, highest]| highest.test.mean - lowest.test.mean)
    }

    /// The point of the published value.
    pub fn at_published(&self) -> Option<&Point> {
        self.points.iter().find(|point| point.value == self.published)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::run_sweep;
    use std::ops::ControlFlow;

    const SOURCE: &str = "random-partition:classes=2,nodes=200,degree=4,homophily=0.9";

    /// A plan whose runs take no time.
    fn plan(seeds: u64) -> Plan {
        let mut plan = Plan::new(SOURCE, None, seeds).unwrap();
        plan.centre = Settings { max_epochs: 2, hidden: 2, heads: 1, output_heads: 1, ..plan.centre };
        plan
    }

    #[test]
    fn each_hyperparameter_is_varied_alone() {
        let plan = plan(3);
        let jobs = plan.jobs();
        let centre = plan.centre;
        // 8 + 5 + 5 values of the paper. Of the published 1, 0.5 and 0.8 the first two are among them, and the centre is run once.
        assert_eq!(jobs.len(), 3 * (8 + 4 + 5));
        for job in &jobs {
            let differs = Knob::ALL.map(|knob| knob.of(&job.settings) != knob.of(&centre));
            assert!(differs.iter().filter(|differs| **differs).count() <= 1, "{:?}", job.settings);
        }
        assert_eq!(jobs.iter().filter(|job| job.settings == centre).count(), 3);
        assert_eq!(plan.values(Knob::PE), [0.1, 0.3, 0.5, 0.7, 0.8, 0.9]);
    }

    #[test]
    fn curves_come_from_the_results_of_the_sweep() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = ResultsFile::open(&folder.path().join("results.jsonl")).unwrap();
        let plan = plan(2);
        assert!(plan.curves(&results).iter().all(|curve| curve.points.is_empty() && curve.range().is_none()));
        let jobs = plan.jobs();
        run_sweep(jobs, &mut results, 2, |_, _| ControlFlow::Continue(())).unwrap();
        let curves = plan.curves(&results);
        let [lambda, p_n, p_e] = &curves[..] else { panic!("three curves") };
        assert_eq!([lambda, p_n, p_e].map(|curve| curve.points.len()), [8, 5, 6]);
        // All three curves pass through the published settings.
        let centre = lambda.at_published().unwrap().test.clone();
        assert!(centre.values.len() == 2 && (0.0..=100.0).contains(&centre.mean));
        assert!([p_n, p_e].iter().all(|curve| curve.at_published().unwrap().test == centre));
        let means = lambda.points.iter().map(|point| point.test.mean);
        let (least, most) = means.fold((f64::MAX, f64::MIN), |(least, most), mean| (least.min(mean), most.max(mean)));
        assert_eq!(lambda.range(), Some(most - least));
        let around =
            |point: &Point| point.interval.is_some_and(|i| i.low <= point.test.mean && point.test.mean <= i.high);
        assert!(lambda.points.iter().all(around));
        // Fewer seeds take the first ones; one has no interval.
        let one = &Plan { seeds: 1, ..plan }.curves(&results)[0].points[0];
        assert!(one.test.values == lambda.points[0].test.values[..1] && one.interval.is_none());
    }

    #[test]
    fn the_best_model_of_the_paper() {
        assert_eq!(["cora", "ppi"].map(|name| best_model(name).to_string()), ["supergat-mx", "supergat-sd"]);
    }
}
