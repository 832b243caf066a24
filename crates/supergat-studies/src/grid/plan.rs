//! Graphs, models and candidate settings of a grid.

use serde::Serialize;
use supergat_core::{Convolution, Form, ModelKind, Score};
use supergat_data::random_partition::NAME;
use supergat_data::{RandomPartition, SplitChoice};
use supergat_select::recommend::map::Map;
use supergat_select::sweep::{Job, RecordIndex};
use supergat_train::settings::Settings;
use supergat_train::task::Status;

/// GAT: attention without self-supervision, the baseline.
pub const GAT: ModelKind = ModelKind::Attention { form: Form::Go, self_supervised: false };
/// SuperGAT-SD.
pub const SD: ModelKind = ModelKind::Attention { form: Form::Sd, self_supervised: true };
/// SuperGAT-MX.
pub const MX: ModelKind = ModelKind::Attention { form: Form::Mx, self_supervised: true };
/// GCN.
pub const GCN: ModelKind = ModelKind::Convolution(Convolution::Gcn);

/// Number of runs behind each number of the paper.
const SEEDS: u64 = 5;
/// Seed that selects the settings, and first of the final seeds.
const SELECTION_SEED: u64 = 0;

/// A grid of graphs, the models on it, and the candidate settings of each model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GridPlan {
    /// Homophilies, ascending.
    pub homophilies: Vec<f64>,
    /// Average degrees, ascending.
    pub degrees: Vec<f64>,
    /// Models.
    pub models: Vec<ModelKind>,
    /// Number of final runs, with the selected settings.
    pub seeds: u64,
    /// Candidate weight decays.
    pub lambda_2: Vec<f64>,
    /// Candidate weights of the edge loss.
    pub lambda_e: Vec<f64>,
    /// Whether final run k uses the graph drawn with seed k. Otherwise all use the graph of seed 0, as in the
    /// paper.
    pub redrawn: bool,
}

/// A point of the grid: degree and homophily of a random partition graph.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GridPoint {
    /// Average degree.
    pub degree: f64,
    /// Homophily.
    pub homophily: f64,
}

impl GridPoint {
    /// Returns the specification of the graph drawn with `seed`, as a source for `supergat_data::load`.
    pub fn source(self, seed: u64) -> String {
        RandomPartition { homophily: self.homophily, degree: self.degree, seed, ..Default::default() }.to_string()
    }
}

impl GridPlan {
    /// Models of the paper's grid.
    pub const MODELS: [ModelKind; 4] = [GCN, GAT, SD, MX];

    /// Returns the paper's grid: 9 homophilies, 16 degrees, 5 seeds and all candidate settings.
    pub fn full() -> Self {
        let paper = Map::paper();
        Self {
            homophilies: paper.homophilies().to_vec(),
            degrees: paper.degrees().to_vec(),
            models: Self::MODELS.to_vec(),
            seeds: SEEDS,
            lambda_2: vec![1e-7, 1e-5, 1e-3],
            lambda_e: vec![1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2],
            redrawn: false,
        }
    }

    /// Returns a coarse grid: 9 graphs, 3 seeds, one weight decay and three weights of the edge loss.
    pub fn coarse() -> Self {
        Self {
            homophilies: vec![0.1, 0.5, 0.9],
            degrees: vec![1.0, 5.0, 20.0],
            seeds: 3,
            lambda_2: vec![1e-5],
            lambda_e: vec![1e-3, 1e-1, 1e1],
            ..Self::full()
        }
    }

    /// Returns the points in the order in which they are run: by degree, since small degrees take less time,
    /// then by homophily.
    pub fn points(&self) -> Vec<GridPoint> {
        let row = |&degree| self.homophilies.iter().map(move |&homophily| GridPoint { degree, homophily });
        self.degrees.iter().flat_map(row).collect()
    }

    /// Returns the number of runs of the whole grid.
    pub fn runs(&self) -> usize {
        let runs = |&model| self.candidates(model).len() + self.seeds as usize - 1;
        self.points().len() * self.models.iter().map(runs).sum::<usize>()
    }

    /// Returns the candidate settings of a model.
    pub fn candidates(&self, model: ModelKind) -> Vec<Settings> {
        let fixed = Settings::published(NAME, model).unwrap_or_else(|| Settings::general(model));
        let lambda_e = if model.is_self_supervised() { &self.lambda_e[..] } else { &[fixed.edge_loss.lambda_e] };
        let candidates = |&lambda_2| {
            lambda_e.iter().map(move |&lambda_e| {
                fixed.with(|s| {
                    s.training.lambda_2 = lambda_2;
                    s.edge_loss.lambda_e = lambda_e;
                })
            })
        };
        self.lambda_2.iter().flat_map(candidates).collect()
    }

