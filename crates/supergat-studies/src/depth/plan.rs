//! Cells of the study, their searches and final runs.

use crate::depth::graphs::{Depth, DepthGraph};
use crate::depth::task::selected_run;
use serde::Serialize;
use supergat_core::{Form, ModelKind};
use supergat_data::ClassWeight;
use supergat_select::sweep::{Classification, Job};
use supergat_select::tune::{Budget, Tuning};
use supergat_train::Resources;
use supergat_train::settings::Settings;

/// Models of the study: attention forms without and with self-supervision.
pub const MODELS: [ModelKind; 7] = {
    const fn of(form: Form, self_supervised: bool) -> ModelKind {
        ModelKind::Attention { form, self_supervised }
    }
    [
        of(Form::Go, false),
        of(Form::Sd, false),
        of(Form::Mx, false),
        of(Form::V2, false),
        of(Form::Sd, true),
        of(Form::Mx, true),
        of(Form::V2, true),
    ]
};

/// Returns the model with the same attention and without self-supervision; `None` for models without it.
///
/// ```
/// use supergat_studies::depth::twin;
/// let name = |model: &str| twin(model.parse().unwrap()).map(|twin| twin.to_string());
/// assert_eq!(name("supergat-mx").as_deref(), Some("gat-mx"));
/// assert_eq!(name("supergat-v2").as_deref(), Some("gatv2"));
/// assert_eq!(name("gat-go"), None);
/// ```
pub fn twin(model: ModelKind) -> Option<ModelKind> {
    match model {
        ModelKind::Attention { form, self_supervised: true } => {
            Some(ModelKind::Attention { form, self_supervised: false })
        }
        _ => None,
    }
}

/// The requested cells, and the effort for each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DepthPlan {
    /// Graphs.
    pub graphs: Vec<DepthGraph>,
    /// Depths.
    pub depths: Vec<Depth>,
    /// Models.
    pub models: Vec<ModelKind>,
    /// Number of trials of the search in every cell.
    pub trials: usize,
    /// Number of splits with final runs.
    pub splits: u64,
    /// Most epochs of a run; `None` for those of the published settings.
    pub max_epochs: Option<usize>,
}

/// A cell of the study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell<'a> {
    /// Graph.
    pub graph: &'a DepthGraph,
    /// Depth.
    pub depth: Depth,
    /// Model.
    pub model: ModelKind,
}

impl DepthPlan {
    /// Returns all cells, graph by graph.
    pub fn cells(&self) -> Vec<Cell<'_>> {
        let of_graph = |graph| {
            let of_depth = move |&depth| self.models.iter().map(move |&model| Cell { graph, depth, model });
            self.depths.iter().flat_map(of_depth)
        };
        self.graphs.iter().flat_map(of_graph).collect()
    }

    /// Returns the settings of the first trial.
    pub(super) fn base(&self, cell: Cell<'_>) -> Settings {
        let settings = cell.graph.settings(cell.depth, cell.model);
        let max_epochs =
            self.max_epochs.map_or(settings.training.max_epochs, |most| settings.training.max_epochs.min(most));
        settings.with(|s| s.training.max_epochs = max_epochs)
    }

    /// Returns the search of a cell: on the first split, with one seed.
    pub(super) fn search(&self, cell: Cell<'_>, resources: Resources) -> Tuning {
        let Cell { graph, depth, model } = cell;
        Tuning {
            source: graph.source.clone(),
            split: graph.split(0),
            class_weight: ClassWeight::None,
            row_normalise: graph.row_normalise,
            base: self.base(cell),
            space: graph.space(depth, model).self_supervision_last(),
            seed: 0,
            seeds: 1,
            budget: Budget::Trials(self.trials),
            pruning: true,
            finalists: 0,
            resources,
        }
    }

    /// Returns the final runs of a cell: one per split, whose seed is the number of the split.
    pub(super) fn final_runs(&self, cell: Cell<'_>, settings: Settings) -> Vec<Job> {
        let Cell { graph, .. } = cell;
        let job = |seed| Job { source: graph.source.clone(), split: graph.split(seed), settings, seed };
        (0..self.splits).map(job).collect()
    }

    /// Returns the task of the final runs of a cell.
    pub(super) fn task(&self, cell: Cell<'_>) -> Classification {
        selected_run(cell.depth, self.trials, Classification::new(ClassWeight::None, cell.graph.row_normalise))
    }
}
