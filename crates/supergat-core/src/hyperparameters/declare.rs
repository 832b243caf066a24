//! Words of the declaration of hyperparameters.

use super::{Defaults, Group, Hyperparameter, Models, Range, Search, Searched, Value};
use crate::heads::{MAX_HEADS, MOST_CHOSEN};
use crate::model_kind::{ModelKind, System};

/// Upper bound of counts without another limit.
pub(super) const MANY: u64 = 100_000_000;
/// Largest number of steps of a propagation.
pub(super) const STEPS: u64 = 1_000_000;
/// Largest number of attention heads.
pub(super) const HEADS: u64 = MAX_HEADS as u64;
/// Largest number of neighbours that a head of CGAT attends to.
pub(super) const CHOSEN: u64 = MOST_CHOSEN as u64;

const fn described(range: Range, defaults: Defaults) -> Hyperparameter {
    Hyperparameter {
        name: "",
        stored: "",
        group: Group::Network,
        meaning: "",
        range,
        search: Search::Given,
        read_by: Models::All,
        searched_for: Models::All,
        defaults,
        on_new_graphs: None,
    }
}

/// Describes a whole number.
pub(super) const fn whole(least: u64, most: u64, default: u64) -> Hyperparameter {
    described(Range::Whole(least, most), Defaults::Same(Value::Whole(default)))
}

/// Describes a whole number with one default for models with attention, and one for others.
pub(super) const fn by_attention(least: u64, most: u64, with: u64, without: u64) -> Hyperparameter {
    described(Range::Whole(least, most), Defaults::ByAttention(with, without))
}

/// Describes a number.
pub(super) const fn number(range: Range, default: f64) -> Hyperparameter {
    described(range, Defaults::Same(Value::Number(default)))
}

/// Describes a switch.
pub(super) const fn switch(default: bool) -> Hyperparameter {
    described(Range::Switch, Defaults::Same(Value::Switch(default)))
}

/// Describes a choice, whose first name is the default.
pub(super) const fn choice(names: &'static [&'static str]) -> Hyperparameter {
    described(Range::Choice(names), Defaults::Same(Value::Choice(names[0])))
}

impl Hyperparameter {
    /// Sets another default for graphs that the paper has no settings for.
    pub(super) const fn on_new_graphs(mut self, default: Value) -> Self {
        self.on_new_graphs = Some(Defaults::Same(default));
        self
    }

    /// Sets other defaults for graphs that the paper has no settings for: with attention, and without.
    pub(super) const fn on_new_graphs_by_attention(mut self, with: u64, without: u64) -> Self {
        self.on_new_graphs = Some(Defaults::ByAttention(with, without));
        self
    }

    /// Searches always vary it, at its place among all searched hyperparameters.
    pub(super) const fn searched(mut self, place: u8, values: Searched) -> Self {
        self.search = Search::Always(place, values);
        self
    }

    /// Searches vary it on request, at its place among all searched hyperparameters.
    pub(super) const fn searched_on_request(mut self, place: u8, values: Searched) -> Self {
        self.search = Search::OnRequest(place, values);
        self
    }

    /// Searches never vary it.
    pub(super) const fn never_searched(mut self) -> Self {
        self.search = Search::Never;
        self
    }

    /// Restricts the models of its group that it has an effect on.
    pub(super) const fn read_by(mut self, models: Models) -> Self {
        self.read_by = models;
        self
    }

    /// Restricts the models for which searches vary it, further than those that read it.
    pub(super) const fn searched_for(mut self, models: Models) -> Self {
        self.searched_for = models;
        self
    }

    /// Sets the name in files, where it is that of an earlier version.
    pub(super) const fn stored_as(mut self, name: &'static str) -> Self {
        self.stored = name;
        self
    }

    /// Adds what the macro of the declaration knows. `doc` is the doc comment.
    pub(super) const fn complete(mut self, name: &'static str, group: Group, doc: &'static str) -> Self {
        self.name = name;
        if self.stored.is_empty() {
            self.stored = name;
        }
        self.group = group;
        self.meaning = without_full_stop(doc.trim_ascii());
        self
    }
}

const fn without_full_stop(sentence: &'static str) -> &'static str {
    match sentence.as_bytes() {
        [.., b'.'] => sentence.split_at(sentence.len() - 1).0,
        _ => sentence,
    }
}

pub(super) fn is_constrained(model: ModelKind) -> bool {
    matches!(model, ModelKind::Constrained { .. })
}

pub(super) fn is_constrained_by_classes(model: ModelKind) -> bool {
    model == ModelKind::Constrained { by_classes: true }
}

pub(super) fn stops_early(model: ModelKind) -> bool {
    model.has_epochs() && !model.system().is_some_and(System::has_rounds)
}

pub(super) fn is_propagation(model: ModelKind) -> bool {
    model == ModelKind::LabelPropagation
}

pub(super) fn is_trees(model: ModelKind) -> bool {
    model == ModelKind::Trees
}

pub(super) fn is_glcn(model: ModelKind) -> bool {
    model == ModelKind::System(System::Glcn)
}

pub(super) fn is_neural_sparse(model: ModelKind) -> bool {
    model == ModelKind::System(System::NeuralSparse)
}

pub(super) fn is_gam(model: ModelKind) -> bool {
    model == ModelKind::System(System::Gam)
}

pub(super) fn is_lds(model: ModelKind) -> bool {
    model == ModelKind::System(System::Lds)
}

pub(super) fn is_any(_: ModelKind) -> bool {
    true
}