    /// Returns the runs that select the settings of a model at a point.
    pub fn search(&self, point: GridPoint, model: ModelKind) -> Vec<Job> {
        self.candidates(model)
            .into_iter()
            .map(|settings| job(point, SELECTION_SEED, settings, SELECTION_SEED))
            .collect()
    }

    /// Returns the settings with the best validation score; `None` if a candidate has no run yet or all runs
    /// failed.
    pub fn selected(&self, point: GridPoint, model: ModelKind, index: &RecordIndex<'_>) -> Option<Settings> {
        let mut best: Option<(Settings, Score)> = None;
        for job in self.search(point, model) {
            let Status::Ok { validation, .. } = index.find(&job)?.status else { continue };
            let better = |old: &Score| {
                validation.metric > old.metric || validation.metric == old.metric && validation.loss < old.loss
            };
            if best.as_ref().is_none_or(|(_, old)| better(old)) {
                best = Some((job.settings, validation));
            }
        }
        best.map(|(settings, _)| settings)
    }

    /// Returns the final runs at a point with the selected settings. The first is also a run of the search.
    pub fn final_runs(&self, point: GridPoint, settings: Settings) -> Vec<Job> {
        (SELECTION_SEED..SELECTION_SEED + self.seeds)
            .map(|seed| job(point, self.graph_seed(seed), settings, seed))
            .collect()
    }

    /// Returns the sources of the graphs at a point.
    pub fn sources(&self, point: GridPoint) -> Vec<String> {
        let mut graphs: Vec<u64> =
            (SELECTION_SEED..SELECTION_SEED + self.seeds).map(|seed| self.graph_seed(seed)).collect();
        graphs.dedup();
        graphs.into_iter().map(|graph| point.source(graph)).collect()
    }

    /// Returns the graph seed of a final run.
    fn graph_seed(&self, seed: u64) -> u64 {
        if self.redrawn { seed } else { SELECTION_SEED }
    }
}

fn job(point: GridPoint, graph: u64, settings: Settings, seed: u64) -> Job {
    Job { source: point.source(graph), split: SplitChoice::Published, settings, seed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_plan_equals_the_paper() {
        let plan = GridPlan::full();
        let points = plan.points();
        assert_eq!((points.len(), plan.seeds, plan.runs()), (144, 5, 10_080));
        assert!(points.is_sorted_by_key(|point| point.degree), "small degrees come first");
        let counts = plan.models.iter().map(|&model| plan.candidates(model).len());
        assert_eq!(counts.collect::<Vec<_>>(), [3, 3, 24, 24]);
        for model in GridPlan::MODELS {
            for settings in plan.candidates(model) {
                assert_eq!(
                    (settings.training.lr, settings.network.dropout, settings.training.max_epochs),
                    (0.01, 0.2, 500)
                );
                assert!(settings.early_stopping.early_stop && settings.early_stopping.early_stop_window == 20);
                assert!(!model.is_self_supervised() || (settings.edge_loss.p_e, settings.edge_loss.p_n) == (0.8, 0.5));
            }
        }
    }

    /// The full grid can therefore reuse the runs of the coarse one.
    #[test]
    fn coarse_plan_is_part_of_the_full_plan() {
        let (coarse, full) = (GridPlan::coarse(), GridPlan::full());
        assert!(coarse.points().iter().all(|point| full.points().contains(point)));
        for model in coarse.models.iter().copied() {
            assert!(coarse.candidates(model).iter().all(|settings| full.candidates(model).contains(settings)));
        }
    }

    #[test]
    fn uses_one_graph_or_one_per_run() {
        let point = GridPoint { degree: 2.5, homophily: 0.3 };
        let shared = GridPlan { seeds: 3, ..GridPlan::full() };
        let source = "random-partition:homophily=0.3,degree=2.5,classes=10,nodes=500,seed=0";
        assert_eq!(shared.sources(point), [source]);
        assert_eq!(
            source.parse::<RandomPartition>().unwrap(),
            RandomPartition { degree: 2.5, homophily: 0.3, ..Default::default() }
        );
        let redrawn = GridPlan { redrawn: true, ..shared.clone() };
        let settings = shared.candidates(GAT)[0];
        let graphs =
            |plan: &GridPlan| plan.final_runs(point, settings).into_iter().map(|job| job.source).collect::<Vec<_>>();
        assert_eq!((graphs(&shared), graphs(&redrawn)), (vec![source.to_owned(); 3], redrawn.sources(point)));
        assert_eq!(redrawn.sources(point)[2], source.replace("seed=0", "seed=2"));
        assert_eq!(shared.search(point, GAT), redrawn.search(point, GAT), "graph 0 selects the settings");
    }
}
