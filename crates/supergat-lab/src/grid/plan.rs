//! Which graphs, models and settings a grid consists of.

use crate::recipe::Map;
use crate::settings::Settings;
use crate::sweep::{Index, Job, Status};
use serde::Serialize;
use supergat_core::{Convolution, Form, ModelKind, Score};
use supergat_data::random_partition::NAME;
use supergat_data::{RandomPartition, SplitChoice};

/// Graph attention without self-supervision, which all others are compared with.
pub const GAT: ModelKind = ModelKind::Attention { form: Form::Go, self_supervised: false };
/// SuperGAT-SD.
pub const SD: ModelKind = ModelKind::Attention { form: Form::Sd, self_supervised: true };
/// SuperGAT-MX.
pub const MX: ModelKind = ModelKind::Attention { form: Form::Mx, self_supervised: true };
/// GCN.
pub const GCN: ModelKind = ModelKind::Convolution(Convolution::Gcn);

/// Runs behind each number of the paper.
const SEEDS: u64 = 5;
/// The seed that chooses.
const CHOOSER: u64 = 0;

/// A grid of graphs, the models on it, and the settings among which each of them is chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Homophilies, ascending.
    pub homophilies: Vec<f64>,
    /// Average degrees, ascending.
    pub degrees: Vec<f64>,
    /// Models.
    pub models: Vec<ModelKind>,
    /// Runs of the chosen settings.
    pub seeds: u64,
    /// Weight decays that are tried.
    pub lambda_2: Vec<f64>,
    /// Weights of the edge losses that are tried.
    pub lambda_e: Vec<f64>,
    /// Whether every run of the chosen settings has a graph of its own: run k on graph k. Else all are on graph 0, as in the paper.
    pub redrawn: bool,
}

/// A cell of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Place {
    /// Average degree.
    pub degree: f64,
    /// Homophily.
    pub homophily: f64,
}

impl Place {
    /// One of its graphs, drawn with this seed, as `supergat_data::load` takes it.
    pub fn source(self, seed: u64) -> String {
        RandomPartition { homophily: self.homophily, degree: self.degree, seed, ..Default::default() }.to_string()
    }
}

impl Plan {
    /// All models of the paper's grid.
    pub const MODELS: [ModelKind; 4] = [GCN, GAT, SD, MX];

    /// The paper's: 9 homophilies, 16 degrees, 5 seeds, all settings.
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

    /// A coarse one of nine graphs, with one weight decay, three weights of the edge losses and three seeds.
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

    /// The graphs in the order in which they are done: by degree, the cheap ones first, then by homophily.
    pub fn places(&self) -> Vec<Place> {
        let of = |&degree| self.homophilies.iter().map(move |&homophily| Place { degree, homophily });
        self.degrees.iter().flat_map(of).collect()
    }

    /// Runs of the whole grid.
    pub fn runs(&self) -> usize {
        let of = |&model| self.candidates(model).len() + self.seeds as usize - 1;
        self.places().len() * self.models.iter().map(of).sum::<usize>()
    }

    /// The settings among which a model's are chosen.
    pub fn candidates(&self, model: ModelKind) -> Vec<Settings> {
        let fixed = Settings::published(NAME, model).unwrap_or_else(|| Settings::general(model));
        let lambda_e = if model.is_self_supervised() { &self.lambda_e[..] } else { &[fixed.lambda_e] };
        let of = |&lambda_2| lambda_e.iter().map(move |&lambda_e| Settings { lambda_2, lambda_e, ..fixed });
        self.lambda_2.iter().flat_map(of).collect()
    }

    /// The runs that choose a model's settings on a graph.
    pub fn search(&self, place: Place, model: ModelKind) -> Vec<Job> {
        self.candidates(model).into_iter().map(|settings| job(place, CHOOSER, settings, CHOOSER)).collect()
    }

    /// The settings with the best validation result; `None` while one of them was not tried, or where all failed.
    pub fn chosen(&self, place: Place, model: ModelKind, index: &Index<'_>) -> Option<Settings> {
        let mut best: Option<(Settings, Score)> = None;
        for job in self.search(place, model) {
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

    /// The final runs of settings in a cell, that of the search among them.
    pub fn finals(&self, place: Place, settings: Settings) -> Vec<Job> {
        (CHOOSER..CHOOSER + self.seeds).map(|seed| job(place, self.graph_of(seed), settings, seed)).collect()
    }

    /// The graphs of a cell.
    pub fn sources(&self, place: Place) -> Vec<String> {
        let mut graphs: Vec<u64> = (CHOOSER..CHOOSER + self.seeds).map(|seed| self.graph_of(seed)).collect();
        graphs.dedup();
        graphs.into_iter().map(|graph| place.source(graph)).collect()
    }

    /// The graph of a run.
    fn graph_of(&self, seed: u64) -> u64 {
        if self.redrawn { seed } else { CHOOSER }
    }
}

fn job(place: Place, graph: u64, settings: Settings, seed: u64) -> Job {
    Job { source: place.source(graph), split: SplitChoice::Published, settings, seed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_plan_is_the_papers() {
        let plan = Plan::full();
        let places = plan.places();
        assert_eq!((places.len(), plan.seeds, plan.runs()), (144, 5, 10_080));
        assert!(places.is_sorted_by_key(|place| place.degree), "cheap degrees come first");
        let counts = plan.models.iter().map(|&model| plan.candidates(model).len());
        assert_eq!(counts.collect::<Vec<_>>(), [3, 3, 24, 24]);
        for model in Plan::MODELS {
            for settings in plan.candidates(model) {
                assert_eq!((settings.lr, settings.dropout, settings.max_epochs), (0.01, 0.2, 500));
                assert!(settings.early_stop && settings.early_stop_window == 20);
                assert!(!model.is_self_supervised() || (settings.p_e, settings.p_n) == (0.8, 0.5));
            }
        }
    }

    /// The coarse grid is a part of the full one, so that its runs count there.
    #[test]
    fn the_coarse_plan_is_a_part_of_the_full_one() {
        let (coarse, full) = (Plan::coarse(), Plan::full());
        assert!(coarse.places().iter().all(|place| full.places().contains(place)));
        for model in coarse.models.iter().copied() {
            assert!(coarse.candidates(model).iter().all(|settings| full.candidates(model).contains(settings)));
        }
    }

    #[test]
    fn a_cell_has_one_graph_or_one_for_each_run() {
        let place = Place { degree: 2.5, homophily: 0.3 };
        let one = Plan { seeds: 3, ..Plan::full() };
        let source = "random-partition:homophily=0.3,degree=2.5,classes=10,nodes=500,seed=0";
        assert_eq!(one.sources(place), [source]);
        assert_eq!(
            source.parse::<RandomPartition>().unwrap(),
            RandomPartition { degree: 2.5, homophily: 0.3, ..Default::default() }
        );
        let each = Plan { redrawn: true, ..one.clone() };
        let settings = one.candidates(GAT)[0];
        let graphs = |plan: &Plan| plan.finals(place, settings).into_iter().map(|job| job.source).collect::<Vec<_>>();
        assert_eq!((graphs(&one), graphs(&each)), (vec![source.to_owned(); 3], each.sources(place)));
        assert_eq!(each.sources(place)[2], source.replace("seed=0", "seed=2"));
        assert_eq!(one.search(place, GAT), each.search(place, GAT), "graph 0 chooses");
    }
}
